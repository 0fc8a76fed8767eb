//! Finds the FASTA file of a file of reads: one with the contigs of its header.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::parity::commands::SampleDir;

/// Length and MD5 of contigs by their names.
type Contigs = HashMap<String, (String, String)>;

/// The FASTA files of a corpus, copied to where indexes can be written beside them.
pub struct References {
    /// Where each came from, its copy, and its contigs.
    list: Vec<(PathBuf, String, Contigs)>,
}

/// A FASTA file that fits a header.
pub struct Fitting {
    /// The name of its copy.
    pub name: String,
    /// Whether the header names no other MD5 for a contig.
    pub is_same: bool,
}

impl References {
    /// The FASTA files below `root`.
    pub fn below(root: &Path, dir: &SampleDir<'_>) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, &mut files)?;
        files.sort();
        let mut list = Vec::new();
        for (number, file) in files.into_iter().enumerate() {
            let name = format!("reference.{number}");
            fs::copy(&file, dir.path(&format!("{name}.fa")))?;
            let dictionary = format!("dict -o {name}.dict {name}.fa");
            if dir.newest(&format!("faidx {name}.fa")).is_ok() && dir.newest(&dictionary).is_ok() {
                let header = fs::read_to_string(dir.path(&format!("{name}.dict")))?;
                list.push((file, format!("{name}.fa"), contigs(&header).collect()));
            }
        }
        Ok(References { list })
    }

    /// The one whose contigs a file's header has: of several one with the same MD5s, and the nearest.
    pub fn of(&self, dir: &SampleDir<'_>, file: &Path) -> Result<Option<Fitting>> {
        let mut command = dir.newest_command("view -H");
        let output = command.arg(file).output()?;
        let header = String::from_utf8_lossy(&output.stdout).into_owned();
        let wanted: Contigs = contigs(&header).collect();
        let fits = |it: &&(PathBuf, String, Contigs)| {
            let has = |(name, (length, _)): (&String, &(String, String))| {
                it.2.get(name).is_some_and(|(known, _)| known == length)
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
            self.list.iter().filter(fits).max_by_key(|(path, _, has)| (is_same(has), shared(path)));
        Ok(best.map(|(_, name, has)| Fitting { name: name.clone(), is_same: is_same(has) }))
    }
}

/// The contigs of a header, those without MD5 with an empty one.
fn contigs(header: &str) -> impl Iterator<Item = (String, (String, String))> {
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
