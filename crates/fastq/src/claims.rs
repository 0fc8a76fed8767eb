//! Batches of reads, which many threads take from the files concurrently.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use readmill_format::summed::StreamSum;
use readmill_record::{ReadBatch, Result};

use crate::general::MAX_BATCH_TEXT;
use crate::layout::{self, LayoutDoubt};
use crate::restart::{RestartPoint, TextPlace};
use crate::ring::Reach;
use crate::source::{FastqInput, OpenRules};
use crate::strict;
use crate::text::{FastqText, TextOptions, TextPosition};

/// The files of a sequencing run, and how the reads of a template are distributed over them.
pub enum FastqLayout {
    Single(FastqInput),
    /// Two files: read 1 and read 2 of each template, in the same order.
    Paired(FastqInput, FastqInput),
    /// One file in which read 1 of each template is followed by read 2.
    Interleaved(FastqInput),
}

/// Options for reading batches. The batches depend only on the text, `templates` and `batch_bytes`;
/// the other options affect speed and memory.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    pub templates: usize,
    /// Text size in bytes at which a batch ends even if it has fewer templates; a batch may exceed
    /// it by one template. From the first such batch on, all batches are read serially.
    pub batch_bytes: usize,
    /// Text size of a block in bytes, which is read at once. BGZF has its own block size.
    pub block_bytes: usize,
    /// Maximum number of batches that are taken but not yet linked.
    pub max_in_flight: usize,
    pub record_bytes: usize,
    /// Accept BGZF files that lack the empty block at their end (SAM specification, section 4.1.2).
    pub allow_missing_eof: bool,
    /// Base-2 logarithm of the largest window that zstd may use. 27 is zstd's own limit; 23 is
    /// enough for files compressed without `--long` and `--ultra`.
    pub zstd_window_log: u32,
    /// Number of times that a thread checks whether another thread has read the text it needs,
    /// before it reads the text itself.
    pub max_spins: u32,
    /// Record restart points in gzip files, for [`Claims::restart_points`].
    pub restartable: bool,
    /// Number of the first template in the whole input (0-based). Greater than 0 if reading starts
    /// inside the files.
    pub first_template: u64,
    /// In an interleaved file, treat a read as single ([`ReadBatch::singles`]) if neither adjacent
    /// record has its name, instead of reporting that its mate is missing.
    pub allow_singles_among_pairs: bool,
    /// The byte between name and read number if mates are named `X.1` and `X.2`. This byte and the
    /// number are removed from names. `None` derives it from the first records of the files.
    pub numbering: Option<u8>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            templates: 1024,
            batch_bytes: 2 << 20,
            block_bytes: 512 << 10,
            max_in_flight: 8,
            record_bytes: 2 << 20,
            allow_missing_eof: false,
            zstd_window_log: 27,
            max_spins: 1000,
            restartable: false,
            first_template: 0,
            allow_singles_among_pairs: false,
            numbering: None,
        }
    }
}

/// Planned bytes of text per record, for the blocks of the batches in flight; reads of 250 bases
/// take less. If records are longer and a batch finds no free block, it is read serially.
const RECORD_TEXT: usize = 768;

/// The open files of a sequencing run, from which threads take batches.
///
/// All threads share one `Claims`. They call [`Claims::take`] with the numbers 0, 1, 2, … in any
/// order, and one thread at a time passes the results to
/// [`BatchLinker::link`](crate::BatchLinker::link) in ascending order. [`Claims::open`] opens the
/// files and parses their first records:
///
/// ```
/// use readmill_fastq::{BatchOptions, Claims, FastqInput, FastqLayout, LayoutDoubt};
///
/// let file = |name: &str, text: &'static [u8]| FastqInput::Stream(name.into(), Box::new(text));
/// let swapped = FastqLayout::Paired(
///     file("R2.fastq", b"@read/2\nACG\n+\nIII\n"),
///     file("R1.fastq", b"@read/1\nCCT\n+\nHHH\n"),
/// );
/// let claims = Claims::open(swapped, BatchOptions::default())?;
/// assert_eq!(claims.segments(), 2);
/// assert_eq!(claims.first_name(), Some(&b"read"[..])); // without the number of the read
/// assert!(matches!(claims.layout_doubt(), Some(LayoutDoubt::Certain(_))));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Claims {
    pub(crate) files: Vec<FastqText>,
    pub(crate) segments: usize,
    /// Number of files that hold the reads themselves. The others hold index reads, one per
    /// template.
    pub(crate) read_files: usize,
    pub(crate) options: BatchOptions,
    /// Set once the line count no longer locates batches. From then on, they are read serially.
    pub(crate) serial: AtomicBool,
    pub(crate) ended: AtomicBool,
}

/// The result of [`Claims::take`], for [`BatchLinker`](crate::BatchLinker) to check.
#[derive(Debug)]
pub struct TakenBatch {
    pub(crate) ticket: u64,
    /// Number of templates when the batch was taken; callers may remove some before it is linked.
    pub(crate) templates: u64,
    pub(crate) found: BatchFinding,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BatchFinding {
    /// A full batch of four-line records, and its end position in each file.
    Batch(Vec<TextPosition>),
    /// The last records of the files, possibly none, with four lines each.
    Last,
    Unusual,
}

impl TakenBatch {
    /// Returns whether this is a batch of four-line records. It may still start at the wrong
    /// position until the batches before it are linked; callers use this to decide whether to start
    /// work on its reads early.
    pub fn is_whole(&self) -> bool {
        self.found != BatchFinding::Unusual
    }
}

impl Claims {
    /// Opens the files of `layout` and parses their first records.
    ///
    /// # Errors
    ///
    /// A file cannot be opened or read, or is not FASTQ.
    pub fn open(layout: FastqLayout, options: BatchOptions) -> Result<Self> {
        Claims::open_with_index_reads(layout, Vec::new(), options)
    }

    /// Opens the files of `layout` and the files of index reads, which have one record per template
    /// in the same order: a UMI or a sample barcode. [`ReadBatch::index_reads`] returns them.
    ///
    /// # Errors
    ///
    /// A file cannot be opened or read, or is not FASTQ.
    pub fn open_with_index_reads(
        layout: FastqLayout,
        index: Vec<FastqInput>,
        options: BatchOptions,
    ) -> Result<Self> {
        let (mut inputs, segments) = match layout {
            FastqLayout::Single(one) => (vec![one], 1),
            FastqLayout::Paired(one, two) => (vec![one, two], 2),
            FastqLayout::Interleaved(both) => (vec![both], 2),
        };
        let templates = options.templates.max(1);
        let read_files = inputs.len();
        let records = templates * segments / read_files;
        inputs.extend(index);
        let rules = TextOptions {
            block_bytes: options.block_bytes,
            window_bytes: options.max_in_flight.max(1) * records * RECORD_TEXT,
            packing: OpenRules {
                allow_missing_eof: options.allow_missing_eof,
                zstd_window_log: options.zstd_window_log,
                restartable: options.restartable,
            },
            patience: options.max_spins,
        };
        let files = FastqText::open(inputs, rules)?;
        let batch_bytes = options.batch_bytes.clamp(1, MAX_BATCH_TEXT);
        let numbering = options.numbering.or_else(|| match &files[..read_files] {
            [one, two] => layout::find_numbering(one.first_records().iter().zip(two.first_records())),
            [one] if segments == 2 => layout::find_numbering_of_neighbours(one.first_records()),
            _ => None,
        });
        let options = BatchOptions { templates, batch_bytes, numbering, ..options };
        let (serial, ended) = (false.into(), false.into());
        Ok(Claims { files, segments, read_files, options, serial, ended })
    }

    /// Takes batch `ticket` (0-based) into `reads`. Any thread can take any batch without waiting
    /// for others to be linked. The reads are valid only after [`crate::BatchLinker::link`] has
    /// checked or replaced them.
    pub fn take(&self, ticket: u64, reads: &mut ReadBatch) -> TakenBatch {
        reads.reset(self.segments, self.options.first_template + ticket * self.options.templates as u64);
        let found = self.take_regular_batch(ticket, reads);
        TakenBatch { ticket, templates: reads.template_count() as u64, found }
    }

    /// Returns the name of the first template. `None` if there is no template, or if its record
    /// does not have four lines.
    pub fn first_name(&self) -> Option<&[u8]> {
        self.files.first()?.first_records().first().map(layout::FirstRead::name)
    }

    /// Returns the byte between name and read number if mates are named `X.1` and `X.2`: from the
    /// options, or as found in the first records.
    pub fn numbering(&self) -> Option<u8> {
        self.options.numbering
    }

    /// Checks the layout against the first records. Returns a certain or likely mistake, such as
    /// mates in a file of single reads, or swapped or unrelated files.
    pub fn layout_doubt(&self) -> Option<LayoutDoubt> {
        match &self.files[..self.read_files] {
            [one, two] => layout::check_file_pair(
                [one.name(), two.name()],
                [one.first_records(), two.first_records()],
            ),
            [one] if self.segments == 2 => layout::check_interleaved(one.name(), one.first_records()),
            [one] => layout::check_single(one.name(), one.first_records()),
            _ => None,
        }
    }

    /// Returns the files with the checksums of their stored bytes. Plain text has none, because it
    /// is not read sequentially.
    pub fn checksums(&self) -> impl Iterator<Item = (&Path, &StreamSum)> {
        self.files.iter().map(|file| (file.name(), file.checksum()))
    }

    /// Returns the files, each with a flag that is set if BGZF ends without its empty last block
    /// and this is not allowed.
    pub fn missing_eof_flags(&self) -> impl Iterator<Item = (&Path, Arc<AtomicBool>)> {
        self.files.iter().map(|file| (file.name(), file.lacks_eof()))
    }

    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Returns whether the last batch has been linked. No batch may be taken after that.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Ends the input here: batches that are linked later are empty.
    pub fn end_reads(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Returns for each file the point from which it can be read again, starting at `places`.
    /// `None` if one of the files can only be read from its start.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn restart_points(&self, places: &[TextPlace]) -> Result<Option<Vec<RestartPoint>>> {
        self.files.iter().zip(places).map(|(text, &place)| text.restart_point(place)).collect()
    }

    pub fn stored_bytes(&self, places: &[TextPlace]) -> u64 {
        let each = self.files.iter().zip(places);
        each.map(|(text, &place)| text.restart().stored_bytes(place)).sum()
    }

    /// Returns the number of bytes read so far and the total size of all files, both as stored. The
    /// total is `None` if one of them is not a regular file.
    pub fn progress(&self) -> (u64, Option<u64>) {
        let each = self.files.iter().map(FastqText::progress);
        each.fold((0, Some(0)), |(read, all), (r, a)| (read + r, all.zip(a).map(|(all, a)| all + a)))
    }

    /// Returns the number of blocks that were filled twice, because a thread did not wait for the
    /// thread that had claimed the block.
    pub fn refilled_blocks(&self) -> u64 {
        self.files.iter().map(FastqText::refilled_blocks).sum()
    }

    /// Returns the maximum memory of the text in bytes with `threads` threads, excluding the
    /// batches. For each plain file, it is (⌈`in_flight` · records · 768 / `block_bytes`⌉ + 4 +
    /// threads) · `block_bytes`, where records is the number of records of a batch in that file.
    /// For BGZF, `block_bytes` is 1.06 MiB, and compressed blocks take up to 1 MiB more.
    pub fn max_text_bytes(&self, threads: usize) -> usize {
        self.files.iter().map(|text| text.max_bytes(threads)).sum()
    }

    pub fn may_have_singles(&self) -> bool {
        self.options.allow_singles_among_pairs && self.segments == 2 && self.files.len() == 1
    }

    pub(crate) fn records_per_template(&self, file: usize) -> usize {
        if file < self.read_files { self.segments / self.read_files } else { 1 }
    }

    pub(crate) fn lines_per_batch(&self, file: usize) -> u64 {
        (4 * self.options.templates * self.records_per_template(file)) as u64
    }

    fn take_regular_batch(&self, ticket: u64, reads: &mut ReadBatch) -> BatchFinding {
        if self.serial.load(Ordering::Relaxed) || self.has_ended() {
            return BatchFinding::Unusual;
        }
        let mut reach = vec![Reach::Full; self.files.len()];
        for turn in 0..self.files.len() {
            // Threads start with different files, so that they do not all wait for the same one.
            let file = (turn + ticket as usize) % self.files.len();
            reach[file] = self.files[file].reach((ticket + 1) * self.lines_per_batch(file));
            if reach[file] == Reach::Full {
                return BatchFinding::Unusual;
            }
        }
        if reach.iter().any(|other| *other != reach[0]) {
            return BatchFinding::Unusual;
        }
        let full = reach[0] == Reach::Enough;
        let mut text = std::mem::take(reads.text_mut());
        let places = self.copy_lines(ticket, full, &mut text);
        let clean = places.as_ref().is_some_and(|(parts, _)| {
            let part = |file: usize| file.checked_sub(1).map_or(0, |before| parts[before])..parts[file];
            let index = (self.read_files..parts.len()).map(part).collect();
            let second = (self.read_files > 1).then(|| part(1));
            let parts = strict::FileParts { first: part(0), second, index };
            strict::parse_batch(&text, &parts, self.options.numbering, reads)
        });
        *reads.text_mut() = text;
        match places {
            Some((_, ends)) if clean && full && reads.template_count() == self.options.templates => {
                BatchFinding::Batch(ends)
            }
            Some(_) if clean && !full => BatchFinding::Last,
            _ => BatchFinding::Unusual,
        }
    }

    /// Appends the lines of batch `ticket` of each file to `out`, or everything up to the end of
    /// the files if the batch is not `full`. Returns where the lines of each file end, in `out` and
    /// in the file; `None` if they exceed the maximum size of a batch.
    fn copy_lines(
        &self,
        ticket: u64,
        full: bool,
        out: &mut Vec<u8>,
    ) -> Option<(Vec<usize>, Vec<TextPosition>)> {
        let (mut parts, mut ends) = (Vec::new(), Vec::new());
        for (file, text) in self.files.iter().enumerate() {
            let start = text.end_of_line(ticket * self.lines_per_batch(file))?;
            let end = match full {
                true => Some(text.end_of_line((ticket + 1) * self.lines_per_batch(file))?),
                false => None,
            };
            if !text.copy_text(start, end, out, self.options.batch_bytes) {
                return None;
            }
            parts.push(out.len());
            ends.extend(end);
        }
        Some((parts, ends))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::BatchLinker;
    use crate::ring::Claim;
    use crate::ring::Supply;

    fn file(directory: &tempfile::TempDir, records: usize) -> FastqInput {
        let path = directory.path().join("R.fastq");
        let text: Vec<String> = (0..records).map(|i| format!("@{i}\nACGT\n+\nIIII\n")).collect();
        std::fs::write(&path, text.concat()).unwrap();
        FastqInput::Path(path)
    }

    #[test]
    fn threads_that_vanish_hold_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let options =
            BatchOptions { templates: 10, block_bytes: 50, max_spins: 3, ..BatchOptions::default() };
        let claims =
            Arc::new(Claims::open(FastqLayout::Single(file(&directory, 1000)), options).unwrap());
        let (mut order, mut reads, mut vanished) = (BatchLinker::new(&claims), ReadBatch::default(), 0);
        for ticket in 0..100 {
            // Each iteration claims a block and never fills it.
            for _ in 0..ticket % 4 {
                vanished += u64::from(matches!(claims.files[0].ring().claim(), Claim::Block(_)));
            }
            let taken = claims.take(ticket, &mut reads);
            order.link(taken, &mut reads).unwrap();
            assert_eq!(reads.template_count(), 10);
            assert_eq!(reads.read(9).name, (ticket * 10 + 9).to_string().as_bytes());
        }
        assert!(vanished > 100);
        assert_eq!(order.reread_count(), 0);
    }

    #[test]
    fn tickets_in_any_order_are_the_same_batches() {
        let directory = tempfile::tempdir().unwrap();
        let options =
            BatchOptions { templates: 7, block_bytes: 100, max_in_flight: 5, ..BatchOptions::default() };
        let claims =
            Arc::new(Claims::open(FastqLayout::Single(file(&directory, 1000)), options).unwrap());
        let mut order = BatchLinker::new(&claims);
        let mut total = 0;
        for window in 0..29 {
            let take = |ticket| {
                let mut reads = ReadBatch::default();
                (claims.take(ticket, &mut reads), reads)
            };
            let last_first: Vec<_> = (window * 5..window * 5 + 5).rev().map(take).collect();
            for (ticket, (taken, mut reads)) in (window * 5..).zip(last_first.into_iter().rev()) {
                order.link(taken, &mut reads).unwrap();
                assert_eq!(reads.first_template(), (ticket * 7).min(1000));
                total += reads.len();
            }
        }
        assert_eq!((total, order.reread_count()), (1000, 0));
        assert_eq!(claims.progress().0, claims.progress().1.unwrap());
    }

    /// Builds a zstd frame with one uncompressed block and a window of 2^`window_log` bytes.
    fn zstd(text: &[u8], window_log: u8) -> Vec<u8> {
        let block = (text.len() as u32) << 3 | 1; // the last block, not compressed
        let head = [&b"\x28\xb5\x2f\xfd\0"[..], &[(window_log - 10) << 3], &block.to_le_bytes()[..3]];
        [&head.concat(), text].concat()
    }

    #[test]
    fn a_zstd_window_that_does_not_fit_is_refused_before_it_is_taken() {
        let read = |window_log| {
            let packed = std::io::Cursor::new(zstd(b"@r\nACGT\n+\nIIII\n", window_log));
            let input = FastqInput::Stream("r.fastq.zst".into(), Box::new(packed));
            let options = BatchOptions { zstd_window_log: 22, ..BatchOptions::default() };
            let claims = Arc::new(Claims::open(FastqLayout::Single(input), options).unwrap());
            let mut reads = ReadBatch::default();
            let taken = claims.take(0, &mut reads);
            BatchLinker::new(&claims).link(taken, &mut reads).map(|_| reads.len())
        };
        assert_eq!(read(22).unwrap(), 1);
        let error = read(23).unwrap_err();
        assert_eq!(error.kind, readmill_record::ErrorKind::Usage);
        let said = error.to_string();
        assert!(said.contains("r.fastq.zst") && said.contains("raise -m"), "{said}");
    }
}
