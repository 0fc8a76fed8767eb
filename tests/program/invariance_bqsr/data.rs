//! A simulated sample as files, and commands on them.

use std::process::{Command, Stdio};

use readmill_format::bam;
use readmill_record::{Header, edit};
use readmill_simulate::{Profile, Sample};

use crate::support::resources::{number_after, query_min_memory};
use crate::support::{ProgramRun, TestDir, arg, bgzip, readmill};

/// Depth 10: 1.2 million bases on a genome of 120,000.
pub fn profile() -> Profile {
    let contigs = [("chr1", 90_000), ("chr2", 25_000), ("chrM", 5_000)];
    let contigs = contigs.map(|(name, length)| (name.to_string(), length)).to_vec();
    Profile { pairs: 6_000, contigs, read_length: 100, single_per_mille: 20, ..Profile::small() }
}

/// Records, template by template, under a header.
#[derive(Clone)]
pub struct TemplateReads {
    header: String,
    templates: Vec<Vec<u8>>,
}

impl TemplateReads {
    /// The templates of a sample.
    pub fn of(sample: &Sample) -> Self {
        let (mut templates, mut bytes, mut records) = (Vec::new(), Vec::new(), sample.records());
        while records.append_next(&mut bytes) {
            templates.push(std::mem::take(&mut bytes));
        }
        TemplateReads { header: sample.header_text(), templates }
    }

    /// The same with this number of additional bytes in each record, so that few records fill the memory.
    pub fn swollen(mut self, bytes: usize) -> Self {
        let text = vec![b'x'; bytes];
        for template in &mut self.templates {
            let mut out = Vec::new();
            let mut rest = &template[..];
            while let Some(size) = rest.first_chunk::<4>() {
                let (record, after) = rest.split_at(4 + u32::from_le_bytes(*size) as usize);
                let start = out.len();
                out.extend_from_slice(record);
                edit::append_text(&mut out, start, *b"XX", &text);
                rest = after;
            }
            *template = out;
        }
        self
    }

    /// The same in this number of parts.
    pub fn parts(&self, n: usize) -> Vec<TemplateReads> {
        let parts = self.templates.chunks(self.templates.len().div_ceil(n));
        parts
            .map(|part| TemplateReads { header: self.header.clone(), templates: part.to_vec() })
            .collect()
    }

    /// Identifiers of the read groups.
    pub fn groups(&self) -> Vec<String> {
        let lines = self.header.lines().filter(|line| line.starts_with("@RG"));
        lines
            .filter_map(|line| Some(line.split("ID:").nth(1)?.split('\t').next()?.to_string()))
            .collect()
    }

    /// The BAM file of them.
    pub fn bam(&self) -> Vec<u8> {
        let header = Header::parse(self.header.as_bytes()).expect("a header");
        let mut bytes = Vec::new();
        bam::header::write_header(&header, &mut bytes).expect("a small header");
        self.templates.iter().for_each(|template| bytes.extend_from_slice(template));
        bgzip(&bytes)
    }
}

/// A directory with reads, the reference and known sites, each in all its forms. `bare` has references without index.
pub struct BqsrFiles {
    pub dir: TestDir,
}

impl BqsrFiles {
    pub fn of(sample: &Sample, reads: &TemplateReads) -> Self {
        Self::with(sample, &reads.bam())
    }

    pub fn with(sample: &Sample, input: &[u8]) -> Self {
        let dir = TestDir::new();
        let written = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
            let mut bytes = Vec::new();
            write(&mut bytes).expect("bytes in memory");
            bytes
        };
        let fasta = written(&|out| sample.write_fasta(out));
        let index = written(&|out| sample.write_fai(out));
        let vcf = written(&|out| sample.write_known_sites(out));
        std::fs::create_dir(dir.path("bare")).expect("a directory");
        for folder in ["", "bare/"] {
            dir.file(&format!("{folder}ref.fa"), &fasta);
            dir.file(&format!("{folder}ref.fa.gz"), bgzip(&fasta));
        }
        dir.file("ref.fa.fai", &index);
        dir.file("ref.fa.gz.fai", &index);
        dir.file("known.vcf.gz", bgzip(&vcf));
        dir.file("known.bed", bed(&String::from_utf8(vcf.clone()).expect("text")));
        dir.file("known.vcf", vcf);
        dir.file("in.bam", input);
        BqsrFiles { dir }
    }

    /// The words of a command line, in which `%` stands for the directory.
    pub fn words(&self, command: &str) -> Vec<String> {
        let word = |word: &str| match word.strip_prefix('%') {
            Some(name) => arg(&self.dir.path(name)),
            None => word.to_string(),
        };
        command.split_whitespace().map(word).collect()
    }

    /// Runs a command, which must succeed.
    pub fn run(&self, command: &str) -> ProgramRun {
        let done = readmill(self.words(command));
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
        done
    }

    /// Runs a command, which must succeed, with a file on its standard input, through a pipe.
    pub fn run_with_input(&self, file: &str, command: &str) {
        let mut words = vec!["-c".to_string(), "cat \"$1\" | { shift; \"$0\" \"$@\"; }".to_string()];
        words.extend([env!("CARGO_BIN_EXE_readmill").to_string(), arg(&self.dir.path(file))]);
        words.extend(self.words(command));
        let done = Command::new("sh").args(words).stdin(Stdio::null()).output().expect("a shell");
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Returns the bytes of a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs commands, each with its memory or the least that its plan accepts; they must stay within it. All files
    /// whose names begin with `out` must be the same each time. Returns the largest and the smallest number of
    /// spilled runs.
    pub fn same_bytes(&self, commands: &[(String, Option<&str>)]) -> (usize, usize) {
        let mut first: Option<Vec<(String, Vec<u8>)>> = None;
        let (mut max_runs, mut min_runs) = (0, usize::MAX);
        for (command, memory) in commands {
            let mut args = self.words(command);
            let memory = memory.map_or_else(|| query_min_memory(&args), str::to_string);
            let (memory, done) = run_with_at_least(&memory, &mut args);
            assert_eq!(done.code, Some(0), "{command}, {memory}: {}", done.stderr);
            let limit = readmill_process::memory_size::parse_size(&memory).expect("a size") >> 20;
            let peak = number_after(&done, &["peak", "memory"]);
            assert!(peak <= limit as usize, "{command}: {peak} MiB with {memory}");
            let runs = number_after(&done, &["spilled", "in"]);
            (max_runs, min_runs) = (max_runs.max(runs), min_runs.min(runs));
            let names = self.dir.names().into_iter().filter(|name| name.starts_with("out"));
            let files: Vec<_> = names.map(|name| (name.clone(), self.read(&name))).collect();
            files.iter().for_each(|(name, _)| std::fs::remove_file(self.dir.path(name)).expect("gone"));
            assert!(!files.is_empty(), "{command} writes nothing");
            let first = first.get_or_insert_with(|| files.clone());
            let names =
                |files: &[(String, Vec<u8>)]| files.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
            assert_eq!(names(first), names(&files), "{command}");
            for (one, other) in first.iter().zip(&files) {
                assert!(one.1 == other.1, "{} differs: {command}, {memory}", one.0);
            }
        }
        (max_runs, min_runs)
    }
}

/// Runs with this memory, or with more if the header of the reads and the known sites need it.
fn run_with_at_least(memory: &str, args: &mut Vec<String>) -> (String, ProgramRun) {
    let mut memory = memory.to_string();
    args.extend(["-m".into(), memory.clone()]);
    loop {
        let done = readmill(&*args);
        let advice = done.stderr.split_once("raise -m to ").filter(|_| done.code == Some(1));
        let Some((_, advice)) = advice else { return (memory, done) };
        memory = advice.split_once(' ').expect("a size").0.to_string();
        args.pop();
        args.push(memory.clone());
    }
}

/// The sites of a VCF file as BED.
pub fn bed(vcf: &str) -> String {
    let lines = vcf.lines().filter(|line| !line.starts_with('#'));
    let site = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let pos: usize = columns[1].parse().expect("a position");
        format!("{}\t{}\t{}\n", columns[0], pos - 1, pos - 1 + columns[3].len())
    };
    lines.map(site).collect()
}
