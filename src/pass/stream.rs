//! Steps that need no look at the whole input: chunks in, steps, encoded parts out, nothing held.

use readmill_engine::{Crew, Pass, Pool};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{Link, Linked, Opened};
use readmill_format::source::{self, Claim, Opener, Source};
use readmill_record::{Batch, Error, Header, Result};
use readmill_steps::Step;

use super::merge::Written;
use super::{Counts, Steps};
use crate::output::{Encoding, Part, PartEncoder, Sink};
use crate::report::Report;

struct Through<'a> {
    input_header: &'a Header,
    steps: &'a [Box<dyn Step>],
    encoding: Encoding<'a>,
    batches: Pool<Batch>,
    chunks: Pool<Chunk>,
    parts: Pool<Part>,
}

impl<'a> Pass for Through<'a> {
    type Input = Option<Claim>;
    type Opened = Option<Opened>;
    type Linked = Linked;
    type Output = (Part, u64);
    type Worker = (Opener, Steps, PartEncoder<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (Opener::new(self.input_header), super::fork(self.steps), self.encoding.encoder())
    }

    fn open(&self, worker: &mut Self::Worker, claim: Option<Claim>) -> Result<Option<Opened>> {
        let Some(claim) = claim else { return Ok(None) };
        let mut opened = Opened::reuse(self.batches.take().unwrap_or_default());
        self.chunks.put(worker.0.open(claim, &mut opened)?);
        Ok(Some(opened))
    }

    fn work(&self, worker: &mut Self::Worker, linked: Linked) -> Result<(Part, u64)> {
        let (_, steps, encoder) = worker;
        let Linked { mut batch, first, fault } = linked;
        source::check(&batch, first, self.input_header.n_ref())?;
        fault.map_or(Ok(()), Err)?;
        let read = batch.len() as u64;
        batch.stamp(first);
        super::apply(steps, &mut batch)?;
        let mut part = self.parts.take().unwrap_or_default();
        encoder.encode(&batch, &mut part);
        self.batches.put(batch);
        Ok((part, read))
    }
}

/// Passes the input through the steps into the output; gives the records read, too.
pub fn to_sink(
    crew: Crew,
    mut source: Source,
    max_record: usize,
    steps: &[Box<dyn Step>],
    header: &Header,
    sink: &mut Sink,
    report: &Report,
) -> Result<(u64, Written)> {
    let input_header = source.header().clone();
    let pool = crew.in_flight;
    let pass = Through {
        input_header: &input_header,
        steps,
        encoding: sink.encoding(header),
        batches: Pool::new(pool),
        chunks: Pool::new(pool),
        parts: Pool::new(pool),
    };
    let mut link = Link::new(max_record);
    let (mut ended, mut read, mut records) = (false, 0, 0);
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            if ended {
                return Ok(None);
            }
            let claim = source.claim(pass.chunks.take().unwrap_or_default())?;
            ended = claim.is_none();
            report.advance(claim.as_ref().map_or(0, |claim| claim.read_bytes() as u64));
            Ok(Some(claim))
        },
        |_, opened| {
            Ok(match opened {
                Some(opened) => link.link(opened),
                None => link.finish(Batch::default()),
            })
        },
        |_, (mut part, n): (Part, u64)| {
            sink.take(&mut part)?;
            read += n;
            records += part.records;
            pass.parts.put(part);
            Ok(())
        },
    )?;
    let mut counts = Counts::new();
    super::count(&mut counts, workers.iter().map(|worker| &worker.1));
    Ok((read, Written { records, counts }))
}
