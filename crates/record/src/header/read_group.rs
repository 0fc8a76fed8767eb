//! Read groups that users write on the command line (`-R`).

use super::HeaderLine;
use crate::error::{Error, Result};

/// Picard's name for the library of reads whose read group has no LB.
pub const UNKNOWN_LIBRARY: &[u8] = b"Unknown Library";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenReadGroup {
    pub line: HeaderLine,
    /// Whether the text had empty fields (a tab at its end, or two adjacent tabs). Such fields are
    /// dropped.
    pub had_empty_fields: bool,
}

impl GivenReadGroup {
    /// Parses a line such as `@RG\tID:g1\tSM:s1`. Tabs may be real or written as `\t`.
    ///
    /// # Errors
    /// Fails if a field is not `TAG:VALUE`, a tag is given twice, or there is no ID.
    ///
    /// ```
    /// use readmill_record::header::GivenReadGroup;
    /// let given = GivenReadGroup::parse(r"@RG\tID:g1\tSM:s1\t")?;
    /// assert_eq!((given.line.text(), given.had_empty_fields), (&b"@RG\tID:g1\tSM:s1"[..], true));
    /// assert!(GivenReadGroup::parse(r"@RG\tID:g1\tSM:").is_err());
    /// # Ok::<(), readmill_record::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let plain = text.replace("\\t", "\t");
        let Some(fields) = plain.strip_prefix("@RG\t") else {
            return Err(read_group_error(text, "the text does not begin with @RG and a tab (or \\t)"));
        };
        let all: Vec<&str> = fields.split('\t').collect();
        let kept: Vec<&str> = all.iter().copied().filter(|field| !field.is_empty()).collect();
        check_fields(text, &kept)?;
        let line = HeaderLine::new(format!("@RG\t{}", kept.join("\t")));
        Ok(GivenReadGroup { line, had_empty_fields: kept.len() < all.len() })
    }

    /// Parses a line as [`GivenReadGroup::parse`] does, or fields separated by blanks: `ID:g1 SM:s1`.
    ///
    /// # Errors
    /// The same as for [`GivenReadGroup::parse`].
    pub fn parse_any(text: &str) -> Result<Self> {
        if text.starts_with("@RG\t") || text.starts_with("@RG\\t") {
            return Self::parse(text);
        }
        let plain = text.replace("\\t", "\t");
        let fields: Vec<&str> = plain.split_whitespace().collect();
        check_fields(text, &fields)?;
        let line = HeaderLine::new(format!("@RG\t{}", fields.join("\t")));
        Ok(GivenReadGroup { line, had_empty_fields: false })
    }

    pub fn empty_fields_warning(&self) -> Option<String> {
        let line = String::from_utf8_lossy(self.line.text()).replace('\t', "\\t");
        let what = "the read group has empty fields (a tab at the end, or two adjacent tabs)";
        self.had_empty_fields
            .then(|| format!("{what}, which other tools reject; they are removed: {line}"))
    }
}

fn check_fields(text: &str, fields: &[&str]) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for field in fields {
        if field.contains(['\n', '\r']) {
            return Err(read_group_error(text, "there is more than one line"));
        }
        if field.contains('\\') {
            return Err(read_group_error(text, "a \\ is not part of \\t"));
        }
        let Some((tag, value)) = field.split_once(':') else {
            return Err(read_group_error(text, &format!("{field:?} is not TAG:VALUE")));
        };
        let is_tag =
            matches!(tag.as_bytes(), [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric());
        if !is_tag {
            return Err(read_group_error(text, &format!("{tag:?} is not a tag of two letters")));
        }
        if value.is_empty() {
            return Err(read_group_error(text, &format!("{tag} has no value")));
        }
        if value.contains(char::is_control) {
            return Err(read_group_error(text, &format!("{tag} has a control character")));
        }
        if seen.contains(&tag) {
            return Err(read_group_error(text, &format!("{tag} occurs twice")));
        }
        seen.push(tag);
    }
    if seen.contains(&"ID") { Ok(()) } else { Err(read_group_error(text, "ID is missing")) }
}

fn read_group_error(text: &str, what: &str) -> Error {
    Error::usage(format!("{text:?} is not a read group: {what}"))
        .hint("write it as '@RG\\tID:lane1\\tSM:sample\\tLB:library'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, bool)> {
        let given = GivenReadGroup::parse_any(text)?;
        Ok((String::from_utf8_lossy(given.line.text()).into_owned(), given.had_empty_fields))
    }

    #[test]
    fn all_spellings_mean_the_same_line() {
        for (text, mended) in [
            ("ID:g LB:l", false),
            ("@RG\tID:g\tLB:l", false),
            ("@RG\\tID:g\\tLB:l", false),
            ("@RG\\tID:g\\tLB:l\\t", true),
            ("@RG\\t\\tID:g\\t\\tLB:l", true),
        ] {
            assert_eq!(parsed(text), Ok(("@RG\tID:g\tLB:l".to_string(), mended)), "{text}");
        }
        let words = "@RG\tID:g\tDS:two words, \u{fc}ber";
        assert_eq!(parsed(words), Ok((words.to_string(), false)));
    }

    #[test]
    fn a_read_group_that_other_tools_cannot_read_is_refused() {
        for (text, reason) in [
            ("@RG\\tID:x\\tID:y", "ID occurs twice"),
            ("@RG\\tID:x\\tSM:a\\tSM:a", "SM occurs twice"),
            ("@RG\\tID:x\\tSM:", "SM has no value"),
            ("@RG\\tID:", "ID has no value"),
            ("@RG\\tID:x\\tsample", "\"sample\" is not TAG:VALUE"),
            ("@RG\\tID:x\\t:sample", "\"\" is not a tag"),
            ("@RG\\tID:x\\tSAM:s", "\"SAM\" is not a tag"),
            ("@RG\\tSM:x", "ID is missing"),
            ("@RG\\t", "ID is missing"),
            ("", "ID is missing"),
            ("@RG\\tID:x\n@CO\\ty", "more than one line"),
            ("@RG\\tID:x\\ny", "a \\ is not part of \\t"),
            ("ID:a\u{1}", "a control character"),
        ] {
            let error = parsed(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        for text in ["@RG ID:x", "@rg\\tID:x", "ID:x", "@SQ\\tSN:x"] {
            let error = GivenReadGroup::parse(text).expect_err(text).to_string();
            assert!(error.contains("does not begin with @RG and a tab"), "{text}: {error}");
        }
    }
}
