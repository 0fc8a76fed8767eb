//! Counts all windows of the reference by their GC content. Threads share the work in spans of
//! contigs.

use std::sync::{Mutex, PoisonError};

use readmill_format::reference::{Reference, ReferenceWindow, WINDOW_BYTES};
use readmill_record::Result;

use super::bins::{BINS, C, G, MAX_N, gc_percentage};
use super::options::MAX_SCAN_WINDOW;
use crate::read::N;
use crate::run_end::{ReferenceSpan, SpanThreads};

/// Number of windows that are counted at a time.
const AT_ONCE: u32 = 1 << 14;

/// A scan of all windows of a reference. It is prepared before the run, and done at the end.
pub(super) struct GcScan {
    reference: Reference,
    window: u32,
}

/// The number of windows in the reference, by their GC percentage.
#[derive(Clone, Debug)]
pub(super) struct GcWindows(pub [u64; BINS]);

impl GcScan {
    pub const THREAD_BYTES: u64 =
        WINDOW_BYTES as u64 + 2 * (AT_ONCE + MAX_SCAN_WINDOW) as u64 + 8 * (MAX_SCAN_WINDOW as u64 + 1);

    pub fn new(reference: Reference, window: u32) -> Self {
        GcScan { reference, window }
    }

    pub fn window_bases(&self) -> u32 {
        self.window
    }

    /// Counts the windows of all contigs. As in Picard, no window starts at the first base of a
    /// contig or ends at the last one. The scan runs after the reads have been written, so that
    /// stages of a job which count only some of the reads do not repeat it.
    pub fn count_windows(&self, threads: &dyn SpanThreads) -> Result<GcWindows> {
        let ends = self.reference.contigs().map(|(_, length)| length.saturating_sub(self.window));
        let mut spans = (0..)
            .zip(ends)
            .flat_map(|(contig, end)| ReferenceSpan::divide_contig(contig, 1, end))
            .map(Ok);
        let sum = Mutex::new([0; BINS]);
        threads.for_each_span(&mut spans, &|| {
            // Number of windows by the number of G and C in them.
            let mut counts = vec![0; self.window as usize + 1];
            let mut bases = self.reference.bam_code_window();
            let sum = &sum;
            Box::new(move |span| {
                self.count_span(span, &mut bases, &mut counts)?;
                let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                for (gc, count) in (0..).zip(&mut counts) {
                    sum[gc_percentage(gc, self.window)] += std::mem::take(count);
                }
                Ok(())
            })
        })?;
        Ok(GcWindows(sum.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    fn count_span(
        &self,
        span: ReferenceSpan,
        bases: &mut ReferenceWindow,
        counts: &mut [u64],
    ) -> Result<()> {
        for from in (span.from..span.to).step_by(AT_ONCE as usize) {
            let to = span.to.min(from.saturating_add(AT_ONCE));
            let codes = bases.codes(span.contig, from, to + self.window - 1)?;
            count_windows_in(codes, self.window as usize, counts);
        }
        Ok(())
    }
}

/// The values of a base in the sum of its window: the lower 16 bits count G and C, the upper bits
/// count N.
const ONE_GC: u32 = 1;
const ONE_N: u32 = 1 << 16;

/// The value that the base with each code adds to the sum of its window.
static VALUES: [u32; 16] = {
    let mut values = [0; 16];
    values[C as usize] = ONE_GC;
    values[G as usize] = ONE_GC;
    values[N as usize] = ONE_N;
    values
};

/// Counts all windows within `codes`. `counts[n]` is the number of windows with `n` bases G or C.
fn count_windows_in(codes: &[u8], window: usize, counts: &mut [u64]) {
    let value = |code: &u8| VALUES[usize::from(code & 15)];
    let mut sum: u32 = codes.iter().take(window - 1).map(value).sum();
    for (first, last) in codes.iter().zip(codes.iter().skip(window - 1)) {
        sum += value(last);
        if u64::from(sum / ONE_N) <= MAX_N {
            counts[(sum % ONE_N) as usize] += 1;
        }
        sum -= value(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_slide_by_one_base() {
        let codes: Vec<u8> = b"ACGTNNNNNGCA"
            .iter()
            .map(|&base| readmill_record::bases::CODES[usize::from(base)])
            .collect();
        let mut counts = vec![0; 7];
        count_windows_in(&codes, 6, &mut counts);
        // ACGTNN, CGTNNN and GTNNNN have 2, 2 and 1; TNNNNN and NNNNNG have too many N; NNNNGC and
        // NNNGCA have 2.
        assert_eq!(counts, [0, 1, 4, 0, 0, 0, 0]);
    }
}
