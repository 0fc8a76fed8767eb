//! Complements of base letters.

/// Returns the complement as a capital letter, or `N` for anything except A, C, G and T.
pub const fn complement(base: u8) -> u8 {
    match base {
        b'A' | b'a' => b'T',
        b'C' | b'c' => b'G',
        b'G' | b'g' => b'C',
        b'T' | b't' => b'A',
        _ => b'N',
    }
}

const COMPLEMENTS: [u8; 256] = {
    let (mut all, mut letter) = ([0; 256], 0);
    while letter < 256 {
        all[letter] = complement(letter as u8);
        letter += 1;
    }
    all
};

pub fn reverse_complement(bases: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend(bases.iter().rev().map(|&base| COMPLEMENTS[usize::from(base)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_are_no_base_become_n() {
        let mut out = vec![b'x'];
        reverse_complement(b"AcGTNr", &mut out);
        assert_eq!(out, b"NNACGT");
    }
}
