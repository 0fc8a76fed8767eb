//! Checks how a file ends, from its first and last bytes, before the rest is read.

use readmill_record::{Error, Result};

use crate::bgzf::EOF_BLOCK;
use crate::{cram, text};

/// Bytes to read at the start and at the end of a file.
pub const LOOK: usize = 64;

/// Refuses a BGZF or CRAM file without its end-of-file marker; other formats have none to check.
pub fn check(start: &[u8], end: &[u8]) -> Result<()> {
    let what = if text::is_bgzf(start) && !end.ends_with(&EOF_BLOCK) {
        "the BGZF EOF block is missing at its end, so the file is truncated"
    } else if !cram::ends_well(start, end) {
        "the container that ends a CRAM file is missing, so the file is truncated"
    } else {
        return Ok(());
    };
    Err(Error::input(what).hint("get it again, or give --allow-missing-eof to read what is there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_file_is_told_by_its_format() {
        let bgzf = |end: &[u8]| check(&[&EOF_BLOCK[..], b"more"].concat(), end).is_ok();
        assert!(bgzf(&EOF_BLOCK) && bgzf(&[b"data", &EOF_BLOCK[..]].concat()));
        assert!(!bgzf(&EOF_BLOCK[..27]) && !bgzf(b"") && !bgzf(&[&EOF_BLOCK[..], b"\n"].concat()));
        let cram =
            |major, minor, end: &[u8]| check(&[b'C', b'R', b'A', b'M', major, minor, 0], end).is_ok();
        assert!(cram(3, 0, &cram::EOF) && cram(3, 1, &cram::EOF) && !cram(3, 0, &cram::EOF[..37]));
        // The marker that htslib and htsjdk write; they differ in the fourth byte of the contig.
        let old =
            b"\x0b\0\0\0\xff\xff\xff\xff\xff\xe0EOF\0\0\0\0\x01\0\0\x01\0\x06\x06\x01\0\x01\0\x01\0";
        assert!(cram(2, 1, old) && !cram(2, 1, &old[..29]) && !cram(2, 1, &cram::EOF));
        assert!(cram(2, 0, b"anything"), "which had no such container");
        assert!(check(b"@HD\tVN:1.6\n", b"anything").is_ok() && check(b"", b"").is_ok());
    }
}
