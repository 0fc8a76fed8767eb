//! The memory limit of a run: every large allocation is charged to a ledger before it is made.
//!
//! The program promises to stay within one number (`-m`). So everything that grows with the input (a
//! header, known sites, the reads) is charged to a [`Ledger`] under a name that a user understands. If
//! the bytes are not free, the error names the largest users and the `-m` that would be enough.
//!
//! ```text
//!  Ledger ─ Ledger ─ Ledger         clones share one sum and its list of users
//!     │ charge(name, bytes)         fails if the bytes are not free
//!     ▼
//!  Charge                           kept as the last field next to the memory it pays for
//!     │ grow, resize, move_to       an upper bound becomes the true size
//!     ▼ drop                        the bytes are free again
//! ```
//!
//! Charges are made for a chunk, a file or a table, never for a record. The ledger never blocks a
//! thread: the caller whose charge is refused decides what to do (write reads to disk, wait for tickets
//! in flight, or return the error).

pub mod audit;
mod share_use;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
pub use share_use::ShareUse;

/// The name of a memory user, as it appears in messages and in the summary of a run.
pub type UserName = &'static str;

/// The memory that a run may use, and how much of it each user has. Clones share one ledger.
///
/// ```
/// use readmill_record::Ledger;
///
/// let ledger = Ledger::with_capacity(1000);
/// let header = ledger.charge("headers", 700)?;
/// let refused = ledger.charge("known sites", 400).unwrap_err();
/// assert!(refused.what.starts_with("known sites"));
/// drop(header); // gives its bytes back
/// assert!(ledger.charge("known sites", 400).is_ok());
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone)]
pub struct Ledger {
    state: Arc<LedgerState>,
}

struct LedgerState {
    capacity: u64,
    sums: Mutex<LedgerSums>,
}

#[derive(Default)]
struct LedgerSums {
    used: u64,
    reserved: u64,
    peak: u64,
    users: Vec<LedgerUser>,
    /// Bytes that only the users in `keepers` may take ([`Ledger::keep_free_for`]). `used_by_keepers` is
    /// the sum of the bytes that these users have, and `kept_share` is the number of equal parts in the
    /// divided memory, one of which is `kept_bytes`.
    kept_bytes: u64,
    keepers: Vec<UserName>,
    used_by_keepers: u64,
    kept_share: u64,
}

struct LedgerUser {
    name: UserName,
    used: u64,
    reserved: u64,
    at_peak: u64,
    /// Largest use reported by [`Ledger::record_used`], for a user whose share was charged in advance.
    noted_use: Option<u64>,
}

/// Maximum increase of `-m`, in bytes, that a refusal suggests in addition to what is needed. The
/// increase is an eighth of the capacity, which for a large `-m` may be more than the machine has left.
const MAX_STEP: u64 = 64 << 20;

impl Ledger {
    pub fn with_capacity(capacity: u64) -> Self {
        Ledger { state: Arc::new(LedgerState { capacity, sums: Mutex::default() }) }
    }

    /// Returns a ledger that refuses nothing, for tools and tests.
    pub fn unlimited() -> Self {
        Ledger::with_capacity(u64::MAX)
    }

    /// Charges `bytes` before they are allocated.
    ///
    /// # Errors
    /// Fails if the bytes are not free. The message names the user, the free memory, the largest users,
    /// and the `-m` that would be enough.
    pub fn charge(&self, name: UserName, bytes: u64) -> Result<Charge> {
        self.try_charge(name, bytes).ok_or_else(|| self.shortage_error(name, bytes))
    }

    /// Charges `bytes`, or returns `None` if they are not free. For callers with an alternative, such as
    /// writing reads to disk.
    #[must_use]
    pub fn try_charge(&self, name: UserName, bytes: u64) -> Option<Charge> {
        let mut charge = self.empty_charge(name);
        charge.try_grow(bytes).then_some(charge)
    }

    /// Charges `bytes`, an upper bound, or returns `None` if they are not free. Only `expected` of them
    /// count as in use at first; the rest count once they are moved to another charge
    /// ([`Charge::move_to`]), so that the reported peak does not include memory that was never used.
    #[must_use]
    pub fn try_reserve(&self, name: UserName, bytes: u64, expected: u64) -> Option<Charge> {
        let mut sums = self.lock_sums();
        if !sums.has_room_for(name, bytes, self.capacity()) {
            return None;
        }
        let idle = bytes.saturating_sub(expected);
        sums.set_reserved(name, 0, idle); // before the bytes are taken, so that they do not raise the peak
        sums.add_bytes(name, bytes);
        Some(Charge { ledger: self.clone(), name, bytes, reserved: idle })
    }

    /// Keeps `bytes` free for the users `keepers`, which may also take other free bytes. Otherwise,
    /// reads that wait to be sorted would take all memory before these users start.
    ///
    /// `bytes` must be one of `share` equal parts of the divided memory, so that a refusal can tell how
    /// much larger `-m` must be.
    pub fn keep_free_for(&self, bytes: u64, share: u64, keepers: Vec<UserName>) {
        let mut sums = self.lock_sums();
        (sums.kept_bytes, sums.kept_share, sums.keepers) = (bytes, share, keepers);
    }

    pub fn empty_charge(&self, name: UserName) -> Charge {
        Charge { ledger: self.clone(), name, bytes: 0, reserved: 0 }
    }

    pub fn capacity(&self) -> u64 {
        self.state.capacity
    }

    pub fn used(&self) -> u64 {
        self.lock_sums().used
    }

    /// Returns the largest number of bytes that were in use at once. Reserved bytes count from the
    /// moment they are used.
    pub fn peak(&self) -> u64 {
        self.lock_sums().peak
    }

    /// Returns the bytes that any user could still charge, excluding bytes kept for the keepers.
    pub fn free(&self) -> u64 {
        let sums = self.lock_sums();
        self.capacity().saturating_sub(sums.used).saturating_sub(sums.unused_kept_bytes())
    }

    /// Returns each memory user with its bytes at the peak, in the order of the users' first charges,
    /// for the summary of a run.
    pub fn users_at_peak(&self) -> Vec<(UserName, u64)> {
        let at_peak =
            |user: &LedgerUser| (user.name, user.at_peak.min(user.noted_use.unwrap_or(u64::MAX)));
        self.lock_sums().users.iter().map(at_peak).collect()
    }

    /// Records that a user, whose share was charged in advance, has used `bytes` of it.
    /// [`Ledger::users_at_peak`] lists the maximum. The charge itself does not change.
    pub fn record_used(&self, name: UserName, bytes: u64) {
        let mut sums = self.lock_sums();
        let noted = &mut sums.user_mut(name).noted_use;
        *noted = Some(noted.map_or(bytes, |before| before.max(bytes)));
    }

    /// Returns the error for `bytes` that are not free.
    ///
    /// Its hint names an `-m` that is enough for this charge, and at least an eighth (up to 64 MiB) more
    /// than the present one, so that a user does not get one refusal after another.
    pub fn shortage_error(&self, name: UserName, bytes: u64) -> Error {
        let sums = self.lock_sums();
        let mut users: Vec<&LedgerUser> =
            sums.users.iter().filter(|user| user.used >= 1 << 20).collect();
        users.sort_by_key(|user| std::cmp::Reverse(user.used));
        let users = users.iter().take(3).map(|user| format!("{} {}", user.name, user.used >> 20));
        let users = Vec::from_iter(users).join(", ");
        let users = if users.is_empty() { users } else { format!(" (in use: {users})") };
        let kept_back = if sums.keepers.contains(&name) { 0 } else { sums.unused_kept_bytes() };
        let free = self.capacity().saturating_sub(sums.used).saturating_sub(kept_back) >> 20;
        let mut min_capacity = sums.used.saturating_add(bytes).saturating_add(kept_back);
        if sums.keepers.contains(&name) {
            // Reads that wait to be sorted take all free memory, so only the kept part of any additional
            // memory counts.
            let lacks = sums.used_by_keepers.saturating_add(bytes).saturating_sub(sums.kept_bytes);
            min_capacity =
                min_capacity.max(self.capacity().saturating_add(lacks.saturating_mul(sums.kept_share)));
        }
        // Many small charges may follow this one, so the step is not smaller than this.
        let step = (self.capacity() / 8).min(MAX_STEP);
        let min_mib = mib_rounded_up(min_capacity.max(self.capacity().saturating_add(step)));
        let (bytes, capacity) = (mib_rounded_up(bytes), self.capacity() >> 20);
        Error::usage(format!(
            "{name}: needs {bytes} MiB, but only {free} MiB of {capacity} MiB are free{users}"
        ))
        .hint(format!("raise -m to {min_mib}M or more"))
    }

    fn lock_sums(&self) -> MutexGuard<'_, LedgerSums> {
        self.state.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger::unlimited()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledger({} of {})", self.used(), self.capacity())
    }
}

fn mib_rounded_up(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

impl LedgerSums {
    fn user_mut(&mut self, name: UserName) -> &mut LedgerUser {
        let at = self.users.iter().position(|user| user.name == name).unwrap_or_else(|| {
            self.users.push(LedgerUser { name, used: 0, reserved: 0, at_peak: 0, noted_use: None });
            self.users.len() - 1
        });
        &mut self.users[at]
    }

    fn unused_kept_bytes(&self) -> u64 {
        self.kept_bytes.saturating_sub(self.used_by_keepers)
    }

    fn has_room_for(&self, name: UserName, bytes: u64, capacity: u64) -> bool {
        let is_keeper = self.kept_bytes > 0 && self.keepers.contains(&name);
        let kept_back = if is_keeper { 0 } else { self.unused_kept_bytes() };
        let sum = self.used.checked_add(bytes).and_then(|sum| sum.checked_add(kept_back));
        sum.is_some_and(|sum| sum <= capacity)
    }

    fn add_bytes(&mut self, name: UserName, bytes: u64) {
        audit::add_charged(bytes);
        if self.keepers.contains(&name) {
            self.used_by_keepers = self.used_by_keepers.saturating_add(bytes);
        }
        self.used = self.used.saturating_add(bytes);
        let user = self.user_mut(name);
        user.used = user.used.saturating_add(bytes);
        self.update_peak();
    }

    fn update_peak(&mut self) {
        let in_use = self.used - self.reserved;
        if in_use > self.peak {
            self.peak = in_use;
            self.users.iter_mut().for_each(|user| user.at_peak = user.used - user.reserved);
        }
    }

    fn set_reserved(&mut self, name: UserName, before: u64, idle: u64) {
        self.reserved = self.reserved - before + idle;
        let user = self.user_mut(name);
        user.reserved = user.reserved - before + idle;
    }

    fn release_bytes(&mut self, name: UserName, bytes: u64, idle: &mut u64) {
        audit::subtract_charged(bytes);
        if self.keepers.contains(&name) {
            self.used_by_keepers = self.used_by_keepers.saturating_sub(bytes);
        }
        self.set_reserved(name, *idle, idle.saturating_sub(bytes));
        *idle = idle.saturating_sub(bytes);
        let user = self.user_mut(name);
        debug_assert!(user.used >= bytes, "{name} gives back {bytes} bytes of {}", user.used);
        user.used = user.used.saturating_sub(bytes);
        self.used = self.used.saturating_sub(bytes);
    }
}

/// Bytes charged to a [`Ledger`]. They are free again when the charge is dropped.
///
/// The owner of the memory also owns the charge, as its last field: Rust drops fields in order, so the
/// memory is freed before its bytes become available to others.
///
/// ```
/// use readmill_record::{Charge, Ledger};
///
/// struct Names {
///     list: Vec<String>,
///     _charge: Charge, // dropped after `list`
/// }
///
/// let ledger = Ledger::with_capacity(1 << 20);
/// let mut charge = ledger.charge("names", 4096)?; // an upper bound, before the allocation
/// let list = vec![String::from("chr1")];
/// charge.resize(64); // the true size
/// let names = Names { list, _charge: charge };
/// assert_eq!((names.list.len(), ledger.used()), (1, 64));
/// drop(names);
/// assert_eq!(ledger.used(), 0);
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[must_use = "a charge that is dropped gives its bytes back"]
pub struct Charge {
    ledger: Ledger,
    name: UserName,
    bytes: u64,
    reserved: u64,
}

impl Charge {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Charges `more` bytes before they are allocated.
    ///
    /// # Errors
    /// Fails if they are not free (see [`Ledger::charge`]).
    pub fn grow(&mut self, more: u64) -> Result<()> {
        if self.try_grow(more) { Ok(()) } else { Err(self.shortage_error(more)) }
    }

    /// Raises the charge to `bytes` before they are allocated. Does nothing if the charge is already
    /// this large.
    ///
    /// # Errors
    /// Fails if the bytes are not free. A table that grows in steps will grow again, so the hint asks
    /// for the present size once more.
    pub fn grow_to(&mut self, bytes: u64) -> Result<()> {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 || self.try_grow(more) {
            Ok(())
        } else {
            Err(self.shortage_error(more.max(self.bytes)))
        }
    }

    /// Runs `step` with a charge of at least `max_bytes` bytes, the maximum that the step has in
    /// use at any time. Then sets the charge to the bytes that the step returns with its result.
    ///
    /// # Errors
    /// Fails if the bytes are not free (see [`Charge::grow_to`]) or the step fails.
    pub fn charge_around<T>(
        &mut self,
        max_bytes: u64,
        step: impl FnOnce() -> Result<(T, u64)>,
    ) -> Result<T> {
        self.grow_to(max_bytes)?;
        let (done, bytes) = step()?;
        self.resize(bytes);
        Ok(done)
    }

    pub fn shortage_error(&self, more: u64) -> Error {
        self.ledger.shortage_error(self.name, more)
    }

    /// Charges `more` bytes and returns true, or changes nothing and returns false if they are not free.
    #[must_use]
    pub fn try_grow(&mut self, more: u64) -> bool {
        let mut sums = self.ledger.lock_sums();
        let fits = sums.has_room_for(self.name, more, self.ledger.capacity());
        if fits {
            sums.add_bytes(self.name, more);
            self.bytes += more;
        }
        fits
    }

    /// Reserves all free bytes, so that no other user takes them. [`Charge::set_used`] then sets how
    /// many are in use. Duplicate marking does this once all input has been read.
    pub fn reserve_all_free(&mut self) {
        let mut sums = self.ledger.lock_sums();
        let more =
            self.ledger.capacity().saturating_sub(sums.used).saturating_sub(sums.unused_kept_bytes());
        sums.set_reserved(self.name, 0, more); // before the bytes are taken, so that they do not raise the peak
        sums.add_bytes(self.name, more);
        self.bytes += more;
        self.reserved += more;
    }

    /// Sets how many of the charged bytes are in use, for the reported peak. The charge itself does not
    /// change.
    pub fn set_used(&mut self, bytes: u64) {
        let idle = self.bytes.saturating_sub(bytes);
        let mut sums = self.ledger.lock_sums();
        sums.set_reserved(self.name, self.reserved, idle);
        sums.update_peak();
        self.reserved = idle;
    }

    /// Sets the charge to `bytes`. A larger charge is accepted even if the bytes are not free, because
    /// the memory is allocated already.
    ///
    /// Prefer to charge an upper bound first ([`Charge::charge_around`]) or to use [`Charge::grow_to`].
    /// The audit of debug builds fails a run that exceeds its ledger here.
    pub fn resize(&mut self, bytes: u64) {
        if bytes == self.bytes {
            return;
        }
        let mut sums = self.ledger.lock_sums();
        match bytes.checked_sub(self.bytes) {
            Some(more) => {
                sums.add_bytes(self.name, more);
                audit::note_overdraft(sums.used.saturating_sub(self.ledger.capacity()));
            }
            None => sums.release_bytes(self.name, self.bytes - bytes, &mut self.reserved),
        }
        self.bytes = bytes;
    }

    /// Sets `to` to `bytes`, and takes the increase from this charge as far as possible. The moved bytes
    /// are never free in between, so no other user can take them.
    pub fn move_to(&mut self, to: &mut Charge, bytes: u64) {
        let mut sums = self.ledger.lock_sums();
        let moved = bytes.saturating_sub(to.bytes).min(self.bytes);
        sums.release_bytes(self.name, moved, &mut self.reserved);
        sums.add_bytes(to.name, moved);
        drop(sums);
        self.bytes -= moved;
        to.bytes += moved;
        to.resize(bytes);
    }

    pub fn absorb_charge(&mut self, mut other: Charge) {
        let all = self.bytes.saturating_add(other.bytes);
        other.move_to(self, all);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.resize(0);
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charge({}: {})", self.name, self.bytes)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests start threads of their own")]
mod tests {
    use super::*;

    #[test]
    fn a_charge_fits_or_changes_nothing() {
        let ledger = Ledger::with_capacity(100);
        let first = ledger.charge("a", 60).unwrap();
        assert!(ledger.try_charge("b", 41).is_none());
        assert!(ledger.try_charge("b", u64::MAX).is_none());
        assert_eq!((ledger.used(), ledger.free()), (60, 40));
        let second = ledger.charge("b", 40).unwrap();
        assert_eq!((ledger.used(), ledger.peak(), ledger.capacity()), (100, 100, 100));
        drop((first, second));
        assert_eq!((ledger.used(), ledger.peak()), (0, 100));
        assert_eq!(ledger.users_at_peak(), [("a", 60), ("b", 40)]);
    }

    #[test]
    fn what_is_refused_names_the_least_memory_and_the_largest_users() {
        let ledger = Ledger::with_capacity(200 << 20);
        let held: Vec<Charge> = [("threads", 2), ("headers", 90), ("known sites", 50), ("program", 12)]
            .map(|(name, mib)| ledger.charge(name, mib << 20).unwrap())
            .into();
        let error = ledger.charge("regions", 100 << 20).unwrap_err();
        assert_eq!(
            error.to_string(),
            "regions: needs 100 MiB, but only 46 MiB of 200 MiB are free (in use: headers 90, known sites 50, \
             program 12); raise -m to 254M or more"
        );
        drop(held);
        assert!(ledger.charge("regions", 100 << 20).is_ok());
    }

    #[test]
    fn sizes_become_what_they_are() {
        let ledger = Ledger::with_capacity(100);
        let (mut a, mut b) = (ledger.charge("a", 80).unwrap(), ledger.empty_charge("b"));
        a.resize(30);
        assert_eq!(ledger.used(), 30);
        a.resize(130);
        assert_eq!((ledger.used(), ledger.peak(), ledger.free()), (130, 130, 0));
        assert!(!b.try_grow(1));
        a.move_to(&mut b, 50); // taken from a
        assert_eq!((a.bytes(), b.bytes(), ledger.used()), (80, 50, 130));
        a.move_to(&mut b, 20); // less than before: the rest is free, and a keeps its own
        assert_eq!((a.bytes(), b.bytes(), ledger.used()), (80, 20, 100));
        a.move_to(&mut b, 120); // more than a has
        assert_eq!((a.bytes(), b.bytes(), ledger.used()), (0, 120, 120));
        a.absorb_charge(b);
        assert_eq!((a.bytes(), ledger.used()), (120, 120));
        drop(a);
        assert_eq!(ledger.used(), 0);
    }

    #[test]
    fn a_step_is_charged_before_it_is_done_and_refused_with_as_much_again() {
        let ledger = Ledger::with_capacity(100 << 20);
        let mut charge = ledger.charge("names", 30 << 20).unwrap();
        charge.grow_to(10 << 20).unwrap();
        assert_eq!(charge.bytes(), 30 << 20);
        let seen = charge.charge_around(90 << 20, || Ok((ledger.used() >> 20, 50 << 20))).unwrap();
        assert_eq!((seen, charge.bytes() >> 20), (90, 50));
        let error = charge
            .charge_around(101 << 20, || -> Result<((), u64)> { panic!("is not done") })
            .unwrap_err();
        assert!(error.to_string().ends_with("raise -m to 113M or more"), "{error}");
        let error = charge.grow_to(101 << 20).unwrap_err();
        assert!(error.to_string().starts_with("names: needs 51 MiB"), "{error}");
        charge.resize(90 << 20);
        let error = charge.grow_to(101 << 20).unwrap_err();
        assert!(error.to_string().ends_with("raise -m to 180M or more"), "as much again: {error}");
    }

    #[test]
    fn what_is_kept_for_some_users_is_not_free_for_others() {
        let ledger = Ledger::with_capacity(100 << 20);
        ledger.keep_free_for(10 << 20, 8, vec!["coverage"]);
        assert_eq!(ledger.free(), 90 << 20);
        assert!(ledger.try_charge("reads", 91 << 20).is_none());
        let reads = ledger.charge("reads", 90 << 20).unwrap();
        let mut coverage = ledger.charge("coverage", 4 << 20).unwrap();
        assert_eq!((ledger.free(), ledger.used()), (0, 94 << 20));
        let error = ledger.charge("reads", 1 << 20).unwrap_err();
        assert!(error.to_string().ends_with("raise -m to 113M or more"), "{error}");
        let error = coverage.grow_to(20 << 20).unwrap_err();
        // 20 MiB in all would be kept of 80 MiB more.
        assert!(error.to_string().ends_with("raise -m to 180M or more"), "{error}");
        drop(reads);
        coverage.grow_to(20 << 20).unwrap();
        assert_eq!(ledger.free(), 80 << 20, "more than is kept");
        drop(coverage);
        assert_eq!((ledger.free(), ledger.used()), (90 << 20, 0));
    }

    #[test]
    fn what_is_set_aside_counts_as_used_once_it_is() {
        let ledger = Ledger::with_capacity(100);
        let (mut a, b) = (ledger.charge("a", 10).unwrap(), ledger.charge("b", 20).unwrap());
        a.reserve_all_free();
        assert_eq!((a.bytes(), ledger.free(), ledger.peak()), (80, 0, 30));
        assert!(ledger.try_charge("b", 1).is_none());
        a.set_used(35);
        a.set_used(15);
        assert_eq!((ledger.used(), ledger.peak()), (100, 55));
        assert_eq!(ledger.users_at_peak(), [("a", 35), ("b", 20)]);
        let mut c = ledger.empty_charge("c");
        a.move_to(&mut c, 50); // taken from the idle bytes
        assert_eq!((a.bytes(), c.bytes(), ledger.free(), ledger.peak()), (30, 50, 0, 85));
        assert_eq!(ledger.users_at_peak(), [("a", 15), ("b", 20), ("c", 50)]);
        drop((a, b, c));
        assert_eq!((ledger.used(), ledger.peak()), (0, 85));
        assert!(ledger.charge("a", 100).is_ok());
        assert_eq!(ledger.peak(), 100);
    }

    #[test]
    fn what_is_reserved_counts_as_used_as_far_as_expected() {
        let ledger = Ledger::with_capacity(100);
        let (mut a, mut b) = (ledger.try_reserve("a", 80, 30).unwrap(), ledger.empty_charge("b"));
        assert!(ledger.try_reserve("a", 21, 0).is_none());
        assert_eq!((ledger.used(), ledger.free(), ledger.peak()), (80, 20, 30));
        a.move_to(&mut b, 40); // of those that count as free until then
        assert_eq!((ledger.used(), ledger.peak()), (80, 70));
        drop((a, b));
        assert_eq!(ledger.used(), 0);
    }

    #[test]
    fn threads_together_never_exceed_the_capacity() {
        let ledger = Ledger::with_capacity(10);
        std::thread::scope(|scope| {
            for bytes in 1..=4 {
                let ledger = &ledger;
                scope.spawn(move || (0..10_000).for_each(|_| drop(ledger.try_charge("x", bytes))));
            }
        });
        assert_eq!(ledger.used(), 0);
        assert!(ledger.peak() <= 10);
    }
}
