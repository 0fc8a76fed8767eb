//! Drops reads by the bits of FLAG.

use readmill_record::{Batch, Error, Flags, Result};

use crate::{Changes, Step};

/// What FLAG must be: all of these rules hold for reads that stay. Bits of 0 ask nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagRules {
    /// All of these bits are set (`--require-flags`, samtools view's `-f`).
    pub required: u16,
    /// None of these bits is set (`--exclude-flags`, `-F`).
    pub excluded: u16,
    /// At least one of these bits is set (`--include-flags`, `--rf`).
    pub any_of: u16,
    /// Not all of these bits are set (`--exclude-all-flags`, `-G`).
    pub excluded_together: u16,
}

impl FlagRules {
    /// Whether a read with these flags stays.
    pub fn keep(&self, flags: Flags) -> bool {
        let Flags(bits) = flags;
        bits & self.required == self.required
            && bits & self.excluded == 0
            && (self.any_of == 0 || bits & self.any_of != 0)
            && (self.excluded_together == 0 || bits & self.excluded_together != self.excluded_together)
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

/// The bits that `text` stands for: a number (decimal, `0x` hexadecimal, or octal after a 0) or names in any
/// case, between commas. Unlike samtools, which takes `P` for `PAIRED` and `4x` for 4, it takes whole ones only.
pub fn parse(text: &str) -> Result<u16> {
    let number = if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        u16::from_str_radix(digits, 16).ok()
    } else if text.len() > 1 && text.starts_with('0') {
        u16::from_str_radix(text, 8).ok()
    } else {
        text.parse().ok()
    };
    if let Some(number) = number {
        return Ok(number);
    }
    let mut bits = 0;
    for name in text.split(',') {
        let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((_, bit)) = known else {
            return Err(Error::usage(format!("{text:?} are no flags of a read")).hint(
                "give a number such as 0x904, or names such as UNMAP,SECONDARY,SUPPLEMENTARY \
                 (PAIRED PROPER_PAIR UNMAP MUNMAP REVERSE MREVERSE READ1 READ2 SECONDARY QCFAIL DUP \
                 SUPPLEMENTARY)",
            ));
        };
        bits |= bit;
    }
    Ok(bits)
}

/// Keeps the reads whose FLAG is as the rules have it.
#[derive(Clone)]
pub struct ByFlags {
    rules: FlagRules,
    dropped: u64,
}

impl ByFlags {
    /// The step that applies these rules.
    pub fn new(rules: FlagRules) -> Self {
        ByFlags { rules, dropped: 0 }
    }
}

impl Step for ByFlags {
    fn name(&self) -> &'static str {
        "flags"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes::drops()
    }

    fn by_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let before = batch.len();
        batch.retain(|_, record| self.rules.keep(record.flags()));
        self.dropped += (before - batch.len()) as u64;
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("reads dropped by their flags", self.dropped)]
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
            assert_eq!(parse(text), Ok(bits), "{text}");
        }
        let all = NAMES.map(|(name, _)| name).join(",");
        assert_eq!(parse(&all), Ok(0xFFF));
        for bad in ["", "P", "4x", "-1", "0x", "08", "65536", "UNMAP,", "unmapped", "0x10000"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_rule_by_itself_and_all_together() {
        let kept = |rules: FlagRules| -> Vec<u16> {
            [0, 1, 2, 3, 4, 5, 6, 7].into_iter().filter(|&bits| rules.keep(Flags(bits))).collect()
        };
        let none = FlagRules::default();
        assert_eq!(kept(none).len(), 8);
        assert_eq!(kept(FlagRules { required: 3, ..none }), [3, 7]);
        assert_eq!(kept(FlagRules { excluded: 3, ..none }), [0, 4]);
        assert_eq!(kept(FlagRules { any_of: 3, ..none }), [1, 2, 3, 5, 6, 7]);
        assert_eq!(kept(FlagRules { excluded_together: 3, ..none }), [0, 1, 2, 4, 5, 6]);
        let all = FlagRules { required: 1, excluded: 4, any_of: 3, excluded_together: 3 };
        assert_eq!(kept(all), [1]);
    }
}
