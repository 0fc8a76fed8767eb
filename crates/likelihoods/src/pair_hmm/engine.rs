//! Distributes pairs of reads and haplotypes over the lanes of vectors.

use super::kernel::{BLOCK, Group, Row};
use super::lanes::{Lanes, Real, base_bits};
use crate::HmmRead;

/// Reads and haplotypes that are compared.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub reads: &'a [HmmRead<'a>],
    pub haplotypes: &'a [&'a [u8]],
}

/// A read and a haplotype, by their indices.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub read: usize,
    pub haplotype: usize,
}

/// Computes likelihoods, multiplied by [`Real::INITIAL`], by instructions that were chosen before.
pub(super) trait Engine<T> {
    /// Calls `store` with each pair of the input and its likelihood. `order` has the indices of the
    /// reads, sorted by length.
    fn compute_all(&mut self, input: Input<'_>, order: &[usize], store: &mut dyn FnMut(Pair, T));

    /// Calls `store` with each of the pairs and its likelihood.
    fn compute_pairs(&mut self, input: Input<'_>, pairs: &[Pair], store: &mut dyn FnMut(Pair, T));
}

pub(super) struct VectorEngine<V: Lanes> {
    group: Group<V>,
    run: fn(&mut Group<V>, bool),
    is_fused: bool,
    pairs: Vec<Pair>,
}

impl<V: Lanes> VectorEngine<V> {
    pub(super) fn new(run: fn(&mut Group<V>, bool), is_fused: bool) -> Self {
        VectorEngine { group: Group::new(), run, is_fused, pairs: Vec::new() }
    }

    /// Sets the rows of the group to the bases of a read for each lane.
    fn set_reads<'a>(&mut self, reads: impl Iterator<Item = HmmRead<'a>> + Clone) {
        let zeros = V::splat_array(V::Real::ZERO);
        let empty = Row {
            match_to_match: zeros,
            insertion_start: zeros,
            deletion_start: zeros,
            gap_continuation: zeros,
            error: zeros,
            bases: V::splat_bases(V::base(0)),
            ends_read: false,
        };
        let Group { rows, read_lengths, .. } = &mut self.group;
        let max = reads.clone().map(|read| read.bases.len()).max().unwrap_or(0);
        rows.clear();
        rows.resize(max.next_multiple_of(BLOCK), empty);
        read_lengths.clear();
        for (lane, read) in reads.enumerate() {
            set_lane(rows, lane, read);
            read_lengths.push(read.bases.len());
        }
    }

    /// Sets the columns of the group to the bases of one haplotype in all lanes.
    fn set_haplotype(&mut self, haplotype: &[u8]) {
        let group = &mut self.group;
        group.columns.clear();
        group.columns.extend(haplotype.iter().map(|&base| V::splat_bases(V::base(base_bits(base)))));
        let length = V::Real::from_length(haplotype.len());
        group.haplotype_lengths = V::splat_array(length);
        group.initial = V::splat_array(V::Real::INITIAL.divide(length));
    }

    /// Sets the columns of the group to the bases of a haplotype for each lane.
    fn set_haplotypes<'a>(&mut self, haplotypes: impl Iterator<Item = &'a [u8]> + Clone) {
        let group = &mut self.group;
        let max = haplotypes.clone().map(<[u8]>::len).max().unwrap_or(0);
        group.columns.clear();
        group.columns.resize(max, V::splat_bases(V::base(0)));
        group.haplotype_lengths = V::splat_array(V::Real::ZERO);
        group.initial = V::splat_array(V::Real::ZERO);
        for (lane, haplotype) in haplotypes.enumerate() {
            for (column, &base) in group.columns.iter_mut().zip(haplotype) {
                column.as_mut()[lane] = V::base(base_bits(base));
            }
            let length = V::Real::from_length(haplotype.len());
            group.haplotype_lengths.as_mut()[lane] = length;
            group.initial.as_mut()[lane] = V::Real::INITIAL.divide(length);
        }
    }
}

impl<V: Lanes> Engine<V::Real> for VectorEngine<V> {
    fn compute_all(&mut self, input: Input<'_>, order: &[usize], store: &mut dyn FnMut(Pair, V::Real)) {
        let groups = order.chunks_exact(V::COUNT);
        let rest = groups.remainder();
        // The rows of as many reads as lanes serve for all haplotypes.
        for group in groups {
            self.set_reads(group.iter().map(|&read| input.reads[read]));
            for (haplotype, bases) in input.haplotypes.iter().enumerate() {
                self.set_haplotype(bases);
                (self.run)(&mut self.group, self.is_fused);
                for (&read, &likelihood) in group.iter().zip(self.group.likelihoods.as_ref()) {
                    store(Pair { read, haplotype }, likelihood);
                }
            }
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        for &read in rest {
            pairs.extend((0..input.haplotypes.len()).map(|haplotype| Pair { read, haplotype }));
        }
        self.compute_pairs(input, &pairs, store);
        self.pairs = pairs;
    }

    fn compute_pairs(&mut self, input: Input<'_>, pairs: &[Pair], store: &mut dyn FnMut(Pair, V::Real)) {
        for pairs in pairs.chunks(V::COUNT) {
            self.set_reads(pairs.iter().map(|pair| input.reads[pair.read]));
            self.set_haplotypes(pairs.iter().map(|pair| input.haplotypes[pair.haplotype]));
            (self.run)(&mut self.group, self.is_fused);
            for (&pair, &likelihood) in pairs.iter().zip(self.group.likelihoods.as_ref()) {
                store(pair, likelihood);
            }
        }
    }
}

/// Writes the probabilities of a read into a lane.
fn set_lane<V: Lanes>(rows: &mut [Row<V>], lane: usize, read: HmmRead<'_>) {
    let tables = V::Real::tables();
    let HmmRead { bases, base_qualities, insertion_qualities, deletion_qualities, gap_continuations } =
        read;
    for (i, row) in rows[..bases.len()].iter_mut().enumerate() {
        let (insertion, deletion) = (insertion_qualities[i], deletion_qualities[i]);
        row.match_to_match.as_mut()[lane] = tables.match_to_match(insertion, deletion);
        row.insertion_start.as_mut()[lane] = tables.error(insertion);
        row.deletion_start.as_mut()[lane] = tables.error(deletion);
        row.gap_continuation.as_mut()[lane] = tables.error(gap_continuations[i]);
        row.error.as_mut()[lane] = tables.error(base_qualities[i]);
        row.bases.as_mut()[lane] = V::base(base_bits(bases[i]));
    }
    rows[bases.len() - 1].ends_read = true;
}
