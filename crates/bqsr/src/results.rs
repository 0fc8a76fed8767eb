//! Maps a sum of a quality and deltas to the written quality: bounded, quantized, rounded to static
//! qualities, as the options of applying say.

use readmill_record::exact::power_of_ten;
use readmill_record::{Error, Result};

use super::covariates::QUALITIES;
use super::quantize::{levels, quantize};
use super::report::Quantization;

/// Offset of every delta, and of a base quality, so that no number is negative: deltas are from -60 to 60,
/// since empirical qualities are from 0 to 60.
pub(super) const ZERO: u8 = 60;

/// Static qualities do not change qualities below it (GATK's MIN_USABLE_Q_SCORE).
const LOWEST_STATIC: usize = 6;

/// Length of the table; a power of two, so that an index can be masked.
const RESULTS: usize = 512;

/// The written qualities, by the sum of the base's quality, the deltas, and twice [`ZERO`].
#[derive(Clone, Debug)]
pub(super) struct Results([u8; RESULTS]);

impl Results {
    /// Returns the written quality for a base's quality and a delta, both with the offset [`ZERO`].
    #[inline]
    pub fn at(&self, base: u8, delta: u8) -> u8 {
        self.0[(usize::from(base) + usize::from(delta)) % RESULTS]
    }
}

/// The maps of quantization (spec D6.31 and 32).
pub(super) struct Maps {
    quantized: [u8; QUALITIES],
    fixed: Option<[u8; QUALITIES]>,
}

impl Maps {
    pub fn new(report: &Quantization, applying: &ApplyOptions) -> Result<Self> {
        let quantized = match usize::try_from(applying.quantize) {
            // GATK keeps the report's value for quality 93.
            Ok(0) => {
                std::array::from_fn(|quality| if quality < 93 { quality as u8 } else { report.map[93] })
            }
            Ok(wanted) if wanted != levels(&report.map) => quantize(&report.counts, wanted),
            _ => report.map,
        };
        let fixed = match applying.static_quantized.as_slice() {
            [] => None,
            qualities => Some(fixed(qualities, applying.round_down)?),
        };
        Ok(Maps { quantized, fixed })
    }

    /// Returns the written quality for a read group that is not in the report.
    pub fn map(&self, quality: usize) -> u8 {
        match &self.fixed {
            Some(fixed) => fixed[quality],
            None => self.quantized[quality],
        }
    }

    pub fn results(&self) -> Results {
        let result = |place: usize| {
            let bounded = place.saturating_sub(2 * usize::from(ZERO)).clamp(1, 93);
            let quantized = self.quantized[bounded];
            self.fixed.map_or(quantized, |fixed| fixed[usize::from(quantized)])
        };
        Results(std::array::from_fn(result))
    }
}

/// Rounds each quality to one of a few: to the nearest in the probability of being correct, ties down, or
/// always down. With several, qualities below the first are rounded as if 6 were among them; with one, all
/// become it.
fn fixed(qualities: &[u8], round_down: bool) -> Result<[u8; QUALITIES]> {
    let mut qualities = qualities.to_vec();
    qualities.sort_unstable();
    if let Some(&high) = qualities.last().filter(|&&high| usize::from(high) >= QUALITIES) {
        return Err(Error::usage(format!(
            "--static-quantized-quals {high} is above 93, the highest quality there is"
        )));
    }
    let mut map: [u8; QUALITIES] = std::array::from_fn(|quality| quality as u8);
    if let [only] = qualities.as_slice() {
        map[LOWEST_STATIC..].fill(*only);
        return Ok(map);
    }
    let right = |quality: usize| 1.0 - power_of_ten(quality as f64 / -10.0);
    let mut lower = LOWEST_STATIC;
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

/// Options of GATK's ApplyBQSR. Defaults are those of GATK 4.6.2.0.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyOptions {
    /// `--preserve-qscores-less-than`: qualities below it stay as they are.
    pub preserve_below: u8,
    /// `--quantize-quals`: the number of different qualities; 0 for all, and the report's own map if
    /// negative.
    pub quantize: i32,
    /// `--static-quantized-quals`: the qualities to which those from 6 on are rounded; none if empty.
    pub static_quantized: Vec<u8>,
    /// `--round-down-quantized`: round to the next lower one of them, not to the nearest.
    pub round_down: bool,
    /// `--global-qscore-prior`: the expected quality of every read group (Phred), if above 0.
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
