//! An output: takes encoded parts in order, and completes the file and its index.
//!
//! A regular file is written as `X.partial` and renamed once the file and its index are on disk. A
//! device or pipe is written directly. Indexes of an older file with the same name are removed,
//! because readers would use them for the new file. The parts of an output in parts are renamed
//! together.

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use readmill_engine::Pool;
use readmill_format::bam::BamEncoder;
use readmill_format::bgzf::Codec;
use readmill_process::console::Console;
use readmill_record::{Charge, Error, Header, Ledger, Result};

use super::files::{CompleteOutput, OutputFiles, write_index};
use super::part_counts::{CountSettings, OrderedTallies};
use super::part_writer::{EncodedPart, PartWriter};
use crate::formats::{Content, EncoderMaker, Format, PartPlacer, TargetFile};
use crate::plan::Output;

/// An output that takes encoded parts in order. Threads encode and write the parts with a
/// [`PartWriter`]; the sink assigns their offsets, and collects index entries and counts.
///
/// ```text
/// threads:  encode part 1, 2, 3 …            write at offset
///                │                                ▲
///                ▼                                │
/// sink:     take part 1, then 2, then 3 … ─► offset, index entries, counts
/// ```
pub struct Sink {
    files: OutputFiles,
    format: Format,
    content: Content,
    codec: Codec,
    level: u8,
    encoders: EncoderMaker,
    placer: Box<dyn PartPlacer>,
    index_charge: Option<Charge>,
    offset: u64,
    header: u64,
    /// The tallies that count the records in output order.
    tallies: OrderedTallies,
    /// Whether reads are only counted, not written.
    only_counts: bool,
}

/// A target for encoded parts in order: a [`Sink`], or the file of a stage (`StagedPartWriter`).
pub trait PartTarget {
    /// Returns the writer with which threads encode parts. At most `in_flight` parts exist at a
    /// time.
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>>;

    /// Takes the next part in output order.
    fn take_part(&mut self, part: EncodedPart, writer: &PartWriter<'_>) -> Result<()>;
}

impl PartTarget for Sink {
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>> {
        Ok(Sink::writer(self, header, in_flight))
    }

    fn take_part(&mut self, part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        Sink::take_part(self, part, writer)
    }
}

impl Sink {
    /// Opens the output for records with `header`, in which only the sort order may still change.
    /// `sorted` means that the records will be in coordinate order. The contig data that CRAM needs
    /// is charged to `ledger`.
    ///
    /// # Errors
    /// Fails if the file cannot be written, if an index is required but not possible, or if BAM
    /// would be written to a terminal.
    pub fn create(
        output: &Output,
        header: &Header,
        sorted: bool,
        ledger: &Ledger,
        console: &Console,
    ) -> Result<Self> {
        let (format, index) = (&output.format, output.index);
        let is_sorted = sorted || header.declares_coordinate_order();
        if index.is_required() && !format.can_have_index(index) {
            return Err(Error::usage("an output of this format cannot have this index")
                .hint("write BAM or CRAM (-O), without =bai or =csi for CRAM, or omit --write-index"));
        }
        if index.is_required() && !is_sorted {
            return Err(Error::usage("only a file sorted by coordinate can be indexed")
                .hint("sort the file (readmill sort; in prep and align: --sort coordinate), or omit --write-index"));
        }
        let files = OutputFiles::open(output)?;
        if index.is_required() && !files.are_regular() {
            let what =
                format!("{} is not a regular file, so it cannot have an index", output.path.display());
            return Err(Error::usage(what).hint("omit --write-index"));
        }
        if !format.spec().goes_to_terminals && files.is_terminal() {
            return Err(Error::usage("BAM and CRAM are not written to a terminal").hint(
                "give a file with -o, pipe the output to another program, or write text with -O sam",
            ));
        }
        if let Some(note) = format.pipe_note(output.level).filter(|_| files.is_pipe()) {
            console.write_note(note);
        }
        let file = TargetFile {
            header,
            codec: output.codec,
            level: output.level,
            index,
            is_sorted,
            is_regular: files.are_regular(),
            is_pipe: files.is_pipe(),
            bases: &output.bases,
            ledger,
        };
        Ok(Sink {
            placer: format.placer(&file)?,
            encoders: format.encoders(&file)?,
            format: format.clone(),
            content: output.content,
            codec: output.codec,
            level: file.level(),
            files,
            index_charge: None,
            offset: 0,
            header: 0,
            tallies: OrderedTallies::new(),
            only_counts: false,
        })
    }

    /// Counts all records of the output with `tallies`, in output order.
    pub fn count_in_order(&mut self, tallies: OrderedTallies) {
        tallies.iter().for_each(|tally| tally.begin());
        self.tallies = tallies;
    }

    pub fn ordered_tallies(&self) -> &OrderedTallies {
        &self.tallies
    }

    /// Disables writing, so that records are only counted.
    pub fn disable_writing(&mut self) {
        self.only_counts = true;
    }

    /// Charges the expected size of the index. If the index becomes larger, more is charged then.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn charge_index(&mut self, header: &Header, ledger: &Ledger) -> Result<()> {
        if let Some(bytes) = self.placer.usual_bytes(header) {
            self.index_charge = Some(ledger.charge("the index of the output", bytes)?);
        }
        Ok(())
    }

    /// Writes the header. Must be called before the first part is taken.
    pub fn write_header(&mut self, header: &Header) -> Result<()> {
        if self.only_counts {
            return Ok(());
        }
        let mut first = Vec::new();
        let bytes = self.format.header_bytes(header, self.content)?;
        if self.format.spec().is_bgzf() {
            BamEncoder::new(self.codec, self.level, None).append_bytes(&bytes, &mut first);
        } else {
            first = bytes;
        }
        self.write_bytes(&first)?;
        self.header = self.offset;
        Ok(())
    }

    /// Returns whether the output can be read back and restarted, as `presorted` requires.
    pub fn can_restart(&self) -> bool {
        let can_be_read_back = self.format.spec().can_be_read_back;
        can_be_read_back && self.files.are_regular() && !self.files.are_parts()
    }

    /// Returns a reader of the records written so far, as BGZF blocks.
    pub fn read_written(&self) -> Result<impl Read + Send + use<>> {
        self.files.read_from(self.header)
    }

    /// Sets the total bytes of all records, which determine where an output in parts is divided.
    /// Must be called before the first part is taken.
    pub fn set_expected_bytes(&mut self, bytes: u64) {
        self.files.set_expected_bytes(bytes);
    }

    /// Truncates the output, and resets the index and the tallies.
    pub fn restart_output(&mut self, header: &Header) -> Result<()> {
        self.offset = 0;
        self.placer.restart(header);
        self.tallies.iter().try_for_each(|tally| tally.restart())?;
        self.files.truncate()
    }

    /// Returns the writer with which threads encode parts. At most `in_flight` parts exist at a
    /// time.
    pub fn writer<'a>(&self, header: &'a Header, in_flight: usize) -> PartWriter<'a> {
        PartWriter {
            format: self.format.clone(),
            encoders: self.encoders.clone(),
            header,
            parts: Pool::new(in_flight),
            pending: self.files.positioned_handles().map(|files| (files, Mutex::default())),
            counting: CountSettings { tallies: self.tallies.clone(), max_span: None },
            only_counts: self.only_counts,
        }
    }

    /// Writes encoded bytes at the end of the output.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.files.write(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Takes the next part: assigns its offset and adds its index entries. A pipe is written
    /// immediately. For a regular file, the part waits until a thread calls
    /// [`PartWriter::write_pending`].
    pub fn take_part(&mut self, mut part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        self.assign_offset(&mut part)?;
        self.files.select_file_for(part.start);
        match &writer.pending {
            Some((_, queue)) => {
                let place = self.files.reserve(&part.bytes);
                self.offset += part.bytes.len() as u64;
                queue.lock().unwrap_or_else(PoisonError::into_inner).push((place, part));
            }
            None => {
                self.write_bytes(&part.bytes)?;
                writer.recycle_part(part);
            }
        }
        Ok(())
    }

    /// Takes the next part and writes it immediately.
    pub fn write_part(&mut self, mut part: EncodedPart) -> Result<()> {
        self.assign_offset(&mut part)?;
        self.files.select_file_for(part.start);
        self.write_bytes(&part.bytes)?;
        self.tallies.iter().try_for_each(|tally| tally.write_pending())
    }

    /// Adds the index entries and counts of the next part, and completes the values in the part
    /// that depend on its offset.
    fn assign_offset(&mut self, part: &mut EncodedPart) -> Result<()> {
        let entries = std::mem::take(&mut part.entries);
        self.placer.place(entries, &mut part.bytes, part.records, self.offset);
        if let Some(charge) = &mut self.index_charge {
            charge.resize(self.placer.heap_bytes().max(charge.bytes()));
        }
        part.counts.take().map_or(Ok(()), |counts| counts.add_to(&self.tallies))
    }

    /// Completes the output and renames it to its final name. Returns the size of the file in
    /// bytes, without the index.
    pub fn finish(self, console: &Console) -> Result<u64> {
        let complete = self.complete(console)?;
        let bytes = complete.bytes();
        complete.rename()?.iter().for_each(|note| console.write_note(note));
        Ok(bytes)
    }

    /// Completes the file and its index under their temporary names. After this, only renaming can
    /// fail.
    pub fn complete(mut self, console: &Console) -> Result<CompleteOutput> {
        let end = self.format.end_bytes();
        self.files.select_last_file();
        self.files.write_last(end)?;
        self.offset += end.len() as u64;
        self.files.sync()?;
        let Some(name) = self.files.name() else {
            return Ok(CompleteOutput {
                files: self.files,
                index: None,
                md5: Vec::new(),
                bytes: self.offset,
            });
        };
        let index = match self.placer.index_suffix() {
            Some(_) if self.placer.omits_index() => {
                console.write_note(
                    "no index is written: the header states coordinate order, but the records are not in this order",
                );
                None
            }
            Some(suffix) => Some(write_index(self.placer, suffix, &name, self.files.replaces_input())?),
            None => None,
        };
        let md5 = self.files.write_md5()?;
        Ok(CompleteOutput { files: self.files, index, md5, bytes: self.offset })
    }
}
