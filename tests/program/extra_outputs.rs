//! Reads that go to other outputs: selected, split, or as FASTQ. The bytes are the same for any number
//! of threads and any memory, and no read is lost or doubled.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;

use crate::support::resources::{self, number_after};
use crate::support::{self, ProgramRun, TestDir, arg, bgzip, number, readmill, records};

/// Threads and memory; `None` is the least.
const ALL_RESOURCES: [(usize, Option<&str>); 4] =
    [(1, Some("1G")), (2, None), (3, Some("200M")), (8, None)];

/// Runs a command (`IN` and `OUT` stand for files) with all threads and memory; returns the files it writes, which
/// must be the same each time.
fn same_files(input: &[u8], command: &str) -> (BTreeMap<String, Vec<u8>>, ProgramRun) {
    let dir = TestDir::new();
    let file = arg(&dir.file("in.bam", input));
    let mut first: Option<(BTreeMap<String, Vec<u8>>, ProgramRun)> = None;
    for (threads, memory) in ALL_RESOURCES {
        let command = command.replace("IN", &file).replace("OUT", &arg(&dir.path("out")));
        let mut words = resources::words(&format!("{command} -@ {threads}"));
        let memory = memory.map_or_else(|| resources::query_min_memory(&words), str::to_string);
        words.extend(["-m".to_string(), memory.clone()]);
        let done = readmill(&words);
        assert_eq!(done.code, Some(0), "{words:?}: {}", done.stderr);
        let limit = readmill_process::memory_size::parse_size(&memory).unwrap() >> 20;
        let peak = number_after(&done, &["peak", "memory"]);
        assert!(peak <= limit as usize, "{words:?}: {peak} MiB");
        let names = dir.names().into_iter().filter(|name| name.starts_with("out"));
        let files: BTreeMap<_, _> = names
            .map(|name| {
                let bytes = fs::read(dir.path(&name)).unwrap();
                fs::remove_file(dir.path(&name)).unwrap();
                (name, bytes)
            })
            .collect();
        match &first {
            None => first = Some((files, done)),
            Some((first, _)) => assert!(*first == files, "{words:?} differs"),
        }
    }
    first.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The records that `command` writes as SAM to `out.sam`.
fn all_records(input: &[u8], command: &str) -> Vec<String> {
    let dir = TestDir::new();
    let (file, out) = (arg(&dir.file("in.bam", input)), arg(&dir.path("out.sam")));
    let done = readmill(resources::words(&command.replace("IN", &file).replace("OUT", &out)));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    records(&fs::read_to_string(out).unwrap()).iter().map(|line| line.to_string()).collect()
}

#[test]
fn chosen_reads_go_into_files_of_their_own_in_the_order_of_the_output() {
    let input = bgzip(&resources::sample(3000));
    let all = all_records(&input, "prep IN -o OUT --sort coordinate --mark-duplicates -q");
    let (files, _) = same_files(
        &input,
        "prep IN -o OUT.sam --sort coordinate --mark-duplicates --move-to OUT.un.sam=unmapped \
         --copy-to OUT.dup.sam=duplicates --copy-to OUT.low.bam=mapq<30 --flagstat OUT.txt --verify",
    );
    let of = |name: &str| records(&text(&files[name])).iter().map(|l| l.to_string()).collect::<Vec<_>>();
    let matching = |keep: &dyn Fn(i64) -> bool| -> Vec<String> {
        all.iter().filter(|line| keep(number(line, 1))).cloned().collect()
    };
    assert_eq!(of("out.un.sam"), matching(&|flags| flags & 4 != 0));
    assert_eq!(of("out.sam"), matching(&|flags| flags & 4 == 0));
    assert_eq!(of("out.dup.sam"), matching(&|flags| flags & 0x400 != 0));
    assert!(!of("out.dup.sam").is_empty());
    assert!(files.contains_key("out.low.bam") && files.contains_key("out.low.bam.bai"));
    let total = text(&files["out.txt"]);
    let total: usize = total.split(' ').take(3).filter_map(|word| word.parse::<usize>().ok()).sum();
    assert_eq!(total, of("out.sam").len());
}

#[test]
fn reads_that_filters_drop_go_into_a_file_in_the_order_of_the_input() {
    let input = bgzip(&resources::sample(3000));
    let all = all_records(&input, "view IN -o OUT");
    let filters = "-F 0x10 --min-mapq 20 --subsample 0.5 --subsample-seed 7 --remove-optional-fields NM";
    let kept = all_records(&input, &format!("view IN {filters} -o OUT"));
    let command = format!("filter IN {filters} --move-to OUT.d.sam=dropped -o OUT.sam");
    let (files, done) = same_files(&input, &command);
    assert_eq!(records(&text(&files["out.sam"])), kept);
    let name = |line: &str| line.split('\t').take(4).collect::<Vec<_>>().join("\t");
    let mut keeps = kept.iter().map(|line| name(line)).peekable();
    let dropped: Vec<_> = all.iter().filter(|line| keeps.next_if_eq(&name(line)).is_none()).collect();
    assert!(keeps.next().is_none() && dropped.len() > 1000);
    assert_eq!(records(&text(&files["out.d.sam"])), dropped, "whole, as they came");
    let by_view = all_records(&input, &format!("view IN {filters} -U OUT -o /dev/null"));
    assert_eq!(by_view, dropped.iter().map(|line| line.to_string()).collect::<Vec<_>>());
    assert!(done.stderr.contains(&format!("out.d.sam has {} reads", dropped.len())), "{}", done.stderr);

    // BAM, among other files, with tallies of what stays.
    let (files, _) = same_files(
        &input,
        "filter IN -q 20 -o OUT.bam --move-to OUT.u.bam=unmapped --move-to OUT.d.bam=dropped --flagstat OUT.txt --verify",
    );
    let count = |name: &str| all_records(&files[name], "view IN -o OUT").len();
    let [main, unmapped, dropped] = ["out.bam", "out.u.bam", "out.d.bam"].map(count);
    assert_eq!(main + unmapped + dropped, all.len());
    assert!(dropped > 0 && main > 0);
    let all_pass = same_files(&input, "filter IN -o OUT.bam --move-to OUT.d.sam=dropped").0;
    assert!(records(&text(&all_pass["out.d.sam"])).is_empty());
}

#[test]
fn splits_hold_every_read_once_in_the_order_of_the_input() {
    let input = bgzip(&resources::sample(3000));
    let all = all_records(&input, "filter IN -o OUT --quiet");
    for by in ["read-group", "contigs", "contigs=1000", "records=1000", "records=1", "records=100000"] {
        if by == "records=1" {
            continue; // more files than there may be: see below
        }
        let (files, _) = same_files(&input, &format!("split IN -o OUT --by {by} -O sam"));
        let mut left = all.clone();
        for (name, bytes) in &files {
            let mut rest = left.iter();
            for line in records(&text(bytes)) {
                assert!(rest.any(|other| other == line), "{by}: {name} has {line} out of order");
            }
            let taken: Vec<_> = records(&text(bytes)).iter().map(|line| line.to_string()).collect();
            left.retain(|line| !taken.contains(line));
        }
        assert!(left.is_empty(), "{by}: {} reads are nowhere", left.len());
    }
}

#[test]
fn files_of_read_groups_do_not_depend_on_threads_or_memory() {
    let input = bgzip(&resources::sample(3000));
    let all = all_records(&input, "filter IN -o OUT --quiet");
    let (files, _) = same_files(&input, "prep IN --sort coordinate --split-by read-group -o OUT -O sam");
    assert!(files.len() > 1, "{:?}", files.keys());
    assert_eq!(files.values().map(|file| records(&text(file)).len()).sum::<usize>(), all.len());
    let (files, _) = same_files(&input, "fastq IN --per-read-group OUT.{ID}_{end}.fq");
    let reads: usize = files.values().map(|file| text(file).lines().count() / 4).sum();
    let primary = all.iter().filter(|line| number(line, 1) & 0x900 == 0).count();
    assert_eq!(reads, primary, "{:?}", files.keys());
}

#[test]
fn splits_by_number_keep_templates_whole() {
    let input = bgzip(&resources::sample(500));
    let (files, _) = same_files(&input, "split IN -o OUT --by records=101 -O sam");
    let name = |line: &str| line.split('\t').next().unwrap().to_string();
    let lists: Vec<Vec<String>> = files
        .values()
        .map(|file| records(&text(file)).iter().map(|line| name(line)).collect())
        .collect();
    for pair in lists.windows(2) {
        assert_ne!(pair[0].last(), pair[1].first());
        assert!((101..110).contains(&pair[0].len()));
    }
}

#[test]
fn fastq_has_both_ends_in_one_order_whatever_the_order_of_the_input() {
    let input = bgzip(&resources::sample(3000));
    let dir = TestDir::new();
    let sorted = dir.path("sorted.bam");
    let words = format!("sort {} -o {} -q", arg(&dir.file("in.bam", &input)), arg(&sorted));
    assert_eq!(readmill(resources::words(&words)).code, Some(0));
    let sorted = fs::read(sorted).unwrap();
    let command = "fastq IN -1 OUT.1.fq -2 OUT.2.fq -0 OUT.0.fq -s OUT.s.fq";
    let (files, _) = same_files(&sorted, command);
    let (again, _) = same_files(&input, command);
    let sorted_lines = |file: &[u8]| {
        let text = text(file);
        let mut reads: Vec<_> =
            text.lines().collect::<Vec<_>>().chunks(4).map(|read| read.join("\n")).collect();
        reads.sort();
        reads
    };
    for (name, file) in &files {
        assert_eq!(sorted_lines(file), sorted_lines(&again[name]), "{name}");
    }
    let names = |file: &str| {
        let text = text(&files[file]);
        text.lines().step_by(4).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names("out.1.fq"), names("out.2.fq"));
    assert!(names("out.1.fq").len() > 2500 && !names("out.0.fq").is_empty());
    // A mate that is missing.
    let all = all_records(&input, "filter IN -o OUT --quiet");
    let lone = all.iter().position(|line| number(line, 1) & 0x941 == 0x41).unwrap();
    let kept: Vec<_> = all.iter().enumerate().filter(|(i, _)| *i != lone).map(|(_, l)| &**l).collect();
    let given = format!("{}{}\n", support::split_header(&header_of(&input)).0, kept.join("\n"));
    let (files, done) = same_files(given.as_bytes(), command);
    assert_eq!(text(&files["out.s.fq"]).lines().count(), 4);
    assert!(done.stderr.contains("1 reads are paired"), "{}", done.stderr);
}

#[test]
fn single_end_reads_become_fastq_and_a_paired_read_ends_the_run() {
    let header = "@HD\tVN:1.6\n@SQ\tSN:1\tLN:100\n";
    let read = |name: &str, flags: u16| format!("{name}\t{flags}\t1\t9\t60\t4M\t*\t0\t0\tAACG\tIIII\n");
    let single = [header.to_string(), read("b", 0), read("a", 16), read("c", 4)].concat();
    let (files, _) = same_files(single.as_bytes(), "fastq IN --single-end -o OUT.fq -0 OUT.fq");
    let wanted = "@a\nCGTT\n+\nIIII\n@b\nAACG\n+\nIIII\n@c\nAACG\n+\nIIII\n";
    assert_eq!(text(&files["out.fq"]), wanted);

    // Paired reads that are left out by their flags do not count.
    let left_out = [&*single, &read("d", 0x1 | 0x100)].concat();
    let (files, _) = same_files(left_out.as_bytes(), "fastq IN --single-end -o OUT.fq -0 OUT.fq");
    assert_eq!(text(&files["out.fq"]), wanted);

    let dir = TestDir::new();
    let file = arg(&dir.file("in.sam", [&*single, &read("d", 0x1 | 0x40)].concat()));
    let out = arg(&dir.path("out.fq"));
    for more in [&[][..], &["--grouped"]] {
        let done = readmill(["fastq", &file, "--single-end", "-o", &out].iter().chain(more));
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        let said = ["record 4", "read d", "single-end reads are expected", "-1 and -2"];
        assert!(said.iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
        assert_eq!(dir.names(), ["in.sam"]);
    }
}

/// The last line said "0 written" if reads went to other outputs than the main one.
#[test]
fn the_last_line_counts_reads_wherever_they_were_written() {
    let input = bgzip(&resources::sample(500));
    let dir = TestDir::new();
    let file = arg(&dir.file("in.bam", &input));
    let out = arg(&dir.path("out"));
    let all = all_records(&input, "prep IN -o OUT").len();
    let last = |command: &str| {
        let command = command.replace("IN", &file).replace("OUT", &out);
        let done = readmill(resources::words(&command));
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
        done.stderr.lines().last().unwrap().split(" in ").next().unwrap().to_string()
    };
    let written = |n: usize| format!("readmill: {all} records read, {n} written");
    assert_eq!(last("sort IN -o OUT.bam"), written(all));
    assert_eq!(last("split IN -o OUT --by records=50"), written(all));
    for grouped in ["", " --grouped"] {
        let command = format!("fastq IN -1 OUT.1.fq -2 OUT.2.fq -0 OUT.0.fq{grouped}");
        let said = last(&command);
        let lines: usize = ["out.0.fq", "out.1.fq", "out.2.fq"]
            .map(|name| fs::read_to_string(dir.path(name)).unwrap().lines().count())
            .iter()
            .sum();
        assert!(lines > 0);
        assert_eq!(said, written(lines / 4));
    }
    let moved = last("prep IN -o OUT.bam --move-to OUT.m.bam=mapq>=0");
    assert_eq!(moved, format!("{}, {all} written to other files", written(0)));
    assert_eq!(last("flagstat IN -o OUT.txt"), format!("readmill: {all} records read"));
}

fn header_of(input: &[u8]) -> String {
    let dir = TestDir::new();
    let (file, out) = (arg(&dir.file("in.bam", input)), arg(&dir.path("out.sam")));
    assert_eq!(readmill(["filter", &file, "-o", &out, "--quiet", "--no-PG"]).code, Some(0));
    fs::read_to_string(out).unwrap()
}

#[test]
fn text_in_blocks_is_the_text() {
    let input = bgzip(&resources::sample(2000));
    let (plain, _) = same_files(&input, "sort IN -o OUT.sam");
    let (blocks, _) = same_files(&input, "sort IN -o OUT.sam.gz");
    let mut inflated = Vec::new();
    let mut decoder = flate2_of(&blocks["out.sam.gz"]);
    std::io::Read::read_to_end(&mut decoder, &mut inflated).unwrap();
    assert!(inflated == plain["out.sam"]);
    assert!(blocks["out.sam.gz"].ends_with(&readmill_format::bgzf::EOF_BLOCK));
}

/// Every member of a gzip file, one after the other.
fn flate2_of(bytes: &[u8]) -> impl std::io::Read + '_ {
    let blocks = readmill_format::bgzf::BlockReader::new(bytes, false);
    readmill_format::bgzf::InflateReader::new(blocks)
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_left() {
    let dir = TestDir::new();
    let file = arg(&dir.file("in.bam", bgzip(&resources::sample(600))));
    let out = arg(&dir.path("out"));
    let fasta = arg(&dir.file("ref.fa", ">c\nACGT\n"));
    let list = arg(&dir.file("list", "a\n"));
    for (command, told) in [
        (format!("split {file} -o {out} --by records=1"), "more than 500 files"),
        (format!("split {file} --by read-group"), "needs a prefix"),
        (format!("split {file} -o {out} --by nothing"), "not one of read-group"),
        (format!("split {file} -o {out} --by read-group --move-to {out}.x=unmapped"), "no main output"),
        (
            format!("sort {file} -o {out}.bam --copy-to {out}.bam=unmapped"),
            "two outputs have the same name",
        ),
        (format!("sort {file} -o {out}.bam --copy-to {file}=unmapped"), "is an input"),
        (format!("sort {file} -o {out}.bam --copy-to {out}.bam.bai=unmapped"), "not the name of"),
        (format!("sort {file} -o {out}.bam --flagstat {out}.bam.csi"), "index of another"),
        (
            format!("sort {file} -o {out}.bam --reference {fasta} --move-to {fasta}=unmapped"),
            "not the name of",
        ),
        (
            format!("sort {file} -o {out}.bam --reference {fasta} --move-to {fasta}.fai=unmapped"),
            "not the name of",
        ),
        (format!("filter {file} -o {out}.bam -R ^{list} --move-to {list}=unmapped"), "is an input"),
        (format!("split {file} -o {out} --by contigs -O sam -l 9"), "no compression level"),
        (format!("sort {file} -o {out}.bam --copy-to {out}.cram=unmapped"), "--reference"),
        (format!("sort {file} -o {out}.bam --copy-to {out}.x=mapq>"), "mapq>"),
        (format!("sort {file} -o {out}.bam --copy-to unmapped"), "FILE=unmapped"),
        (format!("filter {file} -o {out}.bam --copy-to {out}.d.bam=dropped"), "--move-to"),
        (format!("sort {file} -o {out}.bam --move-to {out}.d.bam=dropped"), "readmill filter"),
        (
            format!("filter {file} -o {out}.bam --read-group ID:x --move-to {out}.d.bam=dropped"),
            "cannot be written, because --sequence-dictionary",
        ),
        (format!("fastq {file} -1 {out}.fq"), "-2"),
        (format!("flagstat {file} -o {file}"), "is an input"),
    ] {
        let done = readmill(resources::words(&command));
        assert_eq!(done.code, Some(1), "{command}: {}", done.stderr);
        assert!(done.stderr.contains(told), "{command}: {}", done.stderr);
        assert_eq!(dir.names(), ["in.bam", "list", "ref.fa"], "{command}");
    }
}

#[test]
fn no_output_has_its_name_if_one_cannot_be_completed() {
    let dir = TestDir::new();
    let file = arg(&dir.file("in.bam", bgzip(&resources::sample(600))));
    fs::create_dir(dir.path("out.bam.bai")).unwrap();
    let out = arg(&dir.path("out"));
    let done =
        readmill(resources::words(&format!("sort {file} -o {out}.bam --copy-to {out}.sam=unmapped")));
    assert_ne!(done.code, Some(0));
    assert_eq!(dir.names(), ["in.bam", "out.bam.bai"], "{}", done.stderr);
}

#[test]
fn what_is_thrown_away_may_go_to_one_place_and_an_index_may_be_asked_for() {
    let dir = TestDir::new();
    let file = arg(&dir.file("in.bam", bgzip(&resources::sample(600))));
    let out = arg(&dir.path("out"));
    for command in [
        format!("fastq {file} -1 {out}.1.fq -2 {out}.2.fq -0 /dev/null -s /dev/null"),
        format!("sort {file} -o {out}.bam --write-index=csi --copy-to {out}.sam=unmapped"),
    ] {
        let done = readmill(resources::words(&command));
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
    }
    assert_eq!(dir.names(), ["in.bam", "out.1.fq", "out.2.fq", "out.bam", "out.bam.csi", "out.sam"]);
}

#[test]
fn many_copies_and_a_template_without_an_end_keep_to_the_memory() {
    let input = bgzip(&resources::sample(3000));
    let copies: String = (0..12).map(|n| format!(" --copy-to OUT.{n}.sam=mapq>={n}")).collect();
    let (files, _) = same_files(&input, &format!("filter IN -o OUT.sam{copies}"));
    assert_eq!(files.len(), 13);
    let read = format!("same\t0\t*\t0\t0\t*\t*\t0\t0\t{}\t*\n", "ACGT".repeat(25));
    let given = format!("@HD\tVN:1.6\tGO:query\n{}", read.repeat(300_000));
    let (files, _) = same_files(given.as_bytes(), "fastq IN -1 OUT.1.fq -2 OUT.2.fq -0 OUT.0.fq");
    assert_eq!(text(&files["out.0.fq"]).lines().count(), 4 * 300_000);
}
