//! The serial side of reading CRAM: the file definition and header, then one container after the other.

use std::io::Read;

use readmill_record::{Error, Header, Ledger, Limit, Result};

use crate::block::{ContentType, CramBlock};
use crate::codec::Codecs;
use crate::container::{self, ContainerHeader};
use crate::encoding::ExternalBlock;
use crate::num::{ByteCursor, damaged};
use crate::{MAGIC, Version};

type Input = Box<dyn Read + Send>;

/// The most bytes of a container header: its numbers, and landmarks of 5 bytes.
const MOST_HEADER: usize = 64 + 5 * 4096;

/// Slack in the bound of a container's records, for data that take no space in the file.
const SLACK: usize = 256 << 10;

/// A container of the file.
#[derive(Clone, Default)]
pub struct Container {
    /// Its header.
    pub header: ContainerHeader,
    /// Where it starts in the file.
    pub offset: u64,
    /// Its blocks; bytes after them have no meaning.
    bytes: Vec<u8>,
    sizes: Sizes,
    /// The most bytes that one of its records takes for data that are not stored.
    implied_bytes: usize,
}

/// Memory that uncompressed blocks take.
#[derive(Clone, Copy, Default)]
pub struct Sizes {
    /// Their uncompressed size in bytes.
    pub raw: usize,
    /// The most bytes that uncompressing one of them takes besides its result.
    pub scratch: usize,
    /// The most bytes of the encodings that the compression header describes.
    pub scheme: usize,
    /// Number of blocks.
    pub blocks: usize,
}

impl Sizes {
    /// Adds the memory of a block.
    fn add(&mut self, block: &CramBlock<'_>) {
        self.blocks += 1;
        self.raw = self.raw.saturating_add(block.raw_size);
        self.scratch = self.scratch.max(block.scratch());
        if block.content == ContentType::CompressionHeader {
            self.scheme = self.scheme.max(block.raw_size.saturating_mul(SCHEME));
        }
    }

    /// Subtracts the memory of a block; an error if it was not added before.
    pub fn take(&mut self, block: &CramBlock<'_>) -> Result<()> {
        let is_scheme = block.content == ContentType::CompressionHeader;
        let scheme = if is_scheme { block.raw_size.saturating_mul(SCHEME) } else { 0 };
        let fits = block.scratch() <= self.scratch && scheme <= self.scheme;
        let left = self.raw.checked_sub(block.raw_size).filter(|_| fits);
        self.raw = left.ok_or_else(too_much)?;
        Ok(())
    }
}

/// Upper bound of the bytes of the parts of a record that takes `record` bytes as BAM. A base that BAM stores
/// in a byte and a half is in three parts: SEQ, QUAL, and the stretch of bases that is read.
pub fn parts_bound(record: usize) -> usize {
    record.saturating_mul(2)
}

/// The error for a container that holds more than its sizes promise.
pub fn too_much() -> Error {
    damaged("a container holds more than its header says")
}

/// Memory for each byte of a compression header: encodings, lists of tags, and both again for a slice.
const SCHEME: usize = 64;

/// Memory for the notes on a record until its slice is complete.
const NOTES: usize = 192;

/// Bytes of the parts of a record that the decoder's own memory holds.
const PARTS: usize = 1 << 20;

/// The most bases of a read of usual length. The parts of longer reads are charged.
const USUAL: usize = 1000;

impl Container {
    /// Its blocks.
    pub fn blocks(&self) -> &[u8] {
        &self.bytes
    }

    /// Upper bound of the bytes of its records as BAM. It is never exceeded: a container with more is damaged.
    ///
    /// A record has 36 bytes besides its name, CIGAR, SEQ, QUAL and fields; SEQ and QUAL take three bytes for
    /// two bases. Names, tags and features come from bytes in blocks that are not qualities, and each such byte
    /// makes at most four: a tag of one byte makes four, a deletion of three makes two operators and an entry of
    /// MD. (Deleted bases in MD come from the reference; the slack is for them.)
    pub fn bound(&self) -> usize {
        let (raw, bases) = (self.sizes.raw, self.bases());
        let others = raw.saturating_sub(bases);
        let records = self.header.records.saturating_mul(64 + self.implied_bytes);
        records
            .saturating_add(bases / 2 * 3)
            .saturating_add(others.saturating_mul(4))
            .saturating_add(SLACK)
    }

    /// About how many bytes its records take, at most [`bound`](Self::bound): for records with short names and few tags,
    /// so that their memory grows once at most.
    pub fn likely_bytes(&self) -> usize {
        let records = self.header.records.saturating_mul(128);
        records.saturating_add(self.bases() / 2 * 3).min(self.bound())
    }

    fn bases(&self) -> usize {
        usize::try_from(self.header.bases).unwrap_or(0).min(self.sizes.raw.saturating_mul(8))
    }

    /// The most bytes in memory while it is decoded, besides its records.
    pub fn working(&self) -> usize {
        let records = self.header.records.saturating_mul(NOTES);
        let blocks = self.bytes.len() + self.sizes.blocks * size_of::<ExternalBlock>();
        let Sizes { raw, scratch, scheme, .. } = self.sizes;
        let parts = self.parts().saturating_sub(PARTS);
        [raw, scratch, scheme, records, parts].into_iter().fold(blocks, usize::saturating_add)
    }

    /// The most bytes of the parts of one of its records before they are put together. Among reads of usual length
    /// none is much longer than the others; but if some are long, one may take all.
    pub fn parts(&self) -> usize {
        if self.bases() / USUAL < self.header.records {
            PARTS
        } else {
            PARTS + parts_bound(self.bound())
        }
    }

    /// The memory of its uncompressed blocks.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns its buffer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads a CRAM file.
pub struct Reader {
    input: Input,
    version: Version,
    header: Header,
    offset: u64,
    allow_missing_eof: bool,
    most: Limit,
    ended: bool,
    implied_bytes: usize,
}

/// Fills `buffer`; returns the number of bytes, which is smaller only at the end.
fn fill(input: &mut Input, buffer: &mut [u8]) -> Result<usize> {
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
    Error::input("the CRAM file ends inside a container").hint("it is truncated: get it again")
}

/// A container, in messages.
const CONTAINER: &str = "a container of the CRAM file";

impl Reader {
    /// Opens `input` and reads its header. A container may take `most`; the container of the header is
    /// charged to `ledger` until it is read.
    pub fn open(input: Input, allow_missing_eof: bool, most: Limit, ledger: &Ledger) -> Result<Self> {
        Self::open_by(Header::read, input, allow_missing_eof, most, ledger)
    }

    /// As [`Reader::open`], but takes header lines that no other program reads as they are.
    pub fn open_as_is(
        input: Input,
        allow_missing_eof: bool,
        most: Limit,
        ledger: &Ledger,
    ) -> Result<Self> {
        Self::open_by(Header::parse_within, input, allow_missing_eof, most, ledger)
    }

    fn open_by(
        read_header: fn(&[u8], &Ledger) -> Result<Header>,
        mut input: Input,
        allow_missing_eof: bool,
        most: Limit,
        ledger: &Ledger,
    ) -> Result<Self> {
        let mut definition = [0; 26];
        if fill(&mut input, &mut definition)? < definition.len() || !definition.starts_with(MAGIC) {
            return Err(Error::input("the file ends inside its header").hint("get the file again"));
        }
        let version = Version { major: definition[4], minor: definition[5] };
        if !matches!((version.major, version.minor), (2, 0 | 1) | (3, 0 | 1)) {
            let what = format!(
                "CRAM {}.{} is not read, but 2.0, 2.1, 3.0 and 3.1",
                version.major, version.minor
            );
            return Err(Error::input(what).hint("convert it: samtools view -b"));
        }
        let header = Header::default();
        let (offset, ended) = (definition.len() as u64, false);
        let mut reader =
            Reader { input, version, header, offset, allow_missing_eof, most, ended, implied_bytes: 0 };
        let mut first = reader.take(Vec::new())?.ok_or_else(|| damaged("there is no header"))?;
        reader.complete_block(&mut first.bytes)?;
        let block = CramBlock::read(&mut ByteCursor(&first.bytes), version)?;
        let needed = first.bytes.len().saturating_add(block.raw_size).saturating_add(block.scratch());
        let _reading = ledger.charge("headers", needed as u64)?;
        let text = container::header_text(block, &mut Codecs::default())?;
        reader.header = read_header(&text, ledger)?;
        Ok(reader)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The version of the file.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Where the next container starts in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Sets the most bytes that a record may take for data that are not stored.
    pub fn set_implied_bytes(&mut self, implied_bytes: usize) {
        self.implied_bytes = implied_bytes;
    }

    /// Refuses containers that take more than `most`, including their records, from here on.
    pub fn limit(&mut self, most: Limit) {
        self.most = most;
    }

    /// Goes on with the container that starts at an offset of the file, where `input` starts.
    pub fn go_to(&mut self, input: Input, offset: u64) {
        (self.input, self.offset, self.ended) = (input, offset, false);
    }

    /// Takes the next container with records, reusing the memory of `reuse`; `None` at the end.
    pub fn claim(&mut self, mut reuse: Vec<u8>) -> Result<Option<Container>> {
        while !self.ended {
            let Some(container) = self.take(reuse)? else { break };
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
            return Err(Error::input("the container that ends a CRAM file is missing")
                .hint("the file is truncated: get it again, or give --allow-missing-eof"));
        }
        self.ended = true;
        Ok(None)
    }

    /// Takes the next container; `None` at the end of the file.
    fn take(&mut self, mut bytes: Vec<u8>) -> Result<Option<Container>> {
        let at = self.offset;
        let Some(header) = self.read_header().map_err(|e| e.offset(at))? else { return Ok(None) };
        if !self.most.allows(header.length as u64) {
            return Err(self.most.refusal(CONTAINER, header.length as u64).offset(at));
        }
        bytes.clear();
        self.append(header.length, &mut bytes).map_err(|e| e.offset(at))?;
        let sizes = self.sizes(&header, &bytes).map_err(|e| e.offset(at))?;
        let container =
            Container { header, offset: at, bytes, sizes, implied_bytes: self.implied_bytes };
        let needed = container.working().saturating_add(container.bound().saturating_mul(2));
        if container.header.records > 0 && !self.most.allows(needed as u64) {
            return Err(self.most.refusal(CONTAINER, needed as u64).offset(at));
        }
        Ok(Some(container))
    }

    /// Appends the next `n` bytes of the file.
    fn append(&mut self, n: usize, bytes: &mut Vec<u8>) -> Result<()> {
        // Reads in pieces: a false length must not take memory.
        let (mut left, input) = (n, &mut self.input);
        while left > 0 {
            let (from, n) = (bytes.len(), left.min(1 << 20));
            if bytes.capacity() < from + n {
                bytes.reserve_exact(left.min(from.max(n)));
            }
            bytes.resize(from + n, 0);
            if fill(input, &mut bytes[from..])? < n {
                return Err(cut_short());
            }
            left -= n;
        }
        self.offset += n as u64;
        Ok(())
    }

    /// Reads the missing bytes of the first container's block into `bytes`. htsjdk wrote CRAM 2.1 files whose first
    /// container claims fewer bytes than its block has; the next container starts after the block, as in htslib.
    fn complete_block(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let whole = CramBlock::stored_size(bytes, self.version)?;
        if !self.most.allows(whole as u64) {
            return Err(self.most.refusal("the header of the CRAM file", whole as u64));
        }
        self.append(whole.saturating_sub(bytes.len()), bytes)
    }

    /// Reads a header byte by byte, because its length is not stored.
    fn read_header(&mut self) -> Result<Option<ContainerHeader>> {
        let mut bytes = vec![0; 4];
        match fill(&mut self.input, &mut bytes)? {
            0 => return Ok(None),
            4 => {}
            _ => return Err(cut_short()),
        }
        let mut header = HeaderBytes { input: &mut self.input, bytes };
        let recent = self.version.major >= 3;
        for is_long in [false, false, false, false, recent, true, false] {
            header.number(is_long)?;
        }
        for _ in 0..header.number(false)? {
            header.number(false)?; // a landmark
        }
        header.append(if recent { 4 } else { 0 })?; // its checksum
        let bytes = header.bytes;
        let (header, taken) = ContainerHeader::read(&bytes, self.version)?;
        debug_assert_eq!(taken, bytes.len());
        self.offset += taken as u64;
        Ok(Some(header))
    }

    /// The memory of a container's uncompressed blocks.
    fn sizes(&self, header: &ContainerHeader, bytes: &[u8]) -> Result<Sizes> {
        let (mut cursor, mut sizes) = (ByteCursor(bytes), Sizes::default());
        // (In a container without records, the number of blocks is not always correct.)
        if header.records == 0 {
            return Ok(sizes);
        }
        // htsjdk does not count the headers of the container and of its slices.
        while sizes.blocks < header.blocks || !cursor.0.is_empty() {
            match CramBlock::skip(&mut cursor, self.version) {
                Ok(block) => sizes.add(&block),
                Err(error) if sizes.blocks < header.blocks => return Err(error),
                Err(_) => break, // nothing points there
            }
        }
        Ok(sizes)
    }
}

/// Reads the header of a container number by number, because its length is not stored.
struct HeaderBytes<'a> {
    input: &'a mut Input,
    /// The bytes that were read.
    bytes: Vec<u8>,
}

impl HeaderBytes<'_> {
    /// Reads `n` more bytes.
    fn append(&mut self, n: usize) -> Result<()> {
        let from = self.bytes.len();
        if from + n > MOST_HEADER {
            return Err(damaged("the header of a container has no end"));
        }
        self.bytes.resize(from + n, 0);
        if fill(self.input, &mut self.bytes[from..])? < n { Err(cut_short()) } else { Ok(()) }
    }

    /// Reads a number, in ITF8 or LTF8.
    fn number(&mut self, is_long: bool) -> Result<i64> {
        let from = self.bytes.len();
        self.append(1)?;
        let more = self.bytes[from].leading_ones() as usize;
        self.append(if is_long { more } else { more.min(4) })?;
        let mut cursor = ByteCursor(&self.bytes[from..]);
        if is_long { cursor.ltf8() } else { cursor.itf8().map(i64::from) }
    }
}
