//! The regions of a BED file, grouped by contig.

use std::collections::HashMap;
use std::path::Path;

use readmill_format::features::parse_bed_position;
use readmill_format::text::LineReader;
use readmill_record::{Charge, Header, Ledger, Result, make_room};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoverageRegion {
    pub(crate) start: u32,
    pub(crate) end: u32,
    name: std::ops::Range<usize>,
}

/// The regions for which coverage is reported (`--by FILE`), sorted by start on each contig.
///
/// ```
/// use readmill_coverage::CoverageRegions;
/// use readmill_record::{Header, Ledger};
///
/// let path = std::env::temp_dir().join(format!("readmill-regions-{}.bed", std::process::id()));
/// std::fs::write(&path, "chr1\t10\t20\texon1\nchrUn\t0\t5\n")?;
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:100\n")?;
///
/// let regions = CoverageRegions::read_bed(&path, &header, &Ledger::unlimited())?;
/// assert_eq!(regions.unknown_contigs, [("chrUn".to_string(), 1)]);
/// assert_eq!(regions.skipped_lines, 0);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CoverageRegions {
    by_contig: Vec<Vec<CoverageRegion>>,
    names: Vec<u8>,
    /// Contigs that are not in the header, with their number of regions, for a warning. At most 100
    /// contigs are listed.
    pub unknown_contigs: Vec<(String, u64)>,
    /// Number of lines with fewer than three columns. They are ignored, with a warning.
    pub skipped_lines: u64,
    _charges: [Charge; 2],
}

const MAX_LISTED_CONTIGS: usize = 100;

const MEMORY_NAME: &str = "regions";

impl CoverageRegions {
    /// Reads a BED file, plain or compressed, and charges the memory of its regions to `ledger`.
    ///
    /// # Errors
    /// The file cannot be read, a start or end is not a number, a region ends before it starts, or the
    /// regions do not fit into memory.
    pub fn read_bed(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        let contigs = header.references();
        let (mut list, mut names) = (ledger.empty_charge(MEMORY_NAME), ledger.empty_charge(MEMORY_NAME));
        names.grow(96 * contigs.len() as u64)?;
        let numbers: HashMap<&[u8], usize> =
            contigs.iter().enumerate().map(|(number, contig)| (&contig.name[..], number)).collect();
        let mut by_contig: Vec<Vec<CoverageRegion>> = contigs.iter().map(|_| Vec::new()).collect();
        let (mut text, mut elsewhere, mut skipped) = (Vec::new(), Vec::<(String, u64)>::new(), 0);
        let mut lines = LineReader::open(path, ledger)?;
        while lines.advance_line()? {
            let line = lines.line().trim_ascii();
            if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"track ") {
                continue;
            }
            let mut columns = line.splitn(6, |&byte| byte == b'\t');
            let (Some(contig), Some(start), Some(end)) =
                (columns.next(), columns.next(), columns.next())
            else {
                skipped += 1;
                continue;
            };
            let (start, end) = match (parse_bed_position(start), parse_bed_position(end)) {
                (Some(start), Some(end)) if start <= end => (start, end),
                (Some(_), Some(_)) => return Err(lines.line_error("the region ends before it starts")),
                _ => return Err(lines.line_error("the second and third column of BED must be numbers")),
            };
            let Some(&contig) = numbers.get(contig) else {
                let contig = String::from_utf8_lossy(contig).into_owned();
                match elsewhere.iter().position(|(name, _)| *name == contig) {
                    Some(at) => elsewhere[at].1 += 1,
                    None if elsewhere.len() < MAX_LISTED_CONTIGS => elsewhere.push((contig, 1)),
                    None => {}
                }
                continue;
            };
            let name = columns.next().unwrap_or_default();
            make_room(&mut text, name.len(), &mut names)?;
            let from = text.len();
            text.extend_from_slice(name);
            make_room(&mut by_contig[contig], 1, &mut list)?;
            by_contig[contig].push(CoverageRegion { start, end, name: from..text.len() });
        }
        by_contig.iter_mut().for_each(|regions| regions.sort_by_key(|region| region.start));
        Ok(CoverageRegions {
            by_contig,
            names: text,
            unknown_contigs: elsewhere,
            skipped_lines: skipped,
            _charges: [list, names],
        })
    }

    pub(crate) fn on_contig(&self, contig: u32) -> &[CoverageRegion] {
        self.by_contig.get(contig as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn region_name(&self, region: &CoverageRegion) -> &[u8] {
        &self.names[region.name.clone()]
    }
}
