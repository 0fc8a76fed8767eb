//! Random reads near the ends of short sequences, with the fields that filters use.

use std::fmt::Write as _;

use crate::parity::random::SeededRandom;

const SEQUENCES: [(&str, u64); 3] = [("c1", 1_000), ("c2", 300), ("c3", 2_000)];

/// A SAM file with this number of reads. Picard's CleanSam has a fitting result for all alignments: the part that hangs
/// over has few deletions, and reads start on their sequence (row 62 of docs/parity.md).
pub fn text(reads: u64) -> String {
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\n");
    for (name, length) in SEQUENCES {
        let _ = writeln!(text, "@SQ\tSN:{name}\tLN:{length}");
    }
    text += "@RG\tID:a\tSM:s\tLB:l\n@RG\tID:b\tSM:s\tLB:m\n";
    let mut random = SeededRandom::new(11);
    for number in 0..reads {
        text += &read(&mut random, number);
    }
    text
}

/// An alignment: operators, bases of the read, bases of the reference.
struct Alignment {
    cigar: String,
    query: u64,
    span: u64,
}

impl Alignment {
    fn random(random: &mut SeededRandom) -> Self {
        let mut it = Alignment { cigar: String::new(), query: 0, span: 0 };
        if random.once_in(8) {
            it.push(1 + random.below(5), 'S');
        }
        it.push(20 + random.below(20), random.pick(&['M', 'M', 'M', '=']));
        for _ in 0..random.below(4) {
            it.push(1 + random.below(3), random.pick(&['I', 'D']));
            it.push(1 + random.below(12), random.pick(&['M', 'M', 'X']));
        }
        if random.once_in(6) {
            it.push(1 + random.below(5), 'S');
        } else if random.once_in(6) {
            it.push(1 + random.below(5), 'H');
        }
        it
    }

    fn push(&mut self, length: u64, operator: char) {
        let _ = write!(self.cigar, "{length}{operator}");
        self.query += if "MIS=X".contains(operator) { length } else { 0 };
        self.span += if "MD=X".contains(operator) { length } else { 0 };
    }

    /// A position, from 1, so that the alignment ends somewhere near the end of the sequence, or anywhere.
    fn position(&self, random: &mut SeededRandom, length: u64) -> u64 {
        if random.once_in(3) {
            return 1 + random.below(length - self.span);
        }
        length + 8 - self.span - random.below(30)
    }
}

fn read(random: &mut SeededRandom, number: u64) -> String {
    let (own, mate) = (Alignment::random(random), Alignment::random(random));
    let ((name, length), (next, next_length)) = (random.pick(&SEQUENCES), random.pick(&SEQUENCES));
    let mut flags = random.pick(&[0, 16, 99, 147, 97, 145, 73, 133, 4, 1024, 256, 2048]);
    let placed = flags != 4 || random.once_in(2);
    flags |= if random.once_in(10) { 512 } else { 0 };
    let place = if placed { (name, own.position(random, length)) } else { ("*", 0) };
    let paired = flags & 1 != 0;
    let next_place = if paired { (next, mate.position(random, next_length)) } else { ("*", 0) };
    let cigar = if flags & 4 == 0 { &own.cigar[..] } else { "*" };
    let next = if next_place.0 == place.0 && placed { "=" } else { next_place.0 };
    let mapq = random.pick(&[0, 1, 9, 10, 19, 20, 37, 60, 254]);
    let (bases, qualities): (String, String) = (0..own.query)
        .map(|_| (random.pick(&['A', 'C', 'G', 'T', 'N']), random.pick(&['#', '5', 'I'])))
        .unzip();
    let mut line = format!(
        "e{number}\t{flags}\t{}\t{}\t{mapq}\t{cigar}\t{next}\t{}\t0",
        place.0, place.1, next_place.1
    );
    let _ = write!(line, "\t{bases}\t{qualities}");
    if paired && flags & 8 == 0 {
        let _ = write!(line, "\tMC:Z:{}", mate.cigar);
    }
    line + &fields(random) + "\n"
}

fn fields(random: &mut SeededRandom) -> String {
    let mut fields = format!("\tRG:Z:{}", random.pick(&["a", "b"]));
    if random.once_in(2) {
        let exact = random.once_in(2);
        for (tag, value) in [("X0", 1), ("X1", 0), ("XM", 0), ("XO", 0), ("XG", 0)] {
            let other = !exact && random.once_in(3);
            let _ =
                write!(fields, "\t{tag}:i:{}", if other { random.pick(&[-1, 2, 300]) } else { value });
        }
    }
    if random.once_in(3) {
        fields += "\tSA:Z:c1,5,+,4M,0,0;c3,9,-,2S2M,60,1;";
    }
    let _ = write!(fields, "\tNM:i:{}\tXZ:Z:text", random.below(9));
    fields
}
