//! CPU time, and artificial work of a known duration.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub fn of_thread() -> Duration {
    time(ClockId::ThreadCPUTime)
}

pub fn of_process() -> Duration {
    time(ClockId::ProcessCPUTime)
}

fn time(clock: ClockId) -> Duration {
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
            let (start, rounds) = (of_thread(), 200_000);
            turn(rounds);
            rounds as f64 / (of_thread() - start).as_secs_f64().max(1e-9) / 1e6
        };
        Work { rounds: (0..25).map(|_| attempt()).fold(1.0, f64::max) }
    }

    pub fn spend(&self, microseconds: f64) {
        turn((self.rounds * microseconds) as u64);
    }
}

fn turn(rounds: u64) {
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
        let (thread, process) = (of_thread(), of_process());
        work.spend(20_000.0);
        let spent = (of_thread() - thread).as_secs_f64();
        assert!((0.01..0.2).contains(&spent), "{spent}");
        assert!(of_process() > process);
    }
}
