//! minibwa, with its own C code.
//!
//! The records are identical to the output of `minibwa map` 0.6 with the same options and the same
//! `-K`: all columns and all optional fields, in the same order. minibwa has its own index format
//! (`.l2b` and `.mbw` next to the reference), which [`build_index`] can write.

mod ffi;
mod fields;
mod files;
mod hits;
mod index;
mod loaded;
mod memory;
mod options;
mod record;

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::Arc;

use minibwa_sys as sys;
use readmill_record::{Error, ReadBatch, Result};

pub use files::{FILES, scratch_bytes};
pub use index::{build_index, partial_index_files};
pub use options::{DifferenceField, MinibwaInsertSize, MinibwaOptions, Preset};

use crate::kernel::no_index_error;
use crate::limits;
use crate::{Aligner, IndexContig, InsertModel, Kernel, Seeded, Sink};
use ffi::{MinibwaInsertSizes, ReadsForC, ThreadBuffer};
use hits::Hits;
use hits::Segment;
use memory::MinibwaIndex;

/// minibwa, with its index in memory, or without an index ([`MinibwaKernel::without_index`]).
pub struct MinibwaKernel {
    index: Option<MinibwaIndex>,
    options: MinibwaOptions,
    settings: sys::mb_opt_t,
    contigs: Vec<IndexContig>,
    index_bytes: u64,
}

/// Number of reads that are seeded together, so that the processor works on other reads while one
/// waits for memory. minibwa also uses 24 pairs (0.6, `sb_seq`).
const READS_PER_BATCH: i32 = 48;

impl MinibwaKernel {
    /// Loads the index with this prefix, which [`FILES`] finds, and checks its parts against each
    /// other.
    ///
    /// # Errors
    /// A file is missing or damaged, or has changed since its description was read.
    pub fn load(prefix: &Path, options: MinibwaOptions) -> Result<Self> {
        let described = files::check_index_files(prefix)?;
        let index = Some(MinibwaIndex::load(prefix, &described)?);
        let settings = options.to_c_options();
        let index_bytes = described.bytes;
        Ok(MinibwaKernel { index, options, settings, contigs: described.contigs, index_bytes })
    }

    /// Reads only the description of the index, which is enough for contigs and cohorts, and for
    /// stages that do not align.
    pub fn without_index(prefix: &Path, options: MinibwaOptions) -> Result<Self> {
        let (described, settings) = (files::check_index_files(prefix)?, options.to_c_options());
        Ok(MinibwaKernel { index: None, options, settings, contigs: described.contigs, index_bytes: 0 })
    }

    fn index(&self) -> Result<&MinibwaIndex> {
        self.index.as_ref().ok_or_else(no_index_error)
    }
}

impl Kernel for MinibwaKernel {
    fn program_name(&self) -> &str {
        "minibwa"
    }

    fn subcommand_name(&self) -> &str {
        "map"
    }

    fn program_version(&self) -> String {
        ffi::minibwa_version().to_string()
    }

    fn contigs(&self) -> &[IndexContig] {
        &self.contigs
    }

    fn cohort_bases(&self, segments: usize) -> Option<u64> {
        let inferred = segments == 2 && self.options.aligns_pairs() && self.options.insert.is_none();
        inferred.then(|| self.options.cohort_bases.unwrap_or(MinibwaOptions::COHORT_BASES))
    }

    fn batch_reads(&self) -> usize {
        READS_PER_BATCH as usize
    }

    fn index_bytes(&self) -> u64 {
        self.index_bytes
    }

    fn scratch_bytes(&self, bases: usize) -> u64 {
        files::scratch_bytes(bases)
    }

    fn long_read_bytes(&self, bases: usize) -> u64 {
        files::long_read_bytes(bases)
    }

    fn seeded_bytes(&self, reads: &ReadBatch) -> u64 {
        files::seeded_bytes(reads)
    }

    fn new_aligner(self: Arc<Self>) -> Result<Box<dyn Aligner>> {
        // `seed_reads` aligns single reads: `emit_records` pairs them once the insert sizes of
        // their cohort are known.
        let mut alone = self.settings;
        alone.flag &= !u64::from(sys::MB_F_PE);
        alone.sb_seq = READS_PER_BATCH;
        Ok(Box::new(MinibwaAligner {
            kernel: self,
            single_settings: alone,
            scratch: ThreadBuffer::new()?,
            record: Vec::new(),
        }))
    }

    fn infer_insert_sizes(&self, cohort: &[&Seeded]) -> Result<InsertModel> {
        if let Some(insert) = &self.options.insert {
            return Ok(InsertModel::new(MinibwaInsertSizes::from_insert_size(insert)));
        }
        let hits = cohort.iter().map(|seeded| seeded.get()).collect::<Result<Vec<&Hits>>>()?;
        MinibwaInsertSizes::infer_from_hits(&self.settings, &hits).map(InsertModel::new)
    }
}

struct MinibwaAligner {
    kernel: Arc<MinibwaKernel>,
    /// The settings without pairing, for `seed_reads`.
    single_settings: sys::mb_opt_t,
    scratch: ThreadBuffer,
    record: Vec<u8>,
}

impl Aligner for MinibwaAligner {
    fn seed_reads(&mut self, reads: &ReadBatch) -> Result<Seeded> {
        limits::check_reads(reads)?;
        let names = trimmed_names(reads).map(CString::new).collect::<std::result::Result<Vec<_>, _>>();
        let names = names.map_err(|_| Error::bug("a name with a NUL went through"))?;
        let bases: Vec<Cow<'_, [u8]>> = reads.iter().map(|read| bases_with_t(read.bases)).collect();
        let given = ReadsForC {
            bases: bases.iter().map(|bases| &**bases).collect(),
            names: names.iter().map(|name| name as &CStr).collect(),
        };
        let hits =
            ffi::map_reads(self.kernel.index()?, &self.single_settings, &mut self.scratch, &given)?;
        let bytes = hits.bytes();
        Ok(Seeded::new(hits, bytes))
    }

    fn emit_records(
        &mut self,
        reads: &ReadBatch,
        seeded: Seeded,
        model: &InsertModel,
        group: Option<&[u8]>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let (kernel, mut hits) = (&*self.kernel, seeded.take::<Hits>()?);
        let (segments, inserts) = (reads.segments().max(1), model.get::<MinibwaInsertSizes>()?);
        let mut names = trimmed_names(reads);
        for first in (0..reads.len()).step_by(segments) {
            if segments == 2 && kernel.options.aligns_pairs() {
                let bases = [first, first + 1].map(|read| bases_with_t(reads.read(read).bases));
                let bases = [&*bases[0], &*bases[1]];
                ffi::pair_hits(kernel.index()?, &kernel.settings, inserts, &mut hits, first, bases);
            }
            for read in first..first + segments {
                let mate = (segments == 2).then_some(read ^ 1);
                let said = Segment {
                    contigs: &kernel.contigs,
                    settings: &kernel.settings,
                    group,
                    name: names.next().unwrap_or_default(),
                    read: reads.read(read),
                    is_last: read > first,
                    hits: hits.hits_of_read(read),
                    mate: mate.map(|mate| (hits.hits_of_read(mate), reads.read(mate).bases.len())),
                };
                said.write_records(&mut self.record, &mut |record| sink(read, record))?;
            }
        }
        Ok(())
    }
}

/// Returns the read names as minibwa writes them. If the names of a pair end with `/` and a
/// different character each, both lose this suffix (0.6, `worker_pipeline`).
fn trimmed_names(reads: &ReadBatch) -> impl Iterator<Item = &[u8]> {
    let paired = reads.segments() == 2;
    (0..reads.len()).map(move |at| {
        let name = reads.read(at).name;
        if paired && is_numbered(name, reads.read(at ^ 1).name, at % 2 == 0) {
            &name[..name.len() - 2]
        } else {
            name
        }
    })
}

/// Returns whether the names of two mates end with different read numbers. As in minibwa, only the
/// name of read 1 is checked for the slash.
fn is_numbered(own: &[u8], mate: &[u8], own_is_first: bool) -> bool {
    let first = if own_is_first { own } else { mate };
    own.len() >= 3
        && own.len() == mate.len()
        && own.last() != mate.last()
        && first[first.len() - 2] == b'/'
}

/// Returns the bases as minibwa reads them, with U replaced by T (0.6, `kseq2bseq`).
fn bases_with_t(bases: &[u8]) -> Cow<'_, [u8]> {
    if !bases.iter().any(|&base| matches!(base, b'U' | b'u')) {
        return Cow::Borrowed(bases);
    }
    let changed = |&base: &u8| if matches!(base, b'U' | b'u') { base - 1 } else { base };
    Cow::Owned(bases.iter().map(changed).collect())
}

#[cfg(test)]
mod tests {
    use readmill_record::Read;

    use super::*;

    fn pair(first: &str, last: &str) -> [String; 2] {
        let mut reads = ReadBatch::new(2, 0);
        for name in [first, last] {
            reads.push_read(Read { name: name.as_bytes(), comment: b"", bases: b"", qualities: None });
        }
        let mut names = trimmed_names(&reads).map(|name| String::from_utf8_lossy(name).into_owned());
        [names.next().unwrap(), names.next().unwrap()]
    }

    #[test]
    fn names_of_a_pair_lose_their_numbers_if_they_differ() {
        for (first, last, kept) in [
            ("r/1", "r/2", ["r", "r"]),
            ("r/1", "r/1", ["r/1", "r/1"]),
            ("r", "r", ["r", "r"]),
            ("/1", "/2", ["/1", "/2"]),
            ("rr/1", "rr", ["rr/1", "rr"]),
        ] {
            assert_eq!(pair(first, last), kept);
        }
    }

    #[test]
    fn u_is_t() {
        assert_eq!(&*bases_with_t(b"ACGu"), b"ACGt");
        assert!(matches!(bases_with_t(b"ACGT"), Cow::Borrowed(_)));
    }
}
