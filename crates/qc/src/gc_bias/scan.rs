//! The windows of the whole reference by their share of G and C, counted piece by piece on any number of threads.

use readmill_format::reference::{Reference, WINDOW_BYTES, Window};
use readmill_record::Result;

use super::{BINS, C, G, MOST_N, percentage};
use crate::options::Options;
use crate::read::N;

/// Windows of a piece.
const PIECE: u32 = 1 << 22;

/// Windows that are counted at once.
const AT_ONCE: u32 = 1 << 14;

/// A scan of a reference.
pub struct GcScan {
    reference: Reference,
    window: u32,
}

/// Windows of a contig.
pub struct Piece {
    contig: u32,
    /// Where the first one starts, and the first one after the piece.
    from: u32,
    to: u32,
}

/// One thread's part of a scan.
pub struct GcScanWorker {
    bases: Window,
    /// Windows by their number of G and C.
    counts: Vec<u64>,
}

/// Numbers of windows by their percentage of G and C.
#[derive(Clone, Debug)]
pub struct GcWindows(pub(super) [u64; BINS]);

impl Default for GcWindows {
    fn default() -> Self {
        GcWindows([0; BINS])
    }
}

impl GcScan {
    /// The bytes that each thread takes.
    pub const THREAD_BYTES: u64 = WINDOW_BYTES as u64
        + 2 * (AT_ONCE + Options::MOST_SCAN_WINDOW) as u64
        + 8 * (Options::MOST_SCAN_WINDOW as u64 + 1);

    /// A scan for windows of so many bases.
    pub(crate) fn new(reference: Reference, window: u32) -> Self {
        GcScan { reference, window }
    }

    /// The pieces. No window starts at the first base of a contig, or ends with its last one, as in Picard.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + Send {
        let ends = self.reference.contigs().map(|(_, length)| length.saturating_sub(self.window));
        (0..).zip(ends).flat_map(|(contig, end)| {
            let starts = (1..end).step_by(PIECE as usize);
            starts.map(move |from| Piece { contig, from, to: end.min(from.saturating_add(PIECE)) })
        })
    }

    /// A worker of one thread.
    pub fn worker(&self) -> GcScanWorker {
        GcScanWorker { bases: self.reference.codes(), counts: vec![0; self.window as usize + 1] }
    }

    /// The sum of what the workers counted.
    pub fn windows(&self, workers: &[GcScanWorker]) -> GcWindows {
        let mut windows = GcWindows::default();
        for (gc, count) in workers.iter().flat_map(|worker| (0..).zip(&worker.counts)) {
            windows.0[percentage(gc, self.window)] += count;
        }
        windows
    }
}

impl GcScanWorker {
    /// Counts the windows of a piece.
    pub fn scan(&mut self, piece: &Piece) -> Result<()> {
        let window = self.counts.len() as u32 - 1;
        for from in (piece.from..piece.to).step_by(AT_ONCE as usize) {
            let to = piece.to.min(from.saturating_add(AT_ONCE));
            let codes = self.bases.codes(piece.contig, from, to + window - 1)?;
            count(codes, window as usize, &mut self.counts);
        }
        Ok(())
    }
}

/// One G or C; one N.
const ONE_GC: u32 = 1;
const ONE_N: u32 = 1 << 16;

/// What the base of each code adds to the sum of its window.
static VALUES: [u32; 16] = {
    let mut values = [0; 16];
    values[C as usize] = ONE_GC;
    values[G as usize] = ONE_GC;
    values[N as usize] = ONE_N;
    values
};

/// Counts all windows within these codes.
fn count(codes: &[u8], window: usize, counts: &mut [u64]) {
    let value = |code: &u8| VALUES[usize::from(code & 15)];
    let mut sum: u32 = codes.iter().take(window - 1).map(value).sum();
    for (first, last) in codes.iter().zip(codes.iter().skip(window - 1)) {
        sum += value(last);
        if u64::from(sum / ONE_N) <= MOST_N {
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
        count(&codes, 6, &mut counts);
        // ACGTNN CGTNNN GTNNNN have two, two and one; TNNNNN and NNNNNG are unknown; NNNNGC and NNNGCA have two.
        assert_eq!(counts, [0, 1, 4, 0, 0, 0, 0]);
    }
}
