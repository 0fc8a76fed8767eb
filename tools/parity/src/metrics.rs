//! Compares the metrics file with that of Picard MarkDuplicates, as text and as MultiQC reads it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use readmill_peers::Peers;

use crate::commands::{Commands, SampleDir};
use crate::ledger::{FULL_RUN, Ledger};
use crate::samples;

/// The same options for Picard and readmill.
struct MetricsCase {
    about: &'static str,
    input: &'static str,
    order: &'static str,
    picard: &'static str,
    ours: &'static str,
}

const CASES: [MetricsCase; 4] = [
    MetricsCase { about: "template mode", input: "in.bam", order: "queryname", picard: "", ours: "" },
    MetricsCase {
        about: "coordinate mode",
        input: "sorted.bam",
        order: "coordinate",
        picard: "",
        ours: "",
    },
    MetricsCase {
        about: "a distance of 2,500 pixels",
        input: "in.bam",
        order: "queryname",
        picard: "OPTICAL_DUPLICATE_PIXEL_DISTANCE=2500",
        ours: "--optical-distance 2500",
    },
    MetricsCase {
        about: "no locations",
        input: "in.bam",
        order: "queryname",
        picard: "READ_NAME_REGEX=null",
        ours: "--read-names null",
    },
];

/// Compares metrics of one library and of several, each with this number of templates, and MultiQC on those of one:
/// of several libraries it reports only the first (release 1.35, also for Picard's file).
pub fn all(
    commands: &Commands,
    peers: &Peers,
    root: &Path,
    pairs: u64,
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    for libraries in [1, 3] {
        let sample = samples::of_libraries(libraries, pairs);
        let dir = SampleDir::new(commands, &root.join(&sample.name))?;
        sample.make(&dir)?;
        ledger.title(&sample.name, sample.about);
        compare(&dir, ledger);
        match (libraries, full) {
            (1, true) => read_by_multiqc(&dir, peers, ledger),
            (1, false) => ledger.left_out("metrics: MultiQC", FULL_RUN),
            _ => {}
        }
    }
    Ok(())
}

/// Compares the sample's metrics with Picard's, with several options.
fn compare(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    for case in CASES {
        ledger.check(&format!("metrics, {}: the file of MarkDuplicates", case.about), || {
            if !dir.path(case.input).exists() {
                dir.samtools(&format!("sort -o {} in.bam", case.input))?;
            }
            let MetricsCase { input, order, picard, ours, .. } = case;
            let rules = format!("ASSUME_SORT_ORDER={order} VALIDATION_STRINGENCY=SILENT {picard}");
            dir.picard(&format!("MarkDuplicates I={input} O=picard.bam M=picard.txt {rules}"))?;
            dir.readmill(&format!("markdup {input} -o ours.bam --metrics ours.txt {ours} -m 1G"))?;
            same(dir, "ours.txt", "picard.txt")
        });
    }
}

/// Whether two metrics files are equal except the command line and the date; the figures are those of
/// the table, a library each.
pub fn same(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<String> {
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
    let rows = table(&ours).skip(1).map(|row| row.split('\t').skip(1).collect::<Vec<_>>().join(" "));
    Ok(rows.collect::<Vec<_>>().join(", "))
}

/// MultiQC finds the metrics of one library, takes the output for the sample, and reads every number as it is.
fn read_by_multiqc(dir: &SampleDir<'_>, peers: &Peers, ledger: &mut Ledger) {
    ledger.check("metrics: MultiQC reads the sample and all numbers", || {
        let multiqc = peers.multiqc()?;
        dir.readmill("markdup in.bam -o ours.bam --metrics sample.metrics.txt -m 1G")?;
        let mut command = multiqc.command();
        command.current_dir(dir.directory());
        command.args("--quiet --force --no-report --module picard --outdir multiqc".split(' '));
        let output = command.arg("sample.metrics.txt").output().context("MultiQC does not start")?;
        ensure!(output.status.success(), "MultiQC failed: {}", String::from_utf8_lossy(&output.stderr));
        let read = fs::read_to_string(dir.path("multiqc/multiqc_data/multiqc_picard_dups.txt"))
            .context("MultiQC found no metrics")?;
        let ours = fs::read_to_string(dir.path("sample.metrics.txt"))?;
        let [names, values] = rows(table(&ours))?;
        let [read_names, read_values] = rows(read.lines())?;
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
                 --idxstats {name}.bam.idxstats -m 1G"
            )
        };
        // One is named after the output, one by the flag, where the output is a pipe.
        dir.readmill(&format!("prep --mark-duplicates in.bam -o NA1.bam {}", reports("NA1")))?;
        let named = format!("prep --mark-duplicates in.bam -o /dev/null --sample NA2 {}", reports("NA2"));
        dir.readmill(&named)?;
        let mut command = multiqc.command();
        command.current_dir(dir.directory());
        command.args("--quiet --force --no-report --outdir joined".split(' '));
        for end in ["metrics.txt", "flagstat", "stats.txt", "idxstats"] {
            command.args(["NA1", "NA2"].map(|name| format!("{name}.bam.{end}")));
        }
        let output = command.output().context("MultiQC does not start")?;
        ensure!(output.status.success(), "MultiQC failed: {}", String::from_utf8_lossy(&output.stderr));
        let files = ["picard_dups", "samtools_flagstat", "samtools_stats", "samtools_idxstats", "general_stats"];
        for file in files {
            let path = dir.path(&format!("joined/multiqc_data/multiqc_{file}.txt"));
            let text = fs::read_to_string(path).with_context(|| format!("MultiQC found no {file}"))?;
            let samples: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
            ensure!(samples == ["NA1", "NA2"], "{file} has {samples:?}");
        }
        Ok(format!("MultiQC {}: NA1 and NA2 in {}", multiqc.version, files.join(", ")))
    });
}

/// The lines of the table, names of columns first.
fn table(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| !line.starts_with("## METRICS CLASS")).skip(1);
    lines.take_while(|line| !line.is_empty())
}

/// The fields of the only two lines there are.
fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Result<[Vec<&'a str>; 2]> {
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    rows.try_into().map_err(|rows: Vec<_>| anyhow::anyhow!("{} lines and not 2", rows.len()))
}
