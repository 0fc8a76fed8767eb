//! A run over the records of a sorted file.

use std::sync::Arc;

use readmill_jmath::JavaRandom;
use readmill_record::{Error, RecordRef, Result};

use crate::activity::ActivityModel;
use crate::finder::{AssemblyRegion, RegionFinder};
use crate::intake::{GATK_SEED, IntakeCounts, PositionalDownsampler, ReadIntake};
use crate::read::CallerRead;
use crate::reference::Contig;
use crate::{ContigSpan, Intervals, PADDING};

/// Reads per start that HaplotypeCaller keeps unless it is asked otherwise.
pub const DEFAULT_MAX_READS_PER_START: usize = 50;

/// Walks over the contigs of a run, in the order of the header.
///
/// The generator of random numbers belongs to the whole run, because the draws of one contig change
/// which reads of the next are kept.
///
/// ```
/// use std::sync::Arc;
/// use readmill_jmath::{CpuMaker, JavaMath};
/// use readmill_record::Header;
/// use readmill_regions::activity::ActivityModel;
/// use readmill_regions::intake::ReadIntake;
/// use readmill_regions::{Contig, DEFAULT_MAX_READS_PER_START, Intervals, RegionWalk};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:450\n@RG\tID:lane1\tSM:s1\n")?;
/// let model = Arc::new(ActivityModel::new(JavaMath::of_maker(CpuMaker::Intel)?, 2));
/// let mut walk = RegionWalk::new(model, ReadIntake::new(&header), DEFAULT_MAX_READS_PER_START)?;
/// let mut regions = Vec::new();
/// walk.start_contig(Contig::new(0, b"chr1", [b'C'; 450]), &Intervals::of_contig(450))?;
/// walk.finish_contig(&mut regions)?; // no records
/// let ends = Vec::from_iter(regions.iter().map(|region| (region.span.start, region.span.end)));
/// assert_eq!(ends, [(1, 300), (301, 450)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RegionWalk {
    model: Arc<ActivityModel>,
    intake: ReadIntake,
    random: JavaRandom,
    max_reads_per_start: usize,
    contig: Option<OpenContig>,
}

/// The contig on which a walk is.
#[derive(Debug)]
struct OpenContig {
    /// Records must overlap these.
    bounds: Intervals,
    downsampler: PositionalDownsampler<CallerRead>,
    finder: RegionFinder,
    /// Reads that the downsampler has just emitted.
    kept: Vec<CallerRead>,
    runs: RunHistory,
}

impl RegionWalk {
    /// Starts a run. All reads of a start are kept if `max_reads_per_start` is 0.
    ///
    /// # Errors
    /// The header has several samples, for which GATK has another model.
    pub fn new(
        model: Arc<ActivityModel>,
        intake: ReadIntake,
        max_reads_per_start: usize,
    ) -> Result<Self> {
        if let [first, second, ..] = intake.samples() {
            let (first, second) = (first.escape_ascii(), second.escape_ascii());
            let what = format!("there are several samples, such as {first} and {second}");
            return Err(Error::usage(what).hint("call variants of one sample at a time"));
        }
        let random = JavaRandom::new(GATK_SEED);
        Ok(RegionWalk { model, intake, random, max_reads_per_start, contig: None })
    }

    /// Starts the next contig. Only loci in `intervals` become part of regions.
    ///
    /// # Errors
    /// The contig has another number of bases than in the header, or an interval is not within it.
    pub fn start_contig(&mut self, contig: Contig, intervals: &Intervals) -> Result<()> {
        self.intake.check_contig(&contig)?;
        self.contig = Some(OpenContig {
            bounds: intervals.pad(PADDING, contig.length()),
            downsampler: PositionalDownsampler::new(self.max_reads_per_start),
            finder: RegionFinder::new(Arc::clone(&self.model), contig, intervals)?,
            kept: Vec::new(),
            runs: RunHistory::default(),
        });
        Ok(())
    }

    /// Adds the next record of the contig, and appends the regions that it completes. Without a contig,
    /// nothing happens.
    ///
    /// # Errors
    /// Those of [`ReadIntake::accept_record`] and [`RegionFinder::add_read`].
    pub fn add_record(
        &mut self,
        record: RecordRef<'_>,
        regions: &mut Vec<AssemblyRegion>,
    ) -> Result<()> {
        let Some(contig) = &mut self.contig else { return Ok(()) };
        let end = record.end().min(i64::from(i32::MAX)) as i32;
        if !contig.bounds.overlap(ContigSpan { start: record.pos() + 1, end }) {
            return Ok(());
        }
        let Some(read) = self.intake.accept_record(record)? else {
            return Ok(());
        };
        let (start, kept) = (read.start, &mut contig.kept);
        contig.downsampler.push(read, start, &mut self.random, |read| kept.push(read));
        contig.pass_kept_reads(regions)
    }

    /// Ends the contig and appends its last regions. Without a contig, nothing happens.
    ///
    /// # Errors
    /// Those of [`RegionFinder::add_read`].
    pub fn finish_contig(&mut self, regions: &mut Vec<AssemblyRegion>) -> Result<()> {
        let Some(mut contig) = self.contig.take() else { return Ok(()) };
        let kept = &mut contig.kept;
        contig.downsampler.finish(|read| kept.push(read));
        contig.pass_kept_reads(regions)?;
        contig.finder.finish(regions);
        Ok(())
    }

    /// Returns whether [`add_record`](Self::add_record) may draw a random number for the record.
    pub fn may_draw_for(&self, record: RecordRef<'_>) -> bool {
        self.contig.as_ref().is_some_and(|contig| contig.downsampler.draws_at(record.pos() + 1))
    }

    /// Returns a locus: GATK calls a region before it draws numbers for reads that start where the last
    /// record did, if the next region's [`ready_locus`](AssemblyRegion::ready_locus) is less than this.
    pub fn draw_limit(&self) -> i32 {
        self.contig.as_ref().map_or(i32::MIN, |contig| contig.runs.draw_limit)
    }

    /// Returns the generator of the run, from which GATK also draws for annotations.
    pub fn random(&mut self) -> &mut JavaRandom {
        &mut self.random
    }

    /// Returns the numbers of records that passed and failed the filters so far.
    pub fn counts(&self) -> &IntakeCounts {
        self.intake.counts()
    }

    /// Returns the memory in bytes of the reads of the contig, which regions share.
    pub fn heap_bytes(&self) -> u64 {
        self.contig.as_ref().map_or(0, |contig| contig.finder.heap_bytes())
    }
}

impl OpenContig {
    fn pass_kept_reads(&mut self, regions: &mut Vec<AssemblyRegion>) -> Result<()> {
        self.runs.add_run(&self.kept);
        let finder = &mut self.finder;
        self.kept.drain(..).try_for_each(|read| finder.add_read(Arc::new(read), regions))
    }
}

/// What decides when GATK draws random numbers for the reads of a start.
///
/// GATK draws for a run of reads when it takes the last read of the run before. It takes a read together
/// with the one before it.
#[derive(Clone, Copy, Debug)]
struct RunHistory {
    /// The last locus that reads of earlier runs cover before the start of the last run.
    covered_before: i32,
    /// The locus before which the regions are called that precede the draws for the current run.
    draw_limit: i32,
    /// The last locus that is covered.
    covered_end: i32,
}

impl Default for RunHistory {
    fn default() -> Self {
        RunHistory { covered_before: i32::MIN, draw_limit: i32::MIN, covered_end: i32::MIN }
    }
}

impl RunHistory {
    /// Adds the reads of a run that is complete.
    fn add_run(&mut self, reads: &[CallerRead]) {
        let Some(first) = reads.first() else { return };
        let covered_before = self.covered_end.min(first.start - 1);
        self.draw_limit = if reads.len() > 1 { covered_before } else { self.covered_before };
        self.covered_before = covered_before;
        let visible = reads.iter().map(CallerRead::span_without_adapter);
        let ends = visible.filter(|span| !span.is_empty()).map(|span| span.end);
        self.covered_end = ends.fold(self.covered_end, i32::max);
    }
}

#[cfg(test)]
mod tests {
    use readmill_jmath::{CpuMaker, JavaMath};
    use readmill_record::Header;

    use super::*;

    #[test]
    fn a_contig_of_another_length_than_in_the_header_is_refused() {
        let model = Arc::new(ActivityModel::new(JavaMath::of_maker(CpuMaker::Intel).unwrap(), 2));
        let header = Header::parse(b"@SQ\tSN:c1\tLN:100\n@SQ\tSN:c2\tLN:90\n").unwrap();
        let mut walk = RegionWalk::new(model, ReadIntake::new(&header), 50).unwrap();
        let mut start = |index, length| {
            let contig = Contig::new(index, b"c2", vec![b'A'; length]);
            let intervals = Intervals::of_contig(length as i32);
            walk.start_contig(contig, &intervals).map_err(|error| error.what)
        };
        assert_eq!(start(1, 90), Ok(()));
        let error = start(1, 100).unwrap_err();
        assert_eq!(error, "contig c2 has 100 bases in the reference, but 90 in the header of the reads");
        let error = start(2, 90).unwrap_err();
        assert_eq!(error, "contig c2 of the reference is not in the header of the reads");
    }

    #[test]
    fn draws_follow_the_last_read_of_the_run_before() {
        let run = |start: i32, reads: usize| {
            vec![CallerRead { start, cigar: "20M".parse().unwrap(), ..CallerRead::default() }; reads]
        };
        let mut history = RunHistory::default();
        history.add_run(&run(10, 2));
        assert_eq!(history.draw_limit, i32::MIN, "no locus is covered before the first run");
        history.add_run(&run(50, 1));
        assert_eq!(history.draw_limit, i32::MIN, "a single read is taken with the one before");
        history.add_run(&run(60, 2));
        assert_eq!(history.draw_limit, 59);
    }
}
