//! A run as the child of a small process, which measures it. Linux counts for a child what its parent had in memory when it
//! began, and the fuzzer has all inputs; so this program starts itself, and that process starts the run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::usage::{self, Usage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, pidfd_open, prlimit};

/// The first argument of this program where it measures: then come the file for the report, the program, and its words.
pub const MEASURE: &str = "--measure";

/// Time between two looks at a run, and number of looks after which it hangs: nearly all end within a fraction of a
/// second, but a busy machine may hold one up.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOKS: u32 = 20;

/// Ticks of CPU time, a hundredth of a second each, after which a run hangs.
const MAX_TICKS: u64 = 6000;

/// Address space of a run, so that a broken limit does not take the machine's memory.
const ADDRESS_SPACE: u64 = 16 << 30;

/// Bytes of one file that a run may write; it gets SIGXFSZ beyond.
const MAX_FILE: u64 = 1 << 30;

/// How a run ended.
pub struct Ended {
    /// Whether it was ended because it took too long.
    pub hangs: bool,
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// Time and memory.
    pub usage: Usage,
}

/// A command of this program that runs another one, and says in `report` how it ended; the words are to be added.
pub fn command(report: &Path, program: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(MEASURE).arg(report).arg(program);
    Ok(command)
}

/// Runs a command made by [`command`], and reads its report.
pub fn ended(command: &mut Command, report: &Path) -> Result<Ended> {
    ensure!(command.status()?.success(), "a run could not be measured");
    let text = fs::read_to_string(report)?;
    let numbers: Vec<u64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[hangs, status, micros, peak] = &numbers[..] else { bail!("{text:?} is no report") };
    let usage = Usage { cpu: Duration::from_micros(micros), peak };
    Ok(Ended { hangs: hangs == 1, status: ExitStatus::from_raw(status as i32), usage })
}

/// Runs a program, given the words behind [`MEASURE`], and writes the report.
pub fn measure(words: &[OsString]) -> Result<()> {
    let [report, program, words @ ..] = words else { bail!("{MEASURE} needs a report and a program") };
    let child = Command::new(program).args(words).spawn().context("readmill does not start")?;
    let Ended { hangs, status, usage } = wait(child)?;
    let micros = usage.cpu.as_micros();
    let text = format!("{} {} {micros} {}", u8::from(hangs), status.into_raw(), usage.peak);
    Ok(fs::write(report, text)?)
}

/// Waits for the end of a child, which is killed if it takes too long.
fn wait(mut child: Child) -> Result<Ended> {
    let pid = Pid::from_child(&child);
    for (resource, bytes) in [(Resource::As, ADDRESS_SPACE), (Resource::Fsize, MAX_FILE)] {
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // A child that has ended needs no limit.
        _ = prlimit(Some(pid), resource, limit);
    }
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("no handle of a process")?;
    let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    let mut looks = 0;
    let hangs = loop {
        match poll(&mut ended, Some(&patience)) {
            Ok(0) => {
                looks += 1;
                if looks == LOOKS || cpu_ticks(child.id()) >= MAX_TICKS {
                    break true;
                }
            }
            Ok(_) => break false,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for a process"),
        }
    };
    if hangs {
        child.kill()?;
    }
    let (status, usage) = usage::wait(child)?;
    Ok(Ended { hangs, status, usage })
}

/// The CPU time of a process so far; 0 where the system does not say.
fn cpu_ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program may have blanks; its state is the first word behind it.
    let words = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    words.skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_process_is_known() {
        let mut number = 1_u64;
        while cpu_ticks(std::process::id()) < 2 {
            (0..1_000_000).for_each(|i| number = std::hint::black_box(number.wrapping_mul(3) ^ i));
        }
        assert_eq!(cpu_ticks(u32::MAX), 0);
    }

    #[test]
    fn a_report_says_how_a_run_ended() {
        let directory = tempfile::tempdir().unwrap();
        let report = directory.path().join("report");
        let words = [report.as_os_str(), "sh".as_ref(), "-c".as_ref(), "kill -9 $$".as_ref()];
        measure(&words.map(OsString::from)).unwrap();
        let Ended { hangs, status, usage } = ended(&mut Command::new("true"), &report).unwrap();
        assert_eq!((hangs, status.code(), status.signal()), (false, None, Some(9)));
        assert!(usage.peak > 100_000);
        assert!(ended(&mut Command::new("false"), &report).is_err());
    }
}
