//! Cases of malformed text, and of malformed bytes: damaged or truncated compressed text, and other
//! file formats.

use std::io::Write;

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use readmill_record::ErrorKind::Input;

use super::ParseOutcome::{self, Fault, Refused, Templates};

/// Longer than the maximum record in these tests.
const LONG: &[u8] = &{
    let mut text = [b'A'; 3000];
    text[0] = b'@';
    text[5] = b'\n';
    text
};

/// A name of 255 characters.
const LONG_NAME: &[u8] = &{
    let mut text = [b'n'; 264];
    text[0] = b'@';
    let rest = *b"\nA\n+\nI\n";
    let mut at = 0;
    while at < rest.len() {
        text[256 + at] = rest[at];
        at += 1;
    }
    text[263] = b'\n';
    text
};

pub fn single() -> Vec<(&'static str, &'static [u8], ParseOutcome)> {
    let mut cases = accepted();
    cases.extend(refused());
    cases.extend(cut_short());
    cases
}

fn accepted() -> Vec<(&'static str, &'static [u8], ParseOutcome)> {
    vec![
        ("a file of nothing", b"", Templates(0)),
        ("one newline", b"\n", Templates(0)),
        ("nothing but blank lines", b"\n\r\n\n", Templates(0)),
        ("a byte order mark and nothing", b"\xef\xbb\xbf", Templates(0)),
        ("one record", b"@a\nAC\n+\nII\n", Templates(1)),
        ("no newline at the end", b"@a\nAC\n+\nII", Templates(1)),
        ("blank lines at the end", b"@a\nA\n+\nI\n@b\nA\n+\nI\n\n\n\n", Templates(2)),
        ("blank lines at the start", b"\n\n@a\nA\n+\nI\n@b\nA\n+\nI\n", Templates(2)),
        ("blank lines in between", b"@a\nA\n+\nI\n\n@b\nA\n+\nI\n@c\nA\n+\nI\n", Templates(3)),
        ("a byte order mark", b"\xef\xbb\xbf@a\nA\n+\nI\n@b\nA\n+\nI\n", Templates(2)),
        ("lines that end by CR LF", b"@a\r\nAC\r\n+\r\nII\r\n@b\r\nA\r\n+\r\nI\r\n", Templates(2)),
        (
            "CR LF in one record alone",
            b"@a\nAC\n+\nII\n@b\r\nA\r\n+\r\nI\r\n@c\nA\n+\nI\n",
            Templates(3),
        ),
        ("CR at the very end", b"@a\nAC\n+\nII\r", Templates(1)),
        ("reads without bases", b"@a\n\n+\n\n@b\n\n+\n\n", Templates(2)),
        ("reads without bases, CR LF", b"@a\r\n\r\n+\r\n\r\n@b\r\nA\r\n+\r\nI\r\n", Templates(2)),
        ("a last read without bases, and no line for its qualities", b"@a\n\n+\n", Templates(1)),
        ("qualities that start with @", b"@a\nAC\n+\n@@\n@b\nAC\n+\n@I\n", Templates(2)),
        ("qualities that start with +", b"@a\nAC\n+\n+I\n@b\nAC\n+\n++\n", Templates(2)),
        ("qualities that look like a record", b"@a\nAC\n+\n@b\n@c\nA\n+\n+\n", Templates(2)),
        ("the name again behind the +", b"@a x\nAC\n+a x\nII\n", Templates(1)),
        ("another name behind the +", b"@a\nAC\n+b\nII\n", Templates(1)),
        ("bases on several lines", b"@a\nAC\nGT\nA\n+\nIIIII\n@b\nA\n+\nI\n", Templates(2)),
        ("qualities on several lines", b"@a\nACGT\n+\nI\nII\nI\n@b\nA\n+\nI\n", Templates(2)),
        (
            "qualities on several lines that look like records",
            b"@a\nACGT\n+\n@b\n+\n@\n@b\nA\n+\nI\n",
            Templates(2),
        ),
        ("a blank line among the bases", b"@a\nAC\n\nGT\n+\nIIII\n", Templates(1)),
        ("a blank line among the qualities", b"@a\nACGT\n+\nII\n\nII\n", Templates(1)),
        ("FASTA", b">a\nACGT\nAC\n>b\nAC\n", Templates(2)),
        ("FASTA without bases", b">a\n>b\nA\n>c", Templates(3)),
        ("FASTQ, then FASTA", b"@a\nA\n+\nI\n>b\nAC\n@c\nA\n+\nI\n", Templates(3)),
        ("> with qualities", b">a\nAC\n+\nII\n>b\nAC\n+\nII\n", Templates(2)),
        ("a name that ends by a blank", b"@a \nA\n+\nI\n", Templates(1)),
        ("letters that are no bases", b"@a\nA.*-=x\n+\nIIIIII\n", Templates(1)),
        ("qualities from ! to ~", b"@a\nAC\n+\n!~\n", Templates(1)),
    ]
}

fn refused() -> Vec<(&'static str, &'static [u8], ParseOutcome)> {
    vec![
        ("text that is no FASTQ", b"hello\nworld\n", Fault(Input, 0, 1, "where @ is expected")),
        ("one letter", b"x", Fault(Input, 0, 1, "where @ is expected")),
        ("half a byte order mark", b"\xef\xbb", Fault(Input, 0, 1, "where @ is expected")),
        ("zeros", b"\0\0\0\0\0\0\0\0", Fault(Input, 0, 1, "where @ is expected")),
        ("UTF-16", b"\xff\xfe@\0a\0\n\0", Fault(Input, 0, 1, "where @ is expected")),
        ("a blank before @", b" @a\nA\n+\nI\n", Fault(Input, 0, 1, "where @ is expected")),
        (
            "a blank line with a blank",
            b"@a\nA\n+\nI\n \n@b\nA\n+\nI\n",
            Fault(Input, 0, 2, "where @ is expected"),
        ),
        ("lines that end by CR alone", b"@a\rA\r+\rI\r", Fault(Input, 0, 1, "control character")),
        ("a record that starts with +", b"+a\nA\n+\nI\n", Fault(Input, 0, 1, "where @ is expected")),
        ("no name", b"@a\nA\n+\nI\n@\nA\n+\nI\n", Fault(Input, 0, 2, "no name")),
        ("no name but a comment", b"@ a\nA\n+\nI\n", Fault(Input, 0, 1, "no name")),
        ("a control character in a name", b"@a\x01\nA\n+\nI\n", Fault(Input, 0, 1, "control character")),
        ("a zero in a name", b"@a\0b\nA\n+\nI\n", Fault(Input, 0, 1, "control character")),
        ("a name that BAM cannot store", LONG_NAME, Fault(Input, 0, 1, "254")),
        ("a record that is too long", LONG, Fault(Input, 0, 1, "more than 2000 bytes")),
        ("no qualities", b"@a\nA\n@b\nA\n+\nI\n", Fault(Input, 0, 1, "no line starts with +")),
        ("no line of the +", b"@a\nA\nI\n@b\nA\n+\nI\n", Fault(Input, 0, 1, "no line starts with +")),
        ("fewer qualities than bases", b"@a\nACG\n+\nII\n@b\nA\n+\nI\n", Fault(Input, 0, 1, "3 bases")),
        (
            "more qualities than bases",
            b"@a\nACG\n+\nIIII\n@b\nA\n+\nI\n",
            Fault(Input, 0, 1, "4 qualities"),
        ),
        ("qualities of a read without bases", b"@a\n\n+\nI\n", Fault(Input, 0, 1, "0 bases")),
        (
            "a line of qualities is missing",
            b"@a\nA\n+\n@b\nA\n+\nI\n",
            Fault(Input, 0, 1, "2 qualities"),
        ),
        ("a blank among the bases", b"@a\nA C\n+\nIII\n", Fault(Input, 0, 1, "are not bases")),
        ("a tab behind the bases", b"@a\nAC\t\n+\nIII\n", Fault(Input, 0, 1, "are not bases")),
        ("a zero among the bases", b"@a\nA\0C\n+\nIII\n", Fault(Input, 0, 1, "are not bases")),
        ("letters beyond ASCII", b"@a\nA\xc3\xa4\n+\nIII\n", Fault(Input, 0, 1, "are not bases")),
        ("a blank among the qualities", b"@a\nACG\n+\nI I\n", Fault(Input, 0, 1, "are not qualities")),
        ("qualities as numbers", b"@a\nACG\n+\n40 40 40\n", Fault(Input, 0, 1, "8 qualities")),
        ("two CR at the end of a line", b"@a\nAC\r\r\n+\nIII\n", Fault(Input, 0, 1, "are not bases")),
        (
            "more than there is, late",
            b"@a\nA\n+\nI\n@b\nA\n+\nI\n@c\nA\n+\nI\nx\n",
            Fault(Input, 0, 4, "where @ is expected"),
        ),
        (
            "the second of three records",
            b"@a\nA\n+\nI\n@b\nAA\n+\nI\n@c\nA\n+\nI\n",
            Fault(Input, 0, 2, "2 bases"),
        ),
        (
            "a fault behind unusual records",
            b"@a\nA\nC\n+\nII\n\n@b\nAA\n+\nI\n",
            Fault(Input, 0, 2, "inside the record"),
        ),
    ]
}

/// One record, then the start of another.
fn cut_short() -> Vec<(&'static str, &'static [u8], ParseOutcome)> {
    let inside = || Fault(Input, 0, 2, "inside the record");
    vec![
        ("cut behind @", b"@a\nA\n+\nI\n@", Fault(Input, 0, 2, "no name")),
        ("cut in the name", b"@a\nA\n+\nI\n@b", inside()),
        ("cut behind the name", b"@a\nA\n+\nI\n@b\n", inside()),
        ("cut in the bases", b"@a\nA\n+\nI\n@b\nAC", inside()),
        ("cut behind the bases", b"@a\nA\n+\nI\n@b\nACG\n", inside()),
        ("cut behind the +", b"@a\nA\n+\nI\n@b\nACG\n+", inside()),
        ("cut before the qualities", b"@a\nA\n+\nI\n@b\nACG\n+\n", inside()),
        ("cut in the qualities", b"@a\nA\n+\nI\n@b\nACG\n+\nII", inside()),
        ("three lines", b"@a\nA\n+\nI\n@b\nACG\n+\n\n", inside()),
    ]
}

pub fn paired() -> Vec<(&'static str, &'static [u8], &'static [u8], ParseOutcome)> {
    const A: &[u8] = b"@a\nA\n+\nI\n";
    const AB: &[u8] = b"@a\nA\n+\nI\n@b\nA\n+\nI\n";
    const ABC: &[u8] = b"@a\nACGT\n+\nIIII\n@b\nA\n+\nI\n@c\nA\n+\nI\n";
    let no_mate = |file, record| Fault(Input, file, record, "no mate");
    vec![
        ("nothing twice", b"", b"", Templates(0)),
        ("names with /1 and /2", b"@a/1\nA\n+\nI\n", b"@a/2\nA\n+\nI\n", Templates(1)),
        ("names with other digits", b"@a/3\nA\n+\nI\n", b"@a\nA\n+\nI\n", Templates(1)),
        ("comments differ", b"@a 1:N\nA\n+\nI\n", b"@a 2:N\nA\n+\nI\n", Templates(1)),
        ("no newline at the end of one", AB, b"@a\nA\n+\nI\n@b\nA\n+\nI", Templates(2)),
        ("blank lines at the end of one", AB, b"@a\nA\n+\nI\n@b\nA\n+\nI\n\n\n", Templates(2)),
        ("several lines in one alone", AB, b"@a\nA\nC\n+\nI\nI\n@b\nA\n+\nI\n", Templates(2)),
        ("one is FASTA", AB, b">a\nA\n>b\nA\n", Templates(2)),
        ("the first is shorter", A, ABC, no_mate(1, 2)),
        ("the second is shorter", ABC, AB, no_mate(0, 3)),
        ("the first is empty", b"", A, no_mate(1, 1)),
        ("the second is empty", AB, b"", no_mate(0, 1)),
        ("the second is blank", AB, b"\n\n", no_mate(0, 1)),
        (
            "the second is cut in a record",
            ABC,
            b"@a\nA\n+\nI\n@b\nA\n+",
            Fault(Input, 1, 2, "inside the record"),
        ),
        ("another name", AB, b"@a\nA\n+\nI\n@c\nA\n+\nI\n", Fault(Input, 0, 2, "is named c")),
        ("names with .1 and .2", b"@a.1\nA\n+\nI\n", b"@a.2\nA\n+\nI\n", Templates(1)),
        (
            "names that are numbers and out of step",
            b"@a.1\nA\n+\nI\n@a.2\nA\n+\nI\n",
            b"@a.2\nA\n+\nI\n@a.3\nA\n+\nI\n",
            Fault(Input, 0, 1, "is named a.2"),
        ),
        ("names out of step", ABC, b"@b\nA\n+\nI\n@c\nA\n+\nI\n", Fault(Input, 0, 1, "is named b")),
        (
            "both faulty: the first record counts",
            b"@a\nA\n+\nI\n@b\nA\n+\n",
            b"@a\nA\n+\nII\n",
            Fault(Input, 1, 1, "2 qualities"),
        ),
    ]
}

pub fn interleaved() -> Vec<(&'static str, &'static [u8], ParseOutcome)> {
    vec![
        ("two reads", b"@a/1\nA\n+\nI\n@a/2\nA\n+\nI\n", Templates(1)),
        ("blank line at the end", b"@a\nA\n+\nI\n@a\nA\n+\nI\n\n", Templates(1)),
        ("three reads", b"@a\nA\n+\nI\n@a\nA\n+\nI\n@b\nA\n+\nI\n", Fault(Input, 0, 3, "no mate")),
        (
            "a read without its mate",
            b"@a\nA\n+\nI\n@b\nA\n+\nI\n@b\nA\n+\nI\n",
            Fault(Input, 0, 1, "is named b"),
        ),
        (
            "single reads",
            b"@a\nA\n+\nI\n@a\nA\n+\nI\n@c\nA\n+\nI\n@d\nA\n+\nI\n",
            Fault(Input, 0, 3, "is named d"),
        ),
        ("a faulty mate", b"@a\nA\n+\nI\n@a\nAC\n+\nI\n", Fault(Input, 0, 2, "inside the record")),
    ]
}

/// Three records.
const RECORDS: &[u8] = b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIIII\n@c\nACGT\n+\nIIII\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    member.write_all(text).unwrap();
    member.finish().unwrap()
}

fn bgzf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Deflater::new(Codec::default(), 1).deflate_block(text, &mut out);
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

pub fn packed() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let mut cases = gzip_cases();
    cases.extend(bgzf_cases());
    cases.extend(others());
    cases
}

fn gzip_cases() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let whole = gzip(RECORDS);
    let half = RECORDS.len() / 2;
    let (first, second) = (gzip(&RECORDS[..half]), gzip(&RECORDS[half..]));
    let body = 10 + 5; // the headers of gzip and of a stored block
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
    let half = RECORDS.len() / 2;
    let (first, second, end) = (bgzf(&RECORDS[..half]), bgzf(&RECORDS[half..]), EOF_BLOCK.to_vec());
    let whole = [first.clone(), second.clone(), end.clone()].concat();
    vec![
        ("BGZF", whole.clone(), Templates(3)),
        ("BGZF of nothing", end.clone(), Templates(0)),
        (
            "BGZF with an empty block inside",
            [first.clone(), end.clone(), second.clone(), end.clone()].concat(),
            Templates(3),
        ),
        ("BGZF without its last block", [first.clone(), second.clone()].concat(), Templates(3)),
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
            Fault(Input, 0, 4, "bytes after the BGZF EOF block"),
        ),
        ("BGZF and NUL bytes behind it", [whole.clone(), vec![0; 70_000]].concat(), Templates(3)),
        ("gzip and NUL bytes behind it", [gzip(RECORDS), vec![0; 70_000]].concat(), Templates(3)),
        ("BGZF and gzip behind it", [whole.clone(), gzip(b"@d\nA\n+\nI\n")].concat(), Templates(4)),
        (
            "BGZF without its last block, and gzip behind it",
            [first.clone(), gzip(&RECORDS[half..])].concat(),
            Templates(3),
        ),
        (
            "gzip and BGZF behind it",
            [gzip(&RECORDS[..half]), second.clone(), end.clone()].concat(),
            Templates(3),
        ),
        (
            "BGZF and gzip that is cut behind it",
            [whole.clone(), cut(gzip(b"@d\nA\n+\nI\n"), 9)].concat(),
            Fault(Input, 0, 4, ""),
        ),
    ]
}

fn others() -> Vec<(&'static str, Vec<u8>, ParseOutcome)> {
    let zstd = zstd::encode_all(RECORDS, 1).unwrap();
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
