//! Aligned bases beside those of the reference.

use readmill_record::Result;

use super::{Context, EndAlignments, HIGH_QUALITY, Of};
use crate::counts::{count_bytes, count_pairs};
use crate::read::{N, Read};
use crate::reference::ReferencePages;

/// Bases that are compared at once: no more than a page of the reference.
const AT_ONCE: usize = 1 << 12;

/// Bases that are looked at one by one if any of them differs.
const LANES: usize = 32;

/// An aligned block: bases of the read beside bases of the reference.
struct Block {
    /// Where it starts in the read, and on the contig.
    base: usize,
    at: u32,
    length: usize,
}

impl EndAlignments {
    /// Counts the bases of an aligned read that passes quality controls.
    pub(super) fn add_bases(
        &mut self,
        read: &Read<'_>,
        context: &Context<'_>,
        pages: &mut ReferencePages,
    ) -> Result<()> {
        let record = read.record;
        let contig = match context.reference {
            Some(reference) => reference.place(record.ref_id())?,
            None => None,
        };
        let is_sure = record.mapq() >= HIGH_QUALITY;
        self.count(Of::HighQualityReads, u64::from(is_sure));
        let (mut at, mut base) = (i64::from(record.pos()), 0_usize);
        let (mut mismatches, mut indels) = (0, 0);
        for (op, n) in record.cigar().ops() {
            let n = n as usize;
            match op {
                0 | 7 | 8 => {
                    let left = read.bases.len().saturating_sub(base);
                    if let Ok(at) = u32::try_from(at) {
                        let on_contig =
                            contig.map_or(usize::MAX, |(_, length)| length.saturating_sub(at) as usize);
                        let block = Block { base, at, length: n.min(left).min(on_contig) };
                        let contig = contig.map(|(number, _)| number);
                        mismatches += self.add_block(read, &block, contig, context, pages)?;
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
        self.count(Of::Indels, indels);
        self.count(Of::Mismatches, mismatches);
        let sure_mismatches = if is_sure { mismatches } else { 0 };
        self.count(Of::HighQualityMismatches, sure_mismatches);
        self.mismatches.add(sure_mismatches as u32, context.room)
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
            let pieces = bases.chunks(LANES).zip(codes.chunks(LANES)).zip((first..).step_by(LANES));
            for ((bases, codes), first) in pieces {
                if count_pairs(bases, codes, |base, code| (base != code) | (base == N)) == 0 {
                    continue;
                }
                for (i, (base, code)) in (first..).zip(bases.iter().zip(codes)) {
                    all += u64::from(base != code);
                    if base != code || *base == N {
                        self.add_bad_cycle(read, i, context.room)?;
                    }
                }
            }
        }
        Ok(all)
    }
}
