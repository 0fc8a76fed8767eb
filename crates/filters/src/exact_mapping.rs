//! The flags `--exact-mapping` and `--exact-mapping-strict`.

use readmill_record::tag::{Field, Tag};
use readmill_record::{RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::Flag;
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::switch("exact-mapping", "Drop reads whose CIGAR has operators other than M and S")
            .with_aliases(&["filter-non-exact-mapping-reads"]),
        Flag::switch(
            "exact-mapping-strict",
            "Drop reads without the fields of a single exact hit (X0:i:1 X1:i:0 XM:i:0 XO:i:0 XG:i:0)",
        )
        .with_aliases(&["filter-non-exact-mapping-reads-strict"]),
    ],
    parse: |given, filters| {
        for (flag, strict) in [("exact-mapping", false), ("exact-mapping-strict", true)] {
            filters.extend(given.is_given(flag).then_some(ExactMapping { strict }));
        }
        Ok(())
    },
};

/// Drops reads whose CIGAR has an operator other than M and S (elPrep's
/// `--filter-non-exact-mapping-reads`). A read without a CIGAR is kept. An M can also be a
/// mismatch, so the strict form relies on fields of the aligner instead.
///
/// The strict form (`--filter-non-exact-mapping-reads-strict`) keeps a read only if its fields show
/// a unique best hit without mismatches or gaps: `X0:i:1 X1:i:0 XM:i:0 XO:i:0 XG:i:0`, as bwa aln
/// writes them. A field of a different type counts as missing; elPrep 5.1.3 stops with an error.
#[derive(Clone, Debug)]
pub struct ExactMapping {
    pub strict: bool,
}

const REQUIRED_FIELDS: [(Tag, i64); 5] =
    [(*b"X0", 1), (*b"X1", 0), (*b"XM", 0), (*b"XO", 0), (*b"XG", 0)];

fn has_only_matches_and_clips(record: RecordRef<'_>) -> bool {
    record.cigar().ops().all(|(op, _)| op == 0 || op == 4)
}

/// Returns whether the fields show a unique and exact hit. If a tag occurs twice, its first field
/// counts.
fn has_exact_hit_fields(record: RecordRef<'_>) -> bool {
    let mut missing = (1u8 << REQUIRED_FIELDS.len()) - 1;
    for field in record.fields() {
        let Some(which) = REQUIRED_FIELDS.iter().position(|(tag, _)| *tag == field.tag) else {
            continue;
        };
        if missing >> which & 1 == 1 {
            if integer_value(field) != Some(REQUIRED_FIELDS[which].1) {
                return false;
            }
            missing &= !(1 << which);
        }
    }
    missing == 0
}

pub(super) fn integer_value(field: Field<'_>) -> Option<i64> {
    let v = field.value;
    Some(match (field.kind, v.len()) {
        (b'c', 1) => i64::from(v[0].cast_signed()),
        (b'C', 1) => i64::from(v[0]),
        (b's', 2) => i64::from(i16::from_le_bytes([v[0], v[1]])),
        (b'S', 2) => i64::from(u16::from_le_bytes([v[0], v[1]])),
        (b'i', 4) => i64::from(i32::from_le_bytes([v[0], v[1], v[2], v[3]])),
        (b'I', 4) => i64::from(u32::from_le_bytes([v[0], v[1], v[2], v[3]])),
        _ => return None,
    })
}

impl Filter for ExactMapping {
    fn command_words(&self) -> Vec<String> {
        vec![format!("--{}", self.name())]
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.clone().into_step()))
    }
}

impl Criterion for ExactMapping {
    fn name(&self) -> &'static str {
        if self.strict { "exact-mapping-strict" } else { "exact-mapping" }
    }

    fn dropped_label(&self) -> &'static str {
        match self.strict {
            true => "reads dropped that lack the fields of a single exact hit",
            false => "reads dropped that do not map exactly",
        }
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(if self.strict { has_exact_hit_fields(record) } else { has_only_matches_and_clips(record) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    #[test]
    fn only_matches_and_soft_clips_are_exact() {
        let header = header("@SQ SN:c LN:100");
        let cigars = [
            "4M", "1S3M", "2M2S", "4S", "*", "2M1I1M", "2M1D2M", "2M9N2M", "4M1H", "2M1P2M", "4=",
            "3M1X",
        ];
        let reads = cigars.map(|cigar| format!("{cigar} 0 c 5 60 {cigar} * 0 0 ACGT IIII"));
        let reads = reads.each_ref().map(String::as_str);
        let mut step = ExactMapping { strict: false }.into_step();
        // htslib, and therefore the reader, treats a placed read without CIGAR as unmapped. It has
        // no inexact operator.
        assert_eq!(kept(&mut step, &header, &reads), "4M 1S3M 2M2S 4S *");
        assert_eq!(step.counts()[0].1, 7);
    }

    #[test]
    fn the_strict_form_uses_the_aligners_fields() {
        let header = header("@SQ SN:c LN:100");
        let yes = "X0:i:1 X1:i:0 XM:i:0 XO:i:0 XG:i:0";
        let with = |name: &str, fields: &str| format!("{name} 0 c 5 60 4M * 0 0 ACGT IIII {fields}");
        let reads = [
            with("yes", yes),
            with("order", "XG:i:0 NM:i:3 XO:i:0 XM:i:0 X1:i:0 X0:i:1"),
            with("none", ""),
            with("two", &yes.replace("X0:i:1", "X0:i:2")),
            with("other", &yes.replace("X1:i:0", "X1:i:1")),
            with("mismatch", &yes.replace("XM:i:0", "XM:i:70000")),
            with("open", &yes.replace("XO:i:0", "XO:i:-1")),
            with("gap", &yes.replace("XG:i:0", "XG:i:300")),
            with("lacks", &yes.replace(" XG:i:0", "")),
            with("text", &yes.replace("X0:i:1", "X0:Z:1")),
            with("letter", &yes.replace("XM:i:0", "XM:A:0")),
            with("float", &yes.replace("XO:i:0", "XO:f:0")),
        ];
        let reads = reads.each_ref().map(String::as_str);
        assert_eq!(kept(&mut ExactMapping { strict: true }.into_step(), &header, &reads), "yes order");
    }
}
