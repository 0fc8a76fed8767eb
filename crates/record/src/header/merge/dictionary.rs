//! Merges the reference sequences of several inputs into one dictionary.
//!
//! Sequences with the same name are the same sequence; their lengths, and MD5 sums if given, must agree.
//! New sequences follow in the order in which they first appear, but every input keeps its own order:
//! chr2 of the second input is put between chr1 and chr3 of the first if the second has it there. An
//! input whose order contradicts the inputs before it does not affect the order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::header::{Header, HeaderLine};

struct MergedSequence<'a> {
    line: &'a HeaderLine,
    length: u32,
    input: usize,
    /// The MD5 sum (M5), and the first input that gives it.
    md5: Option<(&'a [u8], usize)>,
}

pub(super) struct MergedDictionary {
    pub lines: Vec<HeaderLine>,
    /// For each input, the new indexes of its sequences, or `None` if they keep their indexes.
    pub ref_ids: Vec<Option<Vec<i32>>>,
}

pub(super) fn merge_dictionaries(headers: &[Header]) -> Result<MergedDictionary> {
    let mut sequences: Vec<MergedSequence<'_>> = Vec::new();
    let mut by_name: HashMap<&[u8], usize> = HashMap::new();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for (input, header) in headers.iter().enumerate() {
        let mut chain = Vec::with_capacity(header.references().len());
        for (line, reference) in header.lines_of_kind(b"SQ").zip(header.references()) {
            let at = *by_name.entry(&reference.name).or_insert(sequences.len());
            if at == sequences.len() {
                sequences.push(MergedSequence { line, length: reference.length, input, md5: None });
            }
            sequences[at].check_description(line, reference.length, input)?;
            chain.push(at);
        }
        chains.push(chain);
    }
    let order = arrange_chains(&chains, sequences.len());
    let mut new_id = vec![0i32; sequences.len()];
    for (id, &sequence) in order.iter().enumerate() {
        new_id[sequence] = id as i32;
    }
    let ref_ids = chains.iter().map(|chain| {
        let changed = chain.iter().enumerate().any(|(old, &s)| new_id[s] != old as i32);
        changed.then(|| chain.iter().map(|&s| new_id[s]).collect())
    });
    let lines = order.iter().map(|&s| sequences[s].line.clone());
    Ok(MergedDictionary { lines: lines.collect(), ref_ids: ref_ids.collect() })
}

impl<'a> MergedSequence<'a> {
    /// Checks that another input's line for this sequence agrees with this one.
    ///
    /// # Errors
    /// Fails if the lengths or the MD5 sums differ.
    fn check_description(&mut self, line: &'a HeaderLine, length: u32, input: usize) -> Result<()> {
        let name = || String::from_utf8_lossy(line.get(b"SN").unwrap_or_default()).into_owned();
        let hint = "all inputs must be aligned to the same reference";
        if length != self.length {
            return Err(Error::input(format!(
                "reference sequence {} has {} bases in input {} and {length} in input {}",
                name(),
                self.length,
                self.input + 1,
                input + 1,
            ))
            .hint(hint));
        }
        let Some(md5) = line.get(b"M5") else { return Ok(()) };
        let (first, given) = *self.md5.get_or_insert((md5, input));
        if !first.eq_ignore_ascii_case(md5) {
            return Err(Error::input(format!(
                "reference sequence {} has the MD5 sum {} in input {} and {} in input {}",
                name(),
                String::from_utf8_lossy(first),
                given + 1,
                String::from_utf8_lossy(md5),
                input + 1,
            ))
            .hint(hint));
        }
        Ok(())
    }
}

/// Orders the indexes below `n` so that every chain keeps its order. A chain that contradicts the chains
/// before it is ignored.
fn arrange_chains(chains: &[Vec<usize>], n: usize) -> Vec<usize> {
    let mut seen = HashSet::new();
    let chains: Vec<&[usize]> =
        chains.iter().map(Vec::as_slice).filter(|&chain| seen.insert(chain)).collect();
    if let Some(order) = find_topological_order(&chains, n) {
        return order;
    }
    let (mut kept, mut order) = (Vec::new(), (0..n).collect());
    for chain in chains {
        kept.push(chain);
        match find_topological_order(&kept, n) {
            Some(found) => order = found,
            None => drop(kept.pop()),
        }
    }
    order
}

/// Returns the order that keeps all chains and otherwise puts smaller indexes first (a topological
/// sort), or `None` if the chains contradict each other.
fn find_topological_order(chains: &[&[usize]], n: usize) -> Option<Vec<usize>> {
    let mut before = vec![0u32; n];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (&a, &b) in chains.iter().flat_map(|chain| chain.iter().zip(chain.iter().skip(1))) {
        after[a].push(b);
        before[b] += 1;
    }
    let mut ready: BinaryHeap<_> = (0..n).filter(|&s| before[s] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(n);
    while let Some(Reverse(next)) = ready.pop() {
        order.push(next);
        for &s in &after[next] {
            before[s] -= 1;
            if before[s] == 0 {
                ready.push(Reverse(s));
            }
        }
    }
    (order.len() == n).then_some(order)
}
