//! Regenerates the expected duplicate marks of Picard MarkDuplicates without options, on the input
//! in its own order and after SortSam.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::asked::{MARK_DUPLICATES, RegenerateRequest};
use super::case_file::{Block, Case};
use super::sam;

struct Mode {
    name: &'static str,
    order: &'static str,
}

const MODES: [Mode; 2] =
    [Mode { name: "template", order: "queryname" }, Mode { name: "coordinate", order: "coordinate" }];

#[derive(Default)]
struct MarkedLines {
    as_given: Option<Vec<String>>,
    after_sort_sam: Option<Vec<String>>,
}

pub fn regenerate_marks(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let (mut file, numbers) = asked.read_cases(path)?;
    let mut calls = Vec::new();
    for &n in &numbers {
        let text = input_text(&file.cases[n])?;
        for mode in &MODES {
            let stem = format!("{n}.{}", mode.name);
            let given =
                if mode.name == "coordinate" { sam::sort_by_coordinate(&text) } else { text.clone() };
            fs::write(asked.dir.path(&format!("{stem}.sam")), given)?;
            calls.push(format!("SortSam I={stem}.sam O={stem}.sorted.sam SORT_ORDER={}", mode.order));
            calls.extend(
                ["", ".sorted"].map(|order| mark_duplicates_call(&format!("{stem}{order}"), mode.order)),
            );
        }
    }
    let ends = asked.dir.run_small_picard_calls(&calls)?;
    let mut has_marks = ends.chunks(3).flat_map(|it| [it[1].0 == 0, it[2].0 == 0]);
    for &n in &numbers {
        let case = &mut file.cases[n];
        let text = input_text(case)?;
        let mut blocks: Vec<Block> = case.blocks.iter().filter(|it| is_given(it)).cloned().collect();
        for mode in &MODES {
            let stem = format!("{n}.{}", mode.name);
            let mut marks = |stem: &str| match has_marks.next() {
                Some(true) => read_marked_records(asked, stem, &text).map(Some),
                _ => Ok(None),
            };
            let marks = MarkedLines {
                as_given: marks(&stem)?,
                after_sort_sam: marks(&format!("{stem}.sorted"))?,
            };
            blocks.extend(mode_blocks(case, mode.name, marks).with_context(|| case.name().to_owned())?);
        }
        case.blocks = blocks;
    }
    Ok(file.text())
}

fn is_given(block: &Block) -> bool {
    !MODES.iter().any(|mode| block.key.starts_with(&format!("{}-", mode.name)))
}

fn input_text(case: &Case) -> Result<String> {
    Ok(case.block("sam").with_context(|| format!("{}: no sam", case.name()))?.content())
}

fn mark_duplicates_call(stem: &str, order: &str) -> String {
    let files = format!("I={stem}.sam O={stem}.marked.sam M={stem}.metrics");
    format!("{MARK_DUPLICATES} {files} ASSUME_SORT_ORDER={order}")
}

/// Returns the records of the input that have 0x400 in Picard's output, as in case files.
fn read_marked_records(asked: &RegenerateRequest<'_>, stem: &str, input: &str) -> Result<Vec<String>> {
    let output = fs::read_to_string(asked.dir.path(&format!("{stem}.marked.sam")))?;
    let marked = sam::record_lines(&output)
        .into_iter()
        .filter(|record| sam::numeric_column(record, 1) & 0x400 != 0);
    let marked: HashSet<String> = marked.map(format_record).collect();
    let given = sam::record_lines(input).into_iter().map(format_record);
    Ok(given.filter(|record| marked.contains(record)).collect())
}

fn format_record(record: &str) -> String {
    let flag = sam::numeric_column(record, 1) & !0x400;
    [sam::column(record, 0), &flag.to_string(), sam::column(record, 2), sam::column(record, 3)]
        .join("\t")
}

/// Returns the blocks of a mode. If the case has an `oracle` block, Picard must fail, and the marks
/// of the case are kept. The marks after SortSam are written only if they differ.
fn mode_blocks(case: &Case, mode: &str, marks: MarkedLines) -> Result<Vec<Block>> {
    let [oracle, duplicates, sorted] =
        ["oracle", "duplicates", "duplicates-after-sortsam"].map(|word| format!("{mode}-{word}"));
    let MarkedLines { as_given, after_sort_sam } = marks;
    if let Some(stated) = case.block(&oracle) {
        ensure!(as_given.is_none(), "Picard no longer stops in {mode} mode");
        let ours = case.block(&duplicates).context("no marks")?;
        return Ok(vec![stated.clone(), ours.clone()]);
    }
    let as_given = as_given.with_context(|| format!("Picard stops in {mode} mode"))?;
    let others = after_sort_sam.filter(|marks| *marks != as_given);
    let mut blocks = vec![Block::new(&duplicates, "", as_given)];
    blocks.extend(others.map(|marks| Block::new(&sorted, "", marks)));
    Ok(blocks)
}
