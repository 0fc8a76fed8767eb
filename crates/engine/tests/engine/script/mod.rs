//! A pass in which every step is known in advance, and a plain loop that computes how it must end.
//!
//! The script is used twice: with real threads (`pass.rs`) and under a simulated scheduler (`model.rs`).
//! The module that includes this one defines which `engine` is tested.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::engine::{Crew, Pass, Ticket, run_pass};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Claim,
    Open,
    Link,
    Work,
    Commit,
}

pub const PHASES: [Phase; 5] = [Phase::Claim, Phase::Open, Phase::Link, Phase::Work, Phase::Commit];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Error,
    Panic,
}

/// The step in which the user's code failed, used as the error or as the payload of a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(pub Ticket, pub Phase);

#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Error(Failure),
    Panic(Failure),
}

#[derive(Clone, Debug)]
pub struct Script {
    pub tickets: u64,
    pub faults: BTreeMap<Ticket, (Phase, Fault)>,
}

/// The value that passes through the phases. The token shows when it is dropped.
type Value = (Ticket, u64, Arc<()>);

/// What happens at the start of every step: a pause, or waiting for another thread.
type Pause<'a> = &'a (dyn Fn(Ticket, Phase) + Sync);

struct Play<'a> {
    script: &'a Script,
    pause: Pause<'a>,
    workers: AtomicUsize,
}

impl Script {
    pub fn new(tickets: u64, faults: impl IntoIterator<Item = (Ticket, Phase, Fault)>) -> Self {
        let faults = faults.into_iter().map(|(ticket, phase, fault)| (ticket, (phase, fault))).collect();
        Script { tickets, faults }
    }

    /// Computes the expected output and end with a plain loop.
    fn expected(&self) -> (Vec<u64>, Ending) {
        let (mut sum, mut out) = (0, Vec::new());
        for ticket in 0..self.tickets {
            match self.faults.get(&ticket) {
                Some((phase, Fault::Error)) => return (out, Ending::Error(Failure(ticket, *phase))),
                Some((phase, Fault::Panic)) => return (out, Ending::Panic(Failure(ticket, *phase))),
                None => {}
            }
            sum += opened(ticket);
            out.push(worked(sum));
        }
        (out, Ending::Complete)
    }

    /// Runs the script and checks everything that must hold for any timing.
    pub fn check(&self, crew: Crew, threads_that_start: usize, pause: Pause<'_>) {
        let (expected, expected_ending) = self.expected();
        let (out, ending) = self.play(crew, threads_that_start, pause);
        let context = format!("{crew:?} {self:?}");
        match ending {
            // A panic ends the pass at once, and the panic of another thread may be first.
            Ending::Panic(Failure(ticket, phase)) => {
                assert_eq!(self.faults.get(&ticket), Some(&(phase, Fault::Panic)), "{context}");
                assert!(out.len() as u64 <= ticket, "{context}");
                assert!(expected.starts_with(&out), "{context}");
            }
            ending => {
                assert_eq!(ending, expected_ending, "{context}");
                assert_eq!(out, expected, "{context}");
            }
        }
    }

    fn play(&self, crew: Crew, threads_that_start: usize, pause: Pause<'_>) -> (Vec<u64>, Ending) {
        let play = Play { script: self, pause, workers: AtomicUsize::new(0) };
        let (token, live) = (Arc::new(()), AtomicU64::new(0));
        let (mut claims, mut links, mut commits) = (0, 0, 0);
        let (mut claims_closed, mut sum, mut out) = (false, 0, Vec::new());

        let claim = |ticket| {
            assert_eq!(ticket, claims, "claims come in order");
            assert!(!claims_closed, "nothing is claimed after the end");
            claims += 1;
            assert!(live.fetch_add(1, SeqCst) < crew.in_flight as u64, "no more than in_flight at once");
            let acted = play.act(ticket, Phase::Claim);
            claims_closed = acted.is_err() || ticket == self.tickets;
            acted.map(|()| (ticket < self.tickets).then(|| (ticket, ticket, token.clone())))
        };
        let link = |ticket, (same, value, token): Value| {
            assert_eq!((ticket, same), (links, links), "links come in order");
            links += 1;
            play.act(ticket, Phase::Link)?;
            sum += value;
            Ok((ticket, sum, token))
        };
        let commit = |ticket, (same, value, _): Value| {
            assert_eq!((ticket, same), (commits, commits), "commits come in order");
            commits += 1;
            play.act(ticket, Phase::Commit)?;
            out.push(value);
            live.fetch_sub(1, SeqCst);
            Ok(())
        };
        let ending = match catch_unwind(AssertUnwindSafe(|| run_pass(crew, &play, claim, link, commit)))
        {
            Ok(Ok(workers)) => {
                assert_eq!(workers.len(), threads_that_start);
                assert_eq!(workers.iter().map(|(opens, _)| opens).sum::<u64>(), self.tickets);
                assert_eq!(workers.iter().map(|(_, works)| works).sum::<u64>(), self.tickets);
                Ending::Complete
            }
            Ok(Err(failure)) => Ending::Error(failure),
            Err(payload) => match payload.downcast::<Failure>() {
                Ok(failure) => Ending::Panic(*failure),
                Err(other) => resume_unwind(other),
            },
        };
        assert!(play.workers.load(SeqCst) <= threads_that_start, "{crew:?} is a strict total");
        assert_eq!(Arc::strong_count(&token), 1, "nothing outlives the pass");
        (out, ending)
    }
}

impl Play<'_> {
    fn act(&self, ticket: Ticket, phase: Phase) -> Result<(), Failure> {
        (self.pause)(ticket, phase);
        match self.script.faults.get(&ticket) {
            Some((at, Fault::Error)) if *at == phase => Err(Failure(ticket, phase)),
            // Like a panic, but without a message on the terminal.
            Some((at, Fault::Panic)) if *at == phase => resume_unwind(Box::new(Failure(ticket, phase))),
            _ => Ok(()),
        }
    }
}

impl Pass for Play<'_> {
    type Input = Value;
    type Opened = Value;
    type Linked = Value;
    type Output = Value;
    /// Number of tickets that this worker opened, and number that it worked on.
    type Worker = (u64, u64);
    type Error = Failure;

    fn make_worker(&self) -> (u64, u64) {
        self.workers.fetch_add(1, SeqCst);
        (0, 0)
    }

    fn open(&self, worker: &mut (u64, u64), (ticket, value, token): Value) -> Result<Value, Failure> {
        worker.0 += 1;
        self.act(ticket, Phase::Open)?;
        Ok((ticket, opened(value), token))
    }

    fn work(&self, worker: &mut (u64, u64), (ticket, value, token): Value) -> Result<Value, Failure> {
        worker.1 += 1;
        self.act(ticket, Phase::Work)?;
        Ok((ticket, worked(value), token))
    }
}

fn opened(value: u64) -> u64 {
    value * value + 1
}

fn worked(value: u64) -> u64 {
    mix(value)
}

/// Returns pairs of steps of tickets 1 and 0 that must be able to happen at the same time. A serial
/// phase takes one ticket at a time, and ticket 1 never overtakes ticket 0.
pub fn simultaneous() -> impl Iterator<Item = [(Ticket, Phase); 2]> {
    let pairs = PHASES.into_iter().flat_map(|later| PHASES.map(|earlier| (later, earlier)));
    let together = |(later, earlier): &(Phase, Phase)| {
        later < earlier || later == earlier && matches!(later, Phase::Open | Phase::Work)
    };
    pairs.filter(together).map(|(later, earlier)| [(1, later), (0, earlier)])
}

/// Returns a hash of `value` (the finalizer of SplitMix64).
pub fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
