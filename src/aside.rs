//! Outputs beside the main one: reads are gathered there in pages, in their order, and encoded on all threads.
//!
//! What one partition of the main output has for another output may be little. So it is gathered, serially, until a
//! page is full; full pages are encoded by whoever is about to encode next, and written in their order by whoever
//! completes the next one. Where pages end follows from the reads alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_record::{Batch, Header, Result};
use readmill_steps::route::Route;

use crate::output::{Part, PartEncoder, Sink, Writer};
use crate::report::Report;

/// Bytes of all pages that are being gathered, at most.
pub const PAGES: usize = 32 << 20;

/// Bytes of a page, at most.
const PAGE: usize = 1 << 20;

/// Outputs, at most.
pub const MOST: usize = 500;

/// Reads of one batch that go elsewhere: the number of the output, and the reads.
pub type Aside = Vec<(usize, Batch)>;

/// Makes the outputs that are opened only when there is something for them: the file for that number, and its header.
pub type Open<'a> = Box<dyn Fn(usize) -> Result<(Sink, Header)> + Send + Sync + 'a>;

/// The outputs beside the main one.
pub struct Sides<'a> {
    route: Box<dyn Route>,
    open: Open<'a>,
    /// Most records in an output before the next one is begun, of whole templates where they stand together.
    most_records: Option<u64>,
    page: usize,
    list: Mutex<Vec<Option<Arc<Side>>>>,
    tasks: Mutex<VecDeque<Page>>,
    rolling: Mutex<Rolling>,
    in_flight: usize,
}

/// Where the reads of a rolling output go.
#[derive(Default)]
struct Rolling {
    at: usize,
    records: u64,
    name: Vec<u8>,
}

/// One output.
struct Side {
    header: Header,
    gathering: Mutex<(Batch, u64)>,
    written: Mutex<Written>,
}

/// What has been written, and encoded pages that wait for those before them.
struct Written {
    sink: Sink,
    next: u64,
    ready: BTreeMap<u64, Part>,
    records: u64,
}

/// A page of reads for an output.
struct Page {
    side: Arc<Side>,
    number: u64,
    batch: Batch,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Sides<'a> {
    /// Outputs that `open` makes, `opened` of them now, at most `most` in all.
    pub fn new(
        route: Box<dyn Route>,
        open: Open<'a>,
        (opened, most): (usize, usize),
        most_records: Option<u64>,
        in_flight: usize,
    ) -> Result<Self> {
        let sides = Sides {
            route,
            open,
            most_records,
            page: (PAGES / most.max(1)).min(PAGE),
            list: Mutex::default(),
            tasks: Mutex::default(),
            rolling: Mutex::default(),
            in_flight,
        };
        (0..opened).try_for_each(|number| sides.side(number).map(drop))?;
        Ok(sides)
    }

    /// A thread's route.
    pub fn route(&self) -> Box<dyn Route> {
        self.route.fork()
    }

    /// The output of that number, which is begun if it is not there.
    fn side(&self, number: usize) -> Result<Arc<Side>> {
        let mut list = lock(&self.list);
        if list.len() <= number {
            list.resize(number + 1, None);
        }
        if let Some(side) = &list[number] {
            return Ok(Arc::clone(side));
        }
        let (mut sink, header) = (self.open)(number)?;
        sink.begin(&header)?;
        let written = Written { sink, next: 0, ready: BTreeMap::new(), records: 0 };
        let side = Side { header, gathering: Mutex::default(), written: Mutex::new(written) };
        Ok(Arc::clone(list[number].insert(Arc::new(side))))
    }

    /// Takes reads that go elsewhere, in their order.
    pub fn take(&self, aside: Aside) -> Result<()> {
        for (number, batch) in aside {
            match self.most_records {
                None => self.gather(number, batch.spans.iter().map(|&span| batch.record(span).raw()))?,
                Some(most) => self.roll(&batch, most)?,
            }
        }
        Ok(())
    }

    /// Gives each output as many records as it may have.
    fn roll(&self, batch: &Batch, most: u64) -> Result<()> {
        let mut rolling = lock(&self.rolling);
        for (_, record) in batch.records() {
            let name = record.qname();
            if rolling.records >= most && (rolling.name != name || name == b"*") {
                self.close_page(rolling.at)?;
                (rolling.at, rolling.records) = (rolling.at + 1, 0);
            }
            rolling.records += 1;
            if rolling.records >= most {
                rolling.name.clear();
                rolling.name.extend_from_slice(name);
            }
            self.gather(rolling.at, std::iter::once(record.raw()))?;
        }
        Ok(())
    }

    fn gather<'r>(&self, number: usize, records: impl Iterator<Item = &'r [u8]>) -> Result<()> {
        let side = self.side(number)?;
        let mut gathering = lock(&side.gathering);
        for raw in records {
            let (batch, number) = &mut *gathering;
            batch.push(raw, Default::default());
            if batch.bytes.len() >= self.page {
                let page =
                    Page { side: Arc::clone(&side), number: *number, batch: std::mem::take(batch) };
                *number += 1;
                lock(&self.tasks).push_back(page);
            }
        }
        Ok(())
    }

    /// Ends the page of an output that gets no more.
    fn close_page(&self, number: usize) -> Result<()> {
        let side = self.side(number)?;
        let (batch, number) = &mut *lock(&side.gathering);
        let page = Page { side: Arc::clone(&side), number: *number, batch: std::mem::take(batch) };
        *number += 1;
        lock(&self.tasks).push_back(page);
        Ok(())
    }

    /// Encodes the pages that wait for it. Whoever is about to encode does this first.
    pub fn encode(&self) -> Result<()> {
        loop {
            let next = lock(&self.tasks).pop_front();
            let Some(Page { side, number, batch }) = next else { return Ok(()) };
            side.encode(number, &batch, self.in_flight)?;
        }
    }

    /// Writes what is left, and completes the files. Returns the number of records in them.
    pub fn finish(self, report: &Report) -> Result<u64> {
        self.encode()?;
        let mut records = 0;
        let list = self.list.into_inner().unwrap_or_else(PoisonError::into_inner);
        for side in list.into_iter().flatten() {
            let (batch, number) = std::mem::take(&mut *lock(&side.gathering));
            side.encode(number, &batch, self.in_flight)?;
            drop(batch);
            if let Some(side) = Arc::into_inner(side) {
                let written = side.written.into_inner().unwrap_or_else(PoisonError::into_inner);
                records += written.records;
                written.sink.finish(report)?;
            }
        }
        Ok(records)
    }
}

impl Side {
    fn encode(&self, number: u64, batch: &Batch, in_flight: usize) -> Result<()> {
        let mut part = Part::default();
        let writer: Writer<'_> = lock(&self.written).sink.writer(&self.header, in_flight);
        let mut encoder: PartEncoder<'_> = writer.encoder();
        encoder.encode(batch, &mut part);
        let mut written = lock(&self.written);
        written.ready.insert(number, part);
        loop {
            let Written { sink, next, ready, records } = &mut *written;
            let Some(part) = ready.remove(next) else { return Ok(()) };
            *next += 1;
            *records += part.records;
            sink.append(part)?;
        }
    }
}

/// Takes the reads out of a batch that go elsewhere, copies of those that also stay.
pub fn route(route: &mut dyn Route, batch: &mut Batch) -> Aside {
    let (mut aside, mut places) = (Aside::new(), Vec::new());
    batch.retain(|stamp, record| {
        places.clear();
        let stays = route.route(record, &mut places);
        for &place in &places {
            let at = aside.iter().position(|(number, _)| *number == place).unwrap_or_else(|| {
                aside.push((place, Batch::default()));
                aside.len() - 1
            });
            aside[at].1.push(record.raw(), stamp);
        }
        stays
    });
    aside
}
