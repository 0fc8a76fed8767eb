//! The rules for the lines of a record.

/// Longest name of a template that BAM can store (SAM specification, section 4.2: `l_read_name` is a byte).
pub(crate) const MOST_NAME: usize = 254;

/// The name that both reads of a template share: without `/` and a digit at its end, as bwa 0.7.19 (`trim_readno`) has it.
///
/// ```
/// assert_eq!(readmill_fastq::template_name(b"r7/1"), b"r7");
/// assert_eq!(readmill_fastq::template_name(b"/1"), b"/1");
/// ```
pub fn template_name(name: &[u8]) -> &[u8] {
    match name {
        [rest @ .., b'/', digit] if !rest.is_empty() && digit.is_ascii_digit() => rest,
        _ => name,
    }
}

/// Whether an index read belongs to the template of this name, whose number was left out.
pub(crate) fn is_same_template(index: &[u8], template: &[u8], numbering: Option<u8>) -> bool {
    let (index, template) = (template_name(index), template_name(template));
    index == template || without_number(index, numbering) == template
}

/// Characters that may stand before the number of a read at the end of its name, beside the slash.
const BEFORE_NUMBER: &[u8] = b"._:";

/// The name without its number, where the numbers of reads follow `separator`: `SRR1.7` of `SRR1.7.1`.
pub(crate) fn without_number(name: &[u8], separator: Option<u8>) -> &[u8] {
    match name {
        [rest @ .., before, digit] if Some(*before) == separator && digit.is_ascii_digit() => {
            if rest.is_empty() { name } else { rest }
        }
        _ => name,
    }
}

/// Returns the separator and the numbers of mates whose names are equal but for a number at their ends: `SRR1.7.1` and
/// `SRR1.7.2`, as fasterq-dump and fastq-dump write them.
pub(crate) fn numbers_of_mates(first: &[u8], last: &[u8]) -> Option<(u8, [u8; 2])> {
    let ([one @ .., number], [other @ .., other_number]) = (first, last) else { return None };
    let [_, .., before] = one else { return None };
    let are_numbers = number.is_ascii_digit() && other_number.is_ascii_digit();
    let is_numbered = one == other && are_numbers && number < other_number;
    (is_numbered && BEFORE_NUMBER.contains(before)).then_some((*before, [*number, *other_number]))
}

/// The line without the carriage return that may end it.
pub(crate) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Length of the name at the start of a line, and the start of the comment after the blanks that follow it.
pub(crate) fn name_and_comment(line: &[u8]) -> (usize, usize) {
    let Some(name) = memchr::memchr2(b' ', b'\t', line) else { return (line.len(), line.len()) };
    let blanks = line[name..].iter().take_while(|&&b| b == b' ' || b == b'\t').count();
    (name, name + blanks)
}

/// Describes the fault of a name, if it has one.
pub(crate) fn fault_of_name(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        Some("the read has no name")
    } else if template_name(name).len() > MOST_NAME {
        Some("the name of the read is longer than 254 characters, which BAM cannot store")
    } else if name.iter().fold(false, |found, b| found | b.is_ascii_control()) {
        Some("the name of the read has a control character")
    } else {
        None
    }
}

/// Whether all characters are printable and none is a blank: `!` to `~`, the alphabet of bases and qualities.
pub(crate) fn is_graphic(bytes: &[u8]) -> bool {
    // The maximum of all, without an early exit: this way sixteen bytes are checked at a time. The last piece
    // overlaps the one before.
    let greatest = |piece: &[u8]| piece.iter().fold(0, |most: u8, b| most.max(b.wrapping_sub(b'!')));
    let (pieces, rest) = bytes.as_chunks::<32>();
    let last = bytes.last_chunk::<32>().map_or(rest, |last| last);
    let most = pieces.iter().fold(greatest(last), |most, piece| most.max(greatest(piece)));
    most <= b'~' - b'!'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_may_be_numbered_behind_a_dot_a_colon_or_an_underscore() {
        for (first, last, expected) in [
            ("SRR1.7.1", "SRR1.7.2", Some((b'.', *b"12"))),
            ("r_1", "r_2", Some((b'_', *b"12"))),
            ("r:1", "r:3", Some((b':', *b"13"))),
            ("SRR1.7.1", "SRR1.8.2", None),
            ("r.2", "r.1", None),
            ("r.1", "r.1", None),
            ("r11", "r12", None),
            ("r.1", "r:2", None),
            (".1", ".2", None),
            ("r.a", "r.b", None),
            ("", "", None),
        ] {
            assert_eq!(numbers_of_mates(first.as_bytes(), last.as_bytes()), expected, "{first} {last}");
        }
        assert_eq!(without_number(b"SRR1.7.1", Some(b'.')), b"SRR1.7");
        for (name, separator) in
            [("r.1", None), ("r:1", Some(b'.')), ("r.x", Some(b'.')), (".1", Some(b'.'))]
        {
            assert_eq!(without_number(name.as_bytes(), separator), name.as_bytes());
        }
    }

    #[test]
    fn names_end_at_blanks_and_lose_their_digit() {
        assert_eq!(name_and_comment(b"r1/2 \t 1:N:0"), (4, 7));
        assert_eq!(name_and_comment(b"r1"), (2, 2));
        assert_eq!(name_and_comment(b"r1 "), (2, 3));
        assert_eq!(template_name(b"a/b/2"), b"a/b");
        assert_eq!(template_name(b"a.1"), b"a.1");
        assert_eq!(template_name(b"a/12"), b"a/12");
    }

    #[test]
    fn what_can_be_printed_is_graphic() {
        for byte in 0..=255u8 {
            for len in [0, 1, 15, 31, 32, 33, 63, 64, 100] {
                for at in [0, len / 2, len] {
                    let mut bytes = vec![b'A'; len];
                    bytes.insert(at, byte);
                    assert_eq!(is_graphic(&bytes), byte.is_ascii_graphic());
                }
            }
        }
        assert!(is_graphic(b"") && !is_graphic(&[b"A".repeat(99), b"\n".to_vec()].concat()));
    }
}
