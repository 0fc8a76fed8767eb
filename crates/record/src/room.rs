//! Lists and small blocks that grow with the input and are charged to the ledger before they grow.

use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::ledger::Charge;

/// Bytes that are charged in advance, so that small blocks do not each lock the ledger.
const PREPAID_BYTES: u64 = 64 << 10;

/// A charge for many small blocks, such as names. It takes 64 KiB at a time from the ledger.
///
/// ```
/// use readmill_record::{Ledger, Prepaid};
///
/// let ledger = Ledger::with_capacity(1 << 20);
/// let mut prepaid = Prepaid::new(ledger.empty_charge("names"));
/// prepaid.pay_block(20)?; // then allocate the 20 bytes
/// assert!(ledger.used() > 20);
/// drop(prepaid.into_charge());
/// assert_eq!(ledger.used(), 0);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Prepaid {
    charge: Charge,
    left: u64,
}

impl Prepaid {
    pub fn new(charge: Charge) -> Self {
        Prepaid { charge, left: 0 }
    }

    /// Pays for a block of `bytes` and the allocator's overhead before the block is allocated.
    ///
    /// # Errors
    /// Fails if the bytes are not free (see [`Charge::grow`]).
    #[inline]
    pub fn pay_block(&mut self, bytes: usize) -> Result<()> {
        let bytes = (bytes + MAX_ALLOCATOR_OVERHEAD) as u64;
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.pay_ahead(bytes)?,
        }
        Ok(())
    }

    #[cold]
    fn pay_ahead(&mut self, bytes: u64) -> Result<()> {
        let more = bytes - self.left + PREPAID_BYTES;
        if !self.charge.try_grow(more) {
            return Err(self.charge.shortage_error(more.max(self.charge.bytes()))); // asks for twice the present size
        }
        self.left = PREPAID_BYTES;
        Ok(())
    }

    pub fn into_charge(self) -> Charge {
        self.charge
    }

    pub fn charge_mut(&mut self) -> &mut Charge {
        &mut self.charge
    }
}

/// A charge that all threads of a tally share. Each thread takes 64 KiB at a time.
pub struct SharedPrepaid(Mutex<Charge>);

impl SharedPrepaid {
    pub fn new(charge: Charge) -> Self {
        SharedPrepaid(Mutex::new(charge))
    }

    /// Pays for `bytes` before they are allocated, first from `left`, the bytes that this thread has
    /// already paid for.
    ///
    /// # Errors
    /// Fails if the bytes are not free (see [`Charge::grow_to`]).
    #[inline]
    pub fn pay_bytes(&self, left: &mut u64, bytes: u64) -> Result<()> {
        match left.checked_sub(bytes) {
            Some(less) => *left = less,
            None => self.pay_ahead(left, bytes)?,
        }
        Ok(())
    }

    #[cold]
    fn pay_ahead(&self, left: &mut u64, bytes: u64) -> Result<()> {
        let mut charge = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = charge.bytes() + bytes - *left + PREPAID_BYTES;
        charge.grow_to(all)?;
        *left = PREPAID_BYTES;
        Ok(())
    }
}

/// Maximum overhead in bytes that the allocator adds to an allocation.
const MAX_ALLOCATOR_OVERHEAD: usize = 16;

/// Makes room in `list` for `more` elements, and charges them before the allocation.
///
/// The capacity doubles if that much memory is free; otherwise it grows only by the needed elements.
/// Several lists may share a charge.
///
/// # Errors
/// Fails if not even the needed elements are free (see [`Charge::grow`]).
///
/// ```
/// use readmill_record::{Ledger, make_room};
///
/// let ledger = Ledger::with_capacity(1000);
/// let mut charge = ledger.empty_charge("numbers");
/// let mut list = Vec::new();
/// for number in 0..100u64 {
///     make_room(&mut list, 1, &mut charge)?;
///     list.push(number);
/// }
/// assert!((800..=1000).contains(&ledger.used()));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[inline]
pub fn make_room<T>(list: &mut Vec<T>, more: usize, charge: &mut Charge) -> Result<()> {
    if list.capacity() - list.len() >= more { Ok(()) } else { grow_list(list, more, charge) }
}

#[cold]
fn grow_list<T>(list: &mut Vec<T>, more: usize, charge: &mut Charge) -> Result<()> {
    let needed = list.len().saturating_add(more);
    let twice = needed.max(2 * list.capacity());
    if try_grow_list(list, twice, charge) || try_grow_list(list, needed, charge) {
        return Ok(());
    }
    // The final length of the list is unknown, so the refusal asks for twice the present size.
    Err(charge.shortage_error(growth_bytes(list, twice)))
}

fn try_grow_list<T>(list: &mut Vec<T>, capacity: usize, charge: &mut Charge) -> bool {
    let free = charge.try_grow(growth_bytes(list, capacity));
    if free {
        list.reserve_exact(capacity - list.len());
    }
    free
}

fn growth_bytes<T>(list: &Vec<T>, capacity: usize) -> u64 {
    let beside = if list.capacity() == 0 { MAX_ALLOCATOR_OVERHEAD } else { 0 };
    ((capacity - list.capacity()) as u64).saturating_mul(size_of::<T>() as u64) + beside as u64
}

/// Returns the number of slots of the new table if a hash table of `len` entries must grow to take
/// `more`, or 0 if they fit. Both tables exist while the table grows. `capacity` is the capacity that
/// the map or set reports.
pub fn extra_slots_to_grow(capacity: usize, len: usize, more: usize) -> usize {
    let needed = len.saturating_add(more);
    if needed <= capacity { 0 } else { table_slots(needed.max(capacity + 1)) }
}

/// Returns the number of slots of a hash table for `entries` entries (std and hashbrown fill a table to
/// seven eighths). Each slot takes the size of an entry plus one byte.
pub fn table_slots(entries: usize) -> usize {
    match entries {
        0 => 0,
        1..4 => 4,
        4..8 => 8,
        _ => (entries.saturating_mul(8) / 7).next_power_of_two(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    #[test]
    fn small_blocks_are_paid_ahead() {
        let ledger = Ledger::with_capacity(3 * PREPAID_BYTES);
        let mut prepaid = Prepaid::new(ledger.empty_charge("names"));
        let mut paid = 0;
        while prepaid.pay_block(84).is_ok() {
            paid += 100;
            assert!((paid..=paid + PREPAID_BYTES).contains(&ledger.used()), "{paid}");
        }
        assert!(paid > 2 * PREPAID_BYTES - 100);
        drop(prepaid.into_charge());
        assert_eq!(ledger.used(), 0);
    }

    #[test]
    fn threads_pay_ahead_from_one_charge() {
        let ledger = Ledger::with_capacity(3 * PREPAID_BYTES);
        let paid = SharedPrepaid::new(ledger.empty_charge("groups"));
        let (mut one, mut other) = (0, 0);
        paid.pay_bytes(&mut one, 100).unwrap();
        paid.pay_bytes(&mut other, 100).unwrap();
        assert_eq!((one, other, ledger.used()), (PREPAID_BYTES, PREPAID_BYTES, 2 * PREPAID_BYTES + 200));
        paid.pay_bytes(&mut one, PREPAID_BYTES - 1).unwrap();
        assert_eq!((one, ledger.used()), (1, 2 * PREPAID_BYTES + 200));
        assert!(paid.pay_bytes(&mut one, 2).is_err());
    }

    #[test]
    fn tables_are_as_large_as_is_foretold() {
        let mut map = std::collections::HashMap::new();
        for n in 0..100_000 {
            let slots = extra_slots_to_grow(map.capacity(), map.len(), 1);
            let before = map.capacity();
            map.insert(n, ());
            // A table is filled to seven eighths.
            let filled = if map.capacity() < 8 { map.capacity() + 1 } else { map.capacity() * 8 / 7 };
            assert_eq!(slots, if map.capacity() == before { 0 } else { filled }, "{n}");
        }
        assert_eq!((table_slots(0), table_slots(14), table_slots(15)), (0, 16, 32));
    }

    #[test]
    fn a_list_doubles_while_that_is_free_and_then_grows_to_the_last_byte() {
        let ledger = Ledger::with_capacity(100 + MAX_ALLOCATOR_OVERHEAD as u64);
        let (mut list, mut charge) = (Vec::<u32>::new(), ledger.empty_charge("numbers"));
        for n in 0..25 {
            make_room(&mut list, 1, &mut charge).unwrap();
            list.push(n);
            assert_eq!(charge.bytes(), (list.capacity() * 4 + MAX_ALLOCATOR_OVERHEAD) as u64);
        }
        assert_eq!((list.capacity(), ledger.free()), (25, 0));
        let error = make_room(&mut list, 1, &mut charge).unwrap_err();
        assert!(error.what.starts_with("numbers"), "{error}");
        assert_eq!(list.capacity(), 25);
    }
}
