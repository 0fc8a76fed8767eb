//! The memory limit where `-m` is not given.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use readmill_record::{Error, Result};
use rustix::process::{Resource, getrlimit};

/// The limit without control groups.
pub const DEFAULT: u64 = 2 << 30;

/// Address space that a process takes besides the memory it is given: its program and libraries, and what the allocator sets
/// aside for two heaps.
const BESIDE: u64 = 320 << 20;

/// The same for each thread: its stack, and a heap of its own where it aligns.
const BESIDE_THREAD: u64 = 8 << 20;

/// Returns the default of `-m`: [`DEFAULT`], or three quarters of what the control groups of this process allow, or what the limit
/// of its address space leaves, if that is less.
pub fn default_limit() -> u64 {
    let limit = group_limit().map_or(DEFAULT, |limit| DEFAULT.min(limit / 4 * 3));
    address_space_left().map_or(limit, |left| limit.min(left.max(1 << 20)))
}

/// Returns the memory that the limit of the address space leaves, if there is one.
pub fn address_space_left() -> Option<u64> {
    address_space().map(|(bytes, _)| bytes.saturating_sub(beside(available_threads())))
}

/// Returns the memory, or what the limit of the address space leaves, if that is less: for memory that nobody asked for.
pub fn within_address_space(memory: u64) -> u64 {
    address_space_left().map_or(memory, |left| memory.min(left))
}

/// Returns the number of threads that this process may use.
pub fn available_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn beside(threads: usize) -> u64 {
    BESIDE.saturating_add(BESIDE_THREAD.saturating_mul(threads as u64))
}

/// Refuses memory that the limits of this process leave no room for: an allocation would fail in the midst of the run, and end it.
///
/// # Errors
/// The address space of this many threads and bytes is larger than its limit.
pub fn check_address_space(memory: u64, threads: usize) -> Result<()> {
    let Some((limit, flag)) = address_space() else { return Ok(()) };
    let needed = memory.saturating_add(beside(threads));
    if needed <= limit {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    let what = format!(
        "-m {}M needs up to {} MiB of address space, and this process may have {} MiB (ulimit {flag}, h_vmem)",
        mib(memory),
        mib(needed),
        mib(limit)
    );
    let left = mib(limit.saturating_sub(beside(threads)));
    let lower = if left == 0 { String::new() } else { format!("give -m {left}M at most, or ") };
    Err(Error::usage(what).hint(format!("{lower}raise the limit to {} MiB", mib(needed) + 1)))
}

/// Returns the smallest limit of the address space, and the flag of `ulimit` that sets it.
fn address_space() -> Option<(u64, &'static str)> {
    let limits = [(Resource::As, "-v"), (Resource::Data, "-d")];
    limits.into_iter().filter_map(|(limit, flag)| Some((getrlimit(limit).current?, flag))).min()
}

/// Returns the smaller of the memory of the machine and the limit of the control groups, and which one it is.
pub fn available() -> Option<(u64, &'static str)> {
    let machine = machine_memory().map(|bytes| (bytes, "the machine has"));
    let group = group_limit().map(|bytes| (bytes, "the control group allows"));
    machine.into_iter().chain(group).min()
}

/// Returns what the control groups allow; it is read once.
fn group_limit() -> Option<u64> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let limit = |path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        group_files().filter_map(limit).min()
    })
}

fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

/// Returns the files with the limits of the control groups of this process and of all groups above, in both versions of
/// control groups.
fn group_files() -> impl Iterator<Item = PathBuf> {
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
