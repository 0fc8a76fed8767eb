//! Compares the files written by a tool and by readmill's front for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::outputs::{ProgramLines, clear_duplicate_flag, sort_tags};

/// File for standard output, if the command line does not redirect it.
pub const STDOUT: &str = "stdout";

/// Suffixes of index files, which `indexes` and `index_command` compare.
const INDEXES: [&str; 3] = [".bai", ".csi", ".crai"];

/// Compares the directories `ours` and `theirs`: first their file names, then each file as records
/// or as text. Returns the number of records and lines.
pub fn compare_directories(dir: &SampleDir<'_>, line: &str, tool: &str) -> Result<String> {
    let (ours, theirs) = (list_files(dir, "ours", tool)?, list_files(dir, "theirs", tool)?);
    ensure!(ours == theirs, "files: {ours:?}, and the tool has {theirs:?}");
    let mut figures = Vec::new();
    for file in &ours {
        if INDEXES.iter().any(|end| file.ends_with(end)) {
            continue;
        }
        let figure = match is_reads_file(dir, file)? {
            true => compare_records(dir, file, line, tool),
            false => compare_text_files(dir, file),
        };
        figures.push(figure.with_context(|| file.clone())?);
    }
    Ok(figures.join(", "))
}

/// Returns the names of the files in a directory. Empty standard output and GATK's messages are not
/// included.
fn list_files(dir: &SampleDir<'_>, below: &str, tool: &str) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(dir.path(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_message = name == STDOUT && (entry.metadata()?.len() == 0 || tool == "gatk");
        if entry.metadata()?.is_file() && !is_message {
            files.insert(name);
        }
    }
    Ok(files)
}

fn is_reads_file(dir: &SampleDir<'_>, file: &str) -> Result<bool> {
    let named = [".bam", ".sam", ".cram"].iter().any(|end| file.ends_with(end));
    Ok(named && fs::metadata(dir.path(&format!("theirs/{file}")))?.len() > 0)
}

/// Compares contigs, read groups and records of a file. Records that tie may be in a different
/// order, unless samtools or bwa wrote them.
fn compare_records(dir: &SampleDir<'_>, file: &str, line: &str, tool: &str) -> Result<String> {
    // Without -c, samtools merge renames read groups randomly (row 20 of docs/parity.md).
    let has_groups = !line.starts_with("samtools merge") || line.contains(" -c ");
    // elPrep breaks ties differently, and keeps duplicate marks of the input (row 163).
    let has_marks = tool != "elprep";
    let read =
        |below: &str| read_normalized_records(dir, &format!("{below}/{file}"), has_groups, has_marks);
    let (ours, theirs) = (read("ours")?, read("theirs")?);
    ensure!(ours.header == theirs.header, "headers: {:?}, {:?}", ours.header, theirs.header);
    let number = ours.records.len();
    if ours.records == theirs.records {
        return Ok(format!("{number} records"));
    }
    let differing = ours.records.iter().zip(&theirs.records).find(|(one, other)| one != other);
    let shown = || format!("{number} and {} records; {differing:?}", theirs.records.len());
    // samtools collate sorts names by their hashes (row 159).
    let is_collated = ["samtools collate", "samtools bamshuf"].iter().any(|it| line.starts_with(it));
    ensure!(is_collated || tool != "samtools" && !tool.starts_with("bwa"), "{}", shown());
    ensure!(count_records(&ours.records) == count_records(&theirs.records), "{}", shown());
    if tool == "elprep" {
        return Ok(format!("{number} records, in a different order")); // elPrep keeps no order
    }
    if is_collated {
        ensure!(has_names_together(&ours.records), "names do not stand together: {}", shown());
        return Ok(format!("{number} records, with a different order of names"));
    }
    let keys = |records: &[String], columns: &[usize]| -> Vec<String> {
        let key = |record: &String| {
            let fields: Vec<&str> = record.split('\t').collect();
            columns
                .iter()
                .map(|&at| fields.get(at).copied().unwrap_or_default())
                .collect::<Vec<_>>()
                .join(" ")
        };
        records.iter().map(key).collect()
    };
    let is_order = |columns: &[usize]| keys(&ours.records, columns) == keys(&theirs.records, columns);
    ensure!(is_order(&[2, 3]) || is_order(&[0]), "different order: {}", shown());
    Ok(format!("{number} records, ties otherwise"))
}

struct RecordLines {
    header: BTreeSet<String>,
    records: Vec<String>,
}

fn read_normalized_records(
    dir: &SampleDir<'_>,
    file: &str,
    has_groups: bool,
    has_marks: bool,
) -> Result<RecordLines> {
    let mut found = RecordLines { header: BTreeSet::new(), records: Vec::new() };
    let mut printed =
        ProgramLines::start_samtools_1_24(dir, &format!("view -h --no-PG --reference ref.fa {file}"))?;
    let mut line = Vec::new();
    while printed.read_line(&mut line)? {
        if line.starts_with(b"@") && line.get(3) == Some(&b'\t') {
            let text = String::from_utf8_lossy(&line).into_owned();
            let mut fields: Vec<&str> = text.split('\t').collect();
            match fields[0] {
                "@SQ" => fields.retain(|it| ["SN:", "LN:"].iter().any(|tag| it.starts_with(tag))),
                "@RG" if has_groups => {}
                _ => continue,
            }
            fields.sort_unstable();
            found.header.insert(fields.join("\t"));
            continue;
        }
        sort_tags(&mut line);
        if !has_marks {
            clear_duplicate_flag(&mut line);
        }
        let record = String::from_utf8_lossy(&line).into_owned();
        let fields = record.split('\t').filter(|field| has_groups || !field.starts_with("RG:Z:"));
        found.records.push(fields.collect::<Vec<_>>().join("\t"));
    }
    Ok(found)
}

fn has_names_together(records: &[String]) -> bool {
    let name = |record: &String| record.split('\t').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = records.iter().map(name).collect();
    names.dedup();
    let groups = names.len();
    names.into_iter().collect::<BTreeSet<_>>().len() == groups
}

fn count_records(records: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    records.iter().for_each(|record| *counts.entry(record.as_str()).or_default() += 1);
    counts
}

fn compare_text_files(dir: &SampleDir<'_>, file: &str) -> Result<String> {
    let read = |below: &str| -> Result<Vec<String>> {
        let path = dir.path(&format!("{below}/{file}"));
        let bytes = match file.ends_with(".gz") {
            true => Command::new("gzip").arg("-dc").arg(path).output()?.stdout,
            false => fs::read(path)?,
        };
        let text = String::from_utf8(bytes).context("no text")?;
        let left_out = ["#", "@PG\t", "COMMAND: ", "    \"COMMAND\": "];
        let kept = text.lines().filter(|line| !left_out.iter().any(|start| line.starts_with(start)));
        // A dictionary contains the path of the directory in which the tool ran.
        Ok(kept.map(|line| line.replace("/ours/../", "/theirs/../")).collect())
    };
    let (ours, theirs) = (read("ours")?, read("theirs")?);
    let differing = ours.iter().zip(&theirs).find(|(one, other)| one != other);
    ensure!(ours == theirs, "{} and {} lines; {differing:?}", ours.len(), theirs.len());
    Ok(format!("{} lines", ours.len()))
}
