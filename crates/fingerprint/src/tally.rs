//! Counts alleles at sites, and reads by kind of chromosome.

use std::sync::Arc;

use readmill_record::cigar::{consumes_query, consumes_reference};
use readmill_record::{Batch, Detail, Header, RecordRef, Result, Tally};
use serde::{Deserialize, Serialize};

use crate::sites::Sites;
use crate::table::{Fingerprint, ReadsOn, SiteCounts};

/// Minimum MAPQ of reads that count.
pub const MIN_MAPPING_QUALITY: u8 = 10;

/// Minimum quality (Phred) of bases that count.
pub const MIN_BASE_QUALITY: u8 = 20;

/// Reads with any of these flags do not count: unmapped, secondary, failed quality control,
/// duplicate, supplementary.
const EXCLUDED: u16 = 0x4 | 0x100 | 0x200 | 0x400 | 0x800;

const BASES: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

/// Counts alleles at sites, and reads by kind of chromosome, as a [`Tally`].
///
/// A base counts for each read that has it, so it counts for both mates where they overlap.
/// `samtools mpileup -A -B -x -q 10 -Q 20` counts the same.
pub struct FingerprintTally {
    sites: Arc<Sites>,
    header: Header,
    /// Kind of each contig, as an index of the counts of reads: 0 an autosome, 1 X, 2 Y. `None` is
    /// any other contig.
    kinds: Vec<Option<usize>>,
}

#[derive(Default, Serialize, Deserialize)]
pub struct AlleleCounts {
    /// For each site, the bases that are its first allele, its second, or another.
    sites: Vec<[u64; 3]>,
    reads: [u64; 3],
}

impl FingerprintTally {
    /// Returns a tally for reads with this header. The contigs of `sites` must be numbered by it.
    pub fn new(sites: Sites, header: &Header) -> Self {
        let kinds = header.references().iter().map(|contig| contig_kind(&contig.name)).collect();
        FingerprintTally { sites: Arc::new(sites), header: header.clone(), kinds }
    }

    fn count_record(&self, counts: &mut AlleleCounts, record: RecordRef<'_>) {
        if record.flags().0 & EXCLUDED != 0 || record.mapq() < MIN_MAPPING_QUALITY {
            return;
        }
        if let Some(kind) = self.kinds.get(record.ref_id() as usize).copied().flatten() {
            counts.reads[kind] += 1;
        }
        let start = record.pos();
        let end = i64::from(start) + record.cigar().reference_length();
        let end = i32::try_from(end).unwrap_or(i32::MAX);
        let mut wanted = self.sites.indexes_within(record.ref_id(), start..end);
        if wanted.is_empty() {
            return;
        }
        let (list, seq, qual) = (self.sites.list(), record.seq(), record.qual());
        let (mut at, mut base) = (i64::from(start), 0usize);
        for (op, length) in record.cigar().ops() {
            let (on_reference, on_read) = (consumes_reference(op), consumes_query(op));
            let after = at + if on_reference { i64::from(length) } else { 0 };
            while on_reference && !wanted.is_empty() && i64::from(list[wanted.start].pos) < after {
                let site = &list[wanted.start];
                if on_read {
                    let number = base + (i64::from(site.pos) - at) as usize;
                    let good = qual.get(number).is_some_and(|&quality| quality >= MIN_BASE_QUALITY);
                    let pair = seq.get(number / 2).copied().unwrap_or(0);
                    let code = if number.is_multiple_of(2) { pair >> 4 } else { pair & 15 };
                    let allele = match BASES[usize::from(code)] {
                        letter if letter == site.first => 0,
                        letter if letter == site.second => 1,
                        _ => 2,
                    };
                    counts.sites[wanted.start][allele] += u64::from(good);
                }
                wanted.start += 1;
            }
            at = after;
            base += if on_read { length as usize } else { 0 };
        }
    }
}

/// Returns the kind of a contig from its name, with or without `chr`; `None` unless it is X, Y, or
/// a number of one or two digits.
fn contig_kind(name: &[u8]) -> Option<usize> {
    let name = name.strip_prefix(b"chr").unwrap_or(name);
    match name {
        b"X" => Some(1),
        b"Y" => Some(2),
        _ => (!name.is_empty() && name.len() < 3 && name.iter().all(u8::is_ascii_digit)).then_some(0),
    }
}

impl Tally for FingerprintTally {
    type Partial = AlleleCounts;
    type Total = Fingerprint;

    fn detail(&self) -> Detail {
        Detail::WithoutFields
    }

    fn observe(&self, partial: &mut AlleleCounts, batch: &Batch) -> Result<()> {
        partial.sites.resize(self.sites.list().len(), [0; 3]);
        batch.records().for_each(|(_, record)| self.count_record(partial, record));
        Ok(())
    }

    fn merge(&self, into: &mut AlleleCounts, from: AlleleCounts) {
        if into.sites.is_empty() {
            into.sites = from.sites;
        } else {
            let pairs = into.sites.iter_mut().flatten().zip(from.sites.iter().flatten());
            pairs.for_each(|(into, from)| *into += from);
        }
        into.reads.iter_mut().zip(from.reads).for_each(|(into, from)| *into += from);
    }

    fn finish(&self, mut counts: AlleleCounts) -> Result<Fingerprint> {
        counts.sites.resize(self.sites.list().len(), [0; 3]);
        let contigs = self.header.references();
        let mut reads = counts.reads.map(|reads| ReadsOn { reads, bases: 0 });
        for (contig, kind) in contigs.iter().zip(&self.kinds) {
            if let Some(kind) = kind {
                reads[*kind].bases += u64::from(contig.length);
            }
        }
        let sites = self.sites.list().iter().zip(counts.sites);
        let sites = sites.map(|(site, counts)| SiteCounts {
            contig: String::from_utf8_lossy(&contigs[site.ref_id as usize].name).into_owned(),
            pos: site.pos + 1,
            alleles: [site.first, site.second],
            counts,
        });
        Ok(Fingerprint { sample: String::new(), reads, sites: sites.collect() })
    }

    fn memory_bytes(&self, threads: u64) -> u64 {
        let sites = self.sites.list().len() as u64;
        let (counts, result, line) = (size_of::<[u64; 3]>(), size_of::<SiteCounts>() + 16, 64);
        sites * ((threads + 1) * counts as u64 + result as u64 + line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::Ledger;

    #[test]
    fn kinds_are_known_by_name() {
        let names: [&[u8]; 8] =
            [b"chr1", b"22", b"chrX", b"Y", b"chrM", b"chr1_random", b"HLA-A", b"chr"];
        assert_eq!(names.map(contig_kind), [Some(0), Some(0), Some(1), Some(2), None, None, None, None]);
    }

    /// Counts the alleles in one SAM record at four sites of chr1: 1-based positions 3, 5, 8 and
    /// 10, each with the alleles A and C.
    fn counted(read: &str) -> (Vec<[u64; 3]>, [u64; 3]) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sites.vcf");
        let sites = [3, 5, 8, 10].map(|pos| format!("chr1\t{pos}\t.\tA\tC\n")).concat();
        std::fs::write(&path, format!("#CHROM\tPOS\tID\tREF\tALT\n{sites}")).unwrap();
        let header = Header::parse(b"@SQ\tSN:chr1\tLN:100\n@SQ\tSN:chrX\tLN:50\n").unwrap();
        let sites = Sites::read(&path, &header, &Ledger::unlimited()).unwrap();
        let tally = FingerprintTally::new(sites, &header);
        let mut batch = Batch::default();
        let mut raw = Vec::new();
        readmill_format::sam::LineParser::new(&header).parse(read.as_bytes(), &mut raw).unwrap();
        batch.push(&raw, readmill_record::Stamp::default()).unwrap();
        let mut counts = AlleleCounts::default();
        tally.observe(&mut counts, &batch).unwrap();
        let mut sum = AlleleCounts::default();
        tally.merge(&mut sum, counts);
        (sum.sites.clone(), sum.reads)
    }

    #[test]
    fn bases_count_where_the_cigar_puts_them() {
        // Positions 3 to 6, an inserted base, 7 deleted, 8 to 10.
        let read = "r\t0\tchr1\t3\t60\t1S4M1I1D3M\t*\t0\t0\tTAGCGTAGG\tIIIIIIIII";
        let (sites, reads) = counted(read);
        assert_eq!(sites, [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]);
        assert_eq!(reads, [1, 0, 0]);
    }

    #[test]
    fn poor_bases_and_reads_do_not_count() {
        let read = |flags: u16, mapq: u8, qual: &str| {
            format!("r\t{flags}\tchr1\t3\t{mapq}\t8M\t*\t0\t0\tAAAAAAAA\t{qual}")
        };
        assert_eq!(counted(&read(0, 10, "5IIIIIII")).0, [[1, 0, 0]; 4]); // 5 is quality 20
        assert_eq!(counted(&read(0, 10, "4IIIIIII")).0[0], [0, 0, 0]);
        for poor in [read(0x400, 60, "IIIIIIII"), read(0, 9, "IIIIIIII"), read(0x900, 60, "IIIIIIII")] {
            assert_eq!(counted(&poor), (vec![[0; 3]; 4], [0; 3]), "{poor}");
        }
    }
}
