//! The alphabet of SEQ: sixteen letters, of which BAM stores the numbers (SAM specification, section 4.2.3).

/// Letters by their codes.
pub const LETTERS: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

/// Letters of the complementary strand, by the codes of the bases.
pub const COMPLEMENTS: &[u8; 16] = b"=TGKCYSBAWRDMHVN";

/// Codes of letters in either case; 15 (N) for every other byte.
pub const CODES: [u8; 256] = {
    let mut codes = [15; 256];
    let mut i = 0;
    while i < 16 {
        codes[LETTERS[i] as usize] = i as u8;
        codes[LETTERS[i].to_ascii_lowercase() as usize] = i as u8;
        i += 1;
    }
    codes
};

/// The two letters of each byte of SEQ.
pub static PAIRS: [[u8; 2]; 256] = {
    let (mut pairs, mut i) = ([[0; 2]; 256], 0);
    while i < 256 {
        pairs[i] = [LETTERS[i >> 4], LETTERS[i & 15]];
        i += 1;
    }
    pairs
};
