//! The error for reads that are not in coordinate order.

use readmill_record::Error;

/// The hint of the error. It covers commands with and without `--sort`.
const SORT_FIRST: &str =
    "sort the file first with readmill sort IN -o SORTED (in prep and align, use --sort coordinate)";

/// Returns the error for a read whose position is before the position of the preceding read.
pub(crate) fn unsorted_error() -> Error {
    let what = "the read is before the previous one, but depths and sites need sorted reads";
    Error::input(what).hint(SORT_FIRST)
}
