//! Errors of a region. GATK throws an exception in each case.

use std::fmt::Display;

use readmill_record::Error;
use readmill_regions::ContigSpan;

use crate::reference::Contig;

/// Makes an error of one of a step.
pub(crate) fn input_error(error: impl Display) -> Error {
    Error::input(error.to_string())
}

/// Adds the region to an error.
pub(crate) fn name_region(mut error: Error, contig: &Contig, span: ContigSpan) -> Error {
    let name = contig.name.escape_ascii();
    error.what = format!("cannot call region {name}:{}-{}: {}", span.start, span.end, error.what);
    error
}
