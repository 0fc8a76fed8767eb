//! The rules of the target programs for counting reads and bases, and their intervals.

use std::path::Path;

use readmill_format::intervals::NamedIntervals;

use crate::depth::depths::CountedBases;
use crate::depth::reads::{IS_N, NOISE};
use crate::options::QcOptions;
use crate::selection::PicardProgram;

pub(super) const HS: PicardProgram = PicardProgram {
    name: "CollectHsMetrics",
    endings: &[".hs_metrics", ".hs_per_target_coverage", ".hs_per_base_coverage"],
};

pub(super) const PCR: PicardProgram = PicardProgram {
    name: "CollectTargetedPcrMetrics",
    endings: &[
        ".targeted_pcr_metrics",
        ".targeted_pcr_per_target_coverage",
        ".targeted_pcr_per_base_coverage",
    ],
};

/// The intervals in the files that the options name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetFiles {
    pub baits: Option<NamedIntervals>,
    pub amplicons: Option<NamedIntervals>,
    pub targets: Option<NamedIntervals>,
}

/// The rules of one program. Picard's defaults for the program apply to options that the user did
/// not give.
#[derive(Clone, Debug)]
pub(crate) struct TargetRules {
    pub program: &'static PicardProgram,
    /// The baits or amplicons, and the name of their set.
    pub probes: NamedIntervals,
    pub probe_set: String,
    pub targets: NamedIntervals,
    /// NEAR_DISTANCE: reads within this number of bases of a probe count as selected by it.
    pub near: u32,
    pub min_mapq: u8,
    pub min_qual: u8,
    /// CLIP_OVERLAPPING_READS: whether bases that the mate also covers are excluded from one of the
    /// two reads.
    pub clip_overlaps: bool,
    /// INCLUDE_INDELS: whether deleted bases count as covered, and inserted bases as on target.
    pub include_indels: bool,
    /// COVERAGE_CAP: deeper positions are counted at this depth for the sensitivity to SNPs.
    pub cap: u32,
    /// Whether to write the depth of each target.
    pub per_target: bool,
    /// Whether to write the depth of each base of the targets.
    pub per_base: bool,
}

impl TargetRules {
    /// Returns the rules of a program. `None` if the interval files of the program are not given.
    pub fn for_program(
        program: &'static PicardProgram,
        all: &QcOptions,
        files: &TargetFiles,
    ) -> Option<Self> {
        let options = &all.targets;
        let (probes, set, mapq, qual, clips) = if *program == HS {
            let set = options.bait_set_name.clone();
            (&files.baits, set.unwrap_or_else(|| set_name(&options.bait_intervals)), 20, 20, true)
        } else {
            let set = options.custom_amplicon_set_name.clone();
            let set = set.unwrap_or_else(|| set_name(options.amplicon_intervals.as_slice()));
            (&files.amplicons, set, 1, 0, false)
        };
        Some(TargetRules {
            program,
            probes: probes.clone()?,
            probe_set: set,
            targets: files.targets.clone()?,
            near: options.near_distance.unwrap_or(250),
            min_mapq: all.minimum_mapping_quality.unwrap_or(mapq),
            min_qual: all.minimum_base_quality.unwrap_or(qual),
            clip_overlaps: options.clip_overlapping_reads.unwrap_or(clips),
            include_indels: options.include_indels,
            cap: all.coverage_cap.unwrap_or(200),
            per_target: options.per_target_coverage,
            per_base: options.per_base_coverage,
        })
    }

    /// Returns the rule for the depth. Bases of the lowest qualities (noise) never count, even if
    /// the minimum quality is 0.
    pub fn counted_bases(&self) -> CountedBases {
        CountedBases { min_qual: self.min_qual.clamp(NOISE + 1, IS_N), cap: self.cap }
    }
}

/// Returns the names of the files up to the first dot, sorted, without duplicates and joined by
/// dots. This is Picard's default for the name of a bait set.
fn set_name<P: AsRef<Path>>(files: &[P]) -> String {
    let stem = |file: &P| {
        let name = file.as_ref().file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned())
    };
    let mut names: Vec<String> = files.iter().map(stem).collect();
    names.sort();
    names.dedup();
    names.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_after_their_files() {
        assert_eq!(set_name(&["x/b.v1.interval_list", "a", "y/b.v2.bed"]), "a.b");
        assert_eq!(set_name(&[".hidden"]), "");
    }
}
