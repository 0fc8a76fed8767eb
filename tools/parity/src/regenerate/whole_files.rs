//! Regenerates oracles that are a single output of a tool: marked adapters, statistics, coverage,
//! and gathered reports.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::asked::{RegenerateRequest, skip_first_line};
use super::sam;
use crate::gatk::Gatk;
use crate::outputs::ProgramLines;

const MARK_ADAPTERS: &str = "picard.illumina.MarkIlluminaAdapters";

const NOT_PRUNED: &str = "PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN=-1";

/// Returns read pairs with the XT values that Picard gives them: pruned and unpruned, as pairs and
/// as single reads. `crates/filters/tests/filters/adapters.rs` explains the format.
pub fn regenerate_adapters(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let mut files = ["pairs", "singles"].map(|name| (name, "@HD\tVN:1.6\tSO:queryname\n".to_owned()));
    let mut templates = Vec::new();
    for (number, line) in skip_first_line(&text).lines().enumerate() {
        let [first, last, ..] = line.split(' ').collect::<Vec<_>>()[..] else {
            bail!("no bases: {line}")
        };
        let record = |flags: u16, bases: &str| {
            let quals = "I".repeat(bases.len());
            format!("t{number:06}\t{flags}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{quals}\n")
        };
        files[0].1 += &(record(77, first) + &record(141, last));
        files[1].1 += &record(4, first);
        templates.push([first, last]);
    }
    for (name, text) in &files {
        fs::write(asked.dir.path(&format!("{name}.sam")), text)?;
    }
    let call = |input: &str, output: &str, options: &str| {
        format!("{MARK_ADAPTERS} I={input}.sam O={output}.sam M={output}.metrics{options}")
    };
    let calls = [
        call("pairs", "pruned", ""),
        call("pairs", "all", &format!(" {NOT_PRUNED}")),
        call("singles", "single", ""),
    ];
    let ends = asked.dir.run_small_picard_calls(&calls)?;
    ensure!(ends.iter().all(|end| end.0 == 0), "Picard ended with {ends:?}");
    let [pruned, all, single] = ["pruned", "all", "single"].map(|name| read_adapter_marks(asked, name));
    let (pruned, all, single) = (pruned?, all?, single?);
    let mut lines = String::new();
    for (number, bases) in templates.into_iter().enumerate() {
        let mark = |marks: &HashMap<ReadEnd, String>, flags| {
            let found = marks.get(&ReadEnd { template: number, flags });
            found.cloned().unwrap_or_else(|| "-".to_owned())
        };
        let marks =
            [mark(&pruned, 77), mark(&pruned, 141), mark(&all, 77), mark(&all, 141), mark(&single, 4)];
        lines += &format!("{} {}\n", bases.join(" "), marks.join(" "));
    }
    Ok(format!("#\n{lines}"))
}

#[derive(PartialEq, Eq, Hash)]
struct ReadEnd {
    template: usize,
    flags: i64,
}

fn read_adapter_marks(asked: &RegenerateRequest<'_>, name: &str) -> Result<HashMap<ReadEnd, String>> {
    let text = fs::read_to_string(asked.dir.path(&format!("{name}.sam")))?;
    let mut marks = HashMap::new();
    for record in sam::record_lines(&text) {
        let template = sam::column(record, 0).trim_start_matches('t').parse()?;
        let mark = sam::fields(record, &["XT:i:"]).next().map(|field| field[5..].to_owned());
        marks.extend(
            mark.map(|mark| (ReadEnd { template, flags: sam::numeric_column(record, 1) }, mark)),
        );
    }
    Ok(marks)
}

const MOSDEPTH_ENDINGS: [&str; 7] = [
    "mosdepth.global.dist.txt",
    "mosdepth.region.dist.txt",
    "mosdepth.summary.txt",
    "per-base.bed.gz",
    "quantized.bed.gz",
    "regions.bed.gz",
    "thresholds.bed.gz",
];

/// Prefixes of `samtools stats` lines that are not part of the oracle.
const SKIPPED_LINE_STARTS: [&str; 6] = [
    "# This file was produced by",
    "# The command line was:",
    "# Coverage distribution.",
    "COV\t",
    "# GC-depth.",
    "GCD\t",
];

/// Returns the output of `samtools stats` for `stats.sam` next to the oracle, without the lines of
/// [`SKIPPED_LINE_STARTS`].
pub fn regenerate_stats(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    fs::copy(path.with_file_name("stats.sam"), asked.dir.path("stats.sam"))?;
    let text = ProgramLines::start_samtools_1_24(&asked.dir, "stats stats.sam")?.read_text()?;
    let kept =
        text.lines().filter(|line| !SKIPPED_LINE_STARTS.iter().any(|start| line.starts_with(start)));
    Ok(kept.fold("#\n".to_owned(), |text, line| text + line + "\n"))
}

/// Returns the files that mosdepth writes for `reads.sam` next to the oracle, once per option line
/// of the current oracle.
pub fn regenerate_coverage(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let mosdepth = asked.peers.mosdepth()?;
    for file in ["reads.sam", "regions.bed"] {
        fs::copy(path.with_file_name(file), asked.dir.path(file))?;
    }
    asked.dir.run_samtools_1_24("view --no-PG -b -o reads.bam reads.sam")?;
    asked.dir.run_samtools_1_24("index reads.bam")?;
    let before = fs::read_to_string(path)?;
    let mut text = "#\n".to_owned();
    for options in before.lines().filter_map(|line| line.strip_prefix("= mosdepth")) {
        for ending in MOSDEPTH_ENDINGS {
            let _ = fs::remove_file(asked.dir.path(&format!("made.{ending}")));
        }
        asked.dir.run_peer(&mosdepth, &format!("{} made reads.bam", options.trim()))?;
        text += &format!("= mosdepth{options}\n");
        for ending in MOSDEPTH_ENDINGS {
            let file = format!("made.{ending}");
            if !asked.dir.path(&file).exists() {
                continue;
            }
            let given = match ending.ends_with(".gz") {
                true => ProgramLines::start(asked.dir.inflate_command(&file))?.read_text()?,
                false => fs::read_to_string(asked.dir.path(&file))?,
            };
            text += &format!("== .{ending}\n{given}");
        }
    }
    Ok(text)
}

pub fn regenerate_gathered_report(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let reports = ["one.table", "two.table"];
    run_gatk_call(asked, path, &reports, "walkers.bqsr.GatherBQSRReports -I one.table -I two.table -O ")
}

/// Returns the plot data that GATK's AnalyzeCovariates creates from two reports next to the oracle.
pub fn regenerate_plot_data(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let reports = ["one.table", "gathered.table"];
    run_gatk_call(
        asked,
        path,
        &reports,
        "walkers.bqsr.AnalyzeCovariates -before one.table -after gathered.table -csv ",
    )
}

/// Runs one GATK call and returns its output file. The named files next to the oracle are copied
/// without their first line, which names their source.
fn run_gatk_call(
    asked: &RegenerateRequest<'_>,
    path: &Path,
    files: &[&str],
    call: &str,
) -> Result<String> {
    for file in files {
        let text = fs::read_to_string(path.with_file_name(file))?;
        fs::write(asked.dir.path(file), skip_first_line(&text))?;
    }
    let name = path.file_name().context("no name")?.to_string_lossy();
    let output = format!("made.{name}");
    Gatk::find_or_install(asked.peers)?.run_calls(&asked.dir, &[format!("{call}{output}")])?;
    Ok(format!("#\n{}", fs::read_to_string(asked.dir.path(&output))?))
}
