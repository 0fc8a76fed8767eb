//! A model of a machine whose cores are shared by threads.

/// Cores, and what they do together.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Cores; the hardware threads of one core are not counted.
    pub cores: usize,
    /// The throughput of a core with 1, 2, … threads, divided by that with one.
    together: Vec<f64>,
}

impl Machine {
    /// A machine of so many cores; `together` says what one core does with 1, 2, … threads, compared with what it does
    /// with one.
    pub fn new(name: &str, cores: usize, together: &[f64]) -> Self {
        Machine { name: name.to_owned(), cores, together: together.to_vec() }
    }

    /// Threads for which the machine has hardware.
    pub fn threads(&self) -> usize {
        self.cores * self.together.len()
    }

    /// The throughput of `threads` threads, divided by that of one. Threads are spread over the cores evenly; more than
    /// [`Machine::threads`] add nothing.
    pub fn capacity(&self, threads: usize) -> f64 {
        if threads <= self.cores {
            return threads as f64;
        }
        let each = threads as f64 / self.cores as f64;
        let (whole, part) = (each as usize, each.fract());
        let with = |n: usize| self.together.get(n - 1).or(self.together.last()).copied().unwrap_or(1.0);
        self.cores as f64 * (with(whole) * (1.0 - part) + with(whole + 1) * part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_grows_less_where_threads_share_cores_and_not_at_all_beyond() {
        let machine = Machine::new("", 4, &[1.0, 1.3]);
        let capacities = [1, 4, 6, 8, 9, 100].map(|n| machine.capacity(n));
        assert_eq!(machine.threads(), 8);
        for (capacity, expected) in capacities.into_iter().zip([1.0, 4.0, 4.6, 5.2, 5.2, 5.2]) {
            assert!((capacity - expected).abs() < 1e-9, "{capacity}, not {expected}");
        }
    }
}
