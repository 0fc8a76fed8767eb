//! Numbers that look random and are the same in every run.

/// A Weyl sequence through a 64-bit mixer (SplitMix64, Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of the normal distribution with mean 0 and deviation 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.fraction(), self.fraction());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Of the gamma distribution with that mean, and a standard deviation that is that fraction of it, from 0 to 1
    /// (Marsaglia and Tsang 2000).
    pub fn gamma(&mut self, mean: f64, spread: f64) -> f64 {
        if spread <= 0.0 || mean <= 0.0 {
            return mean;
        }
        let shape = (spread * spread).recip().max(1.0);
        let d = shape - 1.0 / 3.0;
        let c = (9.0 * d).sqrt().recip();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.fraction()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return mean * d * v / shape;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_has_its_mean_and_deviation() {
        let mut random = Random::new(3);
        for spread in [0.1, 0.5, 1.0] {
            let values: Vec<f64> = (0..40_000).map(|_| random.gamma(20.0, spread)).collect();
            let mean = values.iter().sum::<f64>() / 4e4;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4e4;
            assert!((mean - 20.0).abs() < 0.4, "{mean}");
            assert!((variance.sqrt() / 20.0 / spread - 1.0).abs() < 0.03, "{variance}");
        }
        assert_eq!(random.gamma(5.0, 0.0), 5.0);
    }
}
