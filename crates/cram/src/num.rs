//! CRAM's integer formats ITF8 and LTF8 (CRAM specification 3.1, section 2.3), and a cursor that
//! reads them.

use readmill_record::{Error, Result};

/// Returns the error for invalid CRAM content. The whole crate uses it, so all such messages begin
/// alike and give the same advice.
pub fn damaged_cram(what: impl std::fmt::Display) -> Error {
    Error::input(format!("the CRAM data is damaged: {what}")).hint("download or create the file again")
}

#[cold]
pub fn block_too_short() -> Error {
    damaged_cram("a block ends too early")
}

/// Reads values from the front of a byte slice. The field is the unread rest.
#[derive(Clone, Copy)]
pub struct ByteCursor<'a>(pub &'a [u8]);

impl<'a> ByteCursor<'a> {
    #[inline]
    pub fn take_bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(block_too_short)?;
        self.0 = rest;
        Ok(head)
    }

    #[inline]
    pub fn read_byte(&mut self) -> Result<u8> {
        let (&head, rest) = self.0.split_first().ok_or_else(block_too_short)?;
        self.0 = rest;
        Ok(head)
    }

    pub fn read_u32(&mut self) -> Result<u32> {
        let bytes = self.take_bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads an ITF8 number of one to five bytes. The leading one bits of the first byte are the
    /// number of bytes that follow.
    #[inline]
    pub fn read_itf8(&mut self) -> Result<i32> {
        let (&head, rest) = self.0.split_first().ok_or_else(block_too_short)?;
        if head < 0x80 {
            self.0 = rest;
            return Ok(i32::from(head));
        }
        let more = (head.leading_ones() as usize).min(4);
        let bytes = self.take_bytes(1 + more)?;
        let high = u32::from(head) & if more == 4 { 0xf } else { 0x7f >> more };
        let number = match bytes[1..] {
            [a] => high << 8 | u32::from(a),
            [a, b] => high << 16 | u32::from(a) << 8 | u32::from(b),
            [a, b, c] => high << 24 | u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c),
            [a, b, c, d] => {
                let low = u32::from(d) & 0xf;
                high << 28 | u32::from(a) << 20 | u32::from(b) << 12 | u32::from(c) << 4 | low
            }
            _ => 0,
        };
        Ok(number.cast_signed())
    }

    /// Reads an ITF8 number that is a length or a count. A negative number is an error.
    pub fn read_count(&mut self) -> Result<usize> {
        usize::try_from(self.read_itf8()?).map_err(|_| damaged_cram("a length is negative"))
    }

    pub fn read_ltf8(&mut self) -> Result<i64> {
        let head = self.read_byte()?;
        let more = head.leading_ones();
        let high = if more >= 7 { 0 } else { u64::from(head) & (0x7f >> more) };
        let number =
            self.take_bytes(more as usize)?.iter().fold(high, |n, &byte| n << 8 | u64::from(byte));
        Ok(number.cast_signed())
    }

    /// Reads a list of ITF8 numbers, which starts with their count. A count above the number of
    /// remaining bytes is an error, so that a damaged count does not allocate memory.
    pub fn read_itf8_list(&mut self) -> Result<Vec<i32>> {
        let n = self.read_count()?;
        if n > self.0.len() {
            return Err(block_too_short());
        }
        (0..n).map(|_| self.read_itf8()).collect()
    }

    /// Reads a number stored in seven bits per byte, most significant first. All bytes but the last
    /// have their top bit set (CRAM codecs, section 2.1).
    pub fn read_uint7(&mut self) -> Result<u32> {
        let mut n = 0u32;
        for _ in 0..5 {
            let byte = self.read_byte()?;
            n = n << 7 | u32::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(damaged_cram("a number has too many bytes"))
    }
}

#[inline]
pub fn put_itf8(out: &mut Vec<u8>, number: i32) {
    let n = number.cast_unsigned();
    match n {
        0..0x80 => out.push(n as u8),
        0x80..0x4000 => out.extend([(n >> 8) as u8 | 0x80, n as u8]),
        0x4000..0x20_0000 => out.extend([(n >> 16) as u8 | 0xc0, (n >> 8) as u8, n as u8]),
        0x20_0000..0x1000_0000 => {
            out.extend([(n >> 24) as u8 | 0xe0, (n >> 16) as u8, (n >> 8) as u8, n as u8]);
        }
        _ => out.extend([
            (n >> 28) as u8 | 0xf0,
            (n >> 20) as u8,
            (n >> 12) as u8,
            (n >> 4) as u8,
            n as u8 & 0xf,
        ]),
    }
}

#[inline]
pub fn put_uint7(out: &mut Vec<u8>, n: u32) {
    let more = (31 - (n | 1).leading_zeros()) / 7;
    (1..=more).rev().for_each(|i| out.push((n >> (7 * i)) as u8 | 0x80));
    out.push(n as u8 & 0x7f);
}

pub fn put_ltf8(out: &mut Vec<u8>, number: i64) {
    let n = number.cast_unsigned();
    let bits = 64 - n.leading_zeros();
    let more = (0..8).find(|&more| bits <= 7 * (more + 1)).unwrap_or(8);
    let marks = if more == 0 { 0 } else { (0xff00u64 >> more) as u8 };
    let high = if more >= 7 { 0 } else { (n >> (8 * more)) as u8 };
    out.push(marks | high);
    out.extend_from_slice(&n.to_be_bytes()[8 - more as usize..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let some = [0i64, 1, 127, 128, 16383, 16384, 1 << 20, 1 << 21, 1 << 27, 1 << 28, 1 << 30];
        for n in some.into_iter().flat_map(|n| [n, n - 1, -n]) {
            let mut out = Vec::new();
            put_itf8(&mut out, n as i32);
            let mut cursor = ByteCursor(&out);
            assert_eq!((cursor.read_itf8().unwrap(), cursor.0.len()), (n as i32, 0), "{n}");
        }
        for n in (0..63).map(|bit| 1i64 << bit).flat_map(|n| [n, n - 1, -n]) {
            let mut out = Vec::new();
            put_ltf8(&mut out, n);
            let mut cursor = ByteCursor(&out);
            assert_eq!((cursor.read_ltf8().unwrap(), cursor.0.len()), (n, 0), "{n}");
        }
    }

    #[test]
    fn numbers_as_the_specification_shows_them() {
        let mut out = Vec::new();
        put_itf8(&mut out, 4_542_278); // the start of an EOF container
        assert_eq!(out, [0xe0, 0x45, 0x4f, 0x46]);
        assert_eq!(ByteCursor(&[0xff, 0xff, 0xff, 0xff, 0x0f]).read_itf8().unwrap(), -1);
        assert_eq!(ByteCursor(&[0x81, 0x00]).read_uint7().unwrap(), 128);
        for n in (0..32).map(|bit| 1u32 << bit).flat_map(|n| [n - 1, n, n | 1]).chain([u32::MAX]) {
            let mut out = Vec::new();
            put_uint7(&mut out, n);
            let mut cursor = ByteCursor(&out);
            assert_eq!((cursor.read_uint7().unwrap(), cursor.0.len()), (n, 0));
        }
    }
}
