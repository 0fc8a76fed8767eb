//! Rules for the name and other lines of a record, shared by both parsers.

/// Maximum length of a read name. BAM stores the length, including the NUL, in one byte (SAM
/// specification, section 4.2: `l_read_name`).
pub(crate) const MAX_NAME_LEN: usize = 254;

/// Returns the name that the reads of a template share: without a final `/` and digit, which bwa
/// 0.7.19 (`trim_readno`) also removes.
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

/// Returns whether an index read belongs to a template. The number after the separator `numbering`
/// has been removed from the name of the template, but possibly not from that of the index read.
pub(crate) fn is_same_template(index: &[u8], template: &[u8], numbering: Option<u8>) -> bool {
    let (index, template) = (template_name(index), template_name(template));
    index == template || strip_read_number(index, numbering) == template
}

const NUMBER_SEPARATORS: &[u8] = b"._:";

/// Returns the name without the read number that follows `separator`: `SRR1.7` for `SRR1.7.1`.
///
/// The separator comes from [`parse_mate_numbers`]. `/1` and `/2` are not removed here, but by
/// [`template_name`]; for `readmill import`, by htsjdk's rule (`src/aligning/read_names.rs`).
pub(crate) fn strip_read_number(name: &[u8], separator: Option<u8>) -> &[u8] {
    match name {
        [rest @ .., before, digit] if Some(*before) == separator && digit.is_ascii_digit() => {
            if rest.is_empty() { name } else { rest }
        }
        _ => name,
    }
}

/// Returns the separator and the read numbers if two names differ only in a number at their ends,
/// such as `SRR1.7.1` and `SRR1.7.2`, as written by fasterq-dump and fastq-dump. The first number
/// must be smaller.
pub(crate) fn parse_mate_numbers(first: &[u8], last: &[u8]) -> Option<(u8, [u8; 2])> {
    let ([one @ .., number], [other @ .., other_number]) = (first, last) else { return None };
    let [_, .., before] = one else { return None };
    let are_numbers = number.is_ascii_digit() && other_number.is_ascii_digit();
    let is_numbered = one == other && are_numbers && number < other_number;
    (is_numbered && NUMBER_SEPARATORS.contains(before)).then_some((*before, [*number, *other_number]))
}

pub(crate) fn strip_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the length of the name at the start of a line, and the offset of the comment after the
/// blanks that follow it.
pub(crate) fn split_name_and_comment(line: &[u8]) -> (usize, usize) {
    let Some(name) = memchr::memchr2(b' ', b'\t', line) else { return (line.len(), line.len()) };
    let blanks = line[name..].iter().take_while(|&&b| b == b' ' || b == b'\t').count();
    (name, name + blanks)
}

/// Describes the fault of a name for an error message; `None` if the name can be stored.
pub(crate) fn describe_name_fault(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        Some("the read has no name")
    } else if template_name(name).len() > MAX_NAME_LEN {
        Some("the read name is longer than 254 characters, which BAM cannot store")
    } else if name.iter().fold(false, |found, b| found | b.is_ascii_control()) {
        Some("the read name has a control character")
    } else {
        None
    }
}

/// Returns whether all characters are printable and not blank (`!` to `~`), as bases and qualities
/// must be.
pub(crate) fn is_graphic(bytes: &[u8]) -> bool {
    // Computes the maximum without an early exit, so that the compiler can check sixteen bytes at a
    // time. The last piece overlaps the previous one.
    let greatest =
        |piece: &[u8]| piece.iter().fold(0, |max_offset: u8, b| max_offset.max(b.wrapping_sub(b'!')));
    let (pieces, rest) = bytes.as_chunks::<32>();
    let last = bytes.last_chunk::<32>().map_or(rest, |last| last);
    let max_offset =
        pieces.iter().fold(greatest(last), |max_offset, piece| max_offset.max(greatest(piece)));
    max_offset <= b'~' - b'!'
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
            assert_eq!(
                parse_mate_numbers(first.as_bytes(), last.as_bytes()),
                expected,
                "{first} {last}"
            );
        }
        assert_eq!(strip_read_number(b"SRR1.7.1", Some(b'.')), b"SRR1.7");
        for (name, separator) in
            [("r.1", None), ("r:1", Some(b'.')), ("r.x", Some(b'.')), (".1", Some(b'.'))]
        {
            assert_eq!(strip_read_number(name.as_bytes(), separator), name.as_bytes());
        }
    }

    #[test]
    fn names_end_at_blanks_and_lose_their_digit() {
        assert_eq!(split_name_and_comment(b"r1/2 \t 1:N:0"), (4, 7));
        assert_eq!(split_name_and_comment(b"r1"), (2, 2));
        assert_eq!(split_name_and_comment(b"r1 "), (2, 3));
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
