//! The rules by which programs count depths.

use crate::depth::depths::CountedBases;
use crate::depth::sensitivity;
use crate::options::{Options, Program};

/// The rules by which a program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WgsRules {
    /// Reads of a lower mapping quality do not count.
    pub least_mapq: u8,
    /// Bases of a lower quality do not count. It is above 2, and at most 128.
    pub least_qual: u8,
    /// Deeper positions count as of this depth.
    pub cap: u32,
    /// Reads that start where so many lie are left out.
    pub locus_cap: u32,
    /// Whether reads without a mapped mate count.
    pub count_unpaired: bool,
}

/// Bases of lower qualities never count.
const LEAST_QUAL: u8 = 3;

/// The quality above all that count.
const NO_QUAL: u8 = 128;

impl WgsRules {
    /// The rules of a program, if it counts depths.
    pub fn of(program: Program, options: &Options) -> Option<Self> {
        let (mapq, qual, cap, locus_cap) = match program {
            Program::CollectWgsMetrics | Program::CollectWgsMetricsWithNonZeroCoverage => {
                (20, 20, 250, 100_000)
            }
            Program::CollectRawWgsMetrics => (0, 3, 100_000, 200_000),
            _ => return None,
        };
        let cap = options.coverage_cap.unwrap_or(cap);
        let qual = options.minimum_base_quality.unwrap_or(qual);
        Some(WgsRules {
            least_mapq: options.minimum_mapping_quality.unwrap_or(mapq),
            least_qual: qual.clamp(LEAST_QUAL, NO_QUAL),
            cap,
            locus_cap: options.locus_accumulation_cap.unwrap_or(locus_cap).max(cap),
            count_unpaired: options.count_unpaired,
        })
    }

    /// Bytes of memory of the result, and of its text.
    pub(crate) fn result_bytes(&self) -> u64 {
        let cap = u64::from(self.cap) + 1;
        64 * cap + sensitivity::bytes(cap)
    }

    /// The bases that count.
    pub fn counted(&self) -> CountedBases {
        CountedBases { least_qual: self.least_qual, cap: self.cap }
    }

    /// The rules that differ among the programs that are wanted.
    pub fn all(options: &Options) -> Vec<WgsRules> {
        let mut all = Vec::new();
        for rules in options.programs.iter().filter_map(|&program| WgsRules::of(program, options)) {
            if !all.contains(&rules) {
                all.push(rules);
            }
        }
        all
    }
}
