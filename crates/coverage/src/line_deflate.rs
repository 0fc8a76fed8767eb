//! Compresses lines of the depth of bases by what is known of them, as one block of DEFLATE (RFC 1951).
//!
//! A line begins where the line before it ends. So it repeats the name and the first digits of the start of that line, then
//! the digits in which its end differed from its start, and the first digits of its own start where its own end begins. Nothing has
//! to be searched for, and the code can be chosen before the first line:
//!
//! ```text
//! chr1→5333→5341→18
//! chr1→5341→5352→20     "chr1→53" from the line before, 41 as there, "→53" from this line, and "52→20"
//! ```

use crate::join::Run;
use crate::line::Line;
use crate::prefix_code::{
    Bits, DISTANCES, END, FARTHEST, LONGEST, SHORTEST, SYMBOLS, block_head, code_lengths, codes,
    distance_symbol, length_symbol,
};

/// The most bytes of a stream.
const MOST_BYTES: usize = 1 << 16;

/// Bytes that a line may take beside those that are written one by one.
const LINE_ROOM: usize = 64;

/// Depths below this have a code of their own.
const DEPTHS: usize = 1000;

/// Where the codes of the last digits begin, for one, two and three of them.
const DIGITS: [usize; 4] = [0, 10, 110, 1110];

/// Compresses lines, a stream at a time.
pub(crate) struct LineDeflater {
    codes: Option<LineCodes>,
    stream: Stream,
    before: Option<LineBefore>,
}

/// The line before, as far as the next line repeats it.
#[derive(Clone, Copy)]
struct LineBefore {
    end: u32,
    length: usize,
    /// The last digits of the end, in which it differs from the start: how many they are, and their codes.
    last: usize,
    bits: Bits,
}

impl LineDeflater {
    pub fn new() -> Self {
        LineDeflater { codes: None, stream: Stream::new(), before: None }
    }

    /// Adds a line, with its text, to the stream. It is of the same contig as the one before, unless that was the last one
    /// before [`LineDeflater::leave`].
    #[inline]
    pub fn add(&mut self, line: &Line<'_>, text: &[u8]) {
        let LineDeflater { codes, stream, before } = self;
        let Run { start, end, depth } = line.run;
        if stream.is_empty() {
            let shape = LineShape { name: line.name.len(), digits: line.end.digits };
            let kept = codes.take().filter(|it| it.shape == shape);
            let codes = codes.insert(kept.unwrap_or_else(|| LineCodes::new(shape)));
            codes.head.iter().for_each(|&bits| stream.put(bits));
        }
        let Some(codes) = codes else { return };
        if stream.is_full() {
            return;
        }
        let start_at = line.name.len() + line.start.digits;
        match before {
            Some(it) if it.end == start && it.length <= FARTHEST => {
                let same = start_at - it.last;
                if (SHORTEST..=LONGEST).contains(&same) {
                    stream.put(codes.lengths[same]);
                    stream.put(codes.distances[it.length]);
                } else {
                    codes.put_bytes(&text[..same], stream);
                }
                if it.last < DIGITS.len() {
                    stream.put(it.bits);
                } else {
                    codes.put_bytes(&text[same..start_at], stream);
                }
            }
            _ => codes.put_bytes(&text[..start_at], stream),
        }
        let last = last_digits(line);
        let end_at = start_at + 1 + line.end.digits;
        let same = end_at - last - start_at;
        if same >= SHORTEST {
            stream.put(codes.lengths[same].then(codes.distances[line.start.digits + 1]));
        } else {
            codes.put_bytes(&text[start_at..][..same], stream);
        }
        let bits = if last < DIGITS.len() {
            let ends = [end % 10, end % 100, end % 1000];
            codes.digits[DIGITS[last - 1] + ends[last - 1] as usize]
        } else {
            codes.put_bytes(&text[end_at - last..end_at], stream);
            Bits::default()
        };
        stream.put(bits);
        match usize::try_from(depth) {
            Ok(depth) if depth < DEPTHS => stream.put(codes.depths[depth]),
            _ => codes.put_bytes(&text[end_at..], stream),
        }
        *before = Some(LineBefore { end, length: text.len(), last, bits });
    }

    /// Says that the next line is of another contig.
    pub fn leave(&mut self) {
        self.before = None;
    }

    /// Ends the stream; `None` if it is too long. The next line begins another one.
    pub fn finish(&mut self) -> Option<&[u8]> {
        self.before = None;
        if let Some(codes) = &self.codes {
            self.stream.put(codes.bytes[END]);
        }
        self.stream.finish()
    }
}

/// The number of last digits in which the end of a line differs from its start: three at most, or else all.
#[inline]
fn last_digits(line: &Line<'_>) -> usize {
    let Run { start, end, .. } = line.run;
    let differ = [10, 100, 1000].map(|unit| usize::from(start / unit != end / unit));
    let last = 1 + differ.iter().sum::<usize>();
    if last < DIGITS.len() && line.start.digits == line.end.digits { last } else { line.end.digits }
}

/// The sizes that most lines of a stream share: bytes of the name and its tab, and digits of a position. The prefix code
/// depends on them alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineShape {
    name: usize,
    digits: usize,
}

/// The codes of all that lines are made of.
struct LineCodes {
    shape: LineShape,
    head: Vec<Bits>,
    /// Of each byte, and of the end of the stream.
    bytes: Vec<Bits>,
    /// Of the length of a match, by that, and of its distance.
    lengths: Vec<Bits>,
    distances: Vec<Bits>,
    /// Of the last one, two and three digits of a number.
    digits: Vec<Bits>,
    /// Of a tab, a depth, and the end of the line.
    depths: Vec<Bits>,
}

impl LineCodes {
    fn new(shape: LineShape) -> Self {
        let (symbols, distances) = weights(shape);
        let (symbols, distances) = (code_lengths(&symbols), code_lengths(&distances));
        let head = block_head(&symbols, &distances);
        let (bytes, of_distance) = (codes(&symbols), codes(&distances));
        let of_length = |length| {
            let (symbol, more) = length_symbol(length);
            bytes[symbol].then(more)
        };
        let lengths =
            (0..=LONGEST).map(|it| if it < SHORTEST { Bits::default() } else { of_length(it) });
        let lengths = lengths.collect();
        let distances = (0..=FARTHEST).map(|it| {
            let (symbol, more) = distance_symbol(it.max(1));
            of_distance[symbol].then(more)
        });
        let distances = distances.collect();
        let text = |text: &str| {
            text.bytes().fold(Bits::default(), |all, byte| all.then(bytes[usize::from(byte)]))
        };
        let digits = (1..=3_usize).flat_map(|count| {
            (0..10_u32.pow(count as u32)).map(move |number| format!("{number:0count$}"))
        });
        let digits = digits.map(|it| text(&it)).collect();
        let depths = (0..DEPTHS).map(|depth| text(&format!("\t{depth}\n"))).collect();
        LineCodes { shape, head, lengths, distances, digits, depths, bytes }
    }

    fn put_bytes(&self, bytes: &[u8], stream: &mut Stream) {
        for &byte in bytes {
            if stream.is_full() {
                return;
            }
            stream.put(self.bytes[usize::from(byte)]);
        }
    }
}

/// The weight of a symbol that a usual line has once.
const LINE: u32 = 1024;

/// How often symbols come in such lines, those of bytes and lengths, and those of distances: the end differs from the start in its
/// last one to three digits, mostly two; the depth has two. Each symbol may come.
fn weights(shape: LineShape) -> (Vec<u32>, Vec<u32>) {
    let (mut symbols, mut distances) = (vec![1; SYMBOLS], vec![1; DISTANCES]);
    (b'0'..=b'9').for_each(|digit| symbols[usize::from(digit)] = LINE * 11 / 20);
    [b'\t', b'\n'].into_iter().for_each(|byte| symbols[usize::from(byte)] = LINE);
    for (last, weight) in [(1, LINE / 4), (2, LINE * 5 / 8), (3, LINE / 8)] {
        for first in [shape.name, 1] {
            let same = (first + shape.digits).saturating_sub(last);
            if (SHORTEST..=LONGEST).contains(&same) {
                symbols[length_symbol(same).0] += weight;
            }
        }
    }
    distances[distance_symbol(shape.digits + 1).0] += LINE;
    for (depth_digits, weight) in [(1, LINE / 8), (2, LINE * 3 / 4), (3, LINE / 8)] {
        let line = shape.name + 2 * shape.digits + 3 + depth_digits;
        if line <= FARTHEST {
            distances[distance_symbol(line).0] += weight;
        }
    }
    (symbols, distances)
}

/// A stream of bits.
struct Stream {
    bytes: Box<[u8]>,
    length: usize,
    bits: Bits,
}

impl Stream {
    fn new() -> Self {
        Stream { bytes: vec![0; MOST_BYTES].into(), length: 0, bits: Bits::default() }
    }

    fn is_empty(&self) -> bool {
        self.length == 0 && self.bits.count == 0
    }

    /// Whether a line may not fit.
    #[inline]
    fn is_full(&self) -> bool {
        self.length + LINE_ROOM > MOST_BYTES
    }

    /// Appends at most 56 bits. Where there is no room, they are lost.
    #[inline]
    fn put(&mut self, bits: Bits) {
        let Bits { bits, count } = self.bits.then(bits);
        if let Some(room) = self.bytes.get_mut(self.length..self.length + 8) {
            room.copy_from_slice(&bits.to_le_bytes());
            self.length += (count / 8) as usize;
        }
        self.bits = Bits { bits: bits >> (count & !7), count: count & 7 };
    }

    /// Ends the stream, and begins an empty one.
    fn finish(&mut self) -> Option<&[u8]> {
        let fits = !self.is_full();
        self.put(Bits { bits: 0, count: 7 });
        self.bits = Bits::default();
        let length = std::mem::take(&mut self.length);
        fits.then(|| &self.bytes[..length])
    }
}

#[cfg(test)]
mod tests {
    use readmill_format::bgzf::deflate::append_block;
    use readmill_format::bgzf::{BLOCK_PAYLOAD, BlockReader, Codec, Deflater, InflateReader};
    use readmill_simulate::Rng;
    use std::io::Read;

    use super::*;
    use crate::line::{ROOM, RunLines};

    /// Runs of depths, which begin at `start`; `gap` in a thousand of them do not begin where the one before ended.
    fn runs(random: &mut Rng, start: u32, most: u32, gap: u64) -> Vec<Run> {
        let (mut at, mut runs) = (start, Vec::new());
        while runs.len() < 3000 {
            if random.below64(1000) < gap {
                at = at.saturating_add(random.below(2000));
            }
            let end = at.saturating_add(1 + random.below(most));
            let depth =
                if random.once_in(30) { random.bits() as i32 } else { random.below(1200) as i32 };
            runs.push(Run { start: at, end, depth });
            at = if end == u32::MAX { 0 } else { end };
        }
        runs
    }

    /// The text of the first lines that a block holds, and their stream.
    fn stream(name: &str, runs: &[Run]) -> (Vec<u8>, Option<Vec<u8>>) {
        let (mut lines, mut text, mut deflater) = (RunLines::new(name), Vec::new(), LineDeflater::new());
        for &run in runs {
            let (line, begin) = (lines.line(run), text.len());
            if begin + line.length() > BLOCK_PAYLOAD {
                break;
            }
            text.resize(begin + line.length() + ROOM, 0);
            line.write(&mut text[begin..]);
            text.truncate(begin + line.length());
            deflater.add(&line, &text[begin..]);
        }
        (text, deflater.finish().map(<[u8]>::to_vec))
    }

    fn inflated(text: &[u8], stream: &[u8]) -> Vec<u8> {
        let (mut block, mut out) = (Vec::new(), Vec::new());
        append_block(text, stream, &mut block);
        InflateReader::new(BlockReader::new(&block[..], true)).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn no_code_is_too_long_for_deflate() {
        // Names that are longer than FARTHEST have no weights.
        for name in 1..=FARTHEST + 1 {
            for digits in 1..=10 {
                let shape = LineShape { name, digits };
                let (symbols, distances) = weights(shape);
                for weights in [symbols, distances] {
                    assert!(code_lengths(&weights).iter().all(|length| (1..=15).contains(length)));
                }
                if name % 50 > 0 {
                    continue;
                }
                let codes = LineCodes::new(shape);
                let longest = |of: &[Bits]| of.iter().map(|bits| bits.count).max().unwrap();
                assert!(longest(&codes.lengths) + longest(&codes.distances) <= 56);
                assert!(longest(&codes.digits).max(longest(&codes.depths)) <= 56);
            }
        }
    }

    #[test]
    fn lines_come_back() {
        let mut random = Rng::new(5);
        let mut streams = 0;
        for name in
            ["1", "chr1", "HLA-A*01:01:01:01", &"n".repeat(255), &"n".repeat(290), &"x~".repeat(700)]
        {
            for start in [0, 7, 98, 990, 99_000, 99_999_900, 999_990_000, u32::MAX - 5000] {
                for (most, gap) in [(1, 0), (9, 0), (120, 20), (20_000, 500)] {
                    let (text, stream) = stream(name, &runs(&mut random, start, most, gap));
                    if let Some(stream) = stream {
                        streams += 1;
                        assert!(inflated(&text, &stream) == text, "{name}, from {start}, up to {most}");
                    }
                }
            }
        }
        assert!(streams > 100, "{streams}");
    }

    #[test]
    fn usual_lines_take_about_as_much_room_as_after_a_search() {
        let mut random = Rng::new(6);
        for (name, start) in
            [("1", 20_000), ("chr1", 5000), ("chr22", 30_000_000), ("chrX", 123_456_789)]
        {
            let (mut at, mut depth) = (start, 20);
            let runs: Vec<Run> = (0..4000)
                .map(|_| {
                    let end = at + 1 + random.below(18);
                    let run = Run { start: at, end, depth };
                    at = end;
                    depth += if random.once_in(2) && depth > 1 { -1 } else { 1 };
                    run
                })
                .collect();
            let (text, stream) = stream(name, &runs);
            let mut searched = Vec::new();
            Deflater::new(Codec::default(), 1).block(&text, &mut searched);
            let (known, searched) = (stream.unwrap().len(), searched.len());
            assert!(10 * known < 11 * searched, "{name}: {known} beside {searched}");
        }
    }

    #[test]
    fn a_stream_that_is_too_long_is_given_up_and_the_next_one_is_right() {
        let mut deflater = LineDeflater::new();
        let add = |deflater: &mut LineDeflater, name: &str, run| {
            let (mut lines, mut text) = (RunLines::new(name), vec![0; name.len() + 100]);
            let line = lines.line(run);
            line.write(&mut text);
            text.truncate(line.length());
            deflater.add(&line, &text);
            text
        };
        for start in 0..2000 {
            add(&mut deflater, &"~".repeat(60), Run { start, end: start + 1, depth: 1 });
            deflater.leave();
        }
        assert!(deflater.finish().is_none());
        let text = add(&mut deflater, "a", Run { start: 0, end: 12, depth: 3 });
        assert!(inflated(&text, deflater.finish().unwrap()) == text);
    }
}
