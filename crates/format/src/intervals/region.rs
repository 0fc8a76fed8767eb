//! Regions as text: `contig`, `contig:base`, `contig:first-last`, `contig:first+`.

use readmill_record::header::ReferenceSequence as Contig;
use readmill_record::{Header, Ledger};

use crate::features::number;

/// A region: 0-based, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub contig: u32,
    pub start: u32,
    pub end: u32,
}

/// Whether the text means reads without a position.
pub(super) fn is_unmapped(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("unmapped")
}

/// The header of the reads, and the ledger that pays for their intervals.
#[derive(Clone, Copy)]
pub(super) struct ContigNames<'a> {
    pub header: &'a Header,
    pub ledger: &'a Ledger,
}

impl ContigNames<'_> {
    /// The index of a contig.
    pub(super) fn number(&self, name: &[u8]) -> Option<u32> {
        self.header.reference_id(name).map(|id| id as u32)
    }

    /// A contig by its index.
    pub(super) fn contig(&self, number: u32) -> &Contig {
        &self.header.references()[number as usize]
    }

    /// Checks that an interval does not extend beyond its contig, if its length is known.
    pub(super) fn check(&self, contig: u32, end: u32) -> Result<(), String> {
        let Contig { name, length } = self.contig(contig);
        if end > *length && *length > 0 {
            let name = String::from_utf8_lossy(name);
            return Err(format!("base {end} lies beyond the end of contig {name}, which has {length}"));
        }
        Ok(())
    }

    /// The region that the text means; `None` if it names no contig.
    ///
    /// Names of contigs may contain colons, as those of HLA alleles do: the whole text may be a name, or the
    /// part before its last colon. If both are names and the part after the colon can be parsed, the text is
    /// ambiguous.
    pub(super) fn region(&self, text: &str) -> Result<Option<Region>, String> {
        let text = text.trim();
        let whole = self.number(text.as_bytes()).map(|contig| {
            let end = self.contig(contig).length;
            Region { contig, start: 0, end }
        });
        let Some((name, range)) = text.rsplit_once(':') else { return Ok(whole) };
        let Some(contig) = self.number(name.as_bytes()) else { return Ok(whole) };
        let part = self.range(contig, range);
        match (whole, part) {
            (Some(_), Ok(_)) => Err(format!(
                "{text:?} can be contig {text} and a part of contig {name}: give the interval in a BED file"
            )),
            (Some(whole), Err(_)) => Ok(Some(whole)),
            (None, Err(what)) => Err(format!("{text:?}: {what}")),
            (None, Ok(part)) => match self.check(contig, part.end) {
                Ok(()) => Ok(Some(part)),
                Err(what) => Err(format!("{text:?}: {what}")),
            },
        }
    }

    /// A part of a contig, not checked against its length.
    fn range(&self, contig: u32, range: &str) -> Result<Region, String> {
        let base = |text: &str| {
            let digits = text.replace(',', "");
            number(digits.as_bytes()).ok_or_else(|| format!("{text:?} is not a position"))
        };
        let (first, last) = if let Some(first) = range.strip_suffix('+') {
            (base(first)?, self.contig(contig).length)
        } else if let Some((first, last)) = range.rsplit_once('-') {
            (base(first)?, base(last)?)
        } else {
            (base(range)?, base(range)?)
        };
        if first == 0 {
            return Err("the first base is 1".into());
        }
        if last < first {
            return Err(format!("it ends ({last}) before it starts ({first})"));
        }
        Ok(Region { contig, start: first - 1, end: last })
    }
}
