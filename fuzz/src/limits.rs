//! What an input may cost, and how it may be refused.

use readmill_record::{Error, ErrorKind, Ledger};

/// Bytes that an input may make its reader take, where the program's `-m` decides. A target that takes much more fails:
/// `tests/fuzz` and `./dev fuzz` say how much.
pub const MEMORY: usize = 8 << 20;

/// A ledger of so many bytes.
pub fn memory() -> Ledger {
    Ledger::of(MEMORY as u64)
}

/// Bytes that are refused are refused for what they are: with a message, and not because we or the system failed.
pub fn expect_refusal(error: &Error) {
    assert!(matches!(error.kind, ErrorKind::Input | ErrorKind::Usage), "{:?}: {error}", error.kind);
    assert!(!error.what.is_empty());
}
