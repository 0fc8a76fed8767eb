//! Duplicate marks, beside Picard MarkDuplicates.
//!
//! Picard breaks its last ties by the order of its input. So the exact statements are on one and the
//! same file; where Picard's own sort comes between, what differs must be full ties.

use anyhow::{Result, ensure};

use super::commands::Place;
use super::ledger::Ledger;
use super::lines::{Printed, same, without_marks};
use super::marks::Marks;
use super::ties;

const MARK: &str = "--mark-duplicates --duplicate-mode";

/// Coordinate mode. Leaves `coordinate.bam` (ours, sorted and marked) and `picard.coordinate.bam`.
pub fn coordinate(place: &Place<'_>, with_sort_sam: bool, ledger: &mut Ledger) {
    ledger.check("coordinate mode: as MarkDuplicates on the file of samtools sort", || {
        mark_duplicates(place, "samtools.bam", "picard.coordinate.bam", "coordinate")?;
        let arguments =
            format!("prep in.bam --sort coordinate {MARK} coordinate -o coordinate.bam -m 1G");
        place.readmill(&arguments)?;
        Marks::of(place, "coordinate.bam")?.same(&Marks::of(place, "picard.coordinate.bam")?)
    });
    ledger.check("coordinate mode: chosen by itself on sorted input, the same marks", || {
        let said = place.readmill("markdup samtools.bam -o auto.bam -m 1G")?;
        ensure!(said.contains("duplicate mode coordinate"), "it said: {said}");
        Marks::of(place, "auto.bam")?.same(&Marks::of(place, "picard.coordinate.bam")?)
    });
    ledger.check("coordinate mode: nothing but 0x400 changes", || unchanged(place, "coordinate.bam"));
    ledger.check("coordinate mode: removal leaves exactly what is not marked", || {
        let arguments = "--remove-duplicates --duplicate-mode coordinate -o removed.bam -m 1G";
        place.readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        removed(place, "coordinate.bam")
    });
    if with_sort_sam {
        ledger.check("coordinate mode: as SortSam and MarkDuplicates on the file of SortSam", || {
            place.picard("SortSam I=in.bam O=sortsam.bam SORT_ORDER=coordinate")?;
            mark_duplicates(place, "sortsam.bam", "picard.sortsam.bam", "coordinate")?;
            place.readmill("markdup sortsam.bam -o auto.bam -m 1G")?;
            Marks::of(place, "auto.bam")?.same(&Marks::of(place, "picard.sortsam.bam")?)
        });
        ledger.check("coordinate mode: SortSam's order changes full ties alone", || {
            tied(place, "coordinate.bam", "picard.sortsam.bam")
        });
    }
}

/// Template mode, on input grouped by name. Leaves `picard.template.bam`.
pub fn template(place: &Place<'_>, with_sort_sam: bool, ledger: &mut Ledger) {
    ledger.check("template mode: chosen by itself on grouped input, as MarkDuplicates", || {
        mark_duplicates(place, "in.bam", "picard.template.bam", "queryname")?;
        let said = place.readmill("markdup in.bam -o template.bam -m 1G")?;
        ensure!(said.contains("duplicate mode template"), "it said: {said}");
        Marks::of(place, "template.bam")?.same(&Marks::of(place, "picard.template.bam")?)
    });
    ledger.check("template mode: the same marks when sorted by coordinate", || {
        let arguments = format!("{MARK} template -o template.sorted.bam -m 1G");
        place.readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        Marks::of(place, "template.sorted.bam")?.same(&Marks::of(place, "picard.template.bam")?)
    });
    ledger.check("template mode: nothing but 0x400 changes", || unchanged(place, "template.sorted.bam"));
    ledger.check("template mode: removal leaves exactly what is not marked", || {
        let arguments = "--remove-duplicates --duplicate-mode template -o removed.bam -m 1G";
        place.readmill(&format!("prep in.bam --sort coordinate {arguments}"))?;
        removed(place, "template.sorted.bam")
    });
    if with_sort_sam {
        ledger.check("template mode: as SortSam and MarkDuplicates on the file of SortSam", || {
            place.picard("SortSam I=in.bam O=sortsam.bam SORT_ORDER=queryname")?;
            mark_duplicates(place, "sortsam.bam", "picard.sortsam.bam", "queryname")?;
            let said = place.readmill("markdup sortsam.bam -o auto.bam -m 1G")?;
            ensure!(said.contains("duplicate mode template"), "it said: {said}");
            Marks::of(place, "auto.bam")?.same(&Marks::of(place, "picard.sortsam.bam")?)
        });
        ledger.check("template mode: SortSam's order changes full ties alone", || {
            tied(place, "template.bam", "picard.sortsam.bam")
        });
    }
}

/// Runs the oracle.
pub fn mark_duplicates(place: &Place<'_>, input: &str, output: &str, order: &str) -> Result<()> {
    let files = format!("I={input} O={output} M=metrics.txt");
    let rules = format!("ASSUME_SORT_ORDER={order} VALIDATION_STRINGENCY=SILENT");
    place.picard(&format!("MarkDuplicates {files} {rules}")).map(drop)
}

fn unchanged(place: &Place<'_>, file: &str) -> Result<String> {
    let ours = Printed::samtools(place, &format!("view {file}"))?;
    let theirs = Printed::samtools(place, "view samtools.bam")?;
    Ok(format!("{} records", same(ours, theirs, without_marks)?))
}

fn removed(place: &Place<'_>, marked: &str) -> Result<String> {
    let ours = Printed::samtools(place, "view removed.bam")?;
    let theirs = Printed::samtools(place, &format!("view -F 0x400 {marked}"))?;
    Ok(format!("{} records", same(ours, theirs, |_| true)?))
}

fn tied(place: &Place<'_>, ours: &str, theirs: &str) -> Result<String> {
    let differences = Marks::of(place, ours)?.differences(&Marks::of(place, theirs)?)?;
    ties::only(place, "in.bam", &differences)
}
