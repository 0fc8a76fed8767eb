//! The default memory limit, and the limits of this process and machine.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use readmill_record::{Error, Result};
use rustix::process::{Resource, getrlimit};

/// The default of `-m`, unless a control group or the address space allows less.
pub const DEFAULT_LIMIT_BYTES: u64 = 2 << 30;

/// Memory of the program itself: code, libraries, standard streams, the header's tables, allocator
/// slack. (Measured: a run on a file with one read peaks at 18 to 19 MiB on Linux 6.18 with the codecs
/// of one thread, and at 23 to 24 MiB in the dev profile. Most of this is code, which the system maps in
/// large pieces.)
pub const PROGRAM_BYTES: u64 = 22 << 20;

/// Address space in bytes that a process needs in addition to `-m`: for the program, its libraries, and
/// two allocator heaps.
const PROCESS_ADDRESS_SPACE_BYTES: u64 = 320 << 20;

const THREAD_ADDRESS_SPACE_BYTES: u64 = 8 << 20;

/// Returns the default of `-m`: [`DEFAULT_LIMIT_BYTES`], three quarters of the control group limit, or the
/// remaining address space, whichever is smallest.
pub fn default_limit() -> u64 {
    let limit = control_group_limit()
        .map_or(DEFAULT_LIMIT_BYTES, |limit| DEFAULT_LIMIT_BYTES.min(limit / 4 * 3));
    address_space_left().map_or(limit, |left| limit.min(left.max(1 << 20)))
}

/// Returns the memory that the address space limit (`ulimit -v`) leaves for `-m`; `None` if there is no
/// limit.
pub fn address_space_left() -> Option<u64> {
    address_space()
        .map(|(bytes, _)| bytes.saturating_sub(address_space_besides_memory(available_threads())))
}

/// Returns `memory`, or the remaining address space if that is less. Used for memory limits that the
/// user did not set.
pub fn cap_to_address_space(memory: u64) -> u64 {
    address_space_left().map_or(memory, |left| memory.min(left))
}

pub fn available_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn address_space_besides_memory(threads: usize) -> u64 {
    PROCESS_ADDRESS_SPACE_BYTES.saturating_add(THREAD_ADDRESS_SPACE_BYTES.saturating_mul(threads as u64))
}

/// Returns an error if a run with this memory and number of threads does not fit into the address space.
/// Without this check, a failed allocation would abort the process in the middle of the run.
///
/// # Errors
/// Fails if the address space limit is too small; the hint names the `-m` that fits.
pub fn check_address_space(memory: u64, threads: usize) -> Result<()> {
    let Some((limit, flag)) = address_space() else { return Ok(()) };
    let needed = memory.saturating_add(address_space_besides_memory(threads));
    if needed <= limit {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    let what = format!(
        "-m {}M needs up to {} MiB of address space, but this process may use only {} MiB (ulimit {flag}, h_vmem)",
        mib(memory),
        mib(needed),
        mib(limit)
    );
    let left = mib(limit.saturating_sub(address_space_besides_memory(threads)));
    let lower = if left == 0 { String::new() } else { format!("use -m {left}M at most, or ") };
    Err(Error::usage(what).hint(format!("{lower}raise the limit to {} MiB", mib(needed) + 1)))
}

fn address_space() -> Option<(u64, &'static str)> {
    let limits = [(Resource::As, "-v"), (Resource::Data, "-d")];
    limits.into_iter().filter_map(|(limit, flag)| Some((getrlimit(limit).current?, flag))).min()
}

/// Returns the memory of the machine or the control group limit, whichever is less, with the phrase that
/// introduces it in messages.
pub fn available_memory() -> Option<(u64, &'static str)> {
    let machine = machine_memory().map(|bytes| (bytes, "the machine has"));
    let group = control_group_limit().map(|bytes| (bytes, "the control group allows"));
    machine.into_iter().chain(group).min()
}

/// Returns the smallest memory limit of the control groups, in bytes. The files are read only once.
fn control_group_limit() -> Option<u64> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let limit = |path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        control_group_limit_files().filter_map(limit).min()
    })
}

fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

/// Returns the files that contain the memory limits of this process's control groups and their parent
/// groups (cgroup v1 and v2).
fn control_group_limit_files() -> impl Iterator<Item = PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own: Vec<(PathBuf, &str, &str)> = groups
        .lines()
        .filter_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let (root, file) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                _ if controllers.split(',').any(|name| name == "memory") => {
                    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
                }
                _ => return None,
            };
            Some((Path::new(root).join(path.trim_start_matches('/')), root, file))
        })
        .collect();
    own.into_iter().flat_map(|(group, root, file)| {
        let above = group.ancestors().take_while(|group| group.starts_with(root));
        above.map(|group| group.join(file)).collect::<Vec<_>>()
    })
}
