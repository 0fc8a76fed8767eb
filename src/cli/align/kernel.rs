//! Which aligner, and how it aligns.

use clap::{Args, ValueEnum};
use readmill::plan::Aligner;
use readmill_record::Result;

#[cfg(feature = "bwa")]
use super::bwa::BwaFlags;
#[cfg(feature = "minibwa")]
use super::minibwa::MinibwaFlags;
use super::shared::SharedFlags;

/// An aligner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// bwa mem
    #[cfg(feature = "bwa")]
    #[default]
    Bwa,
    /// minibwa
    #[cfg(feature = "minibwa")]
    #[cfg_attr(not(feature = "bwa"), default)]
    Minibwa,
}

/// The aligner and its options.
#[derive(Args)]
#[command(next_help_heading = "Alignment")]
pub struct KernelFlags {
    /// Aligner; each has an index of its own
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    kernel: KernelName,
    #[command(flatten)]
    shared: SharedFlags,
    #[cfg(feature = "bwa")]
    #[command(flatten)]
    bwa: BwaFlags,
    #[cfg(feature = "minibwa")]
    #[command(flatten)]
    minibwa: MinibwaFlags,
}

impl KernelFlags {
    /// The aligner with its options, and the words that say them.
    pub fn aligner(&self) -> Result<(Aligner, Vec<String>)> {
        match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => {
                #[cfg(feature = "minibwa")]
                refuse(self.minibwa.is_given(), "--minibwa is for --kernel minibwa")?;
                let (options, words) = self.bwa.options(&self.shared)?;
                Ok((Aligner::Bwa(Box::new(options)), words))
            }
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => {
                #[cfg(feature = "bwa")]
                refuse(self.bwa.is_given(), "--bwa and -M are for --kernel bwa")?;
                let (options, words) = self.minibwa.options(&self.shared)?;
                Ok((Aligner::Minibwa(Box::new(options)), words))
            }
        }
    }
}

#[cfg(all(feature = "bwa", feature = "minibwa"))]
fn refuse(given: bool, what: &str) -> Result<()> {
    if given { Err(readmill_record::Error::usage(what)) } else { Ok(()) }
}
