//! What CollectSequencingArtifactMetrics and CollectOxoGMetrics share: options, libraries and
//! digits of bases.

use std::collections::{HashMap, HashSet};

use clap::Args;
use readmill_record::{Error, Header, Result, java};

use crate::flags::parse_size;
use crate::read::PreparedRead;

/// The options that decide which reads CollectSequencingArtifactMetrics and CollectOxoGMetrics
/// count.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct SubstitutionOptions {
    /// Minimum insert size for counting substitutions [default: 60]
    #[arg(long, alias = "MINIMUM_INSERT_SIZE", value_name = "N", value_parser = parse_size())]
    pub minimum_insert_size: Option<u32>,
    /// Maximum insert size for counting substitutions; 0 means no limit [default: 600]
    #[arg(long, alias = "MAXIMUM_INSERT_SIZE", value_name = "N", value_parser = parse_size())]
    pub maximum_insert_size: Option<u32>,
    /// Also count substitutions of unpaired reads; ignore the insert size
    #[arg(long, alias = "INCLUDE_UNPAIRED")]
    pub include_unpaired: bool,
    /// Also count substitutions of failed (non-PF) reads
    #[arg(long, alias = "INCLUDE_NON_PF_READS")]
    pub include_non_pf_reads: bool,
    /// Skip failed (non-PF) reads in CollectOxoGMetrics
    #[arg(long)]
    pub exclude_non_pf_reads: bool,
    /// Expect mates on the same strand, for substitutions
    #[arg(long, alias = "TANDEM_READS")]
    pub tandem_reads: bool,
}

impl SubstitutionOptions {
    pub(crate) fn minimum_insert_size(&self) -> u32 {
        self.minimum_insert_size.unwrap_or(60)
    }

    /// Returns the maximum insert size of pairs that are counted. For
    /// CollectSequencingArtifactMetrics, 0 means that there is no maximum.
    pub(crate) fn maximum_insert_size(&self) -> u32 {
        self.maximum_insert_size.unwrap_or(600)
    }

    /// Refuses a maximum insert size below the minimum. If CollectOxoGMetrics is selected, a
    /// maximum of 0 is also refused, unless the minimum is 0.
    pub(crate) fn check_insert_sizes(&self, counts_oxog: bool) -> Result<()> {
        let max = self.maximum_insert_size();
        let is_max = max > 0 || counts_oxog;
        if is_max && max < self.minimum_insert_size() {
            return Err(Error::usage("the largest insert size is below the least one")
                .hint("raise --maximum-insert-size, or lower --minimum-insert-size"));
        }
        Ok(())
    }
}

/// The rule that decides whether a base is counted by its quality: from OQ if the read has it and
/// it is to be used, otherwise from QUAL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedQualities {
    min_quality: u8,
    use_original: bool,
}

impl CountedQualities {
    /// Creates the rule. `min_quality` is the minimum quality of bases that are counted; `None`
    /// means 20.
    pub fn new(min_quality: Option<u8>, use_original: bool) -> Self {
        CountedQualities { min_quality: min_quality.unwrap_or(20), use_original }
    }

    /// Returns the qualities of a read, and the minimum byte in them that counts (33 higher for
    /// OQ).
    pub fn counted_quals<'a>(self, read: &PreparedRead<'a>) -> (&'a [u8], u16) {
        let original = read.fields.original_quals.filter(|_| self.use_original);
        let (quals, offset) = original.map_or((read.quals, 0), |original| (original, 33));
        (quals, u16::from(self.min_quality) + offset)
    }
}

/// Default minimum mapping quality of records whose substitutions are counted.
pub(crate) const MIN_MAPQ: u8 = 30;

/// The libraries and samples of a header, with the names that Picard writes. Bases are counted by
/// the index of their library.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// The names of the libraries in the order in which Picard writes them.
    pub names: Vec<Vec<u8>>,
    by_read_group: HashMap<Vec<u8>, usize>,
    /// The index of the library for reads without a library, and whether the header has a library
    /// of this name.
    pub unknown: usize,
    pub has_unknown: bool,
    samples: Vec<u8>,
}

impl Libraries {
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

    /// Returns the number of libraries, including the one for reads without a library.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the libraries that have rows in any case: those of the header, and `UnknownLibrary`
    /// if a read group has no LB.
    pub fn listed_names(&self) -> impl Iterator<Item = &[u8]> {
        let all = self.names.len() - usize::from(!self.has_unknown);
        self.names[..all].iter().map(Vec::as_slice)
    }

    /// Returns the names of all samples, joined by commas, for the column SAMPLE_ALIAS.
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// Returns the memory in bytes of the names and the map, twice, because the result has a copy
    /// of them.
    pub fn memory_bytes(&self) -> u64 {
        let names = self.names.iter().chain(self.by_read_group.keys());
        let each: usize = names.map(|name| name.len() + 128).sum();
        2 * (each + self.samples.len()) as u64
    }

    pub fn library_index(&self, read_group: Option<&[u8]>) -> usize {
        let number = read_group.and_then(|name| self.by_read_group.get(name));
        number.copied().unwrap_or(self.unknown)
    }
}

/// Picard's names for read groups without LB or SM.
const UNKNOWN_LIBRARY: &[u8] = b"UnknownLibrary";
const UNKNOWN_SAMPLE: &[u8] = b"UnknownSample";

/// The digit of codes that are not A, C, G or T.
pub(crate) const OTHER: u8 = 4;

static DIGITS: [u8; 16] = {
    let mut digits = [OTHER; 16];
    (digits[1], digits[2], digits[4], digits[8]) = (0, 1, 2, 3);
    digits
};

/// Returns the digit of a BAM code: A, C, G and T are 0 to 3, all others are [`OTHER`].
pub(crate) fn base_digit(code: u8) -> u8 {
    DIGITS[usize::from(code & 15)]
}
