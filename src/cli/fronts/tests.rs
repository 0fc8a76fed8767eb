//! What lines become, and that no option of a tool is missing.

use std::collections::BTreeSet;

use readmill_record::Result;

use super::grammar::{Given, Grammar};
use super::tool::{Command, Front, Make};
use super::{TOOLS, parsed};

/// Names of the options in the help of each tool, of which `./dev parity --regenerate fronts` makes a file.
const OPTIONS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracles/fronts/options.txt"));

fn front(line: &str) -> Result<Front> {
    let mut words = line.split(' ').map(str::to_string);
    let name = words.next().unwrap_or_default();
    let tool = TOOLS.iter().find(|tool| tool.name == name).expect("a tool");
    tool.front(words.collect())
}

/// The native line of a line, or what is said instead.
fn native(line: &str) -> String {
    match front(line) {
        Ok(Front::Native(words, _)) => {
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        }
        Ok(Front::Answer(text)) => text,
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn every_option_of_a_help_is_in_its_table() {
    let mut commands = 0;
    for line in OPTIONS.lines().filter(|line| !line.starts_with('#')) {
        let (name, options) = line.split_once(": ").expect("a name and its options");
        let (tool, command) = name.split_once(' ').expect("a tool and its command");
        let tool = TOOLS.iter().find(|it| it.name == tool).expect("a tool with a front");
        let found = tool.commands.iter().find(|it| it.name == command);
        let found = found.unwrap_or_else(|| panic!("{name} has no table"));
        commands += 1;
        if matches!(found.make, Make::Refused(..)) {
            continue;
        }
        let known = names(found);
        let missing: Vec<&str> = options.split(' ').filter(|option| !known.contains(option)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
    }
    assert_eq!(commands, TOOLS.iter().map(|tool| tool.commands.len()).sum::<usize>());
}

fn names(command: &Command) -> BTreeSet<&'static str> {
    command.options.iter().flat_map(|group| group.iter()).flat_map(|option| option.names()).collect()
}

#[test]
fn no_name_stands_twice_in_a_table() {
    for command in TOOLS.iter().flat_map(|tool| tool.commands) {
        let all =
            command.options.iter().flat_map(|group| group.iter()).flat_map(|option| option.names());
        assert_eq!(all.count(), names(command).len(), "{}", command.name);
    }
}

#[test]
fn lines_of_samtools_become_native_ones() {
    for (line, wanted) in [
        ("samtools sort", "readmill sort -@ 1 -o - -l 6 --no-index -"),
        (
            "samtools sort -@0 -l1 -nuo x.bam in.bam",
            "readmill sort -n -@ 1 -o x.bam -l 0 --no-index in.bam",
        ),
        (
            "samtools sort --thr 3 -m 1G in.bam",
            "readmill sort -@ 4 -m 4096M -o - -l 6 --no-index in.bam",
        ),
        ("samtools sort -m 10M -o a b", "readmill sort -@ 1 -m 512M -o a -O bam -l 6 --no-index b"),
        ("samtools sort -n -N a.bam", "readmill sort -N -@ 1 -o - -l 6 --no-index a.bam"),
        ("samtools sort -n -M a.bam", "readmill sort -M -@ 1 -o - -l 6 --no-index a.bam"),
        ("samtools sort -M -n a.bam", "readmill sort -n -@ 1 -o - -l 6 --no-index a.bam"),
        (
            "samtools sort -M -t RX --template-coordinate a.bam",
            "readmill sort -t RX -@ 1 -o - -l 6 --no-index a.bam",
        ),
        (
            "samtools merge -o o.bam a.bam a.bam",
            "readmill merge -@ 1 -o o.bam -l 6 --no-index --allow-same-input a.bam a.bam",
        ),
        ("samtools fastq -1 1.fq a.bam", "readmill fastq --grouped -1 1.fq -2 - -@ 1 a.bam"),
        (
            "samtools fastq -1 1.fq -o o.fq -2 2.fq -n -N a.bam",
            "readmill fastq --grouped -1 o.fq -2 2.fq -N -@ 1 a.bam",
        ),
        ("samtools fastq -T  a.bam", "readmill fastq --grouped --tags * -@ 1 a.bam"),
        ("samtools sort -T d/pre -O SAM a.bam", "readmill sort -@ 1 -T d -o - -O sam --no-index a.bam"),
        (
            "samtools sort --write-index -o x.bam##idx##x.bam.bai a.bam",
            "readmill sort -@ 1 -o x.bam -l 6 --write-index=bai a.bam",
        ),
        (
            "samtools sort --output-fmt cram,version=3.0,no_ref a.bam",
            "readmill sort -@ 1 -o - -O cram,version=3.0,no-ref --no-index a.bam",
        ),
        (
            "samtools merge -f o.bam a.bam b.bam",
            "readmill merge -@ 1 -o o.bam -l 6 --no-index a.bam b.bam",
        ),
        ("samtools merge -1 -o o.bam a.bam", "readmill merge -@ 1 -o o.bam -l 1 --no-index a.bam"),
        (
            "samtools fixmate -c -r -m a.bam o.bam",
            "readmill filter --fix-mates samtools --template-cigar --drop-once-fixed -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        ("samtools fixmate -m - -", "readmill filter --fix-mates samtools -@ 1 -o - -l 6 --no-index -"),
        (
            "samtools markdup -l 500 a.bam o.bam",
            "readmill markdup --rules samtools --duplicate-mode coordinate -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -rSc -m s -@ 3 - o.bam",
            "readmill markdup --rules samtools --remove-duplicates --duplicate-mode template --ends sequence \
             --clear-marks -@ 4 -o o.bam -l 6 --no-index -",
        ),
        (
            "samtools markdup --include-fails --use-read-groups --barcode-tag RX a.bam o.bam",
            "readmill markdup --rules samtools --barcode-tag RX --duplicate-mode coordinate --include-fails --use-read-groups \
             -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -sf x --json a.bam o.bam",
            "readmill markdup --rules samtools --duplicate-mode coordinate --metrics-json x -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -r --as-picard a.bam o.bam",
            "readmill markdup --remove-duplicates --duplicate-mode coordinate -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        ("samtools fastq -T RX,BX -s s.fq", "readmill fastq --grouped -s s.fq --tags RX,BX -@ 1 -"),
        ("samtools flagstat -@ 7 a.bam", "readmill flagstat -@ 8 a.bam"),
        ("samtools flagstat -O json a.bam", "readmill flagstat --output-format json -@ 1 a.bam"),
        ("samtools idxstats -X a.bam a.bai", "readmill idxstats -@ 1 a.bam"),
        ("samtools stats -F 0 a.bam", "readmill stats -@ 1 a.bam"),
        ("samtools sort -- -x.bam", "readmill sort -@ 1 -o - -l 6 --no-index -- -x.bam"),
    ] {
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::refusal(wanted), None, "{line}");
    }
}

#[test]
fn lines_of_view_and_index_become_native_ones() {
    for (line, wanted) in [
        (
            "samtools view -bS -@ 2 -q 20 -o x.bam a.sam chr1",
            "readmill view -q 20 -@ 3 -o x.bam -O bam --level 6 a.sam chr1",
        ),
        ("samtools view -c -F 4 a.bam", "readmill view -c -F 4 -@ 1 a.bam"),
        ("samtools view -b -O sam a.bam", "readmill view -@ 1 -h -O sam a.bam"),
        ("samtools view -C -1 -o x.bam a.bam", "readmill view -@ 1 -o x.bam -O cram --level 1 a.bam"),
        ("samtools view -h --no-header -s 3.0 a.bam", "readmill view -@ 1 -O sam a.bam"),
        (
            "samtools view -b -q 20 -F 4 -F 0x100 -o x.bam -U y.bam a.bam",
            "readmill view -q 20 -F 4 -F 0x100 -U y.bam -@ 1 -o x.bam -O bam --level 6 a.bam",
        ),
        (
            "samtools view -N names --output-unselected y.sam -o x.bam a.bam chr1",
            "readmill view -N names --move-to y.sam=dropped -@ 1 -o x.bam -O bam --level 6 a.bam chr1",
        ),
        ("samtools view -c -U y.bam -q 3 a.bam", "readmill view -c -q 3 -@ 1 a.bam"),
        ("samtools faidx -n 0 r.fa chr1", "readmill faidx -n 0 r.fa chr1"),
        ("samtools dict --alias r.fa -o d", "readmill dict -A -o d r.fa"),
        ("samtools head -@ 2 -n 3 a.bam", "readmill head -n 3 a.bam"),
        ("samtools reheader -P h.sam a.bam", "readmill reheader -P h.sam a.bam"),
        ("samtools cat -h h.sam -b list a.bam -o x.bam", "readmill cat -h h.sam -b list -o x.bam a.bam"),
        (
            "samtools collate --output-fmt sam a.bam x",
            "readmill collate -@ 1 -o x.sam -O sam --no-index a.bam",
        ),
        ("samtools bamshuf -Ou a.bam x", "readmill collate -@ 1 -o - -l 0 --no-index a.bam"),
        (
            r"samtools addreplacerg -r ID:g -r SM:s -o x.bam a.bam",
            r"readmill filter --read-group @RG\tID:g\tSM:s -@ 1 -o x.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools addreplacerg -m orphan_only -R g a.bam",
            "readmill filter --orphans-to-read-group g -@ 1 -o - -O sam --no-index a.bam",
        ),
        ("samtools index -c a.bam", "readmill index -c -@ 1 a.bam"),
    ] {
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::refusal(wanted), None, "{line}");
    }
}

#[test]
fn lines_of_picard_and_gatk_become_native_ones() {
    for (line, wanted) in [
        (
            "picard -Xmx2g SortSam I=a.bam O=o.bam SO=coordinate CREATE_INDEX=TRUE",
            "readmill sort -m 2048M --sort coordinate -o o.bam -l 5 a.bam",
        ),
        (
            "picard SortSam -I a.bam --OUTPUT o.sam -SO queryname --QUIET --COMPRESSION_LEVEL null",
            "readmill sort --sort queryname --quiet -o o.sam --no-index a.bam",
        ),
        (
            "picard MarkDuplicates I=a.bam I=b.bam O=o.bam M=m ASSUME_SORTED=true CLEAR_DT=false READ_NAME_REGEX=null",
            "readmill markdup --metrics m --keep-dt --read-names null --duplicate-mode coordinate --sort coordinate \
             -o o.bam -l 5 --no-index a.bam b.bam",
        ),
        (
            "picard AddOrReplaceReadGroups I=a.bam O=/dev/stdout LB=l PL=p PU=u SM=s",
            r"readmill filter --read-group @RG\tID:1\tLB:l\tPL:p\tSM:s\tPU:u -o - -l 5 --no-index a.bam",
        ),
        (
            "gatk --java-options -Xmx4g BaseRecalibrator -I a.bam -R r.fa --known-sites k.vcf -O t -L chr1",
            "readmill bqsr table -m 4096M --allow-empty --reference r.fa --known-sites k.vcf -o t --intervals chr1 a.bam",
        ),
        (
            "gatk ApplyBQSR -I a.bam -bqsr t -O o.bam -R r.fa",
            "readmill bqsr apply --bqsr-table t --gatk-drop-malformed --reference r.fa -o o.bam -l 2 a.bam",
        ),
        (
            "picard SamToFastq I=a.bam F=o.fq",
            "readmill fastq -N --single-end -o o.fq -0 o.fq -s o.fq -F 0xb00 a.bam",
        ),
        (
            "picard SamToFastq I=a.bam F=o.fq INTERLEAVE=true",
            "readmill fastq -N -o o.fq -0 o.fq -s o.fq -F 0xb00 a.bam",
        ),
        (
            "picard FastqToSam F1=1.fq F2=2.fq O=o.bam SM=s RG=g DT=2014-06-01 V=Illumina CO=a SO=unsorted",
            r"readmill import -R @RG\tID:g\tSM:s\tDT:2014-06-01T00:00:00+0000 --comment a --quality-encoding illumina
             --sort none -o o.bam -l 5 --no-index 1.fq 2.fq",
        ),
        (
            "picard FastqToSam F1=1.fq O=o.bam SM=s MIN_Q=2 ALLOW_EMPTY_FASTQ=true",
            r"readmill import -R @RG\tID:A\tSM:s --min-quality 2 --allow-empty --quality-encoding detect --sort queryname
             -o o.bam -l 5 --no-index 1.fq",
        ),
        (
            "picard RevertSam I=a.bam O=o.bam ATTRIBUTE_TO_CLEAR=XT ATTRIBUTE_TO_REVERSE=null OQ=false ALIAS=s",
            "readmill prep --revert --revert-keep qualities --set-sample s --revert-clear NM,UQ,PG,MD,MQ,SA,MC,AS,XT \
             --revert-reverse , --sort queryname -o o.bam -l 5 --no-index a.bam",
        ),
        (
            "picard -Xmx4g RevertSam I=a.bam O=o.bam ATTRIBUTE_TO_CLEAR=XT ATTRIBUTE_TO_CLEAR=null RV=XX RV=null RV=YY SANITIZE=true",
            "readmill filter -m 2048M --whole-templates -o o.bam -l 5 --no-index -",
        ),
        (
            "picard MarkIlluminaAdapters I=a.bam O=o.bam M=m ADAPTERS=FLUIDIGM APT=-1 FIVE_PRIME_ADAPTER=ACGT",
            "readmill import --unaligned --allow-empty --mark-adapters --adapter-metrics m --prune-adapters-after -1 \
             --adapters INDEXED,DUAL_INDEXED,PAIRED_END,FLUIDIGM -o o.bam -l 5 --no-index a.bam",
        ),
        (
            "picard MarkIlluminaAdapters I=a.bam M=m ADAPTERS=null ADAPTERS=NEXTERA_V2",
            "readmill import --unaligned --allow-empty --mark-adapters --adapter-metrics m --adapters NEXTERA_V2 \
             -o /dev/null -O sam a.bam",
        ),
        (
            "picard SamToFastq I=a.bam F=o.fq INTER=true CLIP_ATTR=XT CLIP_ACT=2 CLIP_MIN=30 R1_TRIM=3 R2_MAX_BASES=50 Q=10 RC=false",
            "readmill fastq -N --clip-tag XT --skip-first 3 --most-last 50 --trim-quality 10 --as-aligned --clip-action 2 \
             --clip-least 30 -o o.fq -0 o.fq -s o.fq -F 0xb00 a.bam",
        ),
        ("picard -Xmx2g ViewSam I=a.bam", "readmill view --memory 2048M --no-PG -h a.bam"),
        (
            "picard ViewSam -Xmx2g -XX:+UseSerialGC I=a.bam",
            "readmill view --memory 2048M --no-PG -h a.bam",
        ),
        (
            "picard -Xmx2g CreateSequenceDictionary R=r.fa O=o.dict",
            "readmill dict -m 2048M --as-picard -o o.dict r.fa",
        ),
        ("gatk --java-options -Xmx2g GatherBQSRReports -I a -O c", "readmill bqsr gather -o c a"),
        ("gatk GatherBQSRReports -I a -I b -O c", "readmill bqsr gather -o c a b"),
        (
            "gatk MarkDuplicatesSpark -I a.bam -O o.bam -M m -- --spark-master local[8]",
            "readmill prep --sort coordinate --mark-duplicates --metrics m -@ 8 -o o.bam -l 2 a.bam",
        ),
    ] {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::refusal(&wanted), None, "{line}");
    }
}

#[test]
fn lines_of_elprep_and_bwa_become_native_ones() {
    for (line, wanted) in [
        (
            "elprep filter a.bam o.bam --filter-mapping-quality=20 -mark-duplicates --sorting-order queryname --timed",
            "readmill prep --min-mapq 20 --mark-duplicates --duplicate-mode coordinate --sort lexicographic -o o.bam \
             --no-index a.bam",
        ),
        (
            "elprep filter a.bam o.bam --mark-duplicates=true --clean-sam=0 --mark-duplicates=F --sqq [10,20,30] --bqsr t",
            "readmill prep --static-quantized-quals 10 --static-quantized-quals 20 --static-quantized-quals 30 \
             --bqsr --bqsr-table t -o o.bam --no-index a.bam",
        ),
        // elPrep 4 calls --reference so.
        (
            "elprep filter a.bam o.bam --bqsr t --bqsr-reference r.fa",
            "readmill prep --bqsr --bqsr-table t --reference r.fa -o o.bam --no-index a.bam",
        ),
        (
            "bwa mem -t4 -k 17 -YM r.fa 1.fq 2.fq",
            "readmill align --as-given --complete-index -@ 4 -K 40000000 --bwa=-k 17 -Y -M -o - -O sam r.fa 1.fq 2.fq",
        ),
        (
            "bwa-mem2 mem -p -K 1000 -o o.sam r.fa 1.fq 2.fq",
            "readmill align --as-given --complete-index --interleaved -@ 1 -K 1000 -o o.sam -O sam r.fa 1.fq",
        ),
        ("bwa index -a bwtsw -p x r.fa", "readmill index -o x r.fa"),
    ] {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::refusal(&wanted), None, "{line}");
    }
}

#[test]
fn what_is_not_taken_is_refused_by_name_with_the_way() {
    for (line, words) in [
        ("samtools markdup -d 100 a.bam o.bam", ["-d", "--optical-distance"]),
        ("samtools markdup -m x a.bam o.bam", ["-m is t or s", ""]),
        ("samtools sort -I r.fa a.bam", ["-I", "minimisers"]),
        ("samtools sort --output-fmt-option seqs_per_slice=5 a.bam", ["seqs_per_slice", "level"]),
        ("samtools sort --no a.bam", ["--no-PG", ""]),
        ("samtools sort --t 4 a.bam", ["--template-coordinate", "--threads"]),
        ("samtools stats a.bam chr1", ["chr1", "readmill view"]),
        ("samtools fasta a.bam", ["fasta", "bam2fq"]),
        ("samtools reheader -c cat a.bam", ["-c", "readmill head"]),
        ("samtools reheader a.bam", ["new header", ""]),
        ("samtools depth -X a.bam b.bam c.bai", ["-X", "as many indexes"]),
        ("samtools cat -@ 2 a.bam", ["no option -@", ""]),
        ("samtools cat -", ["standard input", "readmill merge"]),
        ("samtools merge -h a.bam o.bam a.bam b.bam", ["-h", "leave it out"]),
        ("samtools view -U r -q 3 -o x.bam a.bam", ["would be sam", ".bam"]),
        ("samtools view -b -U - -q 3 a.bam", ["standard output", "-U dropped.bam"]),
        ("samtools sort -m 50k a.bam", ["-m 50k", "1 MiB"]),
        ("samtools index ref.fa", ["FASTA", "readmill faidx"]),
        ("samtools addreplacerg -r SM:s a.bam", ["no ID", "-r ID"]),
        ("picard SortSam I=a O=b SO=duplicate", ["duplicate", "coordinate"]),
        ("picard SortSam I=a I=c O=b SO=coordinate", ["twice", ""]),
        ("picard RevertSam I=a O=b OUTPUT_BY_READGROUP=true", ["OUTPUT_BY_READGROUP", "readmill split"]),
        ("picard RevertSam I=a O=b SANITIZE=true SO=unsorted", ["SANITIZE", "queryname"]),
        ("picard RevertSam I=a O=b KEEP_FIRST_DUPLICATE=true", ["KEEP_FIRST_DUPLICATE", "SANITIZE"]),
        ("picard RevertSam I=a O=b REMOVE_ALIGNMENT_INFORMATION=false", ["RESTORE_HARDCLIPS", "false"]),
        ("gatk ApplyBQSR -I a -O b -bqsr c --read-filter X", ["--read-filter", "readmill filter"]),
        ("gatk BaseRecalibrator -I a -O b -R c", ["--known-sites", ""]),
        ("elprep filter a b --haplotypecaller c", ["--haplotypecaller", "variants"]),
        ("elprep split a b", ["split", "readmill prep"]),
        ("elprep filter a b --mark-duplicates=yes", ["--mark-duplicates=yes", "true nor false"]),
        ("bwa mem -t 9999999999999999 r.fa 1.fq", ["9999999999999999", "number of threads"]),
        ("samtools view --subsample 1.5 a.bam", ["1.5", "from 0 to 1"]),
        ("samtools view -s 1.5 --subsample 0.5 a.bam", ["-s", "--subsample"]),
        ("picard ReorderSam I=/dev/stdin O=b SD=c.dict", ["standard input", "to a file"]),
        ("picard FixMateInformation I=/dev/stdin O=b", ["standard input", "to a file"]),
        ("picard SamToFastq I=a F=b F2=c INTERLEAVE=true", ["INTERLEAVE", "SECOND_END_FASTQ"]),
        ("picard SamToFastq I=a F=b CLIP_ACT=X", ["CLIPPING_ATTRIBUTE", "CLIPPING_ACTION"]),
        ("picard SamToFastq I=a F=b FU=c", ["UNPAIRED_FASTQ", "SECOND_END_FASTQ"]),
        (
            r"picard AddOrReplaceReadGroups I=a O=b LB=l PL=p PU=u SM=s DS=C:\temp",
            [r"C:\temp", "backslash"],
        ),
        ("bwa mem -x ont2d r.fa 1.fq", ["-x ont2d", "-A"]),
    ] {
        let said = native(line);
        if words[0] == "--no-PG" {
            assert!(said.contains("--no-PG"), "{said}");
            continue;
        }
        assert!(said.starts_with("error: "), "{line}: {said}");
        for word in words {
            assert!(said.contains(word), "{line}: {said}");
        }
    }
}

#[test]
fn a_line_that_needs_two_runs_is_a_pipe_with_half_of_the_memory_each() {
    let line = "picard -Xmx4g RevertSam I=a.bam O=o.bam SANITIZE=true QUIET=true RC=null MAX_DISCARD_FRACTION=0.5";
    let Ok(Front::Native(words, files)) = front(line) else { panic!("a native line") };
    let joined = |words: &[std::ffi::OsString]| {
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    let source = files.source.as_deref().map(joined).unwrap_or_default();
    let wanted = "prep -m 2048M --revert --quiet --revert-complement , --sort queryname --no-index -O bam -l 0 -o - a.bam";
    assert_eq!(source, wanted);
    assert_eq!(parsed::refusal(&format!("readmill {wanted}")), None);
    let wanted = "readmill filter -m 2048M --whole-templates --max-discarded 0.5 --quiet -o o.bam -l 5 --no-index -";
    assert_eq!(joined(&words), wanted);
}

#[test]
fn a_sequence_of_fastq_files_is_as_long_as_there_are_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    for name in ["a_001.fq", "a_002.fq", "a_004.fq", "b_001.fq", "b_002.fq", "c_001.fq"] {
        std::fs::write(path(name), "").expect("a file");
    }
    let line = |rest: &str| {
        let first = path("a_001.fq");
        native(&format!("picard FastqToSam USE_SEQUENTIAL_FASTQS=true O=o.bam SM=s F1={first}{rest}"))
    };
    let [a, b] = ["a", "b"].map(|name| [1, 2].map(|n| path(&format!("{name}_00{n}.fq"))));
    let pairs = format!(" {} {} {} {}", a[0], b[0], a[1], b[1]);
    assert!(line(&format!(" F2={}", b[0])).ends_with(&pairs));
    assert!(line("").ends_with(&format!(" --single -o o.bam -l 5 --no-index {} {}", a[0], a[1])));
    assert!(line(&format!(" F2={}", path("c_001.fq"))).contains("2 files, and FASTQ2 of 1"));
    assert!(line(" F2=x_1.fq").contains("_001.fastq"));
}

#[test]
fn an_index_gets_the_name_that_picard_gives_it() {
    let line = "picard SortSam I=a.bam O=d/o.bam SO=coordinate CREATE_INDEX=true";
    let Ok(Front::Native(_, after)) = front(line) else { panic!("a native line") };
    assert_eq!(after.renamed, Some(("d/o.bam.bai".into(), "d/o.bai".into())));
}

#[test]
fn a_picard_dictionary_is_not_overwritten_and_no_directory_is_made_for_a_refused_line() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let [dict, temporary] = ["o.dict", "t"].map(|name| dir.path().join(name));
    std::fs::write(&dict, "before").expect("a line that is translated");
    let said = native(&format!("picard CreateSequenceDictionary R=r.fa O={}", dict.display()));
    assert!(said.contains("exists already"), "{said}");
    let line = |rest: &str| format!("picard SortSam I=a.bam TMP_DIR={} {rest}", temporary.display());
    assert!(native(&line("SO=coordinate")).contains("needs --OUTPUT"));
    let Ok(Front::Native(_, files)) = front(&line("SO=coordinate O=o.bam")) else { panic!("a line") };
    assert!(!temporary.exists());
    files.prepare().expect("a line that is translated");
    assert!(temporary.is_dir());
}

#[test]
fn a_file_of_arguments_that_names_itself_is_read_once() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let path = dir.path().join("arguments");
    let own = format!("--arguments_file {}", path.display());
    std::fs::write(&path, format!("# all\n-I a.bam -O o.bam\n{own}\n-SO queryname\n"))
        .expect("a line that is translated");
    assert_eq!(
        native(&format!("picard SortSam {own}")),
        "readmill sort --sort queryname -o o.bam -l 5 --no-index a.bam"
    );
}

#[test]
fn memory_of_the_line_limits_headers_and_lists() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let [reads, list] = ["a.sam", "list"].map(|name| dir.path().join(name));
    let contig = |n: usize| format!("@SQ\tSN:contig{n}\tLN:1000\n");
    std::fs::write(&reads, (0..200_000).map(contig).collect::<String>())
        .expect("a line that is translated");
    std::fs::write(&list, "x\n".repeat(1 << 20)).expect("a line that is translated");
    let given = |memory| {
        Given::parse("x", Grammar::Getopt, &[], Vec::new(), memory).expect("a line that is translated")
    };
    let (small, large) = (given(32 << 20), given(1 << 30));
    let path = |path: &std::path::Path| path.display().to_string();
    assert!(super::headers::header(&small, &path(&reads)).is_err());
    assert!(super::headers::header(&large, &path(&reads)).expect("a line that is translated").is_some());
    assert!(small.read_lines(&path(&list)).is_err());
    assert_eq!(large.read_lines(&path(&list)).expect("a line that is translated").len(), 1 << 20);
}

#[test]
fn a_list_of_regions_is_refused_where_a_file_of_features_is_taken() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    for (name, text, is_taken) in [
        ("a.list", "chr1\n", false),
        ("b.intervals", "@SQ\tSN:c\tLN:9\n", true),
        ("c.bed", "c\t0\t1\n", true),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("a line that is translated");
        let said = native(&format!("gatk ApplyBQSR -I a -O b -bqsr t -L {}", path.display()));
        assert_eq!(!said.contains("a list of regions"), is_taken, "{said}");
    }
}

#[test]
fn version_behind_a_command_prints_the_version() {
    for line in ["picard SortSam --version", "gatk ApplyBQSR --version"] {
        assert!(native(line).starts_with("readmill "), "{line}: {}", native(line));
    }
}

#[test]
fn the_shown_line_quotes_names_of_files() {
    let files = ["a b.bam.bai", "a b.bai"].map(std::path::PathBuf::from);
    let [from, to] = files;
    let line = super::line::Line { renamed: Some((from, to)), ..super::line::Line::new("sort") };
    assert_eq!(line.shown(), "readmill sort && mv 'a b.bam.bai' 'a b.bai'");
}
