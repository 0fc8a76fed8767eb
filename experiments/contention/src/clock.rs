//! CPU time, and artificial work of a known duration.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub fn thread_cpu_time() -> Duration {
    read_clock(ClockId::ThreadCPUTime)
}

pub fn process_cpu_time() -> Duration {
    read_clock(ClockId::ProcessCPUTime)
}

fn read_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Artificial work that replaces the processing of a read: arithmetic that uses no memory, so that
/// threads do not slow each other down through caches.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Iterations of the arithmetic in a microsecond of CPU time.
    rounds: f64,
}

impl Work {
    /// Measures how many iterations this machine does in a microsecond of CPU time. The fastest of
    /// 25 attempts counts, since other load can only slow it down.
    pub fn calibrate() -> Self {
        let attempt = || {
            let (start, rounds) = (thread_cpu_time(), 200_000);
            iterate(rounds);
            rounds as f64 / (thread_cpu_time() - start).as_secs_f64().max(1e-9) / 1e6
        };
        Work { rounds: (0..25).map(|_| attempt()).fold(1.0, f64::max) }
    }

    pub fn spend(&self, microseconds: f64) {
        iterate((self.rounds * microseconds) as u64);
    }
}

fn iterate(rounds: u64) {
    let mut state = 1u64;
    for _ in 0..rounds {
        state = black_box(state.wrapping_mul(0x5851_F42D_4C95_7F2D).rotate_left(17));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_about_the_time_it_should() {
        let work = Work::calibrate();
        let (thread, process) = (thread_cpu_time(), process_cpu_time());
        work.spend(20_000.0);
        let spent = (thread_cpu_time() - thread).as_secs_f64();
        assert!((0.01..0.2).contains(&spent), "{spent}");
        assert!(process_cpu_time() > process);
    }
}
