//! The four levels; `super` says what each looks at.

/// How far two files agree, strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The same SAM text, but for @PG and @CO lines.
    L0,
    /// The same but for the order of tags.
    L1,
    /// The same but for the order of tags and of ties.
    L2,
    /// The same reads and duplicate sets.
    L3,
}
