//! Rules for accepted differences in quality metrics and coverage. Each uses the content of the file or a message, none the
//! file's name. The numbers are those of the accepted differences in docs/parity.md.

use anyhow::Result;

use crate::commands::SampleDir;
use crate::corpus::report::Verdict;
use crate::outputs::Printed;
use crate::stats;

/// Cycles of statistics after the 1,000th.
const LATE_CYCLES: u32 = 93;

/// No pair has an insert size.
const NO_TABLE: u32 = 177;

/// readmill refuses a file of which Picard writes metrics.
pub fn refuses_alone(said: &str) -> Verdict {
    Verdict::Defect(format!("readmill alone refuses it: {said}"))
}

/// Picard writes no file, and the one of readmill has no table.
pub fn no_file() -> Verdict {
    Verdict::Numbered(NO_TABLE, "Picard writes no file".to_owned())
}

/// Both have metrics, and not the same.
pub fn differs(what: String) -> Verdict {
    Verdict::Defect(what)
}

/// Picard ends with an exception, and readmill does not.
pub fn picard_stops(said: &str) -> Verdict {
    Verdict::Defect(format!("Picard alone refuses it: {said}"))
}

/// Two texts differ, or a program refused the file: readmill's message, and that of the other.
pub fn texts(refused: (Option<String>, Option<String>), what: String) -> Verdict {
    match refused {
        (Some(ours), Some(theirs)) => Verdict::Refused(format!("{ours}; {theirs}")),
        (Some(ours), None) => Verdict::Defect(format!("readmill alone refuses it: {ours}")),
        (None, Some(theirs)) => Verdict::Defect(format!("readmill alone takes it: {theirs}")),
        (None, None) => Verdict::Defect(what),
    }
}

/// Statistics differ.
pub fn statistics(dir: &SampleDir<'_>, words: &str, what: String) -> Result<Verdict> {
    let theirs = Printed::newest(dir, words)?.text()?;
    let ours = Printed::by(dir.readmill_command(&format!("samtools {words}")))?.text()?;
    let early = |text: &str| {
        let rows = stats::rows(text).into_iter();
        Vec::from_iter(rows.filter(|row| !is_late_cycle(row)))
    };
    Ok(match early(&ours) == early(&theirs) {
        true => Verdict::Numbered(LATE_CYCLES, what),
        false => Verdict::Defect(what),
    })
}

/// Whether a row is of a cycle after the 1,000th.
fn is_late_cycle(row: &str) -> bool {
    let mut columns = row.split('\t');
    let is_of_cycles = columns.next().is_some_and(|tag| CYCLES.contains(&tag));
    let cycle = columns.next().and_then(|cycle| cycle.parse::<u64>().ok());
    is_of_cycles && cycle.is_some_and(|cycle| cycle > 1_000)
}

/// Sections that have a row for each cycle.
const CYCLES: [&str; 8] = ["FFQ", "LFQ", "MPC", "GCC", "GCT", "FBC", "LBC", "IC"];
