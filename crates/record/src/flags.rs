//! FLAG, the bit field of SAM column 2.

use std::str::FromStr;

use crate::error::{Error, Result};

/// FLAG of a record (SAM specification, section 1.4).
///
/// ```
/// use readmill_record::Flags;
///
/// let flags: Flags = "PAIRED,READ1,REVERSE".parse()?;
/// assert_eq!(flags, Flags(0x51));
/// assert!(flags.is_first() && flags.is_reverse() && flags.is_primary());
/// assert_eq!("0x904".parse::<Flags>()?.0, 0x904);
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident $test:ident = $bit:literal;)*) => {
        impl Flags {
            $($(#[$doc])* pub const $name: u16 = $bit;)*
            $($(#[$doc])* pub fn $test(self) -> bool { self.0 & $bit != 0 })*
        }
    };
}

bits! {
    /// The template has more than one segment. Without this bit, nothing can be assumed about
    /// 0x2, 0x8, 0x20, 0x40 and 0x80.
    PAIRED is_paired = 0x1;
    PROPER is_proper = 0x2;
    UNMAPPED is_unmapped = 0x4;
    MATE_UNMAPPED is_mate_unmapped = 0x8;
    REVERSE is_reverse = 0x10;
    MATE_REVERSE is_mate_reverse = 0x20;
    FIRST is_first = 0x40;
    LAST is_last = 0x80;
    SECONDARY is_secondary = 0x100;
    QC_FAIL is_qc_fail = 0x200;
    DUPLICATE is_duplicate = 0x400;
    SUPPLEMENTARY is_supplementary = 0x800;
}

impl Flags {
    /// Returns whether this is the primary alignment of its read: neither secondary nor supplementary.
    pub fn is_primary(self) -> bool {
        self.0 & (Self::SECONDARY | Self::SUPPLEMENTARY) == 0
    }
}

/// Names of the bits, as `samtools flags` prints them.
const NAMES: [(&str, u16); 12] = [
    ("PAIRED", Flags::PAIRED),
    ("PROPER_PAIR", Flags::PROPER),
    ("UNMAP", Flags::UNMAPPED),
    ("MUNMAP", Flags::MATE_UNMAPPED),
    ("REVERSE", Flags::REVERSE),
    ("MREVERSE", Flags::MATE_REVERSE),
    ("READ1", Flags::FIRST),
    ("READ2", Flags::LAST),
    ("SECONDARY", Flags::SECONDARY),
    ("QCFAIL", Flags::QC_FAIL),
    ("DUP", Flags::DUPLICATE),
    ("SUPPLEMENTARY", Flags::SUPPLEMENTARY),
];

/// Parses FLAG bits: a number (decimal, `0x` hexadecimal, or octal after a leading 0), or names
/// separated by commas, in upper or lower case. Only whole names and numbers are accepted; samtools also
/// takes `P` for `PAIRED` and `4x` for 4.
impl FromStr for Flags {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            u16::from_str_radix(digits, 16).ok()
        } else if text.len() > 1 && text.starts_with('0') {
            u16::from_str_radix(text, 8).ok()
        } else {
            text.parse().ok()
        };
        if let Some(number) = number {
            return Ok(Flags(number));
        }
        let mut bits = 0;
        for name in text.split(',') {
            let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let Some((_, bit)) = known else {
                return Err(Error::usage(format!("{text:?} is not a valid FLAG")).hint(
                    "give a number such as 0x904, or names such as UNMAP,SECONDARY,SUPPLEMENTARY \
                     (PAIRED PROPER_PAIR UNMAP MUNMAP REVERSE MREVERSE READ1 READ2 SECONDARY QCFAIL DUP \
                     SUPPLEMENTARY)",
                ));
            };
            bits |= bit;
        }
        Ok(Flags(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_numbers_or_names() {
        for (text, bits) in [
            ("4", 4),
            ("0", 0),
            ("0x904", 0x904),
            ("0X10", 16),
            ("010", 8),
            ("unmap", 4),
            ("UNMAP,SECONDARY,SUPPLEMENTARY", 0x904),
            ("Paired,read1,PAIRED", 0x41),
        ] {
            assert_eq!(text.parse(), Ok(Flags(bits)), "{text}");
        }
        let all = NAMES.map(|(name, _)| name).join(",");
        assert_eq!(all.parse(), Ok(Flags(0xFFF)));
        for bad in ["", "P", "4x", "-1", "0x", "08", "65536", "UNMAP,", "unmapped", "0x10000"] {
            assert!(bad.parse::<Flags>().is_err(), "{bad}");
        }
    }
}
