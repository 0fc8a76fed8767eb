//! Verifies a loaded index by reading text back from the Burrows-Wheeler transform.
//!
//! This detects whether the transform, the sampled suffix array and the packed bases belong to
//! different references. Each base needs a jump to a different row, which is slow in a large index.
//! So only the last bases are read back, and some samples of the rest; a small reference is read
//! completely.

/// A loaded index of both strands of a reference: the bases, followed by their reverse complement.
///
/// Row 0 is the empty suffix. Implementations must have checked that all rows and positions that
/// they return are inside the index, because [`check_text`] follows them.
pub(crate) trait Transform {
    fn length(&self) -> u64;

    /// Returns the base that precedes the suffix of this row, and the row of the suffix that starts
    /// with this base. `None` for the row whose suffix is the whole text.
    fn base_before(&self, row: u64) -> Option<(u8, u64)>;

    /// Returns the sampling period of the suffix array: rows that are a multiple of it have a
    /// sample.
    fn sample_period(&self) -> u64;

    /// Returns the start of the suffix in a row that is a multiple of the period.
    fn sampled_start(&self, row: u64) -> u64;

    fn base(&self, at: u64) -> u8;
}

/// The part of an index that contradicts the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexFault {
    Transform,
    Starts,
    Bases,
}

/// Number of bases that are read back from the end of the text.
///
/// It exceeds the maximum read length (`limits.rs`). So even if a sample elsewhere is wrong, a read
/// that starts at it cannot extend beyond the end of the text.
pub(crate) const READ_BACK_BASES: u64 = 300_000;

/// Reads the last `max_bases` bases of the text back, then a quarter as many at samples spread over the
/// rest.
///
/// `among_last` is the number of sampled suffixes, including the empty one, whose stored start is
/// within the last `max_bases` bases. It must equal the number found by reading back.
pub(crate) fn check_text(
    index: &impl Transform,
    max_bases: u64,
    among_last: u64,
) -> Result<(), IndexFault> {
    let (length, period) = (index.length(), index.sample_period());
    let (mut row, mut at, mut found) = (0, length, 1);
    while at > length.saturating_sub(max_bases) {
        (row, at) = step_back(index, row, at)?;
        found += u64::from(row % period == 0);
    }
    if found != among_last {
        return Err(IndexFault::Starts);
    }
    if at == 0 {
        return if index.base_before(row).is_none() { Ok(()) } else { Err(IndexFault::Transform) };
    }
    let mut left = max_bases.div_ceil(4);
    for row in (period..=length).step_by((period * length.div_ceil(left)) as usize) {
        let (mut row, mut at) = (row, index.sampled_start(row));
        while left > 0 && at > 0 {
            (row, at) = step_back(index, row, at)?;
            left -= 1;
            if row % period == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// Steps back by one base. `row` is the row of the suffix that starts at `at`; returns the row and
/// the start of the suffix that is one base longer.
fn step_back(index: &impl Transform, row: u64, at: u64) -> Result<(u64, u64), IndexFault> {
    let (base, row) = index.base_before(row).ok_or(IndexFault::Starts)?;
    let (at, half) = (at - 1, index.length() / 2);
    let same = if at < half { index.base(at) } else { 3 - index.base(2 * half - 1 - at) };
    if base != same {
        return Err(IndexFault::Bases);
    }
    if row % index.sample_period() == 0 && index.sampled_start(row) != at {
        return Err(IndexFault::Starts);
    }
    Ok((row, at))
}
