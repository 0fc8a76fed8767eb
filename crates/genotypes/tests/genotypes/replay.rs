//! Replays the cases that `tests/oracles/java/Genotypes.java` prints.
//!
//! A line is the input and, after a tab, what GATK returned. The results here are written in the
//! same way, so that texts are compared.

use std::fmt::Write;

use readmill_genotypes::{
    Allele, AlleleLikelihoods, CallSettings, CalledVariant, Caller, GenotypeList, GenotypedRegion,
    HaplotypeEvents, LocusCall, Phase, ReadSpan, SampleGenotype, SampleReads, Site,
    estimate_frequencies, find_loci, genotype_likelihoods, genotype_locus, merge_events, phase_calls,
    remove_excess_alleles, trim_right,
};
use readmill_jmath::Log10Sums;
use readmill_pairwise::HaplotypeEvent;

/// What a replay found.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Number of cases.
    pub cases: usize,
    /// Cases whose results are not those of GATK.
    pub differences: Vec<Difference>,
}

/// A case whose result is not that of GATK.
#[derive(Debug)]
#[allow(dead_code)]
pub struct Difference {
    input: String,
    gatk: String,
    ours: String,
}

/// Replays the lines of a text. Lines with `#` are remarks.
pub fn replay_cases(sums: &Log10Sums, text: &str) -> Replayed {
    let mut replayed = Replayed::default();
    let mut engine = Engine::new(sums, &["2", "false", "1", "1000"]);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (input, gatk) = line.split_once('\t').unwrap_or((line, ""));
        let words: Vec<&str> = input.split(' ').collect();
        let ours = match words[0] {
            "engine" => {
                engine = Engine::new(sums, &words[1..]);
                continue;
            }
            "region" => engine.call_region(&words[1..]),
            "site" => engine.call_site(&words[1..]),
            "likelihoods" => compute_likelihoods(sums, &words[1..]),
            "merge" => merge(&words[1..]),
            "phase" => phase(&words[1..]),
            other => panic!("unknown kind of case: {other}"),
        };
        replayed.cases += 1;
        if ours != gatk {
            replayed.differences.push(Difference { input: input.into(), gatk: gatk.into(), ours });
        }
    }
    replayed
}

// Input

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

fn parse_hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("not hexadecimal: {text}"))
}

fn parse_alleles(text: &str) -> Vec<Allele> {
    let allele = |(i, text): (usize, &str)| match text {
        "*" => Allele::SpanningDeletion,
        "<NON_REF>" => Allele::NonReference,
        bases if i == 0 => Allele::Reference(bases.into()),
        bases => Allele::Alternate(bases.into()),
    };
    text.split(',').enumerate().map(allele).collect()
}

fn parse_events(text: &str) -> Vec<HaplotypeEvent> {
    let event = |text: &str| {
        let [start, reference, alternate] = text.split(':').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        HaplotypeEvent { start: number(start), reference: reference.into(), alternate: alternate.into() }
    };
    text.split(',').filter(|text| !text.is_empty()).map(event).collect()
}

/// Returns the mark before `=` and the events of each haplotype.
fn parse_haplotypes(text: &str) -> Vec<(&str, Vec<HaplotypeEvent>)> {
    let haplotypes = text.split(';').map(|text| text.split_once('=').expect("mark=events"));
    haplotypes.map(|(mark, events)| (mark, parse_events(events))).collect()
}

fn with_scores<'a>(haplotypes: &'a [(&str, Vec<HaplotypeEvent>)]) -> Vec<HaplotypeEvents<'a>> {
    let with_score = |(score, events): &'a (&str, Vec<HaplotypeEvent>)| HaplotypeEvents {
        events,
        score: f64::from_bits(parse_hex(score)),
    };
    haplotypes.iter().map(with_score).collect()
}

fn parse_spans(text: &str) -> Vec<ReadSpan> {
    let span = |text: &str| {
        let (start, end) = text.split_once('-').expect("start-end");
        (number(start), number(end))
    };
    text.split(',').filter(|text| *text != ".").map(span).collect()
}

fn parse_numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split(',').map(number).collect()
}

/// The random numbers of the Java program (SplitMix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }

    fn fraction(draw: u64) -> f64 {
        (draw >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws likelihoods of reads given haplotypes, like `drawLikelihoods`.
    fn likelihoods(&mut self, haplotypes: usize, reads: usize) -> Vec<f64> {
        let mut values = vec![0.0; haplotypes * reads];
        let truth = [self.below(haplotypes), self.below(haplotypes)];
        for read in 0..reads {
            let is_noise = self.below(16) == 0;
            let origin = if is_noise { self.below(haplotypes) } else { truth[self.below(2)] };
            let best = -Self::fraction(self.next());
            for haplotype in 0..haplotypes {
                let draw = self.next();
                let scale = if draw & 7 == 1 { 40.0 } else { 4.0 };
                let is_best = haplotype == origin || draw & 3 == 0;
                values[haplotype * reads + read] =
                    if is_best { best } else { best - Self::fraction(draw) * scale };
            }
        }
        values
    }
}

// Output

fn join<T>(values: impl IntoIterator<Item = T>, separator: &str, text: impl Fn(T) -> String) -> String {
    values.into_iter().map(text).collect::<Vec<_>>().join(separator)
}

fn hex(x: f64) -> String {
    let bits = if x.is_nan() { 0x7ff8 << 48 } else { x.to_bits() };
    format!("{bits:x}")
}

fn hash<'a>(values: impl IntoIterator<Item = &'a f64>) -> String {
    let mut hash = 0_u64;
    for value in values {
        let bits = if value.is_nan() { 0x7ff8 << 48 } else { value.to_bits() };
        hash = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    format!("{hash:x}")
}

fn describe_alleles(alleles: &[Allele]) -> String {
    join(alleles, ",", |allele| String::from_utf8_lossy(allele.text()).into_owned())
}

fn describe_genotype(genotype: &SampleGenotype) -> String {
    let separator = if genotype.phase.is_some() { "|" } else { "/" };
    let allele = |it: &Option<usize>| it.map_or(".".to_owned(), |index| index.to_string());
    let mut text = join(&genotype.alleles, separator, allele) + ":";
    text += &if genotype.pls.is_empty() { "-".into() } else { join(&genotype.pls, ",", i32::to_string) };
    text += ":";
    text += &genotype.quality.map_or("-".to_owned(), |quality| quality.to_string());
    if let Some(Phase { group, side, set }) = &genotype.phase {
        write!(text, ":{}:{group}:{set}", side.text()).expect("a string");
    }
    text
}

fn describe_call(call: &CalledVariant) -> String {
    format!(
        "{}-{} {} {} - {} {} {}",
        call.start,
        call.end,
        describe_alleles(&call.alleles),
        hex(call.log10_confidence),
        join(&call.mle_counts, ",", i32::to_string),
        join(&call.mle_frequencies, ",", |&it| hex(it)),
        join(&call.genotypes, " ", describe_genotype)
    )
}

// Kinds of cases

struct Engine<'a> {
    caller: Caller<'a>,
    sums: &'a Log10Sums,
    contig_lengths: Vec<u32>,
}

impl<'a> Engine<'a> {
    fn new(sums: &'a Log10Sums, words: &[&str]) -> Self {
        let settings = CallSettings {
            ploidy: number(words[0]),
            reference_confidence: number(words[1]),
            ..CallSettings::default()
        };
        Engine { caller: Caller::new(sums, settings), sums, contig_lengths: parse_numbers(words[3]) }
    }

    fn call_site(&mut self, words: &[&str]) -> String {
        let alleles = parse_alleles(words[2]);
        let pls: Vec<Vec<i32>> = words[3].split(';').map(parse_numbers).collect();
        let start: u32 = number(words[1]);
        let end = start + alleles[0].length() as u32 - 1;
        let site = Site { contig: number(words[0]), start, end, alleles: &alleles };
        let mut text = "-".to_owned();
        if alleles.len() <= 7 {
            let ploidy = self.caller.settings().ploidy;
            let list = GenotypeList::new(self.sums.math(), ploidy, alleles.len());
            let found = estimate_frequencies(self.sums, &list, &alleles, &pls);
            let counts = join(&found.mle_counts, ",", i32::to_string);
            let absent = join(&found.log10_absent, ",", |&it| hex(it));
            text = format!("{counts} {} {absent}", hex(found.log10_no_variant));
        }
        let Some(call) = self.caller.call(site, &pls) else { return text + ";none" };
        let mut trimmed = call.variant.clone();
        trim_right(&mut trimmed);
        text + ";" + &describe_call(&call.variant) + " " + &describe_call(&trimmed)
    }

    fn call_region(&mut self, words: &[&str]) -> String {
        let [contig, first, reference, start, end, seed, haplotypes, samples @ ..] = words else {
            panic!("{words:?}");
        };
        let contig: usize = number(contig);
        let first: usize = number(first);
        let parsed = parse_haplotypes(haplotypes);
        let haplotypes = with_scores(&parsed);
        let spans: Vec<Vec<ReadSpan>> = samples.iter().map(|text| parse_spans(text)).collect();
        let mut draws = Draws(parse_hex(seed));
        let mut draw = |spans: &[Vec<ReadSpan>]| {
            let (alleles, reads) = (haplotypes.len(), spans[0].len());
            AlleleLikelihoods::new(alleles, reads, draws.likelihoods(alleles, reads))
        };
        let matrices: Vec<AlleleLikelihoods> = spans.chunks(2).map(&mut draw).collect();
        let sample = |(spans, likelihoods): (&'_ [Vec<ReadSpan>], &'_ AlleleLikelihoods)| {
            (spans.to_vec(), likelihoods.clone())
        };
        let owned: Vec<(Vec<Vec<ReadSpan>>, AlleleLikelihoods)> =
            spans.chunks(2).zip(&matrices).map(sample).collect();
        let samples: Vec<SampleReads<'_>> = owned
            .iter()
            .map(|(spans, likelihoods)| SampleReads {
                likelihoods,
                spans: &spans[0],
                filtered: &spans[1],
            })
            .collect();
        let region = GenotypedRegion {
            contig,
            contig_length: self.contig_lengths[contig],
            haplotypes: &haplotypes,
            samples: &samples,
        };
        let mut calls: Vec<LocusCall> = Vec::new();
        for locus in find_loci(&haplotypes, number(start), number(end)) {
            let base = reference.as_bytes()[locus as usize - first];
            match genotype_locus(&mut self.caller, region, locus, base) {
                Ok(call) => calls.extend(call),
                Err(error) => return format!("error {error}"),
            }
        }
        describe_region(calls, &haplotypes, self.caller.settings())
    }
}

fn describe_region(
    mut calls: Vec<LocusCall>,
    haplotypes: &[HaplotypeEvents<'_>],
    settings: CallSettings,
) -> String {
    let mut is_called = vec![false; haplotypes.len()];
    calls.iter().flat_map(|call| &call.haplotypes).for_each(|&haplotype| is_called[haplotype] = true);
    calls.iter_mut().for_each(LocusCall::trim);
    let mut variants: Vec<CalledVariant> = calls.iter().map(|call| call.variant.clone()).collect();
    if settings.reference_confidence && settings.ploidy == 2 {
        phase_calls(&mut variants, haplotypes, &is_called);
    }
    join(calls.iter().zip(&variants), ";", |(call, variant)| {
        let samples = join(&call.samples, " ", |sample| {
            let reads = sample.reads.iter().map(|read| format!("r{read}"));
            let names: Vec<String> =
                reads.chain(sample.filtered.iter().map(|read| format!("f{read}"))).collect();
            let values = (0..call.alleles.len()).flat_map(|allele| sample.likelihoods.row(allele));
            format!("{}:{}", names.join(","), hash(values))
        });
        format!("{} {} {samples}", describe_call(variant), describe_alleles(&call.alleles))
    })
}

fn compute_likelihoods(sums: &Log10Sums, words: &[&str]) -> String {
    let [ploidy, alleles, reads] = [0, 1, 2].map(|i| number(words[i]));
    let mut draws = Draws(parse_hex(words[3]));
    let mut values = draws.likelihoods(alleles, reads);
    if draws.below(4) == 0 {
        let allele = draws.below(alleles);
        values[allele * reads..][..reads].fill(f64::NEG_INFINITY);
    }
    let list = GenotypeList::new(sums.math(), ploidy, alleles);
    let mut matrix = AlleleLikelihoods::new(alleles, reads, values);
    let likelihoods = genotype_likelihoods(sums, &list, &matrix);
    matrix.add_non_reference();
    format!("{} {}", hash(&likelihoods), hash(matrix.row(alleles)))
}

fn merge(words: &[&str]) -> String {
    let locus: u32 = number(words[0]);
    let base = words[1].as_bytes()[locus as usize - 1];
    let parsed = parse_haplotypes(words[3]);
    let haplotypes = with_scores(&parsed);
    let Some(mut merged) = merge_events(locus, base, &haplotypes).expect("one reference") else {
        return "none".to_owned();
    };
    let mut text = format!("{}-{} {} ", merged.start, merged.end, describe_alleles(&merged.alleles));
    text += &join(&merged.haplotypes, ";", |carriers| join(carriers, ",", usize::to_string));
    remove_excess_alleles(&mut merged, &haplotypes, number(words[2]));
    text + " " + &describe_alleles(&merged.alleles)
}

fn phase(words: &[&str]) -> String {
    let parsed = parse_haplotypes(words[0]);
    let is_called: Vec<bool> = parsed.iter().map(|(mark, _)| *mark == "1").collect();
    let haplotypes: Vec<HaplotypeEvents<'_>> =
        parsed.iter().map(|(_, events)| HaplotypeEvents { events, score: 0.0 }).collect();
    let call = |text: &str| {
        let [start, alleles, genotype] = text.split(':').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        let allele = |text: &str| (text != ".").then(|| number(text));
        let genotype =
            SampleGenotype { alleles: genotype.split('/').map(allele).collect(), ..Default::default() };
        CalledVariant {
            contig: 0,
            start: number(start),
            end: number(start),
            alleles: parse_alleles(alleles),
            log10_confidence: 0.0,
            mle_counts: Vec::new(),
            mle_frequencies: Vec::new(),
            genotypes: vec![genotype],
        }
    };
    let mut calls: Vec<CalledVariant> = words[1].split(';').map(call).collect();
    phase_calls(&mut calls, &haplotypes, &is_called);
    join(&calls, ";", |call| describe_genotype(&call.genotypes[0]))
}
