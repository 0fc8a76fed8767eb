//! Intervals of the genome given by the user: -L and -XL as GATK 4.6.2 understands them (`IntervalUtils`,
//! `GenomeLocParser`).

mod region;
mod set;

use std::path::Path;

use readmill_record::{Error, Header, Ledger, Result};

use crate::features::Features;
use crate::text::LineReader;
use region::{ContigNames, Region};
pub use set::{List, Set};

/// The arguments that select intervals.
///
/// An argument is a region (`chr1`, `chr1:100`, `chr1:100-200`, `chr1:100+`, 1-based and closed, commas in numbers
/// are ignored; names of contigs may contain colons), or a file: of features (BED, VCF, BCF, a Picard interval
/// list), or of regions, one in each line, if it ends in `.list` or `.intervals`. `unmapped` means reads without a
/// position, and adds no interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// The intervals to use (-L): their union. All of the genome if there are none.
    pub include: &'a [String],
    /// The intervals to exclude (-XL).
    pub exclude: &'a [String],
    /// Bases to add to each side of the intervals to use (--interval-padding).
    pub padding: u32,
    /// Bases to add to each side of the intervals to exclude (--interval-exclusion-padding).
    pub exclusion_padding: u32,
}

/// Intervals on the contigs of the reads. Clones share them.
#[derive(Clone, Debug)]
pub struct Intervals(Set);

impl Intervals {
    /// The union of all arguments.
    pub fn parse(include: &[String], header: &Header, ledger: &Ledger) -> Result<Self> {
        Self::of(&Chosen { include, ..Chosen::default() }, header, ledger)
    }

    /// Resolves the arguments.
    ///
    /// # Errors
    /// An argument is wrong, the result is empty, or it needs more memory than is free.
    pub fn of(chosen: &Chosen<'_>, header: &Header, ledger: &Ledger) -> Result<Self> {
        let (dictionary, contigs) = (ContigNames { header, ledger }, header.references());
        let mut included = List::new(ledger);
        if chosen.include.is_empty() {
            let whole = (0..).zip(contigs);
            whole.for_each(|(number, contig)| included.push(number, 0, contig.length));
        }
        for argument in chosen.include {
            dictionary.read(argument, chosen.padding, &mut included)?;
        }
        included.check()?;
        let mut excluded = List::new(ledger);
        for argument in chosen.exclude {
            if region::is_unmapped(argument) {
                return Err(Error::usage("reads without a place (unmapped) cannot be left out"));
            }
            dictionary.read(argument, chosen.exclusion_padding, &mut excluded)?;
        }
        for list in [&mut included, &mut excluded] {
            list.drop_empty();
            list.unite();
        }
        let intervals = Intervals(included.subtract(&excluded)?.into_set(contigs.len())?);
        if intervals.bases() == 0 {
            let what = match chosen.exclude {
                [] => "the intervals hold no base",
                _ => "nothing is left of the intervals once others are left out",
            };
            return Err(Error::usage(what).hint("check the intervals"));
        }
        Ok(intervals)
    }

    /// Whether one of the intervals on contig number `contig` shares a base with `start` to `end` (0-based,
    /// half-open).
    pub fn overlaps(&self, contig: u32, start: u32, end: u32) -> bool {
        let next = self.0.first_behind(contig as usize, start.into());
        next.is_some_and(|interval| interval.0 < end && start < end)
    }

    /// Number of bases that they cover.
    pub fn bases(&self) -> u64 {
        self.0.intervals().iter().map(|(_, start, end)| u64::from(end - start)).sum()
    }
}

impl ContigNames<'_> {
    /// Adds the intervals of an argument, padded, to those of their contigs.
    fn read(&self, argument: &str, padding: u32, into: &mut List) -> Result<()> {
        let mut add = |region: Region| {
            let length = self.contig(region.contig).length;
            let most = if length > 0 { length } else { i32::MAX as u32 };
            let end = region.end.saturating_add(padding).min(most);
            into.push(region.contig, region.start.saturating_sub(padding), end);
        };
        if region::is_unmapped(argument) {
            return Ok(());
        }
        if argument.contains(';') && !Path::new(argument).exists() {
            let what = format!("{argument:?}: intervals are not separated by semicolons");
            return Err(Error::usage(what).hint("give each by an option of its own, or give a file"));
        }
        if let Some(region) = self.region(argument).map_err(Error::usage)? {
            add(region);
            return Ok(());
        }
        let path = Path::new(argument);
        if !path.exists() {
            let what = format!("{argument:?} is neither a region of a contig of the reads nor a file");
            return Err(Error::usage(what).hint("regions are like chr1, chr1:100 or chr1:100-200"));
        }
        if is_list(path, self.ledger)? {
            self.read_list(path, &mut add)
        } else {
            self.read_features(path, &mut add)
        }
    }

    /// Reads a file of regions, one in each line.
    fn read_list(&self, path: &Path, add: &mut impl FnMut(Region)) -> Result<()> {
        let (mut lines, mut none) = (LineReader::open(path, self.ledger)?, true);
        while lines.advance()? {
            let text = String::from_utf8_lossy(lines.line().trim_ascii());
            if text.is_empty() || region::is_unmapped(&text) {
                continue;
            }
            match self.region(&text) {
                Ok(Some(region)) => add(region),
                Ok(None) => {
                    return Err(lines.wrong(format!("{text:?} is no region of a contig of the reads")));
                }
                Err(what) => return Err(lines.wrong(what)),
            }
            none = false;
        }
        if none {
            return Err(Error::input("there are no intervals in it").file(path));
        }
        Ok(())
    }

    fn read_features(&self, path: &Path, add: &mut impl FnMut(Region)) -> Result<()> {
        let mut features = Features::open(path, self.ledger)?;
        while let Some(place) = features.next_place()? {
            let (start, end) = (place.start, place.end);
            let Some(contig) = self.number(place.contig) else {
                let name = String::from_utf8_lossy(place.contig).into_owned();
                return Err(features.wrong(format!("contig {name} is not in the header of the reads")));
            };
            if start == end {
                return Err(features.wrong("an interval has no base"));
            }
            self.check(contig, end).map_err(|what| features.wrong(what))?;
            add(Region { contig, start, end });
        }
        Ok(())
    }
}

/// Whether a file is a list of regions. A file that starts with a SAM header is an interval list, whatever its
/// name.
fn is_list(path: &Path, ledger: &Ledger) -> Result<bool> {
    let name = path.to_string_lossy().to_lowercase();
    if !name.ends_with(".list") && !name.ends_with(".intervals") {
        return Ok(false);
    }
    let mut lines = LineReader::open(path, ledger)?;
    Ok(!(lines.advance()? && lines.line().starts_with(b"@")))
}

#[cfg(test)]
mod tests;
