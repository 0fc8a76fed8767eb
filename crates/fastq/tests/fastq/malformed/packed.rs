//! Cases of bytes: compressed text that is damaged or cut, and other kinds of files.

use std::io::Write;

use super::ParseOutcome::{self, Fault, Refused, Templates};
use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use readmill_record::ErrorKind::Input;

/// Three records.
const TEXT: &[u8] = b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIIII\n@c\nACGT\n+\nIIII\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    member.write_all(text).unwrap();
    member.finish().unwrap()
}

fn bgzf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Deflater::new(Codec::default(), 1).block(text, &mut out);
    out
}

fn with_byte(mut bytes: Vec<u8>, at: usize, value: u8) -> Vec<u8> {
    bytes[at] ^= value;
    bytes
}

fn cut(mut bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes.truncate(bytes.len() - by);
    bytes
}

pub fn cases() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let mut cases = gzip_cases();
    cases.extend(bgzf_cases());
    cases.extend(others());
    cases
}

fn gzip_cases() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let whole = gzip(TEXT);
    let half = TEXT.len() / 2;
    let (first, second) = (gzip(&TEXT[..half]), gzip(&TEXT[half..]));
    let body = 10 + 5; // the header of gzip, that of a stored block
    vec![
        ("gzip", whole.clone(), Templates(3)),
        ("gzip of nothing", gzip(b""), Templates(0)),
        ("gzip in two members", [first.clone(), second.clone()].concat(), Templates(3)),
        ("gzip with an empty member", [first.clone(), gzip(b""), second.clone()].concat(), Templates(3)),
        ("gzip cut in its header", whole[..9].to_vec(), Fault(Input, 0, 1, "truncated")),
        ("gzip cut in the second record", whole[..body + 20].to_vec(), Fault(Input, 0, 2, "truncated")),
        ("gzip cut between records", whole[..body + 15].to_vec(), Fault(Input, 0, 2, "truncated")),
        ("gzip cut before its checksum", cut(whole.clone(), 8), Fault(Input, 0, 4, "truncated")),
        ("gzip cut in its checksum", cut(whole.clone(), 3), Fault(Input, 0, 4, "truncated")),
        (
            "gzip cut in its second member",
            [first.clone(), cut(second, 2)].concat(),
            Fault(Input, 0, 4, "truncated"),
        ),
        (
            "gzip with a changed letter",
            with_byte(whole.clone(), body + 4, 2),
            Fault(Input, 0, 4, "damaged"),
        ),
        (
            "gzip with a changed checksum",
            {
                let n = whole.len();
                with_byte(whole.clone(), n - 6, 1)
            },
            Fault(Input, 0, 4, "damaged"),
        ),
        (
            "gzip and something behind it",
            [whole.clone(), b"hello".to_vec()].concat(),
            Fault(Input, 0, 4, ""),
        ),
        ("gzip twice", gzip(&whole), Fault(Input, 0, 1, "where @ is expected")),
    ]
}

fn bgzf_cases() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let half = TEXT.len() / 2;
    let (first, second, end) = (bgzf(&TEXT[..half]), bgzf(&TEXT[half..]), EOF_BLOCK.to_vec());
    let whole = [first.clone(), second.clone(), end.clone()].concat();
    vec![
        ("BGZF", whole.clone(), Templates(3)),
        ("BGZF of nothing", end.clone(), Templates(0)),
        (
            "BGZF with an empty block inside",
            [first.clone(), end.clone(), second.clone(), end.clone()].concat(),
            Templates(3),
        ),
        (
            "BGZF without its last block",
            [first.clone(), second.clone()].concat(),
            Fault(Input, 0, 4, "EOF block"),
        ),
        ("BGZF cut in a block", cut(whole.clone(), 40), Fault(Input, 0, 2, "ends inside a BGZF block")),
        (
            "BGZF cut in a header",
            [first.clone(), second[..7].to_vec()].concat(),
            Fault(Input, 0, 2, "ends inside"),
        ),
        (
            "BGZF with a changed checksum",
            {
                let n = first.len();
                with_byte(whole.clone(), n - 6, 1)
            },
            Fault(Input, 0, 1, "checksum"),
        ),
        (
            "BGZF and something behind it",
            [whole.clone(), b"hello, world, and so on".to_vec()].concat(),
            Fault(Input, 0, 4, "not a BGZF block"),
        ),
    ]
}

fn others() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let zstd = zstd::encode_all(TEXT, 1).unwrap();
    vec![
        ("Zstandard", zstd.clone(), Templates(3)),
        (
            "Zstandard in two frames",
            [zstd.clone(), zstd::encode_all(&b"@d\nA\n+\nI\n"[..], 1).unwrap()].concat(),
            Templates(4),
        ),
        ("Zstandard cut short", cut(zstd, 5), Fault(Input, 0, 1, "")),
        ("BAM", [bgzf(b"BAM\x01\0\0\0\0\0\0\0\0"), EOF_BLOCK.to_vec()].concat(), Refused("this is BAM")),
        ("BAM in gzip", gzip(b"BAM\x01\0\0\0\0"), Refused("this is BAM")),
        ("BAM without BGZF", b"BAM\x01\0\0\0\0".to_vec(), Refused("this is BAM")),
        ("CRAM", b"CRAM\x03\0rest".to_vec(), Refused("this is CRAM")),
        ("SAM", b"@HD\tVN:1.6\n@SQ\tSN:1\tLN:9\n".to_vec(), Refused("this is SAM")),
        ("SAM in gzip", gzip(b"@HD\tVN:1.6\n"), Refused("this is SAM")),
        ("bzip2", b"BZh91AY&SY".to_vec(), Refused("bzip2")),
        ("xz", b"\xfd7zXZ\0\0".to_vec(), Refused("xz")),
    ]
}
