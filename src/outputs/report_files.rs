//! Report files: metrics, recalibration tables, statistics.

use std::path::{Path, PathBuf};

use readmill_bqsr as bqsr;
use readmill_coverage::piles::WINDOW_BASES;
use readmill_filters::tally::{RunNames, TallyReport};
use readmill_markdup::metrics::{LibraryCounts, SetSizes};
use readmill_markdup::samtools::SamtoolsReport;
use readmill_markdup::{DuplicationMetrics, Libraries, TileCounts};
use readmill_process::atomic_file::{AtomicFile, check_distinct, is_device, with_suffix};
use readmill_process::made_directories::MadeDirectories;
use readmill_process::older_indexes::index_names;
use readmill_process::same_file::{ensure_output_is_not_input, is_same_file};
use readmill_record::header::Header;
use readmill_record::{Charge, Error, Ledger, ReportText, Result};
use serde_json::{Map, Value, json};

use crate::outputs::coverage::NamedPile;
use crate::outputs::sample_name::sample_name;
use crate::outputs::texts;
use crate::plan::{Command, CoverageRequest, Output, Plan, QcRequest};

/// A kind of report file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFile {
    /// Picard's metrics of duplicates.
    Metrics,
    /// The same as JSON.
    Json,
    /// The recalibration table of the input reads.
    Table,
    /// The recalibration table of the reads with their new qualities.
    After,
    /// The result of the tally of this name.
    Tally(&'static str),
    /// The quality metrics in the file whose name ends so.
    Qc(&'static str),
    /// The file of coverage, or its index, whose name ends so.
    Coverage(&'static str),
    /// The modules of FastQC of the input of this number.
    FastqcData(usize),
    /// The verdicts of these.
    FastqcSummary(usize),
    /// The fingerprint of the sample.
    Fingerprint,
    /// What the run did, as JSON.
    Run,
    /// What the run did, as a page.
    Page,
}

impl ReportFile {
    /// Its name among the reports in JSON.
    fn key(self) -> &'static str {
        match self {
            ReportFile::Metrics => DUPLICATES,
            ReportFile::Json => "duplicates as JSON",
            ReportFile::Table => "recalibration table",
            ReportFile::After => "recalibration table of new qualities",
            ReportFile::Tally(name) => name,
            ReportFile::Qc(ending) | ReportFile::Coverage(ending) => ending.trim_start_matches('.'),
            ReportFile::FastqcData(_) => FASTQC,
            ReportFile::FastqcSummary(_) => "fastqc summary",
            ReportFile::Fingerprint => "fingerprint",
            ReportFile::Run => "run",
            ReportFile::Page => "page",
        }
    }

    /// Whether its contents may be part of the description of the run.
    fn is_described(self) -> bool {
        match self {
            ReportFile::Qc(ending) => !ending.ends_with("_coverage"),
            ReportFile::Tally(name) => ["flagstat", "idxstats", "stats"].contains(&name),
            ReportFile::Coverage(ending) => ending.ends_with(".txt"),
            ReportFile::Table | ReportFile::After => true,
            ReportFile::Fingerprint | ReportFile::FastqcData(_) => true,
            _ => false,
        }
    }

    /// The contents of such a text as JSON; `None` of those that are long, or are JSON already.
    fn value(self, text: &str) -> Option<Value> {
        match self {
            ReportFile::Qc(ending) if ending.ends_with("_coverage") => None,
            ReportFile::Qc(_) => Some(texts::metrics(text)),
            ReportFile::Tally("flagstat") => Some(texts::flagstat(text)),
            ReportFile::Tally("idxstats") => Some(texts::idxstats(text)),
            ReportFile::Tally("stats") => Some(texts::stats(text)),
            ReportFile::Table | ReportFile::After => Some(texts::recalibration(text)),
            ReportFile::Fingerprint => Some(texts::fingerprint(text)),
            ReportFile::FastqcData(_) => Some(texts::fastqc(text)),
            ReportFile::Coverage(".mosdepth.summary.txt") => Some(texts::summary(text)),
            ReportFile::Coverage(ending) if ending.ends_with(".dist.txt") => {
                Some(texts::distribution(text))
            }
            _ => None,
        }
    }
}

/// The name of the memory of descriptions.
const DESCRIPTION: &str = "the description of the run";

/// Writes an object, each of its fields in a line.
fn put_lines(object: &Value, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let mut before = "{\n";
    for (name, value) in object.as_object().into_iter().flatten() {
        write!(out, "{before}{}: ", json!(name))?;
        serde_json::to_writer(&mut *out, value)?;
        before = ",\n";
    }
    out.write_all(if before == "{\n" { b"{\n\n}\n" } else { b"\n}\n" })
}

/// The name of the metrics of duplicates among the reports in JSON.
const DUPLICATES: &str = "duplicates";

/// The name of the deepest windows among them.
const PILES: &str = "deepest_windows";

/// The name of pairs by tile among them.
const TILES: &str = "duplicates_by_tile";

/// The name of the list of FastQC's reports among them.
const FASTQC: &str = "fastqc";

/// The open report files; a name that cannot be written is reported before the run.
pub struct ReportFiles {
    files: Vec<(ReportFile, AtomicFile)>,
    /// The name of the sample in reports.
    sample: String,
    /// The reports as JSON, by their names, where the run is described by JSON.
    values: Option<Map<String, Value>>,
    /// Charge of what describes the run.
    charge: Charge,
    /// Directories that were made for files; those without any go with a run that fails.
    _made: MadeDirectories,
}

impl ReportFiles {
    /// Opens the files that the plan names.
    pub fn open(plan: &Plan, header: &Header, ledger: &Ledger) -> Result<Self> {
        let mut made = MadeDirectories::default();
        let mut open = |(what, path)| {
            if let ReportFile::FastqcData(_) = what {
                made.make_for(path)?;
            }
            Ok((what, AtomicFile::open(path)?))
        };
        let files = paths(plan).into_iter().map(&mut open).collect::<Result<_>>()?;
        let values = plan.tallies.describe().then(Map::new);
        let (sample, charge) = (sample_name(plan, header), ledger.empty_charge(DESCRIPTION));
        Ok(ReportFiles { files, sample, values, charge, _made: made })
    }

    /// The name of the sample in reports.
    pub fn sample(&self) -> &str {
        &self.sample
    }

    /// Keeps a report for the description of the run.
    fn keep(&mut self, what: ReportFile, bytes: &[u8]) -> Result<()> {
        let Some(values) = self.values.as_mut().filter(|_| what.is_described()) else { return Ok(()) };
        let all = self.charge.bytes() + texts::max_bytes(bytes);
        self.charge.grow_to(all)?;
        let Some(value) = what.value(&String::from_utf8_lossy(bytes)) else { return Ok(()) };
        if let ReportFile::FastqcData(_) = what {
            // One for each input.
            let list = values.entry(FASTQC).or_insert_with(|| Value::Array(Vec::new()));
            if let Some(list) = list.as_array_mut() {
                list.push(value);
            }
        } else {
            values.insert(what.key().into(), value);
        }
        Ok(())
    }

    /// The charge of the description of the run.
    pub fn charge(&mut self) -> &mut Charge {
        &mut self.charge
    }

    /// Takes the reports as JSON.
    pub fn take_values(&mut self) -> Map<String, Value> {
        self.values.take().unwrap_or_default()
    }

    /// The files but for the description of the run and its page, each with its name among the reports, and its bytes if it
    /// is a regular file.
    pub fn complete(&self) -> impl Iterator<Item = (&'static str, &Path, Option<u64>)> {
        let about = [ReportFile::Run, ReportFile::Page];
        let others = self.files.iter().filter(move |(what, _)| !about.contains(what));
        others.map(|(what, target)| (what.key(), target.path(), target.bytes()))
    }

    /// Writes a file under its temporary name, if the plan asks for it.
    pub fn write(&mut self, what: ReportFile, bytes: &[u8]) -> Result<()> {
        let Some(target) = self.target(what) else { return Ok(()) };
        target.write(bytes)?;
        target.sync()?;
        self.keep(what, bytes)
    }

    /// Writes the description of the run under its temporary name, if the plan asks for it: its text is never whole in memory.
    pub fn write_run(&mut self, value: &Value) -> Result<()> {
        let Some(target) = self.target(ReportFile::Run) else { return Ok(()) };
        target.write_with(|out| put_lines(value, out))?;
        target.sync()
    }

    /// Writes a long file under its temporary name, part by part.
    fn write_parts(&mut self, what: ReportFile, mut parts: impl Iterator<Item = Vec<u8>>) -> Result<()> {
        let Some(target) = self.target(what) else { return Ok(()) };
        parts.try_for_each(|part| target.write(&part))?;
        target.sync()
    }

    /// Takes the files of coverage out, to be given back once they are complete.
    pub fn take_coverage(&mut self) -> Vec<(&'static str, AtomicFile)> {
        let (coverage, others) = std::mem::take(&mut self.files)
            .into_iter()
            .partition(|(what, _): &(ReportFile, AtomicFile)| matches!(what, ReportFile::Coverage(_)));
        self.files = others;
        let coverage: Vec<(ReportFile, AtomicFile)> = coverage;
        let ending = |(what, target)| match what {
            ReportFile::Coverage(ending) => (ending, target),
            _ => ("", target),
        };
        coverage.into_iter().map(ending).collect()
    }

    /// Takes complete files back.
    pub fn put_coverage(&mut self, complete: Vec<(&'static str, AtomicFile)>) -> Result<()> {
        for (ending, target) in complete {
            let what = ReportFile::Coverage(ending);
            // The texts are short; what is long is in BED files.
            if self.values.is_some() && ending.ends_with(".txt") && target.is_file() {
                let text = target.read_all()?;
                self.keep(what, &text)?;
            }
            self.files.push((what, target));
        }
        Ok(())
    }

    /// Keeps the deepest windows for the description of the run, if some were looked for.
    pub fn keep_piles(&mut self, deepest: &[NamedPile]) {
        let Some(values) = self.values.as_mut().filter(|_| !deepest.is_empty()) else { return };
        let row = |(contig, pile): &NamedPile| {
            json!({
                "contig": contig,
                "start": pile.start,
                "end": pile.end,
                "mean_depth": pile.mean_depth(),
                "max_depth": pile.max_depth,
            })
        };
        let rows: Vec<Value> = deepest.iter().map(row).collect();
        values.insert(PILES.into(), json!({ "window": WINDOW_BASES, "rows": rows }));
    }

    fn target(&mut self, what: ReportFile) -> Option<&mut AtomicFile> {
        self.files.iter_mut().find_map(|(which, target)| (*which == what).then_some(target))
    }

    /// Writes the recalibration table before or after recalibration, if the plan asks for it.
    pub fn write_table(&mut self, report: &bqsr::RecalReport, after: bool) -> Result<()> {
        self.write(if after { ReportFile::After } else { ReportFile::Table }, &report.to_text())
    }

    /// Writes the duplication metrics that the plan asks for.
    pub fn write_metrics(&mut self, plan: &Plan, metrics: &DuplicationMetrics) -> Result<()> {
        let command = self.in_place_of("MarkDuplicates", plan);
        let text = metrics.to_picard(&command, VERSION);
        self.write(ReportFile::Metrics, &text)?;
        if let Some(values) = &mut self.values {
            let all = self.charge.bytes() + texts::max_bytes(&text);
            self.charge.grow_to(all)?;
            values.insert(DUPLICATES.into(), texts::metrics(&String::from_utf8_lossy(&text)));
        }
        let sample = self.sample.clone();
        let Some(target) = self.target(ReportFile::Json) else { return Ok(()) };
        metrics.write_json(&command, &sample, |text| target.write(text.as_bytes()))?;
        target.sync()
    }

    /// Keeps pairs by tile for the description of the run, if they were counted.
    pub fn keep_tiles(&mut self, libraries: &Libraries, tiles: &[TileCounts]) {
        let Some(values) = self.values.as_mut().filter(|_| !tiles.is_empty()) else { return };
        let ids = libraries.group_ids();
        let name = |group: u16| -> Value {
            let id = ids.get(usize::from(group)).copied().flatten();
            id.map(|id| String::from_utf8_lossy(id).into_owned()).into()
        };
        let groups: Vec<Value> = tiles.iter().map(|tile| name(tile.group)).collect();
        let column = |of: fn(&TileCounts) -> u64| tiles.iter().map(of).collect::<Vec<u64>>();
        let columns = json!({
            "read_group": groups,
            "tile": column(|tile| tile.tile.into()),
            "pairs": column(|tile| tile.pairs),
            "duplicates": column(|tile| tile.duplicates),
            "optical_duplicates": column(|tile| tile.optical),
        });
        values.insert(TILES.into(), columns);
    }

    /// Writes the report of samtools markdup that the plan asks for.
    pub fn write_samtools_report(&mut self, plan: &Plan, report: &SamtoolsReport) -> Result<()> {
        let command = plan.command_line();
        self.write(ReportFile::Metrics, report.format_text(&command).as_bytes())?;
        let json = report.format_json(&command);
        if let Some(values) = &mut self.values {
            let value = serde_json::from_str(&json);
            let wrong = |error| Error::bug(format!("the duplicate report is not valid JSON: {error}"));
            values.insert(DUPLICATES.into(), value.map_err(wrong)?);
        }
        self.write(ReportFile::Json, json.as_bytes())
    }

    /// Writes the result of a tally to its files.
    pub fn write_tally(
        &mut self,
        plan: &Plan,
        files: &[ReportFile],
        report: &TallyReport,
    ) -> Result<()> {
        let main = plan.destination.main().map(|output| &output.path).or(plan.inputs.first());
        let file = main.map_or("-".into(), |path| path.display().to_string());
        let in_place_of = |tool: &str| self.in_place_of(tool, plan);
        let names = RunNames {
            file: &file,
            sample: &self.sample,
            picard_command_line: &in_place_of,
            started: VERSION,
        };
        let texts = report.take_texts(&names)?;
        files.iter().zip(texts).try_for_each(|(file, text)| match text {
            ReportText::Whole(text) => self.write(*file, &text),
            ReportText::Parts(parts) => self.write_parts(*file, parts),
        })
    }

    /// Returns a command line that begins like one of Picard, because report tools read the sample from it.
    fn in_place_of(&self, tool: &str, plan: &Plan) -> String {
        format!("{tool} INPUT={} ({})", self.sample, plan.command_line())
    }

    /// Takes the complete files out, to be renamed. Directories that were made for them, and are empty, go with this.
    pub fn take_files(&mut self) -> Vec<AtomicFile> {
        self.files.drain(..).map(|(_, target)| target).collect()
    }
}

/// In place of the date that Picard writes: equal runs write equal bytes.
const VERSION: &str = concat!("Written by readmill ", env!("CARGO_PKG_VERSION"));

/// The files that the plan names.
pub fn paths(plan: &Plan) -> Vec<(ReportFile, &Path)> {
    let metrics = plan.steps.duplicates.as_ref().map(|duplicates| &duplicates.metrics);
    let request = plan.steps.recalibration.as_ref().and_then(|it| it.table_request());
    let all = [
        (ReportFile::Metrics, metrics.and_then(|metrics| metrics.picard.as_deref())),
        (ReportFile::Json, metrics.and_then(|metrics| metrics.json.as_deref())),
        (ReportFile::Table, request.and_then(|request| request.table.as_deref())),
        (ReportFile::After, request.and_then(|request| request.after.as_deref())),
    ];
    let tallies = plan.tallies.files.iter();
    let tallies = tallies.map(|(spec, path)| (ReportFile::Tally(spec.name), path.as_path()));
    let metrics = plan.tallies.qc.iter().flat_map(QcRequest::files);
    let metrics = metrics.map(|(ending, path)| (ReportFile::Qc(ending), path));
    let named = all.into_iter().filter_map(|(what, path)| Some((what, path?)));
    let coverage = plan.tallies.coverage.iter().flat_map(CoverageRequest::files);
    let coverage = coverage.map(|(ending, path)| (ReportFile::Coverage(ending), path));
    let fastqc = plan.tallies.fastqc.iter().flat_map(|fastqc| &fastqc.reports).enumerate();
    let fastqc = fastqc.flat_map(|(number, report)| {
        let data = (ReportFile::FastqcData(number), report.data.as_path());
        [data, (ReportFile::FastqcSummary(number), report.summary.as_path())]
    });
    let fingerprint = plan.tallies.fingerprint.iter();
    let fingerprint = fingerprint.map(|it| (ReportFile::Fingerprint, it.file.as_path()));
    let run = plan.tallies.json.iter().map(|path| (ReportFile::Run, path.as_path()));
    let page = plan.tallies.page.iter().map(|page| (ReportFile::Page, page.file.as_path()));
    let last = run.chain(page);
    named
        .chain(tallies)
        .chain(metrics)
        .chain(coverage)
        .chain(fastqc)
        .chain(fingerprint)
        .chain(last)
        .collect()
}

/// How the names of a reference and of the files of an aligner's index end.
const ALIGNER_FILES: [&str; 9] =
    ["", ".amb", ".ann", ".pac", ".bwt.2bit.64", ".0123", ".alt", ".l2b", ".mbw"];

/// Refuses names that make one output overwrite another, or an input. (The main output may replace an input if that is
/// asked for.)
pub fn check(plan: &Plan) -> Result<()> {
    let metrics = [ReportFile::Metrics, ReportFile::Json];
    let by_samtools =
        plan.steps.duplicates.as_ref().is_some_and(|duplicates| duplicates.rules.samtools.is_some());
    let is_named = !by_samtools && paths(plan).iter().any(|(what, _)| metrics.contains(what))
        || plan.tallies.qc.is_some()
        || plan.tallies.fingerprint.is_some()
        || plan.tallies.describe()
        || plan.tallies.files.iter().any(|(spec, _)| spec.names_sample);
    if plan.tallies.sample.is_some() && !is_named && by_samtools {
        let what = "--sample sets the sample name in metrics, but the report of samtools markdup has no sample name";
        return Err(Error::usage(what).hint("omit --sample"));
    }
    if plan.tallies.sample.is_some() && !is_named {
        let what = "--sample sets the sample name in metrics, but no metrics are written";
        let way_out = match plan.command {
            Command::Tally(_) => "omit --sample or --no-metrics",
            _ => "add --metrics FILE, or omit --sample",
        };
        return Err(Error::usage(what).hint(way_out));
    }
    let main = plan.destination.main().map_or_else(Vec::new, Output::names);
    let main = || main.iter().map(PathBuf::as_path);
    let recalibration = plan.steps.recalibration.iter().flat_map(|it| it.input_files());
    let regions = plan.tallies.coverage.iter().filter_map(|coverage| coverage.bed.clone());
    let of_metrics = plan.tallies.qc.iter().flat_map(|qc| qc.metrics.files()).cloned();
    let sites = plan.tallies.fingerprint.iter().map(|it| it.sites.clone());
    let limits = plan.tallies.page.iter().filter_map(|page| page.limits_file.clone());
    let mut read: Vec<PathBuf> = recalibration
        .cloned()
        .chain(plan.steps.filters.input_files())
        .chain(regions)
        .chain(sites)
        .chain(of_metrics)
        .chain(limits)
        .collect();
    let request = plan.steps.recalibration.iter().filter_map(|it| it.table_request());
    request.for_each(|it| read.extend([".fai", ".gzi"].map(|index| with_suffix(&it.reference, index))));
    let reference = plan.resources.reference.iter().map(|fasta| fasta.path());
    reference.for_each(|it| {
        read.extend([it.to_path_buf(), with_suffix(it, ".fai"), with_suffix(it, ".gzi")]);
    });
    let aligner = plan.aligning.iter().filter_map(|it| it.reference.as_ref());
    aligner.for_each(|prefix| read.extend(ALIGNER_FILES.map(|end| with_suffix(prefix, end))));
    let beside: Vec<&Path> =
        paths(plan).into_iter().map(|(_, path)| path).chain(plan.destination.extra_paths()).collect();
    for (n, path) in main().chain(beside.iter().copied()).enumerate() {
        let in_place = n < main().count() && plan.destination.main().is_some_and(|main| main.in_place);
        plan.inputs.iter().try_for_each(|input| check_distinct(input, path))?;
        let mut inputs = plan.inputs.iter().filter(|_| !in_place);
        inputs.try_for_each(|input| spare_main(input, path, n < main().count()))?;
        read.iter().try_for_each(|input| ensure_output_is_not_input(input, path))?;
    }
    for (n, path) in beside.iter().enumerate() {
        let mut others = main().chain(beside[..n].iter().copied());
        if !is_device(path) && others.any(|other| is_same_file(path, other)) {
            let what = format!("two outputs have the same name, {}", path.display());
            return Err(Error::usage(what).hint("give each output a different name"));
        }
        let mut others = main().chain(plan.destination.extra_paths());
        if others.any(|other| index_names(other).iter().any(|index| is_same_file(path, index))) {
            let what = format!("{} has the name of the index of another output", path.display());
            return Err(Error::usage(what).hint("give it another name"));
        }
    }
    Ok(())
}

/// Refuses outputs that would overwrite a file that is read, such as the index of the input.
pub fn check_spares(plan: &Plan, read: &Path) -> Result<()> {
    let main = plan.destination.main().filter(|main| !main.in_place);
    let main = main.map_or_else(Vec::new, |main| [main.names(), index_names(&main.path)].concat());
    let beside = paths(plan).into_iter().map(|(_, path)| path).chain(plan.destination.extra_paths());
    main.iter()
        .map(PathBuf::as_path)
        .chain(beside)
        .try_for_each(|path| ensure_output_is_not_input(read, path))
}

/// Refuses an output that would overwrite an input; the hint names the flag by which a main output may replace the input.
fn spare_main(input: &Path, output: &Path, is_main: bool) -> Result<()> {
    let way_out = "give the output another name; to replace the input, add --in-place";
    ensure_output_is_not_input(input, output)
        .map_err(|error| if is_main { error.hint(way_out) } else { error })
}

/// Returns the metrics of the duplicates that were found and marked.
pub fn duplication(
    libraries: &Libraries,
    counts: Vec<LibraryCounts>,
    sizes: &SetSizes,
) -> DuplicationMetrics {
    let rows = libraries.names().iter().enumerate().filter_map(|(number, name)| {
        let counts = counts.get(number).cloned().unwrap_or_default();
        let listed = libraries.is_listed(number) || counts != Default::default();
        listed.then(|| (name.clone(), counts))
    });
    DuplicationMetrics { libraries: rows.collect(), sets: sizes.clone() }
}
