//! The flag `--overlap`: keep reads that overlap the regions of a file.

use std::path::{Path, PathBuf};

use readmill_format::features::FeatureReader;
use readmill_format::intervals::{IntervalCollector, IntervalSet};
use readmill_format::unknown_contigs::UnknownContigs;
use readmill_record::{Detail, Header, Ledger, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "overlap",
        FlagValue::File,
        "BED",
        "Keep only reads that overlap a region of this BED file, interval list or VCF",
    )
    .with_aliases(&["filter-non-overlapping-reads", "targets-file"])
    .with_samtools_names(&["L"])],
    parse: |given, filters| {
        filters.extend(given.path_value("overlap").map(|path| OverlapRequest { path }));
        Ok(())
    },
};

#[derive(Debug)]
struct OverlapRequest {
    path: PathBuf,
}

impl Filter for OverlapRequest {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--overlap", self.path.display())
    }

    fn input_files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let overlap = Overlap::open(&self.path, context.header, context.ledger)?;
        if overlap.is_empty() {
            let path = self.path.display();
            context
                .host
                .print_warning(&format!("{path}: the file has no regions, so no reads are kept"));
        }
        overlap
            .unknown_contigs_warning(&self.path)
            .iter()
            .for_each(|warning| context.host.print_warning(warning));
        Ok(Box::new(overlap.into_step()))
    }
}

/// Drops reads that overlap none of the regions (`samtools view -L`, elPrep's
/// `--filter-non-overlapping-reads`).
///
/// A read covers the reference from POS to the last reference base of its CIGAR. An unmapped read
/// with a position, and a read without aligned bases, count as one base long. Reads without a
/// position are dropped. Adjacent regions are merged; an empty region is overlapped by reads with a
/// base on both sides of it. samtools 1.24 and elPrep 5.1.3 do the same. Where they differ (a CIGAR
/// with deletions or skips but without read bases), this step follows samtools.
#[derive(Clone)]
pub struct Overlap {
    regions: IntervalSet,
    unknown: UnknownContigs,
}

impl Overlap {
    /// Reads the regions of a BED file, interval list, VCF or BCF, and charges their memory to
    /// `ledger`.
    ///
    /// Regions on contigs that are not in the header are ignored;
    /// [`Overlap::unknown_contigs_warning`] names these contigs.
    ///
    /// # Errors
    /// The file cannot be read, or all its regions are on unknown contigs, so that the file
    /// probably belongs to a different genome.
    pub fn open(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        let (mut regions, mut unknown) = (IntervalCollector::new(ledger), UnknownContigs::default());
        let mut features = FeatureReader::open(path, ledger)?;
        features.dictionary().check_header(header, path)?;
        while let Some(place) = features.next_place()? {
            match header.reference_id(place.contig) {
                Some(id) => regions.push_interval(id as u32, place.start, place.end),
                None => unknown.add_place(place.contig),
            }
        }
        regions.check_memory().map_err(|e| e.file(path))?;
        if regions.is_empty() && !unknown.is_empty() {
            return Err(unknown.other_genome_error(path));
        }
        Ok(Overlap { regions: regions.into_set(header.references().len())?, unknown })
    }

    /// Returns a warning about the ignored regions of the file `path`, or `None` if all regions are
    /// used.
    pub fn unknown_contigs_warning(&self, path: &Path) -> Option<String> {
        self.unknown.warning(path, "regions")
    }

    /// Returns the regions as contig index, start and end (0-based, half-open), sorted and without
    /// overlaps. The reader of an indexed input reads only these regions.
    pub fn regions(&self) -> &[(u32, u32, u32)] {
        self.regions.intervals()
    }

    pub fn is_empty(&self) -> bool {
        self.regions.intervals().is_empty()
    }
}

impl Criterion for Overlap {
    fn name(&self) -> &'static str {
        "overlap"
    }

    fn dropped_label(&self) -> &'static str {
        "reads outside the regions dropped"
    }

    fn detail(&self) -> Detail {
        Detail::Places
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let Ok(contig) = usize::try_from(record.ref_id()) else { return Ok(false) };
        let next = self.regions.first_ending_after(contig, record.pos().into());
        Ok(next.is_some_and(|region| i64::from(region.0) < record.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    fn step(bed: &str) -> Result<Overlap> {
        let file = tempfile::Builder::new().suffix(".bed").tempfile().unwrap();
        std::fs::write(file.path(), bed.replace(' ', "\t")).unwrap();
        let header = header("@SQ SN:c LN:1000;@SQ SN:d LN:1000;@SQ SN:e LN:1000");
        Overlap::open(file.path(), &header, &Ledger::unlimited())
    }

    fn keeps(bed: &str, reads: &[&str]) -> String {
        kept(
            &mut step(bed).unwrap().into_step(),
            &header("@SQ SN:c LN:1000;@SQ SN:d LN:1000;@SQ SN:e LN:1000"),
            reads,
        )
    }

    #[test]
    fn one_shared_base_is_enough() {
        let reads = [
            "before 0 c 7 60 4M * 0 0 ACGT IIII", // 7-10, and the region is 11-20
            "first 0 c 8 60 4M * 0 0 ACGT IIII",
            "inside 0 c 15 60 4M * 0 0 ACGT IIII",
            "last 0 c 20 60 4M * 0 0 ACGT IIII",
            "behind 0 c 21 60 4M * 0 0 ACGT IIII",
            "around 0 c 1 60 2M40D2M * 0 0 ACGT IIII",
            "clipped 0 c 21 60 2S2M * 0 0 ACGT IIII",
            "there 0 d 15 60 4M * 0 0 ACGT IIII",
            "nowhere 4 * 0 0 * * 0 0 ACGT IIII",
            "placed 4 c 20 0 * * 0 0 ACGT IIII",
            "unmapped 4 c 9 0 4M * 0 0 ACGT IIII", // one base long, regardless of its CIGAR
        ];
        assert_eq!(keeps("c 10 20\n", &reads), "first inside last around placed");
        assert_eq!(keeps("c 15 20\nc 10 15\nc 12 13\n", &reads), "first inside last around placed");
        assert_eq!(keeps("track x\n#c 0 9\nd 0 1000\nother 1 2\n", &reads), "there");
    }

    #[test]
    fn touching_regions_are_one_and_empty_ones_lie_between_bases() {
        let reads = [
            "over 0 c 9 60 4M * 0 0 ACGT IIII",
            "left 0 c 7 60 4M * 0 0 ACGT IIII",
            "right 0 c 11 60 4M * 0 0 ACGT IIII",
        ];
        assert_eq!(keeps("c 10 10\n", &reads), "over");
        assert_eq!(keeps("c 10 11\n", &reads), "over right");
        let regions = step("c 5 9\nc 1 3\nc 3 5\nc 20 21\nc 6 7\n").unwrap().regions;
        assert_eq!(regions.intervals(), [(0, 1, 9), (0, 20, 21)]);
    }

    #[test]
    fn a_file_of_another_genome_is_refused_and_an_empty_one_keeps_nothing() {
        assert!(step("chrC 1 2\n").err().is_some_and(|error| error.what.contains("chrC")));
        assert!(step("c 5 2\n").is_err());
        assert_eq!(keeps("", &["r 0 c 9 60 4M * 0 0 ACGT IIII"]), "");
    }

    #[test]
    fn regions_are_charged() {
        let file = tempfile::Builder::new().suffix(".bed").tempfile().unwrap();
        std::fs::write(file.path(), "c\t1\t2\n".repeat(100_000)).unwrap();
        let open = |bytes| {
            Overlap::open(file.path(), &header("@SQ SN:c LN:1000"), &Ledger::with_capacity(bytes))
        };
        assert!(open(3 << 20).is_ok());
        let error = open(1 << 20).err().unwrap().to_string();
        assert!(error.contains("regions: needs"), "{error}");
    }
}
