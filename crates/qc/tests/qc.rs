//! Counts a few handwritten reads, and compares the files with those of Picard 3.4.0.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use readmill_format::reference::Reference;
use readmill_format::report::ReportContents;
use readmill_format::sam::LineParser;
use readmill_qc::{
    Level, MetricSelection, PROGRAMS, QcOptions, QcTally, ReferenceSpan, RunEnd, SpanThreads, SpanWork,
};
use readmill_record::{Batch, DynTally, Header, Ledger, Result, Stamp};

const HEADER: &[u8] = b"@HD\tVN:1.6\n@SQ\tSN:c1\tLN:1000\n@RG\tID:a\tSM:s\tLB:l\tPU:p\n";

/// Two pairs, one of them with a supplementary record; an adapter; a read that fails vendor quality
/// checks; and a read without bases.
const READS: [&str; 8] = [
    "p 99 c1 11 60 10M = 91 90 ACGTACGTAC IIIII55555 RG:Z:a",
    "q 163 c1 21 60 8M2S = 51 -40 ACGTNCGTAC IIIIIIIIII OQ:Z:5555555555",
    "q 83 c1 51 60 2S8M = 21 40 ACGTACGTAC 5555555555",
    "p 147 c1 91 60 4M2I4M = 11 -90 ACGTACGTAC IIIIIIIIII RG:Z:a",
    "p 2195 c1 95 60 4M6H = 11 0 ACGT IIII RG:Z:a",
    "u 4 * 0 0 * * 0 0 AGATCGGAAGAGCTCGTATG IIIIIIIIIIIIIIIIIIII",
    "v 516 * 0 0 * * 0 0 AC II",
    "w 4 * 0 0 * * 0 0 * *",
];

fn batch(header: &Header, lines: &[&str]) -> Batch {
    let (mut parser, mut batch) = (LineParser::new(header), Batch::default());
    for line in lines {
        let mut raw = Vec::new();
        parser.parse(line.replace(' ', "\t").as_bytes(), &mut raw).unwrap();
        batch.push(&raw, Stamp::default()).unwrap();
    }
    batch
}

/// Returns the names of the programs that need neither a reference nor sorted reads.
fn programs() -> Vec<&'static str> {
    let programs = PROGRAMS.iter().filter(|it| !it.needs().reference && !it.needs().order);
    programs.flat_map(|it| it.programs()).map(|program| program.name).collect()
}

fn tally_of(
    programs: &[&str],
    options: QcOptions,
    header: &Header,
    reference: Option<Reference>,
) -> QcTally {
    let selection = MetricSelection::select_by_name(programs, options);
    QcTally::new(&selection, header, reference, &Ledger::unlimited(), 1, 64 << 20).unwrap()
}

fn by_library() -> QcOptions {
    let metric_accumulation_level = vec![Level::AllReads, Level::Library];
    QcOptions { metric_accumulation_level, ..QcOptions::default() }
}

fn tally(header: &Header) -> QcTally {
    tally_of(&programs(), by_library(), header, None)
}

fn observe(tally: &QcTally, header: &Header, lines: &[&str]) {
    let mut worker = tally.make_worker();
    worker.observe(&batch(header, lines)).unwrap();
    worker.merge_into_total();
}

/// Runs all spans on the thread of the test.
struct OneThread;

impl SpanThreads for OneThread {
    fn for_each_span<'a>(
        &self,
        spans: &mut (dyn Iterator<Item = Result<ReferenceSpan>> + Send),
        work: &(dyn Fn() -> SpanWork<'a> + Sync),
    ) -> Result<()> {
        let mut work = work();
        for span in spans {
            work(span?)?;
        }
        Ok(())
    }
}

fn texts(tally: &QcTally) -> Vec<String> {
    let command = |program: &str| format!("{program} x");
    let end = RunEnd { command: &command, started: "now", threads: &OneThread, warn: &|_| () };
    let text = |contents| match contents {
        ReportContents::Text(text) => String::from_utf8(text).unwrap(),
        ReportContents::Described(report) => String::from_utf8(report.format_text()).unwrap(),
        ReportContents::Parts(_) => unreachable!("no file is so long"),
    };
    tally.make_reports(&end).unwrap().into_iter().map(text).collect()
}

#[test]
fn the_files_are_those_of_picard() {
    let header = Header::parse(HEADER).unwrap();
    let tally = tally(&header);
    observe(&tally, &header, &READS);
    let texts = texts(&tally);
    for (program, lines) in [
        (
            "CollectAlignmentSummaryMetrics",
            &[
                "## htsjdk.samtools.metrics.StringHeader\n# CollectAlignmentSummaryMetrics x\n",
                "\nPAIR\t4\t4\t1\t0\t4\t1\t34\t4\t34\t34\t0\t0\t0\t0.029412\t10\t0\t10\t0\t10\t10\t9\t4\t1\t0\t0\t0\t0.5\t\
                 0.25\t0\t0.1\t0\t2\t\t\t\n",
                "\nFIRST_OF_PAIR\t1\t1\t1\t0\t1\t1\t10\t1\t10\t10\t0\t0\t0\t0\t10\t?\t10\t0\t10\t10\t10\t1\t1\t0\t0\t0\t1\t0\t0\t\
                 0\t0\t0\ts\tl\t\n",
                "\nUNPAIRED\t3\t2\t0.666667\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t10\t14.142136\t10\t10\t0\t20\t0\t0\t0\t0\t0\t0\t0\t\
                 0\t0.5\t0\t0\t0\tunknown\tunknown\t\n",
                "\n\n## HISTOGRAM\tjava.lang.Integer\nREAD_LENGTH\tPAIRED_TOTAL_LENGTH_COUNT\tPAIRED_ALIGNED_LENGTH_COUNT\t\
                 UNPAIRED_TOTAL_LENGTH_COUNT\tUNPAIRED_ALIGNED_LENGTH_COUNT\n0\t0\t0\t1\t2\n8\t0\t2\t0\t0\n10\t4\t2\t0\t0\n\
                 20\t0\t0\t1\t0\n\n",
            ][..],
        ),
        (
            "CollectBaseDistributionByCycle",
            &["\n1\t3\t33.333333\t0\t33.333333\t33.333333\t0\n", "\n2\t25\t0\t50\t0\t0\t50\n"],
        ),
        (
            "CollectInsertSizeMetrics",
            &[
                "\n40\t40\t0\t40\t40\t40\t?\t1\tRF\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\tunknown\tunknown\t\n",
                "\ninsert_size\tAll_Reads.fr_count\tAll_Reads.rf_count\tl.fr_count\tunknown.rf_count\n\
                 40\t0\t1\t0\t1\n90\t1\t0\t1\t0\n\n",
            ],
        ),
        (
            "MeanQualityByCycle",
            &[
                "\nCYCLE\tMEAN_QUALITY\tMEAN_ORIGINAL_QUALITY\n1\t35\t20\n",
                "\n6\t26.666667\t20\n",
                "\n30\t40\t0\n\n",
            ],
        ),
        (
            "QualityScoreDistribution",
            &[
                "\n\n\n## HISTOGRAM\tjava.lang.Byte\nQUALITY\tCOUNT_OF_Q\tCOUNT_OF_OQ\n20\t15\t9\n40\t46\t0\n\n",
            ],
        ),
        ("CollectQualityYieldMetrics", &["\n7\t6\t8\t62\t60\t62\t60\t37\t35\t99\t95\n\n\n"]),
    ] {
        let text = &texts[programs().iter().position(|it| *it == program).unwrap()];
        lines.iter().for_each(|line| assert!(text.contains(line), "{line:?} is not in\n{text}"));
    }
}

#[test]
fn qualities_of_n_are_counted_where_they_are_wanted() {
    let header = Header::parse(HEADER).unwrap();
    let options = QcOptions { include_no_calls: true, ..QcOptions::default() };
    let tally = tally_of(&["QualityScoreDistribution"], options, &header, None);
    observe(&tally, &header, &READS);
    let text = texts(&tally).concat();
    assert!(text.ends_with("\n20\t15\t10\n40\t47\t0\n\n"), "{text}");
}

#[test]
fn parts_of_the_reads_sum_up_to_the_same_files() {
    let header = Header::parse(HEADER).unwrap();
    let whole = tally(&header);
    observe(&whole, &header, &READS);
    let (first, second) = (tally(&header), tally(&header));
    READS[..3].iter().for_each(|line| observe(&first, &header, &[line]));
    observe(&second, &header, &READS[3..]);
    second.add_saved(&first.save_total().unwrap()).unwrap();
    assert_eq!(texts(&second), texts(&whole));
}

/// Writes a reference whose bases have no pattern to a file of this name, and opens it.
fn reference(file: &str) -> Reference {
    let bases: String = (0..1000).map(|i| char::from(b"ACGT"[(i * i / 7 + i / 3) % 4])).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::write(&path, format!(">c1\n{bases}\n")).unwrap();
    Reference::open(&path, &Ledger::unlimited()).unwrap()
}

#[test]
fn gc_bias_counts_supplementary_records_and_the_windows_of_the_reference() {
    let reference = reference("gc_bias.fa");
    let header = Header::parse(HEADER).unwrap();
    let mut options = by_library();
    options.gc_bias.scan_window_size = Some(10);
    let tally = tally_of(&["CollectGcBiasMetrics"], options, &header, Some(reference));
    observe(&tally, &header, &READS);
    let texts = texts(&tally);
    for (text, lines) in texts.iter().zip([
        &[
            "\nAll Reads\tALL\t20\t78\t0\t0\t0\t0\t\t\t\n",
            "\nAll Reads\tALL\t30\t140\t2\t1\t2.825714\t1.998082\t\t\t\n",
            "\nAll Reads\tALL\t40\t162\t1\t2\t1.220988\t1.220988\t\t\t\n",
        ][..],
        &[
            "\nAll Reads\tALL\t10\t4\t5\t25.78362\t18.200202\t0\t1.814679\t0.646405\t0.633974\t1.648333\t\t\t\n",
            "\nLibrary\tALL\t10\t1\t3\t25.78362\t43.680485\t0\t3.024465\t1.077342\t0\t0\t\tl\t\n",
        ],
    ]) {
        lines.iter().for_each(|line| assert!(text.contains(line), "{line:?} is not in\n{text}"));
    }
    assert_eq!(texts.len(), 2);
}

#[test]
fn substitutions_are_counted_by_context_and_the_worst_contexts_are_named() {
    let header = Header::parse(HEADER).unwrap();
    let (programs, options) = (["CollectSequencingArtifactMetrics"], QcOptions::default());
    let tally = tally_of(&programs, options, &header, Some(reference("artifacts.fa")));
    let of_the_library: Vec<&str> = READS.into_iter().filter(|line| line.ends_with("RG:Z:a")).collect();
    observe(&tally, &header, &of_the_library);
    let texts = texts(&tally);
    for (text, lines) in texts.iter().zip([
        &["\ns\tl\tA\tC\tAAA\t1\t1\t0\t0\t0.5\t3\n", "\ns\tl\tA\tC\tCAG\t0\t0\t0\t1\t0\t100\n"][..],
        &["\ns\tl\tA\tC\t8\tCAA\t0\tAAN\t5\tNAA\t2\tNA\n", "\tNCA\t100\tDeamination\n"],
        &["\ns\tl\tA\tC\tCAG\t0\t0\t0\t1\t0\t1\t0\t100\n"],
        &["\ns\tl\tC\tA\t100\tACA\t100\tACN\t100\tNCA\t100\tCref\n"],
        &["\nA\tC\tA>C\t6\t6\t0.5\n", "\nC\tG\tC>G\t6\t4\t0.4\n"],
    ]) {
        lines.iter().for_each(|line| assert!(text.contains(line), "{line:?} is not in\n{text}"));
    }
    assert_eq!(texts.len(), 5);
}

const JUMPING_HEADER: &[u8] =
    b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:900000\n@SQ\tSN:c2\tLN:90000\n";

/// First reads of pairs that face outward (o), inward (i), are tandem (t), on two contigs (x) or large (s), of low mapping
/// quality (q), with secondary and supplementary records (p), without a mapped mate (g); and two that are not counted.
const JUMPING_READS: [&str; 42] = [
    "o0 81 c1 1000 60 10M = 3990 3000 * * MQ:i:60",
    "o1 81 c1 1010 60 10M = 4000 3000 * * MQ:i:60",
    "o2 1105 c1 1020 60 10M = 4010 3000 * * MQ:i:60",
    "o3 81 c1 1030 60 10M = 4021 3001 * * MQ:i:60",
    "o6 81 c1 1060 60 10M = 3950 2900 * * MQ:i:60",
    "o7 81 c1 1070 60 10M = 10060 9000 * * MQ:i:60",
    "o8 1105 c1 1080 60 10M = 4071 3001 * * MQ:i:60",
    "o0 161 c1 3990 60 10M = 1000 -3000 * * MQ:i:60",
    "o_rev 97 c1 8000 60 10M = 5000 -3000 * * MQ:i:60",
    "i0 97 c1 20000 60 10M = 20190 200 * * MQ:i:60",
    "i1 97 c1 20010 60 10M = 20201 201 * * MQ:i:60",
    "i2 1121 c1 20020 60 10M = 20212 202 * * MQ:i:60",
    "i3 97 c1 20030 60 10M = 20222 202 * * MQ:i:60",
    "i_one 97 c1 21000 60 10M = 20991 1 * * MQ:i:60",
    "i_one2 81 c1 21091 60 10M = 21100 1 * * MQ:i:60",
    "i_rev 81 c1 22190 60 10M = 22000 -200 * * MQ:i:60",
    "t0 65 c1 30000 60 10M = 30500 500 * * MQ:i:60",
    "t1 1137 c1 30010 60 10M = 30500 500 * * MQ:i:60",
    "x0 97 c1 31000 60 10M c2 500 0 * * MQ:i:60",
    "x2 97 c1 31200 60 10M c2 700 400000 * * MQ:i:60",
    "x3 65 c1 31300 60 10M c2 800 0 * * MQ:i:60",
    "s0 97 c1 40000 60 10M = 400000 360010 * * MQ:i:60",
    "s1 1105 c1 40010 60 10M = 400010 360010 * * MQ:i:60",
    "s2 97 c1 41000 60 10M = 140990 100000 * * MQ:i:60",
    "s3 97 c1 42000 60 10M = 141991 100001 * * MQ:i:60",
    "q0 97 c1 50000 5 10M = 50190 200 * * MQ:i:60",
    "q1 97 c1 50010 60 10M = 50200 200 * * MQ:i:5",
    "q2 97 c1 50020 60 10M = 50210 200 * *",
    "q3 97 c1 50030 60 10M = 50220 200 * * MQ:i:5",
    "q4 81 c1 50040 0 10M = 53000 2970 * * MQ:i:0",
    "p0 97 c1 60000 60 10M = 60190 200 * * MQ:i:60",
    "p0 353 c1 61000 60 10M = 60190 0 * * MQ:i:60",
    "p0 2145 c1 61010 60 10M = 60190 -820 * * MQ:i:60",
    "f0 609 c1 62000 60 10M = 62190 200 * * MQ:i:60",
    "g0 73 c1 63000 60 10M = 63000 0 * *",
    "g1 69 c1 63100 0 * = 63100 0 * *",
    "g2 73 c1 63200 0 10M = 63200 0 * * MQ:i:0",
    "g3 77 c1 63300 0 * = 63300 0 * *",
    "n0 33 c1 64000 60 10M = 64190 200 * *",
    "n1 225 c1 64010 60 10M = 64200 200 * *",
    "x1 97 c2 600 60 10M c1 31100 0 * * MQ:i:60",
    "u0 77 * 0 0 * * 0 0 * *",
];

/// Returns the row of CollectJumpingLibraryMetrics for reads that come in batches of `batch_reads`.
fn jumping_row(lines: &[&str], batch_reads: usize, [min_mapq, tail, limit]: [Option<u32>; 3]) -> String {
    let header = Header::parse(JUMPING_HEADER).unwrap();
    let mut options =
        QcOptions { minimum_mapping_quality: min_mapq.map(|it| it as u8), ..QcOptions::default() };
    (options.jumping.tail_limit, options.jumping.chimera_kb_min) = (tail, limit);
    let metrics = tally_of(&["CollectJumpingLibraryMetrics"], options, &header, None);
    let tally = metrics.ordered_tallies(&Ledger::unlimited()).pop().unwrap();
    tally.begin();
    for lines in lines.chunks(batch_reads) {
        tally.add(tally.new_counter().count(&batch(&header, lines), None).unwrap()).unwrap();
    }
    let text = texts(&metrics).pop().unwrap();
    let (comments, row) = text.split_once("\tPCT_CHIMERAS\n").unwrap();
    assert!(
        comments.contains("\n\n## METRICS CLASS\tpicard.analysis.JumpingLibraryMetrics\nJUMP_PAIRS\t"),
        "{text}"
    );
    row.strip_suffix("\n\n\n").unwrap().replace('\t', " ")
}

#[test]
fn jumping_pairs_are_those_of_picard_however_batches_are_cut() {
    let unplaced = ["w0 69", "u0 77", "w1 69"].map(|read| format!("{read} * 0 0 * * 0 0 * *"));
    let late: Vec<&str> =
        JUMPING_READS[..4].iter().copied().chain(unplaced.iter().map(|it| &**it)).collect();
    for (lines, options, row) in [
        (
            &JUMPING_READS[..],
            [None, None, None],
            "12 2 0.166667 31 2244.818182 1283.900605 14 1 0.071429 93 185.076923 55.313443 9 3 0.342857 0.4 0.257143",
        ),
        (
            &JUMPING_READS,
            [Some(10), None, None],
            "11 2 0.181818 26 2172.3 1329.39126 11 1 0.090909 56 180.6 63.110485 9 3 0.354839 0.354839 0.290323",
        ),
        (
            &JUMPING_READS,
            [None, None, Some(100)],
            "9 1 0.111111 37 2076.777778 1373.237396 13 1 0.076923 80 185.076923 55.313443 13 3 0.257143 0.371429 0.371429",
        ),
        (
            &JUMPING_READS,
            [None, Some(1), None],
            "12 2 0.166667 31 2076.777778 1373.237396 14 1 0.071429 93 180.1 62.929325 9 3 0.342857 0.4 0.257143",
        ),
        (
            &JUMPING_READS,
            [None, Some(0), Some(0)],
            "9 1 0.111111 37 2076.777778 1373.237396 13 1 0.076923 80 180.1 62.929325 13 3 0.257143 0.371429 0.371429",
        ),
        (&late, [None, None, None], "4 1 0.25 6 3000.25 0.5 0 0 0 0 ? -0 0 1 1 0 0"),
        (&[], [None, None, None], "0 0 0 0 ? -0 0 0 0 0 ? -0 0 0 0 0 0"),
    ] {
        for batch_reads in [1, 5, 100] {
            assert_eq!(jumping_row(lines, batch_reads, options), row, "{options:?}");
        }
    }
}

/// The first 50,000 pairs that face outward have another mode than all.
#[test]
fn the_limit_of_jumping_pairs_is_the_mode_of_the_first_ones() {
    let size = |at| if at < 50_000 { 300 + at % 7 } else { 310 };
    let line = |at| format!("p 81 c1 {} 60 10M = {} {} * *", at + 1, at + size(at) - 9, size(at));
    let lines: Vec<String> = (0..60_000).map(line).collect();
    let lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
    for (limit, row) in [
        (0, "7143 0 0 0 300 0 0 0 0 0 ? -0 52857 0 0.11905 0 0.88095"),
        (305, "42858 0 0 0 302.5 1.707845 0 0 0 0 ? -0 17142 0 0.7143 0 0.2857"),
    ] {
        for batch_reads in [7_000, 60_000] {
            assert_eq!(jumping_row(&lines, batch_reads, [None, None, Some(limit)]), row, "{limit}");
        }
    }
}
