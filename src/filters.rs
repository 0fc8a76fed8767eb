//! Filters: files opened, headers changed, and steps made of what is asked for.

use std::path::Path;

use readmill_format::source::Source;
use readmill_record::{Header, Result};
use readmill_steps::Step;
use readmill_steps::filter::{
    CleanSam, DropUnmapped, ExactMapping, MinMapq, OptionalFields, Overlap, RenameContigs,
    ReplaceDictionary, ReplaceReadGroup,
};

use crate::inputs::{self, Rules};
use crate::plan::{self, Filters, Unmapped};

/// Bytes the header of a dictionary may take.
const MOST_DICTIONARY: usize = 64 << 20;

/// The steps that come first, in their fixed order. Drops judge reads by the header as it is; edits change it as they
/// are made.
pub fn early(wanted: &Filters, header: &mut Header) -> Result<Vec<Box<dyn Step>>> {
    let mut steps = drops(wanted, header)?;
    if let Some(path) = &wanted.rename_contigs {
        steps.push(Box::new(RenameContigs::open(path, header)?));
    }
    if wanted.clean_sam {
        steps.push(Box::new(CleanSam::new(header)));
    }
    if let Some(path) = &wanted.dictionary {
        let dictionary = dictionary(path)?;
        let step = ReplaceDictionary::new(&dictionary, header).map_err(|e| e.file(path))?;
        steps.push(Box::new(step));
    }
    if let Some(group) = &wanted.read_group {
        steps.push(Box::new(ReplaceReadGroup::new(group, header)?));
    }
    Ok(steps)
}

/// What decides which reads go on.
fn drops(wanted: &Filters, header: &Header) -> Result<Vec<Box<dyn Step>>> {
    let mut steps: Vec<Box<dyn Step>> = Vec::new();
    if let Some(which) = wanted.drop_unmapped {
        steps.push(Box::new(DropUnmapped::new(which == Unmapped::Strict)));
    }
    if let Some(least) = wanted.min_mapq {
        steps.push(Box::new(MinMapq::new(least)));
    }
    for strict in [false, true] {
        if [wanted.exact_mapping, wanted.exact_mapping_strict][usize::from(strict)] {
            steps.push(Box::new(ExactMapping::new(strict)));
        }
    }
    if let Some(path) = &wanted.overlap {
        steps.push(Box::new(Overlap::open(path, header)?));
    }
    Ok(steps)
}

/// The steps that come when duplicates are marked and qualities recalibrated.
pub fn late(wanted: &Filters) -> Vec<Box<dyn Step>> {
    let mut steps: Vec<Box<dyn Step>> = Vec::new();
    if let Some(fields) = &wanted.optional_fields {
        steps.push(Box::new(match fields.clone() {
            plan::OptionalFields::Remove(tags) => OptionalFields::remove(tags),
            plan::OptionalFields::Keep(tags) => OptionalFields::keep(tags),
        }));
    }
    steps
}

fn dictionary(path: &Path) -> Result<Header> {
    let (file, _) = inputs::open(path)?;
    let rules = Rules { allow_missing_eof: true, most: MOST_DICTIONARY, ..Rules::default() };
    let source = Source::open(file, &rules).map_err(|e| e.file(path))?;
    Ok(source.header().clone())
}
