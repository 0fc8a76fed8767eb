//! Opens FASTQ inputs: plain, BGZF, gzip or zstd; files, pipes or streams. The format is detected
//! from the content, never from the name.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use readmill_format::bgzf::{BlockReader, BlockTail};
use readmill_format::gzip::GzipMembers;
use readmill_format::summed::StreamSum;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, ErrorKind, Result, input_file};
use rustix::event::{PollFd, PollFlags, poll};

use crate::gzip::{GzipPoints, GzipScan, GzipTail};
use crate::layout::{FirstRead, parse_first_reads};
use crate::restart::{Restart, RestartPoint};

/// Number of bytes read to detect the format: enough for one BGZF block.
const PEEK_BYTES: usize = 1 << 16;

const READ_SIZE: usize = 256 << 10;

pub type ByteReader = Box<dyn Read + Send>;

/// A FASTQ input that has not been opened. [`Claims::open`](crate::Claims::open) opens it and
/// detects its compression.
pub enum FastqInput {
    /// A regular file, a named pipe, or standard input (`-`).
    Path(PathBuf),
    Stream(PathBuf, ByteReader),
    /// A regular file, read from a point inside, as by a process that aligns one slice of a file.
    From(PathBuf, RestartPoint),
}

impl From<&Path> for FastqInput {
    fn from(path: &Path) -> Self {
        FastqInput::Path(path.to_path_buf())
    }
}

pub(crate) enum TextSource {
    /// A plain text file, readable at any position, and the byte range to read.
    Plain(File, Range<u64>),
    /// BGZF, whose blocks any thread can inflate, and the number of bytes to skip at the start of
    /// its text.
    Blocks(Box<BlockReader<ByteReader>>, usize),
    /// A stream that can only be read sequentially: gzip, zstd, or text from a pipe.
    Stream(ByteStream),
}

pub(crate) struct OpenedInput {
    pub name: PathBuf,
    pub source: TextSource,
    pub meter: Meter,
    pub first: Vec<FirstRead>,
    pub restart: Restart,
}

/// How much of an input has been read, shared by its reader and the progress display.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    read: Arc<AtomicU64>,
    pub sum: StreamSum,
    /// Size of the whole input in bytes; `None` if it is not a regular file.
    pub total: Option<u64>,
    /// Set if the input is BGZF and ends without the empty last block.
    pub lacks_eof: Arc<AtomicBool>,
}

impl Meter {
    fn with_total(total: u64) -> Self {
        Meter { total: Some(total), ..Meter::default() }
    }

    pub fn bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

struct Metered(ByteReader, Meter);

impl Read for Metered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(into)?;
        self.1.read.fetch_add(n as u64, Ordering::Relaxed);
        self.1.sum.add_bytes(&into[..n]);
        Ok(n)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenRules {
    pub allow_missing_eof: bool,
    pub zstd_window_log: u32,
    pub restartable: bool,
}

impl OpenRules {
    /// Configures a BGZF reader to accept what other programs leave at the end of FASTQ: no empty
    /// last block (bcl2fastq), plain gzip members (`cat`), or NUL bytes. Plain members have no
    /// known restart points, so they are refused if the input must be restartable.
    fn configure_blocks<R: Read>(self, reader: BlockReader<R>, meter: &Meter) -> BlockReader<R> {
        let tail = if self.restartable { BlockTail::Nuls } else { BlockTail::Members };
        let reader = reader.with_tail(tail);
        match self.allow_missing_eof {
            true => reader,
            false => reader.with_missing_eof_flag(Arc::clone(&meter.lacks_eof)),
        }
    }

    fn open_zstd<'a, R: BufRead>(self, packed: R) -> io::Result<zstd::stream::read::Decoder<'a, R>> {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
        decoder.window_log_max(self.zstd_window_log)?;
        Ok(decoder)
    }
}

enum InputHandle {
    Regular(File, u64),
    Pipe(File),
    Other(ByteReader),
    From(File, u64, RestartPoint),
}

/// Opens all inputs, then reads the start of each. If several are pipes, they are read together
/// ([`join_pipes`]).
pub(crate) fn open_inputs(inputs: Vec<FastqInput>, packing: OpenRules) -> Result<Vec<OpenedInput>> {
    let handles = inputs.into_iter().map(open_handle).collect::<Result<Vec<_>>>()?;
    let handles = join_pipes(handles);
    handles.into_iter().map(|(name, handle)| open_source(name, handle, packing)).collect()
}

/// Opens the path of an input and determines whether it is a regular file. An empty file is treated
/// as a pipe.
fn open_handle(input: FastqInput) -> Result<(PathBuf, InputHandle)> {
    let path = match input {
        FastqInput::Stream(name, bytes) => return Ok((name, InputHandle::Other(bytes))),
        FastqInput::Path(path) if path.as_os_str() == "-" => {
            let stdin = input_file::open_stdin();
            let stdin = stdin.map_err(|e| Error::io("standard input cannot be read", &e))?;
            return Ok((path, InputHandle::Other(Box::new(stdin))));
        }
        FastqInput::Path(path) | FastqInput::From(path, RestartPoint::Start) => path,
        FastqInput::From(path, point) => {
            let failed = |e| Error::io("cannot be opened", &e).file(&path);
            let file = input_file::open_input(&path).map_err(failed)?;
            let size = file.metadata().map_err(failed)?.len();
            return Ok((path, InputHandle::From(file, size, point)));
        }
    };
    let failed = |e| Error::io("cannot be opened", &e).file(&path);
    let file = input_file::open_input(&path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let handle = match about.len() {
        0 => InputHandle::Pipe(file),
        len if about.is_file() => InputHandle::Regular(file, len),
        _ => InputHandle::Pipe(file),
    };
    Ok((path, handle))
}

fn open_source(name: PathBuf, handle: InputHandle, packing: OpenRules) -> Result<OpenedInput> {
    let (mut bytes, file): (ByteReader, _) = match handle {
        InputHandle::Regular(file, len) => {
            let again = file.try_clone().map_err(|e| Error::io("cannot be opened", &e).file(&name))?;
            (Box::new(file), Some((len, again)))
        }
        InputHandle::Pipe(file) => (Box::new(file), None),
        InputHandle::Other(bytes) => (bytes, None),
        InputHandle::From(file, size, point) => {
            return open_at_point(&name, file, size, point, packing)
                .map_err(|e| Error::io("reading failed", &e).file(&name));
        }
    };
    let mut peek = Vec::new();
    let read = (&mut bytes).take(PEEK_BYTES as u64).read_to_end(&mut peek);
    read.map_err(|e| Error::io("reading failed", &e).file(&name))?;
    let format = TextFormat::detect(&peek).map_err(|error| error.file(&name))?;
    let first = parse_first_reads(&format.decompress_start(&peek, packing));
    let meter = Meter { total: file.as_ref().map(|&(len, _)| len), ..Meter::default() };
    let whole: ByteReader = Box::new(Metered(Box::new(Cursor::new(peek).chain(bytes)), meter.clone()));
    let buffered = |whole| BufReader::with_capacity(READ_SIZE, whole);
    let mut restart = Restart::Nowhere;
    let source = match (format, file) {
        (TextFormat::Text, Some((len, file))) => {
            restart = Restart::Text;
            TextSource::Plain(file, 0..len)
        }
        (TextFormat::Text, None) => TextSource::Stream(ByteStream(whole)),
        (TextFormat::Bgzf, file) => {
            restart = file.map_or(Restart::Nowhere, |_| Restart::Blocks);
            let reader =
                packing.configure_blocks(BlockReader::new(whole, packing.allow_missing_eof), &meter);
            TextSource::Blocks(Box::new(reader), 0)
        }
        (TextFormat::Gzip, Some((_, file))) if packing.restartable => {
            let points = GzipPoints::default();
            restart = Restart::Gzip(Arc::new(file), points.clone());
            TextSource::Stream(ByteStream(Box::new(GzipScan::new(whole, points))))
        }
        (TextFormat::Gzip, _) => {
            TextSource::Stream(ByteStream(Box::new(GzipMembers::new(buffered(whole)))))
        }
        (TextFormat::Zstd, _) => {
            let zstd = packing.open_zstd(buffered(whole));
            let zstd = zstd.map_err(|e| Error::io("reading failed", &e).file(&name))?;
            TextSource::Stream(ByteStream(Box::new(zstd)))
        }
    };
    Ok(OpenedInput { name, source, meter, first, restart })
}

fn open_at_point(
    name: &Path,
    mut file: File,
    size: u64,
    point: RestartPoint,
    packing: OpenRules,
) -> io::Result<OpenedInput> {
    let meter = Meter::with_total(size.saturating_sub(point.stored_bytes()));
    let source = match point {
        RestartPoint::Start => TextSource::Plain(file, 0..size),
        RestartPoint::Text(offset) => TextSource::Plain(file, offset.min(size)..size),
        RestartPoint::Blocks(offset, skipped) => {
            file.seek(SeekFrom::Start(offset))?;
            let stream = Box::new(Metered(Box::new(file), meter.clone()));
            let reader = BlockReader::new(stream as Box<_>, packing.allow_missing_eof);
            let reader = packing.configure_blocks(reader.from_offset(offset), &meter);
            TextSource::Blocks(Box::new(reader), skipped as usize)
        }
        RestartPoint::Gzip(point, skipped) => {
            let mut tail = GzipTail::open(&Arc::new(file), &point)?;
            io::copy(&mut (&mut tail).take(skipped), &mut io::sink())?;
            TextSource::Stream(ByteStream(Box::new(tail)))
        }
    };
    Ok(OpenedInput { name: name.into(), source, meter, first: Vec::new(), restart: Restart::Nowhere })
}

enum TextFormat {
    Text,
    Bgzf,
    Gzip,
    Zstd,
}

impl TextFormat {
    /// Detects the format from the first bytes.
    ///
    /// # Errors
    ///
    /// The data is in an unsupported compression format, or has alignments instead of FASTQ.
    fn detect(peek: &[u8]) -> Result<Self> {
        const DECOMPRESS: &str =
            "decompress the file and pipe the reads to readmill, for example with bzip2 -dc or xz -dc";
        let format = match peek {
            [0x1f, 0x8b, 8, flags, ..] => {
                let mut start = Vec::new();
                // Damage is reported later, when the data is read.
                let text = flate2::read::MultiGzDecoder::new(peek);
                let _ = text.take(PEEK_BYTES as u64).read_to_end(&mut start);
                refuse_reads_of_other_kinds(&start)?;
                if flags & 4 != 0 && has_block_size(peek) { TextFormat::Bgzf } else { TextFormat::Gzip }
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => TextFormat::Zstd,
            [b'B', b'Z', b'h', ..] => {
                return Err(Error::input("this is compressed with bzip2").hint(DECOMPRESS));
            }
            [0xfd, b'7', b'z', b'X', b'Z', ..] => {
                return Err(Error::input("this is compressed with xz").hint(DECOMPRESS));
            }
            _ => TextFormat::Text,
        };
        refuse_reads_of_other_kinds(peek)?;
        Ok(format)
    }

    /// Decompresses the start of a file as far as it is complete, to at most 256 KiB of text.
    fn decompress_start<'a>(&self, peek: &'a [u8], packing: OpenRules) -> Cow<'a, [u8]> {
        let unpacked: Box<dyn Read + 'a> = match self {
            TextFormat::Text => return Cow::Borrowed(peek),
            TextFormat::Bgzf | TextFormat::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(peek)),
            TextFormat::Zstd => match packing.open_zstd(peek) {
                Ok(decoder) => Box::new(decoder),
                Err(_) => return Cow::Borrowed(&[]),
            },
        };
        let mut text = Vec::new();
        // The start may be truncated at any byte. Damage is reported later, when all data is read.
        let _ = unpacked.take(4 * PEEK_BYTES as u64).read_to_end(&mut text);
        Cow::Owned(text)
    }
}

fn refuse_reads_of_other_kinds(start: &[u8]) -> Result<()> {
    const SAY_SO: &str = "if the reads are not aligned, use readmill align --unaligned";
    match other_format(start) {
        Some(kind) => Err(Error::input(format!("this is {kind}, not FASTQ")).hint(SAY_SO)),
        None => Ok(()),
    }
}

fn other_format(start: &[u8]) -> Option<ReadsFormat> {
    ReadsFormat::recognize(start).filter(|format| *format != ReadsFormat::Fastq)
}

/// Returns whether the path is a regular file in SAM, BAM or CRAM format. The command line treats
/// such files as unaligned reads.
pub fn holds_records(path: &Path) -> bool {
    read_start(path).is_some_and(|start| other_format(&start).is_some())
}

/// Returns whether the path is a regular file that starts like FASTQ, plain or compressed. If it is
/// empty or has only blank lines, its name decides.
pub fn holds_fastq(path: &Path) -> bool {
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd]; // no other format of reads is compressed by zstd
    let begins_so = |start: Vec<u8>| match start.iter().all(u8::is_ascii_whitespace) {
        _ if start.starts_with(ZSTD) => true,
        true => has_fastq_name(path),
        false => ReadsFormat::recognize(&start) == Some(ReadsFormat::Fastq),
    };
    read_start(path).is_some_and(begins_so)
}

/// Returns whether the name ends with `.fastq` or `.fq`, optionally followed by `.gz` or `.zst`, in
/// any case.
fn has_fastq_name(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    [".fastq", ".fq"].iter().any(|end| name.ends_with(end))
}

/// Returns the first bytes of a regular file, decompressed if it is gzip. `None` for a pipe, whose
/// bytes could not be read again, and for a file that cannot be opened.
fn read_start(path: &Path) -> Option<Vec<u8>> {
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let file = is_file.then(|| File::open(path))?.ok()?;
    let mut peek = Vec::new();
    let _ = file.take(PEEK_BYTES as u64).read_to_end(&mut peek); // the real reader reports errors
    let mut start = Vec::new();
    if peek.starts_with(&[0x1f, 0x8b]) {
        // The start may be truncated at any byte, and the first BGZF block can be empty.
        let text = flate2::read::MultiGzDecoder::new(&peek[..]);
        let _ = text.take(PEEK_BYTES as u64).read_to_end(&mut start);
        peek = start;
    }
    Some(peek)
}

/// Returns whether the gzip header has the extra field of BGZF (SAM specification, section 4.1).
fn has_block_size(member: &[u8]) -> bool {
    let Some(&[low, high]) = member.get(10..12) else { return false };
    let length = usize::from(u16::from_le_bytes([low, high]));
    let mut extra = member.get(12..12 + length).unwrap_or_default();
    while let [a, b, low, high, rest @ ..] = extra {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        if (*a, *b, length) == (b'B', b'C', 2) {
            return true;
        }
        extra = rest.get(length..).unwrap_or_default();
    }
    false
}

pub(crate) struct ByteStream(ByteReader);

impl ByteStream {
    /// Reads text until `into` is full or the text ends. Returns the number of bytes, and the error
    /// that follows them, if any.
    pub fn fill(&mut self, into: &mut [u8]) -> (usize, Option<Error>) {
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return (filled, Some(explain_read_error(&e))),
            }
        }
        (filled, None)
    }
}

const TOO_LARGE_WINDOW: &str = "requires too much memory";

/// Converts a read error to one that says what to do. Errors with an error number come from the
/// operating system, all others from a decoder that found damage.
fn explain_read_error(error: &io::Error) -> Error {
    const GET_AGAIN: &str = "download or create the file again";
    if error.raw_os_error().is_some() {
        return Error::io("reading failed", error);
    }
    if error.to_string().contains(TOO_LARGE_WINDOW) {
        return Error::usage("zstd needs more memory than is available to decompress the file")
            .hint("raise -m, or compress the file again without --long and --ultra");
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::input("the compressed data ends early: the file is truncated").hint(GET_AGAIN)
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            Error::input(format!("the compressed data is damaged: {error}")).hint(GET_AGAIN)
        }
        _ => Error { kind: ErrorKind::Io, ..Error::io("reading failed", error) },
    }
}

const PIPE_READ_SIZE: usize = 64 << 10;

/// Maximum number of bytes buffered for each pipe. A writer that is further ahead with one pipe has
/// to wait; if it is that far ahead with two pipes alternately, it waits forever.
const MAX_BUFFERED: usize = 64 << 20;

/// If there are several pipes, replaces them with streams that are read together
/// ([`join_pipes_for_reading`]).
fn join_pipes(handles: Vec<(PathBuf, InputHandle)>) -> Vec<(PathBuf, InputHandle)> {
    let is_pipe = |(_, handle): &&(PathBuf, InputHandle)| matches!(handle, InputHandle::Pipe(_));
    if handles.iter().filter(is_pipe).count() < 2 {
        return handles;
    }
    let mut files = Vec::new();
    let others: Vec<_> = handles
        .into_iter()
        .map(|(name, handle)| match handle {
            InputHandle::Pipe(file) => {
                files.push(file);
                (name, None)
            }
            other => (name, Some(other)),
        })
        .collect();
    let mut joined = join_pipes_for_reading(files);
    let mut next = |other: Option<InputHandle>| {
        other.or_else(|| joined.next().map(|twin| InputHandle::Other(Box::new(twin))))
    };
    others.into_iter().filter_map(|(name, other)| Some((name, next(other)?))).collect()
}

struct Pipe {
    file: File,
    buffered: Vec<u8>,
    at: usize,
    has_ended: bool,
}

pub(crate) struct JoinedPipe {
    pipes: Arc<Mutex<Vec<Pipe>>>,
    which: usize,
}

/// Creates streams from pipes that one program fills alternately. They can be read in any order and
/// at any pace.
///
/// Such a program blocks as soon as one of its pipes is full, and a batch of reads is larger than a
/// pipe. So while a reader waits for one pipe, the data of the others is buffered.
pub(crate) fn join_pipes_for_reading(files: Vec<File>) -> impl Iterator<Item = JoinedPipe> {
    let count = files.len();
    let pipe = |file| Pipe { file, buffered: Vec::new(), at: 0, has_ended: false };
    let pipes = Arc::new(Mutex::new(files.into_iter().map(pipe).collect::<Vec<_>>()));
    (0..count).map(move |which| JoinedPipe { pipes: Arc::clone(&pipes), which })
}

impl Read for JoinedPipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        while pipes[self.which].buffered.is_empty() {
            let ready = wait_until_readable(&pipes, self.which)?;
            if ready.contains(&self.which) {
                return pipes[self.which].file.read(into);
            }
            for other in ready {
                pipes[other].fill_buffer()?;
            }
        }
        let own = &mut pipes[self.which];
        let rest = &own.buffered[own.at..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        own.at += n;
        if own.at == own.buffered.len() {
            own.buffered.clear();
            own.at = 0;
        }
        Ok(n)
    }
}

impl Pipe {
    fn has_room(&self) -> bool {
        !self.has_ended && self.buffered.len() < MAX_BUFFERED
    }

    /// Moves the available data to the buffer, or notes the end of the pipe.
    fn fill_buffer(&mut self) -> io::Result<()> {
        let filled = self.buffered.len();
        self.buffered.resize(filled + PIPE_READ_SIZE, 0);
        let read = self.file.read(&mut self.buffered[filled..]);
        self.buffered.truncate(filled + *read.as_ref().unwrap_or(&0));
        self.has_ended = read? == 0;
        Ok(())
    }
}

/// Waits until pipe `own`, or another pipe whose buffer has room, is readable. Returns the indexes
/// of the readable pipes.
fn wait_until_readable(pipes: &[Pipe], own: usize) -> io::Result<Vec<usize>> {
    let looked_at: Vec<usize> =
        (0..pipes.len()).filter(|&which| which == own || pipes[which].has_room()).collect();
    let mut polled: Vec<_> =
        looked_at.iter().map(|&which| PollFd::new(&pipes[which].file, PollFlags::IN)).collect();
    loop {
        match poll(&mut polled, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let is_ready = |(_, fd): &(usize, &PollFd<'_>)| !fd.revents().is_empty();
    Ok(looked_at.into_iter().zip(&polled).filter(is_ready).map(|(which, _)| which).collect())
}
