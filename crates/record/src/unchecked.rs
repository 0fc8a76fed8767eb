//! Records as they were read: bytes that nobody has checked yet.

use crate::batch::{Batch, Span, Stamp};
use crate::error::{Error, Result};
use crate::view::{FIXED, RecordRef};

/// The bytes of one record before they are checked, `block_size` included.
///
/// It has no accessor that can fail on damaged bytes. [`UncheckedRecord::check`] is the way to a [`RecordRef`], so a
/// damaged record is found before anything looks into it:
///
/// ```
/// use readmill_record::UncheckedRecord;
///
/// let mut raw = vec![0; 40];
/// raw[0] = 36; // block_size
/// raw[12] = 4; // l_read_name
/// raw[36..39].copy_from_slice(b"abc");
/// assert_eq!(UncheckedRecord::new(&raw).check(1).unwrap().qname(), b"abc");
///
/// raw[12] = 254; // longer than the record
/// assert_eq!(UncheckedRecord::new(&raw).name(), b"");
/// assert!(UncheckedRecord::new(&raw).check(1).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UncheckedRecord<'a>(&'a [u8]);

impl<'a> UncheckedRecord<'a> {
    /// Wraps any bytes.
    pub fn new(raw: &'a [u8]) -> Self {
        UncheckedRecord(raw)
    }

    /// The bytes as they were read.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns the read name without its NUL; nothing if the record has no name or ends inside it.
    pub fn name(self) -> &'a [u8] {
        let length = self.0.get(12).map_or(0, |&length| usize::from(length));
        let name = self.0.get(FIXED..FIXED + length).unwrap_or_default();
        name.split_last().map_or(name, |(_, name)| name)
    }

    /// Checks all of the record, for a file with `n_ref` reference sequences.
    ///
    /// # Errors
    /// The lengths do not add up, or an identifier does not exist.
    #[inline]
    pub fn check(self, n_ref: i32) -> std::result::Result<RecordRef<'a>, &'static str> {
        RecordRef::check(self.0, n_ref).map(|()| RecordRef::new(self.0))
    }

    /// Checks all but the optional fields ([`RecordRef::check_without_fields`]), which the caller must not read.
    ///
    /// # Errors
    /// The lengths do not add up, or an identifier does not exist.
    #[inline]
    pub fn check_without_fields(self, n_ref: i32) -> std::result::Result<RecordRef<'a>, &'static str> {
        RecordRef::check_without_fields(self.0, n_ref).map(|()| RecordRef::new(self.0))
    }
}

/// Records as they were read, in order. [`UncheckedBatch::check`] makes a [`Batch`] of them.
#[derive(Default)]
pub struct UncheckedBatch(Batch);

impl UncheckedBatch {
    /// An empty batch in the memory of another one, whose bytes stay until they are replaced.
    pub fn reuse(mut memory: Batch) -> Self {
        memory.spans.clear();
        UncheckedBatch(memory)
    }

    /// Gives the memory back, without the records.
    pub fn into_memory(mut self) -> Batch {
        self.0.spans.clear();
        self.0
    }

    /// Bytes of the records; gaps are allowed, and spans need not be in address order.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The places of the records, in order.
    pub fn spans(&self) -> &[Span] {
        &self.0.spans
    }

    /// The bytes and the places, to fill.
    pub fn parts_mut(&mut self) -> (&mut Vec<u8>, &mut Vec<Span>) {
        (&mut self.0.bytes, &mut self.0.spans)
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all records.
    pub fn record_bytes(&self) -> u64 {
        self.0.record_bytes()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// The batch would become larger than 4 GiB.
    pub fn push(&mut self, record: UncheckedRecord<'_>, stamp: Stamp) -> Result<()> {
        self.0.push(record.raw(), stamp)
    }

    /// The record at `span`.
    pub fn record(&self, span: Span) -> UncheckedRecord<'_> {
        UncheckedRecord(&self.0.bytes[span.start as usize..][..span.len as usize])
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = UncheckedRecord<'_>> {
        self.0.spans.iter().map(|&span| self.record(span))
    }

    /// Checks every record.
    ///
    /// # Errors
    /// The error names the first bad record, counted from `first`.
    pub fn check(self, first: u64, n_ref: i32) -> Result<Batch> {
        self.check_each(first, |record| record.check(n_ref).map(drop))
    }

    /// Checks every record apart from its optional fields ([`RecordRef::check_without_fields`]).
    ///
    /// # Errors
    /// The error names the first bad record, counted from `first`.
    pub fn check_without_fields(self, first: u64, n_ref: i32) -> Result<Batch> {
        self.check_each(first, |record| record.check_without_fields(n_ref).map(drop))
    }

    #[inline]
    fn check_each(
        self,
        first: u64,
        check: impl Fn(UncheckedRecord<'_>) -> std::result::Result<(), &'static str>,
    ) -> Result<Batch> {
        for (number, record) in (first..).zip(self.records()) {
            check(record).map_err(|what| Error::input(what).record(number).qname(record.name()))?;
        }
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name_length: u8, name: &[u8]) -> Vec<u8> {
        let mut raw = vec![0; FIXED];
        raw.extend_from_slice(name);
        raw[0] = (raw.len() - 4) as u8;
        raw[12] = name_length;
        raw
    }

    /// Guards against a former defect: the name was read before it was checked.
    #[test]
    fn a_name_that_is_empty_or_longer_than_the_record_reads_as_none() {
        for raw in [
            record(0, b""),
            record(254, b"abc\0"),
            record(5, b"abc\0"),
            record(1, b""),
            vec![],
            vec![7; 12],
        ] {
            assert_eq!(UncheckedRecord::new(&raw).name(), b"", "{raw:?}");
            assert!(UncheckedRecord::new(&raw).check(1).is_err(), "{raw:?}");
        }
        assert_eq!(UncheckedRecord::new(&record(4, b"abc\0")).name(), b"abc");
        assert_eq!(UncheckedRecord::new(&record(1, b"\0")).name(), b"");
        assert!(UncheckedRecord::new(&record(1, b"\0")).check(1).is_ok());
    }

    #[test]
    fn a_batch_with_a_damaged_record_names_its_number() {
        let mut batch = UncheckedBatch::default();
        for raw in [record(4, b"abc\0"), record(0, b"")] {
            batch.push(UncheckedRecord::new(&raw), Stamp::default()).unwrap();
        }
        let error = batch.check(10, 1).map(|_| ()).unwrap_err();
        assert_eq!(
            (error.place.record, error.what.as_str()),
            (Some(12), "the read name is not terminated") // messages count from 1
        );
    }
}
