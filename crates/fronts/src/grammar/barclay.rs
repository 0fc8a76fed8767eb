//! The argument syntax of Picard and GATK (the Barclay library): names with one or two dashes,
//! values in the next word, and in Picard also `NAME=value`.

use std::collections::HashSet;

use readmill_record::{Error, Result};

use super::option::{Opt, Takes};
use super::words::{self, ParsedOptions, UnparsedArguments};

/// Parses the arguments of a Picard or GATK tool. With `legacy`, also accepts `NAME=value`.
pub fn parse_barclay(
    table: &[&'static Opt],
    mut words: UnparsedArguments,
    legacy: bool,
) -> Result<ParsedOptions> {
    let mut parsed = ParsedOptions::default();
    let mut files_read = HashSet::new();
    while let Some(word) = words.left.pop_front() {
        let name = word.trim_start_matches('-');
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) if legacy && !word.starts_with('-') => (name, Some(value)),
            _ if !word.starts_with('-') => {
                parsed.operands.push(word);
                continue;
            }
            _ => (name, None),
        };
        let found = find_option(table, name).map(|option| (option, joined.map(str::to_string)));
        let (option, joined) = match found {
            Some(found) => found,
            None => parse_joined_letter(table, &word)
                .ok_or_else(|| unknown_option_error(table, &word, &words))?,
        };
        let value = match (option.takes, joined) {
            // Picard also accepts a space after `=`, as in `I= in.bam`.
            (_, Some(value))
                if value.is_empty() && words.left.front().is_some_and(|it| is_value(it)) =>
            {
                words.take_value(&word)?
            }
            (_, Some(value)) => value,
            (Takes::Truth, None) => match words.left.front() {
                Some(next) if !next.starts_with('-') => words.take_value(&word)?,
                _ => "true".to_string(),
            },
            (_, None) => words.take_value(&word)?,
        };
        if option.has_name("--arguments_file") {
            // As in Picard, a file that is named again, for example by itself, is not read a second
            // time.
            if !files_read.insert(value.clone()) {
                continue;
            }
            let more = read_uncommented_lines(&value, &words)?;
            for word in more.iter().flat_map(|line| line.split_whitespace()).rev() {
                words.left.push_front(word.to_string());
            }
            continue;
        }
        let is_again = parsed.options.iter().any(|(own, _)| std::ptr::eq(*own, option));
        match option.takes {
            Takes::Files if value.ends_with(".list") || value.ends_with(".args") => {
                let lines = read_uncommented_lines(&value, &words)?;
                parsed.options.extend(lines.into_iter().map(|line| (option, line)));
            }
            Takes::Files | Takes::Values => parsed.options.push((option, value)),
            _ if is_again => {
                return Err(Error::usage(format!("{} {name} is given twice", words.command)));
            }
            Takes::Truth => {
                let truth = parse_boolean(&value).ok_or_else(|| {
                    Error::usage(format!(
                        "{} {name} {value}: the value must be true or false",
                        words.command
                    ))
                })?;
                parsed.options.push((option, truth.to_string()));
            }
            _ => parsed.options.push((option, value)),
        }
    }
    if let [operand, ..] = &parsed.operands[..] {
        return Err(Error::usage(format!("{}: unexpected argument: {operand}", words.command)));
    }
    apply_null_values(&mut parsed);
    Ok(parsed)
}

/// Reads the lines of a file of arguments or values, without comments (`#`) and empty lines.
fn read_uncommented_lines(path: &str, words: &UnparsedArguments) -> Result<Vec<String>> {
    let mut lines = words::read_lines(path, &words.command, words.memory)?;
    lines.retain(|line| !line.starts_with('#'));
    Ok(lines)
}

fn find_option(table: &[&'static Opt], name: &str) -> Option<&'static Opt> {
    table.iter().copied().find(|option| option.names().any(|own| own.trim_start_matches('-') == name))
}

/// Returns the error for a word that is not an option, with a special hint for `--NAME=value`,
/// which the tools also refuse.
fn unknown_option_error(table: &[&'static Opt], word: &str, words: &UnparsedArguments) -> Error {
    match word.split_once('=') {
        Some((name, value)) if find_option(table, name.trim_start_matches('-')).is_some() => {
            Error::usage(format!("{} {word}: the value must be a separate argument", words.command))
                .hint(format!("give {name} {value}"))
        }
        _ => words.unknown_option_error(word),
    }
}

/// Returns whether the word after `NAME=` is its value. Otherwise, it is the next option.
fn is_value(word: &str) -> bool {
    !word.starts_with('-') && !word.contains('=')
}

/// Applies the value `null`, which unsets an argument. For a list, it also removes earlier values
/// and the tool's default. `--READ_NAME_REGEX` keeps the value, because there it means that names
/// are not parsed.
fn apply_null_values(parsed: &mut ParsedOptions) {
    let mut kept: Vec<(&'static Opt, String)> = Vec::new();
    for (option, value) in parsed.options.drain(..) {
        if value != "null" || option.has_name("--READ_NAME_REGEX") {
            kept.push((option, value));
        } else if matches!(option.takes, Takes::Values | Takes::Files) {
            kept.retain(|(own, _)| !std::ptr::eq(*own, option));
            parsed.emptied.push(option);
        }
    }
    parsed.options = kept;
}

/// Parses a one-letter option with its value in the same word, such as `-Ix.bam` in Picard.
fn parse_joined_letter(table: &[&'static Opt], word: &str) -> Option<(&'static Opt, Option<String>)> {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let letter = rest.chars().next()?;
    let name = format!("-{letter}");
    let valued = |option: &&&'static Opt| option.has_name(&name) && option.takes != Takes::Truth;
    let option = table.iter().find(valued)?;
    Some((option, Some(rest[letter.len_utf8()..].to_string())))
}

fn parse_boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" => Some(true),
        "false" | "f" => Some(false),
        _ => None,
    }
}
