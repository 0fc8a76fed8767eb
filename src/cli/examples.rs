//! Examples in the help of each command. A test runs all of them, in the order of the help, in a
//! directory that has the files they name.

/// The examples of each command. The short help has the first two.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "align",
        &[
            "readmill align ref.fa R1.fq.gz R2.fq.gz -R '@RG\\tID:lane1\\tSM:sample' -o aligned.bam",
            "readmill align ref.fa R1.fq.gz R2.fq.gz -R '@RG\\tID:lane1\\tSM:sample' --sort coordinate --mark-duplicates -o ready.cram --reference ref.fa",
            "readmill align ref.fa R1.fq.gz R2.fq.gz --trim --cut-tail --sort coordinate -o trimmed.bam",
            "readmill align ref.fa R1.fastq.gz R2.fastq.gz -o out.bam --sort coordinate --fastqc qc",
        ],
    ),
    (
        "import",
        &[
            "readmill import R1.fq.gz R2.fq.gz -R '@RG\\tID:lane1\\tSM:sample' -o unaligned.bam",
            "readmill import R1.fq.gz R2.fq.gz --mark-adapters --adapter-metrics adapters.txt --sort queryname -o by-name.bam",
        ],
    ),
    (
        "merge-alignment",
        &[
            "readmill merge-alignment unaligned.bam aligned.bam --reference ref.fa -o merged.bam --sort coordinate --nm-md-uq",
            "bwa mem -p ref.fa reads.fq | readmill merge-alignment unaligned.bam - -o merged.bam --sort queryname",
        ],
    ),
    ("index", &["readmill index ref.fa", "readmill index sorted.bam"]),
    ("faidx", &["readmill faidx ref.fa", "readmill faidx ref.fa chr1:1-2000 chr2"]),
    ("dict", &["readmill dict ref.fa -o ref.dict", "readmill dict ref.fa --as-picard -o ref.dict"]),
    (
        "quickcheck",
        &["readmill quickcheck *.bam && echo all complete", "readmill quickcheck -v *.bam > bad.txt"],
    ),
    ("head", &["readmill head in.bam", "readmill head -h 0 -n 5 in.bam"]),
    (
        "collate",
        &[
            "readmill collate in.bam -o by-name.bam",
            "readmill collate in.cram --reference ref.fa -o by-name.bam",
        ],
    ),
    (
        "cat",
        &["readmill cat part1.bam part2.bam -o whole.bam", "readmill cat -b parts.txt -o whole.bam"],
    ),
    (
        "reheader",
        &[
            "readmill head in.bam | sed 's/SN:chr/SN:/' > new.sam",
            "readmill reheader new.sam in.bam -o renamed.bam",
        ],
    ),
    (
        "prep",
        &[
            "readmill prep in.bam -o out.bam --sort coordinate --mark-duplicates --metrics dup.txt",
            "readmill prep in.bam -o out.bam --sort coordinate --mark-duplicates --reference ref.fa --bqsr --known-sites dbsnp.vcf.gz",
            "bwa mem ref.fa R1.fq R2.fq | readmill prep -o out.bam --sort coordinate --mark-duplicates",
        ],
    ),
    (
        "sort",
        &[
            "readmill sort in.bam -o sorted.bam",
            "readmill sort -n in.bam -o by-name.bam -@ 8 -m 4G",
            "bwa mem ref.fa R1.fq R2.fq | readmill sort -o sorted.bam",
        ],
    ),
    (
        "markdup",
        &[
            "readmill markdup sorted.bam -o marked.bam --metrics dup.txt",
            "readmill markdup sorted.bam -o unique.bam --remove-duplicates",
        ],
    ),
    (
        "filter",
        &[
            "readmill filter -q 20 -F 0x904 in.bam -o good.bam",
            "readmill filter -L exome.bed in.bam -o on-target.bam",
            "readmill filter -e '[NM] <= 2 && mapq >= 30' in.bam -o out.bam",
        ],
    ),
    (
        "view",
        &[
            "readmill view sorted.bam chr1:1,000-2,000",
            "readmill view -b -o out.bam sorted.cram chr1 chr2 --reference ref.fa",
            "readmill view -b -M -L exons.bed sorted.bam",
            "readmill view -c -F UNMAP,DUP in.bam",
            "readmill view -u -q 20 -e '[NM] < 5' in.bam",
        ],
    ),
    (
        "bqsr table",
        &[
            "readmill bqsr table in.bam --reference ref.fa --known-sites dbsnp.vcf.gz -o recal.table",
            "readmill bqsr table in.bam --reference ref.fa --known-sites dbsnp.vcf.gz -L chr1 -o chr1.table",
        ],
    ),
    (
        "bqsr apply",
        &[
            "readmill bqsr apply --bqsr-table recal.table in.bam -o out.bam",
            "readmill bqsr apply --bqsr-table recal.table --emit-original-quals in.bam -o out.bam",
        ],
    ),
    (
        "bqsr gather",
        &[
            "readmill bqsr gather part1.table part2.table -o recal.table",
            "readmill bqsr gather part1.table part2.table -o - > recal.table",
        ],
    ),
    (
        "bqsr plot-data",
        &[
            "readmill bqsr plot-data --before before.table --after after.table -o plot.csv",
            "readmill bqsr plot-data --table recal.table -o plot.csv",
        ],
    ),
    (
        "merge",
        &[
            "readmill merge lane1.bam lane2.bam -o sample.bam",
            "readmill merge -n lane1.bam lane2.bam -o by-name.bam",
        ],
    ),
    (
        "split",
        &[
            "readmill split --by read-group in.bam -o lanes/",
            "readmill split --by records=1000000 in.bam -o part",
        ],
    ),
    (
        "fastq",
        &[
            "readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz -s single.fq.gz -0 other.fq.gz",
            "readmill fastq in.bam --per-read-group 'lanes/{ID}_{end}.fastq.gz'",
        ],
    ),
    ("flagstat", &["readmill flagstat in.bam", "readmill flagstat in.bam -O json -o in.flagstat"]),
    ("idxstats", &["readmill idxstats in.bam", "readmill idxstats sorted.cram --reference ref.fa"]),
    (
        "stats",
        &[
            "readmill stats in.bam -o in.stats",
            "readmill stats -p -d -t exons.tsv -g 20 sorted.bam -o exons.stats",
        ],
    ),
    (
        "depth",
        &[
            "readmill depth -a -r chr1:1,000-2,000 sorted.bam",
            "readmill depth -q 20 -Q 30 -s -H tumour.bam normal.bam -o depth.txt",
            "readmill depth -b exons.bed sorted.bam",
        ],
    ),
    ("coverage", &["readmill coverage sorted.bam", "readmill coverage -m -w 60 -r chr1 sorted.bam"]),
    (
        "bedcov",
        &[
            "readmill bedcov exons.bed sorted.bam",
            "readmill bedcov -d 20 -c exons.bed tumour.bam normal.bam",
        ],
    ),
    (
        "qc",
        &[
            "readmill qc in.bam -o in --reference ref.fa",
            "readmill qc R1.fastq.gz R2.fastq.gz --no-metrics --fastqc qc",
            "readmill qc sorted.bam -o in --metrics CollectWgsMetrics --coverage --reference ref.fa --report in.html",
        ],
    ),
    (
        "call",
        &[
            "readmill call marked.bam --reference ref.fa -o sample.g.vcf.gz",
            "readmill call marked.bam --reference ref.fa --mode vcf -L chr1 -o chr1.vcf.gz",
        ],
    ),
    (
        "fingerprint count",
        &[
            "readmill fingerprint count in.bam --sites common.vcf.gz -o in.fingerprint",
            "readmill fingerprint count in.cram --sites common.vcf.gz --reference ref.fa -o in.fingerprint",
        ],
    ),
    (
        "fingerprint compare",
        &[
            "readmill fingerprint compare tumour.fingerprint normal.fingerprint",
            "readmill fingerprint compare --expect-same lane1.fingerprint lane2.fingerprint",
        ],
    ),
    ("checksum", &["readmill checksum in.bam", "readmill checksum --samtools in.bam"]),
    (
        "report",
        &[
            "readmill report sample.run.json -o sample.html",
            "readmill report *.run.json --assay exome --sample-sheet samples.tsv -o cohort.html",
            "readmill report *.run.json -o cohort.html --multiqc qc/readmill_mqc.json",
        ],
    ),
    (
        "compare",
        &[
            "readmill compare old.bam new.bam",
            "readmill compare --ignore-flag DUP --ignore-tag PG old.bam new.bam",
        ],
    ),
    (
        "shard",
        &[
            "readmill shard plan --work DIR --shards 8 prep in.bam -o out.bam --sort coordinate",
            "readmill shard run --work DIR",
        ],
    ),
    (
        "shard plan",
        &[
            "readmill shard plan --work DIR --shards 8 prep in.bam -o out.bam --sort coordinate",
            "readmill shard plan --work DIR2 --shards 4 sort in.bam -o sorted.bam",
        ],
    ),
    ("shard run", &["readmill shard run --work DIR", "readmill shard run --work DIR -@ 8 -m 4G"]),
    (
        "cluster",
        &[
            "readmill cluster local --run -- prep in.bam -o out.bam --sort coordinate",
            "readmill cluster slurm --workers 8 --cores 16 --memory 64G --time 2:00:00 --run -- prep in.bam -o out.bam --sort coordinate",
        ],
    ),
    ("demo", &["readmill demo", "readmill demo --page"]),
    (
        "completions",
        &["readmill completions bash > readmill.bash", "readmill completions zsh > _readmill"],
    ),
    ("man", &["readmill man man1", "readmill man share/man/man1 && man -M share/man readmill-sort"]),
];

/// Maximum length of a line of an example. clap would break longer ones at any blank.
const MAX_COLUMNS: usize = 92;

/// Returns the examples of the command with this path, such as `shard plan`.
pub fn find_examples(path: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(name, _)| *name == path).map_or(&[], |(_, lines)| lines)
}

/// Returns an example for the help. A long line is continued, as in a shell, before a flag or a pipe.
pub fn format_example(line: &str) -> String {
    let (mut text, mut columns) = (String::from("\n "), 1);
    let mut parts: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match parts.last_mut() {
            Some(part) if !word.starts_with(['-', '|']) => *part += &format!(" {word}"),
            _ => parts.push(word.to_string()),
        }
    }
    for part in parts {
        if columns + part.len() > MAX_COLUMNS {
            text += " \\\n     ";
            columns = 5;
        }
        text += &format!(" {part}");
        columns += 1 + part.len();
    }
    text
}
