//! The aligned blocks of a read, and how many of its bases differ from the reference.

use readmill_record::Result;

use crate::counts::count_pairs;
use crate::read::PreparedRead;
use crate::reference::{ReferenceContigs, ReferencePages};

/// Bases of the reference that are looked at together: no more than one of its pages.
pub(crate) const BASES_AT_ONCE: usize = 1 << 12;

/// An aligned block: bases of the read beside bases of the reference.
pub(crate) struct Block {
    /// Where it starts in the read, and on the contig.
    pub base: usize,
    pub at: u32,
    pub length: usize,
}

/// Gives the aligned blocks of a read to `see`, cut to the bases of the read and to a contig of this length. Returns the
/// number of insertions and deletions.
pub(crate) fn for_each_block(
    read: &PreparedRead<'_>,
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

/// Returns how many bases of a mapped read differ from the reference. They are counted at most once for all programs.
pub(crate) fn mismatches(
    read: &PreparedRead<'_>,
    reference: &ReferenceContigs,
    pages: &mut ReferencePages,
) -> Result<u64> {
    if let Some(known) = read.known_mismatches() {
        return Ok(known);
    }
    let Some((contig, length)) = reference.place(read.record.ref_id())? else { return Ok(0) };
    let mut mismatches = 0;
    for_each_block(read, Some(length), |block| {
        let bases = &read.bases[block.base.min(read.bases.len())..][..block.length];
        for (at, bases) in (block.at..).step_by(BASES_AT_ONCE).zip(bases.chunks(BASES_AT_ONCE)) {
            let codes = pages.of(reference).codes(contig, at, at + bases.len() as u32)?;
            mismatches += count_pairs(bases, codes, |base, code| base != code);
        }
        Ok(())
    })?;
    read.note_mismatches(mismatches);
    Ok(mismatches)
}
