//! Report files: metrics, recalibration tables, statistics. [`refuse_overwrites`] and [`ensure_no_output_overwrites`] also compare
//! the names of all outputs of a run with each other and with the files that it reads.

use std::path::{Path, PathBuf};

use readmill_bqsr as bqsr;
use readmill_format::report::{DescribedReport, ReportContents, RunNames, max_value_bytes};
use readmill_markdup::metrics::{LibraryCounts, SetSizes};
use readmill_markdup::samtools::SamtoolsReport;
use readmill_markdup::{DuplicationMetrics, FamilyCounts, Libraries, MoleculeCounts, TileCounts};
use readmill_process::atomic_file::{AtomicFile, ensure_temporary_is_not_input, is_device, with_suffix};
use readmill_process::made_directories::MadeDirectories;
use readmill_process::older_indexes::index_names;
use readmill_process::same_file::{ensure_output_is_not_input, is_same_file};
use readmill_record::header::Header;
use readmill_record::{Charge, Error, Ledger, Result};
use serde_json::{Map, Value, json};

use crate::addons::{CompleteFiles, FileTime, PlannedFile, WriteReport};
use crate::outputs::sample_name::{only_sample, sample_name};
use crate::plan::{Command, Output, Plan};

/// The kinds of report files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFile {
    /// Duplication metrics in Picard's format, or the samtools markdup report.
    Metrics,
    /// Duplication metrics as JSON.
    Json,
    /// The recalibration table of the input reads.
    Table,
    /// The recalibration table of the recalibrated reads.
    After,
    /// A file of an add-on: the index of the add-on in the plan, and the index of the file among
    /// its files.
    AddOn(usize, usize),
    /// The description of the run as JSON (`--json`).
    Run,
}

/// A report file that is open for writing.
struct OpenReport {
    what: ReportFile,
    /// The report's name in the JSON description.
    name: &'static str,
    is_list_item: bool,
    time: FileTime,
    target: AtomicFile,
}

/// The ledger name of the run description.
const DESCRIPTION: &str = "the description of the run";

/// Writes a JSON object with one field per line.
fn write_object_lines(object: &Value, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let mut before = "{\n";
    for (name, value) in object.as_object().into_iter().flatten() {
        write!(out, "{before}{}: ", json!(name))?;
        serde_json::to_writer(&mut *out, value)?;
        before = ",\n";
    }
    out.write_all(if before == "{\n" { b"{\n\n}\n" } else { b"\n}\n" })
}

/// The name of the duplication metrics in the JSON description.
const DUPLICATES: &str = "duplicates";

/// The name of the counts by tile in the JSON description.
const TILES: &str = "duplicates_by_tile";

/// The name of the counts of molecules in the JSON description.
const FAMILIES: &str = "umi_families";

/// The open report files. They are opened before the run, so that a path that cannot be written is
/// reported early.
pub struct ReportFiles {
    files: Vec<OpenReport>,
    /// The sample name in reports.
    sample: String,
    /// The sample (SM) of the read groups, if they all have the same one.
    sample_of_read_groups: Option<String>,
    /// The reports as JSON, by name. `None` if the run needs no description.
    values: Option<Map<String, Value>>,
    /// The charge for the description of the run.
    charge: Charge,
    /// The directories created for the files. If the run fails, those that are still empty are
    /// removed.
    _made: MadeDirectories,
}

impl ReportFiles {
    /// Opens the report files of the plan.
    pub fn open(plan: &Plan, header: &Header, ledger: &Ledger) -> Result<Self> {
        let mut made = MadeDirectories::default();
        let mut open = |(what, file): (ReportFile, PlannedFile<'_>)| {
            if file.creates_directory {
                made.create_parents(file.path)?;
            }
            let PlannedFile { name, path, is_list_item, time, .. } = file;
            Ok(OpenReport { what, name, is_list_item, time, target: AtomicFile::open(path)? })
        };
        let files = planned_files(plan).into_iter().map(&mut open).collect::<Result<_>>()?;
        let values = plan.reports.is_described().then(Map::new);
        let (sample, charge) = (sample_name(plan, header), ledger.empty_charge(DESCRIPTION));
        let sample_of_read_groups = only_sample(header);
        Ok(ReportFiles { files, sample, sample_of_read_groups, values, charge, _made: made })
    }

    /// Returns the sample (SM) of the read groups, if they all have the same one.
    pub fn sample_of_read_groups(&self) -> Option<&str> {
        self.sample_of_read_groups.as_deref()
    }

    /// Returns the sample name in reports.
    pub fn sample(&self) -> &str {
        &self.sample
    }

    /// Adds the value of a report to the description of the run. Its text, which has been written,
    /// is dropped first, so that both are never in memory together.
    fn keep_report(
        &mut self,
        (name, is_list_item): (&str, bool),
        report: &dyn DescribedReport,
        text: Vec<u8>,
    ) -> Result<()> {
        let Some(values) = &mut self.values else { return Ok(()) };
        self.charge.grow_to(self.charge.bytes() + max_value_bytes(&text))?;
        drop(text);
        let value = report.to_value();
        if !is_list_item {
            values.insert(name.into(), value);
        } else if let Value::Array(list) = values.entry(name).or_insert_with(|| json!([])) {
            list.push(value);
        }
        Ok(())
    }

    pub fn charge(&mut self) -> &mut Charge {
        &mut self.charge
    }

    /// Takes the reports as JSON values.
    pub fn take_values(&mut self) -> Map<String, Value> {
        self.values.take().unwrap_or_default()
    }

    /// Returns all report files with their names in the JSON description, and their sizes if they
    /// are regular files. Excludes the description of the run and the files derived from it.
    pub fn complete(&self) -> impl Iterator<Item = (&'static str, &Path, Option<u64>)> {
        let is_listed =
            |file: &&OpenReport| file.what != ReportFile::Run && file.time != FileTime::AfterDescription;
        let listed = self.files.iter().filter(is_listed);
        listed.map(|file| (file.name, file.target.path(), file.target.bytes()))
    }

    /// Writes a report file under its temporary name, if the plan requests it.
    pub fn write(&mut self, what: ReportFile, bytes: &[u8]) -> Result<()> {
        let Some(file) = self.find(what) else { return Ok(()) };
        file.target.write(bytes)?;
        file.target.sync()
    }

    /// Writes a report under its temporary name, if the plan asks for it, and keeps its value.
    fn write_report(&mut self, what: ReportFile, report: &dyn DescribedReport) -> Result<()> {
        let Some(file) = self.find(what) else { return Ok(()) };
        let (named, text) = ((file.name, file.is_list_item), report.format_text());
        self.write(what, &text)?;
        self.keep_report(named, report, text)
    }

    /// Writes the description of the run under its temporary name, if the plan requests it. The
    /// complete text is never in memory.
    pub fn write_run(&mut self, value: &Value) -> Result<()> {
        let Some(file) = self.find(ReportFile::Run) else { return Ok(()) };
        file.target.write_with(|out| write_object_lines(value, out))?;
        file.target.sync()
    }

    /// Writes the file of an add-on that is derived from the description of the run.
    pub fn write_after_description(&mut self, add_on: usize, text: &[u8]) -> Result<()> {
        let found = self.find_of_add_on(add_on, FileTime::AfterDescription);
        found.into_iter().try_for_each(|what| self.write(what, text))
    }

    /// Writes a long report file under its temporary name, part by part.
    fn write_parts(&mut self, what: ReportFile, mut parts: impl Iterator<Item = Vec<u8>>) -> Result<()> {
        let Some(file) = self.find(what) else { return Ok(()) };
        parts.try_for_each(|part| file.target.write(&part))?;
        file.target.sync()
    }

    /// Takes the files that an add-on writes while reads are counted, each with its index among the
    /// add-on's files. [`ReportFiles::put_complete`] returns them.
    pub fn take_files_of_counting(&mut self, add_on: usize) -> Vec<(usize, AtomicFile)> {
        let is_taken = |file: &mut OpenReport| {
            matches!(file.what, ReportFile::AddOn(owner, _) if owner == add_on)
                && file.time == FileTime::WhileCounting
        };
        let taken = self.files.extract_if(.., is_taken);
        let numbered = taken.filter_map(|file| match file.what {
            ReportFile::AddOn(_, number) => Some((number, file.target)),
            _ => None,
        });
        numbered.collect()
    }

    /// Takes back the complete files of an add-on, and keeps its values for the description of the
    /// run.
    pub fn put_complete(&mut self, plan: &Plan, add_on: usize, complete: CompleteFiles) -> Result<()> {
        let planned = plan.reports.add_ons.iter().nth(add_on);
        let planned = planned.map_or_else(Vec::new, |add_on| add_on.output_files());
        for (number, target) in complete.files {
            let Some(&PlannedFile { name, is_list_item, time, .. }) = planned.get(number) else {
                return Err(Error::bug("an add-on completed a file that it does not have"));
            };
            if let Some((_, report)) = complete.reports.iter().find(|(of_file, _)| *of_file == number) {
                self.keep_report((name, is_list_item), &**report, report.format_text())?;
            }
            let what = ReportFile::AddOn(add_on, number);
            self.files.push(OpenReport { what, name, is_list_item, time, target });
        }
        if let Some(values) = &mut self.values {
            let named = complete.values.into_iter().map(|(name, value)| (name.to_string(), value));
            values.extend(named);
        }
        Ok(())
    }

    /// Returns the files of an add-on that are written at `time`, in their order.
    fn find_of_add_on(&self, add_on: usize, time: FileTime) -> Vec<ReportFile> {
        let is_wanted = |file: &&OpenReport| {
            matches!(file.what, ReportFile::AddOn(owner, _) if owner == add_on) && file.time == time
        };
        self.files.iter().filter(is_wanted).map(|file| file.what).collect()
    }

    fn find(&mut self, what: ReportFile) -> Option<&mut OpenReport> {
        self.files.iter_mut().find(|file| file.what == what)
    }

    /// Writes the recalibration table before or after recalibration, if the plan requests it.
    pub fn write_table(&mut self, report: &bqsr::RecalReport, after: bool) -> Result<()> {
        self.write_report(if after { ReportFile::After } else { ReportFile::Table }, report)
    }

    /// Writes the duplication metrics that the plan requests.
    pub fn write_metrics(&mut self, plan: &Plan, metrics: &DuplicationMetrics) -> Result<()> {
        let command = picard_command_line("MarkDuplicates", &self.sample, plan);
        let report = metrics.to_picard(&command, VERSION);
        let text = report.format_text();
        self.write(ReportFile::Metrics, &text)?;
        // They are described even if the plan does not ask for the file.
        self.keep_report((DUPLICATES, false), &report, text)?;
        let sample = self.sample.clone();
        let Some(file) = self.find(ReportFile::Json) else { return Ok(()) };
        metrics.write_json(&command, &sample, |text| file.target.write(text.as_bytes()))?;
        file.target.sync()
    }

    /// Adds the pair counts by tile to the description of the run, if they were counted.
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

    /// Adds the families of UMIs to the description of the run.
    pub fn keep_molecules(&mut self, molecules: &MoleculeCounts) {
        let Some(values) = self.values.as_mut() else { return };
        let describe = |counts: &FamilyCounts| {
            let sizes = counts.sizes.iter().zip(1_u64..).filter(|(families, _)| **families > 0);
            let (families, sizes): (Vec<u64>, Vec<u64>) = sizes.unzip();
            json!({
                "templates": counts.templates,
                "without_umi": counts.without_umi,
                "corrected": counts.corrected,
                "families": counts.families,
                "both_strands": molecules.joins_strands.then_some(counts.both_strands),
                "largest": counts.largest,
                "sizes": { "size": sizes, "families": families },
            })
        };
        let MoleculeCounts { pairs, single_reads, .. } = molecules;
        let value = json!({ "pairs": describe(pairs), "single_reads": describe(single_reads) });
        values.insert(FAMILIES.into(), value);
    }

    /// Writes the samtools markdup report that the plan requests.
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

    /// Writes the files of an add-on that are written at the end. `each` passes their contents, in
    /// order.
    pub fn write_reports(
        &mut self,
        plan: &Plan,
        add_on: usize,
        each: impl FnOnce(&RunNames<'_>, &mut WriteReport<'_>) -> Result<()>,
    ) -> Result<()> {
        let main = plan.destination.main_output().map(|output| &output.path).or(plan.inputs.first());
        let file = main.map_or("-".into(), |path| path.display().to_string());
        let sample = self.sample.clone();
        let names = RunNames {
            file: &file,
            sample: &sample,
            picard_command_line: &|tool| picard_command_line(tool, &sample, plan),
            started: VERSION,
        };
        let mut files = self.find_of_add_on(add_on, FileTime::AtEnd).into_iter();
        let miscounted = || Error::bug("an add-on planned and wrote different numbers of reports");
        each(&names, &mut |report| match (files.next(), report) {
            (Some(file), ReportContents::Text(text)) => self.write(file, &text),
            (Some(file), ReportContents::Parts(parts)) => self.write_parts(file, parts),
            (Some(file), ReportContents::Described(report)) => self.write_report(file, &*report),
            (None, _) => Err(miscounted()),
        })?;
        files.next().map_or(Ok(()), |_| Err(miscounted()))
    }

    /// Takes the complete files, to be renamed. Dropping `self` removes the directories created for
    /// them that are still empty.
    pub fn take_files(&mut self) -> Vec<AtomicFile> {
        self.files.drain(..).map(|file| file.target).collect()
    }
}

/// Returns a command line that begins like Picard's, because report tools extract the sample name
/// from it.
fn picard_command_line(tool: &str, sample: &str, plan: &Plan) -> String {
    format!("{tool} INPUT={sample} ({})", plan.command_line())
}

/// Replaces the date that Picard writes, so that equal runs write equal bytes.
const VERSION: &str = concat!("Written by readmill ", env!("CARGO_PKG_VERSION"));

/// Returns the report files of the plan, in the order in which they are opened.
pub fn planned_files(plan: &Plan) -> Vec<(ReportFile, PlannedFile<'_>)> {
    let metrics = plan.steps.duplicates.as_ref().map(|duplicates| &duplicates.metrics);
    let request = plan.steps.recalibration.as_ref().and_then(|it| it.table_request());
    let of_core = [
        (ReportFile::Metrics, DUPLICATES, metrics.and_then(|metrics| metrics.picard.as_deref())),
        (ReportFile::Json, "duplicates as JSON", metrics.and_then(|metrics| metrics.json.as_deref())),
        (ReportFile::Table, "recalibration table", request.and_then(|it| it.table.as_deref())),
        (
            ReportFile::After,
            "recalibration table of new qualities",
            request.and_then(|it| it.after.as_deref()),
        ),
    ];
    let of_core = of_core.into_iter();
    let of_core = of_core.filter_map(|(what, name, path)| Some((what, PlannedFile::new(name, path?))));
    let add_ons = plan.reports.add_ons.iter().enumerate().flat_map(|(add_on, request)| {
        let files = request.output_files().into_iter().enumerate();
        files.map(move |(number, file)| (ReportFile::AddOn(add_on, number), file))
    });
    let is_last = |(_, file): &(_, PlannedFile<'_>)| file.time == FileTime::AfterDescription;
    let (last, others): (Vec<_>, Vec<_>) = add_ons.partition(is_last);
    let run = plan.reports.json.iter().map(|path| (ReportFile::Run, PlannedFile::new("run", path)));
    of_core.chain(others).chain(run).chain(last).collect()
}

/// Suffixes of the reference file and of the files of an aligner's index.
const ALIGNER_FILES: [&str; 9] =
    ["", ".amb", ".ann", ".pac", ".bwt.2bit.64", ".0123", ".alt", ".l2b", ".mbw"];

/// Returns an error if an output would overwrite another output or an input. The main output may
/// replace an input with `--in-place`. Called before any file is opened.
pub fn refuse_overwrites(plan: &Plan) -> Result<()> {
    let metrics = [ReportFile::Metrics, ReportFile::Json];
    let by_samtools =
        plan.steps.duplicates.as_ref().is_some_and(|duplicates| duplicates.rules.samtools.is_some());
    let is_named = !by_samtools && planned_files(plan).iter().any(|(what, _)| metrics.contains(what))
        || plan.reports.is_described()
        || plan.reports.add_ons.iter().any(|add_on| add_on.needs().sample);
    if plan.reports.sample.is_some() && !is_named && by_samtools {
        let what = "--sample sets the sample name in metrics, but metrics in the format of samtools markdup have no sample name";
        return Err(Error::usage(what).hint("omit --sample"));
    }
    if plan.reports.sample.is_some() && !is_named {
        let what = "--sample sets the sample name in metrics, but no metrics are written";
        let way_out = match plan.command {
            Command::Tally(_) => "omit --sample or --no-metrics",
            _ => "add --metrics FILE, or omit --sample",
        };
        return Err(Error::usage(what).hint(way_out));
    }
    let main = plan.destination.main_output().map_or_else(Vec::new, Output::all_file_names);
    let main = || main.iter().map(PathBuf::as_path);
    let recalibration = plan.steps.recalibration.iter().flat_map(|it| it.input_files());
    let by_turn = plan.reports.add_ons.by_turn().into_iter();
    let of_add_ons = by_turn.flat_map(|(_, add_on)| add_on.input_files()).map(Path::to_path_buf);
    let mut read: Vec<PathBuf> =
        recalibration.cloned().chain(plan.steps.filters.input_files()).chain(of_add_ons).collect();
    read.extend(plan.reports.judgement.file.clone());
    let request = plan.steps.recalibration.iter().filter_map(|it| it.table_request());
    request.for_each(|it| read.extend([".fai", ".gzi"].map(|index| with_suffix(&it.reference, index))));
    let reference = plan.resources.reference.iter().map(|fasta| fasta.path());
    reference.for_each(|it| {
        read.extend([it.to_path_buf(), with_suffix(it, ".fai"), with_suffix(it, ".gzi")]);
    });
    let aligner = plan.aligning.iter().filter_map(|it| it.reference.as_ref());
    aligner.for_each(|prefix| read.extend(ALIGNER_FILES.map(|end| with_suffix(prefix, end))));
    let reports = planned_files(plan).into_iter().map(|(_, file)| file.path);
    let beside: Vec<&Path> = reports.chain(plan.destination.extra_paths()).collect();
    for (n, path) in main().chain(beside.iter().copied()).enumerate() {
        let in_place =
            n < main().count() && plan.destination.main_output().is_some_and(|main| main.in_place);
        plan.inputs.iter().try_for_each(|input| ensure_temporary_is_not_input(input, path))?;
        let mut inputs = plan.inputs.iter().filter(|_| !in_place);
        inputs.try_for_each(|input| refuse_overwriting_input(input, path, n < main().count()))?;
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

/// Returns an error if an output would overwrite `read`, a file whose name is only known after the
/// inputs are open, such as the index of an input.
pub fn ensure_no_output_overwrites(plan: &Plan, read: &Path) -> Result<()> {
    let main = plan.destination.main_output().filter(|main| !main.in_place);
    let main =
        main.map_or_else(Vec::new, |main| [main.all_file_names(), index_names(&main.path)].concat());
    let reports = planned_files(plan).into_iter().map(|(_, file)| file.path);
    let beside = reports.chain(plan.destination.extra_paths());
    main.iter()
        .map(PathBuf::as_path)
        .chain(beside)
        .try_for_each(|path| ensure_output_is_not_input(read, path))
}

/// Returns an error if an output would overwrite an input. For the main output, the hint contains
/// the flag that allows it.
fn refuse_overwriting_input(input: &Path, output: &Path, is_main: bool) -> Result<()> {
    let way_out = "give the output another name; to replace the input, add --in-place";
    ensure_output_is_not_input(input, output)
        .map_err(|error| if is_main { error.hint(way_out) } else { error })
}

/// Returns the metrics of the duplicates that were found and marked.
pub fn duplication_metrics(
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
