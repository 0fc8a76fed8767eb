//! `./dev parity --corpus DIR --metrics`: compares the quality metrics of each file with Picard's,
//! its coverage with mosdepth's, and its depths and statistics with those of samtools. Both
//! programs read the file sorted by coordinate by samtools.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use readmill_peers::Tool;

use crate::commands::SampleDir;
use crate::corpus::file::References;
use crate::corpus::metrics_rules as rules;
use crate::corpus::report::{CorpusRow, CorpusVerdict, ReportLayout, ReportPaths};
use crate::corpus::{files_below, format_of_name, print_and_write_report};
use crate::coverage;
use crate::depth;
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::qc::{compare_texts, skip_comments};
use crate::stats;

const METRICS: ReportLayout = ReportLayout {
    comparisons: &[
        "CollectAlignmentSummaryMetrics",
        "CollectBaseDistributionByCycle",
        "CollectInsertSizeMetrics",
        "MeanQualityByCycle",
        "QualityScoreDistribution",
        "CollectQualityYieldMetrics",
        "CollectGcBiasMetrics",
        "CollectSequencingArtifactMetrics",
        "CollectWgsMetrics",
        "CollectOxoGMetrics",
        "mosdepth",
        "samtools depth",
        "samtools coverage",
        "samtools stats",
    ],
    introduction: "\
## Quality metrics and coverage

This section reports whether quality metrics and coverage of these files are those of the tools, byte for byte.

```
./dev parity --corpus corpus --metrics --report report.md --tables docs/data/corpus
```

",
    legend: "\
| verdict | meaning |
|---|---|
| ok | all files of the program are the same, below the first lines of Picard's |
| refused | both programs refuse it |
| row N | an accepted difference, [by its number](parity.md#accepted-differences) |
| – | there was nothing to compare: no reference of the corpus has the contigs of the file |

[How the files are compared](parity.md#test-files-of-others).

",
    heading: "###",
    data_prefix: "metrics-",
    by_format: false,
};

/// The Picard programs, as columns of the report, with the suffixes of their output files.
const PROGRAMS: [(&str, &[&str]); 10] = [
    ("CollectAlignmentSummaryMetrics", &["alignment_summary_metrics"]),
    ("CollectBaseDistributionByCycle", &["base_distribution_by_cycle_metrics"]),
    ("CollectInsertSizeMetrics", &["insert_size_metrics"]),
    ("MeanQualityByCycle", &["quality_by_cycle_metrics"]),
    ("QualityScoreDistribution", &["quality_distribution_metrics"]),
    ("CollectQualityYieldMetrics", &["quality_yield_metrics"]),
    ("CollectGcBiasMetrics", &["gc_bias.detail_metrics", "gc_bias.summary_metrics"]),
    (
        "CollectSequencingArtifactMetrics",
        &[
            "pre_adapter_detail_metrics",
            "pre_adapter_summary_metrics",
            "bait_bias_detail_metrics",
            "bait_bias_summary_metrics",
            "error_summary_metrics",
        ],
    ),
    ("CollectWgsMetrics", &["wgs_metrics"]),
    ("CollectOxoGMetrics", &["oxog_metrics"]),
];

/// The first of them, up to this number, need no reference.
const WITHOUT_REFERENCE: usize = 6;

/// The first of them, up to this number, are run by CollectMultipleMetrics.
const OF_MULTIPLE: usize = 8;

/// Coverage options of readmill, and the same options of mosdepth.
const COVERAGE: [(&str, &str); 2] = [
    ("", ""),
    (
        "--coverage-by WINDOW --coverage-thresholds 1,10,30 --coverage-quantize 0:1:4:100: --coverage-mapq 20",
        "-b WINDOW -T 1,10,30 -q 0:1:4:100: -Q 20",
    ),
];

/// Approximate number of windows per file.
const WINDOWS: u64 = 1_000;

/// samtools command lines.
const DEPTH: [&str; 2] = ["depth", "depth -J -q 13 -Q 10"];
const SAMTOOLS_COVERAGE: [&str; 2] = ["coverage", "coverage -q 10 -Q 13"];
const STATS: [&str; 2] = ["stats", "stats -p -q 20"];

/// Files with fewer reads test formats rather than numbers.
const MIN_READS: u64 = 10;

/// A sorted corpus file.
pub struct SortedFile {
    /// Its file name in the directory where the programs run.
    pub bam: String,
    /// Its number, used in the names of the programs' output files.
    number: usize,
    /// The FASTA file with exactly its contigs.
    reference: Option<String>,
    /// The window length for its average coverage.
    window: u64,
}

/// The exit code and the exception of each Picard program.
type ProgramResults = Vec<(i32, String)>;

/// Compares all files below `root` that have reads, and writes the report.
pub fn compare_corpus_metrics(
    dir: &SampleDir<'_>,
    mosdepth: &Tool,
    root: &Path,
    report: ReportPaths<'_>,
    ledger: &mut Ledger,
) -> Result<()> {
    let paths = files_below(root)?;
    let references = References::collect_below(root, dir)?;
    let (mut files, mut rows, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for (number, path) in paths.iter().enumerate() {
        if let Some(file) = sort_file(dir, &references, number, path, &mut known)? {
            let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
            rows.push(CorpusRow {
                shown,
                kind: format_of_name(path).unwrap_or_default(),
                verdicts: Vec::new(),
            });
            files.push(file);
        }
    }
    println!("      {} of {} files have other reads than those before", files.len(), paths.len());
    let ends = run_picard(dir, &files)?;
    for ((file, row), ends) in files.iter().zip(&mut rows).zip(&ends) {
        row.verdicts = compare_metrics(dir, file, ends)?;
        row.verdicts.push(compare_with_mosdepth(dir, mosdepth, file)?);
        for (words, same) in [
            (DEPTH, depth::compare_outputs as SamtoolsComparison),
            (SAMTOOLS_COVERAGE, depth::compare_outputs),
            (STATS, stats::compare_outputs),
        ] {
            row.verdicts.push(compare_with_samtools(dir, file, words, same)?);
        }
    }
    let versions = format!("{} and mosdepth {}", dir.versions_line()?, mosdepth.version);
    print_and_write_report(&METRICS, &rows, &versions, report, ledger)
}

/// Sorts a file. `None` if samtools refuses it, if it has too few reads, or if they equal those of
/// an earlier file.
fn sort_file(
    dir: &SampleDir<'_>,
    references: &References,
    number: usize,
    path: &Path,
    known: &mut HashSet<u64>,
) -> Result<Option<SortedFile>> {
    let fitting = references.find_fitting(dir, path)?;
    let bam = format!("{number}.bam");
    let mut command =
        dir.samtools_1_24_command(&format!("sort --no-PG --write-index -o {bam}##idx##{bam}.csi"));
    if let Some(fitting) = &fitting {
        command.args(["--reference", &fitting.name]);
    }
    command.arg(path).stdin(Stdio::null()).env("REF_PATH", "/nowhere").env_remove("REF_CACHE");
    if dir.run_to_end(command).is_err() {
        return Ok(None);
    }
    let count = dir.samtools_1_24_command(&format!("view -c {bam}")).output()?.stdout;
    let reads: u64 = String::from_utf8_lossy(&count).trim().parse().unwrap_or(0);
    let mut hasher = DefaultHasher::new();
    fs::read(dir.path(&bam))?.hash(&mut hasher);
    if reads < MIN_READS || !known.insert(hasher.finish()) {
        fs::remove_file(dir.path(&bam))?;
        return Ok(None);
    }
    let reference = fitting.filter(|it| it.is_same && it.is_whole).map(|it| it.name);
    let header = ProgramLines::start_samtools_1_24(dir, &format!("view -H {bam}"))?.read_text()?;
    let length: u64 = depth::parse_contigs(&header).iter().map(|(_, length)| length).sum();
    Ok(Some(SortedFile { bam, number, reference, window: (length / WINDOWS).max(100) }))
}

impl SortedFile {
    /// Returns the Picard programs that can run on the file.
    fn picard_programs(&self) -> &'static [(&'static str, &'static [&'static str])] {
        let number = if self.reference.is_some() { PROGRAMS.len() } else { WITHOUT_REFERENCE };
        &PROGRAMS[..number]
    }

    /// Returns the CollectMultipleMetrics call for these programs.
    fn multiple_metrics_call(&self, programs: &[&str]) -> String {
        let mut call = format!(
            "picard.analysis.CollectMultipleMetrics I={} O=theirs.{} PROGRAM=null",
            self.bam, self.number
        );
        call.extend(programs.iter().map(|program| format!(" PROGRAM={program}")));
        if let Some(reference) = &self.reference {
            call += &format!(" R={reference}");
            if programs.contains(&"CollectSequencingArtifactMetrics") {
                call += &format!(
                    " EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::REFERENCE_SEQUENCE={reference}"
                );
            }
        }
        call
    }
}

/// Runs Picard on all files with few starts of Java. Returns for each file the results of its
/// programs.
fn run_picard(dir: &SampleDir<'_>, files: &[SortedFile]) -> Result<Vec<ProgramResults>> {
    let of_multiple = |file: &SortedFile| {
        let programs = file.picard_programs().iter().take(OF_MULTIPLE);
        Vec::from_iter(programs.map(|(program, _)| *program))
    };
    let calls = Vec::from_iter(files.iter().map(|file| file.multiple_metrics_call(&of_multiple(file))));
    let mut ends = Vec::new();
    let mut again = Vec::new();
    for (file, end) in files.iter().zip(dir.run_picard_calls_verbose(&calls)?) {
        // If one program fails, all others of the call fail as well.
        if end.0 != 0 {
            again
                .extend(of_multiple(file).iter().map(|&program| file.multiple_metrics_call(&[program])));
        }
        ends.push((file, end));
    }
    let mut again = dir.run_picard_calls_verbose(&again)?.into_iter();
    let mut alone = Vec::new();
    for file in files.iter().filter(|file| file.reference.is_some()) {
        let reference = file.reference.as_deref().unwrap_or_default();
        for (program, endings) in &PROGRAMS[OF_MULTIPLE..] {
            alone.push(format!(
                "picard.analysis.{program} I={} O=theirs.{}.{} R={reference}{}",
                file.bam,
                file.number,
                endings[0],
                if *program == "CollectWgsMetrics" { " SAMPLE_SIZE=100" } else { "" }
            ));
        }
    }
    let mut alone = dir.run_picard_calls_verbose(&alone)?.into_iter();
    let all = ends.into_iter().map(|(file, end)| {
        let number = of_multiple(file).len();
        let mut ends: ProgramResults = match end.0 {
            0 => vec![end; number],
            _ => again.by_ref().take(number).collect(),
        };
        ends.extend(alone.by_ref().take(file.picard_programs().len() - number));
        ends
    });
    Ok(all.collect())
}

/// Compares all Picard programs with readmill.
fn compare_metrics(
    dir: &SampleDir<'_>,
    file: &SortedFile,
    ends: &ProgramResults,
) -> Result<Vec<CorpusVerdict>> {
    let mut verdicts = Vec::new();
    let programs = file.picard_programs().iter().zip(run_readmill_programs(dir, file)?).zip(ends);
    for (((program, endings), refused), (code, said)) in programs {
        verdicts.push(match (refused, code) {
            (Some(ours), 0) => rules::judge_refusal(dir, &file.bam, ours)?,
            (Some(ours), _) => CorpusVerdict::Refused(format!("{ours}; Picard: {said}")),
            (None, 0) => {
                let same =
                    endings.iter().try_for_each(|ending| ensure_same_metrics(dir, file.number, ending));
                match same {
                    Ok(()) if !picard_wrote(dir, file.number, endings) => rules::judge_missing_file(),
                    Ok(()) => CorpusVerdict::Same,
                    Err(what) => CorpusVerdict::Defect(format!("{what:#}")),
                }
            }
            (None, _) => rules::judge_picard_exception(dir, &file.bam, program, said)?,
        });
    }
    verdicts.resize(PROGRAMS.len(), CorpusVerdict::Blank);
    Ok(verdicts)
}

/// Runs all of readmill's programs at once or, if readmill refuses that, one by one. Returns the
/// messages of those refused.
fn run_readmill_programs(dir: &SampleDir<'_>, file: &SortedFile) -> Result<Vec<Option<String>>> {
    let names = Vec::from_iter(file.picard_programs().iter().map(|(program, _)| *program));
    let refused = |names: &str| {
        let mut words = format!("qc {} -o ours.{} --metrics {names}", file.bam, file.number);
        if let Some(reference) = &file.reference {
            words += &format!(" --reference {reference}");
        }
        if names.contains("CollectWgsMetrics") {
            words += " --sample-size 100";
        }
        refusal_message(dir.readmill_command(&words))
    };
    match refused(&names.join(","))? {
        None => Ok(vec![None; names.len()]),
        Some(_) => names.into_iter().map(refused).collect(),
    }
}

/// Returns whether Picard wrote these files.
fn picard_wrote(dir: &SampleDir<'_>, number: usize, endings: &[&str]) -> bool {
    endings.iter().all(|ending| dir.path(&format!("theirs.{number}.{ending}")).exists())
}

/// Returns an error unless a metrics file is the same, or is empty in readmill and missing in
/// Picard.
fn ensure_same_metrics(dir: &SampleDir<'_>, number: usize, ending: &str) -> Result<()> {
    let read = |program: &str| fs::read_to_string(dir.path(&format!("{program}.{number}.{ending}")));
    let ours = read("ours")?;
    let theirs = if picard_wrote(dir, number, &[ending]) { read("theirs")? } else { "\n\n".to_owned() };
    let ours = skip_comments(&ours);
    let ours = if ours.trim().is_empty() { ours.trim() } else { ours };
    let theirs = skip_comments(&theirs);
    let theirs = if theirs.trim().is_empty() { theirs.trim() } else { theirs };
    compare_texts(ours, theirs).map(|_| ()).with_context(|| ending.to_owned())
}

fn compare_with_mosdepth(
    dir: &SampleDir<'_>,
    mosdepth: &Tool,
    file: &SortedFile,
) -> Result<CorpusVerdict> {
    for (ours, theirs) in COVERAGE {
        let [ours, theirs] =
            [ours, theirs].map(|options| options.replace("WINDOW", &file.window.to_string()));
        let (ours, theirs) = (&ours[..], &theirs[..]);
        let Err(what) = coverage::compare_coverage_files(dir, mosdepth, &file.bam, ours, theirs) else {
            continue;
        };
        let words = format!("qc {} -o ours --coverage --no-metrics {ours}", file.bam);
        let theirs = dir.peer_command(mosdepth, &format!("{theirs} theirs {}", file.bam));
        let what = format!("{ours} {what:#}").trim().to_owned();
        return Ok(match (refusal_message(dir.readmill_command(&words))?, refusal_message(theirs)?) {
            (Some(ours), Some(theirs)) => CorpusVerdict::Refused(format!("{ours}; {theirs}")),
            (Some(ours), None) => rules::judge_refusal(dir, &file.bam, ours)?,
            (None, Some(theirs)) => rules::judge_mosdepth_exception(dir, &file.bam, &theirs)?,
            (None, None) => rules::judge_coverage(dir, &file.bam, what)?,
        });
    }
    Ok(CorpusVerdict::Same)
}

/// A function that compares a samtools command.
type SamtoolsComparison = fn(&SampleDir<'_>, &str) -> Result<usize>;

fn compare_with_samtools(
    dir: &SampleDir<'_>,
    file: &SortedFile,
    lines: [&str; 2],
    same: SamtoolsComparison,
) -> Result<CorpusVerdict> {
    for line in lines {
        let words = format!("{line} {}", file.bam);
        let Err(what) = same(dir, &words) else { continue };
        let what = format!("{line}: {what:#}");
        let ours = refusal_message(dir.readmill_command(&format!("samtools {words}")))?;
        return Ok(match (ours, refusal_message(dir.samtools_1_24_command(&words))?) {
            (Some(ours), Some(theirs)) => CorpusVerdict::Refused(format!("{ours}; {theirs}")),
            (Some(ours), None) => rules::judge_refusal(dir, &file.bam, ours)?,
            (None, Some(theirs)) => {
                CorpusVerdict::Defect(format!("{line}: samtools alone refuses it: {theirs}"))
            }
            (None, None) if line.starts_with("stats") => {
                rules::judge_statistics(dir, &file.bam, line, what)?
            }
            (None, None) => rules::judge_depths(dir, &file.bam, line, what)?,
        });
    }
    Ok(CorpusVerdict::Same)
}

/// Runs the program. If it fails, returns the last non-empty line of its standard error, without
/// the prefix of readmill's errors.
fn refusal_message(mut command: Command) -> Result<Option<String>> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message");
    Ok(Some(last.trim_start_matches("readmill: error: ").to_owned()))
}
