//! Which reads of a container of CRAM are wanted.

use readmill_cram::Stop;
use readmill_format::region::Part;
use readmill_record::UncheckedRecord;

/// The reads of a container that are wanted.
#[derive(Debug)]
pub struct Selection {
    /// In order, and separate.
    pub(crate) parts: Vec<Part>,
    /// Whether reads without a contig are wanted.
    pub(crate) unplaced: bool,
    /// Number of contigs.
    pub(crate) n_ref: i32,
}

impl Selection {
    /// The place behind the last read that is wanted; `None` if reads without a contig are.
    pub(crate) fn stop(&self) -> Option<Stop> {
        let last = self.parts.last().filter(|_| !self.unplaced)?;
        Some(Stop { contig: last.contig, pos: last.end })
    }

    /// Whether a record is wanted. One that is damaged is, so that whoever checks it finds that.
    pub fn holds(&self, record: &[u8]) -> bool {
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
