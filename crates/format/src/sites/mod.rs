//! Known sites: positions of known variants, where a mismatch does not count as a sequencing error.
//!
//! ```text
//! VCF, BCF, BED --SiteCollector--> layers (sorted) --merge--> blocks in the spill --SiteCursor--> bqsr
//!                                                             + an index of blocks in memory
//! ```
//!
//! All files become one set. Overlapping sites are merged, because they mask the same bases of a read.
//! Adjacent sites stay separate, because a read may have an insertion between them. The set is written
//! once to the spill file in blocks of 1 KiB, with two bytes for most sites; only the index of the
//! blocks stays in memory.

mod block;
mod cursor;
mod layers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_record::{Header, Ledger, Result};

use crate::features::{FeatureFormat, FeatureReader, OTHER_BUILD_HINT, no_common_contig_error};
use crate::spill::Spill;
use crate::summed::{InputSums, StreamSum};
use block::SiteIndex;
pub use cursor::{MAX_CURSOR_BYTES, SiteCursor};
use layers::LayerBuilder;

/// The known sites of all files. Clones share them; each thread reads them through its own
/// [`SiteCursor`].
///
/// ```
/// use std::sync::Arc;
/// use readmill_format::{sites::SiteCollector, spill::Spill};
/// use readmill_record::Ledger;
///
/// let spill = Arc::new(Spill::new(&[std::env::temp_dir()]));
/// let mut collector = SiteCollector::new(1, &spill, &Ledger::unlimited())?;
/// for (start, end) in [(70, 71), (10, 13), (12, 15)] {
///     collector.push_site(0, start, end)?;
/// }
/// let (sites, count) = collector.finish()?;
/// assert_eq!(count, 3);
///
/// let mut found = Vec::new();
/// sites.cursor().for_each_overlap(0, 0, 100, |start, end| found.push((start, end)))?;
/// assert_eq!(found, [(10, 15), (70, 71)], "in order, overlapping sites merged");
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone)]
pub struct KnownSites {
    shared: Arc<SiteIndex>,
    files: Arc<[SiteFile]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    pub path: PathBuf,
    pub kind: FeatureFormat,
    pub sites: u64,
    /// Number of sites on contigs that the header of the reads lacks. They are ignored.
    pub ignored_sites: u64,
}

impl KnownSites {
    /// Reads the known sites in the files at `paths` (VCF, BCF, BED or interval lists, plain or
    /// compressed; no index is needed) for reads with `header`.
    ///
    /// Sites may be in any order, but unsorted sites cost some time and space. No other code may append
    /// to `spill` meanwhile. If `sums` is given, it receives the checksums of the files. The memory is
    /// charged to `ledger` first; the charge for the index lasts as long as a clone of the sites.
    ///
    /// # Errors
    /// Fails if a file cannot be read, if there is too little memory, or if a file belongs to another
    /// genome: its contigs (##contig, @SQ) have different lengths, or none of them occurs in the reads.
    pub fn read_files(
        paths: &[PathBuf],
        header: &Header,
        spill: &Arc<Spill>,
        ledger: &Ledger,
        sums: Option<&InputSums>,
    ) -> Result<Self> {
        let mut gather = LayerBuilder::new(header.references().len(), spill, ledger)?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let sum = sums.map(|sums| sums.begin_file(path));
            files.push(gather_file_sites(path, header, &mut gather, ledger, sum)?);
        }
        let shared = layers::merge_by_contig(Arc::clone(spill), gather.finish()?, ledger)?;
        Ok(KnownSites { shared: Arc::new(shared), files: files.into() })
    }

    pub fn files(&self) -> &[SiteFile] {
        &self.files
    }

    pub fn is_empty(&self) -> bool {
        self.shared.blocks.is_empty()
    }

    /// Returns the memory of the index in bytes: about 3 MB for 60 million sites.
    pub fn index_bytes(&self) -> usize {
        self.shared.memory_bytes()
    }

    pub fn cursor(&self) -> SiteCursor {
        SiteCursor::new(Arc::clone(&self.shared))
    }
}

/// Maximum length in bytes of a contig name that is remembered. (A longer name is looked up for every
/// site.)
const MAX_NAME: usize = 1 << 10;

fn gather_file_sites(
    path: &Path,
    header: &Header,
    gather: &mut LayerBuilder,
    ledger: &Ledger,
    sum: Option<StreamSum>,
) -> Result<SiteFile> {
    let mut features = FeatureReader::open_summed(path, ledger, sum)?;
    features.dictionary().check_header(header, path)?;
    let mut found =
        SiteFile { path: path.to_path_buf(), kind: features.kind(), sites: 0, ignored_sites: 0 };
    let (mut name, mut number) = (Vec::new(), None);
    while let Some(place) = features.next_place()? {
        if place.contig != name || name.is_empty() {
            number = header.reference_id(place.contig);
            name.clear();
            name.extend_from_slice(&place.contig[..place.contig.len().min(MAX_NAME)]);
        }
        let Some(contig) = number else {
            found.ignored_sites += 1;
            continue;
        };
        let (start, end) = (place.start, place.end);
        let length = header.references()[contig as usize].length;
        if start > length && length > 0 {
            let name = String::from_utf8_lossy(&name);
            let what = format!(
                "base {} is beyond the end of contig {name}, which has {length} bases",
                start + 1
            );
            return Err(features.feature_error(what).hint(OTHER_BUILD_HINT));
        }
        found.sites += 1;
        if start < end {
            gather.push_site(contig as u32, start, end).map_err(|e| e.file(path))?;
        }
    }
    if found.sites == 0 && found.ignored_sites > 0 {
        return Err(no_common_contig_error(&name, header, path));
    }
    Ok(found)
}

/// Collects sites one by one instead of reading them from files. Recalibration without known sites uses
/// it for sites that it finds in the reads. No other code may append to the spill until
/// [`SiteCollector::finish`].
pub struct SiteCollector {
    gather: LayerBuilder,
    spill: Arc<Spill>,
    sites: u64,
    ledger: Ledger,
}

impl SiteCollector {
    /// Returns the memory in bytes for collecting up to 20 million sites on this many contigs, and for
    /// their index.
    pub fn needed_bytes(contigs: usize) -> u64 {
        LayerBuilder::working_bytes() + (1 << 20) + 192 * contigs as u64
    }

    pub fn new(contigs: usize, spill: &Arc<Spill>, ledger: &Ledger) -> Result<Self> {
        let (gather, spill) = (LayerBuilder::new(contigs, spill, ledger)?, Arc::clone(spill));
        Ok(SiteCollector { gather, spill, sites: 0, ledger: ledger.clone() })
    }

    /// Adds the site `start..end` (0-based, half-open), which must have at least one base.
    pub fn push_site(&mut self, contig: u32, start: u32, end: u32) -> Result<()> {
        self.sites += 1;
        self.gather.push_site(contig, start, end)
    }

    /// Sorts and merges the sites. Returns them with the number of sites added.
    pub fn finish(self) -> Result<(KnownSites, u64)> {
        let shared = layers::merge_by_contig(self.spill, self.gather.finish()?, &self.ledger)?;
        Ok((KnownSites { shared: Arc::new(shared), files: Arc::default() }, self.sites))
    }
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;

    fn header(lengths: &[u32]) -> Header {
        let line = |(i, length): (usize, &u32)| format!("@SQ\tSN:c{i}\tLN:{length}\n");
        Header::parse(lengths.iter().enumerate().map(line).collect::<String>().as_bytes()).unwrap()
    }

    fn read(files: &[String], header: &Header) -> Result<KnownSites> {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..files.len()).map(|i| dir.path().join(format!("{i}.bed"))).collect();
        paths.iter().zip(files).for_each(|(path, text)| std::fs::write(path, text).unwrap());
        let spill = Arc::new(Spill::new(&[dir.path().to_path_buf()]));
        KnownSites::read_files(&paths, header, &spill, &Ledger::unlimited(), None)
    }

    type Triple = (u32, u32, u32);

    /// Returns one sorted list of non-overlapping sites.
    fn united(mut sites: Vec<Triple>) -> Vec<Triple> {
        sites.sort_unstable();
        let mut out: Vec<Triple> = Vec::new();
        for site in sites {
            match out.last_mut() {
                Some(last) if last.0 == site.0 && site.1 < last.2 => last.2 = last.2.max(site.2),
                _ => out.push(site),
            }
        }
        out
    }

    fn bed(sites: &[Triple]) -> String {
        sites.iter().map(|(contig, start, end)| format!("c{contig}\t{start}\t{end}\n")).collect()
    }

    /// Queries everything, forwards and in random order.
    fn check(sites: &KnownSites, expected: &[Triple], lengths: &[u32], seed: u64) {
        let (mut cursor, mut random) = (sites.cursor(), Rng::new(seed));
        for turn in 0..20_000u32 {
            let contig = if turn < 10_000 { 0 } else { random.below(lengths.len() as u32 + 1) };
            let length = lengths.get(contig as usize).copied().unwrap_or(100);
            let start = if turn < 10_000 {
                (u64::from(length) * u64::from(turn) / 10_000) as u32
            } else {
                random.below(length)
            };
            let end = start + random.below(300);
            let mut found = Vec::new();
            cursor
                .for_each_overlap(contig, start, end, |from, to| found.push((contig, from, to)))
                .unwrap();
            let of_contig = expected
                .iter()
                .skip(expected.partition_point(|site| (site.0, site.2) <= (contig, start)));
            let right: Vec<Triple> = of_contig
                .take_while(|site| site.0 == contig && site.1 < end && start < end)
                .copied()
                .collect();
            assert_eq!(found, right, "{contig}:{start}-{end}");
        }
    }

    #[test]
    fn sites_are_found_whatever_the_order_and_number_of_files() {
        let lengths = [3_000_000, 50_000, 10, 900_000];
        let mut random = Rng::new(11);
        let mut file = |n: usize| -> Vec<Triple> {
            let mut site = || {
                let contig = random.below(4);
                let start = random.below(lengths[contig as usize]);
                let long = random.below(50) == 0;
                (contig, start, start + 1 + if long { random.below(2000) } else { random.below(3) })
            };
            (0..n).map(|_| site()).collect()
        };
        let (mut sorted, unsorted, few) = (file(30_000), file(5_000), file(3));
        sorted.sort_unstable();
        let mut by_other_contigs = file(9_000);
        by_other_contigs.sort_unstable_by_key(|site| (3 - site.0, site.1));
        for files in
            [vec![&sorted], vec![&unsorted], vec![&few, &sorted, &unsorted, &by_other_contigs, &sorted]]
        {
            let expected = united(files.iter().flat_map(|file| file.iter().copied()).collect());
            let texts: Vec<String> = files.iter().map(|file| bed(file)).collect();
            let sites = read(&texts, &header(&lengths)).unwrap();
            check(&sites, &expected, &lengths, 5);
            let counts: Vec<u64> = sites.files().iter().map(|file| file.sites).collect();
            assert_eq!(counts, files.iter().map(|file| file.len() as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn more_sites_than_are_sorted_at_once_are_one_list() {
        let n = 600_000u32;
        let place = |i: u32| i.wrapping_mul(2_654_435_761) % n; // every number below n, in pseudo-random order
        let lengths = [5 * n];
        let shuffled: Vec<Triple> = (0..n).map(|i| (0, 5 * place(i), 5 * place(i) + 2)).collect();
        let expected = united(shuffled.clone());
        check(&read(&[bed(&shuffled)], &header(&lengths)).unwrap(), &expected, &lengths, 3);
        let sites = read(&[bed(&expected), bed(&expected)], &header(&lengths)).unwrap();
        check(&sites, &expected, &lengths, 4);
        assert!(sites.index_bytes() < 40_000, "{}", sites.index_bytes());
    }

    #[test]
    fn sites_side_by_side_stay_two_and_sites_that_share_a_base_are_one() {
        let text = "c0\t5\t6\nc0\t6\t7\nc0\t10\t20\nc0\t12\t14\nc0\t19\t25\nc0\t25\t26\nc0\t30\t30\n";
        let sites = read(&[text.into()], &header(&[100])).unwrap();
        let mut found = Vec::new();
        sites.cursor().for_each_overlap(0, 0, 100, |start, end| found.push((start, end))).unwrap();
        assert_eq!(found, [(5, 6), (6, 7), (10, 25), (25, 26)]);
        assert_eq!(sites.files()[0].sites, 7);
    }

    #[test]
    fn contigs_that_the_reads_lack_are_counted() {
        let sites = read(&["c0\t5\t6\nother\t5\t6\nc1\t1\t2\nother\t7\t9\n".into()], &header(&[10, 10]))
            .unwrap();
        assert_eq!((sites.files()[0].sites, sites.files()[0].ignored_sites), (2, 2));
        let error = |text: &str| read(&[text.into()], &header(&[10])).err().unwrap().to_string();
        assert!(error("chr1\t5\t6\n").contains("no contig in common"));
        assert!(
            error("c0\t5\t6\nc0\t11\t12\n").contains("line 2: base 12 is beyond the end of contig c0")
        );
        assert!(read(&["".into()], &header(&[10])).unwrap().is_empty());
    }

    #[test]
    fn handles_go_to_other_threads() {
        fn sent<T: Send>() {}
        fn shared<T: Sync>() {}
        sent::<SiteCursor>();
        sent::<crate::reference::ReferenceWindow>();
        shared::<KnownSites>();
        shared::<crate::reference::Reference>();
    }

    #[test]
    fn the_index_is_charged_as_long_as_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Arc::new(Spill::new(&[dir.path().to_path_buf()]));
        let path = dir.path().join("a.bed");
        // One site for each of many contigs: no block is shared.
        let lengths = vec![10; 20_000];
        std::fs::write(&path, (0..20_000).map(|i| format!("c{i}\t5\t6\n")).collect::<String>()).unwrap();
        let (header, paths) = (header(&lengths), [path]);
        let ledger = Ledger::with_capacity(20 << 20);
        let sites = KnownSites::read_files(&paths, &header, &spill, &ledger, None).unwrap();
        let other = sites.clone();
        assert_eq!(ledger.used(), sites.index_bytes() as u64);
        drop(sites);
        assert_eq!(ledger.used(), other.index_bytes() as u64);
        drop(other);
        assert_eq!(ledger.used(), 0);
        let error =
            KnownSites::read_files(&paths, &header, &spill, &Ledger::with_capacity(4 << 20), None)
                .err()
                .unwrap();
        assert!(error.to_string().contains("known sites: needs"), "{error}");
    }
}
