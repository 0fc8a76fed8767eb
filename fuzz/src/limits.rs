//! Limits for each input: the memory that reading may take, and the errors that may refuse
//! it.

use readmill_record::{Error, ErrorKind, Ledger, Limit};

/// Memory in bytes that a reader may take for one input, in place of the program's `-m`.
/// `tests/fuzz` and `./dev fuzz` fail a target that takes much more.
pub const MEMORY_BYTES: usize = 8 << 20;

/// Limit for a single item of an input, such as a record or a header. Readers get it with their
/// options and refuse larger items.
pub const ITEM_LIMIT: Limit = Limit::of_bytes(MEMORY_BYTES as u64);

pub fn memory_ledger() -> Ledger {
    Ledger::with_capacity(MEMORY_BYTES as u64)
}

/// Checks that an error blames the input or its use, and has a message. An internal or
/// system error would be a defect.
pub fn expect_refusal(error: &Error) {
    assert!(matches!(error.kind, ErrorKind::Input | ErrorKind::Usage), "{:?}: {error}", error.kind);
    assert!(!error.what.is_empty());
}
