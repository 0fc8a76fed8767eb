//! Shared parts of the end-to-end tests: they write inputs, run readmill and parse its output.
#![allow(clippy::disallowed_methods)] // a test's own threads are not the engine's
#![allow(dead_code)] // every test uses its part

pub mod ending;
pub mod random;
pub mod resources;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Read, pipe};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use readmill::Plan;
use readmill::formats::SamFormat;
use readmill::plan::{self, Format, Index, Output, Reports, Resources, Steps, Verbosity};
use readmill_format::bgzf::{self, Codec};
use readmill_format::spill_codec::SpillCodec;
use readmill_format::{bam, sam};
use readmill_process::console::Console;
use readmill_record::{Header, Result, edit};
use tempfile::TempDir;

/// A directory for the files of one test, removed at its end.
pub struct TestDir(TempDir);

impl TestDir {
    pub fn new() -> Self {
        TestDir(TempDir::new().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file in the temporary directory");
        path
    }

    /// Names of the files in the directory, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the temporary directory");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Does `steps` on `input` (SAM or BAM); returns the output as SAM text, without @PG.
    ///
    /// This runs in the test's own process, because starting one costs many times what a small input
    /// does. The output is a pipe, so nothing is written to disk.
    pub fn run(&self, input: &[u8], steps: Steps, threads: usize) -> Result<String> {
        let input = self.file("input", input);
        let (mut reader, writer) = pipe().expect("a pipe");
        let plan = Plan {
            command: plan::Command::Prep,
            inputs: vec![input],
            regions: None,
            aligning: None,
            merging: None,
            steps,
            destination: plan::Destination::Main(
                Output {
                    path: format!("/dev/fd/{}", writer.as_raw_fd()).into(),
                    parts: 1,
                    format: Format::new(SamFormat { is_compressed: false }),
                    content: Default::default(),
                    codec: Codec::default(),
                    level: None,
                    index: Index::No,
                    no_pg: true,
                    bases: Default::default(),
                    md5: false,
                    in_place: false,
                },
                Vec::new(),
            ),
            reports: Reports::default(),
            resources: Resources {
                threads,
                memory: 128 << 20,
                temp_dirs: vec![self.0.path().to_path_buf()],
                spill_codec: SpillCodec::default(),
                allow_missing_eof: false,
                allow_same_input: false,
                reference: None,
                explain: false,
                verbosity: Verbosity::Quiet,
            },
        };
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        let done = readmill::run(&plan, &Console::new(Verbosity::Quiet));
        drop(writer);
        let text = read.join().expect("the reader").expect("the output is text");
        done.map(|_| text)
    }
}

/// Exit code and output of a run of the program.
#[derive(Debug)]
pub struct ProgramRun {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Runs the real program, and ends it if it hangs.
pub fn readmill<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> ProgramRun {
    let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
    finish(command.args(args).env_remove("REF_CACHE").env_remove("REF_PATH"))
}

/// Runs the program of `command`, and ends it if it hangs.
pub fn finish(command: &mut Command) -> ProgramRun {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("readmill starts");
    let stdout = read_on_thread(child.stdout.take().expect("its output"));
    let stderr = read_on_thread(child.stderr.take().expect("its messages"));
    let status = ending::wait(child, &format!("{command:?}"));
    let stderr = stderr.join().expect("its messages");
    ProgramRun {
        code: status.code(),
        stdout: stdout.join().expect("its output"),
        stderr: String::from_utf8(stderr).expect("messages are text"),
    }
}

/// Reads all there is on another thread.
fn read_on_thread(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe that can be read");
        bytes
    })
}

/// The path as an argument.
pub fn arg(path: &Path) -> String {
    path.to_str().expect("a path that is text").to_string()
}

/// Header lines and records of SAM text, line ends kept.
pub fn split_header(text: &str) -> (&str, &str) {
    let header: usize =
        text.split_inclusive('\n').take_while(|l| l.starts_with('@')).map(str::len).sum();
    text.split_at(header)
}

/// The record lines of SAM text.
pub fn records(text: &str) -> Vec<&str> {
    split_header(text).1.lines().collect()
}

/// A column of a record line, from 0.
pub fn column(line: &str, n: usize) -> &str {
    line.split('\t').nth(n).unwrap_or_else(|| panic!("column {n} of {line:?}"))
}

/// A number in a column.
pub fn number(line: &str, n: usize) -> i64 {
    column(line, n).parse().unwrap_or_else(|_| panic!("a number in column {n} of {line:?}"))
}

/// Record lines with this header.
pub fn with_header(header: &str, lines: &[&str]) -> String {
    lines.iter().fold(header.to_string(), |text, line| text + line + "\n")
}

/// Names of the reference sequences of SAM text, in order.
pub fn references(text: &str) -> Vec<&str> {
    let lines = split_header(text).0.lines().filter(|line| line.starts_with("@SQ"));
    lines.filter_map(|line| line.split('\t').find_map(|field| field.strip_prefix("SN:"))).collect()
}

/// The BAM file with exactly the content of SAM text.
///
/// htslib, and so readmill, makes a mapped record unmapped when it reads it from text without a CIGAR
/// or with POS 0, and takes RNAME or RNEXT away where the position is 0. In BAM such records exist,
/// so FLAG, RNAME and RNEXT are written once more as the columns have them.
pub fn bam(text: &str) -> Vec<u8> {
    let header = Header::parse(split_header(text).0.as_bytes()).expect("a header");
    let mut bytes = Vec::new();
    bam::header::write_header(&header, &mut bytes).expect("a small header");
    for (_, verbatim) in raw_records(text) {
        bytes.extend_from_slice(&verbatim);
    }
    bgzip(&bytes)
}

/// Whether reading SAM text changes some record.
pub fn text_is_read_otherwise(text: &str) -> bool {
    raw_records(text).iter().any(|(as_read, verbatim)| as_read != verbatim)
}

/// Every record as the reader of text gives it, and as its columns have it.
fn raw_records(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let header = Header::parse(split_header(text).0.as_bytes()).expect("a header");
    let id = |name: &str| header.reference_id(name.as_bytes()).unwrap_or(-1);
    let mut parser = sam::LineParser::new(&header);
    let record = |line: &str| {
        let mut raw = Vec::new();
        parser.parse(line.as_bytes(), &mut raw).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        let as_read = raw.clone();
        let next = if column(line, 6) == "=" { 2 } else { 6 };
        edit::set_flags(&mut raw, number(line, 1) as u16);
        edit::set_ref_id(&mut raw, id(column(line, 2)));
        edit::set_next_ref_id(&mut raw, id(column(line, next)));
        (as_read, raw)
    };
    records(text).into_iter().map(record).collect()
}

/// Bytes as a BGZF file, whose blocks end without regard to records.
pub fn bgzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    bam::BamEncoder::new(Codec::default(), 1, None).append_bytes(bytes, &mut out);
    out.extend_from_slice(&bgzf::EOF_BLOCK);
    out
}

/// SAM text with its records in coordinate order: (RNAME as the header has them and `*` last, POS,
/// strand), equal ones as they were.
pub fn coordinate_sorted(text: &str) -> String {
    let (header, names) = (split_header(text).0, references(text));
    let mut lines = records(text);
    lines.sort_by_key(|line| coordinate_key(line, &names));
    with_header(header, &lines)
}

/// The place of a record in coordinate order.
pub fn coordinate_key(line: &str, references: &[&str]) -> (usize, i64, bool) {
    let rname = column(line, 2);
    let place = references.iter().position(|name| *name == rname).unwrap_or(references.len());
    (place, number(line, 3), number(line, 1) & 0x10 != 0)
}

/// The numbers of the records of SAM text, regrouped so that those of one name are adjacent: names, and the
/// records of each, in the order of the text.
pub fn by_name(text: &str) -> Vec<usize> {
    let lines = records(text);
    let mut firsts = HashMap::new();
    let mut key = |number: usize| match column(lines[number], 0) {
        "*" => number, // no name: such a record stands alone
        name => *firsts.entry(name).or_insert(number),
    };
    let mut keyed: Vec<(usize, usize)> = (0..lines.len()).map(|number| (key(number), number)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, number)| number).collect()
}

/// SAM text with adjacent records of one name, in the order of [`by_name`].
pub fn regrouped(text: &str) -> String {
    let lines = records(text);
    let lines: Vec<&str> = by_name(text).into_iter().map(|number| lines[number]).collect();
    with_header(split_header(text).0, &lines)
}
