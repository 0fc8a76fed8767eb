//! Reads that go elsewhere than into the main output, taken out of a batch.

use readmill_record::{Batch, RecordRef, Result, Stamp};
use readmill_steps::route::{self, BySegment, Route, Segments};

/// Reads of one batch that go elsewhere.
#[derive(Default)]
pub struct Aside {
    /// The number of the output, and its reads.
    pub places: Vec<(usize, Batch)>,
    /// The first and the last template, which may go on in the batches beside it. What lies between them is in
    /// `places`.
    pub edges: Option<[Batch; 2]>,
}

/// By what reads are told where they go.
pub enum Router {
    /// Each by itself.
    Each(Box<dyn Route>),
    /// By the ends of templates, whose records stand together. Nothing is left for the main output.
    Templates(BySegment),
}

impl Router {
    /// A thread's copy.
    pub fn fork(&self) -> Router {
        match self {
            Router::Each(route) => Router::Each(route.fork()),
            Router::Templates(by_segment) => Router::Templates(by_segment.clone()),
        }
    }
}

/// Takes the reads out of a batch that go elsewhere, copies of those that also stay.
pub fn route(router: &mut Router, batch: &mut Batch, counts: &mut Segments) -> Result<Aside> {
    match router {
        Router::Each(route) => Ok(Aside { places: each(&mut **route, batch)?, edges: None }),
        Router::Templates(by_segment) => Ok(by_template(by_segment, batch, counts)),
    }
}

/// Adds a read for a place.
fn put(places: &mut Vec<(usize, Batch)>, place: usize, record: RecordRef<'_>, stamp: Stamp) {
    let at = places.iter().position(|(number, _)| *number == place).unwrap_or_else(|| {
        places.push((place, Batch::default()));
        places.len() - 1
    });
    places[at].1.push(record.raw(), stamp);
}

fn each(route: &mut dyn Route, batch: &mut Batch) -> Result<Vec<(usize, Batch)>> {
    let (mut aside, mut places, mut failed) = (Vec::new(), Vec::new(), None);
    batch.retain(|stamp, record| {
        places.clear();
        let stays = route.route(record, &mut places).unwrap_or_else(|error| {
            let placed = error.record(stamp.ordinal()).qname(record.qname());
            failed.get_or_insert(placed);
            true
        });
        places.iter().for_each(|&place| put(&mut aside, place, record, stamp));
        stays
    });
    failed.map_or(Ok(aside), Err)
}

fn by_template(by_segment: &BySegment, batch: &mut Batch, counts: &mut Segments) -> Aside {
    let (begins, mut places) = (route::templates(batch), Vec::new());
    let all: &Batch = batch;
    let records = |from: usize, to: usize| all.spans[from..to].iter().map(|&span| all.record(span));
    let whole = begins.windows(2).skip(1).take(begins.len().saturating_sub(3));
    for template in whole {
        by_segment.route(records(template[0], template[1]), counts, |place, record| {
            put(&mut places, place, record, Stamp::default());
        });
    }
    let edge = |from: usize, to: usize| {
        let mut edge = Batch::default();
        records(from, to).for_each(|record| edge.push(record.raw(), Stamp::default()));
        edge
    };
    let edges = match begins[..] {
        [] | [_] => [Batch::default(), Batch::default()],
        [from, to] => [edge(from, to), Batch::default()],
        [from, to, .., last, end] => [edge(from, to), edge(last, end)],
        [from, middle, end] => [edge(from, middle), edge(middle, end)],
    };
    batch.spans.clear();
    Aside { places, edges: Some(edges) }
}
