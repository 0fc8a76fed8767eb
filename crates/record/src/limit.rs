//! The most bytes that one thing of the input may take, such as a line or a container: a part of the memory.

use crate::error::Error;
use crate::ledger::Ledger;

/// One of several equal parts of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    bytes: u64,
    /// How many such parts the memory has; 0 if the limit does not depend on it.
    parts: u64,
    /// The capacity of the ledger (`-m`).
    capacity: u64,
}

impl Limit {
    /// One of `parts` parts of `room`, which is what `ledger` has for reads.
    pub fn part_of(room: u64, parts: u64, ledger: &Ledger) -> Self {
        let parts = parts.max(1);
        Limit { bytes: room / parts, parts, capacity: ledger.capacity() }
    }

    /// No limit.
    pub const NONE: Limit = Limit::of(u64::MAX);

    /// This many bytes, whatever the memory is.
    pub const fn of(bytes: u64) -> Self {
        Limit { bytes, parts: 0, capacity: 0 }
    }

    /// The same part, but of no more than `most` bytes.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Limit { bytes: self.bytes.min(most), ..self }
    }

    /// The most bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether so many bytes are allowed.
    pub fn allows(self, bytes: u64) -> bool {
        bytes <= self.bytes
    }

    /// The error for something that takes too many bytes. It names the `-m` with which they are allowed, if there is one.
    pub fn refusal(self, what: &str, bytes: u64) -> Error {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        if self.parts == 0 {
            let (needed, most) = (mib(bytes), self.bytes >> 20);
            return Error::input(format!("{what} needs {needed} MiB; at most {most} MiB are read"));
        }
        let (needed, most) = (mib(bytes), self.bytes >> 20);
        Error::usage(format!("{what} needs {needed} MiB, and {most} MiB are available for it"))
            .hint(self.advice(bytes.saturating_sub(self.bytes)))
    }

    /// The advice for something that needs this many bytes more than its part of the memory.
    pub fn advice(self, more: u64) -> String {
        let capacity = self.capacity.saturating_add(more.saturating_mul(self.parts));
        format!("raise -m to {}M or more", capacity.div_ceil(1 << 20) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_memory_that_is_enough() {
        let limit = Limit::part_of(80 << 20, 4, &Ledger::of(100 << 20));
        assert!(limit.allows(20 << 20) && !limit.allows((20 << 20) + 1));
        let error = limit.refusal("a line", 30 << 20).to_string();
        let expected = "a line needs 30 MiB, and 20 MiB are available for it; raise -m to 141M or more";
        assert_eq!(error, expected);
        let enough = Limit::part_of((80 + 41) << 20, 4, &Ledger::of(141 << 20));
        assert!(enough.allows(30 << 20));
        let error = Limit::of(1 << 20).refusal("a line", (1 << 20) + 1).to_string();
        assert_eq!(error, "a line needs 2 MiB; at most 1 MiB are read");
    }
}
