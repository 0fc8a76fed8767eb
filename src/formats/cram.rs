//! The CRAM output format: its options, its reference bases, and its CRAI index.

use readmill_cram::{self as cram, CraiBuilder, EncoderOptions, Profile, References, Version};
use readmill_format::bgzf::DEFAULT_LEVEL;
use readmill_record::header::HeaderLine;
use readmill_record::{Batch, Error, Header, Ledger, Result};

use super::encoding::{BatchEncoder, EncoderMaker, PartEntries, PartPlacer};
use super::output_format::{Compression, Format, FormatOptions, FormatSpec, LargeParts, OutputFormat};
use super::target_file::{Content, ContigBases, Index, TargetFile};

pub(super) static SPEC: FormatSpec = FormatSpec {
    name: "cram",
    extension: ".cram",
    compression: Compression::Own,
    goes_to_terminals: false,
    is_joined_by_cat: false,
    can_be_read_back: false,
    make: || Format::new(CramFormat::default()),
    options: Some(FormatOptions {
        examples: &["version=3.1", "small", "no-ref"],
        parse: |words| CramFormat::parse(words).map(Format::new),
    }),
};

#[derive(Debug)]
pub struct CramFormat {
    pub version: Version,
    /// The compression profile of version 3.1, such as `small`.
    pub profile: Profile,
    /// Store all bases instead of differences from a reference (`no-ref`).
    pub no_reference: bool,
}

impl Default for CramFormat {
    fn default() -> Self {
        CramFormat { version: Version::DEFAULT, profile: Profile::default(), no_reference: false }
    }
}

impl CramFormat {
    /// Parses options such as `version=3.0` and `no-ref`.
    fn parse(words: &[&str]) -> Result<Self, String> {
        let (mut version, mut profile, mut no_reference) = (None, None, false);
        for &word in words {
            let named = word.strip_prefix("profile=").unwrap_or(word);
            match word {
                "version=3.0" => version = Some(Version::DEFAULT),
                "version=3.1" => version = Some(Version::V3_1),
                "no-ref" | "no_ref" => no_reference = true,
                _ => match Profile::ALL.iter().find(|(name, _)| *name == named) {
                    Some(&(_, known)) => profile = Some(known),
                    None => {
                        return Err(format!(
                            "{word:?} is not a CRAM option; the options are version=3.0, version=3.1, no-ref, and for 3.1 the profiles fast, normal, small and archive"
                        ));
                    }
                },
            }
        }
        if version == Some(Version::DEFAULT) && profile.is_some() {
            return Err("version 3.0 has no profiles: use version=3.1".into());
        }
        // A profile selects the version that supports it.
        let usual = if profile.is_some() { Version::V3_1 } else { Version::DEFAULT };
        let (version, profile) = (version.unwrap_or(usual), profile.unwrap_or_default());
        Ok(CramFormat { version, profile, no_reference })
    }

    /// Returns the default gzip level.
    fn usual_level(&self) -> u8 {
        if self.version >= Version::V3_1 { self.profile.gzip_level() } else { DEFAULT_LEVEL }
    }

    /// Returns the bases of contigs; `None` if all bases are stored.
    fn references(
        &self,
        bases: &ContigBases,
        header: &Header,
        ledger: &Ledger,
    ) -> Result<Option<References>> {
        if self.no_reference {
            return Ok(None);
        }
        let fasta = bases.reference.as_ref().map(|fasta| fasta.open(ledger)).transpose()?;
        References::new(header, fasta.as_ref(), &bases.cache, ledger).map(Some)
    }
}

impl OutputFormat for CramFormat {
    fn spec(&self) -> &'static FormatSpec {
        &SPEC
    }

    fn header_bytes(&self, header: &Header, _: Content) -> Result<Vec<u8>> {
        cram::header_container(header, self.version)
    }

    fn encoders(&self, file: &TargetFile<'_>) -> Result<EncoderMaker> {
        let references = self.references(file.bases, file.header, file.ledger)?;
        let level = file.level.unwrap_or(self.usual_level()).max(1);
        let mut options = EncoderOptions::new(file.header, self.version, references, level, file.ledger);
        options.profile = self.profile;
        Ok(EncoderMaker::new(move |_| Box::new(cram::Encoder::new(&options))))
    }

    fn placer(&self, file: &TargetFile<'_>) -> Result<Box<dyn PartPlacer>> {
        let is_indexed = file.is_sorted && file.is_regular && file.index != Index::No;
        Ok(Box::new(CramPlacer { crai: is_indexed.then(CraiBuilder::default), records: 0 }))
    }

    fn end_bytes(&self) -> &'static [u8] {
        &cram::EOF
    }

    /// Adds M5 to the `@SQ` lines of contigs in the reference, because CRAM requires it. In version
    /// 3.1, also adds UR, the path that samtools uses to find the reference. Version 3.0 files get
    /// no UR, so their bytes do not depend on the path of the reference.
    ///
    /// # Errors
    /// Like samtools, fails if M5 of the reference differs from the header. Without a reference,
    /// fails if M5 locates the bases of no contig.
    fn complete_header(&self, header: &mut Header, bases: &ContigBases, ledger: &Ledger) -> Result<()> {
        if self.no_reference {
            return Ok(());
        }
        let Some(fasta) = &bases.reference else {
            let found = self.references(bases, header, ledger)?;
            let has_any = found.is_none_or(|references| references.has_any_bases());
            return if has_any { Ok(()) } else { Err(missing_bases_error(bases)) };
        };
        let path = (self.version >= Version::V3_1).then(|| std::path::absolute(fasta.path()).ok());
        let (reference, path) = (fasta.open(ledger)?, path.flatten());
        let numbers = reference.match_contigs(header)?;
        let mut lines: Vec<HeaderLine> = header.lines_of_kind(b"SQ").cloned().collect();
        for (line, number) in lines.iter_mut().zip(numbers) {
            let Some(number) = number else { continue };
            let md5 = cram::contig_md5(&reference, number)?;
            match line.get(b"M5") {
                None => line.set_field(b"M5", md5.as_bytes()),
                Some(told) if told.eq_ignore_ascii_case(md5.as_bytes()) => {}
                Some(told) => return Err(different_reference_error(line, told, &md5)),
            }
            // A header field cannot contain a tab or a line break.
            if let Some(path) = path.as_ref().map(|path| path.as_os_str().as_encoded_bytes())
                && !path.iter().any(u8::is_ascii_control)
            {
                line.set_field(b"UR", path);
            }
        }
        header.replace_lines(b"SQ", lines, &[])
    }

    fn can_have_index(&self, index: Index) -> bool {
        !matches!(index, Index::Kind(_))
    }

    fn large_parts(&self) -> Option<LargeParts> {
        // A long read is in memory as data series, and one of them exists twice while it is
        // compressed. In version 3.1, its qualities may also be stored in reverse.
        Some(LargeParts {
            bytes: cram::partition_bytes(self.version, self.profile),
            encoder_bytes: cram::max_encoder_bytes(self.version, self.profile) as u64,
            copies: if self.version >= Version::V3_1 { 4 } else { 3 },
            shares: ["CRAM encoders", "partitions for CRAM"],
        })
    }
}

/// Returns the error if there is no reference, and REF_CACHE and REF_PATH contain the bases of no
/// contig.
fn missing_bases_error(bases: &ContigBases) -> Error {
    let what = "CRAM needs the reference, which was not found: neither by the M5 of a contig in REF_CACHE or REF_PATH, nor in an indexed FASTA file that UR in the header names";
    let error = if bases.cache.is_empty() { Error::usage(what) } else { Error::input(what) };
    error.hint(
        "give the FASTA file with --reference, set REF_CACHE or REF_PATH to a directory of sequences named by their MD5, or store all bases with -O cram,no-ref",
    )
}

/// Returns the error if M5 of a contig differs between the header and the reference.
fn different_reference_error(line: &HeaderLine, told: &[u8], md5: &str) -> Error {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (contig, told) = (text(line.get(b"SN").unwrap_or_default()), text(told));
    Error::input(format!(
        "contig {contig} has M5 {told} in the header, but {md5} in the reference for CRAM"
    ))
    .hint("give the reference that the reads were aligned to, or store all bases with -O cram,no-ref")
}

impl BatchEncoder for cram::Encoder {
    fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<PartEntries> {
        Ok(PartEntries { cram: self.encode_partition(batch, out)?, ..PartEntries::default() })
    }
}

/// Sets the record counters in container headers, and collects the CRAI index.
struct CramPlacer {
    /// `None` if no index is written.
    crai: Option<CraiBuilder>,
    /// Number of records in all previous parts.
    records: u64,
}

impl PartPlacer for CramPlacer {
    fn place(&mut self, entries: PartEntries, bytes: &mut [u8], records: u64, offset: u64) {
        entries.cram.set_record_counters(bytes, self.records);
        self.records += records;
        if let Some(crai) = &mut self.crai {
            entries.cram.index_entries().for_each(|(at, entries)| crai.add(entries, offset + at));
        }
    }

    fn index_suffix(&self) -> Option<&'static str> {
        self.crai.as_ref().map(|_| ".crai")
    }

    fn omits_index(&self) -> bool {
        self.crai.as_ref().is_some_and(|crai| !crai.is_sorted())
    }

    fn into_index(self: Box<Self>) -> Result<Vec<u8>> {
        self.crai.map_or(Ok(Vec::new()), |crai| crai.to_bytes())
    }
}
