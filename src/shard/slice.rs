//! Slices of an input: contiguous parts of whole templates, each of which is read as if it were a file.
//!
//! A slice of BAM or SAM is the header, then a range of the file. Borders are found by the content near the wanted
//! offset: in BAM the first block there, the first record in it, and behind that the first change of the read name; in
//! SAM the same with lines. A first record is a guess; all that follow in a mebibyte must look like records, too. A wrong
//! guess cannot go unnoticed, because the slice before would then end inside a record. CRAM, compressed SAM and small
//! files are one slice each.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::{BlockReader, Chunk, Codec, Deflater, EOF_BLOCK, Inflater};
use readmill_record::view::FIXED;
use readmill_record::{Error, Header, RecordRef, Result};

use super::job::{Bounds, Position, Slice};
use crate::pipeline::inputs::InputFile;

/// Bytes in which all records behind a guess must look like records.
const PROOF: usize = 1 << 20;

/// The most bytes that are searched for a border. A slice of longer records has none there.
const MOST_SEARCHED: usize = 64 << 20;

/// Bytes of text that are read at a time.
const TEXT: usize = 1 << 16;

/// The kinds of files that can be divided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bam,
    Text,
    /// Of a kind that cannot be divided.
    Whole,
}

/// Divides inputs into about `wanted` slices of about the same size.
pub fn divide(inputs: &[InputFile], wanted: usize) -> Result<Vec<Slice>> {
    let size = |input: &InputFile| std::fs::metadata(&input.path).map_or(0, |meta| meta.len());
    let each = (inputs.iter().map(size).sum::<u64>() / wanted.max(1) as u64).max(1);
    let mut slices = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let borders = borders(input, size(input), each).map_err(|error| error.file(&input.path))?;
        let Some((first, inner)) = borders.split_first() else {
            slices.push(Slice { input: number, bounds: None });
            continue;
        };
        let mut from = *first;
        for &to in inner {
            slices.push(Slice { input: number, bounds: Some(Bounds { from, to: Some(to) }) });
            from = to;
        }
        slices.push(Slice { input: number, bounds: Some(Bounds { from, to: None }) });
    }
    Ok(slices)
}

/// The start of the first record, then the borders between slices; none where the input is one slice.
fn borders(input: &InputFile, size: u64, each: u64) -> Result<Vec<Position>> {
    let parts = (size + each / 2) / each;
    let file = open(&input.path)?;
    let (kind, first) = start(&file)?;
    if parts < 2 || kind == Kind::Whole {
        return Ok(Vec::new());
    }
    let mut borders = vec![first];
    for part in 1..parts {
        let near =
            u64::try_from(u128::from(size) * u128::from(part) / u128::from(parts)).unwrap_or(size);
        let border = border(&file, kind, &input.header, near)?;
        borders.extend(border.filter(|border| *border > borders[borders.len() - 1]));
    }
    Ok(borders)
}

/// Returns the kind of a file, and where its first record starts.
fn start(file: &File) -> Result<(Kind, Position)> {
    let mut magic = [0; 4];
    let read = file.read_at(&mut magic, 0).map_err(|e| failed(&e))?;
    match magic {
        [0x1f, 0x8b, ..] => {}
        magic if magic == *b"CRAM" => return Ok((Kind::Whole, Position::default())),
        _ if read == 0 => return Ok((Kind::Whole, Position::default())),
        _ => return Ok((Kind::Text, Position { offset: text_start(file)?, within: 0 })),
    }
    let mut blocks = Blocks::new(file, 0)?;
    while blocks.bytes.len() < 4 && blocks.more()? {}
    if !blocks.bytes.starts_with(bam_header::MAGIC) {
        return Ok((Kind::Whole, Position::default()));
    }
    let mut outline = bam_header::Outline::default();
    while !outline.is_complete(&blocks.bytes)? {
        if !blocks.more()? {
            return Ok((Kind::Whole, Position::default()));
        }
    }
    let ledger = readmill_record::Ledger::unlimited(); // the same header was charged when the input was opened
    let (_, taken) = outline.parse(&blocks.bytes, &ledger)?;
    Ok((Kind::Bam, blocks.position(taken)))
}

/// Returns the offset of the first line of SAM that is not of the header.
fn text_start(file: &File) -> Result<u64> {
    let mut lines = Lines::new(file, 0);
    loop {
        let at = lines.offset();
        match lines.next()? {
            Some(line) if line.first() == Some(&b'@') => {}
            _ => return Ok(at),
        }
    }
}

/// Finds the border near an offset; `None` if there is none behind it.
fn border(file: &File, kind: Kind, header: &Header, near: u64) -> Result<Option<Position>> {
    if kind == Kind::Bam { bam_border(file, header.n_ref(), near) } else { text_border(file, near) }
}

fn text_border(file: &File, near: u64) -> Result<Option<Position>> {
    let mut lines = Lines::new(file, near);
    if lines.next()?.is_none() {
        return Ok(None); // the line that the offset is in
    }
    let name = |line: &[u8]| line.split(|&byte| byte == b'\t').next().unwrap_or_default().to_vec();
    let mut before = None;
    loop {
        let offset = lines.offset();
        let Some(line) = lines.next()? else { return Ok(None) };
        let name = name(line);
        if before.as_ref().is_some_and(|before| *before != name) {
            return Ok(Some(Position { offset, within: 0 }));
        }
        before = Some(name);
    }
}

fn bam_border(file: &File, n_ref: i32, near: u64) -> Result<Option<Position>> {
    let Some(offset) = block_near(file, near)? else { return Ok(None) };
    let mut blocks = Blocks::new(file, offset)?;
    let mut wanted = PROOF;
    loop {
        while blocks.bytes.len() < wanted && blocks.more()? {}
        if let Some(at) = name_change(&blocks.bytes, n_ref) {
            return Ok(Some(blocks.position(at)));
        }
        if blocks.ended || wanted >= MOST_SEARCHED {
            return Ok(None);
        }
        wanted *= 2;
    }
}

/// Returns where, behind the first record that starts in `bytes`, the read name changes first.
fn name_change(bytes: &[u8], n_ref: i32) -> Option<usize> {
    let first =
        (0..bytes.len()).find(|&at| chain(bytes, at, n_ref).is_some_and(|records| records > 3))?;
    let (mut at, mut before) = (first, None);
    loop {
        let size = size(bytes, at)?;
        let record = bytes.get(at..at + size)?;
        let name = RecordRef::new(record).qname();
        if before.is_some_and(|before| before != name) {
            return Some(at);
        }
        (before, at) = (Some(name), at + size);
    }
}

/// The number of whole records from `at` to the end of `bytes`; `None` if one of them does not look like a record.
fn chain(bytes: &[u8], mut at: usize, n_ref: i32) -> Option<usize> {
    let mut records = 0;
    while bytes.len() - at >= FIXED {
        if !RecordRef::plausible(&bytes[at..], n_ref) {
            return None;
        }
        match size(bytes, at) {
            Some(size) if bytes.len() - at >= size => (at, records) = (at + size, records + 1),
            _ => break,
        }
    }
    Some(records)
}

/// The bytes of the record at `at`, with those of its length.
fn size(bytes: &[u8], at: usize) -> Option<usize> {
    let size = u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?) as usize + 4;
    (size >= FIXED).then_some(size)
}

/// The offset of the first BGZF block at or behind an offset.
fn block_near(file: &File, near: u64) -> Result<Option<u64>> {
    let mut bytes = vec![0; 1 << 18]; // a block has at most 64 KiB, and one more must follow it
    let read = read_up_to(file, &mut bytes, near)?;
    bytes.truncate(read);
    let found = (0..bytes.len()).find(|&at| match block_size(&bytes[at..]) {
        Some(size) => {
            at + size == bytes.len() || block_size(&bytes[(at + size).min(bytes.len())..]).is_some()
        }
        None => false,
    });
    Ok(found.map(|at| near + at as u64))
}

/// The size of the block that `bytes` begin with (SAM specification, section 4.1).
fn block_size(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..12).filter(|head| head[..4] == [0x1f, 0x8b, 8, 4])?;
    let mut extra = bytes.get(12..12 + usize::from(u16::from_le_bytes([head[10], head[11]])))?;
    while let [a, b, low, high, rest @ ..] = extra {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        if [*a, *b] == *b"BC" && length == 2 {
            return Some(usize::from(u16::from_le_bytes(*rest.first_chunk::<2>()?)) + 1);
        }
        extra = rest.get(length..)?;
    }
    None
}

/// Inflated bytes of a file from a block on.
struct Blocks {
    reader: BlockReader<File>,
    inflater: Inflater,
    chunk: Chunk,
    /// Offset in the file from which it is read.
    offset: u64,
    bytes: Vec<u8>,
    /// Where each block starts: in the file, and in `bytes`.
    starts: Vec<(u64, usize)>,
    ended: bool,
}

impl Blocks {
    fn new(file: &File, offset: u64) -> Result<Self> {
        let mut file = file.try_clone().map_err(|e| failed(&e))?;
        file.seek(SeekFrom::Start(offset)).map_err(|e| failed(&e))?;
        let (inflater, chunk, bytes, starts, ended) = Default::default();
        Ok(Blocks {
            reader: BlockReader::new(file, true),
            inflater,
            chunk,
            offset,
            bytes,
            starts,
            ended,
        })
    }

    /// Inflates more blocks; false at the end.
    fn more(&mut self) -> Result<bool> {
        let Blocks { reader, inflater, chunk, bytes, starts, .. } = self;
        if !reader.next_chunk(chunk)? {
            self.ended = true;
            return Ok(false);
        }
        let mut at = bytes.len();
        for block in &chunk.blocks {
            starts.push((self.offset + chunk.offset + u64::from(block.start), at));
            at += block.inflated as usize;
        }
        inflater.chunk(chunk, bytes)?;
        Ok(true)
    }

    /// The position in the file of byte `at`.
    fn position(&self, at: usize) -> Position {
        let block = self.starts.partition_point(|&(_, start)| start <= at).saturating_sub(1);
        let (offset, start) = self.starts.get(block).copied().unwrap_or((self.offset, 0));
        Position { offset, within: (at - start) as u32 }
    }
}

/// Lines of a file from an offset on.
struct Lines<'a> {
    file: &'a File,
    /// Offset of the first byte of `bytes`.
    offset: u64,
    bytes: Vec<u8>,
    /// Bytes of lines that were returned.
    taken: usize,
}

impl<'a> Lines<'a> {
    fn new(file: &'a File, offset: u64) -> Self {
        Lines { file, offset, bytes: Vec::new(), taken: 0 }
    }

    /// The offset of the next line.
    fn offset(&self) -> u64 {
        self.offset + self.taken as u64
    }

    /// The next line, with its end; `None` at the end of the file, and where a line is too long.
    fn next(&mut self) -> Result<Option<&[u8]>> {
        let mut searched = self.taken;
        loop {
            if let Some(end) = self.bytes[searched..].iter().position(|&byte| byte == b'\n') {
                let line = self.taken..searched + end + 1;
                self.taken = line.end;
                return Ok(Some(&self.bytes[line]));
            }
            self.bytes.drain(..self.taken);
            (self.offset, self.taken) = (self.offset + self.taken as u64, 0);
            searched = self.bytes.len();
            self.bytes.resize(searched + TEXT, 0);
            let at = self.offset + searched as u64;
            let read = read_up_to(self.file, &mut self.bytes[searched..], at)?;
            self.bytes.truncate(searched + read);
            if read == 0 || self.bytes.len() > MOST_SEARCHED {
                return Ok(None);
            }
        }
    }
}

/// Fills `into` from an offset on; fewer bytes at the end of the file.
fn read_up_to(file: &File, into: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read_at(&mut into[filled..], offset + filled as u64).map_err(|e| failed(&e))? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

fn failed(error: &std::io::Error) -> Error {
    Error::io("reading failed", error)
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io(format!("{} cannot be read", path.display()), &e))
}

/// Opens a slice of an input as a stream, and returns its bytes, too: the header, and the records between the bounds.
pub fn read(input: &InputFile, bounds: Bounds) -> Result<(Box<dyn Read + Send>, u64)> {
    let mut file = open(&input.path)?;
    let size = file.metadata().map_err(|e| failed(&e))?.len();
    let (kind, _) = start(&file)?;
    let (mut prefix, mut suffix) = (Vec::new(), Vec::new());
    let (mut from, mut to) = (bounds.from.offset, bounds.to.map_or(size, |to| to.offset));
    if kind == Kind::Text {
        prefix = input.header.to_text();
    } else {
        let mut header = Vec::new();
        bam_header::write(&input.header, &mut header)?;
        pack(&header, &mut prefix);
        drop(header);
        if let Some(end) = bounds.to {
            let (block, _) = inflated_block(&file, end.offset)?;
            let skipped = if end.offset == from { bounds.from.within as usize } else { 0 };
            pack(block.get(skipped..end.within as usize).unwrap_or_default(), &mut suffix);
            suffix.extend_from_slice(&EOF_BLOCK);
        }
        let is_one_block = bounds.to.is_some_and(|end| end.offset == from);
        if bounds.from.within > 0 && !is_one_block {
            let (block, next) = inflated_block(&file, from)?;
            pack(block.get(bounds.from.within as usize..).unwrap_or_default(), &mut prefix);
            from = next;
        }
    }
    to = to.max(from);
    file.seek(SeekFrom::Start(from)).map_err(|e| failed(&e))?;
    Ok((Box::new(Cursor::new(prefix).chain(file.take(to - from)).chain(Cursor::new(suffix))), to - from))
}

/// The inflated bytes of a block, and the offset of the next one.
fn inflated_block(file: &File, offset: u64) -> Result<(Vec<u8>, u64)> {
    let mut blocks = Blocks::new(file, offset)?;
    blocks.more()?;
    let next = blocks.starts.get(1).copied();
    let end = blocks.starts.first().map_or(0, |_| next.map_or(blocks.bytes.len(), |(_, start)| start));
    let after = match next {
        Some((after, _)) => after,
        None => offset + blocks.reader.sizes().0,
    };
    blocks.bytes.truncate(end);
    Ok((blocks.bytes, after))
}

/// Appends bytes as blocks that are not compressed.
fn pack(bytes: &[u8], out: &mut Vec<u8>) {
    let mut deflater = Deflater::new(Codec::default(), 0);
    for payload in bytes.chunks(readmill_format::bgzf::BLOCK_PAYLOAD) {
        deflater.block(payload, out);
    }
}
