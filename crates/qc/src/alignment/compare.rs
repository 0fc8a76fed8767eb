//! Aligned bases beside those of the reference.

use readmill_record::Result;

use super::{Context, EndAlignments, HIGH_QUALITY, Of};
use crate::counts::{count_bytes, count_pairs};
use crate::read::{N, Read};
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::room::Room;

/// Bases of a piece of the reference: no more than a page of it.
const AT_ONCE: usize = 1 << 12;

/// Bases that are compared at once.
const LANES: usize = 16;

/// Added to a code, which is below 16, it sets the high bit of its byte if the code is not 0.
const IF_ANY: u128 = u128::from_ne_bytes([0x7f; LANES]);

/// The same, if the code is N.
const IF_N: u128 = u128::from_ne_bytes([0x80 - N; LANES]);

/// The high bit of each byte.
const HIGH: u128 = u128::from_ne_bytes([0x80; LANES]);

/// An aligned block: bases of the read beside bases of the reference.
pub(crate) struct Block {
    /// Where it starts in the read, and on the contig.
    pub base: usize,
    pub at: u32,
    pub length: usize,
}

/// Gives the aligned blocks of a read to `see`, as far as there are bases of the read, and of a contig of this length; returns
/// the number of insertions and deletions.
pub(crate) fn for_each_block(
    read: &Read<'_>,
    contig: Option<u32>,
    mut see: impl FnMut(Block) -> Result<()>,
) -> Result<u64> {
    let (mut at, mut base, mut indels) = (i64::from(read.record.pos()), 0_usize, 0);
    for (op, n) in read.record.cigar().ops() {
        let n = n as usize;
        match op {
            0 | 7 | 8 => {
                let left = read.bases.len().saturating_sub(base);
                if let Ok(at) = u32::try_from(at) {
                    let on_contig =
                        contig.map_or(usize::MAX, |length| length.saturating_sub(at) as usize);
                    see(Block { base, at, length: n.min(left).min(on_contig) })?;
                }
                (at, base) = (at + n as i64, base + n);
            }
            1 => (base, indels) = (base + n, indels + 1),
            2 => (at, indels) = (at + n as i64, indels + 1),
            3 => at += n as i64,
            4 => base += n,
            _ => {}
        }
    }
    Ok(indels)
}

/// Returns how many bases of a mapped read differ from the reference.
pub(crate) fn mismatches(
    read: &Read<'_>,
    reference: &ReferenceContigs,
    pages: &mut ReferencePages,
) -> Result<u64> {
    let Some((contig, length)) = reference.place(read.record.ref_id())? else { return Ok(0) };
    let mut mismatches = 0;
    for_each_block(read, Some(length), |block| {
        let bases = &read.bases[block.base.min(read.bases.len())..][..block.length];
        for (at, bases) in (block.at..).step_by(AT_ONCE).zip(bases.chunks(AT_ONCE)) {
            let codes = pages.of(reference).codes(contig, at, at + bases.len() as u32)?;
            mismatches += count_pairs(bases, codes, |base, code| base != code);
        }
        Ok(())
    })?;
    Ok(mismatches)
}

impl EndAlignments {
    /// Counts the bases of an aligned read that passes quality controls; returns its mismatches.
    pub(super) fn add_bases(
        &mut self,
        read: &Read<'_>,
        context: &Context<'_>,
        pages: &mut ReferencePages,
    ) -> Result<u64> {
        let record = read.record;
        let contig = match context.reference {
            Some(reference) => reference.place(record.ref_id())?,
            None => None,
        };
        let is_sure = record.mapq() >= HIGH_QUALITY;
        self.count(Of::HighQualityReads, u64::from(is_sure));
        let mut mismatches = 0;
        let number = contig.map(|(number, _)| number);
        let length = contig.map(|(_, length)| length);
        let indels = for_each_block(read, length, |block| {
            mismatches += self.add_block(read, &block, number, context, pages)?;
            Ok(())
        })?;
        self.count(Of::Indels, indels);
        self.count(Of::Mismatches, mismatches);
        let sure_mismatches = if is_sure { mismatches } else { 0 };
        self.count(Of::HighQualityMismatches, sure_mismatches);
        self.mismatches.add(sure_mismatches as u32, context.room)?;
        Ok(mismatches)
    }

    /// Counts the bases of a block; returns those that are not equal to the reference.
    fn add_block(
        &mut self,
        read: &Read<'_>,
        block: &Block,
        contig: Option<u32>,
        context: &Context<'_>,
        pages: &mut ReferencePages,
    ) -> Result<u64> {
        let Block { base, at, length } = *block;
        let bases = &read.bases[base.min(read.bases.len())..][..length];
        self.count(Of::AlignedBases, length as u64);
        if read.record.mapq() >= HIGH_QUALITY {
            self.count(Of::HighQualityBases, length as u64);
            let quals = read.quals.get(base..base + length).unwrap_or_default();
            let good = count_bytes(quals, |qual| (HIGH_QUALITY..128).contains(&qual));
            self.count(Of::HighQualityQ20Bases, good);
        }
        let mut all = 0;
        for (number, bases) in bases.chunks(AT_ONCE).enumerate() {
            let first = number * AT_ONCE;
            let codes = match (contig, context.reference) {
                (Some(contig), Some(reference)) => {
                    let from = at + first as u32;
                    pages.of(reference).codes(contig, from, from + bases.len() as u32)?
                }
                _ => bases,
            };
            if !read.has_n && bases == codes {
                continue;
            }
            let (base_lanes, bases) = bases.as_chunks::<LANES>();
            let (code_lanes, codes) = codes.as_chunks::<LANES>();
            // Equal bases that are no N fill the last lanes.
            let (mut last_bases, mut last_codes) = ([0; LANES], [0; LANES]);
            last_bases[..bases.len()].copy_from_slice(bases);
            last_codes[..codes.len()].copy_from_slice(codes);
            let lanes = base_lanes.iter().zip(code_lanes).chain([(&last_bases, &last_codes)]);
            for ((bases, codes), first) in lanes.zip((first..).step_by(LANES)) {
                let differs = bases
                    .iter()
                    .zip(codes)
                    .fold(0, |all, (&base, &code)| all | (base ^ code) | u8::from(base == N));
                if differs != 0 {
                    all += self.add_differing(read, first, bases, codes, context.room)?;
                }
            }
        }
        Ok(all)
    }

    /// Looks at bases of which some differ from the reference, or are N; returns how many differ.
    #[inline(never)]
    fn add_differing(
        &mut self,
        read: &Read<'_>,
        first: usize,
        bases: &[u8; LANES],
        codes: &[u8; LANES],
        room: &Room,
    ) -> Result<u64> {
        let both = [bases, codes].map(|it| u128::from_le_bytes(*it));
        let mut bad = (((both[0] ^ both[1]) + IF_ANY) | (both[0] + IF_N)) & HIGH;
        let mut all = 0;
        while bad != 0 {
            let i = bad.trailing_zeros() as usize / 8;
            bad &= bad - 1;
            all += u64::from(bases[i] != codes[i]);
            self.add_bad_cycle(read, first + i, room)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use readmill_format::reference::Reference;
    use readmill_format::sam::LineParser;
    use readmill_record::{Batch, Header, Ledger, Stamp};

    use super::*;
    use crate::adapters::Adapters;
    use crate::alignment::Alignments;
    use crate::options::Options;

    /// A letter of the reference, which has N in places.
    fn letter(at: usize) -> u8 {
        if at % 23 == 5 { b'N' } else { b"ACGT"[(at * at / 7 + at / 3) % 4] }
    }

    #[test]
    fn differing_bases_are_found_wherever_they_lie() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.fa");
        let bases: Vec<u8> = (0..9000).map(letter).collect();
        std::fs::write(&path, format!(">c\n{}\n", String::from_utf8(bases).unwrap())).unwrap();
        let header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:9000\n").unwrap();
        let reference = Reference::open(&path, &Ledger::unlimited()).unwrap();
        let reference = ReferenceContigs::new(reference, &header).unwrap();
        let (options, room) = (Options::default(), crate::room::of(1 << 24));
        let adapters = Adapters::new::<&str>(&[]);
        let context =
            Context { options: &options, adapters: &adapters, reference: Some(&reference), room: &room };
        let (mut parser, mut pages) = (LineParser::new(&header), ReferencePages::default());
        for length in [1, 15, 16, 17, 33, 100, 4097, 5000] {
            // One in so many bases is another one, or N, behind two clipped ones, of which one may be N, too.
            for (every, clip) in
                [(usize::MAX, "AC"), (1, "AC"), (2, "NA"), (7, "AC"), (16, "NA"), (61, "AC")]
            {
                for flags in [0, 16] {
                    let start = 100 + length % 50;
                    let base = |i: usize| match letter(start + i) {
                        _ if i % every == every - 1 && i.is_multiple_of(3) => b'N',
                        b'A' if i % every == every - 1 => b'C',
                        _ if i % every == every - 1 => b'A',
                        base => base,
                    };
                    let seq: Vec<u8> = (0..length).map(base).collect();
                    let differ = |i: &usize| seq[*i] != letter(start + i);
                    let all = (0..length).filter(differ).count() as u64;
                    let bad: Vec<usize> = (0..length).filter(|i| differ(i) || seq[*i] == b'N').collect();
                    let text = format!(
                        "r\t{flags}\tc\t{}\t60\t2S{length}M\t*\t0\t0\t{clip}{}\t*",
                        start + 1,
                        String::from_utf8(seq.clone()).unwrap()
                    );
                    let (mut raw, mut batch, mut codes) = (Vec::new(), Batch::default(), Vec::new());
                    parser.parse(text.as_bytes(), &mut raw).unwrap();
                    batch.push(&raw, Stamp::default()).unwrap();
                    let (_, record) = batch.records().next().unwrap();
                    let mut counts = Alignments::default();
                    let read = Read::new(record, &mut codes);
                    let found = counts.add(&read, &context, &mut pages).unwrap();
                    let what = format!("{length} bases, one in {every} differs, flags {flags}");
                    assert_eq!(found, Some(all), "{what}");
                    // As in Picard, cycles are counted from the start of the block.
                    let mut cycles = vec![0; counts.0[2].bad_cycles.len()];
                    for i in bad {
                        let cycle = if flags == 16 { length + 2 - i } else { i + 1 };
                        cycles[cycle - 1] += 1;
                    }
                    assert_eq!(counts.0[2].bad_cycles, cycles, "{what}");
                }
            }
        }
    }
}
