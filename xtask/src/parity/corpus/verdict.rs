//! The verdicts on a file, one for each comparison.

use std::fmt;

/// The comparisons of a file, in the order of the report's columns.
pub const COMPARISONS: [&str; 5] = [
    "read",
    "our CRAM by samtools",
    "samtools' CRAM by readmill",
    "our CRAM by htsjdk",
    "htsjdk's CRAM by readmill",
];

/// Read by readmill as by samtools.
pub const READ: usize = 0;
/// Written as CRAM by readmill: samtools and readmill read what was written.
pub const OURS: usize = 1;
/// Written as CRAM by samtools, in its own version: readmill reads it as samtools does.
pub const THEIRS: usize = 2;
/// htsjdk reads readmill's CRAM.
pub const OURS_BY_HTSJDK: usize = 3;
/// readmill reads htsjdk's CRAM as samtools does.
pub const HTSJDKS: usize = 4;

/// How one comparison ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// There was nothing to compare.
    #[default]
    Blank,
    /// The records are the same.
    Same,
    /// Refused, as it should be: samtools refuses it, too, or the specification's own tests require it.
    Refused(String),
    /// Different on purpose: a row of the accepted differences in docs/parity.md.
    Numbered(u32, String),
    /// htsjdk does the same with samtools' CRAM of the file.
    AsSamtools(String),
    /// A defect.
    Defect(String),
}

impl Verdict {
    /// The reason if it is not the same, else `None`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Blank | Verdict::Same => None,
            Verdict::Refused(why)
            | Verdict::Numbered(_, why)
            | Verdict::AsSamtools(why)
            | Verdict::Defect(why) => Some(why),
        }
    }

    /// Whether it is a defect.
    pub fn is_defect(&self) -> bool {
        matches!(self, Verdict::Defect(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Blank => f.write_str("–"),
            Verdict::Same => f.write_str("ok"),
            Verdict::Refused(_) => f.write_str("refused"),
            Verdict::Numbered(row, _) => write!(f, "row {row}"),
            Verdict::AsSamtools(_) => f.write_str("as samtools'"),
            Verdict::Defect(_) => f.write_str("DEFECT"),
        }
    }
}

/// A file of the corpus and its verdicts, one for each of [`COMPARISONS`].
#[derive(Clone, Debug)]
pub struct CorpusRow {
    /// Its path below the corpus.
    pub shown: String,
    /// SAM, BAM or CRAM, by its name.
    pub kind: &'static str,
    /// The verdicts.
    pub verdicts: [Verdict; COMPARISONS.len()],
}
