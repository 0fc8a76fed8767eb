//! The flags `--drop-unmapped` and `--drop-unmapped-strict`.

use readmill_record::{Detail, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::Flag;
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::switch("drop-unmapped", "Drop reads flagged unmapped")
            .with_aliases(&["filter-unmapped-reads"]),
        Flag::switch(
            "drop-unmapped-strict",
            "Drop reads flagged unmapped, and reads without a reference sequence or position",
        )
        .with_aliases(&["filter-unmapped-reads-strict"]),
    ],
    parse: |given, filters| {
        let strict = given.is_given("drop-unmapped-strict");
        if strict || given.is_given("drop-unmapped") {
            filters.add_filter(DropUnmapped { strict });
        }
        Ok(())
    },
};

/// Drops reads flagged unmapped (0x4). The strict form also drops reads without a reference
/// sequence or position, regardless of their FLAG (elPrep's `--filter-unmapped-reads-strict`).
#[derive(Clone, Debug)]
pub struct DropUnmapped {
    pub strict: bool,
}

impl Filter for DropUnmapped {
    fn command_words(&self) -> Vec<String> {
        vec![if self.strict { "--drop-unmapped-strict" } else { "--drop-unmapped" }.to_string()]
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.clone().into_step()))
    }
}

impl Criterion for DropUnmapped {
    fn name(&self) -> &'static str {
        "drop-unmapped"
    }

    fn dropped_label(&self) -> &'static str {
        "unmapped reads dropped"
    }

    fn detail(&self) -> Detail {
        Detail::Places
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let placed = || record.ref_id() >= 0 && record.pos() >= 0;
        Ok(!record.flags().is_unmapped() && (!self.strict || placed()))
    }
}
