//! Pairs of reads that differ only in their positions and in their places on the flow cell.

use std::io::{self, Write};

use crate::parity::random::SeededRandom;

/// Bases of the one reference sequence.
const LENGTH: u64 = 200_000_000;

/// Bases of a read, and from end to end of a pair.
const READ: usize = 50;
const INSERT: u64 = 300;

/// Tiles of a lane: two surfaces of two swaths of 28.
const TILES: u64 = 112;

/// Columns of a tile that hold a cluster each, before any holds a second one.
const COLUMNS: u64 = 20_000;

/// The common properties of the pairs of a file.
#[derive(Clone, Copy)]
pub struct Pile {
    /// Their number.
    pub pairs: u64,
    /// Whether all have the same ends, or each its own.
    pub one_place: bool,
    /// Whether all were seen on one tile, or on all tiles in turn.
    pub one_tile: bool,
}

impl Pile {
    /// Writes them as SAM text, grouped by name.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:chr1\tLN:{LENGTH}")?;
        writeln!(out, "@RG\tID:one\tSM:pile\tLB:lib1\tPL:ILLUMINA")?;
        for number in 0..self.pairs {
            self.pair(number, out)?;
        }
        Ok(())
    }

    fn pair(&self, number: u64, out: &mut impl Write) -> io::Result<()> {
        let random = &mut SeededRandom::new(number);
        let anywhere = 1 + random.below(LENGTH - INSERT);
        let first = if self.one_place { LENGTH / 2 } else { anywhere };
        let last = first + INSERT - READ as u64;
        let (tile, seen) = if self.one_tile { (0, number) } else { (number % TILES, number / TILES) };
        let tile = 1000 * (tile / 56 + 1) + 100 * (tile / 28 % 2 + 1) + tile % 28 + 1;
        // No two clusters of a tile share column and row, because the rest of the row counts how often the column
        // occurred.
        let (x, y) = (1000 + seen % COLUMNS, 1000 + 90 * random.below(1000) + seen / COLUMNS);
        for (flags, at, mate, length) in
            [(99, first, last, INSERT as i64), (147, last, first, -(INSERT as i64))]
        {
            write!(
                out,
                "SIM:1:FC:1:{tile}:{x}:{y}\t{flags}\tchr1\t{at}\t60\t{READ}M\t=\t{mate}\t{length}\t"
            )?;
            out.write_all(&[(); READ].map(|()| random.pick(b"ACGT")))?;
            out.write_all(b"\t")?;
            out.write_all(&[(); READ].map(|()| random.pick(b"#-8F")))?;
            out.write_all(b"\tRG:Z:one\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn fields(crowd: Pile, field: usize) -> Vec<String> {
        let mut text = Vec::new();
        crowd.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let reads = text.lines().filter(|line| !line.starts_with('@'));
        reads.map(|line| line.split('\t').nth(field).unwrap().to_owned()).collect()
    }

    #[test]
    fn names_are_unique_and_places_are_as_asked() {
        for (one_place, one_tile) in [(false, false), (true, false), (true, true)] {
            let crowd = Pile { pairs: 30_000, one_place, one_tile };
            let names: BTreeSet<String> = fields(crowd, 0).into_iter().collect();
            assert_eq!(names.len(), 30_000);
            let tiles: BTreeSet<&str> =
                names.iter().map(|name| name.split(':').nth(4).unwrap()).collect();
            assert_eq!(tiles.len(), if one_tile { 1 } else { 112 });
            let places: BTreeSet<String> = fields(crowd, 3).into_iter().collect();
            assert!(if one_place { places.len() == 2 } else { places.len() > 29_000 });
        }
    }

    #[test]
    fn crowds_differ_in_place_alone() {
        let spread = Pile { pairs: 100, one_place: false, one_tile: false };
        let pile = Pile { one_place: true, ..spread };
        for field in [0, 1, 5, 9, 10] {
            assert_eq!(fields(spread, field), fields(pile, field));
        }
        assert_ne!(fields(spread, 3), fields(pile, 3));
    }
}
