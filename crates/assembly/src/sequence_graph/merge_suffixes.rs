//! Merges equal sequences that lead to the same vertex.

use super::SequenceGraph;
use crate::digraph::VertexId;

impl SequenceGraph {
    /// Merges `bottom` and the sequences before it if those are equal (GATK 4.6.2.0
    /// `SharedSequenceMerger`). Of edges from one vertex to several of them, only the first is kept,
    /// with its multiplicity. Returns whether they were merged.
    pub(super) fn merge_suffixes(&mut self, bottom: VertexId) -> bool {
        let previous: Vec<VertexId> = self.graph.predecessors(bottom).collect();
        let Some(&first) = previous.first() else {
            return false;
        };
        let can_merge = |&vertex: &VertexId| {
            self.bases(vertex) == self.bases(first)
                && self.graph.out_degree(vertex) == 1
                && self.graph.in_degree(vertex) > 0
        };
        if !previous.iter().all(can_merge) {
            return false;
        }
        let merged = self.add_joined(&[first, bottom]);
        for &vertex in &previous {
            let incoming: Vec<_> = self.graph.incoming(vertex).collect();
            for edge in incoming {
                self.graph.add_edge(self.graph.source(edge), merged, self.graph[edge]);
            }
        }
        let outgoing: Vec<_> = self.graph.outgoing(bottom).collect();
        for edge in outgoing {
            self.graph.add_edge(merged, self.graph.target(edge), self.graph[edge]);
        }
        previous.iter().for_each(|&vertex| self.graph.remove_vertex(vertex));
        self.graph.remove_vertex(bottom);
        true
    }
}
