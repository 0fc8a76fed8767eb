//! Inputs that cost memory in what is counted, listed and described of reads.

use crate::shapes::{CostlyInput, converted, written};
use crate::support::TestDir;

/// The start of a sorted file with one contig.
const HEAD: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:300000000\n";

pub const SHAPES: &[CostlyInput] = &[
    CostlyInput {
        name: "a read that claims 268 million bases, without SEQ",
        make: |dir, scale| {
            let bases = 268_435_455 / scale;
            sorted(dir, &format!("r\t0\tc\t1\t60\t{bases}M\t*\t0\t0\t*\t*\n"));
            one_target_and_gene(dir, 300_000_000 / scale);
        },
        commands: &[
            "qc --metrics CollectHsMetrics --bait-intervals %t.list --target-intervals %t.list %in.sam -o %out",
            "qc --metrics CollectRnaSeqMetrics --ref-flat %genes --strand-specificity NONE %in.sam -o %out",
            "qc --no-metrics --coverage %in.sam -o %out",
            "stats -p %in.sam -o %out.txt",
            "coverage %in.sam -o %out.txt",
        ],
    },
    CostlyInput {
        name: "deleted bases on targets, 268 million of one read",
        make: |dir, scale| {
            let deleted = 268_000_000 / scale;
            let bases = "ACGTACGTACACGTACGTAC\tIIIIIIIIIIIIIIIIIIII";
            sorted(dir, &format!("r\t0\tc\t1\t60\t10M{deleted}D10M\t*\t0\t0\t{bases}\n"));
            one_target_and_gene(dir, 16_000_000 / scale);
        },
        commands: &[
            "qc --metrics CollectHsMetrics --include-indels --bait-intervals %t.list --target-intervals %t.list %in.sam -o %out",
        ],
    },
    CostlyInput {
        name: "400,000 pairs at one place",
        make: |dir, scale| {
            written(dir, "in.sam", |file| {
                let _ = file.write_all(b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:4000\n");
                for (flags, length) in [(99, 20), (147, -20)] {
                    for i in 0..400_000 / scale {
                        let _ = writeln!(
                            file,
                            "q{i}\t{flags}\tc\t1000\t60\t20M\t=\t1000\t{length}\tACGTACGTACACGTACGTAC\tIIIIIIIIIIIIIIIIIIII"
                        );
                    }
                }
            });
            written(dir, "ref.fa", |file| {
                let _ = write!(file, ">c\n{}\n", "ACGT".repeat(1000));
            });
        },
        commands: &[
            "qc --no-metrics --coverage %in.sam -o %out",
            "stats -p %in.sam -o %out.txt",
            "depth -s %in.sam -o %out.txt",
            "sort --coverage %out %in.sam -o %out.bam",
            "qc --metrics CollectWgsMetrics --reference %ref.fa --locus-accumulation-cap 2000000000 %in.sam -o %out",
        ],
    },
    CostlyInput {
        name: "400,000 reads that start at 40 places, to be called",
        make: |dir, scale| {
            let bases = "ACGTTGCAAGTCCATG".repeat(10);
            written(dir, "in.sam", |file| {
                let _ = file
                    .write_all(b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:16000\n@RG\tID:g\tSM:s\n");
                let reads = 400_000 / scale;
                for i in 0..reads {
                    let (start, changed) = (1 + 16 * (40 * i / reads), 20 + i % 7);
                    let read = [&bases[..changed], "T", &bases[changed + 1..]].concat();
                    let qualities = "I".repeat(read.len());
                    let _ = writeln!(
                        file,
                        "r{i}\t0\tc\t{start}\t60\t160M\t*\t0\t0\t{read}\t{qualities}\tRG:Z:g"
                    );
                }
            });
            written(dir, "ref.fa", |file| {
                let _ = write!(file, ">c\n{}\n", "ACGTTGCAAGTCCATG".repeat(1000));
            });
        },
        commands: &[
            "call %in.sam --reference %ref.fa -o %out.vcf",
            "call %in.sam --reference %ref.fa --mode vcf -o %out.vcf",
        ],
    },
    CostlyInput {
        name: "a description of a million contigs",
        make: |dir, scale| {
            written(dir, "in.sam", |file| {
                for i in 0..1_000_000 / scale {
                    let _ = writeln!(file, "@SQ\tSN:k{i}\tLN:1000");
                }
            });
        },
        commands: &[
            "idxstats %in.sam -o %out.txt --json %out.json",
            "idxstats %in.sam -o %out.txt --report %out.html",
        ],
    },
    CostlyInput {
        name: "a description of 40,000 libraries",
        make: |dir, scale| {
            written(dir, "in.sam", |file| {
                let _ = file.write_all(HEAD.as_bytes());
                for i in 0..40_000 / scale {
                    let _ = writeln!(file, "@RG\tID:g{i}\tSM:s\tLB:library{i}\tPU:u{i}");
                }
                for i in 0..40_000 / scale {
                    let _ =
                        writeln!(file, "r{i}\t0\tc\t{}\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:g{i}", i + 1);
                }
            });
        },
        commands: &[
            "markdup %in.sam -o %out.bam --json %out.json",
            "markdup %in.sam -o %out.bam --report %out.html",
        ],
    },
    CostlyInput {
        name: "400,000 short genes",
        make: |dir, scale| {
            sorted(dir, "r\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n");
            written(dir, "genes", |file| {
                for i in 0..400_000 / scale {
                    let (start, end) = (i * 700, i * 700 + 300);
                    let _ = writeln!(
                        file,
                        "GENE{i}\tT{i}\tc\t+\t{start}\t{end}\t{start}\t{end}\t2\t{start},{},\t{},{end},",
                        start + 200,
                        start + 100
                    );
                }
            });
        },
        commands: &[
            "qc --metrics CollectRnaSeqMetrics --ref-flat %genes --strand-specificity NONE %in.sam -o %out",
        ],
    },
    CostlyInput {
        name: "400,000 read groups that the header lacks",
        make: |dir, scale| {
            written(dir, "in.sam", |file| {
                let _ = file.write_all(HEAD.as_bytes());
                for i in 0..400_000 / scale {
                    let _ = writeln!(file, "r{i}\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:group{i}");
                }
            });
        },
        commands: &[
            "checksum --samtools %in.sam -o %out.txt",
            "checksum --bamseqchksum %in.sam -o %out.txt",
        ],
    },
    CostlyInput {
        name: "a list of 3 million names",
        make: |dir, scale| {
            sorted(
                dir,
                "name:of:a:read:7\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\tCB:Z:name:of:a:read:7\n",
            );
            written(dir, "names", |file| {
                for i in 0..3_000_000 / scale {
                    let _ = writeln!(file, "name:of:a:read:{i}");
                }
            });
        },
        commands: &["view -N %names %in.sam -o %out.sam", "view -D CB:%names %in.sam -o %out.sam"],
    },
    CostlyInput {
        name: "300,000 contigs, in every command that reads a header",
        make: |dir, scale| {
            let contigs = 300_000 / scale;
            written(dir, "header.sam", |file| {
                let _ = writeln!(file, "@HD\tVN:1.6\tSO:coordinate");
                (0..contigs).for_each(|i| _ = writeln!(file, "@SQ\tSN:k{i}\tLN:1000"));
            });
            std::fs::copy(dir.path("header.sam"), dir.path("in.sam")).expect("a copy");
            converted(&dir.path("in.sam"), &dir.path("in.bam"));
            written(dir, "ref.fa", |file| {
                (0..contigs).for_each(|i| _ = writeln!(file, ">k{i}\nACGTACGTAC"));
            });
            written(dir, "regions.bed", |file| _ = writeln!(file, "k0\t0\t1000"));
        },
        commands: &[
            "view -b %in.bam -o %out.bam",
            "prep %in.bam -o %out.bam",
            "collate %in.bam -o %out.bam",
            "fastq %in.bam -o %out.fq",
            "flagstat %in.bam -o %out.txt",
            "depth %in.bam -o %out.txt",
            "bedcov %regions.bed %in.bam",
            "head %in.bam",
            "cat %in.bam %in.bam -o %out.bam",
            "reheader %header.sam %in.bam -o %out.bam",
            "index %in.bam",
            "faidx %ref.fa",
            "dict %ref.fa -o %out.dict",
        ],
    },
];

/// Commands that no shape runs, and why.
pub const OTHERS: &[(&str, &str)] = &[
    ("align", "C++ takes most of its memory: tests of the aligner"),
    ("import", "reads FASTQ as align does"),
    ("merge-alignment", "as filter, with two inputs: tests of its own"),
    ("split", "as filter, with more outputs: 500 at most"),
    ("quickcheck", "keeps a header alone, as head does"),
    ("fingerprint", "counts three numbers for each site of a list that is charged"),
    ("report", "charges what descriptions take by the bytes of their files"),
    ("compare", "has no -m"),
    ("shard", "its stages are runs of prep, each within the same -m"),
    ("cluster", "starts others"),
    ("demo", "its input is its own"),
    ("completions", "has no input"),
    ("man", "has no input"),
];

/// A sorted file of these lines.
fn sorted(dir: &TestDir, lines: &str) {
    written(dir, "in.sam", |file| {
        let _ = write!(file, "{HEAD}{lines}");
    });
}

/// A target of so many bases, and a gene with one exon of half as many.
fn one_target_and_gene(dir: &TestDir, bases: usize) {
    written(dir, "t.list", |file| {
        let _ = writeln!(file, "{HEAD}c\t1\t{bases}\t+\tt");
    });
    written(dir, "genes", |file| {
        let end = bases / 2;
        let _ = writeln!(file, "g\tt\tc\t+\t0\t{bases}\t0\t{bases}\t1\t0,\t{end},");
    });
}
