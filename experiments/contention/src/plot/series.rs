//! How points are drawn.

/// How points of one kind look.
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// How they are drawn.
    pub style: Style,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Joined by a line, with marks.
    Line,
    /// Joined by a line of dashes, without marks: what is compared with.
    Dashes,
    /// Marks alone.
    Marks,
    /// Marks alone, empty inside.
    Rings,
}
