//! Edge cases, with the results of GATK 4.6.2.0.

use readmill_genotypes::annotations::{
    CallMode, SampleEvidence, annotate_call, draw_unless_plausible, fisher_strand, rank_sum_test,
    strand_odds_ratio,
};
use readmill_genotypes::blocks::{DEFAULT_BANDS, GvcfBlocks, OverlappingSite, ReferenceSite};
use readmill_genotypes::confidence::{ConfidenceAt, ConfidenceRead, ReferenceConfidence};
use readmill_genotypes::vcf::{InfoValue, SampleFields, VcfRecord};
use readmill_genotypes::{Allele, AlleleLikelihoods, CalledVariant, SampleGenotype};
use readmill_jmath::text::format_fixed;
use readmill_jmath::{CpuMaker, JavaMath, JavaRandom, Log10Sums};
use readmill_pairwise::Cigar;

const GATK_SEED: i64 = 47_382_911;
const REFERENCE: &[u8] = b"ACGTTGCAGGTCCATAAGCTTGACCTAGTTCAGGATCCGATTAC";

fn sums() -> Log10Sums {
    Log10Sums::new(JavaMath::of_maker(CpuMaker::Intel).unwrap())
}

fn line_of(record: &VcfRecord) -> String {
    let mut line = Vec::new();
    record.append_line(b"chr1", &mut line);
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

/// Returns depth, GQ and PL at positions of a region whose reference starts at 101.
fn confidence(reads: &[(i32, &str, Vec<u8>)], positions: std::ops::RangeInclusive<i32>) -> Vec<String> {
    let model = ReferenceConfidence::new(&sums(), 2);
    let cigars: Vec<Cigar> = reads.iter().map(|(_, cigar, _)| cigar.parse().unwrap()).collect();
    let qualities = [30; 100];
    let reads: Vec<ConfidenceRead<'_>> = (reads.iter().zip(&cigars))
        .map(|((start, _, bases), cigar)| ConfidenceRead {
            start: *start,
            cigar,
            bases,
            qualities: &qualities[..bases.len()],
            visible: (i32::MIN, i32::MAX),
        })
        .collect();
    let mut region = model.region(&reads, REFERENCE, 101);
    let mut at = ConfidenceAt::default();
    let text = |position| {
        region.compute_at(position, &mut at).unwrap();
        let ([reference, variant], pls) = (at.allele_depths, &at.pls);
        format!("{reference},{variant} {} {},{},{}", at.quality, pls[0], pls[1], pls[2])
    };
    positions.map(text).collect()
}

#[test]
fn no_read_gives_no_confidence() {
    assert_eq!(confidence(&[], 105..=106), ["0,0 0 0,0,0"; 2]);
}

#[test]
fn indels_are_plausible_at_the_last_bases() {
    let read = (110, "35M", REFERENCE[9..].to_vec());
    let mut expected = vec!["1,0 3 0,3,35"; 10];
    expected.resize(20, "1,0 0 0,0,0");
    assert_eq!(confidence(&[read], 125..=144), expected);
}

#[test]
fn deletion_counts_as_another_base() {
    let bases = [&REFERENCE[..10], &REFERENCE[13..38]].concat();
    let (sure, unsure, deleted) = ("1,0 3 0,3,35", "1,0 0 0,0,0", "0,1 0 0,0,0");
    let expected = [sure, sure, unsure, deleted, deleted, deleted, sure, sure, sure];
    assert_eq!(confidence(&[(101, "10M3D25M", bases)], 108..=116), expected);
}

#[test]
fn base_before_an_insertion_is_not_informative() {
    let bases = [&REFERENCE[..10], b"CA", &REFERENCE[10..35]].concat();
    let (sure, unsure) = ("1,0 3 0,3,35", "1,0 0 0,0,0");
    let expected = [sure, sure, unsure, sure, sure, sure];
    assert_eq!(confidence(&[(101, "10M2I25M", bases)], 108..=113), expected);
}

#[test]
fn more_than_40_reads_do_not_raise_the_confidence() {
    let read = (101, "44M", REFERENCE.to_vec());
    assert_eq!(confidence(&vec![read.clone(); 40], 105..=105), ["40,0 120 0,120,1391"]);
    assert_eq!(confidence(&vec![read.clone(); 41], 105..=105), ["41,0 120 0,120,1800"]);
    assert_eq!(confidence(&vec![read; 42], 105..=105), ["42,0 120 0,120,1800"]);
}

#[test]
fn read_that_ends_with_a_deletion_is_an_error() {
    let model = ReferenceConfidence::new(&sums(), 2);
    let cigar: Cigar = "5M2D".parse().unwrap();
    let read = ConfidenceRead {
        start: 101,
        cigar: &cigar,
        bases: &REFERENCE[..5],
        qualities: &[30; 5],
        visible: (101, 107),
    };
    let reads = [read];
    let mut region = model.region(&reads, REFERENCE, 101);
    let mut at = ConfidenceAt::default();
    region.compute_at(107, &mut at).unwrap();
    let error = region.compute_at(108, &mut at).unwrap_err();
    assert_eq!(error.to_string(), "a read at 101 starts or ends with a deletion: 5M2D");
}

#[test]
fn quality_is_rounded_from_decimal_digits() {
    let cases = [
        (-2.9995, "29.99"), // the product with -10 is below 29.995
        (-2.9994, "29.99"),
        (-3.0001, "30"),
        (0.0, "0"),
        (-0.0, "0"),
        (-0.001, "0.01"),
        (-0.0005, "0.01"),
        (-0.0004, "0"),
        (-10_000.0, "100000"),
    ];
    for (log10_error, expected) in cases {
        let record = VcfRecord {
            start: 1,
            alleles: vec![Allele::Reference(b"A".to_vec()), Allele::Alternate(b"C".to_vec())],
            log10_error: Some(log10_error),
            ..VcfRecord::default()
        };
        assert_eq!(line_of(&record).split('\t').nth(5), Some(expected), "{log10_error}");
    }
}

#[test]
fn rank_sums_are_exact_below_10_values() {
    let math = sums().math();
    let run = |from: i32, count: i32| (from..from + count).map(f64::from).collect::<Vec<f64>>();
    let test = |mut first: Vec<f64>, mut second: Vec<f64>| {
        rank_sum_test(math, &mut first, &mut second).map(|score| format_fixed(score, 3))
    };
    assert_eq!(test(run(20, 9), run(22, 9)).as_deref(), Some("-1.403"));
    assert_eq!(test(run(20, 10), run(22, 9)).as_deref(), Some("-1.024"));
    assert_eq!(test(run(20, 1), run(22, 1)).as_deref(), Some("-0.674"));
    assert_eq!(test(vec![30.0; 3], vec![30.0; 2]).as_deref(), Some("0.000"), "only ties");
    assert_eq!(test(vec![0.0; 12], vec![0.0; 3]).as_deref(), Some("0.000"), "only ties");
    assert_eq!(test(run(20, 3), Vec::new()), None, "no read of the reference");
    assert_eq!(test(Vec::new(), run(20, 3)), None);
}

#[test]
fn large_strand_tables_are_scaled() {
    let sums = sums();
    let fisher = |table| format_fixed(fisher_strand(&sums, table), 3);
    assert_eq!(fisher([400, 0, 0, 400]), "586.559");
    assert_eq!(fisher([200, 0, 0, 200]), "1187.116", "a sum of 400 is not scaled");
    assert_eq!(fisher([201, 0, 0, 200]), "586.559");
    assert_eq!(fisher([300, 250, 30, 2]), "22.583");
    assert_eq!(fisher([5, 0, 0, 0]), "0.000");
    assert_eq!(format_fixed(strand_odds_ratio(sums.math(), [300, 250, 30, 2]), 3), "4.321");
}

#[test]
fn implausible_qd_takes_a_draw_of_the_run() {
    let mut random = JavaRandom::new(GATK_SEED);
    let mut fix = |value| format_fixed(draw_unless_plausible(value, &mut random), 2);
    assert_eq!([fix(35.0), fix(35.0)], ["25.36", "28.73"]);
    // A pile of 53 reads at one start.
    assert_eq!([51, 52, 53].map(|bound| random.next_int(bound)), [17, 19, 44]);
    let mut fix = |value| format_fixed(draw_unless_plausible(value, &mut random), 2);
    assert_eq!([fix(36.0), fix(34.999)], ["27.32", "35.00"]);
}

fn variant(genotype: SampleGenotype) -> CalledVariant {
    CalledVariant {
        contig: 0,
        start: 100,
        end: 100,
        alleles: vec![Allele::Reference(b"A".to_vec()), Allele::Alternate(b"C".to_vec())],
        log10_confidence: -3.5,
        mle_counts: vec![0],
        mle_frequencies: vec![f64::NAN],
        genotypes: vec![genotype],
    }
}

fn annotated_line(mut call: CalledVariant) -> String {
    let likelihoods = AlleleLikelihoods::new(2, 0, Vec::new());
    let samples = [SampleEvidence { reads: &[], likelihoods: &likelihoods }];
    let annotations = annotate_call(&sums(), &mut call, &[0, 1], &samples, CallMode::Variants);
    let mut record = VcfRecord::from_call(call, annotations);
    record.add_quality_by_depth(&[0], &mut JavaRandom::new(GATK_SEED));
    line_of(&record)
}

#[test]
fn variant_without_reads_has_no_depth() {
    let genotype = SampleGenotype {
        alleles: vec![Some(0), Some(1)],
        pls: vec![0, 0, 0],
        quality: Some(0),
        ..SampleGenotype::default()
    };
    let expected = "chr1\t100\t.\tA\tC\t35\t.\tAC=1;AF=0.500;AN=2;ExcessHet=0.0000;FS=0.000;MLEAC=0;\
                    MLEAF=NaN;SOR=0.693\tGT:AD:DP:GQ:PL\t0/1:0,0:0:0:0,0,0";
    assert_eq!(annotated_line(variant(genotype)), expected);
}

#[test]
fn genotype_that_is_not_called_has_no_counts() {
    let genotype =
        SampleGenotype { alleles: vec![None, None], pls: vec![0, 0, 0], ..SampleGenotype::default() };
    let expected = "chr1\t100\t.\tA\tC\t35\t.\tFS=0.000;MLEAC=0;MLEAF=NaN;SOR=0.693\tGT:PL\t./.:0,0,0";
    assert_eq!(annotated_line(variant(genotype)), expected);
}

#[test]
fn sample_omits_missing_values_after_its_last() {
    let sample = |depth, phase| SampleFields {
        genotype: SampleGenotype { alleles: vec![Some(0)], depth, quality: phase, ..Default::default() },
        ..SampleFields::default()
    };
    let record = VcfRecord {
        start: 5,
        alleles: vec![Allele::Reference(b"A".to_vec())],
        info: vec![("DP", InfoValue::Integers(Vec::new()))],
        samples: vec![sample(Some(3), Some(100)), sample(Some(3), None), sample(None, Some(7))],
        ..VcfRecord::default()
    };
    let expected = "chr1\t5\t.\tA\t.\t.\t.\tDP=.\tGT:DP:GQ\t0:3:99\t0:3\t0:.:7";
    assert_eq!(line_of(&record), expected);
}

/// Returns the columns POS, INFO and sample of the blocks of sites with these contigs, positions,
/// qualities and depths.
fn blocks(sites: &[(usize, u32, i32, i32)]) -> Vec<String> {
    let mut blocks = GvcfBlocks::new(&DEFAULT_BANDS).unwrap();
    let mut records = Vec::new();
    for &(contig, position, quality, depth) in sites {
        let pls = [0, quality, 900];
        let site = ReferenceSite {
            contig,
            position,
            reference: b"A",
            ploidy: 2,
            quality: Some(quality),
            depth: Some(depth),
            pls: &pls,
        };
        blocks.add_site(site, &mut records).unwrap();
    }
    blocks.finish(&mut records);
    records.iter().map(summarize).collect()
}

fn summarize(record: &VcfRecord) -> String {
    let line = line_of(record);
    let columns: Vec<&str> = line.split('\t').collect();
    [columns[1], columns[7], columns[9]].join(" ")
}

#[test]
fn blocks_end_at_bounds_of_bands() {
    let sites = [59, 60, 69, 70, 98, 99, 120];
    let sites: Vec<_> = (1..).zip(sites).map(|(position, quality)| (0, position, quality, 9)).collect();
    let expected = [
        "1 END=1 0/0:9:59:9:0,59,900",
        "2 END=3 0/0:9:60:9:0,60,900",
        "4 END=4 0/0:9:70:9:0,70,900",
        "5 END=5 0/0:9:98:9:0,98,900",
        "6 END=7 0/0:9:99:9:0,99,900",
    ];
    assert_eq!(blocks(&sites), expected);
}

#[test]
fn blocks_end_at_gaps_and_contigs() {
    let sites = [(0, 8, 0, 0), (0, 9, 0, 0), (0, 11, 0, 0), (1, 12, 0, 0)];
    let expected =
        ["8 END=9 0/0:0:0:0:0,0,900", "11 END=11 0/0:0:0:0:0,0,900", "12 END=12 0/0:0:0:0:0,0,900"];
    assert_eq!(blocks(&sites), expected);
}

#[test]
fn median_of_two_middle_depths_is_rounded_up() {
    let sites = [(0, 1, 9, 20), (0, 2, 9, 25), (0, 3, 9, 22), (0, 4, 9, 30)];
    assert_eq!(blocks(&sites), ["1 END=4 0/0:24:9:20:0,9,900"]);
}

fn record(start: u32, alleles: Vec<Allele>, called: Option<usize>, pls: Vec<i32>) -> VcfRecord {
    let genotype =
        SampleGenotype { alleles: vec![called; 2], pls, quality: Some(5), ..Default::default() };
    VcfRecord {
        start,
        alleles,
        samples: vec![SampleFields { genotype, ..SampleFields::default() }],
        ..VcfRecord::default()
    }
}

#[test]
fn sites_inside_a_deletion_are_dropped() {
    let mut blocks = GvcfBlocks::new(&DEFAULT_BANDS).unwrap();
    let mut records = Vec::new();
    let any = |reference: &[u8]| vec![Allele::Reference(reference.to_vec()), Allele::NonReference];
    let site = |position| record(position, any(b"A"), Some(0), vec![0, 5, 50]);
    let deletion = [any(b"ACC"), vec![Allele::Alternate(b"A".to_vec())]].concat();
    blocks.add_record(site(9), &mut records).unwrap();
    blocks.add_record(record(10, deletion, Some(2), vec![9; 6]), &mut records).unwrap();
    for position in 11..=14 {
        blocks.add_record(site(position), &mut records).unwrap();
    }
    blocks.finish(&mut records);
    let starts: Vec<&str> =
        vec!["9 END=9 0/0:5:0,5,50", "10 . 2/2:5:9,9,9,9,9,9", "13 END=14 0/0:5:0,5,50"];
    assert_eq!(records.iter().map(summarize).collect::<Vec<_>>(), starts);
}

#[test]
fn genotype_that_is_not_called_joins_a_block_if_the_reference_is_likeliest() {
    let mut blocks = GvcfBlocks::new(&DEFAULT_BANDS).unwrap();
    let mut records = Vec::new();
    let any = || vec![Allele::Reference(b"A".to_vec()), Allele::NonReference];
    blocks.add_record(record(9, any(), None, vec![0, 0, 7]), &mut records).unwrap();
    blocks.add_record(record(10, any(), None, vec![2, 0, 7]), &mut records).unwrap();
    blocks.finish(&mut records);
    let texts: Vec<String> = records.iter().map(summarize).collect();
    assert_eq!(texts, ["9 END=9 0/0:0:0,0,7", "10 . ./.:5:2,0,7"]);
}

#[test]
fn site_inside_the_current_block_is_an_error() {
    let mut blocks = GvcfBlocks::new(&[20]).unwrap();
    let mut records = Vec::new();
    let any = || vec![Allele::Reference(b"A".to_vec()), Allele::NonReference];
    blocks.add_record(record(9, any(), Some(0), vec![0, 5, 7]), &mut records).unwrap();
    let error = blocks.add_record(record(9, any(), Some(0), vec![0, 5, 7]), &mut records).unwrap_err();
    assert_eq!(error, OverlappingSite { position: 9, block_end: 9 });
    assert_eq!(blocks.bands(), [0, 20, 100]);
    assert!(GvcfBlocks::new(&[]).is_err());
    assert!(GvcfBlocks::new(&[20, 20]).is_err());
    assert!(GvcfBlocks::new(&[-1, 20]).is_err());
    assert!(GvcfBlocks::new(&[20, 101]).is_err());
}
