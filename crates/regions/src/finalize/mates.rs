//! Qualities of bases that both reads of a pair have.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use readmill_pairwise::find_read_index;
use readmill_record::Result;

use super::clip::{check_qualities, soft_start};
use crate::CallerRead;

/// Half the Phred quality of a substitution by PCR, whose probability is 1 in 10,000. Two equal bases
/// together get the quality of one that PCR may have changed.
const MAX_SHARED_QUALITY: u8 = 20;

/// Lowers the qualities of bases that mates of a fragment share (GATK 4.6.2.0
/// `cleanOverlappingReadPairs`): to 20 if they are equal, to 0 if not. `reads` are sorted.
pub(super) fn lower_shared_qualities(reads: &mut [Arc<CallerRead>]) -> Result<()> {
    for (a, b) in find_pairs(reads) {
        let is_in_order = soft_start(&reads[a]) < soft_start(&reads[b]);
        let (first, second) = if is_in_order { (a, b) } else { (b, a) };
        let Some(shared) = find_shared_bases(&reads[first], &reads[second]) else { continue };
        check_qualities(&reads[first])?;
        check_qualities(&reads[second])?;
        lower_qualities(reads, first, second, shared);
    }
    Ok(())
}

/// Returns the indices of reads that may overlap their mates. Two reads of one name make a pair; a third
/// one waits for a fourth.
fn find_pairs(reads: &[Arc<CallerRead>]) -> Vec<(usize, usize)> {
    let (mut pairs, mut waiting) = (Vec::new(), HashMap::new());
    for (index, read) in reads.iter().enumerate() {
        if !read.flags.is_paired() || read.is_mate_unmapped() || read.mate_start > read.end() {
            continue;
        }
        match waiting.entry((read.sample, &read.name)) {
            Entry::Occupied(mate) => pairs.push((mate.remove(), index)),
            Entry::Vacant(place) => {
                place.insert(index);
            }
        }
    }
    pairs
}

/// Bases that are compared one by one, without regard to indels.
struct SharedBases {
    first_index: usize,
    second_index: usize,
    count: usize,
}

/// Returns `None` if the reads do not overlap, or only where the first one is clipped.
fn find_shared_bases(first: &CallerRead, second: &CallerRead) -> Option<SharedBases> {
    if first.end() < second.start || first.contig != second.contig {
        return None;
    }
    let find = |read: &CallerRead, position| find_read_index(soft_start(read), &read.cigar, position);
    let (first_index, operator) = find(first, second.start)?;
    if operator.is_clip() {
        return None;
    }
    let (first_end, _) = find(first, first.end())?;
    let (second_end, _) = find(second, second.end())?;
    let (second_index, _) = find(second, second.start)?;
    let count =
        (first_end + 1).saturating_sub(first_index).min((second_end + 1).saturating_sub(second_index));
    Some(SharedBases { first_index, second_index, count })
}

fn lower_qualities(reads: &mut [Arc<CallerRead>], first: usize, second: usize, shared: SharedBases) {
    let SharedBases { first_index, second_index, count } = shared;
    let Ok([first, second]) = reads.get_disjoint_mut([first, second]) else { return };
    let (first, second) = (Arc::make_mut(first), Arc::make_mut(second));
    let (in_first, in_second) = (first_index..first_index + count, second_index..second_index + count);
    let bases = first.bases[in_first.clone()].iter().zip(&second.bases[in_second.clone()]);
    let qualities = first.qualities[in_first].iter_mut().zip(&mut second.qualities[in_second]);
    for ((base, other_base), (quality, other_quality)) in bases.zip(qualities) {
        let max = if base == other_base { MAX_SHARED_QUALITY } else { 0 };
        *quality = (*quality).min(max);
        *other_quality = (*other_quality).min(max);
    }
}
