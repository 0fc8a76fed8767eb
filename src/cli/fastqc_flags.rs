//! Flags of the modules of FastQC.

use std::path::PathBuf;

use clap::Args;
use readmill::plan::FastqcRequest;
use readmill_fastqc::Options;
use readmill_record::Result;

/// The modules of FastQC in the same pass.
#[derive(Args)]
pub struct FastqcFlags {
    /// Write the modules of FastQC of the reads of each input, as they come, in DIR/NAME_fastqc/fastqc_data.txt and summary.txt
    #[arg(long, value_name = "DIR")]
    fastqc: Option<PathBuf>,
    /// Let each position of long reads have a line of its own in the modules of FastQC
    #[arg(long, requires = "fastqc")]
    fastqc_nogroup: bool,
}

impl FastqcFlags {
    /// Whether no module is asked for.
    pub fn is_empty(&self) -> bool {
        self.fastqc.is_none()
    }

    /// The reports of these inputs that are asked for.
    pub fn request(&self, inputs: &[PathBuf]) -> Result<Option<FastqcRequest>> {
        let options = Options { no_group: self.fastqc_nogroup };
        self.fastqc.as_ref().map(|directory| FastqcRequest::new(directory, inputs, options)).transpose()
    }
}
