//! The positions of a region.

use readmill_jmath::phred::{genotype_quality, log10_genotype_error, phred_likelihoods};
use readmill_jmath::{JavaMath, Log10Sums};

use super::indels::{IndelLikelihoods, MAX_INFORMATIVE_READS};
use super::pileup::{ConfidenceRead, Cursor, DeletionAtEnd};
use super::plausible::InformativePositions;
use super::substitutions::SubstitutionTerms;

/// Quality of a deleted base (`--reference-model-deletion-quality`).
const DELETION_QUALITY: u8 = 30;

/// Bases of this quality and below do not count.
const MAX_IGNORED_QUALITY: i8 = 6;

/// The confidence in the reference at one position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfidenceAt {
    /// Reads with the base of the reference, and with anything else (`AD`). Their sum is `DP`.
    pub allele_depths: [i32; 2],
    /// Phred-scaled likelihoods (`PL`).
    pub pls: Vec<i32>,
    /// Quality of the genotype (`GQ`), not capped.
    pub quality: i32,
}

impl ConfidenceAt {
    /// Returns the number of reads that count (`DP`).
    pub fn depth(&self) -> i32 {
        self.allele_depths[0] + self.allele_depths[1]
    }
}

/// Computes the confidence in the reference, like `ReferenceConfidenceModel` of GATK 4.6.2.0.
///
/// At each position, it is the smaller one of the confidence that there is no other base and the
/// confidence that there is no insertion or deletion. The first is of the qualities of bases, the
/// second of the number of reads that would fit clearly worse with an indel.
///
/// ```
/// use readmill_genotypes::confidence::{ConfidenceAt, ConfidenceRead, ReferenceConfidence};
/// use readmill_jmath::{JavaMath, Log10Sums};
/// use readmill_pairwise::Cigar;
///
/// let model = ReferenceConfidence::new(&Log10Sums::new(JavaMath::of_this_processor()), 2);
/// let reference = b"ACGTTGCAGGTCCATAAGCTTGACCTAGTT";
/// let cigar: Cigar = "25M".parse()?;
/// let (bases, qualities) = (&reference[..25], [30; 25]);
/// let reads =
///     [ConfidenceRead { start: 101, cigar: &cigar, bases, qualities: &qualities, visible: (101, 125) }];
/// let mut region = model.region(&reads, reference, 101);
/// let mut at = ConfidenceAt::default();
/// region.compute_at(103, &mut at)?;
/// assert_eq!((at.allele_depths, at.quality, at.pls), ([1, 0], 3, vec![0, 3, 35]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReferenceConfidence {
    math: JavaMath,
    substitutions: SubstitutionTerms,
    indels: IndelLikelihoods,
}

impl ReferenceConfidence {
    /// Computes the tables for samples with so many chromosomes.
    ///
    /// # Panics
    /// The ploidy is 0.
    pub fn new(sums: &Log10Sums, ploidy: usize) -> Self {
        assert!(ploidy > 0, "the ploidy is at least 1");
        ReferenceConfidence {
            math: sums.math(),
            substitutions: SubstitutionTerms::new(sums, ploidy),
            indels: IndelLikelihoods::new(sums, ploidy),
        }
    }

    /// Returns the confidence in a region. `reads` are ordered by position; equal ones keep the order
    /// of GATK's `ReadCoordinateComparator`, which decides which reads count if more than 40 rule out
    /// an indel. `reference` are the bases of the padded region in upper case, the first one at the
    /// 1-based `reference_start`.
    pub fn region<'a>(
        &'a self,
        reads: &'a [ConfidenceRead<'a>],
        reference: &'a [u8],
        reference_start: i32,
    ) -> RegionConfidence<'a> {
        RegionConfidence {
            model: self,
            reads,
            reference,
            reference_start,
            position: i32::MIN,
            next_read: 0,
            cursors: Vec::new(),
            informative: vec![None; reads.len()],
            likelihoods: vec![0.0; self.substitutions.genotypes()],
        }
    }
}

/// The confidence at the positions of one region.
#[derive(Clone, Debug)]
pub struct RegionConfidence<'a> {
    model: &'a ReferenceConfidence,
    reads: &'a [ConfidenceRead<'a>],
    reference: &'a [u8],
    reference_start: i32,
    position: i32,
    next_read: usize,
    /// Places of the reads that cover the position.
    cursors: Vec<Cursor>,
    /// Positions of each read that was asked for, as GATK keeps them for the region.
    informative: Vec<Option<InformativePositions>>,
    likelihoods: Vec<f64>,
}

impl RegionConfidence<'_> {
    /// Computes the confidence at a 1-based position. Positions must ascend. A position at which a
    /// variant starts must be left out, because GATK does not look at reads there either.
    ///
    /// # Errors
    /// A read starts or ends with a deletion.
    ///
    /// # Panics
    /// The position is not in the reference bases of the region, or not after the last one.
    pub fn compute_at(&mut self, position: i32, at: &mut ConfidenceAt) -> Result<(), DeletionAtEnd> {
        assert!(position > self.position, "positions must ascend");
        self.advance_to(position)?;
        let offset = (position - self.reference_start) as usize;
        at.allele_depths = self.add_bases(self.reference[offset]);
        let error = log10_genotype_error(self.model.math, 0, &self.likelihoods);
        let indels = self.model.indels.row(self.count_informative(offset));
        at.pls.clear();
        if indels.log10_error > error {
            at.pls.extend_from_slice(&indels.pls);
        } else {
            at.pls.extend(phred_likelihoods(&self.likelihoods));
        }
        at.quality = genotype_quality(&at.pls).unwrap_or_default();
        Ok(())
    }

    /// Moves the places of reads to a position.
    fn advance_to(&mut self, position: i32) -> Result<(), DeletionAtEnd> {
        let mut failure = None;
        let steps = if self.cursors.is_empty() { 0 } else { position - self.position };
        for _ in 0..steps {
            self.cursors.retain_mut(|cursor| match cursor.next(&self.reads[cursor.read]) {
                Ok(Some(next)) => {
                    *cursor = next;
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            });
        }
        if let Some(error) = failure {
            return Err(error);
        }
        while let Some(read) = self.reads.get(self.next_read).filter(|read| read.start <= position) {
            let mut cursor = Cursor::new(self.next_read, read)?;
            for _ in read.start..position {
                let Some(here) = cursor else { break };
                cursor = here.next(read)?;
            }
            self.cursors.extend(cursor);
            self.next_read += 1;
        }
        self.position = position;
        Ok(())
    }

    /// Returns the places of the reads at the position that are not adapter there.
    fn visible(&self) -> impl Iterator<Item = (Cursor, &ConfidenceRead<'_>)> {
        let with_read = |&cursor: &Cursor| (cursor, &self.reads[cursor.read]);
        self.cursors.iter().map(with_read).filter(|(cursor, read)| {
            let (first, last) = read.visible;
            (first..=last).contains(&self.position) && !cursor.is_skip(read)
        })
    }

    /// Computes the likelihoods of other bases, at most that of the reference, and returns the depths
    /// of the reference and of anything else.
    fn add_bases(&mut self, reference: u8) -> [i32; 2] {
        let mut likelihoods = std::mem::take(&mut self.likelihoods);
        likelihoods.fill(0.0);
        let mut depths = [0; 2];
        for (cursor, read) in self.visible() {
            let (differs, quality) = if cursor.is_deletion(read) {
                (true, DELETION_QUALITY)
            } else {
                let (base, quality) = cursor.base(read);
                if quality as i8 <= MAX_IGNORED_QUALITY {
                    continue;
                }
                (base != reference, quality)
            };
            depths[usize::from(differs)] += 1;
            self.model.substitutions.add(differs, quality, &mut likelihoods);
        }
        let bases = (depths[0] + depths[1]) as usize;
        self.model.substitutions.finish(bases, &mut likelihoods);
        let max = likelihoods[0];
        likelihoods.iter_mut().for_each(|value| *value = value.min(max));
        self.likelihoods = likelihoods;
        depths
    }

    /// Counts the reads that rule out an indel, at most 40. `offset` is that of the position among the
    /// bases of the reference.
    fn count_informative(&mut self, offset: usize) -> usize {
        let mut informative = std::mem::take(&mut self.informative);
        let mut count = 0;
        for (cursor, read) in self.visible() {
            if cursor.is_deletion(read) || cursor.is_before_indel(read) {
                continue;
            }
            let at = cursor.aligned_offset(read);
            let positions = informative[cursor.read].get_or_insert_with(|| {
                let reference = &self.reference[offset..];
                InformativePositions::find(read.cigar, read.bases, read.qualities, at, reference)
            });
            if positions.contains(at) {
                count += 1;
                // As in GATK, one read more is looked at than counts.
                if count > MAX_INFORMATIVE_READS {
                    break;
                }
            }
        }
        self.informative = informative;
        count.min(MAX_INFORMATIVE_READS)
    }
}
