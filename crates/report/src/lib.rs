//! Renders the HTML report of one or several runs.
//!
//! The input is the run description, the JSON that a run writes with `--json`. [`render_page`] turns
//! it into one HTML file that contains its plots (SVG), style sheet and script, and loads no other
//! files. The result depends only on the descriptions and the options. `readmill report` and the
//! option `--report` call this crate.
//!
//! ```text
//! --json ─► check_description ─► drop_hidden_reports ─┬─► render_page ───► one HTML file
//!                                                     └─► multiqc_table ─► a table for MultiQC
//! ```
//!
//! The attributes of the page's tables and `<data>` elements name the JSON pointer of each number,
//! so that a test can compare the page with the JSON. All text enters the HTML through maud's
//! `html!`, which escapes it.
//!
//! # Example
//!
//! ```
//! use readmill_report::{PageOptions, check_description, render_page};
//! use serde_json::json;
//!
//! let run = json!({
//!     "format": "readmill run", "version": 1, "sample": "NA12878",
//!     "reads": {"read": 1200},
//! });
//! check_description(&run)?;
//! let html = render_page(&[&run], &PageOptions::default());
//! assert!(html.starts_with("<!DOCTYPE html>"));
//! assert!(html.contains("<data value=\"1200\" data-json=\"/reads/read\">1,200</data>"));
//! # Ok::<(), String>(())
//! ```
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | `run` | access to a run's JSON; numbers with their JSON pointers |
//! | `metrics`, `limits`, `verdict` | key metrics of a sample, their limits, and the grade of each |
//! | `lanes` | insert size and GC of each lane, and the lane that differs most from the others |
//! | `rules` | for each metric: what it needs to be judged, and which cause it indicates |
//! | `diagnosis` | groups of failed metrics with the same likely cause |
//! | `names` | names of samples on the page |
//! | `section`, `sections` | the sections about one sample |
//! | `cohort`, `sheet` | the comparison of several samples, and the sample sheet |
//! | `plate` | the page of several samples, with its script |
//! | `multiqc` | the table for MultiQC |
//! | `plot`, `flow_plot`, `tile_map` | SVG plots |
//! | `table`, `text` | HTML tables, numbers as text |
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cohort;
mod diagnosis;
mod flow_plot;
mod lanes;
mod limits;
mod metrics;
mod multiqc;
mod names;
mod options;
mod page;
mod plate;
mod plot;
mod render;
mod rules;
mod run;
mod section;
mod sections;
mod sheet;
#[cfg(test)]
mod simulated;
mod table;
mod text;
mod tile_map;
mod verdict;

pub use limits::{Assay, Limits, Thresholds};
pub use multiqc::{MULTIQC_SUFFIX, MultiqcTable, multiqc_table};
pub use options::PageOptions;
pub use page::check_description;
pub use plate::PlateBuilder;
pub use render::render_page;
pub use run::{drop_hidden_reports, page_bytes};
pub use sheet::Sheet;
