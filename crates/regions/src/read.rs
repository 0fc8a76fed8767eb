//! A read as the caller sees it: decoded, with 1-based positions.

use readmill_pairwise::{Cigar, CigarOperator};
use readmill_record::Flags;

use crate::ContigSpan;

/// TLEN above which GATK does not look for adapter in a pileup (`DEFAULT_ADAPTOR_SIZE`).
const MAX_ADAPTER_LENGTH: i32 = 100;

/// Bytes that the allocator adds to the allocations of a read.
const ALLOCATIONS_BYTES: usize = 128;

/// A mapped read that passed the filters of HaplotypeCaller.
///
/// Records are decoded once, because later steps clip reads and change their bases' qualities. The
/// functions here are those of GATK 4.6.2.0 `ReadUtils`; positions wrap at 2^31 as in Java.
///
/// ```
/// use readmill_regions::{CallerRead, ContigSpan};
///
/// let read = CallerRead { start: 101, ..CallerRead::default() };
/// assert_eq!(read.span(), ContigSpan { start: 101, end: 100 }, "a read without reference bases is empty");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallerRead {
    /// Name, without the NUL of BAM.
    pub name: Box<[u8]>,
    /// Flags as in the record.
    pub flags: Flags,
    /// Mapping quality (Phred).
    pub mapping_quality: u8,
    /// Index of the contig in the header.
    pub contig: u32,
    /// Position of the first aligned base, 1-based.
    pub start: i32,
    /// Alignment to the contig.
    pub cigar: Cigar,
    /// Bases in upper case, with N for every code that is not A, C, G or T.
    pub bases: Vec<u8>,
    /// Base qualities (Phred), one per base.
    pub qualities: Vec<u8>,
    /// Index of the mate's contig in the header, or `None` if it has none.
    pub mate_contig: Option<u32>,
    /// Position of the mate, 1-based, or 0 if it has none.
    pub mate_start: i32,
    /// TLEN as in the record, negative for the rightmost read of a pair.
    pub template_length: i32,
    /// Index of the read group in the header.
    pub read_group: u32,
    /// Index of the sample among the sorted names of samples of the header.
    pub sample: u32,
    /// Qualities of insertions (`BI`), one per base, if the record has them.
    pub insertion_qualities: Option<Vec<u8>>,
    /// Qualities of deletions (`BD`), one per base, if the record has them.
    pub deletion_qualities: Option<Vec<u8>>,
}

impl CallerRead {
    /// Returns the number of bases, soft clips included.
    pub fn len(&self) -> usize {
        self.bases.len()
    }

    /// Returns the memory of the read in bytes, at most.
    pub fn heap_bytes(&self) -> u64 {
        let optional = [&self.insertion_qualities, &self.deletion_qualities];
        let optional: usize = optional.into_iter().flatten().map(Vec::capacity).sum();
        let text = self.name.len() + self.bases.capacity() + self.qualities.capacity() + optional;
        (size_of::<Self>() + text + ALLOCATIONS_BYTES) as u64 + 4 * self.cigar.iter().count() as u64
    }

    /// Returns whether the read has no base.
    pub fn is_empty(&self) -> bool {
        self.bases.is_empty()
    }

    /// Returns the position of the last aligned base, 1-based.
    pub fn end(&self) -> i32 {
        self.start.wrapping_add(self.cigar.reference_length() as i32).wrapping_sub(1)
    }

    /// Returns the aligned positions of the contig, without soft clips.
    pub fn span(&self) -> ContigSpan {
        ContigSpan { start: self.start, end: self.end() }
    }

    /// Returns whether the mate is unmapped: by its flag, or because it has no contig or position.
    /// Only meaningful for a paired read.
    pub fn is_mate_unmapped(&self) -> bool {
        self.flags.is_mate_unmapped() || self.mate_contig.is_none() || self.mate_start == 0
    }

    /// Returns whether TLEN and the mate say where the fragment ends: both reads are mapped to opposite
    /// strands and do not point away from each other.
    pub fn has_fragment_ends(&self) -> bool {
        let flags = self.flags;
        if self.template_length == 0
            || !flags.is_paired()
            || self.is_mate_unmapped()
            || flags.is_reverse() == flags.is_mate_reverse()
        {
            return false;
        }
        if flags.is_reverse() {
            self.end() > self.mate_start
        } else {
            self.start <= self.mate_start.wrapping_add(self.template_length)
        }
    }

    /// Returns the position of the first base beyond the end of the fragment, 1-based: adapter, if the
    /// read gets there. For a reverse read this is left of the mate's start.
    pub fn adapter_boundary(&self) -> Option<i32> {
        if !self.has_fragment_ends() {
            return None;
        }
        let boundary = if self.flags.is_reverse() {
            self.mate_start.wrapping_sub(1)
        } else {
            self.start.wrapping_add(self.template_length.wrapping_abs())
        };
        (boundary != i32::MIN).then_some(boundary) // Java's value for "unknown"
    }

    /// Returns the positions where the read is not adapter, for a pileup. GATK compares the signed TLEN
    /// with 100, so long fragments are exempt only for the leftmost read of a pair.
    pub fn span_without_adapter(&self) -> ContigSpan {
        let span = self.span();
        match self.adapter_boundary() {
            Some(boundary) if self.template_length <= MAX_ADAPTER_LENGTH => {
                if self.flags.is_reverse() {
                    ContigSpan { start: span.start.max(boundary.saturating_add(1)), end: span.end }
                } else {
                    ContigSpan { start: span.start, end: span.end.min(boundary.saturating_sub(1)) }
                }
            }
            _ => span,
        }
    }

    /// Counts the soft-clipped bases whose quality is above `threshold`. As in Java, a quality above 127
    /// is negative.
    pub fn count_soft_clips_above(&self, threshold: i8) -> u32 {
        let (mut count, mut at) = (0, 0);
        for element in &self.cigar {
            let next = at + element.read_length();
            if element.operator() == CigarOperator::SoftClip {
                let clipped = &self.qualities[at..next];
                count += clipped.iter().filter(|&&quality| quality as i8 > threshold).count();
            }
            at = next;
        }
        count as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A forward read at 101 to 150, whose mate is reverse.
    fn paired() -> CallerRead {
        CallerRead {
            flags: Flags(0x63),
            start: 101,
            cigar: "50M".parse().unwrap(),
            mate_contig: Some(0),
            mate_start: 101,
            template_length: 40,
            ..CallerRead::default()
        }
    }

    #[test]
    fn adapter_starts_where_the_fragment_ends() {
        let forward = paired();
        assert_eq!(forward.adapter_boundary(), Some(141));
        assert_eq!(forward.span_without_adapter(), ContigSpan { start: 101, end: 140 });
        let reverse = CallerRead { flags: Flags(0x53), mate_start: 111, ..paired() };
        assert_eq!(reverse.adapter_boundary(), Some(110));
        assert_eq!(reverse.span_without_adapter(), ContigSpan { start: 111, end: 150 });
        let whole = ContigSpan { start: 101, end: 150 };
        let long = CallerRead { template_length: 101, ..reverse.clone() };
        assert_eq!(long.span_without_adapter(), whole, "long fragments are exempt");
        let leftward = CallerRead { template_length: -101, ..reverse };
        assert_eq!(leftward.span_without_adapter().start, 111, "but the sign of TLEN counts");
    }

    #[test]
    fn a_mate_without_contig_or_position_is_unmapped() {
        for read in [
            CallerRead { mate_start: 0, ..paired() },
            CallerRead { mate_contig: None, ..paired() },
            CallerRead { flags: Flags(0x6b), ..paired() },
        ] {
            assert!(read.is_mate_unmapped() && read.adapter_boundary().is_none());
        }
        let unpaired = CallerRead { flags: Flags(0), ..paired() };
        let same_strand = CallerRead { flags: Flags(0x43), ..paired() };
        let away = CallerRead { template_length: -1, ..paired() };
        for read in [unpaired, same_strand, away] {
            assert_eq!(read.adapter_boundary(), None);
        }
    }

    #[test]
    fn soft_clips_count_by_signed_quality() {
        let read = CallerRead {
            cigar: "2H3S1M2I2S".parse().unwrap(),
            qualities: vec![28, 29, 200, 40, 40, 40, 40, 127],
            ..CallerRead::default()
        };
        assert_eq!(read.count_soft_clips_above(28), 3);
    }
}
