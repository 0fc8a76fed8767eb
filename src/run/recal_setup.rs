//! Opens the files for base quality recalibration, and creates the step that applies a table.

use std::path::Path;
use std::sync::Arc;

use readmill_bqsr as bqsr;
use readmill_bqsr::counters::max_group_bytes;
use readmill_bqsr::{
    self, ApplyRecalibration, CountOptions, ReadGroups, RecalReference, Recalibration, WellFormed,
};
use readmill_format::intervals::{IntervalArguments, Intervals};
use readmill_format::reference::{Matched, Reference};
use readmill_format::sites::KnownSites;
use readmill_format::spill::Spill;
use readmill_format::summed::InputSums;
use readmill_format::text;
use readmill_process::console::Console;
use readmill_record::{Charge, Error, Header, Ledger, Result, Step};

use crate::plan::{self, ApplyRequest, TableSource};

const TABLE_MEMORY: &str = "the recalibration table";

/// Memory of a report (values and text) per byte of one thread's counts. A cell of 8 bytes in the
/// counts becomes 16 bytes in the totals, and a row of 48 bytes and a line of 60 bytes in the
/// report. The factor is still small, because no quality occurs with all contexts and cycles, and
/// few of the 94 qualities occur at all.
pub const REPORT_BYTES_PER_COUNT_BYTE: u64 = 2;

/// Opens the reference, the known sites and the intervals for counting. Reads the known sites once
/// and stores them in the spill. Charges all memory to `ledger`. `sums` receives the checksums of the
/// files of known sites.
pub fn open_recal_reference(
    wanted: &plan::TableRequest,
    header: &Header,
    spill: &Arc<Spill>,
    ledger: &Ledger,
    sums: Option<&InputSums>,
    console: &Console,
) -> Result<RecalReference> {
    let groups = ReadGroups::new(header, ledger)?;
    let reference = Reference::open(&wanted.reference, ledger).map_err(|e| e.file(&wanted.reference))?;
    reference.notes().iter().for_each(|note| console.write_note(note));
    let contigs = Matched::new(&reference, header)?;
    let intervals = read_intervals(wanted, header, ledger)?;
    console.begin_stage("known sites", None, false);
    let sites = KnownSites::read_files(&wanted.known_sites, header, spill, ledger, sums)?;
    for file in sites.files() {
        let elsewhere = match file.ignored_sites {
            0 => String::new(),
            n => format!("; {n} more on contigs that are not in the header of the reads"),
        };
        console.write_line(&format!(
            "readmill: {} known sites in {}{elsewhere}",
            file.sites,
            file.path.display()
        ));
    }
    require_known_sites(wanted, &sites, console)?;
    Ok(RecalReference {
        groups,
        well_formed: WellFormed::new(header),
        reference,
        contigs,
        sites,
        intervals,
    })
}

/// Returns an error if no file contains a known site, unless `--allow-empty` is given. Also warns
/// about each file without sites.
fn require_known_sites(
    wanted: &plan::TableRequest,
    sites: &KnownSites,
    console: &Console,
) -> Result<()> {
    let empty = sites.files().iter().filter(|file| file.sites == 0).map(|file| file.path.display());
    if let ([first, ..], true, false) = (sites.files(), sites.is_empty(), wanted.allow_empty) {
        let others = match sites.files().len() {
            1 => "",
            _ => ", and neither do the other files",
        };
        let what = format!(
            "contains no known sites{others}; every variant of the sample would be counted as a sequencing error"
        );
        return Err(Error::input(what).file(&first.path).hint(
            "give known sites for this genome, or add --allow-empty to count without known sites",
        ));
    }
    empty.for_each(|path| console.write_warning(&format!("{path}: contains no known sites")));
    Ok(())
}

fn read_intervals(
    wanted: &plan::TableRequest,
    header: &Header,
    ledger: &Ledger,
) -> Result<Option<Intervals>> {
    if wanted.intervals.is_empty() && wanted.exclude_intervals.is_empty() {
        return Ok(None);
    }
    let chosen = IntervalArguments {
        include: &wanted.intervals,
        exclude: &wanted.exclude_intervals,
        padding: wanted.interval_padding,
        ..IntervalArguments::default()
    };
    Intervals::from_arguments(&chosen, header, ledger).map(Some)
}

pub fn max_counter_bytes(counting: &CountOptions) -> u64 {
    let arguments = &counting.arguments;
    let (mismatches, indels) = (arguments.mismatches_context_size, arguments.indels_context_size);
    let sizes = [mismatches, indels, indels];
    let events = if counting.indels { 3 } else { 1 };
    max_group_bytes(&sizes[..events], arguments.maximum_cycle_value) as u64
}

pub struct RecalShares {
    /// Maximum memory of one thread's counts in bytes. When it is reached, the counts are added to
    /// the totals.
    pub counters: usize,
    /// Total memory for counting in bytes, excluding reads: the counts of all threads, and the
    /// report.
    pub total_bytes: u64,
}

/// Divides `room` bytes among `threads` threads. Excludes the counts of one read group per thread,
/// for which the run has already reserved memory.
pub fn divide_counting_memory(
    reference: &RecalReference,
    counting: &CountOptions,
    room: u64,
    threads: u64,
) -> RecalShares {
    let (group, groups) = (max_counter_bytes(counting), reference.groups.names().len() as u64);
    let counters = (group * groups).min(room / 8 / threads).max(group);
    let threads = threads * (counters - group);
    RecalShares {
        counters: counters as usize,
        total_bytes: threads + REPORT_BYTES_PER_COUNT_BYTE * group * groups,
    }
}

pub fn new_recalibration_step(
    recalibration: Recalibration,
    apply: &ApplyRequest,
    groups: ReadGroups,
    header: &Header,
) -> Box<dyn Step> {
    let (well_formed, writing) = (WellFormed::new(header), apply.writing.clone());
    Box::new(ApplyRecalibration::new(recalibration, groups, well_formed, writing))
}

/// Creates the step that applies a table from a file. Returns `None` if the plan has no such table.
pub fn new_step_from_table_file(
    wanted: Option<&plan::Recalibration>,
    header: &Header,
    ledger: &Ledger,
) -> Result<Option<Box<dyn Step>>> {
    let Some(plan::Recalibration { source: TableSource::File(path), apply: Some(apply) }) = wanted
    else {
        return Ok(None);
    };
    let (table, _charge) = read_report(path, ledger)?;
    let recalibration = Recalibration::new(&table, &apply.applying, ledger).map_err(|e| e.file(path))?;
    Ok(Some(new_recalibration_step(recalibration, apply, ReadGroups::new(header, ledger)?, header)))
}

/// Reads a recalibration report, which may be gzip-compressed, as in GATK. Also returns the charge
/// for its memory.
pub fn read_report(path: &Path, ledger: &Ledger) -> Result<(bqsr::RecalReport, Charge)> {
    let (mut of_text, mut charge) =
        (ledger.empty_charge(TABLE_MEMORY), ledger.empty_charge(TABLE_MEMORY));
    let text = text::read_all(path, &mut of_text)?;
    let report = bqsr::RecalReport::parse(&text, &mut charge).map_err(|e| e.file(path))?;
    Ok((report, charge))
}
