//! The files of `integrations` without their engines: flags that exist, modules that agree with their descriptions, and
//! the array of SLURM on a fake cluster. `./dev integrations` runs them by the real engines.
#![allow(clippy::unwrap_used)]

mod array;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::readmill;

/// The modules of Nextflow, which are the commands that they run.
const MODULES: [&str; 7] = ["align", "prep", "markdup", "sort", "index", "qc", "report"];

/// Modules that publish the files of these flags: the page, the run file, metrics, coverage and FastQC results.
const MODULES_WITH_REPORTS: [&str; 5] = ["align", "prep", "markdup", "sort", "qc"];

/// Flags of other programs in files that have flags of readmill, too.
const OTHERS: [(&str, &[&str]); 2] = [
    (
        "slurm/readmill-array.sh",
        &[
            "--array",
            "--parsable",
            "--dependency",
            "--wait",
            "--job-name",
            "--output",
            "--open-mode",
            "--cpus-per-task",
            "--mem",
            "--time",
            "--requeue",
            "--signal",
        ],
    ),
    ("nextflow/main.nf", &["--input", "--fasta"]),
];

fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("integrations")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(home().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The flags that a text names: `--word`, and `-x` of one letter.
fn flags(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '@' || c == '_'));
    let is_flag = |word: &&str| match word.strip_prefix("--") {
        Some(name) => name.starts_with(|c: char| c.is_ascii_alphabetic()),
        None => word.len() == 2 && word.starts_with('-') && !word.ends_with('-'),
    };
    words.filter(is_flag).collect()
}

/// The flags that a command has, by its help.
fn known(command: &str) -> BTreeSet<String> {
    let own = readmill([command, "--help"]);
    assert_eq!(own.code, Some(0), "{command}");
    let [own, all] =
        [own.stdout, readmill(["--help"]).stdout].map(|text| String::from_utf8(text).unwrap());
    flags(&own).union(&flags(&all)).map(|flag| flag.to_string()).collect()
}

/// Flags of a file that its command does not have.
fn unknown(name: &str, text: &str, known: &BTreeSet<String>) -> Vec<String> {
    let others = OTHERS.iter().find(|(file, _)| *file == name).map_or(&[][..], |(_, flags)| flags);
    let is_unknown = |flag: &&str| !known.contains(*flag) && !others.contains(flag);
    flags(text).into_iter().filter(is_unknown).map(|flag| format!("{name}: {flag}")).collect()
}

#[test]
fn every_flag_of_a_module_or_wrapper_exists() {
    for command in MODULES {
        let known = known(command);
        for name in [
            format!("nextflow/modules/readmill/{command}/main.nf"),
            format!("snakemake/wrappers/readmill/{command}/wrapper.py"),
        ] {
            let text = text(&name);
            assert_eq!(unknown(&name, &text, &known), [""; 0]);
            assert!(text.contains(&format!("{command} ")), "{name} does not run readmill {command}");
        }
    }
    assert_eq!(unknown("x", "readmill align -@ 2 --sort-by name", &known("align")), ["x: --sort-by"]);
}

#[test]
fn every_flag_of_a_workflow_exists() {
    let known = known("align");
    // Comments can name flags of the engines.
    let code = |text: &str| -> String {
        text.lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    for name in ["nextflow/main.nf", "nextflow/nextflow.config", "slurm/readmill-array.sh"] {
        let mut unknown = unknown(name, &code(&text(name)), &known);
        // Flags of one letter are those of the shell's commands, too; the array runs readmill in a test of its own.
        unknown.retain(|flag| !name.ends_with(".sh") || flag.contains(": --"));
        assert_eq!(unknown, [""; 0]);
    }
    let (snakefile, wdl) = (text("snakemake/Snakefile"), text("wdl/readmill.wdl"));
    let (_, extra) = snakefile.split_once("extra=").unwrap();
    let (extra, _) = extra.split_once("threads:").unwrap();
    assert!(extra.contains("--mark-duplicates") && wdl.contains("--mark-duplicates"));
    assert_eq!(unknown("snakemake/Snakefile", extra, &known), [""; 0]);
    let (_, command) = wdl.split_once("\"${READMILL:-readmill}\" align").unwrap();
    let (command, _) = command.split_once(">>>").unwrap();
    assert_eq!(unknown("wdl/readmill.wdl", command, &known), [""; 0]);
}

#[test]
fn every_workflow_asks_for_reports_and_ends_with_the_page_of_all_samples() {
    let known = known("report");
    let page = |text: &str, before: &str, after: &str| -> String {
        let (_, command) = text.split_once(before).unwrap_or_else(|| panic!("no {before}"));
        command.split_once(after).unwrap_or_else(|| panic!("no {after}")).0.to_owned()
    };
    for (name, before, after) in [
        ("wdl/readmill.wdl", "\"${READMILL:-readmill}\" report", ">>>"),
        ("slurm/readmill-page.sh", "\"${READMILL:-readmill}\" report", "\n"),
    ] {
        let command = page(&text(name), before, after);
        assert_eq!(unknown(name, &command, &known), [""; 0]);
        assert!(command.contains("--multiqc") && command.contains("cohort.html"), "{name}: {command}");
    }
    // The wrapper of Snakemake turns its outputs into the flags --report, --json, --qc and --coverage.
    let snakefile = text("snakemake/Snakefile");
    for output in ["report=", "json=", "qc=", "coverage=", "/cohort.html", "/cohort_mqc.json"] {
        assert!(snakefile.contains(output), "the Snakefile has no {output}");
    }
    for name in ["nextflow/nextflow.config", "slurm/readmill-array.sh", "wdl/readmill.wdl"] {
        let text = text(name);
        for flag in ["--report ", "--json ", "--qc ", "--coverage "] {
            assert!(text.contains(flag), "{name} has no {flag}");
        }
    }
    // All workflows ask for the same metrics.
    let same = ["all,CollectWgsMetrics", "ALL_READS,LIBRARY,READ_GROUP", "--coverage-no-per-base"];
    for name in [
        "nextflow/nextflow.config",
        "snakemake/Snakefile",
        "slurm/readmill-array.sh",
        "wdl/readmill.wdl",
    ] {
        assert!(same.iter().all(|part| text(name).contains(part)), "{name} asks for other metrics");
    }
    let pipeline = text("nextflow/main.nf");
    assert!(pipeline.contains("READMILL_REPORT(runs, fields)"), "the pipeline makes no page");
}

/// The part of a process of Nextflow between one label and the next.
fn section<'a>(module: &'a str, label: &str) -> &'a str {
    let (_, rest) =
        module.split_once(&format!("\n    {label}:\n")).unwrap_or_else(|| panic!("no {label}:"));
    let next = ["\n    input:", "\n    output:", "\n    when:", "\n    script:", "\n    stub:"];
    &rest[..next.iter().filter_map(|next| rest.find(next)).min().unwrap_or(rest.len())]
}

/// The names of `val(…)` and `path(…)` in a line, without quotes.
fn channels(line: &str) -> Vec<&str> {
    let after =
        line.match_indices("val(").chain(line.match_indices("path(")).chain(line.match_indices("path "));
    let mut starts: Vec<usize> = after.map(|(at, word)| at + word.len()).collect();
    starts.sort_unstable();
    let name = |start: &usize| match line[*start..].strip_prefix('"') {
        Some(rest) => rest.split('"').next().unwrap(),
        None => line[*start..].split([',', ')', ' ']).next().unwrap(),
    };
    starts.iter().map(name).collect()
}

/// Keys of a description below `input:` or `output:`, in order, without those that every entry has.
fn described(meta: &str, part: &str) -> Vec<String> {
    let (_, rest) = meta.split_once(&format!("\n{part}:\n")).unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with(' '));
    let key = |line: &str| {
        let key = line
            .trim_start_matches([' ', '-'])
            .rsplit_once(':')
            .filter(|(_, value)| value.is_empty())?
            .0;
        Some(key.trim_matches('"').to_owned())
    };
    lines.filter_map(key).collect()
}

#[test]
fn a_module_agrees_with_its_description_and_its_stub() {
    for command in MODULES {
        let module = text(&format!("nextflow/modules/readmill/{command}/main.nf"));
        let meta = text(&format!("nextflow/modules/readmill/{command}/meta.yml"));
        assert!(
            module.starts_with(&format!("process READMILL_{} {{\n", command.to_uppercase())),
            "{command}"
        );
        assert!(meta.starts_with(&format!("name: readmill_{command}\n")), "{command}");

        let inputs: Vec<&str> = section(&module, "input").lines().flat_map(channels).collect();
        assert_eq!(described(&meta, "input"), inputs, "inputs of {command}");

        let (mut outputs, mut required) = (Vec::new(), Vec::new());
        for line in section(&module, "output").lines().filter(|line| !line.trim().is_empty()) {
            let emit =
                line.split("emit: ").nth(1).unwrap_or_else(|| panic!("{command}: {line} emits nothing"));
            outputs.push(emit.split([',', ' ']).next().unwrap());
            outputs.extend(channels(line));
            if !line.contains("optional: true") {
                required.extend(channels(line));
            }
        }
        assert_eq!(described(&meta, "output"), outputs, "outputs of {command}");

        // The stub makes each output that must be there; `target` is the file of reads.
        let stub = section(&module, "stub");
        for output in required.iter().filter(|output| output.contains('.')) {
            let end = match output.split_once(".*") {
                Some((_, end)) => format!("${{target}}{end}"),
                None if output.contains("{bam,") => "touch ${target} ".to_owned(),
                None => output.rsplit(['.', ',']).next().unwrap().trim_end_matches('}').to_owned(),
            };
            assert!(stub.contains(&end), "the stub of {command} does not make {output}: no {end}");
        }
        if MODULES_WITH_REPORTS.contains(&command) {
            for output in ["report", "json", "qc", "coverage", "fastqc"] {
                assert!(outputs.contains(&output), "{command} does not publish {output}");
                let flag = format!("has('--{output}')");
                assert!(
                    stub.contains(&flag) || (command, output) == ("qc", "qc"),
                    "{command}: no {flag}"
                );
            }
        }
        for part in
            ["task.ext.when", "task.ext.args", "\"\\${READMILL:-readmill}\"", "conda \"${moduleDir}"]
        {
            assert!(module.contains(part), "{command} has no {part}");
        }
        let resources = match command {
            "index" => &[][..],
            "report" => &["-m ${task.memory.toMega()}M", "task.ext.prefix"][..],
            _ => &["-@ ${task.cpus}", "-m ${task.memory.toMega()}M", "task.ext.prefix"][..],
        };
        assert!(resources.iter().all(|part| module.contains(part)), "{command}");
        assert!(home().join(format!("nextflow/modules/readmill/{command}/environment.yml")).exists());
    }
}

#[test]
fn descriptions_are_yaml_as_far_as_colons_go() {
    for command in MODULES {
        for name in [
            format!("nextflow/modules/readmill/{command}/meta.yml"),
            format!("snakemake/wrappers/readmill/{command}/meta.yaml"),
        ] {
            for line in text(&name).lines().take_while(|line| *line != "notes: |") {
                let unquoted = line.split('"').step_by(2).collect::<String>();
                assert!(
                    unquoted.matches(": ").count() <= 1,
                    "{name}: a colon that wants quotes: {line}"
                );
                assert_eq!(line.matches('"').count() % 2, 0, "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_workflows_give_the_same_lines_to_readmill() {
    let sheet = text("nextflow/samples.csv");
    assert_eq!(sheet, text("snakemake/samples.csv"));
    assert_eq!(sheet.lines().next(), Some("sample,lane,fastq_1,fastq_2"));
    let joined = |name: &str| text(name).replace("${lane.name}", "LANE").replace("~{lane.name}", "LANE");
    let groups = [
        (joined("nextflow/main.nf"), "${sample}"),
        (joined("snakemake/Snakefile").replace("{lane}", "LANE"), "{sample}"),
        (joined("wdl/readmill.wdl"), "~{sample.name}"),
        (joined("slurm/readmill-array.sh").replace("$lane", "LANE"), "$sample"),
    ];
    for (text, sample) in groups {
        let group = r"@RG\\tID:S.LANE\\tSM:S\\tLB:S\\tPL:ILLUMINA\\tPU:S.LANE";
        assert!(text.replace(sample, "S").contains(group), "another read group: {text}");
    }
    let wdl = text("wdl/readmill.wdl");
    for line in
        text("wdl/inputs.json").lines().filter_map(|line| line.trim().strip_prefix("\"fastq_to_cram."))
    {
        let name = line.split('"').next().unwrap();
        assert!(
            wdl.lines().any(|line| line.starts_with("        ") && line.contains(&format!(" {name}"))),
            "{name}"
        );
    }
}
