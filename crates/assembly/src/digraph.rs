//! A directed graph whose iteration orders are those of GATK's graphs.

use std::ops::{Index, IndexMut};

const NONE: u32 = u32::MAX;

/// A vertex of a [`Digraph`]. Ids are not used again after the vertex is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VertexId(u32);

/// An edge of a [`Digraph`]. Ids are not used again after the edge is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeId(u32);

impl VertexId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl EdgeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The first and the last element of a list that is linked by ids, and its length.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
    count: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE, count: 0 };

/// The neighbours of an element in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

#[derive(Clone, Debug)]
struct Vertex<V> {
    value: V,
    is_live: bool,
    incoming: Ends,
    outgoing: Ends,
}

#[derive(Clone, Debug)]
struct Edge<E> {
    value: E,
    is_live: bool,
    source: VertexId,
    target: VertexId,
}

/// A directed graph with at most one edge from a vertex to another, like `DefaultDirectedGraph` of
/// JGraphT 1.1.0.
///
/// Vertices, edges, and the edges of each vertex are iterated in the order in which they were added.
/// GATK's results depend on that order. An edge between vertices that already have one is ignored.
#[derive(Clone, Debug)]
pub(crate) struct Digraph<V, E> {
    vertices: Vec<Vertex<V>>,
    live: Ends,
    live_links: Vec<Link>,
    edges: Vec<Edge<E>>,
    edge_count: usize,
    /// Neighbours of each edge in the list of its source.
    outgoing_links: Vec<Link>,
    /// Neighbours of each edge in the list of its target.
    incoming_links: Vec<Link>,
}

impl<V, E> Index<VertexId> for Digraph<V, E> {
    type Output = V;

    fn index(&self, vertex: VertexId) -> &V {
        &self.vertices[vertex.index()].value
    }
}

impl<V, E> Index<EdgeId> for Digraph<V, E> {
    type Output = E;

    fn index(&self, edge: EdgeId) -> &E {
        &self.edges[edge.index()].value
    }
}

impl<V, E> IndexMut<EdgeId> for Digraph<V, E> {
    fn index_mut(&mut self, edge: EdgeId) -> &mut E {
        &mut self.edges[edge.index()].value
    }
}

impl<V, E> Digraph<V, E> {
    pub(crate) fn new() -> Self {
        Digraph {
            vertices: Vec::new(),
            live: EMPTY,
            live_links: Vec::new(),
            edges: Vec::new(),
            edge_count: 0,
            outgoing_links: Vec::new(),
            incoming_links: Vec::new(),
        }
    }

    pub(crate) fn vertex_count(&self) -> usize {
        self.live.count as usize
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.edge_count
    }

    /// Returns a number that is greater than the index of every vertex.
    pub(crate) fn vertex_bound(&self) -> usize {
        self.vertices.len()
    }

    pub(crate) fn contains(&self, vertex: VertexId) -> bool {
        self.vertices[vertex.index()].is_live
    }

    pub(crate) fn add_vertex(&mut self, value: V) -> VertexId {
        let id = self.vertices.len() as u32;
        append(&mut self.live, &mut self.live_links, id);
        self.vertices.push(Vertex { value, is_live: true, incoming: EMPTY, outgoing: EMPTY });
        VertexId(id)
    }

    /// Adds an edge, or returns `None` if there already is one from `source` to `target`.
    pub(crate) fn add_edge(&mut self, source: VertexId, target: VertexId, value: E) -> Option<EdgeId> {
        if self.find_edge(source, target).is_some() {
            return None;
        }
        let id = self.edges.len() as u32;
        append(&mut self.vertices[source.index()].outgoing, &mut self.outgoing_links, id);
        append(&mut self.vertices[target.index()].incoming, &mut self.incoming_links, id);
        self.edges.push(Edge { value, is_live: true, source, target });
        self.edge_count += 1;
        Some(EdgeId(id))
    }

    pub(crate) fn find_edge(&self, source: VertexId, target: VertexId) -> Option<EdgeId> {
        self.outgoing(source).find(|&edge| self.target(edge) == target)
    }

    /// Removes an edge, unless it was removed before.
    pub(crate) fn remove_edge(&mut self, edge: EdgeId) {
        let Edge { is_live, source, target, .. } = &mut self.edges[edge.index()];
        if std::mem::take(is_live) {
            let (outgoing, incoming) = (source.index(), target.index());
            unlink(&mut self.vertices[outgoing].outgoing, &mut self.outgoing_links, edge.0);
            unlink(&mut self.vertices[incoming].incoming, &mut self.incoming_links, edge.0);
            self.edge_count -= 1;
        }
    }

    /// Removes a vertex and its edges, unless it was removed before.
    pub(crate) fn remove_vertex(&mut self, vertex: VertexId) {
        if !self.contains(vertex) {
            return;
        }
        let edges: Vec<EdgeId> = self.incoming(vertex).chain(self.outgoing(vertex)).collect();
        edges.into_iter().for_each(|edge| self.remove_edge(edge));
        self.vertices[vertex.index()].is_live = false;
        unlink(&mut self.live, &mut self.live_links, vertex.0);
    }

    pub(crate) fn source(&self, edge: EdgeId) -> VertexId {
        self.edges[edge.index()].source
    }

    pub(crate) fn target(&self, edge: EdgeId) -> VertexId {
        self.edges[edge.index()].target
    }

    pub(crate) fn in_degree(&self, vertex: VertexId) -> usize {
        self.vertices[vertex.index()].incoming.count as usize
    }

    pub(crate) fn out_degree(&self, vertex: VertexId) -> usize {
        self.vertices[vertex.index()].outgoing.count as usize
    }

    /// Returns the vertices, in the order in which they were added.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = VertexId> + '_ {
        chain(self.live.first, |id| self.live_links[id as usize].next).map(VertexId)
    }

    /// Returns the vertex that was added after `vertex` and is left.
    pub(crate) fn next_vertex(&self, vertex: VertexId) -> Option<VertexId> {
        let next = self.live_links[vertex.index()].next;
        (next != NONE).then_some(VertexId(next))
    }

    /// Returns the edges, in the order in which they were added.
    pub(crate) fn edges(&self) -> impl Iterator<Item = EdgeId> + '_ {
        (0..self.edges.len() as u32).filter(|&id| self.edges[id as usize].is_live).map(EdgeId)
    }

    /// Returns the edges to `vertex`, in the order in which they were added.
    pub(crate) fn incoming(&self, vertex: VertexId) -> impl Iterator<Item = EdgeId> + '_ {
        let first = self.vertices[vertex.index()].incoming.first;
        chain(first, |id| self.incoming_links[id as usize].next).map(EdgeId)
    }

    /// Returns the edges from `vertex`, in the order in which they were added.
    pub(crate) fn outgoing(&self, vertex: VertexId) -> impl Iterator<Item = EdgeId> + '_ {
        let first = self.vertices[vertex.index()].outgoing.first;
        chain(first, |id| self.outgoing_links[id as usize].next).map(EdgeId)
    }

    /// Returns the vertices that have an edge to `vertex`.
    pub(crate) fn predecessors(&self, vertex: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.incoming(vertex).map(|edge| self.source(edge))
    }

    /// Returns the vertices to which `vertex` has an edge.
    pub(crate) fn successors(&self, vertex: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.outgoing(vertex).map(|edge| self.target(edge))
    }

    /// Returns whether a path leads from some vertex to itself.
    pub(crate) fn has_cycles(&self) -> bool {
        let mut waiting: Vec<usize> = vec![0; self.vertex_bound()];
        let mut ready = Vec::new();
        for vertex in self.vertices() {
            waiting[vertex.index()] = self.in_degree(vertex);
            if waiting[vertex.index()] == 0 {
                ready.push(vertex);
            }
        }
        let mut ordered = 0;
        while let Some(vertex) = ready.pop() {
            ordered += 1;
            for next in self.successors(vertex) {
                waiting[next.index()] -= 1;
                if waiting[next.index()] == 0 {
                    ready.push(next);
                }
            }
        }
        ordered < self.vertex_count()
    }
}

/// Appends a new element, whose id is the number of elements so far.
fn append(list: &mut Ends, links: &mut Vec<Link>, id: u32) {
    match list.last {
        NONE => list.first = id,
        last => links[last as usize].next = id,
    }
    links.push(Link { previous: list.last, next: NONE });
    list.last = id;
    list.count += 1;
}

fn unlink(list: &mut Ends, links: &mut [Link], id: u32) {
    let Link { previous, next } = links[id as usize];
    match previous {
        NONE => list.first = next,
        previous => links[previous as usize].next = next,
    }
    match next {
        NONE => list.last = previous,
        next => links[next as usize].previous = previous,
    }
    list.count -= 1;
}

fn chain(first: u32, next: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    let optional = |id| (id != NONE).then_some(id);
    std::iter::successors(optional(first), move |&id| optional(next(id)))
}
