//! The pipeline step that writes marks to records: flags, optional fields, and removal.
//!
//! [`ApplyMarks`] runs on any thread after duplicates are resolved. It looks up each record in the
//! [`Verdict`] by its stamp.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::tag::{self, Tag};
use readmill_record::{Batch, Changes, Flags, Header, RecordRef, Result, Stamp, Step, edit};

use super::barcodes::{self, find_molecule_strand};
use super::libraries::Libraries;
use super::metrics::LibraryCounts;
use super::samtools::SamtoolsReport;
use super::umi::Strand;
use super::verdict::{DuplicateCounts, Verdict};

/// The marks to write to records. The default is Picard's, except for `clear_dt`.
#[derive(Clone, Debug, Default)]
pub struct MarkOptions {
    pub remove: bool,
    pub remove_optical: bool,
    /// Remove DT fields of an earlier run from all records (Picard's CLEAR_DT).
    pub clear_dt: bool,
    pub duplicate_types: DuplicateTypes,
    /// Write the duplicate set of each mapped primary record: DI, the index of its representative,
    /// and DS, the number of pairs (Picard's TAG_DUPLICATE_SET_MEMBERS).
    pub members: bool,
    /// Tag for the molecular identifier derived from barcodes (Picard's MOLECULAR_IDENTIFIER_TAG),
    /// and whether the identifier includes the strand.
    pub molecule: Option<(Tag, bool)>,
    /// Tag for the molecule number derived from UMIs. `true` if each molecule has a set for each
    /// strand, so that the number ends with `/A` or `/B`.
    pub molecule_number: Option<(Tag, bool)>,
    pub earlier: EarlierMarks,
    pub samtools: SamtoolsTags,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamtoolsTags {
    /// Write `dt` to duplicates: `SQ` if they are optical, otherwise `LB` (`-d`).
    pub kind: bool,
    /// Write `do` to duplicates: the name of the read that is kept (`-t`).
    pub original: bool,
    /// Write `dc` to all records that are not flagged: the number of reads that they represent
    /// (`--duplicate-count`).
    pub count: bool,
    /// Also mark secondary, supplementary and unmapped records (`-S`). Flagged records then lose
    /// their `dc` field.
    pub other_records: bool,
}

/// How duplicate marks in the input are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlierMarks {
    /// Set or clear flag 0x400 on every record.
    #[default]
    Replace,
    /// Keep 0x400 on records that have it, and also set it on new duplicates.
    Keep,
    /// Like `Replace`, but also remove `dt` and `do` from records that had the flag, as samtools
    /// markdup -c does.
    Clear,
}

const KIND: Tag = *b"dt";
const ORIGINAL: Tag = *b"do";
const COUNT: Tag = *b"dc";

const SAMTOOLS_TAGS: [Tag; 2] = [KIND, ORIGINAL];

/// Which duplicates get a DT field: `SQ` for optical duplicates, `LB` for others (Picard's
/// TAGGING_POLICY).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateTypes {
    #[default]
    DontTag,
    OpticalOnly,
    All,
}

impl MarkOptions {
    fn changes_fields(&self) -> bool {
        let types = self.duplicate_types != DuplicateTypes::DontTag;
        self.clear_dt
            || types
            || self.members
            || self.molecule.is_some()
            || self.molecule_number.is_some()
            || self.writes_samtools_fields()
    }

    fn writes_samtools_fields(&self) -> bool {
        self.samtools.kind || self.samtools.original || self.samtools.count
    }

    /// Returns which fields this step changes and whether it removes reads. `--verify` fails if
    /// anything else changes.
    pub fn changes(&self) -> Changes {
        let mut tags = vec![tag::DT, tag::DI, tag::DS];
        tags.extend(self.molecule.iter().chain(&self.molecule_number).map(|(tag, _)| *tag));
        if self.earlier == EarlierMarks::Clear || self.writes_samtools_fields() {
            tags.extend(SAMTOOLS_TAGS);
        }
        tags.extend(self.samtools.count.then_some(COUNT));
        Changes { reads: self.remove || self.remove_optical, ..Changes::of_tags(&tags) }
    }
}

/// Sets 0x400 on duplicates, clears it on all other records, and writes or removes the requested
/// fields.
///
/// Each thread has its own fork. Forks share the verdict and the counts of flagged records.
#[derive(Clone)]
pub struct ApplyMarks {
    verdict: Arc<Verdict>,
    writing: Arc<MarkOptions>,
    libraries: Arc<Libraries>,
    header: Header,
    flagged_counts: Arc<FlaggedCounts>,
    flagged: u64,
}

#[derive(Debug, Default)]
pub struct FlaggedCounts {
    /// Flagged mapped primary records of each library: unpaired reads, then paired reads.
    libraries: Vec<[AtomicU64; 2]>,
    others: AtomicU64,
    optical_others: AtomicU64,
    /// Removed records. Newly marked secondary, supplementary and unmapped records are not counted,
    /// because samtools counts them as written.
    removed: AtomicU64,
}

impl FlaggedCounts {
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
    pub fn new(
        verdict: Arc<Verdict>,
        writing: MarkOptions,
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
            flagged_counts: Arc::new(counted),
            flagged: 0,
        }
    }

    /// Returns the counts that all forks share. They are complete after the last batch.
    pub fn flagged_counts(&self) -> Arc<FlaggedCounts> {
        Arc::clone(&self.flagged_counts)
    }

    /// Counts a flagged record. Like Picard's metrics, this includes only mapped primary records
    /// and counts pairs separately from fragments.
    fn count_flagged(&self, record: RecordRef<'_>) {
        let flags = record.flags();
        if flags.is_unmapped() || !flags.is_primary() {
            return;
        }
        let library = self.libraries.library(self.libraries.group(record.read_group()));
        let paired = flags.is_paired() && !flags.is_mate_unmapped();
        if let Some(counts) = self.flagged_counts.libraries.get(usize::from(library)) {
            counts[usize::from(paired)].fetch_add(1, Relaxed);
        }
    }

    /// Appends the record to `out` with its new optional fields.
    ///
    /// # Errors
    /// The set or molecule of the record cannot be read from the spill, or a duplex strand needs the
    /// MC field.
    fn rewrite_fields(&self, record: RecordRef<'_>, stamp: Stamp, out: &mut Vec<u8>) -> Result<()> {
        let MarkOptions { clear_dt, duplicate_types, members, molecule, molecule_number, .. } =
            &*self.writing;
        let mut fields = FieldEditor::new(record, out);
        self.write_samtools_fields(&mut fields, record, stamp)?;
        if *clear_dt {
            fields.remove_field(tag::DT);
        }
        if record.flags().is_duplicate() {
            match (duplicate_types, self.verdict.is_optical(stamp)) {
                (DuplicateTypes::DontTag, _) | (DuplicateTypes::OpticalOnly, false) => {}
                (_, true) => fields.set_text(tag::DT, b"SQ"),
                (DuplicateTypes::All, false) => fields.set_text(tag::DT, b"LB"),
            }
        }
        if let Some((tag, _)) = *molecule_number {
            fields.remove_field(tag); // a number from an earlier run would name a different molecule
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
            let molecule = self.format_molecule_identifier(record, *duplex)?;
            fields.set_text(*tag, &molecule);
        }
        Ok(())
    }

    /// Writes the fields of samtools markdup. As in samtools, existing fields are replaced in place
    /// and new fields are appended.
    fn write_samtools_fields(
        &self,
        fields: &mut FieldEditor<'_>,
        record: RecordRef<'_>,
        stamp: Stamp,
    ) -> Result<()> {
        let SamtoolsTags { kind, original, count, other_records } = self.writing.samtools;
        if self.verdict.is_duplicate(stamp) {
            if original && let Some(name) = self.verdict.original_name(stamp)? {
                fields.replace_text(ORIGINAL, &name);
            }
            if kind {
                let optical = self.verdict.is_optical(stamp);
                fields.replace_text(KIND, if optical { b"SQ" } else { b"LB" });
            }
        }
        if count && !record.flags().is_duplicate() {
            let stands_for = self.verdict.represented_reads(stamp)?.min(u32::MAX.into());
            fields.replace_integer(COUNT, stands_for as u32);
        } else if count && other_records {
            fields.remove_field(COUNT);
        }
        Ok(())
    }

    /// Returns the molecular identifier: contig, position of the reverse read and, for duplex
    /// barcodes, the strand (Picard, UmiUtil).
    fn format_molecule_identifier(&self, record: RecordRef<'_>, duplex: bool) -> Result<Vec<u8>> {
        let flags = record.flags();
        let placed = usize::try_from(record.ref_id()).ok().filter(|_| !flags.is_unmapped());
        let contig = placed.and_then(|id| self.header.references().get(id));
        let contig = contig.map_or(b"null".as_slice(), |contig| &contig.name);
        let reverse = flags.is_reverse();
        let pos = if reverse { record.pos() } else { record.next_pos() };
        let mut molecule = [contig, format!(":{}/", i64::from(pos) + 1).as_bytes()].concat();
        if duplex {
            match find_molecule_strand(record)? {
                barcodes::BarcodeStrand::Top => molecule.extend(b"/A"),
                barcodes::BarcodeStrand::Bottom => molecule.extend(b"/B"),
                barcodes::BarcodeStrand::Unknown => {}
            }
        }
        Ok(molecule)
    }
}

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

    fn remove_field(&mut self, tag: Tag) {
        edit::remove_fields(self.out, self.start, tag);
    }

    fn set_text(&mut self, tag: Tag, value: &[u8]) {
        self.remove_field(tag);
        edit::append_text(self.out, self.start, tag, value);
    }

    fn replace_text(&mut self, tag: Tag, value: &[u8]) {
        edit::set_field(self.out, self.start, tag, &[b"Z", value, b"\0"].concat());
    }

    /// Writes an integer as the smallest unsigned type that holds it. An existing field is replaced
    /// in place.
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
        self.remove_field(tag);
        edit::append_integer(self.out, self.start, tag, value);
    }
}

impl Step for ApplyMarks {
    fn name(&self) -> &'static str {
        "mark-duplicates"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        self.writing.changes()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let (mut flagged, mut others, mut optical, mut removed) = (0, 0, 0, 0);
        let this = &*self;
        let MarkOptions { remove, remove_optical, earlier, .. } = *this.writing;
        if earlier == EarlierMarks::Clear {
            batch.rewrite_records(|_, record, out| {
                let mut fields = FieldEditor::new(record, out);
                if record.flags().is_duplicate() {
                    SAMTOOLS_TAGS.into_iter().for_each(|tag| fields.remove_field(tag));
                }
                Ok(())
            })?;
        }
        batch.edit_in_place(|stamp, raw| {
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
                this.count_flagged(RecordRef::new(raw));
            } else if stays {
                removed += u64::from(remove);
            } else {
                edit::set_flags(raw, flags & !Flags::DUPLICATE);
            }
        });
        self.flagged_counts.others.fetch_add(others, Relaxed);
        self.flagged_counts.optical_others.fetch_add(optical, Relaxed);
        self.flagged_counts.removed.fetch_add(removed, Relaxed);
        if remove_optical {
            batch.retain(|stamp, record| {
                !(record.flags().is_duplicate() && (remove || this.verdict.is_optical(stamp)))
            });
        } else if remove {
            batch.retain(|_, record| !record.flags().is_duplicate());
        }
        if this.writing.changes_fields() {
            batch.rewrite_records(|stamp, record, out| this.rewrite_fields(record, stamp, out))?;
        }
        self.flagged += flagged;
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let name = match *self.writing {
            MarkOptions { remove: true, .. } => "duplicates removed",
            MarkOptions { remove_optical: true, .. } => "duplicates flagged or, if optical, removed",
            _ => "duplicates flagged",
        };
        vec![(name, self.flagged)]
    }
}
