//! The recalibration report: a GATKReport v1.1 of five tables (spec D5).
//!
//! | what | file |
//! |---|---|
//! | a report from what was counted | `make` |
//! | what it says | `rows` |
//! | the arguments it was made with | [`arguments`] |
//! | a report as text | `write`, in columns by `layout` |
//! | a report from text | `read`, tables of text by `sheet` |

pub mod arguments;
mod layout;
mod make;
mod read;
mod rows;
mod sheet;
mod write;

pub use arguments::Arguments;
use readmill_record::{Charge, Result};

pub use super::evidence::Evidence;
use super::tables::Tables;
pub use rows::{Covariate, CovariateRow, Group, QualityRow, Quantization, Report};
pub(crate) use write::{covariate_name, text as covariate_text};

impl Report {
    /// The report of what was counted. Read groups, qualities, contexts and cycles that were not observed are
    /// left out.
    pub fn new(tables: &Tables, arguments: Arguments) -> Result<Report> {
        make::report(tables, arguments)
    }

    /// Reads a report of GATK 2 or later (v1.1), or of ours. Errors name the line. What it takes is added to `charge`.
    pub fn read(text: &[u8], charge: &mut Charge) -> Result<Report> {
        read::report(text, charge)
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
