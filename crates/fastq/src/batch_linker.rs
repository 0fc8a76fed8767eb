//! Which batches are true, decided in their order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use readmill_record::{Error, ReadBatch, ReadSpan, Result};

use crate::claims::{BatchState, Claims, TakenBatch};
use crate::general::{Parser, different_names};
use crate::line::template_name;
use crate::text::Position;

/// Judges batches one after the other.
///
/// A batch has as many templates as [`crate::Options`] says, or fewer where these are long, or the last ones.
///
/// A batch was taken from where its records are *if* every record before has four lines. That is known to be so as long as
/// every batch before was full and of such records. A batch of which it is not known, or which has something unusual, is
/// read again from where the last one ended, by a parser that understands every kind of record. If that ends where the
/// batch should end, all is as before; if not, because of other lines or of long records, all batches from there on are
/// read by that parser.
pub struct BatchLinker {
    claims: Arc<Claims>,
    /// The ticket that is next.
    next: u64,
    /// Templates of all batches before it.
    templates: u64,
    /// Where its records start in each file.
    at: Vec<Position>,
    /// Batches read from front to back.
    reread: u64,
}

impl BatchLinker {
    /// Starts with ticket 0.
    pub fn new(claims: &Arc<Claims>) -> Self {
        let at = vec![Position::default(); claims.files.len()];
        BatchLinker { claims: Arc::clone(claims), next: 0, templates: 0, at, reread: 0 }
    }

    /// Makes `reads`, which [`Claims::take`] filled, hold just what batch `taken` should. Every ticket comes here, one after
    /// the other. Batches behind the last one, with which [`Claims::ended`] comes to be true, are empty. Says whether the
    /// reads are those that were taken.
    ///
    /// # Errors
    /// What is wrong with the first record in which anything is wrong. Every batch before it has been linked.
    pub fn link(&mut self, taken: TakenBatch, reads: &mut ReadBatch) -> Result<bool> {
        if taken.ticket != self.next {
            return Err(Error::bug(format!("batch {} comes where {} is due", taken.ticket, self.next)));
        }
        self.next += 1;
        if self.claims.ended() {
            reads.reset(self.claims.segments, self.templates);
            return Ok(false);
        }
        // Batches that were taken before others turned out to be unusual are not where they should be.
        let serial = self.claims.serial.load(Ordering::Relaxed);
        match taken.found {
            BatchState::Batch(ends) if !serial => {
                for (text, end) in self.claims.files.iter().zip(&ends) {
                    text.release_below(end.block);
                }
                self.at = ends;
            }
            BatchState::Last if !serial => self.claims.ended.store(true, Ordering::Release),
            _ => {
                self.read(reads)?;
                self.templates += reads.templates() as u64;
                return Ok(false);
            }
        }
        self.templates += reads.templates() as u64;
        Ok(true)
    }

    /// Batches that were not as they were taken, and so read from front to back, one after the other.
    pub fn reread(&self) -> u64 {
        self.reread
    }

    /// Reads the batch from where the last one ended.
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

    /// The reads of the next template; nothing at the end of all files.
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
