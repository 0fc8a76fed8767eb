//! Which FASTA file belongs to which file of reads: one whose contigs are those of the header.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::parity::commands::Place;

/// The FASTA files of a corpus, copied to where indexes can be written beside them.
pub struct References {
    /// Where each came from, its copy, and the lengths of its contigs.
    list: Vec<(PathBuf, String, HashMap<String, usize>)>,
}

impl References {
    /// Those below `root`.
    pub fn below(root: &Path, place: &Place<'_>) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, &mut files)?;
        files.sort();
        let mut list = Vec::new();
        for (number, file) in files.into_iter().enumerate() {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let (mut contigs, mut name) = (HashMap::new(), None);
            for line in text.lines() {
                match line.strip_prefix('>') {
                    Some(head) => name = head.split_whitespace().next().map(str::to_string),
                    None => {
                        *contigs.entry(name.clone().unwrap_or_default()).or_default() +=
                            line.trim().len()
                    }
                }
            }
            let copy = format!("reference.{number}.fa");
            fs::write(place.path(&copy), text)?;
            if place.newest(&format!("faidx {copy}")).is_ok() {
                let _ = place.newest(&format!("dict -o reference.{number}.dict {copy}"));
                list.push((file, copy, contigs));
            }
        }
        Ok(References { list })
    }

    /// The one whose contigs a file's header has, the nearest of several.
    pub fn of(&self, place: &Place<'_>, file: &Path) -> Result<Option<String>> {
        let mut command = place.newest_command("view -H");
        let output = command.arg(file).output()?;
        let header = String::from_utf8_lossy(&output.stdout).into_owned();
        let contigs: Vec<(String, usize)> = header
            .lines()
            .filter(|line| line.starts_with("@SQ\t"))
            .filter_map(|line| {
                let value = |tag: &str| line.split('\t').find_map(|field| field.strip_prefix(tag));
                Some((value("SN:")?.to_string(), value("LN:")?.parse().ok()?))
            })
            .collect();
        let fits = |of: &&(PathBuf, String, HashMap<String, usize>)| {
            !contigs.is_empty() && contigs.iter().all(|(name, length)| of.2.get(name) == Some(length))
        };
        let shared =
            |path: &Path| path.components().zip(file.components()).take_while(|(a, b)| a == b).count();
        let best = self.list.iter().filter(fits).max_by_key(|of| shared(&of.0));
        Ok(best.map(|(_, copy, _)| copy.clone()))
    }
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
