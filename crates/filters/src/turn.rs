//! Reverses optional fields whose values follow the direction of the read, when the read is
//! reverse-complemented.

use readmill_record::tag::value_bytes;

/// Reverses the value of a field in BAM encoding: the characters of a string, or the elements of an
/// array.
///
/// If `is_bases` is set, letters are also complemented. Letters other than A, C, G and T do not
/// change, as in htsjdk 4.2.0 (`SequenceUtil.complement`).
pub fn reverse_field_value(kind: u8, value: &mut [u8], is_bases: bool) {
    match (kind, value) {
        (b'Z' | b'H', [text @ .., _]) => {
            text.reverse();
            if is_bases {
                text.iter_mut().for_each(|base| *base = complement_base(*base));
            }
        }
        (b'B', [element, _, _, _, _, elements @ ..]) => {
            let bytes = value_bytes(*element).unwrap_or(1);
            elements.reverse();
            elements.chunks_mut(bytes).for_each(<[u8]>::reverse);
        }
        _ => {}
    }
}

fn complement_base(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        b'a' => b't',
        b'c' => b'g',
        b'g' => b'c',
        b't' => b'a',
        other => other,
    }
}
