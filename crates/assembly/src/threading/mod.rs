//! A de Bruijn graph through which the reference and the reads of a region are threaded.

mod branch;
mod head;
mod prune;
mod tail;

use std::ops::Range;

use crate::digraph::{Digraph, VertexId};
use crate::error::AssemblyError;
use crate::kmers::KmerNumbers;
use crate::reads::{AssemblySequences, Run};
use crate::reference_path::ReferenceEdge;

pub(crate) use branch::MIN_PRUNING_MULTIPLICITY;

/// How often sequences went along an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadingEdge {
    pub(crate) multiplicity: u32,
    pub(crate) is_reference: bool,
    /// Multiplicity in the sample that is being threaded.
    in_sample: u32,
    /// Maximum multiplicity in one sample, by which the edge is pruned.
    pruning: u32,
}

impl ThreadingEdge {
    fn new(is_reference: bool) -> Self {
        ThreadingEdge { multiplicity: 1, is_reference, in_sample: 1, pruning: 1 }
    }

    fn add_one(&mut self) {
        self.multiplicity += 1;
        self.in_sample += 1;
    }
}

impl ReferenceEdge for ThreadingEdge {
    fn is_reference(&self) -> bool {
        self.is_reference
    }
}

/// GATK 4.6.2.0 `ReadThreadingGraph`: a vertex is a k-mer, and an edge leads to a k-mer that follows
/// it in a sequence.
///
/// A k-mer that some sequence has twice is not unique: it can have several vertices. Each other k-mer
/// has one, except that the first k-mer of the reference gets another where a sequence returns to it.
pub(crate) struct ThreadingGraph<'a> {
    k: usize,
    text: &'a [u8],
    /// Bases of k-mers that are in no sequence. They follow `text`.
    added_text: Vec<u8>,
    /// The value of a vertex is where its k-mer starts in the text.
    pub(crate) graph: Digraph<u32, ThreadingEdge>,
    kmers: KmerNumbers,
    is_repeated: Vec<bool>,
    repeated_count: usize,
    vertex_of_kmer: Vec<Option<VertexId>>,
    tracked_count: usize,
}

impl<'a> ThreadingGraph<'a> {
    /// Threads the reference, and then the reads of each sample.
    ///
    /// # Errors
    /// See [`AssemblyError::RepeatedReferenceKmer`].
    pub(crate) fn build(sequences: &'a AssemblySequences, k: usize) -> Result<Self, AssemblyError> {
        let samples = sequences.runs_by_sample(k);
        let reads = samples.iter().flat_map(|runs| read_spans(runs));
        let spans: Vec<Range<usize>> =
            std::iter::once(0..sequences.reference_length).chain(reads).collect();
        let kmers = KmerNumbers::new(&sequences.text, &spans, k);
        let is_repeated = find_repeated_kmers(&kmers, &spans, k);
        let mut threading = ThreadingGraph {
            k,
            text: &sequences.text,
            added_text: Vec::new(),
            graph: Digraph::new(),
            repeated_count: is_repeated.iter().filter(|&&is_repeated| is_repeated).count(),
            is_repeated,
            vertex_of_kmer: vec![None; kmers.count()],
            kmers,
            tracked_count: 0,
        };
        threading.thread_reference(sequences.reference_length)?;
        threading.finish_sample();
        for runs in &samples {
            runs.iter().for_each(|&run| threading.thread_run(run));
            threading.finish_sample();
        }
        Ok(threading)
    }

    /// Returns whether over a quarter of the k-mers occur twice in a sequence.
    pub(crate) fn is_low_complexity(&self) -> bool {
        self.repeated_count * 4 > self.tracked_count
    }

    /// Returns the bases of a vertex.
    pub(crate) fn kmer(&self, vertex: VertexId) -> &[u8] {
        let start = self.graph[vertex] as usize;
        match start.checked_sub(self.text.len()) {
            None => &self.text[start..start + self.k],
            Some(start) => &self.added_text[start..start + self.k],
        }
    }

    /// Returns the last base of a vertex, which it adds to a path.
    pub(crate) fn last_base(&self, vertex: VertexId) -> u8 {
        self.kmer(vertex)[self.k - 1]
    }

    fn thread_reference(&mut self, length: usize) -> Result<(), AssemblyError> {
        let mut vertex = self.find_or_create(0);
        for start in 1..=length - self.k {
            if let Some(next) = self.follow_edge(vertex, start) {
                vertex = next;
                continue;
            }
            if self.find_to_merge(start).is_some() {
                return Err(AssemblyError::RepeatedReferenceKmer);
            }
            vertex = self.extend(vertex, start, true);
        }
        Ok(())
    }

    /// Threads a part of a read from its first k-mer that is unique. The last k-mer is not tried as a
    /// start, as in GATK.
    fn thread_run(&mut self, run: Run) {
        let last = run.end - self.k;
        let is_start = |&start: &usize| !self.is_repeated[self.kmers.number_at(start)];
        let Some(first) = (run.start..last).find(is_start) else {
            return;
        };
        let mut vertex = self.find_or_create(first);
        self.count_backwards(vertex, first);
        for start in first + 1..=last {
            vertex = match self.follow_edge(vertex, start) {
                Some(next) => next,
                None => self.extend(vertex, start, false),
            };
        }
    }

    /// Counts edges that lead to the start of a sequence, as far as its first k-mer goes back and no
    /// other edge joins.
    fn count_backwards(&mut self, mut vertex: VertexId, start: usize) {
        for offset in (0..self.k - 1).rev() {
            let mut incoming = self.graph.incoming(vertex);
            let (Some(edge), None) = (incoming.next(), incoming.next()) else {
                return;
            };
            let previous = self.graph.source(edge);
            drop(incoming);
            if self.last_base(previous) != self.text[start + offset] {
                return;
            }
            self.graph[edge].add_one();
            vertex = previous;
        }
    }

    /// Goes along the edge to the k-mer at `start`, if there is one.
    fn follow_edge(&mut self, vertex: VertexId, start: usize) -> Option<VertexId> {
        let base = self.text[start + self.k - 1];
        let edge =
            self.graph.outgoing(vertex).find(|&edge| self.last_base(self.graph.target(edge)) == base)?;
        self.graph[edge].add_one();
        Some(self.graph.target(edge))
    }

    /// Adds an edge to the k-mer at `start`, whose vertex is made if there is none to merge with.
    fn extend(&mut self, vertex: VertexId, start: usize, is_reference: bool) -> VertexId {
        let next = self.find_to_merge(start).unwrap_or_else(|| self.create(start));
        self.graph.add_edge(vertex, next, ThreadingEdge::new(is_reference));
        next
    }

    fn find_to_merge(&self, start: usize) -> Option<VertexId> {
        let number = self.kmers.number_at(start);
        if number == self.kmers.number_at(0) { None } else { self.vertex_of_kmer[number] }
    }

    fn find_or_create(&mut self, start: usize) -> VertexId {
        self.vertex_of_kmer[self.kmers.number_at(start)].unwrap_or_else(|| self.create(start))
    }

    fn create(&mut self, start: usize) -> VertexId {
        let vertex = self.graph.add_vertex(start as u32);
        let number = self.kmers.number_at(start);
        if !self.is_repeated[number] && self.vertex_of_kmer[number].is_none() {
            self.vertex_of_kmer[number] = Some(vertex);
            self.tracked_count += 1;
        }
        vertex
    }

    fn finish_sample(&mut self) {
        let edges: Vec<_> = self.graph.edges().collect();
        for edge in edges {
            let edge = &mut self.graph[edge];
            edge.pruning = edge.pruning.max(std::mem::take(&mut edge.in_sample));
        }
    }

    /// Removes vertices without edges, the reference's own included, and their k-mers.
    fn remove_orphans(&mut self) {
        let orphans: Vec<VertexId> = self
            .graph
            .vertices()
            .filter(|&vertex| self.graph.in_degree(vertex) == 0 && self.graph.out_degree(vertex) == 0)
            .collect();
        for vertex in orphans {
            self.graph.remove_vertex(vertex);
            let number = self.kmers.number_at(self.graph[vertex] as usize);
            if self.vertex_of_kmer[number].take().is_some() {
                self.tracked_count -= 1;
            }
        }
    }
}

/// Returns the part of each read that k-mers are taken from: all bases before the end of its last run,
/// the bad ones included, as in GATK.
fn read_spans(runs: &[Run]) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for run in runs {
        match spans.last_mut() {
            Some(span) if span.start == run.read_start => span.end = run.end,
            _ => spans.push(run.read_start..run.end),
        }
    }
    spans
}

/// Returns, for each k-mer, whether a span has it twice.
fn find_repeated_kmers(kmers: &KmerNumbers, spans: &[Range<usize>], k: usize) -> Vec<bool> {
    let mut is_repeated = vec![false; kmers.count()];
    let mut last_span = vec![usize::MAX; kmers.count()];
    for (index, span) in spans.iter().enumerate() {
        for start in span.start..(span.end + 1).saturating_sub(k) {
            let number = kmers.number_at(start);
            is_repeated[number] |= std::mem::replace(&mut last_span[number], index) == index;
        }
    }
    is_repeated
}

/// Returns whether the reference, which `sequences` starts with, has a k-mer twice.
pub(crate) fn reference_has_repeated_kmer(sequences: &AssemblySequences, k: usize) -> bool {
    let reference = 0..sequences.reference_length;
    let kmers = KmerNumbers::new(&sequences.text, std::slice::from_ref(&reference), k);
    kmers.count() < reference.len() + 1 - k
}
