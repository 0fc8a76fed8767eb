//! Likelihoods of reads given alleles, from those given haplotypes.

/// 1-based first and last position of the reference that a read covers. A read without such a
/// position ends before its start.
pub type ReadSpan = (u32, u32);

/// A read counts if it overlaps the variant, extended by this number of bases on each side, like
/// `informativeReadOverlapMargin`.
const MARGIN: u32 = 2;

/// Decimal logarithms of the probabilities of reads given alleles or haplotypes.
#[derive(Clone, Debug, PartialEq)]
pub struct AlleleLikelihoods {
    alleles: usize,
    reads: usize,
    values: Vec<f64>,
}

impl AlleleLikelihoods {
    /// Takes the values, for each allele those of all reads.
    ///
    /// # Panics
    /// The number of values is not the product of `alleles` and `reads`.
    pub fn new(alleles: usize, reads: usize, values: Vec<f64>) -> Self {
        assert_eq!(values.len(), alleles * reads, "likelihoods of {alleles} alleles and {reads} reads");
        AlleleLikelihoods { alleles, reads, values }
    }

    /// Returns the number of alleles.
    pub fn alleles(&self) -> usize {
        self.alleles
    }

    /// Returns the number of reads.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Returns the values of all reads given an allele.
    pub fn row(&self, allele: usize) -> &[f64] {
        &self.values[allele * self.reads..][..self.reads]
    }

    /// Returns the likelihoods of the chosen reads given alleles: for each allele, the maximum over
    /// its haplotypes, like `AlleleLikelihoods.marginalize`. An allele without haplotype gets -∞.
    ///
    /// ```
    /// use readmill_genotypes::AlleleLikelihoods;
    ///
    /// let by_haplotype = AlleleLikelihoods::new(3, 2, vec![-1.0, -2.0, -3.0, -0.5, -2.0, -9.0]);
    /// let by_allele = by_haplotype.marginalize(&[vec![0, 1], vec![2]], &[1]);
    /// assert_eq!(by_allele, AlleleLikelihoods::new(2, 1, vec![-0.5, -9.0]));
    /// ```
    pub fn marginalize(&self, haplotypes_by_allele: &[Vec<usize>], reads: &[usize]) -> Self {
        let mut values = vec![f64::NEG_INFINITY; haplotypes_by_allele.len() * reads.len()];
        for (allele, haplotypes) in haplotypes_by_allele.iter().enumerate() {
            let maxima = &mut values[allele * reads.len()..][..reads.len()];
            for &haplotype in haplotypes {
                let row = self.row(haplotype);
                for (max, &read) in maxima.iter_mut().zip(reads) {
                    if row[read] > *max {
                        *max = row[read];
                    }
                }
            }
        }
        AlleleLikelihoods { alleles: haplotypes_by_allele.len(), reads: reads.len(), values }
    }

    /// Adds the allele `<NON_REF>` at the end, like `addNonReferenceAllele`: for each read the
    /// median of the likelihoods below the best one, or if there is none, the best one.
    pub fn add_non_reference(&mut self) {
        let all = vec![true; self.alleles];
        self.alleles += 1;
        self.values.resize(self.alleles * self.reads, f64::NEG_INFINITY);
        self.update_non_reference(&all);
    }

    /// Computes the last allele, `<NON_REF>`, again, like `updateNonRefAlleleLikelihoods`, after
    /// some alleles were dropped from a call: only alleles that stay count for the median, but all
    /// for the best likelihood.
    ///
    /// # Panics
    /// There is no allele, or `kept_alleles` is shorter than the number of the others.
    pub fn update_non_reference(&mut self, kept_alleles: &[bool]) {
        let others = self.alleles - 1;
        let mut below = Vec::with_capacity(others);
        for read in 0..self.reads {
            let value = |allele: usize| self.values[allele * self.reads + read];
            let higher = |best, allele| if value(allele) > best { value(allele) } else { best };
            let best = (1..self.alleles).fold(value(0), higher);
            below.clear();
            below.extend(
                (0..others).filter(|&allele| kept_alleles[allele]).map(value).filter(|&it| it < best),
            );
            let median = find_median(&mut below);
            let value = match (median.is_nan(), others) {
                (false, _) => median,
                (true, 0 | 1) => f64::NAN,
                (true, _) => best,
            };
            self.values[others * self.reads + read] = value;
        }
    }

    /// Adds reads that were removed before likelihoods were computed. They have the likelihood 1
    /// given any allele, so they count for depth, and never for an allele.
    pub fn append_filtered_reads(&mut self, count: usize) {
        let reads = self.reads + count;
        let mut values = Vec::with_capacity(self.alleles * reads);
        for allele in 0..self.alleles {
            values.extend_from_slice(self.row(allele));
            values.resize((allele + 1) * reads, 0.0);
        }
        (self.reads, self.values) = (reads, values);
    }
}

/// Returns the median as `Median` of commons-math computes it, NaN of no value. Two equal middle
/// values that are infinite give NaN.
fn find_median(values: &mut [f64]) -> f64 {
    if let [] | [_] = values {
        return values.first().copied().unwrap_or(f64::NAN);
    }
    values.sort_unstable_by(f64::total_cmp);
    let position = 0.5 * (values.len() + 1) as f64;
    let floor = position.floor();
    let (lower, upper) = (values[floor as usize - 1], values[floor as usize]);
    lower + (position - floor) * (upper - lower)
}

/// Returns the indices of the reads that overlap a variant or up to 2 bases beside it. These reads
/// are genotyped. `start` and `end` are the 1-based first and last position of the variant.
pub fn find_reads_at(start: u32, end: u32, contig_length: u32, reads: &[ReadSpan]) -> Vec<usize> {
    let first = start.saturating_sub(MARGIN).max(1);
    let last = end.saturating_add(MARGIN).min(contig_length);
    let overlaps = |&(_, (start, end)): &(usize, &ReadSpan)| first <= *end && *start <= last;
    reads.iter().enumerate().filter(overlaps).map(|(index, _)| index).collect()
}
