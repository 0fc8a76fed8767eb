//! Merges the read groups and programs of several inputs, and makes their IDs unique.
//!
//! Groups of two inputs with the same ID are the same group if their lines have the same fields, in any
//! order. Programs must also have the same predecessors (PP), so that equal chains are kept once and
//! different chains stay separate. If groups differ but share an ID, the first keeps it; the next
//! becomes `ID.1`, then `ID.2`. New IDs that occur in any input are skipped.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::header::{Header, HeaderLine};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    ReadGroup,
    Program,
}

impl LineKind {
    fn kind_code(self) -> &'static [u8; 2] {
        match self {
            LineKind::ReadGroup => b"RG",
            LineKind::Program => b"PG",
        }
    }

    fn program_field(self) -> &'static [u8; 2] {
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

fn group_lines_by_id(header: &Header, kind: LineKind) -> (Vec<IdGroup<'_>>, HashMap<&[u8], usize>) {
    let (mut groups, mut by_id) = (Vec::<IdGroup<'_>>::new(), HashMap::new());
    for line in header.lines_of_kind(kind.kind_code()).filter(|line| has_id(line)) {
        let id = line.get(b"ID").unwrap_or_default();
        let at = *by_id.entry(id).or_insert(groups.len());
        if at == groups.len() {
            groups.push(IdGroup { id, lines: Vec::new() });
        }
        groups[at].lines.push(line);
    }
    (groups, by_id)
}

/// Returns the merged lines of `kind`, and the ID renames of each input. Programs are merged first,
/// because read groups refer to them.
pub(super) fn merge_lines(
    headers: &[Header],
    kind: LineKind,
    programs: Option<&[IdRenames]>,
) -> (Vec<HeaderLine>, Vec<IdRenames>) {
    let inputs: Vec<_> = headers.iter().map(|header| group_lines_by_id(header, kind)).collect();
    let ids = inputs.iter().flat_map(|(groups, _)| groups.iter().map(|group| group.id));
    let mut namer = IdAssigner { reserved: ids.collect(), ..IdAssigner::default() };
    let given: Vec<Vec<AssignedId>> = inputs
        .iter()
        .map(|(groups, by_id)| match kind {
            LineKind::ReadGroup => {
                groups.iter().map(|group| namer.assign_id(group.id, sorted_content(group))).collect()
            }
            LineKind::Program => assign_program_ids(groups, by_id, &mut namer),
        })
        .collect();
    let merged = Arc::new(namer.used);
    let own = |((groups, _), given): (&(Vec<IdGroup<'_>>, _), &Vec<AssignedId>)| -> BTreeMap<_, _> {
        groups.iter().zip(given).map(|(group, given)| (group.id.to_vec(), given.id.clone())).collect()
    };
    let names: Vec<IdRenames> =
        inputs.iter().zip(&given).map(own).map(|own| IdRenames::new(own, merged.clone())).collect();
    let mut lines = Vec::new();
    for (((groups, _), given), programs) in inputs.iter().zip(&given).zip(programs.unwrap_or(&names)) {
        for (group, given) in groups.iter().zip(given).filter(|(_, given)| given.is_new) {
            lines.extend(group.lines.iter().map(|line| rename_line(line, &given.id, kind, programs)));
        }
    }
    (lines, names)
}

fn rename_line(line: &HeaderLine, id: &[u8], kind: LineKind, programs: &IdRenames) -> HeaderLine {
    let mut new = line.clone();
    if line.get(b"ID") != Some(id) {
        new.set_field(b"ID", id);
    }
    match line.get(kind.program_field()).map(|program| programs.change_for(program)) {
        Some(IdChange::Become(program)) => new.set_field(kind.program_field(), program),
        Some(IdChange::Remove) => new.remove_field(kind.program_field()),
        Some(IdChange::Keep) | None => {}
    }
    new
}

/// Returns the lines of a group with their fields in sorted order. Groups are compared by this text.
fn sorted_content(group: &IdGroup<'_>) -> Vec<u8> {
    let lines: Vec<_> = group.lines.iter().map(|line| line.with_sorted_fields()).collect();
    lines.join(&b'\n')
}

/// The ID assigned to a group, and whether the group is new in the merged header.
struct AssignedId {
    id: Vec<u8>,
    is_new: bool,
}

#[derive(Default)]
struct IdAssigner<'a> {
    reserved: HashSet<&'a [u8]>,
    used: BTreeSet<Vec<u8>>,
    by_content: HashMap<Vec<u8>, Vec<u8>>,
    suffix: HashMap<&'a [u8], u32>,
}

impl<'a> IdAssigner<'a> {
    /// Assigns an ID to the group that has the ID `id` in its input. Groups are the same if their
    /// `content`, which includes the ID, is the same.
    fn assign_id(&mut self, id: &'a [u8], content: Vec<u8>) -> AssignedId {
        if let Some(id) = self.by_content.get(&content) {
            return AssignedId { id: id.clone(), is_new: false };
        }
        let mut new = id.to_vec();
        while self.used.contains(&new) || new != id && self.reserved.contains(&new[..]) {
            let suffix = self.suffix.entry(id).or_default();
            *suffix += 1;
            new = [id, format!(".{suffix}").as_bytes()].concat();
        }
        self.used.insert(new.clone());
        self.by_content.insert(content, new.clone());
        AssignedId { id: new, is_new: true }
    }
}

/// Assigns IDs to the programs of a header, each after its predecessors, because their new IDs are part
/// of its content.
fn assign_program_ids<'a>(
    groups: &[IdGroup<'a>],
    by_id: &HashMap<&'a [u8], usize>,
    namer: &mut IdAssigner<'a>,
) -> Vec<AssignedId> {
    let mut given: Vec<Option<AssignedId>> = groups.iter().map(|_| None).collect();
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
                    (Some(_), Some(Some(before))) => line.set_field(b"PP", &before.id),
                    // Differs from every real program, because no header contains a NUL.
                    (Some(nobody), None) => line.set_field(b"PP", &[b"\0", nobody].concat()),
                    _ => {}
                }
                lines.push(line);
            }
            let renamed = IdGroup { id: groups[at].id, lines: lines.iter().collect() };
            given[at] = Some(namer.assign_id(groups[at].id, sorted_content(&renamed)));
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

/// The change that a record field with an ID needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdChange<'a> {
    Keep,
    Become(&'a [u8]),
    /// The field must be removed: this input does not define the ID, but another input does, so the
    /// meaning of the field would change. (`samtools merge` drops every ID that the input does not
    /// define.)
    Remove,
}

impl IdRenames {
    pub(super) fn new(own: BTreeMap<Vec<u8>, Vec<u8>>, merged: Arc<BTreeSet<Vec<u8>>>) -> Self {
        IdRenames { own, merged }
    }

    pub fn change_for(&self, id: &[u8]) -> IdChange<'_> {
        match self.own.get(id) {
            Some(new) if new == id => IdChange::Keep,
            Some(new) => IdChange::Become(new),
            None if self.merged.contains(id) => IdChange::Remove,
            None => IdChange::Keep,
        }
    }

    pub fn changed_ids(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let own = self.own.iter().filter(|(old, new)| old != new);
        own.map(|(old, new)| (old.as_slice(), new.as_slice()))
    }

    pub fn is_identity(&self) -> bool {
        self.own.len() == self.merged.len() && self.changed_ids().next().is_none()
    }

    /// Returns the maximum number of bytes by which an ID becomes longer.
    pub fn max_growth_bytes(&self) -> usize {
        self.changed_ids().map(|(old, new)| new.len().saturating_sub(old.len())).max().unwrap_or(0)
    }
}
