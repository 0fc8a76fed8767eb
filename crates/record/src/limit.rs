//! A limit on the size of one object of the input, such as a line, a record or a CRAM container.

use crate::error::Error;
use crate::ledger::Ledger;

/// The maximum number of bytes that one object of the input may take.
///
/// A damaged or unusual file can announce a line or a container of any size, so readers ask a limit
/// before they allocate. Usually the limit is one of several equal parts of the memory (`-m`), and
/// the error then names the `-m` that would be enough. A fixed limit ([`Limit::of_bytes`]) does not
/// depend on the memory.
///
/// ```
/// use readmill_record::{Ledger, Limit};
///
/// // Four threads share 80 MiB of the 100 MiB that -m gives.
/// let line = Limit::part_of(80 << 20, 4, &Ledger::with_capacity(100 << 20));
/// assert!(line.allows(20 << 20));
/// let error = line.limit_error("a line", 30 << 20).to_string();
/// assert!(error.ends_with("raise -m to 141M or more"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    bytes: u64,
    parts: u64,
    /// Capacity of the ledger (`-m`) in bytes, which the hint of an error needs.
    capacity: u64,
}

impl Limit {
    /// Returns the limit for one of `parts` equal parts of `room`, the bytes of `ledger` that remain for
    /// reads.
    pub fn part_of(room: u64, parts: u64, ledger: &Ledger) -> Self {
        let parts = parts.max(1);
        Limit { bytes: room / parts, parts, capacity: ledger.capacity() }
    }

    pub const UNLIMITED: Limit = Limit::of_bytes(u64::MAX);

    pub const fn of_bytes(bytes: u64) -> Self {
        Limit { bytes, parts: 0, capacity: 0 }
    }

    #[must_use]
    pub fn capped_at(self, max_bytes: u64) -> Self {
        Limit { bytes: self.bytes.min(max_bytes), ..self }
    }

    pub fn bytes(self) -> u64 {
        self.bytes
    }

    pub fn allows(self, bytes: u64) -> bool {
        bytes <= self.bytes
    }

    /// Returns the error for an object of `bytes` bytes that exceeds the limit. If the limit is a part
    /// of the memory, the hint names the `-m` with which the object would be allowed.
    pub fn limit_error(self, what: &str, bytes: u64) -> Error {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        if self.parts == 0 {
            let (needed, max_mib) = (mib(bytes), self.bytes >> 20);
            return Error::input(format!("{what} needs {needed} MiB, but the maximum is {max_mib} MiB"));
        }
        let (needed, max_mib) = (mib(bytes), self.bytes >> 20);
        Error::usage(format!("{what} needs {needed} MiB, but only {max_mib} MiB are available"))
            .hint(self.memory_hint(bytes.saturating_sub(self.bytes)))
    }

    pub fn memory_hint(self, more: u64) -> String {
        let capacity = self.capacity.saturating_add(more.saturating_mul(self.parts));
        format!("raise -m to {}M or more", capacity.div_ceil(1 << 20) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_memory_that_is_enough() {
        let limit = Limit::part_of(80 << 20, 4, &Ledger::with_capacity(100 << 20));
        assert!(limit.allows(20 << 20) && !limit.allows((20 << 20) + 1));
        let error = limit.limit_error("a line", 30 << 20).to_string();
        let expected = "a line needs 30 MiB, but only 20 MiB are available; raise -m to 141M or more";
        assert_eq!(error, expected);
        let enough = Limit::part_of((80 + 41) << 20, 4, &Ledger::with_capacity(141 << 20));
        assert!(enough.allows(30 << 20));
        let error = Limit::of_bytes(1 << 20).limit_error("a line", (1 << 20) + 1).to_string();
        assert_eq!(error, "a line needs 2 MiB, but the maximum is 1 MiB");
    }
}
