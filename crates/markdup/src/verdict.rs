//! The result of duplicate resolution: the duplicate marks of each record.

use std::sync::Arc;

use readmill_format::spill::{Extent, Spill};
use readmill_record::{Error, Result, Stamp};
use serde::{Deserialize, Serialize};

use super::Mode;
use super::metrics::{LibraryCounts, SetSizes};
use super::molecule_counts::{self, MoleculeCounts};
use super::samtools::ReadCounts;
use super::samtools::found::Findings;
use super::tables::{BitSet, OrdinalTable, Ranks, RowStore};
use super::tiles::{self, TileCounts};

/// The duplicate marks of all records, looked up by record stamp.
///
/// Marks are bits indexed by ordinal, so the memory is known before the scan
/// ([`verdict_bytes`](super::verdict_bytes)), and a lookup needs no search. Threads share the
/// verdict while they write the output.
pub struct Verdict {
    pub mode: Mode,
    /// Whether the marks of a template are stored only at its first record.
    pub(super) by_template: bool,
    pub(super) duplicates: BitSet,
    pub(super) optical: Option<BitSet>,
    pub(super) sets: Option<DuplicateSets>,
    pub(super) findings: Option<Findings>,
    pub(super) spill: Arc<Spill>,
    pub tally: DuplicateCounts,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DuplicateCounts {
    pub pairs: u64,
    pub fragments: u64,
    pub optical_fragments: u64,
    /// Optical duplicates among paired reads, with samtools' rules.
    pub optical_reads: u64,
    pub libraries: Vec<LibraryCounts>,
    pub sizes: SetSizes,
    /// Pairs by tile, in order of read group and tile. Empty if they are not counted.
    pub tiles: Vec<TileCounts>,
    /// Molecules and their templates, if UMIs separate molecules.
    pub molecules: Option<MoleculeCounts>,
    pub deepest: Option<LargestSet>,
    pub reads: ReadCounts,
    pub mated: u64,
    pub lone: u64,
    pub doubled_names: u64,
}

impl DuplicateCounts {
    /// Returns an upper bound for the memory in bytes of the counts that become part of the run
    /// description: those by tile, and those of molecules.
    pub fn described_bytes(&self) -> u64 {
        let molecules = if self.molecules.is_some() { molecule_counts::MAX_BYTES } else { 0 };
        tiles::tile_counts_bytes(&self.tiles) + molecules
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargestSet {
    pub size: u64,
    pub ref_id: i32,
    pub five_prime: i64,
}

pub(super) struct DuplicateSets {
    pub(super) of: OrdinalTable,
    /// The set of each name group whose set is stored at a different name group with the same name.
    pub(super) linked: Option<OrdinalTable>,
    pub(super) rows: RowStore<2>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    pub set: u64,
    pub representative: u64,
    /// Number of pairs (DS), or 0 for a set of single reads.
    pub pairs: u64,
}

#[derive(Serialize, Deserialize)]
pub struct StoredVerdict {
    mode: Mode,
    by_template: bool,
    records: u64,
    duplicates: Extent,
    optical: Option<Extent>,
    sets: Option<StoredSets>,
    pub tally: DuplicateCounts,
}

#[derive(Serialize, Deserialize)]
struct StoredSets {
    of: StoredTable,
    linked: Option<StoredTable>,
    rows: Extent,
}

#[derive(Serialize, Deserialize)]
struct StoredTable {
    has: Extent,
    rows: Extent,
}

impl StoredVerdict {
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the memory in bytes that the marks will take after loading.
    pub fn bytes(&self) -> u64 {
        let tables = self.sets.as_ref().map_or(0, |sets| 1 + u64::from(sets.linked.is_some()));
        self.tally.described_bytes()
            + BitSet::bytes(self.records) * (1 + u64::from(self.optical.is_some()))
            + tables * OrdinalTable::bytes_of_bits(self.records)
    }

    /// Returns the extents of the marks, so that the spill that adopts their file can set the file
    /// number.
    pub fn extents_mut(&mut self) -> Vec<&mut Extent> {
        let mut all: Vec<&mut Extent> =
            [&mut self.duplicates].into_iter().chain(&mut self.optical).collect();
        if let Some(StoredSets { of, linked, rows }) = &mut self.sets {
            all.push(rows);
            all.extend(
                [of].into_iter().chain(linked).flat_map(|table| [&mut table.has, &mut table.rows]),
            );
        }
        all
    }

    /// Loads the marks from `spill`, which must have adopted their file. Rows of large tables stay
    /// on disk.
    pub fn load(self, spill: Arc<Spill>) -> Result<Verdict> {
        let StoredVerdict { mode, by_template, records, duplicates, optical, sets, tally } = self;
        let read = |extent: Extent| BitSet::read(records, &extent, &spill);
        let duplicates = read(duplicates)?;
        let optical = optical.map(read).transpose()?;
        let table = |StoredTable { has, rows }: StoredTable| {
            let has = Ranks::new(BitSet::read(records, &has, &spill)?);
            Ok(OrdinalTable { has, rows: RowStore::open_rows(rows, &spill)? })
        };
        let sets = sets.map(|StoredSets { of, linked, rows }| {
            let (of, linked) = (table(of)?, linked.map(table).transpose()?);
            Ok::<_, Error>(DuplicateSets { of, linked, rows: RowStore::open_rows(rows, &spill)? })
        });
        let sets = sets.transpose()?;
        let findings = None;
        Ok(Verdict { mode, by_template, duplicates, optical, sets, findings, spill, tally })
    }
}

impl Verdict {
    pub fn store_marks(self, records: u64, into: &Spill) -> Result<StoredVerdict> {
        let Verdict { mode, by_template, tally, spill, .. } = self;
        let duplicates = self.duplicates.write(into)?;
        let optical = self.optical.map(|bits| bits.write(into)).transpose()?;
        let table = |table: OrdinalTable| {
            let has = table.has.bits.write(into)?;
            Ok::<_, Error>(StoredTable { has, rows: table.rows.write(&spill, into)? })
        };
        let sets = self.sets.map(|DuplicateSets { of, linked, rows }| {
            let (of, linked) = (table(of)?, linked.map(table).transpose()?);
            Ok::<_, Error>(StoredSets { of, linked, rows: rows.write(&spill, into)? })
        });
        let sets = sets.transpose()?;
        Ok(StoredVerdict { mode, by_template, records, duplicates, optical, sets, tally })
    }

    /// Returns the memory in bytes that the verdict takes in addition to
    /// [`verdict_bytes`](super::verdict_bytes): rows in memory, and described counts.
    pub fn bytes_beside_bits(&self) -> u64 {
        let sets = self.sets.as_ref().map_or(0, |DuplicateSets { of, linked, rows }| {
            rows.bytes() + of.bytes_of_rows() + linked.as_ref().map_or(0, OrdinalTable::bytes_of_rows)
        });
        sets + self.tally.described_bytes() + self.findings.as_ref().map_or(0, Findings::bytes)
    }

    /// Returns the name of the read that is kept instead of this duplicate (field `do`), or `None`
    /// if it was not stored.
    pub fn original_name(&self, stamp: Stamp) -> Result<Option<Vec<u8>>> {
        let Some(findings) = &self.findings else { return Ok(None) };
        findings.original_name(stamp.ordinal(), &self.spill)
    }

    /// Returns the number of reads that this read represents (field `dc`), or 1 if it was not
    /// stored.
    pub fn represented_reads(&self, stamp: Stamp) -> Result<u64> {
        let Some(findings) = &self.findings else { return Ok(1) };
        findings.represented_reads(stamp.ordinal(), &self.spill)
    }

    fn lookup_ordinal(&self, stamp: Stamp) -> u64 {
        if self.by_template { stamp.template() } else { stamp.ordinal() }
    }

    pub fn is_duplicate(&self, stamp: Stamp) -> bool {
        self.duplicates.get(self.lookup_ordinal(stamp))
    }

    pub fn is_optical(&self, stamp: Stamp) -> bool {
        self.optical.as_ref().is_some_and(|bits| bits.get(self.lookup_ordinal(stamp)))
    }

    /// Returns the duplicate set of a record, or `None` if it is in no set or sets were not stored.
    pub fn membership(&self, stamp: Stamp) -> Result<Option<Membership>> {
        let Some(DuplicateSets { of, linked, rows }) = &self.sets else { return Ok(None) };
        let ordinal = self.lookup_ordinal(stamp);
        let set = match (of.get(ordinal, &self.spill)?, linked) {
            (None, Some(linked)) => linked.get(ordinal, &self.spill)?,
            (set, _) => set,
        };
        let Some(set) = set else { return Ok(None) };
        let row = rows.get(set, &self.spill)?;
        Ok(row.map(|[representative, pairs]| Membership { set, representative, pairs }))
    }
}
