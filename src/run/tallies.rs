//! The tallies of a run, and the points where they tap the reads.

use std::sync::Arc;

use readmill_engine::{Crew, map_ordered};
use readmill_fastqc::FastqcRun;
use readmill_filters::tally::stats::{StatsOrder, StatsSettings};
use readmill_filters::tally::{Checksum, ChecksumColumns, RunNames, TallyContext, TallyReport};
use readmill_fingerprint::{Fingerprint, FingerprintTally, Sites};
use readmill_format::region::{ContigPart, Region};
use readmill_process::console::{Console, log};
use readmill_qc::{QcTally, ReferenceSpan, RunEnd, SpanThreads, SpanWork};
use readmill_record::{
    Changes, DynOrderedTally, DynTally, Error, Header, Ledger, LongestSpan, Result, SharedOrderedTally,
    SharedTally, Step,
};
use readmill_sort::Order;

use crate::outputs::coverage::CoverageTally;
use crate::outputs::part_counts::OrderedTallies;
use crate::outputs::report_files::{ReportFile, ReportFiles};
use crate::pipeline::batch_pipeline::DynTallies;
use crate::plan::{self, Plan};
use crate::run::memory::Memory;

/// A point of the pipeline where tallies see the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tap {
    /// Input reads, before any step.
    Input,
    /// Reads after the steps before the sort.
    SortBuffer,
    /// Sorted reads, before the steps after the sort.
    BeforeLate,
    /// Reads after all steps.
    AfterLate,
    /// Reads of the main output.
    MainOutput,
}

/// All tallies of a run.
#[derive(Default)]
pub struct RunTallies {
    /// Those whose result is a file.
    reports: Vec<RunReport>,
    /// The ordered tallies of quality metrics.
    metrics_in_order: Vec<Arc<dyn DynOrderedTally>>,
    /// The modules of FastQC.
    fastqc: Option<Arc<FastqcRun>>,
    /// Statistics that depend on the order of reads.
    stats: Option<Arc<StatsOrder>>,
    /// The span of the longest read, if stages trim pieces by it.
    spans: Option<SharedTally<LongestSpan>>,
    verify: Option<[SharedTally<Checksum>; 4]>,
    others: Vec<Arc<dyn DynTally>>,
    /// Warnings about the files that tallies read.
    warnings: Vec<String>,
}

/// A tally whose result is written, and its files.
struct RunReport {
    tap: Tap,
    files: Vec<ReportFile>,
    report: TallyReport,
}

impl RunTallies {
    /// Creates the tallies of the plan, and `others`. Reads come in under the header `came` and leave under `header`;
    /// `steps` are the steps known so far.
    pub fn new(
        plan: &Plan,
        came: &Header,
        header: &Header,
        steps: &[&[Box<dyn Step>]],
        others: Vec<Arc<dyn DynTally>>,
        memory: &Memory,
    ) -> Result<Self> {
        let wanted = &plan.tallies;
        let sorted = plan.order() == Order::Coordinate || header.declares_coordinate_order();
        let stats = wanted.count_stats().then(|| statistics(plan, header, memory)).transpose()?;
        let context = TallyContext { header, sorted, stats: stats.as_ref(), ledger: &memory.ledger };
        let known = steps.iter().fold(late_changes(plan), |all, steps| all.union(&changes(steps)));
        let tags = known.tags;
        let verifying = |header| SharedTally::new(Checksum::new(header, tags.clone()));
        let mut reports = Vec::new();
        for (spec, _) in &wanted.files {
            let tap = if spec.of_input { Tap::Input } else { Tap::MainOutput };
            let files = vec![ReportFile::Tally(spec.name)];
            reports.push(RunReport { tap, files, report: (spec.make)(&context) });
        }
        reports.extend(fingerprint(plan, header, memory)?);
        let unknown = stats.as_ref().and_then(|stats| stats.unknown_contig());
        let unknown = unknown
            .map(|name| format!("regions lie on {name}, which is not in the header, and are left out"));
        let (mut metrics_in_order, mut warnings) = (Vec::new(), Vec::from_iter(unknown));
        if let Some((report, in_order)) = quality(plan, header, memory, &mut warnings)? {
            reports.push(report);
            metrics_in_order = in_order;
        }
        Ok(RunTallies {
            reports,
            metrics_in_order,
            fastqc: None,
            stats,
            spans: None,
            verify: wanted.verify.then(|| [came, header, header, header].map(verifying)),
            others,
            warnings,
        })
    }

    /// Returns what the user should know of the files that tallies read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds the modules of FastQC.
    pub fn with_fastqc(self, fastqc: Option<Arc<FastqcRun>>) -> Self {
        RunTallies { fastqc, ..self }
    }

    /// The modules of FastQC, if they are wanted.
    pub fn fastqc(&self) -> Option<&Arc<FastqcRun>> {
        self.fastqc.as_ref()
    }

    /// Returns the tallies at this point.
    pub fn at(&self, tap: Tap) -> DynTallies<'_> {
        let mut tallies = DynTallies::new();
        if let Some([came, held, leaving, done]) = &self.verify {
            match tap {
                Tap::Input => tallies.push(came),
                Tap::SortBuffer => tallies.push(held),
                Tap::BeforeLate => tallies.push(leaving),
                Tap::AfterLate => tallies.push(done),
                Tap::MainOutput => {}
            }
        }
        tallies
            .extend(self.spans.iter().filter(|_| tap == Tap::SortBuffer).map(|it| it as &dyn DynTally));
        tallies.extend(self.reports.iter().filter(|it| it.tap == tap).map(|it| &*it.report.tally));
        if tap == Tap::MainOutput {
            tallies.extend(self.others.iter().map(|it| &**it as &dyn DynTally));
        }
        tallies
    }

    /// Has the span of the longest read measured, if a later stage trims pieces by it.
    pub fn measure_spans(&mut self) {
        let trims = self.metrics_in_order.iter().any(|tally| tally.trims());
        self.spans = trims.then(|| SharedTally::new(LongestSpan));
    }

    /// The bases of the reference that the longest read spans, as far as it was measured.
    pub fn longest_span(&self) -> Result<u32> {
        self.spans.as_ref().map_or(Ok(0), SharedTally::take_total)
    }

    /// Returns the ordered tallies of the main output, charged to `ledger`. Their order is that of the pieces in the
    /// files of stages.
    pub fn in_order(&self, coverage: Option<&Arc<CoverageTally>>, ledger: &Ledger) -> OrderedTallies {
        let coverage = coverage.map(|it| SharedOrderedTally::shared(it, ledger));
        let stats = self.stats.as_ref().map(|it| SharedOrderedTally::shared(it, ledger));
        coverage.into_iter().chain(self.metrics_in_order.iter().cloned()).chain(stats).collect()
    }

    /// Returns the bytes of memory that all of them take on so many threads.
    pub fn bytes(&self, threads: u64) -> u64 {
        let taps = [Tap::Input, Tap::SortBuffer, Tap::BeforeLate, Tap::AfterLate, Tap::MainOutput];
        taps.into_iter().flat_map(|tap| self.at(tap)).map(|tally| tally.memory_bytes(threads)).sum()
    }

    /// Resets the tallies of output reads, which were taken back.
    pub fn take_back(&self) {
        for tap in [Tap::BeforeLate, Tap::AfterLate, Tap::MainOutput] {
            self.at(tap).into_iter().for_each(DynTally::reset_total);
        }
    }

    /// All tallies, in an order that the plan decides.
    fn all(&self) -> impl Iterator<Item = &dyn DynTally> {
        let verifying = self.verify.iter().flatten().map(|it| it as &dyn DynTally);
        self.reports.iter().map(|it| &*it.report.tally).chain(verifying)
    }

    /// Returns all totals so far, to be added to those of another run of the same plan.
    pub fn save(&self) -> Result<Vec<Vec<u8>>> {
        self.all().map(DynTally::save_total).collect()
    }

    /// Adds the totals of another run of the same plan.
    pub fn add(&self, saved: &[Vec<u8>]) -> Result<()> {
        self.all().zip(saved).try_for_each(|(tally, saved)| tally.add_saved(saved))
    }

    /// Writes the files that the plan asks for.
    pub fn write(&self, plan: &Plan, files: &mut ReportFiles, console: &Console) -> Result<()> {
        let mut reports = self.reports.iter();
        reports.try_for_each(|it| files.write_tally(plan, &it.files, &it.report))?;
        let counters = self.fastqc.iter().flat_map(|fastqc| fastqc.files());
        counters.enumerate().try_for_each(|(number, counter)| {
            let report = counter.make_report()?;
            report.encoding_warning().iter().for_each(|warning| console.warn(warning));
            files.write(ReportFile::FastqcData(number), report.format_data().as_bytes())?;
            files.write(ReportFile::FastqcSummary(number), report.format_summary().as_bytes())
        })
    }

    /// Fails if reads were lost, doubled or altered. `held` says whether the run buffered its reads.
    pub fn verify(&self, held: bool, early: &Changes, late: &Changes, console: &Console) -> Result<()> {
        let Some([came, context, leaving, done]) = &self.verify else { return Ok(()) };
        let (came, done) = (came.take_total()?, done.take_total()?);
        if held {
            let (context, leaving) = (context.take_total()?, leaving.take_total()?);
            compare(&came, &context, early, "the filters and edits")?;
            compare(&context, &leaving, &Changes::nothing(), "waiting, sorting and merging")?;
            compare(&leaving, &done, late, "marking, recalibrating and what follows")?;
        } else {
            compare(&came, &done, &early.clone().union(late), "the steps")?;
        }
        console.write_line(&format!(
            "readmill: verified: {} records came, {} leave, and nothing was lost or altered that should not be",
            came.records, done.records
        ));
        Ok(())
    }
}

/// Refuses to count the coverage, or depths, of reads that do not leave by coordinate.
pub fn check_order(plan: &Plan, header: &Header) -> Result<()> {
    let claims = plan.order() == Order::Input && header.declares_coordinate_order();
    if !plan.tallies.count_in_order() || plan.order() == Order::Coordinate || claims {
        return Ok(());
    }
    let program = plan.tallies.qc.as_ref().and_then(|qc| qc.metrics.ordered_program());
    let what = program.map_or("coverage", |program| program.name);
    let what = format!(
        "{what} is counted of reads that are sorted by coordinate, and the header does not say so"
    );
    let way_out = match plan.command {
        plan::Command::Prep | plan::Command::Align => "add --sort coordinate",
        _ => "sort the file first: readmill sort IN -o SORTED",
    };
    Err(Error::usage(what).hint(way_out))
}

/// Returns the tally of the quality metrics that the plan asks for, and the count of depths that it needs.
fn quality(
    plan: &Plan,
    header: &Header,
    memory: &Memory,
    warnings: &mut Vec<String>,
) -> Result<Option<(RunReport, OrderedTallies)>> {
    let Some(request) = &plan.tallies.qc else { return Ok(None) };
    let reference = plan.resources.reference.as_ref();
    let reference = reference.map(|fasta| fasta.open(&memory.ledger)).transpose()?;
    let (crew, more) = (memory.crew, memory.more_for_metrics);
    let threads = crew.threads as u64;
    let tally = QcTally::new(&request.metrics, header, reference, &memory.ledger, threads, more)?;
    warnings.extend_from_slice(tally.warnings());
    let in_order = tally.ordered_tallies(&memory.ledger);
    let tally = Arc::new(tally);
    let counted = Arc::clone(&tally);
    let texts = move |names: &RunNames<'_>| {
        counted.texts(&RunEnd {
            command: names.picard_command_line,
            started: names.started,
            threads: &CrewThreads(crew),
            warn: &|warning| log(&format!("readmill: warning: {warning}")),
        })
    };
    let files = request.files().map(|(ending, _)| ReportFile::Qc(ending)).collect();
    let report =
        RunReport { tap: Tap::MainOutput, files, report: TallyReport::of_counted(tally, texts) };
    Ok(Some((report, in_order)))
}

/// Returns the count of statistics that depend on the order of reads.
fn statistics(plan: &Plan, header: &Header, memory: &Memory) -> Result<Arc<StatsOrder>> {
    let options = &plan.tallies.stats;
    let regions = plan.regions.as_ref().filter(|_| options.within_regions);
    let regions = regions.map(|regions| parts(&regions.texts, header)).transpose()?;
    let settings = StatsSettings::new(options, regions.as_deref(), header, &memory.ledger)?;
    Ok(Arc::new(StatsOrder::new(settings)))
}

/// The parts of contigs that texts name.
fn parts(texts: &[String], header: &Header) -> Result<Vec<ContigPart>> {
    let mut parts = Vec::new();
    for text in texts {
        if let Region::Part(part) = Region::parse(text, header).map_err(Error::usage)? {
            parts.push(part);
        }
    }
    Ok(parts)
}

/// The threads of a run, for programs of quality metrics that look at the whole reference.
struct CrewThreads(Crew);

impl SpanThreads for CrewThreads {
    fn for_each_span<'a>(
        &self,
        spans: &mut (dyn Iterator<Item = Result<ReferenceSpan>> + Send),
        work: &(dyn Fn() -> SpanWork<'a> + Sync),
    ) -> Result<()> {
        map_ordered(self.0, || spans.next().transpose(), work, |work, span| work(span), |()| Ok(()))?;
        Ok(())
    }
}

/// Returns the tally of the fingerprint that the plan asks for.
fn fingerprint(plan: &Plan, header: &Header, memory: &Memory) -> Result<Option<RunReport>> {
    let Some(request) = &plan.tallies.fingerprint else { return Ok(None) };
    let sites = Sites::read(&request.sites, header, &memory.ledger)?;
    let tally = FingerprintTally::new(sites, header);
    let texts = |total: Fingerprint, names: &RunNames<'_>| {
        Ok(vec![Fingerprint { sample: names.sample.into(), ..total }.to_text().into()])
    };
    let (files, report) = (vec![ReportFile::Fingerprint], TallyReport::of_files(tally, texts));
    Ok(Some(RunReport { tap: Tap::MainOutput, files, report }))
}

/// Fails if reads differ after `what` in more than it may change.
fn compare(
    before: &ChecksumColumns,
    behind: &ChecksumColumns,
    changes: &Changes,
    what: &str,
) -> Result<()> {
    let broken = behind.forbidden_differences(before, changes);
    if broken.is_empty() {
        return Ok(());
    }
    let (n, left) = (before.records, behind.records);
    Err(Error::different(format!(
        "reads are not what they should be behind {what}: {n} records before, {left} behind; checksums differ in: {}",
        broken.join(", ")
    ))
    .hint("nothing was written; please report it, and check the memory of this machine"))
}

/// Returns the changes that steps may make together.
pub fn changes(steps: &[Box<dyn Step>]) -> Changes {
    steps.iter().fold(Changes::nothing(), |all, step| all.union(&step.changes()))
}

/// Returns the changes that marking duplicates and recalibrating may make.
pub fn late_changes(plan: &Plan) -> Changes {
    let duplicates = plan.steps.duplicates.as_ref().map(|duplicates| duplicates.writing.changes());
    let recalibration = plan.steps.recalibration.as_ref().and_then(|it| it.apply.as_ref());
    let recalibration = recalibration.map(|apply| apply.writing.changes());
    let all = duplicates.into_iter().chain(recalibration);
    all.fold(Changes::nothing(), |all, changes| all.union(&changes))
}
