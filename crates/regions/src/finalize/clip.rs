//! Clips of a read, as GATK's `ReadClipper` makes them.

use std::ops::Range;
use std::sync::Arc;

use readmill_pairwise::{CigarError, CigarOperator, clip_cigar, count_clipped_start, find_read_index};
use readmill_record::{Error, Result};

use crate::{CallerRead, ContigSpan};

/// Phred quality of an insertion or a deletion for a read that has only one of `BI` and `BD`.
const DEFAULT_INDEL_QUALITY: u8 = 45;

/// A read after a clip, or `None` if no base is left.
pub(super) type Clipped = Result<Option<Arc<CallerRead>>>;

/// Removes the bases `clipped`, 0-based, which reach the start or the end of the read.
fn hard_clip(read: Arc<CallerRead>, clipped: Range<usize>) -> Clipped {
    let length = read.len() - clipped.len();
    if length == 0 {
        return Ok(None);
    }
    let mut read = Arc::unwrap_or_clone(read);
    let cigar = clip_cigar(&read.cigar, clipped.clone(), CigarOperator::HardClip);
    let cigar = cigar.map_err(|error| cigar_error(&read, &error))?;
    let kept = if clipped.start == 0 { clipped.end..clipped.end + length } else { 0..length };
    if read.insertion_qualities.is_some() || read.deletion_qualities.is_some() {
        clip_indel_qualities(&mut read, kept.clone())?;
    }
    if clipped.start == 0 {
        read.start += count_clipped_start(&read.cigar, clipped.end) as i32;
    }
    read.cigar = cigar;
    keep_range(&mut read.bases, kept.clone());
    keep_range(&mut read.qualities, kept);
    check_qualities(&read)?;
    Ok(Some(Arc::new(read)))
}

fn keep_range(values: &mut Vec<u8>, kept: Range<usize>) {
    values.truncate(kept.end);
    values.drain(..kept.start);
}

/// Clips `BI` and `BD`. GATK writes both, even if the read has only one of them.
fn clip_indel_qualities(read: &mut CallerRead, kept: Range<usize>) -> Result<()> {
    let (name, length) = (&read.name, read.bases.len());
    for values in [&mut read.insertion_qualities, &mut read.deletion_qualities] {
        let values = values.get_or_insert_with(|| vec![DEFAULT_INDEL_QUALITY; length]);
        if values.len() < kept.end {
            return Err(Error::input("BI or BD has fewer qualities than the read has bases").qname(name));
        }
        keep_range(values, kept.clone());
    }
    Ok(())
}

/// Checks what GATK checks whenever it replaces the qualities of a read.
///
/// # Errors
/// A quality is above 127.
pub(super) fn check_qualities(read: &CallerRead) -> Result<()> {
    match read.qualities.iter().find(|&&quality| quality > 127) {
        Some(bad) => {
            Err(Error::input(format!("a base quality is {bad}: the maximum is 127")).qname(&read.name))
        }
        None => Ok(()),
    }
}

fn cigar_error(read: &CallerRead, error: &CigarError) -> Error {
    Error::input(format!("cannot clip the CIGAR {}: {error}", read.cigar)).qname(&read.name)
}

/// Aligns soft-clipped bases. Those that lie before the first position of the contig are removed.
pub(super) fn revert_soft_clips(read: Arc<CallerRead>) -> Clipped {
    let is_clip =
        |index: usize| read.cigar.get(index).is_some_and(|element| element.operator().is_clip());
    if !is_clip(0) && !is_clip(read.cigar.len().wrapping_sub(1)) {
        return Ok(Some(read));
    }
    let start = soft_start(&read);
    let cigar = readmill_pairwise::revert_soft_clips(&read.cigar);
    let cigar = cigar.map_err(|error| cigar_error(&read, &error))?;
    let mut read = Arc::unwrap_or_clone(read);
    (read.cigar, read.start) = (cigar, start.max(1));
    if start > 0 {
        return Ok(Some(Arc::new(read)));
    }
    let overhang = (1 - start) as usize;
    let mut clipped = hard_clip(Arc::new(read), 0..overhang)?;
    if let Some(read) = &mut clipped {
        Arc::make_mut(read).start = 1;
    }
    Ok(clipped)
}

/// Removes soft-clipped bases.
pub(super) fn clip_soft_clipped(read: Arc<CallerRead>) -> Clipped {
    let (leading, trailing) = (read.cigar.leading_soft_clip(), read.cigar.trailing_soft_clip());
    clip_ends(read, leading, trailing)
}

/// Removes bases at both ends whose quality is at most `max_quality`. As in Java, a quality above 127 is
/// negative.
pub(super) fn clip_low_quality_ends(read: Arc<CallerRead>, max_quality: i8) -> Clipped {
    let is_low = |quality: &&u8| **quality as i8 <= max_quality;
    let trailing = read.qualities.iter().rev().take_while(is_low).count();
    if trailing == read.len() {
        return Ok(None);
    }
    let leading = read.qualities.iter().take_while(is_low).count();
    clip_ends(read, leading, trailing)
}

/// Removes `trailing` bases at the end, then `leading` bases at the start.
fn clip_ends(mut read: Arc<CallerRead>, leading: usize, trailing: usize) -> Clipped {
    if trailing > 0 {
        let length = read.len();
        match hard_clip(read, length - trailing..length)? {
            Some(clipped) => read = clipped,
            None => return Ok(None),
        }
    }
    if leading == 0 { Ok(Some(read)) } else { hard_clip_start(read, leading) }
}

fn hard_clip_start(read: Arc<CallerRead>, count: usize) -> Clipped {
    let count = count.min(read.len());
    hard_clip(read, 0..count)
}

/// Removes the bases beyond the end of the fragment: adapter.
pub(super) fn clip_adapter(read: Arc<CallerRead>) -> Clipped {
    let span = read.span();
    match read.adapter_boundary() {
        Some(boundary) if span.start <= boundary && boundary <= span.end => {
            if read.flags.is_reverse() {
                clip_until(read, boundary)
            } else {
                clip_from(read, boundary)
            }
        }
        _ => Ok(Some(read)),
    }
}

/// Removes the bases outside `span`.
pub(super) fn clip_to_span(read: Arc<CallerRead>, span: ContigSpan) -> Clipped {
    let aligned = read.span();
    if !aligned.overlaps(span) {
        return Ok(None);
    }
    let (starts_before, ends_after) = (aligned.start < span.start, aligned.end > span.end);
    let read = if ends_after { clip_from(read, span.end + 1)? } else { Some(read) };
    match read {
        // A deletion at the first cut may have ended the read before the second.
        Some(read) if starts_before && ends_after && span.start - 1 > read.end() => Ok(None),
        Some(read) if starts_before => clip_until(read, span.start - 1),
        read => Ok(read),
    }
}

/// Removes the bases up to `position`, which is part of the read.
fn clip_until(read: Arc<CallerRead>, position: i32) -> Clipped {
    let Some((index, operator)) = find_read_index(soft_start(&read), &read.cigar, position) else {
        return Ok(Some(read));
    };
    // In a deletion, the index is that of the base after it.
    match index + usize::from(operator.consumes_read()) {
        0 => Ok(Some(read)),
        end if end > read.len() => Err(unclippable(&read, position)),
        end => hard_clip(read, 0..end),
    }
}

/// Removes the bases from `position` on, which is part of the read.
fn clip_from(read: Arc<CallerRead>, position: i32) -> Clipped {
    match find_read_index(soft_start(&read), &read.cigar, position) {
        None => Ok(Some(read)),
        Some((index, _)) if index >= read.len() => Err(unclippable(&read, position)),
        Some((index, _)) => {
            let length = read.len();
            hard_clip(read, index..length)
        }
    }
}

fn unclippable(read: &CallerRead, position: i32) -> Error {
    let what = format!("cannot clip the read with the CIGAR {} at position {position}", read.cigar);
    Error::input(what).qname(&read.name)
}

/// Returns the position of the first base if soft clips were aligned, 1-based. It may be 0 or negative.
pub(super) fn soft_start(read: &CallerRead) -> i32 {
    read.start - read.cigar.leading_soft_clip() as i32
}
