//! Batches of reads before alignment: names, bases and qualities, as in FASTQ.
//!
//! The readers of FASTQ fill such a batch; trimming changes it in place; the aligner reads it. Data that
//! few inputs need (optional fields, flags, adapters, index reads) is kept in separate lists, which
//! otherwise stay empty.

use std::ops::Range;

/// Reads of consecutive templates in input order. The reads of one template are adjacent, with read 1
/// first.
///
/// The lines of the files are kept as one text, and spans point into it, so that reading FASTQ copies no
/// bases. Trimming only moves the borders of a span.
///
/// ```
/// use readmill_record::{Read, ReadBatch};
///
/// let mut reads = ReadBatch::new(2, 0); // pairs, from the first template of the input on
/// for name in [b"r1", b"r1"] {
///     reads.push_read(Read { name, comment: b"", bases: b"ACGTT", qualities: Some(b"IIII#") });
/// }
/// reads.trim_read(1, 0..4); // the last base of the second read
/// assert_eq!((reads.template_count(), reads.len(), reads.base_count()), (1, 2, 9));
/// assert_eq!(reads.read(1).qualities, Some(&b"IIII"[..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBatch {
    text: Vec<u8>,
    spans: Vec<ReadSpan>,
    /// Offset and length of the optional fields of each read in the text; may be shorter than `spans`.
    fields: Vec<(u32, u32)>,
    /// FLAG bits that records get in addition to the aligner's; may be shorter than `spans`.
    flags: Vec<u16>,
    /// First base of the adapter in each read, 1-based, or 0 for none; may be shorter than `spans`.
    adapters: Vec<u32>,
    index: Vec<ReadSpan>,
    index_reads: usize,
    singles: Option<Box<BatchSingles>>,
    /// For a batch of single reads: the number of pairs that precede each read in the file.
    pairs_before: Vec<u32>,
    /// For a batch of single reads: whether each read is read 2 of its template.
    are_last: Vec<bool>,
    segments: usize,
    first_template: u64,
}

/// The single reads among the pairs of a batch, for files in which some mates are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchSingles {
    pub reads: ReadBatch,
    /// 0-based number in the file of the first read of the batch, paired or single.
    pub first_read: u64,
}

/// Byte offsets and lengths of the parts of one read in the text of its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSpan {
    pub name: u32,
    pub name_len: u32,
    pub comment: u32,
    pub comment_len: u32,
    pub bases: u32,
    pub len: u32,
    pub qualities: u32,
}

impl ReadSpan {
    /// Value of `qualities` for a read without qualities (FASTA, or SAM with `*`).
    pub const NONE: u32 = u32::MAX;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read<'a> {
    /// QNAME as in the file, including a `/1` or `/2` at its end.
    pub name: &'a [u8],
    pub comment: &'a [u8],
    pub bases: &'a [u8],
    /// Phred + 33, one for each base; `None` if the input has no qualities.
    pub qualities: Option<&'a [u8]>,
}

impl ReadBatch {
    /// Returns an empty batch for templates of `segments` reads each (1 or 2). `first` is the 0-based
    /// number of its first template in the input.
    pub fn new(segments: usize, first: u64) -> Self {
        ReadBatch { segments, first_template: first, ..ReadBatch::default() }
    }

    pub fn reset(&mut self, segments: usize, first: u64) {
        self.text.clear();
        self.spans.clear();
        self.fields.clear();
        self.flags.clear();
        self.adapters.clear();
        self.index.clear();
        self.index_reads = 0;
        self.singles = None;
        self.pairs_before.clear();
        self.are_last.clear();
        (self.segments, self.first_template) = (segments, first);
    }

    /// Allows single reads among the pairs ([`ReadBatch::push_single`]). `first_read` is the 0-based
    /// number in the file of the first read of this batch.
    pub fn allow_singles(&mut self, first_read: u64) {
        let reads = ReadBatch::new(1, self.first_template);
        self.singles = Some(Box::new(BatchSingles { reads, first_read }));
    }

    /// Adds a copy of a single read after the pairs so far. `is_last` tells whether it is read 2 of
    /// a template without read 1. Does nothing unless [`ReadBatch::allow_singles`] was called.
    pub fn push_single(&mut self, read: Read<'_>, is_last: bool) {
        let pairs = self.template_count() as u32;
        if let Some(singles) = &mut self.singles {
            singles.reads.push_read(read);
            singles.reads.pairs_before.push(pairs);
            singles.reads.are_last.push(is_last);
        }
    }

    pub fn push_single_copy(&mut self, from: &ReadBatch, index: usize) {
        let pairs = self.template_count() as u32;
        if let Some(singles) = &mut self.singles {
            singles.reads.push_copy(from, index);
            singles.reads.pairs_before.push(pairs);
            singles.reads.are_last.push(from.segment_of(index) == 1);
        }
    }

    /// Returns 0 for read 1 of its template and 1 for read 2, also if the mate is missing.
    pub fn segment_of(&self, index: usize) -> usize {
        let in_pair = index % self.segments.max(1);
        self.are_last.get(index).map_or(in_pair, |&is_last| is_last.into())
    }

    pub fn pairs_before(&self, index: usize) -> usize {
        self.pairs_before.get(index).map_or(0, |&pairs| pairs as usize)
    }

    /// Returns the single reads among the pairs, or `None` if all templates have the same number of
    /// reads.
    pub fn singles(&self) -> Option<&BatchSingles> {
        self.singles.as_deref()
    }

    pub fn is_mixed(&self) -> bool {
        self.singles.is_some() || !self.pairs_before.is_empty()
    }

    pub fn max_read_length(&self) -> usize {
        self.spans.iter().map(|span| span.len as usize).max().unwrap_or(0)
    }

    /// Takes out the single reads, so that they can be changed as a batch; [`ReadBatch::set_singles`]
    /// puts them back.
    pub fn take_singles(&mut self) -> Option<Box<BatchSingles>> {
        self.singles.take()
    }

    pub fn set_singles(&mut self, singles: Option<Box<BatchSingles>>) {
        self.singles = singles;
    }

    pub fn template_count_with_singles(&self) -> usize {
        self.template_count() + self.singles().map_or(0, |singles| singles.reads.len())
    }

    /// Iterates over pairs and single reads in file order. Each item is a batch (this one, or the batch
    /// of single reads) and the index of a read in it.
    pub fn iter_in_file_order(&self) -> impl Iterator<Item = (&ReadBatch, usize)> {
        let singles = self.singles().map(|singles| &singles.reads).into_iter();
        let mut lone =
            singles.flat_map(|it| it.pairs_before.iter().zip(0..).map(move |at| (at, it))).peekable();
        let (mut at, segments) = (0, self.segments.max(1));
        std::iter::from_fn(move || {
            let is_due = |((before, _), _): &((&u32, usize), &ReadBatch)| {
                at >= self.len() || at.is_multiple_of(segments) && **before as usize * segments <= at
            };
            if let Some(((_, index), reads)) = lone.next_if(is_due) {
                return Some((reads, index));
            }
            at += 1;
            (at <= self.len()).then(|| (self, at - 1))
        })
    }

    pub fn expect_index_reads(&mut self, count: usize) {
        self.index_reads = count;
    }

    /// Adds an index read at `span` of the text. Index reads must be added in template order, all index
    /// reads of a template together.
    pub fn push_index_span(&mut self, span: ReadSpan) {
        self.index.push(span);
    }

    /// Returns the index reads of a template, given by its number in this batch. Returns none after
    /// [`ReadBatch::drop_index_reads`].
    pub fn index_reads(&self, template: usize) -> impl ExactSizeIterator<Item = Read<'_>> {
        let start = template * self.index_reads;
        self.index
            .get(start..start + self.index_reads)
            .unwrap_or_default()
            .iter()
            .map(|span| self.read_at_span(span))
    }

    /// Removes the index reads, once their barcodes are optional fields of the reads.
    pub fn drop_index_reads(&mut self) {
        self.index.clear();
        self.index_reads = 0;
    }

    /// Returns the text, to append lines to it. Bytes to which spans point must not change.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    pub fn spans(&self) -> &[ReadSpan] {
        &self.spans
    }

    pub fn push_span(&mut self, span: ReadSpan) {
        self.spans.push(span);
    }

    /// Adds a copy of a read. The text must stay below 4 GiB, because spans have 32-bit offsets.
    pub fn push_read(&mut self, read: Read<'_>) {
        let mut place = |bytes: &[u8]| {
            let start = self.text.len() as u32;
            self.text.extend_from_slice(bytes);
            start
        };
        let span = ReadSpan {
            name: place(read.name),
            name_len: read.name.len() as u32,
            comment: place(read.comment),
            comment_len: read.comment.len() as u32,
            bases: place(read.bases),
            len: read.bases.len() as u32,
            qualities: read.qualities.map_or(ReadSpan::NONE, place),
        };
        self.spans.push(span);
    }

    pub fn trim_read(&mut self, index: usize, bases: Range<usize>) {
        let span = &mut self.spans[index];
        let kept = bases.start.min(span.len as usize)..bases.end.min(span.len as usize);
        span.bases += kept.start as u32;
        span.len = kept.len() as u32;
        if span.qualities != ReadSpan::NONE {
            span.qualities += kept.start as u32;
        }
    }

    pub fn trim_name(&mut self, index: usize, len: usize) {
        let span = &mut self.spans[index];
        span.name_len = span.name_len.min(len as u32);
    }

    pub fn qualities_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let span = &self.spans[index];
        let place = span.qualities as usize..span.qualities as usize + span.len as usize;
        (span.qualities != ReadSpan::NONE).then(|| &mut self.text[place])
    }

    /// Sets base `at` of read `index`, and its quality if the read has any. A position after the end is
    /// ignored.
    pub fn set_base(&mut self, index: usize, at: usize, base: u8, quality: u8) {
        let span = &self.spans[index];
        if at >= span.len as usize {
            return;
        }
        self.text[span.bases as usize + at] = base;
        if span.qualities != ReadSpan::NONE {
            self.text[span.qualities as usize + at] = quality;
        }
    }

    /// Keeps the templates for which `stays` returns true when given their number in this batch. All
    /// single reads among the pairs are kept.
    pub fn retain_templates(&mut self, stays: impl Fn(usize) -> bool) {
        fn retain<T>(list: &mut Vec<T>, segments: usize, stays: &impl Fn(usize) -> bool) {
            let mut index = 0;
            list.retain(|_| {
                index += 1;
                stays((index - 1) / segments)
            });
        }
        let segments = self.segments.max(1);
        if (0..self.template_count()).all(&stays) {
            return;
        }
        if let Some(singles) = &mut self.singles {
            let (mut at, mut kept) = (0, 0);
            for before in &mut singles.reads.pairs_before {
                kept += (at..*before).filter(|&pair| stays(pair as usize)).count() as u32;
                (at, *before) = (*before, kept);
            }
        }
        retain(&mut self.spans, segments, &stays);
        retain(&mut self.fields, segments, &stays);
        retain(&mut self.flags, segments, &stays);
        retain(&mut self.adapters, segments, &stays);
        retain(&mut self.pairs_before, segments, &stays);
        retain(&mut self.are_last, segments, &stays);
        retain(&mut self.index, self.index_reads.max(1), &stays);
    }

    /// Sets the number of the first template. It is smaller than the number in the input if templates
    /// before this batch were dropped.
    pub fn set_first_template(&mut self, first: u64) {
        self.first_template = first;
    }

    /// Sets the optional fields of the next read that has none yet. `place` is their range in the text,
    /// which holds them as BAM stores them. All records of the read get these fields.
    pub fn push_fields(&mut self, place: Range<u32>) {
        self.fields.push((place.start, place.end - place.start));
    }

    pub fn fields(&self, index: usize) -> &[u8] {
        self.fields.get(index).map_or(&[], |&(start, len)| self.text_part(start, len))
    }

    pub fn push_flags(&mut self, flags: u16) {
        self.flags.push(flags);
    }

    pub fn flags(&self, index: usize) -> u16 {
        self.flags.get(index).copied().unwrap_or(0)
    }

    pub fn set_adapter_start(&mut self, index: usize, start: Option<usize>) {
        if self.adapters.len() <= index {
            if start.is_none() {
                return;
            }
            self.adapters.resize(index + 1, 0);
        }
        self.adapters[index] = start.map_or(0, |start| start as u32 + 1);
    }

    /// Returns the first base of the adapter in read `index`, 1-based (the value of `XT`), or `None`.
    pub fn adapter_start(&self, index: usize) -> Option<u32> {
        self.adapters.get(index).copied().filter(|&start| start > 0)
    }

    /// Returns the size in bytes of the text and of all lists, for the ledger. Unused capacity is not
    /// counted.
    pub fn data_bytes(&self) -> usize {
        self.text.len()
            + size_of_val(&self.spans[..])
            + size_of_val(&self.fields[..])
            + size_of_val(&self.flags[..])
            + size_of_val(&self.adapters[..])
            + size_of_val(&self.index[..])
            + self.singles().map_or(0, |it| it.reads.data_bytes())
            + size_of_val(&self.pairs_before[..])
            + size_of_val(&self.are_last[..])
    }

    pub fn segments(&self) -> usize {
        self.segments
    }

    pub fn first_template(&self) -> u64 {
        self.first_template
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn template_count(&self) -> usize {
        self.spans.len() / self.segments.max(1)
    }

    pub fn base_count(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }

    pub fn read(&self, index: usize) -> Read<'_> {
        self.read_at_span(&self.spans[index])
    }

    fn read_at_span(&self, span: &ReadSpan) -> Read<'_> {
        Read {
            name: self.text_part(span.name, span.name_len),
            comment: self.text_part(span.comment, span.comment_len),
            bases: self.text_part(span.bases, span.len),
            qualities: (span.qualities != ReadSpan::NONE)
                .then(|| self.text_part(span.qualities, span.len)),
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Read<'_>> {
        (0..self.len()).map(|index| self.read(index))
    }

    /// Returns a copy of the templates with these numbers in the batch, without their index reads.
    pub fn copy_templates(&self, templates: Range<usize>) -> ReadBatch {
        let mut part = ReadBatch::new(self.segments, self.first_template + templates.start as u64);
        for index in templates.start * self.segments..templates.end * self.segments {
            part.push_copy(self, index);
        }
        part
    }

    /// Adds a copy of a read of another batch, with its optional fields, flags and adapter.
    pub fn push_copy(&mut self, from: &ReadBatch, index: usize) {
        self.push_read(from.read(index));
        self.flags.extend(from.flags.get(index));
        if let Some(start) = from.adapter_start(index) {
            self.set_adapter_start(self.len() - 1, Some(start as usize - 1));
        }
        if !from.fields.is_empty() {
            let start = self.text.len() as u32;
            self.text.extend_from_slice(from.fields(index));
            self.push_fields(start..self.text.len() as u32);
        }
    }

    fn text_part(&self, start: u32, len: u32) -> &[u8] {
        &self.text[start as usize..start as usize + len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str) -> Read<'static> {
        Read { name: name.as_bytes(), comment: b"1:N:0", bases: b"ACGT", qualities: Some(b"IIII") }
    }

    #[test]
    fn gives_back_what_was_put_in() {
        let mut reads = ReadBatch::new(2, 7);
        for name in ["a", "a", "b", "b"] {
            reads.push_read(read(name));
        }
        reads.push_read(Read { qualities: None, ..read("c") });
        reads.push_read(read("c"));
        assert_eq!((reads.template_count(), reads.len(), reads.base_count()), (3, 6, 24));
        assert_eq!(reads.read(2), read("b"));
        assert_eq!(reads.read(4).qualities, None);
        let part = reads.copy_templates(1..3);
        assert_eq!((part.first_template(), part.template_count()), (8, 2));
        assert_eq!(part.iter().collect::<Vec<_>>(), reads.iter().skip(2).collect::<Vec<_>>());
    }

    #[test]
    fn single_reads_stand_among_pairs() {
        let mut reads = ReadBatch::new(2, 0);
        reads.allow_singles(0);
        for names in [&["a"][..], &["b", "b"], &["c"], &["d"], &["e", "e"], &["f", "f"], &["g"]] {
            match names {
                [name] => reads.push_single(read(name), *name == "c"),
                pair => pair.iter().for_each(|name| reads.push_read(read(name))),
            }
        }
        let names = |reads: &ReadBatch| -> String {
            reads
                .iter_in_file_order()
                .map(|(of, at)| String::from_utf8_lossy(of.read(at).name).into_owned())
                .collect()
        };
        assert_eq!((names(&reads).as_str(), reads.template_count_with_singles()), ("abbcdeeffg", 7));
        let segments = |reads: &ReadBatch| -> Vec<usize> {
            reads.iter_in_file_order().map(|(of, at)| of.segment_of(at)).collect()
        };
        assert_eq!(segments(&reads), [0, 0, 1, 1, 0, 0, 1, 0, 1, 0]);
        let mut singles = reads.take_singles().unwrap();
        let mut copies = ReadBatch::new(2, 0);
        copies.allow_singles(0);
        copies.push_single_copy(&singles.reads, 1);
        assert_eq!(segments(&copies), [1]);
        reads.set_singles(Some(singles.clone()));
        singles.reads.retain_templates(|single| single == 1);
        assert_eq!(segments(&singles.reads), [1]);
        reads.retain_templates(|pair| pair != 1);
        assert_eq!((names(&reads).as_str(), reads.template_count_with_singles()), ("abbcdffg", 6));
        reads.reset(2, 0);
        reads.push_read(read("x"));
        reads.push_read(read("x"));
        assert_eq!(names(&reads), "xx");
    }

    #[test]
    fn fields_go_with_their_read_and_bases_can_be_cut_off() {
        let mut reads = ReadBatch::new(1, 0);
        for name in ["a", "b", "c"] {
            reads.push_read(read(name));
        }
        for fields in [&b"RXZA\0"[..], b"", b"RXZC\0"] {
            let start = reads.text().len() as u32;
            reads.text_mut().extend_from_slice(fields);
            reads.push_fields(start..start + fields.len() as u32);
        }
        reads.trim_read(2, 1..3);
        reads.set_adapter_start(2, None);
        reads.set_adapter_start(1, Some(3));
        let part = reads.copy_templates(1..3);
        assert_eq!([part.fields(0), part.fields(1)], [&b""[..], b"RXZC\0"]);
        assert_eq!(
            [part.adapter_start(0), part.adapter_start(1), reads.adapter_start(0)],
            [Some(4), None, None]
        );
        let last = part.read(1);
        assert_eq!((last.bases, last.qualities), (&b"CG"[..], Some(&b"II"[..])));
        reads.trim_name(0, 9);
        reads.qualities_mut(0).expect("qualities")[3] = b'#';
        assert_eq!((reads.read(0).name, reads.read(0).qualities), (&b"a"[..], Some(&b"III#"[..])));
        reads.trim_name(0, 0);
        assert_eq!(reads.read(0).name, b"");
        reads.trim_read(0, 4..9);
        assert_eq!((reads.read(0).bases, reads.read(0).qualities), (&b""[..], Some(&b""[..])));
        reads.set_base(2, 1, b'A', b'5');
        reads.set_base(2, 2, b'T', b'5');
        assert_eq!((reads.read(2).bases, reads.read(2).qualities), (&b"CA"[..], Some(&b"I5"[..])));
        reads.retain_templates(|template| template != 0);
        reads.set_first_template(9);
        assert_eq!(
            (reads.len(), reads.first_template(), reads.adapter_start(0), reads.adapter_start(1)),
            (2, 9, Some(4), None)
        );
        assert_eq!([reads.fields(0), reads.fields(1)], [&b""[..], b"RXZC\0"]);
        reads.reset(1, 0);
        reads.push_read(read("d"));
        assert_eq!((reads.fields(0), reads.adapter_start(0)), (&b""[..], None));
    }
}
