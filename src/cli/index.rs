//! `readmill index`: the index that `readmill align` needs.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::console::log;
use readmill::pause::{self, Moment};
use readmill::plan::parse_size;
use readmill::signal;
use readmill_align::Stage;
use readmill_record::Result;

use super::align::KernelName;

/// Flags of making an index.
#[derive(Args)]
#[command(
    after_help = "The files are those of bwa-mem2 2.2.1, or of minibwa 0.6, byte for byte, so either program reads the \
other's. Making them takes about 10 bytes of memory a base of the reference, 18 from 2^30 bases on."
)]
pub struct IndexArgs {
    /// Reference: FASTA, plain or by gzip
    #[arg(value_name = "REF")]
    reference: PathBuf,
    /// The aligner that will read the index
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    kernel: KernelName,
    /// Prefix of the names of the files [default: REF]
    #[arg(short = 'o', long, value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// Refuse to start if more memory than this is needed
    #[arg(short, long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// Write REF.0123, too, which bwa-mem2 reads and readmill does not
    #[cfg(feature = "bwa")]
    #[arg(long)]
    unpacked: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

impl IndexArgs {
    pub fn run(&self) -> Result<()> {
        let prefix = self.prefix.as_ref().unwrap_or(&self.reference);
        match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => self.bwa(prefix)?,
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => self.minibwa(prefix)?,
        }
        self.say(&format!("the index is {}.*", prefix.display()));
        Ok(())
    }

    fn tell(&self, stage: Stage) {
        match stage {
            Stage::Read => self.say("reading the reference"),
            Stage::Sort => self.say("sorting its suffixes, which takes longest"),
            Stage::Write => self.say("writing the index"),
            Stage::Name => {}
        }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            log(&format!("readmill: {line}"));
        }
    }

    #[cfg(feature = "bwa")]
    fn bwa(&self, prefix: &Path) -> Result<()> {
        use readmill_align::bwa::{IndexOptions, build_index, unfinished};
        let options = IndexOptions { memory: self.memory, unpacked: self.unpacked };
        complete_or_gone(prefix, &unfinished(prefix), |report| {
            build_index(&self.reference, prefix, options, &mut |stage| {
                self.tell(stage);
                report(stage);
            })
        })
    }

    #[cfg(feature = "minibwa")]
    fn minibwa(&self, prefix: &Path) -> Result<()> {
        use readmill_align::minibwa::{build_index, unfinished};
        #[cfg(feature = "bwa")]
        if self.unpacked {
            return Err(readmill_record::Error::usage("--unpacked is for --kernel bwa"));
        }
        complete_or_gone(prefix, &unfinished(prefix), |report| {
            build_index(&self.reference, prefix, self.memory, &mut |stage| {
                self.tell(stage);
                report(stage);
            })
        })
    }
}

/// Makes the index `prefix` by `build`, of which a signal leaves all files or none. They are `partials` before they get
/// their names; `build` tells the function it is given of each stage.
pub fn complete_or_gone(
    prefix: &Path,
    partials: &[PathBuf],
    build: impl FnOnce(&mut dyn FnMut(Stage)) -> Result<()>,
) -> Result<()> {
    signal::remove_too(partials, &format!("the index {}", prefix.display()));
    let mut all_or_none = None;
    let built = build(&mut |stage| match stage {
        Stage::Read | Stage::Write => {}
        Stage::Sort => pause::at(Moment::IndexBegun),
        Stage::Name => {
            all_or_none = Some(signal::hold_off());
            pause::at(Moment::IndexComplete);
        }
    });
    if built.is_ok() {
        signal::complete(partials);
    }
    drop(all_or_none);
    signal::give_way();
    built
}
