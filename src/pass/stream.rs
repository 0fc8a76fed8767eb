//! Steps that need no look at the whole input: pieces in, steps, encoded parts out, nothing held.

use readmill_engine::{Crew, Pass};
use readmill_record::{Error, Header, Result};

use super::Counts;
use super::doing::{Doer, Doing};
use super::feed::{Feed, Piece, Reader, Readers, Stretch};
use super::merge::Written;
use crate::aside::Aside;
use crate::inputs::Next;
use crate::output::{Part, PartEncoder, Sink, Writer};
use crate::report::Report;

struct Through<'a> {
    readers: Readers,
    doing: Doing<'a>,
    writer: Writer<'a>,
}

impl<'a> Pass for Through<'a> {
    type Input = Next;
    type Opened = Piece;
    type Linked = Stretch;
    type Output = (Part, u64);
    type Worker = (Reader, Doer<'a>, PartEncoder<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (self.readers.reader(), self.doing.doer(), self.writer.encoder())
    }

    fn open(&self, worker: &mut Self::Worker, next: Next) -> Result<Piece> {
        worker.0.open(next)
    }

    fn work(&self, worker: &mut Self::Worker, stretch: Stretch) -> Result<(Part, u64)> {
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
        Ok((part, read))
    }
}

/// Passes the input through the steps into the output; gives the records read, too.
pub fn to_sink(
    crew: Crew,
    feed: Feed,
    doing: Doing<'_>,
    header: &Header,
    sink: &mut Sink,
    report: &Report,
) -> Result<(u64, Written)> {
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
            Ok(next)
        },
        |_, piece| pass.readers.link(&mut link, piece),
        |_, (mut part, n): (Part, u64)| {
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
    type Input = Next;
    type Opened = Piece;
    type Linked = Stretch;
    type Output = (u64, Aside);
    type Worker = (Reader, Doer<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (self.readers.reader(), self.doing.doer())
    }

    fn open(&self, worker: &mut Self::Worker, next: Next) -> Result<Piece> {
        worker.0.open(next)
    }

    fn work(&self, (reader, doer): &mut Self::Worker, stretch: Stretch) -> Result<(u64, Aside)> {
        let (batch, left) = reader.check(stretch, |mut batch| {
            let read = batch.len() as u64;
            let aside = doer.apply(&mut batch)?;
            Ok((batch, (read, aside)))
        })?;
        self.readers.reuse(batch);
        Ok(left)
    }
}

/// Passes the input through, to be looked at only, or into other outputs than a main one; gives the number of its
/// records.
pub fn to_look(crew: Crew, feed: Feed, doing: Doing<'_>, report: &Report) -> Result<(u64, Counts)> {
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
            Ok(next)
        },
        |_, piece| pass.readers.link(&mut link, piece),
        |_, (records, aside)| {
            read += records;
            sides.map_or(Ok(()), |sides| sides.take(aside))
        },
    )?;
    let mut counts = Counts::new();
    workers.into_iter().for_each(|(_, doer)| doer.finish(&mut counts));
    Ok((read, counts))
}
