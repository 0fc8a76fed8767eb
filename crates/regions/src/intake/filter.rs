//! The read filters of HaplotypeCaller.

use readmill_pairwise::{Cigar, CigarOperator, is_good_cigar};
use readmill_record::RecordRef;

const MIN_MAPPING_QUALITY: u8 = 20;
const UNAVAILABLE_MAPPING_QUALITY: u8 = 255;
/// First quality of a record without qualities.
const ABSENT_QUALITY: u8 = 255;

/// Why a read is not used: the first filter of HaplotypeCaller that it fails, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// Its mapping quality is below 20.
    LowMappingQuality,
    /// Its mapping quality is 255.
    NoMappingQuality,
    /// It is unmapped, or has no contig or position.
    Unmapped,
    /// It is a secondary alignment.
    Secondary,
    /// It is marked as a duplicate.
    Duplicate,
    /// It failed the checks of the sequencer (flag 0x200).
    FailedChecks,
    /// No base of the reference is aligned.
    NoReferenceBases,
    /// Its CIGAR is invalid, has neighbouring insertions and deletions, or starts or ends with a
    /// deletion.
    BadCigar,
    /// It starts beyond the contig, has no read group, no bases or qualities, a CIGAR of another length,
    /// or a skipped region (N).
    Malformed,
}

impl Rejection {
    /// All reasons, in the order of the filters.
    pub const ALL: [Rejection; 9] = [
        Rejection::LowMappingQuality,
        Rejection::NoMappingQuality,
        Rejection::Unmapped,
        Rejection::Secondary,
        Rejection::Duplicate,
        Rejection::FailedChecks,
        Rejection::NoReferenceBases,
        Rejection::BadCigar,
        Rejection::Malformed,
    ];

    /// Returns the name of the filter, as in the log of GATK.
    pub fn filter_name(self) -> &'static str {
        match self {
            Rejection::LowMappingQuality => "MappingQualityReadFilter",
            Rejection::NoMappingQuality => "MappingQualityAvailableReadFilter",
            Rejection::Unmapped => "MappedReadFilter",
            Rejection::Secondary => "NotSecondaryAlignmentReadFilter",
            Rejection::Duplicate => "NotDuplicateReadFilter",
            Rejection::FailedChecks => "PassesVendorQualityCheckReadFilter",
            Rejection::NoReferenceBases => "NonZeroReferenceLengthAlignmentReadFilter",
            Rejection::BadCigar => "GoodCigarReadFilter",
            Rejection::Malformed => "WellformedReadFilter",
        }
    }
}

/// Numbers of records that passed the filters of a run, and that failed them.
///
/// Records that overlap no interval are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntakeCounts {
    passed: u64,
    rejected: [u64; Rejection::ALL.len()],
}

impl IntakeCounts {
    /// Returns the number of records that passed all filters. Downsampling may still remove some.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the number of records that failed this filter first.
    pub fn rejected(&self, rejection: Rejection) -> u64 {
        self.rejected[rejection as usize]
    }

    pub(super) fn add_passed(&mut self) {
        self.passed += 1;
    }

    pub(super) fn add_rejected(&mut self, rejection: Rejection) {
        self.rejected[rejection as usize] += 1;
    }
}

/// Returns the first filter that the record fails by its fields before the CIGAR.
pub(super) fn find_rejection_by_fields(record: RecordRef<'_>) -> Option<Rejection> {
    let flags = record.flags();
    let tests = [
        (record.mapq() < MIN_MAPPING_QUALITY, Rejection::LowMappingQuality),
        (record.mapq() == UNAVAILABLE_MAPPING_QUALITY, Rejection::NoMappingQuality),
        (flags.is_unmapped() || record.ref_id() < 0 || record.pos() < 0, Rejection::Unmapped),
        (flags.is_secondary(), Rejection::Secondary),
        (flags.is_duplicate(), Rejection::Duplicate),
        (flags.is_qc_fail(), Rejection::FailedChecks),
    ];
    tests.into_iter().find(|&(fails, _)| fails).map(|(_, rejection)| rejection)
}

/// Returns the first filter that a record fails by its alignment. `contig_lengths` are those of the
/// header.
pub(super) fn find_rejection_by_alignment(
    record: RecordRef<'_>,
    cigar: &Cigar,
    contig_lengths: &[i32],
) -> Option<Rejection> {
    if cigar.reference_length() == 0 {
        Some(Rejection::NoReferenceBases)
    } else if !is_good_cigar(cigar) {
        Some(Rejection::BadCigar)
    } else if !is_well_formed(record, cigar, contig_lengths) {
        Some(Rejection::Malformed)
    } else {
        None
    }
}

/// GATK 4.6.2.0 `WellformedReadFilter`, for a mapped read. GATK's lengths wrap at 2^31; here such a
/// read is malformed, because its CIGAR does not describe its bases.
fn is_well_formed(record: RecordRef<'_>, cigar: &Cigar, contig_lengths: &[i32]) -> bool {
    let contig_length = contig_lengths.get(record.ref_id() as usize);
    let end = record.pos() as usize + cigar.reference_length();
    end < i32::MAX as usize
        && contig_length.is_some_and(|&length| record.pos() < length)
        && record.read_group().is_some()
        && record.qual().first().is_some_and(|&quality| quality != ABSENT_QUALITY)
        && record.l_seq() == cigar.read_length()
        && !cigar.iter().any(|element| element.operator() == CigarOperator::Skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed_in_their_order() {
        let mut counts = IntakeCounts::default();
        for (number, rejection) in (1..).zip(Rejection::ALL) {
            (0..number).for_each(|_| counts.add_rejected(rejection));
        }
        assert_eq!(counts.rejected, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(Rejection::ALL.map(|rejection| counts.rejected(rejection)).is_sorted());
    }
}
