//! What a format of output is.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use readmill_format::bgzf::EOF_BLOCK;
use readmill_record::ledger::UserName;
use readmill_record::{Detail, Header, Ledger, Result};

use super::encoding::{EncoderMaker, NoIndex, PartPlacer};
use super::target_file::{Content, ContigBases, Index, TargetFile};

/// What is known of a format without its options: the row of [`FORMATS`](super::FORMATS).
pub struct FormatSpec {
    /// Its name for `-O`, in lower case.
    pub name: &'static str,
    /// The end of the names of such files, with its dot, in lower case.
    pub extension: &'static str,
    /// Who compresses it.
    pub compression: Compression,
    /// Whether it may be written to a terminal.
    pub goes_to_terminals: bool,
    /// Whether `cat` can join parts of a file to the whole.
    pub is_joined_by_cat: bool,
    /// Whether records that are already written can be read back as BAM, so that the output begins anew: reads that
    /// come in order leave before all have come, in the hope that no later one belongs before them.
    pub can_be_read_back: bool,
    /// Makes the format with default options.
    pub make: fn() -> Format,
    /// Its options, if it has any.
    pub options: Option<FormatOptions>,
}

/// The options of a format, which follow its name in `-O`: `cram,version=3.1,small`.
pub struct FormatOptions {
    /// Examples for the help.
    pub examples: &'static [&'static str],
    /// Makes the format with these options, or says what is wrong with them.
    pub parse: fn(&[&str]) -> Result<Format, String>,
}

/// Who compresses a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Nobody: it has no level.
    None,
    /// It is made of BGZF blocks: the header, encoders and the end use the codec and the level of the output.
    Bgzf,
    /// The format itself: it has a level, but no codec to be chosen.
    Own,
}

impl FormatSpec {
    /// Describes a format of text that is not compressed and has no options.
    pub const fn text(name: &'static str, extension: &'static str, make: fn() -> Format) -> Self {
        FormatSpec {
            name,
            extension,
            compression: Compression::None,
            goes_to_terminals: true,
            is_joined_by_cat: false,
            can_be_read_back: false,
            make,
            options: None,
        }
    }

    /// Whether it is made of BGZF blocks.
    pub fn is_bgzf(&self) -> bool {
        self.compression == Compression::Bgzf
    }
}

/// Parts larger than those of BAM, for a format that compresses well only in large containers, and their memory.
#[derive(Clone, Copy, Debug)]
pub struct LargeParts {
    /// Bytes of records in a part.
    pub bytes: u64,
    /// Bytes of memory of one thread's encoder, besides its part.
    pub encoder_bytes: u64,
    /// How many more copies of a long read are in memory while it is encoded.
    pub copies: u64,
    /// The names of the memory of encoders, and of the parts under way.
    pub shares: [UserName; 2],
}

/// A format that reads are written in, with its options.
///
/// A plan holds it as a [`Format`]. The run asks it for the header's bytes, has [encoders](Self::encoders) turn batches
/// into parts on all threads, and its [placer](Self::placer) complete the parts in their order:
///
/// ```text
///  header ─► header_bytes ────────────────────────┐
///  batch ─► BatchEncoder::encode ─► part ─┐       │   any thread, in any order
///  batch ─► BatchEncoder::encode ─► part ─┤       ▼
///                                         └─► PartPlacer::place ─► file, end, index   in the order of the file
/// ```
///
/// A format is one file in `src/formats` and a row of [`FORMATS`](super::FORMATS); `-O`, names of files, help, splits,
/// extra outputs and stages then know it. A text of names and positions is all of this:
///
/// ```
/// use readmill::console::Console;
/// use readmill::formats::{EncoderMaker, Format, FormatSpec, OutputFormat, TargetFile, TextFormat};
/// use readmill::plan::{Destination, Output, Plan, Verbosity};
/// use readmill_record::{Header, RecordRef, Result};
///
/// static SPEC: FormatSpec =
///     FormatSpec::text("positions", ".positions", || Format::new(PositionsFormat));
///
/// /// The name and the position of each read, separated by a tab.
/// #[derive(Clone, Debug)]
/// struct PositionsFormat;
///
/// impl OutputFormat for PositionsFormat {
///     fn spec(&self) -> &'static FormatSpec {
///         &SPEC
///     }
///
///     fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker> {
///         Ok(EncoderMaker::of_text(self, file))
///     }
/// }
///
/// impl TextFormat for PositionsFormat {
///     fn write_record(&self, _: &Header, record: RecordRef<'_>, out: &mut Vec<u8>) -> Result<()> {
///         out.extend_from_slice(record.qname());
///         out.extend_from_slice(format!("\t{}\n", record.pos() + 1).as_bytes());
///         Ok(())
///     }
/// }
///
/// # let directory = tempfile::tempdir().unwrap();
/// # let [input, output] = ["in.sam", "out.positions"].map(|name| directory.path().join(name));
/// std::fs::write(&input, "@SQ\tSN:c\tLN:9\nr1\t0\tc\t3\t60\t1M\t*\t0\t0\tA\t#\n").unwrap();
/// let mut plan = Plan::new([&input], &output);
/// plan.resources.verbosity = Verbosity::Quiet;
/// let output = Output { format: Format::new(PositionsFormat), ..Output::new(output) };
/// # let written = output.path.clone();
/// plan.destination = Destination::Main(output, Vec::new());
/// readmill::run(&plan, &Console::new(Verbosity::Quiet))?;
/// assert_eq!(std::fs::read_to_string(written).unwrap(), "r1\t3\n");
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait OutputFormat: Debug + Send + Sync + 'static {
    /// Returns what is known of it without its options.
    fn spec(&self) -> &'static FormatSpec;

    /// Returns the bytes of the header, before they become BGZF; by default there is none.
    fn header_bytes(&self, _header: &Header, _content: Content) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Prepares encoding for a file, such as by loading contigs. Called once for a file, when it is opened.
    fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker>;

    /// Returns what completes the parts of a file in their order, and keeps its index; by default, nothing is to be done.
    fn placer(&self, _file: &TargetFile<'_>) -> Result<Box<dyn PartPlacer>> {
        Ok(Box::new(NoIndex))
    }

    /// Returns the last bytes of a file.
    fn end_bytes(&self) -> &'static [u8] {
        if self.spec().is_bgzf() { &EOF_BLOCK } else { &[] }
    }

    /// Adds what the format needs to the header, before it is written or shown to anything else.
    ///
    /// # Errors
    /// What it needs is not there, or contradicts the header.
    fn complete_header(&self, _: &mut Header, _: &ContigBases, _: &Ledger) -> Result<()> {
        Ok(())
    }

    /// Whether a file in coordinate order can have this index, if it is required.
    fn can_have_index(&self, _index: Index) -> bool {
        false
    }

    /// Returns the parts that it needs if those of BAM are too small.
    fn large_parts(&self) -> Option<LargeParts> {
        None
    }

    /// Returns how much of a record must have been checked before it is encoded.
    fn checked_detail(&self) -> Detail {
        Detail::Whole
    }

    /// Returns what to tell a user who writes it into a pipe, with the level that was asked for.
    fn pipe_note(&self, _level: Option<u8>) -> Option<&'static str> {
        None
    }
}

/// A format in a plan: an [`OutputFormat`] that is cheap to clone.
#[derive(Clone, Debug)]
pub struct Format(Arc<dyn OutputFormat>);

impl Format {
    /// Returns a format as part of a plan.
    pub fn new(format: impl OutputFormat) -> Self {
        Format(Arc::new(format))
    }

    /// Whether both have the same name, whatever their options.
    pub fn has_name_of(&self, other: &Format) -> bool {
        self.spec().name == other.spec().name
    }
}

impl Deref for Format {
    type Target = dyn OutputFormat;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
