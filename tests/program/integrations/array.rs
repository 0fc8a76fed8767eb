//! The array of SLURM with a fake `sbatch` and `scontrol`, which run its tasks one after the other.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use readmill_simulate::{Profile, Sample};

use crate::support::{ProgramRun, TestDir, finish, readmill};

/// Runs each task of the array as SLURM does, and once more as long as it asks for that. Then it runs the job that
/// depends on the array, whose number is 7.
const SBATCH: &str = r#"#!/bin/sh
number=0 after='' parsable=''
while [ $# -gt 0 ]; do
    case $1 in
        --array=1-*) number=${1#--array=1-} ;;
        --dependency=*) after=${1#--dependency=} ;;
        --parsable) parsable=yes ;;
        --*) ;;
        *) break ;;
    esac
    shift
done
[ -n "$parsable" ] || exit 99
if [ "$number" = 0 ]; then
    [ "$after" = afterany:7 ] || exit 98
    echo 8
    SLURM_JOB_ID=8 SLURM_MEM_PER_NODE=600 exec sh "$@" >&2
fi
echo '7;cluster'
worst=0
for task in $(seq "$number"); do
    restarts=0 again=yes
    while [ $again = yes ]; do
        rm -f requeued
        code=0
        SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=7 task=$task SLURM_CPUS_PER_TASK=2 SLURM_MEM_PER_NODE=700 \
            SLURM_RESTART_COUNT=$restarts sh "$@" >&2 || code=$?
        again=no
        [ ! -e requeued ] || { again=yes restarts=$((restarts + 1)); }
    done
    [ $code = 0 ] || worst=$code
done
exit $worst
"#;

/// Notes what the script asks for.
const SCONTROL: &str = "#!/bin/sh\n[ \"$*\" = \"requeue 7_$task\" ] && touch requeued\n";

/// A cluster, with two samples, one of two lanes and one of single reads.
struct FakeCluster(TestDir);

impl FakeCluster {
    fn new() -> Self {
        let dir = TestDir::new();
        let made = Sample::new(Profile::small().with_pairs(300));
        let [mut fasta, mut sites, mut first, mut last] = [const { Vec::new() }; 4];
        made.write_fasta(&mut fasta).unwrap();
        made.write_known_sites(&mut sites).unwrap();
        made.write_fastq(&mut first, &mut last).unwrap();
        dir.file("ref.fa", fasta);
        dir.file("known.vcf", sites);
        for (reads, end) in [(first, "1"), (last, "2")] {
            let text = String::from_utf8(reads).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            for (lane, lines) in ["one", "two", "three"].iter().zip(lines.chunks(400)) {
                dir.file(&format!("{lane}_{end}.fq"), lines.join("\n") + "\n");
            }
        }
        dir.file("sheet.csv", "lane,sample,fastq_1,fastq_2\r\nA1,a,two_1.fq,two_2.fq\r\nA,b,three_1.fq,\r\nA,a,one_1.fq,one_2.fq\r\n");
        let cluster = FakeCluster(dir);
        cluster.program("sbatch", SBATCH);
        cluster.program("scontrol", SCONTROL);
        let index = readmill(["index", "-q", cluster.0.path("ref.fa").to_str().unwrap()]);
        assert_eq!(index.code, Some(0), "{}", index.stderr);
        cluster
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.file(name, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Submits the array.
    fn submit(&self, program: &str, words: &str) -> ProgramRun {
        let mut command = Command::new("sh");
        command.arg(super::home().join("slurm/readmill-array.sh")).args(words.split(' '));
        self.finish(&mut command, program)
    }

    fn finish(&self, command: &mut Command, program: &str) -> ProgramRun {
        let mut path = self.0.path("").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        finish(command.current_dir(self.0.path("")).env("PATH", path).env("READMILL", program))
    }

    /// Compares all outputs with those of direct runs.
    fn has_results_of_direct_runs(&self) {
        let group = |sample: &str, lane: &str| {
            format!(
                "@RG\\tID:{sample}.{lane}\\tSM:{sample}\\tLB:{sample}\\tPL:ILLUMINA\\tPU:{sample}.{lane}"
            )
        };
        let samples = [
            ("a", "one_1.fq one_2.fq two_1.fq two_2.fq", vec![group("a", "A"), group("a", "A1")], ""),
            ("b", "three_1.fq", vec![group("b", "A")], " --single"),
        ];
        for (sample, reads, groups, single) in samples {
            let words = format!(
                "align ref.fa {reads}{single} -R {} -o {sample}.cram --sort coordinate --mark-duplicates --bqsr \
                 --known-sites known.vcf --bqsr-table {sample}.cram.recal.table --metrics {sample}.cram.metrics.txt \
                 --flagstat {sample}.cram.flagstat --stats {sample}.cram.stats.txt -q -m 700M \
                 --qc {sample} --qc-metrics all,CollectWgsMetrics \
                 --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP --coverage {sample} --coverage-no-per-base",
                groups.join(" -R ")
            );
            let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
            let done = self.finish(command.args(words.split(' ')), "");
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            let ends = [
                ".cram",
                ".cram.crai",
                ".cram.recal.table",
                ".cram.metrics.txt",
                ".cram.flagstat",
                ".cram.stats.txt",
                ".alignment_summary_metrics",
                ".wgs_metrics",
                ".mosdepth.summary.txt",
            ];
            for end in ends {
                let read = |path: String| {
                    std::fs::read(self.0.path(&path)).unwrap_or_else(|e| panic!("{path}: {e}"))
                };
                let (direct, found) =
                    (read(format!("{sample}{end}")), read(format!("out/{sample}/{sample}{end}")));
                assert!(direct == found && !direct.is_empty(), "{sample}{end}");
            }
        }
    }

    /// Checks that the page of all samples and the table for MultiQC name these samples, and no others.
    fn has_page_of(&self, outdir: &str, samples: &[&str]) {
        let page = std::fs::read_to_string(self.0.path(&format!("{outdir}/cohort.html"))).unwrap();
        let table = std::fs::read_to_string(self.0.path(&format!("{outdir}/cohort_mqc.json"))).unwrap();
        for sample in ["a", "b"] {
            let is_expected = samples.contains(&sample);
            assert_eq!(table.contains(&format!("\"{sample}\": {{")), is_expected, "{table}");
            assert_eq!(
                page.contains(&format!(">{sample}<")),
                is_expected,
                "the page of {samples:?}: {sample}"
            );
        }
    }
}

const USUAL: &str = "sheet.csv ref.fa out known.vcf";

#[test]
fn an_array_makes_what_direct_runs_make_and_a_finished_sample_is_skipped() {
    let cluster = FakeCluster::new();
    let done = cluster.submit(env!("CARGO_BIN_EXE_readmill"), USUAL);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("2 threads in total, 700 MiB of memory in total"), "{}", done.stderr);
    cluster.has_results_of_direct_runs();
    cluster.has_page_of("out", &["a", "b"]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(said, "Submitted batch job 7\nSubmitted batch job 8 for the page of all samples\n");

    std::fs::remove_file(cluster.0.path("out/b/b.cram.flagstat")).unwrap();
    let again = cluster.submit(env!("CARGO_BIN_EXE_readmill"), USUAL);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("readmill-array: a is finished: out/a/a.cram\n"), "{}", again.stderr);
    assert!(again.stderr.contains("-> out/b/b.cram"), "{}", again.stderr);
    cluster.has_results_of_direct_runs();
}

#[test]
fn an_array_passes_more_options_to_each_sample() {
    let cluster = FakeCluster::new();
    let mut command = Command::new("sh");
    command.arg(super::home().join("slurm/readmill-array.sh")).args(USUAL.split(' '));
    command.env(
        "READMILL_OPTIONS",
        "--idxstats {prefix}.idxstats --checksum {output}.sum  --optical-distance 2500",
    );
    let done = cluster.finish(&mut command, env!("CARGO_BIN_EXE_readmill"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    for sample in ["a", "b"] {
        let path = |end: &str| cluster.0.path(&format!("out/{sample}/{sample}{end}"));
        let run = std::fs::read_to_string(path(".run.json")).expect("the file of the run");
        assert!(run.contains("--optical-distance 2500"), "{run}");
        assert!(path(".idxstats").exists() && path(".cram.sum").exists(), "{sample}");
    }
}

#[test]
fn the_page_has_the_samples_that_are_finished_and_names_the_others() {
    let cluster = FakeCluster::new();
    // It ends with an error in the task of sample b.
    let real = env!("CARGO_BIN_EXE_readmill");
    let fails =
        format!("#!/bin/sh\ncase \"$1 $*\" in \"align \"*SM:b*) exit 2 ;; esac\nexec '{real}' \"$@\"\n");
    let program = cluster.program("fails", &fails);
    let mut command = Command::new("sh");
    command.arg(super::home().join("slurm/readmill-array.sh")).args(USUAL.split(' '));
    command.env("READMILL_PAGE_OPTIONS", "--assay exome");
    let done = cluster.finish(&mut command, program.to_str().unwrap());
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(
        done.stderr.contains("readmill-page: b has no run file out/b/b.run.json"),
        "{}",
        done.stderr
    );
    cluster.has_page_of("out", &["a"]);

    let page = super::home().join("slurm/readmill-page.sh");
    for (words, expected) in [
        ("sheet.csv", "usage: sh readmill-page.sh"),
        ("no.csv out", "no.csv: this sample sheet cannot be read"),
        ("sheet.csv nowhere", "no sample has a run file"),
    ] {
        let mut command = Command::new("sh");
        let done = cluster.finish(command.arg(&page).args(words.split(' ')), real);
        assert_eq!(done.code, Some(1), "{words}: {}", done.stderr);
        assert!(done.stderr.contains(expected), "{words}: {}", done.stderr);
    }
}

#[test]
fn a_task_runs_again_after_a_signal_and_twice_at_most() {
    let cluster = FakeCluster::new();
    let real = env!("CARGO_BIN_EXE_readmill");
    let dies_once =
        format!("#!/bin/sh\nmkdir died 2>/dev/null || exec '{real}' \"$@\"\nkill -KILL $$\n");
    let program = cluster.program("dies-once", &dies_once);
    let done = cluster.submit(program.to_str().unwrap(), USUAL);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.stderr.matches("readmill-array: a ended with 137; it runs again\n").count(), 1);
    cluster.has_results_of_direct_runs();

    for (code, runs) in [(137, 3), (75, 3), (104, 3), (2, 1), (101, 1)] {
        let program = cluster.program("ends", &format!("#!/bin/sh\necho ran >&2\nexit {code}\n"));
        let done = cluster.submit(program.to_str().unwrap(), "sheet.csv ref.fa other");
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        // Two samples.
        assert_eq!(done.stderr.matches("ran\n").count(), 2 * runs, "{code}: {}", done.stderr);
    }
}

#[test]
fn the_signal_before_the_time_limit_reaches_readmill_and_nothing_runs_again() {
    let cluster = FakeCluster::new();
    // It tells the script, its parent, what SLURM would tell it, and ends as readmill does.
    let program = cluster.program(
        "told",
        "#!/bin/sh\ntrap 'echo stopped >&2; exit 138' USR1\nkill -USR1 $PPID\nfor i in $(seq 600); do sleep 0.05; done\nexit 7\n",
    );
    let done = cluster.submit(program.to_str().unwrap(), "sheet.csv ref.fa out");
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert_eq!(done.stderr.matches("stopped\n").count(), 2, "{}", done.stderr);
    assert!(
        done.stderr.contains("readmill-array: a: the time limit came; raise --time"),
        "{}",
        done.stderr
    );
}

#[test]
fn mistakes_in_the_sheet_are_told_before_anything_is_submitted() {
    let cluster = FakeCluster::new();
    cluster.program("sbatch", "#!/bin/sh\necho submitted >&2\n");
    let cases = [
        ("lane,fastq_1,fastq_2\n", "its first line must be sample,lane,fastq_1,fastq_2"),
        ("sample,lane,fastq_1,fastq_2\na,,x_1.fq,x_2.fq\n", "line 2 has no sample, lane or fastq_1"),
        ("sample,lane,fastq_1,fastq_2\na,1,x,y\na,1,x,y\n", "sample a has two rows of lane 1"),
        ("sample,lane,fastq_1,fastq_2\na,1,x,y\na,2,x,\n", "lanes of pairs and lanes of single reads"),
        ("sample,lane,fastq_1,fastq_2\n\"a\",1,x,y\n", "line 2 has a quote"),
        ("sample,lane,fastq_1,fastq_2\n", "it has no samples"),
    ];
    for (sheet, expected) in cases {
        cluster.0.file("bad.csv", sheet);
        let done = cluster.submit("readmill", "bad.csv ref.fa out");
        assert_eq!(done.code, Some(1), "{sheet}: {}", done.stderr);
        assert!(done.stderr.contains("readmill-array: bad.csv: "), "{}", done.stderr);
        assert!(done.stderr.contains(expected) && !done.stderr.contains("submitted"), "{}", done.stderr);
    }
    for (words, expected) in [
        ("no.csv ref.fa out", "no.csv: this sample sheet cannot be read"),
        ("sheet.csv no.fa out", "no.fa.amb is not there"),
        ("sheet.csv", "usage: sh readmill-array.sh"),
    ] {
        let done = cluster.submit("readmill", words);
        assert_eq!(done.code, Some(1), "{words}: {}", done.stderr);
        assert!(done.stderr.contains(expected), "{words}: {}", done.stderr);
    }
}
