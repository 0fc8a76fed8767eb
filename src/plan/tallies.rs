//! Tallies in the same pass: the request.

use std::path::{Path, PathBuf};

/// Files to write about the reads of the output, and whether to verify that none was lost.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// Numbers of reads by FLAG, as `samtools flagstat` writes them.
    pub flagstat: Option<PathBuf>,
    /// Numbers of reads by reference sequence, as `samtools idxstats` writes them.
    pub idxstats: Option<PathBuf>,
    /// Statistics, as `samtools stats` writes them.
    pub stats: Option<PathBuf>,
    /// Checksums that do not depend on order.
    pub checksum: Option<PathBuf>,
    /// The same as `samtools checksum` takes them.
    pub samtools_checksum: Option<PathBuf>,
    /// The same as `bamseqchksum` takes them.
    pub bamseqchksum: Option<PathBuf>,
    /// Reads by bases of adapters, as they come, as Picard's MarkIlluminaAdapters counts them.
    pub adapters: Option<PathBuf>,
    /// The name of the sample in metrics, if it is not that of the output.
    pub sample: Option<String>,
    /// Fail if reads were lost, doubled or altered by what should not.
    pub verify: bool,
}

impl Tallies {
    /// The files, in the order of the fields.
    pub fn paths(&self) -> [Option<&Path>; 7] {
        let Tallies { flagstat, idxstats, stats, checksum, samtools_checksum, bamseqchksum, .. } = self;
        [flagstat, idxstats, stats, checksum, samtools_checksum, bamseqchksum, &self.adapters]
            .map(Option::as_deref)
    }

    /// Whether anything is wanted.
    pub fn any(&self) -> bool {
        self.verify || self.paths().iter().any(Option::is_some)
    }
}
