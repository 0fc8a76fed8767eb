//! The flags `--require-flags`, `--exclude-flags`, `--include-flags` and `--exclude-all-flags`:
//! keep or drop reads by FLAG bits.

use readmill_record::{Detail, Flags, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        flag_bits_flag(
            "require-flags",
            "Keep only reads with all of these bits in FLAG, such as 0x5 or PAIRED,UNMAP",
        )
        .with_samtools_names(&["f"]),
        flag_bits_flag("exclude-flags", "Drop reads with any of these bits")
            .with_aliases(&["excl-flags"])
            .with_samtools_names(&["F"]),
        flag_bits_flag("include-flags", "Keep only reads with any of these bits")
            .with_aliases(&["rf", "incl-flags"]),
        flag_bits_flag("exclude-all-flags", "Drop reads with all of these bits")
            .with_samtools_names(&["G"]),
    ],
    parse: |given, filters| {
        let rules = FlagRules {
            required: given.flag_bits("require-flags")?,
            excluded: given.flag_bits("exclude-flags")?,
            any_of: given.flag_bits("include-flags")?,
            excluded_together: given.flag_bits("exclude-all-flags")?,
        };
        if rules != FlagRules::default() {
            filters.add_filter(rules);
        }
        Ok(())
    },
};

const fn flag_bits_flag(name: &'static str, help: &'static str) -> Flag {
    Flag::with_value(name, FlagValue::Flags, "FLAGS", help).repeatable()
}

/// Keeps reads whose FLAG satisfies all of these rules. A rule of 0 has no effect.
///
/// ```
/// use readmill_filters::FlagRules;
/// use readmill_record::Flags;
///
/// let rules = FlagRules { required: Flags::PAIRED, excluded: Flags::DUPLICATE, ..FlagRules::default() };
/// assert!(rules.keeps_flags(Flags(Flags::PAIRED | Flags::PROPER)));
/// assert!(!rules.keeps_flags(Flags(Flags::PAIRED | Flags::DUPLICATE)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagRules {
    /// All of these bits must be set (`--require-flags`, samtools view `-f`).
    pub required: u16,
    /// None of these bits may be set (`--exclude-flags`, `-F`).
    pub excluded: u16,
    /// At least one of these bits must be set (`--include-flags`, `--rf`).
    pub any_of: u16,
    /// These bits must not all be set (`--exclude-all-flags`, `-G`).
    pub excluded_together: u16,
}

impl FlagRules {
    pub fn keeps_flags(&self, flags: Flags) -> bool {
        let Flags(bits) = flags;
        bits & self.required == self.required
            && bits & self.excluded == 0
            && (self.any_of == 0 || bits & self.any_of != 0)
            && (self.excluded_together == 0 || bits & self.excluded_together != self.excluded_together)
    }
}

impl Filter for FlagRules {
    fn command_words(&self) -> Vec<String> {
        let rules = [
            ("--require-flags", self.required),
            ("--exclude-flags", self.excluded),
            ("--include-flags", self.any_of),
            ("--exclude-all-flags", self.excluded_together),
        ];
        let rules = rules.into_iter().filter(|(_, bits)| *bits != 0);
        rules.flat_map(|(flag, bits)| flag_with_value(flag, bits)).collect()
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.into_step()))
    }
}

impl Criterion for FlagRules {
    fn name(&self) -> &'static str {
        "flags"
    }

    fn dropped_label(&self) -> &'static str {
        "reads dropped by their flags"
    }

    fn detail(&self) -> Detail {
        Detail::Flags
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(self.keeps_flags(record.flags()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_by_itself_and_all_together() {
        let kept = |rules: FlagRules| -> Vec<u16> {
            [0, 1, 2, 3, 4, 5, 6, 7].into_iter().filter(|&bits| rules.keeps_flags(Flags(bits))).collect()
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
