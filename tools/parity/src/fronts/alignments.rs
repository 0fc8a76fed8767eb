//! Generates unaligned reads and their bwa alignments, as inputs of MergeBamAlignment. They include
//! reads with marked adapters, short inserts, chimeras, random bases, and pieces of other reads.

use std::fs;

use anyhow::{Context, Result};
use readmill_peers::Peers;

use crate::commands::SampleDir;

const ADAPTERS: [&str; 2] = ["AGATCGGAAGAGCACACGTCTGAACTCCAG", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAG"];

/// An unaligned read. `adapter` is the position of its first adapter base (1-based), the value of
/// XT.
#[derive(Clone)]
struct MadeRead {
    bases: String,
    qualities: String,
    adapter: Option<usize>,
}

/// Writes `merge.sam` (unaligned, sorted by name) from the FASTQ texts `one` and `two`, and several
/// files of bwa alignments to `genome.fa`, which must be indexed.
pub fn write_merge_inputs(dir: &SampleDir<'_>, peers: &Peers, one: &str, two: &str) -> Result<()> {
    let write = |name: &str, text: &str| {
        fs::write(dir.path(name), text).with_context(|| format!("cannot write {name}"))
    };
    let (one, two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    let all: Vec<_> = one.chunks(4).zip(two.chunks(4)).collect();
    let mut templates: Vec<(String, [MadeRead; 2])> = Vec::new();
    for (number, (first, last)) in all.iter().enumerate() {
        let name = first[0].trim_start_matches('@').split(['/', ' ']).next().unwrap_or_default();
        let other = all[(number * 7 + 3) % all.len()].0[1];
        templates.push((name.to_owned(), odd_pair(number, first, last, other)));
    }
    templates.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut sam = "@HD\tVN:1.6\tSO:queryname\n@RG\tID:a\tSM:s\tLB:l\n@RG\tID:b\tSM:s\tLB:m\n".to_owned();
    let (mut single, mut fastq) = (sam.clone(), [String::new(), String::new()]);
    for (number, (name, pair)) in templates.iter().enumerate() {
        for (end, read) in pair.iter().enumerate() {
            let fields = format_tags(number, read);
            let MadeRead { bases, qualities, .. } = read;
            let flags = [77, 141][end] | if number % 40 == 7 { 512 } else { 0 };
            sam += &format!("{name}\t{flags}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}{fields}\n");
            if end == 0 {
                single += &format!("{name}\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}{fields}\n");
            }
            fastq[end] += &format!("@{name}\n{bases}\n+\n{qualities}\n");
        }
    }
    write("merge.sam", &sam)?;
    write("merge.single.sam", &single)?;
    write("merge_1.fq", &fastq[0])?;
    write("merge_2.fq", &fastq[1])?;
    dir.run_samtools_1_24("dict -o genome.dict genome.fa")?;
    dir.run_samtools_1_24("view --no-PG -b -o merge.bam merge.sam")?;
    let bwa = peers.bwa()?;
    for line in [
        "mem -v 1 -o merge.aligned.sam genome.fa merge_1.fq merge_2.fq",
        "mem -v 1 -M -o merge.secondary.sam genome.fa merge_1.fq merge_2.fq",
        "mem -v 1 -o merge.first.sam genome.fa merge_1.fq",
        "mem -v 1 -o merge.last.sam genome.fa merge_2.fq",
        "mem -v 1 -M -o merge.single.secondary.sam genome.fa merge_1.fq",
    ] {
        dir.run_peer(&bwa, line)?;
    }
    dir.run_samtools_1_24("sort --no-PG -o merge.sorted.bam merge.aligned.sam")?;
    let aligned = fs::read_to_string(dir.path("merge.aligned.sam"))?;
    let (header, mut records): (Vec<&str>, Vec<&str>) =
        aligned.lines().partition(|it| it.starts_with('@'));
    let middle = records.iter().position(|it| it.starts_with(templates[templates.len() / 2].0.as_str()));
    records.rotate_left(middle.unwrap_or(0));
    write("merge.other.sam", &(header.join("\n") + "\n" + &records.join("\n") + "\n"))
}

/// Returns the reads of a pair. The number selects one of several unusual kinds, such as an
/// adapter, mates with the same bases, a chimera or indels.
fn odd_pair(number: usize, first: &[&str], last: &[&str], other: &str) -> [MadeRead; 2] {
    let read = |text: &[&str]| MadeRead {
        bases: text[1].to_owned(),
        qualities: text[3].to_owned(),
        adapter: None,
    };
    let mut pair = [read(first), read(last)];
    let [one, two] = &mut pair;
    let length = one.bases.len();
    match number % 12 {
        0 | 1 => {
            let insert = length / 3 + number % (length / 2).max(1);
            let bases = one.bases[..insert].to_owned();
            *one = with_adapter(one, &bases, ADAPTERS[0]);
            *two = with_adapter(two, &reverse_complement(&bases), ADAPTERS[1]);
        }
        2 => {
            let bases = one.bases.clone();
            let kept = two.bases.len().min(length);
            two.bases.replace_range(..kept, &reverse_complement(&bases)[..kept]);
        }
        3 => two.bases = random_bases(number, two.bases.len()),
        4 => {
            (one.bases, two.bases) =
                (random_bases(number, length), random_bases(number + 1, two.bases.len()))
        }
        5 => one.bases.replace_range(length / 2.., &other[..(length - length / 2).min(other.len())]),
        6 => {
            let piece = 25.min(length);
            let mut bases = random_bases(number, length);
            bases.replace_range(length / 3..length / 3 + piece, &other[..piece]);
            one.bases = bases;
        }
        7 => {
            one.bases.replace_range(length / 4..length / 4 + 3, "");
            one.bases.insert_str(length / 2, "ACAC");
            one.bases.insert(2 * length / 3, 'G');
            one.bases.truncate(length);
        }
        _ => {}
    }
    for read in &mut pair {
        let length = read.bases.len();
        read.qualities = read.qualities.chars().chain("IIIIIIIIIIIIIIII".chars()).take(length).collect();
    }
    pair
}

/// Returns a read of unchanged length: the insert, then the adapter, then random bases.
fn with_adapter(read: &MadeRead, insert: &str, adapter: &str) -> MadeRead {
    let length = read.bases.len();
    let behind = random_bases(insert.len(), length);
    let bases: String =
        insert.chars().chain(adapter.chars()).chain(behind.chars()).take(length).collect();
    MadeRead { bases, adapter: (insert.len() < length).then(|| insert.len() + 1), ..read.clone() }
}

/// Returns bases that do not align, from a separate generator, so that they are the same in each
/// run.
fn random_bases(seed: usize, length: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut base = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b"ACGT"[(state >> 60) as usize & 3])
    };
    (0..length).map(|_| base()).collect()
}

fn reverse_complement(bases: &str) -> String {
    let complement = |base: char| match base {
        'A' => 'T',
        'C' => 'G',
        'G' => 'C',
        'T' => 'A',
        other => other,
    };
    bases.chars().rev().map(complement).collect()
}

/// Returns the optional fields of a read: RG and RX, sometimes OQ, E2 and others, and XT if it has
/// an adapter.
fn format_tags(number: usize, read: &MadeRead) -> String {
    let mut text = format!("\tRG:Z:{}\tRX:Z:ACGT-AAC", if number.is_multiple_of(3) { "a" } else { "b" });
    if number.is_multiple_of(4) {
        text += &format!("\tOQ:Z:{}\tE2:Z:{}", read.qualities, read.bases);
    }
    if number % 9 == 2 {
        text += "\tCO:Z:text\tNM:i:70\tXS:i:3\tYA:B:s,1,2,300";
    }
    text + &read.adapter.map_or(String::new(), |from| format!("\tXT:i:{from}"))
}
