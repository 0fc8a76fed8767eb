//! Encodings of qualities in FASTQ: the score of each character, and detection of a file's
//! encoding.

use std::str::FromStr;
use std::sync::Arc;

use readmill_record::{Error, ReadBatch, Result};

use crate::{BatchLinker, BatchOptions, Claims, FastqLayout};

/// Number of records, over all files, from which the encoding is detected; the same as in Picard
/// FastqToSam 3.4.0.
const EXAMINED_RECORDS: usize = 10_000;

/// The encoding of quality lines (Cock and others, Nucleic Acids Research 2010).
///
/// ```
/// use readmill_fastq::QualityEncoding;
///
/// // Picard's rule: no character up to `:` means that it is one of the old encodings.
/// let mut seen = [false; 256];
/// for &character in b"BdhhhT" {
///     seen[usize::from(character)] = true;
/// }
/// assert_eq!(QualityEncoding::detect_from_characters(&seen)?, QualityEncoding::Illumina);
/// assert_eq!("illumina".parse(), Ok(QualityEncoding::Illumina));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QualityEncoding {
    /// Phred + 33: `!` is 0. Used by all sequencers since 2011.
    #[default]
    Standard,
    /// Phred + 64: `@` is 0. Used by Illumina 1.3 to 1.7.
    Illumina,
    /// Solexa score + 64: `;` is -5. Used before Illumina 1.3.
    Solexa,
}

impl FromStr for QualityEncoding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        QualityEncoding::ALL
            .into_iter()
            .find(|encoding| encoding.name() == text)
            .ok_or_else(|| Error::usage(format!("{text:?} is none of standard, illumina and solexa")))
    }
}

impl QualityEncoding {
    pub const ALL: [QualityEncoding; 3] =
        [QualityEncoding::Standard, QualityEncoding::Illumina, QualityEncoding::Solexa];

    pub fn name(self) -> &'static str {
        match self {
            QualityEncoding::Standard => "standard",
            QualityEncoding::Illumina => "illumina",
            QualityEncoding::Solexa => "solexa",
        }
    }

    fn lowest_character(self) -> u8 {
        match self {
            QualityEncoding::Standard => b'!',
            QualityEncoding::Illumina => b'@',
            QualityEncoding::Solexa => b';',
        }
    }

    /// Returns the Phred score of a character; `None` if the encoding does not use it. Solexa
    /// scores below 0 become 0, others 10 log10(1 + 10^(s/10)), rounded, as in htsjdk 4.2.0
    /// (SolexaQualityConverter).
    ///
    /// ```
    /// use readmill_fastq::QualityEncoding;
    /// assert_eq!(QualityEncoding::Standard.phred(b'I'), Some(40));
    /// assert_eq!(QualityEncoding::Illumina.phred(b'h'), Some(40));
    /// assert_eq!(["?", "@", "J"].map(|letter| QualityEncoding::Solexa.phred(letter.as_bytes()[0])), [Some(0), Some(3), Some(10)]);
    /// assert_eq!(QualityEncoding::Illumina.phred(b'?'), None);
    /// ```
    pub fn phred(self, letter: u8) -> Option<u8> {
        /// Phred scores of the Solexa scores 0 to 9. From 10 on, both are equal.
        const OF_SOLEXA: [u8; 10] = [3, 4, 4, 5, 5, 6, 7, 8, 9, 10];
        if !(self.lowest_character()..=b'~').contains(&letter) {
            return None;
        }
        Some(match self {
            QualityEncoding::Standard => letter - b'!',
            QualityEncoding::Illumina => letter - b'@',
            QualityEncoding::Solexa => {
                let score = letter.saturating_sub(b'@');
                match OF_SOLEXA.get(usize::from(score)) {
                    Some(_) if letter < b'@' => 0,
                    Some(&phred) => phred,
                    None => score,
                }
            }
        })
    }

    /// Returns the probable encoding of a file with these characters, by the rules of htsjdk 4.2.0
    /// (QualityEncodingDetector). An encoding is ruled out if it does not use one of the
    /// characters. The standard encoding is also ruled out if all characters are above `:` (25).
    ///
    /// # Errors
    ///
    /// No encoding uses all the characters, or there are none.
    pub fn detect_from_characters(letters: &[bool; 256]) -> Result<Self> {
        let seen = || (0..=255u8).filter(|&letter| letters[usize::from(letter)]);
        let has_all = |encoding: QualityEncoding| seen().all(|letter| encoding.phred(letter).is_some());
        if seen().next().is_none() {
            return Err(Error::input(
                "the quality encoding cannot be detected, because there are no qualities",
            )
            .hint("set it: --quality-encoding standard"));
        }
        if seen().any(|letter| letter <= b':') {
            return if has_all(QualityEncoding::Standard) {
                Ok(QualityEncoding::Standard)
            } else {
                Err(unknown_encoding_error())
            };
        }
        // Solexa's encoding uses all characters of Illumina's, so Illumina's is tried first.
        let later = [QualityEncoding::Illumina, QualityEncoding::Solexa];
        later.into_iter().find(|&encoding| has_all(encoding)).ok_or_else(unknown_encoding_error)
    }

    /// Returns the probable encoding of the first 10,000 records of these files
    /// ([`QualityEncoding::detect_from_characters`]). Files without records have the standard
    /// encoding.
    ///
    /// # Errors
    ///
    /// The files cannot be read, or no encoding uses all their characters.
    pub fn detect_from_files(layout: FastqLayout, options: BatchOptions) -> Result<Self> {
        let claims = Arc::new(Claims::open(layout, options)?);
        let (mut linker, mut reads) = (BatchLinker::new(&claims), ReadBatch::default());
        let (mut letters, mut left) = ([false; 256], EXAMINED_RECORDS);
        for ticket in 0.. {
            let taken = claims.take(ticket, &mut reads);
            linker.link(taken, &mut reads)?;
            for (of, at) in reads.iter_in_file_order().take(left) {
                let qualities = of.read(at).qualities.unwrap_or_default();
                qualities.iter().for_each(|&letter| letters[usize::from(letter)] = true);
            }
            left = left.saturating_sub(reads.iter_in_file_order().count());
            if left == 0 || claims.has_ended() {
                break;
            }
        }
        if left == EXAMINED_RECORDS {
            Ok(QualityEncoding::Standard)
        } else {
            QualityEncoding::detect_from_characters(&letters)
        }
    }
}

fn unknown_encoding_error() -> Error {
    Error::input("the quality encoding is unknown")
        .hint("the qualities are not Phred+33, Phred+64 or Solexa; check the fourth line of each record")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastqInput;

    fn detected(text: &[u8]) -> Result<QualityEncoding> {
        let mut letters = [false; 256];
        text.iter().for_each(|&letter| letters[usize::from(letter)] = true);
        QualityEncoding::detect_from_characters(&letters)
    }

    #[test]
    fn letters_tell_the_encoding() {
        assert_eq!(detected(b"#5I"), Ok(QualityEncoding::Standard));
        assert_eq!(detected(b":~"), Ok(QualityEncoding::Standard));
        assert_eq!(detected(b";h"), Ok(QualityEncoding::Solexa));
        assert_eq!(detected(b"Bh"), Ok(QualityEncoding::Illumina), "standard needs a letter up to :");
        assert!(detected(b"").is_err());
        assert!(detected(b" ").is_err());
        assert!(detected(b"\x7f").is_err());
    }

    #[test]
    fn ten_thousand_records_are_looked_at() {
        let record = |quality: &str| format!("@r\nA\n+\n{quality}\n");
        let of = |before: usize| {
            let text = record("h").repeat(before) + &record("!");
            let input = FastqInput::Stream("r.fq".into(), Box::new(std::io::Cursor::new(text)));
            QualityEncoding::detect_from_files(FastqLayout::Single(input), BatchOptions::default())
        };
        assert_eq!(
            [of(9_999), of(10_000)],
            [Ok(QualityEncoding::Standard), Ok(QualityEncoding::Illumina)]
        );
        let nothing = FastqInput::Stream("r.fq".into(), Box::new(&b""[..]));
        assert_eq!(
            QualityEncoding::detect_from_files(FastqLayout::Single(nothing), BatchOptions::default()),
            Ok(QualityEncoding::Standard)
        );
    }

    #[test]
    fn solexa_scores_are_rounded() {
        for score in 0..=62u8 {
            let exact = 10.0 * (1.0 + 10f64.powf(f64::from(score) / 10.0)).log10();
            assert_eq!(
                QualityEncoding::Solexa.phred(b'@' + score),
                Some(exact.round() as u8),
                "{score}"
            );
        }
    }
}
