//! The plan: a complete and checked description of a run.

mod aligning;
mod choice;
mod command;
mod destination;
mod duplicate_choices;
mod duplicate_flags;
mod duplicates;
pub mod group_names;
mod merging;
mod naming;
mod parts;
mod recalibration;
mod regions;
mod reports;
mod resources;
mod trimming;

use std::path::PathBuf;

use readmill_filters::spec::{FilterStage, PlanFacts};
use readmill_format::bgzf::Codec;
use readmill_markdup::optical::CANDIDATE_BYTES;
use readmill_record::{Error, Result};
use readmill_sort::Order;

use crate::addons::RunFacts;
use crate::formats::{Compression, ContigBases, SamFormat};

pub use crate::formats::{Content, Format, Index};
pub use aligning::{Aligner, Aligning, Import, IndexReads, LaneInput, ReadTags};
pub use choice::{Choice, choice_parser};
pub use command::Command;
pub use destination::{
    Destination, ExtraFile, Fastq, FastqFiles, LoneEnds, MAX_SPLIT_FILES, Split, SplitBy, SplitNames,
    SplitRest,
};
pub use duplicate_choices::DuplicateMode;
pub use duplicate_flags::DuplicateFlags;
pub use duplicates::{Duplicates, DuplicationMetricsFiles};
pub use merging::{AlignedFile, Merging, TemplateEnd};
pub use naming::check_index_mark;
pub use parts::{MAX_PARTS, md5_name, part_name};
pub use readmill_filters::Filters;
pub use readmill_process::console::Verbosity;
pub use recalibration::{ApplyRequest, Recalibration, TableRequest, TableSource};
pub use regions::{RegionRequest, pipe_without_index_error};
pub use reports::{JudgementFields, Reports};
pub use resources::{Resources, default_temp_dirs, environment_temp_dir};
pub use trimming::{Trimming, missing_adapter_error};

/// Compression level of `--fast`.
pub const FAST_LEVEL: u8 = 1;

/// Memory for marks and spilled runs while optical duplicates are detected in a small run, in
/// bytes.
const BESIDE_OPTICAL: u64 = 6 << 20;

/// A complete description of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub command: Command,
    /// The input files, read one after the other; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The regions to read, which requires exactly one input. `None` means the whole input.
    pub regions: Option<RegionRequest>,
    /// How unaligned reads are aligned or converted to records. Their files are also in `inputs`.
    pub aligning: Option<Aligning>,
    /// The alignments that are merged into unaligned reads. All these files are also in `inputs`.
    pub merging: Option<Merging>,
    pub steps: Steps,
    /// Where reads are written.
    pub destination: Destination,
    /// Reports that are produced in the same pass.
    pub reports: Reports,
    pub resources: Resources,
}

/// The steps, in the order in which they are applied.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Filters and edits. Some edits run after all other steps.
    pub filters: Filters,
    /// How duplicates are marked; `None` if they are not.
    pub duplicates: Option<Duplicates>,
    /// The sort order; `None` keeps the input order.
    pub sort: Option<Order>,
    /// How base qualities are recalibrated; `None` if they are not.
    pub recalibration: Option<Recalibration>,
    /// Assign the reads of each input to a read group named after the file, before any other step.
    pub group_by_file: bool,
}

/// An output of reads: file, format and options.
#[derive(Clone, Debug)]
pub struct Output {
    /// The output file; `-` is standard output.
    pub path: PathBuf,
    /// The number of parts. `cat` joins them in the order of their [names](part_name).
    pub parts: usize,
    /// The file format and its options.
    pub format: Format,
    /// Whether the header, the records or both are written.
    pub content: Content,
    /// The codec for BGZF blocks.
    pub codec: Codec,
    /// Compression level. `None` means the default level, or 0 if the output is a pipe.
    pub level: Option<u8>,
    /// The index to write.
    pub index: Index,
    /// Write no `@PG` line.
    pub no_pg: bool,
    /// The source of reference bases, if the format needs them.
    pub bases: ContigBases,
    /// Write the MD5 of each file to another file, whose name ends in `.md5`.
    pub md5: bool,
    /// Whether the output may replace an input.
    pub in_place: bool,
}

impl Output {
    /// Creates an output with default settings.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let (format, codec, bases) =
            (Format::from_file_name(&path), Codec::default(), ContigBases::default());
        let (parts, content, level, index, no_pg) = (1, Content::All, None, Index::Auto, false);
        let (md5, in_place) = (false, false);
        Output { path, parts, format, content, codec, level, index, no_pg, bases, md5, in_place }
    }

    /// Creates an output that is never written, for runs whose reads are only written to extra
    /// outputs or only counted.
    pub fn nowhere() -> Self {
        let format = Format::new(SamFormat { is_compressed: false });
        Output { format, index: Index::No, ..Output::new("/dev/null") }
    }

    /// Returns this output in another format. Keeps the options of the current format if `format`
    /// is the same kind, and keeps codec and level if `format` uses BGZF.
    pub fn in_format(self, format: Format) -> Self {
        let format = if format.has_name_of(&self.format) { self.format.clone() } else { format };
        if format.spec().is_bgzf() {
            Output { format, ..self }
        } else {
            Output { format, codec: Codec::default(), level: None, ..self }
        }
    }

    /// Returns a usage error if the options contradict each other. Opens no file.
    fn check(&self) -> Result<()> {
        self.check_parts()?;
        if self.index.is_required() && self.path.as_os_str() == "-" {
            return Err(Error::usage("an index needs an output file").hint("give one with -o"));
        }
        if self.md5 && self.path.as_os_str() == "-" {
            return Err(Error::usage("--md5 needs an output file, and standard output is not a file")
                .hint("give a file with -o, or omit --md5"));
        }
        if self.format.spec().compression == Compression::None && self.level.is_some() {
            return Err(Error::usage("SAM is not compressed, so it has no compression level")
                .hint("omit -l and -u, or write BAM or .sam.gz"));
        }
        if !self.format.spec().is_bgzf() && self.codec != Codec::default() {
            return Err(Error::usage("--codec works only with BAM and .sam.gz")
                .hint("omit --codec, or write BAM"));
        }
        Ok(())
    }
}

impl Plan {
    /// Creates a plan that reads `inputs` and writes `output`, with default resources.
    pub fn new(
        inputs: impl IntoIterator<Item = impl Into<PathBuf>>,
        output: impl Into<PathBuf>,
    ) -> Self {
        let output = Output::new(output);
        Plan {
            command: Command::Prep,
            inputs: inputs.into_iter().map(Into::into).collect(),
            regions: None,
            aligning: None,
            merging: None,
            steps: Steps::default(),
            resources: Resources::default_for_output(&output.path),
            destination: Destination::Main(output, Vec::new()),
            reports: Reports::default(),
        }
    }

    /// Returns whether only the header is written.
    pub fn is_header_alone(&self) -> bool {
        self.destination.main_output().is_some_and(|output| output.content == Content::Header)
    }

    /// Returns whether no `@PG` line is added.
    pub fn no_pg(&self) -> bool {
        self.destination.common_settings().is_some_and(|output| output.no_pg)
    }

    /// Checks everything that can be checked before the input is opened.
    pub fn check(&self) -> Result<()> {
        if self.inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Error::usage("standard input can be read only once").hint("give - only once"));
        }
        if self.regions.is_some() && self.inputs.len() != 1 {
            return Err(Error::usage("regions can be read only from one input").hint("give one file"));
        }
        if self.regions.is_some() && self.inputs[0].as_os_str() == "-" {
            return Err(regions::pipe_without_index_error());
        }
        self.destination.check_options()?;
        self.check_dropped()?;
        self.check_parts()?;
        self.aligning.as_ref().map_or(Ok(()), Aligning::check_options)?;
        let facts = self.run_facts();
        self.reports.add_ons.iter().try_for_each(|add_on| add_on.check(&facts))?;
        let filters = &self.steps.filters;
        filters.check_plan(PlanFacts {
            has_reference: facts.has_reference,
            marks_duplicates: self.steps.duplicates.is_some(),
        })?;
        if let Some(recalibration) = &self.steps.recalibration {
            recalibration.check_conflicts()?;
            let without = |aligning: &Aligning| aligning.lanes.iter().any(LaneInput::has_no_read_group);
            let groupless = self.aligning.as_ref().is_some_and(without);
            if groupless && !filters.facts().any(|facts| facts.sets_read_group) {
                let what = "recalibration needs a read group, but the reads have none";
                return Err(Error::usage(what).hint(
                    "give one: -R '@RG\\tID:lane1\\tSM:sample\\tPL:ILLUMINA', once for all files or once for each lane",
                ));
            }
            let bootstrap =
                recalibration.table_request().is_some_and(|table_request| table_request.bootstrap);
            if bootstrap && self.order() != Order::Coordinate {
                return Err(Error::usage(
                    "--bqsr-bootstrap works only if this run sorts the reads by coordinate",
                )
                .hint("add --sort coordinate, even if the input is sorted"));
            }
        }
        self.steps.duplicates.as_ref().map_or(Ok(()), |duplicates| {
            duplicates.check_conflicts()?;
            duplicates.check_order(self.order())
        })
    }

    /// Returns the facts about the run that add-ons may use.
    pub(crate) fn run_facts(&self) -> RunFacts {
        let lanes = self.aligning.iter().flat_map(|aligning| &aligning.lanes);
        RunFacts {
            has_reference: self.resources.reference.is_some(),
            merges_alignments: self.merging.is_some(),
            max_files_per_batch: lanes.map(|lane| lane.files.len()).max().unwrap_or(1),
        }
    }

    /// Returns a usage error if the reads that filters drop are to be written, but cannot be.
    fn check_dropped(&self) -> Result<()> {
        if self.destination.dropped_reads_index().is_none() {
            return Ok(());
        }
        let before = "filter the reads in a separate run: readmill filter IN FILTERS --move-to FILE=dropped -o KEPT";
        if self.holds_everything() {
            let what = "reads dropped by filters cannot be written if the same run sorts reads or marks duplicates";
            return Err(Error::usage(what).hint(before));
        }
        if self.steps.filters.facts().any(|facts| facts.other_header) {
            let what = "reads dropped by filters cannot be written, because --sequence-dictionary or --read-group changes the header";
            return Err(Error::usage(what).hint(before));
        }
        Ok(())
    }

    /// Returns whether the whole input must be read before the first record can be written.
    pub fn holds_everything(&self) -> bool {
        let recalibration = self.steps.recalibration.as_ref();
        self.steps.sort.is_some()
            || self.steps.duplicates.is_some()
            || recalibration.is_some_and(Recalibration::holds_everything)
    }

    /// Returns the memory for the largest duplicate set in which optical duplicates are detected,
    /// in bytes.
    pub fn max_optical_bytes(&self) -> u64 {
        let optical = self.steps.duplicates.as_ref().and_then(|duplicates| duplicates.rules.optical);
        optical.map_or(0, |optical| {
            optical.max_set_size.saturating_mul(CANDIDATE_BYTES).saturating_add(BESIDE_OPTICAL)
        })
    }

    /// Returns the order of the output.
    pub fn order(&self) -> Order {
        self.steps.sort.unwrap_or(Order::Input)
    }

    /// Returns the canonical command line for `@PG`: all flags that affect the output.
    pub fn command_line(&self) -> String {
        let steps = &self.steps;
        let mut words = vec!["readmill".to_string(), self.command.name().to_string()];
        let mut say = |word: &str| words.push(word.to_string());
        if let Some(aligning) = &self.aligning {
            aligning.command_words().iter().for_each(|word| say(word));
        }
        if let Some(merging) = &self.merging {
            merging.command_words().iter().for_each(|word| say(word));
        }
        steps.filters.command_words(FilterStage::BeforeSort).iter().for_each(|word| say(word));
        if let Some(duplicates) = &steps.duplicates {
            if !self.command.marks_duplicates() {
                say("--mark-duplicates");
            }
            duplicates.command_words().iter().for_each(|word| say(word));
        }
        steps.filters.command_words(FilterStage::AfterDuplicates).iter().for_each(|word| say(word));
        if steps.filters.facts().any(|facts| facts.reference) {
            let reference = self.resources.reference.iter().filter(|_| steps.recalibration.is_none());
            reference.for_each(|it| say(&format!("--reference {}", it.path().display())));
        }
        if let Some(recalibration) = &steps.recalibration {
            recalibration.command_words().iter().for_each(|word| say(word));
        }
        steps.filters.command_words(FilterStage::Last).iter().for_each(|word| say(word));
        self.destination.command_words(self.command).iter().for_each(|word| say(word));
        if steps.group_by_file {
            say("--group-by-file");
        }
        let by_itself = self.command.sorts_by_coordinate() && self.order() == Order::Coordinate;
        if !self.command.keeps_order() && !by_itself {
            say("--sort");
            say(&self.order().name());
        }
        self.regions.iter().flat_map(RegionRequest::command_words).for_each(|word| say(&word));
        words.join(" ")
    }
}
