//! Maps the sum of a quality and its deltas to the written quality. The sum is bounded, quantized,
//! and rounded to static qualities.

use readmill_record::exact::power_of_ten;
use readmill_record::{Error, Result};

use super::covariates::QUALITIES;
use super::quantize::{count_levels, quantize_qualities};
use super::report::Quantization;

/// Offset that makes deltas nonnegative. Empirical qualities range from 0 to 60, so deltas range
/// from -60 to 60.
pub(super) const DELTA_OFFSET: u8 = 60;

/// Static quantization does not change qualities below this (GATK's MIN_USABLE_Q_SCORE).
const MIN_STATIC_QUALITY: usize = 6;

/// Length of the table, a power of two so that the compiler masks indexes instead of checking them.
const RESULT_COUNT: usize = 512;

/// The written quality for each sum of a quality, its deltas, and twice [`DELTA_OFFSET`].
#[derive(Clone, Debug)]
pub(super) struct WrittenQualities([u8; RESULT_COUNT]);

impl WrittenQualities {
    #[inline]
    pub fn at(&self, base: u8, delta: u8) -> u8 {
        self.0[(usize::from(base) + usize::from(delta)) % RESULT_COUNT]
    }
}

/// The quantization maps: the map of the report or a recomputed map, then, if requested, the map to
/// static qualities.
pub(super) struct QuantizationMaps {
    quantized: [u8; QUALITIES],
    fixed: Option<[u8; QUALITIES]>,
}

impl QuantizationMaps {
    pub fn new(report: &Quantization, applying: &ApplyOptions) -> Result<Self> {
        let quantized = match usize::try_from(applying.quantize) {
            // GATK keeps the report's value for quality 93.
            Ok(0) => {
                std::array::from_fn(|quality| if quality < 93 { quality as u8 } else { report.map[93] })
            }
            Ok(wanted) if wanted != count_levels(&report.map) => {
                quantize_qualities(&report.counts, wanted)
            }
            _ => report.map,
        };
        let fixed = match applying.static_quantized.as_slice() {
            [] => None,
            qualities => Some(build_static_map(qualities, applying.round_down)?),
        };
        Ok(QuantizationMaps { quantized, fixed })
    }

    /// Returns the written quality for a read group that is not in the report. Such qualities are
    /// only quantized.
    pub fn map_without_group(&self, quality: usize) -> u8 {
        match &self.fixed {
            Some(fixed) => fixed[quality],
            None => self.quantized[quality],
        }
    }

    pub fn make_results(&self) -> WrittenQualities {
        let result = |place: usize| {
            let bounded = place.saturating_sub(2 * usize::from(DELTA_OFFSET)).clamp(1, 93);
            let quantized = self.quantized[bounded];
            self.fixed.map_or(quantized, |fixed| fixed[usize::from(quantized)])
        };
        WrittenQualities(std::array::from_fn(result))
    }
}

/// Returns a map that rounds each quality to one of `qualities`.
///
/// It rounds to the quality whose probability of a correct base is nearest (the lower one if two
/// are equally near), or always down if `round_down` is set. Qualities below the lowest one are
/// rounded as if 6 were also in `qualities`. If there is only one quality, all qualities from 6 on
/// become it.
fn build_static_map(qualities: &[u8], round_down: bool) -> Result<[u8; QUALITIES]> {
    let mut qualities = qualities.to_vec();
    qualities.sort_unstable();
    if let Some(&high) = qualities.last().filter(|&&high| usize::from(high) >= QUALITIES) {
        return Err(Error::usage(format!(
            "--static-quantized-quals {high} is above 93, the maximum quality"
        )));
    }
    let mut map: [u8; QUALITIES] = std::array::from_fn(|quality| quality as u8);
    if let [only] = qualities.as_slice() {
        map[MIN_STATIC_QUALITY..].fill(*only);
        return Ok(map);
    }
    let right = |quality: usize| 1.0 - power_of_ten(quality as f64 / -10.0);
    let mut lower = MIN_STATIC_QUALITY;
    for upper in qualities.into_iter().map(usize::from) {
        for (quality, result) in map.iter_mut().enumerate().take(upper).skip(lower) {
            let nearer_above = right(quality) - right(lower) > right(upper) - right(quality);
            *result = if nearer_above && !round_down { upper } else { lower } as u8;
        }
        lower = upper;
    }
    map[lower..].fill(lower as u8);
    Ok(map)
}

/// Options of GATK's ApplyBQSR, with the defaults of GATK 4.6.2.0.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyOptions {
    /// `--preserve-qscores-less-than`: do not change qualities below this.
    pub preserve_below: u8,
    /// `--quantize-quals`: number of distinct qualities. 0 disables quantization; a negative number
    /// selects the report's map.
    pub quantize: i32,
    /// `--static-quantized-quals`: round qualities from 6 on to these. Empty disables rounding.
    pub static_quantized: Vec<u8>,
    /// `--round-down-quantized`: round down to a static quality instead of to the nearest one.
    pub round_down: bool,
    /// `--global-qscore-prior`: the expected quality (Phred) of every read group. Ignored unless
    /// positive.
    pub global_prior: Option<f64>,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        ApplyOptions {
            preserve_below: 6,
            quantize: 0,
            static_quantized: Vec::new(),
            round_down: false,
            global_prior: None,
        }
    }
}
