//! `readmill head`: prints the header and the first records as SAM text.

use std::io::Read;
use std::path::Path;

use readmill_cram::Cache;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, Opened};
use readmill_format::reference::Fasta;
use readmill_format::sam::write_record;
use readmill_input::{OpenOptions, Opener, Source};
use readmill_record::{Batch, Error, Header, Ledger, Limit, Result, input_file};

use super::FileOutput;

pub struct HeadOptions {
    pub headers: Option<u64>,
    pub records: u64,
    pub reference: Option<Fasta>,
}

/// Opens a file of reads, `-` as standard input, and reads its header. Also used by commands that
/// need only the header.
///
/// # Errors
/// The file cannot be read, or is neither SAM, BAM nor CRAM.
pub fn open(path: &Path, reference: Option<Fasta>, ledger: &Ledger) -> Result<Source> {
    open_by(path, OpenOptions { reference, ..OpenOptions::default() }, ledger)
}

fn open_by(path: &Path, options: OpenOptions, ledger: &Ledger) -> Result<Source> {
    let input: Box<dyn Read + Send> = if path.as_os_str() == "-" {
        Box::new(input_file::stdin().map_err(|e| Error::io("standard input cannot be read", &e))?)
    } else {
        Box::new(input_file::open(path).map_err(|e| Error::io("it cannot be opened", &e).file(path))?)
    };
    let room = room(ledger);
    let options = OpenOptions {
        allow_missing_eof: true, // the end of the file is not read
        ledger: ledger.clone(),
        most: room,
        container: room,
        cache: Cache::of_environment(),
        name: path.file_name().unwrap_or_default().as_encoded_bytes().to_vec(),
        ..options
    };
    Source::open(input, &options).map_err(|e| e.file(path))
}

/// Returns the maximum bytes of a record or a block: a quarter of the free memory.
fn room(ledger: &Ledger) -> Limit {
    Limit::part_of(ledger.free(), 4, ledger)
}

/// Returns the header of a file of reads.
///
/// # Errors
/// Those of [`open`].
pub fn header(path: &Path, ledger: &Ledger) -> Result<Header> {
    Ok(open(path, None, ledger)?.header().clone())
}

/// Prints the first lines of the header of `path`, and its first records.
///
/// # Errors
/// The file is damaged there, or the output cannot be written.
pub fn head(path: &Path, options: &HeadOptions, out: &mut FileOutput, ledger: &Ledger) -> Result<()> {
    let as_is = OpenOptions {
        reference: options.reference.clone(),
        header_as_is: true,
        ..OpenOptions::default()
    };
    let mut source = open_by(path, as_is, ledger)?;
    let header = source.header().clone();
    let lines = usize::try_from(options.headers.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    for line in header.lines().iter().take(lines) {
        out.put(line.text())?;
        out.put(b"\n")?;
    }
    records(&mut source, &header, options.records, room(ledger), out).map_err(|e| e.file(path))
}

fn records(
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
                let mut opened = Opened::reuse(Batch::default());
                opener.open(claim, &mut opened)?;
                linker.link(opened)
            }
            None => {
                ended = true;
                linker.finish(Batch::default())
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
            out.put(&text)?;
            left -= 1;
        }
        if let Some(fault) = linked.fault {
            return Err(fault);
        }
    }
    Ok(())
}
