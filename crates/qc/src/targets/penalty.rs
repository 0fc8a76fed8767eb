//! HS_PENALTY: how many bases must be sequenced for each base of the targets so that 80 % of them reach a depth.

use readmill_format::library_size::expected_yield;

/// Steps after which no number of pairs is found.
const MAX_STEPS: u32 = 10_000;

/// How near the expected yield must be.
const NEAR: f64 = 0.001;

/// The numbers of a library that its penalty depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    /// Its molecules, if they could be estimated.
    pub size: Option<u64>,
    pub pairs: u64,
    pub unique_pairs: u64,
    /// The mean depth of the targets from pairs.
    pub mean_depth: f64,
    /// FOLD_80_BASE_PENALTY.
    pub fold_80: f64,
    /// The share of unique aligned bases that count on target.
    pub on_target: f64,
}

impl Library {
    /// The penalty for this depth; 0 without a size, and -1 if the library cannot yield it.
    pub fn penalty(&self, depth: u32) -> f64 {
        let Some(size) = self.size else { return 0.0 };
        let goal = f64::from(depth) / self.mean_depth * self.fold_80;
        let (mut times, mut step, mut is_up) = (goal, 1.0, goal >= 1.0);
        for _ in 0..MAX_STEPS {
            let reached = expected_yield(size, times, self.pairs, self.unique_pairs);
            if (reached - goal).abs() / goal <= NEAR {
                let unique = self.unique_pairs as f64 * goal / (self.pairs as f64 * times);
                return 1.0 / unique * self.fold_80 * (1.0 / self.on_target);
            }
            if reached > goal && is_up || reached < goal && !is_up {
                step /= 2.0;
                is_up = !is_up;
            }
            times += if is_up { step } else { -step };
        }
        -1.0
    }
}

#[cfg(test)]
mod tests {
    use super::Library;

    #[test]
    fn a_library_that_is_used_up_cannot_yield_more() {
        let library = Library {
            size: Some(6_486),
            pairs: 918,
            unique_pairs: 856,
            mean_depth: 11.0,
            fold_80: 5.9,
            on_target: 0.17,
        };
        assert_eq!(library.penalty(100), -1.0);
        assert!(library.penalty(10) > 0.0);
        assert_eq!(Library { size: None, ..library }.penalty(10), 0.0);
    }
}
