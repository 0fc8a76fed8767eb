//! The argument syntax of Go's flag package: operands first, then flags with one or two dashes, and
//! `=` or a space before the value.

use readmill_record::{Error, Result};

use super::option::{Opt, Takes};
use super::words::{ParsedOptions, UnparsedArguments};

/// Parses arguments as Go's flag package does, after the first `operands` words, which are files.
pub fn parse_go_flags(
    table: &[&'static Opt],
    mut words: UnparsedArguments,
    operands: usize,
) -> Result<ParsedOptions> {
    let mut parsed = ParsedOptions::default();
    let few = words.left.len() < operands
        || words.left.iter().take(operands).any(|word| word.starts_with("--"));
    if few {
        return Err(Error::usage(format!(
            "{} needs {operands} files before its options",
            words.command
        )));
    }
    parsed.operands.extend(words.left.drain(..operands));
    while let Some(word) = words.left.pop_front() {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            return Err(Error::usage(format!("{}: unexpected argument {word}", words.command)));
        };
        let (name, joined) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (name, None),
        };
        let full = format!("--{name}");
        let found = table.iter().find(|option| option.has_name(&full));
        let option = *found.ok_or_else(|| words.unknown_option_error(&word))?;
        match (option.takes, joined) {
            (Takes::Nothing, Some(value)) => match parse_go_boolean(&value) {
                Some(true) => parsed.options.push((option, String::new())),
                Some(false) => parsed.options.retain(|(own, _)| !std::ptr::eq(*own, option)),
                None => {
                    return Err(Error::usage(format!(
                        "{} {full}={value}: the value must be true or false",
                        words.command
                    )));
                }
            },
            (Takes::Nothing, None) => parsed.options.push((option, String::new())),
            (_, Some(value)) => parsed.options.push((option, value)),
            (_, None) => {
                let value = words.take_value(&full)?;
                parsed.options.push((option, value));
            }
        }
    }
    Ok(parsed)
}

/// Parses a boolean as Go's `strconv.ParseBool` does.
fn parse_go_boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
