//! Model checks of `src/pass.rs` and `src/board.rs`: the same files, compiled against a simulated
//! scheduler (shuttle).
//!
//! At every lock, wait and thread start the scheduler may switch to another thread. If no thread can
//! continue, it reports a deadlock.

use std::cell::Cell;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Barrier;
use shuttle::{Config, Runner};

#[path = "../../src/board.rs"]
mod board;
#[path = "../../src/pass.rs"]
mod pass;
#[path = "../../src/phases.rs"]
mod phases;
#[path = "script/mod.rs"]
mod script;

use pass as engine;
use pass::Crew;
use script::{Fault, PHASES, Phase, Script, simultaneous};

mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};

    /// Scoped threads with a name, which the simulated threads lack. Starting one can fail, as in a real
    /// system.
    pub(crate) mod thread {
        use shuttle::thread::{Scope, ScopedJoinHandle};
        use std::io;

        pub(crate) use shuttle::thread::scope;

        pub(crate) struct Builder;

        impl Builder {
            pub(crate) fn new() -> Self {
                Builder
            }

            pub(crate) fn name(self, _: String) -> Self {
                self
            }

            pub(crate) fn stack_size(self, _: usize) -> Self {
                self
            }

            pub(crate) fn spawn_scoped<'scope, 'env, F, T>(
                self,
                scope: &'scope Scope<'scope, 'env>,
                body: F,
            ) -> io::Result<ScopedJoinHandle<'scope, T>>
            where
                F: FnOnce() -> T + Send + 'scope,
                T: Send + 'scope,
            {
                let left = super::super::MATES.get().checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
                super::super::MATES.set(left);
                Ok(scope.spawn(body))
            }
        }
    }
}

std::thread_local! {
    /// Number of threads that may still start. All simulated threads of a test run on the test's own
    /// thread.
    static MATES: Cell<usize> = const { Cell::new(0) };
}

fn simulate(scheduler: impl Scheduler + 'static, play: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 256 << 10; // the default of 32 KiB is too little for an unwinding stack
    Runner::new(scheduler, config).run(play);
}

fn check_with(
    scheduler: impl Scheduler + 'static,
    crew: Crew,
    threads_that_start: usize,
    script: &Script,
) {
    let script = script.clone();
    simulate(scheduler, move || {
        MATES.set(threads_that_start - 1);
        script.check(crew, threads_that_start, &|_, _| {}); // simulated time is just the order of events
    });
}

/// Runs random schedules, and schedules that find bugs of up to three ordered events.
fn check(schedules: usize, crew: Crew, script: &Script) {
    check_with(RandomScheduler::new_from_seed(1, schedules), crew, crew.threads, script);
    check_with(PctScheduler::new_from_seed(1, 3, schedules), crew, crew.threads, script);
}

fn crews() -> impl Iterator<Item = Crew> {
    [2, 3].into_iter().flat_map(|threads| [1, 2, 4].map(|in_flight| Crew { threads, in_flight }))
}

#[test]
fn complete_passes() {
    for crew in crews() {
        for tickets in [0, 1, 4, 6] {
            check(2000, crew, &Script::new(tickets, []));
        }
    }
}

#[test]
fn every_schedule_of_a_tiny_pass() {
    let crew = Crew { threads: 2, in_flight: 2 };
    check_with(DfsScheduler::new(Some(100_000), false), crew, 2, &Script::new(1, []));
    check_with(
        DfsScheduler::new(Some(100_000), false),
        crew,
        2,
        &Script::new(2, [(1, Phase::Work, Fault::Error)]),
    );
}

#[test]
fn one_error() {
    for crew in crews() {
        for phase in PHASES {
            for ticket in [0, 2, 4] {
                check(300, crew, &Script::new(5, [(ticket, phase, Fault::Error)]));
            }
        }
    }
}

#[test]
fn the_first_of_two_errors() {
    for crew in crews() {
        for first in PHASES {
            for second in PHASES {
                check(300, crew, &Script::new(5, [(1, first, Fault::Error), (2, second, Fault::Error)]));
            }
        }
    }
}

#[test]
fn panics_with_and_without_errors() {
    for crew in crews() {
        for phase in PHASES {
            check(300, crew, &Script::new(4, [(1, phase, Fault::Panic)]));
            check(
                300,
                crew,
                &Script::new(4, [(1, phase, Fault::Error), (2, Phase::Work, Fault::Panic)]),
            );
            check(
                300,
                crew,
                &Script::new(4, [(0, Phase::Open, Fault::Panic), (1, phase, Fault::Panic)]),
            );
        }
    }
}

/// A lost wakeup does not stop a pass, because threads that are awake continue; it only wastes a thread.
/// This test makes the thread that is awake wait for the other.
#[test]
fn phases_do_not_hold_each_other_up() {
    for steps in simultaneous() {
        let play = move || {
            MATES.set(1);
            let meeting = Barrier::new(2);
            let pause = |ticket, phase| {
                if steps.contains(&(ticket, phase)) {
                    meeting.wait();
                }
            };
            Script::new(4, []).check(Crew { threads: 2, in_flight: 2 }, 2, &pause);
        };
        simulate(RandomScheduler::new_from_seed(1, 1000), play);
        simulate(PctScheduler::new_from_seed(1, 3, 1000), play);
    }
}

#[test]
fn all_threads_find_work() {
    for threads in [2, 3] {
        for phase in [Phase::Open, Phase::Work] {
            let play = move || {
                MATES.set(threads - 1);
                let meeting = Barrier::new(threads);
                let pause = |_, now| {
                    if now == phase {
                        meeting.wait();
                    }
                };
                Script::new(2 * threads as u64, []).check(
                    Crew { threads, in_flight: threads },
                    threads,
                    &pause,
                );
            };
            simulate(RandomScheduler::new_from_seed(1, 1000), play);
            simulate(PctScheduler::new_from_seed(1, 3, 1000), play);
        }
    }
}

#[test]
fn threads_that_do_not_start() {
    let crew = Crew { threads: 4, in_flight: 3 };
    for threads_that_start in 1..4 {
        for script in [Script::new(4, []), Script::new(4, [(2, Phase::Link, Fault::Error)])] {
            check_with(RandomScheduler::new_from_seed(1, 500), crew, threads_that_start, &script);
        }
    }
}
