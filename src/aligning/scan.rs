//! Reads a lane once without aligning it, to find where its slices start. This is the first stage
//! of an aligning job in stages.

use std::collections::VecDeque;
use std::sync::Arc;

use readmill_align::Cohorts;
use readmill_engine::{Crew, map_ordered};
use readmill_fastq::{BatchLinker, TakenBatch, TextPlace};
use readmill_filters::adapter::AdapterCounts;
use readmill_format::chain::ChunkLinker;
use readmill_process::console::Console;
use readmill_record::{Batch, Error, ReadBatch, Result};
use readmill_trim::TrimTally;

use super::flow::AlignWorker;
use super::lane::LaneSource;
use super::lanes::Lanes;
use super::queue::{AlignTaskResult, BatchFindings};
use super::slice::{LanePlace, ReadingStart, SliceStart};
use super::unaligned::MAX_RECORD;

/// A scan of one lane. A file of records may be scanned in pieces.
#[derive(Default)]
pub struct LaneScan {
    /// Wanted starts of slices, as offsets in stored FASTQ bytes. A slice starts at the first
    /// cohort after each mark.
    marks: VecDeque<u64>,
    waiting: Vec<ReadingStart>,
    /// Decides where cohorts end. `None` before the first read, and if each template is aligned
    /// independently.
    cutter: Option<Cohorts>,
    adapters: AdapterCounts,
    /// Number of templates so far. `kept_templates` is the number that trimming has kept.
    templates: u64,
    kept_templates: u64,
    segments: usize,
    cuts_poly_g: Option<bool>,
    trimmed: Option<TrimTally>,
    starts: Vec<SliceStart>,
}

pub struct ScannedLane {
    pub templates: u64,
    pub segments: usize,
    /// The starts of all slices except the first. There may be fewer than wanted, if the lane has
    /// fewer cohorts or its files can only be read from the start.
    pub starts: Vec<SliceStart>,
    pub trimmed: Option<TrimTally>,
}

impl LaneScan {
    /// Creates a FASTQ scan that finds slice starts near `marks`, which are offsets in the stored
    /// bytes of all files of the lane.
    pub fn new(marks: impl IntoIterator<Item = u64>) -> Self {
        LaneScan { marks: marks.into_iter().collect(), ..LaneScan::default() }
    }

    /// Starts a slice at the next cohort, to be read from piece `number` of a file of records.
    pub fn begin_piece(&mut self, number: usize) {
        let reading = ReadingStart {
            template: self.templates,
            place: LanePlace::Piece(number),
            adapters: self.adapters.clone(),
            left: self.kept_templates,
            cuts_poly_g: self.cuts_poly_g.unwrap_or_default(),
            numbering: None,
        };
        match self.cutter {
            Some(_) => self.waiting.push(reading),
            None => self.starts.push(SliceStart { template: self.kept_templates, reading }),
        }
    }

    pub fn segments(&self) -> Option<usize> {
        Some(self.segments).filter(|&segments| segments > 0)
    }

    pub fn cuts_poly_g(&self) -> Option<bool> {
        self.cuts_poly_g
    }

    pub fn templates(&self) -> u64 {
        self.templates
    }

    /// Reads the lane in `lanes`, or a piece of it, to its end.
    ///
    /// # Errors
    /// Returns the first error of its reads.
    pub fn read_lane(&mut self, lanes: &Arc<Lanes>, crew: Crew, console: &Console) -> Result<()> {
        self.cuts_poly_g = lanes.lanes.first().map(|lane| lane.cuts_poly_g);
        let order = match lanes.lanes.first().map(|lane| &lane.source) {
            Some(LaneSource::Fastq(claims)) => {
                self.cutter = lanes.new_cohort_cutter(claims);
                Some(BatchLinker::new(claims))
            }
            _ => None,
        };
        let chain = ChunkLinker::new(MAX_RECORD);
        let mut link = ScanLink { scan: self, lanes: Arc::clone(lanes), order, chain };
        let mut read = 0;
        let claim = || {
            let now = lanes.bytes_read();
            console.advance(now.saturating_sub(read));
            read = now;
            lanes.next_task()
        };
        map_ordered(
            crew,
            claim,
            || AlignWorker::new(lanes),
            |worker, task| worker.perform_task(task, Batch::default),
            |done| link.take_result(done),
        )?;
        if let Some(trimming) = &lanes.trimming {
            *self.trimmed.get_or_insert_default() += &trimming.counts();
        }
        Ok(())
    }

    pub fn finish(self) -> ScannedLane {
        let LaneScan { kept_templates: left, segments, starts, trimmed, .. } = self;
        ScannedLane { templates: left, segments: segments.max(1), starts, trimmed }
    }

    /// Counts the templates of a batch, and numbers them as after trimming, which dropped `dropped`
    /// of them. Calls `border` with the number of each template that starts a cohort.
    fn count_templates(
        &mut self,
        reads: &mut ReadBatch,
        dropped: u64,
        mut border: impl FnMut(&mut Self, u64) -> Result<()>,
    ) -> Result<()> {
        let templates = reads.template_count_with_singles() as u64;
        (self.segments, self.templates) =
            (reads.segments(), reads.first_template() + templates + dropped);
        reads.set_first_template(self.kept_templates);
        self.kept_templates += templates;
        if reads.is_mixed() {
            // Cohorts may end between mates, and reads are numbered by all preceding reads, so the
            // rest is one slice.
            self.marks.clear();
            return Ok(());
        }
        let Some(mut cutter) = self.cutter.take() else { return border(self, reads.first_template()) };
        let mut from = 0;
        while from < reads.template_count() {
            let (part, ends) = cutter.take_templates(reads, from);
            from = part.end;
            if ends {
                border(self, reads.first_template() + from as u64)?;
            }
        }
        self.cutter = Some(cutter);
        Ok(())
    }
}

struct ScanLink<'a> {
    scan: &'a mut LaneScan,
    lanes: Arc<Lanes>,
    /// Checks the order of FASTQ batches. `None` for records, and after the last batch.
    order: Option<BatchLinker>,
    chain: ChunkLinker,
}

impl ScanLink<'_> {
    fn take_result(&mut self, done: AlignTaskResult) -> Result<()> {
        match done {
            AlignTaskResult::Waited => return Ok(()),
            AlignTaskResult::Taken(_, taken, reads, prepared) => {
                self.lanes.lock_queue().reads_in_flight -= 1;
                self.add_fastq_batch(taken, reads, prepared)?;
            }
            AlignTaskResult::Opened(lane, opened) => {
                self.lanes.lock_queue().reads_in_flight -= 1;
                self.lanes.link_opened(lane, opened, &mut self.chain)?;
            }
            AlignTaskResult::Converted(_, mut reads, prepared, _) => {
                self.lanes.lock_queue().reads_in_flight -= 1;
                let adapters = &mut self.scan.adapters;
                self.lanes.add_findings(0, adapters, &prepared, &mut reads);
                self.add_records(reads, &prepared)?;
            }
            AlignTaskResult::Seeded(..) | AlignTaskResult::Emitted(_) => {
                return Err(Error::bug("a scan does not align"));
            }
        }
        self.lanes.lock_queue().in_flight -= 1;
        Ok(())
    }

    fn add_fastq_batch(
        &mut self,
        taken: TakenBatch,
        mut reads: ReadBatch,
        prepared: Option<Result<BatchFindings>>,
    ) -> Result<()> {
        let Some(order) = &mut self.order else { return Ok(()) };
        let (places, adapters) = (order.restart_places()?, self.scan.adapters.clone());
        let batch = (taken, prepared);
        let found = self.lanes.link_taken(0, order, &mut self.scan.adapters, batch, &mut reads)?;
        let (template, left) = (reads.first_template(), self.scan.kept_templates);
        let cuts_poly_g = self.scan.cuts_poly_g.unwrap_or_default();
        let numbering = self.lanes.lanes[0].claims()?.numbering();
        let reading = |place| {
            let adapters = adapters.clone();
            ReadingStart { template, place, adapters, left, cuts_poly_g, numbering }
        };
        let lanes = Arc::clone(&self.lanes);
        let dropped = found.dropped_templates(reads.segments());
        self.scan.count_templates(&mut reads, dropped, |scan, template| {
            let Some(places) = &places else { return Ok(()) };
            while let Some(place) = scan.next_start(&lanes, places)? {
                scan.starts.push(SliceStart { template, reading: reading(place) });
            }
            Ok(())
        })?;
        self.lanes.buffers.put(reads);
        if self.lanes.lanes[0].claims()?.has_ended() {
            self.order = None;
        }
        Ok(())
    }

    fn add_records(&mut self, mut reads: ReadBatch, found: &BatchFindings) -> Result<()> {
        let dropped = found.dropped_templates(reads.segments());
        if reads.is_empty() && dropped == 0 {
            return Ok(());
        }
        if self.scan.segments == 0 {
            self.scan.cutter = self.lanes.kernel.cohort_bases(reads.segments()).map(Cohorts::new);
        }
        let has_cohorts = self.scan.cutter.is_some();
        self.scan.count_templates(&mut reads, dropped, |scan, template| {
            if has_cohorts {
                let waiting = std::mem::take(&mut scan.waiting);
                scan.starts.extend(waiting.into_iter().map(|reading| SliceStart { template, reading }));
            }
            Ok(())
        })?;
        self.lanes.buffers.put(reads);
        Ok(())
    }
}

impl LaneScan {
    /// Returns the position from which to read the next slice, if the batch at `places` is past the
    /// next mark and the files can be read from there.
    fn next_start(&mut self, lanes: &Lanes, places: &[TextPlace]) -> Result<Option<LanePlace>> {
        let claims = lanes.lanes[0].claims()?;
        let Some(mark) = self.marks.front() else { return Ok(None) };
        if claims.stored_bytes(places) < *mark {
            return Ok(None);
        }
        let Some(points) = claims.restart_points(places)? else { return Ok(None) };
        self.marks.pop_front();
        Ok(Some(LanePlace::Fastq(points)))
    }
}
