//! Replaces base qualities with recalibrated qualities, as GATK 4.6.2's ApplyBQSR does.

use std::sync::Arc;

use readmill_record::{Batch, Error, RecordRef, Result, Stamp, edit, tag};

use super::alignment::WellFormed;
use super::covariate_worker::too_many_cycles_error;
use super::covariates::{self, Cycles, MAX_QUALITY, ReadGroups};
use super::recalibration::{GroupRecalibration, Recalibration};
use readmill_record::{Changes, Step};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecalWriteOptions {
    /// Recalibrate the qualities in OQ if a read has this field.
    pub use_original: bool,
    /// Save the old qualities in OQ, unless the read already has this field.
    pub emit_original: bool,
    /// Accept reads whose read group is missing in the table: their qualities are quantized, but
    /// not recalibrated. Without this option, such reads are an error.
    pub allow_missing_group: bool,
    /// Remove reads that are not well formed, as GATK does.
    pub drop_malformed: bool,
}

impl RecalWriteOptions {
    /// Returns which parts of records the step changes, and whether it removes reads.
    pub fn changes(&self) -> Changes {
        let tags = Changes::of_tags(&[tag::OQ, tag::BI, tag::BD]);
        Changes { reads: self.drop_malformed, qualities: true, ..tags }
    }
}

/// The pipeline step that recalibrates reads.
///
/// Clones share the map and the options; each thread has its own buffers and counts.
#[derive(Clone)]
pub struct ApplyRecalibration {
    shared: Arc<ApplyState>,
    /// Cache for consecutive reads of one read group: the ID and the action for its reads.
    group: Option<(Vec<u8>, GroupAction)>,
    read: ReadBuffers,
    counts: RecalCounts,
}

struct ApplyState {
    recalibration: Recalibration,
    groups: ReadGroups,
    /// The recalibration of each read group, indexed by group number. `None` if the group is not in
    /// the table.
    by_number: Vec<Option<GroupRecalibration>>,
    well_formed: WellFormed,
    writing: RecalWriteOptions,
}

#[derive(Clone, Copy)]
enum GroupAction {
    Recalibrated(usize),
    Rounded,
}

#[derive(Clone, Copy, Default)]
struct RecalCounts {
    recalibrated: u64,
    quantized_only: u64,
    malformed: u64,
    dropped: u64,
}

#[derive(Clone, Default)]
struct ReadBuffers {
    codes: Vec<u8>,
    contexts: Vec<u16>,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl ApplyRecalibration {
    pub fn new(
        recalibration: Recalibration,
        groups: ReadGroups,
        well_formed: WellFormed,
        writing: RecalWriteOptions,
    ) -> Self {
        let by_name = |name: &Vec<u8>| recalibration.group(name).cloned();
        let by_number = groups.names().iter().map(by_name).collect();
        let shared = Arc::new(ApplyState { recalibration, groups, by_number, well_formed, writing });
        ApplyRecalibration {
            shared,
            group: None,
            read: ReadBuffers::default(),
            counts: RecalCounts::default(),
        }
    }

    /// Returns the action for the reads of a read group. Uses the cache if the previous read has
    /// the same group.
    fn group_action(&mut self, id: &[u8]) -> Result<GroupAction> {
        if let Some((_, group_action)) = self.group.as_ref().filter(|(last, _)| last == id) {
            return Ok(*group_action);
        }
        let group_action = self.shared.group_action(id)?;
        self.group = Some((id.to_vec(), group_action));
        Ok(group_action)
    }

    /// Appends the record with its new qualities to `out`, unless it is dropped.
    fn rewrite_record(&mut self, record: RecordRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let writing = &shared.writing;
        shared.groups.require_any()?;
        let fields = RecalFields::of_record(record);
        let present = covariates::has_qualities(record);
        if fields.group.is_none() || !present || !shared.well_formed.has_sound_alignment(record) {
            self.counts.malformed += 1;
            if writing.drop_malformed {
                self.counts.dropped += 1;
                return Ok(());
            }
        }
        let start = out.len();
        out.extend_from_slice(record.raw());
        let has_any = present || writing.use_original && fields.has_original;
        let Some(id) = fields.group.filter(|_| has_any && record.l_seq() > 0) else { return Ok(()) };
        let group_action = self.group_action(id)?;
        covariates::write_base_qualities(record, writing.use_original, None, &mut self.read.old)?;
        self.read.compute_qualities(record, group_action, &shared)?;
        let end = start + record.fields_start();
        out[end - record.l_seq()..end].copy_from_slice(&self.read.new);
        if fields.has_gap_qualities {
            edit::remove_fields(out, start, tag::BI);
            edit::remove_fields(out, start, tag::BD);
        }
        if writing.emit_original && !fields.has_original {
            let old: Vec<u8> = self.read.old.iter().map(|q| q + b'!').collect();
            edit::append_text(out, start, tag::OQ, &old);
        }
        match group_action {
            GroupAction::Recalibrated(_) => self.counts.recalibrated += 1,
            GroupAction::Rounded => self.counts.quantized_only += 1,
        }
        Ok(())
    }
}

impl ApplyState {
    fn group_action(&self, id: &[u8]) -> Result<GroupAction> {
        let number = self.groups.number_of_id(id);
        match number.filter(|&number| self.by_number[number].is_some()) {
            Some(group) => Ok(GroupAction::Recalibrated(group)),
            None if self.writing.allow_missing_group => Ok(GroupAction::Rounded),
            None => Err(self.missing_group_error(id, number)),
        }
    }

    fn missing_group_error(&self, id: &[u8], number: Option<usize>) -> Error {
        let shown = String::from_utf8_lossy(id);
        let what = match number {
            Some(number) => format!(
                "the recalibration table has no read group {shown} (named {} in the table)",
                String::from_utf8_lossy(&self.groups.names()[number])
            ),
            None => format!("the header has no read group {shown}"),
        };
        Error::input(what).hint(
            "count all read groups in the table, or use --allow-missing-read-group to keep the qualities of such reads",
        )
    }
}

impl ReadBuffers {
    fn compute_qualities(
        &mut self,
        record: RecordRef<'_>,
        group_action: GroupAction,
        shared: &ApplyState,
    ) -> Result<()> {
        let ReadBuffers { codes, contexts, old, new } = self;
        let recalibration = &shared.recalibration;
        new.clear();
        let group = match group_action {
            GroupAction::Recalibrated(number) => shared.by_number[number].as_ref(),
            GroupAction::Rounded => None,
        };
        let Some(group) = group else {
            new.extend(old.iter().map(|&q| recalibration.quantized_only[usize::from(q)]));
            return Ok(());
        };
        if old.len() > recalibration.maximum_cycle as usize {
            return Err(too_many_cycles_error(old.len(), recalibration.maximum_cycle as usize));
        }
        covariates::write_base_codes(record, codes);
        let (size, low) = (recalibration.context_size, recalibration.low_quality_tail);
        covariates::write_contexts(codes, old, record.flags().is_reverse(), size, low, contexts);
        new.extend_from_slice(old);
        group.recalibrate_read(new, contexts, Cycles::of_read(record, old.len()));
        Ok(())
    }
}

/// The optional fields that recalibration needs: RG, and whether OQ and gap qualities (BI, BD) are
/// present.
struct RecalFields<'a> {
    group: Option<&'a [u8]>,
    has_original: bool,
    has_gap_qualities: bool,
}

impl<'a> RecalFields<'a> {
    fn of_record(record: RecordRef<'a>) -> Self {
        let mut found = RecalFields { group: None, has_original: false, has_gap_qualities: false };
        for field in record.fields() {
            match field.tag {
                tag::RG if field.kind == b'Z' => found.group = found.group.or(Some(field.value)),
                tag::OQ => found.has_original = true,
                tag::BI | tag::BD => found.has_gap_qualities = true,
                _ => {}
            }
        }
        found
    }
}

impl Step for ApplyRecalibration {
    fn name(&self) -> &'static str {
        "bqsr"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn max_growth_bytes(&self) -> usize {
        0 // a late step: it does not lengthen stored records
    }

    fn changes(&self) -> Changes {
        self.shared.writing.changes()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        batch.rewrite_records(|_: Stamp, record, out| self.rewrite_record(record, out))
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let RecalCounts { recalibrated, quantized_only: unknown, malformed, dropped } = self.counts;
        let mut counts = vec![("reads recalibrated", recalibrated)];
        if unknown > 0 {
            counts.push((
                "reads not recalibrated, because the table has no data for their read group",
                unknown,
            ));
        }
        if dropped > 0 {
            counts.push(("reads dropped that GATK treats as malformed", dropped));
        } else if malformed > 0 {
            counts.push(("reads kept that GATK treats as malformed and drops", malformed));
        }
        counts
    }
}

const _: () = assert!(MAX_QUALITY + b'!' == b'~', "a quality fits a printable character");
