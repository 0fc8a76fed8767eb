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
