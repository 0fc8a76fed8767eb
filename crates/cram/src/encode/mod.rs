//! Encodes BAM records as containers, each with a single slice.
//!
//! A container depends only on its records, so any thread can encode it. The number of records
//! before it is filled in later, in a field of fixed width.

mod features;
mod mates;
mod record;
mod series;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use md5::{Digest, Md5};
use readmill_format::reference::WINDOW_BYTES;
use readmill_record::{Batch, Header, Ledger, RecordRef, Result};
use serde::{Deserialize, Serialize};

use crate::Version;
use crate::bases::{Bases, References};
use crate::block::{self, ContentType};
use crate::codec::{BlockCompressor, Chooser, Method, Profile};
use crate::container::{ContainerHeader, ltf8_of_nine_bytes};
use crate::crai::CraiEntry;
use crate::num::put_itf8;
use crate::scheme::UNKNOWN_GROUP;
pub(crate) use record::ContigRange;
use series::{Columns, cannot_hold};

/// A contig with fewer consecutive records in a batch may share a container with its neighbours.
const MIN_OWN_CONTAINER_RECORDS: usize = 1000;

const MD5_CHUNK_BASES: i64 = 1 << 12;

/// Returns the size of a partition of CRAM output in bytes of BAM records. For version 3.0 it is 2
/// MiB: compared with 8 MiB, files are 2.7 % larger at 1 MiB, 1.3 % at 2 MiB and 0.5 % at 4 MiB,
/// but larger partitions take more memory.
pub const fn partition_bytes(version: Version, profile: Profile) -> u64 {
    match version.minor {
        0 => 2 << 20,
        _ => profile.partition_bytes(),
    }
}

/// Returns the maximum memory of a thread's encoder: the series, a block while it is encoded (with
/// up to 16 bits per symbol), a window of the reference, and tables. The planner charges it once
/// per thread.
pub const fn max_encoder_bytes(version: Version, profile: Profile) -> usize {
    let batch = partition_bytes(version, profile) as usize;
    let codecs = if version.minor == 0 { 0 } else { Chooser::max_memory_bytes(profile, batch) };
    3 * batch + WINDOW_BYTES + (3 << 20) + codecs
}

/// Unknown bases of a container in excess of this many bytes are charged, and their buffers are
/// freed afterwards.
const MAX_KEPT_UNKNOWN_BASES: u64 = 3 << 20;

/// Options for writing CRAM, and the state that all encoders of an output share.
///
/// Clones share the read groups and the lock `turn`, so each thread creates its [`Encoder`] from a
/// clone.
#[derive(Clone)]
pub struct EncoderOptions {
    pub version: Version,
    /// The sources of reference bases. With `None`, all bases are stored.
    pub references: Option<References>,
    /// How much time compression may take. Used only by version 3.1.
    pub profile: Profile,
    /// Gzip level, from 1 to 12.
    pub level: u8,
    groups: Arc<HashMap<Vec<u8>, i32>>,
    /// Charged for reads without SEQ, which can take much more memory than their BAM record. `turn`
    /// lets only one thread at a time encode such reads.
    ledger: Ledger,
    turn: Arc<Mutex<()>>,
}

impl EncoderOptions {
    pub fn new(
        header: &Header,
        version: Version,
        references: Option<References>,
        level: u8,
        ledger: &Ledger,
    ) -> Self {
        let groups = header
            .lines_of_kind(b"RG")
            .map(|line| line.get(b"ID").unwrap_or_default().to_vec())
            .zip(0..);
        let mut numbers = HashMap::new();
        let mut last = 0;
        groups.for_each(|(name, number)| {
            last = number;
            numbers.entry(name).or_insert(number);
        });
        // Decoders ignore the number of this read group, so it is stored as a field with a name.
        if numbers.get(UNKNOWN_GROUP) == Some(&last) {
            numbers.remove(UNKNOWN_GROUP);
        }
        let (ledger, turn) = (ledger.clone(), Arc::default());
        let (profile, groups) = (Profile::default(), Arc::new(numbers));
        EncoderOptions { version, references, profile, level, groups, ledger, turn }
    }

    fn new_compressor(&self) -> BlockCompressor {
        BlockCompressor::new(self.level, (self.version >= Version::V3_1).then_some(self.profile))
    }
}

/// The offsets in a container at which the record counter is filled in later, and its index
/// entries. Each counter is covered by a checksum that is then recomputed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CounterSlots {
    /// Offset of the container in the output, size of its header before the checksum, and offset of
    /// the counter in the header.
    start: usize,
    header: usize,
    counter: usize,
    /// Range of the slice header block without its checksum, and offset of the counter, both in the
    /// output.
    slice: Range<usize>,
    slice_counter: usize,
    records: u64,
    entries: Vec<CraiEntry>,
}

/// The properties of encoded containers that the output needs, besides their bytes.
///
/// Encoding and output are separate phases; jobs in stages store this in between.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Encoded {
    holes: Vec<CounterSlots>,
}

impl Encoded {
    /// Fills in the record counters of the containers in `bytes`, and updates the checksums.
    /// `before` is the number of earlier records in the file.
    pub fn set_record_counters(&self, bytes: &mut [u8], mut before: u64) {
        for hole in &self.holes {
            let counter = ltf8_of_nine_bytes(before as i64);
            bytes[hole.start + hole.counter..][..9].copy_from_slice(&counter);
            let header = hole.start..hole.start + hole.header;
            let checksum = crc32fast::hash(&bytes[header.clone()]);
            bytes[header.end..][..4].copy_from_slice(&checksum.to_le_bytes());
            bytes[hole.slice_counter..][..9].copy_from_slice(&counter);
            let checksum = crc32fast::hash(&bytes[hole.slice.clone()]);
            bytes[hole.slice.end..][..4].copy_from_slice(&checksum.to_le_bytes());
            before += hole.records;
        }
    }

    /// Returns the index entries of each container, with the offset of the container in the encoded
    /// bytes.
    pub fn index_entries(&self) -> impl Iterator<Item = (u64, &[CraiEntry])> {
        self.holes.iter().map(|hole| (hole.start as u64, &hole.entries[..]))
    }
}

/// Encodes batches of records as containers. Each thread has its own.
///
/// Consecutive records on one contig share a container, and contigs with few records share one with
/// their neighbours. Bases that equal the reference are not stored, nor are MD, NM and mate fields
/// if the decoder restores exactly the same values. The output depends only on the batch and the
/// options. The [crate's example](crate#example) shows all steps.
pub struct Encoder {
    writing: EncoderOptions,
    bases: Option<Bases>,
    columns: Columns,
    compressor: BlockCompressor,
    records: record::RecordEncoder,
    blocks: Vec<u8>,
    body: Vec<u8>,
    head: Vec<u8>,
}

/// Number of copies of unknown bases in memory at once: their series, which doubles as it grows,
/// and the series while it is compressed. (Measured: 5.2 for 230 MiB of unknown bases.)
const UNKNOWN_COPIES: u64 = 6;

/// Returns the number of bases that CRAM must store as N for reads without SEQ: it stores the bases
/// of insertions and soft clips, not their number. A few bytes of CIGAR can stand for any number of
/// bases.
///
/// # Errors
/// A read has more bases than CRAM can count.
fn count_unknown_bases<'a>(records: impl Iterator<Item = RecordRef<'a>>) -> Result<u64> {
    let mut sum = 0;
    for record in records.filter(|record| record.l_seq() == 0) {
        let (mut bases, mut unknown) = (0, 0);
        for (op, n) in record.cigar().ops() {
            bases += if matches!(op, 0 | 1 | 4 | 7 | 8) { u64::from(n) } else { 0 };
            unknown += if matches!(op, 1 | 4) { u64::from(n) } else { 0 };
        }
        if bases > i32::MAX as u64 {
            return Err(cannot_hold("a read of more than 2,147,483,647 bases", record));
        }
        sum += unknown;
    }
    Ok(sum)
}

impl Encoder {
    pub fn new(writing: &EncoderOptions) -> Self {
        Encoder {
            bases: writing.references.as_ref().map(References::bases_reader),
            columns: Columns::default(),
            compressor: writing.new_compressor(),
            records: record::RecordEncoder::default(),
            blocks: Vec::new(),
            body: Vec::new(),
            head: Vec::new(),
            writing: writing.clone(),
        }
    }

    /// Appends the records of a batch to `out` as containers. The result lists what is filled in
    /// later.
    ///
    /// # Errors
    /// CRAM cannot store a record, reference bases are missing, or there is too little free memory
    /// for unknown bases.
    pub fn encode_partition(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<Encoded> {
        let mut encoded = Encoded::default();
        let references = self.writing.references.as_ref();
        let length = |contig| references.map_or(i64::MAX, |it| it.contig_length(contig));
        for (contig, records) in container_ranges(batch, length) {
            let unknown = count_unknown_bases(records.clone().map(|i| batch.record(batch.spans[i])))?;
            let hole = if unknown > MAX_KEPT_UNKNOWN_BASES {
                let EncoderOptions { ledger, turn, .. } = self.writing.clone();
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let name = "unknown bases of reads without SEQ";
                let _charge = ledger.charge(name, UNKNOWN_COPIES * unknown)?;
                let hole = self.encode_container(batch, contig, records, out)?;
                self.free_buffers();
                hole
            } else {
                self.encode_container(batch, contig, records, out)?
            };
            encoded.holes.push(hole);
        }
        let EncoderOptions { version, profile, .. } = self.writing;
        // The buffers of a larger batch are freed, because their memory is not planned for the next
        // batch.
        if batch.record_bytes() > partition_bytes(version, profile) / 2 * 3 {
            self.free_buffers();
        }
        Ok(encoded)
    }

    fn free_buffers(&mut self) {
        self.columns = Columns::default();
        self.compressor = self.writing.new_compressor();
        self.records = record::RecordEncoder::default();
        (self.blocks, self.body, self.head) = (Vec::new(), Vec::new(), Vec::new());
    }

    fn encode_container(
        &mut self,
        batch: &Batch,
        contig: i32,
        records: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<CounterSlots> {
        let all = records.clone().map(|i| batch.record(batch.spans[i]));
        let delta = contig >= 0 && all.clone().is_sorted_by_key(RecordRef::pos);
        let bases = self.bases.as_mut().filter(|bases| {
            let ends =
                |it: RecordRef<'_>| i64::from(it.pos()) >= bases.references().contig_length(it.ref_id());
            // In a container of several contigs, htsjdk needs the reference for each read, even for
            // a read after the end of its contig.
            contig != -2 || !all.clone().any(|it| it.ref_id() >= 0 && ends(it))
        });
        let with_reference = bases.is_some();
        self.columns.clear();
        let groups = &self.writing.groups;
        let found = self.records.encode_records(all, contig, delta, groups, bases, &mut self.columns)?;
        self.blocks.clear();
        let ids = self.columns.write_blocks(&mut self.compressor, &mut self.blocks)?;
        let count = ids.len() + 1; // the core block, which is empty
        let (mut start, mut span) = (0, 0);
        if let (true, Some(range)) = (contig >= 0, found.ranges.first()) {
            (start, span) = (range.start, range.end - range.start + 1);
        }
        let md5 = self.reference_md5(contig, start, span)?;
        let first = out.len();
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        self.head.clear();
        self.columns.write_scheme(with_reference, delta, &mut self.head);
        block::write_block(
            ContentType::CompressionHeader,
            0,
            Method::Raw,
            self.head.len(),
            &self.head,
            &mut body,
        );
        let landmark = body.len();
        self.head.clear();
        let four = [contig, start as i32, span as i32, records.len() as i32];
        four.iter().for_each(|&n| put_itf8(&mut self.head, n));
        let counter_in_slice = self.head.len();
        self.head.extend_from_slice(&ltf8_of_nine_bytes(0));
        put_itf8(&mut self.head, count as i32);
        put_itf8(&mut self.head, ids.len() as i32);
        ids.iter().for_each(|&id| put_itf8(&mut self.head, id));
        put_itf8(&mut self.head, -1);
        self.head.extend_from_slice(&md5);
        block::write_block(
            ContentType::SliceHeader,
            0,
            Method::Raw,
            self.head.len(),
            &self.head,
            &mut body,
        );
        let slice_end = body.len() - 4;
        let counter_in_body = slice_end - self.head.len() + counter_in_slice;
        block::write_block(ContentType::Core, 0, Method::Raw, 0, &[], &mut body);
        let length = body.len() + self.blocks.len();
        block::to_block_length(length, "the data of a container")?;
        let container = ContainerHeader {
            length,
            contig,
            start: start as i32,
            span: span as i32,
            records: records.len(),
            counter: 0,
            bases: found.bases,
            blocks: count + 2,
            landmarks: vec![landmark as i32],
        };
        let (header, counter) = container.write(out);
        let base = out.len();
        out.extend_from_slice(&body);
        out.extend_from_slice(&self.blocks);
        self.body = body;
        let slice = (landmark as u64, (length - landmark) as u64);
        let entries = found.ranges.iter().map(|range| {
            let span = if range.contig < 0 { 0 } else { (range.end - range.start + 1).max(1) };
            let start = if range.contig < 0 { 0 } else { range.start };
            CraiEntry { contig: range.contig, start, span, container: 0, slice }
        });
        Ok(CounterSlots {
            start: first,
            header,
            counter,
            slice: base + landmark..base + slice_end,
            slice_counter: base + counter_in_body,
            records: records.len() as u64,
            entries: entries.collect(),
        })
    }

    /// Returns the MD5 of the reference bases that a slice covers; zeros if there is no reference
    /// or no single contig.
    fn reference_md5(&mut self, contig: i32, start: i64, span: i64) -> Result<[u8; 16]> {
        let Some(bases) = self.bases.as_mut().filter(|_| contig >= 0) else { return Ok([0; 16]) };
        let length = bases.references().contig_length(contig);
        let (mut at, end) = (start - 1, (start - 1 + span).min(length));
        let mut md5 = Md5::new();
        while at < end {
            let to = (at / MD5_CHUNK_BASES * MD5_CHUNK_BASES + MD5_CHUNK_BASES).min(end);
            md5.update(bases.read_bases(contig, at as u32, to as u32)?);
            at = to;
        }
        Ok(md5.finalize().into())
    }
}

/// Divides the records of a batch into containers. Returns the contig of each container (-2 for
/// several) and the range of its records. A contig with at least [`MIN_OWN_CONTAINER_RECORDS`]
/// consecutive records gets a container of its own.
fn container_ranges(batch: &Batch, length: impl Fn(i32) -> i64) -> Vec<(i32, Range<usize>)> {
    let contig = |i: usize| batch.record(batch.spans[i]).ref_id();
    let mut runs: Vec<(i32, Range<usize>)> = Vec::new();
    for i in 0..batch.len() {
        match runs.last_mut() {
            Some((of, run)) if *of == contig(i) => run.end = i + 1,
            _ => runs.push((contig(i), i..i + 1)),
        }
    }
    let mut out: Vec<(i32, Range<usize>)> = Vec::new();
    let mut may_join = false;
    for (contig, run) in runs {
        let few = run.len() < MIN_OWN_CONTAINER_RECORDS;
        match out.last_mut() {
            Some((of, last)) if few && may_join => (*of, last.end) = (-2, run.end),
            _ => out.push((contig, run)),
        }
        may_join = few;
    }
    // A read on a contig but without a position cannot be in a slice of that contig. A slice must
    // start on its contig, although its reads may extend beyond the end.
    for (contig, run) in out.iter_mut().filter(|(contig, _)| *contig >= 0) {
        let first = run.clone().map(|i| i64::from(batch.record(batch.spans[i]).pos())).min();
        if first.is_none_or(|first| first < 0 || first >= length(*contig)) {
            *contig = -2;
        }
    }
    out
}
