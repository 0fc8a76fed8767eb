//! Writes BAM records as SAM lines. Numbers are formatted like `%d` and `%g` of `printf`.

use std::io::Write;

use readmill_record::tag::{Field, Fields};
use readmill_record::view::MALFORMED_FIELDS;
use readmill_record::{Cigar, Header, RecordRef, bases};

use super::long_cigar;

/// Appends `record` as a SAM line, including the line end. `header` supplies the names of the
/// reference sequences. The optional fields must have been checked ([`RecordRef::check`]).
///
/// ```
/// use readmill_format::sam::{LineParser, write_record};
/// use readmill_record::{Header, RecordRef};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let line = b"r1\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:0";
/// let (mut raw, mut text) = (Vec::new(), Vec::new());
/// LineParser::new(&header).parse(line, &mut raw)?;
/// write_record(&header, RecordRef::new(&raw), &mut text);
/// assert_eq!(text, [&line[..], b"\n"].concat());
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub fn write_record(header: &Header, record: RecordRef<'_>, out: &mut Vec<u8>) {
    let written = try_write_record(header, record, out);
    debug_assert!(written.is_ok(), "the record was checked");
}

/// Appends `record` like [`write_record`], but checks its optional fields while it writes them.
/// This saves a separate pass over the fields if a record is only converted to text.
///
/// # Errors
/// Fails if the optional fields are malformed. The line is then appended up to the damaged field.
pub fn try_write_record(
    header: &Header,
    record: RecordRef<'_>,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    out.reserve(record.raw().len() * 2);
    let name = if record.qname().is_empty() { b"*" } else { record.qname() };
    push_column(name, out);
    push_number(record.flags().0, out);
    push_column(reference_name(header, record.ref_id()), out);
    push_number(i64::from(record.pos()) + 1, out);
    push_number(record.mapq(), out);
    let stored = record.stored_cigar();
    let fields = record.field_bytes();
    let hidden = (record.ref_id() >= 0 && record.pos() >= 0)
        .then(|| long_cigar::find_long_cigar(stored.0, record.l_seq(), fields))
        .flatten();
    match &hidden {
        Some(at) => push_cigar(Cigar(&fields[at.start + long_cigar::CG_HEAD_BYTES..at.end]), out),
        None => push_cigar(stored, out),
    }
    let same = record.next_ref_id() >= 0 && record.next_ref_id() == record.ref_id();
    push_column(if same { b"=" } else { reference_name(header, record.next_ref_id()) }, out);
    push_number(i64::from(record.next_pos()) + 1, out);
    push_number(record.tlen(), out);
    push_seq(record.seq(), record.l_seq(), out);
    push_qual(record.qual(), out);
    let hidden = hidden.unwrap_or(fields.len()..fields.len());
    let whole = push_fields(&fields[..hidden.start], out) && push_fields(&fields[hidden.end..], out);
    out.push(b'\n');
    if whole { Ok(()) } else { Err(MALFORMED_FIELDS) }
}

fn push_column(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(b'\t');
}

fn push_number(value: impl Into<i64>, out: &mut Vec<u8>) {
    push_integer(value.into(), out);
    out.push(b'\t');
}

fn reference_name(header: &Header, id: i32) -> &[u8] {
    let found = usize::try_from(id).ok().and_then(|id| header.references().get(id));
    found.map_or(b"*", |reference| &reference.name)
}

fn push_cigar(cigar: Cigar<'_>, out: &mut Vec<u8>) {
    for (op, length) in cigar.ops() {
        push_integer(i64::from(length), out);
        out.push(b"MIDNSHP=XB??????"[op as usize & 15]);
    }
    push_column(if cigar.is_empty() { b"*" } else { b"" }, out);
}

fn push_seq(seq: &[u8], l_seq: usize, out: &mut Vec<u8>) {
    if l_seq == 0 {
        return push_column(b"*", out);
    }
    let at = out.len();
    out.resize(at + 2 * seq.len(), 0);
    for (pair, &byte) in out[at..].chunks_exact_mut(2).zip(seq) {
        pair.copy_from_slice(&bases::PAIRS[usize::from(byte)]);
    }
    out.truncate(at + l_seq);
    out.push(b'\t');
}

fn push_qual(qual: &[u8], out: &mut Vec<u8>) {
    match qual.first() {
        None | Some(0xff) => out.push(b'*'),
        Some(_) => out.extend(qual.iter().map(|q| q.wrapping_add(33))),
    }
}

fn push_fields(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let mut fields = Fields::new(bytes);
    fields.by_ref().for_each(|field| write_field(field, out));
    fields.rest().is_empty()
}

pub fn write_field(field: Field<'_>, out: &mut Vec<u8>) {
    let Field { tag: [a, b], kind, value } = field;
    if matches!(kind, b'c' | b'C' | b's' | b'S' | b'i' | b'I') {
        out.extend_from_slice(&[b'\t', a, b, b':', b'i', b':']);
        return push_integer(read_integer(kind, value), out);
    }
    out.extend_from_slice(&[b'\t', a, b, b':', kind, b':']);
    match kind {
        b'B' => push_array(value, out),
        b'f' => push_float(first_bytes(value), f64::round_ties_even, out),
        b'd' => push_double(f64::from_le_bytes(first_bytes(value)), out),
        _ => out.extend_from_slice(value),
    }
}

fn push_array(value: &[u8], out: &mut Vec<u8>) {
    let Some((&[kind, _, _, _, _], elements)) = value.split_first_chunk() else { return };
    out.push(kind);
    let width = readmill_record::tag::value_bytes(kind).unwrap_or(1);
    for element in elements.chunks_exact(width) {
        out.push(b',');
        match kind {
            // htslib before 1.19 rounds halves up here, but to even in a field of type f.
            b'f' => push_float(first_bytes(element), f64::round, out),
            _ => push_integer(read_integer(kind, element), out),
        }
    }
}

fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn read_integer(kind: u8, bytes: &[u8]) -> i64 {
    match kind {
        b'c' => i64::from(i8::from_le_bytes(first_bytes(bytes))),
        b'C' => i64::from(u8::from_le_bytes(first_bytes(bytes))),
        b's' => i64::from(i16::from_le_bytes(first_bytes(bytes))),
        b'S' => i64::from(u16::from_le_bytes(first_bytes(bytes))),
        b'i' => i64::from(i32::from_le_bytes(first_bytes(bytes))),
        _ => i64::from(u32::from_le_bytes(first_bytes(bytes))),
    }
}

/// Appends `value` in decimal. Numbers below 10^8 take a fast path.
#[inline]
fn push_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let size = value.unsigned_abs();
    match u32::try_from(size) {
        Ok(size) if size < 100_000_000 => {
            let (digits, length) = decimal_digits(size);
            let end = out.len() + length;
            // A copy of a fixed length compiles to one instruction.
            out.extend_from_slice(&digits.to_le_bytes());
            out.truncate(end);
        }
        _ => push_large(size, out),
    }
}

/// Returns the digits of a number below 10^8, with the first one in the lowest byte, and their
/// count. Splits the number into groups of four, two and one digits in parallel within a word,
/// without a loop.
#[inline]
fn decimal_digits(value: u32) -> (u64, usize) {
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    // n * 10486 / 2^20 is n / 100 below 10,000, and n * 103 / 2^10 is n / 10 below 100.
    let hundreds = (fours * 10_486) >> 20 & 0x7f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    let ones = tens | (twos - 10 * tens) << 8;
    let zeros = (ones.trailing_zeros() as usize / 8).min(7);
    ((ones | 0x3030_3030_3030_3030) >> (8 * zeros), 8 - zeros)
}

#[cold]
fn push_large(mut rest: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a float, given by its bytes, in the format `%g`. `round` decides between two equally
/// close decimals.
fn push_float(bytes: [u8; 4], round: fn(f64) -> f64, out: &mut Vec<u8>) {
    let value = f64::from(f32::from_le_bytes(bytes));
    let size = value.abs();
    if !(1e-4..999_999.5).contains(&size) {
        return push_double(value, out);
    }
    let mut exponent = -4;
    let mut scale = 1e9;
    while size * scale >= 999_999.5 {
        scale /= 10.0;
        exponent += 1;
    }
    // Exact: the value has 24 bits, and 10^9 = 2^9 * 5^9, whose odd part has 21.
    let scaled = round(size * scale) as u32;
    let mut digits = [0; 6];
    let mut rest = scaled;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    push_general(&digits, exponent, out);
}

fn push_double(value: f64, out: &mut Vec<u8>) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value == 0.0 || value.is_infinite() {
        return out.extend_from_slice(if value == 0.0 { b"0" } else { b"inf" });
    }
    let mut text = [0u8; 16];
    let mut cursor = std::io::Cursor::new(&mut text[..]);
    let written = write!(cursor, "{value:.5e}");
    debug_assert!(written.is_ok());
    let length = cursor.position() as usize;
    let exponent = std::str::from_utf8(&text[8..length]).ok().and_then(|e| e.parse().ok());
    let digits = [text[0], text[2], text[3], text[4], text[5], text[6]];
    push_general(&digits, exponent.unwrap_or(0), out);
}

fn push_general(digits: &[u8; 6], exponent: i32, out: &mut Vec<u8>) {
    let significant = digits.iter().rposition(|&d| d != b'0').map_or(1, |last| last + 1);
    let whole = match exponent {
        0..=5 => exponent as usize + 1,
        -4..=-1 => 0,
        _ => 1,
    };
    if whole == 0 {
        out.extend_from_slice(&b"0.000"[..1 + exponent.unsigned_abs() as usize]);
        return out.extend_from_slice(&digits[..significant]);
    }
    out.extend_from_slice(&digits[..whole]);
    if significant > whole {
        out.push(b'.');
        out.extend_from_slice(&digits[whole..significant]);
    }
    if !(0..=5).contains(&exponent) {
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        push_integer(i64::from(exponent.abs()), out);
    }
}

#[cfg(test)]
mod tests {
    use super::push_integer;

    #[test]
    fn integers_have_their_digits() {
        let powers = (0..19).map(|n| 10i64.pow(n));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, 7 * power.min(1 << 59)]);
        let limits = [i64::MIN, i64::MAX, i64::from(u32::MAX), 12_345_678, 99_990_099];
        for value in near.chain(limits).chain(0..100_000).flat_map(|n| [n, n.wrapping_neg()]) {
            let mut text = b"x".to_vec();
            push_integer(value, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), format!("x{value}"));
        }
    }
}
