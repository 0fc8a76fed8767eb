//! Recognises files of other kinds that are given instead of files of reads, by their first bytes.

use readmill_record::Error;

/// First bytes of other kinds of files, their names, and the remedy.
const KINDS: [(&[u8], &str, &str); 11] = [
    (b"\x1f\x8b", "it is packed by gzip twice", "unpack it once: gunzip -c FILE"),
    (b"\x28\xb5\x2f\xfd", "it is packed by zstd", "unpack it: zstd -dc FILE"),
    (b"BZh", "it is packed by bzip2", "unpack it: bzip2 -dc FILE"),
    (b"\xfd7zXZ\0", "it is packed by xz", "unpack it: xz -dc FILE"),
    (b"PK\x03\x04", "it is a zip archive", "unpack it: unzip FILE"),
    (b"BAI\x01", "it is an index", "give the file it belongs to"),
    (b"CSI\x01", "it is an index", "give the file it belongs to"),
    (b"TBI\x01", "it is an index", "give the file it belongs to"),
    (
        b"##fileformat=VCF",
        "it is VCF",
        "give a BAM, SAM or CRAM file; known sites are given by --known-sites",
    ),
    (b"BCF", "it is BCF", "give a BAM, SAM or CRAM file; known sites are given by --known-sites"),
    (b">", "it is FASTA", "give a BAM, SAM or CRAM file; a reference is given by --reference"),
];

/// The error for text that is not SAM.
pub fn not_reads(text: &[u8]) -> Error {
    let known = KINDS.iter().find(|(start, ..)| text.starts_with(start));
    let lines: Vec<&[u8]> = text.splitn(4, |&byte| byte == b'\n').collect();
    let is_fastq = matches!(lines[..], [[b'@', ..], _, [b'+', ..], ..]);
    let (what, hint) = match known {
        _ if is_fastq => ("it is FASTQ", "align its reads first: readmill align REF R1 R2"),
        Some(&(_, what, hint)) => (what, hint),
        None => (
            "the first line after the header does not have the 11 fields of a record",
            "give a BAM, SAM or CRAM file",
        ),
    };
    Error::input(format!("this is none of BAM, SAM and CRAM: {what}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_kinds_of_files_are_named() {
        for (text, told) in [
            (&b"@r1\nACGT\n+\nIIII\n"[..], "FASTQ"),
            (b"@r1 comment\nAC\n+r1\nII", "FASTQ"),
            (b">chr1\nACGT\n", "FASTA"),
            (b"##fileformat=VCFv4.2\n", "VCF"),
            (b"BAI\x01\0\0", "index"),
            (b"\x1f\x8b\x08", "gzip twice"),
            (b"BZh9", "bzip2"),
            (b"@HD\tVN:1.6\nhello\nworld\n", "11 fields"),
            (b"", "11 fields"),
        ] {
            let error = not_reads(text).to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
    }
}
