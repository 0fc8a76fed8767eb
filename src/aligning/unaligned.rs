//! Unaligned reads in SAM, BAM and CRAM files, as input of an aligner or of a merge.

use std::io::Read as ReadBytes;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use readmill_cram as cram;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_input::{Claim, OpenOptions, Opener, Source};
use readmill_record::header::{IdChange, IdRenames, Renames};
use readmill_record::tag::{self, Fields};
use readmill_record::{
    Batch, Error, Flags, Header, Limit, Read, ReadBatch, RecordRef, Result, UncheckedBatch,
    UncheckedRecord,
};

use super::queue::RawRecords;
use crate::pipeline::open_input;

/// Maximum size of a CRAM container with its decoded records, in bytes.
pub const MAX_CONTAINER: Limit = Limit::of_bytes(32 << 20);

/// Maximum size of a record in bytes. A record of the longest read that can be aligned takes 300
/// KB, and its optional fields are usually not many times larger.
pub const MAX_RECORD: Limit = Limit::of_bytes(8 << 20);

const RESET_HINT: &str =
    "remove the alignments first: readmill prep --revert --sort queryname IN -o unaligned.bam";

/// A file of unaligned reads. Any thread may claim and open chunks of it.
pub struct Unaligned {
    path: PathBuf,
    header: Header,
    setup: Option<Arc<cram::Setup>>,
    size: Option<u64>,
    read: AtomicU64,
    claims: Mutex<UnalignedClaims>,
    segments: OnceLock<usize>,
    /// FLAG bits that are kept in the aligned records.
    kept_flags: u16,
    renames: Renames,
    first_record: u64,
}

struct UnalignedClaims {
    source: Option<Source>,
    waiting: Option<Claim>,
}

impl Unaligned {
    pub fn open(path: &Path, rules: &OpenOptions) -> Result<Self> {
        let (input, size) = open_input::open_summed(path, rules)?;
        let rules =
            OpenOptions { max_container: MAX_CONTAINER, ..open_input::options_for_file(path, rules) };
        let source = Source::open(input, &rules).map_err(|error| error.file(path))?;
        let (header, setup) = (source.header().clone(), source.setup());
        let claims = Mutex::new(UnalignedClaims { source: Some(source), waiting: None });
        let (read, segments, renames, first_record) = Default::default();
        let (path, kept_flags) = (path.into(), Flags::QC_FAIL);
        Ok(Unaligned {
            path,
            header,
            setup,
            size,
            read,
            claims,
            segments,
            kept_flags,
            renames,
            first_record,
        })
    }

    /// Restricts reading to a part of the file. `stream` has the form of a complete file, including
    /// the header. `segments` is the number of reads per template, if known, and `template` the
    /// number of the part's first template in the file.
    pub fn narrow_to_slice(
        &mut self,
        stream: Box<dyn ReadBytes + Send>,
        rules: &OpenOptions,
        segments: Option<usize>,
        template: u64,
    ) -> Result<()> {
        let rules = OpenOptions {
            max_container: MAX_CONTAINER,
            ..open_input::options_for_file(&self.path, rules)
        };
        let source = Source::open(stream, &rules).map_err(|error| error.file(&self.path))?;
        *self.lock_claims() = UnalignedClaims { source: Some(source), waiting: None };
        (self.size, self.first_record) = (None, template * segments.unwrap_or(1) as u64);
        self.segments = segments.map_or_else(OnceLock::new, OnceLock::from);
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn first_record(&self) -> u64 {
        self.first_record
    }

    pub fn stop_reading(&self) {
        *self.lock_claims() = UnalignedClaims { source: None, waiting: None };
    }

    /// Returns the header lines that describe reads: read groups, programs and comments.
    /// `with_references` adds the reference sequences, for reads that stay unaligned.
    pub fn header_about_reads(&self, with_references: bool) -> Result<Header> {
        let kept = |kind: &[u8]| kind != b"HD" && (with_references || kind != b"SQ");
        let lines = self.header.lines().iter().filter(|line| kept(line.kind()));
        Header::parse(&lines.flat_map(|line| [line.text(), b"\n"].concat()).collect::<Vec<_>>())
    }

    /// Keeps all FLAG bits that do not describe an alignment: 0x200 and 0x400.
    pub fn keep_duplicate_flags(&mut self) {
        self.kept_flags = Flags::QC_FAIL | Flags::DUPLICATE;
    }

    pub fn set_renames(&mut self, renames: Renames) {
        self.renames = renames;
    }

    /// Claims the next chunk, reusing the memory of `reuse`. Returns `None` at the end of the file.
    pub fn claim_chunk(&self, reuse: Chunk) -> Result<Option<Claim>> {
        let mut claims = self.lock_claims();
        if let Some(waiting) = claims.waiting.take() {
            return Ok(Some(waiting));
        }
        let Some(source) = &mut claims.source else { return Ok(None) };
        let claim = source.claim(reuse).map_err(|error| error.file(&self.path))?;
        match &claim {
            Some(claim) => self.read.fetch_add(claim.read_bytes() as u64, Ordering::Relaxed),
            None => {
                claims.source = None;
                0
            }
        };
        Ok(claim)
    }

    fn lock_claims(&self) -> MutexGuard<'_, UnalignedClaims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn new_opener(&self) -> Opener {
        Opener::new(&self.header, self.setup.as_ref())
    }

    pub fn open_chunk(
        &self,
        opener: &mut Opener,
        claim: Claim,
        opened: &mut OpenedChunk,
    ) -> Result<Chunk> {
        opener.open(claim, opened).map_err(|error| error.file(&self.path))
    }

    /// Returns the number of bytes of the file read so far, and its size, or `None` for a pipe.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.read.load(Ordering::Relaxed), self.size)
    }

    /// Returns the name of the first read. `None` if there is no read, or if it is damaged, which
    /// is reported when it is read again.
    pub fn first_name(&self) -> Option<Vec<u8>> {
        let claim = self.claim_chunk(Chunk::default()).ok()??;
        self.lock_claims().waiting = Some(claim.clone());
        let (mut opened, mut link) = (OpenedChunk::default(), ChunkLinker::new(MAX_RECORD));
        self.new_opener().open(claim, &mut opened).ok()?;
        let linked = [link.link_chunk(opened), link.finish_input(Batch::default())];
        let batch = linked.into_iter().map(|linked| linked.batch).find(|batch| !batch.is_empty())?;
        let first = batch.records().next()?.check(self.header.n_ref()).ok()?;
        Some(first.qname().to_vec())
    }

    /// Returns the number of reads per template, which the first record of the file determines. The
    /// first call must pass the first batch.
    pub fn reads_per_template(&self, batch: &UncheckedBatch) -> usize {
        let of_first = |batch: &UncheckedBatch| {
            let first = batch.records().next().map(|first| first.check(self.header.n_ref()));
            match first {
                Some(Ok(record)) if record.flags().is_paired() => 2,
                _ => 1, // damage is reported when the record becomes a read
            }
        };
        match self.segments.get() {
            None if batch.is_empty() => 1,
            _ => *self.segments.get_or_init(|| of_first(batch)),
        }
    }

    /// Converts records to reads, and checks the records. Stores their optional fields in BAM form
    /// as the comment of the read.
    ///
    /// # Errors
    /// Fails if a record is damaged or aligned, if a mate is missing or not adjacent, or if `raw`
    /// has a fault.
    pub fn convert_records(&self, raw: &RawRecords, reads: &mut ReadBatch) -> Result<()> {
        let segments = *self.segments.get().unwrap_or(&1);
        reads.reset(segments, raw.number / segments as u64);
        let mut number = raw.number;
        let mut before = None;
        for template in raw.batch.spans()[raw.range.clone()].chunks(segments) {
            let mut records = [None; 2];
            for (place, span) in records.iter_mut().zip(template) {
                let record = raw.batch.record(*span);
                let checked = self.check_read(record, segments);
                *place = Some(checked.map_err(|error| self.locate_error(error, number, record.name()))?);
                number += 1;
            }
            match records {
                [Some(one), None] if segments == 1 => self.push_read(one, reads)?,
                [Some(one), Some(other)] if is_pair(one, other) => {
                    let (first, last) = if one.flags().is_first() { (one, other) } else { (other, one) };
                    self.push_read(first, reads)?;
                    self.push_read(last, reads)?;
                }
                [Some(one), other] => {
                    let at = number - 1 - u64::from(other.is_some());
                    let name = Some(one.qname());
                    let is_reused = name == other.map(RecordRef::qname) || name == before;
                    let error = if is_reused { reused_name_error() } else { missing_mate_error() };
                    return Err(self.locate_error(error, at, one.qname()));
                }
                [None, _] => {}
            }
            before = records[0].map(RecordRef::qname);
        }
        raw.fault.as_ref().map_or(Ok(()), |fault| Err(fault.clone().file(&self.path)))
    }

    fn locate_error(&self, error: Error, number: u64, name: &[u8]) -> Error {
        error.file(&self.path).record(number).qname(name)
    }

    fn check_read<'a>(&self, unchecked: UncheckedRecord<'a>, segments: usize) -> Result<RecordRef<'a>> {
        let record = unchecked.check(self.header.n_ref()).map_err(Error::input)?;
        let flags = record.flags();
        if !flags.is_primary() {
            Err(Error::input("this is a secondary or supplementary alignment, not a read")
                .hint(RESET_HINT))
        } else if !flags.is_unmapped() {
            Err(Error::input("the read is already aligned").hint(RESET_HINT))
        } else if flags.is_paired() != (segments == 2) {
            Err(Error::input("the file contains both single reads and pairs")
                .hint("align them separately: select pairs with readmill view -f 1, and single reads with readmill view -F 1"))
        } else {
            Ok(record)
        }
    }

    fn push_read(&self, record: RecordRef<'_>, reads: &mut ReadBatch) -> Result<()> {
        let (mut bases, mut qualities, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        readmill_format::fastq::push_read_in_read_order(record, &mut bases, &mut qualities);
        self.copy_fields(record, &mut fields);
        if reads.text().len() + bases.len() * 2 + fields.len() + 255 > u32::MAX as usize {
            return Err(Error::usage("the reads need more memory than a batch can use"));
        }
        let has_none = record.qual().first() == Some(&0xff);
        reads.push_read(Read {
            name: record.qname(),
            comment: &fields,
            bases: &bases,
            qualities: (!has_none).then_some(&qualities[..]),
        });
        reads.push_flags(record.flags().0 & self.kept_flags);
        Ok(())
    }

    /// Copies the optional fields of a record. Replaces IDs of read groups and programs by those in
    /// the merged header.
    fn copy_fields(&self, record: RecordRef<'_>, out: &mut Vec<u8>) {
        let all = record.field_bytes();
        let (mut fields, mut at) = (Fields::new(all), 0);
        while let Some(field) = fields.next() {
            let end = all.len() - fields.rest().len();
            let fate = |names: &IdRenames| match names.change_for(field.value) {
                IdChange::Keep => Some(all[at..end].to_vec()),
                IdChange::Become(id) => Some([&field.tag, &b"Z"[..], id, b"\0"].concat()),
                IdChange::Remove => None,
            };
            match (&field.tag, field.kind) {
                (&tag::RG, b'Z') => out.extend(fate(&self.renames.read_groups).unwrap_or_default()),
                (b"PG", b'Z') => out.extend(fate(&self.renames.programs).unwrap_or_default()),
                _ => out.extend_from_slice(&all[at..end]),
            }
            at = end;
        }
    }
}

/// Returns whether the records are read 1 and read 2 of the same template, in either order.
fn is_pair(one: RecordRef<'_>, other: RecordRef<'_>) -> bool {
    let segment = readmill_format::fastq::segment_number;
    let segments = segment(one).zip(segment(other));
    one.qname() == other.qname()
        && one.qname() != b"*"
        && segments.is_some_and(|(one, other)| one != other)
}

fn reused_name_error() -> Error {
    Error::input("more than two reads have this name, or the same read of the pair occurs twice").hint(
        "make sure that each template has a unique name, and that each file is given only once; sorting by name does not help",
    )
}

fn missing_mate_error() -> Error {
    Error::input("the mate is missing or is not the adjacent record")
        .hint("group mates with readmill collate IN -o grouped.bam, and align single reads separately")
}
