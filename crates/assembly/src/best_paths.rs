//! The most likely paths of a graph from the start of the reference to its end.

use std::cell::RefCell;
use std::cmp::Ordering;

use readmill_jmath::{JavaMath, JavaPriorityQueue};

use crate::digraph::{EdgeId, VertexId};
use crate::error::AssemblyError;
use crate::sequence_graph::SequenceGraph;

/// Maximum number of paths of a graph: HaplotypeCaller's `--max-num-haplotypes-in-population`.
const MAX_PATHS: usize = 128;

/// A path from the start of the reference to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct BestPath {
    /// The bases of the path's vertices.
    pub bases: Vec<u8>,
    /// Decimal logarithm of the path's probability. It is NaN if the graph has one vertex.
    pub score: f64,
}

/// A step of a path: a vertex, and the step before it.
#[derive(Clone, Copy)]
struct Step {
    previous: u32,
    /// Number of steps before this one.
    depth: u32,
    vertex: VertexId,
    score: f64,
}

/// Finds the best paths, best first (GATK 4.6.2.0 `GraphBasedKBestHaplotypeFinder`).
///
/// At a vertex, an edge has the probability of its share of the multiplicities. Of paths of equal
/// scores, the one with the greater bases is better.
///
/// # Errors
/// The reference has no start or no end, or see [`AssemblyError::NoAcyclicPath`].
pub(crate) fn find_best_paths(
    sequences: &SequenceGraph,
    math: JavaMath,
) -> Result<Vec<BestPath>, AssemblyError> {
    let graph = &sequences.graph;
    let (Some(source), Some(sink)) = (graph.reference_source(), graph.reference_sink()) else {
        return Err(AssemblyError::NoReferencePath);
    };
    if graph.has_cycles() {
        let acyclic = remove_cycles(sequences, source, sink)?;
        return Ok(search(&acyclic, source, sink, math));
    }
    Ok(search(sequences, source, sink, math))
}

fn search(sequences: &SequenceGraph, source: VertexId, sink: VertexId, math: JavaMath) -> Vec<BestPath> {
    let graph = &sequences.graph;
    let steps = RefCell::new(vec![Step { previous: 0, depth: 0, vertex: source, score: 0.0 }]);
    let mut queue =
        JavaPriorityQueue::new(|&a: &u32, &b: &u32| compare_paths(sequences, &steps.borrow(), a, b));
    queue.add(0u32);
    let mut expansions = vec![0usize; graph.vertex_bound()];
    let mut paths = Vec::new();
    while paths.len() < MAX_PATHS
        && let Some(last) = queue.poll()
    {
        let step = steps.borrow()[last as usize];
        if step.vertex == sink {
            let bases = vertices_of(&steps.borrow(), last)
                .into_iter()
                .flat_map(|vertex| sequences.bases(vertex))
                .copied()
                .collect();
            paths.push(BestPath { bases, score: step.score });
            continue;
        }
        expansions[step.vertex.index()] += 1;
        if expansions[step.vertex.index()] > MAX_PATHS {
            continue;
        }
        let total: u32 = graph.outgoing(step.vertex).map(|edge| graph[edge].multiplicity).sum();
        let log_total = math.log10(f64::from(total));
        for edge in graph.outgoing(step.vertex) {
            let penalty = math.log10(f64::from(graph[edge].multiplicity)) - log_total;
            let score = step.score + penalty;
            let score = if score.is_nan() { f64::NAN } else { score };
            let vertex = graph.target(edge);
            let number = steps.borrow().len() as u32;
            steps.borrow_mut().push(Step { previous: last, depth: step.depth + 1, vertex, score });
            queue.add(number);
        }
    }
    paths
}

/// Orders paths by descending score, NaN first, and then by descending bases.
fn compare_paths(sequences: &SequenceGraph, steps: &[Step], a: u32, b: u32) -> Ordering {
    let (first, second) = (steps[a as usize].score, steps[b as usize].score);
    second.total_cmp(&first).then_with(|| {
        let bases =
            |path| vertices_of(steps, path).into_iter().flat_map(|vertex| sequences.bases(vertex));
        bases(b).cmp(bases(a))
    })
}

/// Returns the vertices of the path to a step.
fn vertices_of(steps: &[Step], last: u32) -> Vec<VertexId> {
    let mut step = steps[last as usize];
    let mut vertices = vec![step.vertex; step.depth as usize + 1];
    while step.depth > 0 {
        step = steps[step.previous as usize];
        vertices[step.depth as usize] = step.vertex;
    }
    vertices
}

/// Returns the graph without edges that lead to a vertex which a walk from `source` has seen, and
/// without vertices from which the walk does not reach `sink` (GATK 4.6.2.0 `KBestHaplotypeFinder`).
/// The walk goes deep first, so it also removes edges that close no cycle.
fn remove_cycles(
    sequences: &SequenceGraph,
    source: VertexId,
    sink: VertexId,
) -> Result<SequenceGraph, AssemblyError> {
    let graph = &sequences.graph;
    let mut is_seen = vec![false; graph.vertex_bound()];
    let mut removed_edges: Vec<EdgeId> = Vec::new();
    let mut removed_vertices = Vec::new();
    // A search in depth: open vertices, their edges that are left to follow, and whether they reach the
    // sink.
    let mut search_stack: Vec<(VertexId, Vec<EdgeId>, bool)> = Vec::new();
    let enter = |vertex: VertexId| {
        let mut edges: Vec<EdgeId> = graph.outgoing(vertex).collect();
        edges.reverse();
        (vertex, edges, false)
    };
    let mut reaches_sink = source == sink;
    if !reaches_sink {
        is_seen[source.index()] = true;
        search_stack.push(enter(source));
    }
    while let Some((vertex, edges, reaches)) = search_stack.last_mut() {
        match edges.pop() {
            Some(edge) => {
                let next = graph.target(edge);
                if is_seen[next.index()] {
                    removed_edges.push(edge);
                } else if next == sink {
                    *reaches = true;
                } else {
                    is_seen[next.index()] = true;
                    search_stack.push(enter(next));
                }
            }
            None => {
                let (vertex, reaches) = (*vertex, *reaches);
                if !reaches {
                    removed_vertices.push(vertex);
                }
                search_stack.pop();
                match search_stack.last_mut() {
                    Some((_, _, parent_reaches)) => *parent_reaches |= reaches,
                    None => reaches_sink = reaches,
                }
            }
        }
    }
    if !reaches_sink || removed_edges.is_empty() && removed_vertices.is_empty() {
        return Err(AssemblyError::NoAcyclicPath);
    }
    let mut acyclic = sequences.clone();
    removed_edges.into_iter().for_each(|edge| acyclic.graph.remove_edge(edge));
    removed_vertices.into_iter().for_each(|vertex| acyclic.graph.remove_vertex(vertex));
    Ok(acyclic)
}
