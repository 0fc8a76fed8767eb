//! `--report` and `readmill report`: the page of runs.

use std::fs;

use crate::run_json::described;
use crate::support::resources::{sample, words};
use crate::support::{TestDir, arg, bgzip, readmill};

/// Runs a command line that must succeed.
#[track_caller]
fn succeeds(line: &str) {
    let done = readmill(words(line));
    assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
}

/// Runs a command line that must fail so, and returns what it says.
#[track_caller]
fn fails(line: &str, code: i32) -> String {
    let done = readmill(words(line));
    assert_eq!(done.code, Some(code), "{line}: {}", done.stderr);
    done.stderr
}

/// A run with reports, its JSON and its page.
fn run(dir: &TestDir, more: &str) -> [String; 3] {
    let input = arg(&dir.file("in.bam", bgzip(&sample(1_000))));
    let [output, json, page] = ["x.bam", "x.json", "x.html"].map(|name| arg(&dir.path(name)));
    succeeds(&format!(
        "prep {input} -o {output} --sort coordinate --mark-duplicates --flagstat {output}.flagstat --qc {output} \
         --json {json} --report {page} {more}"
    ));
    [input, json, page]
}

#[test]
fn the_page_of_a_run_is_that_of_its_json() {
    let dir = TestDir::new();
    let [_, json, page] = run(&dir, "");
    let again = arg(&dir.path("again.html"));
    succeeds(&format!("report {json} -o {again}"));
    let text = fs::read_to_string(dir.path("x.html")).expect("a page");
    assert_eq!(text, fs::read_to_string(dir.path("again.html")).expect("a page"));
    assert!(text.contains("<h1>SIM1</h1>") && text.contains("id=\"s0-inserts\""), "{text}");
    // Clips of plots are parts of the page.
    let is_own = text.matches("url(").count() == text.matches("url(#").count();
    assert!(!text.contains("src=") && is_own, "nothing is loaded");
    assert!(text.len() < 1 << 20, "{}", text.len());
    let described = fs::read_to_string(dir.path("x.json")).expect("JSON");
    let outputs = described.lines().find(|line| line.starts_with("\"outputs\"")).expect("outputs");
    assert!(outputs.contains("x.bam") && !outputs.contains(&page), "the page is made of it: {outputs}");
}

#[test]
fn limits_change_the_verdict_alone() {
    let dir = TestDir::new();
    let limits = arg(&dir.file("limits.json", br#"{"mapped": {"bad_below": 1.1}}"#));
    let [_, json, _] = run(&dir, &format!("--qc-thresholds {limits} --assay panel"));
    let text = fs::read_to_string(dir.path("x.html")).expect("a page");
    assert!(text.contains("Thresholds for panels, modified by --qc-thresholds."), "{text}");
    assert!(text.contains("<strong>Mapped reads</strong>"), "{text}");
    let again = arg(&dir.path("again.html"));
    succeeds(&format!("report {json} -o {again}"));
    assert_eq!(text, fs::read_to_string(&again).expect("a page"), "the run file has the thresholds");
    let other = arg(&dir.path("other.html"));
    succeeds(&format!("report {json} --assay rna -o {other}"));
    let text = fs::read_to_string(dir.path("other.html")).expect("a page");
    assert!(
        text.contains("Thresholds for RNA.") && !text.contains("<strong>Mapped reads</strong>"),
        "{text}"
    );
}

#[test]
fn an_assay_is_the_flags_that_it_prints() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(1_000))));
    let line = |name: &str| {
        let made = arg(&dir.path(name));
        format!(
            "prep {input} -o {made}.bam --sort coordinate --mark-duplicates --report {made}.html --assay wgs"
        )
    };
    let done = readmill(words(&line("x")));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let (_, added) = done.stderr.split_once("readmill: note: --assay wgs adds ").expect("a note");
    let (added, others) = added.split_once('\n').expect("a line");
    assert!(others.contains("GC bias and DNA damage (add --reference)"), "{others}");
    let written = done.stderr.clone();
    for name in ["x.run.json", "x.metrics", "x.insert_size_metrics", "x.mosdepth.summary.txt"] {
        assert!(dir.path(name).exists(), "{name}: {written}");
    }
    let renamed = added.replace(&arg(&dir.path("x")), &arg(&dir.path("y")));
    let again = readmill(words(&format!("{} {renamed}", line("y"))));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(!again.stderr.contains("adds"), "nothing is left to add: {}", again.stderr);
    for name in ["flagstat", "mosdepth.global.dist.txt", "quality_by_cycle_metrics"] {
        let [one, two] = ["x", "y"].map(|it| fs::read_to_string(dir.path(&format!("{it}.{name}"))).ok());
        let lines = |text: Option<String>| {
            text.map(|it| {
                it.lines().filter(|it| !it.starts_with('#')).map(str::to_string).collect::<Vec<_>>()
            })
        };
        assert_eq!(lines(one), lines(two), "{name}");
    }
    let quiet = readmill(words(&format!("{} -q --qc {input}.q", line("z"))));
    assert!(quiet.code == Some(0) && quiet.stderr.is_empty(), "{}", quiet.stderr);
    assert!(
        dir.path("in.bam.q.insert_size_metrics").exists() && !dir.path("z.insert_size_metrics").exists()
    );
}

#[test]
fn samples_are_side_by_side_with_their_fields() {
    let dir = TestDir::new();
    let [_, json, _] = run(&dir, "");
    let other = fs::read_to_string(dir.path("x.json")).expect("JSON");
    let other = arg(&dir.file("y.json", other.replace("\"sample\": \"x\"", "\"sample\": \"y\"")));
    let sheet = arg(&dir.file("samples.tsv", b"sample\tbatch\nx\tspring\ny\tautumn\n"));
    let page = arg(&dir.path("both.html"));
    succeeds(&format!("report {json} {other} --sample-sheet {sheet} -o {page}"));
    let text = fs::read_to_string(dir.path("both.html")).expect("a page");
    assert!(text.contains("<h1>2 samples</h1>") && text.contains("id=\"article-1\""), "{text}");
    assert!(text.contains(r#"{"name":"batch","values":["spring","autumn"]}"#), "{text}");
    let said = fails(&format!("report {json} --sample-sheet {sheet} --color-by sex -o {page}"), 1);
    assert!(said.contains("has no field sex; its fields are batch"), "{said}");
}

#[test]
fn each_run_of_a_cohort_has_the_thresholds_of_its_assay() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(1_000))));
    let [panel, wgs, page] = ["panel.json", "wgs.json", "all.html"].map(|name| arg(&dir.path(name)));
    succeeds(&format!("flagstat {input} -o {page}.txt --assay panel --json {panel}"));
    succeeds(&format!("flagstat {input} -o {page}.txt --json {wgs}"));
    assert_eq!(described(&dir, "panel.json")["assay"], "panel");
    assert_eq!(described(&dir, "wgs.json")["assay"], serde_json::Value::Null);
    let note = |flags: &str| {
        succeeds(&format!("report {panel} {wgs} -o {page} {flags}"));
        let text = fs::read_to_string(dir.path("all.html")).expect("a page");
        let note = text.split_once("<p class=\"note\">").and_then(|(_, rest)| rest.split_once("</p>"));
        note.map(|(note, _)| note.to_string()).expect("a note")
    };
    let own =
        "Each sample has the thresholds of its assay: whole genomes (1 sample) and panels (1 sample).";
    assert_eq!(note(""), own);
    assert_eq!(note("--assay exome"), "Thresholds for exomes.");
    // The thresholds are an input, which no output replaces.
    let file = arg(&dir.file("limits.json", b"{}"));
    let said = fails(&format!("flagstat {input} -o {page} --qc-thresholds {file} --json {file}"), 1);
    assert!(said.contains("is an input"), "{said}");
}

#[test]
fn runs_with_the_same_name_are_told_apart_and_a_run_is_given_once() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(1_000))));
    let [one, two, page] = ["S1", "S2", "all.html"].map(|name| arg(&dir.path(name)));
    for place in [&one, &two] {
        fs::create_dir(place).expect("a directory");
        succeeds(&format!("sort {input} -o {place}/aligned.bam --json {place}/run.json"));
    }
    let done = readmill(words(&format!("report {one}/run.json {two}/run.json -o {page}")));
    let warning = "2 runs have the sample name SIM1; the report calls them SIM1 (S1) and SIM1 (S2)";
    assert!(done.code == Some(0) && done.stderr.contains(warning), "{}", done.stderr);
    let text = fs::read_to_string(dir.path("all.html")).expect("a page");
    assert!(text.contains(r#""samples":["SIM1 (S1)","SIM1 (S2)"]"#), "{text}");
    fs::remove_file(&page).expect("a page");
    let said = fails(&format!("report {one}/run.json {one}/../S1/run.json -o {page}"), 1);
    assert!(said.contains("is given twice; give each run file once"), "{said}");
    fs::copy(format!("{one}/run.json"), format!("{two}/copy.json")).expect("a copy");
    let said = fails(&format!("report {one}/run.json {two}/copy.json -o {page}"), 1);
    assert!(said.contains("describe the same run; give each run once"), "{said}");
    assert!(!dir.path("all.html").exists());
}

#[test]
fn lanes_without_pu_are_known_by_their_ids() {
    let dir = TestDir::new();
    let mut text = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9000\n@RG\tID:one\tSM:s\n@RG\tID:two\tSM:s\n".to_string();
    for number in 0..40 {
        let (group, start) = (["one", "two"][number % 2], 100 + 9 * number);
        for (flags, at, mate, size) in [(99, start, start + 200, 250), (147, start + 200, start, -250)] {
            let bases = "ACGTACGTGG".repeat(5);
            text += &format!(
                "r{number}\t{flags}\tc\t{at}\t60\t50M\t=\t{mate}\t{size}\t{bases}\t{}\tRG:Z:{group}\n",
                "I".repeat(50)
            );
        }
    }
    let input = arg(&dir.file("in.sam", text));
    let prefix = arg(&dir.path("x"));
    succeeds(&format!(
        "qc {input} -o {prefix} --metric-accumulation-level READ_GROUP --json {prefix}.json"
    ));
    let run = described(&dir, "x.json");
    let rows = run["reports"]["insert_size_metrics"]["rows"].as_array().expect("rows");
    let lanes: Vec<&str> = rows.iter().filter_map(|row| row["READ_GROUP"].as_str()).collect();
    assert_eq!(lanes, ["one", "two"]);
    // No name has a tile, so optical duplicates were not measured.
    let page = arg(&dir.path("x.html"));
    succeeds(&format!(
        "prep {input} -o {prefix}.bam --sort coordinate --mark-duplicates --metrics {prefix}.txt --report {page}"
    ));
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Duplicates") && !page.contains("Optical duplicates"), "{page}");
}

#[test]
fn what_is_no_description_is_refused_and_nothing_is_left() {
    let dir = TestDir::new();
    let [input, json, _] = run(&dir, "");
    let page = arg(&dir.path("no.html"));
    let other = arg(&dir.file("other.json", b"{\"format\": \"other\"}"));
    let newer = arg(&dir.file("newer.json", b"{\"format\": \"readmill run\", \"version\": 9}"));
    for (line, code, what) in [
        (format!("report {input} -o {page}"), 2, "not a run file"),
        (format!("report {other} -o {page}"), 2, "not a run description"),
        (format!("report {newer} -o {page}"), 2, "the format version is not 1 or 2"),
        (format!("report {json}.gone -o {page}"), 3, "cannot be read"),
        (format!("report {json} --qc-thresholds {other} -o {page}"), 2, "unknown metric format"),
        (format!("report {json} --sample-sheet {other} -o {page}"), 2, "the first line must have"),
        (format!("report {json} -o {json}"), 1, "is an input"),
        (format!("report {json} -m 20M -o {page}"), 1, "raise -m"),
        (format!("sort {input} -o {page}.bam --assay rna"), 1, "add --report FILE"),
        (
            format!("sort {input} -o {page}.bam --report {json} --json {json}"),
            1,
            "two outputs have the same name",
        ),
        (
            format!("sort {input} -o {page}.bam --report {page} --qc-thresholds {json}"),
            2,
            "unknown metric",
        ),
        (
            format!("sort {input} -o {page}.bam --report {other} --qc-thresholds {other}"),
            2,
            "unknown metric",
        ),
    ] {
        let said = fails(&line, code);
        assert!(said.contains(what), "{line}: {said}");
    }
    let left: Vec<String> = dir.names().into_iter().filter(|name| name.starts_with("no.html")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_demonstration_plants_a_fault_that_its_page_names() {
    let dir = TestDir::new();
    let [clean, faulty] = ["clean", "faulty"].map(|name| arg(&dir.path(name)));
    succeeds(&format!("demo --page --pairs 3000 -o {clean}"));
    succeeds(&format!("demo --page --pairs 3000 --plant adapter -o {faulty}"));
    let says = |name: &str| {
        let text = fs::read_to_string(dir.path(name).join("report.html")).expect("a page");
        text.contains("<strong>Inserts shorter than the reads</strong>")
    };
    assert_eq!([says("clean"), says("faulty")], [false, true]);
}

#[test]
fn multiqc_gets_a_table_under_a_name_that_it_finds() {
    let dir = TestDir::new();
    let [_, json, _] = run(&dir, "");
    let [page, table, wrong] = ["all.html", "all_mqc.json", "all.json"].map(|name| arg(&dir.path(name)));
    succeeds(&format!("report {json} -o {page} --multiqc {table}"));
    let text = fs::read_to_string(dir.path("all_mqc.json")).expect("a table");
    let table: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(table["data"]["x"]["read"], 1_986.0, "{text}");
    assert!(table["data"]["x"]["peak"].as_f64().is_some_and(|mib| mib > 1.0), "{text}");
    let said = fails(&format!("report {json} -o {page} --multiqc {wrong}"), 1);
    assert!(
        said.contains("MultiQC does not detect files with this name; use a name that ends in _mqc.json"),
        "{said}"
    );
    assert!(!dir.path("all.json").exists());
    let one = arg(&dir.path("one_mqc.json"));
    let said = fails(&format!("report {json} -o {one} --multiqc {one}"), 1);
    assert!(said.contains("the report has the same name; give the table another name"), "{said}");
    assert!(!dir.path("one_mqc.json").exists());
    // A table that cannot be written leaves no page, either.
    std::os::unix::fs::symlink("/dev/full", dir.path("full_mqc.json")).expect("a link");
    let [page, full] = ["none.html", "full_mqc.json"].map(|name| arg(&dir.path(name)));
    let said = fails(&format!("report {json} -o {page} --multiqc {full}"), 3);
    assert!(said.contains("No space left"), "{said}");
    assert!(!dir.path("none.html").exists() && !dir.path("none.html.partial").exists());
}
