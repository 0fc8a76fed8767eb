//! Converts qualities of FASTQ files with a non-standard encoding.

use std::ops::RangeInclusive;

use readmill_fastq::QualityEncoding;
use readmill_record::{Error, ReadBatch, Result};

/// Converts the qualities of all reads from `encoding` to Phred + 33.
///
/// # Errors
/// Fails if a character does not belong to the encoding, or if its Phred score is outside `range`.
pub fn convert_to_phred33(
    encoding: QualityEncoding,
    range: &RangeInclusive<u8>,
    reads: &mut ReadBatch,
    blame: impl Fn(Error, &ReadBatch, usize) -> Error,
) -> Result<()> {
    if encoding == QualityEncoding::Standard && (*range.start(), *range.end()) == (0, 93) {
        return Ok(()); // FASTQ with other characters was rejected earlier
    }
    for index in 0..reads.len() {
        let mut wrong = None;
        for letter in reads.qualities_mut(index).into_iter().flatten() {
            match encoding.phred(*letter) {
                Some(phred) if range.contains(&phred) => *letter = phred + b'!',
                phred => {
                    wrong = wrong.or(Some((char::from(*letter), phred)));
                }
            }
        }
        let error = match wrong {
            None => continue,
            Some((letter, None)) => Error::input(format!(
                "the quality character {letter:?} is not valid in the encoding {}",
                encoding.name()
            ))
            .hint("choose another encoding: --quality-encoding standard, illumina or solexa"),
            Some((letter, Some(phred))) => Error::input(format!(
                "the quality {phred} ({letter:?}) is not between {} and {}",
                range.start(),
                range.end()
            ))
            .hint("change the limits with --min-quality or --max-quality"),
        };
        return Err(blame(error, reads, index));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use readmill_record::Read;

    use super::*;

    fn done(encoding: QualityEncoding, range: RangeInclusive<u8>, qualities: &str) -> Result<Vec<u8>> {
        let mut reads = ReadBatch::new(1, 0);
        let bases = vec![b'A'; qualities.len()];
        let read =
            Read { name: b"r", comment: b"", bases: &bases, qualities: Some(qualities.as_bytes()) };
        reads.push_read(read);
        reads.push_read(Read { qualities: None, ..read });
        convert_to_phred33(encoding, &range, &mut reads, |error, reads, at| {
            error.qname(reads.read(at).name)
        })?;
        Ok(reads.read(0).qualities.unwrap_or_default().to_vec())
    }

    #[test]
    fn letters_become_those_of_the_standard() {
        assert_eq!(done(QualityEncoding::Illumina, 0..=93, "@Bh").as_deref(), Ok(&b"!#I"[..]));
        assert_eq!(done(QualityEncoding::Solexa, 0..=93, ";@h").as_deref(), Ok(&b"!$I"[..]));
        assert_eq!(done(QualityEncoding::Standard, 2..=40, "#I").as_deref(), Ok(&b"#I"[..]));
    }

    #[test]
    fn other_letters_and_scores_are_errors() {
        let said = |done: Result<Vec<u8>>| done.expect_err("an error").what;
        assert_eq!(
            said(done(QualityEncoding::Illumina, 0..=93, "h?")),
            "the quality character '?' is not valid in the encoding illumina"
        );
        assert_eq!(
            said(done(QualityEncoding::Standard, 2..=40, "#\"J")),
            "the quality 1 ('\"') is not between 2 and 40"
        );
    }
}
