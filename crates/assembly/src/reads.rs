//! The sequences that are assembled: the reference, and the parts of reads whose bases are good enough.

/// A read of a region, without its soft-clipped bases.
#[derive(Clone, Copy, Debug)]
pub struct AssemblyRead<'a> {
    /// Upper-case bases. An N splits the read.
    pub bases: &'a [u8],
    /// Phred qualities, one for each base. Bases below 10 split the read.
    pub qualities: &'a [u8],
    /// A number of the read's sample. Paths are pruned by the multiplicities in one sample.
    pub sample: u32,
}

/// Minimum quality of bases in the graph: HaplotypeCaller's `--min-base-quality-score`.
const MIN_BASE_QUALITY: u8 = 10;

/// A part of a read whose bases are all usable, as positions in [`AssemblySequences::text`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Where the whole read starts.
    pub(crate) read_start: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) sample: u32,
}

/// The reference and the reads of a region.
#[derive(Debug)]
pub(crate) struct AssemblySequences {
    /// The reference, and then the bases of each read.
    pub(crate) text: Vec<u8>,
    pub(crate) reference_length: usize,
    /// Usable parts of reads, in the order of the reads.
    pub(crate) runs: Vec<Run>,
}

impl AssemblySequences {
    pub(crate) fn new(reference: &[u8], reads: &[AssemblyRead<'_>]) -> Self {
        let mut text = Vec::with_capacity(
            reference.len() + reads.iter().map(|read| read.bases.len()).sum::<usize>(),
        );
        text.extend_from_slice(reference);
        let mut runs = Vec::new();
        for read in reads {
            let read_start = text.len();
            text.extend_from_slice(read.bases);
            let mut start = None;
            for (index, (&base, &quality)) in read.bases.iter().zip(read.qualities).enumerate() {
                if base != b'N' && quality >= MIN_BASE_QUALITY {
                    start.get_or_insert(read_start + index);
                } else if let Some(start) = start.take() {
                    runs.push(Run { read_start, start, end: read_start + index, sample: read.sample });
                }
            }
            if let Some(start) = start {
                runs.push(Run { read_start, start, end: text.len(), sample: read.sample });
            }
        }
        AssemblySequences { text, reference_length: reference.len(), runs }
    }

    /// Returns the runs of at least `k` bases, by sample; samples are in the order of their first run.
    pub(crate) fn runs_by_sample(&self, k: usize) -> Vec<Vec<Run>> {
        let mut samples: Vec<Vec<Run>> = Vec::new();
        for &run in self.runs.iter().filter(|run| run.end - run.start >= k) {
            match samples.iter_mut().find(|runs| runs[0].sample == run.sample) {
                Some(runs) => runs.push(run),
                None => samples.push(vec![run]),
            }
        }
        samples
    }
}
