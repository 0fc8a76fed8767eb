//! A corpus file with its matching reference, read and written by readmill and samtools. Also finds
//! differences between SAM lines, and the parts of them that CRAM preserves.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::commands::SampleDir;
use crate::corpus::report::CorpusVerdict;

/// The lines that a program printed, or its message if it refused the file.
pub type SamOutput = std::result::Result<Vec<String>, String>;

/// Runs a command that prints SAM. It finds references only through its arguments.
fn run_printing_sam(mut command: Command) -> Result<SamOutput> {
    command.stdin(Stdio::null()).env("REF_PATH", "/nowhere").env_remove("REF_CACHE");
    let output = command.output()?;
    if output.status.success() {
        return Ok(Ok(record_lines(&output.stdout)));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.contains(" in total, "));
    Ok(Err(last.unwrap_or("no message").to_string()))
}

/// A corpus file and its matching reference.
pub struct CorpusFile<'a> {
    /// The directory in which the programs run.
    pub dir: &'a SampleDir<'a>,
    pub path: &'a Path,
    /// Its number, which is part of the names of files derived from it.
    pub number: usize,
    /// The CRAM version and profile in which readmill writes it.
    pub cram: &'a str,
    /// The FASTA file with the contigs of its header.
    pub reference: Option<FittingReference>,
}

impl CorpusFile<'_> {
    /// Returns the name of the CRAM file that readmill writes.
    pub fn own_cram_name(&self) -> String {
        format!("{}.cram", self.number)
    }

    fn with_reference(&self, mut command: Command, flag: &str) -> Command {
        if let Some(reference) = &self.reference {
            command.args([flag, &reference.name]);
        }
        command
    }

    /// Returns the reference for writing CRAM. Without one, or if an MD5 in the header differs, all
    /// bases are stored.
    pub fn write_options(&self) -> Option<&str> {
        self.reference.as_ref().filter(|it| it.is_same).map(|it| &it.name[..])
    }

    /// Reads a file with samtools, using the reference of `self`.
    pub fn read_with_samtools(&self, path: &Path) -> Result<SamOutput> {
        let mut command = self.with_reference(self.dir.samtools_1_24_command("view"), "-T");
        command.arg(path);
        self.without_paths(path, run_printing_sam(command)?)
    }

    /// Returns a program's output with directories and the program name removed from its message.
    fn without_paths(&self, path: &Path, printed: SamOutput) -> Result<SamOutput> {
        let shown = path.display().to_string();
        let directory = format!("{}/", self.dir.directory().display());
        Ok(printed.map_err(|said| {
            let said = said.strip_prefix("readmill: error: ").unwrap_or(&said);
            let said = said.strip_prefix(&format!("{shown}: ")).unwrap_or(said);
            said.replace(&shown, "it").replace(&directory, "")
        }))
    }

    /// Reads a file with readmill and these options, using the reference of `self`.
    pub fn read_with_readmill(&self, path: &Path, options: &str) -> Result<SamOutput> {
        let command = self.dir.readmill_command(&format!("prep -q --no-PG -O sam {options}"));
        let mut command = self.with_reference(command, "--reference");
        command.arg(path);
        self.without_paths(path, run_printing_sam(command)?)
    }

    /// Writes the file as CRAM with samtools and these options of `-O cram`. Returns the message if
    /// samtools refuses.
    pub fn write_by_samtools(&self, name: &str, options: &str) -> Result<SamOutput> {
        let without = if self.write_options().is_none() { ",no_ref=1" } else { "" };
        let words = format!("view -C -O cram{options}{without} -o {name}");
        let mut command = self.with_reference(self.dir.samtools_1_24_command(&words), "-T");
        command.arg(self.path);
        self.without_paths(self.path, run_printing_sam(command)?)
    }

    /// Writes the file as CRAM with readmill, and reads that with both programs. `before` has its
    /// records.
    pub fn write(&self, before: &[String]) -> Result<CorpusVerdict> {
        let name = self.own_cram_name();
        let mut command = self.dir.readmill_command("prep -q --no-PG -o");
        command.arg(&name);
        let mut command = self.with_reference(command, "--reference");
        command.arg(self.path);
        let without = if self.write_options().is_none() { ",no-ref" } else { "" };
        command.args(["-O", &format!("cram,{}{without}", self.cram)]);
        if let Err(said) = self.without_paths(self.path, run_printing_sam(command)?)? {
            return Ok(match self.write_by_samtools("refused.cram", "")? {
                Err(_) => CorpusVerdict::Refused(said),
                Ok(_) => CorpusVerdict::Defect(format!("readmill alone refuses to write it: {said}")),
            });
        }
        let path = self.dir.path(&name);
        let (again, theirs) =
            match (self.read_with_readmill(&path, "")?, self.read_with_samtools(&path)?) {
                (Ok(again), Ok(theirs)) => (again, theirs),
                (Err(said), _) => return Ok(CorpusVerdict::Defect(format!("readmill: {said}"))),
                (_, Err(said)) => return Ok(CorpusVerdict::Defect(format!("samtools: {said}"))),
            };
        if let Some(what) = find_first_difference(&again, &theirs) {
            return Ok(CorpusVerdict::Defect(format!("samtools reads it otherwise: {what}")));
        }
        let meaning =
            |lines: &[String]| lines.iter().map(|line| normalise_for_cram(line)).collect::<Vec<_>>();
        Ok(match find_first_difference(&meaning(&again), &meaning(before)) {
            Some(what) => CorpusVerdict::Defect(format!("it is not what was written: {what}")),
            None => CorpusVerdict::Same,
        })
    }

    /// Writes the file as CRAM with samtools, and reads that with both programs.
    pub fn check_samtools_cram(&self) -> Result<CorpusVerdict> {
        let name = format!("samtools.{}.cram", self.number);
        if self.write_by_samtools(&name, "")?.is_err() {
            return Ok(CorpusVerdict::Blank);
        }
        let path = self.dir.path(&name);
        Ok(judge_foreign_cram(&self.read_with_readmill(&path, "")?, &self.read_with_samtools(&path)?))
    }
}

/// Returns whether readmill and samtools read the same from another program's CRAM file.
pub fn judge_foreign_cram(ours: &SamOutput, theirs: &SamOutput) -> CorpusVerdict {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => find_first_difference(ours, theirs)
            .map_or(CorpusVerdict::Same, |what| {
                CorpusVerdict::Defect(format!("readmill and samtools: {what}"))
            }),
        (Err(said), Err(_)) => CorpusVerdict::Refused(said.clone()),
        (Err(said), Ok(_)) => CorpusVerdict::Defect(format!("readmill alone refuses it: {said}")),
        (Ok(_), Err(said)) => CorpusVerdict::Defect(format!("samtools alone refuses it: {said}")),
    }
}

/// Length and MD5 of each contig, by name.
type Contigs = HashMap<String, (String, String)>;

/// The FASTA files of a corpus, copied to a directory in which indexes can be written.
pub struct References {
    list: Vec<Reference>,
}

struct Reference {
    /// The path of the original.
    path: PathBuf,
    name: String,
    contigs: Contigs,
    /// Contig names in file order.
    order: Vec<String>,
}

/// A FASTA file that matches a header.
pub struct FittingReference {
    pub name: String,
    /// Whether it has every MD5 that the header states.
    pub is_same: bool,
    /// Whether it has exactly the contigs of the header, in the same order.
    pub is_whole: bool,
}

impl References {
    /// Collects the FASTA files below `root`.
    pub fn collect_below(root: &Path, dir: &SampleDir<'_>) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, &mut files)?;
        files.sort();
        let mut list = Vec::new();
        for (number, file) in files.into_iter().enumerate() {
            let name = format!("reference.{number}");
            fs::copy(&file, dir.path(&format!("{name}.fa")))?;
            let dictionary = format!("dict -o {name}.dict {name}.fa");
            if dir.run_samtools_1_24(&format!("faidx {name}.fa")).is_ok()
                && dir.run_samtools_1_24(&dictionary).is_ok()
            {
                let header = fs::read_to_string(dir.path(&format!("{name}.dict")))?;
                let order = parse_contigs(&header).map(|(name, _)| name).collect();
                let contigs = parse_contigs(&header).collect();
                list.push(Reference { path: file, name: format!("{name}.fa"), contigs, order });
            }
        }
        Ok(References { list })
    }

    /// Returns the reference that has all contigs of a file's header. If there are several, one
    /// with the same MD5s is preferred, then the one nearest in the directory tree.
    pub fn find_fitting(&self, dir: &SampleDir<'_>, file: &Path) -> Result<Option<FittingReference>> {
        let mut command = dir.samtools_1_24_command("view -H");
        let output = command.arg(file).output()?;
        let header = String::from_utf8_lossy(&output.stdout).into_owned();
        let wanted: Contigs = parse_contigs(&header).collect();
        let order = Vec::from_iter(parse_contigs(&header).map(|(name, _)| name));
        let fits = |it: &&Reference| {
            let has = |(name, (length, _)): (&String, &(String, String))| {
                it.contigs.get(name).is_some_and(|(known, _)| known == length)
            };
            !wanted.is_empty() && wanted.iter().all(has)
        };
        let is_same = |has: &Contigs| {
            let told = wanted.iter().filter(|(_, (_, md5))| !md5.is_empty());
            told.into_iter().all(|(name, (_, md5))| has.get(name).is_some_and(|(_, known)| known == md5))
        };
        let shared =
            |path: &Path| path.components().zip(file.components()).take_while(|(a, b)| a == b).count();
        let best =
            self.list.iter().filter(fits).max_by_key(|it| (is_same(&it.contigs), shared(&it.path)));
        Ok(best.map(|it| FittingReference {
            name: it.name.clone(),
            is_same: is_same(&it.contigs),
            is_whole: it.order == order,
        }))
    }
}

/// Returns the contigs of a header with length and MD5 (empty if missing).
fn parse_contigs(header: &str) -> impl Iterator<Item = (String, (String, String))> {
    header.lines().filter(|line| line.starts_with("@SQ\t")).filter_map(|line| {
        let value = |tag: &str| line.split('\t').find_map(|field| field.strip_prefix(tag));
        let md5 = value("M5:").unwrap_or_default().to_ascii_lowercase();
        Some((value("SN:")?.to_string(), (value("LN:")?.to_string(), md5)))
    })
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            collect(&path, files)?;
        } else if matches!(extension, Some("fa" | "fasta")) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the records of SAM text.
pub fn record_lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let is_record = |line: &&str| !is_header(line);
    text.lines().filter(is_record).map(str::to_string).collect()
}

/// Returns whether a line is a header line: two letters after the @, and fewer than eleven columns.
fn is_header(line: &str) -> bool {
    line.starts_with('@') && line.split('\t').next().is_some_and(|word| word.len() == 3)
}

/// Returns the first difference between two files.
pub fn find_first_difference(a: &[String], b: &[String]) -> Option<String> {
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    let at = at.or((a.len() != b.len()).then(|| a.len().min(b.len())))?;
    let line = |lines: &[String]| lines.get(at).map_or("nothing".into(), |line| shorten(line));
    Some(format!("line {}: {} and {}", at + 1, line(a), line(b)))
}

fn shorten(line: &str) -> String {
    line.chars().take(400).collect::<String>().replace('\t', " ")
}

/// Returns the parts of a record that CRAM preserves. It loses MAPQ and CIGAR of unmapped reads,
/// RNEXT of unpaired reads, the order of fields, and the distinction between = and X.
pub fn normalise_for_cram(line: &str) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_string).collect();
    if columns.len() < 11 {
        return line.to_string();
    }
    let flags: u32 = columns[1].parse().unwrap_or(0);
    columns[1] = (flags & 0xfff).to_string();
    if flags & 4 != 0 {
        (columns[4], columns[5]) = ("0".into(), "*".into());
    }
    if flags & 1 == 0 {
        columns[6] = "*".into();
    }
    columns[5] = normalise_cigar(&columns[5]);
    columns[11..].sort_unstable();
    columns.join("\t")
}

/// Returns the same without MD and NM, which htsjdk does not restore, and without cF, which it
/// reads as an optional field.
pub fn normalise_for_htsjdk(line: &str) -> String {
    let made = |field: &&str| ["MD:Z:", "NM:i:", "cF:i:"].iter().any(|made| field.starts_with(made));
    normalise_for_cram(&line.split('\t').filter(|field| !made(field)).collect::<Vec<_>>().join("\t"))
}

/// Returns a CIGAR with = and X replaced by M, and without zero-length operators.
fn normalise_cigar(cigar: &str) -> String {
    let (mut operators, mut n): (Vec<(u64, char)>, u64) = (Vec::new(), 0);
    for c in cigar.chars() {
        if let Some(digit) = c.to_digit(10) {
            n = n * 10 + u64::from(digit);
            continue;
        }
        let c = if matches!(c, '=' | 'X') { 'M' } else { c };
        match operators.last_mut() {
            Some((length, last)) if *last == c && c != '*' => *length += n,
            _ if n == 0 && c != '*' => {}
            _ => operators.push((n, c)),
        }
        n = 0;
    }
    let shown = |&(n, c): &(u64, char)| if c == '*' { "*".to_string() } else { format!("{n}{c}") };
    if operators.is_empty() { "*".into() } else { operators.iter().map(shown).collect() }
}
