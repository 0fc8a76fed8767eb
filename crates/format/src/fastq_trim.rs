//! Clips and trims reads before they are written as FASTQ, by the rules of Picard SamToFastq 3.4.0.

use std::ops::Range;

use readmill_record::RecordRef;
use readmill_record::tag::Tag;

/// The changes to a read before it is written. They are applied in the order of Picard SamToFastq 3.4.0:
///
/// 1. clip at the position in an optional field (`clip`),
/// 2. remove bases at the start (`skip`),
/// 3. trim low qualities at the end (`quality`),
/// 4. limit the length (`max_bases`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FastqTrim {
    /// Clip reads at the position in an optional field (`CLIPPING_ATTRIBUTE`).
    pub clip: Option<FastqClip>,
    /// Number of bases to remove at the start: of single reads and read 1, and of read 2.
    pub skip: [usize; 2],
    /// Phred threshold for trimming low qualities at the end with bwa's algorithm, which leaves at
    /// least one base.
    pub quality: Option<i32>,
    /// Maximum length in bases: of single reads and read 1, and of read 2.
    pub max_bases: [Option<usize>; 2],
    /// Write reads in the direction of the alignment instead of sequencing direction.
    pub as_aligned: bool,
}

/// Where reads are clipped, and what happens to the clipped bases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastqClip {
    /// The optional field with the position of the first clipped base, 1-based in sequencing direction.
    pub tag: Tag,
    pub action: ClipAction,
    /// Minimum position, 1-based (`CLIPPING_MIN_LENGTH`). Smaller values in the field are raised to it.
    pub min_position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClipAction {
    Cut,
    Mask,
    Quality(u8),
}

impl FastqTrim {
    pub fn is_nothing(&self) -> bool {
        *self == FastqTrim::default()
    }

    /// Clips and trims a read in place. `bases` and `qualities` (Phred + 33) are in sequencing
    /// direction. Returns the range that remains.
    pub fn trim_read(
        &self,
        record: RecordRef<'_>,
        bases: &mut [u8],
        qualities: &mut [u8],
    ) -> Range<usize> {
        let flags = record.flags();
        let kept =
            self.clip.as_ref().map_or(bases.len(), |clip| clip.clip_read(record, bases, qualities));
        if self.as_aligned && flags.is_reverse() {
            bases[..kept].reverse();
            bases[..kept].iter_mut().for_each(|base| *base = complement_letter(*base));
            qualities[..kept].reverse();
        }
        let end = usize::from(flags.is_paired() && flags.is_last());
        let start = self.skip[end].min(kept);
        let mut length = kept - start;
        if let Some(quality) = self.quality {
            length = length.min(quality_trim_point(&qualities[start..kept], quality).max(1));
        }
        start..start + self.max_bases[end].map_or(length, |max_bases| length.min(max_bases))
    }
}

impl FastqClip {
    /// Clips the read in place. Returns how many bases remain from its start; `Mask` and `Quality` keep
    /// all of them.
    fn clip_read(&self, record: RecordRef<'_>, bases: &mut [u8], qualities: &mut [u8]) -> usize {
        let place = record.field(self.tag).and_then(|field| field.integer());
        let Some(place) = place else { return bases.len() };
        let place = usize::try_from(place).unwrap_or(0);
        let place = if place < self.min_position { bases.len().min(self.min_position) } else { place };
        let kept = place.saturating_sub(1).min(bases.len());
        match self.action {
            ClipAction::Cut => return kept,
            ClipAction::Mask => bases[kept..].fill(b'N'),
            ClipAction::Quality(quality) => qualities[kept..].fill(quality + b'!'),
        }
        bases.len()
    }
}

/// Returns the number of bases that remain after trimming low qualities at the end with bwa's algorithm,
/// as implemented by `TrimmingUtil` of htsjdk 4.2.0.
fn quality_trim_point(qualities: &[u8], min_quality: i32) -> usize {
    let (mut score, mut max_score, mut point) = (0_i32, 0, qualities.len());
    if min_quality < 1 {
        return 0;
    }
    for (at, &letter) in qualities.iter().enumerate().rev() {
        // Java's integers wrap around, so a huge threshold cuts only the last base.
        score = score.wrapping_add(min_quality.wrapping_sub(i32::from(letter) - i32::from(b'!')));
        if score < 0 {
            break;
        }
        if score > max_score {
            (max_score, point) = (score, at);
        }
    }
    point
}

fn complement_letter(base: u8) -> u8 {
    use readmill_record::bases::{CODES, COMPLEMENTS};
    COMPLEMENTS[usize::from(CODES[usize::from(base)])]
}

#[cfg(test)]
mod tests {
    use readmill_record::Header;

    use super::*;
    use crate::sam::LineParser;

    /// Returns the remaining bases and qualities of a read. Its bases are ACGTA, or TACGT if it is
    /// reversed.
    fn trimmed(trim: &FastqTrim, flags: u16, field: &str) -> String {
        let header = Header::parse(b"").unwrap();
        let mut raw = Vec::new();
        let line = format!("r\t{flags}\t*\t0\t0\t*\t*\t0\t0\tACGTA\t5678!{field}");
        LineParser::new(&header).parse(line.as_bytes(), &mut raw).unwrap();
        let record = RecordRef::new(&raw);
        let (mut bases, mut qualities) = (Vec::new(), Vec::new());
        crate::fastq::push_read_in_read_order(record, &mut bases, &mut qualities);
        let kept = trim.trim_read(record, &mut bases, &mut qualities);
        let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
        format!("{} {}", text(&bases[kept.clone()]), text(&qualities[kept]))
    }

    fn clip(action: ClipAction, min_position: usize) -> FastqTrim {
        FastqTrim { clip: Some(FastqClip { tag: *b"XT", action, min_position }), ..FastqTrim::default() }
    }

    #[test]
    fn clips_are_cut_masked_or_given_a_quality() {
        assert_eq!(trimmed(&clip(ClipAction::Cut, 0), 4, "\tXT:i:3"), "AC 56");
        assert_eq!(trimmed(&clip(ClipAction::Mask, 0), 4, "\tXT:i:3"), "ACNNN 5678!");
        assert_eq!(trimmed(&clip(ClipAction::Quality(2), 0), 4, "\tXT:i:3"), "ACGTA 56###");
        assert_eq!(trimmed(&clip(ClipAction::Cut, 0), 4, ""), "ACGTA 5678!");
        assert_eq!(trimmed(&clip(ClipAction::Cut, 0), 4, "\tXT:i:9"), "ACGTA 5678!");
        assert_eq!(
            trimmed(&clip(ClipAction::Cut, 4), 4, "\tXT:i:2"),
            "ACG 567",
            "one base less, as Picard"
        );
        assert_eq!(trimmed(&clip(ClipAction::Cut, 9), 4, "\tXT:i:2"), "ACGT 5678");
        assert_eq!(trimmed(&clip(ClipAction::Cut, 0), 16, "\tXT:i:3"), "TA !8", "by sequencing");
        let as_aligned = FastqTrim { as_aligned: true, ..clip(ClipAction::Cut, 0) };
        assert_eq!(trimmed(&as_aligned, 16, "\tXT:i:3"), "TA 8!");
    }

    #[test]
    fn ends_are_trimmed_by_number_and_quality() {
        let ends = FastqTrim { skip: [1, 2], max_bases: [Some(2), None], ..FastqTrim::default() };
        assert_eq!(trimmed(&ends, 4, ""), "CG 67");
        assert_eq!(trimmed(&ends, 77, ""), "CG 67");
        assert_eq!(trimmed(&ends, 141, ""), "GTA 78!");
        assert_eq!(trimmed(&FastqTrim { skip: [9, 0], ..FastqTrim::default() }, 4, ""), " ");
        let quality = |min_quality| FastqTrim { quality: Some(min_quality), ..FastqTrim::default() };
        assert_eq!(trimmed(&quality(10), 4, ""), "ACGT 5678");
        assert_eq!(trimmed(&quality(40), 4, ""), "A 5");
        assert_eq!(trimmed(&quality(0), 4, ""), "A 5", "as Picard");
    }

    #[test]
    fn a_quality_near_32_bits_trims_one_base_as_picard() {
        for min_quality in [i32::MAX, 1_200_000_000] {
            let quality = FastqTrim { quality: Some(min_quality), ..FastqTrim::default() };
            assert_eq!(trimmed(&quality, 4, ""), "ACGT 5678", "{min_quality}");
        }
    }
}
