//! Which templates are duplicates: one look at all ends in order.

use readmill_format::spill::Spill;
use readmill_record::{Result, Stamp};

use super::Mode;
use super::collect::{Merged, Sorter};
use super::item::{self, EndKey, Fragment, Pair};

/// The verdict: a bit for each record of the input.
pub struct Marks {
    bits: Vec<u64>,
    mode: Mode,
    /// Pairs that are duplicates.
    pub pairs: u64,
    /// Single reads that are duplicates.
    pub fragments: u64,
}

impl Marks {
    /// No marks for an input of so many records.
    pub fn new(records: u64, mode: Mode) -> Self {
        Marks { bits: vec![0; records.div_ceil(64) as usize], mode, pairs: 0, fragments: 0 }
    }

    /// Bytes the marks of so many records take.
    pub fn bytes(records: u64) -> u64 {
        records.div_ceil(64) * 8
    }

    fn set(&mut self, ordinal: u64) {
        if let Some(word) = self.bits.get_mut((ordinal / 64) as usize) {
            *word |= 1 << (ordinal % 64);
        }
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the record with this stamp is marked.
    pub fn is_marked(&self, stamp: Stamp) -> bool {
        let ordinal = match self.mode {
            Mode::Template => stamp.template(),
            Mode::Coordinate => stamp.ordinal(),
        };
        self.bits.get((ordinal / 64) as usize).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    fn mark_fragment(&mut self, item: &Fragment) {
        let (ordinal, template) = item::fragment_ordinals(item);
        self.set(if self.mode == Mode::Template { template } else { ordinal });
        self.fragments += 1;
    }

    fn mark_pair(&mut self, item: &Pair) {
        let (one, two, template) = item::pair_ordinals(item);
        if self.mode == Mode::Template {
            self.set(template);
        } else {
            self.set(one);
            self.set(two);
        }
        self.pairs += 1;
    }
}

/// Marks duplicates among pairs and fragments, whose chunks must be sorted.
///
/// Pairs and paired ends are walked beside the fragments: each fragment whose end a pair has is a
/// duplicate. The first of each set is the one that stays; ties in score and location are decided by
/// place in the file: in coordinate mode that of the coordinate-sorted file (which the items'
/// order already is), in template mode that of the templates in the input.
pub fn resolve(
    pairs: Sorter<6>,
    present: Sorter<2>,
    fragments: Sorter<4>,
    spill: &Spill,
    mut marks: Marks,
) -> Result<Marks> {
    let mut fragments = Fragments { next: None, merged: fragments.merge(spill)?, set: None };
    fragments.step()?;
    let mut present = present.merge(spill)?;
    let mut other: Option<EndKey> = present.next_item()?;
    let mut pairs = pairs.merge(spill)?;
    let mut set: Option<Set<Pair>> = None;
    while let Some(pair) = pairs.next_item()? {
        if let Some(end) = item::pair_end(&pair) {
            // Paired ends up to this pair's, in order.
            while let Some(key) = other.filter(|key| *key <= end) {
                fragments.paired_end(&key, &mut marks)?;
                other = present.next_item()?;
            }
            fragments.paired_end(&end, &mut marks)?;
        }
        match &mut set {
            Some(set) if item::same_set(&set.first, &pair) => {
                let loser = set.add(pair, marks.mode, item::pairs_tie, |p| item::pair_ordinals(p).2);
                marks.mark_pair(&loser);
            }
            _ => set = Some(Set::new(pair)),
        }
    }
    while let Some(key) = other {
        fragments.paired_end(&key, &mut marks)?;
        other = present.next_item()?;
    }
    fragments.finish(&mut marks)?;
    Ok(marks)
}

/// A duplicate set as it goes by: only who stays so far is held, however many there are.
struct Set<T> {
    /// The first in order: nobody scores better.
    first: T,
    /// Who stays so far: the first, or one that ties with it.
    kept: T,
}

impl<T: Copy> Set<T> {
    fn new(first: T) -> Self {
        Set { first, kept: first }
    }

    /// Adds the next in order and gives the one that is a duplicate: the new one, unless in template
    /// mode it ties with the first and its template comes earlier in the input.
    fn add(&mut self, item: T, mode: Mode, tie: fn(&T, &T) -> bool, template: fn(&T) -> u64) -> T {
        let earlier =
            mode == Mode::Template && tie(&self.first, &item) && template(&item) < template(&self.kept);
        if earlier { std::mem::replace(&mut self.kept, item) } else { item }
    }
}

/// Fragments in order, judged set by set as paired ends go by.
struct Fragments<'a> {
    merged: Merged<'a, 4>,
    next: Option<Fragment>,
    set: Option<Set<Fragment>>,
}

impl Fragments<'_> {
    fn step(&mut self) -> Result<()> {
        self.next = self.merged.next_item()?;
        Ok(())
    }

    /// A pair has an end at `key`: sets before it are judged among themselves, the set at it is all
    /// duplicates.
    fn paired_end(&mut self, key: &EndKey, marks: &mut Marks) -> Result<()> {
        while let Some(fragment) = self.next {
            let end = item::fragment_end(&fragment);
            if end > *key {
                break;
            }
            if end == *key {
                self.set = None;
                marks.mark_fragment(&fragment);
            } else {
                self.add(fragment, marks);
            }
            self.step()?;
        }
        Ok(())
    }

    fn add(&mut self, fragment: Fragment, marks: &mut Marks) {
        let end = item::fragment_end(&fragment);
        match &mut self.set {
            Some(set) if item::fragment_end(&set.first) == end => {
                let template = |fragment: &Fragment| item::fragment_ordinals(fragment).1;
                let loser = set.add(fragment, marks.mode, item::fragments_tie, template);
                marks.mark_fragment(&loser);
            }
            _ => self.set = Some(Set::new(fragment)),
        }
    }

    fn finish(&mut self, marks: &mut Marks) -> Result<()> {
        while let Some(fragment) = self.next {
            self.add(fragment, marks);
            self.step()?;
        }
        Ok(())
    }
}
