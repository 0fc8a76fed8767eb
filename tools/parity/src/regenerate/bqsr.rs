//! Regenerates the expected reports, qualities and plot data of GATK's base quality recalibration.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::asked::RegenerateRequest;
use super::bqsr_cases::{self as cases, BqsrCase, BqsrRun};
use super::case_file::{Block, Case};
use super::report::ShortReport;
use super::sam;
use crate::gatk::Gatk;

const QUALITIES: [&str; 3] = ["OQ:", "BI:", "BD:"];

const MAX_MESSAGE_CHARS: usize = 220;

struct PlacedCase<'a> {
    number: usize,
    case: &'a BqsrCase,
}

/// Returns the text of the case file with GATK's current results. All calls share one process, so
/// all files are written first.
pub fn regenerate_bqsr_cases(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let (mut file, numbers) = asked.read_cases(path)?;
    let given = cases::read(&file.text());
    let placed = |&number: &usize| PlacedCase { number, case: &given[number] };
    let placed: Vec<PlacedCase<'_>> = numbers.iter().map(placed).collect();
    let mut calls = Vec::new();
    for it in &placed {
        it.write_files(asked).with_context(|| it.case.name.clone())?;
        calls.extend(
            it.case.files.iter().filter(|file| is_indexed(&file.0)).map(|file| it.index_call(&file.0)),
        );
    }
    let indexes = calls.len();
    for it in &placed {
        calls.extend(it.case.runs.iter().map(|run| it.gatk_call(run)));
    }
    let gatk = Gatk::find_or_install(asked.peers)?;
    let said = gatk.run_calls_verbose(&asked.dir, &calls)?;
    let mut said = said.into_iter().skip(indexes);
    for it in &placed {
        let case = &mut file.cases[it.number];
        let expected = it.update_blocks(asked, case, &mut said);
        case.blocks = expected.with_context(|| it.case.name.clone())?;
    }
    Ok(file.text())
}

fn is_indexed(name: &str) -> bool {
    name.ends_with(".vcf") || name.ends_with(".bed") && !name.starts_with("targets")
}

impl PlacedCase<'_> {
    fn placed_path(&self, name: &str) -> String {
        format!("{}/{name}", self.number)
    }

    /// Writes the files of the case, with the indexes and dictionaries that GATK expects next to
    /// them.
    fn write_files(&self, asked: &RegenerateRequest<'_>) -> Result<()> {
        let dir = &asked.dir;
        fs::create_dir_all(dir.path(&self.number.to_string()))?;
        for (name, text) in &self.case.files {
            let file = self.placed_path(name);
            fs::write(dir.path(&file), text)?;
            if let Some(stem) = file.strip_suffix(".fa") {
                dir.run_samtools_1_24(&format!("faidx {file}"))?;
                dir.run_samtools_1_24(&format!("dict -o {stem}.dict {file}"))?;
            }
            if file.ends_with(".sam") && self.case.runs.iter().any(has_intervals) {
                dir.run_samtools_1_24(&format!("view --no-PG -b -o {file}.bam {file}"))?;
                dir.run_samtools_1_24(&format!("index {file}.bam"))?;
            }
        }
        Ok(())
    }

    fn index_call(&self, name: &str) -> String {
        format!("IndexFeatureFile -I {}", self.placed_path(name))
    }

    fn output_path(&self, nth: usize) -> String {
        let run = &self.case.runs[nth];
        match run.verb.as_str() {
            "apply" => self.placed_path(&format!("{nth}.out.sam")),
            "plot-data" => self.placed_path(&format!("{nth}.out.csv")),
            _ => self.placed_path(&run.words[0]),
        }
    }

    /// Returns the GATK call for a run. `in=`, `reference=` and `keep` of the case file are
    /// translated to options.
    fn gatk_call(&self, run: &BqsrRun) -> String {
        let nth = self.case.runs.iter().position(|it| std::ptr::eq(it, run)).unwrap_or_default();
        let (mut input, mut reference, mut words) = ("in.sam", "ref.fa", Vec::new());
        for word in &run.words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("in", name) => input = name,
                ("reference", name) => reference = name,
                ("keep", _) => words.push("--disable-tool-default-read-filters".to_owned()),
                ("--before" | "--after", _) => words.push(word[1..].to_owned()),
                ("--table", _) => words.push("-bqsr".to_owned()),
                _ => words.push(self.place_word(word)),
            }
        }
        let output = self.output_path(nth);
        let input = self.placed_path(input) + if has_intervals(run) { ".bam" } else { "" };
        match run.verb.as_str() {
            "table" => {
                let mut sites = String::new();
                if !words.iter().any(|word| word == "--known-sites") {
                    let names =
                        self.case.files.iter().map(|file| &file.0).filter(|name| is_indexed(name));
                    sites =
                        names.map(|name| format!("--known-sites {} ", self.placed_path(name))).collect();
                }
                let files = format!("-I {input} -R {} {sites}-O {output}", self.placed_path(reference));
                format!("walkers.bqsr.BaseRecalibrator {files} {}", words[1..].join(" "))
            }
            "apply" => {
                let files = format!("-I {input} -bqsr {} -O {output}", words[0]);
                format!("walkers.bqsr.ApplyBQSR {files} {}", words[1..].join(" "))
            }
            "gather" => {
                let inputs = words[1..].join(" -I ");
                format!("walkers.bqsr.GatherBQSRReports -I {inputs} -O {output}")
            }
            _ => format!("walkers.bqsr.AnalyzeCovariates {} -csv {output}", words.join(" ")),
        }
    }

    /// Returns a word of a run, prefixed with the directory if it is a file of the case or the
    /// output of an earlier run.
    fn place_word(&self, word: &str) -> String {
        let is_table =
            |run: &BqsrRun| matches!(run.verb.as_str(), "table" | "gather") && run.words[0] == word;
        let is_file =
            self.case.files.iter().any(|file| file.0 == word) || self.case.runs.iter().any(is_table);
        if is_file { self.placed_path(word) } else { word.to_owned() }
    }

    /// Returns the blocks of the case with new expected results. A run that GATK refuses gets a
    /// block `refused` with the message.
    fn update_blocks(
        &self,
        asked: &RegenerateRequest<'_>,
        stated: &Case,
        said: &mut impl Iterator<Item = Option<String>>,
    ) -> Result<Vec<Block>> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut reports: Vec<NamedTables> = Vec::new();
        let mut nth = 0;
        for block in stated.blocks.iter().filter(|block| block.key != "refused") {
            if !matches!(block.key.as_str(), "table" | "apply" | "gather" | "plot-data") {
                blocks.push(block.clone());
                continue;
            }
            let refused = said.next().context("no answer of GATK")?;
            let text = fs::read_to_string(asked.dir.path(&self.output_path(nth)));
            let lines = match (&refused, block.key.as_str()) {
                (Some(_), _) => Vec::new(),
                (None, "apply") => format_records(&text?),
                (None, "plot-data") => text?.lines().map(|line| format!("|{line}")).collect(),
                (None, _) => self.shorten_report(nth, &text?, &mut reports)?,
            };
            blocks.push(Block { lines, ..block.clone() });
            if let Some(why) = refused {
                let why = why.replace(&self.placed_path(""), "");
                let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
                let why: String = why.chars().take(MAX_MESSAGE_CHARS).collect();
                blocks.push(Block::new("refused", &why, Vec::new()));
            }
            nth += 1;
        }
        ensure!(nth == self.case.runs.len(), "other runs");
        Ok(blocks)
    }

    /// Returns a report in short form. Tables that an earlier run also wrote become
    /// `tables as NAME`.
    fn shorten_report(
        &self,
        nth: usize,
        text: &str,
        earlier: &mut Vec<NamedTables>,
    ) -> Result<Vec<String>> {
        let ShortReport { first, tables } = ShortReport::parse(text)?;
        let same = earlier
            .iter()
            .find(|it| it.tables == tables && !tables.is_empty())
            .map(|it| format!("tables as {}", it.name));
        earlier.push(NamedTables { name: self.case.runs[nth].words[0].clone(), tables: tables.clone() });
        let rest = same.map_or(tables, |same| vec![same]);
        Ok(first.into_iter().chain(rest).map(|line| format!("|{line}")).collect())
    }
}

struct NamedTables {
    name: String,
    tables: Vec<String>,
}

fn has_intervals(run: &BqsrRun) -> bool {
    run.words.iter().any(|word| word == "-L")
}

/// Returns records as in case files: QNAME, FLAG, QUAL and the quality tags. Equal adjacent records
/// become one line with `repeat N`.
fn format_records(text: &str) -> Vec<String> {
    let brief = |record: &str| {
        let first = [0, 1, 10].map(|at| sam::column(record, at)).into_iter();
        first.chain(sam::fields(record, &QUALITIES)).collect::<Vec<_>>().join("\t")
    };
    let records: Vec<String> = sam::record_lines(text).into_iter().map(brief).collect();
    let repeated = |same: &[String]| match same {
        [one] => one.clone(),
        [one, ..] => format!("repeat {}\t{one}", same.len()),
        [] => String::new(),
    };
    records.chunk_by(|a, b| a == b).map(repeated).collect()
}
