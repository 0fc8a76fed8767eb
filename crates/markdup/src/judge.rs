//! Resolves duplicates: from all ends of the input to the marks of each record.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::Mode;
use super::collect::Sorter;
use super::ends::{DuplicateEnds, Noting};
use super::held::{Ends, Items, Shaped, Sorting, spill_sorted};
use super::item::Shape;
use super::join::{Join, Members};
use super::molecules;
use super::optical::CANDIDATE_BYTES;
use super::resolve::Findings;
use super::rules::{Coding, Rules};
use super::table::{Bits, Table};
use super::verdict::{Sets, Tally, Verdict};

/// Least memory for joined items, before they are spilled.
const LEAST: u64 = 8 << 20;

/// Resolves duplicates with these resources.
pub struct Court<'a, T> {
    /// The threads.
    pub threads: &'a T,
    /// The spill.
    pub spill: Arc<Spill>,
    /// How ends were collected.
    pub noted: &'a DuplicateEnds,
    /// Memory limit for the stored ends and everything derived from them.
    pub room: u64,
    /// Called regularly with the bytes of them that are in use.
    pub in_use: &'a dyn Fn(u64),
}

/// Returns the least bytes that the verdict on `records` records takes.
pub fn verdict_bytes(rules: &Rules, records: u64) -> u64 {
    let bits = 1 + u64::from(rules.optical.is_some());
    let tables = u64::from(rules.members || rules.molecules);
    bits * Bits::bytes(records) + tables * Table::bytes_of_bits(records)
}

impl<T: Sorting> Court<'_, T> {
    /// Resolves the duplicates of an input of `records` records. If it is `grouped` by name, no mates are
    /// joined by name.
    pub fn judge(&self, mode: Mode, grouped: bool, ends: Ends, records: u64) -> Result<Verdict> {
        let Ends { items, mut stretches, examined, .. } = ends;
        if grouped {
            stretches = Sorter::default();
        }
        let tally = Tally { libraries: examined.counts(), ..Tally::default() };
        let judging = Judging { court: self, mode, grouped, stretches, records };
        match items {
            Shaped::Plain(items) => judging.judge(items, tally),
            Shaped::Coded(items) => judging.judge(items, tally),
        }
    }
}

/// One run of the resolver.
struct Judging<'a, T> {
    court: &'a Court<'a, T>,
    mode: Mode,
    grouped: bool,
    stretches: Sorter<[u64; 3]>,
    records: u64,
}

impl<T: Sorting> Judging<'_, T> {
    fn judge<S: Shape>(mut self, mut items: Items<S>, tally: Tally) -> Result<Verdict> {
        let &Court { threads, noted, room, .. } = self.court;
        let spill = &*self.court.spill;
        (self.court.in_use)(items.filled() + self.stretches.filled());
        if self.stretches.bytes() > room / 4 {
            spill_sorted(&mut self.stretches, threads, spill, 0)?;
        }
        threads.sort(self.stretches.chunks_mut())?;
        let [by_input, by_place] = std::mem::take(&mut items.either);
        items.pairs.absorb(if self.mode == Mode::Template { by_input } else { by_place });
        let templates = self.join(&mut items)?;
        if items.fragments.is_empty() {
            items.present = Sorter::default(); // paired ends matter to single reads alone
        }
        let most = noted.rules.optical.map_or(0, |optical| optical.most.min(items.pairs.len()));
        let beside = self.stretches.bytes() + templates.as_ref().map_or(0, Sorter::bytes);
        (self.court.in_use)(items.filled() + beside);
        if items.bytes() + beside + most * CANDIDATE_BYTES > room {
            items.spill(threads, spill, 0)?;
        }
        threads.sort(items.pairs.chunks_mut())?;
        threads.sort(items.present.chunks_mut())?;
        threads.sort(items.fragments.chunks_mut())?;
        let room = room.saturating_sub(items.bytes() + beside).max(LEAST);
        let scale = (self.records, room);
        let mut findings = Findings::new(self.mode, &noted.rules, (threads, spill), scale, tally);
        match &noted.rules.coding {
            Some(Coding::Umis(umis)) => molecules::judge(&mut findings, &items, umis)?,
            _ => findings.judge(&items)?,
        }
        (self.court.in_use)(items.filled() + beside + findings.most_bytes());
        drop(items);
        if let Some(mut templates) = templates {
            threads.sort(templates.chunks_mut())?;
            share(&mut findings, &templates, spill)?;
            self.share_members(&mut findings, &templates)?;
        }
        link(&mut findings, &self.stretches, spill)?;
        self.conclude(findings)
    }

    /// Joins the halves by name. In the order of the input, also returns the records of each template.
    fn join<S: Shape>(&self, items: &mut Items<S>) -> Result<Option<Members>> {
        let &Court { threads, noted, room, .. } = self.court;
        let spill = &*self.court.spill;
        if items.halves.is_empty() {
            return Ok(None);
        }
        if items.bytes() + items.halves.bytes() > room {
            items.spill(threads, spill, 0)?;
        }
        let limit = room.saturating_sub(items.bytes() + self.stretches.bytes()).max(LEAST);
        threads.sort(items.halves.chunks_mut())?;
        let join = Join { libraries: &noted.libraries, rules: &noted.rules, spill };
        let by_input = noted.noting() == Noting::ByInput;
        let relieve = |items: &mut Items<S>| {
            if items.bytes() > if by_input { limit / 2 } else { limit } {
                items.spill(threads, spill, 0)?;
            }
            Ok(())
        };
        if self.grouped {
            join.alone(items, noted.noting(), relieve)?;
            return Ok(None);
        }
        if noted.noting() == Noting::Together || noted.noting() == Noting::ByPlace {
            join.by_place(items, relieve)?;
            return Ok(None);
        }
        if noted.noting() == Noting::Linked {
            join.linked(items, &self.stretches, relieve)?;
            return Ok(None);
        }
        let templates = join.by_input(items, |items, templates| {
            if templates.bytes() > limit / 2 {
                spill_sorted(templates, threads, spill, 0)?;
            }
            relieve(items)
        })?;
        Ok(Some(templates))
    }

    fn conclude(&self, findings: Findings<'_, T>) -> Result<Verdict> {
        let Court { threads, spill, noted, room, in_use } = self.court;
        let Findings { mode, duplicates, optical, mut members, sets: rows, tally, .. } = findings;
        let mut sets = None;
        if noted.rules.members || noted.rules.molecules {
            threads.sort(members.chunks_mut())?;
            let of = Table::new(&members, self.records, spill, room / 4)?;
            let linked = self.linked_members(&of)?;
            let tables = of.bytes_of_rows() + linked.as_ref().map_or(0, Table::bytes_of_rows);
            in_use(self.stretches.filled() + members.filled() + rows.bytes() + tables);
            sets = Some(Sets { of, linked, rows });
        }
        let by_template = mode == Mode::Template && noted.noting() != Noting::ByInput;
        let spill = Arc::clone(spill);
        Ok(Verdict { mode, by_template, duplicates, optical, sets, spill, tally })
    }

    /// Returns the sets of name groups whose template's set is stored at another name group of its name.
    fn linked_members(&self, of: &Table) -> Result<Option<Table>> {
        let Court { threads, spill, room, .. } = self.court;
        let mut linked: Sorter<[u64; 2]> = Sorter::default();
        each_name(&self.stretches, spill, |firsts| {
            let mut set = None;
            for &first in firsts {
                set = set.or(of.get(first, spill)?);
            }
            if let Some(set) = set {
                firsts.iter().for_each(|&first| linked.push([first, set]));
            }
            if linked.bytes() > room / 4 {
                spill_sorted(&mut linked, *threads, spill, 0)?;
            }
            Ok(())
        })?;
        if linked.is_empty() {
            return Ok(None);
        }
        threads.sort(linked.chunks_mut())?;
        Table::new(&linked, self.records, spill, room / 4).map(Some)
    }

    /// Gives every record of a template the set of its first one.
    fn share_members(&self, findings: &mut Findings<'_, T>, templates: &Members) -> Result<()> {
        let &Court { threads, room, .. } = self.court;
        let spill = &*self.court.spill;
        threads.sort(findings.members.chunks_mut())?;
        let firsts = std::mem::take(&mut findings.members);
        let mut sets = firsts.merge(spill)?;
        let mut set = sets.next_item()?;
        let mut templates = templates.merge(spill)?;
        let records = &mut findings.members;
        while let Some([template, record]) = templates.next_item()? {
            while let Some([of, number]) = set.filter(|[of, _]| *of < template) {
                records.push([of, number]); // a template of adjacent records
                set = sets.next_item()?;
            }
            if let Some([of, number]) = set
                && of == template
                && record != template
            {
                records.push([record, number]);
            }
            if records.bytes() > room / 4 {
                spill_sorted(records, threads, spill, 0)?;
            }
        }
        while let Some(row) = set {
            records.push(row);
            set = sets.next_item()?;
        }
        Ok(())
    }
}

/// Gives every record of a template the marks of its first one.
fn share<T: Sorting>(findings: &mut Findings<'_, T>, templates: &Members, spill: &Spill) -> Result<()> {
    let mut templates = templates.merge(spill)?;
    while let Some([template, record]) = templates.next_item()? {
        if findings.duplicates.get(template) {
            findings.duplicates.set(record);
        }
        if let Some(optical) = &mut findings.optical
            && optical.get(template)
        {
            optical.set(record);
        }
    }
    Ok(())
}

/// Gives all name groups of one name the marks of any of them.
fn link<T: Sorting>(
    findings: &mut Findings<'_, T>,
    stretches: &Sorter<[u64; 3]>,
    spill: &Spill,
) -> Result<()> {
    each_name(stretches, spill, |firsts| {
        share_among(&mut findings.duplicates, firsts);
        findings.optical.iter_mut().for_each(|bits| share_among(bits, firsts));
        Ok(())
    })
}

fn share_among(bits: &mut Bits, firsts: &[u64]) {
    if firsts.iter().any(|&first| bits.get(first)) {
        firsts.iter().for_each(|&first| bits.set(first));
    }
}

/// Calls `show` with the beginnings of all name groups of each name that has several.
fn each_name(
    stretches: &Sorter<[u64; 3]>,
    spill: &Spill,
    mut show: impl FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut stretches = stretches.merge(spill)?;
    let (mut name, mut firsts) = (None, Vec::new());
    loop {
        let next = stretches.next_item()?;
        let next_name = next.map(|[high, low, _]| [high, low]);
        if next_name != name {
            if firsts.len() > 1 {
                show(&firsts)?;
            }
            firsts.clear();
            name = next_name;
        }
        let Some([_, _, first]) = next else { return Ok(()) };
        firsts.push(first >> 1);
    }
}
