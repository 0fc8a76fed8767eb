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
    /// Number of reasons.
    pub const COUNT: usize = Rejection::Malformed as usize + 1;
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
