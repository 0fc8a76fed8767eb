//! Merges equal sequences until nothing changes.

use super::SequenceGraph;
use crate::digraph::{EdgeId, VertexId};
use crate::error::AssemblyError;

/// Rounds after which GATK gives up.
const MAX_ROUNDS: usize = 100;

/// Rounds after which a graph is compared with that of the round before.
const ROUNDS_WITHOUT_COMPARISON: usize = 5;

impl SequenceGraph {
    /// Merges equal sequences where paths part or meet (GATK 4.6.2.0 `SeqGraph.simplifyGraph`).
    ///
    /// # Errors
    /// See [`AssemblyError::EndlessSimplification`].
    pub(super) fn simplify(&mut self) -> Result<(), AssemblyError> {
        self.zip_chains();
        let mut previous: Option<SequenceGraph> = None;
        for round in 0..=MAX_ROUNDS {
            if !self.simplify_once() {
                return Ok(());
            }
            if round > ROUNDS_WITHOUT_COMPARISON {
                if previous.is_some_and(|previous| previous.equals(self)) {
                    return Ok(());
                }
                previous = Some(self.clone());
            }
        }
        Err(AssemblyError::EndlessSimplification)
    }

    fn simplify_once(&mut self) -> bool {
        let mut tried = Vec::new();
        let merged_diamonds = self.change_until_complete(Self::merge_diamond);
        let merged_tails = self.change_until_complete(Self::merge_tails);
        let split_suffixes = self.change_until_complete(|sequences, vertex| {
            tried.resize(sequences.graph.vertex_bound(), false);
            !std::mem::replace(&mut tried[vertex.index()], true) && sequences.split_suffix(vertex)
        });
        let merged_suffixes = self.change_until_complete(Self::merge_suffixes);
        let zipped = self.zip_chains();
        merged_diamonds || merged_tails || split_suffixes || merged_suffixes || zipped
    }

    /// Tries `change` on each vertex, anew from the first one after each change. Returns whether
    /// anything changed.
    fn change_until_complete(
        &mut self,
        mut change: impl FnMut(&mut SequenceGraph, VertexId) -> bool,
    ) -> bool {
        let mut has_changed = false;
        let mut vertex = self.graph.vertices().next();
        while let Some(current) = vertex {
            if change(self, current) {
                has_changed = true;
                vertex = self.graph.vertices().next();
            } else {
                vertex = self.graph.next_vertex(current);
            }
        }
        has_changed
    }

    /// Returns whether both graphs have as many vertices and edges, each with the bases of one in the
    /// other graph.
    fn equals(&self, other: &SequenceGraph) -> bool {
        self.graph.vertex_count() == other.graph.vertex_count()
            && self.graph.edge_count() == other.graph.edge_count()
            && self.graph.vertices().all(|vertex| {
                other.graph.vertices().any(|another| self.bases(vertex) == other.bases(another))
            })
            && self.has_edges_of(other)
            && other.has_edges_of(self)
    }

    fn has_edges_of(&self, other: &SequenceGraph) -> bool {
        other.graph.edges().all(|edge| {
            self.graph.edges().any(|own| self.bases_of_ends(own) == other.bases_of_ends(edge))
        })
    }

    fn bases_of_ends(&self, edge: EdgeId) -> (&[u8], &[u8]) {
        (self.bases(self.graph.source(edge)), self.bases(self.graph.target(edge)))
    }
}
