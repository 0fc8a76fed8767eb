//! Counts that depend on the order of reads: depths, sites, targets, statistics of a sorted file.
//!
//! A [`Tally`](crate::Tally) adds up in any order. What is counted here does not: whether a position is covered once
//! or twice depends on the reads of the batches before and after. So the work is split in two, as the run itself is:
//!
//! ```text
//!  batch ─► PieceMaker::make ─► Piece ─┐   any thread, in any order
//!  batch ─► PieceMaker::make ─► Piece ─┤
//!                                      ▼   one thread at a time, in the order of the output
//!                            OrderedTally::add ─► result
//! ```
//!
//! In a job in stages, the two halves run in different processes: a stage stores its pieces, and the last stage
//! loads and adds them ([`OrderedPiece::store`], [`DynOrderedTally::load`]).
//!
//! [`OrderedTally`] is what a metric implements. [`SharedOrderedTally`] charges its memory and makes it a
//! [`DynOrderedTally`], of which a run has a list: outputs, stages and restarts know nothing else of any metric.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::batch::Batch;
use crate::detail::Detail;
use crate::error::{Error, Result};
use crate::ledger::{Charge, Ledger, UserName};
use crate::tally::Tally;

/// Counts something of coordinate-sorted reads that depends on their order.
///
/// The result must not depend on where one batch ends and the next begins, because that changes with memory and
/// threads. What reads of later batches may still change waits inside the tally, and is paid from the ledger:
/// [`SharedOrderedTally`] charges [`OrderedTally::max_bytes_to_add`] before it adds a piece, and what
/// [`OrderedTally::heap_bytes`] returns after that.
///
/// ```
/// use readmill_record::{Batch, Charge, OrderedTally, PieceMaker, Result};
/// use std::sync::{Arc, Mutex};
///
/// /// The largest distance between the starts of two successive reads, in bases.
/// #[derive(Default)]
/// struct LargestGap(Mutex<(Option<i32>, i32)>);
/// struct Starts;
///
/// impl PieceMaker for Starts {
///     type Piece = Vec<i32>;
///     fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<Vec<i32>> {
///         Ok(batch.records().map(|(_, record)| record.pos()).collect())
///     }
/// }
///
/// impl OrderedTally for LargestGap {
///     const MEMORY: &'static str = "largest gap";
///     const USUAL_PIECE_BYTES: u64 = 1 << 16;
///     type Piece = Vec<i32>;
///     type Maker = Starts;
///     fn maker(self: &Arc<Self>) -> Starts { Starts }
///     fn piece_bytes(piece: &Vec<i32>) -> u64 { 4 * piece.capacity() as u64 }
///     fn restart(&self) -> Result<()> { *self.0.lock().unwrap() = (None, 0); Ok(()) }
///     fn add(&self, piece: Vec<i32>) -> Result<()> {
///         let mut state = self.0.lock().unwrap();
///         for start in piece {
///             let gap = start - state.0.unwrap_or(start);
///             *state = (Some(start), gap.max(state.1));
///         }
///         Ok(())
///     }
/// }
///
/// let gaps = Arc::new(LargestGap::default());
/// gaps.add(vec![10, 12])?; // the piece of the first batch
/// gaps.add(vec![40, 41])?; // the piece of the next one
/// assert_eq!(gaps.0.lock().unwrap().1, 28);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait OrderedTally: Send + Sync + 'static {
    /// The name of its memory in the ledger and in messages.
    const MEMORY: UserName;

    /// Bytes that a piece usually takes. The plan sets them aside for each ticket in flight; only what a piece takes
    /// beyond them is charged one by one.
    const USUAL_PIECE_BYTES: u64;

    /// Whether [`PieceMaker::trim`] makes pieces smaller, so that stages measure the longest read for it.
    const TRIMS: bool = false;

    /// What one batch contributes. Stages store it between processes.
    type Piece: Send + Serialize + DeserializeOwned + 'static;

    /// Makes pieces, one for each thread.
    type Maker: PieceMaker<Piece = Self::Piece> + 'static;

    /// Returns one thread's maker of pieces.
    fn maker(self: &Arc<Self>) -> Self::Maker;

    /// Returns the bytes that a piece has on the heap.
    fn piece_bytes(piece: &Self::Piece) -> u64;

    /// Returns the maximum number of bytes that are in use at any moment while `piece` is added.
    fn max_bytes_to_add(&self, _piece: &Self::Piece) -> u64 {
        0
    }

    /// Returns the bytes in use for what later pieces may still change.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// Expects pieces. Called once, before the first piece, in the process that adds them.
    fn begin(&self) {}

    /// Forgets all pieces. Called if the output is written anew because reads turned out not to be sorted.
    ///
    /// # Errors
    /// A file that the tally writes cannot be emptied.
    fn restart(&self) -> Result<()>;

    /// Adds the next piece, in the order of the output.
    ///
    /// # Errors
    /// Its reads lie before those of the piece before it, or what the tally reads or writes meanwhile fails.
    fn add(&self, piece: Self::Piece) -> Result<()>;

    /// Writes what earlier pieces left to be written. Every thread calls this before it encodes its next batch, so
    /// that compressing the files of a tally is shared by all threads.
    ///
    /// # Errors
    /// A file cannot be written.
    fn write_pending(&self) -> Result<()> {
        Ok(())
    }
}

/// Makes the pieces of an [`OrderedTally`] on one thread.
pub trait PieceMaker: Send {
    /// See [`OrderedTally::Piece`].
    type Piece;

    /// Makes the piece of a batch. `charge` pays for what the piece takes while it is made, if that may be more than
    /// its reads.
    ///
    /// # Errors
    /// The reads are not sorted by coordinate, the reference cannot be read, or the memory is not free.
    fn make(&mut self, batch: &Batch, charge: &mut Charge) -> Result<Self::Piece>;

    /// Removes from a piece what no read of another piece can reach, if no read of the job spans more than
    /// `max_span` bases of the reference. The result stays the same; the stored piece is smaller.
    fn trim(&self, _piece: &mut Self::Piece, _max_span: u32) {}
}

/// An ordered tally whose memory is charged, as a trait object.
pub trait DynOrderedTally: Send + Sync {
    /// Returns one thread's counter of batches.
    fn counter(&self) -> Box<dyn BatchCounter>;

    /// See [`OrderedTally::TRIMS`].
    fn trims(&self) -> bool;

    /// See [`OrderedTally::begin`].
    fn begin(&self);

    /// See [`OrderedTally::restart`].
    ///
    /// # Errors
    /// As there.
    fn restart(&self) -> Result<()>;

    /// Adds the next piece, which a counter of this tally made, or which [`DynOrderedTally::load`] returned.
    ///
    /// # Errors
    /// As [`OrderedTally::add`], or the memory of what waits is not free.
    fn add(&self, piece: OrderedPiece) -> Result<()>;

    /// Reads a piece that [`OrderedPiece::store`] has written. Returns it with the bytes after it.
    ///
    /// # Errors
    /// The bytes are not such a piece, or its memory is not free.
    fn load<'a>(&self, bytes: &'a [u8]) -> Result<(OrderedPiece, &'a [u8])>;

    /// See [`OrderedTally::write_pending`].
    ///
    /// # Errors
    /// As there.
    fn write_pending(&self) -> Result<()>;
}

/// Counts the batches of one thread for one ordered tally.
pub trait BatchCounter: Send {
    /// Makes the charged piece of a batch, trimmed if `max_span` is given ([`PieceMaker::trim`]).
    ///
    /// # Errors
    /// As [`PieceMaker::make`].
    fn count(&mut self, batch: &Batch, max_span: Option<u32>) -> Result<OrderedPiece>;
}

/// The piece of any ordered tally, with the charge of what it takes beyond the usual.
pub struct OrderedPiece {
    piece: Box<dyn AnyPiece>,
    _charge: Charge,
}

impl OrderedPiece {
    /// Appends the piece to `bytes`, for [`DynOrderedTally::load`].
    ///
    /// # Errors
    /// It cannot be encoded.
    pub fn store(&self, bytes: &mut Vec<u8>) -> Result<()> {
        *bytes = self.piece.append_to(std::mem::take(bytes))?;
        Ok(())
    }
}

/// A piece of which only its owner knows the type.
trait AnyPiece: Send {
    fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>>;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<P: Send + Serialize + 'static> AnyPiece for P {
    fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        postcard::to_extend(self, bytes)
            .map_err(|error| Error::bug(format!("counts in order cannot be stored: {error}")))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// An ordered tally with the charge of what waits in it.
pub struct SharedOrderedTally<T: OrderedTally> {
    tally: Arc<T>,
    /// Pays for what waits beyond one usual piece.
    charge: Mutex<Charge>,
    ledger: Ledger,
}

impl<T: OrderedTally> SharedOrderedTally<T> {
    /// Charges `tally` to `ledger`. Who needs the result keeps another reference to `tally`.
    pub fn new(tally: Arc<T>, ledger: &Ledger) -> Self {
        let charge = Mutex::new(ledger.empty_charge(T::MEMORY));
        SharedOrderedTally { tally, charge, ledger: ledger.clone() }
    }

    /// As [`SharedOrderedTally::new`], for the list of a run.
    pub fn shared(tally: &Arc<T>, ledger: &Ledger) -> Arc<dyn DynOrderedTally> {
        Arc::new(SharedOrderedTally::new(Arc::clone(tally), ledger))
    }

    fn charge(&self) -> MutexGuard<'_, Charge> {
        self.charge.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wraps a piece whose making was paid by `charge`, which pays from now on for what the piece takes beyond the usual.
fn charge_piece<T: OrderedTally>(piece: T::Piece, mut charge: Charge) -> Result<OrderedPiece> {
    let bytes = T::piece_bytes(&piece).saturating_sub(T::USUAL_PIECE_BYTES);
    charge.charge_around(bytes, || Ok(((), bytes)))?;
    Ok(OrderedPiece { piece: Box::new(piece), _charge: charge })
}

impl<T: OrderedTally> DynOrderedTally for SharedOrderedTally<T> {
    fn counter(&self) -> Box<dyn BatchCounter> {
        Box::new(ChargedMaker::<T> { maker: self.tally.maker(), ledger: self.ledger.clone() })
    }

    fn trims(&self) -> bool {
        T::TRIMS
    }

    fn begin(&self) {
        self.tally.begin();
    }

    fn restart(&self) -> Result<()> {
        self.tally.restart()
    }

    fn add(&self, piece: OrderedPiece) -> Result<()> {
        let OrderedPiece { piece, _charge } = piece;
        let Ok(piece) = piece.into_any().downcast::<T::Piece>() else {
            return Err(Error::bug(format!("a piece of another tally was added to {}", T::MEMORY)));
        };
        let mut charge = self.charge();
        // One usual piece is set aside for what is in use while nothing unusual waits.
        let max = self.tally.max_bytes_to_add(&piece).saturating_sub(T::USUAL_PIECE_BYTES);
        charge.charge_around(max, || {
            self.tally.add(*piece)?;
            Ok(((), self.tally.heap_bytes().saturating_sub(T::USUAL_PIECE_BYTES)))
        })
    }

    fn load<'a>(&self, bytes: &'a [u8]) -> Result<(OrderedPiece, &'a [u8])> {
        let (piece, rest) = postcard::take_from_bytes(bytes)
            .map_err(|error| Error::bug(format!("stored {} cannot be read: {error}", T::MEMORY)))?;
        Ok((charge_piece::<T>(piece, self.ledger.empty_charge(T::MEMORY))?, rest))
    }

    fn write_pending(&self) -> Result<()> {
        self.tally.write_pending()
    }
}

/// One thread's maker of pieces, which charges them.
struct ChargedMaker<T: OrderedTally> {
    maker: T::Maker,
    ledger: Ledger,
}

impl<T: OrderedTally> BatchCounter for ChargedMaker<T> {
    fn count(&mut self, batch: &Batch, max_span: Option<u32>) -> Result<OrderedPiece> {
        let mut charge = self.ledger.empty_charge(T::MEMORY);
        let mut piece = self.maker.make(batch, &mut charge)?;
        // Before it is trimmed, too, it is paid for.
        charge.grow_to(T::piece_bytes(&piece).saturating_sub(T::USUAL_PIECE_BYTES))?;
        if let Some(max_span) = max_span {
            self.maker.trim(&mut piece, max_span);
        }
        charge_piece::<T>(piece, charge)
    }
}

/// Measures how many bases of the reference the longest read spans, for [`PieceMaker::trim`].
#[derive(Clone, Copy, Debug)]
pub struct LongestSpan;

impl Tally for LongestSpan {
    type Partial = u32;
    type Total = u32;

    fn detail(&self) -> Detail {
        Detail::Places
    }

    fn observe(&self, partial: &mut u32, batch: &Batch) -> Result<()> {
        for (_, record) in batch.records() {
            let span = record.cigar().reference_length().clamp(0, u32::MAX.into());
            *partial = (*partial).max(span as u32);
        }
        Ok(())
    }

    fn merge(&self, into: &mut u32, from: u32) {
        *into = (*into).max(from);
    }

    fn finish(&self, total: u32) -> Result<u32> {
        Ok(total)
    }
}
