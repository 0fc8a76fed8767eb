//! Parses memory sizes: the values of `-m` and `READMILL_MEMORY`.

use readmill_record::{Error, Result};

use crate::limit;

/// Parses a size such as `512M` or `1.5G`. Units are powers of 1,024, and a plain number counts
/// bytes.
///
/// # Errors
/// Fails if the text is not a size above zero, or has an unknown unit.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1u64,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return Err(format!("{text:?} has no known unit; use K, M, G or T")),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is not a size; use a number and a unit, such as 2G"))?;
    if !(number.is_finite() && number > 0.0) {
        return Err(format!("{text:?} is not a size greater than zero"));
    }
    Ok((number * unit as f64) as u64)
}

/// Parses the memory limit of a command: a size, or `auto` for the default.
///
/// # Errors
/// Fails if the text is not a size, or the memory does not fit into the address space.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    if text == "auto" {
        return Ok(limit::default_limit());
    }
    match parse_size(text)? {
        bytes if bytes < 1 << 20 && text.ends_with(|last: char| last.is_ascii_digit()) => {
            Err(format!("{text} means bytes; add a unit, such as {text}G or {text}M"))
        }
        bytes => {
            // The address space of further threads is checked once their number is known.
            limit::check_address_space(bytes, 1).map_err(|error| error.to_string())?;
            Ok(bytes)
        }
    }
}

/// Returns the memory limit from the environment (`READMILL_MEMORY`). It also applies to commands
/// whose `-m` has a different meaning.
///
/// # Errors
/// The same as for [`parse_memory`].
pub fn read_environment_memory() -> Result<Option<u64>> {
    let Some(text) = std::env::var_os("READMILL_MEMORY") else { return Ok(None) };
    let wrong = |what: String| Error::usage(format!("READMILL_MEMORY: {what}"));
    parse_memory(&text.to_string_lossy()).map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        assert_eq!(parse_size("512m"), Ok(512 << 20));
        assert_eq!(parse_size("160MiB"), Ok(160 << 20));
        assert_eq!(parse_size("4096"), Ok(4096));
        for bad in ["G", "", "1.5.2G", "-1G", "1X", "0", "nanG", "infG"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
