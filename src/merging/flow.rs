//! The serial linking of a merge ([`MergeLink`]), which joins templates and their alignments in
//! input order, and the parallel work of a thread ([`MergeWorker`]).

use std::collections::VecDeque;
use std::sync::Arc;

use readmill_filters::merge_alignment::{
    AlignmentHit, Merger, TemplateHits, TieBreaker, arrange_hits, to_candidates,
};
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_input::{Claim, Opener};
use readmill_record::{Batch, Error, Flags, Limit, RecordRef, Result, UncheckedBatch};

use super::ORDER_HINT;
use super::queue::{MergeFile, MergeGroup, MergeGroupPart, MergeTask, MergeTaskResult, Merging};

const MAX_RECORD: Limit = Limit::of_bytes(8 << 20);

/// Bytes of output records at which a group ends. A group has at least one template.
const MIN_GROUP_BYTES: usize = 192 << 10;

const RESET_HINT: &str =
    "remove the alignments first: readmill prep --revert --sort queryname IN -o unaligned.bam";

/// Joins the chunks of all files, and collects templates with their alignments in groups. Called
/// serially, in ticket order.
pub struct MergeLink {
    merging: Arc<Merging>,
    files: Vec<LinkedFile>,
    ties: TieBreaker,
    group: Box<MergeGroup>,
    /// The name of the last template, kept while reads seem to be sorted by name.
    last_name: Vec<u8>,
    are_sorted: bool,
    has_ended: bool,
}

struct LinkedFile {
    chain: ChunkLinker,
    batches: VecDeque<(Arc<UncheckedBatch>, u64)>,
    at: usize,
    has_ended: bool,
    fault: Option<Error>,
}

fn record_name(batch: &UncheckedBatch, at: usize) -> &[u8] {
    batch.record(batch.spans()[at]).name()
}

impl LinkedFile {
    /// Drops batches whose records all belong to groups.
    fn drop_used_batches(&mut self) {
        while self.batches.front().is_some_and(|(batch, _)| self.at >= batch.len()) {
            self.batches.pop_front();
            self.at = 0;
        }
    }

    /// Returns how many of the next records in the first batch belong to template `wanted`, at most
    /// `max_records`.
    fn count_template_records(&self, file: &MergeFile, wanted: &[u8], max_records: usize) -> usize {
        let Some((batch, _)) = self.batches.front() else { return 0 };
        let rest = self.at..batch.len();
        rest.take(max_records)
            .take_while(|&at| file.template_name(record_name(batch, at)) == wanted)
            .count()
    }
}

impl MergeLink {
    pub fn new(merging: &Arc<Merging>) -> Self {
        let file = || LinkedFile {
            chain: ChunkLinker::new(MAX_RECORD),
            batches: VecDeque::new(),
            at: 0,
            has_ended: false,
            fault: None,
        };
        MergeLink {
            merging: Arc::clone(merging),
            files: merging.files.iter().map(|_| file()).collect(),
            ties: TieBreaker::default(),
            group: Box::default(),
            last_name: Vec::new(),
            are_sorted: merging.are_sorted,
            has_ended: false,
        }
    }

    /// Takes the result of a task, and moves complete groups to the queue. Called in ticket order.
    pub fn link_result(&mut self, done: MergeTaskResult) -> Result<()> {
        match done {
            MergeTaskResult::Waited => return Ok(()),
            MergeTaskResult::Opened(file, opened) => {
                self.add_chunk(file, opened);
                let merging = Arc::clone(&self.merging);
                if !self.has_ended
                    && let Err(error) = self.group_templates(&merging)
                {
                    self.end_merge(Some(error));
                }
                let mut queue = merging.lock_queue();
                queue.files[file].opening -= 1;
                for (state, linked) in queue.files.iter_mut().zip(&self.files) {
                    state.waiting = linked.batches.len();
                }
            }
            MergeTaskResult::Merged(opened) => self.merging.lock_queue().records.push_back(opened),
        }
        self.merging.lock_queue().in_flight -= 1;
        Ok(())
    }

    fn add_chunk(&mut self, file: usize, opened: Option<OpenedChunk>) {
        let path = self.merging.files[file].records.path();
        let side = &mut self.files[file];
        if side.fault.is_some() {
            return;
        }
        let was_cut = side.chain.has_split_template();
        let linked = match opened {
            Some(opened) => side.chain.link_chunk(opened),
            None => {
                side.has_ended = true;
                side.chain.finish_input(Batch::default())
            }
        };
        side.fault = linked.fault.map(|fault| fault.file(path));
        if side.chain.has_split_template() && !was_cut && side.fault.is_none() {
            let what = "the records of one template need more than 1 MiB";
            let hint = "make the aligner write fewer alignments per read";
            side.fault = Some(Error::input(what).hint(hint).file(path));
        }
        if !linked.batch.is_empty() {
            side.batches.push_back((Arc::new(linked.batch), linked.number));
        }
        side.drop_used_batches();
    }

    /// Adds templates to groups while all their alignments have been read. Otherwise, selects the
    /// file that must be read next.
    fn group_templates(&mut self, merging: &Merging) -> Result<()> {
        merging.lock_queue().wanted = None;
        loop {
            for (at, file) in self.files.iter().enumerate() {
                if !file.batches.is_empty() {
                    continue;
                }
                if let Some(fault) = &file.fault {
                    return Err(fault.clone());
                }
                if !file.has_ended {
                    merging.lock_queue().wanted = Some(at);
                    return Ok(());
                }
            }
            if self.files[0].batches.is_empty() {
                self.check_no_alignments_left(merging)?;
                self.end_merge(None);
                return Ok(());
            }
            self.add_template(merging)?;
        }
    }

    /// Returns an error if alignments remain after the last template.
    fn check_no_alignments_left(&self, merging: &Merging) -> Result<()> {
        let (linked, files) = (&self.files[1..], &merging.files[1..]);
        for (linked, file) in linked.iter().zip(files) {
            let Some((batch, number)) = linked.batches.front() else { continue };
            let what =
                "the unaligned read of this alignment is missing, or the files are in different orders";
            return Err(Error::input(what)
                .hint(ORDER_HINT)
                .file(file.records.path())
                .record(number + linked.at as u64)
                .qname(record_name(batch, linked.at)));
        }
        Ok(())
    }

    /// Adds the next template and its alignments to the current group. If a read has several
    /// alignments, also decides which of them are primary, because ties are broken by random
    /// numbers in input order.
    fn add_template(&mut self, merging: &Merging) -> Result<()> {
        let Some((batch, _)) = self.files[0].batches.front() else { return Ok(()) };
        let (batch, at) = (Arc::clone(batch), self.files[0].at);
        let template = record_name(&batch, at);
        let raw = batch.record(batch.spans()[at]).raw();
        let is_paired = raw.get(18).is_some_and(|flags| flags & 1 != 0);
        let reads = if is_paired {
            self.files[0].count_template_records(&merging.files[0], template, 2)
        } else {
            1
        };
        self.check_order(merging, template)?;
        let mut hits = TemplateHits::default();
        let mut counts = vec![reads];
        let mut alignments = 0;
        for (linked, file) in self.files.iter().zip(&merging.files).skip(1) {
            let records = linked.count_template_records(file, template, usize::MAX);
            alignments += records;
            counts.push(records);
        }
        let mut arranged = None;
        if alignments > 1 && self.may_be_several(merging, &counts) {
            let files = self.files.iter().zip(&merging.files).zip(&counts).skip(1);
            for ((linked, file), &records) in files {
                let Some((batch, number)) = linked.batches.front().filter(|_| records > 0) else {
                    continue;
                };
                add_hits(&mut hits, merging, file, batch, linked.at..linked.at + records, *number)?;
            }
            if hits.has_several() {
                let (first, last) = (to_candidates(&hits.first), to_candidates(&hits.last));
                let blame = |error: Error| error.file(merging.files[1].records.path()).qname(template);
                let choice = merging.rules.primary;
                let rows = arrange_hits(choice, &first, &last, hits.are_paired(), &mut self.ties);
                arranged = Some(rows.map_err(blame)?);
            }
        }
        let group = &mut self.group;
        group.parts.resize_with(self.files.len(), Vec::new);
        group.arranged.extend(arranged.map(|rows| (group.templates, rows)));
        group.templates += 1;
        let bytes = batch.spans()[at..at + reads].iter().map(|span| span.len as usize).sum::<usize>();
        group.bytes += bytes * (alignments / reads).max(1);
        for ((linked, parts), records) in self.files.iter_mut().zip(&mut group.parts).zip(counts) {
            let Some((batch, number)) = linked.batches.front().filter(|_| records > 0) else { continue };
            match parts.last_mut() {
                Some(part) if Arc::ptr_eq(&part.batch, batch) => part.range.end += records,
                _ => parts.push(MergeGroupPart {
                    batch: Arc::clone(batch),
                    range: linked.at..linked.at + records,
                    number: *number,
                }),
            }
            linked.at += records;
            linked.drop_used_batches();
        }
        if group.bytes >= MIN_GROUP_BYTES {
            self.release_group();
        }
        Ok(())
    }

    /// Returns whether read 1 or read 2 of the template may have several alignments that are not
    /// supplementary. `records` contains the number of the template's records in each file.
    /// Examines only flags, because the records are not checked yet.
    fn may_be_several(&self, merging: &Merging, records: &[usize]) -> bool {
        let mut ends = [0; 2];
        let files = self.files.iter().zip(&merging.files).zip(records).skip(1);
        for ((linked, file), &records) in files {
            let Some((batch, _)) = linked.batches.front() else { continue };
            for span in &batch.spans()[linked.at..linked.at + records] {
                let raw = batch.record(*span).raw();
                let Some(&[low, high]) = raw.get(18..20) else { continue };
                let flags = file.record_flags(Flags(u16::from_le_bytes([low, high])));
                if !flags.is_unmapped() && !flags.is_supplementary() {
                    ends[usize::from(flags.is_paired() && !flags.is_first())] += 1;
                }
            }
        }
        ends.iter().any(|&alignments| alignments > 1)
    }

    /// Returns an error if reads are sorted by name, but the next alignments belong to an earlier
    /// name.
    fn check_order(&mut self, merging: &Merging, template: &[u8]) -> Result<()> {
        if !self.are_sorted {
            return Ok(());
        }
        self.are_sorted = self.last_name[..] <= *template;
        self.last_name.clear();
        self.last_name.extend_from_slice(template);
        for (linked, file) in self.files.iter().zip(&merging.files).skip(1).filter(|_| self.are_sorted) {
            let Some((batch, number)) = linked.batches.front() else { continue };
            let next = record_name(batch, linked.at);
            if file.template_name(next) < template {
                let template = String::from_utf8_lossy(template);
                let what = format!(
                    "the alignment is after the alignments of {template}, but the unaligned read is before that template or missing"
                );
                return Err(Error::input(what)
                    .hint(ORDER_HINT)
                    .file(file.records.path())
                    .record(number + linked.at as u64)
                    .qname(next));
            }
        }
        Ok(())
    }

    fn end_merge(&mut self, fault: Option<Error>) {
        self.has_ended = true;
        self.group.fault = fault;
        let is_needed = self.group.templates > 0 || self.group.fault.is_some();
        self.merging.lock_queue().has_failed |= self.group.fault.is_some();
        if is_needed {
            self.release_group();
        }
    }

    fn release_group(&mut self) {
        let group = std::mem::take(&mut self.group);
        self.merging.lock_queue().ready.push_back(group);
    }
}

/// Checks the alignments of a template, and adds them to `hits`.
fn add_hits<'a>(
    hits: &mut TemplateHits<'a>,
    merging: &Merging,
    file: &MergeFile,
    batch: &'a UncheckedBatch,
    range: std::ops::Range<usize>,
    number: u64,
) -> Result<()> {
    let n_ref = merging.header.n_ref();
    for at in range {
        let checked = batch.record(batch.spans()[at]).check(n_ref).map_err(Error::input);
        let added = checked.and_then(|record| {
            hits.add_hit(
                &merging.rules,
                AlignmentHit { record, flags: file.record_flags(record.flags()) },
            )
        });
        let blame = |error: Error| {
            error.file(file.records.path()).record(number + at as u64).qname(record_name(batch, at))
        };
        added.map_err(blame)?;
    }
    Ok(())
}

pub struct MergeWorker {
    merging: Arc<Merging>,
    openers: Vec<Option<Opener>>,
    merger: Merger,
}

impl MergeWorker {
    pub fn new(merging: &Arc<Merging>) -> Self {
        MergeWorker {
            merging: Arc::clone(merging),
            openers: merging.files.iter().map(|_| None).collect(),
            merger: Merger::new(&merging.rules, &merging.header),
        }
    }

    /// Performs a task in parallel with others. Writes records into the memory that `spare`
    /// returns.
    pub fn perform_task(
        &mut self,
        task: MergeTask,
        spare: impl FnOnce() -> Batch,
    ) -> Result<MergeTaskResult> {
        match task {
            MergeTask::Open(file, claim) => self.open_chunk(file, claim),
            MergeTask::Merge(group) => self.merge_group(*group, spare()).map(MergeTaskResult::Merged),
            MergeTask::Records(opened) => Ok(MergeTaskResult::Merged(opened)),
            MergeTask::Wait => Ok(MergeTaskResult::Waited),
        }
    }

    fn open_chunk(&mut self, file: usize, claim: Option<Claim>) -> Result<MergeTaskResult> {
        let Some(claim) = claim else { return Ok(MergeTaskResult::Opened(file, None)) };
        let records = &self.merging.files[file].records;
        let opener = self.openers[file].get_or_insert_with(|| records.new_opener());
        let mut opened = OpenedChunk::reuse(self.merging.batches.take().unwrap_or_default());
        let spare = records.open_chunk(opener, claim, &mut opened)?;
        self.merging.chunks.put(spare);
        Ok(MergeTaskResult::Opened(file, Some(opened)))
    }

    fn merge_group(&mut self, group: MergeGroup, spare: Batch) -> Result<OpenedChunk> {
        let merging = Arc::clone(&self.merging);
        let mut opened = OpenedChunk::reuse(spare);
        let mut cursors: Vec<GroupCursor<'_>> =
            group.parts.iter().map(|parts| GroupCursor::new(parts)).collect();
        let mut arranged = group.arranged.iter().peekable();
        for number in 0..group.templates {
            let Some((reads, others)) = cursors.split_first_mut() else { break };
            let template = MergeTemplate::read_next(reads, &merging)?;
            let mut hits = TemplateHits::default();
            for (cursor, file) in others.iter_mut().zip(&merging.files[1..]) {
                while let Some((batch, at, number)) = cursor.peek()
                    && file.template_name(record_name(batch, at)) == template.name
                {
                    add_hits(&mut hits, &merging, file, batch, at..at + 1, number)?;
                    cursor.at += 1;
                }
            }
            let rows = arranged.next_if(|(of, _)| *of == number).map(|(_, rows)| rows);
            if rows.is_none() && hits.has_several() {
                return Err(Error::bug("alignments are not arranged"));
            }
            let (bytes, mut starts) = (opened.bytes_mut(), Vec::new());
            let reads = &template.reads[..template.count];
            let merged =
                self.merger.write_template(reads, &hits, rows, bytes, |_, start| starts.push(start));
            merged.map_err(|error| template.locate_error(error, &merging))?;
            let end = bytes.len();
            let ends = starts.iter().skip(1).copied().chain([end]);
            starts
                .iter()
                .zip(ends)
                .for_each(|(&start, end)| opened.push_sized_record(start, end - start));
        }
        let batches = group.parts.into_iter().flatten().filter_map(|part| Arc::into_inner(part.batch));
        batches.for_each(|batch| merging.batches.put(batch.into_memory()));
        group.fault.map_or(Ok(opened), Err)
    }
}

struct GroupCursor<'a> {
    parts: &'a [MergeGroupPart],
    part: usize,
    at: usize,
}

impl<'a> GroupCursor<'a> {
    fn new(parts: &'a [MergeGroupPart]) -> Self {
        GroupCursor { parts, part: 0, at: 0 }
    }

    /// Returns the batch of the next record, the record's index in it, and the file number of the
    /// batch's first record.
    fn peek(&mut self) -> Option<(&'a UncheckedBatch, usize, u64)> {
        loop {
            let part = self.parts.get(self.part)?;
            if self.at < part.range.len() {
                return Some((&part.batch, part.range.start + self.at, part.number));
            }
            (self.part, self.at) = (self.part + 1, 0);
        }
    }
}

struct MergeTemplate<'a> {
    name: &'a [u8],
    reads: [RecordRef<'a>; 2],
    count: usize,
    /// 0-based number of the template's first record in the file.
    number: u64,
}

impl<'a> MergeTemplate<'a> {
    fn read_next(cursor: &mut GroupCursor<'a>, merging: &Merging) -> Result<Self> {
        let Some(first) = cursor.peek() else { return Err(Error::bug("a group lacks a template")) };
        let take = |cursor: &mut GroupCursor<'a>,
                    (batch, at, number): (&'a UncheckedBatch, usize, u64)| {
            cursor.at += 1;
            check_read(batch, at, number, merging)
        };
        let one = take(cursor, first)?;
        let number = first.2 + first.1 as u64;
        let (name, mut template) =
            (one.qname(), MergeTemplate { name: one.qname(), reads: [one; 2], count: 1, number });
        if !one.flags().is_paired() {
            return Ok(template);
        }
        let mate = cursor.peek().filter(|(batch, at, _)| self::record_name(batch, *at) == name);
        let other = mate.map(|mate| take(cursor, mate)).transpose()?;
        let is_first = |record: RecordRef<'_>| record.flags().is_first() && !record.flags().is_last();
        let is_last = |record: RecordRef<'_>| record.flags().is_last() && !record.flags().is_first();
        let pair = match other {
            Some(other) if is_first(one) && is_last(other) => [one, other],
            Some(other) if is_first(other) && is_last(one) => [other, one],
            _ => {
                let what = "the mate is missing or is not the adjacent record";
                let hint = "group mates: readmill sort --sort queryname IN -o unaligned.bam";
                return Err(template.locate_error(Error::input(what).hint(hint), merging));
            }
        };
        (template.reads, template.count) = (pair, 2);
        Ok(template)
    }

    fn locate_error(&self, error: Error, merging: &Merging) -> Error {
        error.file(merging.files[0].records.path()).record(self.number).qname(self.name)
    }
}

/// Checks an unaligned record.
///
/// # Errors
/// Fails if the record is damaged, aligned, secondary or supplementary.
fn check_read<'a>(
    batch: &'a UncheckedBatch,
    at: usize,
    number: u64,
    merging: &Merging,
) -> Result<RecordRef<'a>> {
    let file = &merging.files[0].records;
    let blame =
        |error: Error| error.file(file.path()).record(number + at as u64).qname(record_name(batch, at));
    let checked = batch.record(batch.spans()[at]).check(file.header().n_ref());
    let record = checked.map_err(|what| blame(Error::input(what)))?;
    let flags = record.flags();
    if !flags.is_primary() {
        let what = "this is a secondary or supplementary alignment, not a read";
        return Err(blame(Error::input(what).hint(RESET_HINT)));
    }
    if !flags.is_unmapped() {
        return Err(blame(Error::input("the read is already aligned").hint(RESET_HINT)));
    }
    Ok(record)
}
