//! The text of an index, read back from its transform: whether transform, samples and bases are of one reference.
//!
//! Reading back is a jump to another row for each base, which is slow in a large index. So it is done for the last bases,
//! and here and there before them; a small reference is read whole.

/// An index of both strands of a reference, the second of which is the reverse complement of the first. Rows are
/// numbered from that of the empty suffix on. All rows and places that it gives must lie inside it.
pub(crate) trait Transform {
    /// Bases of both strands.
    fn length(&self) -> u64;

    /// The base before the suffix of a row, and the row of the suffix that begins with it; `None` if the suffix is the
    /// whole text.
    fn before(&self, row: u64) -> Option<(u8, u64)>;

    /// Of so many rows one says where its suffix starts.
    fn period(&self) -> u64;

    /// Where the suffix of a row starts that is a multiple of the period.
    fn start(&self, row: u64) -> u64;

    /// A base of the first strand.
    fn base(&self, at: u64) -> u8;
}

/// The part of an index that does not fit the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The transform, or its counts.
    Transform,
    /// Where suffixes start.
    Starts,
    /// The bases.
    Bases,
}

/// Bases at the end of a text that are read back. No read is that long (`limits.rs`): so where the other suffixes are
/// said to start, right or wrong, a read that starts there ends inside the text.
pub(crate) const READ_BACK: u64 = 300_000;

/// Reads `most` bases at the end of the text back, where `among_last` suffixes are said to start, the empty one
/// included; then a quarter as many here and there.
pub(crate) fn check(index: &impl Transform, most: u64, among_last: u64) -> Result<(), Fault> {
    let (length, period) = (index.length(), index.period());
    let (mut row, mut at, mut found) = (0, length, 1);
    while at > length.saturating_sub(most) {
        (row, at) = back(index, row, at)?;
        found += u64::from(row % period == 0);
    }
    if found != among_last {
        return Err(Fault::Starts);
    }
    if at == 0 {
        return if index.before(row).is_none() { Ok(()) } else { Err(Fault::Transform) };
    }
    let mut left = most.div_ceil(4);
    for row in (period..=length).step_by((period * length.div_ceil(left)) as usize) {
        let (mut row, mut at) = (row, index.start(row));
        while left > 0 && at > 0 {
            (row, at) = back(index, row, at)?;
            left -= 1;
            if row % period == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// Reads the base before `at`, where the suffix of `row` starts; returns the row of the longer suffix, and its start.
fn back(index: &impl Transform, row: u64, at: u64) -> Result<(u64, u64), Fault> {
    let (base, row) = index.before(row).ok_or(Fault::Starts)?;
    let (at, half) = (at - 1, index.length() / 2);
    let same = if at < half { index.base(at) } else { 3 - index.base(2 * half - 1 - at) };
    if base != same {
        return Err(Fault::Bases);
    }
    if row % index.period() == 0 && index.start(row) != at {
        return Err(Fault::Starts);
    }
    Ok((row, at))
}
