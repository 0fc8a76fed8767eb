//! Joins branches that start after the reference does.

use readmill_pairwise::SmithWaterman;

use super::branch::{AlignedBranch, MIN_BRANCH_LENGTH, align_branch};
use super::{ThreadingEdge, ThreadingGraph};
use crate::digraph::VertexId;
use crate::error::AssemblyError;

impl ThreadingGraph<'_> {
    /// Aligns each branch that starts in no vertex of the reference, and joins it to the reference at
    /// its last mismatch (GATK 4.6.2.0 `recoverDanglingHeads`).
    ///
    /// # Errors
    /// See [`AssemblyError::HeadHasSource`] and [`AssemblyError::BranchOutOfRange`].
    pub(crate) fn join_heads(&mut self, aligner: &mut SmithWaterman) -> Result<(), AssemblyError> {
        let is_head = |&vertex: &VertexId| {
            self.graph.in_degree(vertex) == 0 && !self.graph.is_reference_source(vertex)
        };
        let heads: Vec<VertexId> = self.graph.vertices().filter(is_head).collect();
        for vertex in heads {
            if self.graph.in_degree(vertex) != 0 {
                return Err(AssemblyError::HeadHasSource);
            }
            if let Some(mut head) = self.align_head(vertex, aligner)?
                && head.is_simple()
                && head.starts_with_match()
            {
                self.join_head(&mut head)?;
            }
        }
        Ok(())
    }

    fn align_head(
        &self,
        source: VertexId,
        aligner: &mut SmithWaterman,
    ) -> Result<Option<AlignedBranch>, AssemblyError> {
        let graph = &self.graph;
        let downwards = |vertex| {
            let is_inner = !graph.is_reference_vertex(vertex) && graph.out_degree(vertex) == 1;
            if is_inner { graph.outgoing(vertex).next() } else { None }
        };
        let Some(branch) = self.walk_branch(source, downwards, |edge| graph.target(edge)) else {
            return Ok(None);
        };
        if !graph.is_reference_vertex(branch[0])
            || graph.is_reference_sink(branch[0])
            || branch.len() < MIN_BRANCH_LENGTH + 1
        {
            return Ok(None);
        }
        let reference = self.follow(branch[0], |vertex| graph.previous_reference_vertex(vertex))?;
        let (reference_bases, branch_bases) =
            (self.spell_upwards(&reference), self.spell_upwards(&branch));
        let elements = align_branch(aligner, &reference_bases, &branch_bases)?;
        Ok(Some(AlignedBranch { branch, reference, branch_bases, reference_bases, elements }))
    }

    /// Returns the last base of each vertex; of a source, all bases from the last to the first.
    fn spell_upwards(&self, path: &[VertexId]) -> Vec<u8> {
        let mut bases = Vec::with_capacity(path.len() + self.k);
        for &vertex in path {
            if self.graph.in_degree(vertex) == 0 {
                bases.extend(self.kmer(vertex).iter().rev());
            } else {
                bases.push(self.last_base(vertex));
            }
        }
        bases
    }

    fn join_head(&mut self, head: &mut AlignedBranch) -> Result<(), AssemblyError> {
        let length = head.elements[0].length();
        let max_mismatches = (length / self.k).max(1);
        let mut mismatches =
            (0..length).filter(|&index| head.reference_bases[index] != head.branch_bases[index]);
        let index = match (mismatches.clone().count(), mismatches.next_back()) {
            (count, Some(last)) if count <= max_mismatches && last > 0 => last,
            _ => return Ok(()),
        };
        drop(mismatches);
        if index + 1 >= head.reference.len()
            || index >= head.branch.len() && !self.extend_branch(head, index + 2)?
        {
            return Ok(());
        }
        let (from, to) = (head.reference[index + 1], head.branch[index]);
        self.graph.add_edge(from, to, ThreadingEdge::new(false));
        Ok(())
    }

    /// Lengthens a branch at its start, by bases of the reference before it, to `length - 1` vertices.
    /// Returns whether the reference goes back so far.
    fn extend_branch(&mut self, head: &mut AlignedBranch, length: usize) -> Result<bool, AssemblyError> {
        let added = length - head.branch.len();
        let inserted: isize = head
            .elements
            .iter()
            .map(|element| element.reference_length() as isize - element.read_length() as isize)
            .sum();
        let last = head.branch.len() - 1;
        let in_reference = (last + added) as isize + inserted;
        if in_reference >= head.reference.len() as isize {
            return Ok(false);
        }
        let source = *head
            .reference
            .get(usize::try_from(in_reference).map_err(|_| AssemblyError::BranchOutOfRange)?)
            .ok_or(AssemblyError::BranchOutOfRange)?;
        let start = head.branch.pop().ok_or(AssemblyError::BranchOutOfRange)?;
        let bases = self.kmer(source).get(..added).ok_or(AssemblyError::BranchOutOfRange)?.to_vec();
        let position = self.text.len() + self.added_text.len();
        let kmer = self.kmer(start).to_vec();
        self.added_text.extend_from_slice(&bases);
        self.added_text.extend_from_slice(&kmer);

        let edge = self.heaviest(self.graph.outgoing(start)).ok_or(AssemblyError::BranchOutOfRange)?;
        let multiplicity = self.graph[edge].multiplicity;
        let mut next = self.graph.target(edge);
        self.graph.remove_edge(edge);
        for offset in (1..=added).rev() {
            let vertex = self.graph.add_vertex((position + offset) as u32);
            let edge = ThreadingEdge { multiplicity, ..ThreadingEdge::new(false) };
            self.graph.add_edge(vertex, next, edge);
            head.branch.push(vertex);
            next = vertex;
        }
        Ok(true)
    }
}
