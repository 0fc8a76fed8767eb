//! Generates reads with unusual read groups, mates and flags, and tables that map read groups to
//! output files.

use std::fs;

use anyhow::{Context, Result};

use crate::commands::SampleDir;

const FAILED: u16 = 0x200;

/// Writes the files. `whole` is the text of `in.sam`; the tables list the read groups of `to_revert`.
pub fn write_read_group_inputs(dir: &SampleDir<'_>, whole: &str, to_revert: &str) -> Result<()> {
    let by_name = dir.path("byname.sam");
    dir.run_samtools_1_24("view -h --no-PG -o byname.sam byname.bam")?;
    let by_name = fs::read_to_string(by_name)?;
    let ids: Vec<&str> = to_revert.lines().filter_map(read_group_id).collect();
    let row =
        |(number, id): (usize, &&str)| format!("{id}\tgroup{number}.{}\n", ["bam", "sam"][number % 2]);
    let table = |ids: &[&str]| {
        "READ_GROUP_ID\tOUTPUT\n".to_owned() + &ids.iter().enumerate().map(row).collect::<String>()
    };
    for (name, text) in [
        ("nogroups.sam", remove_read_groups(whole)),
        ("nounits.sam", remove_platform_units(&by_name)),
        ("failed.sam", mark_failed_mates(&by_name)),
        ("single.sam", first_reads_as_single(&by_name)),
        ("map.tsv", table(&ids)),
        ("short_map.tsv", table(&ids[1..])),
    ] {
        fs::write(dir.path(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    dir.run_samtools_1_24("sort --no-PG -o nogroups.bam nogroups.sam")?;
    dir.run_samtools_1_24("view --no-PG -b -o single.bam single.sam").map(drop)
}

fn read_group_id(line: &str) -> Option<&str> {
    line.strip_prefix("@RG\t")?.split('\t').find_map(|field| field.strip_prefix("ID:"))
}

fn remove_read_groups(sam: &str) -> String {
    let lines = sam.lines().filter(|line| !line.starts_with("@RG"));
    lines
        .map(|line| {
            let fields = line.split('\t').filter(|field| !field.starts_with("RG:Z:"));
            fields.collect::<Vec<_>>().join("\t") + "\n"
        })
        .collect()
}

fn remove_platform_units(sam: &str) -> String {
    let line = |line: &str| {
        let is_group = line.starts_with("@RG");
        let fields = line.split('\t').filter(|field| !(is_group && field.starts_with("PU:")));
        fields.collect::<Vec<_>>().join("\t") + "\n"
    };
    sam.lines().map(line).collect()
}

/// Changes the flags of records. `change` gets the line number and the flags.
fn change_flags(sam: &str, change: impl Fn(usize, u16) -> u16) -> String {
    let line = |(number, line): (usize, &str)| match line.split_once('\t') {
        Some((name, rest)) if !line.starts_with('@') => {
            let (flag, rest) = rest.split_once('\t').unwrap_or((rest, ""));
            format!("{name}\t{}\t{rest}\n", change(number, flag.parse().unwrap_or(0)))
        }
        _ => format!("{line}\n"),
    };
    sam.lines().enumerate().map(line).collect()
}

fn mark_failed_mates(sam: &str) -> String {
    change_flags(sam, |number, flag| if number % 7 == 3 { flag | FAILED } else { flag })
}

fn first_reads_as_single(sam: &str) -> String {
    let kept = |line: &&str| {
        let flag = line.split('\t').nth(1).and_then(|flag| flag.parse().ok()).unwrap_or(0u16);
        line.starts_with('@') || flag & 0x40 != 0 && flag & 0x900 == 0
    };
    let firsts: String = sam.lines().filter(kept).map(|line| format!("{line}\n")).collect();
    change_flags(&firsts, |_, flag| flag & !(0x1 | 0x2 | 0x8 | 0x20 | 0x40))
}
