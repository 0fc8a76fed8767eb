//! A record's place in the order as a number: smaller sorts first, equal keys keep input order.

use readmill_record::RecordRef;

/// An order of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they came in.
    Input,
    /// By reference sequence (none last), position, strand; as `samtools sort`.
    Coordinate,
}

impl Order {
    /// The key of `record` in a file with `n_ref` reference sequences.
    ///
    /// Coordinate (samtools `bam_sort.c`, read at 1.23): 31 bits of reference sequence, where none
    /// counts as one past the last; 32 bits of position + 1; the record's own reverse bit. Nothing
    /// else: whether a read is mapped plays no part.
    pub fn key(self, record: RecordRef<'_>, n_ref: i32) -> u64 {
        match self {
            Order::Input => 0,
            Order::Coordinate => {
                let ref_id = if record.ref_id() < 0 { n_ref } else { record.ref_id() };
                let pos = (i64::from(record.pos()) + 1) as u64;
                (ref_id as u64) << 33 | pos << 1 | u64::from(record.flags().is_reverse())
            }
        }
    }
}
