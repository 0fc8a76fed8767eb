//! The flags `--add-flags` and `--remove-flags`: set and clear FLAG bits in all reads.

use readmill_record::{Batch, Changes, Result, Step, edit};

use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value("add-flags", FlagValue::Flags, "FLAGS", "Set these bits of FLAG in all reads")
            .repeatable(),
        Flag::with_value(
            "remove-flags",
            FlagValue::Flags,
            "FLAGS",
            "Clear these bits of FLAG in all reads",
        )
        .repeatable(),
    ],
    parse: |given, filters| {
        let change = ChangeFlags {
            set: given.flag_bits("add-flags")?,
            clear: given.flag_bits("remove-flags")?,
            changed: 0,
        };
        if change.set | change.clear != 0 {
            filters.add_filter(change);
        }
        Ok(())
    },
};

/// Sets some FLAG bits in all reads, then clears others (`samtools view --add-flags`,
/// `--remove-flags`). A bit in both lists is cleared.
#[derive(Clone, Debug)]
pub struct ChangeFlags {
    set: u16,
    clear: u16,
    changed: u64,
}

impl Filter for ChangeFlags {
    fn command_words(&self) -> Vec<String> {
        let changes = [("--add-flags", self.set), ("--remove-flags", self.clear)];
        let changes = changes.into_iter().filter(|(_, bits)| *bits != 0);
        changes.flat_map(|(flag, bits)| flag_with_value(flag, bits)).collect()
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.clone()))
    }
}

impl Step for ChangeFlags {
    fn name(&self) -> &'static str {
        "change-flags"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes { flags: true, ..Changes::default() }
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let ChangeFlags { set, clear, changed } = self;
        batch.edit_in_place(|_, raw| {
            let before = readmill_record::RecordRef::new(raw).flags().0;
            let after = (before | *set) & !*clear;
            if after != before {
                edit::set_flags(raw, after);
                *changed += 1;
            }
        });
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("reads with changed flags", self.changed)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{applied, header};
    use super::*;

    #[test]
    fn bits_are_set_then_cleared() {
        let header = header("@SQ SN:c LN:1000");
        let mut step = ChangeFlags { set: 0x600, clear: 0x401, changed: 0 };
        let reads = ["a 1 c 7 60 4M * 0 0 ACGT IIII", "b 512 c 7 60 4M * 0 0 ACGT IIII"];
        let after = applied(&mut step, &header, &header, &reads);
        assert_eq!(after, ["a 512 c 7 60 4M * 0 0 ACGT IIII", "b 512 c 7 60 4M * 0 0 ACGT IIII"]);
        assert_eq!(step.counts()[0].1, 1);
    }
}
