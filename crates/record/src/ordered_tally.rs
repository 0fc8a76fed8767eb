//! Counts that depend on the order of reads, such as depths, sites, targets, and statistics of a
//! sorted file.
//!
//! A [`Tally`] can be added up in any order. The counts here cannot: whether a
//! position is covered once or twice depends on the adjacent batches. So the work has a parallel
//! and a serial half:
//!
//! ```text
//!  batch ─► PieceMaker::make ─► Piece ─┐   any thread, in any order
//!  batch ─► PieceMaker::make ─► Piece ─┤
//!                                      ▼   one thread at a time, in the order of the output
//!                            OrderedTally::add ─► result
//! ```
//!
//! In a job in stages, the two halves run in different processes: a stage stores its pieces, and
//! the last stage loads and adds them ([`OrderedPiece::store`], [`DynOrderedTally::load`]).
//!
//! A metric implements [`OrderedTally`]. [`SharedOrderedTally`] charges its memory, and makes it a
//! [`DynOrderedTally`]. A run has a list of these, which is all that outputs, stages and restarts
//! need to know about the metrics.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::batch::Batch;
use crate::detail::Detail;
use crate::error::{Error, Result};
use crate::ledger::{Charge, Ledger, UserName};
use crate::tally::Tally;

/// A metric of coordinate-sorted reads that depends on their order.
///
/// The result must not depend on where one batch ends and the next begins, because this changes
/// with memory and threads. The tally keeps everything that later reads may still change.
/// [`SharedOrderedTally`] charges this memory: [`OrderedTally::max_bytes_to_add`] before it adds a
/// piece, and [`OrderedTally::heap_bytes`] afterwards.
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
///     type Piece = Vec<i32>;
///     type Maker = Starts;
///     fn new_maker(self: &Arc<Self>) -> Starts { Starts }
///     fn usual_piece_bytes(&self) -> u64 { 1 << 16 }
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
    /// Name of the tally's memory in the ledger and in messages.
    const MEMORY: UserName;

    /// Whether [`PieceMaker::trim`] makes pieces smaller. Stages measure the longest read only if
    /// this is true.
    const TRIMS: bool = false;

    /// The contribution of one batch. The stages of a job store pieces in files.
    type Piece: Send + Serialize + DeserializeOwned + 'static;

    /// The type that makes pieces. Each thread has its own value.
    type Maker: PieceMaker<Piece = Self::Piece> + 'static;

    /// Returns a piece maker for one thread.
    fn new_maker(self: &Arc<Self>) -> Self::Maker;

    /// Returns the usual size of a piece in bytes. The plan sets aside this many bytes for each
    /// ticket in flight, so only what exceeds them is charged piece by piece.
    fn usual_piece_bytes(&self) -> u64;

    /// Returns the heap memory of a piece in bytes.
    fn piece_bytes(piece: &Self::Piece) -> u64;

    /// Returns the peak memory in bytes while `piece` is added.
    fn max_bytes_to_add(&self, _piece: &Self::Piece) -> u64 {
        0
    }

    /// Returns the memory in bytes of counts that later pieces may still change.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// Prepares the tally. Called once, before the first piece, in the process that adds the
    /// pieces.
    fn begin(&self) {}

    /// Drops all counts. Called if the output is written again because the reads turned out to be
    /// unsorted.
    ///
    /// # Errors
    /// Fails if a file that the tally writes cannot be truncated.
    fn restart(&self) -> Result<()>;

    /// Adds the next piece, in output order.
    ///
    /// # Errors
    /// Fails if a read of the piece starts before a read of an earlier piece, or a file of the
    /// tally cannot be read or written.
    fn add(&self, piece: Self::Piece) -> Result<()>;

    /// Writes data of earlier pieces that is ready to be written. Every thread calls this before it
    /// encodes its next batch, so that all threads share the work of compressing the tally's files.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    fn write_pending(&self) -> Result<()> {
        Ok(())
    }
}

/// Creates the pieces of an [`OrderedTally`] on one thread.
pub trait PieceMaker: Send {
    /// The same as [`OrderedTally::Piece`].
    type Piece;

    /// Creates the piece of a batch. Memory is charged to `charge` if it may exceed the memory of
    /// the reads in the batch.
    ///
    /// # Errors
    /// Fails if the reads are not sorted by coordinate, the reference cannot be read, or there is
    /// not enough memory.
    fn make(&mut self, batch: &Batch, charge: &mut Charge) -> Result<Self::Piece>;

    /// Removes data that no read of another piece can change, if no read of the job spans more than
    /// `max_span` reference bases. This makes the stored piece smaller, but does not change the
    /// result.
    fn trim(&self, _piece: &mut Self::Piece, _max_span: u32) {}
}

/// An [`OrderedTally`] as a trait object, with its memory charged.
pub trait DynOrderedTally: Send + Sync {
    /// Returns a batch counter for one thread.
    fn new_counter(&self) -> Box<dyn BatchCounter>;

    /// See [`OrderedTally::TRIMS`].
    fn trims(&self) -> bool;

    /// See [`OrderedTally::begin`].
    fn begin(&self);

    /// See [`OrderedTally::restart`].
    ///
    /// # Errors
    /// The same as for the method of [`OrderedTally`].
    fn restart(&self) -> Result<()>;

    /// Adds the next piece, which must come from a counter of this tally or from
    /// [`DynOrderedTally::load`].
    ///
    /// # Errors
    /// The same as for [`OrderedTally::add`], or there is not enough memory for the waiting counts.
    fn add(&self, piece: OrderedPiece) -> Result<()>;

    /// Reads a piece that [`OrderedPiece::store`] has written. Returns it with the bytes that
    /// follow it.
    ///
    /// # Errors
    /// Fails if the bytes are not a piece of this tally, or there is not enough memory for it.
    fn load<'a>(&self, bytes: &'a [u8]) -> Result<(OrderedPiece, &'a [u8])>;

    /// See [`OrderedTally::write_pending`].
    ///
    /// # Errors
    /// The same as for the method of [`OrderedTally`].
    fn write_pending(&self) -> Result<()>;
}

/// Counts the batches of one thread for one ordered tally.
pub trait BatchCounter: Send {
    /// Creates the piece of a batch and charges it. Trims it if `max_span` is given
    /// ([`PieceMaker::trim`]).
    ///
    /// # Errors
    /// The same as for [`PieceMaker::make`].
    fn count(&mut self, batch: &Batch, max_span: Option<u32>) -> Result<OrderedPiece>;
}

/// A piece of any ordered tally. It holds the charge for memory beyond the usual size of a piece.
pub struct OrderedPiece {
    piece: Box<dyn AnyPiece>,
    _charge: Charge,
}

impl OrderedPiece {
    /// Appends the piece to `bytes`, for [`DynOrderedTally::load`].
    ///
    /// # Errors
    /// Fails if the piece cannot be encoded.
    pub fn store(&self, bytes: &mut Vec<u8>) -> Result<()> {
        *bytes = self.piece.append_to(std::mem::take(bytes))?;
        Ok(())
    }
}

/// A piece whose type is known only to its tally.
trait AnyPiece: Send {
    fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>>;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<P: Send + Serialize + 'static> AnyPiece for P {
    fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        postcard::to_extend(self, bytes)
            .map_err(|error| Error::bug(format!("ordered counts cannot be stored: {error}")))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// An ordered tally with the charge for the counts that it holds.
pub struct SharedOrderedTally<T: OrderedTally> {
    tally: Arc<T>,
    /// The charge for counts beyond the size of one usual piece.
    charge: Mutex<Charge>,
    ledger: Ledger,
}

impl<T: OrderedTally> SharedOrderedTally<T> {
    /// Charges the memory of `tally` to `ledger`. A caller that needs the result keeps its own
    /// `Arc`.
    pub fn new(tally: Arc<T>, ledger: &Ledger) -> Self {
        let charge = Mutex::new(ledger.empty_charge(T::MEMORY));
        SharedOrderedTally { tally, charge, ledger: ledger.clone() }
    }

    /// Like [`SharedOrderedTally::new`], but returns a trait object for the list of tallies of a
    /// run.
    pub fn new_shared(tally: &Arc<T>, ledger: &Ledger) -> Arc<dyn DynOrderedTally> {
        Arc::new(SharedOrderedTally::new(Arc::clone(tally), ledger))
    }

    fn charge(&self) -> MutexGuard<'_, Charge> {
        self.charge.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wraps a piece. Reduces `charge`, which was charged for making the piece, to the piece's memory
/// beyond the usual size.
fn charge_piece<T: OrderedTally>(
    tally: &T,
    piece: T::Piece,
    mut charge: Charge,
) -> Result<OrderedPiece> {
    let bytes = T::piece_bytes(&piece).saturating_sub(tally.usual_piece_bytes());
    charge.charge_around(bytes, || Ok(((), bytes)))?;
    Ok(OrderedPiece { piece: Box::new(piece), _charge: charge })
}

impl<T: OrderedTally> DynOrderedTally for SharedOrderedTally<T> {
    fn new_counter(&self) -> Box<dyn BatchCounter> {
        Box::new(ChargedMaker {
            tally: Arc::clone(&self.tally),
            maker: self.tally.new_maker(),
            ledger: self.ledger.clone(),
        })
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
        // The memory of one usual piece is set aside in advance, and is enough for the tally unless
        // an unusual amount of counts waits.
        let usual = self.tally.usual_piece_bytes();
        let max = self.tally.max_bytes_to_add(&piece).saturating_sub(usual);
        charge.charge_around(max, || {
            self.tally.add(*piece)?;
            Ok(((), self.tally.heap_bytes().saturating_sub(usual)))
        })
    }

    fn load<'a>(&self, bytes: &'a [u8]) -> Result<(OrderedPiece, &'a [u8])> {
        let (piece, rest) = postcard::take_from_bytes(bytes)
            .map_err(|error| Error::bug(format!("stored {} cannot be read: {error}", T::MEMORY)))?;
        Ok((charge_piece(&*self.tally, piece, self.ledger.empty_charge(T::MEMORY))?, rest))
    }

    fn write_pending(&self) -> Result<()> {
        self.tally.write_pending()
    }
}

/// Creates the pieces of one thread and charges them.
struct ChargedMaker<T: OrderedTally> {
    tally: Arc<T>,
    maker: T::Maker,
    ledger: Ledger,
}

impl<T: OrderedTally> BatchCounter for ChargedMaker<T> {
    fn count(&mut self, batch: &Batch, max_span: Option<u32>) -> Result<OrderedPiece> {
        let mut charge = self.ledger.empty_charge(T::MEMORY);
        let mut piece = self.maker.make(batch, &mut charge)?;
        // The untrimmed piece is in memory first, so it is charged.
        charge.grow_to(T::piece_bytes(&piece).saturating_sub(self.tally.usual_piece_bytes()))?;
        if let Some(max_span) = max_span {
            self.maker.trim(&mut piece, max_span);
        }
        charge_piece(&*self.tally, piece, charge)
    }
}

/// Finds the maximum number of reference bases that a read spans, for [`PieceMaker::trim`].
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
