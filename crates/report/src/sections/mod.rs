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

use crate::section::{PageSample, PageSection};

type SectionMaker = fn(&PageSample<'_>) -> Option<PageSection>;

/// All sections in the order of the page: how to build one, its title, and the command-line options
/// with which a run counts its data.
const SECTION_MAKERS: &[(SectionMaker, &str, &str)] = &[
    (flow::make_section, "Reads through the steps", "--flagstat FILE"),
    (trimming::make_section, "Trimming", "--trim of readmill align"),
    (fastqc::make_section, "FastQC", "--fastqc DIR"),
    (duplicates::make_section, "Duplicates", "--mark-duplicates --metrics FILE"),
    (inserts::make_section, "Insert sizes", "--qc PREFIX"),
    (bases::make_quality_section, "Qualities and bases", "--qc PREFIX"),
    (bases::make_gc_section, "GC bias", "--qc PREFIX --qc-metrics all --reference FASTA"),
    (coverage::make_section, "Coverage", "--coverage PREFIX, also --coverage-by BED"),
    (alignment::make_section, "Alignment", "--qc PREFIX --reference FASTA"),
    (
        lanes::make_section,
        "Lanes, libraries and samples",
        "--qc PREFIX --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP",
    ),
    (artifacts::make_section, "Damaged DNA", "--qc PREFIX --qc-metrics all --reference FASTA"),
    (resources::make_section, "Time and memory", "--json FILE"),
    (done::make_section, "What was done", "--json FILE"),
];

/// Builds all sections. Also returns the title and the command-line options of each section that
/// has no data.
pub fn make_sections(sample: &PageSample<'_>) -> (Vec<PageSection>, Vec<(&'static str, &'static str)>) {
    let (mut sections, mut missing) = (Vec::new(), Vec::new());
    for (maker, title, flags) in SECTION_MAKERS {
        match maker(sample) {
            Some(section) => sections.push(section),
            None => missing.push((*title, *flags)),
        }
    }
    (sections, missing)
}
