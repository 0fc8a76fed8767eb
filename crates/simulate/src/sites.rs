//! The reference as FASTA with its index, and the known sites as VCF.

use crate::sample::Sample;
use crate::variants::Change;
use std::io::{self, Write};

/// Bases in a line of FASTA.
const LINE: usize = 60;

impl Sample {
    /// Writes the reference as FASTA, 60 bases a line.
    ///
    /// # Errors
    /// The result of the writer.
    pub fn write_fasta(&self, w: &mut dyn Write) -> io::Result<()> {
        write_fasta(self, w)
    }

    /// Writes the index of that FASTA file, as `samtools faidx` does.
    ///
    /// # Errors
    /// The result of the writer.
    pub fn write_fai(&self, w: &mut dyn Write) -> io::Result<()> {
        write_fai(self, w)
    }

    /// Writes known variants as VCF 4.2, sorted: nine in ten of those the sample carries, and
    /// some that it does not carry.
    ///
    /// # Errors
    /// The result of the writer.
    pub fn write_known_sites(&self, w: &mut dyn Write) -> io::Result<()> {
        write_known_sites(self, w)
    }
}

fn write_fasta(sample: &Sample, w: &mut dyn Write) -> io::Result<()> {
    let mut chunk = Vec::new();
    for (i, (name, _)) in sample.profile.contigs.iter().enumerate() {
        writeln!(w, ">{name}")?;
        for lines in sample.contig(i).chunks(1024 * LINE) {
            chunk.clear();
            for line in lines.chunks(LINE) {
                chunk.extend_from_slice(line);
                chunk.push(b'\n');
            }
            w.write_all(&chunk)?;
        }
    }
    Ok(())
}

fn write_fai(sample: &Sample, w: &mut dyn Write) -> io::Result<()> {
    let mut offset = 0;
    for (i, (name, _)) in sample.profile.contigs.iter().enumerate() {
        let length = sample.contig(i).len();
        offset += name.len() + 2;
        writeln!(w, "{name}\t{length}\t{offset}\t{LINE}\t{}", LINE + 1)?;
        offset += length + length.div_ceil(LINE);
    }
    Ok(())
}

fn write_known_sites(sample: &Sample, w: &mut dyn Write) -> io::Result<()> {
    writeln!(w, "##fileformat=VCFv4.2")?;
    writeln!(w, "##source=readmill-simulate")?;
    for (name, length) in &sample.profile.contigs {
        writeln!(w, "##contig=<ID={name},length={length}>")?;
    }
    writeln!(w, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")?;
    let mut id = 0;
    for (i, (name, _)) in sample.profile.contigs.iter().enumerate() {
        let reference = sample.contig(i);
        for variant in sample.variants[i].all().iter().filter(|v| v.known) {
            id += 1;
            let at = variant.position as usize;
            // Indels are written with the base before them, so their POS (1-based) is `at`.
            let (pos, from, to, alternative) = match variant.change {
                Change::Snp(base) => (at + 1, at, at + 1, vec![base]),
                Change::Insertion(inserted, length) => {
                    let mut alternative = vec![reference[at - 1]];
                    alternative.extend_from_slice(&inserted[..usize::from(length)]);
                    (at, at - 1, at, alternative)
                }
                Change::Deletion(length) => {
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
