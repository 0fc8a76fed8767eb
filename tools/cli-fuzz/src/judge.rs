//! Judges the outcome of a run, and compares two runs.

use crate::run::{RunOutcome, STDOUT};

/// The exit codes that docs/running.md documents.
const EXIT_CODES: [i32; 6] = [0, 1, 2, 3, 4, 75];

const MAX_CPU_SECONDS: u64 = 10;

pub const DEFAULT_MEMORY_MIB: u64 = 2048;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: &'static str,
    pub detail: String,
}

impl Finding {
    fn new(kind: &'static str, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// Returns a string that is equal for findings that probably have the same cause: numbers are
    /// replaced with `#`.
    pub fn signature(&self) -> String {
        let mut text = format!("{}: ", self.kind);
        for c in self.detail.chars().take(200) {
            let c = if c.is_ascii_digit() { '#' } else { c };
            if c != '#' || !text.ends_with('#') {
                text.push(c);
            }
        }
        text
    }
}

/// Returns the findings of one run: a crash, a hang, an undocumented exit code, too much time or
/// memory, or leftover files. `memory` is the run's memory limit in MiB. Names that start with an
/// entry of `kept` may remain after a failure.
pub fn judge_run(outcome: &RunOutcome, memory: u64, kept: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if outcome.hangs {
        return vec![Finding::new("hangs", "")];
    }
    if let Some(panic) = outcome.stderr.lines().find(|line| line.contains("panicked at")) {
        findings.push(Finding::new("panic", panic.rsplit("panicked at ").next().unwrap_or(panic)));
    }
    match (outcome.signal, outcome.code) {
        (Some(signal), _) => findings.push(Finding::new("signal", signal.to_string())),
        (None, Some(code)) if !EXIT_CODES.contains(&code) && findings.is_empty() => {
            findings.push(Finding::new("exit code", format!("{code}: {}", first_error(outcome))));
        }
        _ => {}
    }
    if outcome.usage.cpu.as_secs() >= MAX_CPU_SECONDS {
        findings.push(Finding::new("slow", format!("{} s", outcome.usage.cpu.as_secs())));
    }
    if outcome.usage.peak > memory << 20 {
        findings
            .push(Finding::new("memory", format!("{} MiB with -m {memory}M", outcome.usage.peak >> 20)));
    }
    if let Some(name) = outcome.temporary.first() {
        findings.push(Finding::new("leftover", format!("temporary {name}")));
    }
    let has_failed = !matches!(outcome.code, Some(0 | 4));
    for name in outcome.outputs.keys().filter(|name| *name != STDOUT) {
        if kept.iter().any(|kept| name.starts_with(kept)) {
            continue;
        }
        if name.contains(".partial") || name.split('/').any(|part| part.starts_with('.')) {
            findings.push(Finding::new("leftover", name.as_str()));
        } else if has_failed {
            let what = format!("{name} with exit code {:?}", outcome.code.unwrap_or(-1));
            findings.push(Finding::new("output after failure", what));
        }
    }
    if findings.is_empty()
        && has_failed
        && first_error(outcome).is_empty()
        && outcome.signal.is_none()
        && outcome.code != Some(1)
    {
        findings.push(Finding::new("no message", format!("exit code {:?}", outcome.code)));
    }
    findings
}

/// Returns the difference between two runs with different thread counts, in exit code, error or
/// outputs. Outputs in `changing` are ignored. If a run was refused for lack of memory, nothing is
/// compared, because more threads need more memory.
pub fn compare_runs(one: &RunOutcome, two: &RunOutcome, changing: &[String]) -> Option<Finding> {
    let errors = [first_error(one), first_error(two)];
    if errors.iter().any(|error| is_refusal_of_memory(error)) {
        return None;
    }
    if (one.code, one.signal) != (two.code, two.signal) {
        return Some(Finding::new(
            "threads differ",
            format!("exit code {:?} and {:?}: {} / {}", one.code, two.code, errors[0], errors[1]),
        ));
    }
    if errors[0] != errors[1] {
        return Some(Finding::new("threads differ", format!("{} / {}", errors[0], errors[1])));
    }
    let names = one.outputs.keys().chain(two.outputs.keys());
    let differs =
        |name: &&String| !changing.contains(name) && one.outputs.get(*name) != two.outputs.get(*name);
    names.into_iter().find(differs).map(|name| Finding::new("threads differ", format!("in {name}")))
}

pub fn changing_outputs(one: &RunOutcome, two: &RunOutcome) -> Vec<String> {
    let names = one.outputs.keys().chain(two.outputs.keys());
    let mut names: Vec<String> =
        names.filter(|name| one.outputs.get(*name) != two.outputs.get(*name)).cloned().collect();
    names.dedup();
    names
}

pub fn first_error(outcome: &RunOutcome) -> &str {
    outcome.stderr.lines().find(|line| line.contains("error: ")).unwrap_or_default()
}

pub fn is_refusal_of_memory(error: &str) -> bool {
    ["raise -m", "raise --memory", "-m "].iter().any(|words| error.contains(words))
}

/// Returns the memory in MiB that a memory error asks for, or `None` for other errors.
pub fn requested_memory_mib(error: &str) -> Option<u64> {
    let after = ["needs at least -m ", "raise -m to ", "needs at least --memory ", "raise --memory to "];
    let rest = after.iter().find_map(|words| error.split(words).nth(1))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use readmill_peers::usage::Usage;

    use super::*;

    fn outcome(code: i32, stderr: &str, outputs: &[&str]) -> RunOutcome {
        RunOutcome {
            code: Some(code),
            signal: None,
            hangs: false,
            usage: Usage { cpu: Duration::from_millis(5), peak: 30 << 20 },
            stderr: stderr.to_owned(),
            outputs: outputs.iter().map(|name| ((*name).to_owned(), Vec::new())).collect(),
            temporary: Vec::new(),
        }
    }

    fn kinds(outcome: &RunOutcome, memory: u64) -> Vec<&'static str> {
        judge_run(outcome, memory, &["work"]).iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn every_kind_of_fault_is_found() {
        assert!(kinds(&outcome(0, "", &["out.bam", STDOUT]), 30).is_empty());
        assert!(kinds(&outcome(2, "readmill: error: x", &["work/map"]), 30).is_empty());
        assert_eq!(kinds(&outcome(0, "", &[]), 29), ["memory"]);
        assert_eq!(kinds(&outcome(101, "thread 'main' panicked at src/a.rs:5:1:", &[]), 30), ["panic"]);
        assert_eq!(kinds(&outcome(5, "readmill: error: x", &[]), 30), ["exit code"]);
        assert_eq!(kinds(&outcome(0, "", &["out.bam.partial"]), 30), ["leftover"]);
        assert_eq!(kinds(&outcome(2, "readmill: error: x", &["out.bam"]), 30), ["output after failure"]);
        assert_eq!(kinds(&outcome(2, "", &[]), 30), ["no message"]);
        let killed = RunOutcome { code: None, signal: Some(11), ..outcome(0, "", &[]) };
        assert_eq!(kinds(&killed, 30), ["signal"]);
        let slow =
            RunOutcome { usage: Usage { cpu: Duration::from_secs(11), peak: 0 }, ..outcome(0, "", &[]) };
        assert_eq!(kinds(&slow, 30), ["slow"]);
    }

    #[test]
    fn runs_with_other_threads_are_compared_unless_memory_is_short() {
        let (one, two) = (outcome(2, "error: a", &[]), outcome(2, "error: b", &[]));
        assert!(compare_runs(&one, &one, &[]).is_none());
        assert!(compare_runs(&one, &two, &[]).is_some());
        assert!(compare_runs(&one, &outcome(0, "", &[]), &[]).is_some());
        assert!(
            compare_runs(&one, &outcome(3, "error: it takes more; raise -m to 55M", &[]), &[]).is_none()
        );
        let output = outcome(0, "", &["out"]);
        assert_eq!(
            compare_runs(&output, &outcome(0, "", &[]), &[]).map(|it| it.detail),
            Some("in out".into())
        );
        assert!(compare_runs(&output, &outcome(0, "", &[]), &["out".into()]).is_none());
        assert_eq!(
            requested_memory_mib("error: this command needs at least -m 59M with 2 threads"),
            Some(59)
        );
        assert_eq!(requested_memory_mib("raise -m to 22M or more"), Some(22));
    }

    #[test]
    fn findings_of_one_cause_have_one_signature() {
        let one = Finding::new("panic", "src/a.rs:12:5: index 7");
        let two = Finding::new("panic", "src/a.rs:12:5: index 1234");
        assert_eq!(one.signature(), two.signature());
    }
}
