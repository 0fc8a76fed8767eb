//! The lines of `samtools depth`: contig, 1-based position, and the depth in each file.

use std::sync::Arc;

use readmill_format::intervals::IntervalSet;
use readmill_record::Result;

use crate::depth::merge::{DepthSink, TallySink};
use crate::depth::piece::{ContigTally, PositionQuality};
use crate::depth::rules::CountWindow;
use crate::line::append_number;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionChoice {
    /// Positions that at least one read spans.
    #[default]
    Reached,
    /// All positions of contigs with reads (`samtools depth -a`).
    OfContigs,
    /// All positions of all contigs (`samtools depth -aa`).
    All,
}

#[derive(Clone, Default)]
pub struct LineOptions {
    pub positions: PositionChoice,
    pub window: Option<CountWindow>,
    pub targets: Option<IntervalSet>,
}

pub const FLUSH_BYTES: usize = 1 << 18;

/// Returns the memory of a writer in bytes. `longest_name` is the length of the longest contig
/// name.
pub fn writer_bytes(longest_name: usize) -> u64 {
    (3 * FLUSH_BYTES + 4 * longest_name) as u64
}

/// Writes the lines of `samtools depth`. `write` receives them in pages.
///
/// Long runs of equal depth are common, so up to ten lines are copied from one: only the last digit
/// of the position differs.
pub struct DepthLines<W> {
    options: LineOptions,
    contigs: Arc<[(String, u32)]>,
    write: W,
    page: Vec<u8>,
    contig: u32,
    next: u32,
    target: usize,
    any_contig: bool,
    zeros: Vec<u8>,
    tail: Vec<u8>,
    line: Vec<u8>,
}

impl<W: FnMut(&[u8]) -> Result<()>> DepthLines<W> {
    pub fn new(options: LineOptions, contigs: &Arc<[(String, u32)]>, files: usize, write: W) -> Self {
        DepthLines {
            options,
            contigs: Arc::clone(contigs),
            write,
            page: Vec::with_capacity(FLUSH_BYTES + FLUSH_BYTES / 2),
            contig: 0,
            next: 0,
            target: 0,
            any_contig: false,
            zeros: b"\t0".repeat(files),
            tail: Vec::new(),
            line: Vec::new(),
        }
    }

    pub fn write_header(&mut self, files: &[&[u8]]) {
        self.page.extend_from_slice(b"#CHROM\tPOS");
        for file in files {
            self.page.push(b'\t');
            self.page.extend_from_slice(file);
        }
        self.page.push(b'\n');
    }

    /// Writes the remaining lines. If positions without reads are requested, this includes a window
    /// on a contig without reads.
    pub fn finish(mut self) -> Result<()> {
        if let Some(window) = self.options.window
            && !self.any_contig
            && self.options.positions != PositionChoice::Reached
        {
            self.write_whole_contig(window.contig)?;
        }
        (self.write)(&self.page)
    }

    fn write_whole_contig(&mut self, contig: u32) -> Result<()> {
        self.enter_contig(contig);
        self.write_zeros(self.contig_length())
    }

    fn enter_contig(&mut self, contig: u32) {
        (self.contig, self.next) = (contig, 0);
        if let Some(targets) = &self.options.targets {
            self.target = targets.intervals().partition_point(|target| target.0 < contig);
        }
    }

    fn contig_length(&self) -> u32 {
        self.contigs.get(self.contig as usize).map_or(0, |contig| contig.1)
    }

    fn write_zeros(&mut self, end: u32) -> Result<()> {
        if self.next < end {
            self.tail.clear();
            self.tail.extend_from_slice(&self.zeros);
            self.write_positions(self.next, end)?;
            self.next = end;
        }
        Ok(())
    }

    fn write_positions(&mut self, start: u32, end: u32) -> Result<()> {
        let (start, end) = match self.options.window {
            Some(window) => (start.max(window.start), end.min(window.end)),
            None => (start, end),
        };
        let Some(targets) = self.options.targets.clone() else { return self.fill_pages(start, end) };
        let targets = targets.intervals();
        while let Some(&(contig, from, to)) = targets.get(self.target) {
            if (contig, from) >= (self.contig, end) {
                break;
            }
            self.fill_pages(start.max(from), end.min(to))?;
            if to > end {
                break;
            }
            self.target += 1;
        }
        Ok(())
    }

    fn fill_pages(&mut self, start: u32, end: u32) -> Result<()> {
        let mut start = start;
        while start < end {
            // As many lines as fit into the page, but at least one.
            let name = self.contigs.get(self.contig as usize).map_or("", |contig| contig.0.as_str());
            let longest = name.len() + self.tail.len() + 13;
            let free = FLUSH_BYTES.saturating_sub(self.page.len()) / longest;
            let n = (free.max(1) as u32).min(end - start);
            self.line.clear();
            self.line.extend_from_slice(name.as_bytes());
            self.line.push(b'\t');
            append_lines(&mut self.line, &self.tail, start, n, &mut self.page);
            start += n;
            if self.page.len() + longest > FLUSH_BYTES {
                (self.write)(&self.page)?;
                self.page.clear();
            }
        }
        Ok(())
    }
}

/// Appends `n` lines that begin with `line` and end with `tail`. `start` is the first position
/// (0-based).
fn append_lines(line: &mut Vec<u8>, tail: &[u8], start: u32, n: u32, page: &mut Vec<u8>) {
    let name = line.len();
    let mut position = start + 1;
    let mut left = n;
    while left > 0 {
        line.truncate(name);
        append_number(position, line);
        let last = line.len() - 1;
        line.extend_from_slice(tail);
        line.push(b'\n');
        // Only the last digit changes until the next multiple of ten.
        let same = (10 - position % 10).min(left);
        for _ in 0..same {
            page.extend_from_slice(line);
            line[last] = line[last].wrapping_add(1);
        }
        position += same;
        left -= same;
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> DepthSink for DepthLines<W> {
    fn skip_contig(&mut self, contig: u32) -> Result<()> {
        match self.options.positions {
            PositionChoice::All if self.options.window.is_none() => self.write_whole_contig(contig),
            _ => Ok(()),
        }
    }

    fn begin_contig(&mut self, contig: u32) -> Result<()> {
        self.any_contig = true;
        self.enter_contig(contig);
        Ok(())
    }

    #[inline]
    fn add_run(&mut self, start: u32, end: u32, depths: &[u32]) -> Result<()> {
        if self.options.positions != PositionChoice::Reached {
            self.write_zeros(start)?;
        }
        self.tail.clear();
        for &depth in depths {
            self.tail.push(b'\t');
            append_number(depth, &mut self.tail);
        }
        self.write_positions(start, end)?;
        self.next = end;
        Ok(())
    }

    fn end_contig(&mut self) -> Result<()> {
        if self.options.positions != PositionChoice::Reached {
            self.write_zeros(self.contig_length())
        } else {
            Ok(())
        }
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> TallySink for DepthLines<W> {
    fn add_tally(&mut self, _: u32, _: ContigTally) -> Result<()> {
        Ok(())
    }

    fn add_qualities(&mut self, _: Vec<PositionQuality>) -> Result<()> {
        Ok(())
    }
}
