//! Flags of barcodes and comments that become tags.

use clap::Args;
use readmill::plan::ReadTags;
use readmill_fastq::ReadStructure;
use readmill_filters::adapter::AdapterRules;
use readmill_markdup::umi::UmiSource;

/// Barcodes and comments of reads.
#[derive(Args)]
#[command(next_help_heading = "Barcodes and comments")]
pub struct ReadTagFlags {
    /// The comment of each read is fields of SAM, which all its records get: as bwa mem -C
    #[arg(short = 'C', long)]
    append_comment: bool,
    /// UMIs at the end of read names go to RX: behind the seventh colon, or behind SEPARATOR
    #[arg(long, value_name = "SEPARATOR", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = name_umis)]
    umi_from_name: Option<NameUmis>,
    /// Structures of the reads, one for each read of a template: 8M3S+T,+T has a UMI of 8 bases for RX and QX, skips 3, and aligns the rest; B and C are barcodes of samples (BC) and cells (CB)
    #[arg(long, value_name = "STRUCTURES", value_delimiter = ',')]
    read_structures: Vec<ReadStructure>,
}

/// The separator of UMIs in names, or that of the sequencer.
type NameUmis = (Option<u8>,);

/// Reads a separator of one character.
fn name_umis(text: &str) -> Result<NameUmis, String> {
    let source = if text.is_empty() { "name".to_string() } else { format!("name:{text}") };
    match source.parse() {
        Ok(UmiSource::Name(separator)) => Ok((separator,)),
        _ => Err(format!("{text:?} is not one character")),
    }
}

impl ReadTagFlags {
    /// Whether comments are asked for.
    pub fn says_comments(&self) -> bool {
        self.append_comment
    }

    /// The request, with these adapters and the words that say them.
    pub fn read_tags(&self, adapters: Option<AdapterRules>, adapter_words: Vec<String>) -> ReadTags {
        ReadTags {
            comments: self.append_comment,
            name_umis: self.umi_from_name.map(|(separator,)| separator),
            structures: self.read_structures.clone(),
            adapters,
            adapter_words,
        }
    }
}
