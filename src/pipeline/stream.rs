//! Steps that need no look at the whole input: pieces in, steps, encoded parts out, nothing held.

use readmill_engine::{Crew, Pass};
use readmill_format::source::MAX_CLAIM;
use readmill_record::{Charge, Error, Header, Ledger, Result};

use super::Counts;
use super::batch_pipeline::{Doer, Doing};
use super::feed::{Feed, Linker, Piece, Reader, Readers, Stretch};
use super::merge::Written;
use crate::outputs::routing::Aside;
use crate::outputs::{Part, PartEncoder, Sink, Writer};
use crate::pipeline::inputs::Next;
use crate::process::report::Report;

/// What reads under way take beyond the share of a batch: containers of CRAM, long reads, and what the link holds back.
struct Beyond {
    held_back: Charge,
}

/// How often a long read is in memory at once: in its batch, in what steps make of it, and encoded.
const FORMS: u64 = 4;

impl Beyond {
    const NAME: &str = "long reads and CRAM containers under way";

    fn new(ledger: &Ledger) -> Self {
        Beyond { held_back: ledger.empty(Beyond::NAME) }
    }

    /// What reads take that the link lets go, and those that it holds back now.
    fn linked(&mut self, stretch: Stretch, mut charge: Charge, link: &Linker) -> (Stretch, Charge) {
        let bytes = FORMS * stretch.bytes().saturating_sub(2 * MAX_CLAIM as u64);
        charge.resize(charge.bytes().max(bytes));
        self.held_back.resize(link.waiting_bytes());
        (stretch, charge)
    }
}

/// A piece, and what it takes, which is no more than what it was limited to.
fn claimed(next: Next, ledger: &Ledger) -> (Next, Charge) {
    let mut charge = ledger.empty(Beyond::NAME);
    charge.resize((next.bound() + next.working()).saturating_sub(2 * MAX_CLAIM as u64));
    (next, charge)
}

struct Through<'a> {
    readers: Readers,
    doing: Doing<'a>,
    writer: Writer<'a>,
}

impl<'a> Pass for Through<'a> {
    type Input = (Next, Charge);
    type Opened = (Piece, Charge);
    type Linked = (Stretch, Charge);
    type Output = (Part, u64, Charge);
    type Worker = (Reader, Doer<'a>, PartEncoder<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (self.readers.reader(), self.doing.doer(), self.writer.encoder())
    }

    fn open(&self, worker: &mut Self::Worker, (next, charge): Self::Input) -> Result<Self::Opened> {
        Ok((worker.0.open(next)?, charge))
    }

    fn work(&self, worker: &mut Self::Worker, (stretch, charge): Self::Linked) -> Result<Self::Output> {
        self.writer.write_behind()?;
        let (reader, doer, encoder) = worker;
        let (batch, read, aside) = reader.check(stretch, |mut batch| {
            let read = batch.len() as u64;
            let aside = doer.apply(&mut batch)?;
            Ok((batch, read, aside))
        })?;
        let mut part = self.writer.part();
        encoder.encode(&batch, &mut part)?;
        part.aside = aside;
        self.readers.reuse(batch);
        Ok((part, read, charge))
    }
}

/// Passes the input through the steps into the output; gives the records read, too.
pub fn to_sink(
    crew: Crew,
    feed: Feed,
    doing: Doing<'_>,
    header: &Header,
    sink: &mut Sink,
    ledger: &Ledger,
    report: &Report,
) -> Result<(u64, Written)> {
    let mut beyond = Beyond::new(ledger);
    let (writer, sides) = (sink.writer(header, crew.in_flight), doing.aside);
    let pass = Through { readers: feed.readers(), doing, writer };
    let Feed { mut intake, mut link } = feed;
    let (mut read, mut records) = (0, 0);
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            let next = intake.claim()?;
            report.advance(next.as_ref().map_or(0, Next::read_bytes));
            Ok(next.map(|next| claimed(next, ledger)))
        },
        |_, (piece, charge)| {
            let stretch = pass.readers.link(&mut link, piece)?;
            Ok(beyond.linked(stretch, charge, &link))
        },
        |_, (mut part, n, _charge): (Part, u64, Charge)| {
            read += n;
            records += part.records;
            sides.map_or(Ok(()), |sides| sides.take(std::mem::take(&mut part.aside)))?;
            sink.take(part, &pass.writer)
        },
    )?;
    pass.writer.write_behind()?;
    let mut counts = Counts::new();
    workers.into_iter().for_each(|(_, doer, _)| doer.finish(&mut counts));
    Ok((read, Written { records, counts }))
}

struct Looking<'a> {
    readers: Readers,
    doing: Doing<'a>,
}

impl<'a> Pass for Looking<'a> {
    type Input = (Next, Charge);
    type Opened = (Piece, Charge);
    type Linked = (Stretch, Charge);
    type Output = (u64, Aside, Charge);
    type Worker = (Reader, Doer<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (self.readers.reader(), self.doing.doer())
    }

    fn open(&self, worker: &mut Self::Worker, (next, charge): Self::Input) -> Result<Self::Opened> {
        Ok((worker.0.open(next)?, charge))
    }

    fn work(&self, (reader, doer): &mut Self::Worker, linked: Self::Linked) -> Result<Self::Output> {
        let (stretch, charge) = linked;
        let (batch, (read, aside)) = reader.check(stretch, |mut batch| {
            let read = batch.len() as u64;
            let aside = doer.apply(&mut batch)?;
            Ok((batch, (read, aside)))
        })?;
        self.readers.reuse(batch);
        Ok((read, aside, charge))
    }
}

/// Passes the input through, to be looked at only, or into other outputs than a main one; gives the number of its
/// records.
pub fn to_look(
    crew: Crew,
    feed: Feed,
    doing: Doing<'_>,
    ledger: &Ledger,
    report: &Report,
) -> Result<(u64, Counts)> {
    let mut beyond = Beyond::new(ledger);
    let sides = doing.aside;
    let pass = Looking { readers: feed.readers(), doing };
    let Feed { mut intake, mut link } = feed;
    let mut read = 0;
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            let next = intake.claim()?;
            report.advance(next.as_ref().map_or(0, Next::read_bytes));
            Ok(next.map(|next| claimed(next, ledger)))
        },
        |_, (piece, charge)| {
            let stretch = pass.readers.link(&mut link, piece)?;
            Ok(beyond.linked(stretch, charge, &link))
        },
        |_, (records, aside, _charge)| {
            read += records;
            sides.map_or(Ok(()), |sides| sides.take(aside))
        },
    )?;
    let mut counts = Counts::new();
    workers.into_iter().for_each(|(_, doer)| doer.finish(&mut counts));
    Ok((read, counts))
}
