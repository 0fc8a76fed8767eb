//! Values of flags that several programs parse alike.

use clap::builder::RangedI64ValueParser;

/// Returns a parser of insert sizes, and of other lengths that Java has.
pub(crate) fn parse_size() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(i32::MAX))
}

/// Returns what is given, or the default if nothing is.
pub(crate) fn given_or<T: Clone>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default } else { given }.to_vec()
}
