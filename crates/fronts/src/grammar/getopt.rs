//! The argument syntax of getopt_long: clusters of letters, values in the same word or in the next,
//! abbreviated long names, and operands between options.

use readmill_record::{Error, Result};

use super::option::{Opt, Takes};
use super::words::{ParsedOptions, UnparsedArguments};

pub fn parse_getopt(table: &[&'static Opt], mut words: UnparsedArguments) -> Result<ParsedOptions> {
    let mut parsed = ParsedOptions::default();
    while let Some(word) = words.left.pop_front() {
        if word == "--" {
            parsed.operands.extend(words.left.drain(..));
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (long, None),
            };
            let option = find_long_option(table, name).map_err(|several| match &several[..] {
                [] => words.unknown_option_error(&format!("--{name}")),
                _ => Error::usage(format!(
                    "{} --{name} is ambiguous: {}",
                    words.command,
                    several.join(" or ")
                )),
            })?;
            let value = match (option.takes, value) {
                (Takes::Nothing, None) => String::new(),
                (Takes::Nothing, Some(_)) => {
                    return Err(Error::usage(format!(
                        "{} --{name} does not take a value",
                        words.command
                    )));
                }
                (_, Some(value)) => value,
                (_, None) => words.take_value(&word)?,
            };
            parsed.options.push((option, value));
        } else if word.len() > 1 && word.starts_with('-') {
            parse_letter_cluster(&mut parsed, table, &word, &mut words)?;
        } else {
            parsed.operands.push(word);
        }
    }
    Ok(parsed)
}

/// Parses the letters after a single dash. If a letter takes a value, the rest of the word is the
/// value.
fn parse_letter_cluster(
    parsed: &mut ParsedOptions,
    table: &[&'static Opt],
    word: &str,
    words: &mut UnparsedArguments,
) -> Result<()> {
    for (at, letter) in word.char_indices().skip(1) {
        let name = format!("-{letter}");
        let found = table.iter().find(|option| option.has_name(&name));
        let option = *found.ok_or_else(|| words.unknown_option_error(&name))?;
        if option.takes == Takes::Nothing {
            parsed.options.push((option, String::new()));
            continue;
        }
        let rest = &word[at + letter.len_utf8()..];
        let value = if rest.is_empty() { words.take_value(&name)? } else { rest.to_string() };
        parsed.options.push((option, value));
        break;
    }
    Ok(())
}

/// Finds a long option by its name or an unambiguous prefix of its name. The error lists the names
/// with this prefix.
fn find_long_option(
    table: &[&'static Opt],
    name: &str,
) -> std::result::Result<&'static Opt, Vec<String>> {
    let full = format!("--{name}");
    if let Some(option) = table.iter().find(|option| option.has_name(&full)) {
        return Ok(option);
    }
    let begun: Vec<(&'static Opt, &'static str)> = table
        .iter()
        .flat_map(|option| option.names().map(move |own| (*option, own)))
        .filter(|(_, own)| !name.is_empty() && own.starts_with(&full))
        .collect();
    match &begun[..] {
        [(first, _), rest @ ..] if rest.iter().all(|(option, _)| std::ptr::eq(*option, *first)) => {
            Ok(first)
        }
        _ => Err(begun.iter().map(|(_, own)| own.to_string()).collect()),
    }
}
