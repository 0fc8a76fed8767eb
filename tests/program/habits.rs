//! What users of other tools do without thinking: a pipe without a dash, `-@ 0`, values in capitals, names of other tools'
//! commands; and messages for programs.
#![allow(clippy::unwrap_used)]

use crate::faults::fixtures::{Ended, TestFolders, bam, many};

/// Folders with a file of reads in no order, `in/x.bam`.
fn folders() -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(300, 90)));
    folders
}

fn run(folders: &TestFolders, line: &str) -> Ended {
    folders.run(&mut folders.shell(line))
}

#[test]
fn standard_input_is_the_input_where_none_is_given() {
    let folders = folders();
    run(&folders, "$0 sort in/x.bam -l 1 --no-PG -o out/named.bam").succeeds();
    run(&folders, "$0 sort -l 1 --no-PG -o out/piped.bam < in/x.bam").succeeds();
    run(&folders, "cat in/x.bam | $0 sort -l 1 --no-PG > out/both.bam").succeeds();
    let [named, piped] =
        ["named.bam", "piped.bam"].map(|name| std::fs::read(folders.out(name)).unwrap());
    assert!(named == piped, "named and piped differ");
    assert!(std::fs::metadata(folders.out("both.bam")).unwrap().len() > 1000);
    let ended = run(&folders, "$0 flagstat < in/x.bam");
    ended.succeeds();
    assert!(String::from_utf8_lossy(&ended.stdout).starts_with("300 + 0 in total"));
    run(&folders, "$0 sort -o out/none.bam < /dev/null")
        .fails(1, &["no input", "standard input is /dev/null"]);
}

#[test]
fn no_threads_are_one_thread() {
    let folders = folders();
    let ended = run(&folders, "$0 sort -@ 0 in/x.bam -o out/x.bam");
    ended.succeeds();
    assert!(ended.stderr.contains("1 thread in total"), "{}", ended.stderr);
}

#[test]
fn values_are_taken_in_any_case() {
    let folders = folders();
    for line in [
        "$0 sort --sort COORDINATE -O BAM in/x.bam -o out/a.bam",
        "$0 sort --sort Name -O SAM in/x.bam -o out/a.sam",
        "$0 sort -O Cram,No-Ref in/x.bam -o out/a.cram",
        "$0 sort --write-index=CSI in/x.bam -o out/c.bam",
        "$0 markdup --duplicate-mode AUTO in/x.bam -o out/d.bam",
    ] {
        run(&folders, line).succeeds();
    }
    let text = std::fs::read_to_string(folders.out("a.sam")).unwrap();
    assert!(text.starts_with("@HD\tVN:1.6\tSO:queryname\tSS:queryname:natural"), "{text:.80}");
}

#[test]
fn threads_and_memory_have_defaults_in_the_environment() {
    let folders = folders();
    let line = "READMILL_THREADS=1 READMILL_MEMORY=200M $0 sort in/x.bam -o out/x.bam";
    let said = run(&folders, line).stderr;
    assert!(said.contains("1 thread in total, 200 MiB of memory in total"), "{said}");
    let said = run(&folders, &line.replace(" in/x.bam", " -m 300M in/x.bam")).stderr;
    assert!(said.contains("300 MiB of memory in total"), "a flag counts more: {said}");
    // An error names the variable or the flag that has the wrong value.
    let line = "READMILL_MEMORY=lots $0 sort in/x.bam -o out/x.bam";
    run(&folders, line).fails(1, &["lots", "READMILL_MEMORY"]);
    run(&folders, &format!("{line} -m few")).fails(1, &["few", "--memory"]);
    run(&folders, "READMILL_THREADS=all $0 sort in/x.bam").fails(1, &["all", "READMILL_THREADS"]);
}

#[test]
fn names_of_other_tools_lead_to_ours() {
    let folders = folders();
    for (line, tip) in [
        ("mem ref.fa in/x.bam", "use readmill align REF R1.fq R2.fq"),
        ("fixmate in/x.bam out/x.bam", "readmill prep in.bam -o out.bam --fix-mates"),
        ("MarkDuplicates I=in/x.bam", "readmill markdup in.bam -o out.bam --metrics FILE"),
        ("sort --nr-of-threads 4 in/x.bam", "use -@ N, the total number of threads"),
        ("sort --TMP_DIR=x in/x.bam", "use --temp-dir DIR, the directory for temporary files"),
        ("bamshuf in/x.bam", "readmill collate in.bam -o out.bam"),
        (
            "view -m 100M in/x.bam",
            "-m of view is the minimum read length, as in samtools; to limit memory, use --memory SIZE",
        ),
    ] {
        let ended = run(&folders, &format!("$0 {line}"));
        assert_eq!(ended.status.code(), Some(1), "{line}");
        assert!(ended.stderr.contains(&format!("tip: {tip}")), "{line}: {}", ended.stderr);
    }
}

/// The messages of a run, each of which must be an object in JSON.
fn messages(ended: &Ended) -> Vec<serde_json::Value> {
    let message = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
    ended.stderr.lines().map(message).collect()
}

#[test]
fn a_wrong_command_line_is_a_message_too() {
    let folders = folders();
    for line in
        ["$0 sort --log-format json --bogus", "READMILL_LOG_FORMAT=json $0 samtools view --bogus"]
    {
        let ended = run(&folders, line);
        assert_eq!(ended.status.code(), Some(1), "{line}");
        let all = messages(&ended);
        assert!(
            all[0]["level"] == "error" && all[0]["message"].to_string().contains("bogus"),
            "{all:?}"
        );
    }
}

#[test]
fn help_that_cannot_be_printed_is_an_error() {
    let folders = folders();
    for line in ["$0 --help", "$0 -V", "$0 picard SortSam --help"] {
        run(&folders, &format!("{line} > /dev/full")).fails(3, &["standard output cannot be written"]);
    }
}

#[test]
fn messages_are_json_for_programs() {
    let folders = folders();
    let done = run(&folders, "$0 sort --log-format json -v in/x.bam -o out/x.bam");
    done.succeeds();
    let said = messages(&done);
    assert!(said.len() > 2);
    for message in &said {
        assert!(message["time"].as_f64().unwrap() > 1.7e9, "{message}");
        assert_eq!(message["level"], "info", "{message}");
        assert!(!message["message"].as_str().unwrap().is_empty());
    }
    let failed = run(&folders, "READMILL_LOG_FORMAT=json $0 sort in/absent.bam -o out/y.bam");
    assert_eq!(failed.status.code(), Some(3));
    let said = messages(&failed);
    let last = said.last().unwrap();
    assert_eq!(last["level"], "error");
    assert!(last["message"].as_str().unwrap().starts_with("in/absent.bam"), "{last}");
}

#[test]
fn the_short_flag_of_the_version_says_what_the_build_has_too() {
    let folders = folders();
    let ended = run(&folders, "$0 -V");
    ended.succeeds();
    let text = String::from_utf8(ended.stdout).unwrap();
    let first = format!("readmill {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(text.lines().next(), Some(first.as_str()));
    for word in ["commit", "aligners", "codecs     libdeflate", "processor"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[test]
fn a_command_without_an_input_says_so_where_nothing_can_come() {
    let folders = folders();
    for line in [
        "prep -o out/x.bam",
        "sort -o out/x.bam",
        "flagstat",
        "view",
        "head",
        "depth",
        "fastq",
        "qc -o out/x",
    ] {
        for stdin in ["< /dev/null", "<&-"] {
            run(&folders, &format!("$0 {line} {stdin}")).fails(1, &["no input", "/dev/null"]);
        }
    }
    run(&folders, "printf '' | $0 sort -o out/x.bam")
        .fails(2, &["the file is empty", "the program that writes to it"]);
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn arguments_in_the_style_of_picard_become_a_native_line_and_one_of_its_front() {
    let folders = folders();
    for (line, words) in [
        (
            "markdup I=in/x.bam O=out/o.bam M=out/m.txt",
            &[
                "use: readmill markdup in/x.bam -o out/o.bam --metrics out/m.txt;",
                "readmill picard MarkDuplicates I=in/x.bam O=out/o.bam M=out/m.txt",
            ][..],
        ),
        (
            "sort INPUT=in/x.bam OUTPUT=out/o.bam SO=coordinate",
            &["readmill sort in/x.bam -o out/o.bam --sort coordinate"],
        ),
        (
            "fastq I=in/x.bam F=out/1.fq F2=out/2.fq",
            &["use: readmill fastq in/x.bam -1 out/1.fq -2 out/2.fq;"],
        ),
        (
            "index I=in/x.bam",
            &["use: readmill index in/x.bam;", "readmill picard BuildBamIndex I=in/x.bam"],
        ),
        ("flagstat I=in/x.bam", &["use: readmill flagstat in/x.bam"]),
        ("depth I=in/x.bam", &["use: readmill depth in/x.bam"]),
    ] {
        run(&folders, &format!("$0 {line}")).fails(1, words);
    }
    run(&folders, "cp in/x.bam in/I=x.bam && cd in && $0 flagstat I=x.bam").succeeds();
}

#[test]
fn numbers_that_are_none_are_said_in_plain_words() {
    let folders = folders();
    for (line, said) in [
        ("sort -@ abc in/x.bam", "invalid value 'abc' for '--threads <N>': must be a whole number"),
        ("sort -@ -1 in/x.bam", "must be from 0 to 65535"),
        ("sort -l 99 in/x.bam", "invalid value '99' for '--level <N>': must be from 0 to 12"),
        ("view -q 1.5 in/x.bam", "must be a whole number"),
        ("filter --subsample x in/x.bam", "must be a number"),
        ("sort --log-format json -@ abc in/x.bam", "must be a whole number"),
    ] {
        let ended = run(&folders, &format!("$0 {line}"));
        assert_eq!(ended.status.code(), Some(1), "{line}");
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
    }
}

#[test]
fn names_of_other_tools_lead_to_native_lines_and_to_no_other_command() {
    let folders = folders();
    for (line, said, not_said) in [
        ("mem ref.fa 1.fq", "readmill align REF", "demo"),
        ("mosdepth out in/x.bam", "readmill qc in.bam --no-metrics --coverage -o PREFIX", "similar"),
        ("fastqc in/x.bam", "readmill qc R1.fq.gz R2.fq.gz --no-metrics --fastqc DIR", "similar"),
        ("calmd in/x.bam", "readmill prep in.bam -o out.bam --nm-md-uq", "similar"),
        (
            "CleanSam I=in/x.bam",
            "use readmill picard CleanSam, which accepts the same command line",
            "similar",
        ),
        (
            "HaplotypeCaller -I in/x.bam",
            "use readmill gatk HaplotypeCaller, which accepts the same command line",
            "similar",
        ),
        ("Mutect2", "only as GATK HaplotypeCaller does", "similar"),
    ] {
        let ended = run(&folders, &format!("$0 {line}"));
        ended.fails(1, &["unrecognized subcommand"]);
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
        assert!(!ended.stderr.contains(not_said), "{line}: {}", ended.stderr);
    }
    let ended = run(&folders, "$0 sotr in/x.bam");
    assert!(ended.stderr.contains("a similar subcommand exists: 'sort'"), "{}", ended.stderr);
    for (line, said) in [
        ("help samtools", "readmill samtools COMMAND"),
        ("help samtools sort", "samtools sort, run by readmill"),
        ("help picard CollectHsMetrics", "readmill qc in.bam"),
        ("help bwa", "mem"),
    ] {
        let ended = run(&folders, &format!("$0 {line}"));
        ended.succeeds();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(text.contains(said), "{line}: {text}");
    }
}

#[test]
fn a_file_of_reads_is_no_file_for_a_report() {
    let folders = folders();
    run(&folders, "$0 report in/x.bam -o out/x.html").fails(2, &["a BAM file", "--json run.json"]);
    run(&folders, "printf '@HD\\tVN:1.6\\n' > in/x.sam && $0 report in/x.sam -o out/x.html")
        .fails(2, &["a SAM file"]);
    run(&folders, "echo hello > in/x.txt && $0 report in/x.txt -o out/x.html")
        .fails(2, &["not valid JSON", "--json run.json"]);
}

#[test]
fn all_metrics_do_not_stand_for_those_that_need_files() {
    let folders = folders();
    let said = "`all` includes only programs that need no further files and no order";
    for flag in ["--ref-flat", "--target-intervals", "--bait-intervals", "--amplicon-intervals"] {
        let line = format!("$0 qc in/x.bam -o out/x --metrics all {flag} in/genes");
        run(&folders, &line).fails(1, &[flag, said, "all,Collect"]);
    }
}

#[test]
fn qc_of_unsorted_reads_advises_what_it_has() {
    let folders = folders();
    let ended = run(&folders, "$0 qc in/x.bam -o out/x --coverage");
    ended.fails(1, &["sort the file first: readmill sort IN -o SORTED"]);
    assert!(!ended.stderr.contains("--sort"), "{}", ended.stderr);
}
