//! Commands that are run again after a loss of power.

use std::fs::File;

use crate::faults::fixtures::Ended;
use crate::shard::power_loss::recorder::OUTSIDE;
use crate::shard::power_loss::recording::{Recording, Wrong};
use crate::shard::power_loss::states::State;
use crate::shard::{Files, Scene};
use crate::support::random::TestRandom;

/// The most states of a recording in which commands are run again; of more, some are chosen.
const MAX_STATES: usize = 1000;

/// The most states after a second loss of power.
const MAX_STATES_AGAIN: usize = 100;

/// How many times power is lost again while a job recovers.
const TWICE: u64 = 3;

/// A way to carry out a job.
#[derive(Clone, Copy)]
pub enum Way {
    /// The command with `--resume` and this directory.
    Resume(&'static str),
    /// The stages one by one, of a job that is divided so.
    Stages(&'static str),
}

/// A job that loses power.
pub struct Job<'a> {
    pub scene: &'a Scene,
    pub way: Way,
    /// The outputs of the command without stages.
    pub expected: Files,
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

impl Job<'_> {
    /// The commands of the job from its beginning to its end.
    fn commands(&self) -> Vec<Vec<String>> {
        match self.way {
            Way::Resume(work) => vec![self.resuming(work)],
            Way::Stages(_) => {
                let stages = ["map 1", "map 2", "cut", "judge", "write 1..2", "join"];
                let stages = stages.map(|stage| words(&format!("shard {stage} --work work -q")));
                [self.planning()]
                    .into_iter()
                    .chain(stages)
                    .chain([words("shard clean --work work")])
                    .collect()
            }
        }
    }

    fn resuming(&self, work: &str) -> Vec<String> {
        self.scene.command.iter().cloned().chain(["--resume", work].map(String::from)).collect()
    }

    fn planning(&self) -> Vec<String> {
        let Way::Stages(division) = self.way else { panic!("it has no plan") };
        words(&format!("shard plan --work work {division} {}", self.scene.command.join(" ")))
    }

    /// The commands that somebody gives who finds the job after a loss of power.
    fn restart(&self) -> Vec<Vec<String>> {
        let is_planned = self.scene.stage("job.json").exists();
        match self.way {
            Way::Resume(work) => vec![self.resuming(work)],
            Way::Stages(_) => {
                let planning = (!is_planned).then(|| self.planning());
                planning.into_iter().chain([words("shard run --work work -q")]).collect()
            }
        }
    }

    /// Loses power after each call of the job, runs it again in states that differ, and loses power there, too. Returns
    /// what went wrong.
    pub fn lose_power(&self, seed: u64) -> Wrong {
        let mut random = TestRandom::new(seed);
        let mut recording = Recording::begin(self.scene, seed);
        self.commands().iter().for_each(|words| recording.run(words));
        self.is_written("the job itself").unwrap();
        self.replay(&mut recording, MAX_STATES, &mut random);
        for number in 0..TWICE {
            let loss = &recording.losses[random.below(recording.losses.len())];
            self.lay_out(&recording, &loss.state);
            let mut again = Recording::begin(self.scene, seed + number);
            self.restart().iter().for_each(|words| again.run(words));
            self.replay(&mut again, MAX_STATES_AGAIN, &mut random);
            recording.wrong.add_all(again.wrong, &loss.when);
        }
        // The next run finds what a killed one has named and not synced, and must not build upon it.
        for kill in std::mem::take(&mut recording.kills) {
            self.lay_out(&recording, &State::live(&kill.disk));
            let when = format!("a kill, {}", kill.when);
            let mut again = recording.after(kill, seed);
            self.restart().iter().for_each(|words| again.run(words));
            recording.wrong.add_all(again.wrong, &when);
        }
        recording.wrong
    }

    /// Runs the job again in states of a recording.
    fn replay(&self, recording: &mut Recording<'_>, max_states: usize, random: &mut TestRandom) {
        random.shuffle(&mut recording.losses);
        let all = recording.losses.len();
        for loss in recording.losses.iter().take(max_states) {
            self.lay_out(recording, &loss.state);
            if let Err(what) = self.heals() {
                recording.wrong.add(what, || format!("{}: {}", loss.when, loss.state.describe()));
            }
        }
        println!(
            "{:?}: power lost at {} moments, {} states, {all} of them different, {} replayed",
            self.scene.command,
            recording.moments,
            recording.looked_at,
            all.min(max_states)
        );
    }

    /// Puts the files of a state into the folders of the scene.
    fn lay_out(&self, recording: &Recording<'_>, state: &State) {
        for entry in std::fs::read_dir(self.scene.path("")).unwrap() {
            let path = entry.unwrap().path();
            match path.file_name().and_then(|name| name.to_str()) {
                Some(name) if OUTSIDE.contains(&name) => {}
                _ => std::fs::remove_dir_all(path).unwrap(),
            }
        }
        for (path, found) in &state.0 {
            let path = self.scene.path(path);
            match found {
                None => std::fs::create_dir(path).unwrap(),
                Some(found) => {
                    std::fs::write(&path, &*found.bytes).unwrap();
                    if let Some(time) = recording.changed.get(&found.node) {
                        File::options().write(true).open(&path).unwrap().set_modified(*time).unwrap();
                    }
                }
            }
        }
    }

    /// Runs the job again, as the documents say. An error says what went wrong.
    fn heals(&self) -> Result<(), String> {
        for words in self.restart() {
            let mut ended = self.command(&words)?;
            if ended.status.code() == Some(75) {
                ended = self.command(&words)?;
            }
            if ended.status.code() != Some(0) {
                return Err(format!("{words:?} ends with {:?}: {}", ended.status, ended.stderr));
            }
        }
        if let Way::Stages(_) = self.way {
            self.command(&words("shard clean --work work"))?;
        }
        self.is_written("run again")
    }

    fn command(&self, words: &[String]) -> Result<Ended, String> {
        let ended = self.scene.folders.readmill(words);
        let is_orderly = ended.status.code().is_some() && !ended.stderr.contains("panicked");
        if is_orderly {
            Ok(ended)
        } else {
            Err(format!("{words:?}: {:?}: {}", ended.status, ended.stderr))
        }
    }

    /// Whether the outputs are there and no file of a stage is left.
    fn is_written(&self, what: &str) -> Result<(), String> {
        let written = self.scene.outputs();
        let differs = self.expected.iter().find(|(name, bytes)| written.get(*name) != Some(*bytes));
        if let Some((name, _)) = differs {
            return Err(format!("{what}: {name} is wrong, or is not there"));
        }
        if let Some(name) = written.keys().find(|name| !self.expected.contains_key(*name)) {
            return Err(format!("{what}: {name} is left"));
        }
        let work = match self.way {
            Way::Resume(work) => work,
            Way::Stages(_) => "work",
        };
        match self.scene.path(work).exists() {
            true => Err(format!("{what}: {work} is left")),
            false => Ok(()),
        }
    }
}
