//! `cargo xtask parity --corpus DIR`: every SAM, BAM and CRAM file below a directory, such as the test files of
//! htslib, samtools and hts-specs, read by readmill and by samtools; and written as CRAM by readmill, and read by
//! samtools and htsjdk.

mod meaning;
mod references;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::commands::Place;
use super::ledger::Ledger;
use meaning::{difference, lines};
use references::References;

/// How a file fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Both read it, and the text is the same.
    Same,
    /// Both refuse it.
    Refused,
    /// readmill refuses what samtools reads, for a reason that is told.
    Stricter,
    /// samtools refuses what readmill reads.
    Laxer,
    /// Both read it, and the text differs.
    Differs,
}

/// Reads and writes all files below `root`.
pub fn compare(place: &Place<'_>, root: &Path, ledger: &mut Ledger) -> Result<()> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let references = References::below(root, place)?;
    let mut table: BTreeMap<(&str, Verdict), usize> = BTreeMap::new();
    let mut written = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let kind = kind(file).unwrap_or_default();
        let file = File { place, path: file, reference: references.of(place, file)? };
        let (verdict, why) = file.read()?;
        *table.entry((kind, verdict)).or_default() += 1;
        let shown = file.path.strip_prefix(root).unwrap_or(file.path).display();
        if verdict != Verdict::Same {
            println!("{verdict:?}\t{shown}\t{why}");
        }
        if verdict != Verdict::Same {
            continue;
        }
        match file.write(number) {
            Ok(Some(name)) => written.push((name, file.reference.clone(), shown.to_string())),
            Ok(None) => {}
            Err(error) => ledger.check(&format!("CRAM of {shown}"), || Err(error)),
        }
    }
    for ((kind, verdict), n) in &table {
        println!("{n:6} {kind}\t{verdict:?}");
    }
    println!("{:6} written as CRAM, and read by samtools as by readmill", written.len());
    ledger.check("no file is read differently", || {
        let wrong = table.iter().filter(|((_, verdict), _)| *verdict == Verdict::Differs);
        let wrong: usize = wrong.map(|(_, n)| n).sum();
        ensure!(wrong == 0, "{wrong} are");
        Ok(format!("{} files", files.len()))
    });
    htsjdk(place, &written, ledger);
    Ok(())
}

/// The files with reads below a directory.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !hidden {
            collect(&path, files)?;
        } else if kind(&path).is_some() && path.metadata()?.len() > 0 {
            files.push(path);
        }
    }
    Ok(())
}

/// What the name of a file says it is.
fn kind(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "sam" => Some("SAM"),
        "bam" => Some("BAM"),
        "cram" => Some("CRAM"),
        _ => None,
    }
}

/// A file, and the reference that fits it.
struct File<'a> {
    place: &'a Place<'a>,
    path: &'a Path,
    reference: Option<String>,
}

/// What a program printed, or said when it refused.
type Printed = std::result::Result<Vec<String>, String>;

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

impl File<'_> {
    fn with_reference(&self, mut command: Command, flag: &str) -> Command {
        if let Some(reference) = &self.reference {
            command.args([flag, reference]);
        }
        command
    }

    fn samtools(&self, path: &Path) -> Result<Printed> {
        let mut command = self.with_reference(self.place.newest_command("view"), "-T");
        command.arg(path);
        printed(command)
    }

    fn readmill(&self, path: &Path) -> Result<Printed> {
        let command = self.place.readmill_command("prep -q --no-PG -O sam");
        let mut command = self.with_reference(command, "--reference");
        command.arg(path);
        printed(command)
    }

    /// Reads it by both.
    fn read(&self) -> Result<(Verdict, String)> {
        Ok(match (self.readmill(self.path)?, self.samtools(self.path)?) {
            (Ok(ours), Ok(theirs)) => match difference(&ours, &theirs) {
                None => (Verdict::Same, String::new()),
                Some(what) => (Verdict::Differs, what),
            },
            (Err(ours), Err(_)) => (Verdict::Refused, ours),
            (Err(ours), Ok(_)) => (Verdict::Stricter, ours),
            (Ok(_), Err(theirs)) => (Verdict::Laxer, theirs),
        })
    }

    /// Writes it as CRAM, and reads that by both; gives its name. Nothing where it is refused.
    fn write(&self, number: usize) -> Result<Option<String>> {
        let name = format!("{number}.cram");
        let mut command = self.place.readmill_command("prep -q --no-PG -o");
        command.arg(&name);
        let mut command = self.with_reference(command, "--reference");
        command.arg(self.path);
        if self.reference.is_none() {
            command.args(["-O", "cram,no-ref"]);
        }
        if let Err(said) = printed(command)? {
            let theirs = self.place.newest_command("view -C -o /dev/null");
            let mut theirs = self.with_reference(theirs, "-T");
            theirs.arg(self.path);
            let refused = printed(theirs)?.is_err() || said.contains("CRAM cannot hold");
            ensure!(refused, "readmill alone refuses to write it: {said}");
            println!("Unwritten\t{}\t{said}", self.path.display());
            return Ok(None);
        }
        let path = self.place.path(&name);
        let theirs = self.samtools(&path)?.map_err(|said| anyhow::anyhow!("samtools: {said}"))?;
        let again = self.readmill(&path)?.map_err(|said| anyhow::anyhow!("readmill: {said}"))?;
        if let Some(what) = difference(&again, &theirs) {
            anyhow::bail!("samtools reads it otherwise: {what}");
        }
        let before = self.readmill(self.path)?.unwrap_or_default();
        let meaning = |lines: &[String]| lines.iter().map(|line| meaning::of(line)).collect::<Vec<_>>();
        if let Some(what) = difference(&meaning(&again), &meaning(&before)) {
            anyhow::bail!("it is not what was written: {what}");
        }
        Ok(Some(name))
    }
}

/// htsjdk reads our CRAM, where there is a reference, and readmill reads what htsjdk makes of it.
fn htsjdk(place: &Place<'_>, written: &[(String, Option<String>, String)], ledger: &mut Ledger) {
    let some: Vec<_> =
        written.iter().filter_map(|(name, it, shown)| Some((name, it.as_ref()?, shown))).collect();
    let calls = some.iter().flat_map(|(name, reference, _)| {
        ["sam", "cram"]
            .map(|to| format!("SamFormatConverter I={name} O=htsjdk.{name}.{to} R={reference}"))
    });
    let codes = match place.picard_each(&calls.collect::<Vec<_>>()) {
        Ok(codes) => codes,
        Err(error) => return ledger.check("htsjdk", || Err(error)),
    };
    let mut counts = [0; 4];
    for ((name, reference, shown), codes) in some.iter().zip(codes.chunks(2)) {
        let file = File { place, path: &place.path(name), reference: Some(reference.to_string()) };
        let text = fs::read(place.path(&format!("htsjdk.{name}.sam"))).unwrap_or_default();
        let theirs: Vec<String> = lines(&text).iter().map(|line| meaning::without_made(line)).collect();
        let ours = || -> Result<Vec<String>> {
            let ours = file.readmill(file.path)?.map_err(|said| anyhow::anyhow!(said))?;
            Ok(ours.iter().map(|line| meaning::without_made(line)).collect())
        };
        counts[usize::from(codes[0] != 0)] += 1;
        let compared = || ours().map_or_else(|e| Some(e.to_string()), |ours| difference(&theirs, &ours));
        if codes[0] == 0
            && let Some(what) = compared()
        {
            println!("htsjdk\t{shown}\t{what}");
            counts[0] -= 1;
            counts[2] += 1;
        }
        if codes[1] == 0 {
            let path = place.path(&format!("htsjdk.{name}.cram"));
            let (a, b) = (file.readmill(&path), file.samtools(&path));
            let same = matches!((&a, &b), (Ok(Ok(a)), Ok(Ok(b))) if difference(a, b).is_none());
            let refused = matches!((&a, &b), (Ok(Err(_)), Ok(Err(_))));
            counts[3] += usize::from(same || refused);
            ledger.check(&format!("CRAM of htsjdk: {shown}"), || {
                ensure!(same || refused, "readmill and samtools read it otherwise: {a:?} {b:?}");
                Ok(String::new())
            });
        }
    }
    let [same, refused, differs, back] = counts;
    println!(
        "{same:6} of our CRAM files are read by htsjdk the same, {differs} otherwise, {refused} not at all"
    );
    println!("{back:6} CRAM files of htsjdk are read by readmill as by samtools");
}
