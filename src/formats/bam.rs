//! The BAM output format, and its BAI or CSI index, which is built while the file is written.

use readmill_format::bam::index::{IndexBuilder, IndexFormat, IndexScheme};
use readmill_format::bam::{self, BamEncoder};
use readmill_record::{Batch, Detail, Header, Result};

use super::encoding::{BatchEncoder, EncoderMaker, EncoderSettings, NoIndex, PartEntries, PartPlacer};
use super::output_format::{Compression, Format, FormatSpec, OutputFormat};
use super::target_file::{Content, Index, TargetFile};

pub(super) static SPEC: FormatSpec = FormatSpec {
    name: "bam",
    extension: ".bam",
    compression: Compression::Bgzf,
    goes_to_terminals: false,
    is_joined_by_cat: true,
    can_be_read_back: true,
    make: || Format::new(BamFormat),
    options: None,
};

#[derive(Debug)]
pub struct BamFormat;

impl OutputFormat for BamFormat {
    fn spec(&self) -> &'static FormatSpec {
        &SPEC
    }

    fn header_bytes(&self, header: &Header, _: Content) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bam::header::write_header(header, &mut bytes)?;
        Ok(bytes)
    }

    fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker> {
        let (codec, level, scheme) = (file.codec, file.level(), index_scheme(file)?);
        let settings = EncoderSettings { format: SPEC.name, codec, level, scheme };
        let maker = EncoderMaker::new(move |_| Box::new(BamEncoder::new(codec, level, scheme)));
        Ok(maker.depends_on(settings))
    }

    fn placer(&self, file: &TargetFile<'_>) -> Result<Box<dyn PartPlacer>> {
        let Some(scheme) = index_scheme(file)? else { return Ok(Box::new(NoIndex)) };
        let builder = IndexBuilder::new(scheme, file.header);
        Ok(Box::new(BamPlacer { scheme, builder, is_required: file.index.is_required() }))
    }

    fn can_have_index(&self, _: Index) -> bool {
        true
    }

    fn checked_detail(&self) -> Detail {
        Detail::WithoutFields // records are copied
    }

    fn pipe_note(&self, level: Option<u8>) -> Option<&'static str> {
        match level {
            None => Some("uncompressed BAM is written to the pipe; -l sets a compression level"),
            Some(0) => None,
            Some(_) => Some(
                "the output is compressed, although it is a pipe; -u writes uncompressed BAM, which is faster",
            ),
        }
    }
}

/// Returns the binning scheme of the index, which also decides whether the index is a BAI or a CSI.
/// `None` if no index is written.
fn index_scheme(file: &TargetFile<'_>) -> Result<Option<IndexScheme>> {
    Ok(match file.index {
        Index::Auto if file.is_sorted && file.is_regular => Some(IndexScheme::for_header(file.header)),
        Index::Auto | Index::No => None,
        Index::Wanted => Some(IndexScheme::for_header(file.header)),
        Index::Kind(IndexFormat::Bai) => Some(IndexScheme::bai(file.header)?),
        // TBI is an index of text files; `--write-index` does not accept it.
        Index::Kind(IndexFormat::Csi | IndexFormat::Tbi) => Some(IndexScheme::csi(file.header)),
    })
}

impl BatchEncoder for BamEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<PartEntries> {
        Ok(PartEntries { fragment: self.encode_partition(batch, out), ..PartEntries::default() })
    }
}

/// Collects the index entries of a BAM file.
struct BamPlacer {
    scheme: IndexScheme,
    builder: IndexBuilder,
    /// Whether unsorted records are an error. Otherwise, the index is omitted.
    is_required: bool,
}

impl PartPlacer for BamPlacer {
    fn place(&mut self, entries: PartEntries, _: &mut [u8], _: u64, offset: u64) {
        if let Some(fragment) = entries.fragment {
            self.builder.add_fragment(fragment, offset);
        }
    }

    fn restart(&mut self, header: &Header) {
        self.builder = IndexBuilder::new(self.scheme, header);
    }

    fn usual_bytes(&self, header: &Header) -> Option<u64> {
        Some(IndexBuilder::usual_bytes(header))
    }

    fn heap_bytes(&self) -> u64 {
        self.builder.heap_bytes()
    }

    fn index_suffix(&self) -> Option<&'static str> {
        Some(self.scheme.kind().suffix())
    }

    fn omits_index(&self) -> bool {
        !self.is_required && !self.builder.is_sorted()
    }

    fn into_index(self: Box<Self>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.builder.write_to(&mut bytes)?;
        Ok(bytes)
    }
}
