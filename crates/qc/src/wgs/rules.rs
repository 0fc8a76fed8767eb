//! The rules of the whole-genome programs for counting reads and bases.

use crate::depth::depths::CountedBases;
use crate::depth::sensitivity;
use crate::options::QcOptions;
use crate::selection::PicardProgram;

/// The rules of one program. Picard's defaults for the program apply to options that the user did
/// not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WgsRules {
    pub min_mapq: u8,
    /// Minimum quality of bases that count. It is above 2, and at most 128.
    pub min_qual: u8,
    /// COVERAGE_CAP: deeper positions are counted at this depth.
    pub cap: u32,
    /// LOCUS_ACCUMULATION_CAP: a read is excluded if this number of other reads cover the first
    /// open position, see `locus_cap`.
    pub locus_cap: u32,
    /// Whether reads without a mapped mate count.
    pub count_unpaired: bool,
}

pub(super) const WGS: PicardProgram =
    PicardProgram { name: "CollectWgsMetrics", endings: &[".wgs_metrics"] };

/// Same as CollectWgsMetrics, but also counts reads of any mapping quality, bases of low quality,
/// and much deeper positions.
pub(super) const RAW: PicardProgram =
    PicardProgram { name: "CollectRawWgsMetrics", endings: &[".raw_wgs_metrics"] };

/// Same as CollectWgsMetrics, with a second row that leaves out positions without coverage.
pub(super) const NON_ZERO: PicardProgram = PicardProgram {
    name: "CollectWgsMetricsWithNonZeroCoverage",
    endings: &[".wgs_metrics_with_non_zero_coverage"],
};

/// Bases of lower quality never count, as in Picard.
const MIN_QUAL: u8 = 3;

/// A minimum quality that no base reaches.
const NO_QUAL: u8 = 128;

impl WgsRules {
    /// Returns the rules of a program: its defaults, replaced by the options that the user gave.
    pub fn for_program(program: &PicardProgram, options: &QcOptions) -> Self {
        let (mapq, qual, cap, locus_cap) =
            if *program == RAW { (0, 3, 100_000, 200_000) } else { (20, 20, 250, 100_000) };
        let cap = options.coverage_cap.unwrap_or(cap);
        let qual = options.minimum_base_quality.unwrap_or(qual);
        WgsRules {
            min_mapq: options.minimum_mapping_quality.unwrap_or(mapq),
            min_qual: qual.clamp(MIN_QUAL, NO_QUAL),
            cap,
            locus_cap: options.wgs.locus_accumulation_cap.unwrap_or(locus_cap).max(cap),
            count_unpaired: options.wgs.count_unpaired,
        }
    }

    pub(crate) fn result_bytes(&self) -> u64 {
        let cap = u64::from(self.cap) + 1;
        64 * cap + sensitivity::memory_bytes(cap)
    }

    pub fn counted_bases(&self) -> CountedBases {
        CountedBases { min_qual: self.min_qual, cap: self.cap }
    }
}
