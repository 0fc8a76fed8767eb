//! The counts of a run: add-ons, the checksums of `--verify`, and tallies of the calling program.

use std::sync::Arc;

use readmill_filters::checksum::{Checksum, ChecksumColumns};
use readmill_process::console::Console;
use readmill_record::{Changes, DynTally, Error, Header, LongestSpan, Result, SharedTally, Step};
use readmill_sort::Order;
use serde_json::Value;

use crate::addons::{AddOnSetup, FileSetup, InputCounter, RunningAddOn};
use crate::outputs::part_counts::OrderedTallies;
use crate::outputs::report_files::ReportFiles;
use crate::pipeline::batch_pipeline::DynTallies;
use crate::pipeline::tap::Tap;
use crate::plan::{self, Plan};
use crate::run::memory::Memory;

/// All tallies of a run.
#[derive(Default)]
pub struct RunTallies {
    /// The add-ons, in plan order.
    add_ons: Vec<Box<dyn RunningAddOn>>,
    /// The add-ons' ordered tallies, in the order of their turns, until
    /// [`RunTallies::take_ordered`].
    ordered: OrderedTallies,
    /// Counts the input reads before any step, if an add-on needs it.
    input_counter: Option<Arc<dyn InputCounter>>,
    /// The span of the longest read, if stages trim pieces to it.
    spans: Option<SharedTally<LongestSpan>>,
    verify: Option<[SharedTally<Checksum>; 4]>,
    others: Vec<Arc<dyn DynTally>>,
}

impl RunTallies {
    /// Starts the add-ons of the plan, and adds `others`. `came` is the header of the input and
    /// `header` the header of the output. `steps` are the steps known so far.
    pub fn new(
        plan: &Plan,
        came: &Header,
        header: &Header,
        steps: &[&[Box<dyn Step>]],
        others: Vec<Arc<dyn DynTally>>,
        memory: &Memory,
        input_counter: Option<Arc<dyn InputCounter>>,
    ) -> Result<Self> {
        let known = steps.iter().fold(changes_of_marking_and_recalibration(plan), |all, steps| {
            all.union(&union_of_changes(steps))
        });
        let tags = known.tags;
        let verifying = |header| SharedTally::new(Checksum::new(header, tags.clone()));
        let (mut started, mut ordered) = (Vec::new(), OrderedTallies::new());
        for (number, add_on) in plan.reports.add_ons.by_turn() {
            let mut running = add_on.start(&AddOnSetup {
                header,
                is_sorted: plan.order() == Order::Coordinate || header.declares_coordinate_order(),
                regions: plan.regions.as_ref().map(|regions| &regions.texts[..]),
                reference: plan.resources.reference.as_ref(),
                crew: memory.crew,
                ledger: &memory.ledger,
                unusual_bytes: memory.for_unusual_reads[number],
                input_counter: input_counter.as_ref(),
            })?;
            ordered.extend(running.take_ordered_tallies());
            started.push((number, running));
        }
        started.sort_by_key(|(number, _)| *number);
        Ok(RunTallies {
            add_ons: started.into_iter().map(|(_, running)| running).collect(),
            ordered,
            input_counter,
            spans: None,
            verify: plan.reports.verify.then(|| [came, header, header, header].map(verifying)),
            others,
        })
    }

    /// Returns warnings about the files that the add-ons read.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.add_ons.iter().flat_map(|add_on| add_on.warnings())
    }

    /// Returns the counter of input reads before any step, if an add-on needs it.
    pub fn input_counter(&self) -> Option<&Arc<dyn InputCounter>> {
        self.input_counter.as_ref()
    }

    /// Returns the tallies at `tap`.
    pub fn at(&self, tap: Tap) -> DynTallies<'_> {
        let mut tallies = DynTallies::new();
        if let Some([input, sort_buffer, before_late, after_late]) = &self.verify {
            match tap {
                Tap::Input => tallies.push(input),
                Tap::SortBuffer => tallies.push(sort_buffer),
                Tap::BeforeLate => tallies.push(before_late),
                Tap::AfterLate => tallies.push(after_late),
                Tap::MainOutput => {}
            }
        }
        tallies
            .extend(self.spans.iter().filter(|_| tap == Tap::SortBuffer).map(|it| it as &dyn DynTally));
        let counted = self.add_ons.iter().filter_map(|add_on| add_on.tally());
        tallies.extend(counted.filter(|(at, _)| *at == tap).map(|(_, tally)| tally));
        if tap == Tap::MainOutput {
            tallies.extend(self.others.iter().map(|it| &**it as &dyn DynTally));
        }
        tallies
    }

    /// Measures the span of the longest read, if a later stage trims pieces to it.
    pub fn measure_spans(&mut self) {
        let trims = self.ordered.iter().any(|tally| tally.trims());
        self.spans = trims.then(|| SharedTally::new(LongestSpan));
    }

    /// Returns the span of the longest read in reference bases, or 0 if it was not measured.
    pub fn longest_span(&self) -> Result<u32> {
        self.spans.as_ref().map_or(Ok(0), SharedTally::take_total)
    }

    /// Takes the ordered tallies of the main output. In stage files, their pieces have the same
    /// order.
    pub fn take_ordered(&mut self) -> OrderedTallies {
        std::mem::take(&mut self.ordered)
    }

    /// Returns the memory of all tallies on `threads` threads, in bytes.
    pub fn memory_bytes(&self, threads: u64) -> u64 {
        let taps = [Tap::Input, Tap::SortBuffer, Tap::BeforeLate, Tap::AfterLate, Tap::MainOutput];
        taps.into_iter().flat_map(|tap| self.at(tap)).map(|tally| tally.memory_bytes(threads)).sum()
    }

    /// Resets the tallies of output reads, because the output is started again.
    pub fn reset_output_tallies(&self) {
        for tap in [Tap::BeforeLate, Tap::AfterLate, Tap::MainOutput] {
            self.at(tap).into_iter().for_each(DynTally::reset_total);
        }
    }

    /// Returns all tallies, in an order that depends only on the plan.
    fn all(&self) -> impl Iterator<Item = &dyn DynTally> {
        let verifying = self.verify.iter().flatten().map(|it| it as &dyn DynTally);
        let counted = self.add_ons.iter().filter_map(|add_on| add_on.tally());
        counted.map(|(_, tally)| tally).chain(verifying)
    }

    /// Returns the current totals, to be added to those of another run of the same plan.
    pub fn save_totals(&self) -> Result<Vec<Vec<u8>>> {
        self.all().map(DynTally::save_total).collect()
    }

    /// Adds the totals of another run of the same plan.
    pub fn add_totals(&self, saved: &[Vec<u8>]) -> Result<()> {
        self.all().zip(saved).try_for_each(|(tally, saved)| tally.add_saved(saved))
    }

    /// Gives add-ons the files that they write while reads are counted.
    pub fn open_files(&self, files: &mut ReportFiles, setup: &FileSetup<'_>) -> Result<()> {
        for (number, add_on) in self.add_ons.iter().enumerate() {
            let opened = files.take_files_of_counting(number);
            if !opened.is_empty() {
                add_on.open_files(opened, setup)?;
            }
        }
        Ok(())
    }

    /// Writes the result files of all add-ons.
    pub fn write_results(&self, plan: &Plan, files: &mut ReportFiles, console: &Console) -> Result<()> {
        let mut add_ons = self.add_ons.iter().enumerate();
        add_ons.try_for_each(|(number, add_on)| {
            files.write_reports(plan, number, |names, write| add_on.write_reports(names, console, write))
        })
    }

    /// Completes the files that add-ons wrote while reads were counted.
    pub fn complete_files(&self, plan: &Plan, files: &mut ReportFiles) -> Result<()> {
        let mut add_ons = self.add_ons.iter().enumerate();
        add_ons
            .try_for_each(|(number, add_on)| files.put_complete(plan, number, add_on.complete_files()?))
    }

    /// Writes the files that are derived from the description of the run.
    pub fn write_from_description(&self, run: &Value, files: &mut ReportFiles) -> Result<()> {
        for (number, add_on) in self.add_ons.iter().enumerate() {
            if let Some(text) = add_on.text_of_run(run, files.charge())? {
                files.write_after_description(number, &text)?;
            }
        }
        Ok(())
    }

    /// Returns an error if reads were lost, duplicated or changed without permission. `held` means
    /// that the run buffered its reads.
    pub fn verify_checksums(
        &self,
        held: bool,
        early: &Changes,
        late: &Changes,
        console: &Console,
    ) -> Result<()> {
        let Some([input, sort_buffer, before_late, after_late]) = &self.verify else {
            return Ok(());
        };
        let (input, output) = (input.take_total()?, after_late.take_total()?);
        if held {
            let (unsorted, sorted) = (sort_buffer.take_total()?, before_late.take_total()?);
            compare_checksums(&input, &unsorted, early, "filters and edits")?;
            compare_checksums(&unsorted, &sorted, &Changes::nothing(), "sorting and merging")?;
            compare_checksums(
                &sorted,
                &output,
                late,
                "duplicate marking, recalibration and later steps",
            )?;
        } else {
            compare_checksums(&input, &output, &early.clone().union(late), "the steps")?;
        }
        console.write_line(&format!(
            "readmill: verified: {} records read, {} written; no read was lost or changed unexpectedly",
            input.records, output.records
        ));
        Ok(())
    }
}

/// Returns a usage error if an add-on needs coordinate order, but the output is not sorted by
/// coordinate.
pub fn require_coordinate_order(plan: &Plan, header: &Header) -> Result<()> {
    let claims = plan.order() == Order::Input && header.declares_coordinate_order();
    let mut add_ons = plan.reports.add_ons.iter();
    let Some(what) = add_ons.find_map(|add_on| add_on.order()?.sorted_count) else { return Ok(()) };
    if plan.order() == Order::Coordinate || claims {
        return Ok(());
    }
    let what =
        format!("{what} needs reads sorted by coordinate, but the header does not state this order");
    let way_out = match plan.command {
        plan::Command::Prep | plan::Command::Align => "add --sort coordinate",
        _ => "sort the file first: readmill sort IN -o SORTED",
    };
    Err(Error::usage(what).hint(way_out))
}

/// Returns an error if the reads before and after `what` differ in more than `changes` permits.
fn compare_checksums(
    before: &ChecksumColumns,
    behind: &ChecksumColumns,
    changes: &Changes,
    what: &str,
) -> Result<()> {
    let broken = behind.forbidden_differences(before, changes);
    if broken.is_empty() {
        return Ok(());
    }
    let (n, left) = (before.records, behind.records);
    Err(Error::different(format!(
        "reads were lost or changed unexpectedly in {what}: {n} records before, {left} after; checksums differ in: {}",
        broken.join(", ")
    ))
    .hint("nothing was written; please report this, and check the memory (RAM) of this machine"))
}

/// Returns the union of the changes that `steps` may make.
pub fn union_of_changes(steps: &[Box<dyn Step>]) -> Changes {
    steps.iter().fold(Changes::nothing(), |all, step| all.union(&step.changes()))
}

/// Returns the changes that marking duplicates and recalibrating may make.
pub fn changes_of_marking_and_recalibration(plan: &Plan) -> Changes {
    let duplicates = plan.steps.duplicates.as_ref().map(|duplicates| duplicates.writing.changes());
    let recalibration = plan.steps.recalibration.as_ref().and_then(|it| it.apply.as_ref());
    let recalibration = recalibration.map(|apply| apply.writing.changes());
    let all = duplicates.into_iter().chain(recalibration);
    all.fold(Changes::nothing(), |all, changes| all.union(&changes))
}
