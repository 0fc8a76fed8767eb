//! Regenerates the expected records and metrics of Picard MarkDuplicates with options.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::asked::{MARK_DUPLICATES, RegenerateRequest};
use super::case_file::{Block, Case};
use super::sam;

const TAGS: [&str; 5] = ["DT:", "DI:", "DS:", "MI:", "ZZ:"];

struct PicardAnswer {
    records: Vec<String>,
    /// The rows of the metrics table, each prefixed with `|`. `None` if the file has no table.
    metrics: Option<Vec<String>>,
}

struct Stem(String);

const MODES: [&str; 2] = ["template", "coordinate"];

/// Suffixes of the keys of blocks that are written by hand: expected results if Picard fails, or if
/// readmill differs on purpose.
const OWN_BLOCK_SUFFIXES: [&str; 2] = ["-records", "-metrics"];

/// Returns the text of the case file with Picard's current results, for all runs in both modes. All
/// calls share one JVM, because starting Java is slow.
pub fn regenerate_option_cases(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let (mut file, numbers) = asked.read_cases(path)?;
    let mut calls = Vec::new();
    for &n in &numbers {
        let case = &file.cases[n];
        let text = read_input(case, path)?;
        fs::write(asked.dir.path(&format!("{n}.template.sam")), &text)?;
        fs::write(asked.dir.path(&format!("{n}.coordinate.sam")), sam::sort_by_coordinate(&text))?;
        for (nth, run) in case.blocks.iter().filter(|block| block.key == "run").enumerate() {
            let options = if run.rest == "-" { String::new() } else { format!(" {}", run.rest) };
            for mode in MODES {
                let order = if mode == "template" { "queryname" } else { mode };
                let Stem(stem) = run_stem(n, nth, mode);
                let files = format!("I={n}.{mode}.sam O={stem}.sam M={stem}.metrics");
                calls.push(format!("{MARK_DUPLICATES} {files} ASSUME_SORT_ORDER={order}{options}"));
            }
        }
    }
    let mut said = asked.dir.run_small_picard_calls(&calls)?.into_iter();
    for &n in &numbers {
        let text = read_input(&file.cases[n], path)?;
        let case = &mut file.cases[n];
        let first_run = case.blocks.iter().position(|block| block.key == "run").context("no run")?;
        let mut blocks = case.blocks[..first_run].to_vec();
        let runs = case.blocks[first_run..].chunk_by(|_, next| next.key != "run");
        for (nth, run) in runs.enumerate() {
            let mut answer = |mode| match said.next() {
                Some((0, _)) => Ok(Ok(read_picard_answer(asked, &run_stem(n, nth, mode))?)),
                Some((code, why)) if why.is_empty() => bail!("Picard ended with {code}"),
                Some((_, why)) => Ok(Err(why)),
                None => bail!("no answer of Picard"),
            };
            let answers = [answer("template")?, answer("coordinate")?];
            let run = OptionRun { stated: run, order: sam::CoordinateOrder::from_header(&text) };
            let expected = run.updated_blocks(answers);
            blocks.extend(expected.with_context(|| format!("{}, {}", case.name(), run.stated[0].rest))?);
        }
        case.blocks = blocks;
    }
    Ok(file.text())
}

fn run_stem(case: usize, run: usize, mode: &str) -> Stem {
    Stem(format!("{case}.{run}.{mode}.marked"))
}

/// Returns the SAM text of a case: its own lines, or a file in the directory of the case file.
fn read_input(case: &Case, path: &Path) -> Result<String> {
    let block = case.block("sam").with_context(|| format!("{}: no sam", case.name()))?;
    match block.rest.as_str() {
        "" => Ok(block.content()),
        name => Ok(fs::read_to_string(path.with_file_name(name))?),
    }
}

fn read_picard_answer(asked: &RegenerateRequest<'_>, Stem(stem): &Stem) -> Result<PicardAnswer> {
    let output = fs::read_to_string(asked.dir.path(&format!("{stem}.sam")))?;
    let metrics = fs::read_to_string(asked.dir.path(&format!("{stem}.metrics")))?;
    let brief = |record: &str| {
        let first = record.split('\t').take(4);
        first.chain(sam::fields(record, &TAGS)).collect::<Vec<_>>().join("\t")
    };
    let table =
        metrics.split_once("\n## METRICS CLASS\t").and_then(|(_, table)| table.strip_suffix('\n'));
    // The class and the column names are the same in all files.
    let rows = |table: &str| table.split('\n').skip(2).map(|row| format!("|{row}")).collect();
    Ok(PicardAnswer {
        records: sam::record_lines(&output).into_iter().map(brief).collect(),
        metrics: table.map(rows),
    })
}

struct OptionRun<'a> {
    stated: &'a [Block],
    order: sam::CoordinateOrder<'a>,
}

impl OptionRun<'_> {
    /// Returns the blocks of the run. For each mode, `answers` has Picard's results, or the
    /// exception with which it failed.
    fn updated_blocks(&self, answers: [Result<PicardAnswer, String>; 2]) -> Result<Vec<Block>> {
        let mut blocks = vec![self.stated[0].clone()];
        for (mode, answer) in MODES.into_iter().zip(answers) {
            let other = blocks.clone();
            match answer {
                Ok(answer) => self.push_result_blocks(&mut blocks, mode, answer, &other)?,
                Err(why) => self.push_failed_blocks(&mut blocks, mode, &why)?,
            }
        }
        Ok(blocks)
    }

    fn block(&self, mode: &str, word: &str) -> Option<&Block> {
        self.stated.iter().find(|block| block.key == format!("{mode}{word}"))
    }

    /// Adds the blocks of a mode in which Picard failed. If the case nevertheless has results of
    /// readmill, they are kept, and only the exception is replaced.
    fn push_failed_blocks(&self, blocks: &mut Vec<Block>, mode: &str, why: &str) -> Result<()> {
        const NOT_PICARD_S: &str = "not Picard's, which stops (";
        let remark = self.block(mode, "").and_then(|block| block.rest.strip_prefix(NOT_PICARD_S));
        let Some(remark) = remark else {
            blocks.push(Block::new(mode, &format!("an error (Picard: {why})"), Vec::new()));
            return Ok(());
        };
        let (_, ours) = remark.rsplit_once("); ").context("no remark on what we want")?;
        blocks.push(Block::new(mode, &format!("{NOT_PICARD_S}{why}); {ours}"), Vec::new()));
        blocks.extend(OWN_BLOCK_SUFFIXES.iter().filter_map(|word| self.block(mode, word)).cloned());
        Ok(())
    }

    /// Adds the blocks of a mode in which Picard succeeded; `other` has the blocks of the other
    /// mode.
    fn push_result_blocks(
        &self,
        blocks: &mut Vec<Block>,
        mode: &str,
        answer: PicardAnswer,
        other: &[Block],
    ) -> Result<()> {
        let remark = self.block(mode, "").map_or("", |block| &block.rest);
        ensure!(!remark.starts_with("not Picard's"), "Picard no longer stops in {mode} mode");
        let records = Block::new(&format!("{mode}-records"), "", answer.records);
        if let Some(deviation) = self.block(mode, "-picard") {
            blocks.push(Block { lines: records.lines, ..deviation.clone() });
            blocks.extend(OWN_BLOCK_SUFFIXES.iter().filter_map(|word| self.block(mode, word)).cloned());
            return Ok(());
        }
        blocks.push(self.records_block(records, other));
        let (short, lines) = (self.is_short(mode), answer.metrics);
        let rest = if lines.is_some() { "" } else { "none" };
        let lines = lines.map(|lines| if short { shorten_histogram(lines) } else { lines });
        let metrics = Block::new(&format!("{mode}-metrics"), rest, lines.unwrap_or_default());
        let same = |it: &&Block| {
            it.key == "template-metrics" && (&it.rest, &it.lines) == (&metrics.rest, &metrics.lines)
        };
        blocks.push(match other.iter().find(same) {
            Some(_) => Block::new(&metrics.key, "as template-metrics", Vec::new()),
            None => metrics,
        });
        Ok(())
    }

    /// Returns the block of records, or a reference to `template-records` if both modes have the
    /// same records except for their order and set numbers.
    fn records_block(&self, records: Block, other: &[Block]) -> Block {
        let Some(template) = other.iter().find(|block| block.key == "template-records") else {
            return records;
        };
        let mut sorted = template.lines.clone();
        self.order.sort_records(&mut sorted);
        if renumber_sets(&sorted) != renumber_sets(&records.lines) {
            return records;
        }
        Block::new(&records.key, "as template-records", Vec::new())
    }

    /// Returns whether the histogram is shortened. It is not if the current file has all its rows.
    fn is_short(&self, mode: &str) -> bool {
        let own = self.block(mode, "-metrics").filter(|block| !block.lines.is_empty());
        let Some(stated) = own.or_else(|| self.block("template", "-metrics")) else { return true };
        !stated.lines.iter().any(|line| line.starts_with("|99.0\t"))
    }
}

/// Returns records with renumbered duplicate sets: each DI becomes the number of earlier distinct
/// sets.
fn renumber_sets(records: &[String]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut field = |field: &str| match field.strip_prefix("DI:i:") {
        Some(value) => {
            let number = seen.len();
            format!("DI:i:{}", seen.entry(value.to_owned()).or_insert(number))
        }
        None => field.to_owned(),
    };
    let mut record = |line: &String| line.split('\t').map(&mut field).collect::<Vec<_>>().join("\t");
    records.iter().map(&mut record).collect()
}

/// Shortens a histogram: in a run of rows without sets, the first two rows and the last row are
/// kept. If there are three or more others, `... N rows` replaces them.
fn shorten_histogram(lines: Vec<String>) -> Vec<String> {
    let is_empty =
        |line: &String| line.contains(".0\t") && line.split('\t').skip(2).all(|sets| sets == "0");
    let mut short = Vec::new();
    for stretch in lines.chunk_by(|a, b| is_empty(a) && is_empty(b)) {
        match stretch {
            [first, second, left_out @ .., last] if left_out.len() > 2 => {
                let rows = format!("|... {} rows", left_out.len());
                short.extend([first.clone(), second.clone(), rows, last.clone()]);
            }
            _ => short.extend_from_slice(stretch),
        }
    }
    short
}
