//! Finds the reads that GATK considers well formed (4.6.2, `WellformedReadFilter`). Others are not counted,
//! and its ApplyBQSR drops them.

use readmill_record::cigar::SKIP;
use readmill_record::{Header, RecordRef};

/// Checks reads by the contigs of a header.
#[derive(Clone, Debug)]
pub struct WellFormed {
    header: Header,
}

impl WellFormed {
    /// Creates the check for reads under this header.
    pub fn new(header: &Header) -> Self {
        WellFormed { header: header.clone() }
    }

    /// Whether SEQ, CIGAR and POS agree, and the CIGAR has no skips. To be well formed, a read needs a read
    /// group and qualities, too.
    pub fn is_sound(&self, record: RecordRef<'_>) -> bool {
        let bases = record.l_seq();
        let mapped = !record.flags().is_unmapped() && record.ref_id() >= 0 && record.pos() >= 0;
        let agrees = || record.cigar().query_length() == bases as i64 && self.starts_inside(record);
        bases > 0 && (!mapped || agrees()) && record.cigar().ops().all(|(op, _)| op != SKIP)
    }

    fn starts_inside(&self, record: RecordRef<'_>) -> bool {
        let contigs = self.header.references();
        let contig = usize::try_from(record.ref_id()).ok().and_then(|id| contigs.get(id));
        contig.is_some_and(|contig| i64::from(record.pos()) < i64::from(contig.length))
    }
}
