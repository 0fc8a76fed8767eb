//! The memory limit where `-m` is not given.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The limit without control groups.
pub const DEFAULT: u64 = 2 << 30;

/// Returns the default of `-m`: [`DEFAULT`], or three quarters of what the control groups of this process allow, if
/// that is less.
pub fn default_limit() -> u64 {
    group_limit().map_or(DEFAULT, |limit| DEFAULT.min(limit / 4 * 3))
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
