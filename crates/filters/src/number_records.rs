//! The flag `--number-records`: number records in input order.

use std::fmt;
use std::str::FromStr;

use readmill_record::tag::Tag;
use readmill_record::{Batch, Changes, Error, Result, Step, edit};

use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::optional_fields::parse_tag;
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "number-records",
        FlagValue::Text,
        "TAG",
        "Store the number of each input record, counted from 0, in this field (samtools import --order). TAG:DIGITS stores text of this many digits",
    )],
    parse: |given, filters| {
        let numbers: Option<NumberRecords> = given.parse_value("number-records")?;
        filters.extend(numbers);
        Ok(())
    },
};

const MAX_DIGITS: usize = 20;

/// Stores the 0-based number of each input record in an optional field, as samtools import 1.24
/// `--order` does, so that the input order can be restored after a sort.
#[derive(Clone, Debug)]
struct NumberRecords {
    tag: Tag,
    /// Number of digits of a string field (`TAG:DIGITS`); `None` for an integer field.
    digits: Option<usize>,
}

impl FromStr for NumberRecords {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::usage(format!("{text:?} is neither the name of an optional field nor TAG:DIGITS"))
                .hint("use xn, or xn:9 for text of nine digits")
        };
        let (tag, digits) = match text.split_once(':') {
            Some((tag, digits)) => (tag, Some(digits.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        if digits.is_some_and(|digits| !(1..=MAX_DIGITS).contains(&digits)) {
            return Err(wrong());
        }
        Ok(NumberRecords { tag: parse_tag(tag).map_err(|_| wrong())?, digits })
    }
}

impl fmt::Display for NumberRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.tag))?;
        self.digits.map_or(Ok(()), |digits| write!(f, ":{digits}"))
    }
}

impl Filter for NumberRecords {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--number-records", self)
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(self.clone()))
    }
}

impl Step for NumberRecords {
    fn name(&self) -> &'static str {
        "number-records"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn max_growth_bytes(&self) -> usize {
        4 + MAX_DIGITS
    }

    fn changes(&self) -> Changes {
        Changes::of_tags(&[self.tag])
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        batch.rewrite_records(|stamp, record, out| {
            let number = stamp.ordinal();
            if let Some(digits) = self.digits {
                let text = format!("{number:0digits$}");
                edit::copy_with_text(record, self.tag, text.as_bytes(), out);
                return Ok(());
            }
            let number = u32::try_from(number).map_err(|_| {
                let tag = String::from_utf8_lossy(&self.tag).into_owned();
                Error::input("the record number is too large for an integer field")
                    .hint(format!("store it as text: --number-records {tag}:12"))
            })?;
            let start = out.len();
            out.extend_from_slice(record.raw());
            edit::remove_fields(out, start, self.tag);
            edit::append_integer(out, start, self.tag, number);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applied, header};

    use super::*;

    fn numbered(text: &str) -> Vec<String> {
        let mut step: NumberRecords = text.parse().unwrap();
        let header = header("@SQ SN:1 LN:100");
        let reads = ["a 4 * 0 0 * * 0 0 A I", "b 4 * 0 0 * * 0 0 A I xn:i:300 XY:i:1"];
        let lines = applied(&mut step, &header, &header, &reads);
        lines.iter().map(|line| line.rsplit_once(" I ").unwrap().1.to_string()).collect()
    }

    #[test]
    fn records_get_numbers_or_text() {
        assert_eq!(numbered("xn"), ["xn:i:0", "XY:i:1 xn:i:1"]);
        assert_eq!(numbered("xn:3"), ["xn:Z:000", "xn:Z:001 XY:i:1"]);
        for wrong in ["x", "xn:", "xn:0", "xn:99", "xnn", "1n", "x-", "x ", "\u{e9}"] {
            assert!(wrong.parse::<NumberRecords>().is_err(), "{wrong}");
        }
    }
}
