//! All lanes of an aligning run, and the tasks that are claimed from them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_align::{Cohorts, Kernel};
use readmill_engine::{Crew, Pool};
use readmill_fastq::{BatchLinker, BatchOptions, Claims, LayoutDoubt, QualityEncoding, TakenBatch};
use readmill_filters::adapter::{AdapterCounts, FoundIn, Marker, RemainingAdapters};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, LinkedRecords, OpenedChunk};
use readmill_format::summed::StreamSum;
use readmill_process::console::Console;
use readmill_record::{Batch, Error, ReadBatch, Result};

use super::input_counts::LaneCounts;
use super::kernel::{AlignRoom, batches_read_ahead};
use super::lane::{ChosenLanes, LaneInput, LaneSource, detect_encoding, open_claims};
use super::mixed::SingleReadCounter;
use super::qualities;
use super::queue::{AlignQueue, AlignTask, BatchFindings, RawRecords};
use super::read_names;
use super::read_tags::{self, CommentKind};
use super::slice::{LanePlace, SliceStart, WantedTemplates};
use super::trimming::Trimming;
use super::unaligned::Unaligned;
use crate::addons::InputCounter;
use crate::plan;

const MAX_BATCH_TEMPLATES: usize = 1024;

/// Bytes of text at which a batch ends, even if it has fewer templates.
const BATCH_BYTES: usize = 2 << 20;

/// Maximum size of a FASTQ record in bytes. Reads that are too long to be aligned still fit, so the
/// error can contain their length. In a file that is not FASTQ at all, the search for the end of a
/// record stops early.
const MAX_RECORD_BYTES: usize = 2 << 20;

/// The lanes of an aligning run, which are read one after the other, and everything that threads
/// need to prepare and align their reads.
///
/// [`Lanes::next_task`] returns tasks. [`AlignWorker`](super::AlignWorker) performs them, and
/// [`AlignLink`](super::AlignLink) takes the results in order.
pub struct Lanes {
    pub kernel: Arc<dyn Kernel>,
    pub lanes: Vec<LaneInput>,
    read_tags: plan::ReadTags,
    /// How reads are converted if they are not aligned (`import`), and the quality encoding of
    /// their FASTQ files.
    import: Option<(plan::Import, QualityEncoding)>,
    pub trimming: Option<Arc<Trimming>>,
    /// Finds adapters and marks them in field XT.
    marker: Option<Marker>,
    pub room: AlignRoom,
    pub threads: usize,
    /// Number of batches that are read before their candidates are searched for. It is large enough
    /// that no thread waits for text to be linked while others search.
    max_batches_ahead: usize,
    pub buffers: Pool<ReadBatch>,
    pub batches: Pool<Batch>,
    pub chunks: Pool<Chunk>,
    queue: Mutex<AlignQueue>,
    pub single_reads: Arc<SingleReadCounter>,
}

/// Returns the maximum window of a zstd file, as a power of two. It is a quarter of the room for
/// long reads, because two files may be open, but at least 8 MiB, which fits into the room for
/// text.
fn zstd_window_log(room: AlignRoom) -> u32 {
    (room.long / 4).max(1).ilog2().clamp(23, 27)
}

impl Lanes {
    /// Opens the FASTQ files of the chosen lanes. `unaligned` contains the files of records, which
    /// were opened earlier because their headers contribute to the output header.
    pub fn open(
        wanted: &plan::Aligning,
        chosen: ChosenLanes<'_>,
        mut unaligned: Vec<Unaligned>,
        kernel: Arc<dyn Kernel>,
        crew: Crew,
        room: AlignRoom,
        allow_missing_eof: bool,
    ) -> Result<Self> {
        let ahead = batches_read_ahead(crew.threads);
        let options = BatchOptions {
            templates: MAX_BATCH_TEMPLATES,
            batch_bytes: BATCH_BYTES,
            record_bytes: MAX_RECORD_BYTES,
            max_in_flight: ahead,
            allow_missing_eof,
            zstd_window_log: zstd_window_log(room),
            allow_singles_among_pairs: true,
            restartable: matches!(chosen, ChosenLanes::Scan(_)),
            ..BatchOptions::default()
        };
        let start = match chosen {
            ChosenLanes::Slice(slice) => slice.start.clone(),
            _ => SliceStart::default(),
        };
        let numbering = start.reading.numbering;
        let options = BatchOptions { first_template: start.reading.template, numbering, ..options };
        let until = if let ChosenLanes::Slice(slice) = chosen { slice.until } else { None };
        let (read_tags, queue) = (wanted.read_tags.clone(), Mutex::default());
        let marker = read_tags.adapters.as_ref().map(Marker::new).transpose()?;
        let trimming = wanted.trimming.as_ref().map(|it| Arc::new(Trimming::new(it)));
        let mut unaligned = unaligned.drain(..);
        let import = match wanted.aligner.import() {
            Some(import) => {
                Some((import.clone(), detect_encoding(import, wanted.lanes.first(), options)?))
            }
            None => None,
        };
        let mut open = |lane: &plan::LaneInput| {
            let origin = match open_claims(lane, &start.reading.place, options)? {
                Some(claims) => LaneSource::Fastq(Arc::new(claims)),
                None => {
                    let next = unaligned.next().ok_or_else(|| Error::bug("a file was not opened"))?;
                    LaneSource::Records(Box::new(next))
                }
            };
            let group = lane.read_group_id().map(<[u8]>::to_vec);
            let (kept, adapters) = (RemainingAdapters::default(), start.reading.adapters.clone());
            marker.iter().for_each(|marker| marker.resume_pruning(&adapters, &kept));
            let wanted = WantedTemplates { from: start.template, until };
            let cuts_poly_g = match start.reading.place {
                LanePlace::Start => trimming.as_ref().is_some_and(|it| it.cuts_poly_g(&origin)),
                _ => start.reading.cuts_poly_g,
            };
            let (files, left, is_trimmed) = (lane.files.clone(), start.reading.left, trimming.is_some());
            Ok(LaneInput {
                source: origin,
                group,
                searched_adapters: kept,
                files,
                wanted,
                adapters,
                templates_kept_before: left,
                is_trimmed,
                cuts_poly_g,
                input_counts: None,
            })
        };
        let lanes = wanted.lanes.iter().enumerate().filter(|(number, _)| chosen.opens_lane(*number));
        let lanes = lanes.map(|(_, lane)| open(lane)).collect::<Result<_>>()?;
        let n = crew.in_flight;
        let (buffers, batches, chunks) = (Pool::new(2 * n), Pool::new(n), Pool::new(n));
        let threads = crew.threads;
        let how = if import.is_some() { "written" } else { "aligned" };
        Ok(Lanes {
            kernel,
            lanes,
            read_tags,
            import,
            trimming,
            marker,
            room,
            threads,
            max_batches_ahead: ahead,
            buffers,
            batches,
            chunks,
            queue,
            single_reads: Arc::new(SingleReadCounter::new(how)),
        })
    }

    /// Reports a guessed quality encoding, so that the user can correct it. Warns if the guess is
    /// not the standard encoding.
    pub fn report_encoding(&self, console: &Console) {
        let Some((import, encoding)) = &self.import else { return };
        if import.encoding.is_some() {
            return;
        }
        let offset = if *encoding == QualityEncoding::Standard { 33 } else { 64 };
        let name = encoding.name();
        let what = format!("quality encoding detected from the first reads: {name} (Phred + {offset})");
        match encoding {
            QualityEncoding::Standard => console.write_note(&what),
            _ => console.write_warning(&format!(
                "{what}, because no quality character is below {}; if that is wrong, add --quality-encoding standard (Picard's QUALITY_FORMAT=Standard)",
                char::from(if *encoding == QualityEncoding::Solexa { b';' } else { b'@' })
            )),
        }
    }

    /// Makes all lanes count their unchanged reads with `counter`, if there is one.
    pub fn with_input_counter(mut self, counter: Option<&Arc<dyn InputCounter>>) -> Self {
        for lane in &mut self.lanes {
            lane.input_counts = counter.map(|counter| LaneCounts::new(counter, &lane.files));
        }
        self
    }

    /// Returns the FASTQ files with their checksums, which are complete after the files have been
    /// read.
    pub fn file_sums(&self) -> impl Iterator<Item = (&Path, &StreamSum)> {
        let claims = self.lanes.iter().filter_map(|lane| match &lane.source {
            LaneSource::Fastq(claims) => Some(claims.checksums()),
            LaneSource::Records(_) => None,
        });
        claims.flatten()
    }

    /// Returns the FASTQ files, each with a flag that is set if its BGZF data end without the EOF
    /// block.
    pub fn missing_ends(&self) -> Vec<(PathBuf, Arc<AtomicBool>)> {
        let claims = self.lanes.iter().filter_map(|lane| match &lane.source {
            LaneSource::Fastq(claims) => Some(claims.missing_eof_flags()),
            LaneSource::Records(_) => None,
        });
        claims.flatten().map(|(path, is_missing)| (path.to_path_buf(), is_missing)).collect()
    }

    /// Compares the names of the first reads of each lane with the layout of its files. Warns if
    /// the layout is probably wrong, for example if interleaved mates were given as single reads.
    ///
    /// # Errors
    /// Fails if the layout is certainly wrong.
    pub fn check_layout(&self, console: &Console) -> Result<()> {
        for lane in &self.lanes {
            let LaneSource::Fastq(claims) = &lane.source else { continue };
            if let (Some(separator), Some(name)) = (claims.numbering(), claims.first_name()) {
                let (separator, name) = (char::from(separator), String::from_utf8_lossy(name));
                let what = "read names end in a mate number, which is removed";
                console.write_note(&format!(
                    "{what}, together with the {separator} before it (the first read is {name})"
                ));
            }
            match claims.layout_doubt() {
                Some(LayoutDoubt::Certain(error)) => return Err(error),
                Some(LayoutDoubt::Likely(what)) => console.write_warning(&what),
                None => {}
            }
        }
        Ok(())
    }

    /// Prepares the reads of a batch for alignment, in parallel with other batches:
    ///
    /// 1. converts qualities and names, if reads are only imported;
    /// 2. removes barcodes, and creates the optional fields of the records;
    /// 3. trims reads, and drops templates;
    /// 4. marks adapters.
    ///
    /// Returns the trimming counts, and the templates in which adapters were found while the list
    /// of adapters may still become shorter.
    pub fn prepare_reads(&self, lane: usize, reads: &mut ReadBatch) -> Result<BatchFindings> {
        let mut prepared = self.prepare_batch(lane, reads)?;
        if let Some(mut singles) = reads.take_singles() {
            self.single_reads.add_count(singles.reads.len());
            prepared.singles = Some(Box::new(self.prepare_batch(lane, &mut singles.reads)?));
            reads.set_singles(Some(singles));
        }
        Ok(prepared)
    }

    fn prepare_batch(&self, lane: usize, reads: &mut ReadBatch) -> Result<BatchFindings> {
        let lane = &self.lanes[lane];
        let comments = match (&lane.source, self.read_tags.comments) {
            (LaneSource::Records(_), _) => CommentKind::Stored,
            (LaneSource::Fastq(_), true) => CommentKind::Text { has_group: lane.group.is_some() },
            (LaneSource::Fastq(_), false) => {
                self.read_tags.casava.map_or(CommentKind::Ignored, CommentKind::Casava)
            }
        };
        let blame = |error: Error, reads: &ReadBatch, at| lane.locate_error(error, reads, at);
        if let (Some((import, encoding)), LaneSource::Fastq(_)) = (&self.import, &lane.source) {
            qualities::convert_to_phred33(*encoding, &import.qualities, reads, blame)?;
            if !(import.ends_by_name && reads.segments() == 1) {
                read_names::strip_read_numbers(reads, blame)?;
            }
        }
        let of_aligner = if self.import.is_some() { &[] } else { &read_tags::ALIGNER_TAGS[..] };
        read_tags::extract_tags(&self.read_tags, comments, of_aligner, reads, blame)?;
        let trim = |it: &Arc<Trimming>| it.trim_batch(lane.cuts_poly_g, reads, blame);
        let trimmed = self.trimming.as_ref().map(trim).transpose()?;
        let (Some(marker), kept) = (&self.marker, lane.searched_adapters.marker()) else {
            return Ok(BatchFindings { trimmed, ..BatchFindings::default() });
        };
        let mut found_in = kept.unwrap_or(marker).mark_batch(reads);
        if kept.is_some() || !marker.may_prune() {
            found_in = FoundIn::new();
        }
        Ok(BatchFindings { found_in, trimmed, singles: None })
    }

    pub fn no_reads_error(&self) -> Option<Error> {
        let (import, _) = self.import.as_ref()?;
        import.needs_reads.then(|| Error::input("the files contain no reads"))
    }

    /// Adds the counts of a linked batch to the totals. Updates which adapters are searched for in
    /// later batches of the lane. Called in input order, so the list of adapters does not depend on
    /// threads.
    pub fn add_findings(
        &self,
        lane: usize,
        tally: &mut AdapterCounts,
        prepared: &BatchFindings,
        reads: &mut ReadBatch,
    ) {
        let BatchFindings { found_in, trimmed, singles } = prepared;
        if let Some(marker) = self.marker.as_ref().filter(|_| !found_in.is_empty()) {
            marker.settle_batch(tally, &self.lanes[lane].searched_adapters, found_in, reads);
        }
        if let (Some(trimming), Some(trimmed)) = (&self.trimming, trimmed) {
            trimming.add_tally(trimmed);
        }
        if let (Some(prepared), Some(mut singles)) = (singles, reads.take_singles()) {
            self.add_findings(lane, tally, prepared, &mut singles.reads);
            reads.set_singles(Some(singles));
        }
    }

    /// Links a FASTQ batch to the previous ones. Prepares it again if it was cut incorrectly. Adds
    /// its findings to the totals, and returns them.
    ///
    /// # Errors
    /// Returns the first error in the files, or in the reads of the batch.
    pub fn link_taken(
        &self,
        lane: usize,
        order: &mut BatchLinker,
        adapters: &mut AdapterCounts,
        batch: (TakenBatch, Option<Result<BatchFindings>>),
        reads: &mut ReadBatch,
    ) -> Result<BatchFindings> {
        let (taken, prepared) = batch;
        let is_taken = order.link(taken, reads)?;
        self.lanes[lane]
            .input_counts
            .as_ref()
            .map_or(Ok(()), |counts| counts.add_linked_batch(is_taken, reads))?;
        let prepared = if is_taken {
            prepared.unwrap_or(Ok(BatchFindings::default()))?
        } else {
            self.prepare_reads(lane, reads)?
        };
        self.add_findings(lane, adapters, &prepared, reads);
        Ok(prepared)
    }

    /// Links a chunk of a lane's file to the previous ones, and queues its records to be converted
    /// to reads. `None` ends the file.
    pub fn link_opened(
        &self,
        lane: usize,
        opened: Option<OpenedChunk>,
        chain: &mut ChunkLinker,
    ) -> Result<()> {
        let last = opened.is_none();
        let linked = match opened {
            Some(opened) => chain.link_chunk(opened),
            None => chain.finish_input(Batch::default()),
        };
        self.queue_raw_records(lane, linked, last)
    }

    pub fn end_lane(&self, lane: usize) {
        match &self.lanes[lane].source {
            LaneSource::Fastq(claims) => claims.end_reads(),
            LaneSource::Records(unaligned) => {
                unaligned.stop_reading();
                self.lock_queue().raw.retain(|raw| raw.lane != lane);
            }
        }
    }

    /// Returns the next task, or `None` when all records have been passed on. Called by the claimer
    /// of the run.
    ///
    /// The task closest to the output has priority: pass records on, write records of ready
    /// batches, read another batch if few are read ahead, search for candidates. If none is
    /// possible now, the task is to wait for tickets in flight.
    pub fn next_task(&self) -> Result<Option<AlignTask>> {
        let mut queue = self.lock_queue();
        if let Some(opened) = queue.records.pop_front() {
            return Ok(Some(AlignTask::Records(opened)));
        }
        // Batches are processed in order, so a batch that waits for the memory of its long reads
        // also delays later ones.
        let (emitted, seeded) = (queue.ready.front(), queue.unseeded.front());
        let [emitted, seeded] = [emitted.map(|it| &it.reads), seeded.map(|(_, reads)| reads)]
            .map(|reads| reads.map_or(0, |reads| self.long_read_bytes(reads)));
        let fits = |bytes| bytes == 0 || bytes <= self.room.long.saturating_sub(queue.long_read_bytes);
        let (may_emit, may_seed) =
            (fits(emitted), fits(seeded) && (seeded == 0 || queue.ready.is_empty()));
        let task = if may_emit && let Some(piece) = queue.ready.pop_front() {
            queue.long_read_bytes += emitted;
            Some(AlignTask::Emit(piece))
        } else if queue.unseeded.len() + queue.reads_in_flight < self.max_batches_ahead
            && let Some(task) = self.next_batch_task(&mut queue)?
        {
            queue.reads_in_flight += 1;
            Some(task)
        } else if may_seed && let Some((slot, reads)) = queue.unseeded.pop_front() {
            queue.long_read_bytes += seeded;
            Some(AlignTask::Seed(slot, reads))
        } else {
            None
        };
        Ok(match task {
            Some(task) => {
                queue.in_flight += 1;
                Some(task)
            }
            None => (queue.in_flight > 0).then_some(AlignTask::Wait),
        })
    }

    /// Returns the [`Cohorts`] that cut the reads of FASTQ files into cohorts, or `None` if each
    /// batch is aligned independently. If single reads may occur among pairs, cohorts are cut even
    /// if no insert sizes are inferred, because bwa numbers reads by cohort.
    pub fn new_cohort_cutter(&self, claims: &Claims) -> Option<Cohorts> {
        let numbered = || self.kernel.interleaved_cohort_bases().filter(|_| claims.may_have_singles());
        self.kernel.cohort_bases(claims.segments()).or_else(numbered).map(Cohorts::new)
    }

    /// Returns the additional memory that the longest of these reads needs while it is aligned, in
    /// bytes.
    pub fn long_read_bytes(&self, reads: &ReadBatch) -> u64 {
        let singles = reads.singles().into_iter().flat_map(|singles| singles.reads.spans());
        let longest = reads.spans().iter().chain(singles).map(|span| span.len as usize).max();
        self.kernel.long_read_bytes(longest.unwrap_or(0))
    }

    pub fn too_long_error(&self, lane: usize, reads: &ReadBatch) -> Error {
        self.lanes[lane].too_long_error(reads, self.long_read_bytes(reads), &self.room)
    }

    /// Returns the next reading task: queued records to convert, or the next batch or chunk of a
    /// lane that has not ended.
    fn next_batch_task(&self, queue: &mut AlignQueue) -> Result<Option<AlignTask>> {
        if let Some(raw) = queue.raw.pop_front() {
            return Ok(Some(AlignTask::Convert(raw)));
        }
        loop {
            let Some(lane) = self.lanes.get(queue.lane) else { return Ok(None) };
            let (number, batch) = (queue.lane, queue.batch);
            match &lane.source {
                LaneSource::Fastq(claims) if claims.has_ended() => {}
                LaneSource::Fastq(_) => {
                    queue.batch += 1;
                    return Ok(Some(AlignTask::Take { lane: number, batch }));
                }
                LaneSource::Records(unaligned) => {
                    let claim = unaligned.claim_chunk(self.chunks.take().unwrap_or_default())?;
                    queue.lane += usize::from(claim.is_none());
                    return Ok(Some(AlignTask::Open(number, claim)));
                }
            }
            (queue.lane, queue.batch) = (queue.lane + 1, 0);
        }
    }

    /// Queues records to be converted to reads, in parts of the size of a batch. The last part
    /// carries the error, if any, and the end of the file.
    fn queue_raw_records(&self, lane: usize, linked: LinkedRecords, last: bool) -> Result<()> {
        let LinkedRecords { batch, number, mut fault, .. } = linked;
        let records = batch.len();
        if records == 0 && fault.is_none() && !last {
            self.batches.put(batch.into_memory());
            return Ok(());
        }
        let unaligned = self.lanes[lane].unaligned()?;
        let (segments, number) =
            (unaligned.reads_per_template(&batch), unaligned.first_record() + number);
        let (batch, mut queue, mut from) = (Arc::new(batch), self.lock_queue(), 0);
        loop {
            let (mut to, mut bytes) = (from, 0);
            for template in batch.spans()[from..].chunks(segments).take(MAX_BATCH_TEMPLATES) {
                to += template.len();
                bytes += template.iter().map(|span| span.len as usize).sum::<usize>();
                if bytes >= BATCH_BYTES {
                    break;
                }
            }
            let is_end = to == records;
            queue.raw.push_back(RawRecords {
                lane,
                batch: Arc::clone(&batch),
                range: from..to,
                number: number + from as u64,
                fault: fault.take_if(|_| is_end),
                last: last && is_end,
            });
            from = to;
            if is_end {
                return Ok(());
            }
        }
    }

    pub fn lock_queue(&self) -> MutexGuard<'_, AlignQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn bytes_read(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.progress().0).sum()
    }

    /// Returns the total stored size of all files in bytes; `None` if one of them is a pipe.
    pub fn size(&self) -> Option<u64> {
        self.lanes.iter().map(|lane| lane.progress().1).sum()
    }

    /// Returns the name of the first read, from which the instrument is derived. Reads the first
    /// batch of a FASTQ file for this.
    pub fn first_name(&self) -> Option<Vec<u8>> {
        match &self.lanes.first()?.source {
            LaneSource::Fastq(claims) => {
                let mut reads = ReadBatch::default();
                claims.take(0, &mut reads);
                reads.iter().next().map(|read| read.name.to_vec())
            }
            LaneSource::Records(unaligned) => unaligned.first_name(),
        }
    }
}
