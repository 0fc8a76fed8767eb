//! The rules by which programs count, and the intervals that they need.

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

/// The intervals of the files that the options name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetFiles {
    /// BAIT_INTERVALS.
    pub baits: Option<NamedIntervals>,
    /// AMPLICON_INTERVALS.
    pub amplicons: Option<NamedIntervals>,
    /// TARGET_INTERVALS.
    pub targets: Option<NamedIntervals>,
}

/// The rules by which a program counts.
#[derive(Clone, Debug)]
pub(crate) struct TargetRules {
    pub program: &'static PicardProgram,
    /// Baits or amplicons, and what they are called.
    pub probes: NamedIntervals,
    pub probe_set: String,
    pub targets: NamedIntervals,
    /// How far from a probe a read may lie that it has caught.
    pub near: u32,
    /// Reads of a lower mapping quality do not count.
    pub min_mapq: u8,
    /// Bases of a lower quality do not count.
    pub min_qual: u8,
    /// Whether bases are left out that the mate has, too.
    pub clip_overlaps: bool,
    /// Whether deleted bases are covered, and inserted ones on target.
    pub include_indels: bool,
    /// Deeper positions count as of this depth, for the sensitivity to SNPs.
    pub cap: u32,
    /// Whether there are files of targets, and of their bases.
    pub per_target: bool,
    pub per_base: bool,
}

impl TargetRules {
    /// Returns the rules of one of the programs, if its files are given.
    pub fn of(program: &'static PicardProgram, all: &QcOptions, files: &TargetFiles) -> Option<Self> {
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

    /// The bases that count for the depth: never those of noise.
    pub fn counted(&self) -> CountedBases {
        CountedBases { min_qual: self.min_qual.clamp(NOISE + 1, IS_N), cap: self.cap }
    }
}

/// The names of files without all that follows their first point, each once, in order.
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
