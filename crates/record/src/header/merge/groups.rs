//! Merges the read groups and programs of several inputs, and makes their IDs unique.
//!
//! Groups of two inputs with the same ID are the same group if their lines have the same fields, in any
//! order. Programs must also have the same predecessors (PP), so that equal chains are kept once and
//! different chains stay separate. If groups differ but share an ID, the first keeps it; the next
//! becomes `ID.1`, then `ID.2`. IDs that any input uses itself are skipped.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::header::{Header, HeaderLine};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    ReadGroup,
    Program,
}

impl LineKind {
    fn code(self) -> &'static [u8; 2] {
        match self {
            LineKind::ReadGroup => b"RG",
            LineKind::Program => b"PG",
        }
    }

    fn link(self) -> &'static [u8; 2] {
        match self {
            LineKind::ReadGroup => b"PG",
            LineKind::Program => b"PP",
        }
    }
}

pub(super) fn has_id(line: &HeaderLine) -> bool {
    line.get(b"ID").is_some_and(|id| !id.is_empty())
}

struct IdGroup<'a> {
    id: &'a [u8],
    lines: Vec<&'a HeaderLine>,
}

fn groups_of(header: &Header, kind: LineKind) -> (Vec<IdGroup<'_>>, HashMap<&[u8], usize>) {
    let (mut groups, mut by_id) = (Vec::<IdGroup<'_>>::new(), HashMap::new());
    for line in header.lines_of(kind.code()).filter(|line| has_id(line)) {
        let id = line.get(b"ID").unwrap_or_default();
        let at = *by_id.entry(id).or_insert(groups.len());
        if at == groups.len() {
            groups.push(IdGroup { id, lines: Vec::new() });
        }
        groups[at].lines.push(line);
    }
    (groups, by_id)
}

/// Returns the merged lines of a kind, and the renames of the IDs of each input. Programs are merged
/// first, because read groups refer to them.
pub(super) fn merge(
    headers: &[Header],
    kind: LineKind,
    programs: Option<&[IdRenames]>,
) -> (Vec<HeaderLine>, Vec<IdRenames>) {
    let inputs: Vec<_> = headers.iter().map(|header| groups_of(header, kind)).collect();
    let ids = inputs.iter().flat_map(|(groups, _)| groups.iter().map(|group| group.id));
    let mut namer = Namer { reserved: ids.collect(), ..Namer::default() };
    let given: Vec<Vec<Given>> = inputs
        .iter()
        .map(|(groups, by_id)| match kind {
            LineKind::ReadGroup => {
                groups.iter().map(|group| namer.name(group.id, said(group))).collect()
            }
            LineKind::Program => name_programs(groups, by_id, &mut namer),
        })
        .collect();
    let merged = Arc::new(namer.used);
    let own = |((groups, _), given): (&(Vec<IdGroup<'_>>, _), &Vec<Given>)| -> BTreeMap<_, _> {
        groups.iter().zip(given).map(|(group, given)| (group.id.to_vec(), given.id.clone())).collect()
    };
    let names: Vec<IdRenames> =
        inputs.iter().zip(&given).map(own).map(|own| IdRenames::new(own, merged.clone())).collect();
    let mut lines = Vec::new();
    for (((groups, _), given), programs) in inputs.iter().zip(&given).zip(programs.unwrap_or(&names)) {
        for (group, given) in groups.iter().zip(given).filter(|(_, given)| given.is_new) {
            lines.extend(group.lines.iter().map(|line| renamed(line, &given.id, kind, programs)));
        }
    }
    (lines, names)
}

fn renamed(line: &HeaderLine, id: &[u8], kind: LineKind, programs: &IdRenames) -> HeaderLine {
    let mut new = line.clone();
    if line.get(b"ID") != Some(id) {
        new.set(b"ID", id);
    }
    match line.get(kind.link()).map(|program| programs.fate(program)) {
        Some(Fate::Become(program)) => new.set(kind.link(), program),
        Some(Fate::Remove) => new.remove(kind.link()),
        Some(Fate::Keep) | None => {}
    }
    new
}

/// Returns the fields of a group's lines in sorted order, by which groups are compared.
fn said(group: &IdGroup<'_>) -> Vec<u8> {
    let lines: Vec<_> = group.lines.iter().map(|line| line.sorted()).collect();
    lines.join(&b'\n')
}

/// The ID assigned to a group, and whether the merged header has no earlier group with the same content.
struct Given {
    id: Vec<u8>,
    is_new: bool,
}

#[derive(Default)]
struct Namer<'a> {
    reserved: HashSet<&'a [u8]>,
    used: BTreeSet<Vec<u8>>,
    by_content: HashMap<Vec<u8>, Vec<u8>>,
    suffix: HashMap<&'a [u8], u32>,
}

impl<'a> Namer<'a> {
    /// Returns the ID for the group called `id` in its input. `content` is the text by which groups are
    /// compared, with the ID.
    fn name(&mut self, id: &'a [u8], content: Vec<u8>) -> Given {
        if let Some(id) = self.by_content.get(&content) {
            return Given { id: id.clone(), is_new: false };
        }
        let mut new = id.to_vec();
        while self.used.contains(&new) || new != id && self.reserved.contains(&new[..]) {
            let suffix = self.suffix.entry(id).or_default();
            *suffix += 1;
            new = [id, format!(".{suffix}").as_bytes()].concat();
        }
        self.used.insert(new.clone());
        self.by_content.insert(content, new.clone());
        Given { id: new, is_new: true }
    }
}

/// Assigns IDs to the programs of a header, each after its predecessors, because their new IDs are part
/// of its content.
fn name_programs<'a>(
    groups: &[IdGroup<'a>],
    by_id: &HashMap<&'a [u8], usize>,
    namer: &mut Namer<'a>,
) -> Vec<Given> {
    let mut given: Vec<Option<Given>> = groups.iter().map(|_| None).collect();
    let mut entered = vec![false; groups.len()];
    let previous = |line: &HeaderLine| line.get(b"PP").and_then(|id| by_id.get(id)).copied();
    for first in 0..groups.len() {
        let mut path = vec![first];
        while let Some(&at) = path.last() {
            if given[at].is_some() {
                path.pop();
                continue;
            }
            entered[at] = true; // ends a cyclic chain here
            let mut follows = groups[at].lines.iter().filter_map(|line| previous(line));
            if let Some(before) = follows.find(|&before| !entered[before]) {
                path.push(before);
                continue;
            }
            let mut lines = Vec::new();
            for line in &groups[at].lines {
                let mut line = (*line).clone();
                let before = previous(&line).map(|before| given[before].as_ref());
                match (line.get(b"PP"), before) {
                    (Some(_), Some(Some(before))) => line.set(b"PP", &before.id),
                    // Differs from every real program, because no header contains a NUL.
                    (Some(nobody), None) => line.set(b"PP", &[b"\0", nobody].concat()),
                    _ => {}
                }
                lines.push(line);
            }
            let renamed = IdGroup { id: groups[at].id, lines: lines.iter().collect() };
            given[at] = Some(namer.name(groups[at].id, said(&renamed)));
        }
    }
    given.into_iter().flatten().collect()
}

/// The new IDs of one kind (@RG or @PG) for one input, and all IDs of the merged header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdRenames {
    own: BTreeMap<Vec<u8>, Vec<u8>>,
    merged: Arc<BTreeSet<Vec<u8>>>,
}

/// What must be done with a field of a record that holds an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate<'a> {
    Keep,
    Become(&'a [u8]),
    /// The field must be removed: this input does not define the ID, but another input does, so the
    /// field would get a wrong meaning. (`samtools merge` drops every ID that the input does not
    /// define.)
    Remove,
}

impl IdRenames {
    pub(super) fn new(own: BTreeMap<Vec<u8>, Vec<u8>>, merged: Arc<BTreeSet<Vec<u8>>>) -> Self {
        IdRenames { own, merged }
    }

    pub fn fate(&self, id: &[u8]) -> Fate<'_> {
        match self.own.get(id) {
            Some(new) if new == id => Fate::Keep,
            Some(new) => Fate::Become(new),
            None if self.merged.contains(id) => Fate::Remove,
            None => Fate::Keep,
        }
    }

    pub fn changed(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let own = self.own.iter().filter(|(old, new)| old != new);
        own.map(|(old, new)| (old.as_slice(), new.as_slice()))
    }

    pub fn is_identity(&self) -> bool {
        self.own.len() == self.merged.len() && self.changed().next().is_none()
    }

    /// Returns the maximum number of bytes by which an ID becomes longer.
    pub fn growth(&self) -> usize {
        self.changed().map(|(old, new)| new.len().saturating_sub(old.len())).max().unwrap_or(0)
    }
}
