//! The FASTQ output format for `readmill fastq`, plain or compressed in BGZF blocks.

use std::path::Path;

use readmill_format::fastq::{self, FastqStyle};
use readmill_record::{Header, RecordRef, Result};

use super::encoding::EncoderMaker;
use super::output_format::{Compression, Format, FormatSpec, OutputFormat};
use super::target_file::TargetFile;
use super::text::TextFormat;

static SPEC: FormatSpec = FormatSpec::text("fastq", ".fq", || Format::new(FastqFormat::default()));

static COMPRESSED_SPEC: FormatSpec = FormatSpec {
    compression: Compression::Bgzf,
    ..FormatSpec::text("fastq.gz", ".fq.gz", || {
        Format::new(FastqFormat { is_compressed: true, ..FastqFormat::default() })
    })
};

/// File name suffixes that select BGZF compression.
const COMPRESSED_ENDS: [&[u8]; 3] = [b".gz", b".bgz", b".bgzf"];

#[derive(Clone, Debug, Default)]
pub struct FastqFormat {
    pub style: FastqStyle,
    /// Whether the file is compressed in BGZF blocks.
    pub is_compressed: bool,
}

impl FastqFormat {
    /// Returns the format for a file name: compressed if the name ends in `.gz`, `.bgz` or `.bgzf`.
    pub fn of_name(path: &Path, style: FastqStyle) -> Self {
        let name = path.as_os_str().as_encoded_bytes();
        FastqFormat { style, is_compressed: COMPRESSED_ENDS.iter().any(|end| name.ends_with(end)) }
    }
}

impl OutputFormat for FastqFormat {
    fn spec(&self) -> &'static FormatSpec {
        if self.is_compressed { &COMPRESSED_SPEC } else { &SPEC }
    }

    fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker> {
        Ok(EncoderMaker::of_text(self, file))
    }
}

impl TextFormat for FastqFormat {
    #[inline]
    fn write_record(&self, _: &Header, record: RecordRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        fastq::write_record(&self.style, record, out);
        Ok(())
    }
}
