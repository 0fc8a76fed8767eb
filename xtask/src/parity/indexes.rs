//! Compares our indexes with those of `samtools index` of the same file: their content, and the records found
//! through them.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, ensure};

use super::commands::SampleDir;
use super::index_file::IndexFile;
use super::ledger::Ledger;
use super::lines::{Printed, same};
use super::random::SeededRandom;
use super::raw::in_parallel;

/// Random regions of a file.
const REGIONS: usize = 300;

/// Regions that are also queried one by one, and their number with `--quick`.
const SINGLE: usize = 300;
const SINGLE_QUICK: usize = 30;

/// Compares both kinds of index of a sorted sample.
pub fn compare(dir: &SampleDir<'_>, sorted: &str, quick: bool, ledger: &mut Ledger) {
    ledger.check("output: samtools quickcheck", || {
        dir.newest(&format!("quickcheck -v sorted.bam {sorted}")).map(|_| String::new())
    });
    for (kind, file) in [(IndexKind::Bai, sorted), (IndexKind::Csi, "with-csi.bam")] {
        let index = format!("{file}.{}", kind.name());
        ledger.check(&format!("{}: says what samtools index says", kind.name()), || {
            if file != sorted {
                dir.readmill(&format!("sort in.bam -o {file} -l 1 -m 64M --write-index=csi"))?;
            }
            says_the_same(dir, kind, file)
        });
        let single = if quick { SINGLE_QUICK } else { SINGLE };
        ledger.check(&format!("{}: idxstats and regions as through samtools' own", kind.name()), || {
            finds_the_same(dir, kind, file, &index, single)
        });
    }
}

/// A contig that BAI cannot hold, and small files with long alignments.
pub fn odd(dir: &SampleDir<'_>, files: u64, ledger: &mut Ledger) {
    ledger.title("indexes", "long contigs, long alignments, few reads");
    ledger.check("csi: chosen by itself for a contig of more than 512 Mb", || {
        fs::write(dir.path("long.sam"), long_alignments(1, &[600_000_000, 1_000, 2_000_000_000]))?;
        dir.readmill("sort long.sam -o long.bam")?;
        ensure!(!dir.path("long.bam.bai").exists(), "a BAI was written");
        let says = says_the_same(dir, IndexKind::Csi, "long.bam")?;
        Ok(format!(
            "{says}; {}",
            finds_the_same(dir, IndexKind::Csi, "long.bam", "long.bam.csi", SINGLE)?
        ))
    });
    ledger.check("bai: refused for it, as by samtools index", || {
        let left = in_parallel([
            dir.readmill_command("sort long.sam -o refused.bam --write-index=bai"),
            dir.newest_command("index -b -o refused.bai long.bam"),
        ])?;
        ensure!(left.iter().all(|left| !left.succeeded), "one of them wrote it");
        ensure!(!dir.path("refused.bam").exists(), "refused.bam was left");
        Ok(left[0].said.lines().last().unwrap_or_default().to_owned())
    });
    for kind in [IndexKind::Bai, IndexKind::Csi] {
        ledger.check(&format!("{}: small files, says what samtools index says", kind.name()), || {
            for seed in 0..files {
                let lengths = [[500_000_000, 20_000, 70_000], [5_000, 16_384, 1_000_000]];
                fs::write(dir.path("small.sam"), long_alignments(seed, &lengths[seed as usize % 2]))?;
                let options = format!("-l {} --write-index={}", seed % 7, kind.name());
                dir.readmill(&format!("sort small.sam -o small.bam {options}"))?;
                says_the_same(dir, kind, "small.bam").map_err(|e| e.context(format!("seed {seed}")))?;
            }
            Ok(format!("{files} files"))
        });
    }
}

/// A kind of index.
#[derive(Clone, Copy)]
enum IndexKind {
    Bai,
    Csi,
}

impl IndexKind {
    fn name(self) -> &'static str {
        match self {
            IndexKind::Bai => "bai",
            IndexKind::Csi => "csi",
        }
    }
}

/// Bins, chunks, windows and counts. Leaves samtools' index as `theirs` with its ending.
fn says_the_same(dir: &SampleDir<'_>, kind: IndexKind, file: &str) -> Result<String> {
    let (flag, theirs) = match kind {
        IndexKind::Bai => ("-b", "theirs.bai"),
        IndexKind::Csi => ("-c", "theirs.csi"),
    };
    dir.newest(&format!("index {flag} -o {theirs} {file}"))?;
    let ours = IndexFile::read(dir, &format!("{file}.{}", kind.name()))?;
    ours.same(&IndexFile::read(dir, theirs)?)?;
    Ok(ours.figures())
}

fn finds_the_same(
    dir: &SampleDir<'_>,
    kind: IndexKind,
    file: &str,
    index: &str,
    single: usize,
) -> Result<String> {
    let theirs = format!("theirs.{}", kind.name());
    let both = |command: &str, rest: &str| -> Result<u64> {
        let ours = Printed::newest(dir, &format!("{command} -X {file} {index} {rest}"))?;
        same(ours, Printed::newest(dir, &format!("{command} -X {file} {theirs} {rest}"))?, |_| true)
    };
    both("idxstats", "")?;
    let regions = regions(dir, file)?;
    let all = regions.join(" ");
    both("view -c", &all)?;
    let mut records = both("view", &all)?;
    records += both("view -M", &all)?;
    // One by one, so that a record that one region lacks cannot be hidden by the next.
    for region in regions.iter().take(single) {
        both("view -c", region)?;
    }
    Ok(format!(
        "{} regions, {} of them one by one, {records} records",
        regions.len(),
        single.min(regions.len())
    ))
}

/// Whole contigs and parts of them: short and long regions, around the borders of windows, up to the end
/// of the contig, and beyond it. Also the reads without a position.
fn regions(dir: &SampleDir<'_>, file: &str) -> Result<Vec<String>> {
    let header = Printed::newest(dir, &format!("view -H {file}"))?.text()?;
    let field = |line: &str, key: &str| {
        line.split('\t').find_map(|field| field.strip_prefix(key)).unwrap_or_default().to_owned()
    };
    let contigs: Vec<(String, u64)> = header
        .lines()
        .filter(|line| line.starts_with("@SQ\t"))
        .map(|line| (field(line, "SN:"), field(line, "LN:").parse().unwrap_or(0)))
        .collect();
    let mut regions: Vec<String> = contigs.iter().map(|(name, _)| name.clone()).collect();
    regions.push("*".to_owned());
    let mut random = SeededRandom::new(contigs.len() as u64);
    while regions.len() < REGIONS {
        let (name, length) = &contigs[random.below(contigs.len() as u64) as usize];
        let anywhere = 1 + random.below(*length);
        let border = (anywhere >> 14 << 14).max(1);
        let tiny = random.below(20);
        let (start, end) = match random.below(7) {
            0 => (anywhere, anywhere),
            1 => (anywhere, anywhere + tiny),
            2 => (border, border + tiny),
            3 => (border + 1, border + (1 << 14)),
            4 => (anywhere, anywhere + random.below(length / 4 + 1)),
            5 => (length.saturating_sub(tiny).max(1), length + tiny),
            _ => (length + 1, length + 1 + tiny),
        };
        let end = end.min(i32::MAX as u64); // what samtools reads
        let until = if random.once_in(10) { String::new() } else { format!("-{end}") };
        regions.push(format!("{name}:{start}{until}"));
    }
    random.shuffle(&mut regions);
    Ok(regions)
}

/// Few reads on these contigs: short ones, some that skip far, placed ones without alignment, and unplaced
/// ones.
fn long_alignments(seed: u64, lengths: &[u64]) -> String {
    let mut random = SeededRandom::new(seed);
    let mut text = String::new();
    for (i, length) in lengths.iter().enumerate() {
        let _ = writeln!(text, "@SQ\tSN:c{i}\tLN:{length}");
    }
    for i in 0..random.below(400) {
        let contig = random.below(lengths.len() as u64);
        let length = lengths[contig as usize];
        let border = random.below(length) >> 14 << 14;
        let anywhere = 1 + random.below(length);
        let pos = random.pick(&[1, anywhere, border + 1, border.max(1), length]);
        let most = random.pick(&[10, 20_000, 1 << 20, 1 << 27]);
        let skip = 1 + random.below(most);
        let skip = skip.min((length - pos.min(length)).max(1));
        let (flag, rname, pos, cigar) = match random.below(12) {
            0 => (4, "*".to_owned(), 0, "*".to_owned()),
            1 => (4, format!("c{contig}"), pos, "*".to_owned()),
            2 | 3 => (16, format!("c{contig}"), pos, format!("1M{skip}N1M")),
            4 => (0, format!("c{contig}"), pos, "5S".to_owned()),
            _ => (0, format!("c{contig}"), pos, format!("{}M", 1 + random.below(150))),
        };
        let tags = "x".repeat(random.below(3000) as usize);
        let _ = writeln!(text, "r{i}\t{flag}\t{rname}\t{pos}\t9\t{cigar}\t*\t0\t0\t*\t*\tXX:Z:{tags}");
    }
    text
}
