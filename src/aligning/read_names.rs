//! Removes `/1` and `/2` from the ends of names by htsjdk's rule, because QNAME in SAM is the name of
//! the template. Only `readmill import` (Picard's FastqToSam) uses this rule. The rules of `align` are
//! in `crates/fastq/src/line.rs`.

use readmill_record::{Error, ReadBatch, Result};

/// Returns the name without `/1` and `/2` at its end, also if they are repeated, as htsjdk 4.2.0
/// does (SequenceUtil.getSamReadNameFromFastqHeader).
fn strip_slash_numbers(name: &[u8]) -> &[u8] {
    match name {
        [rest @ .., b'/', b'1' | b'2'] if !rest.is_empty() => strip_slash_numbers(rest),
        _ => name,
    }
}

/// Removes `/1` and `/2` from the ends of all names.
///
/// # Errors
/// Fails if the reads of a template still have different names.
pub fn strip_read_numbers(
    reads: &mut ReadBatch,
    blame: impl Fn(Error, &ReadBatch, usize) -> Error,
) -> Result<()> {
    let segments = reads.segments().max(1);
    for index in 0..reads.len() {
        let length = strip_slash_numbers(reads.read(index).name).len();
        reads.trim_name(index, length);
        if index % segments == 1 && reads.read(index).name != reads.read(index - 1).name {
            let name = String::from_utf8_lossy(reads.read(index - 1).name).into_owned();
            let error = Error::input(format!("the mate has a different name: {name}"))
                .hint("names of mates may differ only in /1 and /2 at the end");
            return Err(blame(error, reads, index));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use readmill_record::Read;

    use super::*;

    #[test]
    fn names_lose_numbers_of_reads_alone() {
        for (name, expected) in [
            ("r/1", "r"),
            ("r/2/1", "r"),
            ("r/3", "r/3"),
            ("r/12", "r/12"),
            ("/1", "/1"),
            ("r.1", "r.1"),
        ] {
            assert_eq!(strip_slash_numbers(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }

    #[test]
    fn mates_have_one_name() {
        let named = |names: [&str; 2]| {
            let mut reads = ReadBatch::new(2, 0);
            for name in names {
                reads.push_read(Read {
                    name: name.as_bytes(),
                    comment: b"",
                    bases: b"A",
                    qualities: None,
                });
            }
            strip_read_numbers(&mut reads, |error, _, _| error)?;
            Ok::<_, Error>(reads.read(1).name.to_vec())
        };
        assert_eq!(named(["r/1", "r/2"]), Ok(b"r".to_vec()));
        assert!(named(["r/3", "r/4"]).is_err());
    }
}
