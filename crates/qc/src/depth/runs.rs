//! Final depths of numbered positions, stored compactly as runs of equal depths.

/// Memory of a full chunk in bytes.
const CHUNK: usize = 1 << 16;

/// Maximum number of bytes of a run: two 32-bit numbers, 7 bits per byte.
const MAX_RUN_BYTES: usize = 10;

/// Runs of equal depths, in the order of positions. Positions that were never added have depth 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct DepthRuns {
    /// Each run is its depth and its length, as variable-length integers of 7 bits per byte, low
    /// bits first.
    chunks: Vec<Vec<u8>>,
    open: (u32, u32),
    /// The position after the open run.
    end: u32,
}

impl DepthRuns {
    /// Memory in bytes by which the list of runs grows at a time.
    pub const CHUNK_BYTES: u64 = CHUNK as u64;

    /// Adds the depth of a position. Positions must be in ascending order.
    pub fn push_depth(&mut self, position: u32, depth: u32) {
        if position > self.end {
            self.extend_run(0, position - self.end);
        }
        self.extend_run(depth, 1);
    }

    fn extend_run(&mut self, depth: u32, length: u32) {
        self.end += length;
        if self.open.0 == depth {
            self.open.1 += length;
            return;
        }
        self.close_run();
        self.open = (depth, length);
    }

    fn close_run(&mut self) {
        let (depth, length) = self.open;
        if length == 0 {
            return;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() + MAX_RUN_BYTES > CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        for number in [depth, length] {
            let mut rest = number;
            while rest >= 0x80 {
                chunk.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            chunk.push(rest as u8);
        }
        self.open = (0, 0);
    }

    /// Closes the last run. Must be called before the runs are read.
    pub fn finish(&mut self) {
        self.close_run();
    }

    /// Returns all runs as pairs of depth and length. Must be called after [`DepthRuns::finish`].
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut cursor = RunCursor::default();
        std::iter::from_fn(move || cursor.next(self))
    }

    pub fn heap_bytes(&self) -> usize {
        self.chunks.len() * (CHUNK + size_of::<Vec<u8>>())
    }
}

/// A position in the list of runs, for reading them in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunCursor {
    chunk: usize,
    at: usize,
}

impl RunCursor {
    /// Returns the next run as its depth and its length, or `None` at the end. `runs` must be
    /// finished.
    pub fn next(&mut self, runs: &DepthRuns) -> Option<(u32, u32)> {
        if runs.chunks.get(self.chunk).is_some_and(|chunk| self.at >= chunk.len()) {
            self.chunk += 1;
            self.at = 0;
        }
        Some((self.read_number(runs)?, self.read_number(runs)?))
    }

    fn read_number(&mut self, runs: &DepthRuns) -> Option<u32> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = *runs.chunks.get(self.chunk)?.get(self.at)?;
            self.at += 1;
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_back_as_they_were_added() {
        let mut runs = DepthRuns::default();
        let mut depths = vec![0; 400_000];
        for (position, depth) in depths.iter_mut().enumerate() {
            *depth = if position % 7 < 3 { 0 } else { (position as u32 * 31) % 70_001 };
            if *depth > 0 {
                runs.push_depth(position as u32, *depth);
            }
        }
        runs.finish();
        assert!(runs.chunks.len() > 2);
        let mut found = Vec::new();
        for (depth, length) in runs.iter() {
            found.resize(found.len() + length as usize, depth);
        }
        found.resize(depths.len(), 0);
        assert!(found == depths);
    }
}
