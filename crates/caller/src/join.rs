//! Joins the results of regions, in the order of the file.

use std::collections::VecDeque;

use readmill_genotypes::CalledDeletions;
use readmill_genotypes::vcf::VcfRecord;
use readmill_jmath::JavaRandom;
use readmill_record::Result;

use crate::calls::RegionCalls;
use crate::emit::RecordEmitter;
use crate::error::input_error;
use crate::options::CallerOptions;
use crate::region::{CalledRegions, RegionCaller};

/// Joins the results of regions, which any thread computes, to the records of a file.
///
/// Two things need the order of regions. A deletion that was called in one region can cover a site of
/// the next, and in mode [`VcfMode::Variants`](readmill_genotypes::vcf::VcfMode::Variants) GATK draws
/// random numbers for `QD` between the draws for reads.
#[derive(Debug)]
pub struct CallJoin {
    emitter: RecordEmitter,
    /// The deletions that were called before the next region.
    deletions: CalledDeletions,
    waiting: VecDeque<WaitingCalls>,
}

/// Results that are not emitted yet.
#[derive(Debug)]
struct WaitingCalls {
    contig: usize,
    /// The locus at which GATK has read all of the region.
    ready_locus: i32,
    calls: RegionCalls,
}

/// The place up to which GATK calls regions before it draws random numbers for the next reads: the index
/// of a contig, and a locus ([`draw_limit`](readmill_regions::RegionWalk::draw_limit)).
pub type DrawLimit = (usize, i32);

impl CallJoin {
    /// Creates a join for one file.
    ///
    /// # Errors
    /// The bounds of bands do not ascend.
    pub fn new(options: &CallerOptions) -> Result<Self> {
        let emitter = RecordEmitter::new(options).map_err(input_error)?;
        Ok(CallJoin { emitter, deletions: CalledDeletions::default(), waiting: VecDeque::new() })
    }

    /// Returns the bounds of the bands of GQ, for the header of the file.
    pub fn bands(&self) -> &[i32] {
        self.emitter.bands()
    }

    /// Adds the next regions. A region for which other deletions were assumed is called again if they
    /// reach it.
    ///
    /// # Errors
    /// GATK stops in a region.
    pub fn add_regions(&mut self, called: CalledRegions, caller: &mut RegionCaller<'_>) -> Result<()> {
        let CalledRegions { contig, regions, calls } = called;
        let mut assumed = CalledDeletions::default();
        for (region, calls) in regions.iter().zip(calls) {
            let position = region.span.start as u32;
            let is_as_assumed = self.deletions.reach_alike(&assumed, contig.index, position);
            assumed.clone_from(calls.deletions());
            let calls = match is_as_assumed {
                true => calls,
                false => caller.call_region(&contig, region, &self.deletions)?,
            };
            self.deletions.clone_from(calls.deletions());
            let (contig, ready_locus) = (contig.index, region.ready_locus);
            self.waiting.push_back(WaitingCalls { contig, ready_locus, calls });
        }
        Ok(())
    }

    /// Appends the records of regions whose next region is ready before `limit`, because GATK reads that
    /// region before it calls one. All regions of contigs before that of `limit` are ready.
    ///
    /// # Errors
    /// A site overlaps a block.
    pub fn emit_before(
        &mut self,
        limit: DrawLimit,
        random: &mut JavaRandom,
        records: &mut Vec<VcfRecord>,
    ) -> Result<()> {
        while let Some(first) = self.waiting.front() {
            let is_called_before = |next: &WaitingCalls| {
                next.contig != first.contig || next.ready_locus < limit.1 && first.contig == limit.0
            };
            if first.contig >= limit.0 && !self.waiting.get(1).is_some_and(is_called_before) {
                break;
            }
            self.emit_first(random, records)?;
        }
        Ok(())
    }

    /// Appends the records of all regions that were added.
    ///
    /// # Errors
    /// A site overlaps a block.
    pub fn emit_all(&mut self, random: &mut JavaRandom, records: &mut Vec<VcfRecord>) -> Result<()> {
        while !self.waiting.is_empty() {
            self.emit_first(random, records)?;
        }
        Ok(())
    }

    /// Appends the last block at the end of the file.
    pub fn finish(&mut self, records: &mut Vec<VcfRecord>) {
        self.emitter.finish(records);
    }

    fn emit_first(&mut self, random: &mut JavaRandom, records: &mut Vec<VcfRecord>) -> Result<()> {
        if let Some(WaitingCalls { calls, .. }) = self.waiting.pop_front() {
            self.emitter.emit(calls, random, records).map_err(input_error)?;
        }
        Ok(())
    }
}
