//! The recalibration report: a GATKReport v1.1 with five tables, as GATK 4.6.2 writes it.
//!
//! | task | module |
//! |---|---|
//! | compute the rows from counts | `rows` |
//! | check and print the arguments | [`arguments`] |
//! | write a report as text | `write` |
//! | parse a report | `read` |

pub mod arguments;
mod read;
mod rows;
mod write;

pub use arguments::Arguments;
use readmill_format::report::DescribedReport;
use readmill_record::{Charge, Result};
use serde_json::{Value, json};

use super::counters::Tables;
pub use super::recal_datum::RecalDatum;
pub use rows::{Covariate, CovariateRow, GroupRows, QualityRow, Quantization, RecalReport};
pub(crate) use write::{covariate_name, covariate_value as covariate_text};

impl RecalReport {
    /// Creates a report from counts. Read groups, qualities, contexts and cycles without
    /// observations are omitted.
    ///
    /// # Errors
    /// Fails if the arguments are out of range or do not match the counts.
    pub fn new(tables: &Tables, arguments: Arguments) -> Result<RecalReport> {
        rows::make_report(tables, arguments)
    }

    /// Parses a report of GATK 2 or later (v1.1) or of readmill. Adds its memory to `charge`.
    ///
    /// # Errors
    /// Fails if GATK 4 would reject the report. The message names the line.
    pub fn parse(text: &[u8], charge: &mut Charge) -> Result<RecalReport> {
        read::parse_report(text, charge)
    }

    /// Returns the report as text, byte for byte as GATK writes it.
    pub fn to_text(&self) -> Vec<u8> {
        write::format_report(self)
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

impl DescribedReport for RecalReport {
    fn format_text(&self) -> Vec<u8> {
        self.to_text()
    }

    /// Returns `{"qualities": [{"read_group": …, "reported": n, "empirical": x, "observations": n,
    /// "errors": x}, …]}`: the bases of each reported quality and their substitutions. Cycles and
    /// contexts are omitted, because their lists are long.
    fn to_value(&self) -> Value {
        json!({ "qualities": write::reported_value(self) })
    }
}
