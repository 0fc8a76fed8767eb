//! Assembles the sequences of a region with one k-mer size.

use readmill_jmath::JavaMath;
use readmill_pairwise::SmithWaterman;

use crate::best_paths::{BestPath, find_best_paths};
use crate::error::AssemblyError;
use crate::reads::AssemblySequences;
use crate::sequence_graph::{Cleaned, SequenceGraph};
use crate::threading::{ThreadingGraph, reference_has_repeated_kmer};

/// Sizes that are always tried.
const FIRST_SIZES: [usize; 2] = [10, 25];

/// Sizes that are tried in order, until one gives a result, if the first ones give none. The last one
/// allows repeats.
const FURTHER_SIZES: [usize; 6] = [35, 45, 55, 65, 75, 85];

/// The result of the graph of one k-mer size.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphOutcome {
    /// The reference is shorter than a k-mer.
    TooShort,
    /// The cleaned graph has no path of the reference.
    OnlyReference,
    /// The best paths, best first. The reference may be the only one.
    Paths(Vec<BestPath>),
}

/// The assembly with k-mers of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct KmerGraph {
    /// Number of bases in a k-mer.
    pub kmer_size: usize,
    /// Paths of the graph, or why it has none.
    pub outcome: GraphOutcome,
}

/// Assembles with k-mers of 10 and 25 bases, and with greater ones if neither gives a result (GATK
/// 4.6.2.0 `ReadThreadingAssembler.assemble`). A result without paths counts as one.
///
/// # Errors
/// GATK would throw.
pub(crate) fn assemble_graphs(
    sequences: &AssemblySequences,
    aligner: &mut SmithWaterman,
    math: JavaMath,
) -> Result<Vec<KmerGraph>, AssemblyError> {
    let mut graphs = Vec::new();
    for k in FIRST_SIZES {
        let outcome = assemble_with_size(sequences, k, false, aligner, math)?;
        graphs.extend(outcome.map(|outcome| KmerGraph { kmer_size: k, outcome }));
    }
    for k in FURTHER_SIZES {
        if !graphs.is_empty() {
            break;
        }
        let is_last = Some(&k) == FURTHER_SIZES.last();
        let outcome = assemble_with_size(sequences, k, is_last, aligner, math)?;
        graphs.extend(outcome.map(|outcome| KmerGraph { kmer_size: k, outcome }));
    }
    Ok(graphs)
}

/// Assembles with k-mers of `k` bases. Returns `None` if they are too short for the repeats of the
/// reference or of the graph, unless `allows_repeats`.
fn assemble_with_size(
    sequences: &AssemblySequences,
    k: usize,
    allows_repeats: bool,
    aligner: &mut SmithWaterman,
    math: JavaMath,
) -> Result<Option<GraphOutcome>, AssemblyError> {
    if sequences.reference_length < k {
        return Ok(Some(GraphOutcome::TooShort));
    }
    if !allows_repeats && reference_has_repeated_kmer(sequences, k) {
        return Ok(None);
    }
    let mut threading = ThreadingGraph::build(sequences, k)?;
    threading.prune_chains();
    if threading.graph.has_cycles() || !allows_repeats && threading.is_low_complexity() {
        return Ok(None);
    }
    threading.join_tails(aligner)?;
    threading.join_heads(aligner)?;
    threading.graph.remove_detached_paths()?;
    let mut graph = SequenceGraph::from_threading(&threading);
    if graph.clean_up()? == Cleaned::OnlyReference {
        return Ok(Some(GraphOutcome::OnlyReference));
    }
    if !graph.spells_reference(&sequences.text[..sequences.reference_length]) {
        return Err(AssemblyError::ReferenceMismatch);
    }
    Ok(Some(GraphOutcome::Paths(find_best_paths(&graph, math)?)))
}
