//! Results that would mislead without a word: regions of another genome, nothing left, a sample of a sample, a job that goes
//! on; and what is said of them.

use crate::support::{ProgramRun, TestDir, arg, readmill};

const READS: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:1000\n@RG\tID:g\tSM:s\tLB:l\n\
                     a\t0\tc1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:g\n\
                     b\t0\tc1\t300\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:g\n";

/// Runs a line; names with a dot are files of the directory.
fn run(dir: &TestDir, line: &str) -> ProgramRun {
    let word = |word: &str| match word.contains('.') && !word.starts_with(|c: char| c.is_ascii_digit()) {
        true => arg(&dir.path(word)),
        false => word.to_string(),
    };
    readmill(line.split(' ').map(word))
}

fn warnings(run: &ProgramRun) -> Vec<&str> {
    run.stderr.lines().filter_map(|line| line.strip_prefix("readmill: warning: ")).collect()
}

/// A directory with reads, and files of regions that lie in part, or all, on contigs that these lack.
fn directory() -> TestDir {
    let dir = TestDir::new();
    dir.file("in.sam", READS);
    dir.file("some.bed", "c1\t0\t200\n7\t0\t10\nX\t0\t10\nX\t5\t9\n");
    dir.file("none.bed", "7\t0\t10\n");
    let gene = |contig: &str, end: u32| {
        format!("g{contig}\tt\t{contig}\t+\t0\t{end}\t0\t{end}\t1\t0,\t{end},\n")
    };
    dir.file("some.refflat", gene("c1", 200) + &gene("7", 9));
    dir.file("none.refflat", gene("7", 9));
    dir.file("long.refflat", gene("c1", 1001));
    dir.file("away.refflat", gene("c1", 50));
    dir
}

#[test]
fn contigs_of_regions_that_the_header_lacks_are_named() {
    let dir = directory();
    let bam = run(&dir, "sort in.sam -o in.bam");
    assert_eq!(bam.code, Some(0), "{}", bam.stderr);
    let bed = arg(&dir.path("some.bed"));
    let said = format!("{bed}: ignored 3 regions on contigs that are not in the header: 7, X");
    for line in [
        "view -c -L some.bed in.sam",
        "view -c -M -L some.bed in.bam",
        "filter -L some.bed in.sam -o out.sam",
        "prep --overlap some.bed --sort coordinate in.sam -o out.bam",
        "depth -b some.bed in.sam",
    ] {
        let done = run(&dir, line);
        assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
        assert_eq!(warnings(&done), [&said], "{line}");
    }
    for line in [
        "view -c -L none.bed in.sam",
        "view -c -M -L none.bed in.bam",
        "filter -L none.bed in.sam -o out.sam",
    ] {
        let done = run(&dir, line);
        assert_eq!(done.code, Some(2), "{line}: {}", done.stderr);
        assert!(
            done.stderr
                .contains("none of the contigs is in the header of the reads; the first contig is 7"),
            "{line}"
        );
    }
}

#[test]
fn genes_of_another_genome_are_refused_and_those_of_another_build_warned_of() {
    let dir = directory();
    let qc = |genes: &str| {
        let metrics =
            "qc in.sam -o out.rna --metrics CollectRnaSeqMetrics --strand-specificity NONE --ref-flat";
        run(&dir, &format!("{metrics} {genes}"))
    };
    let none = qc("none.refflat");
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    assert!(
        none.stderr.contains("none of the contigs is in the header of the reads; the first contig is 7"),
        "{}",
        none.stderr
    );
    for (genes, said) in [
        ("some.refflat", "ignored 1 transcripts on contigs that are not in the header: 7"),
        ("long.refflat", "1 transcripts reach beyond the end of their contig"),
        ("away.refflat", "none of 8 aligned bases lies in a gene; is it the refFlat of this genome?"),
    ] {
        let done = qc(genes);
        assert_eq!(done.code, Some(0), "{genes}: {}", done.stderr);
        assert!(matches!(warnings(&done)[..], [one] if one.contains(said)), "{genes}: {}", done.stderr);
    }
}

#[test]
fn a_run_that_leaves_no_read_says_what_dropped_them() {
    let dir = directory();
    let said = "none of the 2 input records was written (2 reads of low mapping quality dropped)";
    for line in [
        "filter -q 61 in.sam -o out.sam",
        "view -q 61 in.sam -o out.sam",
        "prep --min-mapq 61 --sort coordinate in.sam -o out.bam",
        "prep --min-mapq 61 --mark-duplicates in.sam -o out.bam",
        "prep --min-mapq 61 --sort coordinate in.sam -o out.bam --resume stages.d",
        "sort in.sam -o out.bam",
        "view -c -q 61 in.sam",
        "prep --min-mapq 61 in.sam -o out.sam --move-to low.sam=dropped",
    ] {
        let done = run(&dir, line);
        assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
        let is_warned = !line.starts_with("sort") && !line.contains("-c") && !line.contains("--move-to");
        assert_eq!(warnings(&done), Vec::from_iter(is_warned.then_some(said)), "{line}");
    }
    dir.file("empty.sam", READS.lines().take(3).fold(String::new(), |all, line| all + line + "\n"));
    let done = run(&dir, "filter -q 61 empty.sam -o out.sam");
    assert_eq!((done.code, warnings(&done)), (Some(0), Vec::new()), "{}", done.stderr);
}

#[test]
fn a_sample_of_a_sample_by_the_same_seed_is_warned_of() {
    let dir = directory();
    let first = run(&dir, "filter --subsample 0.9 --subsample-seed 3 in.sam -o one.sam");
    assert_eq!((first.code, warnings(&first)), (Some(0), Vec::new()), "{}", first.stderr);
    let of = "the reads were already subsampled to 0.9 with seed 3, so this step keeps";
    for (line, said) in [
        ("filter --subsample 0.9 --subsample-seed 3 one.sam -o two.sam", Some("all of them")),
        ("view -s 3.45 -c one.sam", Some("0.500 of them")),
        ("filter --subsample 0.9 --subsample-seed 4 one.sam -o two.sam", None),
    ] {
        let done = run(&dir, line);
        assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
        let said = said.map(|said| format!("{of} {said}; use another --subsample-seed"));
        let found: Vec<&str> =
            warnings(&done).into_iter().filter(|it| it.contains("subsampled to")).collect();
        assert_eq!(found, Vec::from_iter(said.as_deref()), "{line}");
    }
}

#[test]
fn a_job_that_goes_on_says_how_much_of_it_is_done_and_starts_its_log_once() {
    let dir = directory();
    let sort = "sort in.sam -o out.bam";
    let plan = run(&dir, &format!("shard plan --work stages.d --shards 1 {sort}"));
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    assert!(run(&dir, "shard map 1 --work stages.d").code == Some(0), "map");
    let other = run(&dir, "sort -n in.sam -o out.bam --resume stages.d");
    assert_eq!(other.code, Some(1), "{}", other.stderr);
    let work = arg(&dir.path("stages.d"));
    assert!(
        other.stderr.contains(&format!("{work} contains another job: readmill sort ")),
        "{}",
        other.stderr
    );
    let way_out = format!("readmill shard clean --work {work}");
    assert!(other.stderr.contains(&way_out), "{}", other.stderr);
    let done = run(&dir, "shard run --work stages.d");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("readmill: resumed, 1 of 4 stages already finished\n"),
        "{}",
        done.stderr
    );
    assert_eq!(
        done.stderr.matches("threads in total").count() + done.stderr.matches("thread in total").count(),
        1
    );
    assert!(!done.stderr.contains("was already finished"), "{}", done.stderr);
    // The advice works.
    let clean: Vec<&str> = way_out.split(' ').skip(1).collect();
    assert_eq!(readmill(clean).code, Some(0));
    let again = run(&dir, "sort -n in.sam -o out.bam --resume stages.d");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(!again.stderr.contains("resumed"), "{}", again.stderr);
}

#[test]
fn memory_that_is_halved_for_a_second_process_is_named_in_full() {
    let dir = TestDir::new();
    let header = "@HD\tVN:1.6\tSO:queryname\n@SQ\tSN:c1\tLN:1000\n@RG\tID:g\tSM:s\n";
    let read = |name: &str| format!("{name}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:g\n");
    let placed = |name: &str, at: u32| format!("{name}\t0\tc1\t{at}\t60\t4M\t*\t0\t0\tACGT\tIIII\n");
    dir.file("reads.sam", [header.into(), read("a"), read("b")].concat());
    let by_place = header.replace("queryname", "coordinate");
    dir.file("placed.sam", [by_place, placed("b", 5), placed("a", 50)].concat());
    let merge = |memory: &str| {
        run(&dir, &format!("merge-alignment reads.sam placed.sam -o out.bam -@ 2 -m {memory}"))
    };
    let refused = merge("120M");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let min_memory =
        refused.stderr.split("this needs at least -m ").nth(1).and_then(|rest| rest.split(',').next());
    let min_memory = min_memory.unwrap_or_else(|| panic!("{}", refused.stderr));
    assert!(refused.stderr.contains(", but -m is 120M"), "{}", refused.stderr);
    assert_eq!(merge(min_memory).code, Some(0), "{min_memory}");
}
