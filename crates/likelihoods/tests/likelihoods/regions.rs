//! Reads the regions that `tests/oracles/java/PairHmm.java` prints.

use readmill_likelihoods::HmmRead;

/// Haplotypes, reads, and the likelihoods of GKL.
#[derive(Default)]
pub struct Region {
    pub name: String,
    pub haplotypes: Vec<Vec<u8>>,
    /// Bases, and base, insertion, deletion and gap continuation qualities.
    pub reads: Vec<[Vec<u8>; 5]>,
    /// The bits of the likelihoods of each read in turn.
    pub likelihoods: Vec<u64>,
}

impl Region {
    pub fn reads(&self) -> Vec<HmmRead<'_>> {
        let mut reads = Vec::new();
        for [bases, base_qualities, insertion_qualities, deletion_qualities, gap_continuations] in &self.reads
        {
            reads.push(HmmRead {
                bases,
                base_qualities,
                insertion_qualities,
                deletion_qualities,
                gap_continuations,
            });
        }
        reads
    }

    pub fn haplotypes(&self) -> Vec<&[u8]> {
        self.haplotypes.iter().map(Vec::as_slice).collect()
    }

    /// Returns the likelihood of GKL that is at an index of `PairHmm::compute`.
    pub fn expected(&self, index: usize) -> f64 {
        let (haplotype, read) = (index / self.reads.len(), index % self.reads.len());
        f64::from_bits(self.likelihoods[read * self.haplotypes.len() + haplotype])
    }
}

fn parse_hex(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Calls `visit` with each region of the text.
pub fn for_each_region(lines: impl Iterator<Item = String>, mut visit: impl FnMut(&Region)) {
    let mut region = Region::default();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        match words.next().unwrap() {
            "region" => region = Region { name: line, ..Region::default() },
            "h" => region.haplotypes.push(words.next().unwrap().into()),
            "r" => {
                let bases = words.next().unwrap().as_bytes().to_vec();
                let mut qualities = || parse_hex(words.next().unwrap());
                region.reads.push([bases, qualities(), qualities(), qualities(), qualities()]);
            }
            "l" => {
                region.likelihoods = words.map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
                assert_eq!(region.likelihoods.len(), region.reads.len() * region.haplotypes.len());
                visit(&region);
            }
            _ => panic!("{line}"),
        }
    }
}
