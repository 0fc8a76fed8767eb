//! The samples that are compared: simulated ones, each of which stresses different rules, and the
//! user's BAM files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use readmill_simulate::{Flowcell, Profile, Qualities};

use crate::commands::SampleDir;

enum ReadOrigin {
    Simulated(Profile),
    File(PathBuf),
}

pub struct Sample {
    pub name: String,
    pub about: &'static str,
    /// Run all comparisons on this sample even with `--quick`.
    pub is_first: bool,
    /// Use this sample even with `--quick`.
    pub is_quick: bool,
    /// Many reads tie in score and location, so that the tie rules decide which is the duplicate.
    pub has_ties: bool,
    pub has_umis: bool,
    pub has_all_kinds: bool,
    pub is_grouped: bool,
    /// The sample does not fit in the minimum memory and spills to disk. It is compared only with
    /// samtools and with other runs of readmill.
    pub is_deep: bool,
    reads: ReadOrigin,
}

impl SampleFiles {
    pub fn with_reference_and_sites(reference: &str, sites: &str) -> Self {
        let (reference, sites) = (reference.to_owned(), sites.to_owned());
        SampleFiles { reference, dictionary: "ref.dict".to_owned(), sites }
    }
}

/// Returns the eight simulated samples, each with `pairs` templates. The deep sample has five times
/// as many, and at least 100,000, enough to spill.
pub fn simulated_samples(pairs: u64) -> Vec<Sample> {
    let base = Profile::small().with_pairs(pairs);
    let sample = |seed, name: &str, about, change: fn(&mut Profile)| {
        let mut profile = base.clone().with_seed(seed);
        change(&mut profile);
        Sample {
            name: name.to_owned(),
            about,
            is_first: seed == 1,
            // With `--quick`, these samples are skipped: patterned, umi, single, amplicon. The sample
            // `spliced` has UMIs, too.
            is_quick: ![2, 3, 4, 7].contains(&seed),
            has_ties: profile.umi_names,
            has_umis: profile.umi_names,
            has_all_kinds: profile.unmapped_per_mille > base.unmapped_per_mille,
            is_grouped: true,
            is_deep: false,
            reads: ReadOrigin::Simulated(profile),
        }
    };
    let deep = sample(6, "deep", "most templates, so that little memory spills", |profile| {
        profile.pairs = (5 * profile.pairs).max(100_000);
    });
    let spliced =
        sample(8, "spliced", "introns; many molecules of a place, told apart by UMIs", |profile| {
            profile.introns = true;
            profile.umi_names = true;
            profile.amplicons = 400;
            profile.duplicates_per_mille = 300;
        });
    vec![
        sample(1, "default", "two libraries, full quality ladder, HiSeq names", |_| {}),
        sample(2, "patterned", "binned qualities, x and y beyond 32767", |profile| {
            profile.flowcell = Flowcell::Patterned;
            profile.qualities = Qualities::Binned;
        }),
        sample(3, "umi", "names of eight fields have no location: ties go by order", |profile| {
            profile.umi_names = true;
            profile.qualities = Qualities::Binned;
            profile.duplicates_per_mille = 300;
        }),
        sample(4, "single", "40 % single-end reads, 5 % half-mapped pairs", |profile| {
            profile.single_per_mille = 400;
            profile.half_mapped_per_mille = 50;
        }),
        sample(5, "broken", "15 % each half-mapped, chimeric and split; 5 % unmapped", |profile| {
            profile.half_mapped_per_mille = 150;
            profile.chimeric_per_mille = 150;
            profile.supplementary_per_mille = 150;
            profile.unmapped_per_mille = 50;
            profile.libraries = 3;
        }),
        sample(
            7,
            "amplicon",
            "one library, all pairs from twelve places, 40 % optical duplicates",
            |profile| {
                profile.amplicons = 12;
                profile.libraries = 1;
                profile.optical_per_mille = 400;
            },
        ),
        Sample { has_ties: false, ..spliced },
        Sample { is_deep: true, ..deep },
    ]
}

/// Returns a sample that is simulated from a profile.
pub fn sample_of_profile(profile: Profile) -> Sample {
    Sample { reads: ReadOrigin::Simulated(profile), ..sample_with_libraries(1, 1) }
}

/// Returns a sample with all kinds of reads that duplicate metrics count: optical duplicates,
/// unmapped and single reads, supplementary alignments. Metrics are per library, so the number of
/// libraries is a parameter.
pub fn sample_with_libraries(libraries: u32, pairs: u64) -> Sample {
    let profile = Profile {
        libraries,
        optical_per_mille: 50,
        unmapped_per_mille: 30,
        half_mapped_per_mille: 50,
        supplementary_per_mille: 30,
        single_per_mille: 100,
        ..Profile::small().with_seed(7).with_pairs(pairs)
    };
    Sample {
        name: format!("libraries.{libraries}"),
        about: "all that metrics count",
        is_first: false,
        is_quick: true,
        has_ties: false,
        has_umis: false,
        has_all_kinds: true,
        is_grouped: true,
        is_deep: false,
        reads: ReadOrigin::Simulated(profile),
    }
}

pub struct SampleFiles {
    pub reference: String,
    /// Sequence dictionary of the reference; the file need not exist.
    pub dictionary: String,
    pub sites: String,
}

impl Sample {
    /// Puts the reference and the known sites into the directory of the sample. For a simulated
    /// sample, they are simulated as well. For a user's file, `ref.fasta.gz`, `known.vcf.gz` and
    /// `known.vcf.gz.tbi` next to it are linked; `None` if one of them is missing.
    pub fn prepare_known_files(&self, dir: &SampleDir<'_>) -> Result<Option<SampleFiles>> {
        match &self.reads {
            ReadOrigin::Simulated(profile) => {
                let sample = readmill_simulate::Sample::new(profile.clone());
                sample.write_fasta(&mut BufWriter::new(File::create(dir.path("ref.fasta"))?))?;
                sample.write_known_sites(&mut BufWriter::new(File::create(dir.path("known.vcf"))?))?;
                Ok(Some(SampleFiles::with_reference_and_sites("ref.fasta", "known.vcf")))
            }
            ReadOrigin::File(path) => {
                for name in ["ref.fasta.gz", "known.vcf.gz", "known.vcf.gz.tbi"] {
                    let (source, target) = (path.with_file_name(name), dir.path(name));
                    if !source.exists() {
                        return Ok(None);
                    }
                    if !target.exists() {
                        std::os::unix::fs::symlink(source, target)?;
                    }
                }
                Ok(Some(SampleFiles::with_reference_and_sites("ref.fasta.gz", "known.vcf.gz")))
            }
        }
    }

    /// Creates a sample from the user's BAM file. The sort order in its header determines whether
    /// templates are adjacent. Returns an error if samtools cannot read the header.
    pub fn from_file(path: &Path) -> Result<Self> {
        let path = path.canonicalize().with_context(|| format!("no {}", path.display()))?;
        let header = Command::new("samtools").args(["view", "-H"]).arg(&path).output()?;
        if !header.status.success() {
            bail!("samtools does not read {}", path.display());
        }
        let header = String::from_utf8_lossy(&header.stdout);
        let is_sorted = header.lines().next().is_some_and(|line| line.contains("\tSO:coordinate"));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().replace(' ', "_");
        Ok(Sample {
            name,
            about: "a given file",
            is_first: true,
            is_quick: true,
            has_ties: true,
            has_umis: false,
            has_all_kinds: true,
            is_grouped: !is_sorted,
            is_deep: false,
            reads: ReadOrigin::File(path),
        })
    }

    pub fn is_given(&self) -> bool {
        matches!(self.reads, ReadOrigin::File(_))
    }

    /// Puts the reads into `in.bam`: a link to the user's file, or simulated reads that samtools
    /// compresses.
    pub fn write_input_bam(&self, dir: &SampleDir<'_>) -> Result<()> {
        let target = dir.path("in.bam");
        if target.exists() {
            std::fs::remove_file(&target)?;
        }
        match &self.reads {
            ReadOrigin::File(path) => Ok(std::os::unix::fs::symlink(path, target)?),
            ReadOrigin::Simulated(profile) => write_simulated_bam(dir, profile.clone()),
        }
    }
}

fn write_simulated_bam(dir: &SampleDir<'_>, profile: Profile) -> Result<()> {
    let sample = readmill_simulate::Sample::new(profile);
    let mut samtools = dir.samtools_command("view --no-PG -b -o in.bam -");
    let mut samtools = samtools.stdin(Stdio::piped()).spawn().context("samtools does not start")?;
    let mut pipe = samtools.stdin.take().context("samtools has no input")?;
    let mut bytes = Vec::new();
    sample.raw_header(&mut bytes);
    let mut records = sample.records();
    while records.append_next(&mut bytes) {
        if bytes.len() > 1 << 16 {
            pipe.write_all(&bytes)?;
            bytes.clear();
        }
    }
    pipe.write_all(&bytes)?;
    drop(pipe);
    if !samtools.wait()?.success() {
        bail!("samtools does not take the simulated reads");
    }
    Ok(())
}
