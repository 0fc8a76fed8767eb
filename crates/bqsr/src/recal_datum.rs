//! The counts of one row of a report, in the arithmetic of GATK's RecalDatum (spec D4).

use super::empirical::empirical_quality;
use super::tables::Datum;
use readmill_record::exact::{log10, power_of_ten};

/// GATK stores errors multiplied by this number, which shows in last bits.
const ERROR_SCALE: f64 = 100_000.0;

/// The number of bases, the number of errors, and the reported quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecalDatum {
    /// Bases.
    pub observations: u64,
    /// The reported quality (Phred), an average if there were several.
    pub reported: f64,
    scaled_errors: f64,
}

impl RecalDatum {
    /// Creates the datum of one reported quality.
    pub fn new(datum: Datum, reported: f64) -> Self {
        let scaled_errors = datum.errors * ERROR_SCALE;
        RecalDatum { observations: datum.observations, reported, scaled_errors }
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> f64 {
        self.scaled_errors / ERROR_SCALE
    }

    /// Adds another datum. The reported quality becomes that of the sum of the expected errors; without bases
    /// it is unchanged (in GATK it is NaN, which fails later).
    pub fn combine(&mut self, other: &RecalDatum) {
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

    /// Rounds errors to two decimals and the reported quality to four, as a report has them.
    pub fn round(&mut self) {
        self.scaled_errors = rounded(self.errors(), 100.0) * ERROR_SCALE;
        self.reported = rounded(self.reported, 10_000.0);
    }

    /// Returns the empirical quality where the reported one is expected.
    pub fn empirical(&self) -> u8 {
        self.expecting(self.reported)
    }

    /// Returns the empirical quality where `expected` (Phred) is expected.
    pub fn expecting(&self, expected: f64) -> u8 {
        empirical_quality(self.observations, self.errors(), expected)
    }
}

/// Returns the nearest multiple of 1 / `parts`, after moving the number up to its next neighbour.
fn rounded(number: f64, parts: f64) -> f64 {
    let scaled = (number + (number.abs().next_up() - number.abs())) * parts;
    let floor = scaled.floor();
    (if scaled - floor >= 0.5 { floor + 1.0 } else { floor }) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recal_datum(observations: u64, errors: f64, reported: f64) -> RecalDatum {
        RecalDatum::new(Datum { observations, errors }, reported)
    }

    #[test]
    fn combined_as_in_gatk() {
        // From RecalDatum of GATK 4.6.2.0.
        let mut sum = recal_datum(716_616_016, 376_300.77, 2.0);
        sum.combine(&recal_datum(1000, 10.0, 30.0));
        sum.combine(&recal_datum(33_333_333, 77.05, 41.0));
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
    fn combining_no_bases_changes_nothing() {
        let mut sum = recal_datum(0, 0.0, 17.0);
        sum.combine(&recal_datum(0, 0.0, 20.0));
        assert_eq!(sum, recal_datum(0, 0.0, 17.0));
    }
}
