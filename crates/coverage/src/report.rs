//! Makes the files of mosdepth 0.3.3 from runs of equal depth.

use std::collections::VecDeque;
use std::sync::Arc;

use readmill_format::report::DescribedReport;
use readmill_record::Result;

use crate::coverage_file::CoverageFile;
use crate::distribution::{DepthSummary, Distribution, SUMMARY_COLUMNS, SummaryRow, SummaryTable};
use crate::join::{DepthReceiver, DepthRun, max_growth};
use crate::options::{RegionChoice, ReportOptions};
use crate::piece::CoveragePiece;
use crate::regions::{CoverageRegion, CoverageRegions};

/// Receives the lines of all files. [`BedPages`](crate::BedPages) implements it and collects lines for
/// compression.
///
/// [`LineReceiver::add_per_base`] receives numbers instead of text: its file is by far the longest,
/// so the receiver may format the lines on another thread.
pub trait LineReceiver {
    fn add_per_base(&mut self, contig: u32, run: DepthRun) -> Result<()>;

    /// Receives a line of a BED file: its start and end (0-based, half-open), and the text of the
    /// columns from the fourth on.
    fn add_bed_line(
        &mut self,
        file: CoverageFile,
        contig: u32,
        place: [u32; 2],
        columns: &[u8],
    ) -> Result<()>;

    /// Receives a comment line of a BED file, including its line feed.
    fn add_comment(&mut self, file: CoverageFile, line: &[u8]) -> Result<()>;

    fn add_text(&mut self, file: CoverageFile, text: &str) -> Result<()>;
}

/// Formats the lines of all files while runs of equal depth arrive.
///
/// [`CoverageJoin`](crate::CoverageJoin) passes the runs, and [`BedPages`](crate::BedPages) usually
/// receives the lines:
///
/// ```
/// use readmill_coverage::{CoverageFile, DepthReceiver, DepthRun, LineReceiver};
/// use readmill_coverage::{CoverageReport, RegionChoice, ReportOptions};
/// use readmill_record::Result;
///
/// /// Keeps the region lines, and drops all others.
/// struct RegionLines(Vec<String>);
///
/// impl LineReceiver for RegionLines {
///     fn add_bed_line(&mut self, file: CoverageFile, _: u32, place: [u32; 2], rest: &[u8]) -> Result<()> {
///         assert_eq!(file, CoverageFile::Regions);
///         self.0.push(format!("{place:?} {}", String::from_utf8_lossy(rest)));
///         Ok(())
///     }
///     fn add_per_base(&mut self, _: u32, _: DepthRun) -> Result<()> { Ok(()) }
///     fn add_comment(&mut self, _: CoverageFile, _: &[u8]) -> Result<()> { Ok(()) }
///     fn add_text(&mut self, _: CoverageFile, _: &str) -> Result<()> { Ok(()) }
/// }
///
/// let options = ReportOptions { by: Some(RegionChoice::Window(50)), ..ReportOptions::default() };
/// let contigs = vec![("chr1".into(), 100)];
/// let mut report = CoverageReport::new(RegionLines(Vec::new()), options, contigs, None)?;
/// report.begin_contig(0)?;
/// report.add_run(DepthRun { start: 0, end: 75, depth: 2 })?;
/// report.add_run(DepthRun { start: 75, end: 100, depth: 0 })?;
/// report.end_contig()?;
/// assert_eq!(report.finish()?.lines.0, ["[0, 50] 2.00", "[50, 100] 1.00"]);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct CoverageReport<L> {
    lines: L,
    options: ReportOptions,
    contigs: Vec<(String, u32)>,
    regions: Option<Arc<CoverageRegions>>,
    contig: u32,
    /// Leave out contigs without regions, because only the files by region are requested.
    needs_regions: bool,
    is_skipped: bool,
    summary: DepthSummary,
    distribution: Distribution,
    all: DepthSummary,
    all_distribution: Distribution,
    of_regions: OpenRegions,
    all_of_regions: DepthSummary,
    all_regions_distribution: Distribution,
    segment: OpenSegment,
    has_header: bool,
    /// The rows of the summary so far, if the run is described.
    rows: Option<Vec<SummaryRow>>,
    scratch: String,
}

/// The result of [`CoverageReport::finish`].
pub struct FinishedCoverage<L> {
    pub lines: L,
    /// The summary and the distributions, if the run is described.
    pub described: Vec<(CoverageFile, Box<dyn DescribedReport>)>,
}

#[derive(Default)]
struct OpenSegment {
    number: Option<usize>,
    from: u32,
    is_open: bool,
}

/// The regions of the current contig that have begun but not ended, and their sums.
struct OpenRegions {
    list: VecDeque<OpenRegion>,
    next: usize,
    next_window: Option<u32>,
    summary: DepthSummary,
    distribution: Distribution,
    spare: Vec<OpenRegion>,
}

#[derive(Default)]
struct OpenRegion {
    number: Option<usize>,
    start: u32,
    end: u32,
    mean: f64,
    counts: Vec<u32>,
    bases: u64,
    bases_by_threshold: Vec<u64>,
}

/// Maximum depth in a median. Deeper bases count as this depth.
const MAX_MEDIAN_DEPTH: usize = 65_535;

/// Maximum mean depth in the distribution of windows. Deeper windows count as this depth.
const MAX_WINDOW_MEAN: i32 = 999;

impl OpenRegion {
    #[inline]
    fn add_bases(&mut self, depth: i32, bases: u32, options: &ReportOptions) {
        if options.use_median {
            let at = usize::try_from(depth).unwrap_or(0).min(MAX_MEDIAN_DEPTH);
            if self.counts.len() <= at {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] += bases;
            self.bases += u64::from(bases);
        } else if depth != 0 {
            // mosdepth adds this quotient once for each base, which affects the rounding of the
            // last digit. So the same sum is computed here.
            let share = f64::from(depth) / f64::from(self.end - self.start);
            let mut mean = self.mean;
            (0..bases).for_each(|_| mean += share);
            self.mean = mean;
        }
        for (deep, threshold) in self.bases_by_threshold.iter_mut().zip(&options.thresholds) {
            if depth < *threshold {
                break;
            }
            *deep += u64::from(bases);
        }
    }

    fn depth_value(&self, options: &ReportOptions) -> f64 {
        if !options.use_median {
            return self.mean;
        }
        let half = (0.5 + self.bases as f64 * 0.5) as u64;
        let mut sum = 0;
        let at = self.counts.iter().position(|&bases| {
            sum += u64::from(bases);
            sum >= half
        });
        at.unwrap_or(0) as f64
    }
}

impl<L: LineReceiver> CoverageReport<L> {
    /// Creates a report for contigs with these names and lengths, and writes the header line of the
    /// thresholds file. [`RegionChoice::Bed`] requires `regions`.
    pub fn new(
        lines: L,
        options: ReportOptions,
        contigs: Vec<(String, u32)>,
        regions: Option<Arc<CoverageRegions>>,
    ) -> Result<Self> {
        let needs_regions = options.no_per_base
            && options.thresholds.is_empty()
            && options.quantize.is_empty()
            && options.by == Some(RegionChoice::Bed);
        let of_regions = OpenRegions {
            list: VecDeque::new(),
            next: 0,
            next_window: None,
            summary: DepthSummary::new(0),
            distribution: Distribution::default(),
            spare: Vec::new(),
        };
        let mut report = CoverageReport {
            lines,
            options,
            contigs,
            regions,
            contig: 0,
            needs_regions,
            is_skipped: false,
            summary: DepthSummary::new(u32::MAX),
            distribution: Distribution::default(),
            all: DepthSummary::new(0),
            all_distribution: Distribution::default(),
            of_regions,
            all_of_regions: DepthSummary::new(0),
            all_regions_distribution: Distribution::default(),
            segment: OpenSegment::default(),
            has_header: false,
            rows: None,
            scratch: String::new(),
        };
        report.write_threshold_names()?;
        Ok(report)
    }

    /// Keeps the rows of the summary, so that [`FinishedCoverage::described`] can have them.
    pub fn keep_summary(mut self) -> Self {
        self.rows = Some(Vec::new());
        self
    }

    /// Returns the heap memory in bytes, without the regions of the BED file, which are charged
    /// separately.
    pub fn heap_bytes(&self) -> u64 {
        let distributions = [
            &self.distribution,
            &self.all_distribution,
            &self.of_regions.distribution,
            &self.all_regions_distribution,
        ];
        let distributions: u64 = distributions.into_iter().map(Distribution::heap_bytes).sum();
        let OpenRegions { list, spare, .. } = &self.of_regions;
        let rows = self.rows.as_ref().map_or(0, Vec::capacity) * size_of::<SummaryRow>();
        distributions + ((list.capacity() + spare.capacity()) * size_of::<OpenRegion>() + rows) as u64
    }

    /// Returns the maximum number of bytes on the heap while `piece` is added.
    pub fn max_bytes_to_add(&self, piece: &CoveragePiece) -> u64 {
        let rows = self.rows.as_ref();
        let growth = rows.map_or(0, |rows| max_growth(rows.capacity(), rows.len() + max_rows_of(piece)));
        self.heap_bytes() + (growth * size_of::<SummaryRow>()) as u64
    }

    /// Makes room for the rows of the summary that `piece` may complete, so that the list grows only
    /// where [`CoverageReport::max_bytes_to_add`] has said so. Call this before
    /// [`CoverageJoin::add_piece`](crate::CoverageJoin::add_piece).
    pub fn reserve_rows(&mut self, piece: &CoveragePiece) {
        self.rows.iter_mut().for_each(|rows| rows.reserve(max_rows_of(piece)));
    }

    /// Writes the totals of all contigs. Call this after
    /// [`CoverageJoin::finish`](crate::CoverageJoin::finish).
    pub fn finish(mut self) -> Result<FinishedCoverage<L>> {
        self.write_summary(None, false, self.all)?;
        if self.options.by.is_some() {
            self.write_summary(None, true, self.all_of_regions)?;
        }
        let mut text = String::new();
        self.all_distribution.write_lines("total", &mut text);
        self.lines.add_text(CoverageFile::GlobalDistribution, &text)?;
        if self.options.by.is_some() {
            text.clear();
            self.all_regions_distribution.write_lines("total", &mut text);
            self.lines.add_text(CoverageFile::RegionDistribution, &text)?;
        }
        let CoverageReport { lines, contigs, all_distribution, all_regions_distribution, .. } = self;
        let mut described: Vec<(CoverageFile, Box<dyn DescribedReport>)> = Vec::new();
        if let Some(rows) = self.rows {
            described.push((CoverageFile::Summary, Box::new(SummaryTable { contigs, rows })));
            described.push((CoverageFile::GlobalDistribution, Box::new(all_distribution)));
            if self.options.by.is_some() {
                described.push((CoverageFile::RegionDistribution, Box::new(all_regions_distribution)));
            }
        }
        Ok(FinishedCoverage { lines, described })
    }

    pub fn lines(&self) -> &L {
        &self.lines
    }

    fn write_threshold_names(&mut self) -> Result<()> {
        if self.options.thresholds.is_empty() {
            return Ok(());
        }
        let names = self.options.thresholds.iter().map(|threshold| format!("\t{threshold}X"));
        let line = format!("#chrom\tstart\tend\tregion{}\n", names.collect::<String>());
        self.lines.add_comment(CoverageFile::Thresholds, line.as_bytes())
    }

    fn write_summary(
        &mut self,
        contig: Option<u32>,
        is_of_regions: bool,
        depths: DepthSummary,
    ) -> Result<()> {
        let row = SummaryRow { contig, is_of_regions, depths };
        self.scratch.clear();
        if !self.has_header {
            self.scratch = SUMMARY_COLUMNS.join("\t") + "\n";
            self.has_header = true;
        }
        self.scratch += &(row.cells(&self.contigs).join("\t") + "\n");
        self.rows.iter_mut().for_each(|rows| rows.push(row));
        self.lines.add_text(CoverageFile::Summary, &self.scratch)
    }

    fn contig_length(&self) -> u32 {
        self.contigs.get(self.contig as usize).map_or(0, |(_, length)| *length)
    }

    fn open_contig(&mut self, contig: u32) -> bool {
        self.contig = contig;
        let regions = self.regions.as_ref().map_or(&[][..], |regions| regions.on_contig(contig));
        self.is_skipped = self.needs_regions && regions.is_empty();
        self.of_regions.next = 0;
        self.of_regions.next_window = match self.options.by {
            Some(RegionChoice::Window(_)) => Some(0),
            _ => None,
        };
        !self.is_skipped
    }

    fn next_start(&self) -> Option<u64> {
        match (&self.options.by, &self.regions) {
            (Some(RegionChoice::Window(_)), _) => self.of_regions.next_window.map(u64::from),
            (Some(RegionChoice::Bed), Some(regions)) => {
                let next = regions.on_contig(self.contig).get(self.of_regions.next)?;
                Some(next.start.into())
            }
            _ => None,
        }
    }

    fn begin_region(&mut self) {
        let (number, start, end) = match (&self.options.by, &self.regions) {
            (Some(RegionChoice::Window(window)), _) => {
                let Some(start) = self.of_regions.next_window else { return };
                let length = self.contig_length();
                let end = start.saturating_add(*window).min(length);
                self.of_regions.next_window = Some(end).filter(|&end| end < length);
                (None, start, end)
            }
            (Some(RegionChoice::Bed), Some(regions)) => {
                let number = self.of_regions.next;
                let Some(&CoverageRegion { start, end, .. }) =
                    regions.on_contig(self.contig).get(number)
                else {
                    return;
                };
                self.of_regions.next += 1;
                (Some(number), start, end)
            }
            _ => return,
        };
        let OpenRegion { mut counts, bases_by_threshold: mut deep, .. } =
            self.of_regions.spare.pop().unwrap_or_default();
        counts.clear();
        deep.clear();
        deep.resize(self.options.thresholds.len(), 0);
        let region =
            OpenRegion { number, start, end, counts, bases_by_threshold: deep, ..OpenRegion::default() };
        self.of_regions.list.push_back(region);
    }

    /// Adds bases of one depth to all regions that they overlap. Opens and closes regions along the
    /// way.
    fn add_to_regions(&mut self, start: u64, end: u64, depth: i32) -> Result<()> {
        let mut at = start;
        while at < end {
            while self.next_start().is_some_and(|next| next <= at) {
                self.begin_region();
            }
            let to = self.next_start().map_or(end, |next| next.min(end));
            let OpenRegions { list, summary, distribution, .. } = &mut self.of_regions;
            let is_window = matches!(self.options.by, Some(RegionChoice::Window(_)));
            for region in list.iter_mut() {
                let to = to.min(region.end.into());
                if at < to {
                    let bases = to - at;
                    region.add_bases(depth, bases as u32, &self.options);
                    summary.add(depth, bases);
                    if !is_window {
                        distribution.add(depth, bases);
                    }
                }
            }
            self.write_ended_regions(to, true)?;
            at = to;
        }
        Ok(())
    }

    fn write_all_regions(&mut self, has_reads: bool) -> Result<()> {
        loop {
            self.write_ended_regions(u64::MAX, has_reads)?;
            if self.next_start().is_none() {
                return Ok(());
            }
            self.begin_region();
        }
    }

    /// Writes open regions in order, until one ends after `end`. The file is sorted by start, so a
    /// region waits for earlier ones that end later.
    fn write_ended_regions(&mut self, end: u64, has_reads: bool) -> Result<()> {
        while self.of_regions.list.front().is_some_and(|region| u64::from(region.end) <= end) {
            let Some(region) = self.of_regions.list.pop_front() else { break };
            self.write_region(&region, has_reads)?;
            self.of_regions.spare.push(region);
        }
        Ok(())
    }

    fn write_region(&mut self, region: &OpenRegion, has_reads: bool) -> Result<()> {
        let value = region.depth_value(&self.options);
        let name = region.number.zip(self.regions.as_deref()).map_or(&[][..], |(number, regions)| {
            let region: Option<&CoverageRegion> = regions.on_contig(self.contig).get(number);
            region.map_or(&[], |region| regions.region_name(region))
        });
        let place = [region.start, region.end];
        let mut columns = name.to_vec();
        if !name.is_empty() {
            columns.push(b'\t');
        }
        columns.extend_from_slice(format!("{value:.2}").as_bytes());
        self.lines.add_bed_line(CoverageFile::Regions, self.contig, place, &columns)?;
        if matches!(self.options.by, Some(RegionChoice::Window(_))) && has_reads {
            let rounded = (value + 0.5) as i32;
            self.of_regions.distribution.add(rounded.min(MAX_WINDOW_MEAN), 1);
        }
        if !self.options.thresholds.is_empty() {
            columns.clear();
            columns.extend_from_slice(if name.is_empty() { b"unknown" } else { name });
            for deep in &region.bases_by_threshold {
                columns.extend_from_slice(format!("\t{deep}").as_bytes());
            }
            self.lines.add_bed_line(CoverageFile::Thresholds, self.contig, place, &columns)?;
        }
        Ok(())
    }

    fn write_segment(&mut self, to: u32) -> Result<()> {
        let OpenSegment { number, from, .. } = self.segment;
        match number.and_then(|number| self.options.quantize.bin_label(number)) {
            Some(label) => self.lines.add_bed_line(
                CoverageFile::Quantized,
                self.contig,
                [from, to],
                label.as_bytes(),
            ),
            None => Ok(()),
        }
    }

    fn extend_segment(&mut self, run: DepthRun) -> Result<()> {
        let number = self.options.quantize.bin_of_depth(run.depth);
        // mosdepth ignores a bin change at the last base of a contig.
        if self.segment.is_open
            && (number == self.segment.number || run.start + 1 == self.contig_length())
        {
            return Ok(());
        }
        if self.segment.is_open {
            self.write_segment(run.start)?;
        }
        self.segment = OpenSegment { number, from: run.start, is_open: true };
        Ok(())
    }

    fn write_distributions(&mut self) -> Result<()> {
        let name = self.contigs.get(self.contig as usize).map_or("", |(name, _)| name);
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        self.distribution.write_lines(name, &mut text);
        self.lines.add_text(CoverageFile::GlobalDistribution, &text)?;
        if self.options.by.is_some() {
            text.clear();
            self.of_regions.distribution.write_lines(name, &mut text);
            self.lines.add_text(CoverageFile::RegionDistribution, &text)?;
            self.all_regions_distribution.add_all(&self.of_regions.distribution);
        }
        self.all_distribution.add_all(&self.distribution);
        self.distribution.clear();
        self.of_regions.distribution.clear();
        self.scratch = text;
        Ok(())
    }
}

/// Rows that [`CoverageReport::finish`] and [`CoverageJoin::finish`](crate::CoverageJoin::finish) add
/// to the summary: two of the last contig, and two of all contigs.
const FINAL_ROWS: usize = 4;

/// Returns the maximum number of rows of the summary after `piece` is added and no other one.
fn max_rows_of(piece: &CoveragePiece) -> usize {
    2 * piece.contigs.len() + FINAL_ROWS
}

impl<L: LineReceiver> DepthReceiver for CoverageReport<L> {
    fn begin_contig(&mut self, contig: u32) -> Result<()> {
        self.open_contig(contig);
        self.summary = DepthSummary::new(u32::MAX);
        self.segment = OpenSegment::default();
        Ok(())
    }

    fn add_run(&mut self, run: DepthRun) -> Result<()> {
        if self.is_skipped {
            return Ok(());
        }
        let bases = u64::from(run.end - run.start);
        self.summary.add(run.depth, bases);
        self.distribution.add(run.depth, bases);
        if !self.options.no_per_base {
            self.lines.add_per_base(self.contig, run)?;
        }
        if self.options.by.is_some() {
            self.add_to_regions(run.start.into(), run.end.into(), run.depth)?;
        }
        if !self.options.quantize.is_empty() {
            self.extend_segment(run)?;
        }
        Ok(())
    }

    fn end_contig(&mut self) -> Result<()> {
        if self.is_skipped {
            return Ok(());
        }
        let length = self.contig_length();
        if self.options.by.is_some() {
            let end = u64::from(length);
            // mosdepth counts one more base, of depth 0, in regions that extend beyond the contig.
            self.add_to_regions(end, end + 1, 0)?;
            self.write_all_regions(true)?;
        }
        if self.segment.is_open {
            self.write_segment(length)?;
        }
        let summary = self.summary;
        self.all.add_all(&summary);
        self.write_summary(Some(self.contig), false, summary)?;
        if self.options.by.is_some() {
            let of_regions =
                std::mem::replace(&mut self.of_regions.summary, DepthSummary::new(u32::MAX));
            self.write_summary(Some(self.contig), true, of_regions)?;
            self.all_of_regions.add_all(&of_regions);
        }
        self.write_distributions()
    }

    fn skip_contig(&mut self, contig: u32) -> Result<()> {
        if !self.open_contig(contig) {
            return Ok(());
        }
        let length = self.contig_length();
        if self.options.by.is_some() {
            self.write_all_regions(false)?;
        }
        if !self.options.no_per_base {
            self.lines.add_per_base(contig, DepthRun { start: 0, end: length, depth: 0 })?;
        }
        match self.options.quantize.bin_label(0).filter(|_| self.options.quantize.begins_at_zero()) {
            Some(label) => {
                self.lines.add_bed_line(CoverageFile::Quantized, contig, [0, length], label.as_bytes())
            }
            None => Ok(()),
        }
    }
}
