//! Recalibration: files opened, counts made a table, the table made a step.

use std::path::Path;
use std::sync::Arc;

use readmill_format::intervals::{Chosen, Intervals};
use readmill_format::reference::Reference;
use readmill_format::sites::Sites;
use readmill_format::spill::Spill;
use readmill_record::{Error, Header, Result};
use readmill_steps::Step;
use readmill_steps::bqsr::training::Contig;
use readmill_steps::bqsr::{self, ApplyRecalibration, ReadGroups, Recalibration, Training, WellFormed};

use crate::plan::{self, Apply, TableSource};
use crate::report::Report;

/// Bytes that the counts of one read group are expected to take at most.
const GROUP_BYTES: u64 = 1 << 20;

/// Opens what reads are counted against. The known sites are read once, into the spill.
pub fn training(
    wanted: &plan::Training,
    header: &Header,
    spill: &Arc<Spill>,
    report: &Report,
) -> Result<Training> {
    let groups = ReadGroups::new(header)?;
    let reference = Reference::open(&wanted.reference).map_err(|e| e.file(&wanted.reference))?;
    reference.notes().iter().for_each(|note| report.note(note));
    let contigs = contigs(&reference, header)?;
    report.stage("known sites", None, false);
    let sites = Sites::read(&wanted.known_sites, header.references(), spill)?;
    for file in sites.files() {
        let elsewhere = match file.elsewhere {
            0 => String::new(),
            n => format!("; {n} more on contigs that the reads do not have"),
        };
        report.say(&format!(
            "readmill: {} known sites in {}{elsewhere}",
            file.sites,
            file.path.display()
        ));
    }
    Ok(Training {
        groups,
        well_formed: WellFormed::new(header),
        reference,
        contigs,
        sites,
        intervals: intervals(wanted, header)?,
    })
}

fn contigs(reference: &Reference, header: &Header) -> Result<Vec<Contig>> {
    let lengths: Vec<u32> = reference.contigs().map(|(_, length)| length).collect();
    let numbers = reference.matches(header)?.into_iter().zip(header.references());
    let contigs = numbers.map(|(number, contig)| Contig {
        name: contig.name.clone(),
        in_reference: number.map(|number| (number, lengths[number as usize])),
    });
    Ok(contigs.collect())
}

fn intervals(wanted: &plan::Training, header: &Header) -> Result<Option<Intervals>> {
    if wanted.intervals.is_empty() && wanted.exclude_intervals.is_empty() {
        return Ok(None);
    }
    let chosen = Chosen {
        include: &wanted.intervals,
        exclude: &wanted.exclude_intervals,
        padding: wanted.interval_padding,
        ..Chosen::default()
    };
    Intervals::of(&chosen, header.references()).map(Some)
}

/// Room that counting takes beside what each thread has: the index of known sites, and the counts of all.
pub fn room(training: &Training) -> u64 {
    training.sites.memory() as u64 + GROUP_BYTES * training.groups.names().len() as u64
}

/// The step that applies a report to reads under this header.
pub fn step(report: &bqsr::Report, apply: &Apply, header: &Header) -> Result<Box<dyn Step>> {
    let recalibration = Recalibration::new(report, &apply.applying)?;
    let groups = ReadGroups::new(header)?;
    let well_formed = WellFormed::new(header);
    let writing = apply.writing.clone();
    Ok(Box::new(ApplyRecalibration::new(recalibration, groups, well_formed, writing)))
}

/// The step that applies a table from a file, if that is asked for.
pub fn step_from_file(
    wanted: Option<&plan::Recalibration>,
    header: &Header,
) -> Result<Option<Box<dyn Step>>> {
    let Some(plan::Recalibration { source: TableSource::File(path), apply: Some(apply) }) = wanted
    else {
        return Ok(None);
    };
    step(&read(path)?, apply, header).map_err(|e| e.file(path)).map(Some)
}

/// Reads a report.
pub fn read(path: &Path) -> Result<bqsr::Report> {
    let text = std::fs::read(path)
        .map_err(|e| Error::io(format!("{} cannot be read", path.display()), &e).file(path))?;
    bqsr::Report::read(&text).map_err(|e| e.file(path))
}
