//! Splits the common end off sequences that lead to the same vertex.

use super::{SequenceEdge, SequenceGraph};
use crate::digraph::VertexId;

impl SequenceGraph {
    /// Gives each sequence before `bottom` a vertex of its own for the end that all have in common
    /// (GATK 4.6.2.0 `CommonSuffixSplitter`). Returns whether there is such an end.
    pub(super) fn split_suffix(&mut self, bottom: VertexId) -> bool {
        let split: Vec<VertexId> = self.graph.predecessors(bottom).collect();
        if split.len() < 2 || !self.lead_only_to(&split, bottom) {
            return false;
        }
        let shortest = split.iter().map(|&vertex| self.bases(vertex).len()).min().unwrap_or(0);
        let length = self.count_common_end(&split, shortest);
        let is_all_of = |vertex: VertexId| self.bases(vertex).len() == length;
        let source = split.iter().copied().find(|&vertex| self.graph.is_reference_source(vertex));
        if length == 0 || source.is_some_and(is_all_of) || split.iter().all(|&vertex| is_all_of(vertex))
        {
            return false;
        }
        let model = self.graph[split[0]].end;
        for &vertex in &split {
            self.split_end(vertex, model - length..model);
        }
        split.iter().for_each(|&vertex| self.graph.remove_vertex(vertex));
        true
    }

    /// Returns whether each vertex leads to `bottom` only, and `bottom` does not lead back.
    fn lead_only_to(&self, vertices: &[VertexId], bottom: VertexId) -> bool {
        vertices.iter().all(|&vertex| {
            vertex != bottom
                && self.graph.out_degree(vertex) == 1
                && self.graph.find_edge(bottom, vertex).is_none()
        })
    }

    /// Adds what `vertex` has before its end, and the end `suffix` with the edges of `vertex`.
    fn split_end(&mut self, vertex: VertexId, suffix: std::ops::Range<usize>) {
        let part = self.graph[vertex].clone();
        let prefix = part.start..part.end - suffix.len();
        let Some(outgoing) = self.graph.outgoing(vertex).next() else {
            return;
        };
        let (edge, bottom) = (self.graph[outgoing], self.graph.target(outgoing));
        let end = self.graph.add_vertex(suffix);
        let mut first = end;
        if !prefix.is_empty() {
            first = self.graph.add_vertex(prefix);
            let is_reference = edge.is_reference;
            self.graph.add_edge(first, end, SequenceEdge { multiplicity: 1, is_reference });
        }
        self.graph.add_edge(end, bottom, edge);
        let incoming: Vec<_> = self.graph.incoming(vertex).collect();
        for edge in incoming {
            self.graph.add_edge(self.graph.source(edge), first, self.graph[edge]);
        }
    }
}
