//! Writes the finished index as a file.

use std::io::{self, BufWriter, Write};

use noodles_bgzf as bgzf;

use readmill_record::{Error, Result};

use super::builder::IndexBuilder;
use super::scheme::{IndexFormat, MIN_SHIFT};

impl IndexBuilder {
    /// Writes the index file.
    ///
    /// # Errors
    /// The records were not in coordinate order, so that the index would miss some; or writing failed.
    pub fn write_to(mut self, writer: &mut dyn Write) -> Result<()> {
        if self.unsorted {
            let what = "the records are not in coordinate order and cannot be indexed";
            return Err(Error::input(what).hint("sort the file by coordinate"));
        }
        self.close(self.n_ref);
        self.write(&mut BufWriter::new(writer))
            .map_err(|error| Error::io("cannot write the index", &error))
    }

    fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        match self.scheme.kind {
            IndexFormat::Bai => {
                writer.write_all(b"BAI\x01")?;
                self.write_references(writer)
            }
            IndexFormat::Csi => {
                let mut packed = bgzf::io::Writer::new(&mut *writer);
                packed.write_all(b"CSI\x01")?;
                for number in [u32::from(MIN_SHIFT), u32::from(self.scheme.depth), 0] {
                    packed.write_all(&number.to_le_bytes())?; // the last number: length of auxiliary data, which BAM does not use
                }
                self.write_references(&mut packed)?;
                packed.finish()?;
                Ok(())
            }
        }?;
        writer.flush()
    }

    fn write_references(&self, writer: &mut dyn Write) -> io::Result<()> {
        writer.write_all(&(self.n_ref as u32).to_le_bytes())?;
        writer.write_all(&self.done)?;
        writer.write_all(&self.unplaced.to_le_bytes())
    }
}
