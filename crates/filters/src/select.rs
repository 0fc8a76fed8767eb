//! The flags `--include` and `--exclude`: keep or drop reads with an expression.

use readmill_record::{RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::expression::Expression;
use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "include",
            FlagValue::Text,
            "EXPR",
            "Keep only reads for which this expression is true, such as 'mapq >= 20 && !flag.dup && [NM] < 5' (samtools view -e). May be repeated",
        )
        .repeatable()
        .with_samtools_names(&["e", "expr"]),
        Flag::with_value(
            "exclude",
            FlagValue::Text,
            "EXPR",
            "Drop reads for which this expression is true. May be repeated",
        )
        .repeatable(),
    ],
    parse: |given, filters| {
        for (flag, keep) in [("include", true), ("exclude", false)] {
            filters.extend(given.parse_values(flag)?.into_iter().map(|text| SelectRequest { text, keep }));
        }
        Ok(())
    },
};

/// Keeps reads for which an expression is true (`--include`, samtools `view -e`), or drops them
/// (`--exclude`). An expression that fails for a read stops the run.
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
    fn command_words(&self) -> Vec<String> {
        flag_with_value(if self.keep { "--include" } else { "--exclude" }, shell_quote(&self.text))
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let expression = Expression::parse(&self.text, context.header)?;
        Ok(Box::new(Select { expression, keep: self.keep }.into_step()))
    }
}

impl Criterion for Select {
    fn name(&self) -> &'static str {
        if self.keep { "include" } else { "exclude" }
    }

    fn dropped_label(&self) -> &'static str {
        match self.keep {
            true => "reads dropped for which the --include expression is false",
            false => "reads dropped for which the --exclude expression is true",
        }
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(self.expression.matches(record)? == self.keep)
    }
}
