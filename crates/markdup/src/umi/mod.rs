//! Unique molecular identifiers (UMIs), which show which templates at one position come from the
//! same molecule.
//!
//! | step | module |
//! |---|---|
//! | a UMI as one number; one form for both strands of a duplex molecule | [`code`] |
//! | the UMI of a read, from a field, its name or its bases | [`source`] |
//! | clusters of UMIs that belong to one molecule | [`mod@cluster`] |
//!
//! [`Umis`] packs a UMI into the 128-bit code of an item:
//!
//! ```text
//!  bit 127                    126 … 1     bit 0
//!  strand, if it separates    UMI         strand, for the number of the molecule
//!  templates (not duplex)
//! ```

pub mod cluster;
pub mod code;
pub mod source;

pub use cluster::{Method, UmiCount, cluster_umis};
pub use code::{Strand, Umi};
pub use source::UmiSource;

use readmill_record::{Error, RecordRef, Result};

use super::item::ReadSummary;

/// How UMIs separate the templates at one position: where UMIs are read from, and how similar UMIs
/// are clustered.
#[derive(Clone, Debug)]
pub struct Umis {
    pub source: UmiSource,
    pub method: Method,
    pub edits: u32,
}

/// The strand bit that separates templates. It is not set if both strands are clustered together.
const SEPARATING_STRAND: u128 = 1 << 127;

impl Umis {
    /// Returns a read's part of its template's code.
    ///
    /// # Errors
    /// The UMI is invalid, or the method needs UMIs with two halves.
    pub fn compute_read_code(&self, record: RecordRef<'_>) -> Result<u128> {
        let umi = self.source.read_umi(record)?;
        if self.method == Method::Paired && umi.halves().is_none() && umi != Umi::NONE {
            let inline = matches!(self.source, UmiSource::Inline { .. });
            if !inline {
                return Err(Error::input(format!("the UMI {umi} does not have two halves"))
                    .hint("the method paired needs UMIs such as ACGT-TTGA")
                    .qname(record.qname()));
            }
        }
        Ok(umi.code())
    }

    pub fn compute_pair_code(&self, seen: &ReadSummary, arriving: &ReadSummary) -> u128 {
        let (first, last) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
        let umi = self.source.combine_segments(Umi::from_code(first.code), Umi::from_code(last.code));
        let strand = code::find_template_strand(&first.end, &last.end);
        let bit = u128::from(strand == Strand::B);
        if self.method.joins_strands() {
            code::normalise_umi(umi, strand).unwrap_or(umi).code() << 1 | bit
        } else {
            (bit * SEPARATING_STRAND) | umi.code() << 1 | bit
        }
    }

    /// Returns the code for comparing single reads and paired ends, from the UMIs of read 1 and
    /// read 2. A duplex UMI starts with the half of the end itself.
    pub fn compute_end_code(&self, first: Umi, last: Umi, is_first: bool) -> u128 {
        let umi = self.source.combine_segments(first, last);
        let strand = if is_first { Strand::A } else { Strand::B };
        let duplex = self.method.joins_strands();
        let umi = if duplex { code::normalise_umi(umi, strand).unwrap_or(umi) } else { umi };
        umi.code() << 1
    }

    pub fn compute_mate_code(
        &self,
        seen: &ReadSummary,
        arriving: &ReadSummary,
        mate: &ReadSummary,
    ) -> u128 {
        let (first, last) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
        let is_first = std::ptr::eq(mate, first);
        self.compute_end_code(Umi::from_code(first.code), Umi::from_code(last.code), is_first)
    }
}

pub fn code_separates(code: u128) -> bool {
    code & SEPARATING_STRAND != 0
}

pub fn code_umi(code: u128) -> Umi {
    Umi::from_code((code & !SEPARATING_STRAND) >> 1)
}

pub fn code_strand(code: u128) -> Strand {
    if code & 1 == 1 { Strand::B } else { Strand::A }
}

#[cfg(test)]
mod testing {
    use readmill_simulate::Rng;

    use super::Umi;

    /// Parses a UMI that is known to be valid.
    pub fn umi(text: &str) -> Umi {
        Umi::parse(text.as_bytes()).unwrap()
    }

    /// Returns a random text of `length` symbols.
    pub fn text(random: &mut Rng, symbols: &[u8], length: u64) -> String {
        (0..length).map(|_| char::from(random.pick(symbols))).collect()
    }
}
