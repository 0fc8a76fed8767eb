//! What CRAM has no place for.

use readmill_record::{Error, RecordRef};

/// The error for a record that CRAM cannot hold.
pub fn cannot_hold(what: &str, record: RecordRef<'_>) -> Error {
    Error::input(format!("CRAM cannot hold {what}")).qname(record.qname()).hint("write BAM instead")
}
