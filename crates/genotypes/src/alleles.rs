//! Alleles at a locus, the events of haplotypes that lead to them, and the variant that is called.

/// One allele at a locus.
///
/// The order is that of htsjdk's `Allele`: the reference first, then by bases, where `*` is less
/// than any base.
///
/// ```
/// use readmill_genotypes::Allele;
///
/// let deletion = Allele::Alternate(b"A".to_vec());
/// assert!(Allele::Reference(b"ACC".to_vec()) < deletion);
/// assert!(Allele::SpanningDeletion < deletion);
/// assert_eq!(Allele::NonReference.text(), b"<NON_REF>");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allele {
    /// The bases of the reference.
    Reference(Vec<u8>),
    /// `<NON_REF>`: any allele that is not among the others.
    NonReference,
    /// `*`: the locus lies in a deletion that starts before it.
    SpanningDeletion,
    /// Bases that replace those of the reference.
    Alternate(Vec<u8>),
}

impl Allele {
    /// Returns whether this is the allele of the reference.
    pub fn is_reference(&self) -> bool {
        matches!(self, Allele::Reference(_))
    }

    /// Returns whether this is an alternate allele that starts at the locus: neither the reference
    /// nor `<NON_REF>` nor `*`.
    pub fn is_site_specific(&self) -> bool {
        matches!(self, Allele::Alternate(_))
    }

    /// Returns the bases, which `<NON_REF>` and `*` do not have.
    pub fn bases(&self) -> Option<&[u8]> {
        match self {
            Allele::Reference(bases) | Allele::Alternate(bases) => Some(bases),
            Allele::NonReference | Allele::SpanningDeletion => None,
        }
    }

    /// Returns the text of the VCF columns REF and ALT.
    pub fn text(&self) -> &[u8] {
        match self {
            Allele::Reference(bases) | Allele::Alternate(bases) => bases,
            Allele::NonReference => b"<NON_REF>",
            Allele::SpanningDeletion => b"*",
        }
    }

    /// Returns the length that GATK's calculations use: the number of bases, 1 for `*`, and 0 for
    /// `<NON_REF>`, like `Allele.length` of htsjdk.
    pub fn length(&self) -> usize {
        match self {
            Allele::Reference(bases) | Allele::Alternate(bases) => bases.len(),
            Allele::NonReference => 0,
            Allele::SpanningDeletion => 1,
        }
    }
}

/// A variant that is called at a locus, before annotation.
///
/// Its FILTER is always empty: GATK drops a variant below the threshold that would get `LowQual`.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledVariant {
    /// Index of the contig in the header.
    pub contig: usize,
    /// 1-based position of the first base of the reference allele.
    pub start: u32,
    /// 1-based position of the last base of the reference allele.
    pub end: u32,
    /// The reference, then the alternate alleles.
    pub alleles: Vec<Allele>,
    /// Decimal logarithm of the probability that the call is wrong. QUAL is -10 times this.
    pub log10_confidence: f64,
    /// Count of each alternate allele at the maximum likelihood (`MLEAC`).
    pub mle_counts: Vec<i32>,
    /// Frequency of each alternate allele (`MLEAF`); NaN if no allele is called and the count is 0.
    pub mle_frequencies: Vec<f64>,
    /// Genotypes, in the order of samples.
    pub genotypes: Vec<SampleGenotype>,
}

/// The genotype of one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleGenotype {
    /// Indices of alleles, one per chromosome. `None` is a chromosome that is not called.
    pub alleles: Vec<Option<usize>>,
    /// Phred-scaled likelihoods in the order of the VCF specification (`PL`).
    pub pls: Vec<i32>,
    /// Phred-scaled quality of the genotype, not capped (`GQ`).
    pub quality: Option<i32>,
    /// Informative reads by allele (`AD`), which annotation fills in.
    pub allele_depths: Option<Vec<i32>>,
    /// Informative reads (`DP`), which annotation fills in.
    pub depth: Option<i32>,
    /// Phase relative to near calls.
    pub phase: Option<Phase>,
}

/// The phase of a call relative to the other calls of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name of the group: position, reference and alternate allele of its first call (`PID`).
    pub group: String,
    /// Side of the alternate allele (`PGT`).
    pub side: PhaseSide,
    /// 1-based position of the first call of the group (`PS`).
    pub set: u32,
}

/// The side of the alternate allele in a phased genotype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseSide {
    /// `1|0`.
    Left,
    /// `0|1`.
    Right,
}

impl PhaseSide {
    /// Returns the text of the VCF field `PGT`.
    pub fn text(self) -> &'static str {
        match self {
            PhaseSide::Left => "1|0",
            PhaseSide::Right => "0|1",
        }
    }
}
