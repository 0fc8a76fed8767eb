//! An output in parts: several files that `cat` joins to one.

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::{Output, Plan};

/// Parts of an output, at most: each is open twice, and a process may have 1,024 files open where nobody has said
/// otherwise.
pub const MAX_PARTS: usize = 256;

/// The name of part `number`, from 1, of the output `whole`. The number stands behind the whole name because a part is no
/// BAM file by itself: `split` of GNU coreutils (`x.bam.aa`) and Hadoop-BAM, whose parts have neither header nor EOF
/// block (`part-r-00000`), do not call theirs `.bam` either. It has three digits, so that a shell gives the parts in their
/// order.
pub fn part_name(whole: &Path, number: usize) -> PathBuf {
    let mut name = whole.as_os_str().to_owned();
    name.push(format!(".part-{number:03}"));
    name.into()
}

/// The name of the file with the MD5 of another.
pub fn md5_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".md5");
    name.into()
}

impl Output {
    /// Whether it is cut into parts.
    pub fn is_in_parts(&self) -> bool {
        self.parts > 1
    }

    /// The names of its files: its own, or those of its parts in their order.
    pub fn files(&self) -> Vec<PathBuf> {
        if !self.is_in_parts() {
            return vec![self.path.clone()];
        }
        (1..=self.parts).map(|number| part_name(&self.path, number)).collect()
    }

    /// All names that it takes: also that of the whole, which its index goes by.
    pub fn names(&self) -> Vec<PathBuf> {
        let mut names = self.files();
        if self.md5 {
            names.extend(self.files().iter().map(|file| md5_name(file)));
        }
        names.extend(self.is_in_parts().then(|| self.path.clone()));
        names
    }

    /// Checks what can be checked before it is opened.
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
            return Err(
                Error::usage("only BAM can be written in parts").hint("write BAM, or omit --out-parts")
            );
        }
        Ok(())
    }
}

impl Plan {
    /// Refuses parts where it is not known how many reads will come when the first of them leave.
    pub(super) fn check_parts(&self) -> Result<()> {
        let in_parts = self.destination.main().is_some_and(Output::is_in_parts);
        if in_parts && !self.holds_everything() {
            return Err(Error::usage(
                "reads are written while the input is read, so the output cannot be divided into parts",
            )
            .hint("sort or mark duplicates in the same run (readmill prep), or omit --out-parts"));
        }
        Ok(())
    }
}
