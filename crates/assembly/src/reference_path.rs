//! The path of the reference through a graph, and what is connected to it.

use crate::digraph::{Digraph, EdgeId, VertexId};
use crate::error::AssemblyError;

/// An edge that knows whether the reference goes along it.
pub(crate) trait ReferenceEdge {
    fn is_reference(&self) -> bool;
}

/// The functions of GATK 4.6.2.0 `BaseGraph` on the reference. A graph of one vertex without edges is
/// all reference.
impl<V, E: ReferenceEdge> Digraph<V, E> {
    pub(crate) fn is_reference_vertex(&self, vertex: VertexId) -> bool {
        self.has_reference(self.incoming(vertex))
            || self.has_reference(self.outgoing(vertex))
            || self.vertex_count() == 1
    }

    pub(crate) fn is_reference_source(&self, vertex: VertexId) -> bool {
        !self.has_reference(self.incoming(vertex))
            && (self.has_reference(self.outgoing(vertex)) || self.vertex_count() == 1)
    }

    pub(crate) fn is_reference_sink(&self, vertex: VertexId) -> bool {
        !self.has_reference(self.outgoing(vertex))
            && (self.has_reference(self.incoming(vertex)) || self.vertex_count() == 1)
    }

    /// Returns the first vertex at which the reference starts.
    pub(crate) fn reference_source(&self) -> Option<VertexId> {
        self.vertices().find(|&vertex| self.is_reference_source(vertex))
    }

    /// Returns the first vertex at which the reference ends.
    pub(crate) fn reference_sink(&self) -> Option<VertexId> {
        self.vertices().find(|&vertex| self.is_reference_sink(vertex))
    }

    /// Returns the next vertex of the reference after `vertex`.
    pub(crate) fn next_reference_vertex(&self, vertex: VertexId) -> Option<VertexId> {
        self.outgoing(vertex).find(|&edge| self[edge].is_reference()).map(|edge| self.target(edge))
    }

    /// Returns the first vertex of the reference that has an edge to `vertex`.
    pub(crate) fn previous_reference_vertex(&self, vertex: VertexId) -> Option<VertexId> {
        self.predecessors(vertex).find(|&previous| self.is_reference_vertex(previous))
    }

    /// Removes vertices without edges, except for one at which the reference starts.
    pub(crate) fn remove_orphans(&mut self) {
        let orphans: Vec<VertexId> = self
            .vertices()
            .filter(|&vertex| {
                self.in_degree(vertex) == 0
                    && self.out_degree(vertex) == 0
                    && !self.is_reference_source(vertex)
            })
            .collect();
        orphans.into_iter().for_each(|vertex| self.remove_vertex(vertex));
    }

    /// Removes edges that lead to the start of the reference, or away from its end.
    pub(crate) fn remove_edges_beyond_reference(&mut self) {
        let (Some(source), Some(sink)) = (self.reference_source(), self.reference_sink()) else {
            return;
        };
        let mut beyond: Vec<EdgeId> = self.incoming(source).collect();
        while let Some(edge) = beyond.pop() {
            if !self[edge].is_reference() {
                beyond.extend(self.incoming(self.source(edge)).filter(|&other| other != edge));
                self.remove_edge(edge);
            }
        }
        beyond.extend(self.outgoing(sink));
        while let Some(edge) = beyond.pop() {
            if !self[edge].is_reference() {
                beyond.extend(self.outgoing(self.target(edge)).filter(|&other| other != edge));
                self.remove_edge(edge);
            }
        }
        self.remove_orphans();
    }

    /// Removes vertices from which no edges, followed in any direction, lead to the reference.
    pub(crate) fn remove_unconnected(&mut self) {
        let mut is_connected = vec![false; self.vertex_bound()];
        let mut waiting: Vec<VertexId> = self.reference_source().into_iter().collect();
        while let Some(vertex) = waiting.pop() {
            if !std::mem::replace(&mut is_connected[vertex.index()], true) {
                waiting.extend(self.predecessors(vertex));
                waiting.extend(self.successors(vertex));
            }
        }
        self.retain(&is_connected);
    }

    /// Removes vertices that are on no path from the start of the reference to its end.
    ///
    /// # Errors
    /// The reference has no start or no end, or several starts or ends are left.
    pub(crate) fn remove_detached_paths(&mut self) -> Result<(), AssemblyError> {
        let (Some(source), Some(sink)) = (self.reference_source(), self.reference_sink()) else {
            return Err(AssemblyError::NoReferencePath);
        };
        let mut from_source = vec![false; self.vertex_bound()];
        let mut waiting = vec![source];
        while let Some(vertex) = waiting.pop() {
            if !std::mem::replace(&mut from_source[vertex.index()], true) {
                waiting.extend(self.successors(vertex));
            }
        }
        let mut is_on_path = vec![false; self.vertex_bound()];
        let mut to_sink = vec![false; self.vertex_bound()];
        waiting.push(sink);
        while let Some(vertex) = waiting.pop() {
            if !std::mem::replace(&mut to_sink[vertex.index()], true) {
                is_on_path[vertex.index()] = from_source[vertex.index()];
                waiting.extend(self.predecessors(vertex));
            }
        }
        self.retain(&is_on_path);
        let sinks = self.vertices().filter(|&vertex| self.out_degree(vertex) == 0).count();
        let sources = self.vertices().filter(|&vertex| self.in_degree(vertex) == 0).count();
        if sinks > 1 || sources > 1 {
            return Err(AssemblyError::SeveralEnds);
        }
        Ok(())
    }

    fn has_reference(&self, mut edges: impl Iterator<Item = EdgeId>) -> bool {
        edges.any(|edge| self[edge].is_reference())
    }

    fn retain(&mut self, is_kept: &[bool]) {
        let removed: Vec<VertexId> = self.vertices().filter(|vertex| !is_kept[vertex.index()]).collect();
        removed.into_iter().for_each(|vertex| self.remove_vertex(vertex));
    }
}
