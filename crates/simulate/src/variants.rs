//! The variants of the sample: the differences of its two haplotypes from the reference.

use crate::genome::Contig;
use crate::rng::Rng;

pub(crate) const MAX_INDEL_BASES: u32 = 10;
const CELL_BITS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariantChange {
    Snp(u8),
    /// The bases inserted before the position, and their number.
    Insertion([u8; MAX_INDEL_BASES as usize], u8),
    /// Number of bases deleted, starting at the position.
    Deletion(u8),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    pub(crate) position: u32,
    pub(crate) change: VariantChange,
    /// Bit h is set if haplotype h carries the variant. 0 means that the sample does not carry it.
    pub(crate) haplotypes: u8,
    pub(crate) known: bool,
}

/// The variants of one contig, at least 24 bases apart.
#[derive(Debug)]
pub(crate) struct Variants {
    list: Vec<Variant>,
    cells: Vec<u32>,
}

impl Variants {
    pub(crate) fn new(rng: &mut Rng, contig: &Contig) -> Self {
        let mut list: Vec<Variant> = Vec::new();
        let mut at = 100;
        let end = contig.bases.len().saturating_sub(100);
        loop {
            at += rng.between(60, 1840) as usize;
            if at >= end {
                break;
            }
            if contig.is_known(at - 60, at + 60)
                && let Some(variant) = draw_variant(rng, &contig.bases, at)
            {
                list.push(variant);
            }
        }
        let mut cells = Vec::with_capacity((contig.bases.len() >> CELL_BITS) + 2);
        let mut next = 0;
        for cell in 0..=(contig.bases.len() >> CELL_BITS) {
            while list.get(next).is_some_and(|v| (v.position as usize) < cell << CELL_BITS) {
                next += 1;
            }
            cells.push(next as u32);
        }
        Self { list, cells }
    }

    pub(crate) fn all(&self) -> &[Variant] {
        &self.list
    }

    #[inline]
    pub(crate) fn within(&self, start: usize, end: usize) -> &[Variant] {
        let from = self.cells[start >> CELL_BITS] as usize;
        let rest = &self.list[from..];
        let skip = rest.iter().take_while(|v| (v.position as usize) < start).count();
        let count = rest[skip..].iter().take_while(|v| (v.position as usize) < end).count();
        &rest[skip..skip + count]
    }
}

fn draw_variant(rng: &mut Rng, bases: &[u8], at: usize) -> Option<Variant> {
    // 5 % are sites that the sample does not carry, all of them known; 90 % of the sample's own
    // variants are known.
    let (haplotypes, known) = match rng.below(1000) {
        0..50 => (0, true),
        roll => ([1, 2, 3][(roll % 3) as usize], rng.per_mille(900)),
    };
    let (position, change) = match rng.below(100) {
        0..85 => (at, draw_snp(rng, bases[at])),
        85..92 => draw_insertion(rng, bases, at)?,
        _ => draw_deletion(rng, bases, at)?,
    };
    Some(Variant { position: position as u32, change, haplotypes, known })
}

/// Draws a different base; two times in three it is the transition.
fn draw_snp(rng: &mut Rng, base: u8) -> VariantChange {
    let order: &[u8; 3] = match base {
        b'A' => b"GCT",
        b'C' => b"TAG",
        b'G' => b"ACT",
        _ => b"CAG",
    };
    VariantChange::Snp(order[[0, 0, 0, 0, 1, 2][rng.below(6) as usize]])
}

fn indel_length(rng: &mut Rng) -> usize {
    (1 + (rng.next_u64().trailing_ones() + rng.next_u64().trailing_ones()).min(MAX_INDEL_BASES - 1))
        as usize
}

/// Draws an insertion and left-aligns it. Returns `None` if it would move by more than 36 bases.
fn draw_insertion(rng: &mut Rng, bases: &[u8], mut at: usize) -> Option<(usize, VariantChange)> {
    let length = indel_length(rng);
    let mut inserted = [0; MAX_INDEL_BASES as usize];
    inserted[..length].fill_with(|| b"ACGT"[rng.below(4) as usize]);
    let leftmost = at - 36;
    while at > leftmost && bases[at - 1] == inserted[length - 1] {
        inserted[..length].rotate_right(1);
        at -= 1;
    }
    (at > leftmost).then_some((at, VariantChange::Insertion(inserted, length as u8)))
}

/// Draws a deletion and left-aligns it. Returns `None` if it would move by more than 36 bases.
fn draw_deletion(rng: &mut Rng, bases: &[u8], mut at: usize) -> Option<(usize, VariantChange)> {
    let length = indel_length(rng);
    let leftmost = at - 36;
    while at > leftmost && bases[at - 1] == bases[at + length - 1] {
        at -= 1;
    }
    (at > leftmost).then_some((at, VariantChange::Deletion(length as u8)))
}
