//! Parsers and defaults that the options of several programs share.

use clap::builder::RangedI64ValueParser;

/// Returns a parser of lengths such as insert sizes, from 0 to the largest `int` of Java.
pub(crate) fn parse_size() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(i32::MAX))
}

/// Returns the values that the user gave, or `default` if there are none.
pub(crate) fn given_or<T: Clone>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default } else { given }.to_vec()
}
