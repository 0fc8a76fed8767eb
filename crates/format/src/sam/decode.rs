//! Parses SAM lines into BAM records.

use std::ops::Range;

use memchr::memchr;
use readmill_record::cigar::{consumes_query, consumes_reference};
use readmill_record::view::FIXED_BYTES;
use readmill_record::{Cigar, Detail, Error, Flags, Header, Result, bases, edit};

use super::fields::{append_fields, column_error, parse_flag, parse_integer, quoted_start};
use super::long_cigar;

/// Parses the tab-separated optional fields in `text`, and appends them as BAM stores them. Leaves
/// `out` unchanged on error.
///
/// The fields must follow the SAM specification (section 1.5): a tag is a letter followed by a
/// letter or digit, and all characters are printable. The aligner uses this for fields that it
/// copies from FASTQ comments. Fields of SAM lines are checked less strictly, as in htslib.
pub fn parse_fields(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let parsed = text.split(|&b| b == b'\t').try_for_each(|field| {
        let is_named =
            matches!(field, [a, b, b':', ..] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric());
        if !is_named || field.iter().any(|b| !matches!(b, b' '..=b'~')) {
            return Err(Error::input(format!(
                "{} is not an optional field of the form TAG:TYPE:VALUE",
                quoted_start(field)
            )));
        }
        append_fields(field, out)
    });
    parsed.inspect_err(|_| out.truncate(start))
}

/// A parser of SAM lines that share a header. It looks up reference sequences by name, and
/// remembers the last one.
///
/// ```
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Header, RecordRef};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let mut parser = LineParser::new(&header);
/// let mut raw = Vec::new();
/// parser.parse(b"r1\t99\tchr1\t100\t60\t4M\t=\t300\t204\tACGT\tIIII", &mut raw)?;
/// let record = RecordRef::new(&raw);
/// assert_eq!((record.ref_id(), record.pos()), (0, 99), "BAM counts positions from 0");
///
/// raw.clear();
/// let error = parser.parse(b"r2\t0\tchr9\t1\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut raw).unwrap_err();
/// assert!(error.to_string().contains("\"chr9\" is not in the header"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct LineParser {
    header: Header,
    /// The last reference sequence that was looked up: adjacent records usually have the same one.
    last: (Vec<u8>, i32),
    detail: Detail,
}

/// The fixed-size fields of a record: FLAG to TLEN, without CIGAR.
struct Placement {
    ref_id: i32,
    pos: i32,
    mapq: u8,
    flag: u16,
    next_ref_id: i32,
    next_pos: i32,
    tlen: i32,
}

impl LineParser {
    /// Returns a parser of the records that follow `header`. A reference sequence is also found by
    /// an alternative name (`AN`), unless another sequence has that name.
    pub fn new(header: &Header) -> Self {
        LineParser { header: header.clone(), last: (Vec::new(), -1), detail: Detail::Whole }
    }

    /// Sets how much of later records is decoded. With [`Detail::Flags`], records have no bases, no
    /// qualities and no optional fields; only the lengths of SEQ and QUAL are checked. Any other
    /// value decodes everything, because an optional field may hold the CIGAR.
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// Parses `line`, which has no line end, and appends the record as BAM stores it (including
    /// `block_size`). On error, `out` is unchanged, and the error names the read.
    pub fn parse(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.parse_line(line, memchr(0, line).is_none(), out)
    }

    /// Parses a line like [`LineParser::parse`]. `without_nul` says that the caller has already
    /// searched a whole block of text and found no NUL bytes, so that the line is not searched
    /// again.
    pub fn parse_line(&mut self, line: &[u8], without_nul: bool, out: &mut Vec<u8>) -> Result<()> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = out.len();
        self.append_record(line, without_nul, out).map_err(|error| {
            out.truncate(start);
            error.qname(line.split(|&b| b == b'\t').next().unwrap_or_default())
        })
    }

    fn append_record(&mut self, line: &[u8], without_nul: bool, out: &mut Vec<u8>) -> Result<()> {
        if !without_nul && memchr(0, line).is_some() {
            return Err(Error::input("the line contains a NUL byte"));
        }
        let (columns, fields) = split_columns(line)?;
        let mut place = self.parse_placement(&columns)?;
        let start = out.len();
        out.reserve(FIXED_BYTES + line.len());
        out.extend_from_slice(&[0; FIXED_BYTES]);
        append_name(columns[0], out)?;
        let mut cigar = out.len()..out.len();
        let mut covered = append_cigar(columns[5], out)?;
        cigar.end = out.len();
        if cigar.is_empty() {
            place.flag |= Flags::UNMAPPED;
        }
        let seq_length = (columns[9] != b"*").then_some(columns[9].len());
        covered.check_seq_length(&cigar, seq_length)?;
        check_qual_length(columns[10], seq_length.unwrap_or_default())?;
        if self.detail == Detail::Flags {
            let cigar = cigar.start - start..cigar.start - start;
            out.truncate(start + cigar.end);
            place.write_fixed_fields(&mut out[start..], place.bai_bin(covered.reference), cigar, 0);
            return Ok(());
        }
        let l_seq = append_seq(columns[9], out);
        append_qual(columns[10], l_seq, out)?;
        let (fields_at, stored) = (out.len(), cigar.len());
        append_fields(fields, out)?;
        if place.ref_id >= 0
            && place.pos >= 0
            && long_cigar::restore_long_cigar(out, &mut cigar, fields_at, l_seq)
        {
            covered = CoveredBases::of_operators(Cigar(&out[cigar.clone()]))?;
            covered.check_seq_length(&cigar, seq_length)?;
            let fields = &out[fields_at + cigar.len() - stored..];
            if long_cigar::find_long_cigar(&out[cigar.clone()], l_seq, fields).is_some() {
                // In BAM the second CIGAR would replace the first, as when htslib reads the record.
                return Err(Error::input(
                    "two CG fields contain a CIGAR that replaces the one in column 6",
                ));
            }
        }
        if cigar.len() / 4 > long_cigar::MAX_STORED_OPERATORS {
            long_cigar::store_long_cigar(out, &mut cigar, l_seq)?;
        }
        if out.len() - start > i32::MAX as usize {
            return Err(Error::input("the record is too long for BAM"));
        }
        let cigar = cigar.start - start..cigar.end - start;
        place.write_fixed_fields(&mut out[start..], place.bai_bin(covered.reference), cigar, l_seq);
        Ok(())
    }

    /// Parses FLAG to TLEN, except CIGAR. As in htslib, position 0 means no position, and a read
    /// without a position is unmapped.
    fn parse_placement(&mut self, columns: &[&[u8]; 11]) -> Result<Placement> {
        let mut flag = parse_flag(columns[1])
            .ok_or_else(|| column_error("FLAG", columns[1], "a number from 0 to 65535"))?;
        let mut ref_id = match columns[2] {
            b"*" => -1,
            name => self.find_reference(name)?,
        };
        let pos = parse_position("POS", columns[3])?;
        if pos < 0 {
            ref_id = -1;
        }
        if ref_id < 0 {
            flag |= Flags::UNMAPPED;
        }
        let mapq = parse_integer(columns[4]).and_then(|n| u8::try_from(n).ok());
        let mapq = mapq.ok_or_else(|| column_error("MAPQ", columns[4], "a number from 0 to 255"))?;
        let mut next_ref_id = match columns[6] {
            b"=" => ref_id,
            b"*" => -1,
            name => self.find_reference(name)?,
        };
        let next_pos = parse_position("PNEXT", columns[7])?;
        if next_pos < 0 {
            next_ref_id = -1;
        }
        let tlen = parse_integer(columns[8]).and_then(|n| i32::try_from(n).ok());
        let tlen = tlen.ok_or_else(|| column_error("TLEN", columns[8], "a whole number of 32 bits"))?;
        Ok(Placement { ref_id, pos, mapq, flag, next_ref_id, next_pos, tlen })
    }

    fn find_reference(&mut self, name: &[u8]) -> Result<i32> {
        if self.last.0 == name && self.last.1 >= 0 {
            return Ok(self.last.1);
        }
        let id = self.header.reference_id_by_any_name(name).ok_or_else(|| {
            Error::input(format!("the reference sequence {} is not in the header", quoted_start(name)))
                .hint(UNKNOWN_CONTIG_HINT)
        })?;
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = id;
        Ok(id)
    }
}

/// What to do if a read is on a contig that the header lacks. samtools removes the position of such
/// a read, and warns.
const UNKNOWN_CONTIG_HINT: &str =
    "add an @SQ line for it to the header, or make such reads unmapped: samtools view -b";

impl Placement {
    fn bai_bin(&self, span: i64) -> u16 {
        let span = if self.flag & Flags::UNMAPPED != 0 { 1 } else { span.max(1) };
        edit::bai_bin(self.pos.into(), i64::from(self.pos) + span)
    }

    fn write_fixed_fields(&self, raw: &mut [u8], bin: u16, cigar: Range<usize>, l_seq: usize) {
        let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
        put(4, &self.ref_id.to_le_bytes());
        put(8, &self.pos.to_le_bytes());
        put(12, &[(cigar.start - FIXED_BYTES) as u8, self.mapq]);
        put(14, &bin.to_le_bytes());
        put(16, &((cigar.len() / 4) as u16).to_le_bytes());
        put(18, &self.flag.to_le_bytes());
        put(20, &(l_seq as u32).to_le_bytes());
        put(24, &self.next_ref_id.to_le_bytes());
        put(28, &self.next_pos.to_le_bytes());
        put(32, &self.tlen.to_le_bytes());
        edit::set_block_size(raw, 0);
    }
}

fn split_columns(line: &[u8]) -> Result<([&[u8]; 11], &[u8])> {
    let mut columns = [&line[..0]; 11];
    let mut rest = line;
    for (n, column) in columns.iter_mut().enumerate() {
        // Testing byte by byte is faster for short columns.
        let tab = match n {
            0 | 9 | 10 => memchr(b'\t', rest),
            _ => rest.iter().position(|&byte| byte == b'\t'),
        };
        match tab {
            Some(tab) => (*column, rest) = (&rest[..tab], &rest[tab + 1..]),
            None if n == 10 => (*column, rest) = (rest, b""),
            None => {
                let what = format!("the line has {} of the 11 columns of SAM", n + 1);
                return Err(match line {
                    [b'@', b'H' | b'S' | b'R' | b'P' | b'C', b'D' | b'Q' | b'G' | b'O', b'\t', ..] => {
                        Error::input(format!("{what}: this is a header line among records"))
                            .hint("join SAM files with readmill merge")
                    }
                    _ => Error::input(what),
                });
            }
        }
    }
    Ok((columns, rest))
}

/// Appends the name with its NUL. An empty name, which BAM cannot store and CRAM loses, becomes
/// `*`.
fn append_name(name: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if name.len() > 254 {
        return Err(Error::input(format!("QNAME has {} bytes, but BAM allows 254", name.len())));
    }
    out.extend_from_slice(if name.is_empty() { b"*" } else { name });
    out.push(0);
    Ok(())
}

fn parse_position(column: &str, text: &[u8]) -> Result<i32> {
    let one_based = parse_integer(text).and_then(|n| i32::try_from(n).ok()).filter(|&n| n >= 0);
    let one_based =
        one_based.ok_or_else(|| column_error(column, text, "a number from 0 to 2147483647"))?;
    Ok(one_based - 1)
}

#[derive(Default)]
struct CoveredBases {
    reference: i64,
    query: i64,
}

impl CoveredBases {
    /// Returns the bases that the operators of a `CG` field cover. The field may contain operators
    /// for which SAM has no letter.
    fn of_operators(cigar: Cigar<'_>) -> Result<Self> {
        if cigar.ops().any(|(op, _)| op > 9) {
            return Err(Error::input("the CIGAR in CG has an operator that does not exist"));
        }
        Ok(CoveredBases { reference: cigar.reference_length(), query: cigar.query_length() })
    }

    fn check_seq_length(&self, cigar: &Range<usize>, l_seq: Option<usize>) -> Result<()> {
        match l_seq {
            Some(n) if !cigar.is_empty() && self.query != n as i64 => Err(Error::input(format!(
                "CIGAR covers {} bases of the read, but SEQ has {n}",
                self.query
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns the BAM number of an operator. `B` is no longer in the specification, but htslib has it.
fn operator_code(letter: u8) -> Option<u32> {
    b"MIDNSHP=XB".iter().position(|&b| b == letter).map(|op| op as u32)
}

fn append_cigar(text: &[u8], out: &mut Vec<u8>) -> Result<CoveredBases> {
    let mut covered = CoveredBases::default();
    if text == b"*" {
        return Ok(covered);
    }
    let bad = || column_error("CIGAR", text, "* or operators of MIDNSHP=X with lengths below 2^28");
    let (mut length, mut digits) = (0u32, false);
    for &b in text {
        if b.is_ascii_digit() {
            length = length * 10 + u32::from(b - b'0');
            digits = true;
            if length >= 1 << 28 {
                return Err(bad());
            }
            continue;
        }
        let op = operator_code(b).filter(|_| digits).ok_or_else(bad)?;
        out.extend_from_slice(&(length << 4 | op).to_le_bytes());
        covered.reference += if consumes_reference(op) { i64::from(length) } else { 0 };
        covered.query += if consumes_query(op) { i64::from(length) } else { 0 };
        (length, digits) = (0, false);
    }
    if digits || text.is_empty() { Err(bad()) } else { Ok(covered) }
}

/// htslib's `seq_nt16_table`: letters in either case, digits 0 to 3 for ACGT, anything else N.
static NIBBLES: [u8; 256] = {
    let mut table = bases::CODES;
    (table[b'0' as usize], table[b'1' as usize]) = (1, 2);
    (table[b'2' as usize], table[b'3' as usize]) = (4, 8);
    table
};

/// The packed byte for two bases, indexed by their letters as a little-endian number. A table of
/// pairs halves the number of lookups, and few of its entries are used.
static PAIRS: [u8; 1 << 16] = {
    let mut table = [0; 1 << 16];
    let mut pair = 0;
    while pair < table.len() {
        let [first, second] = (pair as u16).to_le_bytes();
        table[pair] = NIBBLES[first as usize] << 4 | NIBBLES[second as usize];
        pair += 1;
    }
    table
};

fn append_seq(text: &[u8], out: &mut Vec<u8>) -> usize {
    if text == b"*" {
        return 0;
    }
    let at = out.len();
    out.resize(at + text.len().div_ceil(2), 0);
    let pairs = text.chunks_exact(2);
    if let (Some(last), &[odd]) = (out.last_mut(), pairs.remainder()) {
        *last = NIBBLES[usize::from(odd)] << 4;
    }
    for (byte, pair) in out[at..].iter_mut().zip(pairs) {
        *byte = PAIRS[usize::from(u16::from_le_bytes([pair[0], pair[1]]))];
    }
    text.len()
}

fn check_qual_length(text: &[u8], l_seq: usize) -> Result<()> {
    if text == b"*" || text.len() == l_seq {
        return Ok(());
    }
    Err(Error::input(format!("SEQ has {l_seq} bases, but QUAL has {}", text.len())))
}

/// Appends QUAL as Phred values, or 255 for each base if the column is `*`.
fn append_qual(text: &[u8], l_seq: usize, out: &mut Vec<u8>) -> Result<()> {
    if text == b"*" {
        out.resize(out.len() + l_seq, 0xff);
        return Ok(());
    }
    let at = out.len();
    out.extend(text.iter().map(|b| b.wrapping_sub(33)));
    // As in htslib, values from 94 to 127 are accepted, though no printable character encodes them.
    if out[at..].iter().fold(0, |all, b| all | b) > 127 {
        return Err(Error::input("QUAL contains a character that is not a quality"));
    }
    Ok(())
}
