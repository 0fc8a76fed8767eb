//! Writes extra outputs: collects reads in buffers, in order, and encodes the buffers on all
//! threads.
//!
//! ```text
//! part of the main output ─► reads for extra output n ─► buffer n ─(full)─► queue ─► encode ─► write
//!       (in order)                                                      (any thread)   (in order)
//! ```
//!
//! A partition of the main output may contain few reads for an extra output, so reads are collected
//! until a buffer is full. The next thread that is about to encode takes the full buffer. Where
//! buffers end depends only on the reads, so the bytes of the files do not depend on the number of
//! threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_filters::route::SegmentCounts;
use readmill_format::bgzf::BLOCK_RECORD_BYTES;
use readmill_process::console::Console;
use readmill_record::{Batch, Header, Result};
use readmill_sort::PARTITION;

use crate::formats::EncoderSettings;
use crate::outputs::routing::{RoutedRecords, Router};
use crate::outputs::{CompleteOutput, EncodedPart, PartEncoder, Sink};

/// Advice in messages about mates that are not adjacent.
const COLLATE: &str = "readmill collate groups mates";

/// Maximum total size of the buffers that are being filled, in bytes.
const ALL_BUFFERS: usize = 32 << 20;

/// Maximum size of a template that waits for its remaining records, in bytes. Larger templates are
/// cut.
const MAX_WAITING: usize = 1 << 20;

/// Maximum number of BGZF blocks in a buffer, the same as in a partition.
const MAX_BLOCKS: usize = PARTITION as usize / BLOCK_RECORD_BYTES;

/// Returns the maximum memory of `outputs` extra outputs in bytes: the buffers that are being
/// filled, and the same amount for buffers that wait or are being encoded.
pub fn max_buffer_bytes(outputs: usize) -> u64 {
    2 * ALL_BUFFERS.min(outputs * MAX_BLOCKS * BLOCK_RECORD_BYTES) as u64
}

/// Opens the extra output with the given index when its first read arrives. Returns its sink and
/// header.
pub type OpenExtra<'a> = Box<dyn Fn(usize) -> Result<(Sink, Header)> + Send + Sync + 'a>;

/// All extra outputs of a run.
pub struct ExtraWriter<'a> {
    router: Router,
    open: OpenExtra<'a>,
    /// Maximum number of records in a file before the next file is started (`--by records=N`).
    /// Adjacent records with the same name stay together.
    max_records: Option<u64>,
    buffer: usize,
    list: Mutex<Vec<Option<Arc<ExtraSink>>>>,
    tasks: Mutex<VecDeque<WriteBuffer>>,
    rolling: Mutex<RollingOutput>,
    /// The last template so far, which may continue in the next batch, and the counts of all
    /// templates before it.
    edge: Mutex<(Batch, SegmentCounts)>,
    encoders: IdleEncoders,
}

/// Encoders that no thread currently uses. They are kept because creating a compressor for each
/// buffer is expensive.
struct IdleEncoders {
    list: Mutex<Vec<(EncoderSettings, PartEncoder)>>,
    /// Maximum number of encoders to keep.
    max: usize,
}

impl IdleEncoders {
    fn take(&self, wanted: EncoderSettings) -> Option<PartEncoder> {
        let mut list = lock(&self.list);
        let at = list.iter().position(|(settings, _)| *settings == wanted)?;
        Some(list.swap_remove(at).1)
    }

    fn put(&self, settings: EncoderSettings, encoder: PartEncoder) {
        let mut list = lock(&self.list);
        if list.len() < self.max {
            list.push((settings, encoder));
        }
    }
}

/// The current file of a split by number of records.
#[derive(Default)]
struct RollingOutput {
    at: usize,
    records: u64,
    name: Vec<u8>,
}

/// An extra output and the buffer that is being filled for it.
struct ExtraSink {
    header: Header,
    gathering: Mutex<(Batch, u64)>,
    written: Mutex<WrittenParts>,
}

/// The sink of an extra output, and the encoded buffers that wait for preceding ones to be written.
struct WrittenParts {
    sink: Sink,
    next: u64,
    ready: BTreeMap<u64, EncodedPart>,
    records: u64,
}

/// A full buffer of reads for one extra output.
struct WriteBuffer {
    sink: Arc<ExtraSink>,
    number: u64,
    batch: Batch,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> ExtraWriter<'a> {
    /// Creates a writer and opens the first `opened` outputs. `max_outputs` is the maximum number of
    /// outputs, which share the memory for buffers.
    pub fn new(
        router: Router,
        open: OpenExtra<'a>,
        opened: usize,
        max_outputs: usize,
        max_records: Option<u64>,
        in_flight: usize,
    ) -> Result<Self> {
        let extra = ExtraWriter {
            router,
            open,
            max_records,
            buffer: (ALL_BUFFERS / max_outputs.max(1) / BLOCK_RECORD_BYTES).clamp(1, MAX_BLOCKS)
                * BLOCK_RECORD_BYTES,
            list: Mutex::default(),
            tasks: Mutex::default(),
            rolling: Mutex::default(),
            edge: Mutex::default(),
            encoders: IdleEncoders { list: Mutex::default(), max: in_flight },
        };
        (0..opened).try_for_each(|number| extra.open_sink(number).map(drop))?;
        Ok(extra)
    }

    /// Returns a router for one thread.
    pub fn router(&self) -> Router {
        self.router.fork()
    }

    /// Returns the output with this index, after opening it if necessary.
    fn open_sink(&self, number: usize) -> Result<Arc<ExtraSink>> {
        let mut list = lock(&self.list);
        if list.len() <= number {
            list.resize(number + 1, None);
        }
        if let Some(sink) = &list[number] {
            return Ok(Arc::clone(sink));
        }
        let (mut sink, header) = (self.open)(number)?;
        sink.write_header(&header)?;
        let written = WrittenParts { sink, next: 0, ready: BTreeMap::new(), records: 0 };
        let sink = ExtraSink { header, gathering: Mutex::default(), written: Mutex::new(written) };
        Ok(Arc::clone(list[number].insert(Arc::new(sink))))
    }

    /// Takes the reads of the next batch for extra outputs. Batches must be passed in order.
    pub fn take_batch(&self, routed: RoutedRecords) -> Result<()> {
        let RoutedRecords { places, edges } = routed;
        let [first, last] = edges.unwrap_or_default();
        self.join_edge(first)?;
        if !last.is_empty() {
            self.close_edge(&mut lock(&self.edge))?;
        }
        for (number, batch) in places {
            match self.max_records {
                None => self
                    .buffer_records(number, batch.spans.iter().map(|&span| batch.record(span).raw()))?,
                Some(max_records) => self.split_by_count(&batch, max_records)?,
            }
        }
        self.join_edge(last)
    }

    /// Takes the first or last template of a batch. It continues the pending template if the names
    /// are equal; otherwise, it starts a new one.
    fn join_edge(&self, batch: Batch) -> Result<()> {
        let Some(&begin) = batch.spans.first() else { return Ok(()) };
        let mut edge = lock(&self.edge);
        let (last, _) = &mut *edge;
        let name = batch.record(begin).qname();
        let same = last.spans.first().is_some_and(|&span| last.record(span).qname() == name);
        if !(same && name != b"*") {
            self.close_edge(&mut edge)?;
        }
        let (last, _) = &mut *edge;
        batch.records().try_for_each(|(stamp, record)| last.push(record.raw(), stamp))?;
        if last.bytes.len() > MAX_WAITING {
            self.close_edge(&mut edge)?; // a template that is too long is cut, as everywhere else
        }
        Ok(())
    }

    /// Routes the pending template, which is now complete.
    fn close_edge(&self, (last, counts): &mut (Batch, SegmentCounts)) -> Result<()> {
        let Router::Templates(by_segment) = &self.router else { return Ok(()) };
        let mut places = Vec::new();
        let records = last.spans.iter().map(|&span| last.record(span));
        by_segment.route_template(records, counts, |place, record| {
            places.push((place, record.raw()));
            Ok(())
        })?;
        places
            .into_iter()
            .try_for_each(|(place, raw)| self.buffer_records(place, std::iter::once(raw)))?;
        last.clear();
        Ok(())
    }

    /// Appends records to the current file. Starts the next file after `max_records` records, but keeps
    /// adjacent records with the same name together.
    fn split_by_count(&self, batch: &Batch, max_records: u64) -> Result<()> {
        let mut rolling = lock(&self.rolling);
        for (_, record) in batch.records() {
            let name = record.qname();
            if rolling.records >= max_records && (rolling.name != name || name == b"*") {
                self.close_buffer(rolling.at)?;
                (rolling.at, rolling.records) = (rolling.at + 1, 0);
            }
            rolling.records += 1;
            if rolling.records >= max_records {
                rolling.name.clear();
                rolling.name.extend_from_slice(name);
            }
            self.buffer_records(rolling.at, std::iter::once(record.raw()))?;
        }
        Ok(())
    }

    fn buffer_records<'r>(&self, number: usize, records: impl Iterator<Item = &'r [u8]>) -> Result<()> {
        let sink = self.open_sink(number)?;
        let mut gathering = lock(&sink.gathering);
        for raw in records {
            let (batch, number) = &mut *gathering;
            batch.push(raw, Default::default())?;
            if batch.bytes.len() >= self.buffer {
                let buffer = WriteBuffer {
                    sink: Arc::clone(&sink),
                    number: *number,
                    batch: std::mem::take(batch),
                };
                *number += 1;
                lock(&self.tasks).push_back(buffer);
            }
        }
        Ok(())
    }

    /// Queues the buffer of an output that receives no more reads.
    fn close_buffer(&self, number: usize) -> Result<()> {
        let sink = self.open_sink(number)?;
        let (batch, number) = &mut *lock(&sink.gathering);
        let buffer =
            WriteBuffer { sink: Arc::clone(&sink), number: *number, batch: std::mem::take(batch) };
        *number += 1;
        lock(&self.tasks).push_back(buffer);
        Ok(())
    }

    /// Adds the counts of templates that a thread has routed.
    pub fn add_segment_counts(&self, counts: SegmentCounts) {
        let sums = &mut lock(&self.edge).1;
        sums.excluded += counts.excluded;
        sums.repeated_records += counts.repeated_records;
        sums.singles += counts.singles;
        sums.dropped += counts.dropped;
    }

    /// Encodes all full buffers. Each thread calls this before it encodes its own reads.
    pub fn encode_full_buffers(&self) -> Result<()> {
        loop {
            let next = lock(&self.tasks).pop_front();
            let Some(WriteBuffer { sink, number, batch }) = next else { return Ok(()) };
            sink.encode_buffer(number, &batch, &self.encoders)?;
        }
    }

    /// Writes the remaining reads, and completes the files under their temporary names. Returns
    /// each file with its number of records.
    pub fn complete_files(self, console: &Console) -> Result<Vec<(u64, CompleteOutput)>> {
        let mut edge = lock(&self.edge);
        self.close_edge(&mut edge)?;
        let counts = edge.1;
        drop(edge);
        report_omitted(console, counts);
        self.encode_full_buffers()?;
        let mut complete = Vec::new();
        let list = self.list.into_inner().unwrap_or_else(PoisonError::into_inner);
        for sink in list.into_iter().flatten() {
            let (batch, number) = std::mem::take(&mut *lock(&sink.gathering));
            sink.encode_buffer(number, &batch, &self.encoders)?;
            drop(batch);
            if let Some(sink) = Arc::into_inner(sink) {
                let written = sink.written.into_inner().unwrap_or_else(PoisonError::into_inner);
                complete.push((written.records, written.sink.complete(console)?));
            }
        }
        Ok(complete)
    }
}

impl ExtraSink {
    fn encode_buffer(&self, number: u64, batch: &Batch, encoders: &IdleEncoders) -> Result<()> {
        let mut part = EncodedPart::default();
        let writer = lock(&self.written).sink.writer(&self.header, 0);
        let settings = writer.encoder_settings();
        let idle = settings.and_then(|settings| encoders.take(settings));
        let mut encoder = idle.unwrap_or_else(|| writer.new_encoder());
        encoder.encode(batch, &mut part)?;
        if let Some(settings) = settings {
            encoders.put(settings, encoder);
        }
        let mut written = lock(&self.written);
        written.ready.insert(number, part);
        loop {
            let WrittenParts { sink, next, ready, records } = &mut *written;
            let Some(part) = ready.remove(next) else { return Ok(()) };
            *next += 1;
            *records += part.records;
            sink.write_part(part)?;
        }
    }
}

/// Reports records that were skipped, and paired reads without an adjacent mate.
fn report_omitted(
    console: &Console,
    SegmentCounts { excluded, repeated_records: repeated, singles, dropped }: SegmentCounts,
) {
    if excluded > 0 {
        console.write_line(&format!("readmill: {excluded} records skipped because of their flags"));
    }
    if repeated > 0 {
        console.write_warning(&format!(
            "{repeated} records skipped because the same read of the pair was already written"
        ));
    }
    if dropped > 0 {
        let what = "the reads are paired, but the adjacent record is not the mate";
        console.write_warning(&format!("{dropped} reads skipped: {what} ({COLLATE})"));
    } else if singles > 0 {
        console.write_warning(&format!(
            "{singles} reads are paired, but the adjacent record is not their mate ({COLLATE})"
        ));
    }
}
