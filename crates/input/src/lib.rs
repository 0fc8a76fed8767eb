//! A file of reads in BAM, SAM or CRAM format: its header, then chunks that threads open in
//! parallel.
//!
//! The format is detected from the content, never from the name.
//!
//! ```text
//! file ─► Source::claim ─► Claim ─► Opener::open ─► OpenedChunk, raw BAM records
//!          serial, cheap             one for each thread
//! ```
//!
//! Claiming reads bytes and finds chunk boundaries; the threads do the inflating, decoding and
//! parsing.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod claim;
mod joints;
pub mod regions;
mod selection;
mod signature;

use std::io::{BufReader, Cursor, Read};
use std::sync::Arc;

use readmill_cram as cram;
use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::{BlockReader, BlockTail, Chunk, InflateReader, Inflater, block_reader};
use readmill_format::chain::OpenedChunk;
use readmill_format::gzip::GzipMembers;
use readmill_format::sam::LineParser;
use readmill_record::header::text::{BYTE_ORDER_MARK, ReadsFormat, belongs_to_header};
use readmill_record::{Charge, Detail, Error, Header, Limit, Result, make_room};

pub use claim::{Claim, OpenOptions};
use claim::{TEXT_BLOCKS_PER_CHUNK, TEXT_CHUNK_BYTES, is_long_text, max_text_bam_bytes};
pub use joints::ConcatenationCheck;
use regions::{BgzfRegions, CramRegions, IndexedInput, RegionReader, RequestedRegions};
pub use selection::ContainerSelection;
use signature::inflated_start;
pub use signature::{check_file_ending, check_file_ends};

const PEEK_BYTES: usize = 1 << 16;

/// Free bytes at the end of a buffer, so that the read that detects the end of the input does not
/// make it grow.
const PROBE_BYTES: usize = 32;

type Input = Box<dyn Read + Send>;

/// The text of SAM: plain, unpacked from gzip, or in BGZF blocks.
enum SamText {
    Plain(Input),
    Blocks(Box<InflateReader<Input>>),
}

enum InputFormat {
    Bam { blocks: BlockReader<Input>, rest: Vec<u8>, joints: ConcatenationCheck },
    Sam { text: SamText, rest: Vec<u8>, ended: bool, max_line: Limit, long: Charge },
    Cram(Box<cram::Reader>),
    Regions(RegionReader),
}

/// An input that is being read.
///
/// [`open`](Self::open) reads the header. Then [`claim`](Self::claim), which is serial and cheap,
/// returns one [`Claim`] after another, and an [`Opener`] turns a claim into records on any thread.
/// [`select_regions`](Self::select_regions) limits the claims to regions of an indexed file.
///
/// ```
/// use std::io::Cursor;
///
/// use readmill_format::{bgzf::Chunk, chain::OpenedChunk};
/// use readmill_input::{OpenOptions, Opener, Source};
/// use readmill_record::Batch;
///
/// # fn main() -> readmill_record::Result<()> {
/// let sam = "@SQ\tSN:chr1\tLN:1000\nr1\t0\tchr1\t7\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
/// let mut source = Source::open(Box::new(Cursor::new(sam)), &OpenOptions::default())?;
/// let mut opener = Opener::new(source.header(), source.setup().as_ref());
///
/// let claim = source.claim(Chunk::default())?.expect("there is a record");
/// let mut opened = OpenedChunk::reuse(Batch::default());
/// let reuse = opener.open(claim, &mut opened)?;
/// assert!(source.claim(reuse)?.is_none());
/// assert_eq!(opened.into_batch()?.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Source {
    header: Header,
    kind: InputFormat,
    setup: Option<Arc<cram::Setup>>,
}

/// Maximum size of the records in a BAM claim, in bytes. Memory plans are based on it.
pub const MAX_CLAIM_BYTES: usize = block_reader::MAX_CHUNK_BYTES;

#[derive(Default)]
struct HeaderEnd {
    at: usize,
    lines: u64,
}

impl HeaderEnd {
    /// Continues in `text`, whose lines are complete up to `limit`. Returns whether the end of the
    /// header was found.
    ///
    /// # Errors
    /// A line looks like both a header line and a record.
    fn advance(&mut self, text: &[u8], limit: usize) -> Result<bool> {
        if self.at == 0 && text.starts_with(BYTE_ORDER_MARK) {
            self.at = BYTE_ORDER_MARK.len();
        }
        while self.at < limit {
            let line = &text[self.at..limit];
            let line = &line[..memchr::memchr(b'\n', line).map_or(line.len(), |n| n + 1)];
            if !belongs_to_header(line, self.lines + 1)? {
                return Ok(true);
            }
            self.at += line.len();
            self.lines += 1;
        }
        // A line that starts with any other character ends the header, even if the line is
        // incomplete.
        Ok(text.get(self.at).is_some_and(|&byte| !b"@\r\n".contains(&byte)))
    }
}

/// Makes room for `more` bytes of a header. Its length is not known yet, so the shortage error asks
/// for twice the present size.
fn reserve_header(text: &mut Vec<u8>, more: usize, charge: &mut Charge) -> Result<()> {
    make_room(text, more, charge)
        .map_err(|_| charge.ledger().shortage_error("headers", text.len().max(more) as u64))
}

impl Source {
    /// Opens `input`, detects its format and reads its header.
    ///
    /// # Errors
    /// The input is empty or none of BAM, SAM and CRAM, or its header is damaged or does not fit in
    /// memory.
    pub fn open(mut input: Input, options: &OpenOptions) -> Result<Self> {
        let mut peek = Vec::new();
        let read = (&mut input).take(PEEK_BYTES as u64).read_to_end(&mut peek);
        read.map_err(|e| Error::io("reading failed", &e))?;
        if peek.is_empty() {
            return Err(Error::input("the file is empty").hint("a valid file has at least a header; if the input is a pipe, check the program that writes to it"));
        }
        let whole: Input = Box::new(Cursor::new(peek.clone()).chain(input));
        if peek.starts_with(cram::MAGIC) {
            return Self::open_cram(whole, options);
        }
        if peek.starts_with(bam_header::MAGIC) {
            return Err(Error::input("this is BAM without BGZF compression")
                .hint("compress the file with bgzip or samtools view -b"));
        }
        if !peek.starts_with(&[0x1f, 0x8b]) {
            return Self::open_sam(SamText::Plain(whole), Vec::new(), options);
        }
        let is_bam = inflated_start(&peek).starts_with(bam_header::MAGIC);
        if peek.get(3).is_none_or(|flags| flags & 4 == 0) {
            if is_bam {
                return Err(Error::input(
                    "this is BAM compressed with gzip, but BAM must be compressed with BGZF",
                )
                .hint("compress the file again: gzip -dc FILE | bgzip > NEW.bam"));
            }
            let text: Input = Box::new(GzipMembers::new(BufReader::new(whole)));
            return Self::open_sam(SamText::Plain(text), Vec::new(), options);
        }
        let tail = if is_bam { BlockTail::Nothing } else { BlockTail::Members };
        Self::open_bgzf(BlockReader::new(whole, options.allow_missing_eof).with_tail(tail), options)
    }

    /// Returns the memory in bytes for opening a file whose header is known, for example when a
    /// file is reopened.
    pub fn opening_bytes(header: &Header) -> u64 {
        bam_header::header_bytes(header) / 2 * 3 + MAX_CLAIM_BYTES as u64 + header.heap_bytes()
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the size of BAM records per byte of input so far, to estimate the records in the
    /// rest; `None` for SAM and CRAM.
    pub fn expansion_ratio(&self) -> Option<f64> {
        match &self.kind {
            InputFormat::Bam { blocks, .. } => {
                let (compressed, inflated) = blocks.offset_and_inflated_bytes();
                Some(inflated as f64 / compressed.max(1) as f64)
            }
            InputFormat::Sam { .. } | InputFormat::Cram(_) | InputFormat::Regions(_) => None,
        }
    }

    /// Limits the memory of later CRAM containers, including their records, to `max_container`. A larger
    /// container is an error. No effect on other formats.
    pub fn limit_containers(&mut self, max_container: Limit) {
        match &mut self.kind {
            InputFormat::Cram(reader) => reader.limit_containers(max_container),
            InputFormat::Regions(reader) => reader.limit_containers(max_container),
            InputFormat::Bam { .. } | InputFormat::Sam { .. } => {}
        }
    }

    /// Limits later claims to these regions of the file. No effect if the regions are the whole
    /// file.
    ///
    /// # Errors
    /// The file has no matching index, or the index belongs to a different file or does not fit in
    /// memory.
    pub fn select_regions(
        self,
        input: &IndexedInput<'_>,
        regions: RequestedRegions,
        options: &OpenOptions,
    ) -> Result<Self> {
        let Source { header, kind, setup } = self;
        let kind = match kind {
            InputFormat::Cram(reader) => {
                match CramRegions::open(input, &header, *reader, regions, options)? {
                    Ok(regions) => InputFormat::Regions(RegionReader::Cram(Box::new(regions))),
                    Err(whole) => InputFormat::Cram(Box::new(whole)),
                }
            }
            kind => {
                let is_bam = matches!(kind, InputFormat::Bam { .. });
                match BgzfRegions::open(input, &header, is_bam, regions, options)? {
                    Some(regions) => InputFormat::Regions(RegionReader::Bgzf(Box::new(regions))),
                    None => kind,
                }
            }
        };
        Ok(Source { header, kind, setup })
    }

    pub fn region_bytes(&self) -> Option<u64> {
        match &self.kind {
            InputFormat::Regions(reader) => Some(reader.expected_bytes()),
            _ => None,
        }
    }

    pub fn setup(&self) -> Option<Arc<cram::Setup>> {
        self.setup.clone()
    }

    fn open_cram(input: Input, options: &OpenOptions) -> Result<Self> {
        let ledger = &options.ledger;
        let open = if options.header_as_is { cram::Reader::open_as_is } else { cram::Reader::open };
        let mut reader = open(input, options.allow_missing_eof, options.max_container, ledger)?;
        let header = reader.header().clone();
        let reference = options.reference.as_ref().map(|fasta| fasta.open(ledger)).transpose()?;
        let references = cram::References::new(&header, reference.as_ref(), &options.cache, ledger)?;
        let setup = cram::Setup::new(reader.version(), &header, references, &options.name)?;
        reader.set_implied_bytes(setup.max_implied_bytes());
        Ok(Source { header, kind: InputFormat::Cram(Box::new(reader)), setup: Some(Arc::new(setup)) })
    }

    fn open_bgzf(mut blocks: BlockReader<Input>, options: &OpenOptions) -> Result<Self> {
        blocks.limit_chunks(options.header_alone.then_some(1));
        let (mut bytes, mut chunk, mut inflater) = (Vec::new(), Chunk::default(), Inflater::default());
        let (mut outline, mut charge) =
            (bam_header::HeaderOutline::default(), options.ledger.empty_charge("headers"));
        let (mut ended, mut joints) = (false, ConcatenationCheck::default());
        loop {
            if !bytes.is_empty() && !bytes.starts_with(&bam_header::MAGIC[..bytes.len().min(4)]) {
                drop(charge);
                blocks.limit_chunks(Some(TEXT_BLOCKS_PER_CHUNK));
                let text = SamText::Blocks(Box::new(InflateReader::new(blocks)));
                return Self::open_sam(text, bytes, options);
            }
            if bytes.len() >= bam_header::MAGIC.len() && outline.is_complete(&bytes)? {
                let (header, taken) = match options.header_as_is {
                    true => outline.parse_header_as_is(&bytes, &options.ledger)?,
                    false => outline.parse_header(&bytes, &options.ledger)?,
                };
                let rest = bytes.split_off(taken);
                blocks.limit_chunks(None);
                return Ok(Source {
                    header,
                    kind: InputFormat::Bam { blocks, rest, joints },
                    setup: None,
                });
            }
            if ended {
                return Err(Error::input("the file ends inside its header")
                    .hint("download or create the file again"));
            }
            ended = !blocks.next_chunk(&mut chunk)?;
            if !ended {
                joints.check_blocks(&chunk)?;
                reserve_header(&mut bytes, chunk.inflated, &mut charge)?;
                inflater.append_chunk(&chunk, &mut bytes)?;
            }
        }
    }

    fn open_sam(mut text: SamText, mut rest: Vec<u8>, options: &OpenOptions) -> Result<Self> {
        let mut charge = options.ledger.charge("headers", rest.capacity() as u64)?;
        let (mut ended, mut searched, mut end) = (false, 0, HeaderEnd::default());
        let mut complete = 0;
        loop {
            complete =
                memchr::memrchr(b'\n', &rest[searched..]).map_or(complete, |at| searched + at + 1);
            searched = rest.len();
            if end.advance(&rest, if ended { rest.len() } else { complete })? || ended {
                break;
            }
            reserve_header(&mut rest, TEXT_CHUNK_BYTES, &mut charge)?;
            ended = fill_text(&mut text, &mut rest, TEXT_CHUNK_BYTES)?;
        }
        let end = end.at;
        let marked = rest.starts_with(BYTE_ORDER_MARK);
        let start = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        if ReadsFormat::recognize(&rest) == Some(ReadsFormat::Fastq) {
            return Err(signature::not_reads_error(&rest[start..]));
        }
        let mut lines = rest[end..].split(|&b| b == b'\n');
        let first = lines.next().unwrap_or_default();
        let expected = if ended || lines.next().is_some() { 11 } else { 6 }; // the line may be cut
        if !first.is_empty() && first.split(|&b| b == b'\t').count() < expected {
            return Err(signature::not_reads_error(&rest[start..]));
        }
        let header = &rest[start.min(end)..end];
        let mut header = match options.header_as_is {
            true => Header::parse_within(header, &options.ledger)?,
            false => Header::parse_and_mend(header, &options.ledger)?,
        };
        if marked {
            header.add_note("removed the byte order mark at the start of the file");
        }
        let rest = rest.split_off(end);
        let (max_line, long) = (options.max_line, options.ledger.empty_charge("a long line of SAM"));
        Ok(Source { header, kind: InputFormat::Sam { text, rest, ended, max_line, long }, setup: None })
    }

    /// Returns the next part of the input; `None` at the end. `reuse` is returned by
    /// [`Opener::open`]; its memory is reused.
    ///
    /// # Errors
    /// The input cannot be read or is damaged. After a memory shortage for a long line
    /// ([`Error::is_shortage`]), the next call continues with that line.
    pub fn claim(&mut self, reuse: Chunk) -> Result<Option<Claim>> {
        match &mut self.kind {
            InputFormat::Bam { rest, .. } if !rest.is_empty() => {
                let all = std::mem::take(rest);
                let cut = all.len().min(MAX_CLAIM_BYTES);
                let mut piece = all;
                *rest = piece.split_off(cut);
                Ok(Some(Claim::Bytes(piece)))
            }
            InputFormat::Bam { blocks, joints, .. } => {
                let mut chunk = reuse;
                let any = blocks.next_chunk(&mut chunk)?;
                joints.check_blocks(&chunk)?;
                Ok(any.then_some(Claim::Blocks(chunk)))
            }
            InputFormat::Regions(reader) => reader.claim(reuse),
            InputFormat::Cram(reader) => {
                let container = reader.claim(reuse.compressed)?;
                Ok(container.map(|container| Claim::Container(Box::new(container), None)))
            }
            InputFormat::Sam { text, rest, ended, max_line, long } => {
                let mut searched = 0;
                if rest.len() <= TEXT_CHUNK_BYTES {
                    long.resize(0); // a longer text is a line for which memory was short
                }
                loop {
                    if !*ended && rest.len() < TEXT_CHUNK_BYTES {
                        rest.reserve_exact(TEXT_CHUNK_BYTES + PROBE_BYTES - rest.len()); // rather than by doubling
                        *ended = fill_text(text, rest, TEXT_CHUNK_BYTES - rest.len())?;
                    }
                    let whole =
                        memchr::memrchr(b'\n', &rest[searched..]).map_or(0, |at| searched + at + 1);
                    let cut = if *ended { rest.len() } else { whole };
                    if cut > 0 || *ended {
                        let mut tail = reuse.compressed;
                        tail.clear();
                        tail.reserve_exact(rest.len() - cut);
                        tail.extend_from_slice(&rest[cut..]);
                        rest.truncate(cut);
                        let mut lines = std::mem::replace(rest, tail);
                        if is_long_text(&lines) {
                            lines.shrink_to_fit();
                        }
                        return Ok((!lines.is_empty()).then_some(Claim::Text(lines)));
                    }
                    if !max_line.allows(rest.len() as u64) {
                        return Err(max_line.limit_error("a line", skip_line(text, rest)?));
                    }
                    searched = rest.len();
                    // The line is longer than a chunk. The thread that opens it will charge it
                    // itself.
                    let more = rest.len() as u64; // the present length again, for each batch in flight
                    make_room(rest, TEXT_CHUNK_BYTES + PROBE_BYTES, long)
                        .map_err(|error| error.hint(max_line.memory_hint(more)).as_retryable())?;
                    *ended = fill_text(text, rest, TEXT_CHUNK_BYTES)?;
                }
            }
        }
    }
}

/// Reads the rest of a line that starts with `start`, without keeping it. Returns the length of the
/// line for the error message.
fn skip_line(text: &mut SamText, start: &mut Vec<u8>) -> Result<u64> {
    let mut length = start.len() as u64;
    loop {
        start.clear();
        let ended = fill_text(text, start, TEXT_CHUNK_BYTES)?;
        if let Some(end) = memchr::memchr(b'\n', start) {
            return Ok(length + end as u64);
        }
        length += start.len() as u64;
        if ended {
            return Ok(length);
        }
    }
}

fn fill_text(text: &mut SamText, into: &mut Vec<u8>, n: usize) -> Result<bool> {
    let input = match text {
        SamText::Plain(input) => input,
        SamText::Blocks(blocks) => return Ok(blocks.append(n, into)? < n),
    };
    let got = input.take(n as u64).read_to_end(into).map_err(|e| match e.get_ref() {
        Some(inner) if inner.is::<Error>() => {
            inner.downcast_ref::<Error>().cloned().unwrap_or_else(|| Error::io("reading failed", &e))
        }
        _ if matches!(
            e.kind(),
            std::io::ErrorKind::UnexpectedEof
                | std::io::ErrorKind::InvalidInput
                | std::io::ErrorKind::InvalidData
        ) =>
        {
            Error::input(format!("the gzip data is damaged or truncated ({e})"))
        }
        _ => Error::io("reading failed", &e),
    })?;
    Ok(got < n)
}

/// Turns claims into records. Each thread has its own, which keeps the state for inflating, parsing
/// and decoding.
pub struct Opener {
    inflater: Inflater,
    lines: LineParser,
    n_ref: i32,
    cram: Option<Box<cram::Decoder>>,
    detail: Detail,
}

impl Opener {
    /// Returns an opener for inputs with this header. CRAM needs the [`Source::setup`] of the
    /// input.
    pub fn new(header: &Header, setup: Option<&Arc<cram::Setup>>) -> Self {
        let cram = setup.map(|setup| Box::new(cram::Decoder::new(Arc::clone(setup))));
        let (inflater, lines) = (Inflater::default(), LineParser::new(header));
        Opener { inflater, lines, n_ref: header.n_ref(), cram, detail: Detail::Whole }
    }

    /// Sets how much of each CRAM or SAM record is decoded from now on ([`cram::Decoder::open`],
    /// [`LineParser::set_detail`]). BAM records are always complete.
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
        self.lines.set_detail(detail);
    }

    /// Turns a claim into records in `opened`. Returns the memory of the claim for the next one. An
    /// error in SAM or CRAM records is stored in `opened`, after the records before it.
    ///
    /// # Errors
    /// The blocks of a BAM file are damaged.
    pub fn open(&mut self, claim: Claim, opened: &mut OpenedChunk) -> Result<Chunk> {
        match claim {
            Claim::Blocks(chunk) => {
                opened.inflate_chunk(&mut self.inflater, &chunk)?;
                opened.guess_first_record(self.n_ref);
                Ok(chunk)
            }
            Claim::Bytes(mut bytes) => {
                std::mem::swap(opened.bytes_mut(), &mut bytes);
                opened.guess_first_record(self.n_ref);
                Ok(Chunk { compressed: bytes, ..Chunk::default() })
            }
            Claim::Text(text) => {
                self.parse_lines(&text, opened);
                Ok(Chunk { compressed: text, ..Chunk::default() })
            }
            Claim::Container(container, wanted) => {
                let decoder = self.cram.as_mut();
                let decoder = decoder.ok_or_else(|| Error::bug("there is no decoder for CRAM"))?;
                let min_detail = if wanted.is_some() { Detail::Places } else { Detail::Flags };
                let stop = wanted.as_ref().and_then(|wanted| wanted.decode_stop());
                let options = cram::DecodeOptions { detail: self.detail.max(min_detail), stop };
                decoder.open(&container, options, opened);
                if let Some(wanted) = wanted {
                    opened.retain(|record| wanted.is_wanted(record));
                }
                Ok(Chunk { compressed: container.into_bytes(), ..Chunk::default() })
            }
        }
    }

    fn parse_lines(&mut self, text: &[u8], opened: &mut OpenedChunk) {
        if is_long_text(text) {
            opened.bytes_mut().reserve_exact(max_text_bam_bytes(text)); // rather than by doubling
        }
        let without_nul = memchr::memchr(0, text).is_none();
        let mut rest = text;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            if line.is_empty() {
                continue;
            }
            let start = opened.bytes_mut().len();
            match self.lines.parse_line(line, without_nul, opened.bytes_mut()) {
                Ok(()) => opened.push_record(start),
                Err(error) => return opened.set_fault(error),
            }
        }
    }
}
