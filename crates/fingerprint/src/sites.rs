//! Sites at which people differ: single bases with two alleles.

use std::ops::Range;
use std::path::Path;

use readmill_format::features::FeatureReader;
use readmill_format::text::LineReader;
use readmill_record::{Charge, Error, Header, Ledger, Result};

const MAX_SITES: usize = 1_000_000;

const SITES_PER_CHARGE: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    pub ref_id: i32,
    pub pos: i32,
    /// The allele of the reference, or the major allele of a haplotype map: A, C, G or T.
    pub first: u8,
    pub second: u8,
}

/// The sites of a file, in header order and by position.
pub struct Sites {
    list: Vec<Site>,
    starts: Vec<u32>,
    _charges: Vec<Charge>,
}

const ALLELES: [usize; 2] = [3, 4];

impl Sites {
    /// Reads the sites on contigs of `header` from a VCF file or a haplotype map of Picard, plain
    /// or compressed. Lines that are not a single base with one other allele are ignored.
    ///
    /// # Errors
    /// The file cannot be read, a line is invalid, the lengths of its contigs differ from those in
    /// the header, or it has no sites on these contigs, or too many.
    pub fn read(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        // A pipe can be read only once, so its contigs are not compared. Errors in lines are
        // reported as they are read, below.
        if path.is_file()
            && let Ok(features) = FeatureReader::open(path, ledger)
        {
            features.dictionary().check_header(header, path)?;
        }
        let mut lines = LineReader::open(path, ledger)?;
        let (mut list, mut charges, mut elsewhere) = (Vec::new(), Vec::new(), 0u64);
        let mut is_known = false;
        while lines.advance_line()? {
            let line = lines.line();
            match line.first() {
                None | Some(b'@') => continue,
                Some(b'#') => {
                    is_known |= is_column_line(line);
                    continue;
                }
                Some(_) => {}
            }
            if !is_known {
                let what = format!("{} is not a file of sites", path.display());
                return Err(Error::input(what).hint(
                    "give a VCF file of common single-base variants, or a haplotype map of Picard CrosscheckFingerprints",
                ));
            }
            let Some((contig, site)) = parse_site(line).map_err(|what| lines.line_error(what))? else {
                continue;
            };
            let Some(ref_id) = header.reference_id(contig) else {
                elsewhere += 1;
                continue;
            };
            if list.len() == list.capacity() {
                if list.len() >= MAX_SITES {
                    let what = format!("{} has more than {MAX_SITES} sites", path.display());
                    return Err(
                        Error::usage(what).hint("give only common sites; a few thousand are enough")
                    );
                }
                charges.push(ledger.charge(
                    "sites of the fingerprint",
                    (SITES_PER_CHARGE * size_of::<Site>()) as u64,
                )?);
                list.reserve_exact(SITES_PER_CHARGE);
            }
            list.push(Site { ref_id, ..site });
        }
        if list.is_empty() {
            let what = match elsewhere {
                0 => format!("{} has no single-base site with two alleles", path.display()),
                n => format!(
                    "none of the {n} sites of {} is on a contig in the header of the reads",
                    path.display()
                ),
            };
            return Err(
                Error::input(what).hint("give sites for the reference that the reads were aligned to")
            );
        }
        list.sort_unstable();
        list.dedup();
        let contigs = header.references().len() as i32;
        let starts = (0..=contigs).map(|id| list.partition_point(|site| site.ref_id < id) as u32);
        let starts = starts.collect();
        Ok(Sites { list, starts, _charges: charges })
    }

    pub fn list(&self) -> &[Site] {
        &self.list
    }

    /// Returns the indexes of the sites of a contig within a range of positions (0-based).
    pub fn indexes_within(&self, ref_id: i32, range: Range<i32>) -> Range<usize> {
        let at = |id: i32| self.starts.get(id as usize).map_or(self.list.len(), |&start| start as usize);
        if ref_id < 0 {
            return 0..0;
        }
        let (start, end) = (at(ref_id), at(ref_id + 1));
        let of_contig = &self.list[start..end];
        let from = of_contig.partition_point(|site| site.pos < range.start);
        let to = of_contig.partition_point(|site| site.pos < range.end);
        start + from..start + to
    }
}

fn is_column_line(line: &[u8]) -> bool {
    line.starts_with(b"#CHROM\t") || line.starts_with(b"#CHROMOSOME\t")
}

/// Parses the contig and the site of a line; `None` unless it is a single base with one other
/// allele.
fn parse_site(line: &[u8]) -> std::result::Result<Option<(&[u8], Site)>, &'static str> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b'\t').take(ALLELES[1] + 1).collect();
    let [contig, pos, ..] = fields[..] else { return Err("fewer than five columns") };
    let pos = std::str::from_utf8(pos).ok().and_then(|pos| pos.parse::<i32>().ok());
    let pos = pos.filter(|&pos| pos >= 0).ok_or("the position is not a number")?;
    let allele = |column: usize| fields.get(column).copied().ok_or("fewer than five columns");
    let base = |allele: &[u8]| match allele {
        [base] => Some(base.to_ascii_uppercase()).filter(|base| b"ACGT".contains(base)),
        _ => None,
    };
    let (first, second) = (base(allele(ALLELES[0])?), base(allele(ALLELES[1])?));
    let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
    let is_site = first != second && pos > 0;
    Ok(is_site.then_some((contig, Site { ref_id: -1, pos: pos - 1, first, second })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Sites> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sites.vcf");
        std::fs::write(&path, text).unwrap();
        let header = Header::parse(b"@SQ\tSN:a\tLN:100\n@SQ\tSN:b\tLN:100\n").unwrap();
        Sites::read(&path, &header, &Ledger::unlimited())
    }

    #[test]
    fn single_bases_are_taken_in_the_order_of_the_header() {
        let sites = read(
            "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\nb\t5\t.\tA\tC\na\t9\t.\tg\tT\na\t3\t.\tAT\tA\n\
             a\t4\t.\tA\tC,G\na\t2\t.\tC\tT\nz\t2\t.\tC\tT\n",
        );
        let sites = sites.unwrap();
        let site = |ref_id, pos, first, second| Site { ref_id, pos, first, second };
        assert_eq!(
            sites.list(),
            [site(0, 1, b'C', b'T'), site(0, 8, b'G', b'T'), site(1, 4, b'A', b'C')]
        );
        assert_eq!(sites.indexes_within(0, 2..9), 1..2);
        assert_eq!(sites.indexes_within(0, 0..100), 0..2);
        assert_eq!(sites.indexes_within(1, 0..4), 2..2);
        assert_eq!(sites.indexes_within(-1, 0..4), 0..0);
    }

    #[test]
    fn a_haplotype_map_is_read() {
        let map = "@HD\tVN:1.6\n@SQ\tSN:a\tLN:100\n#CHROMOSOME\tPOSITION\tNAME\tMAJOR_ALLELE\tMINOR_ALLELE\tMAF\n\
            a\t7\trs1\tT\tC\t0.4\n";
        assert_eq!(read(map).unwrap().list(), [Site { ref_id: 0, pos: 6, first: b'T', second: b'C' }]);
    }

    #[test]
    fn sites_of_another_build_are_refused() {
        for text in [
            "@HD\tVN:1.6\n@SQ\tSN:a\tLN:99\n#CHROMOSOME\tPOSITION\tNAME\tMAJOR_ALLELE\tMINOR_ALLELE\tMAF\n\
             a\t7\trs1\tT\tC\t0.4\n",
            "##fileformat=VCFv4.2\n##contig=<ID=a,length=99>\n#CHROM\tPOS\tID\tREF\tALT\na\t2\t.\tC\tT\n",
        ] {
            let error = read(text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("contig a has 99 bases here, but 100"), "{error}");
        }
    }

    #[test]
    fn what_has_no_sites_is_refused() {
        let wrong = [
            "a\t1\t.\tA\tC\n",
            "#CHROM\tPOS\tID\tREF\tALT\nz\t1\t.\tA\tC\n",
            "#CHROM\tPOS\tID\tREF\tALT\na\tx\t.\tA\tC\n",
            "#CHROM\tPOS\tID\tREF\tALT\na\t1\n",
        ];
        for text in wrong {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
