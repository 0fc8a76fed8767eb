//! The output: complete under its name, or not there at all.
//!
//! A regular file is written as `X.partial` and renamed once it and its index are on disk. What exists
//! and is not a regular file (`/dev/null`, a pipe) is written through. Indexes that belong to an older
//! file of that name are removed, because readers would prefer them to the new one. Parts of an output get their
//! names together.

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use readmill_engine::Pool;
use readmill_format::bam::BamEncoder;
use readmill_format::bgzf::Codec;
use readmill_record::{Charge, Error, Header, Ledger, Result};

use super::files::{CompleteOutput, OutputFiles, write_index};
use super::part_counts::{CountSettings, OrderedTallies};
use super::part_writer::{EncodedPart, PartWriter};
use crate::formats::{Content, EncoderMaker, Format, PartPlacer, TargetFile};
use crate::plan::Output;
use crate::process::console::Console;

/// Takes encoded parts in order and leaves complete files.
pub struct Sink {
    files: OutputFiles,
    format: Format,
    content: Content,
    codec: Codec,
    level: u8,
    encoders: EncoderMaker,
    placer: Box<dyn PartPlacer>,
    index_charge: Option<Charge>,
    /// Bytes of all files.
    offset: u64,
    /// Bytes of the header.
    header: u64,
    /// What is counted of the output, in its order.
    tallies: OrderedTallies,
    /// Whether the reads are only counted.
    only_counts: bool,
}

/// Takes encoded parts in order.
pub trait PartTarget {
    /// Returns the writer that threads share to encode parts, `in_flight` of them at a time.
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>>;

    /// Takes the next part.
    fn take(&mut self, part: EncodedPart, writer: &PartWriter<'_>) -> Result<()>;
}

impl PartTarget for Sink {
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>> {
        Ok(Sink::writer(self, header, in_flight))
    }

    fn take(&mut self, part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        Sink::take(self, part, writer)
    }
}

impl Sink {
    /// Opens the output for a file with this header, or one that differs only in its order. Contig data for CRAM is
    /// charged to `ledger`.
    pub fn create(
        output: &Output,
        header: &Header,
        sorted: bool,
        ledger: &Ledger,
        console: &Console,
    ) -> Result<Self> {
        let (format, index) = (&output.format, output.index);
        let is_sorted = sorted || header.declares_coordinate_order();
        if index.is_required() && !(is_sorted && format.can_have_index(index)) {
            return Err(Error::usage("only a BAM or CRAM file sorted by coordinate can be indexed")
                .hint("sort the file (readmill sort; in prep and align: --sort coordinate), or drop --write-index"));
        }
        let files = OutputFiles::open(output)?;
        if index.is_required() && !files.are_regular() {
            let what = format!("{} is not a file, so it has no index", output.path.display());
            return Err(Error::usage(what).hint("drop --write-index"));
        }
        if !format.spec().goes_to_terminals && files.is_terminal() {
            return Err(Error::usage("BAM and CRAM are not written to a terminal")
                .hint("give a file by -o, pipe it on, or ask for text by -O sam"));
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

    /// Counts what is written by these tallies.
    pub fn count_in_order(&mut self, tallies: OrderedTallies) {
        tallies.iter().for_each(|tally| tally.begin());
        self.tallies = tallies;
    }

    /// Returns the tallies of what is written.
    pub fn ordered_tallies(&self) -> &OrderedTallies {
        &self.tallies
    }

    /// Writes no reads: they are only counted.
    pub fn only_count(&mut self) {
        self.only_counts = true;
    }

    /// Charges the usual size of the index; more is charged as it grows.
    ///
    /// # Errors
    /// There is too little memory for it.
    pub fn charge_index(&mut self, header: &Header, ledger: &Ledger) -> Result<()> {
        if let Some(bytes) = self.placer.usual_bytes(header) {
            self.index_charge = Some(ledger.charge("the index of the output", bytes)?);
        }
        Ok(())
    }

    /// Writes the header, which comes first.
    pub fn begin(&mut self, header: &Header) -> Result<()> {
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

    /// Whether the output can be read back and written again.
    pub fn can_restart(&self) -> bool {
        let can_be_read_back = self.format.spec().can_be_read_back;
        can_be_read_back && self.files.are_regular() && !self.files.are_parts()
    }

    /// The records written so far, as BGZF blocks.
    pub fn written(&self) -> Result<impl Read + Send + use<>> {
        self.files.read_from(self.header)
    }

    /// Sets how many bytes all records together will have, before the first of them: an output in parts is cut by it.
    pub fn expect(&mut self, bytes: u64) {
        self.files.expect(bytes);
    }

    /// Empties the output.
    pub fn restart(&mut self, header: &Header) -> Result<()> {
        self.offset = 0;
        self.placer.restart(header);
        self.tallies.iter().try_for_each(|tally| tally.restart())?;
        self.files.restart()
    }

    /// Returns the writer that threads share to encode parts, `in_flight` of them at a time.
    pub fn writer<'a>(&self, header: &'a Header, in_flight: usize) -> PartWriter<'a> {
        PartWriter {
            format: self.format.clone(),
            encoders: self.encoders.clone(),
            header,
            parts: Pool::new(in_flight),
            pending: self.files.positioned().map(|files| (files, Mutex::default())),
            counting: CountSettings { tallies: self.tallies.clone(), max_span: None },
            only_counts: self.only_counts,
        }
    }

    /// Writes encoded bytes.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.files.write(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Takes the next part: assigns its file offset and adds its index entries. A pipe gets the bytes at once; bytes
    /// for a file are written by [`PartWriter::write_pending`], on any thread.
    pub fn take(&mut self, mut part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        self.assign_offset(&mut part)?;
        self.files.go_to(part.start);
        match &writer.pending {
            Some((_, queue)) => {
                let place = self.files.reserve(&part.bytes);
                self.offset += part.bytes.len() as u64;
                queue.lock().unwrap_or_else(PoisonError::into_inner).push((place, part));
            }
            None => {
                self.write_bytes(&part.bytes)?;
                writer.reuse(part);
            }
        }
        Ok(())
    }

    /// Writes the next part.
    pub fn append(&mut self, mut part: EncodedPart) -> Result<()> {
        self.assign_offset(&mut part)?;
        self.files.go_to(part.start);
        self.write_bytes(&part.bytes)?;
        self.tallies.iter().try_for_each(|tally| tally.write_pending())
    }

    /// Adds the index entries and the counts of the next part, and fills in values that depend on its offset.
    fn assign_offset(&mut self, part: &mut EncodedPart) -> Result<()> {
        let entries = std::mem::take(&mut part.entries);
        self.placer.place(entries, &mut part.bytes, part.records, self.offset);
        if let Some(charge) = &mut self.index_charge {
            charge.resize(self.placer.heap_bytes().max(charge.bytes()));
        }
        part.counts.take().map_or(Ok(()), |counts| counts.add_to(&self.tallies))
    }

    /// Ends the output: everything is on disk and under its name, or an error is returned. Returns the bytes of the
    /// main file.
    pub fn finish(self, console: &Console) -> Result<u64> {
        let complete = self.complete(console)?;
        let bytes = complete.bytes();
        complete.rename()?.iter().for_each(|note| console.write_note(note));
        Ok(bytes)
    }

    /// Completes the file and its index under their temporary names; after that only the renaming can fail.
    pub fn complete(mut self, console: &Console) -> Result<CompleteOutput> {
        let end = self.format.end_bytes();
        self.files.go_to_last();
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
                    "no index: the header says coordinate, but the records are in another order",
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
