//! Sequences of a FASTA file, as bwa and minibwa read them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use readmill_record::{Error, Result};

/// What a line of a FASTA file is.
pub(crate) enum Line<'a> {
    /// A sequence begins: its name, and what follows the blank behind it, if anything.
    Head { name: &'a [u8], comment: Option<&'a [u8]> },
    /// More of its letters.
    Letters(&'a [u8]),
}

/// Gives each line of a file that may be gzipped to `take`, a head before any letters.
pub(crate) fn lines(file: &Path, mut take: impl FnMut(Line<'_>) -> Result<()>) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("reading it", &error).file(file);
    let open = File::open(file).map_err(|error| Error::io("opening it", &error).file(file))?;
    let mut plain = BufReader::with_capacity(1 << 18, open);
    let gzipped = plain.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
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
            letters => take(Line::Letters(letters)).map_err(|error| error.file(file))?,
        }
    }
}

fn head_of(head: &[u8]) -> Line<'_> {
    match head.iter().position(u8::is_ascii_whitespace) {
        Some(end) => Line::Head {
            name: &head[..end],
            comment: Some(&head[end + 1..]).filter(|text| !text.is_empty()),
        },
        None => Line::Head { name: head, comment: None },
    }
}
