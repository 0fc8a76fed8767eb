//! Records as they were read from a file, before their bytes are checked.

use crate::batch::{Batch, Span, Stamp};
use crate::error::{Error, Result};
use crate::view::{FIXED_BYTES, RecordRef};

/// The bytes of one record before they are checked, `block_size` included.
///
/// No accessor can fail on damaged bytes. [`UncheckedRecord::check`] is the only way to a [`RecordRef`],
/// so a damaged record is found before any code uses its fields:
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
    pub fn new(raw: &'a [u8]) -> Self {
        UncheckedRecord(raw)
    }

    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns the read name without its NUL, for error messages. The result is empty if the record has
    /// no name or ends before the end of its name.
    pub fn name(self) -> &'a [u8] {
        let length = self.0.get(12).map_or(0, |&length| usize::from(length));
        let name = self.0.get(FIXED_BYTES..FIXED_BYTES + length).unwrap_or_default();
        name.split_last().map_or(name, |(_, name)| name)
    }

    /// Checks the whole record, for a file with `n_ref` reference sequences.
    ///
    /// # Errors
    /// Fails if the lengths do not add up, or a reference sequence is not in the header.
    #[inline]
    pub fn check(self, n_ref: i32) -> std::result::Result<RecordRef<'a>, &'static str> {
        RecordRef::check(self.0, n_ref).map(|()| RecordRef::new(self.0))
    }

    /// Checks everything except the optional fields ([`RecordRef::check_without_fields`]), which the
    /// caller must then not read.
    ///
    /// # Errors
    /// Fails if the lengths do not add up, or a reference sequence is not in the header.
    #[inline]
    pub fn check_without_fields(self, n_ref: i32) -> std::result::Result<RecordRef<'a>, &'static str> {
        RecordRef::check_without_fields(self.0, n_ref).map(|()| RecordRef::new(self.0))
    }
}

/// Records as they were read, in order. [`UncheckedBatch::check`] turns them into a [`Batch`] without
/// copying.
#[derive(Default)]
pub struct UncheckedBatch(Batch);

impl UncheckedBatch {
    /// Returns an empty batch that reuses the buffers of `memory`. The old bytes stay until the reader
    /// overwrites them.
    pub fn in_memory_of(mut memory: Batch) -> Self {
        memory.spans.clear();
        UncheckedBatch(memory)
    }

    pub fn into_memory(mut self) -> Batch {
        self.0.spans.clear();
        self.0
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    pub fn spans(&self) -> &[Span] {
        &self.0.spans
    }

    pub fn parts_mut(&mut self) -> (&mut Vec<u8>, &mut Vec<Span>) {
        (&mut self.0.bytes, &mut self.0.spans)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn record_bytes(&self) -> u64 {
        self.0.record_bytes()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// Fails if the batch would become larger than 4 GiB.
    pub fn push(&mut self, record: UncheckedRecord<'_>, stamp: Stamp) -> Result<()> {
        self.0.push(record.raw(), stamp)
    }

    pub fn record(&self, span: Span) -> UncheckedRecord<'_> {
        UncheckedRecord(&self.0.bytes[span.start as usize..][..span.len as usize])
    }

    pub fn records(&self) -> impl Iterator<Item = UncheckedRecord<'_>> {
        self.0.spans.iter().map(|&span| self.record(span))
    }

    /// Checks every record and returns them as a batch.
    ///
    /// # Errors
    /// Fails at the first damaged record. The error contains its number, counted from `first`, and its
    /// name.
    pub fn check(self, first: u64, n_ref: i32) -> Result<Batch> {
        self.check_each(first, |record| record.check(n_ref).map(drop))
    }

    /// Checks every record except its optional fields ([`RecordRef::check_without_fields`]).
    ///
    /// # Errors
    /// Fails at the first damaged record. The error contains its number, counted from `first`, and its
    /// name.
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
        let mut raw = vec![0; FIXED_BYTES];
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
            (Some(12), "the read name does not end with a NUL") // messages count from 1
        );
    }
}
