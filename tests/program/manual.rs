//! Help, man pages and completions: what is written, and that shells and users can work with it.

use std::path::Path;
use std::process::Command;

use crate::support::{ProgramRun, TestDir, arg, finish, readmill};

/// Runs a script with `readmill` on the path of programs, in this directory.
fn run_script(dir: &TestDir, shell: &str, script: &str) -> ProgramRun {
    let program = Path::new(env!("CARGO_BIN_EXE_readmill")).parent().expect("its directory");
    let path = format!("{}:{}:{}", dir.path("").display(), program.display(), env!("PATH"));
    finish(Command::new(shell).args(["-c", script]).current_dir(dir.path("")).env("PATH", path))
}

fn text(done: &ProgramRun) -> String {
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    String::from_utf8(done.stdout.clone()).expect("text")
}

/// The commands without commands below them, such as `shard plan`, and those with.
fn all_commands() -> Vec<String> {
    let below = |above: &[&str]| -> Vec<String> {
        let help = text(&readmill([above, &["--help"]].concat()));
        let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        names.filter(|name| !name.is_empty() && *name != "help").map(str::to_string).collect()
    };
    let first = below(&[]);
    let second = ["bqsr", "fingerprint", "shard"]
        .map(|above| below(&[above]).into_iter().map(move |name| format!("{above} {name}")));
    first.into_iter().chain(second.into_iter().flatten()).collect()
}

/// The examples in the long help of a command.
fn examples(command: &str) -> Vec<String> {
    let help = text(&readmill(command.split(' ').chain(["--help"])));
    let after = help.split_once("Examples:\n").map_or("", |(_, lines)| lines);
    let joined = after.replace("\\\n     ", "");
    joined.lines().map(|line| line.trim_start().to_string()).filter(|line| !line.is_empty()).collect()
}

/// Writes the files that the examples name.
#[cfg(feature = "bwa")]
fn write_example_files(dir: &TestDir) {
    let sites = "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n\
        chr1\t500\t.\tA\tC\t.\t.\tAF=0.5\n";
    for name in ["dbsnp.vcf.gz", "common.vcf.gz"] {
        dir.file(name, sites);
    }
    for name in ["exome.bed", "exons.bed"] {
        dir.file(name, "chr1\t100\t2000\n");
    }
    dir.file("exons.tsv", "chr1\t100\t2000\n");
    dir.file("samples.tsv", "sample\tgroup\nsample1\tcases\n");
    dir.file("parts.txt", "part1.bam\npart2.bam\n");
    // The aligner of another program, for the lines that begin with it.
    let script =
        "shift; [ \"$1\" = -p ] && shift && set -- -p \"$@\"; exec readmill align \"$@\" -q -O sam";
    dir.file("bwa", format!("#!/bin/sh\n{script}\n"));
    let script = "chmod +x bwa
        readmill demo --page --pairs 300 -o demo
        cp demo/ref.fa .
        readmill index -q ref.fa
        readmill fastq -q demo/reads.bam -1 R1.fq -2 R2.fq
        for n in 1 2; do
            for name in R$n.fq.gz R$n.fastq.gz; do cp R$n.fq $name; done
        done
        readmill align -q ref.fa R1.fq R2.fq -R '@RG\\tID:lane1\\tSM:sample1\\tLB:a\\tPL:ILLUMINA' -o in.bam
        readmill fastq -q in.bam -o reads.fq
        readmill sort -q in.bam -o sorted.bam --json sample.run.json --flagstat f.txt
        readmill view in.bam -o in.cram --reference ref.fa
        readmill view sorted.bam -o sorted.cram --reference ref.fa --write-index
        for name in tumour normal; do
            cp sorted.bam $name.bam
            readmill fingerprint count in.bam --sites common.vcf.gz -o $name.fingerprint
        done
        for n in 1 2; do
            cp in.bam lane$n.bam; cp in.bam part$n.bam
            cp tumour.fingerprint lane$n.fingerprint
            readmill bqsr table -q in.bam --reference ref.fa --known-sites dbsnp.vcf.gz -o part$n.table
        done
        cp part1.table before.table; cp part1.table after.table
        cp sorted.bam with-sample.bam; cp sorted.bam marked.bam; cp in.bam old.bam; cp in.bam new.bam; cp in.cram new.cram; cp in.bam out.bam
        mkdir qc lanes man1";
    let done = run_script(dir, "sh", &format!("set -e\n{script}"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

#[test]
#[cfg(feature = "bwa")]
fn every_command_has_two_examples_that_run() {
    let dir = TestDir::new();
    write_example_files(&dir);
    let mut wrong = Vec::new();
    for command in all_commands() {
        let lines = examples(&command);
        // Stages are run by `shard run`; those with commands below them show the most used ones.
        let others = ["bqsr", "fingerprint"].contains(&command.as_str());
        let is_stage =
            command.starts_with("shard ") && !["shard plan", "shard run"].contains(&&*command);
        if lines.len() < 2 && !others && !is_stage {
            wrong.push(format!("{command} has {} examples", lines.len()));
        }
        for line in lines {
            let line = match command.as_str() {
                "cluster" => continue, // it needs Python
                "demo" => format!("{line} --pairs 300"),
                // Earlier examples made a file of this name from reads without a sample.
                "call" => format!("cp with-sample.bam marked.bam; {line}"),
                // An earlier example made other files of these names.
                "quickcheck" => format!("rm -f unaligned.bam by-name.bam; {line}"),
                _ if line.contains("shard plan --work DIR ") => format!("rm -rf DIR; {line}"),
                _ => line,
            };
            let done = run_script(&dir, "sh", &line);
            // There are too few sites to be sure that two samples are of the same person.
            let expected = if line.contains("--expect-same") { 4 } else { 0 };
            if done.code != Some(expected) {
                wrong.push(format!("{line}: exit code {:?}: {}", done.code, done.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_command_has_a_man_page_with_its_examples() {
    let dir = TestDir::new();
    let pages = arg(&dir.path("share/man/man1"));
    assert_eq!(readmill(["man", &pages]).code, Some(0));
    let mut wanted: Vec<String> =
        all_commands().iter().map(|path| format!("readmill-{}.1", path.replace(' ', "-"))).collect();
    wanted.push("readmill.1".to_string());
    wanted.sort();
    let mut found: Vec<String> = std::fs::read_dir(&pages)
        .expect("the pages")
        .map(|entry| entry.expect("a page").file_name().into_string().expect("text"))
        .collect();
    found.sort();
    assert_eq!(found, wanted);
    let page = std::fs::read_to_string(format!("{pages}/readmill-shard-plan.1")).expect("a page");
    assert!(page.contains(".TH readmill-shard-plan 1"), "{page}");
    assert!(page.contains("shard plan \\-\\-work DIR \\-\\-shards 8 prep"), "{page}");
    let again = readmill(["man", &pages]);
    assert_eq!(again.code, Some(0), "the pages are replaced: {}", again.stderr);
    let done = readmill(["man", &arg(&dir.file("a-file", ""))]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
}

/// Each shell, and a script that reads the completions and prints what `readmill so` and
/// `readmill sort --te` are completed to.
const SHELLS: &[(&str, &str)] = &[
    (
        "bash",
        ". ./script; complete -p readmill; for line in 'readmill so' 'readmill sort --te'; do
            COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
            _readmill readmill \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"
            echo \"${COMPREPLY[@]}\"
        done",
    ),
    (
        // zsh completes in its line editor alone; that the script is read, and is the completion
        // of readmill, can be seen without one.
        "zsh",
        "autoload -Uz compinit && compinit -u -D && . ./script && print $_comps[readmill] && which _readmill_commands",
    ),
    ("fish", "source ./script; complete -C 'readmill so'; complete -C 'readmill sort --te'"),
];

#[test]
fn shells_read_their_completions() {
    let dir = TestDir::new();
    let needs_all = std::env::var_os("READMILL_ALL_SHELLS").is_some();
    for (shell, script) in SHELLS {
        let completions = readmill(["completions", shell]);
        assert_eq!(completions.code, Some(0), "{}", completions.stderr);
        dir.file("script", &completions.stdout);
        if Command::new(shell).arg("--version").output().is_err() {
            assert!(!needs_all, "{shell} is not installed");
            println!("{shell} is not installed here");
            continue;
        }
        let done = run_script(&dir, shell, script);
        let text = text(&done);
        let wanted: &[&str] =
            if *shell == "zsh" { &["_readmill", "sort:"] } else { &["sort", "--temp-dir"] };
        assert!(wanted.iter().all(|word| text.contains(word)), "{shell}: {text}{}", done.stderr);
        assert!(done.stderr.is_empty(), "{shell}: {}", done.stderr);
    }
    assert_eq!(readmill(["completions", "csh"]).code, Some(1));
}

#[test]
fn help_of_a_section_and_of_common_flags_is_printed() {
    let section = text(&readmill(["help", "prep", "recalibration"]));
    assert!(section.contains("--known-sites <FILE>") && !section.contains("--min-mapq"), "{section}");
    let common = text(&readmill(["help", "common"]));
    assert!(common.contains("control") && common.contains("--temp-dir <DIR>"), "{common}");
    let unknown = readmill(["help", "prep", "colours"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("the sections of its help are"), "{}", unknown.stderr);
    let known = text(&readmill(["help", "sort"]));
    assert!(known.contains("--template-coordinate"), "{known}");
}
