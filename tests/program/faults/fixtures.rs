//! Folders to run the binary in, files for it that can have any error, and assertions on its end.
#![allow(unsafe_code, reason = "a test of the system's ways")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use tempfile::TempDir;

use crate::support::ending::wait;

/// The folders of one test: `in`, `out` and `tmp` (the program's temporary directory).
pub struct TestFolders {
    dir: TempDir,
}

impl TestFolders {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["in", "out", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        TestFolders { dir }
    }

    /// A file for the program to read.
    pub fn input(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join("in").join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A name in the output folder.
    pub fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join("out").join(name)
    }

    pub fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// The names in the output folder and the temporary folder, in order.
    pub fn left(&self) -> Vec<String> {
        let names = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
        let all = names(self.dir.path().join("out")).chain(names(self.tmp()));
        let mut all: Vec<String> = all.map(|name| name.into_string().unwrap()).collect();
        all.sort();
        all
    }

    /// The program as a command, not started.
    pub fn command(&self) -> Command {
        self.prepare(Command::new(env!("CARGO_BIN_EXE_readmill")))
    }

    /// The shell running `script`, in which `$0` is the program.
    pub fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_readmill"));
        self.prepare(command)
    }

    fn prepare(&self, mut command: Command) -> Command {
        command.current_dir(self.dir.path()).env("TMPDIR", self.tmp()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn readmill<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ended {
        self.run(self.command().args(args))
    }

    /// Runs `command` to its end.
    pub fn run(&self, command: &mut Command) -> Ended {
        self.start(command).ended()
    }

    /// Starts `command`.
    pub fn start(&self, command: &mut Command) -> Running {
        self.start_saying(None, command)
    }

    /// Starts `command`, whose standard error is a pipe if one is given.
    pub fn start_saying(&self, into: Option<PipeWriter>, command: &mut Command) -> Running {
        let logs = [self.log("stdout"), self.log("stderr")];
        let [out, err] = logs.each_ref().map(|path| File::create(path).unwrap());
        let err = into.map_or(Stdio::from(err), Stdio::from);
        Running { child: command.stdout(out).stderr(err).spawn().unwrap(), logs }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the records of a file as SAM text, read by the program itself.
    pub fn lines(&self, file: &Path) -> Vec<String> {
        let ended = self.readmill(["prep".as_ref(), file.as_os_str(), "-O".as_ref(), "sam".as_ref()]);
        ended.succeeds();
        let text = String::from_utf8(ended.stdout).unwrap();
        text.lines().filter(|line| !line.starts_with('@')).map(str::to_string).collect()
    }
}

/// A run under way.
pub struct Running {
    pub child: Child,
    logs: [PathBuf; 2],
}

impl Running {
    /// Sends it a signal.
    #[cfg(debug_assertions)] // as all tests that send one
    pub fn send(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).unwrap();
        // SAFETY: `kill` has no requirement on memory; the child has not been waited for, so it has its number.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    /// Waits for its end.
    pub fn ended(self) -> Ended {
        let status = wait(self.child, "readmill");
        let [stdout, stderr] = self.logs.map(|log| std::fs::read(log).unwrap());
        Ended { status, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }
}

/// How a run ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ended {
    #[track_caller]
    pub fn succeeds(&self) {
        assert_eq!(self.status.code(), Some(0), "{:?}: {}", self.status, self.stderr);
        assert!(!self.stderr.contains("error"), "{}", self.stderr);
    }

    /// Ended with `code` and one error message that contains all `words`.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.status.code(), Some(code), "{:?}: {}", self.status, self.stderr);
        let message = self.stderr.lines().find(|line| line.contains("error: "));
        let message = message.unwrap_or_else(|| panic!("no error message in {:?}", self.stderr));
        for word in words {
            assert!(message.contains(word), "{word:?} is not in {message:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// The header of most inputs here.
pub const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000000\n@SQ\tSN:chr2\tLN:500000\n";

/// A record at `ref_id`:`pos` (from 0) with a CIGAR of 4M and these raw optional fields.
pub fn record(qname: &str, ref_id: i32, pos: i32, fields: &[u8]) -> Vec<u8> {
    let sequence = (&[0x12, 0x48][..], &[30, 31, 32, 33][..]);
    raw_record(qname, (ref_id, pos), &[4 << 4], sequence, fields)
}

/// A record with the given CIGAR operators, SEQ and QUAL as BAM stores them.
pub fn raw_record(
    qname: &str,
    (ref_id, pos): (i32, i32),
    cigar: &[u32],
    (seq, qual): (&[u8], &[u8]),
    fields: &[u8],
) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(ref_id.to_le_bytes());
    body.extend(pos.to_le_bytes());
    body.extend([qname.len() as u8 + 1, 60, 0, 0]);
    body.extend((cigar.len() as u16).to_le_bytes());
    body.extend(0u16.to_le_bytes());
    body.extend((qual.len() as u32).to_le_bytes());
    body.extend([0xff; 8]);
    body.extend([0; 4]);
    body.extend(qname.as_bytes());
    body.push(0);
    body.extend(cigar.iter().flat_map(|op| op.to_le_bytes()));
    body.extend([seq, qual, fields].concat());
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

/// Records in no order: `n` of them, of about `size` bytes each.
pub fn many(n: usize, size: usize) -> Vec<u8> {
    let filler = [b"XXZ", &vec![b'x'; size.saturating_sub(60)][..], b"\0"].concat();
    (0..n).flat_map(|i| record(&format!("r{i}"), 0, (i * 7919 % 900_000) as i32, &filler)).collect()
}

/// The header `text` as BAM has it, before compression; its @SQ lines are those of [`HEADER`].
pub fn bam_header(text: &str) -> Vec<u8> {
    let mut out = b"BAM\x01".to_vec();
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(2u32.to_le_bytes());
    for (name, length) in [("chr1", 1_000_000u32), ("chr2", 500_000)] {
        out.extend((name.len() as u32 + 1).to_le_bytes());
        out.extend(name.as_bytes());
        out.push(0);
        out.extend(length.to_le_bytes());
    }
    out
}

/// One BGZF block.
pub fn block(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Deflater::new(Codec::default(), 1).deflate_block(payload, &mut out);
    out
}

/// BGZF in blocks of `each` payload bytes, without the EOF block.
pub fn blocks(payload: &[u8], each: usize) -> Vec<Vec<u8>> {
    payload.chunks(each).map(block).collect()
}

/// A whole BGZF file.
pub fn bgzf(payload: &[u8]) -> Vec<u8> {
    let mut out = blocks(payload, 0xff00).concat();
    out.extend(EOF_BLOCK);
    out
}

/// A BAM file of these records.
pub fn bam(records: &[u8]) -> Vec<u8> {
    bgzf(&[bam_header(HEADER), records.to_vec()].concat())
}

/// A gzip member that is not BGZF.
pub fn gzip(payload: &[u8]) -> Vec<u8> {
    let member = block(payload);
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff], &member[18..]].concat()
}

/// SAM text: [`HEADER`] and a few mapped reads.
pub fn sam() -> String {
    let line = |i: usize| format!("r{i}\t0\tchr1\t{}\t60\t4M\t*\t0\t0\tACGT\tIIII\n", 900 - i * 7 % 300);
    HEADER.to_string() + &(0..40).map(line).collect::<String>()
}
