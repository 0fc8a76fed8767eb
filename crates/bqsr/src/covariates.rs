//! The covariates on which the error rate of a base depends: read group, quality, context and
//! cycle.
//!
//! The context is the base itself and the bases sequenced before it. (GATK 4.6.2,
//! `ReadGroupCovariate`, `QualityScoreCovariate`, `ContextCovariate` and `CycleCovariate`.)

use std::collections::HashMap;
use std::sync::Arc;

use readmill_record::tag::{self, Tag};
use readmill_record::{Charge, Error, Header, Ledger, Prepaid, RecordRef, Result};

/// Number of possible base qualities: 0 to 93, which SAM writes as the printable characters `!` to
/// `~`.
pub const QUALITIES: usize = 94;

pub const MAX_QUALITY: u8 = QUALITIES as u8 - 1;

/// Code of a base other than A, C, G and T.
pub const NO_BASE: u8 = 4;

/// Marks a base without context: the base is too close to the start of the read, or its context has
/// a base other than A, C, G and T.
pub const NO_CONTEXT: u16 = u16::MAX;

/// Returns the code of the empty context, which follows the codes of all contexts of `size` bases.
///
/// If all bases of a read have low quality, they all get this context, and GATK counts it like any
/// other.
pub const fn empty_context(size: u8) -> u16 {
    1 << (2 * size)
}

/// Maximum context size for counting and applying. The code of a longer context does not fit in 16
/// bits.
pub const MAX_CONTEXT_SIZE: u8 = 7;

/// Codes of BAM's sixteen base letters (`=ACMGRSVTWYHKDBN`): A 0, C 1, G 2, T 3, others
/// [`NO_BASE`].
const CODES: [u8; 16] = {
    let mut codes = [NO_BASE; 16];
    (codes[1], codes[2], codes[4], codes[8]) = (0, 1, 2, 3);
    codes
};

static PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[NO_BASE; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [CODES[byte >> 4], CODES[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Replaces the content of `codes` with the codes of the record's bases.
pub fn write_base_codes(record: RecordRef<'_>, codes: &mut Vec<u8>) {
    codes.clear();
    codes.extend(record.seq().iter().flat_map(|&byte| PAIRS[usize::from(byte)]));
    codes.truncate(record.l_seq());
}

/// Writes the context of each base to `out`, in the order of SEQ.
///
/// A context is the last `size` bases in sequencing direction, up to and including the base, as a
/// base-4 number whose most significant digit was sequenced first. Bases in both tails of the read
/// whose quality is at most `low` (Phred) have no context. If all bases have such a quality, they
/// get the [`empty_context`].
pub fn write_contexts(
    codes: &[u8],
    qualities: &[u8],
    reverse: bool,
    size: u8,
    low: i8,
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
        return write_pair_contexts(&codes[first..=last], reverse, &mut out[first..=last]);
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
        (first..=last).rev().for_each(|i| step(i, complement_code(codes[i])));
    } else {
        (first..=last).for_each(|i| step(i, codes[i]));
    }
}

/// Returns the code of the complement. The codes of complementary bases add up to 3.
fn complement_code(code: u8) -> u8 {
    if code == NO_BASE { NO_BASE } else { 3 - code }
}

/// Writes contexts of two bases, the default size. Unlike the general loop, it keeps no state
/// between bases, so compilers vectorize it.
fn write_pair_contexts(codes: &[u8], reverse: bool, out: &mut [u16]) {
    // On the reverse strand, both bases are complemented at once: 15 minus the two digits.
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

/// The cycle numbers of a read's bases.
///
/// A number is twice the 1-based cycle, plus 1 in read 2, whose cycles are negative in reports. See
/// [`cycle_index`](crate::counters::cycle_index).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    first: i64,
    step: i64,
}

impl Cycles {
    /// Returns the cycles of a read with `len` counted bases. They count down on the reverse
    /// strand.
    pub fn of_read(record: RecordRef<'_>, len: usize) -> Self {
        let flags = record.flags();
        let second = i64::from(flags.is_paired() && flags.is_last());
        if flags.is_reverse() {
            Cycles { first: 2 * len as i64 + second, step: -2 }
        } else {
            Cycles { first: 2 + second, step: 2 }
        }
    }

    pub fn at(self, i: usize) -> usize {
        (self.first + self.step * i as i64) as usize
    }

    /// Returns an infinite iterator over the cycle numbers, in the order of SEQ.
    pub fn each_cycle(self) -> impl Iterator<Item = usize> {
        (0..).map(move |i| self.at(i))
    }
}

/// The read groups of a header, numbered by name. Clones share the data.
///
/// As in reports, the name is the platform unit (PU), or the ID if there is no PU (GATK 4.6.2,
/// `ReadGroupCovariate`). So several read groups can have the same number.
#[derive(Clone, Debug)]
pub struct ReadGroups(Arc<ReadGroupIndex>);

#[derive(Debug)]
struct ReadGroupIndex {
    by_id: HashMap<Vec<u8>, u32>,
    names: Vec<Vec<u8>>,
    _charge: Charge,
}

/// Estimated memory per read group in bytes, excluding the names themselves: an entry in the list
/// of names and one in each of two hash tables. Each of these may be half empty, and exists twice
/// while it grows.
const GROUP_ENTRY_BYTES: usize = 2 * 3 * 2 * size_of::<(Vec<u8>, u32)>();

impl ReadGroups {
    /// Numbers the read groups of `header`, which must be the final header, after all steps that
    /// change it. Charges the memory to `ledger`.
    pub fn new(header: &Header, ledger: &Ledger) -> Result<Self> {
        let (mut by_id, mut names) = (HashMap::new(), Vec::new());
        let mut prepaid = Prepaid::new(ledger.empty_charge("read groups"));
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        for line in header.lines_of_kind(b"RG") {
            let Some(id) = line.get(b"ID") else { continue };
            let name = line.get(b"PU").filter(|name| !name.is_empty()).unwrap_or(id);
            prepaid.pay_block(GROUP_ENTRY_BYTES + id.len()).and(prepaid.pay_block(name.len()))?;
            let number = *numbers.entry(name).or_insert_with(|| {
                names.push(name.to_vec());
                names.len() as u32 - 1
            });
            by_id.insert(id.to_vec(), number);
        }
        Ok(ReadGroups(Arc::new(ReadGroupIndex { by_id, names, _charge: prepaid.into_charge() })))
    }

    /// Fails if the header has no read groups. Called for each read, because such a header is valid
    /// if there are no reads.
    pub fn require_any(&self) -> Result<()> {
        if !self.0.names.is_empty() {
            return Ok(());
        }
        let what = "the header has no read groups, but recalibration needs them";
        Err(Error::input(what).hint(
            "put all reads into one read group: readmill prep --read-group 'ID:… SM:… PL:ILLUMINA'",
        ))
    }

    /// Returns the number of the read group with this ID, or `None` if it is not in the header.
    pub fn number_of_id(&self, id: &[u8]) -> Option<usize> {
        self.0.by_id.get(id).map(|&number| number as usize)
    }

    pub fn names(&self) -> &[Vec<u8>] {
        &self.0.names
    }
}

/// Returns whether a read has qualities. In BAM, a first quality of 0xFF means that there are none
/// (SAM specification, section 4.2).
pub fn has_qualities(record: RecordRef<'_>) -> bool {
    record.qual().first().is_some_and(|&quality| quality != 0xff)
}

/// Writes the qualities of a read to `out` (Phred, without offset).
///
/// Uses OQ if `original` is set and the field exists, and QUAL otherwise. Reads without qualities
/// get `default`, if given.
///
/// # Errors
/// Fails if OQ has the wrong length, or a quality exceeds [`MAX_QUALITY`].
pub fn write_base_qualities(
    record: RecordRef<'_>,
    original: bool,
    default: Option<u8>,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    let kept = record.field(tag::OQ).filter(|field| original && field.kind == b'Z');
    match kept.filter(|field| !field.value.is_empty()) {
        Some(field) => {
            out.extend(field.value.iter().map(|&c| c.wrapping_sub(b'!')));
            if out.len() != record.l_seq() {
                let what = format!("OQ has {} qualities for {} bases", out.len(), record.l_seq());
                return Err(Error::input(what).hint("omit --use-original-qualities"));
            }
        }
        None => match default.filter(|_| !has_qualities(record)) {
            Some(quality) => out.resize(record.l_seq(), quality),
            None => out.extend_from_slice(record.qual()),
        },
    }
    check_qualities(out)
}

fn check_qualities(qualities: &[u8]) -> Result<()> {
    let largest = qualities.iter().copied().max().unwrap_or(0);
    if largest > MAX_QUALITY {
        return Err(Error::input(format!(
            "a base has quality {largest}, but the maximum is {MAX_QUALITY}"
        ))
        .hint("correct the qualities; they may be encoded with a different offset"));
    }
    Ok(())
}

/// Insertion and deletion quality (Phred) of reads without a BI or BD field. GATK 4.6.2 has an
/// option for it, but only writes its value to the report.
const GAP_QUALITY: u8 = 45;

/// Returns the insertion qualities (tag BI) or deletion qualities (tag BD) of a read, or 45 for all
/// bases if the field is missing.
pub fn read_gap_qualities(record: RecordRef<'_>, tag: Tag) -> Result<Vec<u8>> {
    let Some(field) = record.field(tag).filter(|field| field.kind == b'Z') else {
        return Ok(vec![GAP_QUALITY; record.l_seq()]);
    };
    let qualities: Vec<u8> = field.value.iter().map(|&c| c.wrapping_sub(b'!')).collect();
    if qualities.len() != record.l_seq() {
        let tag = String::from_utf8_lossy(&tag).into_owned();
        return Err(Error::input(format!("{tag} does not have one quality for each base"))
            .hint("remove or correct the field"));
    }
    check_qualities(&qualities)?;
    Ok(qualities)
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
        write_contexts(&codes, &qualities, reverse, size, 2, &mut out);
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
