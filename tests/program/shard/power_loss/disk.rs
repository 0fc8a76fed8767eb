//! A disk that loses power. Only what was synced is sure: the bytes of a file by a sync of the file, the names in a
//! directory by a sync of the directory. All else may be on disk or not, whatever its order.
//!
//! It is a harder disk than real ones, whose names do not go to disk in just any order. But a rename loses no file: the
//! old name is there, or the new one, or both.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A file or directory, by its number.
pub type Node = usize;

/// The names in a directory.
pub type Names = BTreeMap<String, Node>;

/// The directory in which all others are.
pub const ROOT: Node = 0;

/// A change of a file that is not synced.
#[derive(Clone)]
pub enum Edit {
    /// These bytes were written at this offset.
    Write(u64, Vec<u8>),
    /// The file got this length.
    Resize(u64),
    /// The bytes of this range became zeros.
    Hole(u64, u64),
}

/// A change of a directory that is not synced.
#[derive(Clone)]
pub enum Change {
    /// A file got a name.
    Put(String, Node),
    /// A name was removed.
    Take(String),
    /// A file was renamed.
    Move(String, String, Node),
}

/// A change, and the line of the record at which it was done.
type At<T> = (usize, T);

/// A file.
#[derive(Clone, Default)]
pub struct FileNode {
    /// The bytes that are sure.
    pub synced: Vec<u8>,
    /// The bytes that the program sees.
    pub live: Arc<Vec<u8>>,
    pub edits: Vec<At<Edit>>,
}

/// A directory.
#[derive(Clone, Default)]
pub struct DirectoryNode {
    /// The names that are sure.
    pub synced: Names,
    /// The names that the program sees.
    pub live: Names,
    pub changes: Vec<At<Change>>,
}

#[derive(Clone)]
enum Kind {
    File(FileNode),
    Directory(DirectoryNode),
}

/// A disk.
#[derive(Clone)]
pub struct Disk(Vec<Kind>);

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Edit::Write(at, new) => {
                let (at, end) = (*at as usize, *at as usize + new.len());
                bytes.resize(bytes.len().max(end), 0);
                bytes[at..end].copy_from_slice(new);
            }
            Edit::Resize(length) => bytes.resize(*length as usize, 0),
            Edit::Hole(from, to) => {
                let to = bytes.len().min(*to as usize);
                bytes[to.min(*from as usize)..to].fill(0);
            }
        }
    }
}

impl Change {
    fn apply(&self, names: &mut Names) {
        match self {
            Change::Put(name, node) => drop(names.insert(name.clone(), *node)),
            Change::Take(name) => drop(names.remove(name)),
            Change::Move(from, to, node) => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }

    /// Applies it so far as `step` says: not at all, whole, or only the first part of a rename.
    pub fn apply_partly(&self, step: u8, names: &mut Names) {
        match (self, step) {
            (_, 0) => {}
            (Change::Move(_, to, node), 2) => drop(names.insert(to.clone(), *node)),
            _ => self.apply(names),
        }
    }
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Disk(vec![Kind::Directory(DirectoryNode::default())])
    }

    /// A new file, without a name.
    pub fn new_file(&mut self) -> Node {
        self.0.push(Kind::File(FileNode::default()));
        self.0.len() - 1
    }

    /// A new directory, without a name.
    pub fn new_directory(&mut self) -> Node {
        self.0.push(Kind::Directory(DirectoryNode::default()));
        self.0.len() - 1
    }

    /// A file, unless it is a directory.
    pub fn file(&self, node: Node) -> Option<&FileNode> {
        match &self.0[node] {
            Kind::File(file) => Some(file),
            Kind::Directory(_) => None,
        }
    }

    /// A directory, unless it is a file.
    pub fn directory(&self, node: Node) -> Option<&DirectoryNode> {
        match &self.0[node] {
            Kind::Directory(directory) => Some(directory),
            Kind::File(_) => None,
        }
    }

    /// The directories, by their numbers.
    pub fn directories(&self) -> impl Iterator<Item = (Node, &DirectoryNode)> {
        (0..self.0.len()).filter_map(|node| Some((node, self.directory(node)?)))
    }

    /// The file or directory of a path.
    pub fn find(&self, path: &str) -> Option<Node> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(ROOT, |node, name| self.directory(node)?.live.get(name).copied())
    }

    /// Changes a file.
    pub fn edit(&mut self, node: Node, at: usize, edit: Edit) {
        let Kind::File(file) = &mut self.0[node] else { panic!("a directory is written") };
        edit.apply(Arc::make_mut(&mut file.live));
        file.edits.push((at, edit));
    }

    /// Changes a directory.
    pub fn change(&mut self, node: Node, at: usize, change: Change) {
        let Kind::Directory(directory) = &mut self.0[node] else { panic!("no directory") };
        change.apply(&mut directory.live);
        directory.changes.push((at, change));
    }

    /// Makes sure what was done before a sync began.
    pub fn sync(&mut self, node: Node, began: usize) {
        match &mut self.0[node] {
            Kind::File(FileNode { synced, edits, .. }) => {
                edits.extract_if(.., |(at, _)| *at < began).for_each(|(_, edit)| edit.apply(synced));
            }
            Kind::Directory(DirectoryNode { synced, changes, .. }) => {
                changes.extract_if(.., |(at, _)| *at < began).for_each(|(_, it)| it.apply(synced));
            }
        }
    }

    /// Begins a new record: all that was done before it is older than its first line.
    pub fn begin_record(&mut self) {
        for kind in &mut self.0 {
            match kind {
                Kind::File(file) => file.edits.iter_mut().for_each(|(at, _)| *at = 0),
                Kind::Directory(directory) => directory.changes.iter_mut().for_each(|(at, _)| *at = 0),
            }
        }
    }

    /// Takes over a folder of the real disk, all of which is sure, but for some names.
    pub fn take_over(&mut self, node: Node, folder: &Path, but: &[&str]) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            if but.contains(&&*name) {
                continue;
            }
            assert!(kind.is_file() || kind.is_dir(), "{name}");
            let new = if kind.is_dir() { self.new_directory() } else { self.new_file() };
            self.change(node, 0, Change::Put(name, new));
            if kind.is_dir() {
                self.take_over(new, &entry.path(), &[]);
            } else {
                self.edit(new, 0, Edit::Write(0, std::fs::read(entry.path()).unwrap()));
                self.sync(new, 1);
            }
        }
        self.sync(node, 1);
    }

    /// The paths of all files and directories that the program sees.
    pub fn paths(&self) -> BTreeMap<String, Node> {
        self.paths_by(|_, directory| directory.live.clone())
    }

    /// The paths of all files and directories, if directories have these names.
    pub fn paths_by(&self, names: impl Fn(Node, &DirectoryNode) -> Names) -> BTreeMap<String, Node> {
        let (mut paths, mut rest) = (BTreeMap::new(), vec![(String::new(), ROOT)]);
        while let Some((path, node)) = rest.pop() {
            for (name, inner) in self.directory(node).map_or_else(Names::new, |it| names(node, it)) {
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                rest.push((path.clone(), inner));
                paths.insert(path, inner);
            }
        }
        paths
    }
}

#[test]
fn only_what_was_synced_is_sure() {
    let mut disk = Disk::new();
    let file = disk.new_file();
    disk.change(ROOT, 1, Change::Put("a".into(), file));
    disk.edit(file, 2, Edit::Write(2, b"xy".to_vec()));
    disk.sync(file, 3);
    disk.edit(file, 4, Edit::Write(0, b"z".to_vec()));
    disk.edit(file, 6, Edit::Resize(3));
    disk.sync(file, 5); // it began before the last change
    let it = disk.file(file).unwrap();
    assert_eq!((&it.synced[..], &it.live[..], it.edits.len()), (&b"z\0xy"[..], &b"z\0x"[..], 1));
    assert_eq!((disk.find("a"), disk.directory(ROOT).unwrap().synced.len()), (Some(file), 0));
    disk.sync(ROOT, 7);
    assert_eq!(disk.directory(ROOT).unwrap().synced.get("a"), Some(&file));
}
