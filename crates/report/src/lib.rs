//! What runs did, as one page to look at.
//!
//! [`page`] makes HTML of what `--json` writes, without anything else: the same descriptions always give the same page. It
//! is one file, with its plots as SVG, its style and its script in it, and loads nothing. Each number on it says in
//! `data-json` where in the description it comes from.
//!
//! | file | what |
//! |---|---|
//! | `run` | the description of a run, and numbers with their origin |
//! | `metrics`, `limits`, `lanes`, `verdict` | key numbers, their limits, lanes that differ, and how all that is said |
//! | `diagnosis` | findings that have one cause |
//! | `section`, `sections` | the sections about a sample |
//! | `cohort`, `sheet` | several samples side by side, and fields of a sample sheet |
//! | `multiqc` | a table for MultiQC |
//! | `plot`, `table`, `text` | plots, tables, and numbers as text |
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cohort;
mod diagnosis;
mod lanes;
mod limits;
mod metrics;
mod multiqc;
mod options;
mod page;
mod plot;
mod run;
mod section;
mod sections;
mod sheet;
mod table;
mod text;
mod verdict;

pub use limits::{Assay, Limits};
pub use multiqc::{MULTIQC_END, multiqc};
pub use options::PageOptions;
pub use page::{check, page};
pub use run::{page_bytes, trim};
pub use sheet::Sheet;
