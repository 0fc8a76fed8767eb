//! The content of an index, BAI or CSI, independent of its compression and of the order of bins.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::commands::SampleDir;
use super::lines::Printed;

/// An index.
#[derive(Debug, PartialEq, Eq)]
pub struct IndexFile {
    /// CSI: bits of the smallest bin, levels, and auxiliary bytes.
    scheme: Option<(u32, u32, Vec<u8>)>,
    references: Vec<ContigIndex>,
    /// Reads without a position, if the index has their number.
    unplaced: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ContigIndex {
    /// By number: the offset of the first record, which only CSI has, and the chunks.
    bins: BTreeMap<u32, (Option<u64>, Vec<[u64; 2]>)>,
    /// The offsets of the windows, which only BAI has.
    windows: Vec<u64>,
}

/// Reads little-endian numbers from the start of a slice.
struct IndexBytes<'a>(&'a [u8]);

impl<'a> IndexBytes<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n).context("the index is cut short")?;
        self.0 = rest;
        Ok(head)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into()?))
    }
}

impl IndexFile {
    /// Reads an index.
    pub fn read(dir: &SampleDir<'_>, name: &str) -> Result<Self> {
        let mut bytes = std::fs::read(dir.path(name)).with_context(|| format!("no {name}"))?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            bytes = Printed::by(dir.inflated(name))?.bytes()?;
        }
        Self::parse(&bytes).with_context(|| name.to_owned())
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut front = IndexBytes(bytes);
        let scheme = match front.take(4)? {
            b"BAI\x01" => None,
            b"CSI\x01" => {
                let (bits, levels, length) = (front.u32()?, front.u32()?, front.u32()?);
                Some((bits, levels, front.take(length as usize)?.to_vec()))
            }
            magic => bail!("no index: {magic:?}"),
        };
        let mut references = Vec::new();
        for _ in 0..front.u32()? {
            references.push(ContigIndex::parse(&mut front, scheme.is_some())?);
        }
        let unplaced = if front.0.is_empty() { None } else { Some(front.u64()?) };
        ensure!(front.0.is_empty(), "{} bytes follow the index", front.0.len());
        Ok(IndexFile { scheme, references, unplaced })
    }

    /// Describes its size.
    pub fn figures(&self) -> String {
        let bins: usize = self.references.iter().map(|reference| reference.bins.len()).sum();
        let chunks = self.references.iter().flat_map(|reference| reference.bins.values());
        let chunks: usize = chunks.map(|(_, chunks)| chunks.len()).sum();
        let windows: usize = self.references.iter().map(|reference| reference.windows.len()).sum();
        format!("{bins} bins, {chunks} chunks, {windows} windows")
    }

    /// Checks that our index has the same content as theirs.
    pub fn same(&self, theirs: &IndexFile) -> Result<()> {
        ensure!(self.scheme == theirs.scheme, "{:?}, theirs {:?}", self.scheme, theirs.scheme);
        let (one, other) = (self.unplaced, theirs.unplaced);
        ensure!(one == other, "unplaced: {one:?}, theirs {other:?}");
        let (one, other) = (self.references.len(), theirs.references.len());
        ensure!(one == other, "{one} references, theirs {other}");
        for (i, (one, other)) in self.references.iter().zip(&theirs.references).enumerate() {
            for bin in one.bins.keys().chain(other.bins.keys()) {
                let (one, other) = (one.bins.get(bin), other.bins.get(bin));
                ensure!(one == other, "reference {i}, bin {bin}: {one:x?}, theirs {other:x?}");
            }
            let differs = one.windows.iter().zip(&other.windows).position(|(one, other)| one != other);
            ensure!(
                one.windows == other.windows,
                "reference {i}, windows: {} of them, theirs {}, {differs:?}",
                one.windows.len(),
                other.windows.len(),
            );
        }
        Ok(())
    }
}

impl ContigIndex {
    fn parse(front: &mut IndexBytes<'_>, is_csi: bool) -> Result<Self> {
        let mut reference = ContigIndex::default();
        for _ in 0..front.u32()? {
            let number = front.u32()?;
            let offset = if is_csi { Some(front.u64()?) } else { None };
            let mut chunks = Vec::new();
            for _ in 0..front.u32()? {
                chunks.push([front.u64()?, front.u64()?]);
            }
            let twice = reference.bins.insert(number, (offset, chunks));
            ensure!(twice.is_none(), "bin {number} stands twice");
        }
        if !is_csi {
            for _ in 0..front.u32()? {
                reference.windows.push(front.u64()?);
            }
        }
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_the_same_in_any_order_of_its_bins() {
        let bin = |number: u32, from: u64| {
            [&number.to_le_bytes()[..], &1u32.to_le_bytes(), &from.to_le_bytes(), &9u64.to_le_bytes()]
                .concat()
        };
        let index = |bins: &[Vec<u8>]| {
            let mut bytes = [&b"BAI\x01\x01\0\0\0"[..], &(bins.len() as u32).to_le_bytes()].concat();
            bytes.extend(bins.concat());
            bytes.extend([0; 4]);
            IndexFile::parse(&bytes).unwrap()
        };
        let one = index(&[bin(4681, 1), bin(585, 2)]);
        assert!(one.same(&index(&[bin(585, 2), bin(4681, 1)])).is_ok());
        assert!(one.same(&index(&[bin(585, 3), bin(4681, 1)])).is_err());
        assert!(one.same(&index(&[bin(585, 2)])).is_err());
        assert_eq!(one.figures(), "2 bins, 2 chunks, 0 windows");
    }
}
