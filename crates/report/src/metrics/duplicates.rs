//! Metrics of duplicates: their share, optical duplicates, and the size of the library.

use super::reads::flagstat_count;
use crate::run::{Quantity, RunPart};

pub fn library_rows<'a>(run: &RunPart<'a>) -> Vec<RunPart<'a>> {
    run.rows("duplicates", |row| row.at("READ_PAIRS_EXAMINED").is_some())
}

/// Returns the number of reads that were compared to find duplicates.
pub fn compared_reads(run: &RunPart<'_>) -> Option<f64> {
    match &library_rows(run)[..] {
        [] => Some(flagstat_count(run, "primary mapped")?.value),
        rows => Some(sum_of_rows(rows, &EXAMINED)?.value),
    }
}

/// Returns the sum of `fields` over all rows. A field that is listed twice counts twice.
fn sum_of_rows(rows: &[RunPart<'_>], fields: &[&str]) -> Option<Quantity> {
    Quantity::sum(rows.iter().flat_map(|row| fields.iter().map(|field| row.number(field))))
}

/// The reads that were compared. A pair counts as two reads, so the field of pairs is listed twice.
const EXAMINED: [&str; 3] = ["READ_PAIRS_EXAMINED", "READ_PAIRS_EXAMINED", "UNPAIRED_READS_EXAMINED"];

/// The duplicates. A pair counts as two reads, so the field of pairs is listed twice.
const DUPLICATES: [&str; 3] =
    ["READ_PAIR_DUPLICATES", "READ_PAIR_DUPLICATES", "UNPAIRED_READ_DUPLICATES"];

/// Returns the number of mapped reads that are duplicates. `None` if the run has no metrics of
/// duplicates: samtools flagstat also counts unmapped reads with the flag.
pub fn duplicate_reads(run: &RunPart<'_>) -> Option<Quantity> {
    sum_of_rows(&library_rows(run), &DUPLICATES)
}

pub(super) fn duplicate_share(run: &RunPart<'_>) -> Option<Quantity> {
    let rows = library_rows(run);
    match &rows[..] {
        [] => Quantity::share(flagstat_count(run, "primary duplicates"), flagstat_count(run, "primary")),
        [row] => {
            let count = sum_of_rows(&rows, &DUPLICATES).map(|it| it.value);
            Some(row.number("PERCENT_DUPLICATION")?.with_count(count))
        }
        _ => Quantity::share(sum_of_rows(&rows, &DUPLICATES), sum_of_rows(&rows, &EXAMINED)),
    }
}

/// Returns the name of the column with the set sizes. Picard names it `BIN` if the histogram also
/// has the column `CoverageMult` (return on investment, only for a single library), and otherwise
/// `set_size`.
pub fn set_size_key(histogram: &RunPart<'_>) -> &'static str {
    if histogram.at("set_size").is_some() { "set_size" } else { "BIN" }
}

/// Returns the histogram of duplicate set sizes. `None` if the run did not detect optical
/// duplicates: as in Picard, its histogram then has only sets of size 1.
pub fn set_histogram<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    let histogram = run.part("reports/duplicates/histograms/0")?;
    let (sizes, sets) = (histogram.column(set_size_key(&histogram)), histogram.column("all_sets"));
    let is_larger = sizes.iter().zip(&sets).any(|(size, sets)| *size > 1.0 && *sets > 0.0);
    let duplicates = sum_of_rows(&library_rows(run), &["READ_PAIR_DUPLICATES"]);
    let has_none = duplicates.is_some_and(|it| it.value == 0.0) && !sets.is_empty();
    (is_larger || has_none).then_some(histogram)
}

/// Returns the fraction of pairs that are optical duplicates. `None` if no read name has a tile: the
/// count is then 0, but nothing was measured.
pub(super) fn optical_duplicate_share(run: &RunPart<'_>) -> Option<Quantity> {
    set_histogram(run)?;
    let rows = library_rows(run);
    let optical = sum_of_rows(&rows, &["READ_PAIR_OPTICAL_DUPLICATES"])?;
    let has_tiles = !run.list("reports/duplicates_by_tile/tile").is_empty();
    if optical.value == 0.0 && !has_tiles {
        return None;
    }
    Quantity::share(Some(optical), sum_of_rows(&rows, &["READ_PAIRS_EXAMINED"]))
}

pub(super) fn library_size(run: &RunPart<'_>) -> Option<Quantity> {
    let sizes = library_rows(run).into_iter().filter_map(|row| row.number("ESTIMATED_LIBRARY_SIZE"));
    Quantity::sum(sizes.map(Some))
}
