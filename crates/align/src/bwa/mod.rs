//! bwa mem, with the kernels of bwa-mem3.
//!
//! The records are identical to the output of `bwa mem` 0.7.17 with the same options and the same
//! `-K`: all columns and all optional fields, in the same order. The index is that of bwa-mem2
//! (`.amb .ann .pac .bwt.2bit.64`). It is found next to the reference under the names that bwa-mem2
//! uses, or built by [`build_index`].

mod complete;
mod ffi;
mod files;
mod index;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "old-processors")))]
mod initialisers;
mod loaded;
mod memory;
mod options;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod pages;
#[cfg(all(target_arch = "x86_64", target_env = "musl"))]
mod processor;
mod quiet;
mod record;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod rescue;
#[cfg(all(test, target_os = "linux"))]
mod shared_tests;

use std::path::Path;
use std::sync::Arc;

use readmill_record::{ReadBatch, Result};

pub use complete::{complete_index, missing_transform};
pub use files::{FILES, scratch_bytes};
pub use index::{BwaIndexOptions, build_index, partial_index_files};
pub use options::{BwaOptions, InsertSize};

use crate::kernel::no_index_error;
use crate::limits;
use crate::{Aligner, IndexContig, InsertModel, Kernel, Seeded, Sink};
use ffi::{BwaInsertSizes, CandidateRegions, Scratch};
use memory::BwaIndexHandle;
use options::Settings;

/// bwa mem, with its index in memory, or without an index ([`BwaKernel::without_index`]).
pub struct BwaKernel {
    index: Option<BwaIndexHandle>,
    settings: Settings,
    options: BwaOptions,
    contigs: Vec<IndexContig>,
    warnings: Vec<String>,
    index_bytes: u64,
}

const BWA_MEM3: &str = bwa_mem3_sys::build_info::VERSION;

impl BwaKernel {
    /// Loads the index with this prefix, which [`FILES`] finds, and checks its parts against each
    /// other.
    ///
    /// # Errors
    /// A file is missing or damaged, or has changed since its description was read.
    pub fn load(prefix: &Path, options: BwaOptions) -> Result<Self> {
        let described = files::check_index_files(prefix)?;
        let settings = Settings::new(options.mate_mapq, |to| options.apply_to(to))?;
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        rescue::install_rescue(&settings, !options.skip_mate_rescue)?;
        let index = BwaIndexHandle::load(prefix)?;
        let loaded = index.contigs().map(|(name, length)| (name.to_bytes(), length));
        let loaded = index.loaded_view(described.bases()).filter(|_| described.has_contigs(loaded));
        let loaded = loaded.filter(|_| {
            index.alternate_flags().eq(described.contigs.iter().map(|contig| contig.alternate))
        });
        loaded
            .ok_or_else(|| files::changed_index_error(prefix))?
            .check_index()
            .map_err(|fault| files::inconsistent_index_error(prefix, fault))?;
        Ok(BwaKernel {
            index: Some(index),
            settings,
            options,
            contigs: described.contigs,
            warnings: described.warnings,
            index_bytes: described.bytes,
        })
    }

    /// Reads only the description of the index, which is enough for contigs and cohorts, and for
    /// stages that do not align.
    pub fn without_index(prefix: &Path, options: BwaOptions) -> Result<Self> {
        let described = files::check_index_files(prefix)?;
        let settings = Settings::new(options.mate_mapq, |to| options.apply_to(to))?;
        let (contigs, warnings) = (described.contigs, described.warnings);
        Ok(BwaKernel { index: None, settings, options, contigs, warnings, index_bytes: 0 })
    }

    fn index(&self) -> Result<&BwaIndexHandle> {
        self.index.as_ref().ok_or_else(no_index_error)
    }
}

impl Kernel for BwaKernel {
    fn program_name(&self) -> &str {
        "bwa"
    }

    fn subcommand_name(&self) -> &str {
        "mem"
    }

    fn program_version(&self) -> String {
        let like = if self.options.mate_mapq { "0.7.19" } else { "0.7.17" };
        format!("{like} (bwa-mem3 {BWA_MEM3})")
    }

    fn contigs(&self) -> &[IndexContig] {
        &self.contigs
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn cohort_bases(&self, segments: usize) -> Option<u64> {
        let inferred = segments == 2 && self.options.insert.is_none();
        inferred.then(|| self.options.cohort_bases.unwrap_or(BwaOptions::COHORT_BASES))
    }

    fn interleaved_cohort_bases(&self) -> Option<u64> {
        Some(self.options.cohort_bases.unwrap_or(BwaOptions::COHORT_BASES))
    }

    fn batch_reads(&self) -> usize {
        ffi::batch_reads()
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
        Ok(Box::new(BwaAligner { kernel: self, scratch: Scratch::new()?, record: Vec::new() }))
    }

    fn infer_insert_sizes(&self, cohort: &[&Seeded]) -> Result<InsertModel> {
        if let Some(insert) = &self.options.insert {
            return Ok(InsertModel::new(BwaInsertSizes::from_insert_size(insert)));
        }
        let regions =
            cohort.iter().map(|seeded| seeded.get()).collect::<Result<Vec<&CandidateRegions>>>()?;
        Ok(InsertModel::new(ffi::infer_insert_sizes(self.index()?, &self.settings, &regions)?))
    }
}

struct BwaAligner {
    kernel: Arc<BwaKernel>,
    scratch: Scratch,
    record: Vec<u8>,
}

impl Aligner for BwaAligner {
    fn seed_reads(&mut self, reads: &ReadBatch) -> Result<Seeded> {
        let kernel = &*self.kernel;
        limits::check_reads(reads)?;
        let regions = ffi::seed_reads(kernel.index()?, &kernel.settings, &mut self.scratch, reads)?;
        let bytes = regions.bytes();
        Ok(Seeded::new(regions, bytes))
    }

    fn emit_records(
        &mut self,
        reads: &ReadBatch,
        seeded: Seeded,
        model: &InsertModel,
        group: Option<&[u8]>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let (kernel, out, segments) = (&*self.kernel, &mut self.record, reads.segments().max(1));
        let take = &mut |template: usize, body: &[u8]| {
            record::finish_record(body, group, out);
            sink(segments * template + usize::from(record::is_last(body)), out)
        };
        let (index, settings, inserts) = (kernel.index()?, &kernel.settings, model.get()?);
        ffi::emit_records(
            index,
            settings,
            &mut self.scratch,
            seeded.take()?,
            inserts,
            reads.first_template(),
            take,
        )
    }
}
