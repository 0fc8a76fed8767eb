//! Counts a few handwritten reads, and compares the files with those of Picard 3.4.0.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use readmill_format::reference::Reference;
use readmill_format::sam::LineParser;
use readmill_qc::{
    Level, MetricSelection, PROGRAMS, QcOptions, QcTally, ReferenceSpan, RunEnd, SpanThreads, SpanWork,
};
use readmill_record::{Batch, DynTally, Header, Ledger, ReportText, Result, Stamp};

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
    let selection = MetricSelection::named(programs, options);
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
    let text = |text| match text {
        ReportText::Whole(text) => String::from_utf8(text).unwrap(),
        ReportText::Parts(_) => unreachable!("no file is so long"),
    };
    tally.texts(&end).unwrap().into_iter().map(text).collect()
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
