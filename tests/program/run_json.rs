//! `--json`: what a run did.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::support::resources::{query_min_memory, sample, words};
use crate::support::{TestDir, arg, bgzip, readmill};

/// All reports of reads that are sorted and marked.
const REPORTS: &str = "--flagstat STEM.flagstat --idxstats STEM.idxstats --stats STEM.stats --metrics STEM.metrics \
    --qc STEM --coverage STEM --coverage-by 500 --json STEM.json";

#[track_caller]
fn succeeds(line: &str) {
    let done = readmill(words(line));
    assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
}

/// Reads a description, and checks its form.
#[track_caller]
pub fn described(dir: &TestDir, name: &str) -> Value {
    let text = fs::read_to_string(dir.path(name)).expect("the description");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/run.schema.json");
    let schema = compiler.compile(schema, &mut schemas).expect("a schema");
    if let Err(error) = schemas.validate(&value, schema) {
        panic!("{name}: {error:#}");
    }
    value
}

/// Runs `prep` with all reports, whose names begin with `stem`.
#[track_caller]
fn prepare(dir: &TestDir, input: &str, stem: &str, more: &str) -> Value {
    let reports = REPORTS.replace("STEM", &arg(&dir.path(stem)));
    let output = arg(&dir.path(&format!("{stem}.bam")));
    succeeds(&format!("prep {input} -o {output} --sort coordinate --mark-duplicates {reports} {more}"));
    described(dir, &format!("{stem}.json"))
}

/// The bytes of a file.
fn bytes(dir: &TestDir, name: &str) -> u64 {
    fs::metadata(dir.path(name)).expect("a file").len()
}

#[test]
fn numbers_are_those_of_the_texts() {
    let dir = TestDir::new();
    let (raw, text) =
        (bgzip(&sample(2_000)), |name: &str| fs::read_to_string(dir.path(name)).expect("a report"));
    let input = arg(&dir.file("in.bam", &raw));
    let run = prepare(
        &dir,
        &input,
        "x",
        "--copy-to EXTRA=unmapped".replace("EXTRA", &arg(&dir.path("u.bam"))).as_str(),
    );
    let sum = format!("{:032x}", xxh3_128(&raw));
    assert_eq!(run["inputs"], json!([{"path": input, "bytes": raw.len(), "xxh128": sum}]));
    let flagstat = text("x.flagstat");
    let total: Vec<u64> =
        flagstat.split(' ').step_by(2).take(2).filter_map(|n| n.parse().ok()).collect();
    let [passed, failed] = total[..] else { panic!("{flagstat}") };
    assert!(passed > 0 && failed > 0, "{flagstat}");
    assert_eq!(run["reads"]["written"], json!(passed + failed));
    assert_eq!(run["reports"]["flagstat"]["in total"], json!({"passed": passed, "failed": failed}));
    let stats = text("x.stats");
    let sequences =
        stats.lines().find(|line| line.starts_with("SN\traw total sequences:")).expect("a line");
    assert_eq!(run["reports"]["stats"]["SN"]["raw total sequences"], json!(number(sequences, 2)));
    let mapped: u64 = text("x.idxstats").lines().map(|line| number(line, 2)).sum();
    let contigs = run["reports"]["idxstats"].as_array().expect("contigs");
    assert_eq!(
        contigs.iter().map(|contig| contig["mapped"].as_u64().expect("a number")).sum::<u64>(),
        mapped
    );
    let metrics = text("x.metrics");
    let table: Vec<&str> =
        metrics.lines().skip_while(|line| !line.starts_with("LIBRARY")).take(2).collect();
    let pairs = table[0].split('\t').position(|name| name == "READ_PAIR_DUPLICATES").expect("a column");
    let told = &run["reports"]["duplicates"]["rows"][0]["READ_PAIR_DUPLICATES"];
    assert_eq!(told, &json!(number(table[1], pairs)));
    for report in ["alignment_summary_metrics", "insert_size_metrics", "quality_distribution_metrics"] {
        let rows = &run["reports"][report];
        assert!(rows["rows"] != json!([]) || rows["histograms"] != json!([]), "{report}: {rows}");
    }
    let tiles = &run["reports"]["duplicates_by_tile"];
    for (column, told) in [
        ("pairs", "READ_PAIRS_EXAMINED"),
        ("duplicates", "READ_PAIR_DUPLICATES"),
        ("optical_duplicates", "READ_PAIR_OPTICAL_DUPLICATES"),
    ] {
        let sum = |list: &mut dyn Iterator<Item = &Value>| list.filter_map(Value::as_u64).sum::<u64>();
        let of_tiles = sum(&mut tiles[column].as_array().into_iter().flatten());
        let libraries = run["reports"]["duplicates"]["rows"].as_array().into_iter().flatten();
        assert_eq!(of_tiles, sum(&mut libraries.map(|row| &row[told])), "{column}");
        assert!(of_tiles > 0, "{column}");
    }
    assert!(tiles["tile"].as_array().is_some_and(|tiles| tiles.len() > 1), "{tiles}");
    windows(&dir, &run);
    let length = &run["reports"]["mosdepth.summary.txt"][0]["length"];
    assert!(
        text("x.mosdepth.summary.txt")
            .lines()
            .nth(1)
            .is_some_and(|line| number(line, 1) == length.as_u64().unwrap_or(0))
    );
    let depths = run["reports"]["mosdepth.global.dist.txt"]["depth"].as_array().expect("depths");
    assert_eq!(depths.last(), Some(&json!(0)));

    let outputs = run["outputs"].as_array().expect("outputs");
    for output in outputs {
        let name = output["path"].as_str().and_then(|path| path.rsplit('/').next()).expect("a path");
        assert_eq!(output["bytes"], json!(bytes(&dir, name)), "{name}");
    }
    let told: Vec<String> = outputs.iter().map(|it| it["path"].to_string()).collect();
    let there = dir.names();
    assert_eq!(told.len() + 2, there.len(), "{told:?} {there:?}"); // the input, and the description
    let stages: Vec<&str> =
        run["stages"].as_array().expect("stages").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(stages, ["starting", "reading", "marking", "writing"]);
}

/// Checks the deepest windows by the regions of 500 bases, of which two are a window.
#[track_caller]
fn windows(dir: &TestDir, run: &Value) {
    let mut means = BTreeMap::<(String, u64), (f64, u64)>::new();
    let regions = fs::File::open(dir.path("x.regions.bed.gz")).expect("regions");
    let regions = std::io::read_to_string(MultiGzDecoder::new(regions)).expect("text");
    for line in regions.lines() {
        let [contig, start, end, mean] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let [start, end] = [start, end].map(|it| it.parse::<u64>().expect("a position"));
        let (bases, last) = means.entry((contig.into(), start / 1000)).or_default();
        *bases += mean.parse::<f64>().expect("a depth") * (end - start) as f64;
        *last = end;
    }
    let mean = |(&(_, window), &(bases, end)): (&(String, u64), &(f64, u64))| {
        bases / (end - 1000 * window) as f64
    };
    let max_mean = means.iter().map(mean).fold(0.0, f64::max);
    let rows = run["reports"]["deepest_windows"]["rows"].as_array().expect("windows");
    assert!((2..=20).contains(&rows.len()), "{rows:?}");
    for row in rows {
        let [start, end] = ["start", "end"].map(|name| row[name].as_u64().expect("a position"));
        let place = (row["contig"].as_str().expect("a name").to_string(), start / 1000);
        let own = means.get_key_value(&place).expect("a window");
        assert_eq!((start % 1000, own.1.1), (0, end), "{row}");
        let depth = row["mean_depth"].as_f64().expect("a depth");
        assert!((mean(own) - depth).abs() < 0.02, "{row}: {}", mean(own));
        assert!(row["max_depth"].as_f64().is_some_and(|max_depth| max_depth >= depth), "{row}");
    }
    assert!(
        rows[0]["mean_depth"].as_f64().is_some_and(|it| (it - max_mean).abs() < 0.02),
        "{max_mean}: {rows:?}"
    );
}

fn number(line: &str, column: usize) -> u64 {
    line.split('\t').nth(column).and_then(|cell| cell.parse().ok()).expect("a number")
}

#[test]
fn threads_memory_and_stages_change_times_alone() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(4_000))));
    let stages = format!("--resume {}", arg(&dir.path("stages")));
    let runs = [("a", "-@ 1"), ("b", "-@ 3 -m 160M"), ("c", &stages)].map(|(stem, more)| {
        let mut run = prepare(&dir, &input, stem, more);
        for own in ["command", "inputs", "outputs", "sample", "resources", "time", "stages", "usage"] {
            run[own] = Value::Null;
        }
        run
    });
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

#[test]
fn commands_that_only_count_have_it_and_what_they_read_in_part_has_no_sum() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(500))));
    let [sorted, json, table] = ["s.bam", "x.json", "x.txt"].map(|name| arg(&dir.path(name)));
    succeeds(&format!("sort {input} -o {sorted}"));
    succeeds(&format!("flagstat {sorted} -o {table} --json {json}"));
    let run = described(&dir, "x.json");
    assert_eq!(run["command"]["name"], json!("flagstat"));
    assert_ne!(run["inputs"][0]["xxh128"], Value::Null);
    succeeds(&format!("view {sorted} chr1:1-2000 -b -o {table}.bam --json {json}"));
    assert_eq!(described(&dir, "x.json")["inputs"][0]["xxh128"], Value::Null);
    let reports = arg(&dir.path("reports"));
    succeeds(&format!("qc {input} {sorted} --no-metrics --fastqc {reports} --json {json}"));
    let run = described(&dir, "x.json");
    assert_eq!(run["reports"]["fastqc"].as_array().map(Vec::len), Some(2));
    assert_eq!(run["outputs"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_run_that_fails_or_has_no_place_for_it_leaves_none() {
    let dir = TestDir::new();
    let raw = bgzip(&sample(500));
    let input = arg(&dir.file("in.bam", &raw[..raw.len() / 2]));
    let [output, json] = ["x.bam", "x.json"].map(|name| arg(&dir.path(name)));
    let line = format!("sort {input} -o {output} --json {json} --allow-missing-eof");
    assert_eq!(readmill(words(&line)).code, Some(2));
    let line = format!("sort {input} -o {output} --json {output} --allow-missing-eof");
    let done = readmill(words(&line));
    assert!(
        done.code == Some(1) && done.stderr.contains("two outputs have the same name"),
        "{}",
        done.stderr
    );
    assert_eq!(dir.names(), ["in.bam"]);
}

/// Guards against a former defect: such a name ended the run with a panic.
#[test]
fn a_file_name_that_is_not_utf_8_is_text_and_bytes() {
    let dir = TestDir::new();
    let odd = |before: &[u8], after: &[u8]| {
        dir.path("").join(OsStr::from_bytes(&[before, b"\xff\xe9", after].concat()))
    };
    let (input, output, json) = (odd(b"in", b".bam"), odd(b"out", b".bam"), dir.path("x.json"));
    fs::write(&input, bgzip(&sample(20))).expect("an input");
    let args =
        ["sort".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str(), "--json".as_ref()];
    let done = readmill(args.into_iter().chain([json.as_os_str()]));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let run = described(&dir, "x.json");
    for (described, path) in [(&run["inputs"][0], &input), (&run["outputs"][0], &output)] {
        assert_eq!(described["path"], json!(path.to_string_lossy()));
        let bytes = path.as_os_str().as_bytes().iter();
        assert_eq!(
            described["path_hex"],
            json!(bytes.map(|byte| format!("{byte:02x}")).collect::<String>())
        );
    }
}

/// Checks the checksum of the reference sequences of a header. `checksum` is from `md5sum`.
#[track_caller]
fn reference_of(dir: &TestDir, header: &str, checksum: Value, checksum_of: Value) {
    let read = "r\t0\tone\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let text = format!("@HD\tVN:1.6\n{header}{}", if checksum.is_null() { "" } else { read });
    let [input, json] = [arg(&dir.file("in.sam", text)), arg(&dir.path("x.json"))];
    succeeds(&format!("sort {input} -o {input}.bam --json {json}"));
    let run = described(dir, "x.json");
    let reference = &run["reference"];
    assert_eq!(
        (&reference["checksum"], &reference["checksum_of"]),
        (&checksum, &checksum_of),
        "{header}: {reference}"
    );
    assert_eq!((&reference["path"], &run["known_sites"]), (&Value::Null, &json!([])));
}

#[test]
fn the_reference_has_the_checksum_of_its_sequences() {
    let dir = TestDir::new();
    let one = format!("@SQ\tSN:one\tLN:100\tM5:{}\n", "a".repeat(32));
    let two = format!("@SQ\tSN:two\tLN:200\tUR:x\tM5:{}\n", "b".repeat(32));
    let of = json!("names, lengths and M5");
    // printf 'one\t100\taaa…\ntwo\t200\tbbb…\n' | md5sum
    reference_of(&dir, &format!("{one}{two}"), json!("310ff636b09a7d429abcef293d5f891f"), of.clone());
    reference_of(&dir, &one, json!("2b50b27cc1e3f76c8e52f90784383501"), of);
    // printf 'one\t100\ntwo\t200\n' | md5sum
    let short = "@SQ\tSN:two\tLN:200\n";
    reference_of(
        &dir,
        &format!("{one}{short}"),
        json!("63c64ffe10f88a55e84dd061c56af72e"),
        json!("names and lengths"),
    );
    reference_of(&dir, "", Value::Null, Value::Null);
}

/// Recalibrates the reads of the demonstration in `dir`, whose targets are the known sites: once packed,
/// once not. Returns the description, and the paths of the demonstration and of the packed file.
#[track_caller]
fn recalibrate_demo(dir: &TestDir) -> (Value, [String; 2]) {
    let [demo, output, json] = ["demo", "x.bam", "x.json"].map(|name| arg(&dir.path(name)));
    succeeds(&format!("demo --page --pairs 3000 -o {demo}"));
    let plain = fs::read(dir.path("demo").join("targets.bed")).expect("targets");
    let sites = arg(&dir.file("sites.bed.gz", bgzip(&plain)));
    succeeds(&format!(
        "prep {demo}/reads.bam -o {output} --sort coordinate --reference {demo}/ref.fa --bqsr \
         --known-sites {sites} --known-sites {demo}/targets.bed --json {json}"
    ));
    (described(dir, "x.json"), [demo, sites])
}

#[test]
fn known_sites_and_platforms_are_described() {
    let dir = TestDir::new();
    let (run, [demo, sites]) = recalibrate_demo(&dir);
    for (file, path) in [(0, sites), (1, format!("{demo}/targets.bed"))] {
        let raw = fs::read(&path).expect("known sites");
        let sum = format!("{:032x}", xxh3_128(&raw));
        assert_eq!(run["known_sites"][file], json!({"path": path, "bytes": raw.len(), "xxh128": sum}));
    }
    assert_eq!(run["platforms"], json!(["ILLUMINA"]));
    let fasta = format!("{demo}/ref.fa");
    let reference = &run["reference"];
    assert_eq!(reference["path"], json!(fasta));
    assert_eq!(reference["bytes"], fs::metadata(fasta).expect("a file").len());
    assert!(reference["total_bases"].as_u64() > Some(900_000), "{reference}");
}

/// Returns the spilled bytes of the run, after a check that they are the sum of those of its stages.
#[track_caller]
fn spilled_bytes(run: &Value) -> u64 {
    let stages = run["stages"].as_array().expect("stages");
    let sum: u64 = stages.iter().filter_map(|it| it["spilled_bytes"].as_u64()).sum();
    assert_eq!(run["resources"]["spilled_bytes"], sum, "{stages:?}");
    sum
}

#[test]
fn spilled_bytes_are_those_of_the_stages() {
    let dir = TestDir::new();
    // All reads fit into memory; the known sites are stored on disk.
    let (run, _) = recalibrate_demo(&dir);
    assert!(spilled_bytes(&run) > 0 && run["resources"]["spilled_runs"] == 0, "{run}");
    // A run that spills reads, and a job in stages.
    let input = arg(&dir.file("in.bam", bgzip(&sample(40_000))));
    let stages = format!("--resume {}", arg(&dir.path("stages")));
    let [output, json] = ["x.bam", "x.json"].map(|name| arg(&dir.path(name)));
    let least = query_min_memory(&words(&format!("sort {input} -o {output}")));
    for (more, spills) in [(format!("-m {least}"), true), (stages, false)] {
        succeeds(&format!("sort {input} -o {output} --json {json} {more}"));
        let run = described(&dir, "x.json");
        assert_eq!(spilled_bytes(&run) > 0, spills, "{more}: {}", run["resources"]);
    }
}
