//! Encodes read names as tokens (CRAM codecs specification 3.1, section 6).
//!
//! A name either repeats an earlier name, or is encoded token by token against the last name with
//! the same text tokens, typically one from the same flow cell.

use std::ops::Range;

use super::arith_encode::ArithEncoder;
use super::names::{
    CHAR, DELTA, DELTA0, DIGITS, DIGITS0, DUPLICATE, LENGTH, MATCH, MAX_TOKENS, STRING, TYPE,
};
use super::nx16_encode::Nx16Encoder;
use crate::num::put_uint7;

const DIFFERENT: u8 = 6;

const END: u8 = 12;

/// Maximum digits of a number, so that it fits 32 bits.
const MAX_DIGITS: usize = 9;

const KINDS: usize = 13;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Token {
    /// The value of a number, a character, or the offset of a string in the name buffer.
    value: u32,
    kind: u8,
    /// Length of a string in bytes, or number of digits of a number with leading zeros.
    length: u8,
}

/// Statistics of the numbers at one position, each compared with the number it is encoded against:
/// how often it is larger by less than 256 (`little`), and how often it differs (`all`).
#[derive(Clone, Copy, Default)]
struct Growth {
    by_less_than_256: u32,
    differing: u32,
}

#[derive(Default)]
struct TokenStreams {
    streams: [Vec<u8>; KINDS],
    growth: Growth,
}

#[derive(Clone, Copy)]
struct TokenizedName {
    first: u32,
    n: u32,
    distance: u32,
    /// Whether the name repeats the one `distance` names before. Otherwise it is encoded against
    /// that name, token by token.
    is_repeated: bool,
    /// Hash of the token types and the string tokens.
    text_hash: u32,
}

impl TokenizedName {
    fn tokens(self) -> Range<usize> {
        self.first as usize..(self.first + self.n) as usize
    }
}

/// Maximum number of distinct `texts` hashes whose last name is remembered.
const MAX_TEXTS: usize = 16;

#[derive(Default)]
pub struct NameEncoder {
    tokens: Vec<Token>,
    names: Vec<TokenizedName>,
    last: Vec<(u32, usize)>,
    positions: Vec<TokenStreams>,
    slots: Vec<u32>,
    starts: Vec<(u32, u32)>,
}

pub enum StreamCodec<'a> {
    Rans(&'a mut Nx16Encoder),
    Arith(&'a mut ArithEncoder),
}

impl NameEncoder {
    /// Encodes the names in `raw` and appends them to `out`. Each name ends with a zero byte. Returns
    /// false if there are no names, the last one lacks its zero byte, or the names have more than `max_tokens`
    /// tokens.
    pub fn encode(
        &mut self,
        raw: &[u8],
        max_tokens: usize,
        mut codec: StreamCodec<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let is_held = raw.last() == Some(&0) && u32::try_from(raw.len()).is_ok();
        if !is_held || !self.tokenise_names(raw, max_tokens) {
            return false;
        }
        self.fill_streams(raw);
        out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.names.len() as u32).to_le_bytes());
        out.push(u8::from(matches!(codec, StreamCodec::Arith(_))));
        self.write_streams(&mut codec, out);
        true
    }

    /// Tokenises all names. Returns false if a name is too long, or if there are more than `max_tokens`
    /// tokens.
    fn tokenise_names(&mut self, raw: &[u8], max_tokens: usize) -> bool {
        self.tokens.clear();
        self.names.clear();
        self.last.clear();
        self.starts.clear();
        let count = memchr::memchr_iter(0, raw).count();
        let size = (2 * count).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(size, 0);
        let mut start = 0;
        for end in memchr::memchr_iter(0, raw) {
            let first = self.tokens.len();
            let distance = self.find_repeated(raw, start, end);
            let mut name = if distance == 0 {
                if end - start > usize::from(u8::MAX) || first > max_tokens {
                    return false;
                }
                let texts = tokenise_name(&raw[start..end], start, &mut self.tokens);
                let n = (self.tokens.len() - first) as u32;
                TokenizedName {
                    first: first as u32,
                    n,
                    distance: 0,
                    is_repeated: false,
                    text_hash: texts,
                }
            } else {
                let other = self.names[self.names.len() - distance];
                TokenizedName { distance: distance as u32, is_repeated: true, ..other }
            };
            let like = self.register_and_find_texts(name.text_hash);
            if !name.is_repeated {
                name.distance = like;
            }
            self.names.push(name);
            start = end + 1;
        }
        true
    }

    /// Returns the distance to the last name with the same `texts` hash; 1 if there is none (0 for
    /// the first name). Registers the next name as the last one with this hash.
    fn register_and_find_texts(&mut self, texts: u32) -> u32 {
        let number = self.names.len();
        match self.last.iter().position(|&(known, _)| known == texts) {
            Some(at) => {
                let before = std::mem::replace(&mut self.last[at].1, number);
                (number - before) as u32
            }
            None => {
                if self.last.len() == MAX_TEXTS {
                    self.last.remove(0);
                }
                self.last.push((texts, number));
                u32::from(number > 0)
            }
        }
    }

    fn find_repeated(&mut self, raw: &[u8], start: usize, end: usize) -> usize {
        let (name, number) = (&raw[start..end], self.starts.len());
        self.starts.push((start as u32, end as u32));
        let mask = self.slots.len() - 1;
        let mut at = hash_name(name) & mask;
        loop {
            let known = self.slots[at] as usize;
            if known == 0 {
                self.slots[at] = number as u32 + 1;
                return 0;
            }
            let (from, to) = self.starts[known - 1];
            if raw[from as usize..to as usize] == *name {
                self.slots[at] = number as u32 + 1;
                return number - (known - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn fill_streams(&mut self, raw: &[u8]) {
        let places = 1 + self.names.iter().map(|name| name.n as usize).max().unwrap_or(0) + 1;
        self.positions.resize_with(places.max(self.positions.len()), TokenStreams::default);
        self.positions.truncate(places);
        for position in &mut self.positions {
            position.streams.iter_mut().for_each(Vec::clear);
            position.growth = Growth::default();
        }
        for number in 1..self.names.len() {
            let name = self.names[number];
            if name.is_repeated {
                continue;
            }
            let before = &self.tokens[self.names[number - name.distance as usize].tokens()];
            let pairs = self.tokens[name.tokens()].iter().zip(before);
            for ((a, b), position) in pairs.zip(&mut self.positions[1..]) {
                if a.kind == b.kind && (a.kind == DIGITS || a.kind == DIGITS0) && a.value != b.value {
                    position.growth.differing += 1;
                    position.growth.by_less_than_256 += u32::from(a.value.wrapping_sub(b.value) < 256);
                }
            }
        }
        for (number, &name) in self.names.iter().enumerate() {
            let first = &mut self.positions[0].streams;
            let kind = if name.is_repeated { DUPLICATE } else { DIFFERENT };
            first[TYPE].push(kind);
            first[usize::from(kind)].extend_from_slice(&name.distance.to_le_bytes());
            if name.is_repeated {
                continue;
            }
            let before = self.names[number - name.distance as usize].tokens();
            let before = if number > 0 { &self.tokens[before] } else { &[] };
            let own = &self.tokens[name.tokens()];
            for (i, (token, position)) in own.iter().zip(&mut self.positions[1..]).enumerate() {
                position.add_token(*token, before.get(i).copied(), raw);
            }
            self.positions[own.len() + 1].streams[TYPE].push(END);
        }
    }

    fn write_streams(&mut self, codec: &mut StreamCodec<'_>, out: &mut Vec<u8>) {
        let mut coded = Vec::new();
        for at in 0..self.positions.len() {
            let streams = &self.positions[at].streams;
            let Some(&first) = streams[TYPE].first() else { continue };
            let implied = at > 0 && self.positions[at].implies_types();
            let mut order: Vec<usize> = (0..KINDS).filter(|&kind| !streams[kind].is_empty()).collect();
            if implied {
                order.retain(|&kind| kind != TYPE && kind != usize::from(first));
                order.insert(0, usize::from(first));
            }
            for (number, &kind) in order.iter().enumerate() {
                let head = kind as u8 | if number == 0 { 128 } else { 0 };
                let stream = &streams[kind];
                if let Some((place, other)) = self.find_same_stream(at, kind) {
                    out.extend([head | 64, place as u8, other as u8]);
                    continue;
                }
                out.push(head);
                coded.clear();
                let width = if is_number(kind) { 4 } else { 1 };
                codec.compress_stream(stream, width, &mut coded);
                put_uint7(out, coded.len() as u32);
                out.extend_from_slice(&coded);
            }
        }
    }

    /// Returns position and type of an earlier stored stream with the same bytes, to which this
    /// stream can refer.
    fn find_same_stream(&self, at: usize, kind: usize) -> Option<(usize, usize)> {
        let stream = &self.positions[at].streams[kind];
        if stream.len() < 8 {
            return None;
        }
        let earlier = self.positions[..at].iter().enumerate().flat_map(|(place, position)| {
            let streams = position.streams.iter().enumerate();
            let stored = streams.filter(|(other, _)| *other != TYPE || !position.implies_types());
            stored.map(move |(other, bytes)| (place, other, bytes))
        });
        let mut found = earlier.filter(|(.., bytes)| *bytes == stream);
        found.next().map(|(place, other, _)| (place, other))
    }
}

impl StreamCodec<'_> {
    fn compress_stream(&mut self, stream: &[u8], width: usize, out: &mut Vec<u8>) {
        match self {
            StreamCodec::Rans(rans) => rans.encode(stream, width, out),
            StreamCodec::Arith(arith) => arith.encode_smallest(stream, width, out),
        }
    }
}

impl TokenStreams {
    /// Returns whether the token types of this position can be omitted: the first name has a token
    /// with a value, and all other names have a token of the same type.
    fn implies_types(&self) -> bool {
        let Some((&first, others)) = self.streams[TYPE].split_first() else { return false };
        let has_value = self.streams.get(usize::from(first)).is_some_and(|values| !values.is_empty());
        has_value && first != END && others.iter().all(|&kind| kind == MATCH)
    }

    fn add_token(&mut self, token: Token, before: Option<Token>, raw: &[u8]) {
        let text = |token: Token| &raw[token.value as usize..][..usize::from(token.length)];
        let like = before.filter(|before| before.kind == token.kind);
        let is_same = like.is_some_and(|before| match token.kind {
            STRING => text(before) == text(token),
            _ => before.value == token.value && before.length == token.length,
        });
        let kind = match like {
            Some(_) if is_same => MATCH,
            Some(before) if self.grows_slowly() && before.length == token.length => {
                match (token.kind, token.value.wrapping_sub(before.value) < 256) {
                    (DIGITS, true) => DELTA,
                    (DIGITS0, true) => DELTA0,
                    (kind, _) => kind,
                }
            }
            _ => token.kind,
        };
        self.streams[TYPE].push(kind);
        let stream = &mut self.streams[usize::from(kind)];
        match kind {
            MATCH => {}
            CHAR => stream.push(token.value as u8),
            STRING => {
                stream.extend_from_slice(text(token));
                stream.push(0);
            }
            DELTA | DELTA0 => {
                stream.push(token.value.wrapping_sub(before.map_or(0, |before| before.value)) as u8);
            }
            _ => {
                stream.extend_from_slice(&token.value.to_le_bytes());
                if kind == DIGITS0 {
                    self.streams[LENGTH].push(token.length);
                }
            }
        }
    }

    /// Returns whether numbers at this position often grow by less than 256, so that storing the
    /// difference in one byte saves space.
    fn grows_slowly(&self) -> bool {
        4 * self.growth.by_less_than_256 > self.growth.differing
    }
}

fn is_number(kind: usize) -> bool {
    [DUPLICATE, DIFFERENT, DIGITS, DIGITS0].contains(&(kind as u8))
}

/// Appends the tokens of `name`, which starts at offset `start` of the name buffer. Returns the
/// hash of its token types and string tokens.
fn tokenise_name(name: &[u8], start: usize, out: &mut Vec<Token>) -> u32 {
    let (first, mut texts) = (out.len(), 0u32);
    let mut note = |byte: u8| texts = (texts.rotate_left(5) ^ u32::from(byte)).wrapping_mul(0x9e37_79b1);
    let mut at = 0;
    while at < name.len() {
        let rest = &name[at..];
        let is_last = out.len() - first == MAX_TOKENS - 3;
        let (kind, length) = match rest[0] {
            _ if is_last => (STRING, rest.len()),
            b'0'..=b'9' => {
                let digits =
                    rest.iter().take(MAX_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
                // A single zero also counts as a number with leading zeros, because samtools prints
                // nothing for a zero stored as a plain number.
                (if rest[0] == b'0' { DIGITS0 } else { DIGITS }, digits)
            }
            letter if letter.is_ascii_alphabetic() => {
                match rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count() {
                    1 => (CHAR, 1),
                    letters => (STRING, letters),
                }
            }
            _ => (CHAR, 1),
        };
        let value = match kind {
            DIGITS | DIGITS0 => {
                rest[..length].iter().fold(0, |n, digit| 10 * n + u32::from(digit - b'0'))
            }
            CHAR => u32::from(rest[0]),
            _ => (start + at) as u32,
        };
        note(kind);
        if kind == CHAR || kind == STRING {
            rest[..length].iter().for_each(|&byte| note(byte));
        }
        let kept = if kind == DIGITS { 0 } else { length as u8 };
        out.push(Token { value, kind, length: kept });
        at += length;
    }
    texts
}

fn hash_name(name: &[u8]) -> usize {
    let mut hash = name.len() as u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 20) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_begins_with_zero_keeps_its_digits() {
        let mut found = Vec::new();
        tokenise_name(b"a0b00cd10:7", 0, &mut found);
        let kinds: Vec<u8> = found.iter().map(|token| token.kind).collect();
        assert_eq!(kinds, [CHAR, DIGITS0, CHAR, DIGITS0, STRING, DIGITS, CHAR, DIGITS]);
    }
}
