//! Makes the steps of filters and edits, and opens their files.

use std::path::Path;
use std::sync::Arc;

use readmill_filters::expression::Expression;
use readmill_filters::fix_mates::LoneMates;
use readmill_filters::{
    ByFlags, CleanSam, DropUnmapped, ExactMapping, FixMates, FlagRules, InReadGroups, MinMapq, NmMdUq,
    OptionalFields, Overlap, RenameContigs, ReplaceDictionary, ReplaceReadGroup, Select, Subsample,
    in_read_groups as groups,
};
use readmill_format::text;
use readmill_input::Source;
use readmill_markdup::grouping::Evidence;
use readmill_record::{Error, Header, Ledger, Limit, Prepaid, Result, Step};

use crate::pipeline::inputs::{InputTask, Inputs, OpenOptions};
use crate::pipeline::open_input;
use crate::plan::{self, Filters, Plan, Sampling, Unmapped};
use crate::process::console::Console;

/// Bytes the header of a dictionary may take.
const MOST_DICTIONARY: Limit = Limit::of(64 << 20);

/// The steps of a plan.
pub struct PlanSteps {
    /// Steps before the sort.
    pub early: Vec<Box<dyn Step>>,
    /// Steps after the sort: duplicates are marked, qualities are still the old ones.
    pub leaving: Vec<Box<dyn Step>>,
    /// Steps after recalibration.
    pub late: Vec<Box<dyn Step>>,
    /// Templates that lack a mate, checked after the last read.
    pub lone: Option<Arc<LoneMates>>,
}

/// Refuses to fix mates in an input whose mates do not stand together, as its header states or its first piece proves:
/// two templates of one name that lack a mate.
pub fn check(wanted: &Filters, inputs: &mut Inputs) -> Result<()> {
    if wanted.fix_mates.is_none() || inputs.lanes().is_some() {
        return Ok(()); // what is aligned comes by templates
    }
    let list = inputs.list();
    let hint = "sort the reads by name first: readmill sort -n";
    if let Some(input) = list.iter().find(|input| input.header.claims_coordinate_order()) {
        let what = "reads are sorted by coordinate, and mates can be fixed where they stand together";
        return Err(Error::input(what).hint(hint).file(&input.path));
    }
    let Some(InputTask::Piece(number, _)) = inputs.peek()? else { return Ok(()) };
    let number = *number;
    let evidence = inputs.first_reads()?.batch().map(Evidence::of);
    match evidence.is_some_and(|it| it.is_scattered()) {
        true => Err(LoneMates::scattered().file(&list[number].path)),
        false => Ok(()),
    }
}

/// Makes the steps in their fixed order. Filters use the header as it is; edits change it as they are made. Memory for
/// their files is charged to `ledger`.
pub fn make(plan: &Plan, header: &mut Header, ledger: &Ledger, console: &Console) -> Result<PlanSteps> {
    let wanted = &plan.steps.filters;
    let mut steps = drops(wanted, header, ledger, console)?;
    in_read_groups(wanted, header, &mut steps, ledger, console)?;
    for (keep, expressions) in [(true, &wanted.include), (false, &wanted.exclude)] {
        for text in expressions {
            steps.push(Box::new(Select::new(Expression::parse(text, header)?, keep)));
        }
    }
    let mut late: Vec<Box<dyn Step>> = Vec::new();
    if let Some(Sampling { fraction, seed, after_duplicates }) = wanted.subsample {
        let step = Subsample::new(fraction, seed, header)?;
        console.say(&format!("readmill: {fraction} of the templates stay, by seed {}", step.seed()));
        step.note(header)?;
        if after_duplicates { &mut late } else { &mut steps }.push(Box::new(step));
    }
    let lone = edits(wanted, header, &mut steps, ledger)?;
    let mut leaving: Vec<Box<dyn Step>> = Vec::new();
    if let Some(reference) = plan.resources.reference.as_ref().filter(|_| wanted.nm_md_uq) {
        leaving.push(Box::new(NmMdUq::new(reference.open(ledger)?, header)?));
    }
    late.extend(wanted.optional_fields.clone().map(optional_fields));
    Ok(PlanSteps { early: steps, leaving, late, lone })
}

/// Makes the steps that edit reads; returns the store of lone mates, if mates are fixed.
fn edits(
    wanted: &Filters,
    header: &mut Header,
    steps: &mut Vec<Box<dyn Step>>,
    ledger: &Ledger,
) -> Result<Option<Arc<LoneMates>>> {
    if let Some(path) = &wanted.rename_contigs {
        steps.push(Box::new(RenameContigs::open(path, header, ledger)?));
    }
    if wanted.clean_sam {
        steps.push(Box::new(CleanSam::new(header)));
    }
    if let Some(path) = &wanted.dictionary {
        let dictionary = dictionary(path, ledger)?;
        let step = ReplaceDictionary::new(&dictionary, header).map_err(|e| e.file(path))?;
        steps.push(Box::new(step));
    }
    if let Some(group) = &wanted.read_group {
        steps.push(Box::new(ReplaceReadGroup::new(group, header)?));
    }
    let mut lone = None;
    if let Some(rules) = wanted.fix_mates {
        let step = FixMates::new(rules, header);
        lone = Some(step.lone_mates());
        steps.push(Box::new(step));
    }
    Ok(lone)
}

/// Makes the steps that drop reads.
fn drops(
    wanted: &Filters,
    header: &Header,
    ledger: &Ledger,
    console: &Console,
) -> Result<Vec<Box<dyn Step>>> {
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
        let step = Overlap::open(path, header, ledger)?;
        if step.is_empty() {
            let path = path.display();
            console.warn(&format!("{path}: there is no region in it, so that no read is kept"));
        }
        steps.push(Box::new(step));
    }
    if wanted.flags != FlagRules::default() {
        steps.push(Box::new(ByFlags::new(wanted.flags)));
    }
    Ok(steps)
}

/// Makes the step that keeps reads of some read groups. A file name after `^` lists read groups to drop.
fn in_read_groups(
    wanted: &Filters,
    header: &mut Header,
    steps: &mut Vec<Box<dyn Step>>,
    ledger: &Ledger,
    console: &Console,
) -> Result<()> {
    let mut ids: Vec<Vec<u8>> = wanted.in_read_groups.iter().map(|id| id.clone().into()).collect();
    let (mut keep, mut prepaid) = (true, Prepaid::new(ledger.empty("read groups")));
    if let Some(path) = &wanted.in_read_groups_file {
        let named = path.to_str().and_then(|name| name.strip_prefix('^'));
        keep = named.is_none();
        let path = named.map_or(path.as_path(), Path::new);
        if !keep && !ids.is_empty() {
            return Err(Error::usage("read groups are to be kept and others dropped")
                .hint("give --in-read-group, or a file behind ^"));
        }
        let text = text::read_all(path, &mut ledger.empty("read groups"))?;
        groups::listed(&text, &mut ids, &mut prepaid).map_err(|e| e.file(path))?;
    } else if ids.is_empty() {
        return Ok(());
    }
    for id in groups::undefined(&ids, header) {
        console.warn(&format!("no read group of the header is called {id}"));
    }
    let step = InReadGroups::new(ids, keep, header)?;
    steps.push(Box::new(step.paid_by(prepaid.into_charge())));
    Ok(())
}

/// Makes the step that removes optional fields.
fn optional_fields(wanted: plan::OptionalFields) -> Box<dyn Step> {
    Box::new(match wanted {
        plan::OptionalFields::Remove(tags) => OptionalFields::remove(tags),
        plan::OptionalFields::Keep(tags) => OptionalFields::keep(tags),
    })
}

fn dictionary(path: &Path, ledger: &Ledger) -> Result<Header> {
    let (file, _) = open_input::open(path)?;
    let rules = OpenOptions {
        allow_missing_eof: true,
        most: MOST_DICTIONARY,
        ledger: ledger.clone(),
        ..OpenOptions::default()
    };
    let source = Source::open(file, &rules).map_err(|e| e.file(path))?;
    Ok(source.header().clone())
}
