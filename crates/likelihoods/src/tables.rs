//! Probabilities by quality, as GKL's library computes them when it is loaded.

/// Number of qualities in the tables. GKL uses the lower 7 bits of a quality.
const QUALITIES: usize = 128;
const PAIRS: usize = QUALITIES * (QUALITIES + 1) / 2;

/// Probabilities of one precision.
pub(crate) struct Tables<T> {
    error: [T; QUALITIES],
    match_to_match: [T; PAIRS],
}

/// Reads the tables of a precision from little-endian numbers.
macro_rules! read_tables {
    ($real:ty, $file:literal) => {{
        let mut tables = Tables { error: [0.0; QUALITIES], match_to_match: [0.0; PAIRS] };
        let bytes: &[u8; size_of::<$real>() * (QUALITIES + PAIRS)] = include_bytes!($file);
        let (words, _) = bytes.as_chunks();
        let mut at = 0;
        while at < words.len() {
            let value = <$real>::from_le_bytes(words[at]);
            if at < QUALITIES {
                tables.error[at] = value;
            } else {
                tables.match_to_match[at - QUALITIES] = value;
            }
            at += 1;
        }
        tables
    }};
}

/// GKL computes these by `powf` and a Jacobian table of `f32`, so they are not the rounded [`F64`].
pub(crate) static F32: Tables<f32> = read_tables!(f32, "data/gkl_f32.bin");
pub(crate) static F64: Tables<f64> = read_tables!(f64, "data/gkl_f64.bin");

impl<T: Copy> Tables<T> {
    /// Returns 10^(-q/10).
    #[inline]
    pub(crate) fn error(&self, quality: u8) -> T {
        self.error[usize::from(quality & 127)]
    }

    /// Returns the probability that neither an insertion nor a deletion starts.
    #[inline]
    pub(crate) fn match_to_match(&self, insertion: u8, deletion: u8) -> T {
        let (insertion, deletion) = (usize::from(insertion & 127), usize::from(deletion & 127));
        let (min, max) = (insertion.min(deletion), insertion.max(deletion));
        self.match_to_match[max * (max + 1) / 2 + min]
    }
}

/// Reads a table of pairs.
pub(crate) const fn read_f64_pairs<const N: usize>(bytes: &[u8]) -> [[f64; 2]; N] {
    let (words, rest) = bytes.as_chunks::<8>();
    assert!(words.len() == 2 * N && rest.is_empty(), "a pair has 16 bytes");
    let mut table = [[0.0; 2]; N];
    let mut at = 0;
    while at < words.len() {
        table[at / 2][at % 2] = f64::from_le_bytes(words[at]);
        at += 1;
    }
    table
}
