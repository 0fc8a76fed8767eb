//! Fast decimal text for the lines of the per-base file, which has about two lines for each read.
//!
//! Eight digits at a time are computed in one 64-bit integer, and lines are written with fixed-size
//! copies, without a check for each digit.

use crate::join::DepthRun;

const MAX_DIGITS: usize = 10;

/// A number as decimal digits, the first digit in the lowest byte.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    head: u16,
    head_digits: usize,
    tail: u64,
    digits: usize,
}

impl Decimal {
    #[inline]
    fn new(number: u32) -> Self {
        const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
        let (head, tail) = (number / 100_000_000, eight_digits(number % 100_000_000));
        if head == 0 {
            let zeros = (tail.trailing_zeros() as usize / 8).min(7);
            let tail = (tail | ZEROS) >> (8 * zeros);
            return Decimal { head: 0, head_digits: 0, tail, digits: 8 - zeros };
        }
        let both = ((head / 10) | ((head % 10) << 8)) as u16 | ZEROS as u16;
        let (head, head_digits) = if head < 10 { (both >> 8, 1) } else { (both, 2) };
        Decimal { head, head_digits, tail: tail | ZEROS, digits: head_digits + 8 }
    }

    /// Writes the number followed by the byte `behind`. Up to [`MAX_DIGITS`] + 1 bytes of `to` may be
    /// overwritten, because digits are copied in blocks. Returns the length of the number plus one.
    #[inline]
    fn write_digits(self, behind: u8, to: &mut [u8]) -> usize {
        if self.head_digits > 0 {
            to[..2].copy_from_slice(&self.head.to_le_bytes());
        }
        to[self.head_digits..][..8].copy_from_slice(&self.tail.to_le_bytes());
        to[self.digits] = behind;
        self.digits + 1
    }
}

/// Returns the digits of a number below 10^8, the first one in the lowest byte, by dividing both halves,
/// all four quarters and all eight digits at once (SIMD within a register).
#[inline]
fn eight_digits(number: u32) -> u64 {
    let halves = u64::from(number / 10_000) | (u64::from(number % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x7f_0000_007f;
    let quarters = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((quarters * 103) >> 10) & 0xf_000f_000f_000f;
    tens | ((quarters - 10 * tens) << 8)
}

pub(crate) fn append_number(number: u32, out: &mut Vec<u8>) {
    let mut text = [0; MAX_DIGITS + 1];
    let length = Decimal::new(number).write_digits(0, &mut text) - 1;
    out.extend_from_slice(&text[..length]);
}

const MAX_NUMBER_BYTES: usize = 3 * (MAX_DIGITS + 1) + 1;

/// Number of writable bytes that [`RunLine::write_text`] needs after the end of a line.
pub(crate) const LINE_PADDING: usize = MAX_NUMBER_BYTES;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLine<'a> {
    name: &'a [u8],
    start: Decimal,
    end: Decimal,
    is_negative: bool,
    depth: Decimal,
}

impl RunLine<'_> {
    #[inline]
    pub fn length(&self) -> usize {
        let sign = usize::from(self.is_negative);
        self.name.len() + self.start.digits + self.end.digits + sign + self.depth.digits + 3
    }

    /// Writes the line. Up to [`LINE_PADDING`] bytes after it may be overwritten.
    #[inline]
    pub fn write_text(&self, to: &mut [u8]) {
        to[..self.name.len()].copy_from_slice(self.name);
        let to = &mut to[self.name.len()..][..MAX_NUMBER_BYTES];
        let mut at = self.start.write_digits(b'\t', to);
        at += self.end.write_digits(b'\t', &mut to[at..]);
        if self.is_negative {
            to[at] = b'-';
            at += 1;
        }
        self.depth.write_digits(b'\n', &mut to[at..]);
    }
}

/// Formats the lines of one contig. Runs have no gaps, so the start of a run is usually the end of
/// the previous run, whose digits are reused.
pub(crate) struct RunLines {
    name: Vec<u8>,
    end: u32,
    decimal_end: Decimal,
}

impl RunLines {
    pub fn new(name: &str) -> Self {
        let mut name = name.as_bytes().to_vec();
        name.push(b'\t');
        RunLines { name, end: 0, decimal_end: Decimal::new(0) }
    }

    #[inline]
    pub fn make_line(&mut self, run: DepthRun) -> RunLine<'_> {
        let start = if run.start == self.end { self.decimal_end } else { Decimal::new(run.start) };
        (self.end, self.decimal_end) = (run.end, Decimal::new(run.end));
        let depth = Decimal::new(run.depth.unsigned_abs());
        RunLine { name: &self.name, start, end: self.decimal_end, is_negative: run.depth < 0, depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_the_standard_library_writes_them() {
        let mut lines = RunLines::new("chr1");
        let numbers = [0, 1, 9, 10, 99, 100, 101, 999, 1000, 12_345, 999_999, 1_000_000, u32::MAX];
        for start in numbers {
            for end in numbers {
                for depth in [0, 7, 10, 99, 100, 123_456, -1, -30, i32::MIN, i32::MAX] {
                    let (line, mut text) = (lines.make_line(DepthRun { start, end, depth }), [0; 100]);
                    line.write_text(&mut text);
                    let expected = format!("chr1\t{start}\t{end}\t{depth}\n");
                    assert_eq!(&text[..line.length()], expected.as_bytes());
                }
            }
        }
    }

    #[test]
    fn digits_are_right_around_every_power_and_in_between() {
        let powers = (0..10).map(|power| 10_u32.pow(power));
        let near = powers.flat_map(|power| power.saturating_sub(1100)..power.saturating_add(1100));
        let between = (0..u32::MAX).step_by(99_991);
        for number in near.chain(between) {
            let mut text = Vec::new();
            append_number(number, &mut text);
            assert_eq!(text, number.to_string().as_bytes());
        }
    }
}
