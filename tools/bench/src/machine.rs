//! Describes the machine above each table.

use std::fs;

pub fn describe_machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor =
        read_proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = read_proc_field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kib: u64 = text.split_whitespace().next()?.parse().ok()?;
        Some(format!(", {} GiB of memory", (kib as f64 / (1 << 20) as f64).round()))
    });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
    let kernel = kernel.map(|text| format!(", Linux {}", text.trim())).unwrap_or_default();
    format!("{cores} cores of {processor}{}{kernel}", memory.unwrap_or_default())
}

fn read_proc_field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
