//! Limits of an input: the memory it may take, and the errors that may refuse it.

use readmill_record::{Error, ErrorKind, Ledger, Limit};

/// Bytes that an input may make its reader take, where the program's `-m` decides. A target that takes much more fails:
/// `tests/fuzz` and `./dev fuzz` say how much.
pub const MEMORY: usize = 8 << 20;

/// The most that one thing of an input may take.
pub const MOST: Limit = Limit::of(MEMORY as u64);

/// A ledger of [`MEMORY`] bytes.
pub fn memory() -> Ledger {
    Ledger::of(MEMORY as u64)
}

/// Bytes that are refused are refused for what they are: with a message, and not because we or the system failed.
pub fn expect_refusal(error: &Error) {
    assert!(matches!(error.kind, ErrorKind::Input | ErrorKind::Usage), "{:?}: {error}", error.kind);
    assert!(!error.what.is_empty());
}
