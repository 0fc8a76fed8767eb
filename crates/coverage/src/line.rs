//! Lines as text: numbers, and the depth of bases, of which there are about two lines for each read.

use crate::join::Run;

/// The numbers below 100, with two digits each.
const PAIRS: &[u8; 200] = &{
    let (mut pairs, mut n) = ([0; 200], 0);
    while n < 100 {
        pairs[2 * n] = b'0' + (n / 10) as u8;
        pairs[2 * n + 1] = b'0' + (n % 10) as u8;
        n += 1;
    }
    pairs
};

/// The most digits of a position or depth.
const MOST_DIGITS: usize = 10;

/// A number in decimal: its digits end in the middle, and behind them there is room, so that copies have one length.
#[derive(Clone, Copy)]
struct Decimal {
    digits: [u8; 2 * MOST_DIGITS],
    first: usize,
}

impl Decimal {
    #[inline]
    fn new(mut number: u32) -> Self {
        let mut digits = [0; 2 * MOST_DIGITS];
        let mut at = MOST_DIGITS;
        while number >= 100 {
            let pair = 2 * (number % 100) as usize;
            number /= 100;
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        let pair = 2 * number as usize;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        Decimal { digits, first: at + usize::from(number < 10) }
    }

    /// Writes the number, and anything behind it. Returns how many digits it has.
    #[inline]
    fn write(&self, to: &mut [u8]) -> usize {
        to[..MOST_DIGITS].copy_from_slice(&self.digits[self.first..][..MOST_DIGITS]);
        MOST_DIGITS - self.first
    }
}

/// Appends a number in decimal.
pub(crate) fn write_number(number: u32, out: &mut Vec<u8>) {
    let number = Decimal::new(number);
    out.extend_from_slice(&number.digits[number.first..MOST_DIGITS]);
}

/// A line of the depth of bases, of which the start is often the end of the line before.
pub(crate) struct RunLine {
    /// The name, a tabulator, and room for the numbers.
    line: Vec<u8>,
    /// Bytes of the name and the tabulator behind it.
    name: usize,
    end: u32,
    decimal_end: Decimal,
}

/// The most bytes of a line behind the name: numbers, a sign, tabulators and the end.
const MOST_NUMBERS: usize = 3 * MOST_DIGITS + 4;

impl RunLine {
    /// Lines of a contig of this name.
    pub(crate) fn new(name: &str) -> Self {
        let mut line = name.as_bytes().to_vec();
        line.push(b'\t');
        let name = line.len();
        line.resize(name + MOST_NUMBERS, 0);
        RunLine { line, name, end: 0, decimal_end: Decimal::new(0) }
    }

    /// The line of a run, with its end.
    #[inline]
    pub(crate) fn of(&mut self, run: Run) -> &[u8] {
        if run.start != self.end {
            self.decimal_end = Decimal::new(run.start);
        }
        let line = &mut self.line[self.name..][..MOST_NUMBERS];
        let mut at = self.decimal_end.write(line);
        (self.end, self.decimal_end) = (run.end, Decimal::new(run.end));
        line[at] = b'\t';
        at += 1;
        at += self.decimal_end.write(&mut line[at..]);
        line[at] = b'\t';
        at += 1;
        if run.depth < 0 {
            line[at] = b'-';
            at += 1;
        }
        at += Decimal::new(run.depth.unsigned_abs()).write(&mut line[at..]);
        line[at] = b'\n';
        &self.line[..self.name + at + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_the_standard_library_writes_them() {
        let mut line = RunLine::new("chr1");
        let numbers = [0, 1, 9, 10, 99, 100, 101, 999, 1000, 12_345, 999_999, 1_000_000, u32::MAX];
        for start in numbers {
            for end in numbers {
                for depth in [0, 7, 10, 99, 100, 123_456, -1, -30, i32::MIN, i32::MAX] {
                    let expected = format!("chr1\t{start}\t{end}\t{depth}\n");
                    assert_eq!(line.of(Run { start, end, depth }), expected.as_bytes());
                }
            }
        }
    }
}
