//! Derives the format of an output from its file name.

use std::path::Path;

use readmill_record::{Error, Result};

use crate::formats::{BamFormat, Format};

/// Extensions of other file types. An output with such a name is refused, because other programs
/// would mistake the BAM file for that type.
const OTHERS: [&str; 44] = [
    "7z", "bai", "bcf", "bed", "bgz", "bw", "bz2", "crai", "csi", "csv", "dict", "fa", "fai", "fasta",
    "fastq", "fna", "fq", "gff", "gff3", "gtf", "gz", "html", "json", "log", "lz4", "maf", "metrics",
    "pdf", "rar", "sra", "tar", "tbi", "text", "tgz", "tsv", "txt", "vcf", "wig", "xml", "xz", "yaml",
    "yml", "zip", "zst",
];

/// The separator between a file name and its index name in htslib's notation `FILE##idx##INDEX`.
const INDEX_MARK: &str = "##idx##";

impl Format {
    /// Returns the format for the extension of `path`, or BAM if the extension is unknown.
    pub fn from_file_name(path: &Path) -> Self {
        Format::of_extension(path).unwrap_or_else(|| Format::new(BamFormat))
    }

    /// Returns the format of an output whose format is not given. The second value is true if the
    /// format is a guess: the extension is unknown, and the caller warns that BAM is written. A
    /// device or pipe may have any name.
    ///
    /// # Errors
    ///
    /// Fails if the extension belongs to another file type, such as `.vcf`.
    pub fn for_output_name(path: &Path) -> Result<(Self, bool)> {
        if let Some(format) = Format::of_extension(path) {
            return Ok((format, false));
        }
        let format = Format::new(BamFormat);
        let known = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let words: Vec<&str> = name.split('.').skip(1).collect();
        let Some(last) = words.last().filter(|_| !known) else { return Ok((format, false)) };
        if OTHERS.contains(last) {
            return Err(Error::usage(format!(
                "{} is not the name of a SAM, BAM or CRAM file",
                path.display()
            )));
        }
        Ok((format, !words.iter().any(|&word| word == "bam" || word == "ubam")))
    }
}

/// Returns a usage error for a name in htslib's notation `FILE##idx##INDEX`, which readmill does
/// not support for this file.
pub fn check_index_mark(path: &Path) -> Result<()> {
    if !path.to_string_lossy().contains(INDEX_MARK) {
        return Ok(());
    }
    let what = format!(
        "{} contains {INDEX_MARK} and an index name, which readmill does not support here",
        path.display()
    );
    Err(Error::usage(what).hint(
        "omit ##idx## and the index name; only `readmill view` accepts the index name of an input, and a new index is always named after its file: X.bam.bai (X.bam.csi with --write-index=csi)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        let of = |name: &str| {
            Format::for_output_name(Path::new(name))
                .map(|(format, guessed)| (format.spec().name, guessed))
        };
        for (name, format, guessed) in [
            ("out/x.bam", "bam", false),
            ("x.sam", "sam", false),
            ("x.SAM.gz", "sam.gz", false),
            ("x.cram", "cram", false),
            ("-", "bam", false),
            ("x", "bam", false),
            ("x.txt/y", "bam", false),
            ("x.bam.tmp", "bam", false),
            ("x.ubam", "bam", false),
            ("x.cram.tmp", "bam", true),
            ("x.sorted", "bam", true),
            ("/dev/null", "bam", false),
        ] {
            assert_eq!(of(name), Ok((format, guessed)), "{name}");
        }
        for name in ["x.txt", "x.sam.bz2", "x.bam.gz", "x.fq.gz", "x.VCF", "x.bam.zst", "x.bam.bai"] {
            assert!(of(name).is_err(), "{name}");
        }
    }
}
