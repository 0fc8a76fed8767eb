//! One file of the corpus, read and written by readmill and by samtools.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::meaning::{self, difference, lines};
use super::references::Fitting;
use super::verdict::Verdict;
use crate::parity::commands::SampleDir;

/// The lines that a program printed, or its message if it refused the file.
pub type Printed = std::result::Result<Vec<String>, String>;

/// Runs a command that prints SAM. It finds references only by its arguments.
fn printed(mut command: Command) -> Result<Printed> {
    command.stdin(Stdio::null()).env("REF_PATH", "/nowhere").env_remove("REF_CACHE");
    let output = command.output()?;
    if output.status.success() {
        return Ok(Ok(lines(&output.stdout)));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.contains(" in total, "));
    Ok(Err(last.unwrap_or("no message").to_string()))
}

/// A file, and the reference that fits it.
pub struct File<'a> {
    /// Where the programs run.
    pub dir: &'a SampleDir<'a>,
    /// The file itself.
    pub path: &'a Path,
    /// Its number; files made from it have it in their names.
    pub number: usize,
    /// The FASTA file whose contigs its header has.
    pub reference: Option<Fitting>,
}

impl File<'_> {
    /// The name of its CRAM file by readmill.
    pub fn ours(&self) -> String {
        format!("{}.cram", self.number)
    }

    fn with_reference(&self, mut command: Command, flag: &str) -> Command {
        if let Some(reference) = &self.reference {
            command.args([flag, &reference.name]);
        }
        command
    }

    /// The reference for writing CRAM. Without one, or if the MD5 in the header differs, all bases
    /// are stored.
    pub fn to_write_with(&self) -> Option<&str> {
        self.reference.as_ref().filter(|it| it.is_same).map(|it| &it.name[..])
    }

    /// Reads the file with samtools, with this file's reference.
    pub fn samtools(&self, path: &Path) -> Result<Printed> {
        let mut command = self.with_reference(self.dir.newest_command("view"), "-T");
        command.arg(path);
        self.without_paths(path, printed(command)?)
    }

    /// Returns the lines that a program printed, or its message without names of the program and of directories.
    fn without_paths(&self, path: &Path, printed: Printed) -> Result<Printed> {
        let shown = path.display().to_string();
        let directory = format!("{}/", self.dir.directory().display());
        Ok(printed.map_err(|said| {
            let said = said.strip_prefix("readmill: error: ").unwrap_or(&said);
            let said = said.strip_prefix(&format!("{shown}: ")).unwrap_or(said);
            said.replace(&shown, "it").replace(&directory, "")
        }))
    }

    /// Reads the file with readmill, with this file's reference and these options.
    pub fn readmill(&self, path: &Path, options: &str) -> Result<Printed> {
        let command = self.dir.readmill_command(&format!("prep -q --no-PG -O sam {options}"));
        let mut command = self.with_reference(command, "--reference");
        command.arg(path);
        self.without_paths(path, printed(command)?)
    }

    /// Writes it as CRAM with samtools, with options of its `-O cram`; returns the message if samtools refuses.
    pub fn write_by_samtools(&self, name: &str, options: &str) -> Result<Printed> {
        let without = if self.to_write_with().is_none() { ",no_ref=1" } else { "" };
        let words = format!("view -C -O cram{options}{without} -o {name}");
        let mut command = self.with_reference(self.dir.newest_command(&words), "-T");
        command.arg(self.path);
        self.without_paths(self.path, printed(command)?)
    }

    /// Writes it as CRAM and reads that with both programs; `before` has its records.
    pub fn write(&self, before: &[String]) -> Result<Verdict> {
        let name = self.ours();
        let mut command = self.dir.readmill_command("prep -q --no-PG -o");
        command.arg(&name);
        let mut command = self.with_reference(command, "--reference");
        command.arg(self.path);
        if self.to_write_with().is_none() {
            command.args(["-O", "cram,no-ref"]);
        }
        if let Err(said) = self.without_paths(self.path, printed(command)?)? {
            return Ok(match self.write_by_samtools("refused.cram", "")? {
                Err(_) => Verdict::Refused(said),
                Ok(_) => Verdict::Defect(format!("readmill alone refuses to write it: {said}")),
            });
        }
        let path = self.dir.path(&name);
        let (again, theirs) = match (self.readmill(&path, "")?, self.samtools(&path)?) {
            (Ok(again), Ok(theirs)) => (again, theirs),
            (Err(said), _) => return Ok(Verdict::Defect(format!("readmill: {said}"))),
            (_, Err(said)) => return Ok(Verdict::Defect(format!("samtools: {said}"))),
        };
        if let Some(what) = difference(&again, &theirs) {
            return Ok(Verdict::Defect(format!("samtools reads it otherwise: {what}")));
        }
        let meaning = |lines: &[String]| lines.iter().map(|line| meaning::of(line)).collect::<Vec<_>>();
        Ok(match difference(&meaning(&again), &meaning(before)) {
            Some(what) => Verdict::Defect(format!("it is not what was written: {what}")),
            None => Verdict::Same,
        })
    }

    /// Writes it as CRAM with samtools and reads that with both programs.
    pub fn written_by_samtools(&self) -> Result<Verdict> {
        let name = format!("samtools.{}.cram", self.number);
        if self.write_by_samtools(&name, "")?.is_err() {
            return Ok(Verdict::Blank);
        }
        let path = self.dir.path(&name);
        Ok(alike(&self.readmill(&path, "")?, &self.samtools(&path)?))
    }
}

/// Whether readmill reads another program's CRAM file as samtools does.
pub fn alike(ours: &Printed, theirs: &Printed) -> Verdict {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => difference(ours, theirs)
            .map_or(Verdict::Same, |what| Verdict::Defect(format!("readmill and samtools: {what}"))),
        (Err(said), Err(_)) => Verdict::Refused(said.clone()),
        (Err(said), Ok(_)) => Verdict::Defect(format!("readmill alone refuses it: {said}")),
        (Ok(_), Err(said)) => Verdict::Defect(format!("samtools alone refuses it: {said}")),
    }
}
