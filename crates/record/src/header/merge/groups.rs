//! Read groups and programs of several inputs under IDs that are unique.
//!
//! Two inputs' groups of one ID are the same group if their lines say the same, in whatever order. A
//! program must also follow the same programs (PP), so that equal chains are kept once and chains that
//! part stay apart. Of groups that differ the first keeps the ID; the next is called `ID.1`, then
//! `ID.2`, passing over what any input uses by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::names::{Fate, IdRenames};
use crate::header::{Header, HeaderLine};

/// What kind of lines is merged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ReadGroup,
    Program,
}

impl Kind {
    fn code(self) -> &'static [u8; 2] {
        match self {
            Kind::ReadGroup => b"RG",
            Kind::Program => b"PG",
        }
    }

    /// The field that names a program.
    fn link(self) -> &'static [u8; 2] {
        match self {
            Kind::ReadGroup => b"PG",
            Kind::Program => b"PP",
        }
    }
}

/// Whether a line can be named by records and other lines.
pub(super) fn has_id(line: &HeaderLine) -> bool {
    line.get(b"ID").is_some_and(|id| !id.is_empty())
}

/// The lines of one header that share an ID: one, if the header is as it should be.
struct Group<'a> {
    id: &'a [u8],
    lines: Vec<&'a HeaderLine>,
}

/// The groups of a header, and their places by ID.
fn groups_of(header: &Header, kind: Kind) -> (Vec<Group<'_>>, HashMap<&[u8], usize>) {
    let (mut groups, mut by_id) = (Vec::<Group<'_>>::new(), HashMap::new());
    for line in header.lines_of(kind.code()).filter(|line| has_id(line)) {
        let id = line.get(b"ID").unwrap_or_default();
        let at = *by_id.entry(id).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Group { id, lines: Vec::new() });
        }
        groups[at].lines.push(line);
    }
    (groups, by_id)
}

/// The merged lines of a kind, and what becomes of each input's IDs. Read groups name programs, so
/// these are merged first.
pub(super) fn merge(
    headers: &[Header],
    kind: Kind,
    programs: Option<&[IdRenames]>,
) -> (Vec<HeaderLine>, Vec<IdRenames>) {
    let inputs: Vec<_> = headers.iter().map(|header| groups_of(header, kind)).collect();
    let ids = inputs.iter().flat_map(|(groups, _)| groups.iter().map(|group| group.id));
    let mut namer = Namer { reserved: ids.collect(), ..Namer::default() };
    let given: Vec<Vec<Given>> = inputs
        .iter()
        .map(|(groups, by_id)| match kind {
            Kind::ReadGroup => groups.iter().map(|group| namer.name(group.id, said(group))).collect(),
            Kind::Program => name_programs(groups, by_id, &mut namer),
        })
        .collect();
    let merged = Arc::new(namer.used);
    let own = |((groups, _), given): (&(Vec<Group<'_>>, _), &Vec<Given>)| -> BTreeMap<_, _> {
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

/// The line under its new ID, naming programs by their new IDs.
fn renamed(line: &HeaderLine, id: &[u8], kind: Kind, programs: &IdRenames) -> HeaderLine {
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

/// What a group's lines say.
fn said(group: &Group<'_>) -> Vec<u8> {
    let lines: Vec<_> = group.lines.iter().map(|line| line.sorted()).collect();
    lines.join(&b'\n')
}

/// The ID a group got, and whether it is the first to get it.
struct Given {
    id: Vec<u8>,
    is_new: bool,
}

/// Gives out IDs.
#[derive(Default)]
struct Namer<'a> {
    /// IDs that some input uses, which no other group is renamed to.
    reserved: HashSet<&'a [u8]>,
    used: BTreeSet<Vec<u8>>,
    by_content: HashMap<Vec<u8>, Vec<u8>>,
    /// The last suffix tried for an ID.
    suffix: HashMap<&'a [u8], u32>,
}

impl<'a> Namer<'a> {
    /// The ID of the group that is called `id` in its input and says `content`, its ID included.
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

/// Names a header's programs, each after those it follows.
fn name_programs<'a>(
    groups: &[Group<'a>],
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
            entered[at] = true; // a chain that bites its tail ends here
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
                    // Unlike any program that exists: no header holds a NUL.
                    (Some(nobody), None) => line.set(b"PP", &[b"\0", nobody].concat()),
                    _ => {}
                }
                lines.push(line);
            }
            let renamed = Group { id: groups[at].id, lines: lines.iter().collect() };
            given[at] = Some(namer.name(groups[at].id, said(&renamed)));
        }
    }
    given.into_iter().flatten().collect()
}
