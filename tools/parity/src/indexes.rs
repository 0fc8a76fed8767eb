//! Compares readmill's indexes with those of `samtools index` for the same file: their contents,
//! and the records found with them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{ProgramLines, compare_lines, run_in_parallel};
use crate::random::SeededRandom;

const REGIONS: usize = 300;

/// Number of regions that are also queried one at a time; with `--quick`, it is [`SINGLE_REGIONS_QUICK`].
const SINGLE_REGIONS: usize = 300;
const SINGLE_REGIONS_QUICK: usize = 30;

pub fn compare_sample_indexes(dir: &SampleDir<'_>, sorted: &str, quick: bool, ledger: &mut Ledger) {
    ledger.check("output: samtools quickcheck", || {
        dir.run_samtools_1_24(&format!("quickcheck -v sorted.bam {sorted}")).map(|_| String::new())
    });
    for (kind, file) in [(IndexKind::Bai, sorted), (IndexKind::Csi, "with-csi.bam")] {
        let index = format!("{file}.{}", kind.extension());
        ledger.check(&format!("{}: says what samtools index says", kind.extension()), || {
            if file != sorted {
                dir.run_readmill(&format!("sort in.bam -o {file} -l 1 -m 64M --write-index=csi"))?;
            }
            compare_contents(dir, kind, file)
        });
        let single = if quick { SINGLE_REGIONS_QUICK } else { SINGLE_REGIONS };
        ledger.check(
            &format!("{}: idxstats and regions as through samtools' own", kind.extension()),
            || compare_queries(dir, kind, file, &index, single),
        );
    }
}

/// Compares indexes of a contig that is too long for BAI, and of small files with long alignments.
pub fn compare_unusual_indexes(dir: &SampleDir<'_>, files: u64, ledger: &mut Ledger) {
    ledger.print_heading("indexes", "long contigs, long alignments, few reads");
    ledger.check("csi: chosen by itself for a contig of more than 512 Mb", || {
        fs::write(
            dir.path("long.sam"),
            random_long_alignments(1, &[600_000_000, 1_000, 2_000_000_000]),
        )?;
        dir.run_readmill("sort long.sam -o long.bam")?;
        ensure!(!dir.path("long.bam.bai").exists(), "a BAI was written");
        let says = compare_contents(dir, IndexKind::Csi, "long.bam")?;
        Ok(format!(
            "{says}; {}",
            compare_queries(dir, IndexKind::Csi, "long.bam", "long.bam.csi", SINGLE_REGIONS)?
        ))
    });
    ledger.check("bai: refused for it, as by samtools index", || {
        let left = run_in_parallel([
            dir.readmill_command("sort long.sam -o refused.bam --write-index=bai"),
            dir.samtools_1_24_command("index -b -o refused.bai long.bam"),
        ])?;
        ensure!(left.iter().all(|left| !left.succeeded), "one of them wrote it");
        ensure!(!dir.path("refused.bam").exists(), "refused.bam was left");
        Ok(left[0].messages.lines().last().unwrap_or_default().to_owned())
    });
    for kind in [IndexKind::Bai, IndexKind::Csi] {
        ledger.check(
            &format!("{}: small files, says what samtools index says", kind.extension()),
            || {
                for seed in 0..files {
                    let lengths = [[500_000_000, 20_000, 70_000], [5_000, 16_384, 1_000_000]];
                    fs::write(
                        dir.path("small.sam"),
                        random_long_alignments(seed, &lengths[seed as usize % 2]),
                    )?;
                    let options = format!("-l {} --write-index={}", seed % 7, kind.extension());
                    dir.run_readmill(&format!("sort small.sam -o small.bam {options}"))?;
                    compare_contents(dir, kind, "small.bam")
                        .map_err(|e| e.context(format!("seed {seed}")))?;
                }
                Ok(format!("{files} files"))
            },
        );
    }
}

#[derive(Clone, Copy)]
enum IndexKind {
    Bai,
    Csi,
}

impl IndexKind {
    fn extension(self) -> &'static str {
        match self {
            IndexKind::Bai => "bai",
            IndexKind::Csi => "csi",
        }
    }
}

/// Compares bins, chunks, windows, counts and bytes. Leaves samtools' index as `theirs.bai` or
/// `theirs.csi`.
fn compare_contents(dir: &SampleDir<'_>, kind: IndexKind, file: &str) -> Result<String> {
    let (flag, theirs) = match kind {
        IndexKind::Bai => ("-b", "theirs.bai"),
        IndexKind::Csi => ("-c", "theirs.csi"),
    };
    dir.run_samtools_1_24(&format!("index {flag} -o {theirs} {file}"))?;
    let index = format!("{file}.{}", kind.extension());
    let ours = IndexFile::read_file(dir, &index)?;
    ours.ensure_same(&IndexFile::read_file(dir, theirs)?)?;
    ensure!(
        fs::read(dir.path(&index))? == fs::read(dir.path(theirs))?,
        "the bytes differ, not what they say"
    );
    Ok(ours.summary())
}

fn compare_queries(
    dir: &SampleDir<'_>,
    kind: IndexKind,
    file: &str,
    index: &str,
    single: usize,
) -> Result<String> {
    let theirs = format!("theirs.{}", kind.extension());
    let both = |command: &str, rest: &str| -> Result<u64> {
        let ours =
            ProgramLines::start_samtools_1_24(dir, &format!("{command} -X {file} {index} {rest}"))?;
        compare_lines(
            ours,
            ProgramLines::start_samtools_1_24(dir, &format!("{command} -X {file} {theirs} {rest}"))?,
            |_| true,
        )
    };
    both("idxstats", "")?;
    let regions = random_regions(dir, file)?;
    let all = regions.join(" ");
    both("view -c", &all)?;
    let mut records = both("view", &all)?;
    records += both("view -M", &all)?;
    // A query for a single region reveals a missing record that a query for all regions may find
    // through a neighbouring one.
    for region in regions.iter().take(single) {
        both("view -c", region)?;
    }
    Ok(format!(
        "{} regions, {} of them one by one, {records} records",
        regions.len(),
        single.min(regions.len())
    ))
}

/// Returns random regions: whole contigs, short and long parts, boundaries of index windows, ends
/// of contigs and positions beyond them. `*` queries the reads without a position.
fn random_regions(dir: &SampleDir<'_>, file: &str) -> Result<Vec<String>> {
    let header = ProgramLines::start_samtools_1_24(dir, &format!("view -H {file}"))?.read_text()?;
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
        let end = end.min(i32::MAX as u64); // the maximum that samtools accepts
        let until = if random.once_in(10) { String::new() } else { format!("-{end}") };
        regions.push(format!("{name}:{start}{until}"));
    }
    random.shuffle(&mut regions);
    Ok(regions)
}

/// Returns unsorted SAM with up to 400 reads on these contigs: short ones, some with long skips,
/// some placed but unaligned, and some unplaced. A long tag spreads them over several BGZF blocks.
pub fn random_long_alignments(seed: u64, lengths: &[u64]) -> String {
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
        let max_skip = random.pick(&[10, 20_000, 1 << 20, 1 << 27]);
        let skip = 1 + random.below(max_skip);
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

/// The contents of a BAI or CSI file, independent of compression and bin order (SAM specification,
/// section 5.2, and the CSI specification).
#[derive(Debug, PartialEq, Eq)]
struct IndexFile {
    /// For CSI: bits of the smallest bin, number of levels, and auxiliary bytes. `None` for BAI.
    binning: Option<(u32, u32, Vec<u8>)>,
    references: Vec<ContigIndex>,
    /// Number of reads without a position, if stored in the index.
    unplaced: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ContigIndex {
    /// Bins by number. Only CSI has the virtual offset of a bin's first record; chunks are pairs of
    /// virtual offsets.
    bins: BTreeMap<u32, (Option<u64>, Vec<[u64; 2]>)>,
    /// Virtual offsets of the linear index, which only BAI has.
    windows: Vec<u64>,
}

struct IndexBytes<'a>(&'a [u8]);

impl<'a> IndexBytes<'a> {
    fn take_bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n).context("the index is cut short")?;
        self.0 = rest;
        Ok(head)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take_bytes(4)?.try_into()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take_bytes(8)?.try_into()?))
    }
}

impl IndexFile {
    fn read_file(dir: &SampleDir<'_>, name: &str) -> Result<Self> {
        let mut bytes = std::fs::read(dir.path(name)).with_context(|| format!("no {name}"))?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            bytes = ProgramLines::start(dir.inflate_command(name))?.read_bytes()?;
        }
        Self::parse(&bytes).with_context(|| name.to_owned())
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut front = IndexBytes(bytes);
        let scheme = match front.take_bytes(4)? {
            b"BAI\x01" => None,
            b"CSI\x01" => {
                let (bits, levels, length) = (front.u32()?, front.u32()?, front.u32()?);
                Some((bits, levels, front.take_bytes(length as usize)?.to_vec()))
            }
            magic => bail!("no index: {magic:?}"),
        };
        let mut references = Vec::new();
        for _ in 0..front.u32()? {
            references.push(ContigIndex::parse(&mut front, scheme.is_some())?);
        }
        let unplaced = if front.0.is_empty() { None } else { Some(front.u64()?) };
        ensure!(front.0.is_empty(), "{} bytes follow the index", front.0.len());
        Ok(IndexFile { binning: scheme, references, unplaced })
    }

    fn summary(&self) -> String {
        let bins: usize = self.references.iter().map(|reference| reference.bins.len()).sum();
        let chunks = self.references.iter().flat_map(|reference| reference.bins.values());
        let chunks: usize = chunks.map(|(_, chunks)| chunks.len()).sum();
        let windows: usize = self.references.iter().map(|reference| reference.windows.len()).sum();
        format!("{bins} bins, {chunks} chunks, {windows} windows")
    }

    fn ensure_same(&self, theirs: &IndexFile) -> Result<()> {
        ensure!(self.binning == theirs.binning, "{:?}, theirs {:?}", self.binning, theirs.binning);
        let (one, other) = (self.unplaced, theirs.unplaced);
        ensure!(one == other, "unplaced: {one:?}, theirs {other:?}");
        let (one, other) = (self.references.len(), theirs.references.len());
        ensure!(one == other, "{one} references, theirs {other}");
        for (i, (one, other)) in self.references.iter().zip(&theirs.references).enumerate() {
            for bin in one.bins.keys().chain(other.bins.keys()) {
                let (one, other) = (one.bins.get(bin), other.bins.get(bin));
                ensure!(one == other, "reference {i}, bin {bin}: {one:x?}, theirs {other:x?}");
            }
            let differs = one.windows.iter().zip(&other.windows).position(|(one, other)| one != other);
            ensure!(
                one.windows == other.windows,
                "reference {i}, windows: {} of them, theirs {}, {differs:?}",
                one.windows.len(),
                other.windows.len(),
            );
        }
        Ok(())
    }
}

impl ContigIndex {
    fn parse(front: &mut IndexBytes<'_>, is_csi: bool) -> Result<Self> {
        let mut reference = ContigIndex::default();
        for _ in 0..front.u32()? {
            let number = front.u32()?;
            let offset = if is_csi { Some(front.u64()?) } else { None };
            let mut chunks = Vec::new();
            for _ in 0..front.u32()? {
                chunks.push([front.u64()?, front.u64()?]);
            }
            let twice = reference.bins.insert(number, (offset, chunks));
            ensure!(twice.is_none(), "bin {number} stands twice");
        }
        if !is_csi {
            for _ in 0..front.u32()? {
                reference.windows.push(front.u64()?);
            }
        }
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_the_same_in_any_order_of_its_bins() {
        let bin = |number: u32, from: u64| {
            [&number.to_le_bytes()[..], &1u32.to_le_bytes(), &from.to_le_bytes(), &9u64.to_le_bytes()]
                .concat()
        };
        let index = |bins: &[Vec<u8>]| {
            let mut bytes = [&b"BAI\x01\x01\0\0\0"[..], &(bins.len() as u32).to_le_bytes()].concat();
            bytes.extend(bins.concat());
            bytes.extend([0; 4]);
            IndexFile::parse(&bytes).unwrap()
        };
        let one = index(&[bin(4681, 1), bin(585, 2)]);
        assert!(one.ensure_same(&index(&[bin(585, 2), bin(4681, 1)])).is_ok());
        assert!(one.ensure_same(&index(&[bin(585, 3), bin(4681, 1)])).is_err());
        assert!(one.ensure_same(&index(&[bin(585, 2)])).is_err());
        assert_eq!(one.summary(), "2 bins, 2 chunks, 0 windows");
    }
}
