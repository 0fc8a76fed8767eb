//! Reads as FASTQ, made from the raw records so that both always agree.

use crate::bases::reverse_complement;
use crate::sample::Sample;
use std::io::{self, Write};

/// Bytes gathered before they are handed to the writer.
const CHUNK: usize = 1 << 18;

impl Sample {
    /// Writes the reads of [`Sample::records`] as a sequencer gives them, 5' to 3'. Single-end
    /// reads go to `r1` and leave nothing in `r2`.
    ///
    /// # Errors
    /// The result of a writer.
    pub fn write_fastq(&self, r1: &mut dyn Write, r2: &mut dyn Write) -> io::Result<()> {
        write(self, r1, r2)
    }
}

fn write(sample: &Sample, r1: &mut dyn Write, r2: &mut dyn Write) -> io::Result<()> {
    let mut records = sample.records();
    let (mut raw, mut texts) = (Vec::new(), [Vec::new(), Vec::new()]);
    while records.next(&mut raw) {
        let mut rest = raw.as_slice();
        while let Some((size, body)) = rest.split_first_chunk::<4>() {
            let (record, after) = body.split_at(u32::from_le_bytes(*size) as usize);
            format(record, &mut texts);
            rest = after;
        }
        raw.clear();
        if texts[0].len() > CHUNK {
            flush(&mut texts, r1, r2)?;
        }
    }
    flush(&mut texts, r1, r2)
}

fn flush(texts: &mut [Vec<u8>; 2], r1: &mut dyn Write, r2: &mut dyn Write) -> io::Result<()> {
    r1.write_all(&texts[0])?;
    r2.write_all(&texts[1])?;
    texts.iter_mut().for_each(Vec::clear);
    Ok(())
}

/// Appends one primary record to the text of its file.
fn format(record: &[u8], texts: &mut [Vec<u8>; 2]) {
    let short = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
    let flags = short(14);
    if flags & 0x900 != 0 {
        return;
    }
    let second = flags & 0x80 != 0;
    let out = &mut texts[usize::from(second)];
    let length = usize::from(short(16)) | usize::from(short(18)) << 16;
    let name_end = 32 + usize::from(record[8]);
    let bases = name_end + 4 * usize::from(short(12));
    let qualities = bases + length.div_ceil(2);

    out.push(b'@');
    out.extend_from_slice(&record[32..name_end - 1]);
    out.extend_from_slice(if second { b" 2:" } else { b" 1:" });
    out.extend_from_slice(if flags & 0x200 != 0 { b"Y:0:1\n" } else { b"N:0:1\n" });
    let start = out.len();
    let nibble = |i: usize| record[bases + i / 2] >> (4 * (1 - i % 2)) & 15;
    out.extend((0..length).map(|i| b"=ACMGRSVTWYHKDBN"[usize::from(nibble(i))]));
    out.extend_from_slice(b"\n+\n");
    out.extend(record[qualities..qualities + length].iter().map(|q| q + 33));
    if flags & 0x10 != 0 {
        reverse_complement(&mut out[start..start + length]);
        out[start + length + 3..].reverse();
    }
    out.push(b'\n');
}
