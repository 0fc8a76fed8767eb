//! Times of the serial phases of a pass, and of the whole pass.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};

/// Times of one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Number of tickets.
    pub tickets: u64,
    /// Time in the claims.
    pub claim: Duration,
    /// Time in the links.
    pub link: Duration,
    /// Time in the commits.
    pub commit: Duration,
    /// CPU time of everything, the parallel phases included.
    pub cpu: Duration,
}

impl Phases {
    /// All serial phases.
    pub fn serial(&self) -> Duration {
        self.claim + self.link + self.commit
    }

    /// The sum of two passes whose tickets are claimed, linked and committed by the same code.
    pub fn with(self, other: Phases) -> Phases {
        Phases {
            tickets: self.tickets + other.tickets,
            claim: self.claim + other.claim,
            link: self.link + other.link,
            commit: self.commit + other.commit,
            cpu: self.cpu + other.cpu,
        }
    }
}

/// Does something and adds the time it takes.
pub fn timed<T>(time: &mut Duration, todo: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = todo();
    *time += started.elapsed();
    done
}

/// Tickets, then nanoseconds.
impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [claim, link, commit, cpu] =
            [self.claim, self.link, self.commit, self.cpu].map(|time| time.as_nanos());
        write!(f, "{} {claim} {link} {commit} {cpu}", self.tickets)
    }
}

impl FromStr for Phases {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[tickets, claim, link, commit, cpu]) => {
                let [claim, link, commit, cpu] = [claim, link, commit, cpu].map(Duration::from_nanos);
                Ok(Phases { tickets, claim, link, commit, cpu })
            }
            _ => None.with_context(|| format!("no phases: {text:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read_as_they_are_written() {
        let mut phases: Phases = "3 70 5 6 1000".parse().unwrap();
        assert_eq!(phases.serial(), Duration::from_nanos(81));
        assert_eq!(phases.to_string().parse::<Phases>().unwrap(), phases);
        timed(&mut phases.link, || std::thread::sleep(Duration::from_millis(2)));
        assert!(phases.link > Duration::from_millis(1));
        assert!("3 70 5 6".parse::<Phases>().is_err() && "a b c d e".parse::<Phases>().is_err());
    }
}
