//! Duplicates: how they are noted while reading, and the barrier that judges them.

use readmill_engine::{Budget, Crew};
use readmill_format::spill::Spill;
use readmill_record::{Error, Header, Result};
use readmill_steps::markdup::grouping::Evidence;
use readmill_steps::markdup::join::{Joined, join};
use readmill_steps::markdup::{self, DuplicateEnds, Ends, Marks, Mode};

use super::order;
use crate::forecast::first_batch;
use crate::inputs::{Inputs, Next};
use crate::plan::{DuplicateMode, Plan};
use crate::report::Report;

/// Decides how ends are noted. Unless the mode leaves no choice, the first piece is looked at: where
/// its templates stand together, mates are paired as they come; where they do not, all are joined by
/// name.
pub fn prepare(plan: &Plan, header: &Header, inputs: &mut Inputs) -> Result<Option<DuplicateEnds>> {
    let Some(wanted) = plan.steps.duplicates else { return Ok(None) };
    let grouped = match wanted.mode {
        DuplicateMode::Coordinate => false,
        DuplicateMode::Template => true,
        DuplicateMode::Auto => {
            let list = inputs.list();
            match inputs.peek()? {
                Some(Next::Piece(input, claim)) => {
                    let first = first_batch(claim.clone(), &list[*input].header);
                    first.is_some_and(|batch| Evidence::of(&batch).looks_grouped())
                }
                Some(Next::End(_)) | None => true,
            }
        }
    };
    DuplicateEnds::new(header, grouped).map(Some)
}

/// The error of template mode on input that is not grouped.
pub fn not_grouped() -> Error {
    Error::input("the records of a template do not stand together, so --duplicate-mode template cannot see whole templates")
        .hint("use --duplicate-mode coordinate, or group the input by name first")
}

/// Sorts what is in memory and writes it to the spill.
pub fn spill(crew: Crew, ends: &mut Ends, spill: &Spill, turn: usize) -> Result<()> {
    order::items(crew, ends.pairs.chunks_mut())?;
    order::items(crew, ends.present.chunks_mut())?;
    order::items(crew, ends.halves.chunks_mut())?;
    order::items(crew, ends.fragments.chunks_mut())?;
    order::items(crew, ends.incomplete.chunks_mut())?;
    ends.spill(spill, turn)
}

/// What the judgement works with.
pub struct Court<'a> {
    /// The threads.
    pub crew: Crew,
    /// Room for all that waits; what is used of it is taken by reads.
    pub budget: &'a Budget,
    /// The spill.
    pub spill: &'a Spill,
    /// Whether it was looked at whether the input is grouped by name.
    pub judged: bool,
    /// Whether a template was too long to be kept together.
    pub cut: bool,
    /// Messages.
    pub report: &'a Report,
}

impl Court<'_> {
    /// Judges all ends of an input of so many records.
    pub fn resolve(
        &self,
        wanted: DuplicateMode,
        header: &Header,
        mut ends: Ends,
        records: u64,
    ) -> Result<Marks> {
        order::items(self.crew, ends.incomplete.chunks_mut())?;
        ends.compare_incomplete(self.spill)?;
        let mode = self.mode(wanted, header, &ends)?;
        if ends.without_read_group > 0 {
            self.report.warn(&format!(
                "{} paired reads have no read group, or one the header lacks; they count as one unknown library",
                ends.without_read_group
            ));
        }
        if Marks::bytes(records) > self.budget.capacity() / 2 {
            return Err(Error::usage(format!("marking {records} records does not fit into the memory"))
                .hint("raise -m"));
        }
        self.budget.settle(0, Marks::bytes(records)); // until the end of the run
        let free =
            |ends: &Ends| self.budget.capacity().saturating_sub(self.budget.used() + ends.bytes());
        if !ends.halves.is_empty() && free(&ends) < ends.halves.bytes() {
            spill(self.crew, &mut ends, self.spill, 0)?;
        }
        let limit = free(&ends).max(8 << 20);
        order::items(self.crew, ends.halves.chunks_mut())?;
        let halves = std::mem::take(&mut ends.halves);
        let mut relieve = |pairs: &mut markdup::Sorter<6>, present: &mut markdup::Sorter<2>| {
            if pairs.bytes() + present.bytes() > limit {
                order::items(self.crew, pairs.chunks_mut())?;
                order::items(self.crew, present.chunks_mut())?;
                pairs.spill(self.spill, 0)?;
                present.spill(self.spill, 0)?;
            }
            Ok(())
        };
        let Ends { mut pairs, mut present, mut fragments, .. } = ends;
        let joined = Joined { pairs: &mut pairs, present: &mut present, relieve: &mut relieve };
        join(halves, self.spill, mode == Mode::Coordinate, joined)?;
        if fragments.is_empty() {
            present = markdup::Sorter::default(); // paired ends matter to single reads alone
        }
        order::items(self.crew, pairs.chunks_mut())?;
        order::items(self.crew, present.chunks_mut())?;
        order::items(self.crew, fragments.chunks_mut())?;
        markdup::resolve(pairs, present, fragments, self.spill, Marks::new(records, mode))
    }

    fn mode(&self, wanted: DuplicateMode, header: &Header, ends: &Ends) -> Result<Mode> {
        let grouped_by_header = header
            .lines_of(b"HD")
            .any(|line| line.get(b"SO") == Some(b"queryname") || line.get(b"GO") == Some(b"query"));
        let grouped = self.judged && ends.grouping.is_proved(grouped_by_header);
        let proved = grouped && !self.cut;
        match wanted {
            DuplicateMode::Coordinate => Ok(Mode::Coordinate),
            DuplicateMode::Template if proved => Ok(Mode::Template),
            DuplicateMode::Template if grouped => Err(Error::input(
                "the records of one template take more than 1 MiB and cannot be held together",
            )
            .hint("use --duplicate-mode coordinate")),
            DuplicateMode::Template => Err(not_grouped()),
            DuplicateMode::Auto if proved => Ok(Mode::Template),
            DuplicateMode::Auto => Ok(Mode::Coordinate),
        }
    }
}
