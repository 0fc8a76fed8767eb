//! Critical sections, measured on one thread, and what they allow at best.

use std::fmt::Write;
use std::io;

use super::options::Options;
use super::ratios::{Spread, number};
use crate::files::Files;
use crate::parsing::{BLOCK_BYTES, Way};
use crate::sections::{self, Section};
use crate::{ours, project};

/// Pairs that are read at a time for each measurement at most.
const PAIRS: u64 = 100_000;

/// All ways, in the order of the tables.
pub fn ways(files: &Files) -> [Way; 5] {
    [Way::Original, Way::Deferred, Way::Batches(32), Way::Searched(1024), Way::Blocks(files.in_block)]
}

/// Measures all ways in turns; returns them with medians, and the table.
pub fn measure(files: &Files, options: &Options) -> io::Result<(Vec<project::Way>, String)> {
    let pairs = files.pairs.min(PAIRS) as usize;
    let ways = ways(files);
    let mut measured: Vec<(project::Way, Vec<Section>)> = Vec::new();
    for round in 0..options.rounds.max(1) {
        let locked = ways.iter().map(|&way| {
            let section = sections::measure(files, way, pairs)?;
            Ok(project::Way { name: way.name(), batch: 2.0 * way.pairs() as f64, visits: 1, section })
        });
        let all = locked.chain([ours::way(files)]);
        for (number, way) in all.enumerate() {
            let way: project::Way = way?;
            let section = way.section;
            if round == 0 {
                measured.push((way, Vec::new()));
            }
            measured[number].1.push(section);
        }
    }
    let text = describe(files, &mut measured)?;
    Ok((measured.into_iter().map(|(way, _)| way).collect(), text))
}

fn describe(files: &Files, measured: &mut [(project::Way, Vec<Section>)]) -> io::Result<String> {
    let [plain, padded] = files.bytes()?;
    let mut text = format!(
        "### Critical sections\n\n{} pairs of 151 bases, {:.0} bytes a record, in the page cache, on one thread. Padding to \
         blocks of {BLOCK_BYTES} bytes ({} records) adds {:.1} %.\n\n\
         | way | reads at a time | ns per read with the lock held | CPU ns per read in all | no more than … million reads/s |\n\
         |---|---|---|---|---|\n",
        files.pairs,
        plain as f64 / (2 * files.pairs).max(1) as f64,
        files.in_block,
        (padded as f64 / plain as f64 - 1.0) * 100.0,
    );
    for (way, sections) in measured {
        let spread = |of: fn(&Section) -> f64| Spread::of(sections.iter().map(of).collect());
        let (held, all) = (spread(|section| section.held), spread(|section| section.all));
        way.section = Section { held: held.median, all: all.median };
        let limit = number(1e3 / held.median);
        let _ = writeln!(
            text,
            "| {} | {:.0} | {} | {} | {limit} |",
            way.name,
            way.batch,
            held.show(),
            all.show(),
        );
    }
    text += "\nMedians (least–most). The limit is what no number of threads can exceed, before any cost of the lock itself.\n\n";
    Ok(text)
}
