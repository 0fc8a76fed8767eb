//! The error for reads that are not sorted.

use readmill_record::Error;

/// The way out, for commands with and without a flag that sorts.
const SORT_FIRST: &str = "sort the file first: readmill sort IN -o SORTED (prep and align count in the same pass: --sort coordinate)";

/// The error for a read that lies before the one ahead of it.
pub(crate) fn unsorted() -> Error {
    let what =
        "the read lies before the one ahead of it, and depths and sites are counted of sorted reads";
    Error::input(what).hint(SORT_FIRST)
}
