//! Recognizes files by their first and last bytes: files without reads, and truncated files.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::EOF_BLOCK;
use readmill_format::text;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, Result};

const KINDS: [(&[u8], &str, &str); 13] = [
    (b"\x1f\x8b", ": compressed twice with gzip", "decompress it once: gunzip -c FILE"),
    (b"\x28\xb5\x2f\xfd", ": compressed with zstd", "decompress it: zstd -dc FILE"),
    (b"BZh", ": compressed with bzip2", "decompress it: bzip2 -dc FILE"),
    (b"\xfd7zXZ\0", ": compressed with xz", "decompress it: xz -dc FILE"),
    (b"\xff\xfe", UTF_16, TO_UTF_8),
    (b"\xfe\xff", UTF_16, TO_UTF_8),
    (b"PK\x03\x04", ", but a zip archive", "unpack it: unzip FILE"),
    (b"BAI\x01", ", but an index", "give the file that it belongs to"),
    (b"CSI\x01", ", but an index", "give the file that it belongs to"),
    (b"TBI\x01", ", but an index", "give the file that it belongs to"),
    (
        b"##fileformat=VCF",
        ", but VCF",
        "give a BAM, SAM or CRAM file; pass known sites with --known-sites",
    ),
    (b"BCF", ", but BCF", "give a BAM, SAM or CRAM file; pass known sites with --known-sites"),
    (b">", ", but FASTA", "give a BAM, SAM or CRAM file; pass a reference with --reference"),
];

const UTF_16: &str = ", but text in UTF-16";
const TO_UTF_8: &str = "convert it: iconv -f UTF-16 -t UTF-8 FILE";

/// Returns the error for text that is not SAM. If the file format is recognized, the error names it
/// and says what to do.
pub fn not_reads_error(text: &[u8]) -> Error {
    let known = KINDS.iter().find(|(start, ..)| text.starts_with(start));
    let is_fastq = ReadsFormat::recognize(text) == Some(ReadsFormat::Fastq);
    let (what, hint) = match known {
        _ if is_fastq => (", but FASTQ", "align its reads first: readmill align REF R1 R2"),
        Some(&(_, what, hint)) => (what, hint),
        None => (
            ": the first line after the header does not have the 11 fields of a record",
            "give a BAM, SAM or CRAM file",
        ),
    };
    Error::input(format!("this is not BAM, SAM or CRAM{what}")).hint(hint)
}

const ENDING_BYTES: usize = 64;

/// Checks the end-of-file marker of a BGZF or CRAM file of `size` bytes. Other formats have none.
///
/// # Errors
/// The end-of-file marker is missing, or is followed by other bytes. A file that cannot be read is
/// not an error here; opening it reports that.
pub fn check_file_ending(file: &File, size: u64) -> Result<()> {
    let look = size.min(ENDING_BYTES as u64);
    let mut start = vec![0; look as usize];
    let mut end = start.clone();
    let read =
        file.read_exact_at(&mut start, 0).and_then(|()| file.read_exact_at(&mut end, size - look));
    if read.is_err() {
        return Ok(());
    }
    check_ending(&start, &end).or_else(|error| match text::is_bgzf(&start) {
        true => explain_bad_ending(file, size, error),
        false => Err(error),
    })
}

/// Returns an error if the end of a file shows that it is truncated, so that this is reported
/// before anything is read or written. Pipes are not checked.
///
/// # Errors
/// Those of [`check_file_ending`], for the first such file.
pub fn check_file_ends<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    paths.into_iter().try_for_each(|path| {
        // A file that cannot be opened is reported later, when it is opened for reading.
        let size = std::fs::metadata(path).ok().filter(|meta| meta.is_file()).map(|meta| meta.len());
        let file = size.and_then(|_| File::open(path).ok()).filter(|_| path.as_os_str() != "-");
        let Some((file, size)) = file.zip(size) else { return Ok(()) };
        check_file_ending(&file, size).map_err(|error| error.file(path))
    })
}

/// Scans the blocks of a file that does not end with the EOF block, to find the reason. Returns
/// `error`, or a more specific one if bytes follow the EOF block. After the blocks of SAM text,
/// other bytes are accepted; the reader of the text checks them.
fn explain_bad_ending(file: &File, size: u64, error: Error) -> Result<()> {
    let mut peek = vec![0; size.min(1 << 16) as usize];
    let read = file.read_exact_at(&mut peek, 0);
    let is_text = read.is_ok() && !inflated_start(&peek).starts_with(bam_header::MAGIC);
    let (mut at, mut after_eof) = (0, false);
    while at < size {
        let mut head = [0; 28];
        let n = (size - at).min(head.len() as u64) as usize;
        if file.read_exact_at(&mut head[..n], at).is_err() {
            return Err(error);
        }
        if !text::is_bgzf(&head[..n]) || n < 18 {
            let is_tail = head[0] == 0 || n >= 4 && head[..3] == [0x1f, 0x8b, 8] && head[3] & 4 == 0;
            return match (is_text && is_tail, after_eof) {
                (true, _) => Ok(()),
                (false, true) => Err(Error::input(format!(
                    "{} bytes follow the BGZF EOF block, but they are not BGZF",
                    size - at
                ))
                .hint(format!("remove them: head -c {at} FILE > NEW"))),
                (false, false) => Err(error),
            };
        }
        after_eof = head[..n] == EOF_BLOCK;
        at += u64::from(u16::from_le_bytes([head[16], head[17]])) + 1;
    }
    Err(error)
}

fn check_ending(start: &[u8], end: &[u8]) -> Result<()> {
    let what = if text::is_bgzf(start) && !end.ends_with(&EOF_BLOCK) {
        "the BGZF EOF block is missing at the end, so the file is truncated"
    } else if !readmill_cram::has_valid_end(start, end) {
        "the EOF container of CRAM is missing at the end, so the file is truncated"
    } else {
        return Ok(());
    };
    Err(Error::input(what)
        .hint("download or create it again; if it ends between two blocks, --allow-missing-eof reads what is there"))
}

/// Returns up to 16 inflated bytes of gzip data, to recognize its content.
pub(crate) fn inflated_start(packed: &[u8]) -> Vec<u8> {
    let mut start = Vec::new();
    // The data may be truncated anywhere. Damage is reported when all of it is read.
    let _ = flate2::read::GzDecoder::new(packed).take(16).read_to_end(&mut start);
    start
}

#[cfg(test)]
mod tests {
    use readmill_cram as cram;

    use super::*;

    #[test]
    fn other_kinds_of_files_are_named() {
        for (text, told) in [
            (&b"@r1\nACGT\n+\nIIII\n"[..], "FASTQ"),
            (b"@r1 comment\nAC\n+r1\nII", "FASTQ"),
            (b">chr1\nACGT\n", "FASTA"),
            (b"##fileformat=VCFv4.2\n", "VCF"),
            (b"BAI\x01\0\0", "index"),
            (b"\x1f\x8b\x08", "twice with gzip"),
            (b"BZh9", "bzip2"),
            (b"@HD\tVN:1.6\nhello\nworld\n", "11 fields"),
            (b"", "11 fields"),
        ] {
            let error = not_reads_error(text).to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
    }

    #[test]
    fn what_ends_a_file_is_told_by_its_format() {
        let bgzf = |end: &[u8]| check_ending(&[&EOF_BLOCK[..], b"more"].concat(), end).is_ok();
        assert!(bgzf(&EOF_BLOCK) && bgzf(&[b"data", &EOF_BLOCK[..]].concat()));
        assert!(!bgzf(&EOF_BLOCK[..27]) && !bgzf(b"") && !bgzf(&[&EOF_BLOCK[..], b"\n"].concat()));
        let cram = |major, minor, end: &[u8]| {
            check_ending(&[b'C', b'R', b'A', b'M', major, minor, 0], end).is_ok()
        };
        assert!(cram(3, 0, &cram::EOF) && cram(3, 1, &cram::EOF) && !cram(3, 0, &cram::EOF[..37]));
        // The marker of CRAM 2.1; htslib's and htsjdk's differ in the fourth byte of the contig.
        let old =
            b"\x0b\0\0\0\xff\xff\xff\xff\xff\xe0EOF\0\0\0\0\x01\0\0\x01\0\x06\x06\x01\0\x01\0\x01\0";
        assert!(cram(2, 1, old) && !cram(2, 1, &old[..29]) && !cram(2, 1, &cram::EOF));
        assert!(cram(2, 0, b"anything"), "which had no such container");
        assert!(check_ending(b"@HD\tVN:1.6\n", b"anything").is_ok() && check_ending(b"", b"").is_ok());
    }
}
