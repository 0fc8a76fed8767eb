//! The recalibration report: a GATKReport v1.1 of five tables (spec D5).
//!
//! | what | file |
//! |---|---|
//! | a report from what was counted | [`make`] |
//! | the arguments it was made with | [`arguments`] |
//! | a report as text | [`write`], in columns by [`layout`] |
//! | a report from text | [`read`], tables of text by [`sheet`] |

pub mod arguments;
mod layout;
mod make;
mod read;
mod sheet;
mod write;

pub use arguments::Arguments;
use readmill_record::Result;

pub use super::evidence::Evidence;
use super::tables::{Event, QUALITIES, Tables};
pub(crate) use write::{covariate_name, text as covariate_text};

/// A recalibration report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What the tables were made with.
    pub arguments: Arguments,
    /// The rows of the table Arguments, as they are printed: name and value.
    pub stated: Vec<(String, String)>,
    /// The table Quantized.
    pub quantization: Quantization,
    /// The read groups with a row in RecalTable0, in the order of Java strings.
    pub groups: Vec<Group>,
}

/// To what each quality (Phred) is brought if fewer different ones are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Bases whose reported quality has this empirical one.
    pub counts: [u64; QUALITIES],
    /// What a quality becomes.
    pub map: [u8; QUALITIES],
}

/// The rows of one read group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// PU, or ID if there is none.
    pub name: Vec<u8>,
    /// Its rows of RecalTable0, by event.
    pub events: [Option<Evidence>; 3],
    /// Its rows of RecalTable1, by quality, then event.
    pub qualities: Vec<QualityRow>,
    /// Its rows of RecalTable2, by quality, then covariate, then event.
    pub covariates: Vec<CovariateRow>,
}

/// Bases of one reported quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityRow {
    /// The reported quality, 0 to 93.
    pub quality: u8,
    /// What was wrong, or was not.
    pub event: Event,
    /// How often.
    pub evidence: Evidence,
}

/// Bases of one reported quality in one context, or of one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CovariateRow {
    /// The reported quality, 0 to 93.
    pub quality: u8,
    /// The context or cycle.
    pub covariate: Covariate,
    /// What was wrong, or was not.
    pub event: Event,
    /// How often.
    pub evidence: Evidence,
}

/// What a quality may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Covariate {
    /// So many bases, the last one being the base itself, as a number ([`super::tables::context_code`]).
    Context {
        /// Bases.
        size: u8,
        /// Which ones.
        code: u32,
    },
    /// The cycle, negative in the second read of a pair.
    Cycle(i32),
}

impl Report {
    /// The report of what was counted. Read groups, qualities, contexts and cycles that were not observed are
    /// left out.
    pub fn new(tables: &Tables, arguments: Arguments) -> Result<Report> {
        make::report(tables, arguments)
    }

    /// Reads a report of GATK 2 or later (v1.1), or of ours. Errors name the line.
    pub fn read(text: &[u8]) -> Result<Report> {
        read::report(text)
    }

    /// The report as text.
    pub fn text(&self) -> Vec<u8> {
        write::report(self)
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
