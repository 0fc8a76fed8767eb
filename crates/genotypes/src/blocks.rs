//! Blocks of sites that are like the reference, which a GVCF file has instead of these sites.

use std::error::Error;
use std::fmt;

use readmill_jmath::phred::genotype_quality;

use crate::alleles::{Allele, SampleGenotype};
use crate::vcf::{InfoValue, SampleFields, VcfRecord};

/// Largest GQ that bands distinguish.
const MAX_QUALITY: i32 = 99;

/// GATK's default bounds of the bands of GQ: 0 to 60 by 1, then 70, 80, 90, 99 and 100.
pub const DEFAULT_BANDS: [i32; 66] = {
    let mut bands = [0; 66];
    let mut index = 0;
    while index <= 60 {
        bands[index] = index as i32;
        index += 1;
    }
    [bands[61], bands[62], bands[63], bands[64], bands[65]] = [70, 80, 90, 99, 100];
    bands
};

/// A site, or a run of sites, at which the sample is like the reference.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceSite<'a> {
    /// Index of the contig in the header.
    pub contig: usize,
    /// 1-based position.
    pub position: u32,
    /// Bases of the reference, usually one.
    pub reference: &'a [u8],
    /// Number of chromosomes.
    pub ploidy: usize,
    /// Quality of the genotype (`GQ`), not capped.
    pub quality: Option<i32>,
    /// Depth (`DP`).
    pub depth: Option<i32>,
    /// Likelihoods (`PL`) of the reference and `<NON_REF>`; none if empty.
    pub pls: &'a [i32],
}

impl ReferenceSite<'_> {
    fn end(&self) -> u32 {
        self.position + (self.reference.len() as u32).max(1) - 1
    }
}

/// A site starts before the end of the block that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlappingSite {
    /// 1-based position of the site.
    pub position: u32,
    /// 1-based position of the last site of the block.
    pub block_end: u32,
}

impl fmt::Display for OverlappingSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OverlappingSite { position, block_end } = self;
        write!(f, "site {position} overlaps a block of reference sites that ends at {block_end}")
    }
}

impl Error for OverlappingSite {}

/// The bounds of bands are not ascending numbers from 0 to 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidBands(pub Vec<i32>);

impl fmt::Display for InvalidBands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bounds of GQ bands must ascend from 1 to at most 100, not {:?}", self.0)
    }
}

impl Error for InvalidBands {}

/// Merges neighbouring sites whose GQ is in the same band, like `GVCFBlockCombiner` of GATK 4.6.2.0.
///
/// Sites and variants must come in the order of the file. Sites inside the span of a variant are
/// dropped.
///
/// ```
/// use readmill_genotypes::blocks::{DEFAULT_BANDS, GvcfBlocks, ReferenceSite};
///
/// let mut blocks = GvcfBlocks::new(&DEFAULT_BANDS)?;
/// let mut records = Vec::new();
/// for (position, depth) in [(1, 20), (2, 23), (3, 22)] {
///     let (reference, pls) = (b"A".as_slice(), [0, 60, 700 + depth]);
///     let (quality, depth) = (Some(60), Some(depth));
///     let site = ReferenceSite { contig: 0, position, reference, ploidy: 2, quality, depth, pls: &pls };
///     blocks.add_site(site, &mut records)?;
/// }
/// blocks.finish(&mut records);
/// let mut line = Vec::new();
/// records[0].append_line(b"chr1", &mut line);
/// let text = "chr1\t1\t.\tA\t<NON_REF>\t.\t.\tEND=3\tGT:DP:GQ:MIN_DP:PL\t0/0:22:60:20:0,60,720\n";
/// assert_eq!(String::from_utf8(line)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GvcfBlocks {
    bands: Vec<i32>,
    block: Option<Block>,
    /// Contig and last position of the latest variant, if sites can be inside its span.
    variant_end: Option<(usize, u32)>,
}

impl GvcfBlocks {
    /// Creates an empty combiner. `bounds` are the lower bounds of the bands and the last upper one,
    /// like [`DEFAULT_BANDS`]; 0 and 100 may be left out.
    ///
    /// # Errors
    /// The bounds do not ascend, or are not from 0 to 100.
    pub fn new(bounds: &[i32]) -> Result<Self, InvalidBands> {
        let mut bands = vec![0];
        bands.extend(bounds.iter().skip_while(|&&bound| bound == 0));
        if bands.last() != Some(&(MAX_QUALITY + 1)) {
            bands.push(MAX_QUALITY + 1);
        }
        if bounds.is_empty() || !bands.is_sorted_by(|a, b| a < b) {
            return Err(InvalidBands(bounds.to_vec()));
        }
        Ok(GvcfBlocks { bands, block: None, variant_end: None })
    }

    /// Returns the bounds of the bands, from 0 to 100.
    pub fn bands(&self) -> &[i32] {
        &self.bands
    }

    /// Adds a record: a site if its sample is like the reference and its only alternate allele is
    /// `<NON_REF>`, otherwise a variant, which is appended to `records` as it is.
    ///
    /// # Errors
    /// The site starts before the end of the current block.
    ///
    /// # Panics
    /// The record has no sample, or more than one.
    pub fn add_record(
        &mut self,
        record: VcfRecord,
        records: &mut Vec<VcfRecord>,
    ) -> Result<(), OverlappingSite> {
        let [sample] = record.samples.as_slice() else {
            panic!("a GVCF file has one sample, not {}", record.samples.len());
        };
        let genotype = &sample.genotype;
        let is_site = record.alleles.len() == 2 && record.alleles[1] == Allele::NonReference;
        if is_site && is_like_reference(genotype) {
            let site = ReferenceSite {
                contig: record.contig,
                position: record.start,
                reference: record.alleles[0].text(),
                ploidy: genotype.alleles.len(),
                quality: genotype.quality,
                depth: genotype.depth,
                pls: &genotype.pls,
            };
            return self.add_site(site, records);
        }
        self.finish(records);
        self.variant_end = Some((record.contig, record.end()));
        records.push(record);
        Ok(())
    }

    /// Adds a site. If it starts a new block, appends the record of the one before to `records`.
    ///
    /// # Errors
    /// The site starts before the end of the current block.
    pub fn add_site(
        &mut self,
        site: ReferenceSite<'_>,
        records: &mut Vec<VcfRecord>,
    ) -> Result<(), OverlappingSite> {
        if self.block.as_ref().is_some_and(|block| !block.touches(&site)) {
            self.finish(records);
        }
        if let Some((contig, end)) = self.variant_end {
            if site.contig == contig && site.position <= end && site.end() <= end {
                return Ok(());
            }
            self.variant_end = None;
        }
        match &mut self.block {
            Some(block) if block.can_take(&site) => block.add(&site)?,
            _ => {
                self.finish(records);
                self.block = Some(Block::new(&site, &self.bands));
            }
        }
        Ok(())
    }

    /// Appends the record of the current block, if there is one. Must follow the last site.
    pub fn finish(&mut self, records: &mut Vec<VcfRecord>) {
        records.extend(self.block.take().map(Block::into_record));
    }
}

/// Returns whether all chromosomes are called as the reference, or none is called and no genotype is
/// likelier.
fn is_like_reference(genotype: &SampleGenotype) -> bool {
    let alleles = &genotype.alleles;
    let is_reference = !alleles.is_empty() && alleles.iter().all(|&allele| allele == Some(0));
    is_reference || (alleles.iter().all(Option::is_none) && genotype.pls.first() == Some(&0))
}

/// A run of neighbouring sites.
#[derive(Clone, Debug)]
struct Block {
    contig: usize,
    start: u32,
    end: u32,
    reference: Vec<u8>,
    ploidy: usize,
    /// Bounds of GQ.
    min_quality: i32,
    end_quality: i32,
    /// Element-wise minima.
    pls: Vec<i32>,
    /// Minimum GQ, for sites without PLs.
    quality: Option<i32>,
    depths: Depths,
}

impl Block {
    fn new(site: &ReferenceSite<'_>, bands: &[i32]) -> Self {
        let quality = site.quality.map_or(0, |quality| quality.min(MAX_QUALITY));
        let above = bands.partition_point(|&bound| bound <= quality).clamp(1, bands.len() - 1);
        let mut block = Block {
            contig: site.contig,
            start: site.position,
            end: site.position,
            reference: site.reference.to_vec(),
            ploidy: site.ploidy,
            min_quality: bands[above - 1],
            end_quality: bands[above],
            pls: site.pls.to_vec(),
            quality: site.quality,
            depths: Depths::default(),
        };
        block.depths.add(site.depth);
        block
    }

    /// Returns whether the site overlaps the block or is beside it.
    fn touches(&self, site: &ReferenceSite<'_>) -> bool {
        site.contig == self.contig && site.position <= self.end + 1 && site.end() + 1 >= self.start
    }

    fn can_take(&self, site: &ReferenceSite<'_>) -> bool {
        let quality = site.quality.map(|quality| quality.min(MAX_QUALITY));
        quality.is_some_and(|quality| (self.min_quality..self.end_quality).contains(&quality))
            && self.ploidy == site.ploidy
            && (self.pls.is_empty() || site.pls.is_empty() || self.pls.len() == site.pls.len())
    }

    fn add(&mut self, site: &ReferenceSite<'_>) -> Result<(), OverlappingSite> {
        if site.position != self.end + 1 {
            return Err(OverlappingSite { position: site.position, block_end: self.end });
        }
        if self.pls.is_empty() {
            self.pls.extend_from_slice(site.pls);
        }
        self.pls.iter_mut().zip(site.pls).for_each(|(min, &pl)| *min = (*min).min(pl));
        self.quality = self.quality.min(site.quality).or(site.quality);
        self.end = site.position;
        self.depths.add(site.depth);
        Ok(())
    }

    fn into_record(self) -> VcfRecord {
        let genotype = SampleGenotype {
            alleles: vec![Some(0); self.ploidy],
            quality: genotype_quality(&self.pls).or(self.quality),
            depth: self.depths.rounded_median(),
            pls: self.pls,
            ..SampleGenotype::default()
        };
        let min_depth = self.depths.min();
        VcfRecord {
            contig: self.contig,
            start: self.start,
            alleles: vec![Allele::Reference(self.reference), Allele::NonReference],
            log10_error: None,
            info: vec![("END", InfoValue::Integers(vec![self.end as i32]))],
            samples: vec![SampleFields { genotype, strand_counts: None, min_depth }],
        }
    }
}

/// The depths of the sites of a block: ascending, with their number of sites. A block can be as long
/// as a contig, but its depths are few.
#[derive(Clone, Debug, Default)]
struct Depths {
    counts: Vec<(i32, u64)>,
    sites: u64,
}

impl Depths {
    fn add(&mut self, depth: Option<i32>) {
        let Some(depth) = depth.map(|depth| depth.max(0)) else {
            return;
        };
        self.sites += 1;
        match self.counts.binary_search_by_key(&depth, |&(depth, _)| depth) {
            Ok(index) => self.counts[index].1 += 1,
            Err(index) => self.counts.insert(index, (depth, 1)),
        }
    }

    fn min(&self) -> Option<i32> {
        self.counts.first().map(|&(depth, _)| depth)
    }

    /// Returns the median. The mean of two middle depths is rounded up.
    fn rounded_median(&self) -> Option<i32> {
        let lower = self.nth(self.sites.checked_sub(1)? / 2)?;
        let upper = self.nth(self.sites / 2)?;
        Some(lower + (upper - lower + 1) / 2)
    }

    /// Returns the depth with `rank` depths of other sites before it.
    fn nth(&self, rank: u64) -> Option<i32> {
        let mut before = 0;
        for &(depth, count) in &self.counts {
            before += count;
            if rank < before {
                return Some(depth);
            }
        }
        None
    }
}
