//! Small outputs in memory: the header as text, and the records as their bytes.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use readmill_format::bam;
use readmill_format::bgzf::{BlockReader, Chunk, Inflater};

use super::commands::shown;

/// The output and messages of a program, whether it succeeded or not.
pub struct ProgramOutput {
    /// The command, as it may be typed.
    pub shown: String,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub said: String,
    /// Whether it succeeded.
    pub succeeded: bool,
}

/// Runs programs in parallel.
pub fn in_parallel(commands: impl IntoIterator<Item = Command>) -> Result<Vec<ProgramOutput>> {
    let start = |mut command: Command| {
        let shown = shown(&command);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = quiet.spawn().with_context(|| format!("{shown} does not start"))?;
        Ok((shown, child))
    };
    let children: Result<Vec<_>> = commands.into_iter().map(start).collect();
    let end = |(shown, child): (String, std::process::Child)| {
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(ProgramOutput { shown, output: output.stdout, said, succeeded: output.status.success() })
    };
    children?.into_iter().map(end).collect()
}

impl ProgramOutput {
    /// The output of a program that succeeded.
    pub fn reads(&self) -> Result<ReadsFile> {
        ensure!(self.succeeded, "{} failed: {}", self.shown, self.said.trim());
        ReadsFile::of(&self.output).with_context(|| self.shown.clone())
    }
}

/// A file of reads.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadsFile {
    /// The lines of the header.
    pub header: Vec<String>,
    /// Each record: a line of SAM, or the bytes of BAM.
    pub records: Vec<Vec<u8>>,
}

impl ReadsFile {
    /// The reads in the bytes of a file, SAM or BAM.
    pub fn of(file: &[u8]) -> Result<Self> {
        if file.starts_with(&[0x1f, 0x8b]) { Self::bam(file) } else { Ok(Self::sam(file)) }
    }

    fn sam(file: &[u8]) -> Self {
        let mut lines = file.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).peekable();
        let mut header = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(b"@")) {
            header.push(String::from_utf8_lossy(line).into_owned());
        }
        ReadsFile { header, records: lines.map(<[u8]>::to_vec).collect() }
    }

    fn bam(file: &[u8]) -> Result<Self> {
        let (mut blocks, mut chunk) = (BlockReader::new(file, false), Chunk::default());
        let (mut inflater, mut bytes) = (Inflater::default(), Vec::new());
        while blocks.next_chunk(&mut chunk)? {
            inflater.chunk(&chunk, &mut bytes)?;
        }
        let (header, mut at) = bam::header::parse(&bytes)?.context("the header is cut short")?;
        let header = String::from_utf8_lossy(&header.to_text()).lines().map(str::to_owned).collect();
        let mut records = Vec::new();
        while let Some(size) = bytes[at..].first_chunk::<4>() {
            let end = at + 4 + u32::from_le_bytes(*size) as usize;
            records.push(bytes.get(at..end).context("a record is cut short")?.to_vec());
            at = end;
        }
        Ok(ReadsFile { header, records })
    }

    /// The records of BAM with their bins cleared, which htsjdk computes anew.
    pub fn without_bins(mut self) -> Self {
        self.records.iter_mut().filter_map(|record| record.get_mut(14..16)).for_each(|bin| bin.fill(0));
        self
    }

    /// Checks that our reads are the same as theirs, except `@PG` lines, and in the same order.
    pub fn same(&self, theirs: &ReadsFile) -> Result<()> {
        let lines = |reads: &ReadsFile| -> Vec<String> {
            reads.header.iter().filter(|line| !line.starts_with("@PG\t")).cloned().collect()
        };
        let (one, other) = (lines(self), lines(theirs));
        ensure!(one == other, "header\n   ours: {one:?}\n theirs: {other:?}");
        self.same_records(theirs)
    }

    /// Checks that the records are the same, and in the same order.
    pub fn same_records(&self, theirs: &ReadsFile) -> Result<()> {
        for (i, (one, other)) in self.records.iter().zip(&theirs.records).enumerate() {
            if one != other {
                let show = |record: &[u8]| String::from_utf8_lossy(record).escape_debug().to_string();
                bail!("record {}\n   ours: {}\n theirs: {}", i + 1, show(one), show(other));
            }
        }
        let (one, other) = (self.records.len(), theirs.records.len());
        ensure!(one == other, "{one} records, theirs has {other}");
        Ok(())
    }
}
