//! A stretch of records that travels through the pipeline together.

use crate::error::Result;
use crate::view::RecordRef;

/// What a record remembers of its place in the input: its ordinal, and how many records before it
/// the first record of its template stands.
///
/// Ordinals take 40 bits (10^12 records), the distance 24. A template of more records than that is
/// cut (see `readmill_format::chain`), so the distance never overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// Largest distance to the first record of a template.
    pub const MAX_LEAD: u32 = (1 << 24) - 1;

    /// The stamp of record `ordinal`, `lead` records after the first of its template.
    pub fn new(ordinal: u64, lead: u32) -> Self {
        debug_assert!(ordinal < 1 << 40 && lead <= Self::MAX_LEAD);
        Stamp(ordinal << 24 | u64::from(lead))
    }

    /// The record's number in the input, from 0, before any filter.
    pub fn ordinal(self) -> u64 {
        self.0 >> 24
    }

    /// Ordinal of the first record of its template, where the input is grouped by name.
    pub fn template(self) -> u64 {
        self.ordinal() - (self.0 & u64::from(Self::MAX_LEAD))
    }
}

/// Where one record of a batch stands.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Offset in [`Batch::bytes`].
    pub start: u32,
    /// Bytes, `block_size` included.
    pub len: u32,
    /// Its place in the input.
    pub stamp: Stamp,
}

/// Records and their order. Bytes of dropped records stay where they are until the batch is cleared.
#[derive(Default)]
pub struct Batch {
    /// The records' bytes; gaps are allowed, and spans need not be in address order.
    pub bytes: Vec<u8>,
    /// The records, in order.
    pub spans: Vec<Span>,
    spare: Vec<u8>,
}

impl Batch {
    /// A batch that will grow to about `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Batch { bytes: Vec::with_capacity(bytes), ..Batch::default() }
    }

    /// Forgets every record, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The record at `span`.
    pub fn record(&self, span: Span) -> RecordRef<'_> {
        RecordRef::new(&self.bytes[span.start as usize..][..span.len as usize])
    }

    /// The records in order, each with its stamp.
    pub fn records(&self) -> impl Iterator<Item = (Stamp, RecordRef<'_>)> {
        self.spans.iter().map(|&span| (span.stamp, self.record(span)))
    }

    /// Bytes of all records.
    pub fn record_bytes(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }

    /// Appends a record.
    pub fn push(&mut self, raw: &[u8], stamp: Stamp) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(raw);
        self.spans.push(Span { start, len: raw.len() as u32, stamp });
    }

    /// Keeps the records for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(Stamp, RecordRef<'_>) -> bool) {
        let bytes = &self.bytes;
        self.spans.retain(|span| {
            keep(span.stamp, RecordRef::new(&bytes[span.start as usize..][..span.len as usize]))
        });
    }

    /// Shows each record for changes that keep its length.
    pub fn edit(&mut self, mut change: impl FnMut(Stamp, &mut [u8])) {
        for span in &self.spans {
            change(span.stamp, &mut self.bytes[span.start as usize..][..span.len as usize]);
        }
    }

    /// Lets `write` append the new form of each record, of whatever length; nothing appended drops it.
    pub fn rewrite(
        &mut self,
        mut write: impl FnMut(Stamp, RecordRef<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut out = std::mem::take(&mut self.spare);
        out.clear();
        let bytes = &self.bytes;
        let mut failed = None;
        self.spans.retain_mut(|span| {
            let record = RecordRef::new(&bytes[span.start as usize..][..span.len as usize]);
            let start = out.len();
            if failed.is_none()
                && let Err(error) = write(span.stamp, record, &mut out)
            {
                failed = Some(error.record(span.stamp.ordinal()).qname(record.qname()));
            }
            (span.start, span.len) = (start as u32, (out.len() - start) as u32);
            span.len > 0
        });
        self.spare = std::mem::replace(&mut self.bytes, out);
        failed.map_or(Ok(()), Err)
    }

    /// Numbers the records `first, first + 1, …` and notes where each template starts: a template is
    /// a stretch of records of equal name (`*` names nothing, so such a record stands alone).
    pub fn stamp(&mut self, first: u64) {
        let (mut lead, mut previous) = (0u32, None::<Span>);
        for i in 0..self.spans.len() {
            let span = self.spans[i];
            let same = previous.is_some_and(|before| {
                let name = self.record(span).qname();
                name == self.record(before).qname() && name != b"*"
            });
            lead = if same && lead < Stamp::MAX_LEAD { lead + 1 } else { 0 };
            self.spans[i].stamp = Stamp::new(first + i as u64, lead);
            previous = Some(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edit, tag};

    fn named(name: &str) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[12] = name.len() as u8 + 1;
        raw.extend_from_slice(name.as_bytes());
        raw.push(0);
        edit::close(&mut raw, 0);
        raw
    }

    fn batch(names: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for name in names {
            batch.push(&named(name), Stamp::default());
        }
        batch
    }

    #[test]
    fn templates_are_stretches_of_one_name() {
        let mut b = batch(&["a", "a", "a", "b", "*", "*", "a"]);
        b.stamp(100);
        let templates: Vec<u64> = b.spans.iter().map(|s| s.stamp.template()).collect();
        assert_eq!(templates, [100, 100, 100, 103, 104, 105, 106]);
        let ordinals: Vec<u64> = b.spans.iter().map(|s| s.stamp.ordinal()).collect();
        assert_eq!(ordinals, (100..107).collect::<Vec<_>>());
    }

    #[test]
    fn rewriting_may_lengthen_and_drop() {
        let mut b = batch(&["a", "b", "c"]);
        b.rewrite(|_, record, out| {
            if record.qname() != b"b" {
                edit::copy_with_text(record, tag::RG, b"group", out);
            }
            Ok(())
        })
        .unwrap();
        let names: Vec<_> = b.records().map(|(_, r)| r.qname().to_vec()).collect();
        assert_eq!(names, [b"a", b"c"]);
        assert!(b.records().all(|(_, r)| r.read_group() == Some(b"group")));
    }
}
