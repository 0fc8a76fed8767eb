//! Judges a command line: whether both revisions write the same outputs, and each revision the same
//! outputs with all resources.

use super::digest::{Digest, Outputs};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResult {
    pub code: i32,
    /// Whether the program does not know an option or a command of the line.
    pub is_unknown: bool,
    pub said: String,
    pub outputs: Outputs,
}

/// The verdict on a command line or on two of its runs, in ascending order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineVerdict {
    Same,
    /// The base does not know the command line.
    New,
    /// BGZF files have the same data in different blocks; everything else is equal.
    OtherBlocks,
    Differs,
    /// One revision writes different bytes with different threads or memory.
    NotInvariant,
}

impl LineVerdict {
    pub fn describe(self) -> &'static str {
        match self {
            LineVerdict::Same => "same",
            LineVerdict::New => "new",
            LineVerdict::OtherBlocks => "other blocks",
            LineVerdict::Differs => "differ",
            LineVerdict::NotInvariant => "not invariant",
        }
    }
}

/// A verdict and the differences that led to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: LineVerdict,
    pub reasons: Vec<String>,
}

/// Judges a command line, whose expected exit code is `code`, by its runs in both revisions.
///
/// `resources` describes each run. The runs of each revision are compared with one another first,
/// then the two revisions. A line that the base does not know is only checked in the working tree.
pub fn judge_line(resources: &[String], code: i32, base: &[RunResult], here: &[RunResult]) -> Judgement {
    let mut judgement = Judgement { verdict: LineVerdict::Same, reasons: Vec::new() };
    let is_new = base.iter().all(|outcome| outcome.is_unknown);
    let revisions = [("the base", base), ("the working tree", here)];
    for (revision, outcomes) in revisions.into_iter().skip(usize::from(is_new)) {
        for (name, outcome) in resources.iter().zip(outcomes).skip(1) {
            let between = format!("{revision}, {} against {name}", resources[0]);
            let found = list_differences(&outcomes[0], outcome);
            judgement.add_reasons(
                &between,
                found.into_iter().map(|(_, what)| (LineVerdict::NotInvariant, what)),
            );
        }
    }
    if is_new {
        judgement.verdict = judgement.verdict.max(LineVerdict::New);
    }
    for (name, outcome) in resources.iter().zip(here).filter(|(_, outcome)| outcome.code != code) {
        let what = format!("exit code {}, and {code} was expected: {}", outcome.code, outcome.said);
        judgement.add_reasons(name, [(LineVerdict::Differs, what)]);
    }
    if is_new {
        return judgement;
    }
    let mut found: Vec<_> =
        base.iter().zip(here).map(|(base, here)| list_differences(base, here)).collect();
    if found.len() > 1 && found.iter().all(|each| *each == found[0]) {
        judgement.add_reasons("every run", found.swap_remove(0));
        return judgement;
    }
    for (name, found) in resources.iter().zip(found) {
        judgement.add_reasons(name, found);
    }
    judgement
}

impl Judgement {
    fn add_reasons(&mut self, between: &str, found: impl IntoIterator<Item = (LineVerdict, String)>) {
        for (verdict, what) in found {
            self.verdict = self.verdict.max(verdict);
            self.reasons.push(format!("{between}: {what}"));
        }
    }
}

fn list_differences(one: &RunResult, other: &RunResult) -> Vec<(LineVerdict, String)> {
    let mut found = Vec::new();
    if one.code != other.code {
        found.push((LineVerdict::Differs, format!("exit code {} became {}", one.code, other.code)));
    }
    for (name, digest) in &one.outputs {
        match other.outputs.get(name) {
            None => found.push((LineVerdict::Differs, format!("{name} is not written"))),
            Some(now) if now == digest => {}
            Some(now) if has_other_blocks(digest, now) => {
                found.push((
                    LineVerdict::OtherBlocks,
                    format!("{name} has the same records in other blocks"),
                ));
            }
            Some(_) if indexes_other_blocks(name, one, other) => {
                found.push((LineVerdict::OtherBlocks, format!("{name} is the index of other blocks")));
            }
            Some(_) => found.push((LineVerdict::Differs, format!("{name} differs"))),
        }
    }
    let added = other.outputs.keys().filter(|name| !one.outputs.contains_key(*name));
    found.extend(added.map(|name| (LineVerdict::Differs, format!("{name} is written anew"))));
    found
}

/// Returns whether two different files have the same inflated data.
fn has_other_blocks(one: &Digest, other: &Digest) -> bool {
    one.bytes != other.bytes && one.inflated.is_some() && one.inflated == other.inflated
}

/// Returns whether a file is the index of a BAM file with different blocks. Such indexes differ,
/// because they store block offsets.
fn indexes_other_blocks(name: &str, one: &RunResult, other: &RunResult) -> bool {
    let file = [".bai", ".csi"].iter().find_map(|end| name.strip_suffix(end));
    let Some(file) = file else { return false };
    [file.to_owned(), format!("{file}.part-*")].iter().any(|file| {
        let pair = one.outputs.get(file).zip(other.outputs.get(file));
        pair.is_some_and(|(one, other)| has_other_blocks(one, other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &str, inflated: Option<&str>) -> Digest {
        Digest { bytes: bytes.into(), inflated: inflated.map(str::to_owned) }
    }

    fn outcome(outputs: &[(&str, &str, Option<&str>)]) -> RunResult {
        let outputs = outputs.iter().map(|(name, bytes, text)| ((*name).into(), digest(bytes, *text)));
        RunResult { code: 0, is_unknown: false, said: String::new(), outputs: outputs.collect() }
    }

    fn verdict(base: &[RunResult], here: &[RunResult]) -> (LineVerdict, Vec<String>) {
        let resources = ["1 thread".to_owned(), "8 threads".to_owned()];
        let Judgement { verdict, reasons } = judge_line(&resources, 0, base, here);
        (verdict, reasons)
    }

    #[test]
    fn equal_outputs_are_the_same() {
        let run = outcome(&[("o.bam", "1", Some("a")), ("o.txt", "2", None)]);
        let runs = [run.clone(), run];
        assert_eq!(verdict(&runs, &runs), (LineVerdict::Same, vec![]));
    }

    #[test]
    fn other_blocks_and_their_index_are_told_from_other_records() {
        let base = outcome(&[("o.bam", "1", Some("a")), ("o.bam.bai", "2", None)]);
        let blocks = outcome(&[("o.bam", "3", Some("a")), ("o.bam.bai", "4", None)]);
        let (found, reasons) = verdict(&[base.clone(), base.clone()], &[blocks.clone(), blocks]);
        assert_eq!(found, LineVerdict::OtherBlocks);
        assert_eq!(reasons[0], "every run: o.bam has the same records in other blocks");
        assert_eq!(reasons[1], "every run: o.bam.bai is the index of other blocks");
        assert_eq!(reasons.len(), 2);

        let records = outcome(&[("o.bam", "3", Some("b")), ("o.bam.bai", "4", None)]);
        let (found, reasons) = verdict(&[base.clone(), base.clone()], &[records.clone(), records]);
        assert_eq!(found, LineVerdict::Differs);
        assert_eq!(reasons[..2], ["every run: o.bam differs", "every run: o.bam.bai differs"]);

        let index = outcome(&[("o.bam", "1", Some("a")), ("o.bam.bai", "4", None)]);
        let (found, reasons) = verdict(&[base.clone(), base], &[index.clone(), index]);
        assert_eq!(found, LineVerdict::Differs);
        assert_eq!(reasons[0], "every run: o.bam.bai differs");
    }

    #[test]
    fn parts_in_other_blocks_may_have_another_index() {
        let base = outcome(&[("o.bam.part-*", "1", Some("a")), ("o.bam.csi", "2", Some("c"))]);
        let here = outcome(&[("o.bam.part-*", "3", Some("a")), ("o.bam.csi", "4", Some("d"))]);
        let found = verdict(&[base.clone(), base], &[here.clone(), here]);
        assert_eq!(found.0, LineVerdict::OtherBlocks);
    }

    #[test]
    fn files_and_exit_codes_that_come_or_go_differ() {
        let base = outcome(&[("a", "1", None)]);
        let here = RunResult { code: 2, said: "why".into(), ..outcome(&[("b", "1", None)]) };
        let (found, reasons) = verdict(&[base], &[here]);
        assert_eq!(found, LineVerdict::Differs);
        let said = [
            "exit code 2, and 0 was expected: why",
            "exit code 0 became 2",
            "a is not written",
            "b is written anew",
        ];
        assert_eq!(reasons, said.map(|what| format!("1 thread: {what}")));
    }

    #[test]
    fn what_depends_on_the_means_is_worse_than_what_differs() {
        let one = outcome(&[("o.bam", "1", Some("a"))]);
        let other = outcome(&[("o.bam", "2", Some("a"))]);
        let (found, reasons) = verdict(&[one.clone(), one.clone()], &[one.clone(), other.clone()]);
        assert_eq!(found, LineVerdict::NotInvariant);
        let first =
            "the working tree, 1 thread against 8 threads: o.bam has the same records in other blocks";
        assert_eq!(reasons[0], first);
        assert_eq!(reasons.len(), 2);
        let (found, _) = verdict(&[one.clone(), other.clone()], &[one, other]);
        assert_eq!(found, LineVerdict::NotInvariant);
    }

    #[test]
    fn a_line_that_the_base_does_not_know_is_new_and_must_be_invariant() {
        let unknown = RunResult { code: 1, is_unknown: true, ..outcome(&[]) };
        let (one, other) = (outcome(&[("o", "1", None)]), outcome(&[("o", "2", None)]));
        let base = [unknown.clone(), unknown];
        assert_eq!(verdict(&base, &[one.clone(), one.clone()]), (LineVerdict::New, vec![]));
        assert_eq!(verdict(&base, &[one, other]).0, LineVerdict::NotInvariant);
    }
}
