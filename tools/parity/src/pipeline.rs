//! Compares five steps in one pass of readmill with a chain of samtools and Picard commands. Also
//! checks that the output bytes do not depend on threads, memory or a pipe, and that peak memory
//! stays within `-m`.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::duplicates::mark_duplicates;
use crate::ledger::Ledger;
use crate::outputs::{ProgramLines, compare_files, compare_lines, sort_tags};

const GROUP: [(&str, &str); 5] =
    [("ID", "new"), ("LB", "lib"), ("PL", "ILLUMINA"), ("SM", "sample"), ("PU", "unit")];

fn five_step_options() -> String {
    let group: Vec<String> = GROUP.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!(
        "--sort coordinate --mark-duplicates --drop-unmapped --sequence-dictionary other.dict --read-group @RG\\t{}",
        group.join("\\t")
    )
}

/// Compares records and header of the single pass (`five.bam`) with the result of the chain
/// (`chain.bam`), and leaves both files.
pub fn compare_with_chain(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("five steps: records as the chain's, field by field", || {
        let dropped = write_reversed_dictionary(dir)?;
        dir.run_readmill(&format!("prep in.bam -o five.bam -m 1G {}", five_step_options()))?;
        run_peer_chain(dir)?;
        let ours = ProgramLines::start_samtools(dir, "view five.bam")?;
        let theirs = ProgramLines::start_samtools(dir, "view chain.bam")?;
        let records = compare_lines(ours, theirs, sort_tags)?;
        Ok(format!("{records} records; contig {dropped} dropped, the others in reverse order"))
    });
    ledger.check("five steps: @HD, @SQ and @RG as the chain's", || {
        let (ours, theirs) =
            (read_normalized_header(dir, "five.bam")?, read_normalized_header(dir, "chain.bam")?);
        ensure!(ours == theirs, "ours {ours:?}, theirs {theirs:?}");
        Ok(format!("{} lines", ours.len()))
    });
}

/// Writes `other.dict`: the sequences of the input in reverse order, without the second one.
/// Returns the name of the removed sequence.
fn write_reversed_dictionary(dir: &SampleDir<'_>) -> Result<String> {
    let header = ProgramLines::start_samtools(dir, "view -H --no-PG in.bam")?.read_text()?;
    let mut sequences: Vec<&str> = header.lines().filter(|line| line.starts_with("@SQ\t")).collect();
    ensure!(sequences.len() > 1, "the input has one reference sequence only");
    let dropped = sequences.remove(1);
    sequences.reverse();
    fs::write(dir.path("other.dict"), format!("@HD\tVN:1.6\n{}\n", sequences.join("\n")))?;
    let name = dropped.split('\t').find_map(|field| field.strip_prefix("SN:"));
    Ok(name.unwrap_or_default().to_owned())
}

/// Runs the five steps with samtools and Picard, one program after another. ReorderSam makes reads
/// on the removed contig unmapped; the next program drops them.
fn run_peer_chain(dir: &SampleDir<'_>) -> Result<()> {
    dir.run_samtools("view -b -F 4 -o chain.1.bam in.bam")?;
    let rules = "ALLOW_INCOMPLETE_DICT_CONCORDANCE=true VALIDATION_STRINGENCY=SILENT";
    dir.run_picard(&format!("ReorderSam I=chain.1.bam O=chain.2.bam SD=other.dict {rules}"))?;
    dir.run_samtools("view -b -F 4 -o chain.3.bam chain.2.bam")?;
    let group: Vec<String> = GROUP.iter().map(|(key, value)| format!("RG{key}={value}")).collect();
    let rules = format!("{} VALIDATION_STRINGENCY=SILENT", group.join(" "));
    dir.run_picard(&format!("AddOrReplaceReadGroups I=chain.3.bam O=chain.4.bam {rules}"))?;
    mark_duplicates(dir, "chain.4.bam", "chain.5.bam", "queryname")?;
    dir.run_samtools("sort -o chain.bam chain.5.bam")?;
    for number in 1..=5 {
        fs::remove_file(dir.path(&format!("chain.{number}.bam")))?;
    }
    Ok(())
}

fn read_normalized_header(dir: &SampleDir<'_>, file: &str) -> Result<Vec<String>> {
    let text = ProgramLines::start_samtools(dir, &format!("view -H --no-PG {file}"))?.read_text()?;
    let lines = text.lines().filter(|line| !line.starts_with("@PG\t")).map(|line| {
        let mut fields: Vec<&str> = line.split('\t').collect();
        fields[1..].sort_unstable();
        fields.join(" ")
    });
    Ok(lines.collect())
}

const RESOURCES: [(u32, Option<&str>); 7] = [
    (1, None),
    (1, Some("64M")),
    (2, None),
    (2, Some("64M")),
    (2, Some("4G")),
    (8, None),
    (8, Some("4G")),
];

/// Runs the five steps with all `RESOURCES` and from a pipe. The output must have the same bytes,
/// and the logged peak must not exceed the given memory.
pub fn compare_resources(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check(
        "means: the same bytes for 1, 2, 8 threads, the least memory to 4G, and from a pipe",
        || {
            let dropped = write_reversed_dictionary(dir)?;
            let steps = five_step_options();
            let reference = "-o means.bam -@ 1 -m 1G";
            dir.run_readmill(&format!("prep in.bam {reference} {steps}"))?;
            for (threads, memory) in RESOURCES {
                let arguments = format!("prep in.bam -o other.bam -@ {threads} {steps}");
                let memory = match memory {
                    Some(given) => given.to_owned(),
                    None => dir.query_min_memory(&arguments)?,
                };
                let resources = format!("-@ {threads} -m {memory}");
                let said = dir.run_readmill(&format!("{arguments} -m {memory}"))?;
                ensure_peak_within_limit(&said).with_context(|| resources.clone())?;
                compare_with_reference_run(dir).with_context(|| resources)?;
            }
            dir.run_readmill_from("in.bam", &format!("prep - -o other.bam -@ 2 -m 64M {steps}"))?;
            let bytes = compare_with_reference_run(dir)?;
            Ok(format!("{} runs, {bytes} bytes; without {dropped}", RESOURCES.len() + 2))
        },
    );
}

fn ensure_peak_within_limit(said: &str) -> Result<()> {
    let before =
        |mark: &str| -> Option<u64> { said[..said.find(mark)?].rsplit(' ').next()?.parse().ok() };
    let given = before(" MiB of memory in total").context("no memory is stated")?;
    let peak =
        said.split("peak memory ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    let peak = peak.context("no peak is stated")?;
    ensure!(peak <= given, "{peak} MiB were used of {given}");
    Ok(())
}

fn compare_with_reference_run(dir: &SampleDir<'_>) -> Result<u64> {
    compare_files(dir, "other.bam.bai", "means.bam.bai")?;
    compare_files(dir, "other.bam", "means.bam")
}
