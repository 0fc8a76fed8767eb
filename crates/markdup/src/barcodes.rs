//! Barcodes, compared by 32-bit hashes of their text as in Picard.

use readmill_record::tag::{self, Tag};
use readmill_record::{Error, RecordRef, Result};

use super::item::ReadSummary;

/// The fields that hold barcodes. All are optional; without any, templates are compared by position
/// only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Barcodes {
    /// Barcode of the template (BARCODE_TAG).
    pub template: Option<Tag>,
    /// Barcode of read 1 (READ_ONE_BARCODE_TAG).
    pub first: Option<Tag>,
    /// Barcode of read 2 (READ_TWO_BARCODE_TAG).
    pub second: Option<Tag>,
    /// Whether the template's barcode has one half for each strand of the molecule (DUPLEX_UMI).
    pub duplex: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarcodeStrand {
    /// Read 1 is at the lower end of the template.
    Top,
    /// Read 1 is at the upper end of the template.
    Bottom,
    Unknown,
}

impl Barcodes {
    /// Returns the hashes of a read's barcodes, 32 bits each: template, read 1, read 2.
    ///
    /// # Errors
    /// A barcode field is not text or has invalid letters, or a duplex barcode is malformed.
    pub fn hash_barcodes(&self, record: RecordRef<'_>) -> Result<u128> {
        let template = match self.template {
            None => 0,
            Some(tag) => match require_text_field(record, tag)? {
                None => 31,
                Some(barcode) => 31i32.wrapping_add(self.hash_normalised(record, barcode)?),
            },
        };
        let flags = record.flags();
        let is_first = !flags.is_paired() || flags.is_first();
        let own = if is_first { self.first } else { self.second };
        let own = own
            .map(|tag| require_text_field(record, tag))
            .transpose()?
            .flatten()
            .map_or(0, hash_as_java);
        let (first, second) = if is_first { (own, 0) } else { (0, own) };
        Ok(u128::from(template as u32) << 64
            | u128::from(first as u32) << 32
            | u128::from(second as u32))
    }

    /// Combines the codes of two mates. Like Picard, it takes the template's barcode from the mate
    /// seen first.
    pub fn combine_codes(seen: &ReadSummary, arriving: &ReadSummary) -> u128 {
        let own = if arriving.first_segment { 0xffff_ffff << 32 } else { 0xffff_ffff };
        seen.code & !own | arriving.code & own
    }

    /// Returns the hash of a barcode. The halves of a duplex barcode are put in the order of the
    /// top strand, so that both strands of a molecule have the same hash.
    fn hash_normalised(&self, record: RecordRef<'_>, barcode: &[u8]) -> Result<i32> {
        if !barcode.iter().all(|b| b"ATCGNatcgn-".contains(b)) {
            return Err(illegal_barcode_error(
                record,
                barcode,
                "has characters other than A, C, G, T, N and -",
            ));
        }
        if !self.duplex {
            return Ok(hash_as_java(barcode));
        }
        let mut halves = barcode.split(|&b| b == b'-');
        let (Some(one), Some(two @ [_, ..]), None) = (halves.next(), halves.next(), halves.next())
        else {
            return Err(illegal_barcode_error(
                record,
                barcode,
                "does not have two halves joined by a hyphen",
            ));
        };
        Ok(if find_molecule_strand(record)? == BarcodeStrand::Bottom {
            hash_as_java(&[two, b"-", one].concat())
        } else {
            hash_as_java(barcode)
        })
    }
}

fn illegal_barcode_error(record: RecordRef<'_>, barcode: &[u8], why: &str) -> Error {
    Error::input(format!("the barcode {:?} {why}", String::from_utf8_lossy(barcode)))
        .qname(record.qname())
}

fn require_text_field(record: RecordRef<'_>, tag: Tag) -> Result<Option<&[u8]>> {
    let Some(field) = record.field(tag) else { return Ok(None) };
    if field.kind == b'Z' {
        return Ok(Some(field.value));
    }
    let tag = String::from_utf8_lossy(&tag);
    Err(Error::input(format!("the field {tag} is not text")).qname(record.qname()))
}

/// Returns Java's `String.hashCode`, which Picard uses to compare barcodes.
fn hash_as_java(text: &[u8]) -> i32 {
    text.iter().fold(0i32, |hash, &b| hash.wrapping_mul(31).wrapping_add(b.into()))
}

/// Returns the strand of the molecule: top if read 1 is at the lower end of the template (Picard,
/// UmiUtil), or [`BarcodeStrand::Unknown`] if a mate is unmapped.
///
/// # Errors
/// The read is not paired, or MC is missing or invalid.
pub fn find_molecule_strand(record: RecordRef<'_>) -> Result<BarcodeStrand> {
    let flags = record.flags();
    if flags.is_unmapped() {
        return Ok(BarcodeStrand::Unknown);
    }
    if !flags.is_paired() {
        return Err(Error::input("the read is not paired, so the strand of its molecule is unknown")
            .hint("use duplex UMIs only with paired reads")
            .qname(record.qname()));
    }
    if flags.is_mate_unmapped() {
        return Ok(BarcodeStrand::Unknown);
    }
    let left = if record.ref_id() == record.next_ref_id() {
        record.five_prime() <= parse_mate_five_prime(record)?
    } else {
        record.ref_id() < record.next_ref_id()
    };
    Ok(if flags.is_first() == left { BarcodeStrand::Top } else { BarcodeStrand::Bottom })
}

/// Returns the 0-based unclipped 5′ position of the mate, from PNEXT and MC.
fn parse_mate_five_prime(record: RecordRef<'_>) -> Result<i64> {
    let missing = || {
        Error::input("a duplex UMI needs the MC field of both mates")
            .hint("add it with readmill filter --fix-mates samtools; reads must be grouped by name")
            .qname(record.qname())
    };
    let cigar = require_text_field(record, tag::MC)?.ok_or_else(missing)?;
    let (mut length, mut leading, mut trailing, mut aligned) = (0i64, 0i64, 0i64, false);
    let mut rest = cigar;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let n = std::str::from_utf8(&rest[..digits]).ok().and_then(|n| n.parse::<i64>().ok());
        let (Some(n), Some(op)) = (n, rest.get(digits)) else { return Err(missing()) };
        rest = &rest[digits + 1..];
        match op {
            b'S' | b'H' if !aligned => leading = leading.saturating_add(n),
            b'S' | b'H' => trailing = trailing.saturating_add(n),
            _ => (aligned, trailing) = (true, 0),
        }
        if b"MDN=X".contains(op) {
            length = length.saturating_add(n);
        }
    }
    let pos = i64::from(record.next_pos());
    let reverse = record.flags().is_mate_reverse();
    Ok(if reverse {
        pos.saturating_add(length - 1).saturating_add(trailing)
    } else {
        pos.saturating_sub(leading)
    })
}
