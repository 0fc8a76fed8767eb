//! Decisions that need read names: which of several reads with the best score of their set is kept,
//! and which records get the mark of another record with the same name.
//!
//! Names are not stored with keys, because ties are rare. They are read again from the tied
//! records, in several passes if the best reads of all sets do not fit in memory. For each pass,
//! the pipeline calls:
//!
//! ```text
//!  begin_pass ─► find_named_read, for all records on any thread ─► offer_read ─► Verdict::unmark_kept_reads
//!  after the last pass: Verdict::mark_other_records
//! ```

use std::ops::Range;
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{RecordRef, Result, Stamp};

use super::detail::DuplicateDetails;
use super::findings::GroupJudge;
use super::group::{DuplicateGroups, GroupMember};
use super::names::OTHER;
use crate::sorter::{ChunkSorter, Sorter};
use crate::tables::{BitSet, OrdinalTable};
use crate::verdict::Verdict;

/// Memory in bytes of the best read of a set so far, with a name of up to 254 bytes and allocation
/// overhead.
const SET_BYTES: u64 = 336;

const MIN_BEST_READ_BYTES: u64 = 1 << 16;

/// The sets and groups in which names decide. Created by the resolver, and consumed by
/// [`Verdict::mark_other_records`] after all passes.
pub struct Undecided {
    sets_of: OrdinalTable,
    sets: u64,
    sets_per_pass: u64,
    names: Sorter<[u64; 3]>,
    spill: Arc<Spill>,
    /// The groups of all duplicates if details are requested. They replace the list of ties.
    groups: Option<GroupJudge>,
}

pub enum NamedRead {
    Tied(TiedRead),
    Member(GroupMember),
}

/// A read that shares the best score of its set. The order of the fields decides which read is
/// kept: the one with the smaller name, then the smaller position, then the smaller ordinal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TiedRead {
    set: u64,
    name: Vec<u8>,
    pos: i32,
    ordinal: u64,
}

pub enum KeptReads {
    Best {
        sets: Range<u64>,
        /// The best read of each set so far, in order. `None` before the first read of a set.
        best: Vec<Option<TiedRead>>,
    },
    Groups {
        /// The first group of the pass, and the difference to the next one.
        every: (u64, u64),
        members: Vec<GroupMember>,
        bytes: u64,
    },
}

/// The sets or groups that a pass decides. Cheap to clone for the threads that search for their
/// reads.
#[derive(Clone)]
pub enum PassChoice {
    Sets(Range<u64>),
    /// The first group of the pass, and the difference to the next one.
    Groups(u64, u64),
}

impl Undecided {
    /// Creates the decisions about ties. `tied` has the tied reads with their set numbers; its
    /// chunks must be sorted. `room` is the free memory in bytes.
    pub(super) fn new(
        tied: &Sorter<[u64; 2]>,
        sets: u64,
        names: Sorter<[u64; 3]>,
        records: u64,
        spill: &Arc<Spill>,
        room: u64,
    ) -> Result<Self> {
        let sets_of = OrdinalTable::new(tied, records, spill, room / 4)?;
        let at_once = sets.min((room / 4).max(MIN_BEST_READ_BYTES) / SET_BYTES).max(1);
        Ok(Undecided {
            sets_of,
            sets,
            sets_per_pass: at_once,
            names,
            spill: Arc::clone(spill),
            groups: None,
        })
    }

    pub(super) fn of_groups(
        groups: DuplicateGroups,
        names: Sorter<[u64; 3]>,
        records: u64,
        spill: &Arc<Spill>,
        (details, room): (&DuplicateDetails, u64),
    ) -> Self {
        let DuplicateGroups { members, singles, number: sets, reads } = groups;
        let judge = GroupJudge::new(details, singles, reads, records, room / 4);
        let spill = Arc::clone(spill);
        Undecided {
            sets_of: members,
            sets,
            sets_per_pass: sets.max(1),
            names,
            spill,
            groups: Some(judge),
        }
    }

    /// Returns the memory in bytes that is needed until everything is decided, in addition to
    /// [`verdict_bytes`](crate::verdict_bytes).
    pub fn bytes(&self) -> u64 {
        let decided = match &self.groups {
            Some(judge) => judge.bytes(),
            None => self.sets.min(self.sets_per_pass) * SET_BYTES,
        };
        self.sets_of.bytes_of_rows() + decided
    }

    /// Returns the memory in bytes that a pass may take before more must be charged to the ledger.
    pub fn pass_bytes(&self) -> u64 {
        self.groups.as_ref().map_or(u64::MAX, GroupJudge::pass_bytes)
    }

    pub fn pass_count(&self) -> u64 {
        match &self.groups {
            Some(judge) => judge.pass_count(),
            None => self.sets.div_ceil(self.sets_per_pass),
        }
    }

    pub fn begin_pass(&self, pass: u64) -> KeptReads {
        if let Some(judge) = &self.groups {
            return KeptReads::Groups {
                every: (pass, judge.pass_count()),
                members: Vec::new(),
                bytes: 0,
            };
        }
        let sets = pass * self.sets_per_pass..self.sets.min((pass + 1) * self.sets_per_pass);
        KeptReads::Best { best: vec![None; (sets.end - sets.start) as usize], sets }
    }

    /// Returns the record as a [`NamedRead`] if this pass decides its set or group.
    pub fn find_named_read(
        &self,
        choice: &PassChoice,
        stamp: Stamp,
        record: RecordRef<'_>,
    ) -> Result<Option<NamedRead>> {
        let ordinal = stamp.ordinal();
        let set = self.sets_of.get(ordinal, &self.spill)?;
        match (choice, &self.groups) {
            (PassChoice::Sets(sets), _) => {
                let tied =
                    |set| TiedRead { set, name: record.qname().to_vec(), pos: record.pos(), ordinal };
                Ok(set.filter(|set| sets.contains(set)).map(tied).map(NamedRead::Tied))
            }
            (&PassChoice::Groups(first, of), Some(judge)) => {
                let group = match set {
                    None => judge.single_group(ordinal, &self.spill)?,
                    set => set,
                };
                let Some(group) = group.filter(|group| group % of == first) else { return Ok(None) };
                judge.summarize_read(group, stamp, record).map(NamedRead::Member).map(Some)
            }
            (PassChoice::Groups(..), None) => Ok(None),
        }
    }

    /// Returns the number of group members whose names have no location, and one of these names.
    /// The pipeline warns about them.
    pub fn unlocated_reads(&self) -> Option<(u64, &[u8])> {
        self.groups.as_ref().and_then(GroupJudge::unlocated_reads)
    }

    /// Marks the secondary, supplementary and unmapped records whose name has a duplicate.
    fn mark_others(&self, duplicates: &mut BitSet) -> Result<()> {
        let mut names = self.names.merge(&self.spill)?;
        let mut marked = None;
        while let Some([high, low, entry]) = names.next_item()? {
            let name = Some([high, low]);
            if entry & OTHER == 0 && duplicates.get(entry) {
                marked = name;
            } else if entry & OTHER != 0 && marked == name {
                duplicates.set(entry & !OTHER);
            }
        }
        Ok(())
    }
}

impl KeptReads {
    pub fn pass_choice(&self) -> PassChoice {
        match self {
            KeptReads::Best { sets, .. } => PassChoice::Sets(sets.clone()),
            &KeptReads::Groups { every: (first, of), .. } => PassChoice::Groups(first, of),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            KeptReads::Best { .. } => 0,
            KeptReads::Groups { bytes, .. } => *bytes,
        }
    }

    /// Adds a group member, or a tied read if it is better than the best read of its set so far.
    pub fn offer_read(&mut self, read: NamedRead) {
        match (self, read) {
            (KeptReads::Best { sets, best }, NamedRead::Tied(read)) => {
                let at = read.set.checked_sub(sets.start).map(|at| at as usize);
                if let Some(best) = at.and_then(|at| best.get_mut(at))
                    && best.as_ref().is_none_or(|best| read < *best)
                {
                    *best = Some(read);
                }
            }
            (KeptReads::Groups { members, bytes, .. }, NamedRead::Member(member)) => {
                *bytes += member.bytes();
                members.push(member);
            }
            _ => {}
        }
    }
}

impl Verdict {
    pub fn unmark_kept_reads(
        &mut self,
        reads: KeptReads,
        undecided: &mut Undecided,
        threads: &impl ChunkSorter,
    ) -> Result<()> {
        match reads {
            KeptReads::Best { best, .. } => {
                best.into_iter().flatten().for_each(|read| self.duplicates.clear(read.ordinal));
                Ok(())
            }
            KeptReads::Groups { members, .. } => match &mut undecided.groups {
                Some(judge) => judge.judge_groups(members, self, threads, &undecided.spill),
                None => Ok(()),
            },
        }
    }

    /// Copies marks to the other records with the same name. Called after all kept reads are known.
    pub fn mark_other_records(
        &mut self,
        undecided: Undecided,
        threads: &impl ChunkSorter,
    ) -> Result<()> {
        match undecided.groups {
            Some(judge) => judge.finish_verdict(&undecided.names, self, threads, &undecided.spill),
            None => undecided.mark_others(&mut self.duplicates),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samtools::names::make_name_entry;

    fn read(set: u64, name: &str, pos: i32, ordinal: u64) -> TiedRead {
        TiedRead { set, name: name.into(), pos, ordinal }
    }

    #[test]
    fn the_smaller_name_stays_then_the_earlier_read() {
        let mut kept = KeptReads::Best { sets: 4..6, best: vec![None; 2] };
        for tied in [
            read(4, "b", 1, 1),
            read(4, "ab", 9, 7),
            read(4, "ab", 9, 3),
            read(4, "abc", 0, 0),
            read(5, "Z", 3, 8),
            read(5, "a", 3, 2),
            read(6, "A", 0, 0), // a set of another pass
        ] {
            kept.offer_read(NamedRead::Tied(tied));
        }
        let KeptReads::Best { best, .. } = kept else { panic!("ties") };
        assert_eq!(best, [Some(read(4, "ab", 9, 3)), Some(read(5, "Z", 3, 8))]);
    }

    #[test]
    fn reads_that_give_marks_come_before_records_that_get_them() {
        assert!(make_name_entry(b"r", u64::from(u32::MAX), false) < make_name_entry(b"r", 0, true));
    }
}
