//! What CollectSequencingArtifactMetrics and CollectOxoGMetrics share: their options, libraries, and digits of bases.

use std::collections::{HashMap, HashSet};

use clap::Args;
use readmill_record::{Error, Header, Result, java};

use crate::flags::parse_size;
use crate::read::PreparedRead;

/// Options of CollectSequencingArtifactMetrics and CollectOxoGMetrics: which reads they count.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct SubstitutionOptions {
    /// Least insert size of pairs whose substitutions are counted [default: 60]
    #[arg(long, alias = "MINIMUM_INSERT_SIZE", value_name = "N", value_parser = parse_size())]
    pub minimum_insert_size: Option<u32>,
    /// Largest insert size of such pairs, 0 for any [default: 600]
    #[arg(long, alias = "MAXIMUM_INSERT_SIZE", value_name = "N", value_parser = parse_size())]
    pub maximum_insert_size: Option<u32>,
    /// Count substitutions of reads without a mate, and of pairs of any insert size
    #[arg(long, alias = "INCLUDE_UNPAIRED")]
    pub include_unpaired: bool,
    /// Count substitutions of reads that fail quality controls
    #[arg(long, alias = "INCLUDE_NON_PF_READS")]
    pub include_non_pf_reads: bool,
    /// Leave reads out of CollectOxoGMetrics that fail quality controls
    #[arg(long)]
    pub exclude_non_pf_reads: bool,
    /// Mates are expected to be of the same strand, for substitutions
    #[arg(long, alias = "TANDEM_READS")]
    pub tandem_reads: bool,
}

impl SubstitutionOptions {
    /// Returns the minimum insert size of a pair that is counted.
    pub(crate) fn minimum_insert_size(&self) -> u32 {
        self.minimum_insert_size.unwrap_or(60)
    }

    /// Returns the maximum insert size; 0 stands for any.
    pub(crate) fn maximum_insert_size(&self) -> u32 {
        self.maximum_insert_size.unwrap_or(600)
    }

    /// Refuses a maximum below the minimum. For CollectOxoGMetrics, 0 is a maximum, too.
    pub(crate) fn check(&self, counts_oxog: bool) -> Result<()> {
        let max = self.maximum_insert_size();
        let is_max = max > 0 || counts_oxog;
        if is_max && max < self.minimum_insert_size() {
            return Err(Error::usage("the largest insert size is below the least one")
                .hint("raise --maximum-insert-size, or lower --minimum-insert-size"));
        }
        Ok(())
    }
}

/// Which qualities of a read decide whether a base counts: OQ if there is one and it is wanted, else QUAL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedQualities {
    min_quality: u8,
    use_original: bool,
}

impl CountedQualities {
    /// Creates the rule. Bases of a lower quality than `min_quality` (default: 20) do not count.
    pub fn new(min_quality: Option<u8>, use_original: bool) -> Self {
        CountedQualities { min_quality: min_quality.unwrap_or(20), use_original }
    }

    /// Returns the qualities of a read, and the minimum value that counts.
    pub fn of<'a>(self, read: &PreparedRead<'a>) -> (&'a [u8], u16) {
        let original = read.fields.original_quals.filter(|_| self.use_original);
        let (quals, offset) = original.map_or((read.quals, 0), |original| (original, 33));
        (quals, u16::from(self.min_quality) + offset)
    }
}

/// The minimum mapping quality of a record that is counted, if no other is asked for.
pub(crate) const MIN_MAPQ: u8 = 30;

/// The libraries of a header.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// Their names, in the order in which Picard writes them.
    pub names: Vec<Vec<u8>>,
    /// The number of each read group's library.
    by_read_group: HashMap<Vec<u8>, usize>,
    /// The library of other reads, and whether the header has it.
    pub unknown: usize,
    pub has_unknown: bool,
    /// The names of all samples.
    samples: Vec<u8>,
}

impl Libraries {
    /// The libraries of the read groups.
    pub fn new(header: &Header) -> Self {
        let each = |tag, unknown: &[u8]| {
            let mut names: Vec<Vec<u8>> = Vec::new();
            let mut seen = HashSet::new();
            for line in header.lines_of_kind(b"RG") {
                let name = line.get(tag).unwrap_or(unknown).to_vec();
                if seen.insert(name.clone()) {
                    names.push(name);
                }
            }
            java::sort_by_hash(&mut names);
            names
        };
        let mut names = each(b"LB", UNKNOWN_LIBRARY);
        let found = names.iter().position(|name| name == UNKNOWN_LIBRARY);
        let unknown = found.unwrap_or(names.len());
        if found.is_none() {
            names.push(UNKNOWN_LIBRARY.to_vec());
        }
        let numbers: HashMap<&[u8], usize> = names.iter().map(Vec::as_slice).zip(0..).collect();
        let by_read_group = header.lines_of_kind(b"RG").filter_map(|line| {
            let library = line.get(b"LB").and_then(|name| numbers.get(name));
            Some((line.get(b"ID")?.to_vec(), library.copied().unwrap_or(unknown)))
        });
        let by_read_group = by_read_group.collect();
        let samples = each(b"SM", UNKNOWN_SAMPLE).join(&b","[..]);
        Libraries { names, by_read_group, unknown, has_unknown: found.is_some(), samples }
    }

    /// How many there are, with one for reads of no other.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The names that the header has, or that Picard gives those without a name.
    pub fn listed(&self) -> impl Iterator<Item = &[u8]> {
        let all = self.names.len() - usize::from(!self.has_unknown);
        self.names[..all].iter().map(Vec::as_slice)
    }

    /// The names of all samples.
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// The bytes of memory of the names and the map, which the result has once more.
    pub fn bytes(&self) -> u64 {
        let names = self.names.iter().chain(self.by_read_group.keys());
        let each: usize = names.map(|name| name.len() + 128).sum();
        2 * (each + self.samples.len()) as u64
    }

    /// The number of the library of a read group.
    pub fn number(&self, read_group: Option<&[u8]>) -> usize {
        let number = read_group.and_then(|name| self.by_read_group.get(name));
        number.copied().unwrap_or(self.unknown)
    }
}

/// Names of what the header does not name.
const UNKNOWN_LIBRARY: &[u8] = b"UnknownLibrary";
const UNKNOWN_SAMPLE: &[u8] = b"UnknownSample";

/// What is no A, C, G or T.
pub(crate) const OTHER: u8 = 4;

/// The digit of each code of a base.
static DIGITS: [u8; 16] = {
    let mut digits = [OTHER; 16];
    (digits[1], digits[2], digits[4], digits[8]) = (0, 1, 2, 3);
    digits
};

/// The digit of the code of a base; what is no A, C, G or T has a greater one.
pub(crate) fn digit(code: u8) -> u8 {
    DIGITS[usize::from(code & 15)]
}
