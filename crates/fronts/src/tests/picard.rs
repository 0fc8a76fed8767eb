//! Tests of what is done besides the native line, for Picard and GATK.

use super::{TranslatedLine, front, native};

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
    for (output, name) in [
        ("d/o.bam", Some("d/o.bai")),
        ("d/o.sorted", None),
        ("d/o.BAM", None),
        ("o.1.bam", Some("o.1.bai")),
    ] {
        let line = format!("picard SortSam I=a.bam O={output} SO=coordinate CREATE_INDEX=true");
        let Ok(TranslatedLine::Native(_, after)) = front(&line) else { panic!("a native line") };
        let renamed = name.map(|name| (format!("{output}.bai").into(), name.into()));
        assert_eq!(after.renamed, renamed, "{output}");
    }
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
        let made = front(&format!("{line} {filters}"));
        let Ok(TranslatedLine::Native(_, files)) = made else { panic!("{filters}") };
        let source = files.source.expect("a run in front");
        let words: Vec<_> = source.iter().map(|word| word.to_string_lossy()).collect();
        let shown = words.join(" ");
        assert!(shown.contains(wanted), "{shown}");
    }
}

#[test]
fn inputs_and_filters_of_haplotype_caller_become_a_run_in_front() {
    for (rest, wanted) in [
        ("-I b.bam", "merge -m"),
        ("-I b.bam", "--quiet -O bam -l 0 -o - a.bam b.bam"),
        ("--minimum-mapping-quality 30 -RF MappingQualityReadFilter", "-e mapq >= 30 a.bam"),
        ("--maximum-mapping-quality 50", "-e mapq >= 20 && mapq <= 50 a.bam"),
        ("-DF NotDuplicateReadFilter", "--remove-flags 0x400 a.bam"),
        ("-RF PairedReadFilter -RF GoodCigarReadFilter", "-l 0 -o - -e flag.paired a.bam"),
    ] {
        let line = format!("gatk HaplotypeCaller -R r.fa -O o.vcf -I a.bam {rest}");
        let Ok(TranslatedLine::Native(_, files)) = front(&line) else { panic!("{line}") };
        let source = files.source.expect("a run in front");
        let words: Vec<_> = source.iter().map(|word| word.to_string_lossy()).collect();
        let shown = words.join(" ");
        assert!(shown.contains(wanted), "{shown}");
    }
}
