//! Aligned bases beside those of the reference.

use readmill_record::Result;

use super::{Context, EndAlignments, HIGH_QUALITY, Of};
use crate::counts::{count_bytes, count_pairs};
use crate::read::{N, Read};
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::room::Room;

/// Bases of a piece of the reference: no more than a page of it.
const AT_ONCE: usize = 1 << 12;

/// Bases that are looked at one by one if any of them differs.
const LANES: usize = 16;

/// Added to a code, which is below 16, each sets the high bit of its byte: the first if the code is not 0, the second if it is N.
const IF_ANY: u128 = u128::from_ne_bytes([0x7f; LANES]);
const IF_N: u128 = u128::from_ne_bytes([0x80 - N; LANES]);
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
