//! `readmill reheader`: replaces the header of a BAM or CRAM file without decompressing its
//! records.

use std::io::{Cursor, Read};
use std::path::PathBuf;

use readmill_cram::{self as cram, Reader};
use readmill_process::console::Console;
use readmill_record::{Error, Header, Ledger, Limit, Result, input_file};

use crate::blocks::{BamBlocks, ReadsInput, check_contigs, write_eof_block, write_header};
use crate::cat::header_with_program;
use crate::{FileOutput, head};

pub struct ReheaderOptions {
    /// The file that contains the new header: SAM, BAM or CRAM.
    pub header: PathBuf,
    pub input: PathBuf,
    /// The command line for a new `@PG` line; `None` adds no line.
    pub program: Option<String>,
    pub allow_missing_eof: bool,
}

const COPY_BYTES: usize = 1 << 20;

/// Where the two headers are that [`check_contigs`] compares.
const PLACES: [&str; 2] = ["the input", "the new header"];

/// Copies the reads of a file to `out` under a new header.
///
/// # Errors
/// Fails if reads would refer to different contigs or read groups, or if reading or writing fails.
pub fn replace_header(
    options: &ReheaderOptions,
    mut out: FileOutput,
    console: &Console,
    ledger: &Ledger,
) -> Result<()> {
    let new = head::read_reads_header(&options.header, ledger)?;
    console.warn_about_header(&options.header, &new);
    let input = &options.input;
    let size = std::fs::metadata(input).ok().map(|meta| meta.len());
    console.begin_stage("copying", size, true);
    let header = header_with_program(&new, options.program.as_deref())?;
    let (reads, is_cram) = open_reads(options).map_err(|e| e.file(input))?;
    if is_cram {
        replace_cram_header(reads, options, &header, &mut out, console, ledger)
            .map_err(|e| e.file(input))?;
    } else {
        let blocks = BamBlocks::read_as_is(reads, input, options.allow_missing_eof, ledger)?;
        check_contigs(&blocks.header, &header, false, PLACES).map_err(|e| e.file(&options.header))?;
        write_header(&header, &mut out, ledger)?;
        blocks.copy_records(&mut out, |bytes| console.advance(bytes))?;
        write_eof_block(&mut out)?;
    }
    console.clear_progress();
    out.finish_reads(console)
}

/// Opens the input, and returns whether it is CRAM. The input may be a pipe, so it is opened only once.
fn open_reads(options: &ReheaderOptions) -> Result<(ReadsInput, bool)> {
    let failed = |e: &std::io::Error| Error::io("cannot be opened", e);
    let mut file = input_file::open_input(&options.input).map_err(|e| failed(&e))?;
    let mut start = Vec::new();
    (&mut file).take(cram::MAGIC.len() as u64).read_to_end(&mut start).map_err(|e| failed(&e))?;
    let is_cram = start == cram::MAGIC;
    Ok((Box::new(Cursor::new(start).chain(file)), is_cram))
}

/// Returns an error if the reads of a CRAM file would change their read groups, which they refer to
/// by index. Read groups may be renamed, and new ones may be added at the end.
fn check_read_groups(old: &Header, new: &Header) -> Result<()> {
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (read_group_ids(old), read_group_ids(new));
    let hint = "CRAM reads refer to read groups by number, so list all read groups in the same order";
    if new.len() < old.len() {
        let what =
            format!("the new header has {} read groups, but the file has {}", new.len(), old.len());
        return Err(Error::input(what).hint(hint));
    }
    for (number, id) in old.iter().enumerate() {
        if new.iter().position(|other| other == id).is_some_and(|at| at != number) {
            let what = format!(
                "read group {} has number {} in the file, but a different number in the new header",
                String::from_utf8_lossy(id),
                number + 1
            );
            return Err(Error::input(what).hint(hint));
        }
    }
    Ok(())
}

fn read_group_ids(header: &Header) -> Vec<&[u8]> {
    header.lines_of_kind(b"RG").filter_map(|line| line.get(b"ID")).collect()
}

fn replace_cram_header(
    reads: ReadsInput,
    options: &ReheaderOptions,
    header: &Header,
    out: &mut FileOutput,
    console: &Console,
    ledger: &Ledger,
) -> Result<()> {
    let max_container = Limit::part_of(ledger.free(), 2, ledger);
    let reader = Reader::open_as_is(reads, true, max_container, ledger)?;
    let (version, old) = (reader.version(), reader.header());
    if version.major != 3 {
        return Err(Error::input(format!(
            "the header of a CRAM {}.{} file cannot be replaced",
            version.major, version.minor
        ))
        .hint("convert the file to CRAM 3 first: readmill filter FILE -o NEW.cram"));
    }
    check_contigs(old, header, false, PLACES)?;
    check_read_groups(old, header)?;
    out.write_buffered(&cram::header_container(header, version)?)?;
    let mut containers = reader.into_input();
    let failed = |e: &std::io::Error| Error::io("reading failed", e);
    let (mut bytes, mut end) = (vec![0; COPY_BYTES], Vec::new());
    loop {
        match containers.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => {
                out.write_buffered(&bytes[..n])?;
                end.extend_from_slice(&bytes[n.saturating_sub(cram::EOF.len())..n]);
                end.drain(..end.len().saturating_sub(cram::EOF.len()));
                console.advance(n as u64);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(&e)),
        }
    }
    if !options.allow_missing_eof && !cram::has_valid_end(&[b'C', b'R', b'A', b'M', 3], &end) {
        return Err(Error::input("the EOF container of CRAM is missing at the end")
            .hint("the file is truncated: download or create it again, or use --allow-missing-eof"));
    }
    Ok(())
}
