//! Duplicate marks, beside Picard MarkDuplicates.
//!
//! Picard breaks its last ties by the order of its input. So the exact statements are on one and the
//! same file; where Picard's own sort comes between, what differs must be full ties.

use anyhow::{Result, ensure};

use crate::commands::SampleDir;
use crate::duplicate_marks::{self, Marks, Sets};
use crate::ledger::Ledger;
use crate::metrics;
use crate::outputs::{Printed, same, same_bytes, without_marks};

const MARK: &str = "--mark-duplicates --duplicate-mode";

/// Coordinate mode. Leaves `coordinate.bam` (ours, sorted and marked) and `picard.coordinate.bam`.
pub fn coordinate(dir: &SampleDir<'_>, with_sort_sam: bool, ledger: &mut Ledger) {
    ledger.check("coordinate mode: as MarkDuplicates on the file of samtools sort", || {
        oracle(dir, "samtools.bam", "picard.coordinate.bam", "coordinate", ALL_TAGS)?;
        let arguments =
            format!("prep in.bam --sort coordinate {MARK} coordinate -o coordinate.bam -m 1G");
        dir.readmill(&arguments)?;
        Marks::of(dir, "coordinate.bam")?.same(&Marks::of(dir, "picard.coordinate.bam")?)
    });
    ledger.check("coordinate mode: chosen by itself on sorted input, the same marks", || {
        let said = dir.readmill("markdup samtools.bam -o auto.bam -m 1G")?;
        ensure!(said.contains("duplicate mode coordinate"), "it said: {said}");
        Marks::of(dir, "auto.bam")?.same(&Marks::of(dir, "picard.coordinate.bam")?)
    });
    ledger.check("coordinate mode: nothing but 0x400 changes", || unchanged(dir, "coordinate.bam"));
    ledger.check("coordinate mode: removal leaves exactly what is not marked", || {
        let arguments = "--remove-duplicates --duplicate-mode coordinate -o removed.bam -m 1G";
        dir.readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        removed(dir, "coordinate.bam")
    });
    if with_sort_sam {
        ledger.check("coordinate mode: as SortSam and MarkDuplicates on the file of SortSam", || {
            dir.picard("SortSam I=in.bam O=sortsam.bam SORT_ORDER=coordinate")?;
            mark_duplicates(dir, "sortsam.bam", "picard.sortsam.bam", "coordinate")?;
            dir.readmill("markdup sortsam.bam -o auto.bam -m 1G")?;
            Marks::of(dir, "auto.bam")?.same(&Marks::of(dir, "picard.sortsam.bam")?)
        });
        ledger.check("coordinate mode: SortSam's order changes full ties alone", || {
            tied(dir, "coordinate.bam", "picard.sortsam.bam")
        });
    }
}

/// Template mode, on input grouped by name. Leaves `picard.template.bam`.
pub fn template(dir: &SampleDir<'_>, with_sort_sam: bool, ledger: &mut Ledger) {
    ledger.check("template mode: chosen by itself on grouped input, as MarkDuplicates", || {
        oracle(dir, "in.bam", "picard.template.bam", "queryname", ALL_TAGS)?;
        let said = dir.readmill("markdup in.bam -o template.bam -m 1G")?;
        ensure!(said.contains("duplicate mode template"), "it said: {said}");
        Marks::of(dir, "template.bam")?.same(&Marks::of(dir, "picard.template.bam")?)
    });
    ledger.check("template mode: the same marks when sorted by coordinate", || {
        let arguments = format!("{MARK} template -o template.sorted.bam -m 1G");
        dir.readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        Marks::of(dir, "template.sorted.bam")?.same(&Marks::of(dir, "picard.template.bam")?)
    });
    ledger.check("template mode: nothing but 0x400 changes", || unchanged(dir, "template.sorted.bam"));
    ledger.check("template mode: removal leaves exactly what is not marked", || {
        let arguments = "--remove-duplicates --duplicate-mode template -o removed.bam -m 1G";
        dir.readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        removed(dir, "template.sorted.bam")
    });
    if with_sort_sam {
        ledger.check("template mode: as SortSam and MarkDuplicates on the file of SortSam", || {
            dir.picard("SortSam I=in.bam O=sortsam.bam SORT_ORDER=queryname")?;
            mark_duplicates(dir, "sortsam.bam", "picard.sortsam.bam", "queryname")?;
            let said = dir.readmill("markdup sortsam.bam -o auto.bam -m 1G")?;
            ensure!(said.contains("duplicate mode template"), "it said: {said}");
            Marks::of(dir, "auto.bam")?.same(&Marks::of(dir, "picard.sortsam.bam")?)
        });
        ledger.check("template mode: SortSam's order changes full ties alone", || {
            tied(dir, "template.bam", "picard.sortsam.bam")
        });
    }
}

/// Options for all fields that MarkDuplicates can write; the marks do not depend on them.
const ALL_TAGS: &str = "TAGGING_POLICY=All TAG_DUPLICATE_SET_MEMBERS=true";

/// Other rules, by the names that Picard and readmill have for them.
const RULES: [(&str, &str); 3] = [
    ("OPTICAL_DUPLICATE_PIXEL_DISTANCE", "2500"),
    ("DUPLICATE_SCORING_STRATEGY", "TOTAL_MAPPED_REFERENCE_LENGTH"),
    ("DUPLICATE_SCORING_STRATEGY", "RANDOM"),
];

/// A rule for reads that have UMIs.
const UMI_RULE: (&str, &str) = ("BARCODE_TAG", "RX");

/// How all that MarkDuplicates says is asked for in one mode, and compared.
struct TagComparison {
    /// The mode.
    mode: &'static str,
    /// The arguments of readmill, without the output.
    readmill: &'static str,
    /// The input of MarkDuplicates, and its `ASSUME_SORT_ORDER`.
    input: &'static str,
    order: &'static str,
    /// The output of MarkDuplicates with default rules.
    marked: &'static str,
    sets: Sets,
}

const COORDINATE: TagComparison = TagComparison {
    mode: "coordinate",
    readmill: "prep in.bam --sort coordinate --mark-duplicates --duplicate-mode coordinate",
    input: "samtools.bam",
    order: "coordinate",
    marked: "picard.coordinate",
    // Picard numbers the reads of the sorted file, which is not there before they are judged.
    sets: Sets::Renamed,
};

const TEMPLATE: TagComparison = TagComparison {
    mode: "template",
    readmill: "markdup in.bam --duplicate-mode template",
    input: "in.bam",
    order: "queryname",
    marked: "picard.template",
    sets: Sets::Numbered,
};

/// Metrics, DT, DS and DI in coordinate mode, which [`coordinate`] asked the oracle for.
pub fn coordinate_tags(dir: &SampleDir<'_>, has_umis: bool, ledger: &mut Ledger) {
    COORDINATE.compare(dir, has_umis, ledger);
}

/// Compares metrics, DT, DS and DI in template mode with the oracle's output from [`template`].
pub fn template_tags(dir: &SampleDir<'_>, has_umis: bool, ledger: &mut Ledger) {
    TEMPLATE.compare(dir, has_umis, ledger);
}

/// Compares metrics, DT, DS and DI of a sample that does not fit into the least memory.
pub fn spilled(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    for asked in [COORDINATE, TEMPLATE] {
        let what = "metrics, DT, DS and DI are the same with the least memory";
        ledger.check(&format!("{} mode: {what}", asked.mode), || asked.least(dir));
    }
}

impl TagComparison {
    fn least(&self, dir: &SampleDir<'_>) -> Result<String> {
        self.readmill(dir, "said", "-m 1G")?;
        let least = dir.least_memory(&format!("{} -@ 1", self.words("least")))?;
        self.readmill(dir, "least", &format!("-@ 1 -m {least}"))?;
        metrics::same(dir, "least.metrics", "said.metrics")?;
        Ok(format!("-m {least}, {} bytes", same_bytes(dir, "least.bam", "said.bam")?))
    }

    fn compare(&self, dir: &SampleDir<'_>, has_umis: bool, ledger: &mut Ledger) {
        let TagComparison { mode, marked, .. } = self;
        ledger.check(&format!("{mode} mode: the metrics of MarkDuplicates"), || {
            self.readmill(dir, "said", "-m 1G")?;
            metrics::same(dir, "said.metrics", &format!("{marked}.metrics"))
        });
        ledger.check(&format!("{mode} mode: DT, DS and DI of MarkDuplicates"), || {
            duplicate_marks::same_tags(dir, "said.bam", &format!("{marked}.bam"), self.sets)
        });
        let rules = || RULES.into_iter().chain(has_umis.then_some(UMI_RULE)).enumerate();
        ledger.check(&format!("{mode} mode: MarkDuplicates with other rules"), || {
            let calls: Vec<String> = rules().map(|(i, rule)| self.picard(i, rule)).collect();
            let codes = dir.picard_each(&calls)?;
            ensure!(codes.iter().all(|code| *code == 0), "exit codes {codes:?}");
            Ok(format!("{} times", codes.len()))
        });
        for (i, (rule, value)) in rules() {
            ledger.check(&format!("{mode} mode: {rule}={value}, metrics, marks and fields"), || {
                self.readmill(dir, "ruled", &format!("-m 1G --{rule} {value}"))?;
                metrics::same(dir, "ruled.metrics", &format!("{mode}.{i}.metrics"))?;
                duplicate_marks::same_tags(dir, "ruled.bam", &format!("{mode}.{i}.bam"), self.sets)
            });
        }
    }

    /// Runs readmill with all fields, into a BAM file and a metrics file of that name.
    fn readmill(&self, dir: &SampleDir<'_>, name: &str, more: &str) -> Result<()> {
        dir.readmill(&format!("{} {more}", self.words(name))).map(drop)
    }

    fn words(&self, name: &str) -> String {
        let tags = "--TAGGING_POLICY All --TAG_DUPLICATE_SET_MEMBERS true";
        format!("{} -o {name}.bam --metrics {name}.metrics {tags}", self.readmill)
    }

    fn picard(&self, number: usize, (rule, value): (&str, &str)) -> String {
        let TagComparison { mode, input, order, .. } = self;
        let output = format!("{mode}.{number}");
        let files = format!("I={input} O={output}.bam M={output}.metrics COMPRESSION_LEVEL=1");
        format!(
            "markduplicates.MarkDuplicates {files} ASSUME_SORT_ORDER={order} {ALL_TAGS} {rule}={value}"
        )
    }
}

/// Marks by the oracle.
pub fn mark_duplicates(dir: &SampleDir<'_>, input: &str, output: &str, order: &str) -> Result<()> {
    oracle(dir, input, output, order, "")
}

/// Runs the oracle, with its metrics next to its output.
fn oracle(dir: &SampleDir<'_>, input: &str, output: &str, order: &str, rules: &str) -> Result<()> {
    let files = format!("I={input} O={output} M={}", output.replace(".bam", ".metrics"));
    let mode = format!("ASSUME_SORT_ORDER={order} VALIDATION_STRINGENCY=SILENT");
    dir.picard(&format!("MarkDuplicates {files} {mode} {rules}")).map(drop)
}

fn unchanged(dir: &SampleDir<'_>, file: &str) -> Result<String> {
    let ours = Printed::samtools(dir, &format!("view {file}"))?;
    let theirs = Printed::samtools(dir, "view samtools.bam")?;
    Ok(format!("{} records", same(ours, theirs, without_marks)?))
}

fn removed(dir: &SampleDir<'_>, marked: &str) -> Result<String> {
    let ours = Printed::samtools(dir, "view removed.bam")?;
    let theirs = Printed::samtools(dir, &format!("view -F 0x400 {marked}"))?;
    Ok(format!("{} records", same(ours, theirs, |_| true)?))
}

fn tied(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<String> {
    let differences = Marks::of(dir, ours)?.differences(&Marks::of(dir, theirs)?)?;
    duplicate_marks::only_ties(dir, "in.bam", &differences)
}
