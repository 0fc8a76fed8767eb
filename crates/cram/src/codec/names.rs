//! Decodes the read name tokeniser (CRAM codecs specification 3.1, section 6).
//!
//! A name is a list of tokens: letters, numbers and single characters. The tokens at one position
//! of all names share a set of streams, one per token type. Most tokens only store the difference
//! from the same position of an earlier name.

use std::ops::Range;

use readmill_record::{Error, Result};

use super::{arith, nx16};
use crate::num::{ByteCursor, block_too_short, damaged_cram};

pub(super) const TYPE: usize = 0;
pub(super) const STRING: u8 = 1;
pub(super) const CHAR: u8 = 2;
pub(super) const DIGITS0: u8 = 3;
pub(super) const LENGTH: usize = 4;
pub(super) const DUPLICATE: u8 = 5;
pub(super) const DIGITS: u8 = 7;
pub(super) const DELTA: u8 = 8;
pub(super) const DELTA0: u8 = 9;
pub(super) const MATCH: u8 = 10;
const NOP: u8 = 11;

pub(super) const MAX_TOKENS: usize = 128;

/// A decoded token, kept for later names that refer to it. It takes only eight bytes, because there
/// is one for each token of all names.
#[derive(Clone, Copy)]
enum DecodedToken {
    Nothing,
    Char(u8),
    String(u32, u16),
    Digits(u32),
    Digits0(u32, u8),
}

/// Returns the maximum memory of [`decode`] in bytes, excluding its output: the streams of all
/// tokens, the tokens themselves, and the start of each name. Except for the last token of a name,
/// each token produces at least one byte of the name.
pub fn scratch_bytes(data: &[u8], size: usize) -> usize {
    let mut cursor = ByteCursor(data);
    let names =
        cursor.take_bytes(8).map_or(0, |head| u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
    let names = (names as usize).min(size);
    let token = size_of::<DecodedToken>() + size_of::<u8>() + 4; // the token, its type, and its value
    let stream = 4 * names + size;
    token * (size + names)
        + names * (size_of::<DecodedName>() + 4)
        + nx16::scratch_bytes(&[STRIPE_OF_ANY], stream)
        + (64 << 10)
}

const STRIPE_OF_ANY: u8 = super::pack::STRIPE;

#[derive(Clone, Default)]
struct PositionReader {
    streams: [StreamReader; 13],
}

#[derive(Clone, Default)]
struct StreamReader {
    bytes: Vec<u8>,
    at: usize,
}

impl StreamReader {
    fn read_byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(block_too_short)?;
        self.at += 1;
        Ok(byte)
    }

    fn read_number(&mut self) -> Result<u32> {
        let four = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<4>())
            .ok_or_else(block_too_short)?;
        self.at += 4;
        Ok(u32::from_le_bytes(*four))
    }
}

/// Reads and decompresses all streams. `size` limits each stream, `max_sum` their total.
fn read_streams(
    cursor: &mut ByteCursor<'_>,
    names: usize,
    by_arith: bool,
    size: usize,
    max_sum: usize,
) -> Result<Vec<PositionReader>> {
    let (mut positions, mut sum): (Vec<PositionReader>, usize) = (Vec::new(), 0);
    while !cursor.0.is_empty() {
        let head = cursor.read_byte()?;
        let kind = usize::from(head & 63);
        if kind > 12 {
            return Err(damaged_cram("a name has an unknown kind of token"));
        }
        if head & 128 != 0 {
            positions.push(PositionReader::default());
            if positions.len() > MAX_TOKENS {
                return Err(damaged_cram("a name has too many tokens"));
            }
            if kind != TYPE && names > 0 {
                sum += names;
                if sum > max_sum {
                    return Err(too_many_tokens());
                }
                let mut bytes = vec![MATCH; names];
                bytes[0] = kind as u8;
                positions[..].last_mut().ok_or_else(block_too_short)?.streams[TYPE].bytes = bytes;
            }
        }
        let bytes = if head & 64 != 0 {
            let (at, kind) = (usize::from(cursor.read_byte()?), usize::from(cursor.read_byte()?));
            let other = positions.get(at).and_then(|position| position.streams.get(kind));
            other
                .ok_or_else(|| damaged_cram("a token repeats a token that does not exist"))?
                .bytes
                .clone()
        } else {
            let stored = cursor.read_uint7()? as usize;
            let (data, mut bytes) = (cursor.take_bytes(stored)?, Vec::new());
            // A token takes at most four bytes, and a stream has at most one token per name.
            let max_bytes = 4 * names + size;
            if by_arith {
                arith::decode(data, max_bytes, &mut bytes)?
            } else {
                nx16::decode(data, max_bytes, &mut bytes)?
            }
            bytes
        };
        sum += bytes.len();
        if sum > max_sum {
            return Err(too_many_tokens());
        }
        let last = positions.last_mut().ok_or_else(|| damaged_cram("the names have no first token"))?;
        last.streams[kind] = StreamReader { bytes, at: 0 };
    }
    Ok(positions)
}

fn too_many_tokens() -> Error {
    damaged_cram("the names are larger than their stated size")
}

struct NameDecoder {
    positions: Vec<PositionReader>,
    /// Tokens of all names. A name that repeats an earlier one adds none.
    tokens: Vec<DecodedToken>,
    done: Vec<DecodedName>,
}

#[derive(Clone, Copy)]
struct DecodedName {
    tokens: u32,
    n: u32,
    text: u32,
}

impl DecodedName {
    fn tokens(self) -> Range<usize> {
        self.tokens as usize..(self.tokens + self.n) as usize
    }
}

impl NameDecoder {
    fn decode_next_name(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let first = self.positions.first_mut().ok_or_else(block_too_short)?;
        let kind = first.streams[TYPE].read_byte()?;
        let distance =
            first.streams.get_mut(usize::from(kind)).ok_or_else(block_too_short)?.read_number()?
                as usize;
        let number = self.done.len();
        let before = number.checked_sub(distance);
        let before =
            before.ok_or_else(|| damaged_cram("a name refers to a name before the first one"))?;
        let (tokens, text) = (self.tokens.len(), out.len());
        let other = self.done.get(before).copied();
        if kind == DUPLICATE {
            let other = other.ok_or_else(|| damaged_cram("a name repeats itself"))?;
            let at = other.text as usize;
            let end = at + out[at..].iter().position(|&byte| byte == 0).ok_or_else(block_too_short)?;
            out.extend_from_within(at..=end);
            self.done.push(DecodedName { text: text as u32, ..other });
            return Ok(());
        }
        for position in 1.. {
            let last =
                other.and_then(|other| self.tokens.get(other.tokens())?.get(position - 1).copied());
            let Some(position) = self.positions.get_mut(position) else { break };
            let Some(token) = position.decode_token(last, out)? else { break };
            if self.tokens.len() == self.tokens.capacity() {
                return Err(too_many_tokens());
            }
            self.tokens.push(token);
        }
        out.push(0);
        let n = (self.tokens.len() - tokens) as u32;
        self.done.push(DecodedName { tokens: tokens as u32, n, text: text as u32 });
        Ok(())
    }
}

impl PositionReader {
    /// Decodes the next token, given the token at the same position of the reference name. Returns
    /// `None` at the end of the name.
    fn decode_token(
        &mut self,
        last: Option<DecodedToken>,
        out: &mut Vec<u8>,
    ) -> Result<Option<DecodedToken>> {
        let wrong = || damaged_cram("a name refers to a token that does not exist");
        let kind = self.streams[TYPE].read_byte()?;
        let stream = |kind: u8| usize::from(kind);
        let token = match kind {
            CHAR => DecodedToken::Char(self.streams[stream(CHAR)].read_byte()?),
            STRING => {
                let strings = &mut self.streams[stream(STRING)];
                let rest = strings.bytes.get(strings.at..).unwrap_or_default();
                let length = memchr::memchr(0, rest).ok_or_else(block_too_short)?;
                let token = text_token(out.len(), length)?;
                out.extend_from_slice(&rest[..length]);
                strings.at += length + 1;
                return Ok(Some(token));
            }
            DIGITS => DecodedToken::Digits(self.streams[stream(DIGITS)].read_number()?),
            DIGITS0 => {
                let length = self.streams[LENGTH].read_byte()?;
                DecodedToken::Digits0(self.streams[stream(DIGITS0)].read_number()?, length)
            }
            DELTA => match last.ok_or_else(wrong)? {
                DecodedToken::Digits(n) => {
                    DecodedToken::Digits(n.wrapping_add(self.streams[stream(DELTA)].read_byte()?.into()))
                }
                _ => return Err(wrong()),
            },
            DELTA0 => match last.ok_or_else(wrong)? {
                DecodedToken::Digits0(n, length) => DecodedToken::Digits0(
                    n.wrapping_add(self.streams[stream(DELTA0)].read_byte()?.into()),
                    length,
                ),
                _ => return Err(wrong()),
            },
            MATCH => match last.ok_or_else(wrong)? {
                DecodedToken::Nothing => return Err(wrong()),
                DecodedToken::String(from, length) => {
                    let (from, length) = (from as usize, usize::from(length));
                    let token = text_token(out.len(), length)?;
                    out.extend_from_within(from..from + length);
                    return Ok(Some(token));
                }
                other => other,
            },
            NOP => DecodedToken::Nothing,
            _ => return Ok(None),
        };
        match token {
            DecodedToken::Char(c) => out.push(c),
            DecodedToken::Digits(n) => put_number(n, 1, out),
            DecodedToken::Digits0(n, length) => put_number(n, usize::from(length), out),
            DecodedToken::Nothing | DecodedToken::String(..) => {}
        }
        Ok(Some(token))
    }
}

fn text_token(start: usize, length: usize) -> Result<DecodedToken> {
    let token = u32::try_from(start).ok().zip(u16::try_from(length).ok());
    token.map(|(start, length)| DecodedToken::String(start, length)).ok_or_else(too_many_tokens)
}

fn put_number(mut n: u32, length: usize, out: &mut Vec<u8>) {
    let (mut digits, mut at) = ([b'0'; 10], 10);
    while n > 0 {
        at -= 1;
        digits[at] += (n % 10) as u8;
        n /= 10;
    }
    let written = 10 - at;
    out.resize(out.len() + length.saturating_sub(written), b'0');
    out.extend_from_slice(&digits[at..]);
}

/// Appends the decoded names to `out`: `size` bytes in total, each name followed by a zero byte.
pub fn decode(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut cursor = ByteCursor(data);
    let (stored, names) = (cursor.read_u32()? as usize, cursor.read_u32()? as usize);
    let by_arith = cursor.read_byte()? != 0;
    if stored != size || names > size {
        return Err(damaged_cram("the names do not have their stated size"));
    }
    let positions =
        read_streams(&mut cursor, names, by_arith, size, 5 * (size + names) + 4 * names + (1 << 16))?;
    // At most one token per byte plus one for the end of each name, and no more than there are
    // stored types. Names that repeat others have no tokens.
    let types = positions.iter().skip(1).map(|position| position.streams[TYPE].bytes.len());
    let tokens = types.sum::<usize>().min(size + names);
    let mut all =
        NameDecoder { positions, tokens: Vec::with_capacity(tokens), done: Vec::with_capacity(names) };
    out.reserve_exact(size);
    let start = out.len();
    for _ in 0..names {
        all.decode_next_name(out)?;
        if out.len() - start > size {
            return Err(too_many_tokens());
        }
    }
    Ok(())
}
