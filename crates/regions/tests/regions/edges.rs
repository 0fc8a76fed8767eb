//! Inputs at the edges of rules, one contig for each.

use std::fmt::Write as _;

use super::cases::RegionInput;
use super::draws::Draws;

/// A contig with reads that are written by hand.
struct EdgeContig {
    name: &'static str,
    bases: Vec<u8>,
    records: Vec<(usize, String)>,
}

/// A read whose bases are those of the contig, but at `different` positions.
#[derive(Clone, Copy)]
struct EdgeRead<'a> {
    flags: u16,
    /// 1-based.
    start: usize,
    mapping_quality: u8,
    cigar: &'a str,
    /// RNEXT, PNEXT and TLEN.
    mate: &'a str,
    /// 1-based positions of the contig.
    different: &'a [usize],
    /// The letter of all qualities.
    quality: char,
    tags: &'a str,
}

const READ: EdgeRead<'static> = EdgeRead {
    flags: 0,
    start: 1,
    mapping_quality: 60,
    cigar: "50M",
    mate: "*\t0\t0",
    different: &[],
    quality: 'F',
    tags: "\tRG:Z:g1",
};

impl EdgeContig {
    fn new(name: &'static str, length: usize) -> Self {
        let mut draws =
            Draws::new(name.bytes().fold(0, |seed, letter| (seed * 31 + u64::from(letter)) % 1_000_003));
        let bases = (0..length).map(|_| draws.pick(b"ACGT")).collect();
        EdgeContig { name, bases, records: Vec::new() }
    }

    fn add(&mut self, count: usize, read: EdgeRead<'_>) {
        let sequence = self.sequence(&read);
        let qualities = read.quality.to_string().repeat(sequence.len());
        self.add_with(count, read, &sequence, &qualities);
    }

    fn add_with(&mut self, count: usize, read: EdgeRead<'_>, sequence: &str, qualities: &str) {
        for _ in 0..count {
            let EdgeRead { flags, start, mapping_quality, cigar, mate, tags, .. } = read;
            let (contig, number) = (self.name, self.records.len());
            let line = format!(
                "{contig}.{number}\t{flags}\t{contig}\t{start}\t{mapping_quality}\t{cigar}\t{mate}\t{sequence}\t{qualities}{tags}\n"
            );
            self.records.push((start, line));
        }
    }

    fn sequence(&self, read: &EdgeRead<'_>) -> String {
        let (mut sequence, mut at, mut length) = (String::new(), read.start, 0);
        for letter in read.cigar.bytes() {
            if letter.is_ascii_digit() {
                length = length * 10 + usize::from(letter - b'0');
                continue;
            }
            for _ in 0..std::mem::take(&mut length) {
                let base = self.bases.get(at - 1).map_or(b'A', u8::to_ascii_uppercase);
                let is_aligned = b"M=X".contains(&letter);
                if is_aligned {
                    let other = if base == b'A' { 'C' } else { 'A' };
                    sequence.push(if read.different.contains(&at) { other } else { char::from(base) });
                } else if b"IS".contains(&letter) {
                    sequence.push('G');
                }
                at += usize::from(b"MDN=X".contains(&letter));
            }
        }
        sequence
    }
}

/// Returns all contigs, and intervals on some.
pub fn edge_input() -> RegionInput {
    let mut contigs = Vec::new();
    add_short_contigs(&mut contigs);
    add_odd_references(&mut contigs);
    add_overflows(&mut contigs);
    add_filtered_reads(&mut contigs);
    add_adapters(&mut contigs);
    add_soft_clips(&mut contigs);
    add_long_runs(&mut contigs);
    let mut input = RegionInput::default();
    let mut records = String::new();
    input.sam.push_str("@HD\tVN:1.6\tSO:coordinate\n");
    for contig in &mut contigs {
        writeln!(input.fasta, ">{}\n{}", contig.name, String::from_utf8_lossy(&contig.bases))
            .expect("a string");
        writeln!(input.sam, "@SQ\tSN:{}\tLN:{}", contig.name, contig.bases.len()).expect("a string");
        contig.records.sort_by_key(|(start, _)| *start);
        records.extend(contig.records.iter().map(|(_, line)| &**line));
    }
    input.sam.push_str("@RG\tID:g1\tSM:s\n");
    input.sam.push_str(&records);
    let spans =
        [("long_700", 1, 1), ("long_700", 200, 230), ("long_700", 330, 500), ("start_51", 350, 350)];
    input.intervals = spans.map(|(contig, start, end)| (contig.to_owned(), start, end)).into();
    input
}

fn add_short_contigs(contigs: &mut Vec<EdgeContig>) {
    let mut ends = EdgeContig::new("first_last", 400);
    ends.add(5, EdgeRead { cigar: "60M", different: &[1], ..READ });
    ends.add(5, EdgeRead { start: 351, different: &[400], ..READ });
    let mut short = EdgeContig::new("short_25", 25);
    short.add(3, EdgeRead { cigar: "25M", different: &[12], ..READ });
    let mut beyond = EdgeContig::new("beyond_end", 120);
    beyond.add(4, EdgeRead { start: 100, different: &[118], ..READ });
    contigs.extend([ends, short, beyond]);
    for (name, length) in
        [("empty_299", 299), ("empty_300", 300), ("empty_301", 301), ("empty_601", 601)]
    {
        contigs.push(EdgeContig::new(name, length));
    }
}

fn add_odd_references(contigs: &mut Vec<EdgeContig>) {
    let make = |name, change: &dyn Fn(&mut [u8])| {
        let mut contig = EdgeContig::new(name, 250);
        contig.add(4, EdgeRead { start: 80, different: &[100], ..READ });
        change(&mut contig.bases);
        contig
    };
    contigs.push(make("n_run", &|bases| bases[90..110].fill(b'N')));
    contigs.push(make("all_n", &|bases| bases.fill(b'N')));
    contigs.push(make("lower_case", &|bases| bases.make_ascii_lowercase()));
    contigs.push(make("iupac", &|bases| bases[95..105].copy_from_slice(b"RYMKWSBDHV")));
    let mut reads = EdgeContig::new("iupac_reads", 250);
    let sequence = reads.sequence(&READ);
    reads.add_with(4, READ, &format!("RYMKWSBDHVN{}", &sequence[11..]), &"F".repeat(50));
    contigs.push(reads);
}

fn add_overflows(contigs: &mut Vec<EdgeContig>) {
    for (name, counts) in [
        ("start_50", [50, 0]),
        ("start_51", [51, 0]),
        ("start_52", [52, 0]),
        ("neighbours", [52, 51]),
        ("after_overflow", [55, 70]),
    ] {
        let mut contig = EdgeContig::new(name, 400);
        contig.add(counts[0], EdgeRead { start: 100, ..READ });
        contig.add(counts[1], EdgeRead { start: 101, ..READ });
        contigs.push(contig);
    }
    let mut variant = EdgeContig::new("overflow_variant", 400);
    variant.add(50, EdgeRead { start: 100, ..READ });
    variant.add(20, EdgeRead { start: 100, different: &[120], ..READ });
    let mut end = EdgeContig::new("overflow_end", 300);
    end.add(60, EdgeRead { start: 300, cigar: "1M", different: &[300], ..READ });
    contigs.extend([variant, end]);
}

fn add_filtered_reads(contigs: &mut Vec<EdgeContig>) {
    let mut fields = EdgeContig::new("filters", 1200);
    let different = Vec::from_iter((20..1200).step_by(30));
    let mut start = 1;
    let mut next = |read: EdgeRead<'_>| {
        fields.add(3, EdgeRead { start, different: &different, ..read });
        start += 60;
    };
    for mapping_quality in [19, 20, 254, 255] {
        next(EdgeRead { mapping_quality, ..READ });
    }
    for flags in [0x4, 0x100, 0x200, 0x400, 0x800] {
        next(EdgeRead { flags, ..READ });
    }
    next(EdgeRead { tags: "", ..READ });
    next(EdgeRead { quality: '+', ..READ }); // 10
    next(EdgeRead { quality: ',', ..READ }); // 11
    fields.add_with(3, EdgeRead { start: 800, ..READ }, "*", "*");
    let sequence = fields.sequence(&EdgeRead { start: 900, different: &different, ..READ });
    fields.add_with(3, EdgeRead { start: 900, ..READ }, &sequence, "*");
    contigs.push(fields);

    let mut cigars = EdgeContig::new("cigars", 2400);
    let list = "20M5N20M 20M3I3D20M 20M3D3I20M 5D30M 30M5D 5S5D30M 40S 5H5S30M5S5H 20M3I2P3D20M 20M2P20M 20=1X20M \
                2P30M 30M2P 5I30M 30M5I 5S5I30M 5M3S30M 5H30M 0M30M 3S2H 20M2I3M2D20M 10M1D10M1D10M 30M2S2H 2H2S30M";
    for (number, cigar) in list.split_ascii_whitespace().enumerate() {
        cigars.add(3, EdgeRead { start: 1 + 90 * number, cigar, ..READ });
    }
    contigs.push(cigars);
}

/// Reads that differ at all positions, so that the pileup shows where they are left out.
fn add_adapters(contigs: &mut Vec<EdgeContig>) {
    let mut contig = EdgeContig::new("adapters", 6000);
    let different = Vec::from_iter(1..=6000);
    let (forward, reverse, same) = (0x63, 0x53, 0x43);
    let mut start = 101;
    for flags in [forward, reverse, same, 0, 0x6b] {
        for template_length in [0_i32, 1, 10, 19, 20, 21, 100, 101, -10, -20, -100, -101] {
            let offset = [0_usize, 1, 10, 19, 20, 21][template_length.unsigned_abs() as usize % 6];
            let mate = format!("=\t{}\t{template_length}", start + offset);
            let quality = if template_length > 50 { '5' } else { 'F' };
            contig.add(
                2,
                EdgeRead {
                    flags,
                    start,
                    mate: &mate,
                    different: &different,
                    quality,
                    cigar: "20M",
                    ..READ
                },
            );
            start += 80;
        }
    }
    for mate in ["*\t0\t30", "first_last\t5\t30", "=\t100\t-2147483647", "=\t5000\t2147483647"] {
        contig.add(2, EdgeRead { flags: reverse, start, mate, different: &different, ..READ });
        start += 80;
    }
    contigs.push(contig);
}

fn add_soft_clips(contigs: &mut Vec<EdgeContig>) {
    for (name, cigars) in [
        ("clip_6", ["6S50M", "50M6S", "3S50M3S"]),
        ("clip_7", ["7S50M", "50M6S", "6S50M"]),
        ("clip_99", ["99S50M", "50M99S", "99S50M"]),
        ("clip_200", ["200S50M", "50M200S", "200S50M"]),
    ] {
        let mut contig = EdgeContig::new(name, 600);
        for cigar in cigars {
            contig.add(3, EdgeRead { start: 300, cigar, ..READ });
        }
        contig.add(2, EdgeRead { start: 300, cigar: "100S50M", quality: '=', ..READ }); // 28 is too low
        contigs.push(contig);
    }
    let mut ends = EdgeContig::new("clip_ends", 120);
    ends.add(3, EdgeRead { start: 1, cigar: "80S50M", ..READ });
    ends.add(3, EdgeRead { start: 71, cigar: "50M80S", ..READ });
    contigs.push(ends);
}

fn add_long_runs(contigs: &mut Vec<EdgeContig>) {
    for (name, length, step) in [("long_700", 700, 10), ("long_1500", 1500, 3), ("sparse_900", 900, 45)]
    {
        let mut contig = EdgeContig::new(name, length);
        let different = Vec::from_iter((60..length - 60).step_by(step));
        for start in (1..length - 100).step_by(20) {
            contig.add(1, EdgeRead { start, cigar: "100M", different: &different, ..READ });
        }
        contigs.push(contig);
    }
}
