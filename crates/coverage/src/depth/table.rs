//! The table of `samtools coverage`: a line for each contig or for one region, or a histogram
//! instead of each line.

use std::sync::Arc;

use readmill_record::Result;

use crate::depth::contig_coverage::{ContigCoverage, mean_of};
use crate::depth::histogram::{Histogram, HistogramBins};
use crate::depth::merge::{DepthSink, TallySink};
use crate::depth::number::format_general;
use crate::depth::piece::{ContigTally, PositionQuality, sum_by_position};
use crate::depth::rules::CountWindow;

#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Minimum depth of a position that counts as covered.
    pub min_depth: u32,
    pub window: Option<CountWindow>,
    pub header: bool,
    /// Draw histograms instead of a table.
    pub histogram: Option<Histogram>,
}

/// Returns the memory in bytes of a table of `contigs` contigs before any read is counted.
pub fn table_bytes(contigs: usize) -> u64 {
    (contigs * (size_of::<ContigCoverage>() + size_of::<u32>()) + (1 << 16)) as u64
}

/// Sums the coverage of contigs, and writes the table at the end: `samtools coverage` lists contigs
/// with aligned reads first, so no line can be written earlier.
pub struct CoverageTable<W> {
    options: TableOptions,
    contigs: Arc<[(String, u32)]>,
    write: W,
    each: Vec<ContigCoverage>,
    reached: Vec<u32>,
    open: u32,
    bins: Option<HistogramBins>,
    any_drawn: bool,
    qualities: Vec<PositionQuality>,
    text: String,
}

impl<W: FnMut(&[u8]) -> Result<()>> CoverageTable<W> {
    pub fn new(options: TableOptions, contigs: &Arc<[(String, u32)]>, write: W) -> Self {
        CoverageTable {
            options,
            contigs: Arc::clone(contigs),
            write,
            each: vec![ContigCoverage::default(); contigs.len()],
            reached: Vec::new(),
            open: 0,
            bins: None,
            any_drawn: false,
            qualities: Vec::new(),
            text: String::new(),
        }
    }

    /// Writes the table. Returns whether any read lacks qualities: mean base qualities are then computed
    /// from the other reads, and the caller warns.
    pub fn finish(mut self) -> Result<bool> {
        let reached = std::mem::take(&mut self.reached);
        if let Some(window) = self.options.window.filter(|_| reached.is_empty()) {
            match &self.options.histogram {
                Some(histogram) => self.bins = Some(HistogramBins::new(histogram, window)),
                None => self.append_line(window.contig),
            }
            self.draw_histogram(window.contig);
        } else if self.options.histogram.is_none() {
            reached.iter().for_each(|&contig| self.append_line(contig));
            if self.options.window.is_none() {
                let others = (0..self.contigs.len() as u32)
                    .filter(|&contig| !self.each[contig as usize].tally.is_reached);
                Vec::from_iter(others).into_iter().for_each(|contig| self.append_line(contig));
            }
        }
        (self.write)(self.text.as_bytes())?;
        Ok(self.each.iter().any(|contig| contig.tally.lacks_qualities))
    }

    /// Returns the memory in bytes that grows with the reads, in addition to [`table_bytes`].
    pub fn heap_bytes(&self) -> u64 {
        (self.qualities.capacity() * size_of::<PositionQuality>() + self.text.capacity()) as u64
    }

    /// Returns the part of a contig in which bases count: the window of the options, or the whole
    /// contig.
    fn counted_window(&self, contig: u32) -> CountWindow {
        let length = self.contigs.get(contig as usize).map_or(0, |contig| contig.1);
        let whole = CountWindow { contig, start: 0, end: length };
        self.options.window.filter(|window| window.contig == contig).unwrap_or(whole)
    }

    fn append_line(&mut self, contig: u32) {
        let Some((name, _)) = self.contigs.get(contig as usize) else { return };
        if std::mem::take(&mut self.options.header) {
            self.text += "#rname\tstartpos\tendpos\tnumreads\tcovbases\tcoverage\tmeandepth\tmeanbaseq\tmeanmapq\n";
        }
        let CountWindow { start, end, .. } = self.counted_window(contig);
        let (own, bases) = (&self.each[contig as usize], f64::from(end) - f64::from(start));
        self.text += &format!(
            "{name}\t{}\t{end}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            start + 1,
            own.tally.counted,
            own.covered,
            format_general(100.0 * own.covered as f64 / bases, 6),
            format_general(own.depth as f64 / bases, 6),
            format_general(own.mean_quality(), 3),
            format_general(mean_of(own.tally.mapq, own.tally.counted).unwrap_or(0.0), 3),
        );
    }

    fn draw_histogram(&mut self, contig: u32) {
        let (Some(histogram), Some(bins)) = (&self.options.histogram, self.bins.take()) else { return };
        if std::mem::replace(&mut self.any_drawn, true) {
            self.text.push('\n');
        }
        if let (Some(named), Some(own)) =
            (self.contigs.get(contig as usize), self.each.get(contig as usize))
        {
            histogram.draw_contig(&bins, named, own, &mut self.text);
        }
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> DepthSink for CoverageTable<W> {
    fn skip_contig(&mut self, _: u32) -> Result<()> {
        Ok(())
    }

    fn begin_contig(&mut self, contig: u32) -> Result<()> {
        self.open = contig;
        let histogram = self.options.histogram.as_ref();
        self.bins =
            histogram.map(|histogram| HistogramBins::new(histogram, self.counted_window(contig)));
        Ok(())
    }

    fn add_run(&mut self, start: u32, end: u32, depths: &[u32]) -> Result<()> {
        let depth: u64 = depths.iter().map(|&depth| u64::from(depth)).sum();
        let window = self.counted_window(self.open);
        let (start, end) = (start.max(window.start), end.min(window.end));
        if depth == 0 || start >= end {
            return Ok(());
        }
        let is_covered = depth >= u64::from(self.options.min_depth);
        let Some(own) = self.each.get_mut(self.open as usize) else { return Ok(()) };
        if is_covered {
            own.covered += u64::from(end - start);
            own.depth += depth * u64::from(end - start);
        }
        if !self.qualities.is_empty() {
            let passed = self.qualities.partition_point(|quality| quality.position < end);
            for quality in self.qualities.drain(..passed).filter(|it| is_covered && it.position >= start)
            {
                own.tally.qualities += quality.sum;
                own.tally.bases += u64::from(quality.bases);
            }
        }
        if let Some(bins) = &mut self.bins {
            bins.add_positions(start, end, depth, is_covered);
        }
        Ok(())
    }

    fn end_contig(&mut self) -> Result<()> {
        self.qualities.clear();
        if self.each.get(self.open as usize).is_some_and(|contig| contig.tally.is_reached) {
            self.reached.push(self.open);
            self.draw_histogram(self.open);
        }
        Ok(())
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> TallySink for CoverageTable<W> {
    fn add_tally(&mut self, contig: u32, mut tally: ContigTally) -> Result<()> {
        if self.options.min_depth > 1 {
            (tally.qualities, tally.bases) = (0, 0); // added by position, because only positions with the minimum depth count
        }
        if let Some(own) = self.each.get_mut(contig as usize) {
            own.tally.add(&tally);
        }
        Ok(())
    }

    fn add_qualities(&mut self, qualities: Vec<PositionQuality>) -> Result<()> {
        self.qualities.extend(qualities);
        self.qualities.sort_by_key(|quality| quality.position);
        self.qualities = sum_by_position(std::mem::take(&mut self.qualities).into_iter());
        Ok(())
    }
}
