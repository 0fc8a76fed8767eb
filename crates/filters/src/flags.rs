//! Drops reads by the bits of FLAG.

use readmill_record::{Batch, Flags, Result};

use readmill_record::{Changes, Step};

/// Rules for FLAG, all of which hold for reads that stay. A rule of 0 has no effect.
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

/// Keeps the reads whose FLAG satisfies the rules.
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
