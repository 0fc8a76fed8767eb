//! Selects the wanted reads of a CRAM container.

use readmill_cram::Stop;
use readmill_format::region::ContigPart;
use readmill_record::UncheckedRecord;

/// Selects the reads of one or several regions from a CRAM container.
///
/// A CRAM index names containers, not reads, so the container of a region also has reads outside
/// it. The [`Claim`](crate::Claim) of the container carries the selection, and the
/// [`Opener`](crate::Opener) drops the other reads after decoding.
#[derive(Debug)]
pub struct ContainerSelection {
    /// Regions in header order, without overlaps.
    pub(crate) parts: Vec<ContigPart>,
    pub(crate) unplaced: bool,
    pub(crate) n_ref: i32,
}

impl ContainerSelection {
    /// Returns the end of the last region, where decoding may stop; `None` if reads without a
    /// contig are selected, which are last in the file.
    pub(crate) fn decode_stop(&self) -> Option<Stop> {
        let last = self.parts.last().filter(|_| !self.unplaced)?;
        Some(Stop { contig: last.contig, pos: last.end })
    }

    /// Returns whether a raw BAM record is selected. A damaged record is, so that its damage is
    /// reported later.
    pub fn is_wanted(&self, record: &[u8]) -> bool {
        let Ok(record) = UncheckedRecord::new(record).check_without_fields(self.n_ref) else {
            return true;
        };
        let Ok(contig) = u32::try_from(record.ref_id()) else { return self.unplaced };
        let pos = i64::from(record.pos());
        let next = self.parts.partition_point(|part| (part.contig, part.end) <= (contig, pos));
        let next = self.parts.get(next).filter(|part| part.contig == contig);
        next.is_some_and(|part| part.overlaps(pos, record.end()))
    }
}
