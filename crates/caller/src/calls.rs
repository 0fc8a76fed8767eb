//! What a region gives: calls, and the confidence in the reference between them.

use readmill_genotypes::CalledDeletions;
use readmill_genotypes::vcf::VcfRecord;

/// Results of one region, before the records of a file are made of them.
///
/// They depend on the region, the reference, the options, and on the deletions that were called before.
#[derive(Clone, Debug, Default)]
pub struct RegionCalls {
    /// Calls and sites, by position.
    pub(crate) parts: Vec<Part>,
    /// The deletions that were called up to the end of the region.
    pub(crate) deletions: CalledDeletions,
}

impl RegionCalls {
    /// Returns the deletions that were called up to the end of the region, for the next region of the
    /// contig.
    pub fn deletions(&self) -> &CalledDeletions {
        &self.deletions
    }
}

/// A part of the results.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Call(Box<CallRecord>),
    Sites(Sites),
}

/// A call with its annotations, but without `QD`, which needs the order of calls.
#[derive(Clone, Debug)]
pub(crate) struct CallRecord {
    pub(crate) record: VcfRecord,
    /// Reads of each sample, for `QD`.
    pub(crate) reads: Vec<usize>,
}

/// Neighbouring sites that are not the start of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    pub(crate) contig: usize,
    /// 1-based position of the first site.
    pub(crate) start: u32,
    /// Base of the reference at each site.
    pub(crate) reference: Vec<u8>,
    /// Depths of the reference and of other bases at each site (`AD`).
    pub(crate) depths: Vec<[i32; 2]>,
    /// `GQ` of each site.
    pub(crate) qualities: Vec<i32>,
    /// `PL` of all sites.
    pub(crate) pls: Vec<i32>,
}

impl Sites {
    /// Returns the likelihoods of a site.
    pub(crate) fn pls_of(&self, site: usize) -> &[i32] {
        let each = self.pls.len() / self.reference.len();
        &self.pls[site * each..][..each]
    }
}
