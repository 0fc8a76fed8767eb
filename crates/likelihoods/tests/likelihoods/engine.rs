//! Reads the regions that `tests/oracles/java/ReadLikelihoods.java` prints, and compares what GATK does
//! with their reads: prepared qualities, likelihoods, removed reads and best haplotypes.

use readmill_jmath::{CpuMaker, JavaMath};
use readmill_likelihoods::{
    DEFAULT_EXPECTED_ERROR_RATE, DEFAULT_MISMAPPING_RATE, Flavour, HmmRead, HmmReads, LikelihoodMatrix,
    PairHmm, PcrIndelModel, Precision, QualityModel, SequencedRead, alignment_priority,
};

use super::regions::parse_hex;

/// The haplotypes of a region, and our results for its reads.
struct Region {
    model: QualityModel,
    haplotypes: Vec<Vec<u8>>,
    /// Priorities for alignment, and GATK's default.
    priorities: [Vec<f64>; 2],
    reads: HmmReads,
    matrix: LikelihoodMatrix,
}

/// How many lines of results were compared, and the first that differs.
#[derive(Default)]
pub struct Comparison {
    pub lines: usize,
    pub pairs: usize,
    pub differences: usize,
    pub first_difference: Option<String>,
}

fn parse_optional(word: &str) -> Option<Vec<u8>> {
    (word != "-").then(|| parse_hex(word))
}

fn format_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Region {
    fn new(model: &str) -> Self {
        let model = match model {
            "NONE" => PcrIndelModel::None,
            "HOSTILE" => PcrIndelModel::Hostile,
            "AGGRESSIVE" => PcrIndelModel::Aggressive,
            "CONSERVATIVE" => PcrIndelModel::Conservative,
            _ => panic!("{model}"),
        };
        Region {
            model: QualityModel::new(JavaMath::of_maker(CpuMaker::Intel).unwrap(), model),
            haplotypes: Vec::new(),
            priorities: [Vec::new(), Vec::new()],
            reads: HmmReads::default(),
            matrix: LikelihoodMatrix::default(),
        }
    }

    fn add_haplotype(&mut self, words: &[&str]) {
        let is_reference = words[1] == "true";
        self.haplotypes.push(words[0].into());
        self.priorities[0].push(alignment_priority(is_reference, words[2].parse().unwrap()));
        self.priorities[1].push(f64::from(u8::from(is_reference)));
    }

    fn add_read(&mut self, words: &[&str]) {
        let [insertions, deletions] = [words[2], words[3]].map(parse_optional);
        let read = SequencedRead {
            bases: words[0].as_bytes(),
            base_qualities: &parse_hex(words[1]),
            insertion_qualities: insertions.as_deref(),
            deletion_qualities: deletions.as_deref(),
            mapping_quality: words[4].parse().unwrap(),
        };
        self.model.prepare_read(read, &mut self.reads).unwrap();
    }

    /// Returns the qualities of the last read.
    fn format_qualities(&self) -> String {
        let read = self.reads.get(self.reads.len() - 1);
        assert!(read.gap_continuations.iter().all(|&quality| quality == 10));
        [read.base_qualities, read.insertion_qualities, read.deletion_qualities]
            .map(format_hex)
            .join(" ")
    }

    /// Computes the matrix, and returns the indices of the reads that are kept.
    fn compute(&mut self, hmm: &mut PairHmm) -> String {
        let reads: Vec<HmmRead<'_>> = self.reads.iter().collect();
        let haplotypes: Vec<&[u8]> = self.haplotypes.iter().map(Vec::as_slice).collect();
        self.matrix.compute(hmm, &reads, &haplotypes).unwrap();
        self.matrix.cap_differences(DEFAULT_MISMAPPING_RATE);
        let length = |read: usize| reads[read].bases.len();
        let removed = self.matrix.remove_poor_reads(length, DEFAULT_EXPECTED_ERROR_RATE);
        let kept = (0..reads.len()).filter(|read| !removed.contains(read));
        kept.map(|read| read.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn format_matrix(&self) -> String {
        let row = |haplotype: usize| self.matrix.row(haplotype);
        let bits = (0..self.matrix.reads())
            .flat_map(|read| (0..self.haplotypes.len()).map(move |it| row(it)[read].to_bits()));
        bits.map(|bits| format!("{bits:x}")).collect::<Vec<_>>().join(" ")
    }

    fn format_best(&self, priorities: &[f64]) -> String {
        let format = |read| {
            let best = self.matrix.find_best_haplotype(read, Some(priorities)).unwrap();
            let sign = if best.is_informative() { '+' } else { '-' };
            format!("{}{sign}{:x}", best.haplotype, best.confidence().to_bits())
        };
        (0..self.matrix.reads()).map(format).collect::<Vec<_>>().join(" ")
    }
}

/// Compares all lines with results.
pub fn compare_engine(text: &str) -> Comparison {
    let mut hmm = PairHmm::new(Flavour::Avx512, Precision::Mixed);
    let mut comparison = Comparison::default();
    let mut region = Region::new("NONE");
    let mut name = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split(' ').collect();
        let ours = match kind {
            "region" => {
                name = line;
                region = Region::new(words[1]);
                continue;
            }
            "h" => {
                region.add_haplotype(&words);
                continue;
            }
            "r" => {
                region.add_read(&words);
                continue;
            }
            "q" => region.format_qualities(),
            "k" => {
                comparison.pairs += region.reads.len() * region.haplotypes.len();
                region.compute(&mut hmm)
            }
            "l" => region.format_matrix(),
            "a" => region.format_best(&region.priorities[0]),
            "p" => region.format_best(&region.priorities[1]),
            _ => panic!("{line}"),
        };
        comparison.lines += 1;
        if ours != rest {
            comparison.differences += 1;
            let difference = || format!("{name}: {kind}: {ours}\nGATK: {rest}");
            comparison.first_difference.get_or_insert_with(difference);
        }
    }
    comparison
}
