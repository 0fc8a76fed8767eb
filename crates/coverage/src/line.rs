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

/// Writes a number to the end of `digits`; returns where it begins.
#[inline]
fn put(mut number: u32, digits: &mut [u8; MOST_DIGITS]) -> usize {
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
    at + usize::from(number < 10)
}

/// Appends a number in decimal.
pub(crate) fn write_number(number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; MOST_DIGITS];
    let at = put(number, &mut digits);
    out.extend_from_slice(&digits[at..]);
}

/// A line of the depth of bases, of which the start is often the end of the line before.
pub(crate) struct RunLine {
    line: Vec<u8>,
    /// Bytes of the name and the tabulator behind it.
    name: usize,
    end: u32,
    /// The digits of `end`.
    digits: [u8; MOST_DIGITS],
    first_digit: usize,
}

impl RunLine {
    /// Lines of a contig of this name.
    pub(crate) fn new(name: &str) -> Self {
        let mut line = name.as_bytes().to_vec();
        line.push(b'\t');
        let (name, end, mut digits) = (line.len(), 0, [0; MOST_DIGITS]);
        let first_digit = put(end, &mut digits);
        RunLine { line, name, end, digits, first_digit }
    }

    /// The line of a run, with its end.
    #[inline]
    pub(crate) fn of(&mut self, run: Run) -> &[u8] {
        if run.start != self.end {
            self.first_digit = put(run.start, &mut self.digits);
        }
        let RunLine { line, name, digits, first_digit, .. } = self;
        line.truncate(*name);
        line.extend_from_slice(&digits[*first_digit..]);
        line.push(b'\t');
        *first_digit = put(run.end, digits);
        self.end = run.end;
        line.extend_from_slice(&digits[*first_digit..]);
        line.push(b'\t');
        if run.depth < 0 {
            line.push(b'-');
        }
        match run.depth.unsigned_abs() {
            depth @ 0..10 => line.push(b'0' + depth as u8),
            depth => write_number(depth, line),
        }
        line.push(b'\n');
        &self.line
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
