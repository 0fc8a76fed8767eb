//! What a run learns of its reads in passing, and where it looks.

use std::sync::Arc;

use readmill_filters::tally::checksum::SequencingChecksum;
use readmill_filters::tally::{AdapterBases, Checksum, Columns, Flagstat, Idxstats, Stats};
use readmill_record::{Changes, Step, Tags};
use readmill_record::{Error, Header, Result};
use readmill_sort::Order;

use crate::outputs::report_files::{Beside, SideFiles};
use crate::pipeline::batch_pipeline::Watches;
use crate::pipeline::dyn_tally::{Watch, Watched};
use crate::plan::Plan;
use crate::process::report::Report;

/// Where in a run reads are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// As they come, before any step.
    Come,
    /// Behind the steps that are applied as they come.
    Held,
    /// As they leave, before the steps that are applied then.
    Leaving,
    /// Behind all steps.
    Done,
    /// Of those, the ones in the main output.
    Output,
}

/// All tallies of a run.
#[derive(Default)]
pub struct Tallies {
    flagstat: Option<Watched<Flagstat>>,
    idxstats: Option<Watched<Idxstats>>,
    stats: Option<Watched<Stats>>,
    checksum: Option<Watched<Checksum>>,
    sequencing: Option<Watched<SequencingChecksum>>,
    adapters: Option<Watched<AdapterBases>>,
    verify: Option<[Watched<Checksum>; 4]>,
    others: Vec<Arc<dyn Watch>>,
}

impl Tallies {
    /// Those that the plan asks for, and others. Reads come under the header `came` and leave under `header`; `steps`
    /// are those that are known already.
    pub fn new(
        plan: &Plan,
        (came, header): (&Header, &Header),
        steps: &[&[Box<dyn Step>]],
        others: Vec<Arc<dyn Watch>>,
    ) -> Self {
        let wanted = &plan.tallies;
        let sorted = plan.order() == Order::Coordinate || header.claims_coordinate_order();
        let sequencing = wanted.samtools_checksum.is_some() || wanted.bamseqchksum.is_some();
        let known = steps.iter().fold(late_changes(plan), |all, steps| all.and(&changes(steps)));
        let tags = known.tags;
        let verifying = |header| Watched::new(Checksum::new(header, tags.clone()));
        Tallies {
            flagstat: wanted.flagstat.as_ref().map(|_| Watched::new(Flagstat)),
            idxstats: wanted.idxstats.as_ref().map(|_| Watched::new(Idxstats::new(header))),
            stats: wanted.stats.as_ref().map(|_| Watched::new(Stats::new(sorted))),
            checksum: wanted
                .checksum
                .as_ref()
                .map(|_| Watched::new(Checksum::new(header, Tags::default()))),
            sequencing: sequencing.then(|| Watched::new(SequencingChecksum)),
            adapters: wanted.adapters.as_ref().map(|_| Watched::new(AdapterBases)),
            verify: wanted.verify.then(|| [came, header, header, header].map(verifying)),
            others,
        }
    }

    /// The tallies that look at this point.
    pub fn at(&self, point: Point) -> Watches<'_> {
        let mut watches = Watches::new();
        if let Some([came, held, leaving, done]) = &self.verify {
            match point {
                Point::Come => watches.push(came),
                Point::Held => watches.push(held),
                Point::Leaving => watches.push(leaving),
                Point::Done => watches.push(done),
                Point::Output => {}
            }
        }
        if point == Point::Come {
            watches.extend(self.adapters.iter().map(|it| it as &dyn Watch));
        }
        if point == Point::Output {
            watches.extend(self.flagstat.iter().map(|it| it as &dyn Watch));
            watches.extend(self.idxstats.iter().map(|it| it as &dyn Watch));
            watches.extend(self.stats.iter().map(|it| it as &dyn Watch));
            watches.extend(self.checksum.iter().map(|it| it as &dyn Watch));
            watches.extend(self.sequencing.iter().map(|it| it as &dyn Watch));
            watches.extend(self.others.iter().map(|it| &**it as &dyn Watch));
        }
        watches
    }

    /// Forgets what was learnt of reads that left and were taken back.
    pub fn take_back(&self) {
        for point in [Point::Leaving, Point::Done, Point::Output] {
            self.at(point).into_iter().for_each(Watch::reset);
        }
    }

    /// Writes the files that are asked for.
    pub fn write(&self, plan: &Plan, files: &mut SideFiles) -> Result<()> {
        if let Some(tally) = &self.flagstat {
            files.write(Beside::Flagstat, tally.total()?.to_text().as_bytes())?;
        }
        if let Some(tally) = &self.idxstats {
            files.write(Beside::Idxstats, &tally.total()?.to_text())?;
        }
        if let Some(tally) = &self.stats {
            files.write(Beside::Stats, tally.total()?.to_text().as_bytes())?;
        }
        if let Some(tally) = &self.checksum {
            files.write(Beside::Checksum, tally.total()?.to_text().as_bytes())?;
        }
        if let Some(tally) = &self.sequencing {
            let sums = tally.total()?;
            let main = plan.output.as_ref().map(|output| &output.path).or(plan.inputs.first());
            let name = main.map_or("-".into(), |path: &std::path::PathBuf| path.display().to_string());
            files.write(Beside::SamtoolsChecksum, &sums.to_samtools(&name))?;
            files.write(Beside::Bamseqchksum, &sums.to_bamseqchksum())?;
        }
        if let Some(tally) = &self.adapters {
            files.write_adapters(plan, &tally.total()?)?;
        }
        Ok(())
    }

    /// Fails if reads were lost, doubled or altered, in a run that held them, or that let them pass through.
    pub fn verify(
        &self,
        held: bool,
        early: &[Box<dyn Step>],
        late: &[Box<dyn Step>],
        report: &Report,
    ) -> Result<()> {
        let Some([came, waiting, leaving, done]) = &self.verify else { return Ok(()) };
        let (early, late) = (changes(early), changes(late));
        let (came, done) = (came.total()?, done.total()?);
        if held {
            let (waiting, leaving) = (waiting.total()?, leaving.total()?);
            compare(&came, &waiting, &early, "the filters and edits")?;
            compare(&waiting, &leaving, &Changes::nothing(), "waiting, sorting and merging")?;
            compare(&leaving, &done, &late, "marking, recalibrating and what follows")?;
        } else {
            compare(&came, &done, &early.and(&late), "the steps")?;
        }
        report.say(&format!(
            "readmill: verified: {} records came, {} leave, and nothing was lost or altered that should not be",
            came.records, done.records
        ));
        Ok(())
    }
}

/// Fails if reads differ behind something in more than it may change.
fn compare(before: &Columns, behind: &Columns, changes: &Changes, what: &str) -> Result<()> {
    let broken = behind.broken(before, changes);
    if broken.is_empty() {
        return Ok(());
    }
    let (n, left) = (before.records, behind.records);
    Err(Error::different(format!(
        "reads are not what they should be behind {what}: {n} records before, {left} behind; checksums differ in: {}",
        broken.join(", ")
    ))
    .hint("nothing was written; please report it, and check the memory of this machine"))
}

/// What steps may change together.
fn changes(steps: &[Box<dyn Step>]) -> Changes {
    steps.iter().fold(Changes::nothing(), |all, step| all.and(&step.changes()))
}

/// What steps that are made later may change, as far as it concerns optional fields.
fn late_changes(plan: &Plan) -> Changes {
    let duplicates = plan.steps.duplicates.as_ref().map(|duplicates| duplicates.writing.changes());
    let recalibration = plan.steps.recalibration.as_ref().and_then(|it| it.apply.as_ref());
    let recalibration = recalibration.map(|apply| apply.writing.changes());
    let all = duplicates.into_iter().chain(recalibration);
    all.fold(Changes::nothing(), |all, changes| all.and(&changes))
}
