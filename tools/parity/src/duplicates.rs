//! Compares duplicate marks, tags and metrics with Picard MarkDuplicates.
//!
//! Picard breaks the last ties by input order. So marks must be equal if both programs read the
//! same file. If Picard sorts the file first, differences must be full ties. The metrics file is
//! compared as text, and as MultiQC reads it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use readmill_peers::Peers;

use crate::commands::{Commands, SampleDir};
use crate::duplicate_marks::{self, Marks, SetComparison};
use crate::ledger::{FULL_RUN, Ledger};
use crate::outputs::{ProgramLines, clear_duplicate_flag, compare_files, compare_lines};
use crate::samples;

const MARK: &str = "--mark-duplicates --duplicate-mode";

/// Compares marks in coordinate mode. Leaves `coordinate.bam` (readmill's, sorted and marked) and
/// `picard.coordinate.bam`. If `with_sort_sam` is set, also compares marks in the output of Picard
/// SortSam.
pub fn compare_coordinate_mode(dir: &SampleDir<'_>, with_sort_sam: bool, ledger: &mut Ledger) {
    ledger.check("coordinate mode: as MarkDuplicates on the file of samtools sort", || {
        run_mark_duplicates(dir, "samtools.bam", "picard.coordinate.bam", "coordinate", ALL_TAGS)?;
        let arguments =
            format!("prep in.bam --sort coordinate {MARK} coordinate -o coordinate.bam -m 1G");
        dir.run_readmill(&arguments)?;
        Marks::read(dir, "coordinate.bam")?.ensure_same(&Marks::read(dir, "picard.coordinate.bam")?)
    });
    ledger.check("coordinate mode: chosen by itself on sorted input, the same marks", || {
        let said = dir.run_readmill("markdup samtools.bam -o auto.bam -m 1G")?;
        ensure!(said.contains("duplicate mode coordinate"), "it said: {said}");
        Marks::read(dir, "auto.bam")?.ensure_same(&Marks::read(dir, "picard.coordinate.bam")?)
    });
    ledger.check("coordinate mode: nothing but 0x400 changes", || {
        ensure_only_marks_change(dir, "coordinate.bam")
    });
    ledger.check("coordinate mode: removal leaves exactly what is not marked", || {
        let arguments = "--remove-duplicates --duplicate-mode coordinate -o removed.bam -m 1G";
        dir.run_readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        ensure_duplicates_removed(dir, "coordinate.bam")
    });
    if with_sort_sam {
        ledger.check("coordinate mode: as SortSam and MarkDuplicates on the file of SortSam", || {
            dir.run_picard("SortSam I=in.bam O=sortsam.bam SORT_ORDER=coordinate")?;
            mark_duplicates(dir, "sortsam.bam", "picard.sortsam.bam", "coordinate")?;
            dir.run_readmill("markdup sortsam.bam -o auto.bam -m 1G")?;
            Marks::read(dir, "auto.bam")?.ensure_same(&Marks::read(dir, "picard.sortsam.bam")?)
        });
        ledger.check("coordinate mode: SortSam's order changes full ties alone", || {
            ensure_ties_only(dir, "coordinate.bam", "picard.sortsam.bam")
        });
    }
}

/// Compares marks in template mode, on input grouped by name. Leaves `picard.template.bam`.
pub fn compare_template_mode(dir: &SampleDir<'_>, with_sort_sam: bool, ledger: &mut Ledger) {
    ledger.check("template mode: chosen by itself on grouped input, as MarkDuplicates", || {
        run_mark_duplicates(dir, "in.bam", "picard.template.bam", "queryname", ALL_TAGS)?;
        let said = dir.run_readmill("markdup in.bam -o template.bam -m 1G")?;
        ensure!(said.contains("duplicate mode template"), "it said: {said}");
        Marks::read(dir, "template.bam")?.ensure_same(&Marks::read(dir, "picard.template.bam")?)
    });
    ledger.check("template mode: the same marks when sorted by coordinate", || {
        let arguments = format!("{MARK} template -o template.sorted.bam -m 1G");
        dir.run_readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        Marks::read(dir, "template.sorted.bam")?.ensure_same(&Marks::read(dir, "picard.template.bam")?)
    });
    ledger.check("template mode: nothing but 0x400 changes", || {
        ensure_only_marks_change(dir, "template.sorted.bam")
    });
    ledger.check("template mode: removal leaves exactly what is not marked", || {
        let arguments = "--remove-duplicates --duplicate-mode template -o removed.bam -m 1G";
        dir.run_readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        ensure_duplicates_removed(dir, "template.sorted.bam")
    });
    if with_sort_sam {
        ledger.check("template mode: as SortSam and MarkDuplicates on the file of SortSam", || {
            dir.run_picard("SortSam I=in.bam O=sortsam.bam SORT_ORDER=queryname")?;
            mark_duplicates(dir, "sortsam.bam", "picard.sortsam.bam", "queryname")?;
            let said = dir.run_readmill("markdup sortsam.bam -o auto.bam -m 1G")?;
            ensure!(said.contains("duplicate mode template"), "it said: {said}");
            Marks::read(dir, "auto.bam")?.ensure_same(&Marks::read(dir, "picard.sortsam.bam")?)
        });
        ledger.check("template mode: SortSam's order changes full ties alone", || {
            ensure_ties_only(dir, "template.bam", "picard.sortsam.bam")
        });
    }
}

/// Makes MarkDuplicates write all its optional fields. The marks do not depend on these options.
const ALL_TAGS: &str = "TAGGING_POLICY=All TAG_DUPLICATE_SET_MEMBERS=true";

const RULES: [(&str, &str); 3] = [
    ("OPTICAL_DUPLICATE_PIXEL_DISTANCE", "2500"),
    ("DUPLICATE_SCORING_STRATEGY", "TOTAL_MAPPED_REFERENCE_LENGTH"),
    ("DUPLICATE_SCORING_STRATEGY", "RANDOM"),
];

const UMI_RULE: (&str, &str) = ("BARCODE_TAG", "RX");

/// A mode in which marks, tags and metrics are compared: the commands of both programs, and their
/// files.
struct TagComparison {
    mode: &'static str,
    readmill: &'static str,
    input: &'static str,
    order: &'static str,
    marked: &'static str,
    sets: SetComparison,
}

const COORDINATE: TagComparison = TagComparison {
    mode: "coordinate",
    readmill: "prep in.bam --sort coordinate --mark-duplicates --duplicate-mode coordinate",
    input: "samtools.bam",
    order: "coordinate",
    marked: "picard.coordinate",
    // Picard numbers reads by their position in the sorted file, which readmill does not know yet
    // when it marks.
    sets: SetComparison::Renamed,
};

const TEMPLATE: TagComparison = TagComparison {
    mode: "template",
    readmill: "markdup in.bam --duplicate-mode template",
    input: "in.bam",
    order: "queryname",
    marked: "picard.template",
    sets: SetComparison::Numbered,
};

type Rule = (&'static str, &'static str);

/// Returns the rules that are compared on a sample in addition to the defaults: `RULES` if `all`,
/// and the rule for UMIs if its reads have them.
pub fn additional_rules(has_umis: bool, all: bool) -> Vec<Rule> {
    let rules = RULES.into_iter().filter(|_| all);
    rules.chain(has_umis.then_some(UMI_RULE)).collect()
}

/// Compares metrics, DT, DS and DI in coordinate mode with the Picard output that
/// [`compare_coordinate_mode`] leaves.
pub fn compare_coordinate_tags(dir: &SampleDir<'_>, rules: &[Rule], ledger: &mut Ledger) {
    COORDINATE.compare_with_picard(dir, rules, ledger);
}

/// Compares metrics, DT, DS and DI in template mode with the Picard output that
/// [`compare_template_mode`] leaves.
pub fn compare_template_tags(dir: &SampleDir<'_>, rules: &[Rule], ledger: &mut Ledger) {
    TEMPLATE.compare_with_picard(dir, rules, ledger);
}

/// Checks that metrics, DT, DS and DI do not change with the minimum memory, on a sample that does
/// not fit in it. Picard is not run.
pub fn compare_spilled_tags(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    for asked in [COORDINATE, TEMPLATE] {
        let what = "metrics, DT, DS and DI are the same with the least memory";
        ledger.check(&format!("{} mode: {what}", asked.mode), || asked.compare_min_memory(dir));
    }
}

impl TagComparison {
    fn compare_min_memory(&self, dir: &SampleDir<'_>) -> Result<String> {
        self.run_readmill(dir, "said", "-m 1G")?;
        let min_memory = dir.query_min_memory(&format!("{} -@ 1", self.command_line("least")))?;
        self.run_readmill(dir, "least", &format!("-@ 1 -m {min_memory}"))?;
        compare_metrics_files(dir, "least.metrics", "said.metrics")?;
        Ok(format!("-m {min_memory}, {} bytes", compare_files(dir, "least.bam", "said.bam")?))
    }

    fn compare_with_picard(&self, dir: &SampleDir<'_>, rules: &[Rule], ledger: &mut Ledger) {
        let TagComparison { mode, marked, .. } = self;
        ledger.check(&format!("{mode} mode: the metrics of MarkDuplicates"), || {
            self.run_readmill(dir, "said", "-m 1G")?;
            compare_metrics_files(dir, "said.metrics", &format!("{marked}.metrics"))
        });
        ledger.check(&format!("{mode} mode: DT, DS and DI of MarkDuplicates"), || {
            duplicate_marks::compare_tags(dir, "said.bam", &format!("{marked}.bam"), self.sets)
        });
        if rules.is_empty() {
            return;
        }
        ledger.check(&format!("{mode} mode: MarkDuplicates with other rules"), || {
            let call = |(i, (rule, value)): (usize, &Rule)| self.picard_call(i, rule, value);
            let calls: Vec<String> = rules.iter().enumerate().map(call).collect();
            let codes = dir.run_picard_calls(&calls)?;
            ensure!(codes.iter().all(|code| *code == 0), "exit codes {codes:?}");
            Ok(format!("{} times", codes.len()))
        });
        for (i, (rule, value)) in rules.iter().enumerate() {
            ledger.check(&format!("{mode} mode: {rule}={value}, metrics, marks and fields"), || {
                self.run_readmill(dir, "ruled", &format!("-m 1G --{rule} {value}"))?;
                compare_metrics_files(dir, "ruled.metrics", &format!("{mode}.{i}.metrics"))?;
                duplicate_marks::compare_tags(dir, "ruled.bam", &format!("{mode}.{i}.bam"), self.sets)
            });
        }
    }

    fn run_readmill(&self, dir: &SampleDir<'_>, name: &str, more: &str) -> Result<()> {
        dir.run_readmill(&format!("{} {more}", self.command_line(name))).map(drop)
    }

    fn command_line(&self, name: &str) -> String {
        let tags = "--TAGGING_POLICY All --TAG_DUPLICATE_SET_MEMBERS true";
        format!("{} -o {name}.bam --metrics {name}.metrics {tags}", self.readmill)
    }

    fn picard_call(&self, number: usize, rule: &str, value: &str) -> String {
        let TagComparison { mode, input, order, .. } = self;
        let output = format!("{mode}.{number}");
        let files = format!("I={input} O={output}.bam M={output}.metrics COMPRESSION_LEVEL=1");
        format!(
            "markduplicates.MarkDuplicates {files} ASSUME_SORT_ORDER={order} {ALL_TAGS} {rule}={value}"
        )
    }
}

/// Runs MarkDuplicates with default rules. Other comparisons call it to get marked files.
pub fn mark_duplicates(dir: &SampleDir<'_>, input: &str, output: &str, order: &str) -> Result<()> {
    run_mark_duplicates(dir, input, output, order, "")
}

/// Runs MarkDuplicates with further options. Its metrics file is named like the output, plus
/// `.metrics`.
fn run_mark_duplicates(
    dir: &SampleDir<'_>,
    input: &str,
    output: &str,
    order: &str,
    rules: &str,
) -> Result<()> {
    let files = format!("I={input} O={output} M={}", output.replace(".bam", ".metrics"));
    let mode = format!("ASSUME_SORT_ORDER={order} VALIDATION_STRINGENCY=SILENT");
    dir.run_picard(&format!("MarkDuplicates {files} {mode} {rules}")).map(drop)
}

fn ensure_only_marks_change(dir: &SampleDir<'_>, file: &str) -> Result<String> {
    let ours = ProgramLines::start_samtools(dir, &format!("view {file}"))?;
    let theirs = ProgramLines::start_samtools(dir, "view samtools.bam")?;
    Ok(format!("{} records", compare_lines(ours, theirs, clear_duplicate_flag)?))
}

fn ensure_duplicates_removed(dir: &SampleDir<'_>, marked: &str) -> Result<String> {
    let ours = ProgramLines::start_samtools(dir, "view removed.bam")?;
    let theirs = ProgramLines::start_samtools(dir, &format!("view -F 0x400 {marked}"))?;
    Ok(format!("{} records", compare_lines(ours, theirs, |_| true)?))
}

fn ensure_ties_only(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<String> {
    let differences = Marks::read(dir, ours)?.find_differences(&Marks::read(dir, theirs)?)?;
    duplicate_marks::ensure_only_ties(dir, "in.bam", &differences)
}

struct DuplicateMetricsCase {
    about: &'static str,
    input: &'static str,
    order: &'static str,
    picard: &'static str,
    ours: &'static str,
}

const CASES: [DuplicateMetricsCase; 4] = [
    DuplicateMetricsCase {
        about: "template mode",
        input: "in.bam",
        order: "queryname",
        picard: "",
        ours: "",
    },
    DuplicateMetricsCase {
        about: "coordinate mode",
        input: "sorted.bam",
        order: "coordinate",
        picard: "",
        ours: "",
    },
    DuplicateMetricsCase {
        about: "a distance of 2,500 pixels",
        input: "in.bam",
        order: "queryname",
        picard: "OPTICAL_DUPLICATE_PIXEL_DISTANCE=2500",
        ours: "--optical-distance 2500",
    },
    DuplicateMetricsCase {
        about: "no locations",
        input: "in.bam",
        order: "queryname",
        picard: "READ_NAME_REGEX=null",
        ours: "--read-names null",
    },
];

/// Compares metrics of one library and of three, each sample with `pairs` templates. MultiQC reads
/// only the metrics of one library: if there are several, it reports only the first (release 1.35,
/// also for Picard's file).
pub fn compare_duplicate_metrics(
    commands: &Commands,
    peers: &Peers,
    root: &Path,
    pairs: u64,
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    for libraries in [1, 3] {
        let sample = samples::sample_with_libraries(libraries, pairs);
        let dir = SampleDir::new(commands, &root.join(&sample.name))?;
        sample.write_input_bam(&dir)?;
        ledger.print_heading(&sample.name, sample.about);
        compare_metrics_cases(&dir, ledger);
        match (libraries, full) {
            (1, true) => compare_multiqc_values(&dir, peers, ledger),
            (1, false) => ledger.record_skipped("metrics: MultiQC", FULL_RUN),
            _ => {}
        }
    }
    Ok(())
}

fn compare_metrics_cases(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    for case in CASES {
        ledger.check(&format!("metrics, {}: the file of MarkDuplicates", case.about), || {
            if !dir.path(case.input).exists() {
                dir.run_samtools(&format!("sort -o {} in.bam", case.input))?;
            }
            let DuplicateMetricsCase { input, order, picard, ours, .. } = case;
            let rules = format!("ASSUME_SORT_ORDER={order} VALIDATION_STRINGENCY=SILENT {picard}");
            dir.run_picard(&format!("MarkDuplicates I={input} O=picard.bam M=picard.txt {rules}"))?;
            dir.run_readmill(&format!("markdup {input} -o ours.bam --metrics ours.txt {ours} -m 1G"))?;
            compare_metrics_files(dir, "ours.txt", "picard.txt")
        });
    }
}

/// Compares two metrics files line by line, except the command line and the date. Returns the table
/// rows, one per library, as text.
fn compare_metrics_files(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<String> {
    let [ours, theirs] = [ours, theirs].map(|file| fs::read_to_string(dir.path(file)));
    let (ours, theirs) = (ours?, theirs?);
    let mut lines = 0;
    let (mut left, mut right) = (ours.split('\n'), theirs.split('\n'));
    loop {
        let (a, b) = (left.next(), right.next());
        lines += 1;
        let differs = match lines {
            2 => !a.is_some_and(|line| line.starts_with("# ")),
            4 => !a.is_some_and(|line| line.starts_with("# Started on: ")),
            _ => a != b,
        };
        ensure!(!differs, "line {lines} is {a:?} and not {b:?}");
        if a.is_none() {
            break;
        }
    }
    let rows = metrics_table_lines(&ours)
        .skip(1)
        .map(|row| row.split('\t').skip(1).collect::<Vec<_>>().join(" "));
    Ok(rows.collect::<Vec<_>>().join(", "))
}

/// Checks that MultiQC finds readmill's metrics, takes the sample name from the output and reads
/// each number unchanged, and that it keeps all reports of two runs apart.
fn compare_multiqc_values(dir: &SampleDir<'_>, peers: &Peers, ledger: &mut Ledger) {
    ledger.check("metrics: MultiQC reads the sample and all numbers", || {
        let multiqc = peers.multiqc()?;
        dir.run_readmill("markdup in.bam -o ours.bam --metrics sample.metrics.txt -m 1G")?;
        let mut command = multiqc.command();
        command.current_dir(dir.directory());
        command.args("--quiet --force --no-report --module picard --outdir multiqc".split(' '));
        let output = command.arg("sample.metrics.txt").output().context("MultiQC does not start")?;
        ensure!(output.status.success(), "MultiQC failed: {}", String::from_utf8_lossy(&output.stderr));
        let read = fs::read_to_string(dir.path("multiqc/multiqc_data/multiqc_picard_dups.txt"))
            .context("MultiQC found no metrics")?;
        let ours = fs::read_to_string(dir.path("sample.metrics.txt"))?;
        let [names, values] = split_two_rows(metrics_table_lines(&ours))?;
        let [read_names, read_values] = split_two_rows(read.lines())?;
        ensure!(read_names[1..] == names[..], "columns {read_names:?}");
        ensure!(read_values[0] == "ours", "sample {}", read_values[0]);
        for ((name, value), read) in names.iter().zip(&values).zip(&read_values[1..]) {
            let number = |text: &str| text.parse::<f64>().ok();
            ensure!(value == read || number(value) == number(read), "{name} is {read}, not {value}");
        }
        Ok(format!("MultiQC {}: {}", multiqc.version, values.join(" ")))
    });
    ledger.check("metrics: MultiQC joins all reports of a run, and tells those of several runs apart", || {
        let multiqc = peers.multiqc()?;
        let reports = |name: &str| {
            format!(
                "--metrics {name}.bam.metrics.txt --flagstat {name}.bam.flagstat --stats {name}.bam.stats.txt \
                 --idxstats {name}.bam.idxstats --qc {name} --coverage {name} --coverage-by 1000 -m 1G"
            )
        };
        // NA1 is named after the output, NA2 by `--sample`, because its output is /dev/null.
        let prep = "prep --mark-duplicates --sort coordinate in.bam";
        dir.run_readmill(&format!("{prep} -o NA1.bam {}", reports("NA1")))?;
        let named = format!("{prep} -o /dev/null --sample NA2 {}", reports("NA2"));
        dir.run_readmill(&named)?;
        let mut command = multiqc.command();
        command.current_dir(dir.directory());
        command.args("--quiet --force --no-report --outdir joined".split(' '));
        for end in ["metrics.txt", "flagstat", "stats.txt", "idxstats"] {
            command.args(["NA1", "NA2"].map(|name| format!("{name}.bam.{end}")));
        }
        for end in QC_FILES {
            command.args(["NA1", "NA2"].map(|name| format!("{name}.{end}")));
        }
        let output = command.output().context("MultiQC does not start")?;
        ensure!(output.status.success(), "MultiQC failed: {}", String::from_utf8_lossy(&output.stderr));
        for file in READ_BY_MULTIQC {
            let path = dir.path(&format!("joined/multiqc_data/{file}.txt"));
            let text = fs::read_to_string(path).with_context(|| format!("MultiQC found no {file}"))?;
            let samples = text.lines().skip(1).filter_map(|line| line.split('\t').next());
            // MultiQC appends a suffix to the sample name for part of a sample: NA1_FR, NA1_R1.
            let mut samples: Vec<&str> = samples.map(|name| name.split('_').next().unwrap_or(name)).collect();
            samples.dedup();
            ensure!(samples == ["NA1", "NA2"], "{file} has {samples:?}");
        }
        Ok(format!("MultiQC {}: NA1 and NA2 in {}", multiqc.version, READ_BY_MULTIQC.join(", ")))
    });
}

const QC_FILES: [&str; 8] = [
    "alignment_summary_metrics",
    "base_distribution_by_cycle_metrics",
    "insert_size_metrics",
    "quality_by_cycle_metrics",
    "quality_distribution_metrics",
    "mosdepth.global.dist.txt",
    "mosdepth.region.dist.txt",
    "mosdepth.summary.txt",
];

const READ_BY_MULTIQC: [&str; 12] = [
    "multiqc_picard_dups",
    "multiqc_picard_AlignmentSummaryMetrics",
    "multiqc_picard_baseContent",
    "multiqc_picard_insertSize",
    "multiqc_picard_quality_by_cycle",
    "multiqc_picard_quality_score_distribution",
    "mosdepth_cov_dist",
    "mosdepth_perchrom",
    "multiqc_samtools_flagstat",
    "multiqc_samtools_stats",
    "multiqc_samtools_idxstats",
    "multiqc_general_stats",
];

fn metrics_table_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| !line.starts_with("## METRICS CLASS")).skip(1);
    lines.take_while(|line| !line.is_empty())
}

fn split_two_rows<'a>(lines: impl Iterator<Item = &'a str>) -> Result<[Vec<&'a str>; 2]> {
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    rows.try_into().map_err(|rows: Vec<_>| anyhow::anyhow!("{} lines and not 2", rows.len()))
}
