//! Joins branches that end before the reference does.

use readmill_pairwise::{CigarOperator, SmithWaterman};

use super::branch::{AlignedBranch, MIN_BRANCH_LENGTH, align_branch};
use super::{ThreadingEdge, ThreadingGraph};
use crate::digraph::VertexId;
use crate::error::AssemblyError;

impl ThreadingGraph<'_> {
    /// Aligns each branch that ends in no vertex of the reference, and joins it to the reference
    /// before the longest equal end (GATK 4.6.2.0 `recoverDanglingTails`).
    ///
    /// # Errors
    /// See [`AssemblyError::BranchOutOfRange`].
    pub(crate) fn join_tails(&mut self, aligner: &mut SmithWaterman) -> Result<(), AssemblyError> {
        let vertices: Vec<VertexId> = self.graph.vertices().collect();
        for vertex in vertices {
            if self.graph.out_degree(vertex) == 0
                && !self.graph.is_reference_sink(vertex)
                && let Some(tail) = self.align_tail(vertex, aligner)?
                && tail.is_simple()
                && tail.ends_with_match()
            {
                self.join_tail(&tail)?;
            }
        }
        Ok(())
    }

    fn align_tail(
        &self,
        sink: VertexId,
        aligner: &mut SmithWaterman,
    ) -> Result<Option<AlignedBranch>, AssemblyError> {
        let graph = &self.graph;
        let upwards = |vertex| {
            let is_inner = graph.in_degree(vertex) == 1 && graph.out_degree(vertex) < 2;
            if is_inner { graph.incoming(vertex).next() } else { None }
        };
        let Some(branch) = self.walk_branch(sink, upwards, |edge| graph.source(edge)) else {
            return Ok(None);
        };
        if graph.out_degree(branch[0]) < 2
            || graph.is_reference_source(branch[0])
            || branch.len() < MIN_BRANCH_LENGTH + 1
        {
            return Ok(None);
        }
        let ignored = self.heaviest(graph.incoming(branch[1]));
        let reference = self.follow(branch[0], |vertex| self.next_vertex_downwards(vertex, ignored))?;
        let spell = |path: &[VertexId]| path.iter().map(|&vertex| self.last_base(vertex)).collect();
        let (reference_bases, branch_bases): (Vec<u8>, Vec<u8>) = (spell(&reference), spell(&branch));
        let elements = align_branch(aligner, &reference_bases, &branch_bases)?;
        Ok(Some(AlignedBranch { branch, reference, branch_bases, reference_bases, elements }))
    }

    fn join_tail(&mut self, tail: &AlignedBranch) -> Result<(), AssemblyError> {
        let (first, last) = (tail.elements[0], tail.elements[tail.elements.len() - 1]);
        let reference_length = tail.reference_length();
        let read_length: usize = tail.elements.iter().map(|element| element.read_length()).sum();
        let matching = count_equal_end(&tail.reference_bases[..reference_length], &tail.branch_bases)
            .min(last.length());
        if matching == 0 {
            return Ok(());
        }
        let from = read_length.saturating_sub(matching + 1);
        let is_deletion_and_match =
            first.operator() == CigarOperator::Deletion && first.length() + matching == reference_length;
        let to = reference_length - matching + usize::from(is_deletion_and_match);
        if to == 0 {
            return Ok(());
        }
        let target = tail.reference.get(to).ok_or(AssemblyError::BranchOutOfRange)?;
        self.graph.add_edge(tail.branch[from], *target, ThreadingEdge::new(false));
        Ok(())
    }
}

/// Returns how many bases at the ends are equal.
fn count_equal_end(first: &[u8], second: &[u8]) -> usize {
    first.iter().rev().zip(second.iter().rev()).take_while(|(a, b)| a == b).count()
}
