//! The flags `--include` and `--exclude`: keep or drop reads by an expression.

use readmill_record::{RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::expression::Expression;
use crate::flag::{Flag, Value, quoted, with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "include",
            Value::Text,
            "EXPR",
            "Keep only reads for which this holds, as samtools view -e: 'mapq >= 20 && !flag.dup && [NM] < 5'; may be given again",
        )
        .repeats()
        .samtools(&["e", "expr"]),
        Flag::with_value(
            "exclude",
            Value::Text,
            "EXPR",
            "Drop reads for which this holds; may be given again",
        )
        .repeats(),
    ],
    parse: |given, filters| {
        for (flag, keep) in [("include", true), ("exclude", false)] {
            filters.extend(given.all(flag)?.into_iter().map(|text| SelectRequest { text, keep }));
        }
        Ok(())
    },
};

/// Keeps the reads for which an expression holds (`--include`, samtools' `view -e`), or drops them
/// (`--exclude`). An expression that fails on a read ends the run.
#[derive(Clone)]
pub struct Select {
    pub expression: Expression,
    pub keep: bool,
}

#[derive(Debug)]
struct SelectRequest {
    text: String,
    keep: bool,
}

impl Filter for SelectRequest {
    fn words(&self) -> Vec<String> {
        with_value(if self.keep { "--include" } else { "--exclude" }, quoted(&self.text))
    }

    fn make(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let expression = Expression::parse(&self.text, context.header)?;
        Ok(Box::new(Select { expression, keep: self.keep }.step()))
    }
}

impl Criterion for Select {
    fn name(&self) -> &'static str {
        if self.keep { "include" } else { "exclude" }
    }

    fn dropped(&self) -> &'static str {
        match self.keep {
            true => "reads dropped that the --include expression does not hold for",
            false => "reads dropped that the --exclude expression holds for",
        }
    }

    #[inline]
    fn keeps(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(self.expression.matches(record)? == self.keep)
    }
}
