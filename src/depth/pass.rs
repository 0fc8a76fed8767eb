//! The pass over all files: counts pieces of depth in parallel, and merges them in coordinate
//! order.

use std::path::PathBuf;
use std::sync::Arc;

use readmill_coverage::depth::{
    DepthMerge, DepthPiece, DepthPieceMaker, DepthRules, Gate, GateKind, TallySink,
};
use readmill_engine::{Crew, Pass};
use readmill_input::MAX_CLAIM_BYTES;
use readmill_process::console::Console;
use readmill_record::{Batch, Charge, Detail, Error, Ledger, Limit, Result};

use super::frontier::Frontier;
use crate::pipeline::feed::{Feed, FeedReader, FeedReaders, LinkedBatch, OpenedTask, TicketUse};
use crate::pipeline::inputs::{InputTask, Inputs};
use crate::pipeline::long_reads::LongReads;

pub const DEPTH_LEDGER_NAME: &str = "depth";

/// Copies of a long read in memory at once: in its batch, and while it is linked.
const LONG_READ_COPIES: u64 = 2;

pub struct DepthCounting<'a> {
    pub crew: Crew,
    pub paths: &'a [PathBuf],
    pub rules: &'a Arc<DepthRules>,
    pub gate: Option<GateKind>,
    pub contigs: &'a [(String, u32)],
    pub tickets: &'a Arc<TicketUse>,
    pub max_record: Limit,
    /// Bytes of a piece that the share of a ticket includes. Only the excess is charged.
    pub usual_piece_bytes: u64,
    pub ledger: &'a Ledger,
    pub console: &'a Console,
}

/// A ticket that reads one file. `content` is the task, in the type of the current phase.
struct DepthTicket<T> {
    file: usize,
    is_last: bool,
    content: T,
    charge: Charge,
}

impl<T> DepthTicket<T> {
    fn map_content<U>(self, content: impl FnOnce(T) -> Result<U>) -> Result<DepthTicket<U>> {
        let DepthTicket { file, is_last, charge, .. } = self;
        Ok(DepthTicket { file, is_last, content: content(self.content)?, charge })
    }
}

enum LinkedReads {
    Linked(LinkedBatch),
    /// Already checked, because the gate needs all reads in order. The numbers are the gate's
    /// results for each read.
    Passed(Batch, Vec<u32>),
}

struct DepthPass<'a> {
    counting: &'a DepthCounting<'a>,
    readers: Vec<FeedReaders>,
    lengths: Arc<[u32]>,
}

struct DepthWorker {
    reader: Option<(usize, FeedReader)>,
    maker: DepthPieceMaker,
}

impl DepthPass<'_> {
    fn reader_of_file<'w>(
        &self,
        own: &'w mut Option<(usize, FeedReader)>,
        file: usize,
    ) -> &'w mut FeedReader {
        if own.as_ref().is_none_or(|(of, _)| *of != file) {
            *own = None;
        }
        &mut own.get_or_insert_with(|| (file, self.readers[file].new_reader())).1
    }

    fn charge_piece(&self, piece: DepthPiece, charge: &mut Charge) -> Result<DepthPiece> {
        let more = piece.heap_bytes().saturating_sub(self.counting.usual_piece_bytes);
        charge.grow_to(more)?;
        Ok(piece)
    }
}

impl Pass for DepthPass<'_> {
    type Input = Option<DepthTicket<InputTask>>;
    type Opened = Option<DepthTicket<OpenedTask>>;
    type Linked = Option<DepthTicket<LinkedReads>>;
    type Output = Option<DepthTicket<DepthPiece>>;
    type Worker = DepthWorker;
    type Error = Error;

    fn make_worker(&self) -> DepthWorker {
        DepthWorker { reader: None, maker: DepthPieceMaker::new(self.counting.rules, &self.lengths) }
    }

    fn open(&self, worker: &mut DepthWorker, claimed: Self::Input) -> Result<Self::Opened> {
        let Some(ticket) = claimed else { return Ok(None) };
        let reader = self.reader_of_file(&mut worker.reader, ticket.file);
        ticket.map_content(|task| reader.open_task(task)).map(Some)
    }

    fn work(&self, worker: &mut DepthWorker, linked: Self::Linked) -> Result<Self::Output> {
        let Some(ticket) = linked else { return Ok(None) };
        let (file, DepthWorker { reader, maker }) = (ticket.file, worker);
        let mut counted = ticket.map_content(|reads| match reads {
            LinkedReads::Linked(linked) => {
                self.reader_of_file(reader, file).check_records(linked, |batch| {
                    let piece = maker.make_piece(&batch, &[])?;
                    self.readers[file].recycle_batch(batch);
                    Ok(piece)
                })
            }
            LinkedReads::Passed(batch, clips) => {
                let made = maker.make_piece(&batch, &clips);
                let piece = made.map_err(|error| error.file(&self.counting.paths[file]))?;
                self.readers[file].recycle_batch(batch);
                Ok(piece)
            }
        })?;
        counted.content = self.charge_piece(counted.content, &mut counted.charge)?;
        Ok(Some(counted))
    }
}

impl DepthCounting<'_> {
    /// Counts the reads of all inputs into `sink`, and returns it. `sink_bytes` returns the memory
    /// of the sink, which grows.
    ///
    /// Always claims the next chunk from the file whose counted reads end first in coordinate
    /// order. If reads must be observed in order (`gate`), they are checked in the serial linking
    /// phase, otherwise in parallel.
    pub fn count_inputs<S: TallySink + Send>(
        &self,
        inputs: Vec<Inputs>,
        mut sink: S,
        sink_bytes: impl Fn(&S) -> u64 + Sync,
    ) -> Result<S> {
        let n = inputs.len();
        let places_only = self.gate != Some(GateKind::Mates) && !self.reads_bases();
        let detail = if places_only { Detail::Places } else { Detail::WithoutFields };
        let feeds = inputs.into_iter().map(|inputs| {
            Feed::new(inputs, self.max_record, self.crew, self.tickets).with_detail(detail)
        });
        let feeds = Vec::from_iter(feeds);
        let readers = feeds.iter().map(Feed::new_reader_factory).collect();
        let lengths = self.contigs.iter().map(|contig| contig.1).collect();
        let pass = DepthPass { counting: self, readers, lengths };
        let (mut sources, mut links): (Vec<_>, Vec<_>) =
            feeds.into_iter().map(|feed| (feed.input, feed.link)).unzip();
        let mut gates = self.gate.map(|kind| {
            let each = pass.readers.iter().map(|readers| (readers.new_reader(), Gate::new(kind)));
            (Vec::from_iter(each), self.ledger.empty_charge(DEPTH_LEDGER_NAME))
        });
        let long_reads = LongReads::new(self.ledger, LONG_READ_COPIES, 2 * MAX_CLAIM_BYTES as u64);
        let mut held_back = self.ledger.empty_charge(LongReads::LEDGER_NAME);
        let (frontier, mut claims) = (Frontier::new(n), vec![Some(0); n]);
        let mut merge = DepthMerge::new(n, self.contigs.len() as u32);
        let mut merged = self.ledger.empty_charge(DEPTH_LEDGER_NAME);
        readmill_engine::run_pass(
            self.crew,
            &pass,
            |_| {
                if long_reads.must_wait() {
                    return Ok(Some(None));
                }
                let Some(file) = frontier.next_file(&claims) else { return Ok(None) };
                let Some(content) = sources[file].claim_task()? else {
                    return Err(Error::bug("an input ends twice"));
                };
                let is_last = matches!(content, InputTask::End(_));
                claims[file] = claims[file].filter(|_| !is_last).map(|claims| claims + 1);
                self.console.advance(content.read_bytes());
                let charge = long_reads.charge_claimed_task(&content);
                Ok(Some(Some(DepthTicket { file, is_last, content, charge })))
            },
            |_, opened| {
                let Some(ticket) = opened else { return Ok(None) };
                let file = ticket.file;
                let mut ticket =
                    ticket.map_content(|task| pass.readers[file].link_task(&mut links[file], task))?;
                let waiting = links.iter().map(|link| link.waiting_bytes()).sum();
                long_reads.charge_linked_reads(
                    ticket.content.record_bytes(),
                    waiting,
                    &mut ticket.charge,
                    &mut held_back,
                );
                let Some((gates, charge)) = &mut gates else {
                    return ticket.map_content(|it| Ok(LinkedReads::Linked(it))).map(Some);
                };
                let (reader, gate) = &mut gates[file];
                let passed = ticket.map_content(|linked| {
                    let batch = reader.check_records(linked, Ok)?;
                    let before = gate.heap_bytes();
                    let others = charge.bytes() - before;
                    let clips =
                        charge.charge_around(charge.bytes() + gate.max_growth(batch.len()), || {
                            let clips = gate.pass_batch(&batch, self.rules);
                            Ok((clips, others + gate.heap_bytes()))
                        })?;
                    Ok(LinkedReads::Passed(batch, clips))
                })?;
                Ok(Some(passed))
            },
            |_, counted: Option<DepthTicket<DepthPiece>>| {
                let Some(DepthTicket { file, is_last, content, charge }) = counted else {
                    return Ok(());
                };
                let last = content.last_place();
                // The share of a piece includes small changes of memory.
                let max_added =
                    merge.max_bytes_to_add(file, &content).saturating_sub(self.usual_piece_bytes);
                merged.charge_around((max_added + sink_bytes(&sink)).max(merged.bytes()), || {
                    let added = merge.add_piece(file, content, &mut sink);
                    added.map_err(|error| error.file(&self.paths[file]))?;
                    if is_last {
                        merge.end_file(file, &mut sink)?;
                    } else if let Some(last) = last {
                        frontier.advance(file, last);
                    }
                    Ok(((), merge.heap_bytes() + sink_bytes(&sink)))
                })?;
                drop(charge);
                long_reads.record_commit();
                Ok(())
            },
        )?;
        Ok(sink)
    }

    /// Returns whether records must be decoded with their bases or qualities.
    fn reads_bases(&self) -> bool {
        self.rules.min_base_quality > 0 || self.rules.min_length > 0 || self.rules.sums_by_contig
    }
}
