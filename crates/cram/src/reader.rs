//! The serial part of reading CRAM: the file definition and header, then one container after
//! another.
//!
//! Claiming a container reads its bytes and the headers of its blocks, but inflates nothing. The
//! block headers bound the memory for decoding, so a damaged or hostile container is refused before
//! any thread decodes it.

use std::io::Read;

use readmill_record::{Error, Header, Ledger, Limit, Result};

use crate::block::{ContentType, CramBlock};
use crate::codec::Codecs;
use crate::container::{self, ContainerHeader};
use crate::encoding::ExternalBlock;
use crate::num::{ByteCursor, damaged_cram};
use crate::{MAGIC, Version};

type Input = Box<dyn Read + Send>;

/// Maximum size of a container header in bytes: the fixed fields, and up to 4,096 landmarks of 5
/// bytes. If a damaged header claims more, reading stops with an error.
const MAX_HEADER_BYTES: usize = 64 + 5 * 4096;

/// Added to [`Container::max_bam_bytes`] for data that is not in the file: deleted bases in MD come
/// from the reference.
const IMPLIED_SLACK_BYTES: usize = 256 << 10;

/// A container of the file, with its blocks still compressed.
///
/// ```text
/// header │ compression header │ slice header  core block  external blocks … │ slice header …
///        └ blocks()[0]        └ header.landmarks[0]                         └ header.landmarks[1]
/// ```
///
/// [`Reader::claim`] returns it, and a [`Decoder`](crate::Decoder) decodes it on any thread. Its
/// memory is known before anything is inflated: [`max_bam_bytes`](Self::max_bam_bytes) for the
/// records, [`working_bytes`](Self::working_bytes) for everything else.
#[derive(Clone, Default)]
pub struct Container {
    pub header: ContainerHeader,
    pub offset: u64,
    bytes: Vec<u8>,
    sizes: Sizes,
    /// Maximum size in bytes of the data of a record that is not stored: its RG field and its
    /// generated name ([`Setup::max_implied_bytes`](crate::Setup::max_implied_bytes)).
    implied_bytes: usize,
}

/// Memory for the inflated blocks of a container, computed from the block headers. `raw` is the
/// total size of the blocks; `scratch` and `scheme` are the maximum for inflating one block and for
/// parsing the compression header.
///
/// [`Reader`] adds up all blocks when it claims a container. The decoder subtracts each block
/// before it inflates it, so a container cannot inflate to more than was charged for it.
#[derive(Clone, Copy, Default)]
pub struct Sizes {
    pub raw: usize,
    pub scratch: usize,
    pub scheme: usize,
    pub blocks: usize,
}

impl Sizes {
    fn add_block(&mut self, block: &CramBlock<'_>) {
        self.blocks += 1;
        self.raw = self.raw.saturating_add(block.raw_size);
        self.scratch = self.scratch.max(block.scratch_bytes());
        if block.content == ContentType::CompressionHeader {
            self.scheme = self.scheme.max(block.raw_size.saturating_mul(SCHEME_BYTES_PER_BYTE));
        }
    }

    /// Subtracts the memory of a block that is about to be inflated.
    ///
    /// # Errors
    /// The block was not counted when the container was claimed.
    pub fn take_block(&mut self, block: &CramBlock<'_>) -> Result<()> {
        let is_scheme = block.content == ContentType::CompressionHeader;
        let scheme = if is_scheme { block.raw_size.saturating_mul(SCHEME_BYTES_PER_BYTE) } else { 0 };
        let fits = block.scratch_bytes() <= self.scratch && scheme <= self.scheme;
        let left = self.raw.checked_sub(block.raw_size).filter(|_| fits);
        self.raw = left.ok_or_else(exceeds_container_error)?;
        Ok(())
    }
}

/// Returns an upper bound on the memory for the parts (name, SEQ, QUAL, CIGAR, tags) of a record
/// that takes `record` bytes as BAM. BAM stores a base and its quality in one and a half bytes;
/// during decoding they take three: in SEQ, in QUAL, and in the bases read from the stream.
pub fn parts_bound(record: usize) -> usize {
    record.saturating_mul(2)
}

pub fn exceeds_container_error() -> Error {
    damaged_cram("a container contains more than its header states")
}

/// Memory per byte of a compression header: encodings and tag lists, and a second copy of them that
/// is resolved for a slice.
const SCHEME_BYTES_PER_BYTE: usize = 64;

/// Memory per record for what the decoder keeps until the slice is complete and mates can be
/// joined.
const NOTE_BYTES: usize = 192;

/// Memory for the parts of a record that [`DECODER_BYTES`](crate::DECODER_BYTES) already includes.
/// Only larger parts are charged.
const FREE_PARTS_BYTES: usize = 1 << 20;

/// If the reads of a container have at least this many bases on average, the parts of a record are
/// charged.
const LONG_READ_BASES: usize = 1000;

impl Container {
    /// Returns the compressed blocks. Landmarks are offsets into these bytes.
    pub fn blocks(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns an upper bound on the size of the records as BAM, in bytes. Decoding stops with an
    /// error at a record that would exceed it, so callers can reserve this much in advance.
    ///
    /// A record takes 36 bytes in addition to its name, CIGAR, SEQ, QUAL and optional fields; SEQ
    /// and QUAL take three bytes for two bases. Names, tags and features are decoded from bytes
    /// other than qualities, and each of these bytes produces at most four bytes of BAM: a one-byte
    /// tag takes four, a three-byte deletion becomes two CIGAR operators and an MD entry. Deleted
    /// bases in MD come from the reference; a fixed slack covers them.
    pub fn max_bam_bytes(&self) -> usize {
        let (raw, bases) = (self.sizes.raw, self.claimed_bases());
        let others = raw.saturating_sub(bases);
        let records = self.header.records.saturating_mul(64 + self.implied_bytes);
        records
            .saturating_add(bases / 2 * 3)
            .saturating_add(others.saturating_mul(4))
            .saturating_add(IMPLIED_SLACK_BYTES)
    }

    /// Returns the expected size of the records in bytes, at most
    /// [`max_bam_bytes`](Self::max_bam_bytes), assuming short names and few tags. The decoder
    /// reserves this much, so that the buffer for typical records grows at most once.
    pub fn likely_bytes(&self) -> usize {
        let records = self.header.records.saturating_mul(128);
        records.saturating_add(self.claimed_bases() / 2 * 3).min(self.max_bam_bytes())
    }

    /// Returns the number of bases that the header claims, limited to eight per uncompressed byte
    /// because the number may be wrong.
    fn claimed_bases(&self) -> usize {
        usize::try_from(self.header.bases).unwrap_or(0).min(self.sizes.raw.saturating_mul(8))
    }

    /// Returns the maximum memory in bytes while the container is decoded, excluding its records:
    /// compressed and inflated blocks, encodings, notes about records, and the parts of a long
    /// record.
    pub fn working_bytes(&self) -> usize {
        let records = self.header.records.saturating_mul(NOTE_BYTES);
        let blocks = self.bytes.len() + self.sizes.blocks * size_of::<ExternalBlock>();
        let Sizes { raw, scratch, scheme, .. } = self.sizes;
        let parts = self.max_parts_bytes().saturating_sub(FREE_PARTS_BYTES);
        [raw, scratch, scheme, records, parts].into_iter().fold(blocks, usize::saturating_add)
    }

    /// Returns the maximum size in bytes of the parts of one record before they are assembled. If
    /// reads have the usual length, none is much longer than the others. If some are long, a single
    /// read may have nearly all bases.
    pub fn max_parts_bytes(&self) -> usize {
        if self.claimed_bases() / LONG_READ_BASES < self.header.records {
            FREE_PARTS_BYTES
        } else {
            FREE_PARTS_BYTES + parts_bound(self.max_bam_bytes())
        }
    }

    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the buffer of the blocks, so that the next claim can reuse its memory.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads the containers of a CRAM file in order.
///
/// [`open`](Self::open) reads the file definition and the SAM header. Each [`claim`](Self::claim)
/// returns the next container that has records. To read only some containers, for example for
/// regions, call [`resume_at`](Self::resume_at) before each claim.
///
/// ```
/// use std::io::Cursor;
///
/// use readmill_cram::{EOF, Reader, Version, header_container};
/// use readmill_record::{Header, Ledger, Limit};
///
/// # fn main() -> readmill_record::Result<()> {
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let mut file = header_container(&header, Version::DEFAULT)?;
/// file.extend_from_slice(&EOF);
///
/// let input = Box::new(Cursor::new(file));
/// let mut reader = Reader::open(input, false, Limit::of_bytes(1 << 20), &Ledger::unlimited())?;
/// assert_eq!(reader.version(), Version::DEFAULT);
/// assert_eq!(reader.header().references().len(), 1);
/// assert!(reader.claim(Vec::new())?.is_none()); // the file has no records
/// # Ok(())
/// # }
/// ```
pub struct Reader {
    input: Input,
    version: Version,
    header: Header,
    offset: u64,
    allow_missing_eof: bool,
    max_container: Limit,
    ended: bool,
    implied_bytes: usize,
}

/// Reads until `buffer` is full or the input ends. Returns the number of bytes read, which is less
/// than the buffer size only at the end of the input.
fn read_full(input: &mut Input, buffer: &mut [u8]) -> Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match input.read(&mut buffer[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("reading failed", &e)),
        }
    }
    Ok(n)
}

fn cut_short() -> Error {
    Error::input("the CRAM file ends inside a container")
        .hint("the file is truncated: download or create it again")
}

const CONTAINER: &str = "a container of the CRAM file";

impl Reader {
    /// Opens `input` and reads its header. `max_container` limits the memory of a container
    /// including its records. The header container is charged to `ledger` while it is read. With
    /// `allow_missing_eof`, a file without an end-of-file container is accepted.
    ///
    /// # Errors
    /// The input is not CRAM 2.0 to 3.1, its header is damaged or truncated, or it does not fit in
    /// memory.
    pub fn open(
        input: Input,
        allow_missing_eof: bool,
        max_container: Limit,
        ledger: &Ledger,
    ) -> Result<Self> {
        Self::open_by(Header::parse_and_mend, input, allow_missing_eof, max_container, ledger)
    }

    /// Opens `input` like [`Reader::open`], but accepts header lines that other programs refuse.
    /// Used by commands that show, compare or replace headers.
    pub fn open_as_is(
        input: Input,
        allow_missing_eof: bool,
        max_container: Limit,
        ledger: &Ledger,
    ) -> Result<Self> {
        Self::open_by(Header::parse_within, input, allow_missing_eof, max_container, ledger)
    }

    fn open_by(
        read_header: fn(&[u8], &Ledger) -> Result<Header>,
        mut input: Input,
        allow_missing_eof: bool,
        max_container: Limit,
        ledger: &Ledger,
    ) -> Result<Self> {
        let mut definition = [0; 26];
        if read_full(&mut input, &mut definition)? < definition.len() || !definition.starts_with(MAGIC) {
            return Err(Error::input("the file ends inside its header")
                .hint("download or create the file again"));
        }
        let version = Version { major: definition[4], minor: definition[5] };
        if !matches!((version.major, version.minor), (2, 0 | 1) | (3, 0 | 1)) {
            let what = format!(
                "CRAM {}.{} is not supported, only 2.0, 2.1, 3.0 and 3.1",
                version.major, version.minor
            );
            return Err(Error::input(what).hint("convert the file: samtools view -b"));
        }
        let header = Header::default();
        let (offset, ended) = (definition.len() as u64, false);
        let mut reader = Reader {
            input,
            version,
            header,
            offset,
            allow_missing_eof,
            max_container,
            ended,
            implied_bytes: 0,
        };
        let mut first =
            reader.read_container(Vec::new())?.ok_or_else(|| damaged_cram("there is no header"))?;
        reader.complete_block(&mut first.bytes)?;
        let block = CramBlock::read(&mut ByteCursor(&first.bytes), version)?;
        let needed =
            first.bytes.len().saturating_add(block.raw_size).saturating_add(block.scratch_bytes());
        let _reading = ledger.charge("headers", needed as u64)?;
        let text = container::read_header_text(block, &mut Codecs::default())?;
        reader.header = read_header(&text, ledger)?;
        Ok(reader)
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn version(&self) -> Version {
        self.version
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the input at [`Reader::offset`], to copy the containers there without decoding them.
    pub fn into_input(self) -> Input {
        self.input
    }

    /// Sets the maximum size of the data of a record that is not stored, which is
    /// [`Setup::max_implied_bytes`](crate::Setup::max_implied_bytes). The setup needs the header,
    /// so it is created after the reader is opened.
    pub fn set_implied_bytes(&mut self, implied_bytes: usize) {
        self.implied_bytes = implied_bytes;
    }

    /// Limits the memory of each later container, including its records, to `max_container`. A larger
    /// container is an error.
    pub fn limit_containers(&mut self, max_container: Limit) {
        self.max_container = max_container;
    }

    /// Continues with the container at file offset `offset`, where `input` must start. Reading by
    /// regions calls it for each container that the index names.
    pub fn resume_at(&mut self, input: Input, offset: u64) {
        (self.input, self.offset, self.ended) = (input, offset, false);
    }

    /// Returns the next container that has records; `None` at the end of the file. `reuse` is the
    /// buffer of a decoded container, whose memory is reused.
    ///
    /// # Errors
    /// The file is damaged, the end-of-file container is missing (unless that is allowed), or the
    /// container needs more memory than the limit.
    pub fn claim(&mut self, mut reuse: Vec<u8>) -> Result<Option<Container>> {
        while !self.ended {
            let Some(container) = self.read_container(reuse)? else { break };
            if container.header.is_end() {
                self.ended = true;
                break;
            }
            if container.header.records > 0 {
                return Ok(Some(container));
            }
            reuse = container.bytes;
        }
        let must_end = (self.version.major, self.version.minor) >= (2, 1);
        if !self.ended && must_end && !self.allow_missing_eof {
            self.ended = true;
            return Err(Error::input("the EOF container of CRAM is missing at the end").hint(
                "the file is truncated: download or create it again, or use --allow-missing-eof",
            ));
        }
        self.ended = true;
        Ok(None)
    }

    /// Reads the next container, with or without records, and checks it against the memory limit;
    /// `None` at the end of the file.
    fn read_container(&mut self, mut bytes: Vec<u8>) -> Result<Option<Container>> {
        let at = self.offset;
        let Some(header) = self.read_header().map_err(|e| e.offset(at))? else { return Ok(None) };
        if !self.max_container.allows(header.length as u64) {
            return Err(self.max_container.limit_error(CONTAINER, header.length as u64).offset(at));
        }
        bytes.clear();
        self.read_bytes(header.length, &mut bytes).map_err(|e| e.offset(at))?;
        let sizes = self.sum_block_sizes(&header, &bytes).map_err(|e| e.offset(at))?;
        let container =
            Container { header, offset: at, bytes, sizes, implied_bytes: self.implied_bytes };
        let needed =
            container.working_bytes().saturating_add(container.max_bam_bytes().saturating_mul(2));
        if container.header.records > 0 && !self.max_container.allows(needed as u64) {
            return Err(self.max_container.limit_error(CONTAINER, needed as u64).offset(at));
        }
        Ok(Some(container))
    }

    fn read_bytes(&mut self, n: usize, bytes: &mut Vec<u8>) -> Result<()> {
        // Reads in pieces, so that a wrong length in a damaged file does not allocate memory.
        let (mut left, input) = (n, &mut self.input);
        while left > 0 {
            let (from, n) = (bytes.len(), left.min(1 << 20));
            if bytes.capacity() < from + n {
                bytes.reserve_exact(left.min(from.max(n)));
            }
            bytes.resize(from + n, 0);
            if read_full(input, &mut bytes[from..])? < n {
                return Err(cut_short());
            }
            left -= n;
        }
        self.offset += n as u64;
        Ok(())
    }

    /// Reads the missing bytes of the first container's block into `bytes`. htsjdk wrote CRAM 2.1
    /// files whose first container claims fewer bytes than its block has; as in htslib, the next
    /// container starts after the block.
    fn complete_block(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let whole = CramBlock::stored_size(bytes, self.version)?;
        if !self.max_container.allows(whole as u64) {
            return Err(self.max_container.limit_error("the header of the CRAM file", whole as u64));
        }
        self.read_bytes(whole.saturating_sub(bytes.len()), bytes)
    }

    /// Reads a container header number by number, because its length is not stored; `None` at the
    /// end of the file.
    fn read_header(&mut self) -> Result<Option<ContainerHeader>> {
        let mut bytes = vec![0; 4];
        match read_full(&mut self.input, &mut bytes)? {
            0 => return Ok(None),
            4 => {}
            _ => return Err(cut_short()),
        }
        let mut header = HeaderBytes { input: &mut self.input, bytes };
        let recent = self.version.major >= 3;
        for is_long in [false, false, false, false, recent, true, false] {
            header.append_number(is_long)?;
        }
        for _ in 0..header.append_number(false)? {
            header.append_number(false)?; // a landmark
        }
        header.append_bytes(if recent { 4 } else { 0 })?; // its checksum
        let bytes = header.bytes;
        let (header, taken) = ContainerHeader::read(&bytes, self.version)?;
        debug_assert_eq!(taken, bytes.len());
        self.offset += taken as u64;
        Ok(Some(header))
    }

    fn sum_block_sizes(&self, header: &ContainerHeader, bytes: &[u8]) -> Result<Sizes> {
        let (mut cursor, mut sizes) = (ByteCursor(bytes), Sizes::default());
        // The block count of a container without records may be wrong.
        if header.records == 0 {
            return Ok(sizes);
        }
        // htsjdk's block count excludes the compression header and the slice headers.
        while sizes.blocks < header.blocks || !cursor.0.is_empty() {
            match CramBlock::skip(&mut cursor, self.version) {
                Ok(block) => sizes.add_block(&block),
                Err(error) if sizes.blocks < header.blocks => return Err(error),
                Err(_) => break, // no landmark points there
            }
        }
        Ok(sizes)
    }
}

/// Reads the numbers of a container header and keeps their bytes for [`ContainerHeader::read`].
struct HeaderBytes<'a> {
    input: &'a mut Input,
    bytes: Vec<u8>,
}

impl HeaderBytes<'_> {
    fn append_bytes(&mut self, n: usize) -> Result<()> {
        let from = self.bytes.len();
        if from + n > MAX_HEADER_BYTES {
            return Err(damaged_cram("the header of a container has no end"));
        }
        self.bytes.resize(from + n, 0);
        if read_full(self.input, &mut self.bytes[from..])? < n { Err(cut_short()) } else { Ok(()) }
    }

    /// Reads one number: LTF8 if `is_long`, otherwise ITF8. Its first byte gives its length.
    fn append_number(&mut self, is_long: bool) -> Result<i64> {
        let from = self.bytes.len();
        self.append_bytes(1)?;
        let more = self.bytes[from].leading_ones() as usize;
        self.append_bytes(if is_long { more } else { more.min(4) })?;
        let mut cursor = ByteCursor(&self.bytes[from..]);
        if is_long { cursor.read_ltf8() } else { cursor.read_itf8().map(i64::from) }
    }
}
