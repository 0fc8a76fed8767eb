//! A flag's value that is one of a few words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A value, and the words that ask for it.
#[derive(Debug)]
pub struct Choice<T: 'static> {
    pub value: T,
    /// Its name in help and in the canonical command line.
    pub name: &'static str,
    /// Other names, such as Picard's.
    pub aliases: &'static [&'static str],
    /// Its help; empty if the name says all.
    pub help: &'static str,
}

impl<T> Choice<T> {
    fn word(&self) -> PossibleValue {
        let word = PossibleValue::new(self.name).aliases(self.aliases);
        if self.help.is_empty() { word } else { word.help(self.help) }
    }
}

/// A parser of these words.
pub fn one_of<T: Copy + Send + Sync>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(choices.iter().map(Choice::word));
    words.try_map(|text| {
        let chosen = choices.iter().find(|choice| choice.word().matches(&text, true));
        chosen.map(|choice| choice.value).ok_or("it is not one of the possible values")
    })
}

/// The name of a value.
pub fn name_of<T: PartialEq>(choices: &[Choice<T>], value: T) -> &'static str {
    choices.iter().find(|choice| choice.value == value).map_or("", |choice| choice.name)
}
