//! Judges groups of duplicates, and stores the details of each read in addition to its mark.

use std::collections::HashMap;

use readmill_format::spill::Spill;
use readmill_record::{RecordRef, Result, Stamp};

use super::detail::DuplicateDetails;
use super::found::{Findings, NameStore};
use super::group::{GroupLinks, GroupMember};
use super::key::UnclippedSpan;
use super::names::OTHER;
use super::part;
use crate::score;
use crate::sorter::{ChunkSorter, Sorter, spill_sorted};
use crate::tables::{BitSet, OrdinalTable};
use crate::verdict::Verdict;

/// Expected memory in bytes for one read while its group is judged.
const EXPECTED_BYTES: u64 = 320;

const MIN_LIST_BYTES: u64 = 1 << 20;

const LIST_COUNT: u64 = 4;

/// Compares the reads of each group of duplicates with each other. Finds the optical duplicates
/// and, for each duplicate, the read that it duplicates (samtools 1.24, `markdup -d`).
///
/// The reads are read again in one or more passes ([`Undecided`](super::Undecided)); each pass
/// judges every n-th group.
pub struct GroupJudge {
    details: DuplicateDetails,
    /// The group of each single read, and of each paired read that is not a duplicate but has
    /// single reads linked to it.
    singles: OrdinalTable,
    reads: u64,
    records: u64,
    pass_bytes: u64,
    list_bytes: u64,
    /// Duplicates, and the name number of the read that is kept instead.
    originals: Sorter<[u64; 2]>,
    /// Duplicates that were first linked to a different read, and the name number of that read.
    links: Sorter<[u64; 2]>,
    /// Reads that are kept, and the number of reads they represent if it is more than one.
    counts: Sorter<[u64; 2]>,
    names: NameStore,
    unlocated: Option<(u64, Box<[u8]>)>,
}

impl GroupJudge {
    pub fn new(
        details: &DuplicateDetails,
        singles: OrdinalTable,
        reads: u64,
        records: u64,
        bytes: u64,
    ) -> Self {
        let (originals, links, counts, names) = Default::default();
        GroupJudge {
            details: details.clone(),
            singles,
            reads,
            records,
            pass_bytes: (reads * EXPECTED_BYTES).min(bytes).max(MIN_LIST_BYTES),
            list_bytes: (bytes / 4 / LIST_COUNT).max(MIN_LIST_BYTES),
            originals,
            links,
            counts,
            names,
            unlocated: None,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.singles.bytes_of_rows() + self.pass_bytes + LIST_COUNT * self.list_bytes
    }

    pub fn pass_bytes(&self) -> u64 {
        self.pass_bytes
    }

    /// Returns the number of passes in which all groups are judged. Each pass takes every n-th
    /// group, so passes are about equally large unless a single group does not fit.
    pub fn pass_count(&self) -> u64 {
        (self.reads * EXPECTED_BYTES).div_ceil(self.pass_bytes)
    }

    /// Returns the group of a single read, or of a paired read that is not a duplicate but has
    /// single reads linked to it.
    pub fn single_group(&self, ordinal: u64, spill: &Spill) -> Result<Option<u64>> {
        self.singles.get(ordinal, spill)
    }

    /// Returns the number of reads whose names have no location, and one of these names, or `None`
    /// if all names have a location.
    pub fn unlocated_reads(&self) -> Option<(u64, &[u8])> {
        self.unlocated.as_ref().map(|(reads, name)| (*reads, &name[..]))
    }

    /// Returns the properties of a read that are needed to judge its group.
    ///
    /// # Errors
    /// A paired read lacks MC or ms, or `--read-coords` does not match its name.
    pub fn summarize_read(
        &self,
        group: u64,
        stamp: Stamp,
        record: RecordRef<'_>,
    ) -> Result<GroupMember> {
        let (flags, name) = (record.flags(), record.qname());
        let is_single = !part::has_mate(record);
        let own = score::sum_of_all_qualities(record.qual()) as i64;
        let of_mate = if is_single { 0 } else { part::mate_score(record)? };
        let place = |optical: &super::OpticalReads| optical.coords.parse_location(name);
        let seen = self.details.optical.as_ref().map(place).transpose();
        Ok(GroupMember {
            group,
            place: (record.pos(), stamp.ordinal()),
            end: (UnclippedSpan::of_read(record).five_prime(flags.is_reverse()), flags.is_reverse()),
            is_single,
            failed: flags.is_qc_fail(),
            score: own + of_mate,
            seen: seen.map_err(|error| error.record(stamp.ordinal()))?.flatten(),
            name: name.into(),
        })
    }

    /// Judges the groups of a pass: clears the mark of the read that is kept in each group, marks
    /// optical duplicates, and stores the requested details.
    pub fn judge_groups(
        &mut self,
        mut members: Vec<GroupMember>,
        verdict: &mut Verdict,
        threads: &impl ChunkSorter,
        spill: &Spill,
    ) -> Result<()> {
        members.sort_unstable_by_key(|read| (read.group, read.place));
        for group in members.chunk_by(|a, b| a.group == b.group) {
            let distance = self.details.optical.as_ref().map(|optical| optical.distance);
            let links = GroupLinks::of_group(group, distance, self.details.first_only);
            verdict.duplicates.clear(group[links.root].ordinal());
            if let Some(optical) = &mut verdict.optical {
                for (read, _) in group.iter().zip(&links.optical).filter(|(_, optical)| **optical) {
                    optical.set(read.ordinal());
                    let singles = &mut verdict.tally.optical_fragments;
                    *(if read.is_single { singles } else { &mut verdict.tally.optical_reads }) += 1;
                }
                for read in group.iter().filter(|read| read.seen.is_none()) {
                    self.unlocated.get_or_insert_with(|| (0, read.name.clone())).0 += 1;
                }
            }
            if self.details.originals {
                self.note_originals(group, &links, spill)?;
            }
            let count = links.counts[links.root];
            if self.details.counts && count > 1 {
                self.counts.push([group[links.root].ordinal(), count]);
            }
            for list in [&mut self.originals, &mut self.links, &mut self.counts] {
                if list.bytes() > self.list_bytes {
                    spill_sorted(list, threads, spill, 0)?;
                }
            }
        }
        Ok(())
    }

    /// Stores, for each duplicate, the name of the read that is kept and the name of the read to
    /// which it was first linked. Each name is stored once per group.
    fn note_originals(
        &mut self,
        group: &[GroupMember],
        links: &GroupLinks,
        spill: &Spill,
    ) -> Result<()> {
        let mut stored: HashMap<usize, u64> = HashMap::new();
        for (read, link) in group.iter().zip(&links.links) {
            let Some(link) = *link else { continue };
            let original = if self.details.first_only { link } else { links.root };
            for (at, list) in [(original, &mut self.originals), (link, &mut self.links)] {
                let name = match stored.get(&at) {
                    Some(name) => *name,
                    None => {
                        let name = self.names.push_name(&group[at].name, spill)?;
                        *stored.entry(at).or_insert(name)
                    }
                };
                list.push([read.ordinal(), name]);
                if link == original {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Completes the verdict after the last pass. Copies the findings to secondary, supplementary
    /// and unmapped records with the same name (`names`), and adds the tables of all findings.
    pub fn finish_verdict(
        mut self,
        names: &Sorter<[u64; 3]>,
        verdict: &mut Verdict,
        threads: &impl ChunkSorter,
        spill: &Spill,
    ) -> Result<()> {
        let (records, room) = (self.records, self.list_bytes);
        let table = |mut rows: Sorter<[u64; 2]>| {
            threads.sort(rows.chunks_mut())?;
            OrdinalTable::new(&rows, records, spill, room)
        };
        let originals = table(std::mem::take(&mut self.originals))?;
        let links = table(std::mem::take(&mut self.links))?;
        let counts = table(std::mem::take(&mut self.counts))?;
        let Verdict { duplicates, optical, .. } = verdict;
        let mut others: Sorter<[u64; 2]> = Sorter::default();
        for_each_other_record(names, duplicates, spill, |duplicates, givers, other| {
            duplicates.set(other);
            if let Some(optical) = optical
                && givers.iter().any(|&read| optical.get(read))
            {
                optical.set(other);
            }
            let first = givers.first().copied().unwrap_or(other);
            let name = match links.get(first, spill)? {
                None => originals.get(first, spill)?,
                name => name,
            };
            others
                .extend_from_words(name.map(|name| [other, name]).as_ref().map_or(&[], |row| &row[..]));
            if others.bytes() > room {
                spill_sorted(&mut others, threads, spill, 0)?;
            }
            Ok(())
        })?;
        let others = table(others)?;
        verdict.findings = Some(Findings { originals, others, counts, names: self.names });
        Ok(())
    }
}

/// Calls `show` with each secondary, supplementary or unmapped record whose name has duplicates,
/// and with these duplicates.
fn for_each_other_record(
    names: &Sorter<[u64; 3]>,
    duplicates: &mut BitSet,
    spill: &Spill,
    mut show: impl FnMut(&mut BitSet, &[u64], u64) -> Result<()>,
) -> Result<()> {
    let mut names = names.merge(spill)?;
    let (mut name, mut givers) = (None, Vec::new());
    while let Some([high, low, entry]) = names.next_item()? {
        if name.replace([high, low]) != Some([high, low]) {
            givers.clear();
        }
        if entry & OTHER == 0 {
            givers.extend(duplicates.get(entry).then_some(entry));
        } else if !givers.is_empty() {
            show(duplicates, &givers, entry & !OTHER)?;
        }
    }
    Ok(())
}
