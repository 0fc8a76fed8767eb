//! The recalibration report: a GATKReport v1.1 of five tables, as GATK 4.6.2 writes it.
//!
//! | subject | file |
//! |---|---|
//! | its rows, made from counts | `rows` |
//! | the arguments of its tables | [`arguments`] |
//! | a report as text | `write` |
//! | a report from text | `read` |

pub mod arguments;
mod read;
mod rows;
mod write;

pub use arguments::Arguments;
use readmill_record::{Charge, Result};

use super::counters::Tables;
pub use super::recal_datum::RecalDatum;
pub use rows::{Covariate, CovariateRow, GroupRows, QualityRow, Quantization, Report};
pub(crate) use write::{covariate_name, text as covariate_text};

impl Report {
    /// Makes a report from counts. Read groups, qualities, contexts and cycles without observations are left
    /// out.
    pub fn new(tables: &Tables, arguments: Arguments) -> Result<Report> {
        rows::report(tables, arguments)
    }

    /// Reads a report of GATK 2 or later (v1.1), or of readmill. Errors name the line. Its memory is added to
    /// `charge`.
    pub fn read(text: &[u8], charge: &mut Charge) -> Result<Report> {
        read::report(text, charge)
    }

    /// Returns the report as text.
    pub fn text(&self) -> Vec<u8> {
        write::report(self)
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
