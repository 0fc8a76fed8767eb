//! Records of a file, from the results of its regions in order.

use readmill_genotypes::blocks::{GvcfBlocks, InvalidBands, OverlappingSite, ReferenceSite};
use readmill_genotypes::vcf::{SampleFields, VcfMode, VcfRecord};
use readmill_genotypes::{Allele, SampleGenotype};
use readmill_jmath::JavaRandom;

use crate::calls::{CallRecord, Part, RegionCalls, Sites};
use crate::options::{CallerOptions, PLOIDY};

/// Makes the records of a file from the results of regions, which must come in the order of the file.
///
/// This is the serial part of calling. It merges sites to blocks, and takes the random numbers that GATK
/// takes for `QD`.
#[derive(Clone, Debug)]
pub struct RecordEmitter {
    mode: VcfMode,
    blocks: GvcfBlocks,
}

impl RecordEmitter {
    /// Creates an emitter for one file.
    ///
    /// # Errors
    /// The bounds of bands do not ascend.
    pub fn new(options: &CallerOptions) -> Result<Self, InvalidBands> {
        Ok(RecordEmitter { mode: options.mode, blocks: GvcfBlocks::new(&options.bands)? })
    }

    /// Returns the bounds of the bands of GQ, for the header.
    pub fn bands(&self) -> &[i32] {
        self.blocks.bands()
    }

    /// Appends the records of the next region. `random` is the generator of the whole run.
    ///
    /// # Errors
    /// A site overlaps a block.
    pub fn emit(
        &mut self,
        calls: RegionCalls,
        random: &mut JavaRandom,
        records: &mut Vec<VcfRecord>,
    ) -> Result<(), OverlappingSite> {
        for part in calls.parts {
            match (part, self.mode) {
                (Part::Call(call), VcfMode::Variants) => {
                    let CallRecord { mut record, reads } = *call;
                    record.add_quality_by_depth(&reads, random);
                    records.push(record);
                }
                (Part::Call(call), VcfMode::Sites) => records.push(call.record),
                (Part::Call(call), VcfMode::Blocks) => self.blocks.add_record(call.record, records)?,
                (Part::Sites(sites), VcfMode::Blocks) => self.merge_sites(&sites, records)?,
                (Part::Sites(sites), _) => records.extend(make_records(&sites)),
            }
        }
        Ok(())
    }

    /// Appends what is left at the end of the file.
    pub fn finish(&mut self, records: &mut Vec<VcfRecord>) {
        self.blocks.finish(records);
    }

    fn merge_sites(
        &mut self,
        sites: &Sites,
        records: &mut Vec<VcfRecord>,
    ) -> Result<(), OverlappingSite> {
        for (index, reference) in sites.reference.chunks(1).enumerate() {
            let site = ReferenceSite {
                contig: sites.contig,
                position: sites.start + index as u32,
                reference,
                ploidy: PLOIDY,
                quality: Some(sites.qualities[index]),
                depth: Some(sites.depths[index].iter().sum()),
                pls: sites.pls_of(index),
            };
            self.blocks.add_site(site, records)?;
        }
        Ok(())
    }
}

/// Makes one record of each site.
fn make_records(sites: &Sites) -> impl Iterator<Item = VcfRecord> {
    (0..sites.reference.len()).map(|index| {
        let depths = sites.depths[index];
        let genotype = SampleGenotype {
            alleles: vec![Some(0); PLOIDY],
            pls: sites.pls_of(index).to_vec(),
            quality: Some(sites.qualities[index]),
            allele_depths: Some(depths.to_vec()),
            depth: Some(depths.iter().sum()),
            phase: None,
        };
        VcfRecord {
            contig: sites.contig,
            start: sites.start + index as u32,
            alleles: vec![Allele::Reference(vec![sites.reference[index]]), Allele::NonReference],
            samples: vec![SampleFields { genotype, ..SampleFields::default() }],
            ..VcfRecord::default()
        }
    })
}
