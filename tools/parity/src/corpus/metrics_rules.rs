//! Rules for accepted differences in quality metrics and coverage. Each uses the content of the file or a message, none the
//! file's name. The numbers are those of the accepted differences in docs/parity.md.

use crate::corpus::report::Verdict;

/// No pair has an insert size.
const NO_TABLE: u32 = 177;

/// readmill refuses a file of which Picard writes metrics.
pub fn refuses_alone(said: &str) -> Verdict {
    Verdict::Defect(format!("readmill alone refuses it: {said}"))
}

/// Picard writes no file, and the one of readmill has no table.
pub fn no_file() -> Verdict {
    Verdict::Numbered(NO_TABLE, "Picard writes no file".to_owned())
}

/// Both have metrics, and not the same.
pub fn differs(what: String) -> Verdict {
    Verdict::Defect(what)
}

/// Picard ends with an exception, and readmill does not.
pub fn picard_stops(said: &str) -> Verdict {
    Verdict::Defect(format!("Picard alone refuses it: {said}"))
}

/// Two texts differ, or a program refused the file: readmill's message, and that of the other.
pub fn texts(refused: (Option<String>, Option<String>), what: String) -> Verdict {
    match refused {
        (Some(ours), Some(theirs)) => Verdict::Refused(format!("{ours}; {theirs}")),
        (Some(ours), None) => Verdict::Defect(format!("readmill alone refuses it: {ours}")),
        (None, Some(theirs)) => Verdict::Defect(format!("readmill alone takes it: {theirs}")),
        (None, None) => Verdict::Defect(what),
    }
}
