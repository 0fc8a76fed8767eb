//! The flag `--min-mapq`: drop reads with a low mapping quality.

use readmill_record::{Detail, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "min-mapq",
        FlagValue::U8,
        "N",
        "Drop reads with a mapping quality below N",
    )
    .with_aliases(&["filter-mapping-quality", "min-MQ"])
    .with_samtools_names(&["q"])],
    parse: |given, filters| {
        filters.extend(given.parse_value("min-mapq")?.map(|min_mapq| MinMapq { min_mapq }));
        Ok(())
    },
};

/// Drops reads whose MAPQ is below a threshold (`samtools view -q`, elPrep's
/// `--filter-mapping-quality`). 255 (unknown) is compared as a number, as in both tools.
#[derive(Clone, Debug)]
pub struct MinMapq {
    pub min_mapq: u8,
}

impl Filter for MinMapq {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--min-mapq", self.min_mapq)
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.clone().into_step()))
    }
}

impl Criterion for MinMapq {
    fn name(&self) -> &'static str {
        "min-mapq"
    }

    fn dropped_label(&self) -> &'static str {
        "reads of low mapping quality dropped"
    }

    fn detail(&self) -> Detail {
        Detail::Flags
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(record.mapq() >= self.min_mapq)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    #[test]
    fn the_threshold_itself_is_kept_and_255_is_a_number() {
        let header = header("@SQ SN:c LN:100");
        let reads = [0, 19, 20, 21, 255].map(|q| format!("q{q} 0 c 5 {q} 4M * 0 0 ACGT IIII"));
        let reads = reads.each_ref().map(String::as_str);
        for (min_mapq, answer) in
            [(0, "q0 q19 q20 q21 q255"), (1, "q19 q20 q21 q255"), (20, "q20 q21 q255"), (255, "q255")]
        {
            let mut step = MinMapq { min_mapq }.into_step();
            assert_eq!(kept(&mut step, &header, &reads), answer);
            let left = answer.split(' ').count() as u64;
            assert_eq!(step.counts()[0].1, 5 - left);
        }
    }
}
