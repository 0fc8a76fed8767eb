//! Genes from a refFlat file, as Picard 3.4.0 reads them. A gene is ignored if its lines disagree.
//! Of several genes with the same position and strand, only one is kept.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use readmill_format::intervals::NamedIntervals;
use readmill_format::ref_flat::{RefFlatReader, RefFlatRow};
use readmill_format::unknown_contigs::UnknownContigs;
use readmill_record::{
    Charge, Header, Ledger, Prepaid, Result, extra_slots_to_grow, java, make_room, table_slots,
};

/// The input files of CollectRnaSeqMetrics, in memory.
pub(super) struct RnaFiles {
    pub genes: Genes,
    pub ribosomal: Option<NamedIntervals>,
}

/// Genes that can be found by position. Clones share the data.
#[derive(Clone, Debug)]
pub struct Genes(Arc<GeneData>);

#[derive(Debug)]
struct GeneData {
    genes: Vec<Gene>,
    transcripts: Vec<Transcript>,
    exons: Vec<(u32, u32)>,
    /// The index of genes by position, sorted: for each contig and part of it that a gene reaches,
    /// the gene's number.
    parts: Vec<((u32, u32), u32)>,
    /// The union of all exons, which numbers the positions of exons.
    union: NamedIntervals,
    warnings: Vec<String>,
    _charge: Charge,
}

/// A gene. Its positions are 0-based, with exclusive ends.
#[derive(Clone, Debug)]
pub(super) struct Gene {
    pub contig: u32,
    pub start: u32,
    pub end: u32,
    pub is_reverse: bool,
    /// The range of its transcripts, in the order in which Picard evaluates them.
    pub transcripts: Range<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Transcript {
    pub transcribed: (u32, u32),
    pub coding: (u32, u32),
    pub exons: Range<u32>,
    pub length: u32,
}

/// Maximum number of transcripts whose depths are in memory at a time.
pub(super) const AT_ONCE: usize = 1001;

/// Number of bases in a part of a contig, as a power of two.
const PART_BITS: u32 = 14;

impl Genes {
    /// Reads a refFlat file. Skips lines whose contig is not in `header`.
    ///
    /// # Errors
    /// A line is malformed, all lines are on contigs that the header lacks, or the memory limit
    /// does not allow it.
    pub fn read_ref_flat(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        let RefFlatRows { mut names, rows, mut paid, warnings } =
            RefFlatRows::read_rows(path, header, ledger)?;
        let charge = paid.charge_mut();
        java::sort_by_hash(&mut names);
        let mut data = GeneData {
            genes: Vec::new(),
            transcripts: Vec::new(),
            exons: Vec::new(),
            parts: Vec::new(),
            union: NamedIntervals::from_unnamed(&[], header.references().len(), ledger)?,
            warnings,
            _charge: ledger.empty_charge(GENES),
        };
        let mut places = HashSet::new();
        let (mut kept, mut scratch) = (ledger.empty_charge(GENES), ledger.empty_charge(GENES));
        let mut all = Vec::new();
        for name in &names {
            if let Some(rows) = rows.get(name) {
                scratch.grow_to(scratch_bytes(rows))?;
            }
            let Some(rows) = rows.get(name).filter(|rows| are_rows_consistent(rows)) else { continue };
            let Some(contig) =
                header.reference_id(&rows[0].contig).and_then(|id| u32::try_from(id).ok())
            else {
                continue;
            };
            let start = rows.iter().map(|row| row.transcribed.0).min().unwrap_or_default();
            let end = rows.iter().map(|row| row.transcribed.1).max().unwrap_or_default();
            let is_reverse = rows[0].strand == b"-";
            let place = (contig, start, end, is_reverse);
            let slots = extra_slots_to_grow(places.capacity(), places.len(), 1);
            charge.grow(slots as u64 * (size_of_val(&place) as u64 + 1))?;
            if start >= end || !places.insert(place) {
                continue;
            }
            make_room(&mut data.genes, 1, &mut kept)?;
            make_room(&mut data.transcripts, rows.len(), &mut kept)?;
            let exons: usize = rows.iter().map(|row| row.exons.len()).sum();
            make_room(&mut data.exons, exons, &mut kept)?;
            make_room(&mut all, exons, charge)?;
            let transcripts = data.transcripts.len() as u32;
            let by_name: HashMap<&[u8], &RefFlatRow> =
                rows.iter().map(|row| (&row.name[..], row)).collect();
            let mut order: Vec<Vec<u8>> = rows.iter().map(|row| row.name.clone()).collect();
            java::sort_by_hash(&mut order);
            for name in &order {
                let Some(row) = by_name.get(&name[..]) else { continue };
                let from = data.exons.len() as u32;
                data.exons.extend(&row.exons);
                all.extend(row.exons.iter().map(|&(start, end)| (contig, start, end)));
                data.transcripts.push(Transcript {
                    transcribed: row.transcribed,
                    coding: row.coding,
                    exons: from..data.exons.len() as u32,
                    length: row.exons.iter().map(|(start, end)| end - start).sum(),
                });
            }
            let number = data.genes.len() as u32;
            let parts = start >> PART_BITS..=(end - 1) >> PART_BITS;
            make_room(&mut data.parts, parts.clone().count(), &mut kept)?;
            data.parts.extend(parts.map(|part| ((contig, part), number)));
            let transcripts = transcripts..data.transcripts.len() as u32;
            data.genes.push(Gene { contig, start, end, is_reverse, transcripts });
        }
        data.parts.sort_unstable();
        let contigs = header.references().len();
        data.union = NamedIntervals::from_unnamed(&all, contigs, ledger)?;
        data._charge = kept;
        Ok(Genes(Arc::new(data)))
    }

    /// Returns warnings about the file, such as transcripts on contigs that are not in the header.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Finds the genes that overlap a range. Stores their numbers in `found`, in ascending order.
    pub(super) fn find_overlapping(&self, contig: u32, start: u32, end: u32, found: &mut Vec<u32>) {
        found.clear();
        if start >= end {
            return;
        }
        let (first, last) = (start >> PART_BITS, (end - 1) >> PART_BITS);
        let parts = &self.0.parts;
        let from = parts.partition_point(|it| it.0 < (contig, first));
        for &((_, part), number) in parts[from..].iter().take_while(|it| it.0 <= (contig, last)) {
            let gene = &self.0.genes[number as usize];
            // A gene that reaches several parts of the range is reported only for the first of
            // them.
            let is_first = part == first.max(gene.start >> PART_BITS);
            if is_first && gene.start < end && start < gene.end {
                found.push(number);
            }
        }
        found.sort_unstable();
    }

    pub(super) fn genes(&self) -> &[Gene] {
        &self.0.genes
    }

    /// Returns the transcripts of a gene, with their numbers.
    pub(super) fn transcripts(&self, gene: &Gene) -> impl Iterator<Item = (u32, &Transcript)> {
        let range = gene.transcripts.start as usize..gene.transcripts.end as usize;
        gene.transcripts.clone().zip(&self.0.transcripts[range])
    }

    pub(super) fn exons(&self, transcript: &Transcript) -> &[(u32, u32)] {
        &self.0.exons[transcript.exons.start as usize..transcript.exons.end as usize]
    }

    pub(super) fn exon_union(&self) -> &NamedIntervals {
        &self.0.union
    }

    /// Returns the number of exons, of all transcripts together, and the number of genes.
    pub(super) fn exon_and_gene_counts(&self) -> (u64, u64) {
        (self.0.exons.len() as u64, self.0.genes.len() as u64)
    }

    /// Takes the longest transcript of each gene, and returns the total length in bases of the
    /// `count` longest of these.
    pub(super) fn longest_transcript_bases(&self, count: usize) -> u64 {
        let longest = |gene| self.transcripts(gene).map(|(_, it)| it.length).max().unwrap_or_default();
        let mut lengths: Vec<u32> = self.0.genes.iter().map(longest).collect();
        lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
        lengths.into_iter().take(count).map(u64::from).sum()
    }
}

/// The lines of a refFlat file, grouped by gene, and the memory charge for them.
struct RefFlatRows {
    /// The names of genes in the order in which they first occur.
    names: Vec<Vec<u8>>,
    rows: HashMap<Vec<u8>, Vec<RefFlatRow>>,
    paid: Prepaid,
    warnings: Vec<String>,
}

impl RefFlatRows {
    /// Reads the lines whose contigs are in `header`.
    ///
    /// # Errors
    /// A line is malformed, all lines are on contigs that the header lacks, or the memory limit
    /// does not allow it.
    fn read_rows(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        let mut reader = RefFlatReader::open(path, ledger)?;
        let (names, rows, warnings) = Default::default();
        let mut all =
            RefFlatRows { names, rows, paid: Prepaid::new(ledger.empty_charge(GENES)), warnings };
        let unknown = RefCell::new(UnknownContigs::default());
        let is_known = |contig: &[u8]| {
            let is_known = header.reference_id(contig).is_some();
            if !is_known {
                unknown.borrow_mut().add_place(contig);
            }
            is_known
        };
        let mut beyond_end = 0u64;
        while let Some(row) = reader.next_row(is_known)? {
            let contig = header.reference_id(&row.contig).and_then(|id| usize::try_from(id).ok());
            let length = contig.map_or(0, |id| header.references()[id].length);
            beyond_end += u64::from(length > 0 && row.transcribed.1 > length);
            all.add_row(row)?;
        }
        let unknown = unknown.into_inner();
        if all.names.is_empty() && !unknown.is_empty() {
            return Err(unknown.other_genome_error(path));
        }
        all.warnings.extend(unknown.warning(path, "transcripts"));
        if beyond_end > 0 {
            all.warnings.push(format!(
                "{}: {beyond_end} transcripts reach beyond the end of their contig: is it the file of another build?",
                path.display()
            ));
        }
        Ok(all)
    }

    /// Adds a line. Only the lists of the line itself are allocated before their memory is charged.
    fn add_row(&mut self, row: RefFlatRow) -> Result<()> {
        let RefFlatRows { names, rows, paid, .. } = self;
        for text in [&row.gene, &row.name, &row.contig, &row.strand] {
            paid.pay_block(text.capacity())?;
        }
        paid.pay_block(row.exons.capacity() * size_of::<(u32, u32)>())?;
        if let Some(of_gene) = rows.get_mut(&row.gene) {
            make_room(of_gene, 1, paid.charge_mut())?;
            of_gene.push(row);
            return Ok(());
        }
        let slots = extra_slots_to_grow(rows.capacity(), rows.len(), 1);
        paid.charge_mut().grow((slots * (size_of::<(Vec<u8>, Vec<RefFlatRow>)>() + 1)) as u64)?;
        make_room(names, 1, paid.charge_mut())?;
        (0..2).try_for_each(|_| paid.pay_block(row.gene.len()))?;
        let mut of_gene = Vec::new();
        make_room(&mut of_gene, 1, paid.charge_mut())?;
        names.push(row.gene.clone());
        let name = row.gene.clone();
        of_gene.push(row);
        rows.insert(name, of_gene);
        Ok(())
    }
}

const GENES: &str = "genes";

/// Returns the memory in bytes that is in use while the lines of a gene are compared and sorted:
/// sets and copies of their names.
fn scratch_bytes(rows: &[RefFlatRow]) -> u64 {
    let names: usize = rows.iter().map(|row| row.name.len() + 16).sum();
    let slots = table_slots(rows.len()) * (size_of::<(&[u8], &RefFlatRow)>() + 1);
    (slots + names + 2 * rows.len() * size_of::<Vec<u8>>()) as u64
}

/// Returns whether the lines of a gene agree: they have one contig and strand, transcript names are
/// unique, and exons are in order and do not overlap.
fn are_rows_consistent(rows: &[RefFlatRow]) -> bool {
    let mut names = HashSet::new();
    rows.iter().all(|row| {
        row.strand == rows[0].strand
            && row.contig == rows[0].contig
            && !row.is_miscounted
            && names.insert(&row.name)
            && row.exons.iter().all(|(start, end)| start < end)
            && row.exons.windows(2).all(|exons| exons[0].1 <= exons[1].0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"@SQ\tSN:c1\tLN:100000\n@SQ\tSN:c2\tLN:500\n";

    #[test]
    fn genes_that_disagree_are_left_out_and_others_are_found_by_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let text = "a\tt1\tc1\t+\t10\t90\t20\t80\t2\t10,50,\t30,90,\n\
                    a\tt2\tc1\t+\t5\t40\t5\t5\t1\t5,\t40,\n\
                    strands\tt\tc1\t+\t5\t40\t5\t5\t1\t5,\t40,\nstrands\tu\tc1\t-\t5\t40\t5\t5\t1\t5,\t40,\n\
                    twice\tt\tc1\t+\t5\t41\t5\t5\t1\t5,\t41,\ntwice\tt\tc1\t+\t5\t41\t5\t5\t1\t5,\t41,\n\
                    overlap\tt\tc1\t+\t5\t42\t5\t5\t2\t5,9\t10,42,\n\
                    long\tt\tc1\t-\t60\t90000\t5\t5\t2\t60,89000,\t70,90000,\n\
                    same\tt\tc1\t-\t60\t90000\t5\t5\t1\t60,\t90000,\n\
                    elsewhere\tt\tc9\t-\t60\t90000\t5\t5\t1\t60,\t90000,\n";
        std::fs::write(&path, text).unwrap();
        let header = Header::parse(HEADER).unwrap();
        let genes = Genes::read_ref_flat(&path, &header, &Ledger::unlimited()).unwrap();
        let places: Vec<_> = genes.genes().iter().map(|it| (it.start, it.end, it.is_reverse)).collect();
        assert_eq!(places.len(), 2, "{places:?}");
        let mut found = Vec::new();
        let mut at = |contig, start, end| {
            genes.find_overlapping(contig, start, end, &mut found);
            found.iter().map(|&number| places[number as usize].0).collect::<Vec<_>>()
        };
        assert_eq!(at(0, 0, 5), [0_u32; 0]);
        assert_eq!(at(0, 0, 6), [5]);
        assert_eq!(at(0, 89, 60_000).len(), 2);
        assert_eq!(at(0, 90, 60_000), [60]);
        assert_eq!(at(0, 50_000, 50_001), [60]);
        assert_eq!(at(0, 90_000, 90_001), [0_u32; 0]);
        assert_eq!(at(1, 60, 70), [0_u32; 0]);
    }
}
