//! Unique molecular identifiers (UMIs), which say which templates of one position come from one molecule.
//!
//! | step | file |
//! |---|---|
//! | a UMI as one number; one number for both strands of a duplex molecule | [`code`] |
//! | the UMI of a read, from a field, its name or its bases | [`source`] |
//! | which UMIs of one position are one molecule | [`mod@cluster`] |
//!
//! [`Umis`] packs UMIs into the code of items: the strand that keeps templates apart, the UMI, the strand that does
//! not.

pub mod cluster;
pub mod code;
pub mod source;

pub use cluster::{Method, UmiCount, cluster};
pub use code::{Strand, Umi};
pub use source::UmiSource;

use readmill_record::{Error, RecordRef, Result};

use super::item::ReadSummary;

/// How UMIs keep templates of one position apart.
#[derive(Clone, Debug)]
pub struct Umis {
    /// Where they are.
    pub source: UmiSource,
    /// Which of them are one molecule.
    pub method: Method,
    /// How many symbols may differ.
    pub edits: u32,
}

/// The bit before the UMI.
const APART: u128 = 1 << 127;

impl Umis {
    /// Returns one read's share of the code.
    pub fn code(&self, record: RecordRef<'_>) -> Result<u128> {
        let umi = self.source.of(record)?;
        if self.method == Method::Paired && umi.halves().is_none() && umi != Umi::NONE {
            let inline = matches!(self.source, UmiSource::Inline { .. });
            if !inline {
                return Err(Error::input(format!("the UMI {umi} has not two halves"))
                    .hint("the method paired needs UMIs such as ACGT-TTGA")
                    .qname(record.qname()));
            }
        }
        Ok(umi.code())
    }

    /// The code of two mates.
    pub fn of_pair(&self, seen: &ReadSummary, arriving: &ReadSummary) -> u128 {
        let (first, last) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
        let umi = self.source.of_template(Umi::from_code(first.code), Umi::from_code(last.code));
        let strand = code::strand(&first.end, &last.end);
        let bit = u128::from(strand == Strand::B);
        if self.method.joins_strands() {
            code::normalise(umi, strand).unwrap_or(umi).code() << 1 | bit
        } else {
            (bit * APART) | umi.code() << 1 | bit
        }
    }

    /// Returns the code by which single reads and paired ends are compared, of the UMIs of both segments. A
    /// duplex UMI begins with that of the end itself.
    pub fn of_end(&self, first: Umi, last: Umi, is_first: bool) -> u128 {
        let umi = self.source.of_template(first, last);
        let strand = if is_first { Strand::A } else { Strand::B };
        let duplex = self.method.joins_strands();
        let umi = if duplex { code::normalise(umi, strand).unwrap_or(umi) } else { umi };
        umi.code() << 1
    }

    /// The same for one of two mates.
    pub fn of_mate(&self, seen: &ReadSummary, arriving: &ReadSummary, mate: &ReadSummary) -> u128 {
        let (first, last) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
        let is_first = std::ptr::eq(mate, first);
        self.of_end(Umi::from_code(first.code), Umi::from_code(last.code), is_first)
    }
}

/// The strand bit that keeps templates apart.
pub fn code_apart(code: u128) -> bool {
    code & APART != 0
}

/// The UMI in a code.
pub fn code_umi(code: u128) -> Umi {
    Umi::from_code((code & !APART) >> 1)
}

/// The strand in a code.
pub fn code_strand(code: u128) -> Strand {
    if code & 1 == 1 { Strand::B } else { Strand::A }
}

/// Helpers of the tests of UMIs.
#[cfg(test)]
mod testing {
    use readmill_simulate::Rng;

    use super::Umi;

    /// The UMI of a text.
    pub fn umi(text: &str) -> Umi {
        Umi::parse(text.as_bytes()).unwrap()
    }

    /// A random text of `length` of these symbols.
    pub fn text(random: &mut Rng, symbols: &[u8], length: u64) -> String {
        (0..length).map(|_| char::from(random.pick(symbols))).collect()
    }
}
