//! The output formats for reads.
//!
//! A format is a file in this directory that implements [`OutputFormat`], and an entry in
//! [`FORMATS`].
//!
//! | file | content |
//! |---|---|
//! | `output_format` | the trait of a format, and its properties |
//! | `encoding` | encodes parts of a file on any thread, and completes them in order |
//! | `target_file` | the properties of the output file that a format may use |
//! | `text` | text formats |
//! | `bam`, `sam`, `cram`, `fastq` | the formats |

mod bam;
mod cram;
mod encoding;
mod fastq;
mod output_format;
mod sam;
mod target_file;
mod text;

use std::path::Path;

pub use bam::BamFormat;
pub use cram::CramFormat;
pub use encoding::{
    BatchEncoder, EncoderMaker, EncoderSettings, KEPT_BYTES, NoIndex, PartEntries, PartPlacer,
};
pub use fastq::FastqFormat;
pub use output_format::{Compression, Format, FormatOptions, FormatSpec, LargeParts, OutputFormat};
pub use sam::SamFormat;
pub use target_file::{Content, ContigBases, Index, TargetFile};
pub use text::TextFormat;

/// The formats for `-O` and for output file extensions. FASTQ is not included, because it has its
/// own subcommand.
pub static FORMATS: &[&FormatSpec] = &[&bam::SPEC, &sam::SPEC, &sam::COMPRESSED_SPEC, &cram::SPEC];

impl Format {
    /// Parses a format with its options, such as `bam` or `cram,version=3.0,no-ref`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.to_ascii_lowercase();
        let mut words = text.split(',');
        let name = words.next().unwrap_or_default();
        let Some(spec) = FORMATS.iter().find(|spec| spec.name == name) else {
            let names = join_words(FORMATS.iter().map(|spec| spec.name), "and");
            return Err(format!("{text:?} is not a format; the formats are {names}"));
        };
        let words = Vec::from_iter(words);
        match (&spec.options, &words[..]) {
            (_, []) => Ok((spec.make)()),
            (Some(options), words) => (options.parse)(words),
            (None, [word, ..]) => {
                let others = FORMATS.iter().filter(|spec| spec.options.is_some());
                let others = join_words(others.map(|spec| spec.name.to_ascii_uppercase()), "and");
                Err(format!("{word:?} is not an option of this format; only {others} has options"))
            }
        }
    }

    /// Returns the format for the extension of a file name; `None` if the extension is unknown.
    pub fn of_extension(path: &Path) -> Option<Self> {
        let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
        FORMATS.iter().find(|spec| name.ends_with(spec.extension)).map(|spec| (spec.make)())
    }
}

/// Joins words into a list such as `bam, sam or cram`.
pub fn join_words(words: impl IntoIterator<Item = impl AsRef<str>>, conjunction: &str) -> String {
    let words = Vec::from_iter(words);
    let mut list = String::new();
    for (number, word) in words.iter().enumerate() {
        if number > 0 && number + 1 == words.len() {
            list += &format!(" {conjunction} ");
        } else if number > 0 {
            list += ", ";
        }
        list += word.as_ref();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_by_its_name_and_by_the_name_of_a_file() {
        for spec in FORMATS {
            assert_eq!((spec.make)().spec().name, spec.name);
            let parsed = Format::parse(&spec.name.to_ascii_uppercase()).unwrap();
            assert_eq!(parsed.spec().name, spec.name);
            let named = Format::of_extension(Path::new(&format!("X{}", spec.extension))).unwrap();
            assert_eq!(named.spec().name, spec.name);
            if let Some(options) = &spec.options {
                options.examples.iter().for_each(|&word| drop((options.parse)(&[word]).unwrap()));
            }
        }
        assert!(Format::of_extension(Path::new("x.fq.gz")).is_none());
    }

    #[test]
    fn what_is_no_format_says_which_there_are() {
        let refused = |text: &str| Format::parse(text).unwrap_err();
        assert_eq!(
            refused("fastq"),
            "\"fastq\" is not a format; the formats are bam, sam, sam.gz and cram"
        );
        let only_cram = "\"no-ref\" is not an option of this format; only CRAM has options";
        assert_eq!(refused("bam,no-ref"), only_cram);
        assert_eq!(refused("cram,small,version=3.0"), "version 3.0 has no profiles: use version=3.1");
    }

    #[test]
    fn lists_end_in_a_conjunction() {
        assert_eq!(join_words(["a"], "or"), "a");
        assert_eq!(join_words(["a", "b"], "or"), "a or b");
        assert_eq!(join_words(["a", "b", "c"], "and"), "a, b and c");
    }
}
