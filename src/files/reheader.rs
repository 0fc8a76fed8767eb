//! `readmill reheader`: another header for a BAM or CRAM file, whose records stay as they are compressed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use readmill_cram::{self as cram, Reader};
use readmill_record::{Error, Header, Ledger, Limit, Result};

use super::blocks::{BamBlocks, check_contigs, write_end, write_header};
use super::cat::with_program;
use super::{FileOutput, head};
use crate::console::Console;

/// What to change.
pub struct ReheaderOptions {
    /// The file with the new header: SAM, BAM or CRAM.
    pub header: PathBuf,
    /// The file of reads.
    pub input: PathBuf,
    /// The @PG line to add.
    pub program: Option<String>,
    /// Accept a file without its end-of-file marker.
    pub allow_missing_eof: bool,
    /// Memory of the process.
    pub memory: u64,
}

/// Bytes of a CRAM file that are copied at once.
const PIECE: usize = 1 << 20;

/// Writes the reads of a file under another header.
///
/// # Errors
/// The reads would lie on other contigs or in other read groups under it; or reading or writing fails.
pub fn reheader(options: &ReheaderOptions, mut out: FileOutput, console: &Console) -> Result<()> {
    let ledger = Ledger::of(options.memory);
    let new = head::header(&options.header, &ledger)?;
    let input = &options.input;
    let size = std::fs::metadata(input).ok().map(|meta| meta.len());
    console.stage("copying", size, true);
    let header = with_program(&new, options.program.as_deref())?;
    if is_cram(input)? {
        of_cram(options, &header, &mut out, console, &ledger).map_err(|e| e.file(input))?;
    } else {
        let blocks = BamBlocks::open(input, options.allow_missing_eof, &ledger)?;
        check_contigs(&blocks.header, &header, false).map_err(|e| e.file(&options.header))?;
        write_header(&header, &mut out)?;
        blocks.copy(&mut out, |bytes| console.advance(bytes))?;
        write_end(&mut out)?;
    }
    console.done();
    out.finish()
}

fn is_cram(path: &Path) -> Result<bool> {
    let failed = |e: &std::io::Error| Error::io("it cannot be opened", e).file(path);
    let mut start = Vec::new();
    let file = File::open(path).map_err(|e| failed(&e))?;
    file.take(cram::MAGIC.len() as u64).read_to_end(&mut start).map_err(|e| failed(&e))?;
    Ok(start == cram::MAGIC)
}

fn of_cram(
    options: &ReheaderOptions,
    header: &Header,
    out: &mut FileOutput,
    console: &Console,
    ledger: &Ledger,
) -> Result<()> {
    let open = || File::open(&options.input).map_err(|e| Error::io("it cannot be opened", &e));
    let most = Limit::part_of(ledger.free(), 2, ledger);
    let reader = Reader::open(Box::new(open()?), true, most, ledger)?;
    let (version, start, old) = (reader.version(), reader.offset(), reader.header());
    if version.major != 3 {
        return Err(Error::input(format!(
            "CRAM {}.{} cannot get another header",
            version.major, version.minor
        ))
        .hint("write it again as CRAM 3: readmill filter FILE -o NEW.cram"));
    }
    check_contigs(old, header, false)?;
    let groups = |header: &Header| header.lines_of(b"RG").count();
    if groups(header) < groups(old) {
        return Err(Error::input(
            "the new header has fewer read groups, and CRAM tells them by their number",
        )
        .hint("give all read groups, in the same order"));
    }
    out.put(&cram::header_container(header, version)?)?;
    let mut file = open()?;
    let failed = |e: &std::io::Error| Error::io("reading failed", e);
    file.seek(SeekFrom::Start(start)).map_err(|e| failed(&e))?;
    let (mut bytes, mut end) = (vec![0; PIECE], Vec::new());
    loop {
        match file.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => {
                out.put(&bytes[..n])?;
                end.extend_from_slice(&bytes[n.saturating_sub(cram::EOF.len())..n]);
                end.drain(..end.len().saturating_sub(cram::EOF.len()));
                console.advance(n as u64);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(&e)),
        }
    }
    if !options.allow_missing_eof && !cram::ends_well(&[b'C', b'R', b'A', b'M', 3], &end) {
        return Err(Error::input("the container that ends a CRAM file is missing")
            .hint("the file is truncated: get it again, or give --allow-missing-eof"));
    }
    Ok(())
}
