//! The plan: the one checked description of a run, from which everything else is made.

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
pub use choice::{Choice, one_of};
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
pub use reports::Reports;
pub use resources::{Resources, default_temp_dirs, environment_temp_dir};
pub use trimming::{Trimming, missing_adapter_error};

/// Compression level of `--fast`.
pub const FAST_LEVEL: u8 = 1;

/// Bytes of marks and of spilled runs that are needed while optical duplicates are looked for, in a small run.
const BESIDE_OPTICAL: u64 = 6 << 20;

/// A run of readmill.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The subcommand.
    pub command: Command,
    /// Where reads come from, one after the other; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The regions of the only input that are read; `None` means all of it.
    pub regions: Option<RegionRequest>,
    /// The aligner, if reads are aligned, or become records as they are; its files are the inputs.
    pub aligning: Option<Aligning>,
    /// The alignments that reads get, if these are merged; all files are inputs.
    pub merging: Option<Merging>,
    pub steps: Steps,
    /// Where reads go.
    pub destination: Destination,
    /// What is reported of the reads in the same pass.
    pub reports: Reports,
    /// Threads, memory and other resources.
    pub resources: Resources,
}

/// The steps, in the order in which they are applied.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Drop and edit reads; some edits come last.
    pub filters: Filters,
    /// Mark duplicates.
    pub duplicates: Option<Duplicates>,
    /// Sort; `None` keeps the order of the input.
    pub sort: Option<Order>,
    /// Recalibrate base qualities.
    pub recalibration: Option<Recalibration>,
    /// Put the reads of each input into a read group that is called after its file, before all else.
    pub group_by_file: bool,
}

/// Where reads go.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// How many parts it is cut into, which `cat` joins in the order of their [names](part_name).
    pub parts: usize,
    /// Its format, with the options of it.
    pub format: Format,
    /// Which part of it is written.
    pub content: Content,
    /// The codec of BGZF.
    pub codec: Codec,
    /// Compression level; `None` means the default, or 0 into a pipe.
    pub level: Option<u8>,
    /// Which index to write.
    pub index: Index,
    /// Write no @PG line.
    pub no_pg: bool,
    /// Where the bases of contigs are found, if the format needs them.
    pub bases: ContigBases,
    /// Whether the MD5 of each file goes into another, whose name ends in `.md5`.
    pub md5: bool,
    /// Whether it may replace an input.
    pub in_place: bool,
}

impl Output {
    /// Creates an output with default settings.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let (format, codec, bases) = (Format::by_name(&path), Codec::default(), ContigBases::default());
        let (parts, content, level, index, no_pg) = (1, Content::All, None, Index::Auto, false);
        let (md5, in_place) = (false, false);
        Output { path, parts, format, content, codec, level, index, no_pg, bases, md5, in_place }
    }

    /// Creates an output that leads nowhere, for reads that leave by other ways.
    pub fn nowhere() -> Self {
        let format = Format::new(SamFormat { is_compressed: false });
        Output { format, index: Index::No, ..Output::new("/dev/null") }
    }

    /// Returns the same in another format. Its options stay if only they differ, and so do codec and level if the format
    /// is made of BGZF.
    pub fn in_format(self, format: Format) -> Self {
        let format = if format.has_name_of(&self.format) { self.format.clone() } else { format };
        if format.spec().is_bgzf() {
            Output { format, ..self }
        } else {
            Output { format, codec: Codec::default(), level: None, ..self }
        }
    }

    /// Checks what can be checked before it is opened.
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

    /// Whether no records are written.
    pub fn is_header_alone(&self) -> bool {
        self.destination.main().is_some_and(|output| output.content == Content::Header)
    }

    /// Whether no @PG line is to be added.
    pub fn no_pg(&self) -> bool {
        self.destination.settings().is_some_and(|output| output.no_pg)
    }

    /// Checks what can be checked before the input is opened.
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
        self.destination.check()?;
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
                return Err(Error::usage("--bqsr-bootstrap needs reads sorted by coordinate")
                    .hint("add --sort coordinate"));
            }
        }
        self.steps.duplicates.as_ref().map_or(Ok(()), Duplicates::check_conflicts)
    }

    /// Returns what add-ons may know of the run.
    pub(crate) fn run_facts(&self) -> RunFacts {
        let lanes = self.aligning.iter().flat_map(|aligning| &aligning.lanes);
        RunFacts {
            has_reference: self.resources.reference.is_some(),
            merges_alignments: self.merging.is_some(),
            max_files_per_batch: lanes.map(|lane| lane.files.len()).max().unwrap_or(1),
        }
    }

    /// Checks that reads which filters drop can be written.
    fn check_dropped(&self) -> Result<()> {
        if self.destination.place_of_dropped().is_none() {
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

    /// Whether the whole input must be seen before the first read can leave.
    pub fn holds_everything(&self) -> bool {
        let recalibration = self.steps.recalibration.as_ref();
        self.steps.sort.is_some()
            || self.steps.duplicates.is_some()
            || recalibration.is_some_and(Recalibration::holds_everything)
    }

    /// Returns the bytes of the largest duplicate set in which optical duplicates are looked for.
    pub fn max_optical_bytes(&self) -> u64 {
        let optical = self.steps.duplicates.as_ref().and_then(|duplicates| duplicates.rules.optical);
        optical.map_or(0, |optical| {
            optical.max_set_size.saturating_mul(CANDIDATE_BYTES).saturating_add(BESIDE_OPTICAL)
        })
    }

    /// The order in which reads leave.
    pub fn order(&self) -> Order {
        self.steps.sort.unwrap_or(Order::Input)
    }

    /// Returns the canonical command line for @PG: everything that decides the output.
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
        self.destination.words(self.command).iter().for_each(|word| say(word));
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
