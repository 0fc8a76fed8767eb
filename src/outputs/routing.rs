//! Removes the reads for extra outputs from a batch. [`readmill_filters::route`] decides which
//! reads these are; [`super::extra_writer`] writes them.

use readmill_filters::route::{self, BySegment, Route, SegmentCounts};
use readmill_record::{Batch, RecordRef, Result, Span, Stamp};

/// The reads of one batch that belong to extra outputs.
#[derive(Default)]
pub struct RoutedRecords {
    /// The reads for each extra output, with the output's index.
    pub places: Vec<(usize, Batch)>,
    /// The first and the last template of the batch, if whole templates are routed. They may
    /// continue in the adjacent batches, so `ExtraWriter` routes them later.
    pub edges: Option<[Batch; 2]>,
}

/// Decides to which extra outputs the reads of a batch belong. Each thread has its own copy.
pub enum Router {
    /// Each read is routed independently. It may also remain in the main output.
    Each(Box<dyn Route>),
    /// Whole templates are routed; their records must be adjacent. No read remains in the main
    /// output.
    Templates(BySegment),
}

impl Router {
    /// Returns a copy for another thread.
    pub fn fork(&self) -> Router {
        match self {
            Router::Each(route) => Router::Each(route.fork()),
            Router::Templates(by_segment) => Router::Templates(by_segment.clone()),
        }
    }
}

/// Removes the reads for extra outputs from `batch` and returns them. Reads that also remain in the
/// main output are copied. Adds skipped templates to `counts`.
pub fn route_batch(
    router: &mut Router,
    batch: &mut Batch,
    counts: &mut SegmentCounts,
) -> Result<RoutedRecords> {
    match router {
        Router::Each(route) => {
            Ok(RoutedRecords { places: route_each_read(&mut **route, batch)?, edges: None })
        }
        Router::Templates(by_segment) => route_by_template(by_segment, batch, counts),
    }
}

/// Returns copies of the reads that filters dropped from `batch`. `before` contains the spans of
/// the batch before the filters ran.
pub fn copy_dropped_reads(before: &[Span], batch: &Batch) -> Result<Batch> {
    let (mut dropped, mut kept) = (Batch::default(), batch.spans.iter().peekable());
    for &span in before {
        if kept.next_if(|kept| kept.start == span.start).is_none() {
            dropped.push(batch.record(span).raw(), span.stamp)?;
        }
    }
    Ok(dropped)
}

/// Appends a read to the batch for extra output `place`.
fn add_to_place(
    places: &mut Vec<(usize, Batch)>,
    place: usize,
    record: RecordRef<'_>,
    stamp: Stamp,
) -> Result<()> {
    let at = places.iter().position(|(number, _)| *number == place).unwrap_or_else(|| {
        places.push((place, Batch::default()));
        places.len() - 1
    });
    places[at].1.push(record.raw(), stamp)
}

fn route_each_read(route: &mut dyn Route, batch: &mut Batch) -> Result<Vec<(usize, Batch)>> {
    let (mut routed, mut places, mut failed) = (Vec::new(), Vec::new(), None);
    batch.retain(|stamp, record| {
        places.clear();
        let routed = route.route_read(record, &mut places).and_then(|stays| {
            places.iter().try_for_each(|&place| add_to_place(&mut routed, place, record, stamp))?;
            Ok(stays)
        });
        routed.unwrap_or_else(|error| {
            let placed = error.record(stamp.ordinal()).qname(record.qname());
            failed.get_or_insert(placed);
            true
        })
    });
    failed.map_or(Ok(routed), Err)
}

fn route_by_template(
    by_segment: &BySegment,
    batch: &mut Batch,
    counts: &mut SegmentCounts,
) -> Result<RoutedRecords> {
    for (stamp, record) in batch.records() {
        let checked = by_segment.check_single_end(record);
        checked.map_err(|error| error.record(stamp.ordinal()).qname(record.qname()))?;
    }
    let (begins, mut places) = (route::template_starts(batch), Vec::new());
    let all: &Batch = batch;
    let records = |from: usize, to: usize| all.spans[from..to].iter().map(|&span| all.record(span));
    let whole = begins.windows(2).skip(1).take(begins.len().saturating_sub(3));
    for template in whole {
        by_segment.route_template(records(template[0], template[1]), counts, |place, record| {
            add_to_place(&mut places, place, record, Stamp::default())
        })?;
    }
    let edge = |from: usize, to: usize| {
        let mut edge = Batch::default();
        records(from, to).try_for_each(|record| edge.push(record.raw(), Stamp::default()))?;
        Ok(edge)
    };
    let edges = match begins[..] {
        [] | [_] => [Batch::default(), Batch::default()],
        [from, to] => [edge(from, to)?, Batch::default()],
        [from, to, .., last, end] => [edge(from, to)?, edge(last, end)?],
        [from, middle, end] => [edge(from, middle)?, edge(middle, end)?],
    };
    batch.spans.clear();
    Ok(RoutedRecords { places, edges: Some(edges) })
}
