//! The error for reads that are not sorted.

use readmill_record::Error;

/// The error for a read that lies before the one ahead of it.
pub(crate) fn unsorted() -> Error {
    let what =
        "the read lies before the one ahead of it, and depths and sites are counted of sorted reads";
    Error::input(what).hint("sort them by coordinate: --sort coordinate")
}
