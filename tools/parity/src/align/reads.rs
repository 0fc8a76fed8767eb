//! Generates a small genome, and read pairs from it that are easy or hard to align.

use std::fmt::Write as _;

use crate::random::SeededRandom;

pub type Contig = (&'static str, Vec<u8>);

#[derive(Default)]
pub struct FastqFiles {
    pub first: String,
    pub last: String,
    /// Interleaved reads: both reads of a pair, then those of the next pair.
    pub both: String,
}

/// Differences per mille of bases: between a repeat and its family, and between a read and its
/// origin.
const REPEAT_DIFFERENCES: [u64; 4] = [0, 5, 50, 150];
const READ_DIFFERENCES: [u64; 5] = [0, 2, 2, 10, 60];

/// Generates three reference sequences with N, IUPAC codes and lower case. More than a third of the
/// bases are repeats with few or many differences. The last sequence resembles a part of the first
/// one, like an alternate locus.
pub fn simulate_genome(random: &mut SeededRandom) -> Vec<Contig> {
    let families: Vec<Vec<u8>> = (1..6).map(|n| random_bases(random, 300 * n)).collect();
    let mut genome: Vec<Contig> = Vec::new();
    for (name, length) in [("one", 160_000), ("two", 60_000)] {
        let mut sequence = Vec::new();
        while sequence.len() < length {
            let fresh = 300 + random.below(2000);
            sequence.extend(random_bases(random, fresh));
            let rate = random.pick(&REPEAT_DIFFERENCES);
            let family = &families[random.below(5) as usize];
            let copy = mutate(random, family, rate);
            sequence.extend(if random.once_in(2) { reverse_complement(&copy) } else { copy });
        }
        sequence[5_000..5_200].fill(b'N');
        sequence[9_000..9_004].copy_from_slice(b"RYKM");
        sequence[12_000..15_000].make_ascii_lowercase();
        genome.push((name, sequence));
    }
    let alternate = mutate(random, &genome[0].1[40_000..52_000], 8);
    genome.push(("three", alternate));
    genome
}

pub fn format_fasta(genome: &[Contig]) -> String {
    let mut text = String::new();
    for (name, bases) in genome {
        let _ = writeln!(text, ">{name} of the genome");
        for line in bases.chunks(70) {
            text += &String::from_utf8_lossy(line);
            text.push('\n');
        }
    }
    text
}

pub fn simulate_pairs(random: &mut SeededRandom, genome: &[Contig], pairs: u64) -> FastqFiles {
    let mut files = FastqFiles::default();
    for number in 0..pairs {
        let name = format!("read:{number}");
        let ends = simulate_pair(random, genome);
        let is_numbered = random.once_in(2);
        for (end, bases) in ends.iter().enumerate() {
            let record = format_fastq_record(random, &name, is_numbered.then_some(end + 1), bases);
            files.both += &record;
            if end == 0 { files.first += &record } else { files.last += &record }
        }
    }
    files
}

/// Returns the bases of both reads of a template. Some templates are chimeric, random or have mates
/// from different positions; some reads contain adapter bases, N or IUPAC codes.
fn simulate_pair(random: &mut SeededRandom, genome: &[Contig]) -> [Vec<u8>; 2] {
    let length = 30 + random.below(670);
    let mut insert = random_segment(random, genome, length);
    if random.once_in(20) {
        let at = random.below(insert.len() as u64) as usize;
        insert.truncate(at);
        insert.extend(random_segment(random, genome, length)); // a chimera of two places
    }
    if random.once_in(40) {
        insert = random_bases(random, length); // not from the genome
    }
    let elsewhere = random.once_in(25).then(|| random_segment(random, genome, length));
    let other = elsewhere.unwrap_or_else(|| reverse_complement(&insert));
    [insert, other].map(|from| {
        let rate = random.pick(&READ_DIFFERENCES);
        let mut read = mutate(random, &from, rate);
        if random.once_in(10) {
            read.extend(random_bases(random, 60)); // bases of an adapter
        }
        let length = if random.once_in(4) { 1 + random.below(250) } else { 150 };
        read.truncate(length as usize);
        if read.is_empty() {
            read.push(b'A');
        }
        if random.once_in(15) {
            let at = random.below(read.len() as u64) as usize;
            read[at] = random.pick(b"NNRn.");
        }
        if random.once_in(30) {
            read.make_ascii_lowercase();
        }
        read
    })
}

fn random_segment(random: &mut SeededRandom, genome: &[Contig], length: u64) -> Vec<u8> {
    let (_, from) = &genome[random.below(genome.len() as u64) as usize];
    let start = random.below(from.len() as u64 - length) as usize;
    let piece = from[start..start + length as usize].to_ascii_uppercase();
    if random.once_in(2) { reverse_complement(&piece) } else { piece }
}

fn format_fastq_record(
    random: &mut SeededRandom,
    name: &str,
    number: Option<usize>,
    bases: &[u8],
) -> String {
    let number = number.map(|number| format!("/{number}")).unwrap_or_default();
    let comment = if random.once_in(3) { " 1:N:0:ACGT" } else { "" };
    let qualities: String = bases.iter().map(|_| char::from(random.pick(b"#,:FI"))).collect();
    format!("@{name}{number}{comment}\n{}\n+\n{qualities}\n", String::from_utf8_lossy(bases))
}

pub fn random_bases(random: &mut SeededRandom, count: u64) -> Vec<u8> {
    (0..count).map(|_| random.pick(b"ACGT")).collect()
}

/// Returns a copy with `per_mille` of the bases changed: most are replaced, some are
/// deleted or followed by an insertion.
pub fn mutate(random: &mut SeededRandom, of: &[u8], per_mille: u64) -> Vec<u8> {
    let mut copy = Vec::with_capacity(of.len() + 8);
    for &base in of {
        match random.below(1000) < per_mille {
            false => copy.push(base),
            true if random.once_in(8) => {
                let more = 1 + random.below(12);
                copy.push(base);
                copy.extend(random_bases(random, more));
            }
            true if random.once_in(8) => {}
            true => copy.push(random.pick(b"ACGT")),
        }
    }
    copy
}

/// Returns the reverse complement. Bases other than A, C, G and T become N.
pub fn reverse_complement(of: &[u8]) -> Vec<u8> {
    let complement = |base: &u8| match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        _ => b'N',
    };
    of.iter().rev().map(complement).collect()
}
