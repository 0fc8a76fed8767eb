//! The positions that count: those of the reference, or of intervals, that are not N.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_format::intervals::Intervals;
use readmill_format::reference::ReferenceWindow;
use readmill_record::Result;

use crate::counts::count_bytes;
use crate::read::N;
use crate::reference::ReferenceContigs;
use crate::run_end::{ReferenceSpan, SpanThreads};

/// Positions that are counted at once.
const AT_ONCE: u32 = 1 << 14;

/// The positions of the first `contigs` contigs.
pub(super) struct Territory<'a> {
    pub reference: &'a ReferenceContigs,
    pub intervals: Option<&'a Intervals>,
    pub contigs: u32,
}

impl Territory<'_> {
    /// Counts the positions, once the reads are written, so that jobs which only count a share of the reads do not do it.
    ///
    /// # Errors
    /// The reference lacks a contig of the reads, or cannot be read.
    pub fn count(&self, threads: &dyn SpanThreads) -> Result<u64> {
        let mut spans = (0..self.contigs).flat_map(|contig| {
            let (length, error) = match self.reference.place(contig.cast_signed()) {
                Ok(place) => (place.map_or(0, |(_, length)| length), None),
                Err(error) => (0, Some(Err(error))),
            };
            error.into_iter().chain(ReferenceSpan::all(contig, 0, length).map(Ok))
        });
        let sum = AtomicU64::new(0);
        threads.for_each_span(&mut spans, &|| {
            let (mut bases, sum) = (self.reference.file().bam_code_window(), &sum);
            Box::new(move |span| {
                sum.fetch_add(self.count_span(&mut bases, span)?, Relaxed);
                Ok(())
            })
        })?;
        Ok(sum.into_inner())
    }

    /// Returns how many positions of a span count.
    pub fn count_span(&self, bases: &mut ReferenceWindow, span: ReferenceSpan) -> Result<u64> {
        let ReferenceSpan { contig, from, to } = span;
        let Some((number, _)) = self.reference.place(contig.cast_signed())? else { return Ok(0) };
        let (mut at, mut count) = (from, 0);
        while at < to {
            let (first, end) = match self.intervals {
                None => (at, to),
                Some(intervals) => match intervals.next_interval(contig, at) {
                    Some((first, end)) => (first.max(at), end.min(to)),
                    None => break,
                },
            };
            for first in (first..end).step_by(AT_ONCE as usize) {
                let codes = bases.codes(number, first, end.min(first + AT_ONCE))?;
                count += count_bytes(codes, |code| code != N);
            }
            at = end.max(at + 1);
            if first >= to {
                break;
            }
        }
        Ok(count)
    }
}
