//! From a sum of qualities and deltas to what is written: bounded, quantized, rounded to static qualities.

use readmill_record::{Error, Result};

use super::exact::power_of_ten;
use super::quantize::{levels, quantize};
use super::recalibration::Applying;
use super::report::Quantization;
use super::tables::QUALITIES;

/// Static qualities leave those below it alone (GATK's MIN_USABLE_Q_SCORE).
const LOWEST_STATIC: usize = 6;

/// Where a sum of 0 stands among the results. Sums are from -120 to 180, since empirical qualities go to 60.
const ZERO: i16 = 128;

/// Where a quality of 0 stands that is to be kept.
const KEPT: i16 = 320;

/// Results by sum; 512, so that every index can be cut to fit.
const RESULTS: usize = 512;

/// The place of an empirical quality, to which deltas are added.
pub(super) fn place(empirical: u8) -> i16 {
    ZERO + i16::from(empirical)
}

/// The place of a quality that stays as it is.
pub(super) fn preserved(quality: usize) -> i16 {
    KEPT + quality as i16
}

/// Qualities to write, by place.
#[derive(Clone, Debug)]
pub(super) struct Results([u8; RESULTS]);

impl Results {
    #[inline]
    pub fn at(&self, place: i16) -> u8 {
        self.0[place as usize % RESULTS]
    }
}

/// What quantization makes of qualities (spec D6.31 and 32).
pub(super) struct Maps {
    quantized: [u8; QUALITIES],
    fixed: Option<[u8; QUALITIES]>,
}

impl Maps {
    pub fn new(report: &Quantization, applying: &Applying) -> Result<Self> {
        let quantized = match usize::try_from(applying.quantize) {
            // GATK leaves the report's value for quality 93 in place.
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

    /// What is written for a quality of a read group that is not in the report.
    pub fn map(&self, quality: usize) -> u8 {
        match &self.fixed {
            Some(fixed) => fixed[quality],
            None => self.quantized[quality],
        }
    }

    pub fn results(&self) -> Results {
        let result = |place: usize| {
            let place = place as i16;
            if (KEPT..KEPT + QUALITIES as i16).contains(&place) {
                return (place - KEPT) as u8;
            }
            let bounded = (place - ZERO).clamp(1, 93) as usize;
            let quantized = self.quantized[bounded];
            self.fixed.map_or(quantized, |fixed| fixed[usize::from(quantized)])
        };
        Results(std::array::from_fn(result))
    }
}

/// To which of a few qualities each is rounded: to the nearest in the probability of being right, the lower one
/// of two as near, or always to the lower one. With several, what is below the first is rounded as if 6 were
/// among them; with one, all become it.
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
