//! The module "Per tile sequence quality": quality by flow cell tile, which is a field of the read
//! name.
//!
//! Every tenth read is sampled. The first one determines which field of the name is the tile. If
//! that field of a later read is not a number, the module is omitted.
//! field of a later read is not a number, the module is left out.

use std::collections::HashMap;

use readmill_record::{CountingRoom, Result, java};

use crate::MIN_QUAL_CHAR;
use crate::groups::make_groups;
use crate::module::{FastqcEncoding, Module, Status};

/// Maximum number of tiles. With more, the field is assumed not to be the tile, and the module is
/// omitted.
const MAX_TILES: usize = 1001;

/// Phred limits of a tile's deviation from the mean of all tiles: a warning above the first, a
/// failure above the second.
const DEVIATION_LIMITS: [f64; 2] = [5.0, 10.0];

/// Returns whether the read with this number (0-based) is sampled. FastQC counts from 1 and samples
/// every tenth read.
#[inline]
pub(crate) fn is_sampled(number: u64) -> bool {
    number % 10 == 9
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileSample {
    /// Number of colon-separated fields, without empty ones at the end (as counted by Java's
    /// `split`).
    fields: usize,
    /// The numbers in the third and the fifth field. The first sampled read determines which one is
    /// the tile.
    numbers: [Option<i32>; 2],
    pub quals: u32,
}

/// Indexes of the fields that may be the tile (0-based): the third in names of older instruments,
/// the fifth in names with seven fields.
const TILE_FIELDS: [usize; 2] = [2, 4];

impl TileSample {
    pub fn new(name: &[u8], quals: u32) -> Self {
        let fields = name.split(|&byte| byte == b':');
        let (mut count, mut numbers) = (0, [None; 2]);
        for (at, field) in fields.enumerate() {
            if !field.is_empty() || at == 0 && !name.contains(&b':') {
                count = at + 1;
            }
            if let Some(place) = TILE_FIELDS.iter().position(|&place| place == at) {
                numbers[place] = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
            }
        }
        TileSample { fields: count, numbers, quals }
    }
}

/// The qualities of one tile by position. Each sum has its own vector, so that the compiler can add
/// several positions at once.
struct Tile {
    number: i32,
    lowest: u8,
    ends: Vec<u64>,
    sums: Vec<u64>,
    /// Number and sum of quality characters of at least 64, which are the qualities if the encoding
    /// turns out to be Phred+64.
    high_counts: Vec<u64>,
    high_sums: Vec<u64>,
}

const POSITION_BYTES: usize = 4 * size_of::<u64>();

#[derive(Default)]
pub(crate) struct Tiles {
    /// Which element of [`TileSample::numbers`] is the tile. `None` before the first sampled read.
    field: Option<usize>,
    is_left_out: bool,
    tiles: Vec<Tile>,
    places: HashMap<i32, usize>,
    length: usize,
}

impl Tiles {
    pub const BYTES: u64 = 128 << 10;

    /// Adds a sampled read. Reads must be added in file order.
    ///
    /// # Errors
    /// The memory of the run is too small for this number of tiles and this read length.
    pub fn add_sample(&mut self, sample: &TileSample, quals: &[u8], room: &CountingRoom) -> Result<()> {
        if self.is_left_out {
            return Ok(());
        }
        let field = match (self.field, sample.fields) {
            (Some(field), _) => Some(field),
            (None, 7..) => Some(1),
            (None, 5..) => Some(0),
            (None, _) => None,
        };
        self.field = field;
        let Some(number) = field.and_then(|field| sample.numbers[field]) else {
            self.drop_tiles(room);
            return Ok(());
        };
        self.length = self.length.max(quals.len());
        let place = match self.places.get(&number) {
            Some(&place) => place,
            None if self.tiles.len() == MAX_TILES => {
                self.drop_tiles(room);
                return Ok(());
            }
            None => {
                self.places.insert(number, self.tiles.len());
                self.tiles.push(Tile::new(number));
                self.tiles.len() - 1
            }
        };
        self.tiles[place].add_quals(quals, room)
    }

    fn drop_tiles(&mut self, room: &CountingRoom) {
        room.return_bytes(
            self.tiles.iter().map(|tile| (tile.sums.capacity() * POSITION_BYTES) as u64).sum(),
        );
        (self.is_left_out, self.tiles, self.places) = (true, Vec::new(), HashMap::new());
    }

    /// Creates the module: for each tile and group of positions, the mean quality minus the mean
    /// over all tiles. `None` if reads have no tiles or no qualities.
    pub fn make_module(&self, no_group: bool) -> Option<Module> {
        if self.is_left_out || self.length == 0 {
            return None;
        }
        // FastQC guesses the encoding from the first tile in the order of a Java HashMap.
        let buckets = java::bucket_count(self.tiles.len());
        let first =
            self.tiles.iter().min_by_key(|tile| java::bucket_index(tile.number as u32, buckets))?;
        let offset = FastqcEncoding::from_min_char(first.lowest).offset;
        let groups = make_groups(self.length, no_group);
        let mut tiles: Vec<&Tile> = self.tiles.iter().collect();
        tiles.sort_by_key(|tile| tile.number);
        let of_tile =
            |tile: &&Tile| groups.iter().map(|group| tile.mean_quality(group.range(), offset)).collect();
        let mut means: Vec<Vec<f64>> = tiles.iter().map(of_tile).collect();
        let mut max_deviation = 0.0;
        for group in 0..groups.len() {
            let mean = means.iter().fold(0.0, |sum, means| sum + means[group]) / tiles.len() as f64;
            for means in &mut means {
                means[group] -= mean;
                if means[group].abs() > max_deviation {
                    max_deviation = means[group].abs();
                }
            }
        }
        let row = |tile: i32, group: &crate::groups::Group, mean: f64| {
            vec![tile.to_string(), group.name(), java::format_double(mean)]
        };
        let rows = tiles.iter().zip(&means).flat_map(|(tile, means)| {
            groups.iter().zip(means).map(move |(group, &mean)| row(tile.number, group, mean))
        });
        Some(Module {
            name: "Per tile sequence quality",
            status: Status::from_limits(max_deviation, DEVIATION_LIMITS),
            deduplicated: None,
            columns: ["Tile", "Base", "Mean"].map(String::from).into(),
            rows: rows.collect(),
        })
    }
}

impl Tile {
    fn new(number: i32) -> Self {
        let [ends, sums, high_counts, high_sums] = std::array::from_fn(|_| Vec::new());
        Tile { number, lowest: u8::MAX, ends, sums, high_counts, high_sums }
    }

    fn add_quals(&mut self, quals: &[u8], room: &CountingRoom) -> Result<()> {
        let Some(last) = quals.len().checked_sub(1) else { return Ok(()) };
        if self.sums.len() < quals.len() {
            let old = self.sums.capacity();
            let grows = quals.len() > old;
            let capacity = if grows { quals.len().max(old + old / 4) } else { old };
            // While one of the four vectors is copied, both its old and its new buffer exist.
            let copied = if grows { (old * POSITION_BYTES / 4) as u64 } else { 0 };
            room.take_bytes(((capacity - old) * POSITION_BYTES) as u64 + copied)?;
            let lists = [&mut self.ends, &mut self.sums, &mut self.high_counts, &mut self.high_sums];
            for list in lists {
                list.reserve_exact(capacity - list.len());
                list.resize(quals.len(), 0);
            }
            room.return_bytes(copied);
        }
        self.ends[last] += 1;
        self.lowest = quals.iter().fold(self.lowest, |lowest, &qual| lowest.min(qual));
        for (sum, &qual) in self.sums.iter_mut().zip(quals) {
            *sum = sum.wrapping_add(qual.into());
        }
        for (count, &qual) in self.high_counts.iter_mut().zip(quals) {
            *count = count.wrapping_add(u64::from(qual >= 64));
        }
        for (sum, &qual) in self.high_sums.iter_mut().zip(quals) {
            *sum = sum.wrapping_add(if qual >= 64 { qual.into() } else { 0 });
        }
        Ok(())
    }

    /// Returns the mean Phred score over positions, each with equal weight, or 0 if none of them
    /// has qualities. `offset` is the character of quality 0.
    fn mean_quality(&self, positions: std::ops::Range<usize>, offset: u8) -> f64 {
        let range = positions.start.min(self.sums.len())..positions.end.min(self.sums.len());
        let (mut sum, mut count) = (0.0, 0);
        // A position has the qualities of all reads that end at or after it.
        let mut reads: u64 = self.ends[range.start..].iter().sum();
        for at in range {
            let (all, of) = match offset {
                MIN_QUAL_CHAR => (self.sums[at], reads),
                _ => (self.high_sums[at], self.high_counts[at]),
            };
            reads -= self.ends[at];
            sum += (all - u64::from(offset) * of) as f64 / of as f64;
            count += 1;
        }
        if count > 0 { sum / f64::from(count) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_tiles() {
        let of = |name: &str| {
            let sample = TileSample::new(name.as_bytes(), 0);
            (sample.fields, sample.numbers[0], sample.numbers[1])
        };
        assert_eq!(of("@A:2:C:4:1101:6:7 1:N:0:ACGT"), (10, None, Some(1101)));
        assert_eq!(of("@H_1:2:17:1000:16900#0/1"), (5, Some(17), Some(16900).filter(|_| false)));
        assert_eq!(of("read"), (1, None, None));
        assert_eq!(of(""), (1, None, None));
        assert_eq!(of("a:b:3::"), (3, Some(3), None));
        assert_eq!(of("::::"), (0, None, None));
    }

    #[test]
    fn a_name_without_a_tile_ends_the_module() {
        const USER: readmill_record::CountingRoomUser =
            readmill_record::CountingRoomUser { what: "", why: "", hint: "" };
        let room = CountingRoom::new(1 << 20, &USER);
        let mut tiles = Tiles::default();
        let add = |tiles: &mut Tiles, name: &str| {
            tiles.add_sample(&TileSample::new(name.as_bytes(), 2), b"5I", &room).unwrap();
        };
        add(&mut tiles, "a:b:c:d:1:x:y");
        add(&mut tiles, "a:b:c:d:2:x:y");
        let module = tiles.make_module(false).unwrap();
        assert_eq!(module.rows[1], ["1", "2", "0.0"]);
        add(&mut tiles, "a:b:9:d:e");
        assert!(tiles.make_module(false).is_none());
    }
}
