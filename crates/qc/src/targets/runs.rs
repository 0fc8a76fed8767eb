//! Depths of all bases of the targets, as runs of equal ones: of these the file of bases is made.

use readmill_format::intervals::NamedIntervals;

/// Bytes of a chunk, which is full.
const CHUNK: usize = 1 << 16;

/// The most bytes of a run: two numbers of 32 bits, seven bits in a byte.
const MOST: usize = 10;

/// Runs of equal depths, in their order. What is not there is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct DepthRuns {
    /// Runs as depth and length, each number in bytes of seven bits, the lower ones first.
    chunks: Vec<Vec<u8>>,
    open: (u32, u32),
    /// The position behind the open run.
    end: u32,
}

impl DepthRuns {
    /// Adds a depth, of a position behind all before.
    pub fn push(&mut self, position: u32, depth: u32) {
        if position > self.end {
            self.extend(0, position - self.end);
        }
        self.extend(depth, 1);
    }

    fn extend(&mut self, depth: u32, length: u32) {
        self.end += length;
        if self.open.0 == depth {
            self.open.1 += length;
            return;
        }
        self.close();
        self.open = (depth, length);
    }

    fn close(&mut self) {
        let (depth, length) = self.open;
        if length == 0 {
            return;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() + MOST > CHUNK) {
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

    /// Completes them.
    pub fn finish(&mut self) {
        self.close();
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.chunks.len() * (CHUNK + size_of::<Vec<u8>>())
    }
}

/// Reads runs back.
#[derive(Clone, Debug)]
struct RunReader {
    runs: DepthRuns,
    chunk: usize,
    at: usize,
}

impl RunReader {
    fn number(&mut self) -> Option<u32> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = *self.runs.chunks.get(self.chunk)?.get(self.at)?;
            self.at += 1;
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    }

    /// The next run: its depth and length.
    fn run(&mut self) -> Option<(u32, u32)> {
        if self.runs.chunks.get(self.chunk).is_some_and(|chunk| self.at >= chunk.len()) {
            self.chunk += 1;
            self.at = 0;
        }
        Some((self.number()?, self.number()?))
    }
}

/// The lines of a file of bases, in chunks: contig, position, target and depth.
pub struct PerBaseText {
    reader: RunReader,
    /// What is left of the present run.
    run: (u32, u32),
    targets: NamedIntervals,
    contigs: Vec<(Vec<u8>, u32)>,
    target: usize,
    /// How many bases of the target are done.
    into: u32,
    is_begun: bool,
}

/// Bytes of a chunk of text, about.
const TEXT: usize = 1 << 18;

impl PerBaseText {
    /// The lines of these depths; contigs have these names.
    pub(super) fn new(runs: DepthRuns, targets: NamedIntervals, contigs: Vec<(Vec<u8>, u32)>) -> Self {
        let reader = RunReader { runs, chunk: 0, at: 0 };
        PerBaseText { reader, run: (0, 0), targets, contigs, target: 0, into: 0, is_begun: false }
    }

    fn depth(&mut self) -> u32 {
        if self.run.1 == 0 {
            self.run = self.reader.run().unwrap_or((0, u32::MAX));
        }
        self.run.1 -= 1;
        self.run.0
    }
}

impl Iterator for PerBaseText {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            text.extend_from_slice(b"chrom\tpos\ttarget\tcoverage\n");
        }
        while text.len() < TEXT {
            let Some(&(contig, start, end)) = self.targets.intervals().get(self.target) else { break };
            let depth = self.depth();
            text.extend_from_slice(self.contigs.get(contig as usize).map_or(&b"*"[..], |it| &it.0));
            text.push(b'\t');
            text.extend_from_slice((u64::from(start + self.into) + 1).to_string().as_bytes());
            text.push(b'\t');
            text.extend_from_slice(self.targets.name(self.target));
            text.push(b'\t');
            text.extend_from_slice(depth.to_string().as_bytes());
            text.push(b'\n');
            self.into += 1;
            if start + self.into >= end {
                (self.target, self.into) = (self.target + 1, 0);
            }
        }
        (!text.is_empty()).then_some(text)
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
                runs.push(position as u32, *depth);
            }
        }
        runs.finish();
        assert!(runs.chunks.len() > 2);
        let mut reader = RunReader { runs, chunk: 0, at: 0 };
        let mut found = Vec::new();
        while let Some((depth, length)) = reader.run() {
            found.resize(found.len() + length as usize, depth);
        }
        found.resize(depths.len(), 0);
        assert!(found == depths);
    }
}
