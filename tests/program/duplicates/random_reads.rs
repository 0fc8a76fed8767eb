//! Small random inputs in which everything that matters for duplicates is frequent: few positions, few
//! qualities, few locations, all orientations, clips that lead to the same 5′ end.

use crate::support::random::TestRandom;

/// One read of a template.
struct Segment {
    flag: u16,
    rname: &'static str,
    pos: usize,
    cigar: &'static str,
}

const HEADER: &str = "@SQ\tSN:c1\tLN:10000\n@SQ\tSN:c2\tLN:10000\n@RG\tID:a\tLB:L1\n@RG\tID:b\tLB:L1\n\
                      @RG\tID:c\tLB:L2\n@RG\tID:d\n@RG\tID:e\tLB:Unknown Library\n";

/// SAM text grouped by name, with at most this number of templates. `odd`: mapped reads without CIGAR and without
/// position occur, too.
pub fn grouped(random: &mut TestRandom, odd: bool, templates: usize) -> String {
    let mut text = format!("@HD\tVN:1.6\tSO:unsorted\tGO:query\n{HEADER}");
    let mut up_to = |n| 1 + random.below(n);
    let mut crowd = ReadVariety {
        odd,
        libraries: up_to(6),
        spread: up_to(4),
        cigars: up_to(11),
        qualities: up_to(5),
    };
    if random.once_in(2) {
        (crowd.libraries, crowd.spread) = (1, 1);
    }
    for i in 0..1 + random.below(templates) {
        crowd.template(random, i, &mut text);
    }
    text
}

/// How much the reads of one input differ.
struct ReadVariety {
    odd: bool,
    libraries: usize,
    spread: usize,
    cigars: usize,
    qualities: usize,
}

/// CIGARs: bases clipped before, covered, clipped behind.
const CIGARS: [(&str, usize, usize, usize); 11] = [
    ("10M", 0, 10, 0),
    ("2S8M", 2, 8, 0),
    ("8M2S", 0, 8, 2),
    ("1M", 0, 1, 0),
    ("3H7M", 3, 7, 0),
    ("1H1S8M1S2H", 2, 8, 3),
    ("4M2D4M", 0, 10, 0),
    ("5M3N5M", 0, 13, 0),
    ("4M1I5M", 0, 9, 0),
    ("1S1M", 1, 1, 0),
    ("1M3S", 0, 1, 3),
];

impl ReadVariety {
    /// A read with one of a few 5′ ends, with any POS and CIGAR.
    fn segment(&self, random: &mut TestRandom, flag: u16) -> Segment {
        let (mut cigar, before, covered, behind) = CIGARS[random.below(self.cigars)];
        let reverse = 0x10 * u16::from(random.once_in(2));
        let five_prime = 100 + random.below(self.spread);
        let mut pos = if reverse > 0 { five_prime + 1 - covered - behind } else { five_prime + before };
        if self.odd && random.once_in(8) {
            cigar = "*";
        }
        if self.odd && random.once_in(12) {
            pos = 0;
        }
        let qc_fail = 0x200 * u16::from(random.once_in(12));
        let was_marked = 0x400 * u16::from(random.once_in(6));
        let rname = if random.once_in(5) { "c2" } else { "c1" };
        Segment { flag: flag | reverse | qc_fail | was_marked, rname, pos, cigar }
    }

    /// All records of one template, mostly a pair.
    fn template(&self, random: &mut TestRandom, i: usize, text: &mut String) {
        let name = match random.below(4) {
            0 => format!("r{i}"),
            1 => format!("M{i}:1:F:1:{}:{}:40000", 1101 + random.below(2), random.below(2)),
            2 => format!("M{i}:1:1101:{}:7", random.pick(&["5", "65535", "x"])),
            _ => format!("M{i}:1:F:1:1101:5:6:UMI"),
        };
        let group = ["a", "a", "b", "c", "d", "e", "nope", ""][random.below(self.libraries + 1)];
        let mut records = Vec::new();
        let pairs = 1 + usize::from(random.once_in(5));
        for _ in 0..pairs {
            match random.below(13) {
                0..6 => self.pair(random, &mut records),
                6..8 => {
                    let mate =
                        random.pick(&[None, Some(("c1", 300)), Some(("c1", 300)), Some(("c2", 1))]);
                    records.push((self.segment(random, 0x41), mate)); // which is not in the file
                }
                8 => {
                    let mapped = self.segment(random, 0x49);
                    let place = (mapped.rname, mapped.pos);
                    let mate = Segment { flag: 0x85, cigar: "*", ..self.segment(random, 0) };
                    let mate = Segment { rname: place.0, pos: place.1, ..mate };
                    records.extend([(mapped, Some(place)), (mate, Some(place))]);
                }
                9 => records.extend(
                    [0x4d, 0x8d].map(|flag| (Segment { flag, rname: "*", pos: 0, cigar: "*" }, None)),
                ),
                _ => records.push((self.segment(random, 0), None)),
            }
        }
        if random.once_in(3) {
            let kind = random.pick(&[0x100, 0x800]);
            records.insert(random.below(records.len() + 1), (self.segment(random, kind), None));
        }
        for (segment, mate) in records {
            line(random, (&name, group), &segment, mate, self.qualities, text);
        }
    }

    fn pair(
        &self,
        random: &mut TestRandom,
        records: &mut Vec<(Segment, Option<(&'static str, usize)>)>,
    ) {
        let (first, last) = (self.segment(random, 0x41), self.segment(random, 0x81));
        let mut mates = [Some((last.rname, last.pos)), Some((first.rname, first.pos))];
        if random.once_in(20) {
            mates[random.below(2)] = None;
        }
        records.extend([(first, mates[0]), (last, mates[1])]);
        if random.once_in(2) {
            let n = records.len();
            records.swap(n - 2, n - 1);
        }
    }
}

fn line(
    random: &mut TestRandom,
    (name, group): (&str, &str),
    segment: &Segment,
    mate: Option<(&str, usize)>,
    qualities: usize,
    text: &mut String,
) {
    let Segment { flag, rname, pos, cigar } = segment;
    let (rnext, pnext) = mate.unwrap_or(("*", 0));
    let rnext = if rnext == *rname && rnext != "*" { "=" } else { rnext };
    let bases = cigar
        .split_inclusive(|c: char| c.is_ascii_alphabetic())
        .filter(|op| op.ends_with(['M', 'I', 'S']))
        .map(|op| op[..op.len() - 1].parse::<usize>().expect("a length"))
        .sum::<usize>();
    let bases = if bases == 0 { 10 } else { bases };
    let quality = ["/", "I", "5", "0", "*"][random.below(qualities)];
    let qual = if quality == "*" { "*".to_string() } else { quality.repeat(bases) };
    let group = if group.is_empty() { String::new() } else { format!("\tRG:Z:{group}") };
    *text += &format!(
        "{name}\t{flag}\t{rname}\t{pos}\t60\t{cigar}\t{rnext}\t{pnext}\t0\t{}\t{qual}{group}\n",
        "A".repeat(bases)
    );
}
