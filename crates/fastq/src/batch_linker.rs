//! Checks in order which batches were taken at the right position, and re-reads the others.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use readmill_record::{Error, Read, ReadBatch, ReadSpan, Result};

use crate::claims::{BatchFinding, Claims, TakenBatch};
use crate::general::{RecordParser, different_names_error};
use crate::layout::find_read_number;
use crate::line::{is_same_template, template_name};
use crate::restart::TextPlace;
use crate::text::{FastqText, TextPosition};

/// Checks the batches one after another, in ticket order.
///
/// A batch has the number of templates that [`crate::BatchOptions`] sets. It has fewer if they are
/// long, or at the end of the files.
///
/// [`Claims::take`] locates a batch by counting lines, which is right *if* every earlier record has
/// four lines. For each batch the linker decides:
///
/// 1. If all earlier batches were full and had only four-line records, and so has this one, it
///    is accepted.
/// 2. Otherwise it is read again, from the end of the previous batch, by a parser for all kinds
///    of records.
/// 3. If that parser ends where the batch should end, the next batch is checked as usual. If
///    not, because records have a different number of lines or are very long, that parser reads all
///    later batches.
pub struct BatchLinker {
    claims: Arc<Claims>,
    next: u64,
    templates: u64,
    /// For each file, the position at which the next batch starts.
    at: Vec<TextPosition>,
    reread: u64,
    /// Number of single reads so far among the pairs of an interleaved file. `None` before the
    /// first one.
    singles: Option<u64>,
    /// The record after the last one returned, read ahead to compare its name with the previous
    /// one.
    read_ahead: Option<ReadSpan>,
    ahead_text: Vec<u8>,
}

impl BatchLinker {
    pub fn new(claims: &Arc<Claims>) -> Self {
        let at = vec![TextPosition::default(); claims.files.len()];
        let templates = claims.options.first_template;
        let (singles, ahead, ahead_text) = (None, None, Vec::new());
        BatchLinker {
            claims: Arc::clone(claims),
            next: 0,
            templates,
            at,
            reread: 0,
            singles,
            read_ahead: ahead,
            ahead_text,
        }
    }

    /// Returns the position in each file at which the next batch starts, for a slice that another
    /// process reads from there. `None` at the end of a file, and after single reads among the pairs.
    /// Drops the restart data of earlier positions.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn restart_places(&self) -> Result<Option<Vec<TextPlace>>> {
        if self.singles.is_some() {
            // A record may have been read ahead, so no later slice can start in these files.
            self.claims.files.iter().for_each(|text| text.restart().stop_recording());
            return Ok(None);
        }
        let files = self.claims.files.iter().zip(&self.at);
        files
            .map(|(text, &at)| {
                let place = text.find_place(at)?;
                place.into_iter().for_each(|place| text.restart().forget_before(place));
                Ok(place)
            })
            .collect()
    }

    /// Accepts or replaces `reads`, which [`Claims::take`] filled for batch `taken`. The caller may
    /// have removed templates from it since then. Returns true if the reads were accepted; if
    /// false, any work done on them must be discarded.
    ///
    /// Must be called for every batch, in order. After the last batch ([`Claims::has_ended`]), all
    /// batches are empty.
    ///
    /// # Errors
    ///
    /// The first fault in the files. All earlier batches have been linked.
    pub fn link(&mut self, taken: TakenBatch, reads: &mut ReadBatch) -> Result<bool> {
        if taken.ticket != self.next {
            return Err(Error::bug(format!(
                "got batch {} instead of batch {}",
                taken.ticket, self.next
            )));
        }
        self.next += 1;
        if self.claims.has_ended() {
            reads.reset(self.claims.segments, self.templates);
            return Ok(false);
        }
        // Batches taken before an unusual one was found may start at the wrong position.
        let serial = self.claims.serial.load(Ordering::Relaxed);
        match taken.found {
            BatchFinding::Batch(ends) if !serial => {
                for (text, end) in self.claims.files.iter().zip(&ends) {
                    text.release_below(end.block);
                }
                self.at = ends;
            }
            BatchFinding::Last if !serial => self.claims.ended.store(true, Ordering::Release),
            _ => {
                self.reread_batch(reads)?;
                self.templates += reads.template_count_with_singles() as u64;
                return Ok(false);
            }
        }
        self.templates += taken.templates;
        Ok(true)
    }

    pub fn reread_count(&self) -> u64 {
        self.reread
    }

    fn reread_batch(&mut self, reads: &mut ReadBatch) -> Result<()> {
        self.reread += 1;
        let claims = Arc::clone(&self.claims);
        let Claims { files, segments, read_files, options, .. } = &*claims;
        reads.reset(*segments, self.templates);
        reads.expect_index_reads(files.len() - read_files);
        let first_read = 2 * self.templates - self.singles.unwrap_or(0);
        if self.singles.is_some() {
            reads.allow_singles(first_read);
        }
        for (text, at) in files.iter().zip(&self.at) {
            text.release_below(at.block);
        }
        let parser = |(file, (text, at)): (usize, (_, &TextPosition))| {
            let records = match self.singles {
                Some(_) => first_read + u64::from(self.read_ahead.is_some()),
                None => self.templates * claims.records_per_template(file) as u64,
            };
            let numbering = options.numbering.filter(|_| file < *read_files);
            RecordParser::new(text, *at, records, options.record_bytes).with_numbering(numbering)
        };
        let mut parsers: Vec<_> = files.iter().zip(&self.at).enumerate().map(parser).collect();
        let (parsers, index) = parsers.split_at_mut(*read_files);
        let mut text = std::mem::take(reads.text_mut());
        for _ in 0..options.templates {
            if self.claims.may_have_singles() {
                let is_end = !self.read_pair_or_single(&mut parsers[0], &mut text, reads)?;
                let of_singles = reads.singles().map_or(0, |singles| singles.reads.text().len());
                if is_end {
                    self.claims.ended.store(true, Ordering::Release);
                }
                if is_end || text.len() + of_singles >= options.batch_bytes {
                    break;
                }
                continue;
            }
            let Some(spans) = self.read_template(parsers, &mut text)? else {
                index.iter_mut().try_for_each(|file| check_index_end(file, &files[0], &mut text))?;
                self.claims.ended.store(true, Ordering::Release);
                break;
            };
            spans.iter().take(*segments).for_each(|&span| reads.push_span(span));
            for file in &mut *index {
                let span = read_index_read(file, &parsers[0], &spans[0], (&claims, &mut text))?;
                reads.push_index_span(span);
            }
            if text.len() >= options.batch_bytes {
                break;
            }
        }
        *reads.text_mut() = text;
        self.at = parsers.iter().chain(&*index).map(RecordParser::position).collect();
        let is_due =
            |(file, at): (usize, &TextPosition)| at.lines == self.next * claims.lines_per_batch(file);
        if reads.template_count() < options.templates || !self.at.iter().enumerate().all(is_due) {
            self.claims.serial.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads the next pair or single read from an interleaved file that has both. Mates are
    /// adjacent records with the same name, as in `bwa mem -p` (0.7.17, `bseq_classify`). Returns
    /// false at the end of the file.
    fn read_pair_or_single(
        &mut self,
        parser: &mut RecordParser<'_>,
        text: &mut Vec<u8>,
        reads: &mut ReadBatch,
    ) -> Result<bool> {
        let start = text.len();
        let one = match self.read_ahead.take() {
            Some(span) => {
                text.extend_from_slice(&self.ahead_text);
                Some(shift_span(span, |at| at + start as u32))
            }
            None => parser.read_record(text)?,
        };
        let Some(one) = one else { return Ok(false) };
        let behind = text.len();
        let other = parser.read_record(text)?;
        let part = |at: u32, len: u32| &text[at as usize..][..len as usize];
        let name = |span: ReadSpan| template_name(part(span.name, span.name_len));
        if let Some(other) = other.filter(|&other| name(one) == name(other)) {
            reads.push_span(one);
            reads.push_span(other);
            return Ok(true);
        }
        if self.singles.is_none() {
            reads.allow_singles(2 * self.templates);
            self.claims.serial.store(true, Ordering::Relaxed);
        }
        *self.singles.get_or_insert(0) += 1;
        let single = Read {
            name: part(one.name, one.name_len),
            comment: part(one.comment, one.comment_len),
            bases: part(one.bases, one.len),
            qualities: (one.qualities != ReadSpan::NONE).then(|| part(one.qualities, one.len)),
        };
        let is_last = find_read_number(single.name, single.comment) == Some(2);
        reads.push_single(single, is_last);
        self.ahead_text.clear();
        self.ahead_text.extend_from_slice(&text[behind..]);
        self.read_ahead = other.map(|span| shift_span(span, |at| at - behind as u32));
        text.truncate(start);
        Ok(true)
    }

    /// Reads the records of the next template and checks that mates have the same name. `None` at
    /// the end of all files. For single reads, both elements are the same.
    fn read_template(
        &self,
        parsers: &mut [RecordParser<'_>],
        text: &mut Vec<u8>,
    ) -> Result<Option<[ReadSpan; 2]>> {
        let files = &self.claims.files[..self.claims.read_files];
        let one = parsers[0].read_record(text)?;
        if self.claims.segments == 1 {
            return Ok(one.map(|span| [span, span]));
        }
        let mate = files.len() - 1;
        let other = match (&one, mate) {
            (None, 0) => None,
            _ => parsers[mate].read_record(text)?,
        };
        let (one, other) = match (one, other) {
            (None, None) => return Ok(None),
            (Some(one), Some(other)) => (one, other),
            (Some(one), None) => return Err(parsers[0].missing_mate_error(&one, text, &files[mate])),
            (None, Some(other)) => return Err(parsers[mate].missing_mate_error(&other, text, &files[0])),
        };
        let name = |span: ReadSpan| &text[span.name as usize..][..span.name_len as usize];
        if template_name(name(one)) != template_name(name(other)) {
            let file =
                if mate == 0 { String::new() } else { format!(" in {}", files[1].name().display()) };
            return Err(parsers[0]
                .at_record(different_names_error(name(one), name(other), &file), u64::from(mate == 0)));
        }
        Ok(Some([one, other]))
    }
}

fn shift_span(span: ReadSpan, change: impl Fn(u32) -> u32) -> ReadSpan {
    let qualities =
        if span.qualities == ReadSpan::NONE { ReadSpan::NONE } else { change(span.qualities) };
    let [name, comment, bases] = [span.name, span.comment, span.bases].map(&change);
    ReadSpan { name, comment, bases, qualities, ..span }
}

/// Reads the index read of the template whose read 1 is `span`, and checks its name.
fn read_index_read(
    index: &mut RecordParser<'_>,
    reads: &RecordParser<'_>,
    span: &ReadSpan,
    (claims, text): (&Claims, &mut Vec<u8>),
) -> Result<ReadSpan> {
    let found = index.read_record(text)?;
    let name = |span: &ReadSpan| &text[span.name as usize..][..span.name_len as usize];
    match found {
        Some(found) if is_same_template(name(&found), name(span), claims.options.numbering) => Ok(found),
        Some(found) => {
            let shown = |span| String::from_utf8_lossy(template_name(name(span))).into_owned();
            let what = format!(
                "the index read is named {}, but the read at the same position in {} is named {}",
                shown(&found),
                reads.file().display(),
                shown(span)
            );
            Err(index.at_record(Error::input(what), 0).hint(SAME_RUN))
        }
        None => {
            let what =
                format!("the read has no index read: {} has fewer records", index.file().display());
            let error = reads.at_record(Error::input(what), claims.records_per_template(0) as u64 - 1);
            Err(error.qname(name(span)).hint(SAME_RUN))
        }
    }
}

fn check_index_end(index: &mut RecordParser<'_>, reads: &FastqText, text: &mut Vec<u8>) -> Result<()> {
    let Some(found) = index.read_record(text)? else { return Ok(()) };
    let what = format!("the index read has no read: {} has fewer records", reads.name().display());
    let name = &text[found.name as usize..][..found.name_len as usize];
    Err(index.at_record(Error::input(what), 0).qname(name).hint(SAME_RUN))
}

const SAME_RUN: &str = "index files need one record for each template, in the order of the reads; check that all files are complete and from the same run";
