//! Bytes of inputs, built here so that they can have any error.

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};

/// The header of most inputs here.
pub const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000000\n@SQ\tSN:chr2\tLN:500000\n";

/// A record at `ref_id`:`pos` (from 0) with a CIGAR of 4M and these raw optional fields.
pub fn record(qname: &str, ref_id: i32, pos: i32, fields: &[u8]) -> Vec<u8> {
    let sequence = (&[0x12, 0x48][..], &[30, 31, 32, 33][..]);
    raw_record(qname, (ref_id, pos), &[4 << 4], sequence, fields)
}

/// A record with the given CIGAR operators, SEQ and QUAL as BAM stores them.
pub fn raw_record(
    qname: &str,
    (ref_id, pos): (i32, i32),
    cigar: &[u32],
    (seq, qual): (&[u8], &[u8]),
    fields: &[u8],
) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(ref_id.to_le_bytes());
    body.extend(pos.to_le_bytes());
    body.extend([qname.len() as u8 + 1, 60, 0, 0]);
    body.extend((cigar.len() as u16).to_le_bytes());
    body.extend(0u16.to_le_bytes());
    body.extend((qual.len() as u32).to_le_bytes());
    body.extend([0xff; 8]);
    body.extend([0; 4]);
    body.extend(qname.as_bytes());
    body.push(0);
    body.extend(cigar.iter().flat_map(|op| op.to_le_bytes()));
    body.extend([seq, qual, fields].concat());
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

/// Records in no order: `n` of them, of about `size` bytes each.
pub fn many(n: usize, size: usize) -> Vec<u8> {
    let filler = [b"XXZ", &vec![b'x'; size.saturating_sub(60)][..], b"\0"].concat();
    (0..n).flat_map(|i| record(&format!("r{i}"), 0, (i * 7919 % 900_000) as i32, &filler)).collect()
}

/// The header `text` as BAM has it, before compression; its @SQ lines are those of [`HEADER`].
pub fn bam_header(text: &str) -> Vec<u8> {
    let mut out = b"BAM\x01".to_vec();
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(2u32.to_le_bytes());
    for (name, length) in [("chr1", 1_000_000u32), ("chr2", 500_000)] {
        out.extend((name.len() as u32 + 1).to_le_bytes());
        out.extend(name.as_bytes());
        out.push(0);
        out.extend(length.to_le_bytes());
    }
    out
}

/// One BGZF block.
pub fn block(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Deflater::new(Codec::default(), 1).block(payload, &mut out);
    out
}

/// BGZF in blocks of `each` payload bytes, without the EOF block.
pub fn blocks(payload: &[u8], each: usize) -> Vec<Vec<u8>> {
    payload.chunks(each).map(block).collect()
}

/// A whole BGZF file.
pub fn bgzf(payload: &[u8]) -> Vec<u8> {
    let mut out = blocks(payload, 0xff00).concat();
    out.extend(EOF_BLOCK);
    out
}

/// A BAM file of these records.
pub fn bam(records: &[u8]) -> Vec<u8> {
    bgzf(&[bam_header(HEADER), records.to_vec()].concat())
}

/// A gzip member that is not BGZF.
pub fn gzip(payload: &[u8]) -> Vec<u8> {
    let member = block(payload);
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff], &member[18..]].concat()
}

/// SAM text: [`HEADER`] and a few mapped reads.
pub fn sam() -> String {
    let line = |i: usize| format!("r{i}\t0\tchr1\t{}\t60\t4M\t*\t0\t0\tACGT\tIIII\n", 900 - i * 7 % 300);
    HEADER.to_string() + &(0..40).map(line).collect::<String>()
}
