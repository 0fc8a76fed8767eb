//! Functions for both kinds of branches that do not return to the reference: dangling tails and heads.

use readmill_pairwise::{AlignmentScores, CigarElement, CigarOperator, Overhang, SmithWaterman};

use super::ThreadingGraph;
use crate::digraph::{EdgeId, VertexId};
use crate::error::AssemblyError;
use crate::reference_path::ReferenceEdge;

/// Edges below this multiplicity are pruned: HaplotypeCaller's `--min-pruning`.
pub(crate) const MIN_PRUNING_MULTIPLICITY: u32 = 2;

/// Minimum number of edges of a branch: HaplotypeCaller's `--min-dangling-branch-length`.
pub(super) const MIN_BRANCH_LENGTH: usize = 4;

/// Maximum number of elements of the CIGAR of a branch that is merged.
const MAX_CIGAR_ELEMENTS: usize = 3;

/// A branch, and the part of the reference to which it was aligned. Both start at the vertex that they
/// share.
pub(super) struct AlignedBranch {
    pub(super) branch: Vec<VertexId>,
    pub(super) reference: Vec<VertexId>,
    pub(super) branch_bases: Vec<u8>,
    pub(super) reference_bases: Vec<u8>,
    /// The alignment of the branch, without a deletion at its end.
    pub(super) elements: Vec<CigarElement>,
}

impl AlignedBranch {
    pub(super) fn is_simple(&self) -> bool {
        (1..=MAX_CIGAR_ELEMENTS).contains(&self.elements.len())
    }

    pub(super) fn starts_with_match(&self) -> bool {
        self.elements.first().is_some_and(|element| element.operator() == CigarOperator::Match)
    }

    pub(super) fn ends_with_match(&self) -> bool {
        self.elements.last().is_some_and(|element| element.operator() == CigarOperator::Match)
    }

    /// Returns how many reference bases the alignment has.
    pub(super) fn reference_length(&self) -> usize {
        self.elements.iter().map(|element| element.reference_length()).sum()
    }
}

/// Aligns a branch from its first base on. A deletion at the end is left out.
pub(super) fn align_branch(
    aligner: &mut SmithWaterman,
    reference: &[u8],
    branch: &[u8],
) -> Result<Vec<CigarElement>, AssemblyError> {
    let scores = AlignmentScores::DANGLING_END;
    let alignment = aligner.align(reference, branch, scores, Overhang::LeadingIndel)?;
    let mut elements = alignment.cigar.into_elements();
    if elements.last().is_some_and(|element| element.operator() == CigarOperator::Deletion) {
        elements.pop();
    }
    Ok(elements)
}

impl ThreadingGraph<'_> {
    /// Walks from `start` along the only edge that `next_edge` returns, until it returns `None`.
    /// Returns the vertices from the last one back to `start`; those up to an edge of too low a
    /// multiplicity are left out. Returns `None` if the walk returns to a vertex.
    pub(super) fn walk_branch(
        &self,
        start: VertexId,
        next_edge: impl Fn(VertexId) -> Option<EdgeId>,
        next_vertex: impl Fn(EdgeId) -> VertexId,
    ) -> Option<Vec<VertexId>> {
        let mut path = Vec::new();
        let mut seen: Vec<VertexId> = Vec::new();
        let mut vertex = start;
        let mut steps = 0;
        while let Some(edge) = next_edge(vertex) {
            if self.graph[edge].pruning < MIN_PRUNING_MULTIPLICITY {
                path.clear();
            } else {
                path.push(vertex);
                seen.push(vertex);
            }
            vertex = next_vertex(edge);
            steps += 1;
            if seen.contains(&vertex) || steps > self.graph.vertex_count() {
                return None;
            }
        }
        path.push(vertex);
        path.reverse();
        Some(path)
    }

    /// Follows `next` from `start` as far as it goes.
    ///
    /// # Errors
    /// The path runs in a circle.
    pub(super) fn follow(
        &self,
        start: VertexId,
        next: impl Fn(VertexId) -> Option<VertexId>,
    ) -> Result<Vec<VertexId>, AssemblyError> {
        let mut path = vec![start];
        let mut vertex = start;
        while let Some(following) = next(vertex) {
            if path.len() > self.graph.vertex_count() {
                return Err(AssemblyError::BranchOutOfRange);
            }
            path.push(following);
            vertex = following;
        }
        Ok(path)
    }

    /// Returns the edge of the highest multiplicity, the first of equal ones.
    pub(super) fn heaviest(&self, edges: impl Iterator<Item = EdgeId>) -> Option<EdgeId> {
        edges.reduce(|best, edge| {
            if self.graph[edge].multiplicity > self.graph[best].multiplicity { edge } else { best }
        })
    }

    /// Returns the next vertex of the reference, or the target of the only edge that is not `ignored`.
    pub(super) fn next_vertex_downwards(
        &self,
        vertex: VertexId,
        ignored: Option<EdgeId>,
    ) -> Option<VertexId> {
        if let Some(edge) = self.graph.outgoing(vertex).find(|&edge| self.graph[edge].is_reference()) {
            return Some(self.graph.target(edge));
        }
        let mut edges = self.graph.outgoing(vertex).filter(|&edge| Some(edge) != ignored);
        match (edges.next(), edges.next()) {
            (Some(edge), None) => Some(self.graph.target(edge)),
            _ => None,
        }
    }
}
