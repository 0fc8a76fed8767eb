//! Reads the outputs of programs and compares them: SAM text line by line, BAM bytes record by
//! record. Small outputs are held in memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use readmill_format::bam;
use readmill_format::bgzf::{BlockReader, Chunk, Inflater};

use crate::commands::{SampleDir, command_line};

pub struct ProgramLines {
    child: Child,
    reader: BufReader<ChildStdout>,
    shown: String,
}

impl ProgramLines {
    pub fn start(mut command: Command) -> Result<Self> {
        let shown = command_line(&command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{shown} does not start"))?;
        let stdout = child.stdout.take().context("no standard output")?;
        Ok(ProgramLines { child, reader: BufReader::with_capacity(1 << 18, stdout), shown })
    }

    pub fn start_samtools(dir: &SampleDir<'_>, words: &str) -> Result<Self> {
        Self::start(dir.samtools_command(words))
    }

    pub fn start_samtools_1_24(dir: &SampleDir<'_>, words: &str) -> Result<Self> {
        Self::start(dir.samtools_1_24_command(words))
    }

    /// Reads the next line, without its newline. Returns false at the end of the output, or an
    /// error if the program failed.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        if self.reader.read_until(b'\n', line)? == 0 {
            self.ensure_success()?;
            return Ok(false);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(true)
    }

    pub fn read_text(mut self) -> Result<String> {
        let mut text = String::new();
        self.reader.read_to_string(&mut text)?;
        self.ensure_success()?;
        Ok(text)
    }

    pub fn read_bytes(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.read_to_end(&mut bytes)?;
        self.ensure_success()?;
        Ok(bytes)
    }

    fn ensure_success(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "{} failed ({status})", self.shown);
        Ok(())
    }
}

impl Drop for ProgramLines {
    fn drop(&mut self) {
        // If a comparison ends early, the program is still waiting for its reader.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Normalizes a line before it is compared. Returns false if the line is not compared.
pub type LineFilter = fn(&mut Vec<u8>) -> bool;

#[expect(clippy::ptr_arg, reason = "it is a `Normal`")]
pub fn skip_program_lines(line: &mut Vec<u8>) -> bool {
    !line.starts_with(b"@PG\t")
}

pub fn clear_duplicate_flag(line: &mut Vec<u8>) -> bool {
    let mut fields: Vec<Vec<u8>> = line.split(|&b| b == b'\t').map(<[u8]>::to_vec).collect();
    if let Some(flag) = fields.get_mut(1) {
        let value: u32 = String::from_utf8_lossy(flag).parse().unwrap_or(0);
        *flag = (value & !0x400).to_string().into_bytes();
    }
    *line = fields.join(&b'\t');
    true
}

/// Sorts the tags of a record by name and removes PG (rows 5 and 6 of docs/parity.md).
pub fn sort_tags(line: &mut Vec<u8>) -> bool {
    let mut fields: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
    fields.retain(|field| !field.starts_with(b"PG:Z:"));
    let first_tag = fields.len().min(11);
    fields[first_tag..].sort_unstable();
    *line = fields.join(&b'\t');
    true
}

/// Compares the lines of two programs after applying `normal` to both. Returns the number of equal
/// lines, or an error that shows the first difference.
pub fn compare_lines(
    mut ours: ProgramLines,
    mut theirs: ProgramLines,
    normal: LineFilter,
) -> Result<u64> {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let next = |printed: &mut ProgramLines, line: &mut Vec<u8>| -> Result<bool> {
        while printed.read_line(line)? {
            if normal(line) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    for number in 1.. {
        match (next(&mut ours, &mut one)?, next(&mut theirs, &mut other)?) {
            (false, false) => return Ok(number - 1),
            (true, true) if one == other => {}
            (true, true) => {
                bail!(
                    "line {number} differs\n   ours: {}\n theirs: {}",
                    lossy_text(&one),
                    lossy_text(&other)
                )
            }
            (true, false) => bail!("ours has more than {} lines", number - 1),
            (false, true) => bail!("theirs has more than {} lines", number - 1),
        }
    }
    Ok(0)
}

fn lossy_text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

pub fn compare_files(dir: &SampleDir<'_>, one: &str, other: &str) -> Result<u64> {
    let open = |name: &str| File::open(dir.path(name)).with_context(|| format!("no {name}"));
    compare_streams(&mut BufReader::new(open(one)?), &mut BufReader::new(open(other)?))
        .with_context(|| format!("{one} and {other}"))
}

/// Compares the inflated records of two BAM files byte by byte, ignoring headers and compression.
/// Returns the number of bytes.
pub fn compare_bam_records(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<u64> {
    let mut one = ProgramLines::start(dir.inflate_command(ours))?;
    let mut other = ProgramLines::start(dir.inflate_command(theirs))?;
    skip_header(&mut one.reader)?;
    skip_header(&mut other.reader)?;
    let bytes = compare_streams(&mut one.reader, &mut other.reader)?;
    one.ensure_success()?;
    other.ensure_success()?;
    Ok(bytes)
}

fn compare_streams(one: &mut impl BufRead, other: &mut impl BufRead) -> Result<u64> {
    let mut at = 0;
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let length = a.len().min(b.len());
        if length == 0 {
            ensure!(a.len() == b.len(), "one ends at byte {at}, the other does not");
            return Ok(at);
        }
        if let Some(i) = (0..length).find(|&i| a[i] != b[i]) {
            bail!("byte {} differs", at + i as u64);
        }
        one.consume(length);
        other.consume(length);
        at += length as u64;
    }
}

fn skip_header(reader: &mut impl Read) -> Result<()> {
    let number = |reader: &mut dyn Read| -> Result<u64> {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes)?;
        Ok(u64::from(u32::from_le_bytes(bytes)))
    };
    let skip =
        |reader: &mut dyn Read, length| std::io::copy(&mut reader.take(length), &mut std::io::sink());
    skip(reader, 4)?;
    let text = number(reader)?;
    skip(reader, text)?;
    for _ in 0..number(reader)? {
        let name = number(reader)?;
        skip(reader, name + 4)?;
    }
    Ok(())
}

pub struct ProgramOutput {
    pub shown: String,
    pub output: Vec<u8>,
    pub messages: String,
    pub succeeded: bool,
}

/// Starts all programs at once, waits for them, and returns their outputs in the given order.
pub fn run_in_parallel(commands: impl IntoIterator<Item = Command>) -> Result<Vec<ProgramOutput>> {
    let start = |mut command: Command| {
        let shown = command_line(&command);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = quiet.spawn().with_context(|| format!("{shown} does not start"))?;
        Ok((shown, child))
    };
    let children: Result<Vec<_>> = commands.into_iter().map(start).collect();
    let end = |(shown, child): (String, std::process::Child)| {
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(ProgramOutput {
            shown,
            output: output.stdout,
            messages: said,
            succeeded: output.status.success(),
        })
    };
    children?.into_iter().map(end).collect()
}

impl ProgramOutput {
    /// Returns the reads that the program wrote to standard output, or an error with its
    /// messages if it failed.
    pub fn parse_reads(&self) -> Result<ReadsFile> {
        ensure!(self.succeeded, "{} failed: {}", self.shown, self.messages.trim());
        ReadsFile::parse(&self.output).with_context(|| self.shown.clone())
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct ReadsFile {
    pub header: Vec<String>,
    /// Records in file order: SAM lines, or raw BAM bytes with `block_size`.
    pub records: Vec<Vec<u8>>,
}

impl ReadsFile {
    /// Parses the bytes of a SAM or BAM file. A file with the gzip magic number is BAM.
    pub fn parse(file: &[u8]) -> Result<Self> {
        if file.starts_with(&[0x1f, 0x8b]) { Self::parse_bam(file) } else { Ok(Self::parse_sam(file)) }
    }

    fn parse_sam(file: &[u8]) -> Self {
        let mut lines = file.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).peekable();
        let mut header = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(b"@")) {
            header.push(String::from_utf8_lossy(line).into_owned());
        }
        ReadsFile { header, records: lines.map(<[u8]>::to_vec).collect() }
    }

    fn parse_bam(file: &[u8]) -> Result<Self> {
        let (mut blocks, mut chunk) = (BlockReader::new(file, false), Chunk::default());
        let (mut inflater, mut bytes) = (Inflater::default(), Vec::new());
        while blocks.next_chunk(&mut chunk)? {
            inflater.append_chunk(&chunk, &mut bytes)?;
        }
        let (header, mut at) = bam::header::parse_header(&bytes)?.context("the header is cut short")?;
        let header = String::from_utf8_lossy(&header.to_text()).lines().map(str::to_owned).collect();
        let mut records = Vec::new();
        while let Some(size) = bytes[at..].first_chunk::<4>() {
            let end = at + 4 + u32::from_le_bytes(*size) as usize;
            records.push(bytes.get(at..end).context("a record is cut short")?.to_vec());
            at = end;
        }
        Ok(ReadsFile { header, records })
    }

    /// Clears the bin of each BAM record. htsjdk computes bins when it writes, so they can differ.
    pub fn without_bins(mut self) -> Self {
        self.records.iter_mut().filter_map(|record| record.get_mut(14..16)).for_each(|bin| bin.fill(0));
        self
    }

    /// Returns an error unless both files have the same header, except `@PG` lines, and the same
    /// records in the same order.
    pub fn ensure_same(&self, theirs: &ReadsFile) -> Result<()> {
        let lines = |reads: &ReadsFile| -> Vec<String> {
            reads.header.iter().filter(|line| !line.starts_with("@PG\t")).cloned().collect()
        };
        let (one, other) = (lines(self), lines(theirs));
        ensure!(one == other, "header\n   ours: {one:?}\n theirs: {other:?}");
        self.ensure_same_records(theirs)
    }

    pub fn ensure_same_records(&self, theirs: &ReadsFile) -> Result<()> {
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
