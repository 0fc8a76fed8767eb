//! Compares runs with several inputs. If all headers are equal, the result must equal that of the
//! concatenated inputs. If headers differ, the result must be equivalent to that of
//! `samtools merge` and Picard MergeSamFiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::orders::{ORDERS, OrderComparison, OrderTool};
use crate::outputs::{ReadsFile, run_in_parallel};
use crate::random::SeededRandom;
use crate::random_cases::{self, Oracle};

/// Compares `sets` random sets of inputs with clashing headers, and a third as many with equal
/// headers.
pub fn compare_several_inputs(dir: &SampleDir<'_>, sets: u64, ledger: &mut Ledger) {
    ledger.print_heading("several", "inputs with equal headers, and with headers that clash");
    let equal = (sets / 3).max(3);
    ledger.check("several: sets of two to four inputs with equal headers", || {
        (0..equal).try_for_each(|set| write_equal_set(dir, set))?;
        Ok(format!("{equal} sets"))
    });
    for asked in ORDERS.into_iter().filter(|asked| asked.of != OrderTool::System) {
        ledger.check(&format!("several: {}, of samtools cat", asked.describe("XX")), || {
            let records = match asked.of {
                OrderTool::Picard => {
                    let input = |set| (input_names(set, "equal").join(" "), format!("equal-{set}.bam"));
                    random_cases::compare_queryname(
                        dir,
                        asked,
                        &(0..equal).map(input).collect::<Vec<_>>(),
                    )?
                }
                _ => compare_concatenated(dir, asked, equal)?,
            };
            Ok(format!("{equal} sets, {records} records"))
        });
    }
    ledger.check("several: files and standard input, as files", || compare_piped_input(dir));
    ledger.check("several: headers that clash mean what they mean after samtools merge", || {
        let mut tally = SetTotals::default();
        for set in 0..sets {
            compare_with_samtools_merge(dir, set, &mut tally).with_context(|| format!("set {set}"))?;
        }
        Ok(tally.summary(sets))
    });
    ledger.check("several: headers that clash mean what they mean after MergeSamFiles", || {
        compare_with_merge_sam_files(dir, sets)
    });
    ledger.check("several: one name for sequences of two lengths is refused", || {
        ensure_two_lengths_refused(dir)
    });
}

fn input_names(set: u64, kind: &str) -> Vec<String> {
    let file =
        |i: u64| format!("{kind}-{set}.{i}.{}", if (set + i).is_multiple_of(2) { "bam" } else { "sam" });
    (0..2 + set % 3).map(file).collect()
}

fn write_equal_set(dir: &SampleDir<'_>, set: u64) -> Result<()> {
    let mut random = SeededRandom::new(set);
    let header = random_cases::random_header(&mut random);
    let (files, mut all) = (input_names(set, "equal"), Vec::new());
    for file in &files {
        let stem = &file[..file.len() - 4];
        let mut text = header.clone().into_bytes();
        text.extend(random_cases::random_reads(&mut random, Oracle::Picard, 20));
        fs::write(dir.path(&format!("{stem}.sam")), text)?;
        dir.run_samtools_1_24(&format!("view --no-PG -b -o {stem}.bam {stem}.sam"))?;
        all.push(format!("{stem}.bam"));
    }
    dir.run_samtools_1_24(&format!("cat --no-PG -o equal-{set}.bam {}", all.join(" "))).map(drop)
}

/// Sorts each set with readmill, and its concatenation with samtools. Returns the number of
/// records.
fn compare_concatenated(dir: &SampleDir<'_>, asked: OrderComparison, sets: u64) -> Result<usize> {
    let mut records = 0;
    for set in 0..sets {
        let files = input_names(set, "equal").join(" ");
        let ours = asked.readmill_command(dir, "XX", &format!("-O bam -l 1 -o - {files}"));
        let theirs = asked.samtools_command(dir, "XX", &format!("-O bam -l 1 equal-{set}.bam"));
        let left = run_in_parallel([ours, theirs.context("no order of samtools")?])?;
        let (mut ours, mut theirs) = (left[0].parse_reads()?, left[1].parse_reads()?);
        // Two differences are accepted. readmill keeps the comments of all inputs, samtools cat
        // only those of the first. If the inputs' @HD has no order, the sort adds it, so the fields
        // of @HD can be in a different order.
        for reads in [&mut ours, &mut theirs] {
            reads.header.retain(|line| !line.starts_with("@CO\t"));
            for line in reads.header.iter_mut().filter(|line| line.starts_with("@HD\t")) {
                let mut fields: Vec<&str> = line.split('\t').collect();
                fields[1..].sort_unstable();
                *line = fields.join("\t");
            }
        }
        ours.ensure_same(&theirs).with_context(|| format!("set {set}"))?;
        records += ours.records.len();
    }
    Ok(records)
}

fn compare_piped_input(dir: &SampleDir<'_>) -> Result<String> {
    let files = input_names(2, "equal");
    ensure!(files.len() == 4, "a set of four");
    for (at, file) in files.iter().enumerate() {
        let mut words = files.clone();
        words[at] = "-".to_owned();
        dir.run_readmill(&format!("sort -n {} -o files.bam", files.join(" ")))?;
        dir.run_readmill_from(file, &format!("sort -n {} -o piped.bam", words.join(" ")))?;
        crate::outputs::compare_files(dir, "piped.bam", "files.bam")?;
    }
    Ok(format!("{} places", files.len()))
}

#[derive(Default)]
struct SetTotals {
    records: usize,
    renamed: usize,
    in_order: u64,
}

impl SetTotals {
    fn summary(&self, sets: u64) -> String {
        let SetTotals { records, renamed, in_order } = self;
        format!(
            "{sets} sets, {records} records, {renamed} IDs renamed; {in_order} in the same order, too"
        )
    }
}

/// Writes a set of inputs with clashing headers, each sorted in the order stated in its own header.
/// Returns the file names and the headers.
fn write_clashing_set(
    dir: &SampleDir<'_>,
    set: u64,
    oracle: Oracle,
) -> Result<(Vec<String>, Vec<String>)> {
    let kind = if oracle == Oracle::Picard { "picard" } else { "clash" };
    let mut random = SeededRandom::new(2 * set + u64::from(oracle == Oracle::Picard));
    let (mut files, mut headers) = (Vec::new(), Vec::new());
    for i in 0..2 + set % 3 {
        let file = format!("{kind}-{set}.{i}.bam");
        let header = random_clashing_header(&mut random, oracle);
        let text = add_clashing_reads(&mut random, &header, oracle);
        fs::write(dir.path("unsorted.sam"), text)?;
        dir.run_samtools_1_24(&format!("sort --no-PG -O bam -o {file} unsorted.sam"))?;
        files.push(file);
        headers.push(header);
    }
    Ok((files, headers))
}

fn compare_with_samtools_merge(dir: &SampleDir<'_>, set: u64, tally: &mut SetTotals) -> Result<()> {
    let (files, headers) = write_clashing_set(dir, set, Oracle::Samtools)?;
    let files = files.join(" ");
    let left = run_in_parallel([
        dir.readmill_command(&format!("sort --no-PG -O sam -o - {files}")),
        dir.samtools_1_24_command(&format!("merge --no-PG -O sam -o - {files}")),
    ])?;
    let (ours, theirs) = (
        ResolvedFile::resolve(&left[0].parse_reads()?)?,
        ResolvedFile::resolve(&left[1].parse_reads()?)?,
    );
    ours.ensure_same_meaning(&theirs)?;
    let keeps = |header: &String| ours.keeps_order_of(header) && theirs.keeps_order_of(header);
    if ours.sequences == theirs.sequences && headers.iter().all(keeps) {
        ensure!(ours.records == theirs.records, "the records are the same, in a different order");
        tally.in_order += 1;
    }
    tally.records += ours.records.len();
    tally.renamed += ours.count_renamed_ids(&headers);
    Ok(())
}

fn compare_with_merge_sam_files(dir: &SampleDir<'_>, sets: u64) -> Result<String> {
    let (mut calls, mut inputs) = (Vec::new(), Vec::new());
    for set in 0..sets {
        let (files, _) = write_clashing_set(dir, set, Oracle::Picard)?;
        let list: Vec<String> = files.iter().map(|file| format!("I={file}")).collect();
        let rules = "SORT_ORDER=coordinate MERGE_SEQUENCE_DICTIONARIES=true COMPRESSION_LEVEL=1";
        calls.push(format!("MergeSamFiles {} O=picard-{set}.merged.bam {rules}", list.join(" ")));
        inputs.push(files.join(" "));
    }
    let codes = dir.run_picard_calls(&calls)?;
    let (mut records, mut accepted) = (0, 0);
    for (set, files) in inputs.iter().enumerate().filter(|(set, _)| codes[*set] == 0) {
        let left = run_in_parallel([
            dir.readmill_command(&format!("sort --no-PG -O sam -o - {files}")),
            dir.samtools_1_24_command(&format!("view --no-PG -h picard-{set}.merged.bam")),
        ])?;
        let (ours, theirs) = (
            ResolvedFile::resolve(&left[0].parse_reads()?)?,
            ResolvedFile::resolve(&left[1].parse_reads()?)?,
        );
        ours.ensure_same_meaning(&theirs).with_context(|| format!("set {set}"))?;
        ensure!(ours.sequences == theirs.sequences, "set {set}: sequences in a different order");
        records += ours.records.len();
        accepted += 1;
    }
    ensure!(accepted > 0, "Picard refused all");
    Ok(format!(
        "{accepted} of {sets} sets that Picard accepts, {records} records, the same dictionaries"
    ))
}

fn ensure_two_lengths_refused(dir: &SampleDir<'_>) -> Result<String> {
    for (i, length) in [100, 200].into_iter().enumerate() {
        fs::write(dir.path(&format!("length-{i}.sam")), format!("@SQ\tSN:a\tLN:{length}\n"))?;
    }
    let mut command = dir.readmill_command("sort length-0.sam length-1.sam -o - -O sam");
    command.stderr(Stdio::piped());
    let left = run_in_parallel([command])?;
    ensure!(!left[0].succeeded && left[0].output.is_empty(), "it was taken");
    let reason = left[0].messages.lines().last().unwrap_or_default();
    ensure!(reason.contains("100 bases"), "it was refused for another reason: {reason}");
    Ok(reason.to_owned())
}

/// Returns the IDs of read groups and programs. For samtools, some look like the IDs that it
/// generates; Picard would confuse those.
fn all_ids(oracle: Oracle) -> [&'static str; 6] {
    match oracle {
        Oracle::Samtools => ["g", "h", "g.1", "g.2", "h.1", "g.1.1"],
        Oracle::Picard => ["g", "h", "i", "j", "k", "l"],
    }
}

fn random_selection<'a>(random: &mut SeededRandom, of: &[&'a str]) -> Vec<&'a str> {
    let mut left = of.to_vec();
    random.shuffle(&mut left);
    left.truncate(random.below(of.len() as u64 + 1) as usize);
    left
}

/// Returns a random header whose sequences, read groups and programs clash with other headers.
/// Sequences are mostly sorted by name, so that dictionaries can be merged without reordering.
fn random_clashing_header(random: &mut SeededRandom, oracle: Oracle) -> String {
    let all_ids = all_ids(oracle);
    let mut text =
        random.pick(&["", "@HD\tVN:1.5\tSO:coordinate\n", "@HD\tVN:1.6\tGO:query\n"]).to_owned();
    let mut sequences = random_selection(random, &["1", "2", "3", "4", "5"]);
    if !random.once_in(6) {
        sequences.sort_unstable();
    }
    for name in sequences {
        text += &format!("@SQ\tSN:{name}\tLN:{name}0000\n");
    }
    for id in random_selection(random, &all_ids) {
        let (sample, library) = (random.below(2), random.below(2));
        text += &format!("@RG\tID:{id}\tSM:{sample}\tLB:{library}\n");
    }
    let programs = random_selection(random, &all_ids);
    for (i, id) in programs.iter().enumerate() {
        text += &format!("@PG\tID:{id}\tPN:p\tCL:{}", random.below(2));
        if i > 0 && !random.once_in(3) {
            text += &format!("\tPP:{}", programs[random.below(i as u64) as usize]);
        }
        text.push('\n');
    }
    for _ in 0..random.below(3) {
        text += &format!("@CO\t{}\n", random.below(3));
    }
    text
}

/// Returns the IDs of all header lines of one type: SN for `@SQ`, ID for others.
fn header_ids<'a>(header: &'a str, kind: &str) -> Vec<&'a str> {
    let tag = if kind == "@SQ" { "SN:" } else { "ID:" };
    let lines = header.lines().filter(|line| line.starts_with(kind));
    lines.filter_map(|line| line.split('\t').find_map(|field| field.strip_prefix(tag))).collect()
}

/// Returns the header with random reads. For samtools, some reads name a read group or program that
/// is missing from the header.
fn add_clashing_reads(random: &mut SeededRandom, header: &str, oracle: Oracle) -> String {
    let (sequences, mut text) = (header_ids(header, "@SQ"), header.to_owned());
    for i in 0..random.below(12) {
        let flag = random.pick(&[0, 0x10, 0x41, 0x91]);
        let place = |random: &mut SeededRandom| match sequences.len() {
            0 => ("*", 0),
            n => (sequences[random.below(n as u64) as usize], 1 + random.below(4)),
        };
        let ((rname, pos), (rnext, pnext)) = (place(random), place(random));
        let (flag, cigar) =
            if rname == "*" || random.once_in(6) { (flag | 4, "*") } else { (flag, "1M") };
        let (rname, pos) = if flag & 4 != 0 && random.once_in(2) { ("*", 0) } else { (rname, pos) };
        text += &format!("r{i}\t{flag}\t{rname}\t{pos}\t9\t{cigar}\t{rnext}\t{pnext}\t0\tA\tI\tXA:i:1");
        for (tag, kind) in [("RG", "@RG"), ("PG", "@PG")] {
            let known = header_ids(header, kind);
            let id = match oracle {
                Oracle::Samtools if random.once_in(5) => random.pick(&all_ids(oracle)),
                _ if known.is_empty() || random.once_in(5) => continue,
                _ => random.pick(&known),
            };
            text += &format!("\t{tag}:Z:{id}");
        }
        text.push_str("\tXB:Z:last\n");
    }
    text
}

/// A header and its records, with the IDs of read groups and programs replaced by their contents.
/// Merging may rename IDs, so only the contents can be compared.
struct ResolvedFile {
    sequences: Vec<String>,
    lines: BTreeSet<String>,
    groups: BTreeMap<String, String>,
    /// Fields of each program and its predecessors (PP), by its ID.
    chains: BTreeMap<String, String>,
    comments: Vec<String>,
    records: Vec<String>,
}

fn header_field<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    line.split('\t').find_map(|field| field.strip_prefix(tag)?.strip_prefix(':'))
}

fn sorted_fields(line: &str, without: &[&str]) -> String {
    let mut fields: Vec<&str> = line.split('\t').skip(1).collect();
    fields.retain(|field| !without.iter().any(|tag| field.starts_with(&format!("{tag}:"))));
    fields.sort_unstable();
    fields.join(" ")
}

impl ResolvedFile {
    fn resolve(reads: &ReadsFile) -> Result<Self> {
        let header = reads.header.join("\n");
        let of_kind = |kind: &'static str| {
            header.lines().filter(move |line| line.starts_with(&format!("{kind}\t")))
        };
        let by_id = |kind: &'static str| -> Result<BTreeMap<String, &str>> {
            let mut lines = BTreeMap::new();
            for line in of_kind(kind) {
                let id = header_field(line, "ID").context("a line without ID")?;
                ensure!(lines.insert(id.to_owned(), line).is_none(), "{kind} {id} stands twice");
            }
            Ok(lines)
        };
        let (groups, programs) = (by_id("@RG")?, by_id("@PG")?);
        let groups: BTreeMap<String, String> =
            groups.into_iter().map(|(id, line)| (id, sorted_fields(line, &["ID", "PG"]))).collect();
        let chain = |id: &String| -> String {
            let (mut chain, mut next) = (Vec::new(), programs.get(id));
            while let Some(line) = next.filter(|_| chain.len() <= programs.len()) {
                chain.push(sorted_fields(line, &["ID", "PP"]));
                next = header_field(line, "PP").and_then(|id| programs.get(id));
            }
            chain.join(" < ")
        };
        let chains: BTreeMap<String, String> =
            programs.keys().map(|id| (id.clone(), chain(id))).collect();
        let mut comments: Vec<String> = of_kind("@CO").map(str::to_owned).collect();
        comments.sort();
        let mut meaning = ResolvedFile {
            sequences: header_ids(&header, "@SQ").into_iter().map(str::to_owned).collect(),
            lines: of_kind("@SQ").map(|line| sorted_fields(line, &[])).collect(),
            groups,
            chains,
            comments,
            records: Vec::new(),
        };
        for record in &reads.records {
            meaning.records.push(meaning.resolve_record(std::str::from_utf8(record)?));
        }
        Ok(meaning)
    }

    /// Returns a record with resolved and sorted optional fields. An RG or PG that is missing from
    /// the header is removed.
    fn resolve_record(&self, line: &str) -> String {
        let columns: Vec<&str> = line.split('\t').collect();
        let (columns, fields) = columns.split_at(columns.len().min(11));
        let mut said = Vec::new();
        for field in fields {
            let named = [("RG:Z:", &self.groups), ("PG:Z:", &self.chains)];
            match named.iter().find_map(|(tag, by_id)| Some((tag, by_id, field.strip_prefix(tag)?))) {
                None => said.push((*field).to_owned()),
                Some((tag, by_id, id)) => said.extend(by_id.get(id).map(|what| format!("{tag}{what}"))),
            }
        }
        said.sort();
        format!("{}\t{}", columns.join("\t"), said.join("\t"))
    }

    /// Returns an error unless both files are equivalent. Sequences and records may be in a
    /// different order.
    fn ensure_same_meaning(&self, theirs: &ResolvedFile) -> Result<()> {
        let values = |by_id: &BTreeMap<String, String>| by_id.values().cloned().collect::<BTreeSet<_>>();
        for (what, ours, theirs) in [
            ("@SQ", self.lines.clone(), theirs.lines.clone()),
            ("@RG", values(&self.groups), values(&theirs.groups)),
            ("@PG", values(&self.chains), values(&theirs.chains)),
        ] {
            ensure!(ours == theirs, "{what}\n   ours: {ours:?}\n theirs: {theirs:?}");
        }
        let (ours, other) = (&self.comments, &theirs.comments);
        ensure!(ours == other, "@CO\n   ours: {ours:?}\n theirs: {other:?}");
        let sorted = |records: &[String]| {
            let mut sorted = records.to_vec();
            sorted.sort();
            sorted
        };
        let (ours, other) = (sorted(&self.records), sorted(&theirs.records));
        let differs = ours.iter().zip(&other).find(|(one, other)| one != other);
        ensure!(ours == other, "{} and {} records: {differs:?}", ours.len(), other.len());
        Ok(())
    }

    /// Returns whether the sequences of an input header are in the same relative order in this
    /// file.
    fn keeps_order_of(&self, header: &str) -> bool {
        let place = |name: &&str| self.sequences.iter().position(|other| other == name);
        header_ids(header, "@SQ").iter().map(place).is_sorted()
    }

    fn count_renamed_ids(&self, headers: &[String]) -> usize {
        let unknown = |kind: &'static str, by_id: &BTreeMap<String, String>| {
            let known: BTreeSet<&str> =
                headers.iter().flat_map(|header| header_ids(header, kind)).collect();
            by_id.keys().filter(|id| !known.contains(id.as_str())).count()
        };
        unknown("@RG", &self.groups) + unknown("@PG", &self.chains)
    }
}
