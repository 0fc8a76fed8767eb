//! The sections about one sample, one module each.
//!
//! A section reads only the run description. If the run has no data for a section, the page omits
//! the section and lists the command-line options that provide its data.

mod alignment;
mod artifacts;
mod bases;
mod coverage;
mod done;
mod duplicates;
mod fastqc;
mod flow;
mod identity;
mod inserts;
mod lanes;
mod resources;
mod rna;
mod tiles;
mod trimming;
mod umi;

use maud::Markup;

pub use artifacts::MAX_SCORE;
pub use identity::sex;

use crate::section::PageSample;

/// A section of the page about one sample.
pub struct PageSection {
    /// Element id, without the prefix of the sample.
    pub id: &'static str,
    pub title: &'static str,
    /// Command-line options that make a run compute the section's data.
    pub flags: &'static str,
    /// Returns the content, or `None` if the run has no data for the section.
    pub make: fn(&PageSample<'_>) -> Option<Markup>,
}

const fn section(
    id: &'static str,
    title: &'static str,
    flags: &'static str,
    make: fn(&PageSample<'_>) -> Option<Markup>,
) -> PageSection {
    PageSection { id, title, flags, make }
}

const WITH_REFERENCE: &str = "--qc PREFIX --qc-metrics all --reference FASTA";
const WITH_LEVELS: &str = "--qc PREFIX --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP";

/// All sections in page order.
pub const SECTIONS: &[PageSection] = &[
    section("flow", "Reads at each step", "--flagstat FILE", flow::make_section),
    section("trimming", "Trimming", "--trim (readmill align)", trimming::make_section),
    section("fastqc", "FastQC", "--fastqc DIR", fastqc::make_section),
    section("duplicates", "Duplicates", "--mark-duplicates --metrics FILE", duplicates::make_section),
    section("umi", "UMI families", "--mark-duplicates --umi SOURCE", umi::make_section),
    section("inserts", "Insert size", "--qc PREFIX", inserts::make_section),
    section("qualities", "Base quality and content", "--qc PREFIX", bases::make_quality_section),
    section("gc", "GC bias", WITH_REFERENCE, bases::make_gc_section),
    section(
        "coverage",
        "Coverage",
        "--coverage PREFIX, optionally --coverage-by BED",
        coverage::make_section,
    ),
    section("alignment", "Alignment", "--qc PREFIX --reference FASTA", alignment::make_section),
    section(
        "rna",
        "RNA",
        "--qc PREFIX --qc-metrics CollectRnaSeqMetrics --ref-flat FILE",
        rna::make_section,
    ),
    section("sex", "Sex", "--fingerprint FILE --fingerprint-sites VCF", identity::make_section),
    section("lanes", "Lanes, libraries and samples", WITH_LEVELS, lanes::make_section),
    section("artifacts", "DNA damage", WITH_REFERENCE, artifacts::make_section),
    section("resources", "Time and memory", "--json FILE", resources::make_section),
    section("done", "Run details", "--json FILE", done::make_section),
];
