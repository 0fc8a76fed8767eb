//! The rules by which programs count depths.

use crate::depth::depths::CountedBases;
use crate::depth::sensitivity;
use crate::options::QcOptions;
use crate::selection::PicardProgram;

/// The rules by which a program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WgsRules {
    /// Reads of a lower mapping quality do not count.
    pub min_mapq: u8,
    /// Bases of a lower quality do not count. It is above 2, and at most 128.
    pub min_qual: u8,
    /// Deeper positions count as of this depth.
    pub cap: u32,
    /// Reads that start where so many lie are left out.
    pub locus_cap: u32,
    /// Whether reads without a mapped mate count.
    pub count_unpaired: bool,
}

pub(super) const WGS: PicardProgram =
    PicardProgram { name: "CollectWgsMetrics", endings: &[".wgs_metrics"] };

/// The same with bases of low quality, and deep.
pub(super) const RAW: PicardProgram =
    PicardProgram { name: "CollectRawWgsMetrics", endings: &[".raw_wgs_metrics"] };

/// The same as the first, and without positions that are not covered.
pub(super) const NON_ZERO: PicardProgram = PicardProgram {
    name: "CollectWgsMetricsWithNonZeroCoverage",
    endings: &[".wgs_metrics_with_non_zero_coverage"],
};

/// Bases of lower qualities never count.
const MIN_QUAL: u8 = 3;

/// The quality above all that count.
const NO_QUAL: u8 = 128;

impl WgsRules {
    /// Returns the rules of one of the programs.
    pub fn of(program: &PicardProgram, options: &QcOptions) -> Self {
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

    /// Bytes of memory of the result, and of its text.
    pub(crate) fn result_bytes(&self) -> u64 {
        let cap = u64::from(self.cap) + 1;
        64 * cap + sensitivity::bytes(cap)
    }

    /// The bases that count.
    pub fn counted(&self) -> CountedBases {
        CountedBases { min_qual: self.min_qual, cap: self.cap }
    }
}
