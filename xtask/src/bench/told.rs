//! Parses the last line of readmill's log.

use anyhow::{Context, Result};

/// Figures of the last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Peak resident memory (VmHWM) in MiB, rounded up.
    pub peak: u64,
    /// MiB spilled.
    pub spilled: u64,
    /// Sorted runs that were merged from disk.
    pub runs: u64,
}

impl LogSummary {
    /// Finds the figures in a log; `None` if it is not readmill's.
    pub fn of(log: &str) -> Option<Self> {
        let line =
            log.lines().rfind(|line| line.starts_with("readmill: ") && line.contains("peak memory"))?;
        let number = |mark: &str, behind: bool| -> Option<u64> {
            let (before, after) = line.split_once(mark)?;
            let word = if behind { after.split(' ').next() } else { before.rsplit(' ').next() };
            word?.parse().ok()
        };
        Some(LogSummary {
            peak: number("peak memory ", true)?,
            spilled: number(" MiB spilled in ", false)?,
            runs: number(" MiB spilled in ", true)?,
        })
    }
}

/// The least memory, in MiB, from readmill's message for too little memory.
pub fn least_memory(log: &str) -> Result<u64> {
    let word = log.split_once("at least -m ").and_then(|(_, rest)| rest.split('M').next());
    word.and_then(|word| word.parse().ok()).with_context(|| format!("no least memory in: {log}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_read() {
        let log = "readmill 0.1.0 sort: a -> b; 512 MiB of memory in total\nreadmill: 601449 records read, \
                   601449 written in 1.3 s; peak memory 242 MiB; 17 MiB spilled in 3 runs\n";
        assert_eq!(LogSummary::of(log), Some(LogSummary { peak: 242, spilled: 17, runs: 3 }));
        assert_eq!(LogSummary::of("[bam_sort_core] merging from 3 files"), None);
    }

    #[test]
    fn the_least_memory_is_read() {
        let log = "readmill: error: this plan needs at least -m 51M with 2 threads, and has 1M";
        assert_eq!(least_memory(log).unwrap(), 51);
        assert!(least_memory("readmill: error: no").is_err());
    }
}
