//! Batches of records, which go through the steps of the pipeline together.

use crate::error::{Error, Result};
use crate::view::RecordRef;

/// The position of a record in the input: its ordinal, and its distance from the first record of its
/// template.
///
/// Both are packed into one number, so that stamps sort in input order: 40 bits for the ordinal (10^12
/// records), 24 bits for the distance. A template with more records is split (see
/// `readmill_format::chain`), so the distance never overflows.
///
/// ```
/// use readmill_record::Stamp;
///
/// let second = Stamp::new(100, 1); // record 100, which follows the first record of its template
/// assert_eq!((second.ordinal(), second.template()), (100, 99));
/// assert!(Stamp::new(99, 0) < second);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    pub const MAX_TEMPLATE_DISTANCE: u32 = (1 << 24) - 1;

    pub fn new(ordinal: u64, lead: u32) -> Self {
        debug_assert!(ordinal < 1 << 40 && lead <= Self::MAX_TEMPLATE_DISTANCE);
        Stamp(ordinal << 24 | u64::from(lead))
    }

    /// Adds `base` to the ordinal. A run on disk stores ordinals relative to its first record, and the
    /// merge turns them back into ordinals of the input.
    #[must_use]
    pub fn with_base(self, base: u64) -> Self {
        Stamp(self.0 + (base << 24))
    }

    /// Returns the record's number in the input, from 0, before any filter. Messages show it counted
    /// from 1.
    pub fn ordinal(self) -> u64 {
        self.0 >> 24
    }

    /// Returns the ordinal of the first record of the template, if the input is grouped by name.
    pub fn template(self) -> u64 {
        self.ordinal() - (self.0 & u64::from(Self::MAX_TEMPLATE_DISTANCE))
    }
}

/// The byte range of one record in a batch, and the record's position in the input.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub start: u32,
    pub len: u32,
    pub stamp: Stamp,
}

impl Span {
    /// Returns the span of a record of `len` bytes at offset `start`.
    ///
    /// # Errors
    /// Fails if the record would end beyond 4 GiB, because offsets have 32 bits.
    pub fn new(start: usize, len: usize, stamp: Stamp) -> Result<Self> {
        match u32::try_from(start.saturating_add(len)) {
            Ok(end) => Ok(Span { start: end - len as u32, len: len as u32, stamp }),
            Err(_) => Err(Error::input("records that must stay together take more than 4 GiB")),
        }
    }
}

/// [`Batch::amend_records`] appends the changed records if at most one record in this many changes;
/// otherwise it rewrites the batch.
const MIN_RECORDS_PER_AMEND: usize = 8;

/// Records in order, as they go through the steps of the pipeline.
///
/// The bytes of all records are in one buffer, and a list of spans gives the order. Dropping a record
/// only removes its span; a record whose length changes is appended to the buffer:
///
/// ```text
/// bytes:  | r0 | old r1 | r2 | new r1 |
///         0    40       84   124
/// spans:  [0: r0]  [124: new r1]  [84: r2]
/// ```
///
/// ```
/// use readmill_record::{Batch, Stamp, edit};
///
/// let mut raw = vec![0; 38]; // 36 bytes of fixed fields, and the name "r" with its NUL
/// (raw[12], raw[36]) = (2, b'r');
/// edit::set_block_size(&mut raw, 0); // sets block_size
///
/// let mut batch = Batch::default();
/// for ordinal in 0..3 {
///     batch.push(&raw, Stamp::new(ordinal, 0))?;
/// }
/// batch.edit_in_place(|_, raw| edit::set_mapq(raw, 60));
/// batch.retain(|stamp, record| stamp.ordinal() != 1 && record.mapq() == 60);
/// assert_eq!(batch.len(), 2);
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Default)]
pub struct Batch {
    /// Bytes of the records. Gaps are allowed, and spans need not be in address order.
    pub bytes: Vec<u8>,
    pub spans: Vec<Span>,
    spare_bytes: Vec<u8>,
    spare_spans: Vec<Span>,
    /// Whether `spans` holds only the records of one slice ([`Batch::for_each_slice`]).
    is_slice: bool,
}

impl Batch {
    pub fn with_capacity(bytes: usize) -> Self {
        Batch { bytes: Vec::with_capacity(bytes), ..Batch::default() }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn record(&self, span: Span) -> RecordRef<'_> {
        RecordRef::new(&self.bytes[span.start as usize..][..span.len as usize])
    }

    pub fn records(&self) -> impl Iterator<Item = (Stamp, RecordRef<'_>)> {
        self.spans.iter().map(|&span| (span.stamp, self.record(span)))
    }

    /// Removes the records before the batch returns to a pool, and frees the buffer if its capacity
    /// exceeds `max_bytes` bytes. The buffer keeps its old contents, so that a reader can fill it again
    /// without zeroing it first.
    pub fn clear_for_reuse(&mut self, max_bytes: usize) {
        self.spans.clear();
        if self.bytes.capacity() > max_bytes {
            self.bytes = Vec::new();
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        let spans = (self.spans.capacity() + self.spare_spans.capacity()) * size_of::<Span>();
        (self.bytes.capacity() + self.spare_bytes.capacity() + spans) as u64
    }

    pub fn largest_record(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).max().unwrap_or(0)
    }

    /// Returns the sum of the lengths of all records. Gaps in the buffer are not counted.
    pub fn record_bytes(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// Fails if the batch would become larger than 4 GiB.
    pub fn push(&mut self, raw: &[u8], stamp: Stamp) -> Result<()> {
        self.spans.push(Span::new(self.bytes.len(), raw.len(), stamp)?);
        self.bytes.extend_from_slice(raw);
        Ok(())
    }

    pub fn retain(&mut self, mut keep: impl FnMut(Stamp, RecordRef<'_>) -> bool) {
        let bytes = &self.bytes;
        self.spans.retain(|span| {
            keep(span.stamp, RecordRef::new(&bytes[span.start as usize..][..span.len as usize]))
        });
    }

    /// Calls `change` with the bytes of each record. The length of a record cannot change.
    pub fn edit_in_place(&mut self, mut change: impl FnMut(Stamp, &mut [u8])) {
        for span in &self.spans {
            change(span.stamp, &mut self.bytes[span.start as usize..][..span.len as usize]);
        }
    }

    /// Replaces each record with the bytes that `write` appends, or drops it if `write` appends nothing.
    /// Not allowed inside [`Batch::for_each_slice`], because the records of the other slices would be
    /// lost.
    ///
    /// # Errors
    /// Fails if `write` fails or the batch would become larger than 4 GiB. The error contains the
    /// record's number and name.
    pub fn rewrite_records(
        &mut self,
        mut write: impl FnMut(Stamp, RecordRef<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if self.is_slice {
            return Err(Error::bug(
                "a step that handles single records tried to rewrite the whole batch",
            ));
        }
        let mut out = std::mem::take(&mut self.spare_bytes);
        out.clear();
        let bytes = &self.bytes;
        let mut failed = None;
        self.spans.retain_mut(|span| {
            let record = RecordRef::new(&bytes[span.start as usize..][..span.len as usize]);
            if failed.is_some() {
                return false;
            }
            let start = out.len();
            let written = write(span.stamp, record, &mut out)
                .and_then(|()| Span::new(start, out.len() - start, span.stamp));
            match written {
                Ok(written) => *span = written,
                Err(error) => failed = Some(error.record(span.stamp.ordinal()).qname(record.qname())),
            }
            failed.is_none() && span.len > 0
        });
        self.spare_bytes = std::mem::replace(&mut self.bytes, out);
        failed.map_or(Ok(()), Err)
    }

    /// Calls `work` on `records` records at a time, so that they stay in the CPU caches during all
    /// steps. `work` may drop records, change them in place, or [amend](Batch::amend_records) them.
    pub fn for_each_slice(
        &mut self,
        records: usize,
        mut work: impl FnMut(&mut Batch) -> Result<()>,
    ) -> Result<()> {
        let mut all = std::mem::take(&mut self.spans);
        let mut kept = std::mem::take(&mut self.spare_spans);
        kept.clear();
        self.is_slice = true;
        let max_bytes = self.bytes.len() / 2 * 3;
        let (mut from, mut outcome) = (0, Ok(()));
        while from < all.len() && outcome.is_ok() {
            let to = all.len().min(from + records);
            self.spans.clear();
            self.spans.extend_from_slice(&all[from..to]);
            outcome = work(self);
            kept.extend_from_slice(&self.spans);
            from = to;
            if self.bytes.len() > max_bytes {
                outcome = outcome.and(self.copy_without_gaps(kept.iter_mut().chain(&mut all[from..])));
            }
        }
        self.is_slice = false;
        (self.spans, self.spare_spans) = (kept, all);
        outcome
    }

    /// Copies the records to a new buffer without gaps, once amended records have left many gaps.
    fn copy_without_gaps<'a>(&mut self, spans: impl Iterator<Item = &'a mut Span>) -> Result<()> {
        let mut out = std::mem::take(&mut self.spare_bytes);
        out.clear();
        for span in spans {
            let moved = Span::new(out.len(), span.len as usize, span.stamp)?;
            out.extend_from_slice(&self.bytes[span.start as usize..][..span.len as usize]);
            *span = moved;
        }
        self.spare_bytes = std::mem::replace(&mut self.bytes, out);
        Ok(())
    }

    /// Returns the indexes in `spans` of the records for which `holds` returns true, for
    /// [`Batch::amend_records`].
    pub fn find_positions(&self, mut holds: impl FnMut(RecordRef<'_>) -> bool) -> Vec<u32> {
        let at = self.spans.iter().zip(0..).filter(|&(&span, _)| holds(self.record(span)));
        at.map(|(_, at)| at).collect()
    }

    /// Replaces the records at `positions`, which must be in ascending order, with the bytes that
    /// `write` appends. If `write` appends nothing, the record is dropped.
    ///
    /// If few records change, their new bytes are appended to the buffer and all other records stay in
    /// place. If many change, the whole batch is rewritten.
    pub fn amend_records(
        &mut self,
        positions: &[u32],
        mut write: impl FnMut(Stamp, RecordRef<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if self.is_slice || positions.len() <= self.len() / MIN_RECORDS_PER_AMEND {
            let bytes = positions.iter().map(|&at| self.spans[at as usize].len as usize).sum();
            self.bytes.reserve_exact(bytes);
            let mut dropped = false;
            for &at in positions {
                dropped |= self.append_replacement(at as usize, &mut write)? == 0;
            }
            if dropped {
                self.spans.retain(|span| span.len > 0);
            }
            return Ok(());
        }
        let (mut at, mut next) = (0, positions.iter().peekable());
        self.rewrite_records(|stamp, record, out| {
            at += 1;
            if next.next_if(|&&position| position + 1 == at).is_some() {
                return write(stamp, record, out);
            }
            out.extend_from_slice(record.raw());
            Ok(())
        })
    }

    fn append_replacement(
        &mut self,
        at: usize,
        write: &mut impl FnMut(Stamp, RecordRef<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<usize> {
        let mut out = std::mem::take(&mut self.spare_bytes);
        out.clear();
        let span = self.spans[at];
        let record = self.record(span);
        self.spans[at] = write(span.stamp, record, &mut out)
            .and_then(|()| Span::new(self.bytes.len(), out.len(), span.stamp))
            .map_err(|error| error.record(span.stamp.ordinal()).qname(record.qname()))?;
        self.bytes.extend_from_slice(&out);
        let bytes = out.len();
        self.spare_bytes = out;
        Ok(bytes)
    }

    /// Numbers the records `first, first + 1, …` and treats each as its own template. For input that is
    /// not grouped by name.
    pub fn number_records(&mut self, first: u64) {
        for (i, span) in self.spans.iter_mut().enumerate() {
            span.stamp = Stamp::new(first + i as u64, 0);
        }
    }

    /// Numbers the records `first, first + 1, …` and stores where each template starts. A template
    /// consists of consecutive records with the same name. A record named `*` has no name and is its own
    /// template.
    pub fn stamp_templates(&mut self, first: u64) {
        let (mut lead, mut previous) = (0u32, None::<Span>);
        for i in 0..self.spans.len() {
            let span = self.spans[i];
            let same = previous.is_some_and(|before| {
                let name = self.record(span).qname();
                name == self.record(before).qname() && name != b"*"
            });
            lead = if same && lead < Stamp::MAX_TEMPLATE_DISTANCE { lead + 1 } else { 0 };
            self.spans[i].stamp = Stamp::new(first + i as u64, lead);
            previous = Some(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edit, tag};

    /// Guards against a former defect: lengths were truncated to 32 bits, so spans pointed at other
    /// records.
    #[test]
    fn a_span_beyond_four_gigabytes_is_refused() {
        let max_bytes = u32::MAX as usize;
        let span = Span::new(max_bytes - 40, 40, Stamp::new(7, 0)).unwrap();
        assert_eq!((span.start, span.len, span.stamp.ordinal()), (u32::MAX - 40, 40, 7));
        for (start, len) in
            [(max_bytes - 39, 40), (max_bytes + 1, 0), (0, max_bytes + 1), (usize::MAX, 2)]
        {
            let error = Span::new(start, len, Stamp::default()).unwrap_err();
            assert!(error.what.contains("more than 4 GiB"), "{error}");
        }
    }

    fn named(name: &str) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[12] = name.len() as u8 + 1;
        raw.extend_from_slice(name.as_bytes());
        raw.push(0);
        edit::set_block_size(&mut raw, 0);
        raw
    }

    fn batch(names: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for name in names {
            batch.push(&named(name), Stamp::default()).unwrap();
        }
        batch
    }

    #[test]
    fn templates_are_runs_of_one_name() {
        let mut b = batch(&["a", "a", "a", "b", "*", "*", "a"]);
        b.stamp_templates(100);
        let templates: Vec<u64> = b.spans.iter().map(|s| s.stamp.template()).collect();
        assert_eq!(templates, [100, 100, 100, 103, 104, 105, 106]);
        let ordinals: Vec<u64> = b.spans.iter().map(|s| s.stamp.ordinal()).collect();
        assert_eq!(ordinals, (100..107).collect::<Vec<_>>());
    }

    #[test]
    fn slices_are_dropped_from_and_changed_in_place() {
        let names: Vec<String> = (0..25).map(|i| format!("read{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut b = batch(&names);
        for round in 0..2 {
            let mut sizes = Vec::new();
            b.for_each_slice(10, |few| {
                sizes.push(few.len());
                few.retain(|_, record| !record.qname().ends_with(b"7"));
                few.edit_in_place(|_, raw| edit::set_mapq(raw, 30));
                Ok(())
            })
            .unwrap();
            assert_eq!(sizes, [[10, 10, 5], [10, 10, 3]][round]);
        }
        let left: Vec<_> = b.records().map(|(_, r)| (r.qname(), r.mapq())).collect();
        let expected = names.iter().filter(|name| !name.ends_with('7'));
        assert_eq!(left, expected.map(|name| (name.as_bytes(), 30)).collect::<Vec<_>>());
        assert!(b.for_each_slice(10, |_| Err(Error::input("wrong"))).is_err());
        let rewriting = |few: &mut Batch| few.rewrite_records(|_, _, _| Ok(()));
        assert!(b.for_each_slice(10, rewriting).unwrap_err().to_string().contains("rewrite"));
        b.rewrite_records(|_, _, _| Ok(())).unwrap();
        assert!(b.is_empty());
    }

    #[test]
    fn amended_bytes_in_slices_do_not_accumulate() {
        let names: Vec<String> = (0..1000).map(|i| format!("read{i}")).collect();
        let mut b = batch(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let before = b.bytes.len();
        b.for_each_slice(10, |few| {
            for tag in [*b"XA", *b"XB", *b"XA"] {
                let all = few.find_positions(|record| !record.qname().ends_with(b"5"));
                few.amend_records(&all, |_, record, out| {
                    edit::copy_with_text(record, tag, b"1", out);
                    Ok(())
                })?;
            }
            Ok(())
        })
        .unwrap();
        assert!(b.bytes.len() < 2 * before, "{} of {before}", b.bytes.len());
        for ((_, record), name) in b.records().zip(&names) {
            assert_eq!(record.qname(), name.as_bytes());
            let fields: &[u8] = if name.ends_with('5') { b"" } else { b"XAZ1\0XBZ1\0" };
            assert_eq!(record.field_bytes(), fields);
        }
        assert_eq!(b.len(), 1000);
    }

    #[test]
    fn few_are_amended_behind_the_others_and_many_by_a_rewrite() {
        let names: Vec<String> = (0..40).map(|i| format!("read{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for chosen in
            [vec![], vec![0], vec![3, 39], vec![0, 1, 2, 3, 4], (0..40).collect(), (5..12).collect()]
        {
            let mut b = batch(&names);
            let before = b.bytes.clone();
            b.amend_records(&chosen, |_, record, out| {
                if record.qname() != b"read3" {
                    edit::copy_with_text(record, tag::RG, b"group", out);
                }
                Ok(())
            })
            .unwrap();
            let expected = (0..40).filter(|at| *at != 3 || !chosen.contains(at));
            let expected: Vec<_> = expected
                .map(|at| (names[at as usize].as_bytes(), chosen.contains(&at).then_some(&b"group"[..])))
                .collect();
            let left: Vec<_> = b.records().map(|(_, r)| (r.qname(), r.read_group())).collect();
            assert_eq!(left, expected, "{chosen:?}");
            assert_eq!(
                b.bytes.starts_with(&before),
                chosen.len() <= 40 / MIN_RECORDS_PER_AMEND,
                "{chosen:?}"
            );
        }
        let mut b = batch(&names);
        let wrong = b.amend_records(&[7], |_, _, _| Err(Error::input("wrong"))).unwrap_err();
        assert!(wrong.to_string().contains("read7"), "{wrong}");
    }

    #[test]
    fn rewriting_may_lengthen_and_drop() {
        let mut b = batch(&["a", "b", "c"]);
        b.rewrite_records(|_, record, out| {
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
