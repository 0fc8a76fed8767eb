//! The trait that every output format implements, and the properties of a format.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use readmill_format::bgzf::EOF_BLOCK;
use readmill_record::ledger::UserName;
use readmill_record::{Detail, Header, Ledger, Result};

use super::encoding::{EncoderMaker, NoIndex, PartPlacer};
use super::target_file::{Content, ContigBases, Index, TargetFile};

/// The properties of a format that do not depend on its options: its entry in
/// [`FORMATS`](super::FORMATS).
pub struct FormatSpec {
    /// The name for `-O`, in lower case.
    pub name: &'static str,
    /// The file name extension, with its dot, in lower case.
    pub extension: &'static str,
    pub compression: Compression,
    pub goes_to_terminals: bool,
    /// Whether `cat` can join the parts of an output into a valid file (`--out-parts`).
    pub is_joined_by_cat: bool,
    /// Whether written records can be read back as BAM, so that the output can be restarted.
    /// Presorted reads may be written before the input ends only in this case, because a later read
    /// may belong before them.
    pub can_be_read_back: bool,
    /// Creates the format with default options.
    pub make: fn() -> Format,
    pub options: Option<FormatOptions>,
}

/// The options of a format, which follow its name in `-O`, as in `cram,version=3.1,small`.
pub struct FormatOptions {
    pub examples: &'static [&'static str],
    /// Parses the options and creates the format, or returns a message about an invalid option.
    pub parse: fn(&[&str]) -> Result<Format, String>,
}

/// How a format is compressed, which determines its compression options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// The format is not compressed, and has no level.
    None,
    /// The header, the records and the end marker are in BGZF blocks, with the codec and level of
    /// the output.
    Bgzf,
    /// The format compresses its data itself. It has a level, but no choice of codec.
    Own,
}

impl FormatSpec {
    /// Returns the properties of an uncompressed text format without options.
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

    pub fn is_bgzf(&self) -> bool {
        self.compression == Compression::Bgzf
    }
}

/// Size and memory of parts, for a format that compresses well only in large containers.
#[derive(Clone, Copy, Debug)]
pub struct LargeParts {
    /// Bytes of records in a part.
    pub bytes: u64,
    /// Memory of one encoder in bytes, in addition to its part.
    pub encoder_bytes: u64,
    /// Number of additional copies of a long read in memory while it is encoded.
    pub copies: u64,
    /// The names of two shares in the memory report: for encoders, and for parts in flight.
    pub shares: [UserName; 2],
}

/// An output format for reads, with its options.
///
/// A plan holds it as a [`Format`]. A run writes the bytes of the header, lets
/// [encoders](Self::encoders) convert batches to parts on all threads, and lets the
/// [placer](Self::placer) complete the parts in order:
///
/// ```text
///  header ─► header_bytes ────────────────────────┐
///  batch ─► BatchEncoder::encode ─► part ─┐       │   any thread, in any order
///  batch ─► BatchEncoder::encode ─► part ─┤       ▼
///                                         └─► PartPlacer::place ─► file, end, index   in the order of the file
/// ```
///
/// A format is one file in `src/formats` and an entry in [`FORMATS`](super::FORMATS). It is then
/// available to `-O`, file names, help, splits, extra outputs and jobs in stages. A complete text
/// format that writes names and positions:
///
/// ```
/// use readmill_process::console::Console;
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
    /// Returns the properties that do not depend on options.
    fn spec(&self) -> &'static FormatSpec;

    /// Returns the bytes of the header before BGZF compression. By default, there is no header.
    fn header_bytes(&self, _header: &Header, _content: Content) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Prepares the encoders of a file, for example by loading contigs. Called once, when the file
    /// is opened.
    fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker>;

    /// Returns the placer of a file. The default placer builds no index.
    fn placer(&self, _file: &TargetFile<'_>) -> Result<Box<dyn PartPlacer>> {
        Ok(Box::new(NoIndex))
    }

    /// Returns the bytes at the end of a file, such as the BGZF EOF block.
    fn end_bytes(&self) -> &'static [u8] {
        if self.spec().is_bgzf() { &EOF_BLOCK } else { &[] }
    }

    /// Adds the header fields that the format requires. Called before the header is written or used
    /// elsewhere.
    ///
    /// # Errors
    /// Fails if required data, such as a reference, is missing or contradicts the header.
    fn complete_header(&self, _: &mut Header, _: &ContigBases, _: &Ledger) -> Result<()> {
        Ok(())
    }

    /// Returns whether a file in coordinate order can have an index of this kind.
    fn can_have_index(&self, _index: Index) -> bool {
        false
    }

    /// Returns the part size if the format needs larger parts than BAM.
    fn large_parts(&self) -> Option<LargeParts> {
        None
    }

    /// Returns which parts of a record must be checked before it is encoded.
    fn checked_detail(&self) -> Detail {
        Detail::Whole
    }

    /// Returns a note for users who write this format to a pipe. `_level` is the requested level.
    fn pipe_note(&self, _level: Option<u8>) -> Option<&'static str> {
        None
    }
}

/// A format in a plan: an [`OutputFormat`] that is cheap to clone.
#[derive(Clone, Debug)]
pub struct Format(Arc<dyn OutputFormat>);

impl Format {
    pub fn new(format: impl OutputFormat) -> Self {
        Format(Arc::new(format))
    }

    /// Returns whether both are the same format, possibly with different options.
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
