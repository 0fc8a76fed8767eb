//! FASTQ, plain or in BGZF: the outputs of `readmill fastq`.

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

/// Ends of names of files in BGZF.
const COMPRESSED_ENDS: [&[u8]; 3] = [b".gz", b".bgz", b".bgzf"];

#[derive(Clone, Debug, Default)]
pub struct FastqFormat {
    /// How a read is written.
    pub style: FastqStyle,
    /// Whether it is in BGZF.
    pub is_compressed: bool,
}

impl FastqFormat {
    /// Returns the format of a file with this name: in BGZF if it ends as such files do.
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
