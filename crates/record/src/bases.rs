//! The alphabet of SEQ: sixteen letters, which BAM stores as 4-bit codes (SAM specification, section
//! 4.2.3).
//!
//! ```
//! use readmill_record::bases::{CODES, COMPLEMENTS, LETTERS, PAIRS};
//!
//! assert_eq!(CODES[usize::from(b'g')], 4);
//! assert_eq!((LETTERS[4], COMPLEMENTS[4]), (b'G', b'C'));
//! assert_eq!(&PAIRS[0x18], b"AT"); // one byte of SEQ holds two bases
//! ```

pub const LETTERS: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

/// Letter of the complementary base, indexed by the code of the base.
pub const COMPLEMENTS: &[u8; 16] = b"=TGKCYSBAWRDMHVN";

/// 4-bit code of each letter, in upper or lower case; 15 (N) for every other byte.
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

/// The two letters that each byte of SEQ encodes, so that one table lookup decodes two bases.
pub static PAIRS: [[u8; 2]; 256] = {
    let (mut pairs, mut i) = ([[0; 2]; 256], 0);
    while i < 256 {
        pairs[i] = [LETTERS[i >> 4], LETTERS[i & 15]];
        i += 1;
    }
    pairs
};
