//! `readmill head`: prints the header and the first records as SAM text.

use std::io::Read;
use std::path::Path;

use readmill_cram::Cache;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_format::reference::LazyReference;
use readmill_format::sam::write_record;
use readmill_input::{OpenOptions, Opener, Source};
use readmill_record::{Batch, Error, Header, Ledger, Limit, Result, input_file};

use crate::FileOutput;

pub struct HeadOptions {
    pub headers: Option<u64>,
    pub records: u64,
    pub reference: Option<LazyReference>,
}

/// Opens a read file, or standard input for `-`, and reads its header. Also used by commands that
/// need only the header.
///
/// # Errors
/// Fails if the file cannot be read, or if it is neither SAM, BAM nor CRAM.
pub fn open_reads(path: &Path, reference: Option<LazyReference>, ledger: &Ledger) -> Result<Source> {
    open_with_options(path, OpenOptions { reference, ..OpenOptions::default() }, ledger)
}

fn open_with_options(path: &Path, options: OpenOptions, ledger: &Ledger) -> Result<Source> {
    let input: Box<dyn Read + Send> = if path.as_os_str() == "-" {
        Box::new(input_file::open_stdin().map_err(|e| Error::io("standard input cannot be read", &e))?)
    } else {
        Box::new(input_file::open_input(path).map_err(|e| Error::io("cannot be opened", &e).file(path))?)
    };
    let room = max_record_limit(ledger);
    let options = OpenOptions {
        allow_missing_eof: true, // the end of the file is not read
        ledger: ledger.clone(),
        max_line: room,
        max_container: room,
        cache: Cache::from_environment(),
        name: path.file_name().unwrap_or_default().as_encoded_bytes().to_vec(),
        ..options
    };
    Source::open(input, &options).map_err(|e| e.file(path))
}

/// Returns the maximum size of a record or a block: a quarter of the free memory.
fn max_record_limit(ledger: &Ledger) -> Limit {
    Limit::part_of(ledger.free(), 4, ledger)
}

/// Returns the header of a read file.
///
/// # Errors
/// Fails in the same cases as [`open_reads`].
pub fn read_reads_header(path: &Path, ledger: &Ledger) -> Result<Header> {
    Ok(open_reads(path, None, ledger)?.header().clone())
}

/// Prints the first header lines and the first records of `path`.
///
/// # Errors
/// Fails if this part of the file is damaged, or if the output cannot be written.
pub fn print_head(
    path: &Path,
    options: &HeadOptions,
    out: &mut FileOutput,
    ledger: &Ledger,
) -> Result<()> {
    let as_is = OpenOptions {
        reference: options.reference.clone(),
        header_as_is: true,
        ..OpenOptions::default()
    };
    let mut source = open_with_options(path, as_is, ledger)?;
    let header = source.header().clone();
    let lines = usize::try_from(options.headers.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    for line in header.lines().iter().take(lines) {
        out.write_buffered(line.text())?;
        out.write_buffered(b"\n")?;
    }
    print_records(&mut source, &header, options.records, max_record_limit(ledger), out)
        .map_err(|e| e.file(path))
}

fn print_records(
    source: &mut Source,
    header: &Header,
    wanted: u64,
    room: Limit,
    out: &mut FileOutput,
) -> Result<()> {
    if wanted == 0 {
        return Ok(());
    }
    let mut opener = Opener::new(header, source.setup().as_ref());
    let mut linker = ChunkLinker::new(room);
    let (mut left, mut ended, mut text) = (wanted, false, Vec::new());
    while left > 0 && !ended {
        let linked = match source.claim(Chunk::default())? {
            Some(claim) => {
                let mut opened = OpenedChunk::reuse(Batch::default());
                opener.open(claim, &mut opened)?;
                linker.link_chunk(opened)
            }
            None => {
                ended = true;
                linker.finish_input(Batch::default())
            }
        };
        for (number, record) in (linked.number..).zip(linked.batch.records()) {
            if left == 0 {
                return Ok(());
            }
            let checked = record.check(header.n_ref());
            let record = checked.map_err(|what| Error::input(what).record(number))?;
            text.clear();
            write_record(header, record, &mut text);
            out.write_buffered(&text)?;
            left -= 1;
        }
        if let Some(fault) = linked.fault {
            return Err(fault);
        }
    }
    Ok(())
}
