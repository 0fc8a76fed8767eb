//! The positions that can be covered: all positions of the reference, or of the intervals, that are
//! not N.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_format::intervals::Intervals;
use readmill_format::reference::ReferenceWindow;
use readmill_record::Result;

use crate::counts::count_bytes;
use crate::read::N;
use crate::reference::ReferenceContigs;
use crate::run_end::{ReferenceSpan, SpanThreads};

/// Number of positions that are read from the reference at a time.
const AT_ONCE: u32 = 1 << 14;

/// The positions of the first `contigs` contigs of the header.
pub(super) struct Territory<'a> {
    pub reference: &'a ReferenceContigs,
    pub intervals: Option<&'a Intervals>,
    pub contigs: u32,
}

impl Territory<'_> {
    /// Counts the positions (GENOME_TERRITORY). Called after the reads have been written, so that
    /// stages of a job which count only some of the reads do not repeat it.
    ///
    /// # Errors
    /// The reference lacks a contig of the header, or cannot be read.
    pub fn count_positions(&self, threads: &dyn SpanThreads) -> Result<u64> {
        let mut spans = (0..self.contigs).flat_map(|contig| {
            let (length, error) = match self.reference.place(contig.cast_signed()) {
                Ok(place) => (place.map_or(0, |(_, length)| length), None),
                Err(error) => (0, Some(Err(error))),
            };
            error.into_iter().chain(ReferenceSpan::divide_contig(contig, 0, length).map(Ok))
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

    /// Returns the number of positions in a span that are not N and are in the intervals.
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
