//! `readmill depth`, `readmill coverage` and `readmill bedcov`: depths as in `samtools depth`,
//! `samtools coverage` and `samtools bedcov` (1.24), for one or more sorted files.
//!
//! | file | contents |
//! |---|---|
//! | `pass` | the pass over all files, on all threads |
//! | `frontier` | chooses the file that is read next |
//! | `targets` | the regions of a BED file, or of a list of positions |
//!
//! `readmill_coverage::depth` counts the depths and formats the output.

mod frontier;
mod pass;
mod targets;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_coverage::depth::{
    BedCoverage, BedLines, BedOptions, CountWindow, CoverageTable, DepthLines, DepthRules, GateKind,
    LineOptions, PositionChoice, TableOptions, TallySink, lines, table,
};
use readmill_cram::{Cache, DECODER_BYTES};
use readmill_files::FileOutput;
use readmill_format::region::{NO_END, Region};
use readmill_input::{MAX_CLAIM_BYTES, check_file_ends};
use readmill_process::console::Console;
use readmill_record::{Charge, Error, Header, Limit, Result};

use crate::pipeline::inputs::{Inputs, OpenOptions};
use crate::pipeline::open_input;
use crate::pipeline::region_input;
use crate::pipeline::stream;
use crate::plan::{Plan, RegionRequest};
#[cfg(debug_assertions)]
use crate::run::audit;
use crate::run::memory::Memory;
use crate::run::summary;
use pass::DEPTH_LEDGER_NAME;

/// What to count, and how to write it. The [`Plan`] contains the inputs and resources.
#[derive(Clone)]
pub struct DepthRequest {
    pub rules: DepthRules,
    /// A rule that depends on preceding reads, such as overlapping mates.
    pub gate: Option<GateKind>,
    /// The region to count, in samtools notation, such as `chr1:1,000-2,000`; `None` for all.
    pub region: Option<String>,
    /// Paths of the indexes of the inputs. Empty if the indexes have their usual names.
    pub indexes: Vec<PathBuf>,
    pub form: DepthForm,
    /// Path of the output; `-` is standard output.
    pub output: PathBuf,
}

#[derive(Clone)]
pub enum DepthForm {
    /// One line per position (`readmill depth`).
    Lines {
        positions: PositionChoice,
        /// A BED file, or a list of positions (`samtools depth -b`). Other positions have no line.
        /// `None` for all positions.
        targets: Option<PathBuf>,
        header: bool,
    },
    /// One line or histogram per contig (`readmill coverage`). The window in the options is
    /// replaced by that of `region`.
    Table(TableOptions),
    /// One line per region of a BED file (`readmill bedcov`).
    Bed {
        /// Path of the BED file. It is read twice if only its regions are read from an indexed
        /// input.
        regions: PathBuf,
        options: BedOptions,
    },
}

impl DepthRequest {
    /// Returns the regions of a file to read, or `None` to read all of it. If no region is
    /// requested, returns the regions of the BED file, if the input has an index. Does not read a
    /// BED file from a pipe, because it can be read only once and is needed for the lines.
    fn regions_to_read(
        &self,
        path: &Path,
        index: Option<PathBuf>,
        console: &Console,
    ) -> Option<RegionRequest> {
        let of_index = RegionRequest { index, ..RegionRequest::default() };
        match (&self.region, &self.form) {
            (Some(text), _) => Some(RegionRequest { texts: vec![text.clone()], ..of_index }),
            (None, DepthForm::Bed { regions, .. }) => {
                let has_index =
                    || of_index.index.is_some() || region_input::find_index(path, None, console).is_ok();
                let file = Some(regions.clone());
                if !regions.is_file() || !has_index() {
                    return None;
                }
                Some(RegionRequest { file, each_once: true, ..of_index })
            }
            _ => None,
        }
    }
}

const USUAL_PIECE_BYTES: u64 = 1 << 19;

/// Additional bytes per byte of reads if the qualities at each position are summed.
const QUALITY_BYTES: u64 = 24;

/// Memory for each contig in bytes.
const BYTES_PER_CONTIG: u64 = 96;

/// Counts the depth of the inputs of `plan`, and writes it as `request` specifies.
///
/// # Errors
/// Fails if an input cannot be read, is not sorted by coordinate, lacks the index for a region, or
/// has different contigs than the first input; if the output cannot be written; or if there is too
/// little memory.
pub fn count_depth(plan: &Plan, request: &DepthRequest, console: &Console) -> Result<()> {
    plan.check()?;
    if !plan.resources.allow_same_input {
        open_input::check_no_file_twice(&plan.inputs)?;
    }
    if !plan.resources.allow_missing_eof {
        check_file_ends(&plan.inputs)?;
    }
    let mut memory = Memory::divide(plan)?;
    let _shares = std::mem::take(&mut memory.shares); // held until the end of the run
    #[cfg(debug_assertions)]
    let _audit = audit::begin_audit();
    summary::log_start(plan, &memory, console);
    let result = DepthFiles::open(plan, request, &memory, console)
        .and_then(|files| files.count_and_write(request, console));
    console.clear_progress();
    result
}

struct DepthFiles<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    inputs: Vec<Inputs>,
    rules: Arc<DepthRules>,
    contigs: Arc<[(String, u32)]>,
    window: Option<CountWindow>,
    _charges: Vec<Charge>,
}

impl<'a> DepthFiles<'a> {
    fn open(
        plan: &'a Plan,
        request: &DepthRequest,
        memory: &'a Memory,
        console: &Console,
    ) -> Result<Self> {
        let (ledger, room) = (&memory.ledger, memory.room);
        let rules = OpenOptions {
            allow_missing_eof: plan.resources.allow_missing_eof,
            max_line: Limit::part_of(room, 8, ledger),
            max_container: Limit::part_of(room / 2 * 3, 2, ledger),
            reference: plan.resources.reference.clone(),
            cache: Cache::from_environment(),
            ledger: ledger.clone(),
            ..OpenOptions::default()
        };
        let mut inputs: Vec<Inputs> = Vec::new();
        for (number, path) in plan.inputs.iter().enumerate() {
            let given = request.indexes.get(number).cloned();
            let regions = request.regions_to_read(path, given, console);
            let rules = OpenOptions { header_alone: regions.is_some(), ..rules.clone() };
            let mut input = Inputs::open(std::slice::from_ref(path), rules, false)?;
            if let Some(first) = inputs.first() {
                check_contigs(first.header(), &plan.inputs[0], input.header(), path)?;
            }
            if let Some(regions) = regions {
                input.select_regions(&regions, console)?;
            }
            input.warn_about_headers(console);
            input.warn_about_lengths(console);
            inputs.push(input);
        }
        let first = inputs.first().ok_or_else(|| Error::bug("no input"))?;
        let header = first.header();
        let n = header.references().len() as u64;
        let mut charges = vec![ledger.charge(DEPTH_LEDGER_NAME, n * BYTES_PER_CONTIG)?];
        if !memory.decoders && inputs.iter().any(Inputs::has_cram) {
            charges.push(ledger.charge("CRAM decoders", (DECODER_BYTES * memory.crew.threads) as u64)?);
        }
        let window = request.region.as_ref();
        let window = window.map(|text| self::parse_window(text, header, &request.form)).transpose()?;
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let contigs = header.references().iter();
        let contigs = contigs.map(|contig| (name(&contig.name), contig.length)).collect();
        // Lines omit positions outside the window, so their depth need not be counted. A table
        // counts the reads in the window.
        let rules = Arc::new(DepthRules { window, ..request.rules.clone() });
        Ok(DepthFiles { plan, memory, inputs, rules, contigs, window, _charges: charges })
    }

    fn count_and_write(self, request: &DepthRequest, console: &Console) -> Result<()> {
        let ledger = &self.memory.ledger;
        let longest = self.contigs.iter().map(|contig| contig.0.len()).max().unwrap_or(0);
        let listed = request.indexes.iter().chain(&self.plan.inputs).map(PathBuf::as_path);
        let targets = match &request.form {
            DepthForm::Lines { targets, .. } => targets.as_deref(),
            DepthForm::Bed { regions, .. } => Some(regions.as_path()),
            DepthForm::Table(_) => None,
        };
        let read = Vec::from_iter(listed.chain(targets));
        let _lines =
            ledger.charge(DEPTH_LEDGER_NAME, lines::writer_bytes(longest + 16 * self.inputs.len()))?;
        let mut output = FileOutput::open(Some(&request.output), &read)?;
        let write = |text: &[u8]| output.write_buffered(text);
        match &request.form {
            DepthForm::Lines { positions, targets, header } => {
                let first = self.inputs[0].header();
                let read = |path: &PathBuf| {
                    let (set, unknown) = targets::read_targets(path, first, ledger)?;
                    unknown
                        .warning(path, "regions")
                        .iter()
                        .for_each(|warning| console.write_warning(warning));
                    Ok(set)
                };
                let targets = targets.as_ref().map(read).transpose()?;
                let options = LineOptions { positions: *positions, window: self.window, targets };
                let mut lines = DepthLines::new(options, &self.contigs, self.inputs.len(), write);
                if *header {
                    let names = self.plan.inputs.iter().map(|path| path.as_os_str().as_encoded_bytes());
                    lines.write_header(&Vec::from_iter(names));
                }
                let lines = self.count_into(request, lines, |_| 0, console)?;
                lines.finish()?;
            }
            DepthForm::Bed { regions, options } => {
                let lines = BedLines::read_bed(regions, self.inputs[0].header(), ledger)?;
                let files = self.inputs.len();
                let bed = BedCoverage::new(options.clone(), lines, files, ledger, write)?;
                self.count_into(request, bed, BedCoverage::heap_bytes, console)?.finish()?;
            }
            DepthForm::Table(options) => {
                let _contigs =
                    ledger.charge(DEPTH_LEDGER_NAME, table::table_bytes(self.contigs.len()))?;
                let options = TableOptions { window: self.window, ..options.clone() };
                let table = CoverageTable::new(options, &self.contigs, write);
                let table = self.count_into(request, table, CoverageTable::heap_bytes, console)?;
                if table.finish()? {
                    console.write_warning(
                        "some reads have no qualities; mean base qualities are computed without them",
                    );
                }
            }
        }
        output.finish()
    }

    /// Counts the depth of all inputs into `sink`. `sink_bytes` returns the memory of the sink,
    /// which grows.
    fn count_into<S: TallySink + Send>(
        self,
        request: &DepthRequest,
        sink: S,
        sink_bytes: impl Fn(&S) -> u64 + Sync,
        console: &Console,
    ) -> Result<S> {
        let Memory { ledger, crew, room, .. } = self.memory;
        let qualities =
            if self.rules.sums_by_position { QUALITY_BYTES * MAX_CLAIM_BYTES as u64 } else { 0 };
        let usual_piece = USUAL_PIECE_BYTES + qualities;
        let _pieces =
            ledger.charge(DEPTH_LEDGER_NAME, usual_piece * (crew.in_flight + crew.threads) as u64)?;
        let mut inputs = self.inputs;
        let crew = stream::choose_crew(*crew, &mut inputs, ledger.free().min(*room), ledger)?;
        let size: Option<u64> = inputs.iter().map(Inputs::size).sum();
        console.begin_stage("reading", size, true);
        let max_record = Limit::part_of(*room, 5, ledger).capped_at(1 << 30);
        let pass = pass::DepthCounting {
            crew,
            paths: &self.plan.inputs,
            rules: &self.rules,
            gate: request.gate,
            contigs: &self.contigs,
            tickets: &self.memory.tickets,
            max_record,
            usual_piece_bytes: usual_piece,
            ledger,
            console,
        };
        pass.count_inputs(inputs, sink, sink_bytes)
    }
}

/// Returns an error if the contigs of two files differ.
fn check_contigs(first: &Header, first_path: &Path, other: &Header, path: &Path) -> Result<()> {
    let same = first.references().len() == other.references().len()
        && (first.references().iter().zip(other.references()))
            .all(|(a, b)| a.name == b.name && a.length == b.length);
    if same {
        return Ok(());
    }
    let (first, other) = (first_path.display(), path.display());
    Err(Error::usage(format!("the headers of {other} and {first} have different contigs"))
        .hint("give files that were aligned to the same reference, or run the command for each file separately"))
}

/// Returns the window of a region. If the region has no end, lines include positions beyond the end
/// of the contig that reads cover, but a table ends with the contig.
fn parse_window(text: &str, header: &Header, form: &DepthForm) -> Result<CountWindow> {
    let Region::Part(part) = Region::parse(text, header).map_err(Error::usage)? else {
        return Err(Error::usage(format!("{text:?} is not a contig"))
            .hint("give a contig or a region, such as -r chr1:1,000-2,000"));
    };
    let length = header.references().get(part.contig as usize).map_or(0, |contig| contig.length);
    let position = |at: i64| u32::try_from(at).unwrap_or(u32::MAX);
    let end = match form {
        DepthForm::Table(_) if part.end >= NO_END => length,
        _ => position(part.end),
    };
    Ok(CountWindow { contig: part.contig, start: position(part.start), end })
}
