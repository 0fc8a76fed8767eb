//! The aligned blocks of a read, and the number of its bases that differ from the reference.

use readmill_record::Result;

use crate::counts::count_pairs;
use crate::read::PreparedRead;
use crate::reference::{ReferenceContigs, ReferencePages};

/// Maximum number of bases that are compared at a time. A page of the reference window has at least
/// as many.
pub(crate) const BASES_AT_ONCE: usize = 1 << 12;

/// An aligned block: bases of the read that a CIGAR operation M, = or X aligns to the reference.
pub(crate) struct AlignedBlock {
    /// The first base of the block in the read (0-based), and its position on the contig (0-based).
    pub base: usize,
    pub at: u32,
    pub length: usize,
}

/// Calls `see` for each aligned block of a read. Blocks are cut at the end of the read's bases and,
/// if `contig` is given, at this length of the contig. Returns the number of insertions and
/// deletions.
pub(crate) fn for_each_block(
    read: &PreparedRead<'_>,
    contig: Option<u32>,
    mut see: impl FnMut(AlignedBlock) -> Result<()>,
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
                    see(AlignedBlock { base, at, length: n.min(left).min(on_contig) })?;
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

/// Returns the number of bases of a mapped read that differ from the reference. It is counted once
/// per read and then shared by all programs.
pub(crate) fn count_mismatches(
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
            let codes = pages.window_of(reference).codes(contig, at, at + bases.len() as u32)?;
            mismatches += count_pairs(bases, codes, |base, code| base != code);
        }
        Ok(())
    })?;
    read.note_mismatches(mismatches);
    Ok(mismatches)
}
