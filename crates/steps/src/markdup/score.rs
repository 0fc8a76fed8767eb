//! How good a read is: the sum of its base qualities of 15 and more.

use readmill_record::RecordRef;

/// Most a single read can score: half of Picard's 16-bit range, so that two fit.
const CAP: u32 = (i16::MAX / 2) as u32;

/// Qualities below do not count.
const LEAST_QUALITY: u8 = 15;

/// Picard's SUM_OF_BASE_QUALITIES in its 16-bit arithmetic; a read that fails quality control scores
/// below every read that passes.
pub fn score(record: RecordRef<'_>) -> i16 {
    let qual = record.qual();
    let sum = if qual.first() == Some(&0xff) { 0 } else { sum(qual) };
    let score = sum.min(CAP) as i16;
    if record.flags().is_qc_fail() { score + i16::MIN / 2 } else { score }
}

/// Picard holds qualities in signed bytes: above 127 they are negative and do not count.
fn sum(qual: &[u8]) -> u32 {
    let counted = |&q: &u8| if (LEAST_QUALITY..128).contains(&q) { u32::from(q) } else { 0 };
    qual.chunks(64).map(|chunk| chunk.iter().map(counted).sum::<u32>()).fold(0, u32::saturating_add)
}
