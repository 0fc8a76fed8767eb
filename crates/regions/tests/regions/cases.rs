//! Random inputs: many small contigs, with reads as unlike as possible.

use std::fmt::Write as _;

use super::draws::Draws;

/// A reference, a sorted SAM file, and intervals on some contigs.
#[derive(Debug, Default)]
pub struct RegionInput {
    /// FASTA text.
    pub fasta: String,
    /// SAM text.
    pub sam: String,
    /// Contig, first and last position (1-based), in order.
    pub intervals: Vec<(String, i32, i32)>,
}

impl RegionInput {
    /// Draws `contigs` contigs and their reads.
    pub fn draw(seed: u64, contigs: usize) -> Self {
        let mut draws = Draws::new(seed);
        let mut input = RegionInput::default();
        let mut records = String::new();
        input.sam.push_str("@HD\tVN:1.6\tSO:coordinate\n");
        for number in 0..contigs {
            let name = format!("c{number}");
            let length = match draws.below(8) {
                0 => 20 + draws.below(80),
                1..=3 => 100 + draws.below(400),
                4..=6 => 400 + draws.below(1500),
                _ => 2000 + draws.below(3000),
            };
            let bases = draw_reference(&mut draws, length);
            writeln!(input.fasta, ">{name}\n{}", String::from_utf8_lossy(&bases)).expect("a string");
            writeln!(input.sam, "@SQ\tSN:{name}\tLN:{length}").expect("a string");
            let contig =
                Contig { name: &name, bases: &bases, other: format!("c{}", draws.below(contigs)) };
            contig.draw_records(&mut draws, &mut records);
            draw_intervals(&mut draws, &name, length, &mut input.intervals);
        }
        input.sam.push_str("@RG\tID:g1\tSM:s\n@RG\tID:g2\tSM:s\n");
        input.sam.push_str(&records);
        input
    }
}

fn draw_reference(draws: &mut Draws, length: usize) -> Vec<u8> {
    let mut bases = Vec::from_iter((0..length).map(|_| draws.pick(b"ACGT")));
    let run = |draws: &mut Draws| {
        let start = draws.below(length);
        start..(start + 1 + draws.below(60)).min(length)
    };
    if draws.one_in(4) {
        bases[run(draws)].fill(b'N');
    }
    if draws.one_in(3) {
        bases[run(draws)].make_ascii_lowercase();
    }
    if draws.one_in(4) {
        for _ in 0..3 {
            bases[draws.below(length)] = draws.pick(b"RYMKWSBDHVrym");
        }
    }
    bases
}

fn draw_intervals(
    draws: &mut Draws,
    name: &str,
    length: usize,
    intervals: &mut Vec<(String, i32, i32)>,
) {
    let mut start = 1 + draws.below(length);
    while start <= length && !draws.one_in(4) {
        let end = (start + draws.pick(&[0, 1, 20, 150, 299, 300, 700])).min(length);
        intervals.push((name.to_owned(), start as i32, end as i32));
        start = end + 1 + draws.pick(&[0, 1, 2, 50, 199, 200, 201, 500]);
    }
}

/// A contig that reads are drawn from.
struct Contig<'a> {
    name: &'a str,
    bases: &'a [u8],
    /// A contig for mates.
    other: String,
}

/// How the reads of a contig differ from it.
struct Style {
    /// One of so many bases differs.
    bases_per_error: usize,
    /// One of so many reads has this.
    reads_per_clip: usize,
    reads_per_indel: usize,
    /// Positions where all reads may differ.
    variants: Vec<usize>,
    low_qualities: bool,
}

impl Contig<'_> {
    fn draw_records(&self, draws: &mut Draws, records: &mut String) {
        let length = self.bases.len();
        let depth = draws.pick(&[0, 1, 3, 8, 20, 40]);
        let mut starts = Vec::from_iter((0..length * depth / 100).map(|_| draws.below(length)));
        if draws.one_in(4) {
            let hot = draws.below(length);
            for neighbour in 0..1 + draws.below(3) {
                let count = draws.pick(&[49, 50, 51, 52, 60, 130]);
                starts.extend(vec![(hot + neighbour).min(length - 1); count]);
            }
        }
        starts.sort_unstable();
        let style = Style {
            bases_per_error: draws.pick(&[5, 20, 60, 200, 2000]),
            reads_per_clip: draws.pick(&[2, 4, 20]),
            reads_per_indel: draws.pick(&[3, 10, 40]),
            variants: (0..draws.below(1 + length / 50)).map(|_| draws.below(length)).collect(),
            low_qualities: draws.one_in(5),
        };
        for (number, start) in starts.into_iter().enumerate() {
            self.draw_record(draws, &style, number, start, records);
        }
    }

    fn draw_record(
        &self,
        draws: &mut Draws,
        style: &Style,
        number: usize,
        start: usize,
        records: &mut String,
    ) {
        let cigar = if draws.one_in(40) { draw_wild_cigar(draws) } else { draw_cigar(draws, style) };
        let sequence = self.draw_sequence(draws, style, start, &cigar);
        let reference_length: usize =
            cigar.iter().filter(|(_, operator)| b"MDN=X".contains(operator)).map(|(n, _)| n).sum();
        let mut flags = draws.pick(&[0, 16, 0x63, 0x93, 0x63, 0x93, 0x53, 0xa3, 0x41, 0xb1, 0x89, 0x53]);
        if draws.one_in(12) {
            flags |= draws.pick(&[0x100, 0x200, 0x400, 0x800, 0x4, 0x8]);
        }
        let mapq = if draws.one_in(10) { draws.pick(&[0, 19, 20, 21, 255]) } else { 60 };
        let (mate, mate_start, template_length) = self.draw_mate(draws, flags, start, reference_length);
        let qualities: String = if draws.one_in(100) {
            "*".into()
        } else {
            (0..sequence.len()).map(|_| char::from(b'!' + draw_quality(draws, style))).collect()
        };
        let cigar: String =
            cigar.iter().map(|(n, operator)| format!("{n}{}", char::from(*operator))).collect();
        let cigar = if cigar.is_empty() { "*" } else { &cigar };
        let (sequence, qualities) = if draws.one_in(150) || sequence.is_empty() {
            ("*", "*")
        } else {
            (&*sequence, &*qualities)
        };
        write!(
            records,
            "{}r{number}\t{flags}\t{}\t{}\t{mapq}\t{cigar}\t{mate}\t{mate_start}\t{template_length}\t{sequence}\t{qualities}",
            self.name,
            self.name,
            start + 1
        )
        .expect("a string");
        if !draws.one_in(60) {
            records.push_str(draws.pick(&["\tRG:Z:g1", "\tRG:Z:g2"]));
        }
        records.push('\n');
    }

    /// Returns the mate's contig and position, and TLEN.
    fn draw_mate(&self, draws: &mut Draws, flags: i32, start: usize, length: usize) -> (&str, i64, i64) {
        if flags & 1 == 0 || draws.one_in(12) {
            return ("*", 0, draws.pick(&[0, 0, 5]));
        }
        let start = start as i64 + 1;
        let end = start + length as i64 - 1;
        let contig = if draws.one_in(15) { &*self.other } else { "=" };
        let near = draws.below(7) as i64 - 3;
        let mate_start = match draws.below(4) {
            0 => start + near,
            1 => end + near,
            2 => start - 100 + near + draws.below(60) as i64,
            _ => start + draws.below(150) as i64,
        };
        let reach = (end - mate_start).abs() + near;
        let template_length = match draws.below(6) {
            0 => near,
            1 => reach,
            2 => -reach,
            3 => draws.pick(&[99, 100, 101, -99, -100, -101]),
            4 => draws.below(80) as i64,
            _ => -(draws.below(200) as i64),
        };
        (contig, mate_start.max(0), template_length)
    }

    fn draw_sequence(
        &self,
        draws: &mut Draws,
        style: &Style,
        start: usize,
        cigar: &[(usize, u8)],
    ) -> String {
        let mut sequence = String::new();
        let mut at = start;
        for &(length, operator) in cigar {
            for _ in 0..length {
                let reference = self.bases.get(at).copied().filter(|_| b"M=X".contains(&operator));
                let is_wrong = draws.one_in(style.bases_per_error)
                    || (style.variants.contains(&at) && draws.one_in(2));
                if b"M=XIS".contains(&operator) {
                    let base = reference.filter(|_| !is_wrong).unwrap_or_else(|| draws.pick(b"ACGT"));
                    let is_rare = draws.one_in(1500);
                    sequence.push(char::from(if is_rare { draws.pick(b"NRYSMKD") } else { base }));
                }
                at += usize::from(b"M=XDN".contains(&operator));
            }
        }
        sequence.to_ascii_uppercase()
    }
}

fn draw_quality(draws: &mut Draws, style: &Style) -> u8 {
    match draws.below(if style.low_qualities { 12 } else { 60 }) {
        0..=5 => draws.pick(&[0, 2, 9, 10, 11, 12, 28, 29, 93]),
        _ => draws.pick(&[37, 37, 30, 27, 25, 40]),
    }
}

/// Draws a CIGAR as mappers write them, mostly.
fn draw_cigar(draws: &mut Draws, style: &Style) -> Vec<(usize, u8)> {
    let mut cigar = Vec::new();
    if draws.one_in(30) {
        cigar.push((1 + draws.below(5), b'H'));
    }
    if draws.one_in(style.reads_per_clip) {
        cigar.push((1 + draws.pick(&[0, 4, 5, 6, 7, 30, 160]), b'S'));
    }
    if draws.one_in(60) {
        cigar.push((1 + draws.below(4), b'I'));
    }
    let aligned = draws.pick(b"MMMMMMM=X");
    cigar.push((1 + draws.pick(&[0, 3, 20, 50, 50, 50, 80, 140]), aligned));
    while draws.one_in(style.reads_per_indel) {
        let size = 1 + draws.pick(&[0, 0, 0, 1, 3, 20]);
        match draws.below(14) {
            0..=5 => cigar.push((size, b'I')),
            6..=11 => cigar.push((size, b'D')),
            12 => cigar.extend([(size, b'I'), (1, b'P'), (size, b'D')]),
            _ => cigar.extend([(size, b'D'), (1, b'P'), (size, b'I')]),
        }
        cigar.push((1 + draws.pick(&[0, 1, 5, 30]), draws.pick(b"MMM=X")));
    }
    if draws.one_in(60) {
        cigar.push((1 + draws.below(4), b'I'));
    }
    if draws.one_in(style.reads_per_clip) {
        cigar.push((1 + draws.pick(&[0, 4, 5, 6, 7, 30, 160]), b'S'));
    }
    if draws.one_in(30) {
        cigar.push((1 + draws.below(5), b'H'));
    }
    cigar
}

/// Draws operators without any rule, but no deletion behind leading padding, at which GATK fails.
fn draw_wild_cigar(draws: &mut Draws) -> Vec<(usize, u8)> {
    let count = draws.below(6);
    let mut cigar = Vec::from_iter((0..count).map(|_| (draws.below(8), draws.pick(b"MMMIDSHP=XN"))));
    if cigar.iter().any(|&(_, operator)| operator == b'P') && !cigar.iter().any(|(_, op)| *op == b'M') {
        cigar.retain(|&(_, operator)| operator != b'P');
    }
    let padding = cigar.iter().take_while(|(_, operator)| *operator == b'P').count();
    cigar.drain(..padding);
    cigar
}
