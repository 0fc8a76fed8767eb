//! Decides, in order, which batches are valid.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use readmill_record::{Error, ReadBatch, ReadSpan, Result};

use crate::claims::{BatchFinding, Claims, TakenBatch};
use crate::general::{Parser, different_names};
use crate::line::template_name;
use crate::restart::TextPlace;
use crate::text::Position;

/// Checks batches one after the other.
///
/// A batch has as many templates as [`crate::Options`] says; fewer if these are long, or at the end.
///
/// The place from which a batch was taken is right *if* every earlier record has four lines. That is known as long
/// as every earlier batch was full and had only such records. A batch for which it is not known, or which contains
/// anything unusual, is read again from the end of the last one, by a parser for every kind of record. If that ends
/// where the batch should end, the next batch is checked as usual; if not, because of other lines or long records,
/// that parser reads all later batches.
pub struct BatchLinker {
    claims: Arc<Claims>,
    /// The next ticket.
    next: u64,
    /// Templates of all batches before it.
    templates: u64,
    /// The start of its records in each file.
    at: Vec<Position>,
    /// Number of batches read serially.
    reread: u64,
}

impl BatchLinker {
    /// Starts with ticket 0.
    pub fn new(claims: &Arc<Claims>) -> Self {
        let at = vec![Position::default(); claims.files.len()];
        let templates = claims.options.first;
        BatchLinker { claims: Arc::clone(claims), next: 0, templates, at, reread: 0 }
    }

    /// Returns the place in each file where the next batch starts; `None` at the end of a file. What is needed to read
    /// earlier places again is forgotten.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn places(&self) -> Result<Option<Vec<TextPlace>>> {
        let files = self.claims.files.iter().zip(&self.at);
        files
            .map(|(text, &at)| {
                let place = text.place(at)?;
                place.into_iter().for_each(|place| text.restart().forget_before(place));
                Ok(place)
            })
            .collect()
    }

    /// Corrects `reads`, which [`Claims::take`] filled for batch `taken`; templates may have been dropped since. It must be called for every ticket, in
    /// order. Batches after the last one, for which [`Claims::ended`] is true, are empty. Returns whether the reads
    /// are those that were taken.
    ///
    /// # Errors
    /// The first fault in the files. Every batch before it has been linked.
    pub fn link(&mut self, taken: TakenBatch, reads: &mut ReadBatch) -> Result<bool> {
        if taken.ticket != self.next {
            return Err(Error::bug(format!("batch {} comes where {} is due", taken.ticket, self.next)));
        }
        self.next += 1;
        if self.claims.ended() {
            reads.reset(self.claims.segments, self.templates);
            return Ok(false);
        }
        // Batches taken before an unusual one was found are not in the right place.
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
                self.read(reads)?;
                self.templates += reads.templates() as u64;
                return Ok(false);
            }
        }
        self.templates += taken.templates;
        Ok(true)
    }

    /// Number of batches that were read again, serially.
    pub fn reread(&self) -> u64 {
        self.reread
    }

    /// Reads the batch from the end of the last one.
    fn read(&mut self, reads: &mut ReadBatch) -> Result<()> {
        self.reread += 1;
        let claims = Arc::clone(&self.claims);
        let Claims { files, segments, options, .. } = &*claims;
        reads.reset(*segments, self.templates);
        let records = reads.first() * (*segments / files.len()) as u64;
        for (text, at) in files.iter().zip(&self.at) {
            text.release_below(at.block);
        }
        let parser = |(text, at): (_, &Position)| Parser::new(text, *at, records, options.record_bytes);
        let mut parsers: Vec<_> = files.iter().zip(&self.at).map(parser).collect();
        let mut text = std::mem::take(reads.text_mut());
        for _ in 0..options.templates {
            let Some(spans) = self.template(&mut parsers, &mut text)? else {
                self.claims.ended.store(true, Ordering::Release);
                break;
            };
            spans.iter().take(*segments).for_each(|&span| reads.push_span(span));
            if text.len() >= options.batch_bytes {
                break;
            }
        }
        *reads.text_mut() = text;
        self.at = parsers.iter().map(Parser::position).collect();
        let lines = self.next * claims.lines();
        if reads.templates() < options.templates || self.at.iter().any(|at| at.lines != lines) {
            self.claims.serial.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The reads of the next template; `None` at the end of all files.
    fn template(&self, parsers: &mut [Parser<'_>], text: &mut Vec<u8>) -> Result<Option<[ReadSpan; 2]>> {
        let files = &self.claims.files;
        let one = parsers[0].record(text)?;
        if self.claims.segments == 1 {
            return Ok(one.map(|span| [span, span]));
        }
        let mate = files.len() - 1;
        let other = match (&one, mate) {
            (None, 0) => None,
            _ => parsers[mate].record(text)?,
        };
        let (one, other) = match (one, other) {
            (None, None) => return Ok(None),
            (Some(one), Some(other)) => (one, other),
            (Some(one), None) => return Err(parsers[0].without_mate(&one, text, &files[mate])),
            (None, Some(other)) => return Err(parsers[mate].without_mate(&other, text, &files[0])),
        };
        let name = |span: ReadSpan| &text[span.name as usize..][..span.name_len as usize];
        if template_name(name(one)) != template_name(name(other)) {
            let file =
                if mate == 0 { String::new() } else { format!(" in {}", files[1].name().display()) };
            return Err(
                parsers[0].blame(different_names(name(one), name(other), &file), u64::from(mate == 0))
            );
        }
        Ok(Some([one, other]))
    }
}
