//! Computes how evenly transcripts are covered. As in Picard, only the best-covered transcript of
//! each gene is evaluated, and only the thousand best of these.

use super::counting::RnaTotals;
use super::genes::{AT_ONCE, Genes, Transcript};
use super::options::RnaOptions;

/// Number of transcripts that are evaluated. More are evaluated if they have the same mean depth as
/// the last one.
const MAX_TRANSCRIPTS: usize = 1001;

/// Minimum mean depth of a transcript that is evaluated.
const MIN_MEAN: f64 = 1.0;

/// Number of places in a transcript at which the histogram has a depth: every percent of its
/// length, from 0 to 100.
const PERCENTS: usize = 101;

/// The evenness of coverage: medians over all evaluated transcripts, and a profile along them.
#[derive(Clone, Debug, Default)]
pub(super) struct Evenness {
    pub median_cv: f64,
    pub median_5_prime: f64,
    pub median_3_prime: f64,
    pub median_5_to_3: f64,
    /// The depth at each percent of the length, relative to the mean depth. `None` if no transcript
    /// is evaluated.
    pub by_percent: Option<Vec<f64>>,
}

struct BestTranscript<'a> {
    contig: u32,
    is_reverse: bool,
    transcript: &'a Transcript,
    mean: f64,
}

impl Evenness {
    pub fn from_depths(genes: &Genes, totals: &RnaTotals, options: &RnaOptions) -> Self {
        let best = best_transcripts(genes, totals, options);
        if best.is_empty() {
            return Evenness::default();
        }
        let (count, bias) = (best.len() as f64, options.end_bias_bases() as usize);
        let mut shares = [const { Vec::new() }; 4];
        let mut by_percent = vec![0.0; PERCENTS];
        let each = best
            .chunks(AT_ONCE)
            .flat_map(|best| best.iter().zip(transcript_depths(genes, totals, best)));
        for (best, mut depths) in each {
            if best.is_reverse {
                depths.reverse();
            }
            let mean = mean_depth(&depths);
            let squares: f64 = depths.iter().map(|&depth| f64::from(depth) * f64::from(depth)).sum();
            let deviation = (squares / depths.len() as f64 - mean * mean).sqrt();
            let at_5 = self::mean_depth(&depths[..bias]);
            let at_3 = self::mean_depth(&depths[depths.len() - bias..]);
            let five_to_three = if at_3.abs() > 0.000_001 { at_5 / at_3 } else { 0.0 };
            let found = [deviation / mean, at_5 / mean, at_3 / mean, five_to_three];
            shares.iter_mut().zip(found).for_each(|(shares, share)| shares.push(share));
            let last = (depths.len() - 1) as f64;
            for (percent, sum) in by_percent.iter_mut().enumerate() {
                let share = percent as f64 / 100.0;
                let from = (last * (share - 0.005)).max(0.0) as usize;
                let to = (last * (share + 0.005)).min(last) as usize;
                *sum += self::mean_depth(&depths[from..=to]) / mean / count;
            }
        }
        let [median_cv, median_5_prime, median_3_prime, median_5_to_3] = shares.map(median);
        let by_percent = Some(by_percent);
        Evenness { median_cv, median_5_prime, median_3_prime, median_5_to_3, by_percent }
    }
}

fn mean_depth(depths: &[u32]) -> f64 {
    depths.iter().map(|&depth| u64::from(depth)).sum::<u64>() as f64 / depths.len() as f64
}

/// Returns the median, or 0 if there are no numbers.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        n => (numbers[(n - 1) / 2] + numbers[n / 2]) / 2.0,
    }
}

/// Returns the transcripts that are evaluated: for each gene, the transcript with the highest mean
/// depth among those that are long enough, and the best [`MAX_TRANSCRIPTS`] of all genes.
fn best_transcripts<'a>(
    genes: &'a Genes,
    totals: &RnaTotals,
    options: &RnaOptions,
) -> Vec<BestTranscript<'a>> {
    let sums = sums_before_exon_ends(genes, totals);
    let min_length = options.minimum_length.unwrap_or(500).max(options.end_bias_bases());
    let mut best = Vec::new();
    for gene in genes.genes() {
        let mut of_gene: Option<BestTranscript<'a>> = None;
        for (_, transcript) in genes.transcripts(gene) {
            let (contig, is_reverse) = (gene.contig, gene.is_reverse);
            if transcript.length < min_length {
                continue;
            }
            let exons = exon_ranges(genes, contig, transcript);
            let bases: u64 = exons.map(|(from, to)| sum_up_to(&sums, to) - sum_up_to(&sums, from)).sum();
            let mean = bases as f64 / f64::from(transcript.length);
            if mean >= MIN_MEAN && of_gene.as_ref().is_none_or(|best| mean > best.mean) {
                of_gene = Some(BestTranscript { contig, is_reverse, transcript, mean });
            }
        }
        best.extend(of_gene);
    }
    let mut means: Vec<f64> = best.iter().map(|best| best.mean).collect();
    means.sort_by(f64::total_cmp);
    let min_mean = means.get(means.len().saturating_sub(MAX_TRANSCRIPTS)).copied().unwrap_or_default();
    best.retain(|best| best.mean >= min_mean);
    best
}

/// Returns the exons of a transcript as ranges of numbered positions.
fn exon_ranges<'a>(
    genes: &'a Genes,
    contig: u32,
    transcript: &'a Transcript,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    genes.exons(transcript).iter().map(move |&(start, end)| {
        let from = genes.exon_union().base_number(contig, start);
        (from, from + end - start)
    })
}

/// Returns, for each start and end of an exon, the sum of the depths before it. With these sums,
/// the mean depth of a transcript needs no walk over its bases.
fn sums_before_exon_ends(genes: &Genes, totals: &RnaTotals) -> Vec<(u32, u64)> {
    let mut ends: Vec<(u32, u64)> = Vec::with_capacity(2 * genes.exon_and_gene_counts().0 as usize);
    for gene in genes.genes() {
        for (_, transcript) in genes.transcripts(gene) {
            let exons = exon_ranges(genes, gene.contig, transcript);
            ends.extend(exons.flat_map(|(from, to)| [(from, 0), (to, 0)]));
        }
    }
    ends.sort_unstable();
    ends.dedup();
    let (mut runs, mut at, mut sum, mut next) = (totals.runs.iter(), 0_u32, 0_u64, 0);
    while next < ends.len() {
        let (depth, length) = runs.next().unwrap_or((0, u32::MAX - at));
        let end = at.saturating_add(length);
        while let Some((position, before)) = ends.get_mut(next).filter(|it| it.0 <= end) {
            *before = sum + u64::from(depth) * u64::from(*position - at);
            next += 1;
        }
        sum += u64::from(depth) * u64::from(length);
        at = end;
    }
    ends
}

fn sum_up_to(sums: &[(u32, u64)], position: u32) -> u64 {
    let at = sums.partition_point(|it| it.0 < position);
    sums.get(at).map_or(0, |it| it.1)
}

/// Returns the depth of each base of these transcripts, in reference order.
fn transcript_depths(genes: &Genes, totals: &RnaTotals, best: &[BestTranscript<'_>]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> =
        best.iter().map(|best| vec![0; best.transcript.length as usize]).collect();
    // Exons as: first position, end, index of the transcript, and offset of the exon in the
    // transcript.
    let mut exons: Vec<(u32, u32, usize, u32)> = Vec::new();
    for (number, best) in best.iter().enumerate() {
        let mut into = 0;
        for (from, to) in exon_ranges(genes, best.contig, best.transcript) {
            exons.push((from, to, number, into));
            into += to - from;
        }
    }
    exons.sort_unstable();
    let (mut at, mut begun, mut open) = (0_u32, 0, Vec::new());
    for (depth, length) in totals.runs.iter() {
        let end = at + length;
        while let Some(exon) = exons.get(begun).filter(|exon| exon.0 < end) {
            open.push(*exon);
            begun += 1;
        }
        open.retain(|&(_, to, _, _)| to > at);
        for &(from, to, number, into) in &open {
            let (first, last) = (from.max(at), to.min(end));
            let depths = &mut all[number][(into + first - from) as usize..(into + last - from) as usize];
            depths.fill(depth);
        }
        at = end;
    }
    all
}
