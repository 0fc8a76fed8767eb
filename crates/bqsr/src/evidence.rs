//! What is known of the bases of one row of a report, in the arithmetic of GATK's RecalDatum (spec D4).

use super::empirical::empirical_quality;
use super::exact::{log10, power_of_ten};
use super::tables::Datum;

/// GATK keeps errors times this number, which shows in last bits.
const ERROR_SCALE: f64 = 100_000.0;

/// How many bases there are, how many of them are wrong, and what quality was reported of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Bases.
    pub observations: u64,
    /// The quality reported of them, on average if there were several (Phred).
    pub reported: f64,
    scaled_errors: f64,
}

impl Evidence {
    /// Bases of one reported quality.
    pub fn new(datum: Datum, reported: f64) -> Self {
        let scaled_errors = datum.errors * ERROR_SCALE;
        Evidence { observations: datum.observations, reported, scaled_errors }
    }

    /// Bases that are wrong.
    pub fn errors(&self) -> f64 {
        self.scaled_errors / ERROR_SCALE
    }

    /// Adds others. What is reported then is the quality of the errors that both reports promise; of no bases at
    /// all it stays as it is (in GATK it is no number, and it fails on that later).
    pub fn combine(&mut self, other: &Evidence) {
        if self.observations == 0 && other.observations == 0 {
            return;
        }
        let promised = self.promised_errors() + other.promised_errors();
        self.observations = self.observations.saturating_add(other.observations);
        self.scaled_errors += other.errors() * ERROR_SCALE;
        self.reported = -10.0 * log10(promised / self.observations as f64);
    }

    fn promised_errors(&self) -> f64 {
        self.observations as f64 * power_of_ten(self.reported / -10.0)
    }

    /// Errors to two decimals and the reported quality to four, as a report states them.
    pub fn round(&mut self) {
        self.scaled_errors = rounded(self.errors(), 100.0) * ERROR_SCALE;
        self.reported = rounded(self.reported, 10_000.0);
    }

    /// The empirical quality, if what was reported is expected.
    pub fn empirical(&self) -> u8 {
        self.expecting(self.reported)
    }

    /// The empirical quality, if this one is expected (Phred).
    pub fn expecting(&self, expected: f64) -> u8 {
        empirical_quality(self.observations, self.errors(), expected)
    }
}

/// The nearest multiple of 1 / `parts`, from a number moved up to its next neighbour.
fn rounded(number: f64, parts: f64) -> f64 {
    let scaled = (number + (number.abs().next_up() - number.abs())) * parts;
    let floor = scaled.floor();
    (if scaled - floor >= 0.5 { floor + 1.0 } else { floor }) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(observations: u64, errors: f64, reported: f64) -> Evidence {
        Evidence::new(Datum { observations, errors }, reported)
    }

    #[test]
    fn combined_as_in_gatk() {
        // From RecalDatum of GATK 4.6.2.0.
        let mut sum = evidence(716_616_016, 376_300.77, 2.0);
        sum.combine(&evidence(1000, 10.0, 30.0));
        sum.combine(&evidence(33_333_333, 77.05, 41.0));
        assert_eq!((sum.observations, sum.errors()), (749_950_349, 376_387.82));
        assert_eq!((sum.reported, sum.empirical()), (2.197434572392056, 33));
        sum.round();
        assert_eq!((sum.errors(), sum.reported), (376_387.82, 2.1974));
    }

    #[test]
    fn rounded_half_up_after_a_step_to_the_next_number() {
        // From MathUtils.roundToNDecimalPlaces of GATK 4.6.2.0.
        for (number, expected) in [
            (1.005, 1.005),
            (29.1234499, 29.1234),
            (29.12345, 29.1235),
            (48.99994999999999, 49.0),
            (0.0, 0.0),
        ] {
            assert_eq!(rounded(number, 10_000.0), expected);
        }
        assert_eq!(rounded(1.005, 100.0), 1.01);
    }

    #[test]
    fn nothing_and_nothing_is_nothing() {
        let mut sum = evidence(0, 0.0, 17.0);
        sum.combine(&evidence(0, 0.0, 20.0));
        assert_eq!(sum, evidence(0, 0.0, 17.0));
    }
}
