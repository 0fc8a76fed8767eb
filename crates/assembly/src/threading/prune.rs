//! Removes chains of edges that too few reads support.

use std::collections::VecDeque;

use super::{MIN_PRUNING_MULTIPLICITY, ThreadingGraph};
use crate::digraph::{EdgeId, VertexId};

impl ThreadingGraph<'_> {
    /// Removes each chain whose edges all have too low a multiplicity and are not of the reference,
    /// and then vertices without edges (GATK 4.6.2.0 `LowWeightChainPruner`).
    ///
    /// A chain starts at a source or at the end of another chain, so cycles that no source leads to
    /// stay.
    pub(crate) fn prune_chains(&mut self) {
        let graph = &self.graph;
        let mut is_seen = vec![false; graph.vertex_bound()];
        let mut starts: VecDeque<VertexId> =
            graph.vertices().filter(|&vertex| graph.in_degree(vertex) == 0).collect();
        starts.iter().for_each(|start| is_seen[start.index()] = true);
        let (mut chain, mut removed) = (Vec::new(), Vec::new());
        while let Some(start) = starts.pop_front() {
            for edge in graph.outgoing(start) {
                let end = self.trace_chain(edge, &mut chain);
                let is_kept = |&edge: &EdgeId| {
                    graph[edge].pruning >= MIN_PRUNING_MULTIPLICITY || graph[edge].is_reference
                };
                if !chain.iter().any(is_kept) {
                    removed.extend_from_slice(&chain);
                }
                if !std::mem::replace(&mut is_seen[end.index()], true) {
                    starts.push_back(end);
                }
            }
        }
        removed.into_iter().for_each(|edge| self.graph.remove_edge(edge));
        self.remove_orphans();
    }

    /// Stores the edges from `first` to the next vertex where paths part or meet, which is returned.
    fn trace_chain(&self, first: EdgeId, chain: &mut Vec<EdgeId>) -> VertexId {
        let graph = &self.graph;
        chain.clear();
        chain.push(first);
        let start = graph.source(first);
        let mut end = graph.target(first);
        while graph.in_degree(end) <= 1 && end != start && graph.out_degree(end) == 1 {
            let Some(edge) = graph.outgoing(end).next() else {
                break;
            };
            chain.push(edge);
            end = graph.target(edge);
        }
        end
    }
}
