//! Tests of the native lines for Picard and GATK.

use std::ffi::OsString;

use super::{TOOLS, TranslatedLine, front, native, parsed};

/// Compares native lines, ignoring repeated spaces, and parses each of them.
fn compare(lines: &[(&str, &str)]) {
    for &(line, wanted) in lines {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        let made = native(line);
        // Half of the memory of this machine, which depends on the machine.
        let memory = made.split(' ').nth(4).filter(|_| wanted.contains("MEMORY")).unwrap_or_default();
        let wanted = wanted.replace("MEMORY", memory);
        assert_eq!(made, wanted, "{line}");
        assert_eq!(parsed::native_error(&wanted), None, "{line}");
    }
}

#[test]
fn merges_of_alignments_become_native_ones() {
    compare(&[
        (
            "picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam R=r.fa",
            "readmill merge-alignment --max-gaps 1 --reference r.fa --sort coordinate --nm-md-uq -o o.bam -l 5 \
             --no-index u.bam a.bam",
        ),
        // As in the workflows of WARP.
        (
            "gatk MergeBamAlignment --VALIDATION_STRINGENCY SILENT --EXPECTED_ORIENTATIONS FR --ATTRIBUTES_TO_RETAIN X0 \
             --ATTRIBUTES_TO_REMOVE NM --ATTRIBUTES_TO_REMOVE MD --ALIGNED_BAM /dev/stdin --UNMAPPED_BAM u.bam \
             --OUTPUT o.bam --REFERENCE_SEQUENCE r.fa --PAIRED_RUN true --SORT_ORDER unsorted \
             --IS_BISULFITE_SEQUENCE false --ALIGNED_READS_ONLY false --CLIP_ADAPTERS false \
             --CLIP_OVERLAPPING_READS true --CLIP_OVERLAPPING_READS_OPERATOR H --MAX_RECORDS_IN_RAM 2000000 \
             --ADD_MATE_CIGAR true --MAX_INSERTIONS_OR_DELETIONS -1 --PRIMARY_ALIGNMENT_STRATEGY MostDistant \
             --PROGRAM_RECORD_ID bwamem --PROGRAM_GROUP_VERSION 0.7 --PROGRAM_GROUP_COMMAND_LINE bwa \
             --PROGRAM_GROUP_NAME bwamem --UNMAPPED_READ_STRATEGY COPY_TO_TAG --ALIGNER_PROPER_PAIR_FLAGS true \
             --UNMAP_CONTAMINANT_READS true --ADD_PG_TAG_TO_READS false",
            "readmill merge-alignment --no-clip-adapters --no-program-field --keep-fields X0 --drop-fields NM,MD \
             --aligner-proper-pairs --clip-overlaps hard --primary most-distant --unmap-contaminants=32 \
             --contaminant-alignments copy --program-id bwamem --program-name bwamem --program-version 0.7 \
             --program-command bwa --reference r.fa --sort none -o o.bam -l 2 --no-index u.bam -",
        ),
        (
            "picard MergeBamAlignment UNMAPPED=u.bam R1_ALIGNED=1.bam R2_ALIGNED=2.bam O=o.bam R=r.fa SO=queryname \
             MAX_GAPS=2 R1_TRIM=5 RV=YA RC=null JUMP=300 MATCHING_DICTIONARY_TAGS=AS",
            "readmill merge-alignment --reverse-fields OQ,U2,YA --complement-fields , --match-dictionary M5,LN,AS \
             --orientations RF --max-gaps 2 --trimmed 5,0 --reference r.fa --sort queryname -o o.bam -l 5 --no-index \
             --first-aligned 1.bam --last-aligned 2.bam u.bam",
        ),
    ]);
    for (line, what) in [
        ("picard MergeBamAlignment UNMAPPED=u.bam O=o.bam R=r.fa", "must be given"),
        ("picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam", "REFERENCE_SEQUENCE"),
        ("picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam R=r.fa PG=x", "given together"),
        (
            "picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam R=r.fa JUMP=1 ORIENTATIONS=FR",
            "exclude each other",
        ),
    ] {
        assert!(native(line).contains(what), "{line}: {}", native(line));
    }
}

#[test]
fn lines_of_picard_become_native_ones() {
    compare(&[
        (
            "picard -Xmx2g SortSam I=a.bam O=o.bam SO=coordinate CREATE_INDEX=TRUE",
            "readmill sort -m 2048M --sort coordinate -o o.bam -l 5 a.bam",
        ),
        (
            "picard SortSam -I a.bam --OUTPUT o.sam -SO queryname --QUIET --COMPRESSION_LEVEL null",
            "readmill sort --sort queryname --quiet -o o.sam --no-index a.bam",
        ),
        // A space after `=`, and options of Java after the name of the tool.
        (
            "picard SortSam I= a.bam O= o.bam.sorted SO=coordinate -Dsamjdk.compression_level=2",
            "readmill sort --sort coordinate -o o.bam.sorted -O bam -l 2 --no-index a.bam",
        ),
        (
            "picard FixMateInformation I=/dev/stdin O=o.bam SO=coordinate CREATE_INDEX=true",
            "readmill prep --sort coordinate --fix-mates picard -o o.bam -l 5 -",
        ),
        // GATK includes Picard's tools.
        (
            "gatk CleanSam -I a.bam -O o.bam",
            "readmill filter --clean-sam -o o.bam -l 2 --no-index a.bam",
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
        ("picard -Xmx2g ViewSam I=a.bam", "readmill view --memory 2048M --no-PG -h a.bam"),
        (
            "picard ViewSam -Xmx2g -XX:+UseSerialGC I=a.bam",
            "readmill view --memory 2048M --no-PG -h a.bam",
        ),
        (
            "picard -Xmx2g CreateSequenceDictionary R=r.fa O=o.dict",
            "readmill dict -m 2048M --as-picard -o o.dict r.fa",
        ),
    ]);
}

#[test]
fn lines_of_picard_with_unaligned_reads_become_native_ones() {
    compare(&[
        (
            "picard SamToFastq I=a.bam F=o.fq",
            "readmill fastq -N --single-end -o o.fq -0 o.fq --refuse-singles -F 0xb00 a.bam",
        ),
        (
            "picard SamToFastq I=a.bam F=o.fq INTERLEAVE=true",
            "readmill fastq -N -o o.fq -0 o.fq --refuse-singles -F 0xb00 a.bam",
        ),
        (
            "picard SamToFastq I=a.bam F=1.fq F2=2.fq FU=0.fq VALIDATION_STRINGENCY=LENIENT",
            "readmill fastq -N -1 1.fq -2 2.fq -0 0.fq --drop-singles -F 0xb00 a.bam",
        ),
        (
            "picard SamToFastq I=a.bam OUTPUT_PER_RG=true OUTPUT_DIR=d{1}/",
            "readmill fastq -N --per-read-group d{{1}}/{PU}_{end}.fastq --refuse-singles -F 0xb00 a.bam",
        ),
        (
            "picard SamToFastq I=a.bam OPRG=true ODIR=. RGT=id GZOPRG=true INTER=true COMPRESSION_LEVEL=1",
            "readmill fastq -N --per-read-group ./{ID}_1.fastq.gz --refuse-singles -F 0xb00 -c 1 a.bam",
        ),
        (
            "picard RevertSam I=a.bam O=. OUTPUT_BY_READGROUP=true",
            "readmill prep --revert --sort queryname --split-by read-group --split-no-rest \
             --split-names ./{ID:raw}.bam -l 5 --no-index a.bam",
        ),
        (
            "picard RevertSam I=a.sam O=. OBR=true SO=unsorted",
            "readmill prep --revert --sort none --split-by read-group --split-no-rest \
             --split-names ./{ID:raw}.sam --no-index a.sam",
        ),
        (
            "picard -Xmx2g RevertSam I=a.bam OM=m.tsv OBR=true SANITIZE=true",
            "readmill filter -m 1024M --whole-templates --split-by read-group --split-no-rest --split-table m.tsv \
             -l 5 --no-index -",
        ),
        (
            "picard FastqToSam F1=1.fq F2=2.fq O=o.bam SM=s RG=g DT=2014-06-01 V=Illumina CO=a SO=unsorted",
            r"readmill import --require-reads -R @RG\tID:g\tSM:s\tDT:2014-06-01T00:00:00+0000 --comment a --quality-encoding illumina
             --sort none -o o.bam -l 5 --no-index 1.fq 2.fq",
        ),
        (
            "picard FastqToSam F1=1.fq O=o.bam SM=s MIN_Q=2 ALLOW_EMPTY_FASTQ=true",
            r"readmill import -R @RG\tID:A\tSM:s --min-quality 2 --quality-encoding detect --sort queryname
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
            "readmill import --unaligned --mark-adapters --adapter-metrics m --prune-adapters-after -1 \
             --adapters INDEXED,DUAL_INDEXED,PAIRED_END,FLUIDIGM -o o.bam -l 5 --no-index a.bam",
        ),
        (
            "picard MarkIlluminaAdapters I=a.bam M=m ADAPTERS=null ADAPTERS=NEXTERA_V2",
            "readmill import --unaligned --mark-adapters --adapter-metrics m --adapters NEXTERA_V2 \
             -o /dev/null -O sam a.bam",
        ),
        (
            "picard SamToFastq I=a.bam F=o.fq INTER=true CLIP_ATTR=XT CLIP_ACT=2 CLIP_MIN=30 R1_TRIM=3 R2_MAX_BASES=50 Q=10 RC=false",
            "readmill fastq -N --clip-tag XT --skip-first 3 --most-last 50 --trim-quality 10 --as-aligned --clip-action 2 \
             --clip-least 30 -o o.fq -0 o.fq --refuse-singles -F 0xb00 a.bam",
        ),
    ]);
}

#[test]
fn lines_of_gatk_become_native_ones() {
    compare(&[
        (
            "gatk --java-options -Xmx4g BaseRecalibrator -I a.bam -R r.fa --known-sites k.vcf -O t -L chr1",
            "readmill bqsr table -m 4096M --allow-empty --reference r.fa --known-sites k.vcf -o t --intervals chr1 a.bam",
        ),
        (
            "gatk ApplyBQSR -I a.bam -bqsr t -O o.bam -R r.fa",
            "readmill bqsr apply --bqsr-table t --gatk-drop-malformed --reference r.fa -o o.bam -l 2 a.bam",
        ),
        (
            "gatk ApplyBQSR -I a.bam -bqsr t -O o.bam -L chr1 -L chr2:5-9 -L unmapped -XL x.bed -ip 10",
            "readmill prep --bqsr-apply t --gatk-drop-malformed --in-intervals chr1 --in-intervals chr2:5-9 --in-intervals \
             unmapped --outside-intervals x.bed --in-intervals-padding 10 -o o.bam -l 2 a.bam",
        ),
        (
            "gatk BaseRecalibrator -I a.bam -R r.fa --known-sites k.vcf -O t -RF WellformedReadFilter -DF AllowAllReadsReadFilter",
            "readmill bqsr table --allow-empty --reference r.fa --known-sites k.vcf -o t a.bam",
        ),
        (
            "gatk BaseRecalibrator -I a.bam -I b.bam -R r.fa --known-sites k.vcf -O t -RF MappingQualityReadFilter -DF NotDuplicateReadFilter",
            "readmill bqsr table -m MEMORY --allow-empty --reference r.fa --known-sites k.vcf -o t -",
        ),
        ("gatk --java-options -Xmx2g GatherBQSRReports -I a -O c", "readmill bqsr gather -o c a"),
        ("gatk GatherBQSRReports -I a -I b -O c", "readmill bqsr gather -o c a b"),
        (
            "gatk MarkDuplicatesSpark -I a.bam -O o.bam -M m -- --spark-master local[8]",
            "readmill prep --sort coordinate --mark-duplicates --duplicate-mode template --metrics m -@ 8 -o o.bam -l 2 a.bam",
        ),
    ]);
}

#[test]
fn a_line_that_needs_two_runs_is_a_pipe_with_half_of_the_memory_each() {
    let line = "picard -Xmx4g RevertSam I=a.bam O=o.bam SANITIZE=true QUIET=true RC=null MAX_DISCARD_FRACTION=0.5";
    let Ok(TranslatedLine::Native(words, files)) = front(line) else { panic!("a native line") };
    let joined = |words: &[std::ffi::OsString]| {
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    let source = files.source.as_deref().map(joined).unwrap_or_default();
    let wanted = "prep -m 2048M --revert --quiet --revert-complement , --revert-erase-unequal --sort queryname --no-index -O bam -l 0 -o - a.bam";
    assert_eq!(source, wanted);
    assert_eq!(parsed::native_error(&format!("readmill {wanted}")), None);
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
    assert!(
        line(&format!(" F2={}", path("c_001.fq"))).contains("2 files, but FASTQ2 is a sequence of 1")
    );
    assert!(line(" F2=x_1.fq").contains("_001.fastq"));
}

#[test]
fn an_index_gets_the_name_that_picard_gives_it() {
    let line = "picard SortSam I=a.bam O=d/o.bam SO=coordinate CREATE_INDEX=true";
    let Ok(TranslatedLine::Native(_, after)) = front(line) else { panic!("a native line") };
    assert_eq!(after.renamed, Some(("d/o.bam.bai".into(), "d/o.bai".into())));
}

#[test]
fn a_picard_dictionary_is_not_overwritten_and_no_directory_is_made_for_a_refused_line() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let [dict, temporary] = ["o.dict", "t"].map(|name| dir.path().join(name));
    std::fs::write(&dict, "before").expect("a line that is translated");
    let said = native(&format!("picard CreateSequenceDictionary R=r.fa O={}", dict.display()));
    assert!(said.contains("already exists"), "{said}");
    let line = |rest: &str| format!("picard SortSam I=a.bam TMP_DIR={} {rest}", temporary.display());
    assert!(native(&line("SO=coordinate")).contains("needs --OUTPUT"));
    let Ok(TranslatedLine::Native(_, files)) = front(&line("SO=coordinate O=o.bam")) else {
        panic!("a line")
    };
    assert!(!temporary.exists());
    files.create_directories().expect("a line that is translated");
    assert!(temporary.is_dir());
}

#[test]
fn filters_of_gatk_become_a_run_in_front() {
    let line = "gatk BaseRecalibrator -I a.bam -R r.fa --known-sites k.vcf -O t";
    for (filters, wanted) in [
        (
            "-RF PairedReadFilter -RF PrimaryLineReadFilter",
            "-e flag.paired -e !flag.secondary && !flag.supplementary",
        ),
        (
            "--read-filter MappingQualityReadFilter --minimum-mapping-quality 30 --maximum-mapping-quality 60",
            "-e mapq >= 30 && mapq <= 60",
        ),
        ("-RF ReadLengthReadFilter --max-read-length 9", "-e length(seq) >= 1 && length(seq) <= 9"),
        (
            r#"-RF LibraryReadFilter --library a"b --library c"#,
            r#"-e library == "a\"b" || library == "c""#,
        ),
        ("-DF NotDuplicateReadFilter -DF WellformedReadX", "--remove-flags 0x400"),
    ] {
        let words = format!("{line} {filters}").split(' ').skip(1).map(str::to_string).collect();
        let tool = TOOLS.iter().find(|tool| tool.name == "gatk").expect("a tool");
        let Ok(TranslatedLine::Native(_, files)) = tool.translate(words) else { panic!("{filters}") };
        let source = files.source.expect("a run in front");
        let words: Vec<String> = source.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let shown = words.join(" ");
        assert!(shown.contains(wanted), "{shown}");
        let words: Vec<OsString> = std::iter::once("readmill".into()).chain(source).collect();
        assert_eq!(parsed::native_error_of_words(&words), None, "{shown}");
    }
}
