//! Places a read on the reference: determines its bases, start and CIGAR, and from these MD, NM and
//! the alignment score.

use crate::genome::Contig;
use crate::names::write_decimal;
use crate::template::Locus;
use crate::variants::{MAX_INDEL_BASES, Variant, VariantChange, Variants};

pub(crate) mod op {
    pub(crate) const MATCH: u32 = 0;
    pub(crate) const INSERTION: u32 = 1;
    pub(crate) const DELETION: u32 = 2;
    pub(crate) const SKIP: u32 = 3;
    pub(crate) const SOFT_CLIP: u32 = 4;
    pub(crate) const HARD_CLIP: u32 = 5;
}

/// Minimum number of bases that a read must have on both sides of an indel. Indels closer to the
/// ends are omitted, because aligners would clip them.
const MIN_FLANK_BASES: i64 = 8;

/// Appends an operator, or extends the last one if it is the same.
#[inline]
pub(crate) fn push_operator(cigar: &mut Vec<u32>, length: u32, operator: u32) {
    match cigar.last_mut() {
        _ if length == 0 => {}
        Some(last) if *last & 15 == operator => *last += length << 4,
        _ => cigar.push(length << 4 | operator),
    }
}

#[derive(Clone, Copy)]
pub(crate) struct SampleView<'a> {
    pub(crate) contig: &'a Contig,
    pub(crate) variants: &'a Variants,
    pub(crate) haplotype: u8,
    /// Whether the read contains indels of its haplotype, at most two.
    pub(crate) indels: bool,
}

impl SampleView<'_> {
    /// Fills `bases` with the read whose 5' end, after `clip` clipped bases, is at `locus`. Appends
    /// its operators to `cigar`, and returns the leftmost position.
    pub(crate) fn place_read(
        &self,
        locus: &Locus,
        clip: usize,
        bases: &mut [u8],
        cigar: &mut Vec<u32>,
    ) -> usize {
        let (n, max_change) = (bases.len(), 2 * MAX_INDEL_BASES as usize);
        let five = locus.five as usize;
        let (from, to) = if locus.reverse {
            let end = five + 1 - clip;
            ((end.saturating_sub(n + max_change)), end)
        } else {
            (five + clip, five + clip + n + max_change)
        };
        let variants = self.variants.within(from, to);
        if variants.is_empty() {
            let start = if locus.reverse { to - n } else { from };
            bases.copy_from_slice(&self.contig.bases[start..start + n]);
            push_operator(cigar, n as u32, op::MATCH);
            return start;
        }
        let mut chosen = Vec::new();
        let start = if locus.reverse {
            self.choose_reverse_variants(to, n, variants, &mut chosen)
        } else {
            self.choose_forward_variants(from, n, variants, &mut chosen);
            from
        };
        self.build_read(start, &chosen, bases, cigar);
        start
    }

    fn is_shown(&self, variant: &Variant, indels_so_far: u32) -> bool {
        let snp = matches!(variant.change, VariantChange::Snp(_));
        variant.haplotypes >> self.haplotype & 1 == 1 && (snp || self.indels && indels_so_far < 2)
    }

    /// Chooses the variants in a forward read of `n` bases that starts at `start`.
    fn choose_forward_variants(
        &self,
        start: usize,
        n: usize,
        list: &[Variant],
        chosen: &mut Vec<Variant>,
    ) {
        let (n, mut shift, mut indels) = (n as i64, 0, 0);
        for variant in list.iter() {
            let before = variant.position as i64 - start as i64 + shift;
            if before >= n || !self.is_shown(variant, indels) {
                continue;
            }
            let Some(change) = length_change(&variant.change, before, n) else { continue };
            shift += change;
            indels += u32::from(change != 0);
            chosen.push(*variant);
        }
    }

    /// Chooses the variants in a reverse read of `n` bases that ends at `end`. Returns its leftmost
    /// position.
    fn choose_reverse_variants(
        &self,
        end: usize,
        n: usize,
        list: &[Variant],
        chosen: &mut Vec<Variant>,
    ) -> usize {
        let (end, n, mut shift, mut indels) = (end as i64, n as i64, 0, 0);
        for variant in list.iter().rev() {
            let past = match variant.change {
                VariantChange::Snp(_) => 1,
                VariantChange::Insertion(..) => 0,
                VariantChange::Deletion(length) => i64::from(length),
            };
            let after = end - variant.position as i64 - past + shift;
            if after < 0 || after >= n || !self.is_shown(variant, indels) {
                continue;
            }
            let Some(change) = length_change(&variant.change, after, n) else { continue };
            shift += change;
            indels += u32::from(change != 0);
            chosen.push(*variant);
        }
        chosen.reverse();
        (end - (n - shift)) as usize
    }

    fn build_read(&self, start: usize, chosen: &[Variant], bases: &mut [u8], cigar: &mut Vec<u32>) {
        let reference = &self.contig.bases;
        let (mut at, mut filled) = (start, 0);
        for variant in chosen {
            let run = variant.position as usize - at;
            bases[filled..filled + run].copy_from_slice(&reference[at..at + run]);
            push_operator(cigar, run as u32, op::MATCH);
            at += run;
            filled += run;
            match variant.change {
                VariantChange::Snp(base) => {
                    bases[filled] = base;
                    push_operator(cigar, 1, op::MATCH);
                    at += 1;
                    filled += 1;
                }
                VariantChange::Insertion(inserted, length) => {
                    let length = usize::from(length);
                    bases[filled..filled + length].copy_from_slice(&inserted[..length]);
                    push_operator(cigar, length as u32, op::INSERTION);
                    filled += length;
                }
                VariantChange::Deletion(length) => {
                    push_operator(cigar, u32::from(length), op::DELETION);
                    at += usize::from(length);
                }
            }
        }
        let rest = bases.len() - filled;
        bases[filled..].copy_from_slice(&reference[at..at + rest]);
        push_operator(cigar, rest as u32, op::MATCH);
    }
}

/// Returns the number of bases by which a change lengthens the read, or `None` if it is too close
/// to an end of the read.
fn length_change(change: &VariantChange, before: i64, n: i64) -> Option<i64> {
    let change = match *change {
        VariantChange::Snp(_) => return Some(0),
        VariantChange::Insertion(_, length) => i64::from(length),
        VariantChange::Deletion(length) => -i64::from(length),
    };
    (before >= MIN_FLANK_BASES && before + change.max(0) + MIN_FLANK_BASES <= n).then_some(change)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AlignmentSummary {
    pub(crate) covered: usize,
    pub(crate) edits: u32,
    /// Alignment score as computed by bwa: 1 for a match, -4 for a mismatch, -6 for a gap and -1
    /// for each of its bases.
    pub(crate) score: u32,
}

pub(crate) fn summarize_alignment(
    cigar: &[u32],
    bases: &[u8],
    reference: &[u8],
    start: usize,
    md: &mut Vec<u8>,
) -> AlignmentSummary {
    md.clear();
    let (mut at, mut read, mut run) = (start, 0, 0);
    let (mut edits, mut score) = (0, 0i64);
    for &element in cigar {
        let (length, operator) = ((element >> 4) as usize, element & 15);
        match operator {
            op::MATCH => {
                let (ours, theirs) = (&bases[read..read + length], &reference[at..at + length]);
                let differing = write_mismatches(ours, theirs, &mut run, md);
                edits += differing;
                score += length as i64 - 5 * i64::from(differing);
                read += length;
                at += length;
            }
            op::INSERTION => {
                edits += length as u32;
                score -= 6 + length as i64;
                read += length;
            }
            op::DELETION => {
                write_decimal(run, md);
                run = 0;
                md.push(b'^');
                md.extend_from_slice(&reference[at..at + length]);
                edits += length as u32;
                score -= 6 + length as i64;
                at += length;
            }
            op::SOFT_CLIP => read += length,
            op::SKIP => at += length,
            _ => {}
        }
    }
    write_decimal(run, md);
    AlignmentSummary { covered: at - start, edits, score: score.max(0) as u32 }
}

/// Counts mismatches, comparing eight bases at a time, and appends them to `md`. `run` is the
/// number of matches since the last mismatch.
fn write_mismatches(ours: &[u8], theirs: &[u8], run: &mut u32, md: &mut Vec<u8>) -> u32 {
    let mut count = 0;
    let mut last = 0;
    let mut found = |at: usize| {
        write_decimal(*run + (at - last) as u32, md);
        md.push(theirs[at]);
        *run = 0;
        last = at + 1;
        count += 1;
    };
    let (left, right) = (ours.as_chunks::<8>(), theirs.as_chunks::<8>());
    for (i, (a, b)) in left.0.iter().zip(right.0).enumerate() {
        let mut differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        while differing != 0 {
            let byte = differing.trailing_zeros() as usize / 8;
            found(8 * i + byte);
            differing &= !(0xFF << (8 * byte));
        }
    }
    for (i, (a, b)) in left.1.iter().zip(right.1).enumerate() {
        if a != b {
            found(8 * left.0.len() + i);
        }
    }
    *run += (ours.len() - last) as u32;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn md_of(cigar: &[(u32, u32)], bases: &[u8], reference: &[u8]) -> (String, AlignmentSummary) {
        let cigar: Vec<u32> = cigar.iter().map(|&(n, o)| n << 4 | o).collect();
        let mut md = Vec::new();
        let summary = summarize_alignment(&cigar, bases, reference, 0, &mut md);
        (String::from_utf8(md).expect("ASCII"), summary)
    }

    #[test]
    fn matches_and_mismatches() {
        let (md, s) = md_of(&[(2, 4), (10, 0)], b"TTACGTACGTAC", b"CCGTACGTAG");
        assert_eq!(md, "0C8G0");
        assert_eq!(s, AlignmentSummary { covered: 10, edits: 2, score: 0 });
    }

    #[test]
    fn insertions_are_not_written_and_deletions_are() {
        let (md, s) =
            md_of(&[(4, 0), (2, 1), (4, 0), (3, 2), (2, 0)], b"ACGTTTACGTAC", b"ACGTACGTGGGTC");
        assert_eq!(md, "8^GGG0T1");
        assert_eq!(s.edits, 6);
        assert_eq!(s.covered, 13);
    }
}
