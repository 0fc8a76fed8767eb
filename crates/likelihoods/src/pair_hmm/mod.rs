//! The pair HMM: likelihoods of reads given haplotypes, with the bits of GKL's kernels.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod engine;
#[cfg(target_arch = "x86_64")]
mod flush;
#[cfg(all(test, target_arch = "x86_64"))]
mod flush_test;
mod kernel;
mod lanes;
mod portable;
mod soft_fma;
#[cfg(target_arch = "x86_64")]
mod vectors;

use std::error::Error;
use std::fmt;

use crate::HmmRead;
use engine::{Engine, Input, Pair, VectorEngine};
use lanes::Real;

/// Likelihoods below this, multiplied by 2^120, are computed again as `f64`.
const MIN_F32: f32 = 1e-28;

/// The kernels of GKL, which chooses one by the processor. About 4 % of the likelihoods differ in
/// their last bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// Rounds a product and its sum together, as GKL does on processors with AVX-512.
    #[default]
    Avx512,
    /// Rounds each operation, as GKL does on other processors.
    Avx,
}

/// With which numbers likelihoods are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// As `f32`, and those that are too small again as `f64`: GATK's default.
    #[default]
    Mixed,
    /// As `f64`, like `--native-pair-hmm-use-double-precision` of GATK.
    Double,
}

/// Instructions by which this program computes. They do not change results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512 F, BW and VL.
    Avx512,
    /// AVX2 and FMA.
    Avx2,
    /// AVX.
    Avx,
    /// Those of every processor.
    Portable,
}

impl Instructions {
    /// Returns what the processor has, the fastest first.
    pub fn list_available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        for (instructions, is_available) in [
            (Instructions::Avx512, avx512::is_available()),
            (Instructions::Avx2, avx2::is_available()),
            (Instructions::Avx, portable::is_avx_available()),
        ] {
            if is_available {
                available.push(instructions);
            }
        }
        available.push(Instructions::Portable);
        available
    }
}

/// A read or a haplotype has no bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptySequence {
    /// The read with this index.
    Read(usize),
    /// The haplotype with this index.
    Haplotype(usize),
}

impl fmt::Display for EmptySequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmptySequence::Read(index) => write!(f, "read {index} of the region has no bases"),
            EmptySequence::Haplotype(index) => write!(f, "haplotype {index} of the region has no bases"),
        }
    }
}

impl Error for EmptySequence {}

/// Computes likelihoods of reads given haplotypes, and keeps memory from call to call.
///
/// ```
/// use readmill_likelihoods::{Flavour, HmmRead, PairHmm, Precision};
///
/// let read = HmmRead {
///     bases: b"ACGT",
///     base_qualities: &[30; 4],
///     insertion_qualities: &[45; 4],
///     deletion_qualities: &[45; 4],
///     gap_continuations: &[10; 4],
/// };
/// let mut hmm = PairHmm::new(Flavour::Avx512, Precision::Mixed);
/// let mut likelihoods = [0.0; 2];
/// hmm.compute(&[read], &[b"TTACGTTT", b"TTACCTTT"], &mut likelihoods)?;
/// let [same, one_mismatch] = likelihoods;
/// assert!(same > one_mismatch + 2.0);
/// # Ok::<(), readmill_likelihoods::EmptySequence>(())
/// ```
pub struct PairHmm {
    single: Box<dyn Engine<f32> + Send>,
    double: Box<dyn Engine<f64> + Send>,
    precision: Precision,
    order: Vec<usize>,
    small: Vec<Pair>,
}

impl PairHmm {
    /// Returns a pair HMM that uses the fastest instructions of the processor.
    pub fn new(flavour: Flavour, precision: Precision) -> Self {
        let fastest = Instructions::list_available()[0];
        Self::with_instructions(flavour, precision, fastest)
    }

    /// Returns a pair HMM that uses these instructions, for tests of equal results.
    ///
    /// # Panics
    /// The processor does not have them.
    pub fn with_instructions(
        flavour: Flavour,
        precision: Precision,
        instructions: Instructions,
    ) -> Self {
        assert!(
            Instructions::list_available().contains(&instructions),
            "the processor has no {instructions:?}"
        );
        let is_fused = flavour == Flavour::Avx512;
        let (single, double) = choose_engines(instructions, is_fused);
        PairHmm { single, double, precision, order: Vec::new(), small: Vec::new() }
    }

    /// Writes the decimal logarithm of the likelihood of each read given each haplotype. That of read r
    /// given haplotype h is at `h * reads.len() + r`.
    ///
    /// The result is -infinity if the probability underflows even as `f64`.
    ///
    /// # Errors
    /// A read or a haplotype has no bases.
    ///
    /// # Panics
    /// `likelihoods` does not have as many elements as there are pairs, or the slices of a read have
    /// different lengths.
    pub fn compute(
        &mut self,
        reads: &[HmmRead<'_>],
        haplotypes: &[&[u8]],
        likelihoods: &mut [f64],
    ) -> Result<(), EmptySequence> {
        assert_eq!(likelihoods.len(), reads.len() * haplotypes.len(), "one element for each pair");
        if let Some(read) = reads.iter().position(|read| read.bases.is_empty()) {
            return Err(EmptySequence::Read(read));
        }
        if let Some(haplotype) = haplotypes.iter().position(|bases| bases.is_empty()) {
            return Err(EmptySequence::Haplotype(haplotype));
        }
        let input = Input { reads, haplotypes };
        let order = &mut self.order;
        order.clear();
        order.extend(0..reads.len());
        order.sort_by_key(|&read| reads[read].bases.len());
        let index = |pair: Pair| pair.haplotype * reads.len() + pair.read;
        let mut store = |pair, likelihood: f64| likelihoods[index(pair)] = likelihood.log10_likelihood();
        if self.precision == Precision::Double {
            self.double.compute_all(input, order, &mut store);
            return Ok(());
        }
        let small = &mut self.small;
        small.clear();
        self.single.compute_all(input, order, &mut |pair, likelihood: f32| {
            if likelihood < MIN_F32 {
                small.push(pair);
            } else {
                likelihoods[index(pair)] = likelihood.log10_likelihood();
            }
        });
        let mut store = |pair, likelihood: f64| likelihoods[index(pair)] = likelihood.log10_likelihood();
        self.double.compute_pairs(input, small, &mut store);
        Ok(())
    }
}

type Engines = (Box<dyn Engine<f32> + Send>, Box<dyn Engine<f64> + Send>);

fn choose_engines(instructions: Instructions, is_fused: bool) -> Engines {
    use portable::{F32s, F64s};
    macro_rules! engines {
        ($single:ty, $double:ty, $run:path) => {
            (
                Box::new(VectorEngine::<$single>::new($run, is_fused)),
                Box::new(VectorEngine::<$double>::new($run, is_fused)),
            )
        };
    }
    match instructions {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => engines!(avx512::F32x16, avx512::F64x8, avx512::run),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => engines!(avx2::F32x8, avx2::F64x4, avx2::run),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx => engines!(F32s, F64s, portable::run_avx),
        _ => engines!(F32s, F64s, portable::run),
    }
}
