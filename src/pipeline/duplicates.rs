//! Duplicate marking in a run: how template ends are stored while the input is read
//! ([`prepare_duplicate_ends`]), and how they are resolved once all reads are known
//! ([`DuplicateResolver`]).

use std::cell::RefCell;
use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::spill::Spill;
use readmill_markdup as markdup;
use readmill_markdup::grouping::{Evidence, GroupingDecision, StatedOrder};
use readmill_markdup::rules::FieldShare;
use readmill_markdup::samtools::Undecided;
use readmill_markdup::{
    DuplicateCounts, DuplicateEnds, EndStore, MatePairing, Mode, Resolved, instrument,
};
use readmill_process::console::Console;
use readmill_record::{Batch, Charge, Error, Header, Ledger, Result};

use super::parallel_sort::ThreadedSort;
use crate::pipeline::inputs::{FirstReads, Inputs};
use crate::plan::{DuplicateMode, Duplicates};

/// Returns the order that the headers of the inputs state: grouped by name, sorted by coordinate,
/// or neither.
pub fn stated_read_order(inputs: &Inputs) -> StatedOrder {
    StatedOrder::from_headers(inputs.files().iter().map(|input| &input.header))
}

/// Decides how template ends are stored while the input is read. Called before the first read is
/// taken.
///
/// If the user gives a mode, it decides. In automatic mode, the header and the first chunk of the
/// input decide: if the records of a template seem to be adjacent, mates are paired within a batch,
/// which needs less memory; otherwise they are joined by name at the end of the input. If the user
/// has not given the pixel distance of optical duplicates, it is chosen by the instrument name in
/// the first read name.
pub fn prepare_duplicate_ends(
    wanted: &Duplicates,
    header: &Header,
    inputs: &mut Inputs,
    console: &Console,
) -> Result<DuplicateEnds> {
    if wanted.rules.samtools.is_some() {
        return DuplicateEnds::new(header, MatePairing::ByFields, wanted.rules.clone());
    }
    let first = inputs.first_reads()?;
    let evidence = match &first {
        FirstReads::Read { batch, .. } => Some(Evidence::of_batch(batch)),
        FirstReads::Damaged => None,
        FirstReads::Absent => Some(Evidence::of_batch(&Batch::default())), // aligned reads are grouped by template
    };
    let looks_grouped = evidence.as_ref().is_some_and(Evidence::looks_grouped);
    let is_grouped = evidence.as_ref().is_some_and(Evidence::is_complete);
    let mate_pairing = match wanted.mode {
        DuplicateMode::Coordinate => MatePairing::NameCoordinate,
        DuplicateMode::Template if is_grouped => MatePairing::InBatchThenName,
        DuplicateMode::Template => MatePairing::NameInput,
        DuplicateMode::Auto if looks_grouped || stated_read_order(inputs) == StatedOrder::Grouped => {
            MatePairing::InBatch
        }
        DuplicateMode::Auto => MatePairing::NameCoordinate,
    };
    let mut rules = wanted.rules.clone();
    if let (true, Some(optical)) = (wanted.auto_distance, &mut rules.optical) {
        let of_record = |batch: &Batch| Some(batch.record(*batch.spans.first()?).qname().to_vec());
        let name = match inputs.prepared_input() {
            Some(prepared) => prepared.first_name(),
            None => first.batch().and_then(of_record),
        };
        let (distance, why) = instrument::find_pixel_distance(&name.unwrap_or_default());
        optical.distance = distance;
        console.write_line(&format!(
            "readmill: maximum distance of optical duplicates: {distance} pixels ({why})"
        ));
    }
    DuplicateEnds::new(header, mate_pairing, rules)
}

/// Resolves duplicates after the last read: the barrier between ingest and merge.
pub struct DuplicateResolver<'a> {
    pub crew: Crew,
    pub ledger: &'a Ledger,
    pub max_mark_bytes: u64,
    pub spill: &'a Arc<Spill>,
    pub duplicate_ends: &'a DuplicateEnds,
    /// Whether a template was too long for one batch. The input then does not count as grouped by
    /// name.
    pub has_cut_template: bool,
    pub console: &'a Console,
}

impl DuplicateResolver<'_> {
    /// Resolves duplicates among `ends`, whose memory is charged to `charge`. `records` is the
    /// number of records in the input. Returns the verdict and the charge for its memory, and
    /// releases the memory of the ends.
    ///
    /// If mates were paired within batches, but the whole input turns out not to be grouped by
    /// name, calls `collect_again`. That function must collect the items again from all reads, in
    /// coordinate order, and return their charge.
    ///
    /// # Errors
    /// Fails if no template has the field of the barcode or UMI, or if the marks or the ends do not
    /// fit into memory. In the latter case, the hint contains a sufficient `-m`.
    pub fn resolve_duplicates(
        &self,
        wanted: DuplicateMode,
        stated: StatedOrder,
        mut ends: EndStore,
        mut charge: Charge,
        records: u64,
        collect_again: impl FnOnce(&DuplicateEnds, &mut EndStore, Charge) -> Result<Charge>,
    ) -> Result<(Resolved, Charge)> {
        let threads = ThreadedSort(self.crew);
        ends.compare_incomplete(&threads, self.spill)?;
        self.check_fields(&ends)?;
        let (mode, grouped) = self.choose_mode(wanted, stated, &ends);
        let doubled = ends.grouping.doubled_groups();
        let by_place = self.duplicate_ends.paired_by_coordinate();
        let mut duplicate_ends = self.duplicate_ends;
        if mode == Mode::Coordinate && duplicate_ends.mate_pairing().is_in_batch() && ends.has_pairs() {
            duplicate_ends = &by_place;
            charge = collect_again(duplicate_ends, &mut ends, charge)?;
        }
        if ends.without_read_group > 0 {
            self.console.write_warning(&format!(
                "{} paired reads have no read group, or one that is not in the header; they are treated as one unknown library",
                ends.without_read_group
            ));
        }
        let bits = markdup::verdict_bytes(&self.duplicate_ends.rules, records);
        let mut marks = self.ledger.empty_charge("marks of duplicates");
        if bits > self.max_mark_bytes {
            // About half of what -m adds is available for the marks.
            let min_mib = (self.ledger.capacity() + 2 * (bits - self.max_mark_bytes)).div_ceil(1 << 20);
            return Err(Error::usage(format!(
                "there is not enough memory to mark duplicates in {records} records"
            ))
            .hint(format!("raise -m to {min_mib}M or more")));
        }
        charge.move_to(&mut marks, bits);
        charge.reserve_all_free();
        let (spill, room) = (Arc::clone(self.spill), charge.bytes());
        let charge = RefCell::new(charge);
        let in_use = &|bytes| charge.borrow_mut().set_used(bytes);
        let resolver =
            markdup::DuplicateResolver { threads: &threads, spill, duplicate_ends, room, in_use };
        let resolved = resolver.resolve(mode, grouped, ends, records).map_err(|error| {
            // The resolver stops at the first shortage, so the full requirement is unknown: suggest
            // twice the memory.
            let min_mib = (self.ledger.capacity() + room).div_ceil(1 << 20);
            match error.hint.as_deref().and_then(|hint| hint.strip_prefix("raise -m")) {
                Some(rest) => error.clone().hint(format!("raise -m to {min_mib}M or more{rest}")),
                None => error,
            }
        })?;
        let paired_in_batch = duplicate_ends.mate_pairing().is_in_batch();
        self.warn_about_mates(&resolved.verdict.tally, if paired_in_batch { doubled } else { 0 });
        let mut charge = charge.into_inner();
        let undecided = resolved.undecided.as_ref().map_or(0, Undecided::bytes);
        charge.move_to(&mut marks, bits + resolved.verdict.bytes_beside_bits() + undecided);
        Ok((resolved, marks))
    }

    /// Returns an error if no read has the field of the barcode or UMI. Warns if only some reads
    /// have it.
    fn check_fields(&self, ends: &EndStore) -> Result<()> {
        for FieldShare { tag, by_read, have, of } in ends.fields.field_shares(&self.duplicate_ends.rules)
        {
            let tag = String::from_utf8_lossy(&tag).into_owned();
            if have == 0 {
                let hint = "give a field that the reads have, or omit the flag";
                return Err(
                    Error::input(format!("none of the {of} templates has the field {tag}")).hint(hint)
                );
            }
            if have < of {
                let what = if by_read { "reads" } else { "templates" };
                let (lack, share) = (of - have, 100.0 * (of - have) as f64 / of as f64);
                self.console.write_warning(&format!(
                    "{lack} of {of} {what} ({share:.1} %) have no field {tag}; they are compared as if all had the same value"
                ));
            }
        }
        Ok(())
    }

    /// Returns the mode for resolving duplicates, and whether the records of each template are
    /// adjacent.
    fn choose_mode(&self, wanted: DuplicateMode, stated: StatedOrder, ends: &EndStore) -> (Mode, bool) {
        let in_batch = self.duplicate_ends.mate_pairing().is_in_batch() && !self.has_cut_template;
        let GroupingDecision { grouped, contradicts } = ends.grouping.decide(stated);
        match wanted {
            DuplicateMode::Coordinate => (Mode::Coordinate, false),
            DuplicateMode::Template => (Mode::Template, in_batch && ends.grouping.is_proved()),
            DuplicateMode::Auto => {
                if in_batch && contradicts {
                    self.warn_about_order(grouped);
                }
                if in_batch && grouped { (Mode::Template, true) } else { (Mode::Coordinate, false) }
            }
        }
    }

    /// Warns if no paired read has its mate in the input, or if a name occurs twice as read 1 or
    /// twice as read 2. `doubled` is the number of such names among adjacent records; `tally`
    /// counts those found while mates were joined by name.
    fn warn_about_mates(&self, tally: &DuplicateCounts, doubled: u64) {
        let doubled = doubled + tally.doubled_names;
        if doubled > 0 {
            self.console.write_warning(&format!(
                "{doubled} read names occur twice as read 1 or as read 2, as if the same reads were given twice; duplicates of these reads are not marked reliably; give each lane only once"
            ));
        }
        if tally.mated == 0 && tally.lone > 0 {
            self.console.write_warning(&format!(
                "none of the {} paired reads has a mate in the input, so pairs are not compared; mates must have the same name, without /1 and /2 at the end",
                tally.lone
            ));
        }
    }

    /// Warns that the sort order in the header contradicts the order of the reads. `grouped` means
    /// that the reads are grouped by name.
    fn warn_about_order(&self, grouped: bool) {
        self.console.write_warning(if grouped {
            "the header states that reads are sorted by coordinate (SO:coordinate), but they are grouped by name; \
             duplicates are marked in template mode (change this with --duplicate-mode)"
        } else {
            "the header states that reads are grouped by name (SO:queryname or GO:query), but they are \
             not; duplicates are marked in coordinate mode (change this with --duplicate-mode)"
        });
    }
}
