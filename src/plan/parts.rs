//! An output in parts (`--out-parts`): several files that `cat` joins into one.

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::{Output, Plan};

/// Maximum number of parts. Each part is open twice, and the default limit of open files per
/// process is 1,024.
pub const MAX_PARTS: usize = 256;

/// Returns the name of part `number` (from 1) of the output `whole`, such as `x.bam.part-001`.
///
/// The number follows the complete file name, because a part alone is not a valid BAM file. GNU
/// `split` names its files in the same way (`x.bam.aa`); Hadoop-BAM, whose parts have neither
/// header nor EOF block, uses `part-r-00000`. The number has three digits, so that a shell lists
/// the parts in order.
pub fn part_name(whole: &Path, number: usize) -> PathBuf {
    let mut name = whole.as_os_str().to_owned();
    name.push(format!(".part-{number:03}"));
    name.into()
}

/// Returns the name of the MD5 file of `file` (`--md5`).
pub fn md5_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".md5");
    name.into()
}

impl Output {
    pub fn is_in_parts(&self) -> bool {
        self.parts > 1
    }

    /// Returns the files that hold the records: the output itself, or its parts in order.
    pub fn data_files(&self) -> Vec<PathBuf> {
        if !self.is_in_parts() {
            return vec![self.path.clone()];
        }
        (1..=self.parts).map(|number| part_name(&self.path, number)).collect()
    }

    /// Returns all file names that the output needs: its files and their MD5 files. For an output
    /// in parts, also includes the name of the whole output, from which the index name is formed.
    pub fn all_file_names(&self) -> Vec<PathBuf> {
        let mut names = self.data_files();
        if self.md5 {
            names.extend(self.data_files().iter().map(|file| md5_name(file)));
        }
        names.extend(self.is_in_parts().then(|| self.path.clone()));
        names
    }

    /// Returns a usage error if the options for parts contradict each other. Runs before the output
    /// is opened.
    pub(super) fn check_parts(&self) -> Result<()> {
        if !(1..=MAX_PARTS).contains(&self.parts) {
            return Err(Error::usage(format!("the number of parts must be from 1 to {MAX_PARTS}"))
                .hint("give another number with --out-parts"));
        }
        if !self.is_in_parts() {
            return Ok(());
        }
        if self.path.as_os_str() == "-" {
            return Err(Error::usage("standard output cannot be divided into parts")
                .hint("give a file name with -o, or omit --out-parts"));
        }
        if !self.format.spec().is_joined_by_cat {
            return Err(Error::usage("only BAM can be divided into parts")
                .hint("write BAM, or omit --out-parts"));
        }
        Ok(())
    }
}

impl Plan {
    /// Returns a usage error if parts are requested, but reads are written while the input is still
    /// being read. The total size, which determines where parts end, is then unknown.
    pub(super) fn check_parts(&self) -> Result<()> {
        let in_parts = self.destination.main_output().is_some_and(Output::is_in_parts);
        if in_parts && !self.holds_everything() {
            return Err(Error::usage(
                "--out-parts works only if the same run sorts reads or marks duplicates",
            )
            .hint("sort or mark duplicates in this run (readmill prep), or omit --out-parts"));
        }
        Ok(())
    }
}
