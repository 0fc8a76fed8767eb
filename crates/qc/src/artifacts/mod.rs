//! CollectSequencingArtifactMetrics: substitutions by their context in the reference, by read end and strand.

mod table;

use std::collections::{HashMap, HashSet};

use readmill_record::{Header, Result, java};
use serde::{Deserialize, Serialize};

use crate::alignment::for_each_block;
use crate::options::Options;
use crate::read::Read;
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::room::Room;

/// Contexts of three bases: A, C, G and T are the digits of a number.
const CONTEXTS: usize = 64;

/// Called bases.
const CALLS: usize = 4;

/// First and second reads, of both strands.
const WAYS: usize = 4;

/// The least mapping quality of a record that is counted, if no other is asked for.
const LEAST_MAPQ: u8 = 30;

/// What is no A, C, G or T.
const OTHER: u8 = 4;

/// The digit of each code of a base.
static DIGITS: [u8; 16] = {
    let mut digits = [OTHER; 16];
    (digits[1], digits[2], digits[4], digits[8]) = (0, 1, 2, 3);
    digits
};

/// Bases that are compared at once: with those beside them, no more than a page of the reference.
const AT_ONCE: usize = (1 << 12) - 2;

/// The libraries of a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Libraries {
    /// Their names, in the order in which Picard writes them.
    names: Vec<Vec<u8>>,
    /// The number of each read group's library.
    by_read_group: HashMap<Vec<u8>, usize>,
    /// The library of other reads, and whether the header has it.
    unknown: usize,
    has_unknown: bool,
    /// The names of all samples.
    samples: Vec<u8>,
}

impl Libraries {
    /// The libraries of the read groups.
    pub fn new(header: &Header) -> Self {
        let each = |tag, unknown: &[u8]| {
            let mut names: Vec<Vec<u8>> = Vec::new();
            let mut seen = HashSet::new();
            for line in header.lines_of(b"RG") {
                let name = line.get(tag).unwrap_or(unknown).to_vec();
                if seen.insert(name.clone()) {
                    names.push(name);
                }
            }
            java::hash_order(&mut names);
            names
        };
        let mut names = each(b"LB", UNKNOWN_LIBRARY);
        let found = names.iter().position(|name| name == UNKNOWN_LIBRARY);
        let unknown = found.unwrap_or(names.len());
        if found.is_none() {
            names.push(UNKNOWN_LIBRARY.to_vec());
        }
        let numbers: HashMap<&[u8], usize> = names.iter().map(Vec::as_slice).zip(0..).collect();
        let by_read_group = header.lines_of(b"RG").filter_map(|line| {
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

/// Bases by library, context, called base and way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Artifacts(Vec<u64>);

/// What reads are compared with.
pub(crate) struct ArtifactContext<'a> {
    pub options: &'a Options,
    pub libraries: &'a Libraries,
    pub reference: &'a ReferenceContigs,
    pub room: &'a Room,
}

impl ArtifactContext<'_> {
    /// Whether a record is counted.
    fn counts(&self, read: &Read<'_>) -> bool {
        let (flags, options) = (read.flags, self.options);
        let size = read.record.tlen().unsigned_abs();
        let is_left_out = flags.is_unmapped()
            || flags.is_secondary()
            || flags.is_qc_fail() && !options.include_non_pf_reads
            || flags.is_duplicate() && !options.include_duplicates
            || read.record.mapq() < options.minimum_mapping_quality.unwrap_or(LEAST_MAPQ);
        let most = match options.maximum_insert_size {
            0 => i32::MAX.unsigned_abs(),
            most => most,
        };
        let fits = flags.is_paired() && (options.minimum_insert_size..=most).contains(&size);
        !is_left_out && (options.include_unpaired || fits)
    }
}

impl Artifacts {
    /// Counts the bases of a record.
    pub fn add(
        &mut self,
        read: &Read<'_>,
        context: &ArtifactContext<'_>,
        pages: &mut ReferencePages,
    ) -> Result<()> {
        if !context.counts(read) {
            return Ok(());
        }
        let Some((contig, length)) = context.reference.place(read.record.ref_id())? else {
            return Ok(());
        };
        let all = context.libraries.names.len() * LIBRARY;
        context.room.lengthen(&mut self.0, all, all)?;
        let library = context.libraries.number(read.fields.read_group);
        let counts = &mut self.0[library * LIBRARY..][..LIBRARY];
        let way = 2 * usize::from(read.is_second()) + usize::from(read.flags.is_reverse());
        let original = read.fields.original_quals.filter(|_| context.options.use_original_qualities);
        let (quals, offset) = original.map_or((read.quals, 0), |original| (original, 33));
        let least = u16::from(context.options.minimum_quality_score) + offset;
        for_each_block(read, Some(length), |block| {
            let quals = quals.get(block.base.min(quals.len())..).unwrap_or_default();
            let mut bases = read.bases.iter().skip(block.base).take(block.length).zip(quals);
            let (mut from, end) = (block.at, block.at + block.length as u32);
            while from < end {
                let to = end.min(from + AT_ONCE as u32);
                // A base at an end of the contig has no context.
                let first = from.saturating_sub(1);
                let codes = pages.of(context.reference).codes(contig, first, length.min(to + 1))?;
                if from == 0 {
                    bases.next();
                }
                let pieces = codes.windows(3).zip(&mut bases);
                for (codes, (base, qual)) in pieces {
                    let [before, at, after] = [codes[0], codes[1], codes[2]].map(digit);
                    let call = digit(*base);
                    if u16::from(*qual) >= least && (before | at | after | call) & OTHER == 0 {
                        let context = (before << 4 | at << 2 | after) as usize;
                        counts[(context * CALLS + usize::from(call)) * WAYS + way] += 1;
                    }
                }
                from = to;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Adds other counts.
    pub fn merge(&mut self, from: &Artifacts) {
        crate::counts::add_each(&mut self.0, &from.0);
    }
}

/// Numbers of a library.
const LIBRARY: usize = CONTEXTS * CALLS * WAYS;

/// The digit of the code of a base; what is no A, C, G or T has a greater one.
pub(crate) fn digit(code: u8) -> u8 {
    DIGITS[usize::from(code & 15)]
}
