//! The file of a fingerprint. It is text, so that it can be kept for years and read by any program.
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
//! Columns are separated by tabs. POS is 1-based. FIRST is the allele of the reference, or the
//! major one of a haplotype map. `bases` is the total length of the contigs.

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;

use readmill_format::report::DescribedReport;
use readmill_format::text::{LineReader, TextInput};
use readmill_record::{Error, Ledger, Result};
use serde_json::{Value, json};

const FIRST_LINE: &str = "##readmill fingerprint 1";

const SITE_BYTES: u64 = size_of::<SiteCounts>() as u64 + 24;

const KINDS: [&str; 3] = ["autosomes", "X", "Y"];

/// The fingerprint of a sample: what [`FingerprintTally`](crate::FingerprintTally) counts and the
/// file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    pub sample: String,
    pub reads: [ReadsOn; 3],
    /// The sites: in header order after counting, by contig name and position after reading.
    pub sites: Vec<SiteCounts>,
}

/// The number of reads on chromosomes of one kind, and the total length of these chromosomes in
/// bases. Their quotient is proportional to the depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadsOn {
    pub reads: u64,
    pub bases: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteCounts {
    pub contig: String,
    /// Position (1-based).
    pub pos: i32,
    pub alleles: [u8; 2],
    /// Number of bases that are the first allele, the second, or another.
    pub counts: [u64; 3],
}

impl SiteCounts {
    /// Returns the key for matching the sites of two fingerprints. The two files may have different
    /// sites.
    pub(crate) fn identity_key(&self) -> (&str, i32, [u8; 2]) {
        (&self.contig, self.pos, self.alleles)
    }
}

impl Fingerprint {
    /// Returns the depth of X and of Y, each divided by the depth of the autosomes; `None` without
    /// reads on autosomes or without such a contig.
    pub fn sex_ratios(&self) -> [Option<f64>; 2] {
        let depth = |on: ReadsOn| (on.bases > 0).then(|| on.reads as f64 / on.bases as f64);
        let [autosomes, x, y] = self.reads.map(depth);
        let autosomes = autosomes.filter(|&depth| depth > 0.0);
        [x, y].map(|depth| Some(depth? / autosomes?))
    }

    /// Returns the sex that the ratios show: `female` with X from 0.8 and Y below 0.1, `male` with
    /// X below 0.7 and Y from 0.2, else `unclear`.
    pub fn sex(&self) -> &'static str {
        match self.sex_ratios() {
            [Some(x), Some(y)] if x >= 0.8 && y < 0.1 => "female",
            [Some(x), Some(y)] if x < 0.7 && y >= 0.2 => "male",
            _ => "unclear",
        }
    }

    /// Reads the file of a fingerprint, and sorts its sites by contig name and position.
    ///
    /// # Errors
    /// The file cannot be read, is not a fingerprint, or does not fit the memory.
    pub fn read(path: &Path, ledger: &Ledger) -> Result<Self> {
        Self::read_lines(LineReader::open(path, ledger)?, path, ledger)
    }

    /// Parses the text of a fingerprint file, and sorts its sites by contig name and position.
    ///
    /// # Errors
    /// The text is not a fingerprint.
    pub fn parse(text: &str) -> Result<Self> {
        let ledger = Ledger::unlimited();
        let input = TextInput::from_plain(Cursor::new(text.to_owned().into_bytes()), &ledger);
        Self::read_lines(LineReader::new(Path::new("text"), input), Path::new("text"), &ledger)
    }

    fn read_lines(mut lines: LineReader, path: &Path, ledger: &Ledger) -> Result<Self> {
        if !lines.advance_line()? || lines.line() != FIRST_LINE.as_bytes() {
            let what = format!("{} is not a fingerprint", path.display());
            return Err(Error::input(what)
                .hint("make one with readmill fingerprint count READS --sites VCF -o FILE"));
        }
        let mut found = Fingerprint::default();
        let mut charge = ledger.empty_charge("fingerprints");
        while lines.advance_line()? {
            let line = std::str::from_utf8(lines.line()).map_err(|_| lines.line_error("not text"))?;
            if let Some(told) = line.strip_prefix("##") {
                found
                    .parse_head_line(told)
                    .ok_or_else(|| lines.line_error("not in the format that readmill writes"))?;
            } else if !line.starts_with('#') {
                let site = parse_site_line(line)
                    .ok_or_else(|| lines.line_error("not a site with its counts"))?;
                if found.sites.len() == found.sites.capacity() {
                    let more = found.sites.len().max(1 << 10);
                    charge.grow(more as u64 * SITE_BYTES)?;
                    found.sites.reserve_exact(more);
                }
                found.sites.push(site);
            }
        }
        found.sites.sort_by(|one, two| one.identity_key().cmp(&two.identity_key()));
        Ok(found)
    }

    /// Parses a line of the head, without `##`; `None` if it is not as expected. Lines with other
    /// names are ignored.
    fn parse_head_line(&mut self, told: &str) -> Option<()> {
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

impl DescribedReport for Fingerprint {
    fn format_text(&self) -> Vec<u8> {
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

    /// Returns reads and bases of the autosomes, X and Y, the ratios of their depths and the sex that
    /// these show, and the numbers of sites and of bases counted there.
    fn to_value(&self) -> Value {
        let [autosomes, x, y] = self.reads.map(|on| json!({ "reads": on.reads, "bases": on.bases }));
        let [ratio_x, ratio_y] = self.sex_ratios();
        let counted: u64 = self.sites.iter().flat_map(|site| site.counts).sum();
        json!({
            "autosomes": autosomes,
            "X": x,
            "Y": y,
            "x_ratio": ratio_x,
            "y_ratio": ratio_y,
            "sex": self.sex(),
            "sites": self.sites.len(),
            "bases": counted,
        })
    }
}

fn parse_site_line(line: &str) -> Option<SiteCounts> {
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
        let wanted = json!({
            "autosomes": {"reads": 1000, "bases": 100}, "X": {"reads": 52, "bases": 10},
            "Y": {"reads": 30, "bases": 6}, "x_ratio": 0.52, "y_ratio": 0.5, "sex": "male",
            "sites": 2, "bases": 32,
        });
        assert_eq!(all.to_value(), wanted);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tsv");
        std::fs::write(&path, all.format_text()).unwrap();
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
