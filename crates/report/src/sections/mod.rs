//! The sections about one sample, one module each.
//!
//! A section reads only the description of the run. If the run did not count what a section shows,
//! the section is omitted, and the page lists the command-line options that would have counted it.

mod alignment;
mod artifacts;
mod bases;
mod coverage;
mod done;
mod duplicates;
mod fastqc;
mod flow;
mod inserts;
mod lanes;
mod resources;
mod tiles;
mod trimming;

use crate::section::{Sample, Section};

type Maker = fn(&Sample<'_>) -> Option<Section>;

/// All sections in the order of the page: how to build one, its title, and the command-line options
/// with which a run counts its data.
const MAKERS: &[(Maker, &str, &str)] = &[
    (flow::section, "Reads through the steps", "--flagstat FILE"),
    (trimming::section, "Trimming", "--trim of readmill align"),
    (fastqc::section, "FastQC", "--fastqc DIR"),
    (duplicates::section, "Duplicates", "--mark-duplicates --metrics FILE"),
    (inserts::section, "Insert sizes", "--qc PREFIX"),
    (bases::qualities, "Qualities and bases", "--qc PREFIX"),
    (bases::gc, "GC bias", "--qc PREFIX --qc-metrics all --reference FASTA"),
    (coverage::section, "Coverage", "--coverage PREFIX, also --coverage-by BED"),
    (alignment::section, "Alignment", "--qc PREFIX --reference FASTA"),
    (
        lanes::section,
        "Lanes, libraries and samples",
        "--qc PREFIX --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP",
    ),
    (artifacts::section, "Damaged DNA", "--qc PREFIX --qc-metrics all --reference FASTA"),
    (resources::section, "Time and memory", "--json FILE"),
    (done::section, "What was done", "--json FILE"),
];

/// Builds all sections. Also returns the title and the command-line options of each section that
/// has no data.
pub fn sections(sample: &Sample<'_>) -> (Vec<Section>, Vec<(&'static str, &'static str)>) {
    let (mut sections, mut missing) = (Vec::new(), Vec::new());
    for (maker, title, flags) in MAKERS {
        match maker(sample) {
            Some(section) => sections.push(section),
            None => missing.push((*title, *flags)),
        }
    }
    (sections, missing)
}
