//! Finds the end of a VCF record, by the rules of htslib since 1.22: a structural variant may state
//! its length in END, in SVLEN, or in LEN of its samples. The farthest end counts.

use super::numbers::{MAX_POSITION, parse_saturated};

/// Types of symbolic alleles whose SVLEN is a length on the reference.
const ON_REFERENCE: [&[u8]; 4] = [b"<CNV", b"<DEL", b"<DUP", b"<INV"];

/// Alleles that stand for a block of bases in gVCF. LEN of the samples is the length of the block.
const BLOCK_ALLELES: [&[u8]; 2] = [b"<*>", b"<NON_REF>"];

/// Returns the base after the last one of a record that starts at `start` (0-based), or `None` if
/// the record has no REF. `columns` starts at ID; INFO, FORMAT and samples may be missing.
pub(super) fn record_end<'a>(start: i64, mut columns: impl Iterator<Item = &'a [u8]>) -> Option<i64> {
    let reference = columns.nth(1)?.len() as i64;
    let alleles = columns.next().unwrap_or_default();
    let info = columns.nth(2).unwrap_or_default();
    let stated = info_value(info, b"END").map_or(0, clamped_number);
    let mut length = reference.max(longest_on_reference(alleles, info));
    if alleles.split(|&byte| byte == b',').any(|allele| BLOCK_ALLELES.contains(&allele)) {
        length = length.max(longest_block(columns));
    }
    Some(stated.max(start + length))
}

fn longest_on_reference(alleles: &[u8], info: &[u8]) -> i64 {
    let Some(lengths) = info_value(info, b"SVLEN") else { return 0 };
    // SVLEN has a value for each allele. As in htslib, the text is split only at commas: if values
    // are missing, those of the next field are used.
    let lengths = lengths.split(|&byte| byte == b',');
    let alleles = alleles.split(|&byte| byte == b',').zip(lengths);
    let on_reference = alleles.filter(|(allele, _)| is_on_reference(allele));
    on_reference.map(|(_, length)| clamped_number(length).abs()).max().unwrap_or(0)
}

/// Returns whether the SVLEN of an allele is a length on the reference, as for `<DEL>` and
/// `<DEL:ME>`.
fn is_on_reference(allele: &[u8]) -> bool {
    let kind = allele.get(..4).is_some_and(|kind| ON_REFERENCE.contains(&kind));
    kind && matches!(allele.get(4), Some(b'>' | b':'))
}

fn longest_block<'a>(mut columns: impl Iterator<Item = &'a [u8]>) -> i64 {
    let mut keys = columns.next().unwrap_or_default().split(|&byte| byte == b':');
    let Some(at) = keys.position(|key| key == b"LEN") else { return 0 };
    let lengths = columns.filter_map(|sample| sample.split(|&byte| byte == b':').nth(at));
    lengths.map(clamped_number).max().unwrap_or(0)
}

/// Returns the text from after `KEY=` to the end of the INFO column.
fn info_value<'a>(info: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let behind = |text: &'a [u8]| text.strip_prefix(key)?.strip_prefix(b"=");
    let first = behind(info);
    first.or_else(|| memchr::memchr_iter(b';', info).find_map(|at| behind(&info[at + 1..])))
}

/// Returns the number at the start of `text`, or 0 if there is none. Clamps it to the largest
/// position that an index can store.
fn clamped_number(text: &[u8]) -> i64 {
    parse_saturated(text).unwrap_or(0).clamp(-MAX_POSITION, MAX_POSITION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends computed by `tbx_parse1` of htslib 1.24 (pysam 0.24.1) for records that start at base
    /// 100, which is 99 in 0-based positions.
    #[test]
    fn the_farthest_end_is_that_of_htslib() {
        let end = |line: &str| record_end(99, line.split(' ').map(str::as_bytes));
        for (line, expected) in [
            (". A C . . .", 100),
            (". ACGT C . . END=102", 103),
            (". ACGT C . . END=50", 103),
            (". A <DEL> . . SVLEN=-500", 599),
            (". A <DEL:ME> . . X=1;SVLEN=500;END=200", 599),
            (". A <DEL> . . END=900;SVLEN=-5", 900),
            (". A <DUP> . . SVLEN=500", 599),
            (". A <CNV:TR> . . SVLEN=500", 599),
            (". A <INV> . . SVLEN=500", 599),
            (". A <INS> . . SVLEN=500", 100),
            (". A <DELX> . . SVLEN=500", 100),
            (". A DEL . . SVLEN=500", 100),
            (". A <INS>,<DEL> . . SVLEN=700,500", 599),
            (". A <DEL>,<INS> . . SVLEN=.,500", 100),
            (". A C,<DEL> . . SVLEN=5;CIPOS=0,500", 599),
            (". A <DEL> . . XSVLEN=9;SVLEN=500", 599),
            (". A <DEL> . . XSVLEN=500", 100),
            (". A <*> . . . GT:LEN 0/0:500 0/0:700", 799),
            (". A <NON_REF> . . . LEN 500", 599),
            (". A <*> . . . GT:LEN 0/0", 100),
            (". A C . . . GT:LEN 0/0:500", 100),
            (". A <*> . . . GT 0/0", 100),
        ] {
            assert_eq!(end(line), Some(expected), "{line}");
        }
        assert_eq!(end(". A <DEL> . . SVLEN=99999999999"), Some(99 + i64::from(i32::MAX)));
        assert_eq!(end("."), None);
    }
}
