//! Encodings of qualities in FASTQ: what the letters mean, and which encoding a file probably has.

use std::str::FromStr;
use std::sync::Arc;

use readmill_record::{Error, ReadBatch, Result};

use crate::{BatchLinker, Claims, Layout, Options};

/// Records that are looked at to find the encoding: as many as Picard FastqToSam 3.4.0 does, of all files together.
const RECORDS: usize = 10_000;

/// The meaning of the letters that stand for qualities (Cock and others, Nucleic Acids Research 2010).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Phred + 33: `!` is 0. All sequencers since 2011.
    #[default]
    Standard,
    /// Phred + 64: `@` is 0. Illumina 1.3 to 1.7.
    Illumina,
    /// Solexa's own score + 64: `;` is -5. Before Illumina 1.3.
    Solexa,
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Encoding::ALL
            .into_iter()
            .find(|encoding| encoding.name() == text)
            .ok_or_else(|| Error::usage(format!("{text:?} is none of standard, illumina and solexa")))
    }
}

impl Encoding {
    /// All encodings.
    pub const ALL: [Encoding; 3] = [Encoding::Standard, Encoding::Illumina, Encoding::Solexa];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Standard => "standard",
            Encoding::Illumina => "illumina",
            Encoding::Solexa => "solexa",
        }
    }

    /// The lowest letter; the highest is `~` in all of them.
    fn lowest(self) -> u8 {
        match self {
            Encoding::Standard => b'!',
            Encoding::Illumina => b'@',
            Encoding::Solexa => b';',
        }
    }

    /// The Phred score of a letter; `None` if it is none of this encoding. Solexa scores below 0 become 0, others
    /// 10 log10(1 + 10^(s/10)), rounded: as in htsjdk 4.2.0 (SolexaQualityConverter).
    ///
    /// ```
    /// use readmill_fastq::Encoding;
    /// assert_eq!(Encoding::Standard.phred(b'I'), Some(40));
    /// assert_eq!(Encoding::Illumina.phred(b'h'), Some(40));
    /// assert_eq!(["?", "@", "J"].map(|letter| Encoding::Solexa.phred(letter.as_bytes()[0])), [Some(0), Some(3), Some(10)]);
    /// assert_eq!(Encoding::Illumina.phred(b'?'), None);
    /// ```
    pub fn phred(self, letter: u8) -> Option<u8> {
        /// Phred scores of Solexa scores 0 to 9; from 10 on both are equal.
        const OF_SOLEXA: [u8; 10] = [3, 4, 4, 5, 5, 6, 7, 8, 9, 10];
        if !(self.lowest()..=b'~').contains(&letter) {
            return None;
        }
        Some(match self {
            Encoding::Standard => letter - b'!',
            Encoding::Illumina => letter - b'@',
            Encoding::Solexa => {
                let score = letter.saturating_sub(b'@');
                match OF_SOLEXA.get(usize::from(score)) {
                    Some(_) if letter < b'@' => 0,
                    Some(&phred) => phred,
                    None => score,
                }
            }
        })
    }

    /// The encoding that these letters probably have, by the rules of htsjdk 4.2.0 (QualityEncodingDetector): those that
    /// lack a letter are ruled out; so is the standard one where all letters are above `:` (25).
    ///
    /// # Errors
    /// No encoding has them all, or there are none.
    pub fn of_letters(letters: &[bool; 256]) -> Result<Self> {
        let seen = || (0..=255u8).filter(|&letter| letters[usize::from(letter)]);
        let has_all = |encoding: Encoding| seen().all(|letter| encoding.phred(letter).is_some());
        if seen().next().is_none() {
            return Err(Error::input("there are no qualities that could tell their encoding")
                .hint("name it: --quality-encoding standard"));
        }
        if seen().any(|letter| letter <= b':') {
            return if has_all(Encoding::Standard) { Ok(Encoding::Standard) } else { Err(unknown()) };
        }
        // What Illumina's encoding has, Solexa's has, too.
        let later = [Encoding::Illumina, Encoding::Solexa];
        later.into_iter().find(|&encoding| has_all(encoding)).ok_or_else(unknown)
    }

    /// The encoding that the first records of these files probably have, as [`Encoding::of_letters`] tells it; the standard
    /// one if there are no records.
    ///
    /// # Errors
    /// The files cannot be read, or no encoding has the letters.
    pub fn of_files(layout: Layout, options: Options) -> Result<Self> {
        let claims = Arc::new(Claims::open(layout, options)?);
        let (mut linker, mut reads) = (BatchLinker::new(&claims), ReadBatch::default());
        let (mut letters, mut left) = ([false; 256], RECORDS);
        for ticket in 0.. {
            let taken = claims.take(ticket, &mut reads);
            linker.link(taken, &mut reads)?;
            for (of, at) in reads.in_order().take(left) {
                let qualities = of.read(at).qualities.unwrap_or_default();
                qualities.iter().for_each(|&letter| letters[usize::from(letter)] = true);
            }
            left = left.saturating_sub(reads.in_order().count());
            if left == 0 || claims.ended() {
                break;
            }
        }
        if left == RECORDS { Ok(Encoding::Standard) } else { Encoding::of_letters(&letters) }
    }
}

fn unknown() -> Error {
    Error::input("the qualities are of no known encoding").hint(
        "they are neither Phred + 33, nor Phred + 64, nor Solexa's; see what is in the fourth lines",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastqInput;

    fn detected(text: &[u8]) -> Result<Encoding> {
        let mut letters = [false; 256];
        text.iter().for_each(|&letter| letters[usize::from(letter)] = true);
        Encoding::of_letters(&letters)
    }

    #[test]
    fn letters_tell_the_encoding() {
        assert_eq!(detected(b"#5I"), Ok(Encoding::Standard));
        assert_eq!(detected(b":~"), Ok(Encoding::Standard));
        assert_eq!(detected(b";h"), Ok(Encoding::Solexa));
        assert_eq!(detected(b"Bh"), Ok(Encoding::Illumina), "standard needs a letter up to :");
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
            Encoding::of_files(Layout::Single(input), Options::default())
        };
        assert_eq!([of(9_999), of(10_000)], [Ok(Encoding::Standard), Ok(Encoding::Illumina)]);
        let nothing = FastqInput::Stream("r.fq".into(), Box::new(&b""[..]));
        assert_eq!(
            Encoding::of_files(Layout::Single(nothing), Options::default()),
            Ok(Encoding::Standard)
        );
    }

    #[test]
    fn solexa_scores_are_rounded() {
        for score in 0..=62u8 {
            let exact = 10.0 * (1.0 + 10f64.powf(f64::from(score) / 10.0)).log10();
            assert_eq!(Encoding::Solexa.phred(b'@' + score), Some(exact.round() as u8), "{score}");
        }
    }
}
