//! A run that holds its reads: ingest, resolve, look, merge.

use std::sync::Arc;

use readmill_markdup::grouping::Stated;
use readmill_markdup::optical::CANDIDATE_BYTES;
use readmill_markdup::{ApplyMarks, DuplicateEnds, Ends, Verdict, Writing};
use readmill_record::Step;
use readmill_record::{Charge, Error, Result};
use readmill_sort::{CRAM_PARTITION, Cutter, Framing, Keyer, Merge, Minimise, Order, RunSort, Sources};

use super::forecast;
use super::{Job, set_order};
use crate::outputs::Sink;
use crate::outputs::extra;
use crate::outputs::report_files::{self, SideFiles};
use crate::pipeline::batch_pipeline::Doing;
use crate::pipeline::duplicates::{self, Court};
use crate::pipeline::feed::Feed;
use crate::pipeline::ingest::{Buffers, Ingest, Stop};
use crate::pipeline::inputs::Inputs;
use crate::pipeline::merge;
use crate::pipeline::presorted::{self, Prefix};
use crate::pipeline::sort_buffer::Held;
use crate::pipeline::sort_context::{ENDS, Waiting};
use crate::plan::{DuplicateMode, Format};
use crate::process::report::log;
use crate::run::summary::{self, Summary};
use crate::run::tallies::Point;

impl Job<'_> {
    /// Steps that need the whole input: ingest, resolve, look, merge.
    pub(super) fn hold(mut self, mut inputs: Inputs) -> Result<Summary> {
        let mut sink = self.sink()?;
        sink.charge_index(&self.header, &self.memory.ledger)?;
        let sort = RunSort::new(Keyer::new(self.plan.order(), &self.header));
        let mut files = SideFiles::open(self.plan, &self.header)?;
        let header = self.header.clone();
        let (in_flight, ledger) = (self.memory.crew.in_flight, &self.memory.ledger);
        let sides = extra::open(self.plan, &header, in_flight, ledger, self.report)?;
        let spill = self.spill();
        spill.check()?;
        let from_file = self.step_from_file()?;
        let training = self.training(&spill)?;
        let beside_reads = self.beside_reads(training.as_deref());
        let known = spill.written();
        let wanted = self.plan.steps.duplicates.as_ref();
        let prepare = |wanted| duplicates::prepare(wanted, &self.header, &mut inputs, self.report);
        let noted = wanted.map(prepare).transpose()?;
        let (_beside, room) = self.reserve(&inputs, beside_reads)?;
        let waiting = Waiting {
            crew: self.memory.crew,
            sort,
            ledger: self.memory.ledger.clone(),
            room,
            spill,
            beside: self.beside(&inputs, noted.as_ref()),
            list: self.memory.sizes.list,
            framing: Framing { size: self.memory.sizes.frame, codec: self.plan.means.spill_codec },
        };
        self.foretell(&mut inputs, &waiting, noted.as_ref(), &sink)?;
        let stated = duplicates::stated(&inputs);
        let mut feed = Feed::new(inputs, self.max_record(), waiting.crew);

        let mut held = self.ingest(&waiting, &mut feed, noted.as_ref(), &mut sink)?;
        self.check_mates()?;
        self.check_tag(&waiting, &held);
        let (read, counts) = (held.records, std::mem::take(&mut held.counts));
        let mut summary = Summary { read, counts, ..Summary::default() };
        let mut steps: Vec<Box<dyn Step>> = Vec::new();
        let (mut marked, mut marks) = (None, None);
        if let (Some(wanted), Some(noted)) = (wanted, &noted) {
            let writing = Writing {
                clear_dt: wanted.writing.clear_dt && held.ends.has_dt,
                ..wanted.writing.clone()
            };
            let grouped = (stated, feed.link.was_cut());
            let (verdict, charge) = self.judge(&waiting, wanted.mode, noted, grouped, &mut held)?;
            let verdict = Arc::new(verdict);
            marks = Some(charge);
            summary::found(&verdict.tally, &self.header, self.report);
            summary.mode = Some(verdict.mode);
            let libraries = Arc::clone(&noted.libraries);
            let apply = ApplyMarks::new(Arc::clone(&verdict), writing, libraries, &self.header);
            marked = Some((verdict, apply.counted(), &noted.libraries));
            steps.push(Box::new(apply));
        }
        if self.plan.order() == Order::Minhash {
            steps.push(Box::new(Minimise));
            set_order(&mut self.header, Order::Minhash, held.any_placed);
        }
        let (sources, prefix) = self.behind_prefix(&waiting, &mut held, &mut sink)?;
        let sources = Arc::new(sources);
        summary.runs = held.spilled;
        let verdict = marked.as_ref().map(|(verdict, ..)| &**verdict);
        let (apply, look) = self.recalibrate(&waiting, &sources, verdict, training, &mut files)?;
        let recalibrated = apply.is_some();
        steps.append(&mut self.leaving);
        steps.extend(from_file.into_iter().chain(apply));
        self.report.stage("writing", Some(read.saturating_sub(prefix.records)), false);
        let ((crew, _large), merge) = (waiting.crew_for(held.largest)?, Merge::new(sources));
        let is_cram = self.plan.output.as_ref().is_some_and(|output| output.format == Format::Cram);
        let Prefix { cutter, records: left_early, .. } = prefix;
        let cutter = if is_cram { Cutter::every(CRAM_PARTITION) } else { cutter };
        let [before, behind, left] =
            [Point::Leaving, Point::Done, Point::Output].map(|point| self.tallies.at(point));
        let aside = sides.as_ref();
        let look_at = look.as_ref();
        let doing =
            Doing { before, steps: &steps, look: look_at, late: &self.late, behind, aside, left };
        let written = merge::to_sink(crew, merge, doing, &self.header, &mut sink, cutter, self.report)?;
        if let Some((verdict, counted, libraries)) = marked {
            let metrics = report_files::duplication(libraries, &verdict.tally, &counted);
            files.write_metrics(self.plan, &metrics)?;
        }
        if let Some(look) = look {
            self.settle(look, &mut files, recalibrated)?;
        }
        steps.append(&mut self.late);
        self.tallies.verify(true, &self.steps, &steps, self.report)?;
        self.tallies.write(self.plan, &mut files)?;
        [summary.others, summary.parts] = self.finish(Some(sink), sides, files)?;
        summary.counts.extend(written.counts);
        summary.written = left_early + written.records;
        summary.spilled = waiting.spill.written() - known;
        drop(marks);
        Ok(summary)
    }

    /// All that is left to be merged, behind what is in the output already. If some of it belongs before that, the
    /// output is begun anew.
    fn behind_prefix(
        &self,
        waiting: &Waiting,
        held: &mut Held,
        sink: &mut Sink,
    ) -> Result<(Sources, Prefix)> {
        let mut sources = held.take_sources(waiting)?;
        let mut prefix = std::mem::take(&mut held.prefix);
        if !prefix.is_before(&sources) {
            self.report.stage("taking back", None, true);
            sources.runs.insert(0, presorted::take_back(waiting, &self.header, sink, held.largest)?);
            self.tallies.take_back();
            held.spilled += 1;
            prefix = Prefix::default();
        }
        if prefix.is_empty() {
            sink.begin(&self.header)?;
        }
        sink.expect(sources.record_bytes());
        Ok((sources, prefix))
    }

    /// Whether reads may go into the output before all have come: nothing but the order is asked for, and the
    /// output can be begun anew.
    fn may_leave_early(&self, sink: &Sink) -> bool {
        let steps = &self.plan.steps;
        let alone = steps.duplicates.is_none()
            && steps.recalibration.is_none()
            && self.leaving.is_empty()
            && self.late.is_empty()
            && self.plan.elsewhere.is_none()
            && self.plan.order() != Order::Minhash;
        alone && sink.can_restart()
    }

    /// Warns where no read has the optional field that reads are sorted by.
    fn check_tag(&self, waiting: &Waiting, held: &Held) {
        if let (Some(tag), Some(false)) = (waiting.sort.keyer().field(), held.tagged) {
            let tag = String::from_utf8_lossy(&tag);
            self.report.warn(&format!("no read has {tag}, by which reads are to be sorted"));
        }
    }

    /// Says what the run will need, if that is asked for, and refuses what the disk cannot hold.
    fn foretell(
        &self,
        inputs: &mut Inputs,
        waiting: &Waiting,
        noted: Option<&DuplicateEnds>,
        sink: &Sink,
    ) -> Result<()> {
        let explain = self.plan.means.explain;
        let Some(expected) = forecast::forecast(inputs, waiting, noted, self.may_leave_early(sink))?
        else {
            if explain {
                log("  the size of the input is unknown, and so is what will be spilled");
            }
            return Ok(());
        };
        let available = forecast::check_space(&expected, waiting, self.report)?;
        if explain {
            expected.explain(available);
        }
        Ok(())
    }

    /// The only read of the input. What does not fit into the memory becomes sorted runs on disk.
    fn ingest(
        &self,
        waiting: &Waiting,
        feed: &mut Feed,
        noted: Option<&DuplicateEnds>,
        sink: &mut Sink,
    ) -> Result<Held> {
        self.report.stage("reading", feed.intake.inputs.size(), true);
        let writer =
            self.may_leave_early(sink).then(|| sink.writer(&self.header, waiting.crew.in_flight));
        let at = |point| self.tallies.at(point);
        let (before, behind) = (at(Point::Come), at(Point::Held));
        let doing = Doing { before, steps: &self.steps, behind, ..Doing::default() };
        let (before, behind, left) = (at(Point::Leaving), at(Point::Done), at(Point::Output));
        let ingest = Ingest {
            doing,
            leaving: Doing { before, behind, left, ..Doing::default() },
            waiting,
            ends: noted,
            writer: writer.as_ref(),
            report: self.report,
            readers: feed.readers(),
            buffers: Buffers::new(waiting.crew.in_flight),
        };
        let mut held = Held::new(waiting, noted.map_or_else(Ends::default, Ends::new));
        while ingest.fill(feed, &mut held, (sink, &self.header))? != Stop::Ended {
            if held.has_too_many_runs(waiting) {
                held.consolidate(waiting)?;
            } else if held.ends.bytes() > 0 {
                held.spill_ends(waiting)?;
            } else {
                return Err(
                    Error::usage("a piece of the input does not fit into the memory").hint("raise -m")
                );
            }
        }
        held.records = feed.link.records();
        Ok(held)
    }

    /// Which templates are duplicates.
    fn judge(
        &self,
        waiting: &Waiting,
        wanted: DuplicateMode,
        noted: &DuplicateEnds,
        (stated, cut): (Stated, bool),
        held: &mut Held,
    ) -> Result<(Verdict, Charge)> {
        self.report.stage("marking", None, true);
        let free = waiting.ledger.free();
        let largest = held.records.saturating_mul(CANDIDATE_BYTES);
        let optical = self.plan.most_optical_bytes().min(largest);
        if held.ends.any_halves() && free < waiting.room / 4 || free < optical {
            held.spill(waiting)?;
        }
        let court = Court {
            crew: waiting.crew,
            ledger: &waiting.ledger,
            most: waiting.room / 2,
            spill: &waiting.spill,
            noted,
            cut,
            report: self.report,
        };
        let ends = std::mem::take(&mut held.ends);
        let charge = std::mem::replace(&mut held.ends_charge, waiting.ledger.empty(ENDS));
        court.resolve(wanted, stated, ends, charge, held.records)
    }
}
