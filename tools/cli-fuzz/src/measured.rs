//! Measures a run from a small parent process.
//!
//! When Linux starts a child, its peak memory starts at the memory of its parent, and the fuzzer
//! holds all inputs. Therefore this program starts itself with [`MEASURE`], and that small process
//! starts the run and writes a report.

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

/// First argument when this program is started as the measuring parent. The report file, the
/// program and its arguments follow.
pub const MEASURE: &str = "--measure";

/// Interval between checks of a run. Most runs end within a fraction of a second, but a busy
/// machine may delay one.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
const MAX_CHECKS: u32 = 20;

/// CPU time after which a run counts as hanging, in ticks of 1/100 second.
const MAX_TICKS: u64 = 6000;

/// Maximum address space of a run in bytes, so that a bug in the memory limit does not exhaust the
/// machine.
const MAX_ADDRESS_SPACE: u64 = 16 << 30;

/// Maximum size of a file that a run writes, in bytes. Above it, the run gets SIGXFSZ.
const MAX_FILE_BYTES: u64 = 1 << 30;

pub struct MeasuredRun {
    pub hangs: bool,
    pub status: ExitStatus,
    pub usage: Usage,
}

/// Returns a command that starts this program as the measuring parent of `program`. The caller
/// appends the arguments. The parent writes its measurements to `report`.
pub fn measuring_command(report: &Path, program: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(MEASURE).arg(report).arg(program);
    Ok(command)
}

pub fn run_and_read_report(command: &mut Command, report: &Path) -> Result<MeasuredRun> {
    ensure!(command.status()?.success(), "a run could not be measured");
    let text = fs::read_to_string(report)?;
    let numbers: Vec<u64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[hangs, status, micros, peak] = &numbers[..] else { bail!("{text:?} is not a report") };
    let usage = Usage { cpu: Duration::from_micros(micros), peak };
    Ok(MeasuredRun { hangs: hangs == 1, status: ExitStatus::from_raw(status as i32), usage })
}

/// Runs a program and writes the report. `words` are the arguments after [`MEASURE`]; `main` calls
/// this in the measuring parent.
pub fn run_measured(words: &[OsString]) -> Result<()> {
    let [report, program, words @ ..] = words else { bail!("{MEASURE} needs a report and a program") };
    let child = Command::new(program).args(words).spawn().context("readmill does not start")?;
    let MeasuredRun { hangs, status, usage } = wait_with_limits(child)?;
    let micros = usage.cpu.as_micros();
    let text = format!("{} {} {micros} {}", u8::from(hangs), status.into_raw(), usage.peak);
    Ok(fs::write(report, text)?)
}

fn wait_with_limits(mut child: Child) -> Result<MeasuredRun> {
    let pid = Pid::from_child(&child);
    for (resource, bytes) in [(Resource::As, MAX_ADDRESS_SPACE), (Resource::Fsize, MAX_FILE_BYTES)] {
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // Setting a limit fails if the child has already exited, which is not an error.
        _ = prlimit(Some(pid), resource, limit);
    }
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("no handle of a process")?;
    let patience = Timespec { tv_sec: CHECK_INTERVAL.as_secs() as i64, tv_nsec: 0 };
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    let mut looks = 0;
    let hangs = loop {
        match poll(&mut ended, Some(&patience)) {
            Ok(0) => {
                looks += 1;
                if looks == MAX_CHECKS || cpu_ticks(child.id()) >= MAX_TICKS {
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
    let (status, usage) = usage::wait_with_usage(child)?;
    Ok(MeasuredRun { hangs, status, usage })
}

fn cpu_ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field is the program name in parentheses, which may contain spaces; its state
    // follows.
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
        run_measured(&words.map(OsString::from)).unwrap();
        let MeasuredRun { hangs, status, usage } =
            run_and_read_report(&mut Command::new("true"), &report).unwrap();
        assert_eq!((hangs, status.code(), status.signal()), (false, None, Some(9)));
        assert!(usage.peak > 100_000);
        assert!(run_and_read_report(&mut Command::new("false"), &report).is_err());
    }
}
