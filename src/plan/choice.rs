//! Flags whose value is one of a fixed list of words, such as `--sort coordinate`.
//!
//! A list of [`Choice`]s works in both directions: [`choice_parser`] returns the parser of the flag, and
//! [`choice_name`] returns the word for a value when the `@PG` command line is written.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// One allowed value of a flag, with the words that select it.
#[derive(Debug)]
pub struct Choice<T: 'static> {
    pub value: T,
    /// The word in the help and in the `@PG` command line.
    pub name: &'static str,
    /// Other accepted words, such as Picard's.
    pub aliases: &'static [&'static str],
    /// The help text for this value; empty if the name needs no explanation.
    pub help: &'static str,
}

impl<T> Choice<T> {
    fn possible_value(&self) -> PossibleValue {
        let word = PossibleValue::new(self.name).aliases(self.aliases);
        if self.help.is_empty() { word } else { word.help(self.help) }
    }
}

/// Returns a clap parser that accepts the names and aliases of `choices`.
pub fn choice_parser<T: Copy + Send + Sync>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(choices.iter().map(Choice::possible_value));
    words.try_map(|text| {
        let chosen = choices.iter().find(|choice| choice.possible_value().matches(&text, true));
        chosen.map(|choice| choice.value).ok_or("not one of the possible values")
    })
}

/// Returns the name of `value`, or an empty string if `choices` does not contain it.
pub fn choice_name<T: PartialEq>(choices: &[Choice<T>], value: T) -> &'static str {
    choices.iter().find(|choice| choice.value == value).map_or("", |choice| choice.name)
}
