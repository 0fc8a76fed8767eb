//! A file that has its name only when it is whole.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use crate::index_files::named;
use crate::indexing::Stage;

/// A temporary file next to its final path; it is removed on drop unless it is kept.
pub(crate) struct Partial {
    place: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
    kept: bool,
}

/// The temporary names of the files that will become `prefix` with these suffixes.
pub(crate) fn meanwhile(prefix: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    suffixes.iter().map(|suffix| in_work(&named(prefix, suffix))).collect()
}

fn in_work(place: &Path) -> PathBuf {
    named(place, &format!(".{}.partial", std::process::id()))
}

impl Partial {
    pub(crate) fn new(prefix: &Path, suffix: &str) -> Result<Self> {
        let place = named(prefix, suffix);
        let partial = in_work(&place);
        let failed = |error: std::io::Error| {
            let taken = error.kind() == ErrorKind::AlreadyExists;
            let error = Error::io("creating it", &error).file(&partial);
            if taken { error.hint("remove it, if no other run is making this index") } else { error }
        };
        // A link is not followed, and a file that another run writes is left alone.
        let file = File::create_new(&partial).map_err(failed)?;
        Ok(Partial { place, partial, out: BufWriter::with_capacity(1 << 20, file), kept: false })
    }

    /// A file of these bytes.
    #[cfg(feature = "bwa")]
    pub(crate) fn whole(prefix: &Path, suffix: &str, bytes: &[u8]) -> Result<Self> {
        let mut file = Self::new(prefix, suffix)?;
        file.write(bytes)?;
        Ok(file)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io("writing it", &error).file(&self.partial))
    }

    /// Makes sure that all files are on the disk, then gives them their names. `watch` is called between.
    pub(crate) fn keep_all(files: Vec<Self>, watch: &mut dyn FnMut(Stage)) -> Result<()> {
        let mut files = files;
        files.iter_mut().try_for_each(Self::sync)?;
        watch(Stage::Name);
        files.into_iter().try_for_each(Self::keep)
    }

    fn sync(&mut self) -> Result<()> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        synced.map_err(|error| Error::io("writing it", &error).file(&self.place))
    }

    fn keep(mut self) -> Result<()> {
        let named = std::fs::rename(&self.partial, &self.place);
        named.map_err(|error| Error::io("writing it", &error).file(&self.place))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}
