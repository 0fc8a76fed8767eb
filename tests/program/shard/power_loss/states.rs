//! The states in which a disk may be found after a loss of power.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::shard::power_loss::disk::{Disk, FileNode, Names, Node};
use crate::support::random::TestRandom;

/// Changes of names, all subsets of which are tried; of more, some are.
const ALL_SUBSETS: usize = 4;

/// Random choices of more changes.
const RANDOM: usize = 12;

/// Bytes that a disk writes at once.
const PAGE: usize = 512;

/// A file as it was found.
#[derive(Clone)]
pub struct Found {
    pub node: Node,
    pub bytes: Arc<Vec<u8>>,
    /// Whether these are the bytes that the program saw last.
    pub is_whole: bool,
}

/// What is on a disk: files and, as `None`, directories, by their paths.
#[derive(Clone, Default)]
pub struct State(pub BTreeMap<String, Option<Found>>);

/// Whether a path is one under which the program writes a file that is not complete.
pub fn is_temporary(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with('.') || name.ends_with(".partial")
}

impl State {
    /// A file's bytes.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path)?.as_ref().map(|found| &found.bytes[..])
    }

    /// A hash by which two states are taken for one: of temporary files it only matters whether they are empty, whole
    /// or neither.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (path, found) in &self.0 {
            path.hash(&mut hasher);
            match found {
                None => 0.hash(&mut hasher),
                Some(found) if is_temporary(path) => {
                    (found.bytes.is_empty(), found.is_whole).hash(&mut hasher);
                }
                Some(found) => found.bytes.hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// What a program sees on a disk.
    pub fn live(disk: &Disk) -> Self {
        let found = |node| {
            let bytes = Arc::clone(&disk.file(node)?.live);
            Some(Found { node, bytes, is_whole: true })
        };
        State(disk.paths().into_iter().map(|(path, node)| (path, found(node))).collect())
    }

    /// Its files in words.
    pub fn describe(&self) -> String {
        let file = |(path, found): (&String, &Option<Found>)| match found {
            None => format!("{path}/"),
            Some(found) if found.is_whole => format!("{path} ({} bytes)", found.bytes.len()),
            Some(found) => format!("{path} ({} bytes, not whole)", found.bytes.len()),
        };
        self.0.iter().map(file).collect::<Vec<_>>().join(", ")
    }
}

/// The bytes with which a file may be found.
fn contents(file: &FileNode, random: &mut TestRandom) -> Vec<Arc<Vec<u8>>> {
    let (synced, live) = (&file.synced, &file.live);
    if file.edits.is_empty() {
        return vec![Arc::clone(live)];
    }
    let page = |from: &[u8], at: usize| {
        let to = live.len().min(at + PAGE);
        let mut page: Vec<u8> =
            from.get(at..).unwrap_or_default().iter().copied().take(to - at).collect();
        page.resize(to - at, 0);
        page
    };
    let mut pages = |one_in: usize| -> Vec<u8> {
        let of = |at| if random.once_in(one_in) { page(synced, at) } else { page(live, at) };
        (0..live.len()).step_by(PAGE).flat_map(of).collect()
    };
    let mixed = [pages(2), pages(8)];
    let last = live.len().saturating_sub(1) / PAGE * PAGE;
    let no_end = [&live[..last], &vec![0; live.len() - last]].concat();
    let all = [synced.clone(), vec![0; live.len()], live[..live.len() / 2].to_vec(), no_end].into_iter();
    [Arc::clone(live)].into_iter().chain(all.chain(mixed).map(Arc::new)).collect()
}

/// For each pending change whether it is done: 0 for no, 1 for yes, 2 for the first part of a rename.
type Steps = Vec<u8>;

/// Choices among this many pending changes.
fn choices(n: usize, random: &mut TestRandom) -> Vec<Steps> {
    if n <= ALL_SUBSETS {
        return (0..3usize.pow(n as u32))
            .map(|all| (0..n as u32).map(|digit| (all / 3usize.pow(digit) % 3) as u8).collect())
            .collect();
    }
    let mut choices = vec![vec![0; n], vec![1; n]];
    for at in 0..n {
        let by =
            |is_done: &dyn Fn(usize) -> bool| (0..n).map(|i| u8::from(is_done(i))).collect::<Steps>();
        choices.extend([by(&|i| i == at), by(&|i| i != at), by(&|i| i < at), by(&|i| i >= at)]);
    }
    choices.extend((0..RANDOM).map(|_| (0..n).map(|_| random.below(3) as u8).collect::<Steps>()));
    choices
}

/// States in which a disk may be found now: all combinations of a few unsynced changes of names, and some of many; with
/// each, files that are as they were synced, whole, zeros, cut, and mixed.
pub fn after_power_loss(disk: &Disk, random: &mut TestRandom) -> Vec<State> {
    let pending: Vec<(Node, usize)> = disk
        .directories()
        .flat_map(|(node, it)| (0..it.changes.len()).map(move |at| (node, at)))
        .collect();
    let mut bytes: HashMap<Node, Vec<Arc<Vec<u8>>>> = HashMap::new();
    let mut states = Vec::new();
    for steps in choices(pending.len(), random) {
        let step: HashMap<(Node, usize), u8> = pending.iter().copied().zip(steps).collect();
        let paths = disk.paths_by(|node, directory| {
            let mut names: Names = directory.synced.clone();
            for (at, (_, change)) in directory.changes.iter().enumerate() {
                change.apply_partly(step[&(node, at)], &mut names);
            }
            names
        });
        for (_, &node) in paths.iter() {
            if let Some(file) = disk.file(node) {
                bytes.entry(node).or_insert_with(|| contents(file, random));
            }
        }
        let max_contents =
            paths.values().filter_map(|node| bytes.get(node)).map(Vec::len).max().unwrap_or(1);
        let mixtures = if max_contents > 1 { 2 } else { 0 };
        for way in 0..max_contents + mixtures {
            let mut pick = |node: Node| {
                let file = disk.file(node)?;
                let all = &bytes[&node];
                let chosen =
                    if way < max_contents { way.min(all.len() - 1) } else { random.below(all.len()) };
                let bytes = Arc::clone(&all[chosen]);
                Some(Found { node, is_whole: bytes == file.live, bytes })
            };
            states.push(State(paths.iter().map(|(path, &node)| (path.clone(), pick(node))).collect()));
        }
    }
    states
}
