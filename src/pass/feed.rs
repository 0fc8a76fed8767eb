//! From the inputs to checked records: pieces are opened in parallel, linked in order, checked in parallel.

use std::sync::Arc;

use readmill_engine::{Crew, Pool};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{Link, Linked, Opened};
use readmill_format::source::{self, Opener};
use readmill_record::{Batch, Result};
use readmill_steps::Step;
use readmill_steps::filter::Reconcile;

use crate::inputs::{Input, Inputs, Next};

/// The inputs, and the link that makes whole records of their pieces.
pub struct Feed {
    /// What is claimed from.
    pub intake: Intake,
    /// The link.
    pub link: Link,
}

/// The claiming side of a feed.
pub struct Intake {
    /// The inputs.
    pub inputs: Inputs,
    buffers: Arc<Buffers>,
}

/// Memory that goes round.
struct Buffers {
    batches: Pool<Batch>,
    chunks: Pool<Chunk>,
}

/// A piece of an input, opened; nothing at the input's end.
pub struct Piece {
    input: usize,
    opened: Option<Opened>,
}

/// Records of one input, linked.
pub struct Stretch {
    input: usize,
    linked: Linked,
}

impl Feed {
    /// A feed that refuses records of more than `max_record` bytes.
    pub fn new(inputs: Inputs, max_record: usize, crew: Crew) -> Self {
        let (batches, chunks) = (Pool::new(crew.in_flight), Pool::new(crew.in_flight));
        let intake = Intake { inputs, buffers: Arc::new(Buffers { batches, chunks }) };
        Feed { intake, link: Link::new(max_record) }
    }

    /// What makes readers.
    pub fn readers(&self) -> Readers {
        let Intake { inputs, buffers } = &self.intake;
        Readers { inputs: inputs.list(), buffers: Arc::clone(buffers) }
    }
}

impl Intake {
    /// Takes what is next.
    pub fn claim(&mut self) -> Result<Option<Next>> {
        self.inputs.next(self.buffers.chunks.take().unwrap_or_default())
    }
}

impl Next {
    /// Bytes that its records take as BAM, at most.
    pub fn bound(&self) -> u64 {
        match self {
            Next::Piece(_, claim) => claim.bound() as u64,
            Next::End(_) => 0,
        }
    }

    /// Upper bound of the number of its records, where it is known.
    pub fn most_records(&self) -> Option<u64> {
        match self {
            Next::Piece(_, claim) => claim.most_records().map(|records| records as u64),
            Next::End(_) => None,
        }
    }

    /// What opening it takes beyond the usual.
    pub fn working(&self) -> u64 {
        match self {
            Next::Piece(_, claim) => claim.working() as u64,
            Next::End(_) => 0,
        }
    }

    /// Bytes of the input that it stands for.
    pub fn read_bytes(&self) -> u64 {
        match self {
            Next::Piece(_, claim) => claim.read_bytes() as u64,
            Next::End(_) => 0,
        }
    }
}

/// Makes readers, one for each thread.
#[derive(Clone)]
pub struct Readers {
    inputs: Arc<[Input]>,
    buffers: Arc<Buffers>,
}

impl Readers {
    /// A reader for the thread that calls.
    pub fn reader(&self) -> Reader {
        let reconcile = self.inputs.iter().map(|input| input.reconcile.clone()).collect();
        Reader { shared: self.clone(), opener: None, reconcile }
    }

    /// Links a piece to those before it.
    pub fn link(&self, link: &mut Link, piece: Piece) -> Stretch {
        let linked = match piece.opened {
            Some(opened) => link.link(opened),
            None => link.finish(self.buffers.batches.take().unwrap_or_default()),
        };
        Stretch { input: piece.input, linked }
    }

    /// Takes back the memory of a batch.
    pub fn reuse(&self, batch: Batch) {
        self.buffers.batches.put(batch);
    }
}

impl Stretch {
    /// Name of the first record, if there is a record.
    pub fn first_name(&self) -> Option<&[u8]> {
        self.linked.batch.records().next().map(|(_, record)| record.qname())
    }
}

/// Opens and checks, on one thread.
pub struct Reader {
    shared: Readers,
    /// Opens pieces of the input of that number.
    opener: Option<(usize, Opener)>,
    reconcile: Vec<Option<Reconcile>>,
}

impl Reader {
    /// Opens what was claimed.
    pub fn open(&mut self, next: Next) -> Result<Piece> {
        let (number, claim) = match next {
            Next::End(input) => return Ok(Piece { input, opened: None }),
            Next::Piece(input, claim) => (input, claim),
        };
        let input = &self.shared.inputs[number];
        let opener = match &mut self.opener {
            Some((of, opener)) if *of == number => opener,
            other => &mut other.insert((number, Opener::new(&input.header, input.setup.as_ref()))).1,
        };
        let mut opened = Opened::reuse(self.shared.buffers.batches.take().unwrap_or_default());
        let spare = opener.open(claim, &mut opened).map_err(input.named())?;
        self.shared.buffers.chunks.put(spare);
        Ok(Piece { input: number, opened: Some(opened) })
    }

    /// Checks and numbers the records, makes them fit the common header, and gives them to `then`. An error of
    /// any of it names their input and their number in it.
    pub fn check<T>(&mut self, stretch: Stretch, then: impl FnOnce(Batch) -> Result<T>) -> Result<T> {
        let Linked { mut batch, first, number, fault } = stretch.linked;
        let input = &self.shared.inputs[stretch.input];
        source::check(&batch, number, input.header.n_ref()).map_err(input.named())?;
        fault.map_or(Ok(()), Err).map_err(input.named())?;
        batch.stamp(first);
        let reconciled = match &mut self.reconcile[stretch.input] {
            Some(step) => step.apply(&mut batch),
            None => Ok(()),
        };
        reconciled.and_then(|()| then(batch)).map_err(|mut error| {
            let before = first - number; // records of the inputs before this one
            error.place.record = error.place.record.map(|record| record.saturating_sub(before));
            input.named()(error)
        })
    }
}
