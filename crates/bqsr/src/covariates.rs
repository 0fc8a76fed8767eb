//! The covariates of a base's error rate, in addition to its read group and quality: the context, which is
//! the bases before it, and its cycle (GATK 4.6.2, `ContextCovariate` and `CycleCovariate`).

use readmill_record::RecordRef;

/// The code of a base that is none of A, C, G, T.
pub const NO_BASE: u8 = 4;

/// The context of a base without one: the first of a read, or with anything but A, C, G, T in it.
pub const NO_CONTEXT: u16 = u16::MAX;

/// Returns the empty context, which all bases of a read have if all are of low quality. Its number follows
/// the contexts of `size` bases. GATK counts it like any other.
pub const fn empty_context(size: u8) -> u16 {
    1 << (2 * size)
}

/// The longest context that is counted and applied: a longer one would not fit its number. (A report may state up to 13.)
pub const MOST_CONTEXT: u8 = 7;

/// Codes of the sixteen bases of BAM (`=ACMGRSVTWYHKDBN`): A 0, C 1, G 2, T 3.
const CODES: [u8; 16] = {
    let mut codes = [NO_BASE; 16];
    (codes[1], codes[2], codes[4], codes[8]) = (0, 1, 2, 3);
    codes
};

/// For each byte of SEQ the codes of its two bases.
static PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[NO_BASE; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [CODES[byte >> 4], CODES[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Replaces `codes` by the codes of the record's bases.
pub fn codes(record: RecordRef<'_>, codes: &mut Vec<u8>) {
    codes.clear();
    codes.extend(record.seq().iter().flat_map(|&byte| PAIRS[usize::from(byte)]));
    codes.truncate(record.l_seq());
}

/// Writes the context of each base: the `size` bases that end with it, in the direction of sequencing, as a
/// number to the base 4 whose first digit is the base sequenced first. Bases of both tails whose quality is
/// `low` or less (Phred) count as unknown; if all are, see [`empty_context`]. Contexts are in the order of
/// SEQ.
pub fn contexts(
    codes: &[u8],
    qualities: &[u8],
    reverse: bool,
    (size, low): (u8, i8),
    out: &mut Vec<u16>,
) {
    out.clear();
    out.resize(codes.len(), NO_CONTEXT);
    let is_good = |&q: &u8| i16::from(q) > i16::from(low);
    let Some(first) = qualities.iter().position(is_good) else {
        return out.fill(empty_context(size));
    };
    let last = qualities.iter().rposition(is_good).unwrap_or(first);
    if size == 2 {
        return pairs(&codes[first..=last], reverse, &mut out[first..=last]);
    }
    let size = usize::from(size);
    let mask = (1u16 << (2 * size)) - 1;
    let (mut context, mut known) = (0, 0);
    let mut step = |i: usize, code: u8| {
        known = if code == NO_BASE { 0 } else { known + 1 };
        context = (context << 2 | u16::from(code & 3)) & mask;
        if known >= size {
            out[i] = context;
        }
    };
    if reverse {
        (first..=last).rev().for_each(|i| step(i, complement(codes[i])));
    } else {
        (first..=last).for_each(|i| step(i, codes[i]));
    }
}

/// A complement's code is its distance from that of T.
fn complement(code: u8) -> u8 {
    if code == NO_BASE { NO_BASE } else { 3 - code }
}

/// Writes contexts of two bases, the usual size, in a loop without state, which compilers vectorise.
fn pairs(codes: &[u8], reverse: bool, out: &mut [u16]) {
    // Of a reverse read both bases are complemented at once: 15 less the two digits.
    let turned = if reverse { 15 } else { 0 };
    let context = |before: u8, own: u8| {
        let known = (before | own) < NO_BASE;
        if known { u16::from((before << 2 | own) ^ turned) } else { NO_CONTEXT }
    };
    let [one, other] = [&codes[..codes.len() - 1], &codes[1..]];
    let neighbours = one.iter().zip(other);
    if reverse {
        let contexts = out.iter_mut().zip(neighbours);
        contexts.for_each(|(to, (&own, &before))| *to = context(before, own));
    } else {
        let contexts = out[1..].iter_mut().zip(neighbours);
        contexts.for_each(|(to, (&before, &own))| *to = context(before, own));
    }
}

/// Cycles of a read's bases as numbers: twice the cycle, which counts from 1, and one more for second segments of
/// a pair, whose cycles are negative in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    first: i64,
    step: i64,
}

impl Cycles {
    /// Returns the cycles of `len` bases of the record.
    pub fn of(record: RecordRef<'_>, len: usize) -> Self {
        let flags = record.flags();
        let second = i64::from(flags.is_paired() && flags.is_last());
        if flags.is_reverse() {
            Cycles { first: 2 * len as i64 + second, step: -2 }
        } else {
            Cycles { first: 2 + second, step: 2 }
        }
    }

    /// Returns the cycle of the base `i`, 0-based, in SEQ.
    pub fn at(self, i: usize) -> usize {
        (self.first + self.step * i as i64) as usize
    }

    /// Returns the cycles of all bases, in the order of SEQ, without end.
    pub fn each(self) -> impl Iterator<Item = usize> {
        (0..).map(move |i| self.at(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bases: &[u8], low: &[usize], reverse: bool, size: u8) -> String {
        let codes: Vec<u8> = bases
            .iter()
            .map(|b| b"ACGT".iter().position(|a| a == b).map_or(NO_BASE, |code| code as u8))
            .collect();
        let mut qualities = vec![30; codes.len()];
        low.iter().for_each(|&i| qualities[i] = 2);
        let mut out = Vec::new();
        contexts(&codes, &qualities, reverse, (size, 2), &mut out);
        let text = |context: &u16| match *context {
            NO_CONTEXT => "-".to_string(),
            code if code == empty_context(size) => "0".to_string(),
            code => {
                let digit = |i: usize| char::from(b"ACGT"[(code >> (2 * i) & 3) as usize]);
                (0..usize::from(size)).rev().map(digit).collect()
            }
        };
        out.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn contexts_end_with_their_base_in_the_direction_of_sequencing() {
        for (bases, low, reverse, size, expected) in [
            ("AGCTG", &[][..], false, 2, "- AG GC CT TG"),
            ("AGCTG", &[], true, 2, "CT GC AG CA -"),
            ("AGCTG", &[], false, 3, "- - AGC GCT CTG"),
            ("ANCTG", &[], false, 2, "- - - CT TG"),
            ("NACTG", &[], false, 2, "- - AC CT TG"),
            ("AGCTG", &[0, 2], false, 2, "- - GC CT TG"),
            ("AGCTG", &[4], true, 2, "CT GC AG - -"),
            ("AGCTG", &[0, 1, 2, 3, 4], false, 2, "0 0 0 0 0"),
            ("A", &[], false, 2, "-"),
            ("", &[], false, 2, ""),
        ] {
            assert_eq!(
                shown(bases.as_bytes(), low, reverse, size),
                expected,
                "{bases} {low:?} {reverse}"
            );
        }
    }

    #[test]
    fn codes_of_both_halves_of_a_byte() {
        assert_eq!(PAIRS[0x12], [0, 1]);
        assert_eq!(PAIRS[0x48], [2, 3]);
        assert_eq!(PAIRS[0x0f], [NO_BASE, NO_BASE]);
    }
}
