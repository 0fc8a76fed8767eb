//! The SAM output format, as plain text or compressed in BGZF blocks.

use readmill_format::sam;
use readmill_record::{Detail, Error, Header, RecordRef, Result};

use super::encoding::EncoderMaker;
use super::output_format::{Compression, Format, FormatSpec, OutputFormat};
use super::target_file::{Content, TargetFile};
use super::text::TextFormat;

pub(super) static SPEC: FormatSpec =
    FormatSpec::text("sam", ".sam", || Format::new(SamFormat { is_compressed: false }));

pub(super) static COMPRESSED_SPEC: FormatSpec = FormatSpec {
    compression: Compression::Bgzf,
    ..FormatSpec::text("sam.gz", ".sam.gz", || Format::new(SamFormat { is_compressed: true }))
};

#[derive(Clone, Debug)]
pub struct SamFormat {
    /// Whether the text is compressed in BGZF blocks (`.sam.gz`).
    pub is_compressed: bool,
}

impl OutputFormat for SamFormat {
    fn spec(&self) -> &'static FormatSpec {
        if self.is_compressed { &COMPRESSED_SPEC } else { &SPEC }
    }

    fn header_bytes(&self, header: &Header, content: Content) -> Result<Vec<u8>> {
        Ok(if content == Content::Records { Vec::new() } else { header.to_text() })
    }

    fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker> {
        Ok(EncoderMaker::of_text(self, file))
    }

    fn checked_detail(&self) -> Detail {
        Detail::WithoutFields // lines are checked as they are written
    }
}

impl TextFormat for SamFormat {
    #[inline]
    fn write_record(&self, header: &Header, record: RecordRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        sam::try_write_record(header, record, out).map_err(Error::input)
    }
}
