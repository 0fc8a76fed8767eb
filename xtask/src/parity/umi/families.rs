//! Reads of molecules that differ in their UMIs, with errors in the UMIs.
//!
//! Left out is everything for which readmill, umi_tools and fgumi define positions differently: clips, gaps, mapping
//! qualities of 0, mates on another sequence; UMIs of several lengths at one position, and N in duplex
//! ones.

use std::fmt::Write;

use crate::parity::random::SeededRandom;

/// Bases of a read.
const READ: u64 = 30;

/// Bases from one position to the next, so that no two are near each other.
const APART: u64 = 3_000;

/// Where molecules lie.
struct Position {
    sequence: u64,
    /// Leftmost base, 1-based.
    start: u64,
    /// Bases of the molecule.
    length: u64,
}

/// A UMI of a molecule: that of its lower end, and in duplex also that of its higher end.
type Ends = [Vec<u8>; 2];

/// Reads of molecules at this number of positions as SAM text. In duplex, each end of a molecule has a UMI,
/// and both strands of it are read; else, one UMI and one strand. Returns the number of molecules,
/// too.
pub fn families(random: &mut SeededRandom, positions: u64, duplex: bool) -> (String, u64) {
    let (mut templates, mut molecules) = (Vec::new(), 0);
    for at in 0..positions {
        let position = Position {
            sequence: at % 3,
            start: 1 + APART * (1 + at / 3),
            length: 100 + random.below(200),
        };
        let lengths = match duplex {
            true => [random.pick(&[3, 4, 6]), random.pick(&[4, 6])],
            false => [random.pick(&[6, 8, 12]), 0],
        };
        let most = random.pick(&[2, 4, 10, 60]);
        let number = 1 + random.below(most);
        let mut ends: Ends = Default::default();
        for _ in 0..number {
            // The rules on counts and ties decide on near molecules with few templates.
            ends = match random.once_in(2) && !ends[0].is_empty() {
                true => ends.map(|umi| with_errors(random, &umi, 8)),
                false => lengths.map(|length| (0..length).map(|_| random.pick(b"ACGT")).collect()),
            };
            let forward = random.once_in(2);
            let most = random.pick(&[1, 4, 6, 12, 40]);
            for _ in 0..1 + random.below(most) {
                let first_is_lower = if duplex { random.once_in(2) } else { forward };
                let umi = umi(random, &ends, duplex, first_is_lower);
                templates.push(template(random, &position, templates.len(), &umi, first_is_lower));
            }
        }
        molecules += number;
    }
    random.shuffle(&mut templates);
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\n");
    for sequence in 0..3 {
        let _ = writeln!(text, "@SQ\tSN:chr{sequence}\tLN:{}", APART * (positions / 3 + 3));
    }
    text += "@RG\tID:g\tLB:l\tSM:s\tPL:ILLUMINA\n";
    (text + &templates.concat(), molecules)
}

/// A random base once in this many bases (it can be the same), else the base itself.
fn with_errors(random: &mut SeededRandom, umi: &[u8], once_in: u64) -> Vec<u8> {
    umi.iter().map(|&base| if random.once_in(once_in) { random.pick(b"ACGT") } else { base }).collect()
}

/// The UMI as it was read: that of the first segment comes first.
fn umi(random: &mut SeededRandom, ends: &Ends, duplex: bool, first_is_lower: bool) -> String {
    let [mut first, mut second] = ends.clone().map(|umi| with_errors(random, &umi, 40));
    if !duplex {
        if random.once_in(100) {
            first[0] = b'N';
        }
        return String::from_utf8_lossy(&first).into_owned();
    }
    if !first_is_lower {
        std::mem::swap(&mut first, &mut second);
    }
    [first, second].map(|umi| String::from_utf8_lossy(&umi).into_owned()).join("-")
}

/// The two lines of a template.
fn template(
    random: &mut SeededRandom,
    at: &Position,
    number: usize,
    umi: &str,
    first_is_lower: bool,
) -> String {
    let (low, high) = (at.start, at.start + at.length - READ);
    let [low_flags, high_flags] = if first_is_lower { [99, 147] } else { [163, 83] };
    let bases = "A".repeat(READ as usize);
    let qualities = char::from(b'#' + random.below(38) as u8).to_string().repeat(READ as usize);
    let fields = format!("{bases}\t{qualities}\tRG:Z:g\tMC:Z:{READ}M\tMQ:i:60\tRX:Z:{umi}");
    let line = |flags, pos, next, sign| {
        let Position { sequence, length, .. } = at;
        let place = format!("chr{sequence}\t{pos}\t60\t{READ}M\t=\t{next}\t{sign}{length}");
        format!("q{number}\t{flags}\t{place}\t{fields}\n")
    };
    line(low_flags, low, high, "") + &line(high_flags, high, low, "-")
}
