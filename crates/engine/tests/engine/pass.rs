//! Tests of [`run_pass`](readmill_engine::run_pass) with real threads: the same outputs, error and panic
//! for any crew.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

#[path = "script/mod.rs"]
mod script;

use readmill_engine as engine;
use readmill_engine::{Crew, Pass, Ticket, map_ordered, run_pass};
use script::{Fault, PHASES, Phase, Script, mix, simultaneous};

/// Varies the timing: most steps take no time, some a little, and a few as long as many others together.
fn pause(seed: u64, ticket: Ticket, phase: Phase) {
    match mix(mix(seed ^ ticket) ^ phase as u64) % 16 {
        0 => thread::sleep(Duration::from_micros(50)),
        1..4 => thread::yield_now(),
        _ => {}
    }
}

fn crews() -> impl Iterator<Item = Crew> {
    [1, 2, 3, 8]
        .into_iter()
        .flat_map(|threads| [1, 2, 3, 16].map(|in_flight| Crew { threads, in_flight }))
}

fn check(crew: Crew, seed: u64, script: &Script) {
    script.check(crew, crew.threads, &|ticket, phase| pause(seed, ticket, phase));
}

#[test]
fn outputs_do_not_depend_on_the_crew() {
    for crew in crews() {
        for seed in 0..10 {
            check(crew, seed, &Script::new(100, []));
        }
    }
}

#[test]
fn an_empty_or_tiny_input_is_no_special_case() {
    for crew in crews() {
        for tickets in 0..4 {
            check(crew, tickets, &Script::new(tickets, []));
        }
    }
}

#[test]
fn the_first_error_wins_in_whatever_phase() {
    for crew in crews() {
        for phase in PHASES {
            for ticket in [0, 1, 17, 29] {
                check(crew, ticket, &Script::new(30, [(ticket, phase, Fault::Error)]));
            }
        }
    }
}

#[test]
fn the_first_of_several_errors_wins_whatever_the_timing() {
    const TICKETS: u64 = 40;
    for crew in crews() {
        for seed in 0..60 {
            let count = 2 + mix(seed) % 4;
            let faults = (0..count).map(|n| {
                let dice = mix(seed * 16 + n);
                // Close together, so that several are in flight at the same time.
                let ticket = mix(seed) % (TICKETS - 8) + dice % 8;
                (ticket, PHASES[(dice >> 32) as usize % PHASES.len()], Fault::Error)
            });
            check(crew, seed, &Script::new(TICKETS, faults));
        }
    }
}

#[test]
fn a_panic_in_any_phase_ends_the_pass() {
    for crew in crews() {
        for phase in PHASES {
            for ticket in [0, 7, 19] {
                check(crew, ticket, &Script::new(20, [(ticket, phase, Fault::Panic)]));
            }
            let both =
                [(9, phase, Fault::Error), (11, Phase::Work, Fault::Panic), (12, phase, Fault::Panic)];
            check(crew, 0, &Script::new(20, both));
        }
    }
}

#[test]
fn zero_threads_or_none_in_flight_count_as_one() {
    let numbers = Numbers::default();
    let mut out = Vec::new();
    let claim = |ticket| Ok((ticket < 5).then_some(ticket));
    let commit = |_, number| {
        out.push(number);
        Ok(())
    };
    let workers =
        run_pass(Crew { threads: 0, in_flight: 0 }, &numbers, claim, |_, number| Ok(number), commit)
            .unwrap();
    assert_eq!((workers.len(), out), (1, vec![0, 1, 2, 3, 4]));
}

#[test]
fn the_callers_thread_is_one_of_the_crew() {
    for crew in crews() {
        let numbers = Numbers::default();
        let claim = |ticket| Ok((ticket < 50).then_some(ticket));
        let serial = |_, number| {
            numbers.note_thread();
            Ok(number)
        };
        run_pass(crew, &numbers, claim, serial, |_, _| Ok(())).unwrap();
        let seen = numbers.threads.into_inner().unwrap();
        assert_eq!(seen.len(), crew.threads);
        assert!(seen.contains(&(thread::current().id(), thread::current().name().map(String::from))));
        for number in 1..crew.threads {
            let name = Some(format!("worker-{number}"));
            assert!(seen.iter().any(|(_, seen)| *seen == name), "no {name:?} in {seen:?}");
        }
    }
}

#[test]
fn a_panic_reaches_the_caller_as_it_was() {
    for threads in [1, 2, 8] {
        let broken = Numbers { worker_panics: true, ..Numbers::default() };
        let ending = catch_unwind(AssertUnwindSafe(|| {
            run_pass(
                Crew { threads, in_flight: 2 },
                &broken,
                |ticket| Ok(Some(ticket)),
                |_, n| Ok(n),
                |_, _| Ok(()),
            )
        }));
        assert_eq!(ending.unwrap_err().downcast_ref::<&str>(), Some(&"no worker today"));
    }
}

#[test]
fn phases_do_not_hold_each_other_up() {
    for steps in simultaneous() {
        let meeting = Meeting::default();
        let pause = |ticket, phase| {
            if steps.contains(&(ticket, phase)) {
                meeting.attend();
            }
        };
        Script::new(2, []).check(Crew { threads: 2, in_flight: 2 }, 2, &pause);
    }
}

/// A barrier for two threads with a time limit that is longer than a busy machine keeps a thread
/// waiting.
#[derive(Default)]
struct Meeting {
    present: Mutex<u32>,
    news: Condvar,
}

impl Meeting {
    fn attend(&self) {
        let mut present = self.present.lock().unwrap();
        *present += 1;
        self.news.notify_all();
        let ending = self
            .news
            .wait_timeout_while(present, Duration::from_secs(600), |present| *present < 2)
            .unwrap();
        assert!(!ending.1.timed_out(), "nobody else came");
    }
}

/// Passes on numbers unchanged, and records which thread did so.
#[derive(Default)]
struct Numbers {
    threads: Mutex<HashSet<(thread::ThreadId, Option<String>)>>,
    worker_panics: bool,
}

impl Numbers {
    fn note_thread(&self) {
        let here = thread::current();
        self.threads.lock().unwrap().insert((here.id(), here.name().map(String::from)));
    }
}

impl Pass for Numbers {
    type Input = u64;
    type Opened = u64;
    type Linked = u64;
    type Output = u64;
    type Worker = ();
    type Error = ();

    fn make_worker(&self) {
        assert!(!self.worker_panics, "no worker today");
        self.note_thread();
    }

    fn open(&self, (): &mut (), input: u64) -> Result<u64, ()> {
        self.note_thread();
        Ok(input)
    }

    fn work(&self, (): &mut (), linked: u64) -> Result<u64, ()> {
        self.note_thread();
        Ok(linked)
    }
}

#[test]
fn map_ordered_keeps_the_order_of_inputs_and_returns_the_first_error() {
    for threads in [1, 2, 8] {
        let crew = Crew { threads, in_flight: 2 * threads };
        let mut inputs = 0..1000u64;
        let mut seen = Vec::new();
        let double = |calls: &mut u64, n: u64| {
            *calls += 1;
            if n == 700 || n == 701 { Err(n) } else { Ok(2 * n) }
        };
        let claim = || Ok(inputs.next());
        let failed = map_ordered(
            crew,
            claim,
            || 0,
            double,
            |n| {
                seen.push(n);
                Ok(())
            },
        );
        assert_eq!(failed, Err(700));
        assert_eq!(seen, Vec::from_iter((0..700).map(|n| 2 * n)));

        let mut inputs = 0..600u64;
        let claim = || Ok::<_, u64>(inputs.next());
        let calls = map_ordered(crew, claim, || 0, double, |_| Ok(())).unwrap();
        assert_eq!(calls.iter().sum::<u64>(), 600);
    }
}
