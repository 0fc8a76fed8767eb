//! Options of all modules.

/// Options of all modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether each position has a line of its own in long reads, too.
    pub no_group: bool,
}
