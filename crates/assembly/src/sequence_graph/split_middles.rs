//! Merges what sequences between the same neighbours have in common.

use super::{SequenceEdge, SequenceGraph};
use crate::digraph::VertexId;

/// Minimum number of equal bases at the end of sequences after which no path goes on.
const MIN_TAIL_SUFFIX: usize = 10;

/// An edge from the common start of sequences.
enum FromStart {
    /// The edge leads to the rest of a sequence, and another edge from there to the common end.
    Middle { vertex: VertexId, incoming: SequenceEdge, outgoing: SequenceEdge },
    /// The edge leads to the common end.
    End(SequenceEdge),
}

impl SequenceGraph {
    /// Merges common starts and ends of the sequences between `top` and one vertex to which they all
    /// lead (GATK 4.6.2.0 `MergeDiamonds`). Returns whether there were any.
    pub(super) fn merge_diamond(&mut self, top: VertexId) -> bool {
        let graph = &self.graph;
        if graph.out_degree(top) < 2 {
            return false;
        }
        let mut bottom = None;
        for middle in graph.successors(top) {
            if graph.out_degree(middle) != 1 || graph.in_degree(middle) != 1 {
                return false;
            }
            let next = graph.successors(middle).next();
            if bottom.is_some() && bottom != next {
                return false;
            }
            bottom = next;
        }
        if bottom.is_none_or(|bottom| graph.in_degree(bottom) != graph.out_degree(top)) {
            return false;
        }
        let middles: Vec<VertexId> = graph.successors(top).collect();
        let (start, end) = self.count_common_bases(&middles);
        if start == 0 && end == 0 {
            return false;
        }
        self.split_middles(top, bottom, &middles, start, end);
        true
    }

    /// Merges common starts and ends of the sequences after `top` if no path goes on after them (GATK
    /// 4.6.2.0 `MergeTails`). Returns whether the ends have enough in common.
    pub(super) fn merge_tails(&mut self, top: VertexId) -> bool {
        let graph = &self.graph;
        let is_inner = |tail| graph.out_degree(tail) != 0 || graph.in_degree(tail) > 1;
        if graph.out_degree(top) < 2 || graph.successors(top).any(is_inner) {
            return false;
        }
        let tails: Vec<VertexId> = graph.successors(top).collect();
        let (start, end) = self.count_common_bases(&tails);
        if end < MIN_TAIL_SUFFIX {
            return false;
        }
        self.split_middles(top, None, &tails, start, end);
        true
    }

    /// Returns how many bases the sequences have in common at the start, and at the end of the rest.
    fn count_common_bases(&self, vertices: &[VertexId]) -> (usize, usize) {
        let first = self.bases(vertices[0]);
        let shortest = vertices.iter().map(|&vertex| self.bases(vertex).len()).min().unwrap_or(0);
        let is_common =
            |&index: &usize| vertices.iter().all(|&other| self.bases(other)[index] == first[index]);
        let start = (0..shortest).take_while(is_common).count();
        (start, self.count_common_end(vertices, shortest - start))
    }

    /// Replaces `middles` by three parts: the first `start` bases, which all share, the rest of each, and
    /// the last `end` bases, which all share (GATK 4.6.2.0 `SharedVertexSequenceSplitter`).
    fn split_middles(
        &mut self,
        top: VertexId,
        bottom: Option<VertexId>,
        middles: &[VertexId],
        start: usize,
        end: usize,
    ) {
        let model = self.graph[middles[0]].clone();
        let edges = self.split_each(middles, start, end);
        middles.iter().for_each(|&vertex| self.graph.remove_vertex(vertex));
        let incoming = |edge: &FromStart| match edge {
            FromStart::Middle { incoming, .. } => incoming.is_reference,
            FromStart::End(edge) => edge.is_reference,
        };
        let outgoing = |edge: &FromStart| match edge {
            FromStart::Middle { outgoing, .. } => outgoing.is_reference,
            FromStart::End(edge) => edge.is_reference,
        };
        let mut from = top;
        if start > 0 {
            from = self.graph.add_vertex(model.start..model.start + start);
            let is_reference = edges.iter().any(incoming);
            self.graph.add_edge(top, from, SequenceEdge { multiplicity: 1, is_reference });
        }
        let mut to = bottom;
        if end > 0 {
            let added = self.graph.add_vertex(model.end - end..model.end);
            if let Some(bottom) = bottom {
                let is_reference = edges.iter().any(outgoing);
                self.graph.add_edge(added, bottom, SequenceEdge { multiplicity: 1, is_reference });
            }
            to = Some(added);
        }
        if let Some(to) = to {
            self.connect_middles(from, to, &edges);
        }
    }

    fn connect_middles(&mut self, from: VertexId, to: VertexId, edges: &[FromStart]) {
        for edge in edges {
            match *edge {
                FromStart::Middle { vertex, incoming, .. } => {
                    self.graph.add_edge(from, vertex, incoming);
                }
                FromStart::End(edge) => {
                    self.graph.add_edge(from, to, edge);
                }
            }
        }
        for edge in edges {
            if let FromStart::Middle { vertex, outgoing, .. } = *edge {
                self.graph.add_edge(vertex, to, outgoing);
            }
        }
    }

    /// Adds a vertex for the rest of each sequence, and returns the edges from the common start. Sequences
    /// without a rest share an edge.
    fn split_each(&mut self, middles: &[VertexId], start: usize, end: usize) -> Vec<FromStart> {
        let mut edges: Vec<FromStart> = Vec::with_capacity(middles.len());
        for &middle in middles {
            let is_reference = self.graph.is_reference_vertex(middle);
            let missing = SequenceEdge { multiplicity: 0, is_reference };
            let incoming = self.graph.incoming(middle).next();
            let incoming = incoming.map_or(missing, |edge| self.graph[edge]);
            let outgoing = self.graph.outgoing(middle).next();
            let outgoing = outgoing.map_or(missing, |edge| self.graph[edge]);
            let part = self.graph[middle].clone();
            if part.len() > start + end {
                let vertex = self.graph.add_vertex(part.start + start..part.end - end);
                edges.push(FromStart::Middle { vertex, incoming, outgoing });
                continue;
            }
            let multiplicity = incoming.multiplicity + outgoing.multiplicity;
            let is_reference = incoming.is_reference || outgoing.is_reference;
            let shared = edges.iter_mut().find_map(|edge| match edge {
                FromStart::End(edge) => Some(edge),
                FromStart::Middle { .. } => None,
            });
            match shared {
                Some(edge) => {
                    edge.multiplicity += multiplicity;
                    edge.is_reference |= is_reference;
                }
                None => edges.push(FromStart::End(SequenceEdge { multiplicity, is_reference })),
            }
        }
        edges
    }
}
