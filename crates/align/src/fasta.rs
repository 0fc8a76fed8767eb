//! Sequences of a FASTA file, as bwa and minibwa read them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use readmill_record::{Error, Result};

/// The name of what a file holds instead of a reference, if it starts like reads; a file that cannot be read has none.
pub(crate) fn holds_reads(file: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    let _ = File::open(file).ok()?.take(1 << 16).read_to_end(&mut start);
    if start.starts_with(GZIP) {
        let mut text = Vec::new();
        let _ = MultiGzDecoder::new(&start[..]).take(16).read_to_end(&mut text);
        start = text;
    }
    kind_of_reads(&start)
}

/// The name of what holds reads and starts so.
fn kind_of_reads(start: &[u8]) -> Option<&'static str> {
    match start {
        [b'B', b'A', b'M', 1, ..] => Some("BAM"),
        [b'C', b'R', b'A', b'M', ..] => Some("CRAM"),
        [b'@', b'H' | b'S' | b'R' | b'P' | b'C', b'D' | b'Q' | b'G' | b'O', b'\t', ..] => Some("SAM"),
        [b'@', ..] => Some("FASTQ"),
        _ => None,
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];

/// The kind of a line in a FASTA file.
pub(crate) enum FastaLine<'a> {
    /// A sequence begins: its name, and the text after the blank that follows it, if any.
    Head { name: &'a [u8], comment: Option<&'a [u8]> },
    /// More of its letters.
    Letters(&'a [u8]),
}

/// Gives each line of a file that may be gzipped to `take`, a head before any letters.
pub(crate) fn lines(file: &Path, mut take: impl FnMut(FastaLine<'_>) -> Result<()>) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("reading it", &error).file(file);
    let open = File::open(file).map_err(|error| Error::io("cannot be opened", &error).file(file))?;
    let mut plain = BufReader::with_capacity(1 << 18, open);
    let gzipped = plain.fill_buf().map_err(failed)?.starts_with(GZIP);
    let inner: Box<dyn Read> =
        if gzipped { Box::new(MultiGzDecoder::new(plain)) } else { Box::new(plain) };
    let (mut input, mut line) = (BufReader::with_capacity(1 << 18, inner), Vec::new());
    let (mut begun, mut number) = (false, 0u64);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        number += 1;
        if number == 1
            && let Some(kind) = kind_of_reads(&line)
        {
            return Err(not_a_reference(kind, file));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let wrong = |what: &str| Err(Error::input(format!("line {number}: {what}")).file(file));
        match line {
            [] => {}
            [b'>', head @ ..] => {
                begun = true;
                take(head_of(head)).map_err(|error| error.file(file))?;
            }
            [b'@' | b'+', ..] => return wrong("a reference is FASTA, not FASTQ or SAM"),
            _ if !begun => return wrong("a FASTA file begins with `>`"),
            letters => take(FastaLine::Letters(letters)).map_err(|error| error.file(file))?,
        }
    }
}

/// The error of making an index of reads.
fn not_a_reference(kind: &str, file: &Path) -> Error {
    let what = format!(
        "this is {kind}; `readmill index` makes the index that `align` needs, of a reference in FASTA"
    );
    let error = Error::input(what).file(file);
    if kind == "FASTQ" {
        return error.hint("give the FASTA file of the reference");
    }
    error.hint("the index of a BAM or CRAM file is written beside sorted output: readmill sort IN.bam -o OUT.bam --write-index")
}

fn head_of(head: &[u8]) -> FastaLine<'_> {
    match head.iter().position(u8::is_ascii_whitespace) {
        Some(end) => FastaLine::Head {
            name: &head[..end],
            comment: Some(&head[end + 1..]).filter(|text| !text.is_empty()),
        },
        None => FastaLine::Head { name: head, comment: None },
    }
}
