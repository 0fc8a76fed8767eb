//! Batches of reads that are not yet aligned: name, bases and qualities.

use std::ops::Range;

/// Reads of consecutive templates, in the order of the input. The reads of one template are neighbours, the first
/// segment first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBatch {
    /// The lines of the files; the spans point into it.
    text: Vec<u8>,
    spans: Vec<ReadSpan>,
    /// Place of the optional fields of each read in the text; may be shorter than `spans`.
    fields: Vec<(u32, u32)>,
    /// FLAG bits that records get in addition to the aligner's; may be shorter than `spans`.
    flags: Vec<u16>,
    /// Start of the adapter in each read, 1-based; 0 if there is none. May be shorter than `spans`.
    adapters: Vec<u32>,
    /// The index reads, as many for each template.
    index: Vec<ReadSpan>,
    index_reads: usize,
    /// Single reads among the pairs of this batch.
    singles: Option<Box<Singles>>,
    /// In a batch of such single reads, how many pairs stand before each of them.
    pairs_before: Vec<u32>,
    segments: usize,
    first: u64,
}

/// Single reads that stand among the pairs of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Singles {
    /// The single reads, each a template.
    pub reads: ReadBatch,
    /// The number of the first read of the batch, pair or single, in the file, 0-based.
    pub first_read: u64,
}

/// The place of the parts of a read in the text of its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSpan {
    /// Start of the name, behind its `@`.
    pub name: u32,
    /// Bytes of the name: up to the first blank.
    pub name_len: u32,
    /// Start of the comment, after the name and the blanks that follow it.
    pub comment: u32,
    /// Bytes of the comment.
    pub comment_len: u32,
    /// Start of the bases.
    pub bases: u32,
    /// Number of bases.
    pub len: u32,
    /// Start of the qualities, as many as bases; [`ReadSpan::NONE`] if there are none.
    pub qualities: u32,
}

impl ReadSpan {
    /// The value for qualities that the input does not have.
    pub const NONE: u32 = u32::MAX;
}

/// A view of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read<'a> {
    /// QNAME as in the file, including a `/1` or `/2` at its end.
    pub name: &'a [u8],
    /// The rest of the name line.
    pub comment: &'a [u8],
    /// Letters of the bases.
    pub bases: &'a [u8],
    /// Phred + 33, one for each base; `None` if the input has no qualities.
    pub qualities: Option<&'a [u8]>,
}

impl ReadBatch {
    /// An empty batch for templates of `segments` reads each (1 or 2); its first template is number `first` of the
    /// input, 0-based.
    pub fn new(segments: usize, first: u64) -> Self {
        ReadBatch { segments, first, ..ReadBatch::default() }
    }

    /// Empties the batch and keeps its memory.
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
        (self.segments, self.first) = (segments, first);
    }

    /// Announces that single reads may stand among the pairs, from the read of this number in the file on.
    pub fn expect_singles(&mut self, first_read: u64) {
        let reads = ReadBatch::new(1, self.first);
        self.singles = Some(Box::new(Singles { reads, first_read }));
    }

    /// Adds a copy of a single read behind the pairs so far, if there may be any.
    pub fn push_single(&mut self, read: Read<'_>) {
        let pairs = self.templates() as u32;
        if let Some(singles) = &mut self.singles {
            singles.reads.push(read);
            singles.reads.pairs_before.push(pairs);
        }
    }

    /// Adds a copy of a read of another batch as a single read behind the pairs so far.
    pub fn push_copy_of_single(&mut self, from: &ReadBatch, index: usize) {
        let pairs = self.templates() as u32;
        if let Some(singles) = &mut self.singles {
            singles.reads.push_copy(from, index);
            singles.reads.pairs_before.push(pairs);
        }
    }

    /// Returns how many pairs stand before a single read, in a batch of single reads among pairs.
    pub fn pairs_before(&self, index: usize) -> usize {
        self.pairs_before.get(index).map_or(0, |&pairs| pairs as usize)
    }

    /// The single reads among the pairs; `None` where all templates have the same number of reads.
    pub fn singles(&self) -> Option<&Singles> {
        self.singles.as_deref()
    }

    /// Whether templates of the file have different numbers of reads: pairs, and single reads among them.
    pub fn is_mixed(&self) -> bool {
        self.singles.is_some() || !self.pairs_before.is_empty()
    }

    /// Number of bases of the longest read.
    pub fn bases_of_longest(&self) -> usize {
        self.spans.iter().map(|span| span.len as usize).max().unwrap_or(0)
    }

    /// Takes the single reads out, to change them.
    pub fn take_singles(&mut self) -> Option<Box<Singles>> {
        self.singles.take()
    }

    /// Puts the single reads back.
    pub fn put_singles(&mut self, singles: Option<Box<Singles>>) {
        self.singles = singles;
    }

    /// Number of templates, single reads included.
    pub fn all_templates(&self) -> usize {
        self.templates() + self.singles().map_or(0, |singles| singles.reads.len())
    }

    /// The reads in the order of the file: each is a read of the batch that comes with it.
    pub fn in_order(&self) -> impl Iterator<Item = (&ReadBatch, usize)> {
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

    /// Announces that each template has so many index reads, which [`ReadBatch::push_index_span`] adds.
    pub fn expect_index_reads(&mut self, count: usize) {
        self.index_reads = count;
    }

    /// Adds an index read at `span` of the text: those of a template side by side, in the order of templates.
    pub fn push_index_span(&mut self, span: ReadSpan) {
        self.index.push(span);
    }

    /// Returns the index reads of a template, given by its number in this batch; none after
    /// [`ReadBatch::drop_index_reads`].
    pub fn index_reads(&self, template: usize) -> impl ExactSizeIterator<Item = Read<'_>> {
        let start = template * self.index_reads;
        self.index
            .get(start..start + self.index_reads)
            .unwrap_or_default()
            .iter()
            .map(|span| self.of(span))
    }

    /// Drops the index reads, once their barcodes are fields of the reads.
    pub fn drop_index_reads(&mut self) {
        self.index.clear();
        self.index_reads = 0;
    }

    /// The text, to append lines to. Bytes that spans point at must not change.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The spans, one for each read.
    pub fn spans(&self) -> &[ReadSpan] {
        &self.spans
    }

    /// Adds the read at `span` of the text.
    pub fn push_span(&mut self, span: ReadSpan) {
        self.spans.push(span);
    }

    /// Adds a copy of a read. The text must stay below 4 GiB.
    pub fn push(&mut self, read: Read<'_>) {
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

    /// Trims read `index` to these bases and their qualities.
    pub fn trim(&mut self, index: usize, bases: Range<usize>) {
        let span = &mut self.spans[index];
        let kept = bases.start.min(span.len as usize)..bases.end.min(span.len as usize);
        span.bases += kept.start as u32;
        span.len = kept.len() as u32;
        if span.qualities != ReadSpan::NONE {
            span.qualities += kept.start as u32;
        }
    }

    /// Shortens the name of read `index` to its first bytes.
    pub fn trim_name(&mut self, index: usize, len: usize) {
        let span = &mut self.spans[index];
        span.name_len = span.name_len.min(len as u32);
    }

    /// The qualities of read `index`, to be changed in place; `None` if it has none.
    pub fn qualities_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let span = &self.spans[index];
        let place = span.qualities as usize..span.qualities as usize + span.len as usize;
        (span.qualities != ReadSpan::NONE).then(|| &mut self.text[place])
    }

    /// Changes a base of read `index`, and its quality, if it has any.
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

    /// Keeps those templates, given by their numbers in this batch, of which `stays` says so.
    ///
    /// Single reads among the pairs stay.
    pub fn retain_templates(&mut self, stays: impl Fn(usize) -> bool) {
        fn retain<T>(list: &mut Vec<T>, segments: usize, stays: &impl Fn(usize) -> bool) {
            let mut index = 0;
            list.retain(|_| {
                index += 1;
                stays((index - 1) / segments)
            });
        }
        let segments = self.segments.max(1);
        if (0..self.templates()).all(&stays) {
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
        retain(&mut self.index, self.index_reads.max(1), &stays);
    }

    /// Sets the number of the first template, of which there are fewer in front since some were taken out.
    pub fn set_first(&mut self, first: u64) {
        self.first = first;
    }

    /// Sets the optional fields of the next read that has none set: this part of the text, as BAM stores them. All
    /// records of the read get them.
    pub fn push_fields(&mut self, place: Range<u32>) {
        self.fields.push((place.start, place.end - place.start));
    }

    /// Optional fields, as BAM stores them, that all records of read `index` get.
    pub fn fields(&self, index: usize) -> &[u8] {
        self.fields.get(index).map_or(&[], |&(start, len)| self.part(start, len))
    }

    /// Sets the extra flags of the next read that has none set. All records of the read get them.
    pub fn push_flags(&mut self, flags: u16) {
        self.flags.push(flags);
    }

    /// Flags that all records of read `index` get in addition to the aligner's.
    pub fn flags(&self, index: usize) -> u16 {
        self.flags.get(index).copied().unwrap_or(0)
    }

    /// Sets the 0-based start of the adapter in read `index`.
    pub fn set_adapter(&mut self, index: usize, start: Option<usize>) {
        if self.adapters.len() <= index {
            if start.is_none() {
                return;
            }
            self.adapters.resize(index + 1, 0);
        }
        self.adapters[index] = start.map_or(0, |start| start as u32 + 1);
    }

    /// The first base of the adapter in read `index`, 1-based.
    pub fn adapter(&self, index: usize) -> Option<u32> {
        self.adapters.get(index).copied().filter(|&start| start > 0)
    }

    /// Bytes of the text and of all lists.
    pub fn data_bytes(&self) -> usize {
        self.text.len()
            + size_of_val(&self.spans[..])
            + size_of_val(&self.fields[..])
            + size_of_val(&self.flags[..])
            + size_of_val(&self.adapters[..])
            + size_of_val(&self.index[..])
            + self.singles().map_or(0, |it| it.reads.data_bytes())
            + size_of_val(&self.pairs_before[..])
    }

    /// Reads of each template.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Number of the first template in the input, 0-based.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of reads.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no read.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Number of templates.
    pub fn templates(&self) -> usize {
        self.spans.len() / self.segments.max(1)
    }

    /// Bases of all reads.
    pub fn bases(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }

    /// Read `index`, 0-based in this batch.
    pub fn read(&self, index: usize) -> Read<'_> {
        self.of(&self.spans[index])
    }

    fn of(&self, span: &ReadSpan) -> Read<'_> {
        Read {
            name: self.part(span.name, span.name_len),
            comment: self.part(span.comment, span.comment_len),
            bases: self.part(span.bases, span.len),
            qualities: (span.qualities != ReadSpan::NONE).then(|| self.part(span.qualities, span.len)),
        }
    }

    /// The reads, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Read<'_>> {
        (0..self.len()).map(|index| self.read(index))
    }

    /// A copy of some templates, given by their numbers in this batch, without their index reads.
    pub fn slice(&self, templates: Range<usize>) -> ReadBatch {
        let mut part = ReadBatch::new(self.segments, self.first + templates.start as u64);
        for index in templates.start * self.segments..templates.end * self.segments {
            part.push_copy(self, index);
        }
        part
    }

    /// Adds a copy of a read of another batch, with its fields, flags and adapter.
    pub fn push_copy(&mut self, from: &ReadBatch, index: usize) {
        self.push(from.read(index));
        self.flags.extend(from.flags.get(index));
        if let Some(start) = from.adapter(index) {
            self.set_adapter(self.len() - 1, Some(start as usize - 1));
        }
        if !from.fields.is_empty() {
            let start = self.text.len() as u32;
            self.text.extend_from_slice(from.fields(index));
            self.push_fields(start..self.text.len() as u32);
        }
    }

    fn part(&self, start: u32, len: u32) -> &[u8] {
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
            reads.push(read(name));
        }
        reads.push(Read { qualities: None, ..read("c") });
        reads.push(read("c"));
        assert_eq!((reads.templates(), reads.len(), reads.bases()), (3, 6, 24));
        assert_eq!(reads.read(2), read("b"));
        assert_eq!(reads.read(4).qualities, None);
        let part = reads.slice(1..3);
        assert_eq!((part.first(), part.templates()), (8, 2));
        assert_eq!(part.iter().collect::<Vec<_>>(), reads.iter().skip(2).collect::<Vec<_>>());
    }

    #[test]
    fn single_reads_stand_among_pairs() {
        let mut reads = ReadBatch::new(2, 0);
        reads.expect_singles(0);
        for names in [&["a"][..], &["b", "b"], &["c"], &["d"], &["e", "e"], &["f", "f"], &["g"]] {
            match names {
                [name] => reads.push_single(read(name)),
                pair => pair.iter().for_each(|name| reads.push(read(name))),
            }
        }
        let names = |reads: &ReadBatch| -> String {
            reads
                .in_order()
                .map(|(of, at)| String::from_utf8_lossy(of.read(at).name).into_owned())
                .collect()
        };
        assert_eq!((names(&reads).as_str(), reads.all_templates()), ("abbcdeeffg", 7));
        reads.retain_templates(|pair| pair != 1);
        assert_eq!((names(&reads).as_str(), reads.all_templates()), ("abbcdffg", 6));
        reads.reset(2, 0);
        reads.push(read("x"));
        reads.push(read("x"));
        assert_eq!(names(&reads), "xx");
    }

    #[test]
    fn fields_go_with_their_read_and_bases_can_be_cut_off() {
        let mut reads = ReadBatch::new(1, 0);
        for name in ["a", "b", "c"] {
            reads.push(read(name));
        }
        for fields in [&b"RXZA\0"[..], b"", b"RXZC\0"] {
            let start = reads.text().len() as u32;
            reads.text_mut().extend_from_slice(fields);
            reads.push_fields(start..start + fields.len() as u32);
        }
        reads.trim(2, 1..3);
        reads.set_adapter(2, None);
        reads.set_adapter(1, Some(3));
        let part = reads.slice(1..3);
        assert_eq!([part.fields(0), part.fields(1)], [&b""[..], b"RXZC\0"]);
        assert_eq!([part.adapter(0), part.adapter(1), reads.adapter(0)], [Some(4), None, None]);
        let last = part.read(1);
        assert_eq!((last.bases, last.qualities), (&b"CG"[..], Some(&b"II"[..])));
        reads.trim_name(0, 9);
        reads.qualities_mut(0).expect("qualities")[3] = b'#';
        assert_eq!((reads.read(0).name, reads.read(0).qualities), (&b"a"[..], Some(&b"III#"[..])));
        reads.trim_name(0, 0);
        assert_eq!(reads.read(0).name, b"");
        reads.trim(0, 4..9);
        assert_eq!((reads.read(0).bases, reads.read(0).qualities), (&b""[..], Some(&b""[..])));
        reads.set_base(2, 1, b'A', b'5');
        reads.set_base(2, 2, b'T', b'5');
        assert_eq!((reads.read(2).bases, reads.read(2).qualities), (&b"CA"[..], Some(&b"I5"[..])));
        reads.retain_templates(|template| template != 0);
        reads.set_first(9);
        assert_eq!(
            (reads.len(), reads.first(), reads.adapter(0), reads.adapter(1)),
            (2, 9, Some(4), None)
        );
        assert_eq!([reads.fields(0), reads.fields(1)], [&b""[..], b"RXZC\0"]);
        reads.reset(1, 0);
        reads.push(read("d"));
        assert_eq!((reads.fields(0), reads.adapter(0)), (&b""[..], None));
    }
}
