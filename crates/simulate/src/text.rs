//! Writes a sample as text: the reference as FASTA with its index, the known sites as VCF, and the
//! reads as FASTQ.
//!
//! FASTQ is converted from the raw records, so both always agree.

use std::io::{self, Write};

use crate::genome::reverse_complement;
use crate::sample::Sample;
use crate::variants::VariantChange;

const FASTA_LINE_BASES: usize = 60;

const MIN_CHUNK_BYTES: usize = 1 << 18;

impl Sample {
    /// Writes the reference as FASTA with 60 bases per line.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_fasta(&self, w: &mut dyn Write) -> io::Result<()> {
        let mut chunk = Vec::new();
        for (i, (name, _)) in self.profile.contigs.iter().enumerate() {
            writeln!(w, ">{name}")?;
            for lines in self.contig(i).chunks(1024 * FASTA_LINE_BASES) {
                chunk.clear();
                for line in lines.chunks(FASTA_LINE_BASES) {
                    chunk.extend_from_slice(line);
                    chunk.push(b'\n');
                }
                w.write_all(&chunk)?;
            }
        }
        Ok(())
    }

    /// Writes the index of that FASTA file, in the format of `samtools faidx`.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_fai(&self, w: &mut dyn Write) -> io::Result<()> {
        let mut offset = 0;
        for (i, (name, _)) in self.profile.contigs.iter().enumerate() {
            let length = self.contig(i).len();
            offset += name.len() + 2;
            writeln!(w, "{name}\t{length}\t{offset}\t{FASTA_LINE_BASES}\t{}", FASTA_LINE_BASES + 1)?;
            offset += length + length.div_ceil(FASTA_LINE_BASES);
        }
        Ok(())
    }

    /// Writes known variants as VCF 4.2, sorted: nine in ten of the sample's variants, and some
    /// that the sample does not carry.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_known_sites(&self, w: &mut dyn Write) -> io::Result<()> {
        writeln!(w, "##fileformat=VCFv4.2")?;
        writeln!(w, "##source=readmill-simulate")?;
        for (name, length) in &self.profile.contigs {
            writeln!(w, "##contig=<ID={name},length={length}>")?;
        }
        writeln!(w, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")?;
        let mut id = 0;
        for (i, (name, _)) in self.profile.contigs.iter().enumerate() {
            let reference = self.contig(i);
            for variant in self.variants[i].all().iter().filter(|v| v.known) {
                id += 1;
                let at = variant.position as usize;
                // Indels are written with the preceding base, so their POS (1-based) is `at`.
                let (pos, from, to, alternative) = match variant.change {
                    VariantChange::Snp(base) => (at + 1, at, at + 1, vec![base]),
                    VariantChange::Insertion(inserted, length) => {
                        let mut alternative = vec![reference[at - 1]];
                        alternative.extend_from_slice(&inserted[..usize::from(length)]);
                        (at, at - 1, at, alternative)
                    }
                    VariantChange::Deletion(length) => {
                        (at, at - 1, at + usize::from(length), vec![reference[at - 1]])
                    }
                };
                write!(w, "{name}\t{pos}\trs{id}\t")?;
                w.write_all(&reference[from..to])?;
                w.write_all(b"\t")?;
                w.write_all(&alternative)?;
                w.write_all(b"\t.\t.\t.\n")?;
            }
        }
        Ok(())
    }

    /// Writes the reads of [`Sample::records`] in sequencing orientation, 5' to 3'. Single-end
    /// reads are written to `r1` only.
    ///
    /// # Errors
    /// A writer fails.
    pub fn write_fastq(&self, r1: &mut dyn Write, r2: &mut dyn Write) -> io::Result<()> {
        let mut records = self.records();
        let (mut raw, mut texts) = (Vec::new(), [Vec::new(), Vec::new()]);
        while records.append_next(&mut raw) {
            let mut rest = raw.as_slice();
            while let Some((size, body)) = rest.split_first_chunk::<4>() {
                let (record, after) = body.split_at(u32::from_le_bytes(*size) as usize);
                append_fastq(record, &mut texts);
                rest = after;
            }
            raw.clear();
            if texts[0].len() > MIN_CHUNK_BYTES {
                write_texts(&mut texts, r1, r2)?;
            }
        }
        write_texts(&mut texts, r1, r2)
    }
}

fn write_texts(texts: &mut [Vec<u8>; 2], r1: &mut dyn Write, r2: &mut dyn Write) -> io::Result<()> {
    r1.write_all(&texts[0])?;
    r2.write_all(&texts[1])?;
    texts.iter_mut().for_each(Vec::clear);
    Ok(())
}

/// Appends a record to the text of its file. Secondary and supplementary records are omitted.
fn append_fastq(record: &[u8], texts: &mut [Vec<u8>; 2]) {
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
