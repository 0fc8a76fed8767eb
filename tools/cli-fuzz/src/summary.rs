//! Counts the cases by command and exit code, and collects the findings by cause.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::case::CaseResult;
use crate::lines::Line;

const MAX_KEPT_CASES: usize = 3;

const CASES_PER_PROGRESS_LINE: u64 = 1000;

/// Exit codes with their own column; all others share the last column.
const CODES: [i32; 6] = [0, 1, 2, 3, 4, 75];

#[derive(Default)]
pub struct Summary {
    pub seconds: f64,
    commands: BTreeMap<String, [u64; CODES.len() + 1]>,
    /// By signature: the count, the numbers of the first cases, and an example.
    findings: BTreeMap<String, (u64, Vec<u64>, String)>,
    share: f64,
    cases: u64,
}

impl Summary {
    /// Adds a case, and prints each finding with a new signature. Returns whether the files of the
    /// case should be kept.
    pub fn add_case(&mut self, number: u64, line: &Line, done: &CaseResult) -> bool {
        let column = CODES.iter().position(|code| Some(*code) == done.code).unwrap_or(CODES.len());
        self.commands.entry(line.command()).or_default()[column] += 1;
        self.share = self.share.max(done.memory_share);
        self.cases += 1;
        if self.cases.is_multiple_of(CASES_PER_PROGRESS_LINE) {
            println!("{} cases, findings of {} kinds", self.cases, self.findings.len());
        }
        let mut is_new = false;
        for finding in &done.findings {
            let entry = self.findings.entry(finding.signature()).or_default();
            entry.0 += 1;
            if entry.1.len() < MAX_KEPT_CASES {
                entry.1.push(number);
                is_new = true;
            }
            if entry.0 == 1 {
                entry.2 = format!("readmill {} ({})", line.text, done.damaged.join(", "));
                println!("case {number}: {}: {}\n    {}", finding.kind, finding.detail, entry.2);
            }
        }
        is_new
    }

    pub fn has_findings(&self) -> bool {
        !self.findings.is_empty()
    }

    pub fn format_tables(&self) -> String {
        let mut text = format!("\n{:<32}{:>8}", "command", "cases");
        CODES.iter().for_each(|code| _ = write!(text, "{:>8}", format!("exit {code}")));
        text += "   other\n";
        let mut all = [0; CODES.len() + 1];
        for (command, counts) in &self.commands {
            text += &format_row(command, counts);
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
        text += &format_row("all", &all);
        let cases: u64 = all.iter().sum();
        _ = writeln!(
            text,
            "\n{cases} cases, each with 1 and 2 threads, in {:.0} s; at most {:.0} % of the memory that was allowed",
            self.seconds,
            self.share * 100.0
        );
        for (signature, (count, numbers, example)) in &self.findings {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            _ = writeln!(text, "{count} times {signature}\n    cases {}: {example}", numbers.join(", "));
        }
        if self.findings.is_empty() {
            text += "no findings\n";
        }
        text
    }
}

fn format_row(name: &str, counts: &[u64]) -> String {
    let mut text = format!("{name:<32}{:>8}", counts.iter().sum::<u64>());
    counts.iter().for_each(|count| _ = write!(text, "{count:>8}"));
    text.push('\n');
    text
}
