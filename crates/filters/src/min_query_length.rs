//! The flag `--min-query-length`: drop reads that are short according to their CIGAR.

use readmill_record::{Detail, RecordRef, Result, Step, cigar};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "min-query-length",
        FlagValue::U32,
        "N",
        "Drop reads whose CIGAR covers fewer than N bases of the read, including soft and hard clips",
    )
    .with_samtools_names(&["min-qlen"])],
    parse: |given, filters| {
        let min_bases = given.parse_value("min-query-length")?.filter(|&min_bases: &u32| min_bases > 0);
        filters.extend(min_bases.map(|min_bases| MinQueryLength { min_bases }));
        Ok(())
    },
};

/// Drops reads whose CIGAR covers fewer bases of the read than a threshold (`samtools view -m`).
/// Soft and hard clips count; a read without a CIGAR has length 0.
#[derive(Clone, Debug)]
pub struct MinQueryLength {
    pub min_bases: u32,
}

impl Filter for MinQueryLength {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--min-query-length", self.min_bases)
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.clone().into_step()))
    }
}

impl Criterion for MinQueryLength {
    fn name(&self) -> &'static str {
        "min-query-length"
    }

    fn dropped_label(&self) -> &'static str {
        "reads with few bases in their CIGAR dropped"
    }

    fn detail(&self) -> Detail {
        Detail::WithoutFields
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let clipped = record.cigar().ops().filter(|&(op, _)| op == cigar::HARD_CLIP);
        let clipped: i64 = clipped.map(|(_, n)| i64::from(n)).sum();
        Ok(record.cigar().query_length() + clipped >= i64::from(self.min_bases))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    #[test]
    fn clips_count_and_deletions_do_not() {
        let header = header("@SQ SN:c LN:1000");
        let reads = [
            "a 0 c 7 60 4M * 0 0 ACGT IIII",
            "b 0 c 7 60 1S3M * 0 0 ACGT IIII",
            "c 0 c 7 60 3M5D * 0 0 ACG III",
            "e 0 c 7 60 2M2H * 0 0 AC II",
            "d 4 * 0 0 * * 0 0 ACGT IIII",
        ];
        assert_eq!(kept(&mut MinQueryLength { min_bases: 4 }.into_step(), &header, &reads), "a b e");
    }
}
