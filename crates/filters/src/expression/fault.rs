//! Faults in an expression, with their place.

use readmill_record::Error;

/// A fault in an expression, and its byte offset.
pub(super) struct ExpressionFault {
    at: usize,
    what: String,
    hint: Option<&'static str>,
}

impl ExpressionFault {
    /// Creates a fault at byte `at` of the expression.
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        ExpressionFault { at, what: what.into(), hint: None }
    }

    /// Adds a hint for the user.
    pub fn hint(self, hint: &'static str) -> Self {
        ExpressionFault { hint: Some(hint), ..self }
    }

    /// Returns the error, with the expression and the place.
    pub fn shown(self, text: &str) -> Error {
        let before = text.get(..self.at).map_or(self.at, |before| before.chars().count());
        let rest: String = text.get(self.at..).unwrap_or_default().chars().take(20).collect();
        let place = if rest.trim().is_empty() {
            "at its end".to_string()
        } else {
            format!("at character {} ({rest})", before + 1)
        };
        let mut error = Error::usage(format!("expression '{text}', {place}: {}", self.what));
        error.hint = self.hint.map(Into::into);
        error
    }
}

/// Returns the fault of an unknown variable.
pub(super) fn unknown(at: usize, word: &str) -> ExpressionFault {
    let fault = ExpressionFault::new(at, format!("there is no variable {word}"));
    if word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
        return fault.hint("optional fields stand in brackets, as [NM]");
    }
    if word.starts_with("flag.") {
        return fault.hint(
            "after flag. stands paired, proper_pair, unmap, munmap, reverse, mreverse, read1, read2, secondary, \
             qcfail, dup or supplementary",
        );
    }
    fault.hint(
        "variables are those of 'samtools view -e': mapq, flag, pos, qname, rname, cigar, seq, qual, …",
    )
}
