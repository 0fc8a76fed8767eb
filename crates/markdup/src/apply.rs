//! Flags and tags on records.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::tag::{self, Tag};
use readmill_record::{Batch, Changes, Flags, Header, RecordRef, Result, Stamp, Step, edit};

use super::barcodes::{self, strand};
use super::libraries::Libraries;
use super::metrics::LibraryCounts;
use super::samtools::SamtoolsReport;
use super::umi::Strand;
use super::verdict::{DuplicateCounts, Verdict};

/// Selects the marks that are written to records. The default is Picard's, except for `clear_dt`.
#[derive(Clone, Debug, Default)]
pub struct Writing {
    /// Leave duplicates out.
    pub remove: bool,
    /// Leave optical duplicates out.
    pub remove_optical: bool,
    /// Remove DT from all records (CLEAR_DT).
    pub clear_dt: bool,
    /// Which duplicates get a DT field.
    pub duplicate_types: DuplicateTypes,
    /// Write the duplicate set: DI, its representative, and DS, its size.
    pub members: bool,
    /// The tag for the molecule's identifier, which is derived from barcodes (MOLECULAR_IDENTIFIER_TAG), and
    /// whether it names the strand.
    pub molecule: Option<(Tag, bool)>,
    /// The tag for the molecule's number, which is derived from UMIs; `true` if each has a set for either
    /// strand.
    pub molecule_number: Option<(Tag, bool)>,
    /// What becomes of the marks of the input.
    pub earlier: EarlierMarks,
    /// The fields of samtools markdup.
    pub samtools: SamtoolsTags,
}

/// The fields of samtools markdup that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamtoolsTags {
    /// dt of duplicates: `SQ` if they are optical, else `LB` (`-d`).
    pub kind: bool,
    /// do of duplicates: the name of the read that stays (`-t`).
    pub original: bool,
    /// dc of all records that are not flagged: how many reads they stand for (`--duplicate-count`).
    pub count: bool,
    /// Whether secondary, supplementary and unmapped records get marks (`-S`): then flagged records lose dc.
    pub other_records: bool,
}

/// What becomes of the marks that reads have in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlierMarks {
    /// 0x400 is decided anew.
    #[default]
    Replace,
    /// 0x400 stays.
    Keep,
    /// 0x400 is decided anew, and dt and do are removed where it was set, as samtools markdup -c does.
    Clear,
}

const KIND: Tag = *b"dt";
const ORIGINAL: Tag = *b"do";
const COUNT: Tag = *b"dc";

/// Fields of samtools: the kind of a duplicate, and the name of the read that stays.
const OF_SAMTOOLS: [Tag; 2] = [KIND, ORIGINAL];

/// Which duplicates get a DT field: `SQ` for optical ones, `LB` for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateTypes {
    /// None.
    #[default]
    DontTag,
    /// Optical ones.
    OpticalOnly,
    /// All.
    All,
}

impl Writing {
    fn changes_fields(&self) -> bool {
        let types = self.duplicate_types != DuplicateTypes::DontTag;
        self.clear_dt
            || types
            || self.members
            || self.molecule.is_some()
            || self.molecule_number.is_some()
            || self.writes_samtools()
    }

    fn writes_samtools(&self) -> bool {
        self.samtools.kind || self.samtools.original || self.samtools.count
    }

    /// Returns the fields that it changes, and whether it removes reads.
    pub fn changes(&self) -> Changes {
        let mut tags = vec![tag::DT, tag::DI, tag::DS];
        tags.extend(self.molecule.iter().chain(&self.molecule_number).map(|(tag, _)| *tag));
        if self.earlier == EarlierMarks::Clear || self.writes_samtools() {
            tags.extend(OF_SAMTOOLS);
        }
        tags.extend(self.samtools.count.then_some(COUNT));
        Changes { reads: self.remove || self.remove_optical, ..Changes::tags(&tags) }
    }
}

/// Sets 0x400 on duplicates, clears it on all others, and writes or removes the requested fields.
#[derive(Clone)]
pub struct ApplyMarks {
    verdict: Arc<Verdict>,
    writing: Arc<Writing>,
    libraries: Arc<Libraries>,
    /// Names of reference sequences.
    header: Header,
    counted: Arc<FlaggedCounts>,
    flagged: u64,
}

/// Counts of the records that were flagged.
#[derive(Debug, Default)]
pub struct FlaggedCounts {
    /// Duplicates among mapped primary records, by library.
    libraries: Vec<[AtomicU64; 2]>,
    /// Secondary, supplementary and unmapped records.
    others: AtomicU64,
    /// Those of them that are optical duplicates.
    optical_others: AtomicU64,
    /// Records that are removed, apart from these.
    removed: AtomicU64,
}

impl FlaggedCounts {
    /// Adds them to the counts of their libraries.
    pub fn add_to(&self, libraries: &mut Vec<LibraryCounts>) {
        for (library, [unpaired, paired]) in self.libraries.iter().enumerate() {
            let (unpaired, paired) = (unpaired.load(Relaxed), paired.load(Relaxed));
            if unpaired + paired > 0 && libraries.len() <= library {
                libraries.resize_with(library + 1, LibraryCounts::default);
            }
            if let Some(counts) = libraries.get_mut(library) {
                counts.unpaired_duplicates += unpaired;
                counts.paired_read_duplicates += paired;
            }
        }
    }
}

impl FlaggedCounts {
    /// The report of samtools: these counts with those of the resolver.
    pub fn samtools_report(&self, tally: &DuplicateCounts) -> SamtoolsReport {
        SamtoolsReport {
            reads: tally.reads,
            written: tally.reads.all - self.removed.load(Relaxed),
            paired_duplicates: tally.pairs,
            single_duplicates: tally.fragments,
            others: self.others.load(Relaxed),
            optical_pairs: tally.optical_reads,
            optical_singles: tally.optical_fragments,
            optical_others: self.optical_others.load(Relaxed),
        }
    }
}

impl ApplyMarks {
    /// Applies the verdict.
    pub fn new(
        verdict: Arc<Verdict>,
        writing: Writing,
        libraries: Arc<Libraries>,
        header: &Header,
    ) -> Self {
        let of_libraries = libraries.names().iter().map(|_| Default::default()).collect();
        let counted = FlaggedCounts { libraries: of_libraries, ..FlaggedCounts::default() };
        ApplyMarks {
            verdict,
            writing: Arc::new(writing),
            libraries,
            header: header.clone(),
            counted: Arc::new(counted),
            flagged: 0,
        }
    }

    /// Returns the counters that all forks share.
    pub fn counted(&self) -> Arc<FlaggedCounts> {
        Arc::clone(&self.counted)
    }

    /// Counts a record that was flagged as a duplicate. Like Picard's metrics, it counts only mapped primary
    /// records, and pairs apart from fragments.
    fn count(&self, record: RecordRef<'_>) {
        let flags = record.flags();
        if flags.is_unmapped() || !flags.is_primary() {
            return;
        }
        let library = self.libraries.library(self.libraries.group(record.read_group()));
        let paired = flags.is_paired() && !flags.is_mate_unmapped();
        if let Some(counts) = self.counted.libraries.get(usize::from(library)) {
            counts[usize::from(paired)].fetch_add(1, Relaxed);
        }
    }

    /// Appends the record in its new form.
    fn rewrite(&self, record: RecordRef<'_>, stamp: Stamp, out: &mut Vec<u8>) -> Result<()> {
        let Writing { clear_dt, duplicate_types, members, molecule, molecule_number, .. } =
            &*self.writing;
        let mut fields = FieldEditor::new(record, out);
        self.write_samtools(&mut fields, record, stamp)?;
        if *clear_dt {
            fields.remove(tag::DT);
        }
        if record.flags().is_duplicate() {
            match (duplicate_types, self.verdict.is_optical(stamp)) {
                (DuplicateTypes::DontTag, _) | (DuplicateTypes::OpticalOnly, false) => {}
                (_, true) => fields.set_text(tag::DT, b"SQ"),
                (DuplicateTypes::All, false) => fields.set_text(tag::DT, b"LB"),
            }
        }
        if let Some((tag, _)) = *molecule_number {
            fields.remove(tag); // a number of another run would name another molecule
        }
        if let Some(set) = self.verdict.membership(stamp)? {
            let takes_part = !record.flags().is_unmapped() && record.flags().is_primary();
            if *members && takes_part && set.pairs > 1 {
                fields.set_integer(tag::DI, set.representative.min(u32::MAX.into()) as u32);
                fields.set_integer(tag::DS, set.pairs.min(u32::MAX.into()) as u32);
            }
            if let Some((tag, strands)) = *molecule_number {
                let molecule = match (strands, set.set % 2) {
                    (false, _) => set.set.to_string(),
                    (true, 0) => format!("{}{}", set.set / 2, Strand::A.suffix()),
                    (true, _) => format!("{}{}", set.set / 2, Strand::B.suffix()),
                };
                fields.set_text(tag, molecule.as_bytes());
            }
        }
        if let Some((tag, duplex)) = molecule {
            let molecule = self.molecule(record, *duplex)?;
            fields.set_text(*tag, &molecule);
        }
        Ok(())
    }

    /// Writes the fields of samtools markdup, where it writes them: fields that are there keep their place.
    fn write_samtools(
        &self,
        fields: &mut FieldEditor<'_>,
        record: RecordRef<'_>,
        stamp: Stamp,
    ) -> Result<()> {
        let SamtoolsTags { kind, original, count, other_records } = self.writing.samtools;
        if self.verdict.is_duplicate(stamp) {
            if original && let Some(name) = self.verdict.original(stamp)? {
                fields.replace_text(ORIGINAL, &name);
            }
            if kind {
                let optical = self.verdict.is_optical(stamp);
                fields.replace_text(KIND, if optical { b"SQ" } else { b"LB" });
            }
        }
        if count && !record.flags().is_duplicate() {
            let stands_for = self.verdict.stands_for(stamp)?.min(u32::MAX.into());
            fields.replace_integer(COUNT, stands_for as u32);
        } else if count && other_records {
            fields.remove(COUNT);
        }
        Ok(())
    }

    /// The identifier of a molecule: contig, position of the reverse read, and the strand (Picard, UmiUtil).
    fn molecule(&self, record: RecordRef<'_>, duplex: bool) -> Result<Vec<u8>> {
        let flags = record.flags();
        let placed = usize::try_from(record.ref_id()).ok().filter(|_| !flags.is_unmapped());
        let contig = placed.and_then(|id| self.header.references().get(id));
        let contig = contig.map_or(b"null".as_slice(), |contig| &contig.name);
        let reverse = flags.is_reverse();
        let pos = if reverse { record.pos() } else { record.next_pos() };
        let mut molecule = [contig, format!(":{}/", i64::from(pos) + 1).as_bytes()].concat();
        if duplex {
            match strand(record)? {
                barcodes::Strand::Top => molecule.extend(b"/A"),
                barcodes::Strand::Bottom => molecule.extend(b"/B"),
                barcodes::Strand::Unknown => {}
            }
        }
        Ok(molecule)
    }
}

/// Edits the optional fields of a record's copy.
struct FieldEditor<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> FieldEditor<'a> {
    fn new(record: RecordRef<'_>, out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(record.raw());
        FieldEditor { out, start }
    }

    fn remove(&mut self, tag: Tag) {
        edit::remove(self.out, self.start, tag);
    }

    fn set_text(&mut self, tag: Tag, value: &[u8]) {
        self.remove(tag);
        edit::append_text(self.out, self.start, tag, value);
    }

    fn replace_text(&mut self, tag: Tag, value: &[u8]) {
        edit::set_field(self.out, self.start, tag, &[b"Z", value, b"\0"].concat());
    }

    fn replace_integer(&mut self, tag: Tag, value: u32) {
        let mut typed = Vec::new();
        if let Ok(value) = u8::try_from(value) {
            typed.extend([b'C', value]);
        } else if let Ok(value) = u16::try_from(value) {
            typed.push(b'S');
            typed.extend(value.to_le_bytes());
        } else {
            typed.push(b'I');
            typed.extend(value.to_le_bytes());
        }
        edit::set_field(self.out, self.start, tag, &typed);
    }

    fn set_integer(&mut self, tag: Tag, value: u32) {
        self.remove(tag);
        edit::append_integer(self.out, self.start, tag, value);
    }
}

impl Step for ApplyMarks {
    fn name(&self) -> &'static str {
        "mark-duplicates"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        self.writing.changes()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let (mut flagged, mut others, mut optical, mut removed) = (0, 0, 0, 0);
        let this = &*self;
        let Writing { remove, remove_optical, earlier, .. } = *this.writing;
        if earlier == EarlierMarks::Clear {
            batch.rewrite(|_, record, out| {
                let mut fields = FieldEditor::new(record, out);
                if record.flags().is_duplicate() {
                    OF_SAMTOOLS.into_iter().for_each(|tag| fields.remove(tag));
                }
                Ok(())
            })?;
        }
        batch.edit(|stamp, raw| {
            let before = RecordRef::new(raw).flags();
            let (flags, stays) = (before.0, earlier == EarlierMarks::Keep && before.is_duplicate());
            if this.verdict.is_duplicate(stamp) {
                flagged += 1;
                let is_other = before.is_unmapped() || !before.is_primary();
                let is_counted = is_other && !(stays && remove);
                others += u64::from(is_counted);
                optical += u64::from(is_counted && this.verdict.is_optical(stamp));
                removed += u64::from(remove && (stays || !is_other));
                edit::set_flags(raw, flags | Flags::DUPLICATE);
                this.count(RecordRef::new(raw));
            } else if stays {
                removed += u64::from(remove);
            } else {
                edit::set_flags(raw, flags & !Flags::DUPLICATE);
            }
        });
        self.counted.others.fetch_add(others, Relaxed);
        self.counted.optical_others.fetch_add(optical, Relaxed);
        self.counted.removed.fetch_add(removed, Relaxed);
        if remove_optical {
            batch.retain(|stamp, record| {
                !(record.flags().is_duplicate() && (remove || this.verdict.is_optical(stamp)))
            });
        } else if remove {
            batch.retain(|_, record| !record.flags().is_duplicate());
        }
        if this.writing.changes_fields() {
            batch.rewrite(|stamp, record, out| this.rewrite(record, stamp, out))?;
        }
        self.flagged += flagged;
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let name = match *self.writing {
            Writing { remove: true, .. } => "duplicates removed",
            Writing { remove_optical: true, .. } => "duplicates flagged or, if optical, removed",
            _ => "duplicates flagged",
        };
        vec![(name, self.flagged)]
    }
}
