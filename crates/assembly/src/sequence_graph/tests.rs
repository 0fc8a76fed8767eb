//! Compares cleaned graphs and their best paths with GATK's, which
//! `tests/oracles/java/SequenceGraphs.java` printed.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use readmill_jmath::{CpuMaker, JavaMath};

use super::{Cleaned, SequenceEdge, SequenceGraph};
use crate::best_paths::find_best_paths;
use crate::digraph::{Digraph, VertexId};
use crate::error::AssemblyError;

/// Builds the graph that the lines describe.
fn read_graph<'a>(lines: impl Iterator<Item = &'a str>) -> SequenceGraph {
    let mut sequences = SequenceGraph { graph: Digraph::new(), text: Vec::new() };
    let mut vertices: Vec<VertexId> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "vertex" => {
                let start = sequences.text.len();
                sequences.text.extend_from_slice(words[1].as_bytes());
                vertices.push(sequences.graph.add_vertex(start..sequences.text.len()));
            }
            "edge" => {
                let end = |index: usize| vertices[words[index].parse::<usize>().unwrap()];
                let multiplicity = words[3].parse().unwrap();
                let edge = SequenceEdge { multiplicity, is_reference: words[4] == "true" };
                sequences.graph.add_edge(end(1), end(2), edge);
            }
            _ => break,
        }
    }
    sequences
}

fn print_cleaned(sequences: &mut SequenceGraph, text: &mut String) -> Result<(), AssemblyError> {
    if sequences.clean_up()? == Cleaned::OnlyReference {
        text.push_str("only-reference\n");
        return Ok(());
    }
    let graph = &sequences.graph;
    let vertices: Vec<VertexId> = graph.vertices().collect();
    for &vertex in &vertices {
        let bases = String::from_utf8_lossy(sequences.bases(vertex));
        writeln!(text, "cleaned-vertex {bases}").unwrap();
    }
    let index = |vertex| vertices.iter().position(|&other| other == vertex).unwrap();
    for edge in graph.edges() {
        let (source, target) = (index(graph.source(edge)), index(graph.target(edge)));
        let SequenceEdge { multiplicity, is_reference } = graph[edge];
        writeln!(text, "cleaned-edge {source} {target} {multiplicity} {is_reference}").unwrap();
    }
    for path in find_best_paths(sequences, JavaMath::of_maker(CpuMaker::Intel).unwrap())? {
        let (bases, score) = (String::from_utf8_lossy(&path.bases), path.score.to_bits());
        writeln!(text, "path {bases} {score:x}").unwrap();
    }
    Ok(())
}

/// Compares each graph of the text. Returns their number.
fn compare_graphs(text: &str) -> usize {
    let mut count = 0;
    for block in text.split_inclusive("\nend\n") {
        let (name, body) = block.split_once('\n').unwrap();
        let mut sequences = read_graph(body.lines());
        let mut ours = String::new();
        if print_cleaned(&mut sequences, &mut ours).is_err() {
            ours.push_str("error");
        }
        let is_result =
            |line: &&str| !["vertex", "edge", "end"].contains(&line.split(' ').next().unwrap());
        let mut expected = body.lines().filter(is_result).map(|line| match line.split_once(' ') {
            Some(("error", _)) => "error",
            _ => line,
        });
        assert!(expected.by_ref().eq(ours.lines()), "{name}:\n{body}ours:\n{ours}");
        count += 1;
    }
    count
}

#[test]
fn random_graphs_are_cleaned_and_searched_as_by_gatk() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java/sequence_graphs.txt");
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(compare_graphs(text.split_once('\n').unwrap().1), 150);
}
