//! Other files than reads that cost memory.

use std::io::Write;

use crate::shapes::{CostlyInput, written};
use crate::support::TestDir;

pub const SHAPES: &[CostlyInput] = &[
    CostlyInput {
        name: "half a million regions",
        make: |dir, scale| {
            reads(dir);
            written(dir, "regions.bed", |file| {
                for i in 0..500_000 / scale {
                    let _ = writeln!(file, "c\t{}\t{}", i * 20, i * 20 + 10);
                }
            });
        },
        commands: &["filter -L %regions.bed %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "a line of 60 MB among the regions",
        make: |dir, scale| {
            reads(dir);
            written(dir, "regions.bed", |file| {
                let _ = writeln!(file, "c\t0\t100\t{}", "x".repeat(60_000_000 / scale));
            });
        },
        commands: &["filter -L %regions.bed %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "a line of 60 MB among known sites, inflated from 60 KB",
        make: |dir, scale| {
            with_reference(dir);
            packed(dir, "sites.bed.gz", |file| {
                let _ = write!(file, "c\t0\t100\t");
                let _ = file.write_all(&vec![b'x'; 60_000_000 / scale]);
            });
        },
        commands: &["bqsr table --reference %ref.fa --known-sites %sites.bed.gz %in.sam -o %out.table"],
    },
    CostlyInput {
        name: "a contig of BCF with the number 16,777,215",
        make: |dir, _| {
            with_reference(dir);
            written(dir, "sites.bcf", |file| {
                bcf(file, "##contig=<ID=c,IDX=16777215>\n", (16_777_215, 0))
            });
        },
        commands: &["bqsr table --reference %ref.fa --known-sites %sites.bcf %in.sam -o %out.table"],
    },
    CostlyInput {
        name: "a record of BCF of 256 MiB",
        make: |dir, scale| {
            with_reference(dir);
            packed(dir, "sites.bcf", |file| {
                bcf(file, "##contig=<ID=c>\n", (0, (256 << 20) / scale as u32))
            });
        },
        commands: &["bqsr table --reference %ref.fa --known-sites %sites.bcf %in.sam -o %out.table"],
    },
    CostlyInput {
        name: "known sites on 400,000 contigs that the reads lack",
        make: |dir, scale| {
            with_reference(dir);
            written(dir, "sites.vcf", |file| {
                let _ = writeln!(file, "##fileformat=VCFv4.2\n##contig=<ID=c>");
                for i in 0..400_000 / scale {
                    let _ = writeln!(file, "##contig=<ID=a_contig_of_some_assembly_{i}>");
                }
                let _ = writeln!(
                    file,
                    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nc\t9\t.\tA\tC\t.\t.\t."
                );
            });
        },
        commands: &["bqsr table --reference %ref.fa --known-sites %sites.vcf %in.sam -o %out.table"],
    },
    CostlyInput {
        name: "a reference of 400,000 contigs",
        make: |dir, scale| {
            with_reference(dir);
            for (name, indexed) in [("ref.fa", false), ("indexed.fa", true)] {
                contigs(dir, name, 400_000 / scale, indexed);
            }
        },
        commands: &[
            "bqsr table --reference %ref.fa --known-sites %sites.bed %in.sam -o %out.table",
            "bqsr table --reference %indexed.fa --known-sites %sites.bed %in.sam -o %out.table",
            "sort -O cram --reference %indexed.fa %in.sam -o %out.cram",
        ],
    },
    CostlyInput {
        name: "2 million regions on a contig of the reads, in no order",
        make: |dir, scale| {
            with_reference(dir);
            written(dir, "regions.bed", |file| {
                for i in 0..2_000_000 / scale {
                    let at = i * 7919 % 51_000;
                    let _ = writeln!(file, "c\t{at}\t{}", at + 10);
                }
            });
        },
        commands: &[
            "bqsr table --reference %ref.fa --known-sites %regions.bed %in.sam -o %out.table",
            "bqsr table --reference %ref.fa --known-sites %sites.bed -L %regions.bed %in.sam -o %out.table",
        ],
    },
    CostlyInput {
        name: "a header of CRAM of 300 MB, inflated from 1.3 MB",
        make: |dir, scale| bomb(dir, 300_000_000 / scale),
        commands: &["sort --allow-missing-eof %in.cram -o %out.bam"],
    },
    CostlyInput {
        name: "new names for 300,000 contigs that the reads lack",
        make: |dir, scale| {
            reads(dir);
            written(dir, "names.tsv", |file| {
                let _ = writeln!(file, "c\tchrC");
                for i in 0..300_000 / scale {
                    let _ = writeln!(file, "an_old_name_{i}\ta_new_name_{i}");
                }
            });
        },
        commands: &["filter --rename-contigs %names.tsv %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "400,000 read groups to keep",
        make: |dir, scale| {
            reads(dir);
            written(dir, "groups.txt", |file| {
                (0..400_000 / scale).for_each(|i| drop(writeln!(file, "a-read-group-{i}")));
            });
        },
        commands: &["filter --in-read-groups %groups.txt %in.sam -o %out.bam"],
    },
];

/// A few reads.
fn reads(dir: &TestDir) {
    written(dir, "in.sam", |file| {
        let _ = writeln!(file, "@SQ\tSN:c\tLN:100000000");
        for i in 0..1000 {
            let _ = writeln!(file, "r{i}\t0\tc\t{}\t60\t4M\t*\t0\t0\tACGT\t*", 1 + i * 50);
        }
    });
}

/// A few reads on a short contig, its reference, and a known site.
fn with_reference(dir: &TestDir) {
    written(dir, "in.sam", |file| {
        let _ = writeln!(file, "@SQ\tSN:c\tLN:52000\n@RG\tID:a\tSM:s\tPL:ILLUMINA");
        for i in 0..1000 {
            let _ = writeln!(file, "r{i}\t0\tc\t{}\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:a", 1 + i * 50);
        }
    });
    written(dir, "sites.bed", |file| drop(writeln!(file, "c\t9\t10")));
    contigs(dir, "ref.fa", 0, false);
}

/// A reference with the contig of the reads and this number of others.
fn contigs(dir: &TestDir, name: &str, others: usize, indexed: bool) {
    let (bases, mut at) = ("ACGT".repeat(13_000), 3);
    let mut index = format!("c\t{}\t3\t{}\t{}\n", bases.len(), bases.len(), bases.len() + 1);
    written(dir, name, |file| {
        let _ = writeln!(file, ">c\n{bases}");
        at += bases.len() + 1;
        for i in 0..others {
            let line = format!(">a_contig_of_some_assembly_{i}\n");
            at += line.len();
            let _ = writeln!(file, "{line}ACGT");
            index += &format!("{}\t4\t{at}\t4\t5\n", &line[1..line.len() - 1]);
            at += 5;
        }
    });
    if indexed {
        dir.file(&format!("{name}.fai"), index);
    }
}

/// Writes a gzip file into the test's directory.
fn packed(dir: &TestDir, name: &str, write: impl FnOnce(&mut dyn Write)) {
    let file = std::fs::File::create(dir.path(name)).expect("a file");
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    write(&mut gzip);
    gzip.finish().expect("a file");
}

/// Known sites as BCF: a record on contig `of` with this number of bytes.
fn bcf(file: &mut dyn Write, header: &str, (of, behind): (u32, u32)) {
    let header = format!("##fileformat=VCFv4.2\n{header}\0");
    let _ = file.write_all(b"BCF\x02\x02");
    let _ = file.write_all(&(header.len() as u32).to_le_bytes());
    let _ = file.write_all(header.as_bytes());
    for field in [24 + behind, 0, of, 8, 1, 0, 0, 0] {
        let _ = file.write_all(&field.to_le_bytes());
    }
    let _ = std::io::copy(&mut std::io::Read::take(std::io::repeat(0), behind.into()), file);
}

/// A CRAM 3.0 file whose header is a comment with this number of bytes, compressed.
fn bomb(dir: &TestDir, size: usize) {
    let text = [&b"@CO\t"[..], &vec![b'x'; size - 5], b"\n"].concat();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = gzip.write_all(&(size as u32).to_le_bytes());
    let _ = gzip.write_all(&text);
    let data = gzip.finish().expect("bytes");
    // Numbers in five bytes, of which the first and the last have four bits.
    let number = |n: usize| {
        [0xf0 | (n >> 28) as u8, (n >> 20) as u8, (n >> 12) as u8, (n >> 4) as u8, n as u8 & 15]
    };
    let sealed = |bytes: Vec<u8>| {
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        [&bytes[..], &crc.sum().to_le_bytes()].concat()
    };
    let block = sealed([&[1, 0, 0][..], &number(data.len()), &number(size + 4), &data].concat());
    let head = sealed([&(block.len() as u32).to_le_bytes()[..], &[0, 0, 0, 0, 0, 0, 1, 1, 0]].concat());
    dir.file("in.cram", [&b"CRAM\x03\x00"[..], &[0; 20], &head, &block].concat());
}
