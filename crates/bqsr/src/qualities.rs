//! The base qualities of a read: its own, its original ones, or a default.

use readmill_record::tag::Tag;
use readmill_record::{Error, RecordRef, Result, tag};

use super::counters::MAX_QUALITY;

/// Whether a read has qualities (SAM specification, section 4.2: 0xFF means none).
pub fn are_present(record: RecordRef<'_>) -> bool {
    record.qual().first().is_some_and(|&quality| quality != 0xff)
}

/// Writes the qualities of a read (Phred): those of OQ if `original` and it has them, else its own, else
/// `default`.
pub fn of(record: RecordRef<'_>, original: bool, default: Option<u8>, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    let kept = record.field(tag::OQ).filter(|field| original && field.kind == b'Z');
    match kept.filter(|field| !field.value.is_empty()) {
        Some(field) => {
            out.extend(field.value.iter().map(|&c| c.wrapping_sub(b'!')));
            if out.len() != record.l_seq() {
                let what = format!("OQ has {} qualities for {} bases", out.len(), record.l_seq());
                return Err(Error::input(what).hint("drop --use-original-qualities"));
            }
        }
        None => match default.filter(|_| !are_present(record)) {
            Some(quality) => out.resize(record.l_seq(), quality),
            None => out.extend_from_slice(record.qual()),
        },
    }
    check(out)
}

/// Checks that no quality exceeds [`MAX_QUALITY`].
pub fn check(qualities: &[u8]) -> Result<()> {
    let largest = qualities.iter().copied().max().unwrap_or(0);
    if largest > MAX_QUALITY {
        return Err(Error::input(format!(
            "a base has quality {largest}, and {MAX_QUALITY} is the most"
        ))
        .hint("correct the qualities: were they encoded with another offset?"));
    }
    Ok(())
}

/// The quality of insertions and deletions without a field (Phred). GATK 4.6.2 has an option for it, which it
/// only lists in the report.
const GAP_QUALITY: u8 = 45;

/// Returns the qualities of insertions or deletions, from BI or BD, else 45 for all.
pub fn of_gaps(record: RecordRef<'_>, tag: Tag) -> Result<Vec<u8>> {
    let Some(field) = record.field(tag).filter(|field| field.kind == b'Z') else {
        return Ok(vec![GAP_QUALITY; record.l_seq()]);
    };
    let qualities: Vec<u8> = field.value.iter().map(|&c| c.wrapping_sub(b'!')).collect();
    if qualities.len() != record.l_seq() {
        let tag = String::from_utf8_lossy(&tag).into_owned();
        return Err(Error::input(format!("{tag} does not have one quality for each base"))
            .hint("remove or correct the field"));
    }
    check(&qualities)?;
    Ok(qualities)
}
