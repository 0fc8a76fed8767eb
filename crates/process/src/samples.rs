//! Samples of the resources that a run uses over time. The number of samples is limited, so their
//! interval grows with the run time.

use std::time::Duration;

use readmill_format::spill;

use crate::used;

const MAX_SAMPLES: usize = 240;

const FIRST_INTERVAL: Duration = Duration::from_millis(25);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageSample {
    /// Seconds since the start of the program.
    pub seconds: f64,
    pub resident: u64,
    pub cpu_seconds: f64,
    pub spilled: u64,
}

#[derive(Debug)]
pub struct UsageSamples {
    list: Vec<UsageSample>,
    interval: Duration,
}

impl Default for UsageSamples {
    fn default() -> Self {
        UsageSamples { list: Vec::new(), interval: FIRST_INTERVAL }
    }
}

impl UsageSamples {
    /// Takes a sample at time `now` (since the start), unless the last one is too recent or the
    /// system does not report memory use.
    pub fn take_sample(&mut self, now: Duration) {
        if self.is_due(now)
            && let Some(resident) = used::resident_bytes()
        {
            let (cpu_seconds, spilled) = (used::cpu_seconds(), spill::bytes_spilled_by_process());
            self.add_sample(UsageSample { seconds: now.as_secs_f64(), resident, cpu_seconds, spilled });
        }
    }

    fn is_due(&self, now: Duration) -> bool {
        let next = self.list.last().map_or(0.0, |last| last.seconds) + self.interval.as_secs_f64();
        self.list.is_empty() || now.as_secs_f64() >= next
    }

    /// Adds a sample. If the list is full, first drops every second sample and doubles the interval
    /// between later ones.
    fn add_sample(&mut self, sample: UsageSample) {
        if self.list.len() == MAX_SAMPLES {
            let mut number = 0;
            self.list.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.interval *= 2;
        }
        self.list.push(sample);
    }

    pub fn samples(&self) -> &[UsageSample] {
        &self.list
    }
}

/// Returns the peak resident memory in each of `n` equal time intervals up to the last sample, for
/// a chart. An interval without samples gets the value of the interval before it.
pub fn resident_by_time(samples: &[UsageSample], n: usize) -> Vec<u64> {
    let Some(last) = samples.last() else { return Vec::new() };
    let mut parts: Vec<Option<u64>> = vec![None; n];
    for sample in samples {
        let part = (sample.seconds / last.seconds.max(1e-9) * n as f64) as usize;
        let part = &mut parts[part.min(n - 1)];
        *part = Some(part.unwrap_or(0).max(sample.resident));
    }
    let mut before = 0;
    parts
        .into_iter()
        .map(|part| {
            before = part.unwrap_or(before);
            before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: f64) -> UsageSample {
        UsageSample { seconds, resident: (seconds * 100.0) as u64, cpu_seconds: 0.0, spilled: 0 }
    }

    #[test]
    fn however_long_a_run_takes_its_samples_are_few_and_cover_it() {
        let mut samples = UsageSamples::default();
        for step in 0..100_000u64 {
            let now = Duration::from_millis(10 * step);
            if samples.is_due(now) {
                samples.add_sample(sample(now.as_secs_f64()));
            }
        }
        let times: Vec<f64> = samples.samples().iter().map(|it| it.seconds).collect();
        assert!(times.len() <= MAX_SAMPLES && times.len() > MAX_SAMPLES / 2 - 2, "{}", times.len());
        assert!(times.is_sorted() && times[0] == 0.0 && times[times.len() - 1] > 985.0, "{times:?}");
    }

    #[test]
    fn memory_by_time_has_a_value_for_each_part() {
        let samples = [0.0, 0.1, 0.2, 0.9, 1.0].map(sample);
        assert_eq!(resident_by_time(&samples, 4), [20, 20, 20, 100]);
        assert!(resident_by_time(&[], 4).is_empty());
    }
}
