//! Reads text files line by line: plain, gzip or BGZF, detected from the contents.

use std::io::{BufReader, Cursor, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use readmill_record::{Charge, Error, Ledger, Result, input_file, make_room};

use crate::bgzf::{BlockReader, BlockTail, InflateReader};
use crate::gzip::GzipMembers;
use crate::summed::{StreamSum, SummedReader};

const READ_SIZE: usize = 256 << 10;

/// Maximum length of a line in bytes. A VCF with a hundred thousand samples has lines of several
/// megabytes.
const MAX_LINE_BYTES: usize = 256 << 20;

/// Maximum memory of a BGZF chunk in bytes, compressed and inflated. Both buffers may have grown by
/// doubling.
pub(crate) const MAX_BGZF_BYTES: usize = 4 * crate::bgzf::block_reader::MAX_CHUNK_BYTES;

const GZIP_BYTES: usize = 96 << 10;

/// An open input whose bytes are inflated while they are read, with the charge for its buffers.
pub struct TextInput {
    from: Box<dyn Read + Send>,
    charge: Charge,
}

impl TextInput {
    /// Returns an uncompressed input. Memory that reading needs later is charged to `ledger`.
    pub fn from_plain(from: impl Read + Send + 'static, ledger: &Ledger) -> Self {
        TextInput { from: Box::new(from), charge: ledger.empty_charge(LEDGER_NAME) }
    }

    pub fn ledger(&self) -> &Ledger {
        self.charge.ledger()
    }

    /// Returns whether the bytes are read as they are stored, so that inflating takes no memory.
    fn is_plain(&self) -> bool {
        self.charge.bytes() == 0
    }

    #[must_use]
    pub fn with_start(self, start: Vec<u8>) -> Self {
        TextInput { from: Box::new(Cursor::new(start).chain(self.from)), charge: self.charge }
    }

    /// Fills `into`. Returns the number of bytes read, which is smaller only at the end of the
    /// input.
    pub fn fill_buffer(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let mut n = 0;
        while n < into.len() {
            match self.from.read(&mut into[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(n)
    }

    /// Appends the next `n` bytes to `bytes`, or fewer at the end of the input, and pays for them
    /// with `charge`. Memory is charged as bytes arrive, so a wrong `n` in a damaged file uses no
    /// memory.
    ///
    /// # Errors
    /// Fails if reading fails, or the memory is not available. The error does not name the file.
    pub fn append_bytes(&mut self, n: u64, bytes: &mut Vec<u8>, charge: &mut Charge) -> Result<u64> {
        let mut read = 0;
        while read < n {
            let now = (READ_SIZE as u64).min(n - read) as usize;
            make_room(bytes, now, charge)?;
            let from = bytes.len();
            bytes.resize(from + now, 0);
            let got = self.fill_buffer(&mut bytes[from..]).map_err(|e| unnamed_read_error(&e))?;
            bytes.truncate(from + got);
            read += got as u64;
            if got < now {
                break;
            }
        }
        Ok(read)
    }
}

impl Read for TextInput {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.from.read(into)
    }
}

/// Opens a file, which is inflated while it is read if it is compressed. Its buffers are charged to
/// `ledger`.
pub fn open_inflated(path: &Path, ledger: &Ledger) -> Result<TextInput> {
    open_inflated_summed(path, ledger, None)
}

/// Opens a file as [`open_inflated`] does, and adds its bytes, as they are stored, to `sum` as they are
/// read.
pub fn open_inflated_summed(path: &Path, ledger: &Ledger, sum: Option<StreamSum>) -> Result<TextInput> {
    let opening = |e| {
        let error = Error::io("cannot be opened", &e).file(path);
        // Some tools accept file names separated by commas, so users try this.
        let parts = path.to_str().into_iter().flat_map(|name| name.split(','));
        if parts.clone().count() > 1 && parts.clone().all(|part| Path::new(part).is_file()) {
            return error.hint("repeat the flag for each of these files");
        }
        error
    };
    let file = input_file::open_input(path).map_err(opening)?;
    let opened = match sum {
        Some(sum) => inflating_reader(SummedReader(file, sum)),
        None => inflating_reader(file),
    };
    let (from, bytes) = opened.map_err(opening)?;
    let charge = ledger.charge(LEDGER_NAME, bytes as u64).map_err(|e| e.file(path))?;
    Ok(TextInput { from, charge })
}

type Inflated<'a> = (Box<dyn Read + Send + 'a>, usize);

/// Detects the compression of `packed` from its first bytes. Returns a reader of the inflated
/// bytes, and the reader's memory in bytes.
///
/// # Errors
/// Fails if the first bytes cannot be read.
pub fn inflating_reader<'a>(mut packed: impl Read + Send + 'a) -> std::io::Result<Inflated<'a>> {
    let mut start = Vec::new();
    (&mut packed).take(18).read_to_end(&mut start)?;
    let (gzip, bgzf) = (start.starts_with(&[0x1f, 0x8b]), is_bgzf(&start));
    let whole = Cursor::new(start).chain(packed);
    Ok(match (gzip, bgzf) {
        (_, true) => {
            let blocks = BlockReader::new(whole, false).with_tail(BlockTail::Members);
            (Box::new(InflateReader::new(blocks)), MAX_BGZF_BYTES)
        }
        (true, _) => (Box::new(GzipMembers::new(BufReader::new(whole))), GZIP_BYTES),
        (false, _) => (Box::new(whole), 0),
    })
}

/// Reads a whole file, inflating it if it is compressed, and pays for its bytes with `charge`.
///
/// The memory for a plain file is taken at once. A list that grew by doubling would leave its
/// smaller blocks with the allocator, which may keep them although nobody pays for them.
pub fn read_all(path: &Path, charge: &mut Charge) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut input = open_inflated(path, charge.ledger())?;
    let plain = std::fs::metadata(path).ok().filter(|file| file.is_file() && input.is_plain());
    if let Some(length) = plain.and_then(|file| usize::try_from(file.len()).ok()) {
        make_room(&mut bytes, length.saturating_add(READ_SIZE), charge).map_err(|e| e.file(path))?;
    }
    input.append_bytes(u64::MAX, &mut bytes, charge).map_err(|e| e.file(path))?;
    Ok(bytes)
}

/// Returns whether a file with these first bytes is BGZF: gzip whose first extra field is `BC` (SAM
/// specification, section 4.1).
pub fn is_bgzf(start: &[u8]) -> bool {
    start.len() >= 14 && start[..3] == [0x1f, 0x8b, 8] && start[3] & 4 != 0 && start[12..14] == *b"BC"
}

pub fn read_error(error: &std::io::Error, path: &Path) -> Error {
    unnamed_read_error(error).file(path)
}

pub(crate) fn unnamed_read_error(error: &std::io::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).cloned();
    let ours =
        ours.map(|ours| ours.hint("the file is truncated or damaged: download or create it again"));
    ours.unwrap_or_else(|| match error.kind() {
        UnexpectedEof | InvalidInput | InvalidData => {
            Error::input(format!("the gzip data is damaged or truncated ({error})"))
                .hint("download or create the file again")
        }
        _ => Error::io("reading failed", error),
    })
}

const LEDGER_NAME: &str = "files being read";

/// Reads a text file line by line. Lines end in LF or CRLF; the last line may lack its line end.
///
/// ```
/// use readmill_format::text::{LineReader, TextInput};
/// use readmill_record::Ledger;
///
/// let text: &[u8] = b"chr1\t5\r\nchr2\t7";
/// let input = TextInput::from_plain(text, &Ledger::unlimited());
/// let mut lines = LineReader::new("a.bed".as_ref(), input);
/// assert!(lines.advance_line()?);
/// assert_eq!(lines.line(), b"chr1\t5");
/// assert!(lines.advance_line()?);
/// assert_eq!(lines.line_error("no end").to_string().matches("line 2").count(), 1);
/// assert!(!lines.advance_line()?);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct LineReader {
    path: PathBuf,
    input: TextInput,
    bytes: Vec<u8>,
    line: Range<usize>,
    at: usize,
    number: u64,
    has_ended: bool,
    charge: Charge,
}

impl LineReader {
    pub fn open(path: &Path, ledger: &Ledger) -> Result<Self> {
        Ok(Self::new(path, open_inflated(path, ledger)?))
    }

    /// Returns a reader of the lines of `input`; `path` is for messages.
    pub fn new(path: &Path, input: TextInput) -> Self {
        let (path, charge) = (path.to_path_buf(), input.charge.ledger().empty_charge("a line of text"));
        LineReader {
            path,
            input,
            bytes: Vec::new(),
            line: 0..0,
            at: 0,
            number: 0,
            has_ended: false,
            charge,
        }
    }

    /// Moves to the next line; returns `false` at the end of the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, a line is longer than 256 MiB, or there is no memory for
    /// it.
    pub fn advance_line(&mut self) -> Result<bool> {
        let mut searched = self.at;
        let end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.bytes[searched..]) {
                break searched + found;
            }
            if self.has_ended {
                break self.bytes.len();
            }
            searched = self.bytes.len() - self.at;
            self.read_more()?;
        };
        if self.at == self.bytes.len() {
            return Ok(false);
        }
        self.line = self.at..end - usize::from(self.bytes[self.at..end].ends_with(b"\r"));
        self.at = (end + 1).min(self.bytes.len());
        self.number += 1;
        Ok(true)
    }

    /// Returns the current line without its line ending (LF or CRLF).
    pub fn line(&self) -> &[u8] {
        &self.bytes[self.line.clone()]
    }

    /// Goes back, so that the current line is read again. A caller that has read a header uses this
    /// for the first line after it.
    pub fn go_back(&mut self) {
        self.at = self.line.start;
        self.number -= 1;
    }

    fn read_more(&mut self) -> Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        if self.bytes.len() > MAX_LINE_BYTES {
            return Err(self.too_long_error());
        }
        if make_room(&mut self.bytes, READ_SIZE, &mut self.charge).is_err() {
            return Err(self.measure_long_line()?);
        }
        let read = (&mut self.input).take(READ_SIZE as u64).read_to_end(&mut self.bytes);
        self.has_ended = read.map_err(|e| read_error(&e, &self.path))? == 0;
        Ok(())
    }

    /// Returns the error for a line that does not fit into memory. Skips the rest of the line to
    /// find out how much memory the line needs.
    fn measure_long_line(&mut self) -> Result<Error> {
        let mut length = self.bytes.len();
        let mut piece = std::mem::take(&mut self.bytes);
        piece.truncate(READ_SIZE);
        while !piece.is_empty() {
            let n = self.input.fill_buffer(&mut piece).map_err(|e| read_error(&e, &self.path))?;
            piece.truncate(n);
            let end = memchr::memchr(b'\n', &piece);
            length += end.unwrap_or(n);
            if length > MAX_LINE_BYTES {
                return Ok(self.too_long_error());
            }
            if end.is_some() {
                break;
            }
        }
        let needed = (length + 2 * READ_SIZE) as u64; // the buffer may hold one read before the line and one after it
        let mut error = self
            .charge
            .ledger()
            .shortage_error("a line of text", needed.saturating_sub(self.charge.bytes()));
        error.what = format!("line {}: {}", self.number + 1, error.what);
        Ok(error.file(&self.path))
    }

    fn too_long_error(&mut self) -> Error {
        self.number += 1;
        self.line_error("longer than 256 MiB").hint("check that this is the right file")
    }

    /// Returns an error that names the file and the current line.
    pub fn line_error(&self, what: impl std::fmt::Display) -> Error {
        let what = format!("line {}: {what}", self.number);
        Error::input(what).file(&self.path).hint("fix this line, or download the file again")
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::{Codec, Deflater, EOF_BLOCK};
    use std::io::Write;

    fn lines(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = LineReader::open(file.path(), &Ledger::unlimited())?;
        let mut all = Vec::new();
        while lines.advance_line()? {
            if all.len() == 2 {
                lines.go_back();
                assert!(lines.advance_line()?);
            }
            all.push(lines.line().to_vec());
        }
        Ok(all)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    fn bgzf(text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Deflater::new(Codec::default(), 1).deflate_block(text, &mut bytes);
        bytes.extend_from_slice(&EOF_BLOCK);
        bytes
    }

    #[test]
    fn lines_are_the_same_however_they_are_compressed_and_ended() {
        let expected: Vec<Vec<u8>> = (0..9000).map(|i| vec![b'x'; i % 13 + i / 8000 * 40]).collect();
        let text = expected.join(&b"\n"[..]);
        assert_eq!(lines(&text).unwrap(), expected);
        assert_eq!(lines(&[&text[..], b"\n"].concat()).unwrap(), expected);
        assert_eq!(lines(&expected.join(&b"\r\n"[..])).unwrap(), expected);
        assert_eq!(lines(&gzip(&text)).unwrap(), expected);
        assert_eq!(lines(&[gzip(&text[..100]), gzip(&text[100..])].concat()).unwrap(), expected);
        let short = &text[..60_000];
        assert_eq!(lines(&bgzf(short)).unwrap(), lines(short).unwrap());
        assert!(lines(b"").unwrap().is_empty());
        // Files that were joined by cat in any order, with NUL bytes after them.
        let (start, end) = (&text[..40_000], &text[40_000..80_000]);
        let expected = lines(&text[..80_000]).unwrap();
        let open = &bgzf(start)[..bgzf(start).len() - EOF_BLOCK.len()];
        let orders = [
            [bgzf(start), gzip(end)],
            [gzip(start), bgzf(end)],
            [bgzf(start), bgzf(end)],
            [open.to_vec(), gzip(end)],
            [gzip(start), gzip(end)],
        ];
        for joined in orders.map(|parts| parts.concat()) {
            assert_eq!(lines(&joined).unwrap(), expected);
            assert_eq!(lines(&[&joined[..], &[0; 100_000]].concat()).unwrap(), expected);
            assert!(lines(&[&joined[..], b"\0\0x"].concat()).is_err());
            assert!(lines(&joined[..joined.len() - 1]).is_err());
        }
        let long = [vec![b'y'; 3 * READ_SIZE], vec![b'z'; 10]];
        assert_eq!(lines(&long.join(&b'\n')).unwrap(), long);
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let text = b"chr1\t5\t6\n".repeat(500);
        let (gzip, bgzf) = (gzip(&text), bgzf(&text));
        for cut in [gzip.len() - 1, gzip.len() - 9, 30] {
            assert!(lines(&gzip[..cut]).unwrap_err().to_string().contains("truncated"), "{cut}");
        }
        for cut in [bgzf.len() - 1, bgzf.len() - 28, 30] {
            assert!(lines(&bgzf[..cut]).is_err(), "{cut}");
        }
    }
}
