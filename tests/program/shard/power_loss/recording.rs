//! Commands whose system calls are recorded, and what must hold of the disk if power is lost after any of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use crate::shard::power_loss::disk::{Disk, Node, ROOT};
use crate::shard::power_loss::recorder::{OUTSIDE, Recorder};
use crate::shard::power_loss::states::{State, after_power_loss, is_temporary};
use crate::shard::power_loss::trace::{calls, recorded};
use crate::shard::{Files, Scene};
use crate::support::random::TestRandom;

/// A state of the disk, and when power was lost.
pub struct Loss {
    pub state: State,
    pub when: String,
}

/// What went wrong, and where it did so first, and how often.
#[derive(Default)]
pub struct Wrong(pub BTreeMap<String, (String, usize)>);

impl Wrong {
    pub fn add(&mut self, what: String, loss: impl FnOnce() -> String) {
        self.0.entry(what).or_insert_with(|| (loss(), 0)).1 += 1;
    }

    /// Adds what went wrong after something else.
    pub fn add_all(&mut self, other: Wrong, after: &str) {
        for (what, (when, times)) in other.0 {
            self.0.entry(what).or_insert_with(|| (format!("{after}, and then {when}"), 0)).1 += times;
        }
    }
}

/// The disk when a program is killed that has just given something a name.
pub struct Kill {
    pub disk: Disk,
    pub when: String,
}

/// Commands of a scene that ran one after the other.
pub struct Recording<'a> {
    scene: &'a Scene,
    disk: Disk,
    random: TestRandom,
    /// The files that the program has seen under each path that is not temporary.
    right: BTreeMap<String, Vec<Arc<Vec<u8>>>>,
    /// All paths so far.
    seen: BTreeSet<String>,
    /// What must be found under paths, whenever power is lost: these bytes, or nothing.
    promised: BTreeMap<String, Option<Arc<Vec<u8>>>>,
    /// The files that were there before.
    older: State,
    /// When files were changed last.
    pub changed: HashMap<Node, SystemTime>,
    /// States that differ, in which commands are to be run again.
    pub losses: Vec<Loss>,
    /// Moments at which a kill leaves names that are not synced.
    pub kills: Vec<Kill>,
    keys: HashSet<u64>,
    /// States that were looked at.
    pub looked_at: usize,
    /// Calls after which power was lost.
    pub moments: usize,
    /// What was wrong in a state.
    pub wrong: Wrong,
}

impl<'a> Recording<'a> {
    /// Begins with what is in the folders of a scene.
    pub fn begin(scene: &'a Scene, seed: u64) -> Self {
        let mut disk = Disk::new();
        disk.take_over(ROOT, &scene.path(""), &OUTSIDE);
        let mut recording = Self::of(scene, seed, disk);
        recording.lose_power("at the beginning");
        recording
    }

    /// Goes on after a kill, with its disk, the files of which are in the folders of the scene.
    pub fn after(&self, kill: Kill, seed: u64) -> Self {
        let mut recording = Recording::of(self.scene, seed, kill.disk);
        recording.right.clone_from(&self.right);
        recording.older = self.older.clone();
        recording
    }

    fn of(scene: &'a Scene, seed: u64, disk: Disk) -> Self {
        let mut recording = Recording {
            scene,
            random: TestRandom::new(seed),
            right: BTreeMap::new(),
            seen: BTreeSet::new(),
            promised: BTreeMap::new(),
            older: State::live(&disk),
            changed: HashMap::new(),
            losses: Vec::new(),
            kills: Vec::new(),
            keys: HashSet::new(),
            looked_at: 0,
            moments: 0,
            wrong: Wrong::default(),
            disk,
        };
        recording.read_times();
        recording.see(&BTreeMap::new());
        recording
    }

    /// Runs a command to its end, and looks at the states after each of its calls.
    pub fn run(&mut self, words: &[String]) {
        let record = self.scene.path("tmp/record");
        let program = &mut self.scene.folders.command();
        let ended = self.scene.folders.run(&mut recorded(program.args(words), &record));
        let mut recorder = Recorder::new(&self.scene.path(""));
        self.disk.begin_record();
        let mut moments = 0;
        for call in calls(&std::fs::read_to_string(&record).unwrap()) {
            let before = self.disk.paths();
            if recorder.carry_out(&call, &mut self.disk) {
                moments += 1;
                self.see(&before);
                let when = format!("{}, call {moments}: {}", words[..2].join(" "), call.short());
                self.lose_power(&when);
                if call.gives_a_name() {
                    self.kills.push(Kill { disk: self.disk.clone(), when });
                }
            }
        }
        std::fs::remove_file(record).unwrap();
        self.compare();
        self.read_times();
        if ended.status.code() != Some(0) {
            return self.wrong.add(format!("{:?}: {}", ended.status, ended.stderr), || words.join(" "));
        }
        self.promise("");
        self.lose_power(&format!("{}, at its end", words.join(" ")));
    }

    /// Takes note of files that have got a name, after a call before which there were these paths.
    fn see(&mut self, before: &BTreeMap<String, Node>) {
        let now = self.disk.paths();
        self.seen.extend(now.keys().cloned());
        for (path, &node) in now.iter().filter(|(path, _)| !is_temporary(path)) {
            let Some(file) = self.disk.file(node) else { continue };
            let right = self.right.entry(path.clone()).or_default();
            if before.get(path) != Some(&node) {
                right.push(Arc::clone(&file.live));
            } else if !right.contains(&file.live) {
                self.wrong.add(format!("{path} is written under its name"), String::new);
            }
        }
        // What the program changes itself is promised no more.
        let live =
            |path: &String| now.get(path).and_then(|&node| self.disk.file(node)).map(|it| &it.live);
        self.promised.retain(|path, bytes| live(path) == bytes.as_ref());
        if now.keys().any(|path| path.ends_with("work/join") && !before.contains_key(path)) {
            self.promise("out/"); // nobody will make the output again
        }
    }

    /// From now on these files must be there, as they are, and of outputs no others.
    fn promise(&mut self, folder: &str) {
        let now = self.disk.paths();
        for path in self.seen.iter().filter(|path| path.starts_with(folder)) {
            let file = now.get(path).map(|&node| self.disk.file(node));
            let is_removed = file.is_none() && path.starts_with("out/");
            if let (Some(Some(file)), false) = (file, is_temporary(path)) {
                self.promised.insert(path.clone(), Some(Arc::clone(&file.live)));
            } else if is_removed {
                self.promised.insert(path.clone(), None);
            }
        }
    }

    /// Looks at all states after a loss of power now.
    fn lose_power(&mut self, when: &str) {
        self.moments += 1;
        for state in after_power_loss(&self.disk, &mut self.random) {
            self.looked_at += 1;
            let is_new = self.keys.insert(state.key());
            let found = if is_new { self.wrong_in(&state) } else { self.missing_in(&state) };
            if let Some(what) = found {
                self.wrong.add(what, || format!("{when}: {}", state.describe()));
            }
            if is_new {
                self.losses.push(Loss { state, when: when.to_string() });
            }
        }
    }

    /// What is wrong in a state, before any command is run again.
    fn wrong_in(&self, state: &State) -> Option<String> {
        for (path, found) in &state.0 {
            let (Some(found), false) = (found, is_temporary(path)) else { continue };
            if !self.right.get(path).is_some_and(|right| right.contains(&found.bytes)) {
                return Some(format!("{path} has its name and is not complete"));
            }
            // An index without its file was left by this job, and is right for the file that another run makes.
            let index = format!("{path}.bai");
            let is_older = |path: &str| state.bytes(path) == self.older.bytes(path);
            let was_there = self.older.bytes(path).is_some() && state.bytes(&index).is_some();
            if was_there && is_older(&index) && !is_older(path) {
                return Some(format!("{path} has the index of an older file"));
            }
        }
        self.missing_in(state)
    }

    /// What was promised and is not in a state.
    fn missing_in(&self, state: &State) -> Option<String> {
        let mut promised = self.promised.iter();
        let (path, bytes) =
            promised.find(|(path, bytes)| state.bytes(path) != bytes.as_ref().map(|it| &it[..]))?;
        Some(match bytes {
            Some(_) => format!("{path} was finished, and is lost"),
            None => format!("{path} was removed, and is back"),
        })
    }

    /// Asserts that the recorded calls lead to what is on the real disk: nothing was missed.
    fn compare(&self) {
        let mut real = Disk::new();
        real.take_over(ROOT, &self.scene.path(""), &OUTSIDE);
        let files = |disk: &Disk| -> Files {
            let bytes = |node| disk.file(node).map_or_else(Vec::new, |file| file.live.to_vec());
            disk.paths().into_iter().map(|(path, node)| (path, bytes(node))).collect()
        };
        let (real, model) = (files(&real), files(&self.disk));
        assert_eq!(real.keys().collect::<Vec<_>>(), model.keys().collect::<Vec<_>>());
        let other = real.keys().find(|path| real[*path] != model[*path]);
        assert_eq!(other, None, "the record does not lead to the bytes of this file");
    }

    fn read_times(&mut self) {
        for (path, node) in self.disk.paths() {
            let time = std::fs::metadata(self.scene.path(&path)).unwrap().modified().unwrap();
            self.changed.insert(node, time);
        }
    }
}
