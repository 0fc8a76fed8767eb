//! Regions of a contig with their reads, from reads in order.

use std::collections::VecDeque;
use std::sync::Arc;

use readmill_pairwise::CigarOperator;
use readmill_record::{Error, Result};

use crate::activity::{ActivityModel, ActivityWindow};
use crate::profile::{CutRegion, RegionCutter};
use crate::read::CallerRead;
use crate::reference::Contig;
use crate::{ContigSpan, Intervals, PADDING};

/// A region that is called as a whole, and the reads that help to call it.
#[derive(Clone, Debug)]
pub struct AssemblyRegion {
    /// Positions at which variants are called.
    pub span: ContigSpan,
    /// The span with 100 more positions at both ends, as far as the contig goes.
    pub padded_span: ContigSpan,
    /// Whether the sample may differ from the reference in it.
    pub is_active: bool,
    /// The locus at which GATK has found the region and passed its padded span, or `i32::MAX` if that is
    /// the last locus. GATK finds one region per locus.
    pub ready_locus: i32,
    /// Reads that overlap the padded span, in their order after downsampling. Neighbouring regions share
    /// reads.
    pub reads: Vec<Arc<CallerRead>>,
}

/// Finds the regions of one contig while its reads are added.
///
/// ```text
/// add_read ──► ActivityWindow ──LocusActivity──► RegionCutter ──CutRegion──┐
///    └───────► reads in memory ────────────────────────────────────────────┴──► AssemblyRegion
/// ```
///
/// Reads stay in memory until the region after them is complete. Memory is bounded by the downsampling
/// ([`PositionalDownsampler`](crate::intake::PositionalDownsampler)) and the length of reads.
///
/// ```
/// use std::sync::Arc;
/// use readmill_jmath::{CpuMaker, JavaMath};
/// use readmill_regions::activity::ActivityModel;
/// use readmill_regions::{CallerRead, Contig, Intervals, RegionFinder};
///
/// let model = Arc::new(ActivityModel::new(JavaMath::of_maker(CpuMaker::Intel)?, 2));
/// let contig = Contig::new(0, b"chr1", [b'A'; 500]);
/// let mut finder = RegionFinder::new(model, contig, &Intervals::of_contig(500))?;
/// let mut regions = Vec::new();
/// for _ in 0..2 {
///     let read = CallerRead {
///         start: 300,
///         cigar: "3M".parse()?,
///         bases: b"ACA".to_vec(),
///         qualities: vec![37; 3],
///         ..CallerRead::default()
///     };
///     finder.add_read(Arc::new(read), &mut regions)?;
/// }
/// finder.finish(&mut regions);
/// let active = Vec::from_iter(regions.iter().filter(|region| region.is_active));
/// assert!(active.len() == 1 && active[0].span.start < 301 && active[0].span.end > 301);
/// assert_eq!(active[0].reads.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RegionFinder {
    contig: Contig,
    intervals: VecDeque<ContigSpan>,
    window: ActivityWindow,
    cutter: RegionCutter,
    /// Regions with the locus before which they were cut.
    pending: Vec<(CutRegion, i32)>,
    /// Regions that were just cut.
    cut: Vec<CutRegion>,
    last_locus: i32,
    last_ready: i32,
    reads: VecDeque<Arc<CallerRead>>,
    last_start: i32,
}

impl RegionFinder {
    /// Starts a contig. Only loci in `intervals` become part of regions.
    ///
    /// # Errors
    /// An interval is not within the contig.
    pub fn new(model: Arc<ActivityModel>, contig: Contig, intervals: &Intervals) -> Result<Self> {
        check_intervals(&contig, intervals)?;
        Ok(RegionFinder {
            intervals: intervals.spans().iter().copied().collect(),
            cutter: RegionCutter::new(model.math(), contig.length()),
            window: ActivityWindow::new(model, contig.clone(), 1),
            contig,
            pending: Vec::new(),
            cut: Vec::new(),
            last_locus: intervals.spans().last().map_or(0, |span| span.end),
            last_ready: 0,
            reads: VecDeque::new(),
            last_start: 0,
        })
    }

    /// Adds the next read of the contig, and appends the regions that no later read overlaps.
    ///
    /// # Errors
    /// The read starts left of the one before, or with a deletion after padding, which passes the
    /// filters.
    pub fn add_read(&mut self, read: Arc<CallerRead>, regions: &mut Vec<AssemblyRegion>) -> Result<()> {
        if read.start < self.last_start {
            return Err(Error::input("the reads are not sorted by position").qname(&read.name));
        }
        if starts_with_deletion(&read) {
            return Err(Error::input("the alignment starts with a deletion").qname(&read.name));
        }
        self.last_start = read.start;
        self.take_loci_before(read.start);
        self.emit_regions(read.start, regions);
        self.window.add_read(&read);
        self.reads.push_back(read);
        Ok(())
    }

    /// Ends the contig and appends its last regions.
    pub fn finish(&mut self, regions: &mut Vec<AssemblyRegion>) {
        self.take_loci_before(i32::MAX);
        self.cutter.finish(&mut self.cut);
        self.pending.extend(self.cut.drain(..).map(|region| (region, i32::MAX)));
        self.emit_regions(i32::MAX, regions);
    }

    /// Returns the memory in bytes of the reads that later regions need.
    pub fn heap_bytes(&self) -> u64 {
        self.reads.iter().map(|read| read.heap_bytes()).sum()
    }

    /// Passes the activity of complete loci to the profile.
    fn take_loci_before(&mut self, next: i32) {
        while let Some(&interval) = self.intervals.front() {
            self.window.skip_to(interval.start);
            let last = interval.end.min(next - 1);
            let (cutter, cut, pending) = (&mut self.cutter, &mut self.cut, &mut self.pending);
            self.window.take_until(last, |locus, activity| {
                cutter.add(locus, activity, cut);
                pending.extend(cut.drain(..).map(|region| (region, locus)));
            });
            if last < interval.end {
                return;
            }
            self.intervals.pop_front();
        }
    }

    /// Emits the regions that reads from position `next` on do not overlap.
    fn emit_regions(&mut self, next: i32, regions: &mut Vec<AssemblyRegion>) {
        let contig_length = self.contig.length();
        let mut emitted = 0;
        for &(CutRegion { span, is_active }, cut_before) in &self.pending {
            let padded_span = span.pad(PADDING, contig_length);
            if padded_span.end >= next {
                break;
            }
            self.reads.retain(|read| read.end() >= padded_span.start);
            let reads = self.reads.iter().filter(|read| read.span().overlaps(padded_span));
            let reads = reads.cloned().collect();
            let ready = cut_before.max(padded_span.end.saturating_add(1));
            let ready_locus = ready.max(self.last_ready.saturating_add(1));
            let ready_locus = if ready_locus < self.last_locus { ready_locus } else { i32::MAX };
            self.last_ready = ready_locus;
            regions.push(AssemblyRegion { span, padded_span, is_active, ready_locus, reads });
            emitted += 1;
        }
        self.pending.drain(..emitted);
    }
}

/// Refuses an interval with positions that the contig does not have.
fn check_intervals(contig: &Contig, intervals: &Intervals) -> Result<()> {
    let is_outside = |span: &&ContigSpan| span.start < 1 || span.end > contig.length();
    let Some(ContigSpan { start, end }) = intervals.spans().iter().find(is_outside) else {
        return Ok(());
    };
    let (name, length) = (contig.name.escape_ascii(), contig.length());
    let what =
        format!("interval {name}:{start}-{end} is not within the contig, which has {length} bases");
    Err(Error::input(what).hint("correct the interval, or use intervals made for this reference"))
}

/// Returns whether a deletion comes before the first base of the read.
fn starts_with_deletion(read: &CallerRead) -> bool {
    let before_bases = read.cigar.iter().take_while(|element| !element.operator().consumes_read());
    before_bases.into_iter().any(|element| element.operator() == CigarOperator::Deletion)
}

#[cfg(test)]
mod tests {
    use readmill_jmath::{CpuMaker, JavaMath};

    use super::*;

    fn model() -> Arc<ActivityModel> {
        Arc::new(ActivityModel::new(JavaMath::of_maker(CpuMaker::Intel).unwrap(), 2))
    }

    fn add_reads(cigars_and_starts: &[(&str, i32)]) -> Result<()> {
        let contig = Contig::new(0, b"c", [b'A'; 100]);
        let intervals = Intervals::of_contig(100);
        let mut finder = RegionFinder::new(model(), contig, &intervals)?;
        cigars_and_starts.iter().try_for_each(|&(cigar, start)| {
            let (bases, qualities) = (vec![b'A'; 10], vec![30; 10]);
            let cigar = cigar.parse().unwrap();
            let read = CallerRead { start, cigar, bases, qualities, ..CallerRead::default() };
            finder.add_read(Arc::new(read), &mut Vec::new())
        })
    }

    #[test]
    fn reads_at_which_gatk_fails_are_refused() {
        assert_eq!(add_reads(&[("10M", 5), ("2I1P3D8M", 5), ("10M", 95)]), Ok(()));
        let error = add_reads(&[("1P3D10M", 5)]).unwrap_err();
        assert_eq!(error.what, "the alignment starts with a deletion");
        let error = add_reads(&[("10M", 5), ("10M", 4)]).unwrap_err();
        assert_eq!(error.what, "the reads are not sorted by position");
    }

    #[test]
    fn an_interval_beyond_the_contig_is_refused() {
        let contig = Contig::new(0, b"c", [b'A'; 100]);
        let start = |start, end| {
            let intervals = Intervals::new([ContigSpan { start: 5, end: 9 }, ContigSpan { start, end }]);
            RegionFinder::new(model(), contig.clone(), &intervals).map(drop).map_err(|error| error.what)
        };
        assert_eq!(start(50, 100), Ok(()));
        let error = start(50, 101).unwrap_err();
        assert_eq!(error, "interval c:50-101 is not within the contig, which has 100 bases");
        assert!(start(i32::MAX, i32::MAX).is_err());
        assert!(start(0, 3).is_err());
    }

    #[test]
    fn a_region_is_ready_after_its_padding() {
        let contig = Contig::new(0, b"c", [b'A'; 1000]);
        let intervals = Intervals::of_contig(1000);
        let mut finder = RegionFinder::new(model(), contig, &intervals).unwrap();
        let mut regions = Vec::new();
        finder.finish(&mut regions);
        let ready = Vec::from_iter(regions.iter().map(|region| region.ready_locus));
        assert_eq!(ready, [401, 701, i32::MAX, i32::MAX]);
    }
}
