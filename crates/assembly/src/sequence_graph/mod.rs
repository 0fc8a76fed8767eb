//! A graph whose vertices are sequences of any length.

mod merge_suffixes;
mod simplify;
mod split_middles;
mod split_suffixes;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::digraph::{Digraph, VertexId};
use crate::error::AssemblyError;
use crate::reference_path::ReferenceEdge;
use crate::threading::ThreadingGraph;

/// How often sequences go along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SequenceEdge {
    pub(crate) multiplicity: u32,
    pub(crate) is_reference: bool,
}

impl ReferenceEdge for SequenceEdge {
    fn is_reference(&self) -> bool {
        self.is_reference
    }
}

/// GATK 4.6.2.0 `SeqGraph`: vertices are sequences, and the bases of vertices on a path make up a
/// haplotype.
#[derive(Clone, Debug)]
pub(crate) struct SequenceGraph {
    /// The value of a vertex is the part of the text that it spells.
    pub(crate) graph: Digraph<Range<usize>, SequenceEdge>,
    text: Vec<u8>,
}

/// How a cleaned graph connects the ends of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cleaned {
    /// The graph leads from the start of the reference to its end.
    Connected,
    /// The reference has no start or no end any more.
    OnlyReference,
}

impl SequenceGraph {
    /// Makes a vertex of each k-mer: the last base, or all bases of a source.
    pub(crate) fn from_threading(threading: &ThreadingGraph<'_>) -> Self {
        let from = &threading.graph;
        let mut sequences =
            SequenceGraph { graph: Digraph::new(), text: Vec::with_capacity(from.vertex_count() * 3) };
        let mut made = vec![None; from.vertex_bound()];
        for vertex in from.vertices() {
            let kmer = threading.kmer(vertex);
            let bases = if from.in_degree(vertex) == 0 { kmer } else { &kmer[kmer.len() - 1..] };
            let start = sequences.text.len();
            sequences.text.extend_from_slice(bases);
            let part = start..sequences.text.len();
            made[vertex.index()] = Some(sequences.graph.add_vertex(part));
        }
        for edge in from.edges() {
            let ends = (made[from.source(edge).index()], made[from.target(edge).index()]);
            if let (Some(source), Some(target)) = ends {
                let edge = &from[edge];
                let (multiplicity, is_reference) = (edge.multiplicity, edge.is_reference);
                sequences.graph.add_edge(source, target, SequenceEdge { multiplicity, is_reference });
            }
        }
        sequences
    }

    /// Returns the bases of a vertex.
    pub(crate) fn bases(&self, vertex: VertexId) -> &[u8] {
        &self.text[self.graph[vertex].clone()]
    }

    /// Removes what is not connected with the reference, and merges what is equal (GATK 4.6.2.0
    /// `ReadThreadingAssembler.cleanupSeqGraph`).
    ///
    /// # Errors
    /// See [`AssemblyError::EndlessSimplification`] and [`AssemblyError::SeveralEnds`].
    pub(crate) fn clean_up(&mut self) -> Result<Cleaned, AssemblyError> {
        self.graph.remove_edges_beyond_reference();
        self.zip_chains();
        self.graph.remove_orphans();
        self.graph.remove_unconnected();
        self.simplify()?;
        if self.graph.reference_source().is_none() || self.graph.reference_sink().is_none() {
            return Ok(Cleaned::OnlyReference);
        }
        self.graph.remove_detached_paths()?;
        self.simplify()?;
        let first = self.graph.vertices().next();
        if let (Some(only), 1) = (first, self.graph.vertex_count()) {
            // A path needs an edge.
            let end = self.graph.add_vertex(0..0);
            self.graph.add_edge(only, end, SequenceEdge { multiplicity: 0, is_reference: true });
        }
        Ok(Cleaned::Connected)
    }

    /// Returns whether the edges of the reference spell `reference`.
    pub(crate) fn spells_reference(&self, reference: &[u8]) -> bool {
        let mut rest = reference;
        let mut vertex = self.graph.reference_source();
        let mut steps = 0;
        while let Some(current) = vertex {
            steps += 1;
            match rest.strip_prefix(self.bases(current)) {
                Some(left) if steps <= self.graph.vertex_count() => rest = left,
                _ => return false,
            }
            vertex = self.graph.next_reference_vertex(current);
        }
        rest.is_empty()
    }

    /// Adds a vertex with the bases of several.
    fn add_joined(&mut self, vertices: &[VertexId]) -> VertexId {
        let start = self.text.len();
        for &vertex in vertices {
            self.text.extend_from_within(self.graph[vertex].clone());
        }
        self.graph.add_vertex(start..self.text.len())
    }

    /// Makes one vertex of each chain along which paths neither part nor meet. Returns whether there
    /// was one.
    fn zip_chains(&mut self) -> bool {
        let graph = &self.graph;
        let is_start = |&vertex: &VertexId| {
            graph.out_degree(vertex) == 1
                && (graph.in_degree(vertex) != 1
                    || graph.predecessors(vertex).any(|previous| graph.out_degree(previous) > 1))
        };
        let starts: Vec<VertexId> = graph.vertices().filter(is_start).collect();
        let mut chain = Vec::new();
        let mut found = false;
        for start in starts {
            self.trace_chain(start, &mut chain);
            if chain.len() > 1 {
                self.zip_chain(&chain);
                found = true;
            }
        }
        found
    }

    fn trace_chain(&self, start: VertexId, chain: &mut Vec<VertexId>) {
        let graph = &self.graph;
        chain.clear();
        chain.push(start);
        let is_reference = graph.is_reference_vertex(start);
        let mut last = start;
        while graph.out_degree(last) == 1
            && let Some(next) = graph.successors(last).next()
            && graph.in_degree(next) == 1
            && next != last
            && graph.is_reference_vertex(next) == is_reference
        {
            chain.push(next);
            last = next;
        }
    }

    fn zip_chain(&mut self, chain: &[VertexId]) {
        let zipped = self.add_joined(chain);
        let outgoing: Vec<_> = self.graph.outgoing(chain[chain.len() - 1]).collect();
        for edge in outgoing {
            self.graph.add_edge(zipped, self.graph.target(edge), self.graph[edge]);
        }
        let incoming: Vec<_> = self.graph.incoming(chain[0]).collect();
        for edge in incoming {
            self.graph.add_edge(self.graph.source(edge), zipped, self.graph[edge]);
        }
        chain.iter().for_each(|&vertex| self.graph.remove_vertex(vertex));
    }

    /// Returns how many bases the sequences have in common at the end, up to a maximum.
    fn count_common_end(&self, vertices: &[VertexId], max: usize) -> usize {
        let from_end = |vertex: VertexId, index: usize| {
            let bases = self.bases(vertex);
            bases[bases.len() - 1 - index]
        };
        let is_common = |&index: &usize| {
            let base = from_end(vertices[0], index);
            vertices[1..].iter().all(|&other| from_end(other, index) == base)
        };
        (0..max).take_while(is_common).count()
    }
}
