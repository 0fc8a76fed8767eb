//! HS_PENALTY: the number of bases to sequence per target base, so that 80 % of the target bases
//! reach a given depth.

use readmill_format::library_size::expected_yield;

/// Maximum number of steps of the search. If it finds no number of pairs, the penalty is -1.
const MAX_STEPS: u32 = 10_000;

/// Maximum relative difference between the expected yield and the goal.
const NEAR: f64 = 0.001;

/// The numbers of a library on which its penalty depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct PenaltyInput {
    /// The estimated number of unique molecules (HS_LIBRARY_SIZE). `None` if it cannot be
    /// estimated.
    pub size: Option<u64>,
    pub pairs: u64,
    pub unique_pairs: u64,
    /// The mean depth of the targets, from bases of mapped pairs only.
    pub mean_depth: f64,
    pub fold_80: f64,
    /// The fraction of unique aligned bases that count on target.
    pub on_target: f64,
}

impl PenaltyInput {
    /// Returns the penalty for this depth. 0 if the library size is unknown, and -1 if the library
    /// cannot yield the depth.
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
    use super::PenaltyInput;

    #[test]
    fn a_library_that_is_used_up_cannot_yield_more() {
        let library = PenaltyInput {
            size: Some(6_486),
            pairs: 918,
            unique_pairs: 856,
            mean_depth: 11.0,
            fold_80: 5.9,
            on_target: 0.17,
        };
        assert_eq!(library.penalty(100), -1.0);
        assert!(library.penalty(10) > 0.0);
        assert_eq!(PenaltyInput { size: None, ..library }.penalty(10), 0.0);
    }
}
