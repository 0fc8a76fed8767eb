//! Reads gzip from points inside a file: between two deflate blocks, with the preceding text as
//! their window (RFC 1951, RFC 1952).
//!
//! [`GzipScan`] reads a file from its start and records such points, 1 MiB of text apart.
//! [`GzipTail`] starts reading at one of them. At the end of the member, it verifies the checksum
//! of the whole member, as if it had read all of it.
//!
//! A deflate block can begin at any bit of a byte, and the decoder does not report at which. So
//! [`GzipScan`] also records the text that follows a point. [`GzipPoints::find_before`] tries all
//! eight bit offsets and keeps the one that decodes to this text. The decoder can only start at a
//! byte boundary, so it is given the data shifted by that many bits.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::file_slice::FileSlice;
use readmill_format::gzip::GzipMembers;
use serde::{Deserialize, Serialize};
use zlib_rs::{Inflate, InflateFlush, Status};

/// Size of a deflate window: a block may refer to this many bytes of text before it (RFC 1951).
const WINDOW: usize = 32 << 10;

const MIN_SPACING: u64 = 1 << 20;

const PROOF_BYTES: usize = 512;

const READ_SIZE: usize = 256 << 10;

const WINDOW_BITS: u8 = 15;

/// Added to the window bits so that zlib expects the gzip format.
const GZIP_FLAG: u8 = 16;

/// A point in a gzip file from which reading can start. It is stored in the job of a process that
/// reads one slice of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GzipPoint {
    /// File offset of the first byte that belongs entirely to the next block.
    pub offset: u64,
    /// Number of bits, the most significant ones, of the byte before `offset` that belong to the
    /// next block.
    bits: u8,
    pub text: u64,
    /// CRC-32 and length of the member's text before this point.
    member: (u32, u64),
    /// The window: the text before this point, compressed with zstd.
    window: Vec<u8>,
}

/// A point as [`GzipScan`] records it, before the bit offset of the block is known.
struct NotedPoint {
    offset: u64,
    text: u64,
    member: (u32, u64),
    window: Vec<u8>,
    following_text: Vec<u8>,
}

/// The points recorded by a [`GzipScan`], in order. Clones share them, so that they can be searched
/// while the file is being read.
#[derive(Clone, Default)]
pub struct GzipPoints(Arc<Mutex<PointList>>);

#[derive(Default)]
struct PointList {
    points: VecDeque<NotedPoint>,
    /// Set if nobody needs points of this file any more.
    is_closed: bool,
}

impl GzipPoints {
    fn lock_points(&self) -> MutexGuard<'_, PointList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file offset of the last point at or before text offset `text`; 0 if there is
    /// none.
    pub fn stored_bytes(&self, text: u64) -> u64 {
        let list = &self.lock_points().points;
        let after = list.partition_point(|point| point.text <= text);
        after.checked_sub(1).map_or(0, |last| list[last].offset)
    }

    pub fn forget_before(&self, text: u64) {
        let list = &mut self.lock_points().points;
        while list.get(1).is_some_and(|next| next.text <= text) {
            list.pop_front();
        }
    }

    /// Drops all points, and records no more of them.
    pub fn stop_recording(&self) {
        *self.lock_points() = PointList { points: VecDeque::new(), is_closed: true };
    }

    /// Returns whether a point at text offset `text` is far enough from the last one.
    fn needs_point_at(&self, text: u64) -> bool {
        let list = self.lock_points();
        !list.is_closed && list.points.back().is_none_or(|last| text >= last.text + MIN_SPACING)
    }

    /// Adds a point, if given, and the text that follows the last point.
    fn add_point_and_text(&self, point: Option<NotedPoint>, text: &[u8]) {
        let mut list = self.lock_points();
        let point = point.filter(|_| !list.is_closed);
        list.points.extend(point);
        if let Some(last) = list.points.back_mut() {
            let missing = PROOF_BYTES.saturating_sub(last.following_text.len());
            last.following_text.extend_from_slice(&text[..text.len().min(missing)]);
        }
    }

    /// Finds the last point at or before text offset `text`, including the bit offset of its block.
    /// `None` if no such point was recorded, or if no bit offset decodes to the text after it.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn find_before(&self, text: u64, file: &Arc<File>) -> io::Result<Option<GzipPoint>> {
        let list = &self.lock_points().points;
        let after = list.partition_point(|point| point.text <= text);
        let Some(point) = after.checked_sub(1).and_then(|last| list.get(last)) else { return Ok(None) };
        let mut found = GzipPoint {
            offset: point.offset,
            bits: 0,
            text: point.text,
            member: point.member,
            window: zstd::bulk::compress(&point.window, 1)?,
        };
        for bits in 0..8 {
            found.bits = bits;
            let mut proof = vec![0; point.following_text.len()];
            match GzipTail::open(file, &found)?.read_exact(&mut proof) {
                Ok(()) if proof == point.following_text => return Ok(Some(found)),
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Decompresses a gzip file from its start, and records points from which it can be read again.
pub struct GzipScan<R> {
    input: R,
    packed: Vec<u8>,
    /// Number of consumed bytes of `packed`, and the file offset of `packed`.
    at: usize,
    offset: u64,
    /// The decoder of the current member; `None` between members.
    inflate: Option<Inflate>,
    crc: crc32fast::Hasher,
    member: u64,
    text: u64,
    /// Set once a member was followed by NUL bytes. Nothing else may follow them.
    in_padding: bool,
    recent: Vec<u8>,
    candidate: Option<NotedPoint>,
    points: GzipPoints,
}

impl<R: Read> GzipScan<R> {
    /// Creates a reader of `input`, which must be at its start. Points are recorded in `points`.
    pub fn new(input: R, points: GzipPoints) -> Self {
        GzipScan {
            input,
            packed: Vec::new(),
            at: 0,
            offset: 0,
            inflate: None,
            crc: crc32fast::Hasher::new(),
            member: 0,
            text: 0,
            in_padding: false,
            recent: Vec::new(),
            candidate: None,
            points,
        }
    }

    fn fill_packed(&mut self) -> io::Result<bool> {
        if self.at < self.packed.len() {
            return Ok(true);
        }
        self.offset += self.packed.len() as u64;
        self.at = 0;
        self.packed.resize(READ_SIZE, 0);
        let read = read_uninterrupted(&mut self.input, &mut self.packed);
        self.packed.truncate(*read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    fn track_decoded(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        self.points.add_point_and_text(self.candidate.take(), text);
        self.crc.update(text);
        self.member += text.len() as u64;
        self.text += text.len() as u64;
        let text = &text[text.len().saturating_sub(WINDOW)..];
        if self.recent.len() + text.len() > 8 * WINDOW {
            let kept = WINDOW.saturating_sub(text.len());
            self.recent.drain(..self.recent.len().saturating_sub(kept));
        }
        self.recent.extend_from_slice(text);
    }

    /// Makes the current position, which is at a block boundary, the candidate for the next point.
    fn note_candidate_point(&mut self) {
        if self.points.needs_point_at(self.text) {
            self.candidate = Some(NotedPoint {
                offset: self.offset + self.at as u64,
                text: self.text,
                member: (self.crc.clone().finalize(), self.member),
                window: self.recent[self.recent.len().saturating_sub(WINDOW)..].to_vec(),
                following_text: Vec::new(),
            });
        }
    }
}

impl<R: Read> Read for GzipScan<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            let more = self.fill_packed()?;
            if more && self.inflate.is_none() && self.offset + self.at as u64 > 0 {
                let nuls = self.packed[self.at..].iter().take_while(|byte| **byte == 0).count();
                self.at += nuls;
                self.in_padding |= nuls > 0;
                if self.in_padding && self.at == self.packed.len() {
                    continue;
                }
                if self.in_padding {
                    return Err(damaged_error("the bytes after the gzip data are not gzip"));
                }
            }
            let inflate = match &mut self.inflate {
                Some(inflate) if more => inflate,
                Some(_) => return Err(ErrorKind::UnexpectedEof.into()),
                None if more => {
                    (self.crc, self.member) = (crc32fast::Hasher::new(), 0);
                    self.inflate.insert(Inflate::new(true, GZIP_FLAG + WINDOW_BITS))
                }
                None => return Ok(0),
            };
            let before = [inflate.total_in(), inflate.total_out()];
            let status = inflate.decompress(&self.packed[self.at..], into, InflateFlush::Block);
            let [taken, written] =
                [inflate.total_in() - before[0], inflate.total_out() - before[1]].map(|n| n as usize);
            self.at += taken;
            self.track_decoded(&into[..written]);
            match status {
                Ok(Status::StreamEnd) => (self.inflate, self.candidate) = (None, None),
                // The decoder stopped although it has data and room left, so it is at the end of a
                // block.
                Ok(_) if self.at < self.packed.len() && written < into.len() => {
                    self.note_candidate_point()
                }
                Ok(_) => {}
                Err(error) => return Err(damaged_error(error.as_str())),
            }
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}

fn read_uninterrupted(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn damaged_error(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

pub struct GzipTail {
    file: Arc<File>,
    state: TailState,
}

enum TailState {
    Member(Box<MemberTail>),
    Rest(Box<GzipMembers<BufReader<FileSlice>>>),
    End,
}

struct MemberTail {
    inflate: Inflate,
    point: GzipPoint,
    stored: Vec<u8>,
    /// The same bytes, shifted so that the block starts at a byte boundary.
    shifted: Vec<u8>,
    at: usize,
    next: u64,
    crc: crc32fast::Hasher,
    text: u64,
    ended: bool,
}

impl GzipTail {
    pub fn open(file: &Arc<File>, point: &GzipPoint) -> io::Result<Self> {
        let window = zstd::bulk::decompress(&point.window, WINDOW)?;
        let mut inflate = Inflate::new(false, WINDOW_BITS);
        inflate.set_dictionary(&window).map_err(|error| damaged_error(error.as_str()))?;
        let (crc, text) = point.member;
        let member = MemberTail {
            inflate,
            point: GzipPoint { window: Vec::new(), ..point.clone() },
            stored: Vec::new(),
            shifted: Vec::new(),
            at: 0,
            next: point.offset,
            crc: crc32fast::Hasher::new_with_initial_len(crc, text),
            text,
            ended: false,
        };
        Ok(GzipTail { file: Arc::clone(file), state: TailState::Member(Box::new(member)) })
    }
}

impl MemberTail {
    fn fill_shifted(&mut self, file: &File) -> io::Result<bool> {
        if self.at < self.shifted.len() {
            return Ok(true);
        }
        // The previous byte has the first bits of the data. The last bits of the file are never
        // needed: a checksum follows the data.
        let start = self.next - 1;
        self.stored.resize(1 + READ_SIZE, 0);
        let mut filled = 0;
        while filled < self.stored.len() {
            match file.read_at(&mut self.stored[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.shifted.clear();
        self.at = 0;
        let before = &self.stored[..filled.saturating_sub(1)];
        let after = self.stored.get(1..filled).unwrap_or_default();
        match u32::from(self.point.bits) {
            0 => self.shifted.extend_from_slice(after),
            // The shift counts are computed outside the loop, so that the compiler vectorises it.
            bits => {
                let down = 8 - bits;
                self.shifted
                    .extend(before.iter().zip(after).map(|(low, high)| low >> down | high << bits));
            }
        }
        self.next += self.shifted.len() as u64;
        Ok(!self.shifted.is_empty())
    }

    fn read_text(&mut self, file: &File, into: &mut [u8]) -> io::Result<Option<usize>> {
        while !self.ended {
            if !self.fill_shifted(file)? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let before = [self.inflate.total_in(), self.inflate.total_out()];
            let status = self.inflate.decompress(&self.shifted[self.at..], into, InflateFlush::NoFlush);
            let [taken, written] =
                [self.inflate.total_in() - before[0], self.inflate.total_out() - before[1]]
                    .map(|n| n as usize);
            self.at += taken;
            self.crc.update(&into[..written]);
            self.text += written as u64;
            self.ended = match status {
                Ok(status) => status == Status::StreamEnd,
                Err(error) => return Err(damaged_error(error.as_str())),
            };
            if written > 0 {
                return Ok(Some(written));
            }
        }
        Ok(None)
    }

    /// Verifies checksum and length of the member, which follow its data, and returns the offset of
    /// the next member. They start at a byte boundary, but because the data was shifted, this can
    /// be one of two bytes.
    fn check_end(&self, file: &File) -> io::Result<u64> {
        let last = self.point.offset + self.inflate.total_in();
        let sums = [self.crc.clone().finalize(), self.text as u32].map(u32::to_le_bytes).concat();
        for at in last.saturating_sub(u64::from(self.point.bits > 0))..=last {
            let mut bytes = [0; 8];
            match file.read_exact_at(&mut bytes, at) {
                Ok(()) if bytes[..] == sums => return Ok(at + bytes.len() as u64),
                Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(error),
                _ => {}
            }
        }
        Err(damaged_error("the checksum of the text is wrong"))
    }
}

impl Read for GzipTail {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.state {
                TailState::Member(member) => {
                    if let Some(n) = member.read_text(&self.file, into)? {
                        return Ok(n);
                    }
                    let (next, size) = (member.check_end(&self.file)?, self.file.metadata()?.len());
                    self.state = if next == size {
                        TailState::End
                    } else {
                        let rest = FileSlice::new(&self.file, next, size);
                        let rest = BufReader::with_capacity(READ_SIZE, rest);
                        TailState::Rest(Box::new(GzipMembers::after_member(rest)))
                    };
                }
                TailState::Rest(rest) => return rest.read(into),
                TailState::End => return Ok(0),
            }
        }
    }
}
