//! One comparison with an aligner.

/// A comparison: which reference, files and flags both get, and options that both know by the aligner's letters.
pub struct AlignCase {
    /// The reference, by its index.
    pub reference: &'static str,
    /// Files of reads.
    pub files: &'static str,
    /// Flags of readmill.
    pub flags: &'static str,
    /// Options of the aligner.
    pub options: &'static str,
}

/// Files of pairs.
pub const PAIRS: &str = "1.fq 2.fq";

/// Cohorts whose borders cut batches.
pub const COHORTS: &str = "-K 100000";

/// All lines but `@HD` and `@PG`.
#[expect(clippy::ptr_arg, reason = "it is a `Normal`")]
pub fn not_of_the_program(line: &mut Vec<u8>) -> bool {
    !line.starts_with(b"@HD\t") && !line.starts_with(b"@PG\t")
}
