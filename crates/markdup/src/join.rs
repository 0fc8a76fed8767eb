//! Joins by name the mates that were not adjacent.

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::collect::Sorter;
use super::ends::{Noting, Pending, meet};
use super::held::Items;
use super::item::{self, Kind, Order, Read, Shape};
use super::libraries::Libraries;
use super::rules::Rules;

/// Joins halves by name.
pub struct Join<'a> {
    /// Read groups and libraries.
    pub libraries: &'a Libraries,
    /// The rules for the code of a pair.
    pub rules: &'a Rules,
    /// The spill.
    pub spill: &'a Spill,
}

/// Halves between two checks whether to spill.
const RELIEF: u64 = 1 << 16;

/// Pairs of numbers: the first record of a template, and a record of it.
pub type Members = Sorter<[u64; 2]>;

impl Join<'_> {
    /// Joins the halves of each name in the order of a coordinate-sorted file. `relieve` is called regularly,
    /// so that the joined items can be spilled.
    pub fn by_place<S: Shape>(
        &self,
        items: &mut Items<S>,
        mut relieve: impl FnMut(&mut Items<S>) -> Result<()>,
    ) -> Result<()> {
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let mut pending = Pending::new();
        let (mut previous, mut joined) = (None, 0u64);
        while let Some(half) = halves.next_item()? {
            let name = item::half_name::<S>(&half);
            if previous.replace(name) != Some(name) {
                self.leave(&mut pending, items);
            }
            let (_, read) = self.read::<S>(&half, Order::Place);
            self.meet(&mut pending, 0, read, items);
            joined += 1;
            if joined.is_multiple_of(RELIEF) {
                relieve(items)?;
            }
        }
        self.leave(&mut pending, items);
        Ok(())
    }

    /// Stores the ends of all halves as paired ends: none of them has a mate.
    pub fn alone<S: Shape>(
        &self,
        items: &mut Items<S>,
        noting: Noting,
        mut relieve: impl FnMut(&mut Items<S>) -> Result<()>,
    ) -> Result<()> {
        let order = if noting == Noting::Linked { Order::Input } else { Order::Place };
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let mut noted = 0u64;
        while let Some(half) = halves.next_item()? {
            self.stay_alone(&self.read::<S>(&half, order).1, items);
            noted += 1;
            if noted.is_multiple_of(RELIEF) {
                relieve(items)?;
            }
        }
        Ok(())
    }

    /// Joins the halves of each name in the order of the input, as if they were adjacent there. Returns the
    /// records of each template.
    pub fn by_input<S: Shape>(
        &self,
        items: &mut Items<S>,
        mut relieve: impl FnMut(&mut Items<S>, &mut Members) -> Result<()>,
    ) -> Result<Members> {
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let (mut pending, mut members) = (Pending::new(), Members::default());
        let (mut previous, mut template, mut led, mut joined) = (None, 0, false, 0u64);
        while let Some(half) = halves.next_item()? {
            let name = item::half_name::<S>(&half);
            let (kind, read) = self.read::<S>(&half, Order::Input);
            if previous.replace(name) != Some(name) {
                self.leave(&mut pending, items);
                template = read.ordinal;
                led = kind != Kind::Bystander;
            }
            members.push([template, read.ordinal]);
            // From here on the template's first record represents all of it.
            let (group, read) = (read.read_group.into(), Read { ordinal: template, led, ..read });
            match kind {
                Kind::Bystander => {}
                Kind::Alone => items.fragments.push(self.rules.fragment::<S>(&read)),
                Kind::Paired => {
                    if read.next_ref_id < 0 {
                        items.fragments.push(self.rules.fragment::<S>(&read));
                    }
                    self.meet(&mut pending, group, read, items);
                }
            }
            joined += 1;
            if joined.is_multiple_of(RELIEF) {
                relieve(items, &mut members)?;
            }
        }
        self.leave(&mut pending, items);
        Ok(members)
    }

    /// Joins the halves of each name in the order of the input, where most templates are grouped;
    /// `stretches`, which are sorted, say where each name group begins.
    pub fn linked<S: Shape>(
        &self,
        items: &mut Items<S>,
        stretches: &Sorter<[u64; 3]>,
        mut relieve: impl FnMut(&mut Items<S>) -> Result<()>,
    ) -> Result<()> {
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let mut stretches = stretches.merge(self.spill)?;
        let mut pending = Pending::new();
        let (mut previous, mut template, mut joined) = (None, 0, 0u64);
        while let Some(half) = halves.next_item()? {
            let name = item::half_name::<S>(&half);
            if previous.replace(name) != Some(name) {
                self.leave(&mut pending, items);
                while let Some([high, low, first]) = stretches.next_item()? {
                    if [high, low] >= name {
                        template = first;
                        break;
                    }
                }
            }
            let (_, read) = self.read::<S>(&half, Order::Input);
            let read = Read { ordinal: template >> 1, led: template & 1 == 1, ..read };
            self.meet(&mut pending, read.read_group.into(), read, items);
            joined += 1;
            if joined.is_multiple_of(RELIEF) {
                relieve(items)?;
            }
        }
        self.leave(&mut pending, items);
        Ok(())
    }

    fn read<S: Shape>(&self, half: &S::Half, order: Order) -> (Kind, Read) {
        item::half_read::<S>(half, order, |group| self.libraries.library(group))
    }

    fn meet<S: Shape>(&self, pending: &mut Pending<()>, name: u128, read: Read, items: &mut Items<S>) {
        let Items { pairs, present, .. } = items;
        let replaced = meet(pending, name, read, (), |seen, arriving| {
            self.rules.pair::<S>(seen, arriving, |pair| pairs.push(*pair), |end| present.push(*end));
        });
        if let Some((replaced, ())) = replaced {
            self.stay_alone(&replaced, items);
        }
    }

    /// Stores the ends of the pending reads, which have no mate in the file.
    fn leave<S: Shape>(&self, pending: &mut Pending<()>, items: &mut Items<S>) {
        pending.drain(..).for_each(|(_, read, ())| self.stay_alone(&read, items));
    }

    fn stay_alone<S: Shape>(&self, read: &Read, items: &mut Items<S>) {
        if read.next_ref_id >= 0 {
            items.present.push(self.rules.present::<S>(read));
        }
    }
}
