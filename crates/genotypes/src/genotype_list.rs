//! Genotypes of a ploidy, in the order in which VCF files list their likelihoods.

use readmill_jmath::JavaMath;

/// Maximum number of chromosomes of a genotype.
pub const MAX_PLOIDY: usize = 8;

/// Natural logarithms of the factorials of 0 to 8, from `CombinatoricsUtils.factorialLog` of
/// commons-math 3.5.
const LOG_FACTORIALS: [f64; MAX_PLOIDY + 1] = [
    0.0,
    0.0,
    f64::from_bits(0x3fe6_2e42_fefa_39ef),
    f64::from_bits(0x3ffc_ab0b_fa2a_2002),
    f64::from_bits(0x4009_6ca7_7c92_2cf9),
    f64::from_bits(0x4013_2664_3c44_79c9),
    f64::from_bits(0x401a_5127_3acf_01ca),
    f64::from_bits(0x4021_0ce1_f32d_cc30),
    f64::from_bits(0x4025_358e_82fc_b70d),
];

/// Copies of one allele in a genotype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlleleCopies {
    /// Index of the allele.
    pub allele: usize,
    /// Number of chromosomes that carry it, at least 1.
    pub count: usize,
}

/// The genotypes of a number of alleles on a number of chromosomes.
///
/// With more alleles, the list is longer, but starts alike. So one list serves all loci.
///
/// ```
/// use readmill_genotypes::GenotypeList;
/// use readmill_jmath::JavaMath;
///
/// let list = GenotypeList::new(JavaMath::of_this_processor(), 2, 3);
/// let chromosomes: Vec<Vec<usize>> = (0..6).map(|genotype| list.chromosomes(genotype).collect()).collect();
/// assert_eq!(chromosomes, [[0, 0], [0, 1], [1, 1], [0, 2], [1, 2], [2, 2]]);
/// assert_eq!(list.index_of(&[1, 2]), 4);
/// ```
#[derive(Clone, Debug)]
pub struct GenotypeList {
    math: JavaMath,
    ploidy: usize,
    alleles: usize,
    components: Vec<AlleleCopies>,
    /// Start of each genotype in `components`, and the end of the last one.
    starts: Vec<usize>,
    log10_combinations: Vec<f64>,
}

impl GenotypeList {
    /// Lists the genotypes of `alleles` alleles on `ploidy` chromosomes.
    ///
    /// # Panics
    /// The ploidy is 0 or more than [`MAX_PLOIDY`].
    pub fn new(math: JavaMath, ploidy: usize, alleles: usize) -> Self {
        assert!((1..=MAX_PLOIDY).contains(&ploidy), "ploidy {ploidy} is not from 1 to {MAX_PLOIDY}");
        let mut list = GenotypeList {
            math,
            ploidy,
            alleles: 0,
            components: Vec::new(),
            starts: vec![0],
            log10_combinations: Vec::new(),
        };
        list.extend_to(alleles);
        list
    }

    /// Adds the genotypes of more alleles if the list has fewer than `alleles`.
    pub fn extend_to(&mut self, alleles: usize) {
        while self.alleles < alleles {
            // Genotypes whose last allele is new: the others ascend in their own VCF order.
            let mut chromosomes = vec![0; self.ploidy];
            chromosomes[self.ploidy - 1] = self.alleles;
            loop {
                self.push(&chromosomes);
                let last = self.ploidy - 1;
                let Some(at) = (0..last).find(|&at| chromosomes[at] < chromosomes[at + 1]) else {
                    break;
                };
                chromosomes[at] += 1;
                chromosomes[..at].fill(0);
            }
            self.alleles += 1;
        }
    }

    fn push(&mut self, chromosomes: &[usize]) {
        let mut log = LOG_FACTORIALS[self.ploidy];
        let mut sum = 0.0;
        for same in chromosomes.chunk_by(|a, b| a == b) {
            self.components.push(AlleleCopies { allele: same[0], count: same.len() });
            sum += LOG_FACTORIALS[same.len()];
        }
        log -= sum;
        self.log10_combinations.push(log * self.math.log10(std::f64::consts::E));
        self.starts.push(self.components.len());
    }

    /// Returns the number of chromosomes.
    pub fn ploidy(&self) -> usize {
        self.ploidy
    }

    /// Returns the alleles of a genotype with their numbers of copies, ascending.
    pub fn components(&self, genotype: usize) -> &[AlleleCopies] {
        &self.components[self.starts[genotype]..self.starts[genotype + 1]]
    }

    /// Returns the allele of each chromosome, ascending.
    pub fn chromosomes(&self, genotype: usize) -> impl Iterator<Item = usize> {
        self.components(genotype).iter().flat_map(|it| std::iter::repeat_n(it.allele, it.count))
    }

    /// Returns the decimal logarithm of the number of orders in which chromosomes can carry the
    /// alleles of a genotype, like `log10CombinationCount`.
    pub fn log10_combinations(&self, genotype: usize) -> f64 {
        self.log10_combinations[genotype]
    }

    /// Returns the number of genotypes of `alleles` alleles.
    pub fn count(&self, alleles: usize) -> usize {
        count_genotypes(self.ploidy, alleles)
    }

    /// Returns the index of the genotype whose chromosomes carry the given alleles, ascending.
    pub fn index_of(&self, chromosomes: &[usize]) -> usize {
        chromosomes.iter().enumerate().map(|(i, &allele)| count_genotypes(i + 1, allele)).sum()
    }
}

/// Returns the number of genotypes of `alleles` alleles on `ploidy` chromosomes.
pub(crate) fn count_genotypes(ploidy: usize, alleles: usize) -> usize {
    if alleles == 0 {
        return 0;
    }
    (1..=ploidy).fold(1, |count, i| count * (alleles - 1 + i) / i)
}
