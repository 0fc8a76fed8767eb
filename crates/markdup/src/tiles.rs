//! Counts pairs and their duplicates by flow cell tile. The counts become part of the run
//! description.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::location::Location;
use super::optical::SetMember;

/// Maximum number of tiles that are counted: about twice as many as the largest flow cells have. If
/// there are more, the read names contain something other than tiles.
const MAX_TILES: usize = 1 << 15;

/// Maximum memory of the counts in bytes: a hash table, which may be half empty, and the sorted
/// list that is built from it.
pub const MAX_COUNTER_BYTES: u64 = MAX_TILES as u64 * (2 * 36 + 32);

/// Size of a tile's JSON description in bytes: five values, one of them a read group name.
const DESCRIPTION_BYTES: u64 = 256;

/// Returns the memory in bytes of the tile counts and their description, which is charged to the
/// ledger.
pub fn tile_counts_bytes(tiles: &[TileCounts]) -> u64 {
    tiles.len() as u64 * (size_of::<TileCounts>() as u64 + DESCRIPTION_BYTES)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileCounts {
    pub group: u16,
    pub tile: u16,
    pub pairs: u64,
    pub duplicates: u64,
    pub optical: u64,
}

/// Counts pairs by tile during the scan. If there are too many tiles, all counts are dropped, so
/// that the result does not depend on the order of the scan.
#[derive(Default)]
pub(super) struct TileCounter {
    tiles: HashMap<u32, [u64; 3]>,
    is_full: bool,
}

#[derive(Clone, Copy)]
pub(super) enum TileEvent {
    Pair,
    Duplicate,
    Optical,
}

impl TileCounter {
    pub fn count_pair(&mut self, member: &SetMember, what: TileEvent) {
        if self.is_full || member.location.tile == Location::NONE.tile {
            return;
        }
        // Picard truncates tile numbers to signed 16 bits; this restores the number in the read
        // name.
        let key = u32::from(member.group) << 16 | u32::from(member.location.tile as u16);
        if let Some(counts) = self.tiles.get_mut(&key) {
            counts[what as usize] += 1;
            return;
        }
        if self.tiles.len() == MAX_TILES {
            *self = TileCounter { tiles: HashMap::new(), is_full: true };
            return;
        }
        let mut counts = [0; 3];
        counts[what as usize] = 1;
        self.tiles.insert(key, counts);
    }

    /// Returns the counts in order of read group and tile. Empty if there were too many tiles.
    pub fn into_sorted_counts(self) -> Vec<TileCounts> {
        let counts = |(key, [pairs, duplicates, optical]): (u32, [u64; 3])| TileCounts {
            group: (key >> 16) as u16,
            tile: key as u16,
            pairs,
            duplicates,
            optical,
        };
        let mut list: Vec<TileCounts> = self.tiles.into_iter().map(counts).collect();
        list.sort_unstable_by_key(|tile| (tile.group, tile.tile));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(group: u16, tile: i32) -> SetMember {
        SetMember { location: Location { tile, x: 1, y: 1 }, group, pos: 0, ids: (0, 0) }
    }

    #[test]
    fn pairs_are_counted_by_read_group_and_tile() {
        let mut counter = TileCounter::default();
        for (group, tile, what) in [
            (1, 1101, TileEvent::Pair),
            (0, 2101, TileEvent::Pair),
            (0, 1101, TileEvent::Pair),
            (0, 1101, TileEvent::Pair),
            (0, 1101, TileEvent::Duplicate),
            (0, 1101, TileEvent::Optical),
            (0, Location::NONE.tile, TileEvent::Pair),
            (0, i32::from(40_000_u16 as i16), TileEvent::Pair),
        ] {
            counter.count_pair(&member(group, tile), what);
        }
        let tile = |group, tile, pairs, duplicates, optical| TileCounts {
            group,
            tile,
            pairs,
            duplicates,
            optical,
        };
        let wanted = [
            tile(0, 1101, 2, 1, 1),
            tile(0, 2101, 1, 0, 0),
            tile(0, 40_000, 1, 0, 0),
            tile(1, 1101, 1, 0, 0),
        ];
        assert_eq!(counter.into_sorted_counts(), wanted);
    }

    #[test]
    fn too_many_tiles_are_not_counted() {
        let mut counter = TileCounter::default();
        let count = |counter: &mut TileCounter, n: usize| {
            counter.count_pair(&member((n >> 10) as u16, (n & 1023) as i32), TileEvent::Pair);
        };
        (0..MAX_TILES).for_each(|n| count(&mut counter, n));
        (0..MAX_TILES).for_each(|n| count(&mut counter, n));
        count(&mut counter, 7);
        assert_eq!(counter.tiles.len(), MAX_TILES);
        count(&mut counter, MAX_TILES);
        count(&mut counter, 7);
        assert_eq!(counter.into_sorted_counts(), []);
    }
}
