//! Compares reports and additional outputs with samtools: flagstat, idxstats, stats, checksum,
//! fastq and split.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{ProgramLines, compare_lines};
use crate::{samples, sort};

/// Compares reports, FASTQ and split output with samtools, on a simulated sample with all kinds of
/// templates and on records that no aligner writes.
pub fn compare_reports(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) -> Result<()> {
    ledger.print_heading("reports", "what is learnt, split and written in passing");
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    // (samtools complements "=", which stands for the reference base in SEQ, to "!".)
    fs::write(dir.path("odd.sam"), sort::unusual_records().replace("\t=acg\t", "\tGacg\t"))?;
    dir.run_samtools_1_24("view --no-PG -b -o odd.bam odd.sam")?;
    for input in ["in.bam", "odd.bam"] {
        let pair = ReportInput { dir, input };
        pair.compare_tallies(ledger);
        pair.compare_fastq(ledger);
        pair.compare_split(ledger);
    }
    Ok(())
}

struct ReportInput<'a> {
    dir: &'a SampleDir<'a>,
    input: &'a str,
}

impl ReportInput<'_> {
    /// Compares the reports of a run that sorts and marks, and the checksums of the unchanged
    /// input.
    fn compare_tallies(&self, ledger: &mut Ledger) {
        let ReportInput { dir, input } = *self;
        ledger.check(&format!("{input}: flagstat, idxstats, checksum in the pass that sorts"), || {
            dir.run_readmill(&format!(
                "prep {input} -o out.bam --sort coordinate --mark-duplicates --verify --flagstat flagstat.txt \
                 --idxstats idxstats.txt --stats stats.txt --checksum checksum.txt"
            ))?;
            let lines = compare_file_with_samtools(dir, "flagstat.txt", "flagstat out.bam")?
                + compare_file_with_samtools(dir, "idxstats.txt", "idxstats out.bam")?
                // (Some unusual reads are so long that stats has no rows for them: see the accepted
                // differences.)
                + if input == "in.bam" { compare_stats(dir, "stats.txt", "stats out.bam")? } else { 0 };
            let own = run_readmill(dir, "checksum -q out.bam")?;
            ensure!(own == fs::read_to_string(dir.path("checksum.txt"))?, "another checksum afterwards");
            Ok(format!("{lines} lines"))
        });
        ledger.check(&format!("{input}: checksum --samtools, and as bamseqchksum"), || {
            let (ours, theirs) = (["--samtools", "-B"], ["", "-B"]);
            let mut lines = 0;
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                let ours = run_readmill(dir, &format!("checksum -q {ours} {input}"))?;
                fs::write(dir.path("sums.txt"), ours)?;
                lines +=
                    compare_file_with_samtools(dir, "sums.txt", &format!("checksum {theirs} {input}"))?;
            }
            Ok(format!("{lines} lines"))
        });
    }

    /// Compares FASTQ of unsorted reads with samtools fastq, which needs reads sorted by name. The
    /// order of reads is ignored, unless reads 1 and 2 are interleaved.
    fn compare_fastq(&self, ledger: &mut Ledger) {
        let ReportInput { dir, input } = *self;
        for flags in ["", "-N -O", "-t", "-F 0x904", "-n"] {
            ledger.check(&format!("{input}: fastq {flags}"), || {
                let files = "-1 1.fq -2 2.fq -0 0.fq -s s.fq";
                dir.run_readmill(&format!("fastq {input} {files} {flags}"))?;
                dir.run_samtools_1_24(&format!("sort -N -o named.bam {input}"))?;
                let theirs = files.replace(".fq", ".theirs.fq");
                dir.run_samtools_1_24(&format!("fastq {theirs} {flags} named.bam"))?;
                let mut reads = 0;
                for file in ["0", "1", "2", "s"] {
                    let ours = count_records(&fs::read_to_string(dir.path(&format!("{file}.fq")))?);
                    let theirs =
                        count_records(&fs::read_to_string(dir.path(&format!("{file}.theirs.fq")))?);
                    ensure!(ours == theirs, "{file}.fq differs");
                    reads += ours.values().sum::<usize>();
                }
                Ok(format!("{reads} reads"))
            });
        }
        ledger.check(&format!("{input}: fastq, both ends interleaved, in the same order"), || {
            let ours = run_readmill(dir, "fastq -q named.bam")?;
            fs::write(dir.path("both.fq"), ours)?;
            compare_file_with_samtools(dir, "both.fq", "fastq named.bam")
                .map(|lines| format!("{} reads", lines / 4))
        });
    }

    fn compare_split(&self, ledger: &mut Ledger) {
        let ReportInput { dir, input } = *self;
        ledger.check(&format!("{input}: split by read group"), || {
            for entry in fs::read_dir(dir.directory())? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name.starts_with("ours.") || name.starts_with("theirs.") {
                    fs::remove_file(path)?;
                }
            }
            dir.run_readmill(&format!("split {input} -o ours --by read-group --no-PG"))?;
            dir.run_samtools_1_24(&format!(
                "split --no-PG -f theirs.%!.bam -u theirs.none.bam {input}"
            ))?;
            let mut lines = 0;
            for entry in fs::read_dir(dir.directory())? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                let Some(group) = name.strip_prefix("theirs.").and_then(|it| it.strip_suffix(".bam"))
                else {
                    continue;
                };
                let ours = if group == "none" { "no-read-group" } else { group };
                let print =
                    |file: String| ProgramLines::start_samtools_1_24(dir, &format!("view {file}"));
                if !dir.path(&format!("ours.{ours}.bam")).exists() {
                    ensure!(print(name.clone())?.read_text()?.is_empty(), "no file for {group}");
                    continue;
                }
                lines += compare_lines(print(format!("ours.{ours}.bam"))?, print(name)?, |_| true)?;
            }
            Ok(format!("{lines} records"))
        });
    }
}

fn run_readmill(dir: &SampleDir<'_>, words: &str) -> Result<String> {
    let output = dir.readmill_command(words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn compare_file_with_samtools(dir: &SampleDir<'_>, ours: &str, samtools: &str) -> Result<usize> {
    if samtools.starts_with("idxstats") {
        dir.run_samtools_1_24("index -c out.bam")?;
    }
    let (ours, theirs) = (
        fs::read_to_string(dir.path(ours))?,
        ProgramLines::start_samtools_1_24(dir, samtools)?.read_text()?,
    );
    for (number, (our, their)) in ours.lines().zip(theirs.lines()).enumerate() {
        ensure!(our == their, "line {}: {our:?}, theirs {their:?}", number + 1);
    }
    ensure!(ours == theirs, "{} lines, theirs {}", ours.lines().count(), theirs.lines().count());
    Ok(ours.lines().count())
}

fn compare_stats(dir: &SampleDir<'_>, ours: &str, samtools: &str) -> Result<usize> {
    let (ours, theirs) = (
        fs::read_to_string(dir.path(ours))?,
        ProgramLines::start_samtools_1_24(dir, samtools)?.read_text()?,
    );
    let rows = |text: &str| -> Vec<String> {
        // Comments contain the name of the program.
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_string).collect()
    };
    let (ours, theirs) = (rows(&ours), rows(&theirs));
    for (our, their) in ours.iter().zip(&theirs) {
        ensure!(our == their, "{our:?}, theirs {their:?}");
    }
    ensure!(ours.len() == theirs.len(), "{} rows, theirs {}", ours.len(), theirs.len());
    Ok(ours.len())
}

fn count_records(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let lines: Vec<&str> = text.lines().collect();
    for record in lines.chunks(4) {
        *counts.entry(record.join("\n")).or_default() += 1;
    }
    counts
}
