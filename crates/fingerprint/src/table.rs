//! The file of a fingerprint: text, so that it can be kept for years and read by anything.
//!
//! ```text
//! ##readmill fingerprint 1
//! ##sample=NA12878
//! ##autosomes=reads,bases
//! ##X=reads,bases
//! ##Y=reads,bases
//! #CHROM POS FIRST SECOND FIRST_COUNT SECOND_COUNT OTHER_COUNT
//! ```
//!
//! Columns are separated by tabs. POS is 1-based. FIRST is the allele of the reference (or the major one of a haplotype map). `bases` is the length of these
//! contigs.

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;

use readmill_format::text::{LineReader, TextInput};
use readmill_record::{Error, Ledger, Result};

/// The first line of each file.
const FIRST_LINE: &str = "##readmill fingerprint 1";

/// Bytes of memory of a site, with the name of its contig.
const SITE_BYTES: u64 = size_of::<SiteCounts>() as u64 + 24;

/// The names of the kinds of chromosomes.
const KINDS: [&str; 3] = ["autosomes", "X", "Y"];

/// The fingerprint of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The name of the sample.
    pub sample: String,
    /// Reads on autosomes, X and Y.
    pub reads: [ReadsOn; 3],
    /// The sites: in the order of the header where they are counted, by name and position where they are read.
    pub sites: Vec<SiteCounts>,
}

/// Reads on chromosomes of a kind, and how long these are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadsOn {
    /// Reads.
    pub reads: u64,
    /// Bases of the contigs.
    pub bases: u64,
}

/// The counts of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteCounts {
    /// Its contig.
    pub contig: String,
    /// Its position, 1-based.
    pub pos: i32,
    /// Its alleles.
    pub alleles: [u8; 2],
    /// Bases that are its first allele, its second, another.
    pub counts: [u64; 3],
}

impl SiteCounts {
    /// The identity of the site: two sites are the same if these are equal.
    pub(crate) fn key(&self) -> (&str, i32, [u8; 2]) {
        (&self.contig, self.pos, self.alleles)
    }
}

impl Fingerprint {
    /// The depth of X and of Y beside that of the autosomes; `None` without reads on autosomes.
    pub fn sex_ratios(&self) -> [Option<f64>; 2] {
        let depth = |on: ReadsOn| (on.bases > 0).then(|| on.reads as f64 / on.bases as f64);
        let [autosomes, x, y] = self.reads.map(depth);
        let autosomes = autosomes.filter(|&depth| depth > 0.0);
        [x, y].map(|depth| Some(depth? / autosomes?))
    }

    /// The sex that the ratios tell: `female` with X from 0.8 and Y below 0.1, `male` with X below 0.7 and Y from 0.2, else
    /// `unclear`.
    pub fn sex(&self) -> &'static str {
        match self.sex_ratios() {
            [Some(x), Some(y)] if x >= 0.8 && y < 0.1 => "female",
            [Some(x), Some(y)] if x < 0.7 && y >= 0.2 => "male",
            _ => "unclear",
        }
    }

    /// The text of the file.
    pub fn text(&self) -> Vec<u8> {
        let mut text = format!("{FIRST_LINE}\n##sample={}\n", self.sample);
        for (name, on) in KINDS.iter().zip(self.reads) {
            let _ = writeln!(text, "##{name}={},{}", on.reads, on.bases);
        }
        text += "#CHROM\tPOS\tFIRST\tSECOND\tFIRST_COUNT\tSECOND_COUNT\tOTHER_COUNT\n";
        for SiteCounts { contig, pos, alleles, counts: [first, second, other] } in &self.sites {
            let [one, two] = alleles.map(char::from);
            let _ = writeln!(text, "{contig}\t{pos}\t{one}\t{two}\t{first}\t{second}\t{other}");
        }
        text.into_bytes()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is no fingerprint, or does not fit into memory.
    pub fn read(path: &Path, ledger: &Ledger) -> Result<Self> {
        Self::of(LineReader::open(path, ledger)?, path, ledger)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no fingerprint.
    pub fn parse(text: &str) -> Result<Self> {
        let ledger = Ledger::unlimited();
        let input = TextInput::plain(Cursor::new(text.to_owned().into_bytes()), &ledger);
        Self::of(LineReader::new(Path::new("text"), input), Path::new("text"), &ledger)
    }

    fn of(mut lines: LineReader, path: &Path, ledger: &Ledger) -> Result<Self> {
        if !lines.advance()? || lines.line() != FIRST_LINE.as_bytes() {
            let what = format!("{} is no fingerprint", path.display());
            return Err(Error::input(what)
                .hint("make it by: readmill fingerprint count READS --sites VCF -o FILE"));
        }
        let mut found = Fingerprint::default();
        let mut charge = ledger.empty("fingerprints");
        while lines.advance()? {
            let line = std::str::from_utf8(lines.line()).map_err(|_| lines.wrong("it is no text"))?;
            if let Some(told) = line.strip_prefix("##") {
                found.tell(told).ok_or_else(|| lines.wrong("it is not as readmill writes it"))?;
            } else if !line.starts_with('#') {
                let site = site(line).ok_or_else(|| lines.wrong("it is no site with its counts"))?;
                if found.sites.len() == found.sites.capacity() {
                    let more = found.sites.len().max(1 << 10);
                    charge.grow(more as u64 * SITE_BYTES)?;
                    found.sites.reserve_exact(more);
                }
                found.sites.push(site);
            }
        }
        found.sites.sort_by(|one, two| one.key().cmp(&two.key()));
        Ok(found)
    }

    /// Takes a line of the head.
    fn tell(&mut self, told: &str) -> Option<()> {
        let (name, value) = told.split_once('=')?;
        if name == "sample" {
            self.sample = value.into();
        } else if let Some(kind) = KINDS.iter().position(|kind| *kind == name) {
            let (reads, bases) = value.split_once(',')?;
            self.reads[kind] = ReadsOn { reads: reads.parse().ok()?, bases: bases.parse().ok()? };
        }
        Some(())
    }
}

/// The site of a line.
fn site(line: &str) -> Option<SiteCounts> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [contig, pos, first, second, counts @ ..] = &fields[..] else { return None };
    let base = |text: &str| match text.as_bytes() {
        [base] => Some(*base),
        _ => None,
    };
    let counts: Vec<u64> = counts.iter().map(|count| count.parse().ok()).collect::<Option<_>>()?;
    Some(SiteCounts {
        contig: (*contig).into(),
        pos: pos.parse().ok()?,
        alleles: [base(first)?, base(second)?],
        counts: counts.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let site = |pos| SiteCounts { contig: "chr1".into(), pos, alleles: *b"AC", counts: [7, 8, 1] };
        let on = |reads, bases| ReadsOn { reads, bases };
        let reads = [on(1000, 100), on(52, 10), on(30, 6)];
        let all = Fingerprint { sample: "NA 1".into(), reads, sites: vec![site(3), site(9)] };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tsv");
        std::fs::write(&path, all.text()).unwrap();
        assert_eq!(Fingerprint::read(&path, &Ledger::unlimited()).unwrap(), all);
        for wrong in [
            "",
            "x\n",
            "##readmill fingerprint 1\nchr1\t3\tA\tC\t1\n",
            "##readmill fingerprint 1\n##X=1\n",
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert!(Fingerprint::read(&path, &Ledger::unlimited()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_sex_follows_from_x_and_y() {
        let sex = |x, y| {
            let reads =
                [(1000, 1000), (x, 100), (y, 100)].map(|(reads, bases)| ReadsOn { reads, bases });
            Fingerprint { reads, ..Fingerprint::default() }.sex()
        };
        assert_eq!(
            [sex(98, 1), sex(51, 45), sex(98, 45), sex(60, 15)],
            ["female", "male", "unclear", "unclear"]
        );
        assert_eq!(Fingerprint::default().sex(), "unclear");
    }
}
