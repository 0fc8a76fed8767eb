//! Reads that no aligner writes, with a reference and known sites. The input is small, but all rare
//! cases that decide whether a base is counted for recalibration are frequent.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use crate::commands::SampleDir;
use crate::random::SeededRandom;

/// Read groups. Two share a platform unit, one has none, and the unit of the last one is the ID of
/// another.
const GROUPS: [(&str, &str); 4] =
    [("a", "\tPU:unit.1"), ("b", "\tPU:unit.1"), ("lane 3", ""), ("4", "\tPU:a")];

const QUALITIES: [u8; 10] = [2, 5, 6, 11, 20, 25, 30, 37, 41, 93];

struct BqsrReads {
    random: SeededRandom,
    contigs: Vec<(String, Vec<u8>)>,
}

pub fn write_inputs(dir: &SampleDir<'_>, reads: u64) -> Result<()> {
    let mut it = BqsrReads { random: SeededRandom::new(29), contigs: Vec::new() };
    for (name, length) in [("chr1", 6_000), ("chr2", 3_000), ("chr10", 900)] {
        let bases = (0..length).map(|_| it.random_base()).collect();
        it.contigs.push((name.to_owned(), bases));
    }
    let mut text = it.header();
    (0..reads).for_each(|i| it.write_read(i, &mut text));
    fs::write(dir.path("in.sam"), text)?;
    dir.run_samtools("view --no-PG -b -o in.bam in.sam")?;
    let fasta: String = it.contigs.iter().map(|(name, bases)| format_fasta(name, bases)).collect();
    fs::write(dir.path("ref.fasta"), fasta)?;
    fs::write(dir.path("known.vcf"), it.random_sites())?;
    Ok(())
}

fn format_fasta(name: &str, bases: &[u8]) -> String {
    let lines: String =
        bases.chunks(70).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect();
    format!(">{name}\n{lines}")
}

impl BqsrReads {
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.random.below(to + 1 - from)
    }

    /// Returns a random reference base: mostly ACGT, some in lower case, a few N or IUPAC
    /// codes.
    fn random_base(&mut self) -> u8 {
        match self.random.below(200) {
            0 => self.random.pick(b"NNRYM"),
            1..20 => self.random.pick(b"acgt"),
            _ => self.random.pick(b"ACGT"),
        }
    }

    fn header(&self) -> String {
        let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\n");
        for (name, bases) in &self.contigs {
            let _ = writeln!(text, "@SQ\tSN:{name}\tLN:{}", bases.len());
        }
        for (id, unit) in GROUPS {
            let _ = writeln!(text, "@RG\tID:{id}\tSM:s\tLB:l\tPL:ILLUMINA{unit}");
        }
        text
    }

    /// Returns a random CIGAR with at least one aligned base, often with clips, indels and padding.
    fn random_cigar(&mut self) -> Vec<(u64, char)> {
        let mut parts = Vec::new();
        let clip = |it: &mut Self, kind, rarity| {
            it.random.once_in(rarity).then(|| (it.between(1, 6), kind)).into_iter()
        };
        parts.extend(clip(self, 'H', 8));
        parts.extend(clip(self, 'S', 4));
        let indels = self.random.pick(&[0, 0, 0, 1, 1, 2]);
        if self.random.once_in(15) {
            parts.push((self.between(1, 3), self.random.pick(&['I', 'D'])));
        }
        for nth in 0..=indels {
            if nth > 0 {
                parts.push((self.between(1, 4), self.random.pick(&['I', 'D', 'D', 'I', 'P'])));
                let more = self.random.once_in(12);
                parts.extend(more.then(|| (1, self.random.pick(&['I', 'D']))));
            }
            parts.push((self.between(1, 30), self.random.pick(&['M', 'M', 'M', 'M', '=', 'X'])));
        }
        if self.random.once_in(15) {
            parts.push((self.between(1, 3), self.random.pick(&['I', 'D'])));
        }
        if self.random.once_in(100) {
            parts.extend([(40, 'N'), (5, 'M')]);
        }
        parts.extend(clip(self, 'S', 4));
        parts.extend(clip(self, 'H', 8));
        parts
    }

    fn random_bases(&mut self, contig: usize, start: u64, cigar: &[(u64, char)]) -> String {
        let (mut bases, mut at) = (String::new(), start as usize - 1);
        for &(length, kind) in cigar {
            for _ in 0..length {
                let here = self.contigs[contig].1.get(at).map_or(b'A', u8::to_ascii_uppercase);
                match kind {
                    'M' | '=' | 'X' if b"ACGT".contains(&here) && !self.random.once_in(12) => {
                        bases.push(char::from(here));
                    }
                    'M' | '=' | 'X' | 'I' | 'S' => {
                        bases.push(char::from(self.random.pick(b"ACGTACGTACGTACGTN")));
                    }
                    _ => {}
                }
                at += usize::from("M=XDN".contains(kind));
            }
        }
        bases
    }

    /// Returns base qualities: constant or mixed, often low at the ends.
    fn random_qualities(&mut self, length: usize) -> String {
        let level = self.random.pick(&QUALITIES[2..]);
        let is_mixed = self.random.once_in(2);
        let mut all: Vec<u8> = Vec::with_capacity(length);
        for _ in 0..length {
            all.push(if is_mixed { self.random.pick(&QUALITIES) } else { level });
        }
        let (first, last) = (self.between(0, 6) as usize, self.between(0, 9) as usize);
        if self.random.once_in(4) {
            all.iter_mut().take(first).for_each(|quality| *quality = 2);
        }
        if self.random.once_in(3) {
            all.iter_mut().rev().take(last).for_each(|quality| *quality = 2);
        }
        all.iter().map(|quality| char::from(quality + 33)).collect()
    }

    /// Returns FLAG, RNEXT, PNEXT and TLEN. Mates are often so close that a read extends into the
    /// adapter, and some combinations are contradictory.
    fn random_mate_fields(&mut self, start: u64, span: u64) -> (u64, &'static str, u64, i64) {
        let rare = [4, 0x100, 0x200, 0x400, 0x800, 0x800, 0x800];
        let odd = if self.random.once_in(12) { self.random.pick(&rare) } else { 0 };
        if self.random.once_in(4) {
            return (odd | self.random.pick(&[0, 16]), "*", 0, 0);
        }
        let segment = self.random.pick(&[64, 64, 64, 128, 128, 128, 0, 192]);
        let strands = self.random.pick(&[16, 32, 16, 32, 16, 32, 0, 48]);
        let unmapped = if self.random.once_in(15) { 8 } else { 0 };
        let next = (start + self.between(0, span + 12)).saturating_sub(8);
        let length = match self.random.below(4) {
            0 => self.between(1, span) as i64,
            1 => -(self.between(1, span) as i64),
            2 => next as i64 - start as i64 + self.between(1, 30) as i64,
            _ => self.random.pick(&[0, span as i64, -(span as i64), 300]),
        };
        let name = self.random.pick(&["=", "=", "=", "=", "=", "*", "chr2"]);
        (odd | 1 | segment | strands | unmapped, name, next, length)
    }

    fn write_read(&mut self, number: u64, text: &mut String) {
        let contig = self.random.pick(&[0, 0, 0, 1, 1, 2]);
        let cigar = self.random_cigar();
        let span: u64 = cigar.iter().filter(|it| "M=XDN".contains(it.1)).map(|it| it.0).sum();
        let start = self.between(1, self.contigs[contig].1.len() as u64 - span);
        let (flag, next, next_start, length) = self.random_mate_fields(start, span);
        let bases = self.random_bases(contig, start, &cigar);
        let qualities = self.random_qualities(bases.len());
        let qualities = if self.random.once_in(300) { "*" } else { &qualities };
        let cigar: String = cigar.iter().map(|(length, kind)| format!("{length}{kind}")).collect();
        let quality = self.random.pick(&[60, 60, 60, 60, 60, 37, 1, 0, 255]);
        let name = &self.contigs[contig].0;
        let _ = write!(
            text,
            "r{number}\t{flag}\t{name}\t{start}\t{quality}\t{cigar}\t{next}\t{next_start}\t{length}\t{bases}\t{qualities}"
        );
        if !self.random.once_in(300) {
            let _ = write!(text, "\tRG:Z:{}", self.random.pick(&GROUPS).0);
        }
        if self.random.once_in(10) {
            let _ = write!(text, "\tOQ:Z:{}", self.random_qualities(bases.len()));
        }
        if self.random.once_in(10) {
            let indel = "N".repeat(bases.len());
            let _ = write!(text, "\tBI:Z:{indel}\tBD:Z:{indel}");
        }
        text.push('\n');
    }

    /// Returns a VCF with a known site about every thirty bases. Some sites are adjacent or
    /// overlap.
    fn random_sites(&mut self) -> String {
        let mut text = String::from("##fileformat=VCFv4.2\n");
        let _ = writeln!(text, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO");
        for contig in 0..self.contigs.len() {
            let length = self.contigs[contig].1.len() as u64;
            let mut at = 1;
            while at + 12 < length {
                self.write_site(contig, at, &mut text);
                at += self.random.pick(&[0, 1, 1, 2, 5, 30, 40, 60, 90]);
            }
        }
        text
    }

    fn write_site(&mut self, contig: usize, at: u64, text: &mut String) {
        let (from, length) = (at as usize - 1, self.random.pick(&[1, 1, 1, 1, 2, 3, 8]));
        let bases = self.contigs[contig].1[from..from + length].to_ascii_uppercase();
        let plain = |base: &u8| if b"ACGT".contains(base) { char::from(*base) } else { 'N' };
        let reference: String = bases.iter().map(plain).collect();
        let other = if reference == "T" { "G" } else { "T" };
        let (allele, more) = match self.random.below(6) {
            0 => (format!("{reference}ACG"), ".".to_owned()),
            1 => ("<DEL>".to_owned(), format!("END={}", at + self.random.below(9))),
            2 => ("*".to_owned(), ".".to_owned()),
            _ => (other.to_owned(), ".".to_owned()),
        };
        let name = &self.contigs[contig].0;
        let _ = writeln!(text, "{name}\t{at}\t.\t{reference}\t{allele}\t.\t.\t{more}");
    }
}
