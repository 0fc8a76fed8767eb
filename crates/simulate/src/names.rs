//! Read names: clusters on the tiles of a lane, in the order in which a sequencer writes them.

use crate::profile::{Flowcell, Profile};
use crate::rng::Rng;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster {
    pub(crate) run: u32,
    pub(crate) tile: u32,
    pub(crate) x: u32,
    /// The y coordinate: even for originals, odd for optical copies, so that no two clusters
    /// coincide.
    pub(crate) y: u32,
}

const MIN_COORDINATE: u32 = 1000;

struct TileLayout {
    swaths: u32,
    tiles: u32,
    width: u32,
    height: u32,
}

fn layout_of(flowcell: Flowcell) -> TileLayout {
    match flowcell {
        Flowcell::HiSeq => TileLayout { swaths: 2, tiles: 28, width: 20_500, height: 100_000 },
        Flowcell::Patterned => TileLayout { swaths: 6, tiles: 78, width: 51_000, height: 57_000 },
    }
}

pub(crate) fn machine_names(flowcell: Flowcell) -> (&'static str, &'static str) {
    match flowcell {
        Flowcell::HiSeq => ("HS00417", "H7QSIMADX"),
        Flowcell::Patterned => ("NV00283", "HW5SIMDSX"),
    }
}

pub(crate) struct SimulatedLane {
    instrument: String,
    flowcell: String,
    layout: TileLayout,
    run: u32,
    tile: u32,
    cluster: u32,
    per_tile: u32,
    copies: BTreeSet<(u32, u32)>,
}

impl SimulatedLane {
    pub(crate) fn new(profile: &Profile, index: u32, count: u32) -> Self {
        let (instrument, flowcell) = machine_names(profile.flowcell);
        let layout = layout_of(profile.flowcell);
        let tiles = u64::from(2 * layout.swaths * layout.tiles);
        let share = profile.pairs * 3 / (2 * u64::from(count) * tiles) + 1;
        Self {
            instrument: format!("{instrument}:"),
            flowcell: format!(":{flowcell}:{}:", index % 8 + 1),
            layout,
            run: 118 + 1000 * (index / 8),
            tile: 0,
            cluster: 0,
            per_tile: share.clamp(500, 500_000_000) as u32,
            copies: BTreeSet::new(),
        }
    }

    /// Returns the next cluster. x increases along a tile, y is random.
    pub(crate) fn next_cluster(&mut self, rng: &mut Rng) -> Cluster {
        if self.cluster == self.per_tile {
            self.next_tile();
        }
        // Clusters differ in their column or their band of rows, so no two have the same position.
        let bands = self.per_tile / self.layout.width + 1;
        let columns = self.per_tile.div_ceil(bands);
        let column_width = self.layout.width / columns;
        let band_height = (self.layout.height / bands) & !1;
        let (column, band) = (self.cluster / bands, self.cluster % bands);
        self.cluster += 1;
        Cluster {
            run: self.run,
            tile: self.tile_number(),
            x: MIN_COORDINATE + column * column_width + rng.below(column_width),
            y: MIN_COORDINATE + band * band_height + (rng.below(band_height) & !1),
        }
    }

    fn next_tile(&mut self) {
        self.cluster = 0;
        self.copies.clear();
        self.tile += 1;
        if self.tile == 2 * self.layout.swaths * self.layout.tiles {
            self.tile = 0;
            self.run += 1;
        }
    }

    fn tile_number(&self) -> u32 {
        let (swath, tile) = (self.tile / self.layout.tiles, self.tile % self.layout.tiles);
        let (surface, swath) = (swath / self.layout.swaths, swath % self.layout.swaths);
        1000 * (surface + 1) + 100 * (swath + 1) + tile + 1
    }

    pub(crate) fn is_current(&self, cluster: &Cluster) -> bool {
        cluster.run == self.run && cluster.tile == self.tile_number() && self.cluster < self.per_tile
    }

    /// Returns a position near a cluster of the current tile: within 100 pixels with probability
    /// 2/3, otherwise within 2,500.
    pub(crate) fn draw_near_cluster(&mut self, rng: &mut Rng, source: &Cluster) -> Cluster {
        loop {
            let reach = if rng.per_mille(667) { 100 } else { 2500 };
            let x = source.x + rng.below(2 * reach + 1);
            let y = source.y + rng.below(2 * reach + 1);
            if x > reach && y > reach && self.copies.insert((x - reach, (y - reach) | 1)) {
                return Cluster { x: x - reach, y: (y - reach) | 1, ..*source };
            }
        }
    }

    pub(crate) fn write_name(&self, cluster: &Cluster, umi: Option<u32>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.instrument.as_bytes());
        write_decimal(cluster.run, out);
        out.extend_from_slice(self.flowcell.as_bytes());
        write_decimal(cluster.tile, out);
        out.push(b':');
        write_decimal(cluster.x, out);
        out.push(b':');
        write_decimal(cluster.y, out);
        if let Some(umi) = umi {
            out.push(b':');
            write_umi(umi, b'+', out);
        }
    }
}

pub(crate) fn write_umi(umi: u32, separator: u8, out: &mut Vec<u8>) {
    let base = |i: u32| b"ACGT"[(umi >> (2 * i) & 3) as usize];
    out.extend((0..7).map(base));
    out.push(separator);
    out.extend((7..14).map(base));
}

#[inline]
pub(crate) fn write_decimal(mut value: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_a_crowded_lane_are_all_different() {
        for flowcell in [Flowcell::HiSeq, Flowcell::Patterned] {
            let profile = Profile { flowcell, ..Profile::small().with_pairs(60_000_000) };
            let mut lane = SimulatedLane::new(&profile, 0, 1);
            let mut rng = Rng::for_purpose(1, 1);
            let mut seen = BTreeSet::new();
            for i in 0..400_000 {
                let mut cluster = lane.next_cluster(&mut rng);
                assert!(seen.insert((cluster.run, cluster.tile, cluster.x, cluster.y)));
                if i % 50 == 0 && lane.is_current(&cluster) {
                    cluster = lane.draw_near_cluster(&mut rng, &cluster);
                    assert!(seen.insert((cluster.run, cluster.tile, cluster.x, cluster.y)));
                }
            }
        }
    }

    #[test]
    fn names_have_seven_or_eight_fields() {
        let lane = SimulatedLane::new(&Profile::small(), 9, 12);
        let cluster = Cluster { run: 1118, tile: 2214, x: 10, y: 4_294_967_295 };
        let (mut plain, mut with_umi) = (Vec::new(), Vec::new());
        lane.write_name(&cluster, None, &mut plain);
        lane.write_name(&cluster, Some(0b11_10_01), &mut with_umi);
        assert_eq!(plain, b"HS00417:1118:H7QSIMADX:2:2214:10:4294967295");
        assert_eq!(with_umi[plain.len()..], *b":CGTAAAA+AAAAAAA");
    }
}
