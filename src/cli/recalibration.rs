//! Flags for base quality recalibration, with the names used by GATK BaseRecalibrator and
//! ApplyBQSR. Shared by `prep`, `align` and `bqsr`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use readmill::plan::{ApplyRequest, TableRequest};
use readmill_bqsr::covariates::MAX_CONTEXT_SIZE;
use readmill_bqsr::recalibration::MAX_CYCLES;
use readmill_bqsr::{ApplyOptions, Arguments, CountOptions, RecalWriteOptions};
use readmill_record::{Error, Result};

#[derive(Args)]
#[command(next_help_heading = "Recalibration: counting")]
pub struct CountingFlags {
    /// Do not count mismatches at the sites in this VCF, BCF or BED file as errors
    ///
    /// The file can be compressed and needs no index. A .list file contains the names of several
    /// such files. May be repeated.
    #[arg(long, value_name = "FILE")]
    known_sites: Vec<PathBuf>,
    /// Count errors even if the files of --known-sites contain no sites
    #[arg(long)]
    allow_empty: bool,
    /// Maximum number of cycles (bases) of a read
    #[arg(long, value_name = "N", default_value_t = Arguments::default().maximum_cycle_value, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CYCLES)))]
    maximum_cycle_value: u32,
    /// Context size for mismatches, in bases
    #[arg(long, value_name = "N", default_value_t = Arguments::default().mismatches_context_size, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_CONTEXT_SIZE)))]
    mismatches_context_size: u8,
    /// Context size for insertions and deletions, in bases
    #[arg(long, value_name = "N", default_value_t = Arguments::default().indels_context_size, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_CONTEXT_SIZE)))]
    indels_context_size: u8,
    /// Do not use bases at the ends of a read in contexts if their quality is Q or lower
    #[arg(long, value_name = "Q", default_value_t = Arguments::default().low_quality_tail, value_parser = clap::value_parser!(i8).range(0..=93))]
    low_quality_tail: i8,
    /// Use this quality for reads without qualities [default: do not count such reads]
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u8).range(0..=93))]
    default_base_qualities: Option<u8>,
    /// Number of quantised quality levels in the table
    #[arg(long, value_name = "N", default_value_t = Arguments::default().quantizing_levels, value_parser = clap::value_parser!(u32).range(1..=1000))]
    quantizing_levels: u32,
    /// Also count insertions and deletions
    #[arg(long)]
    compute_indel_bqsr_tables: bool,
}

/// Flags that matter both when errors are counted and when a table is applied.
#[derive(Args)]
#[command(next_help_heading = "Recalibration")]
pub struct QualityFlags {
    /// Do not count bases with a quality below Q, and do not change their qualities
    #[arg(long, value_name = "Q", default_value = "6", value_parser = clap::value_parser!(u8).range(0..=94))]
    preserve_qscores_less_than: u8,
    /// Use the original qualities (OQ) of reads that have this field
    #[arg(long)]
    use_original_qualities: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Recalibration: applying")]
pub struct ApplyingFlags {
    /// Round qualities of 6 or more to the nearest of these values. May be repeated
    #[arg(long, value_name = "Q", value_delimiter = ',', conflicts_with = "quantize_quals", value_parser = clap::value_parser!(u8).range(0..=93))]
    static_quantized_quals: Vec<u8>,
    /// Round down to a value of --static-quantized-quals, not to the nearest
    #[arg(long, requires = "static_quantized_quals", conflicts_with = "quantize_quals")]
    round_down_quantized: bool,
    /// Quantise qualities to N levels. 0 disables this, and -1 uses the levels of the table
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = clap::value_parser!(i32).range(-1..=94))]
    quantize_quals: i32,
    /// Write the old qualities to OQ, unless the read already has OQ
    #[arg(long)]
    emit_original_quals: bool,
    /// Use this prior quality for all read groups, if it is above 0 [default: the reported quality]
    #[arg(long, value_name = "Q", allow_hyphen_values = true, value_parser = parse_prior)]
    global_qscore_prior: Option<f64>,
    /// Keep the qualities of reads whose read group is not in the table
    #[arg(long)]
    allow_missing_read_group: bool,
    /// Drop the reads that GATK ApplyBQSR drops
    ///
    /// These are reads without a read group, bases or qualities, reads with N in the CIGAR, and
    /// reads whose CIGAR does not match the bases.
    #[arg(long)]
    gatk_drop_malformed: bool,
}

fn parse_prior(text: &str) -> Result<f64, String> {
    let prior: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    (-1.0..=93.0).contains(&prior).then_some(prior).ok_or_else(|| "it must be from -1 to 93".into())
}

/// Regions whose reads are counted. A region is given as text, or as the name of a file that
/// contains regions.
pub struct CountRegions {
    pub intervals: Vec<String>,
    pub exclude: Vec<String>,
    /// Number of bases by which regions are extended on both sides.
    pub padding: u32,
}

impl CountingFlags {
    /// Returns whether a flag has a value other than its default.
    pub fn is_given(&self) -> bool {
        let usual = Arguments::default();
        let arguments = Arguments {
            mismatches_context_size: self.mismatches_context_size,
            indels_context_size: self.indels_context_size,
            maximum_cycle_value: self.maximum_cycle_value,
            low_quality_tail: self.low_quality_tail,
            quantizing_levels: self.quantizing_levels,
            ..usual.clone()
        };
        arguments != usual
            || !self.known_sites.is_empty()
            || self.allow_empty
            || self.default_base_qualities.is_some()
            || self.compute_indel_bqsr_tables
    }

    /// Returns the request to count errors against `reference`. The two tables are written before
    /// and after recalibration; `None` writes none.
    pub fn table_request(
        &self,
        qualities: &QualityFlags,
        reference: PathBuf,
        regions: CountRegions,
        [table, after]: [Option<PathBuf>; 2],
    ) -> Result<TableRequest> {
        let arguments = Arguments {
            mismatches_context_size: self.mismatches_context_size,
            indels_context_size: self.indels_context_size,
            maximum_cycle_value: self.maximum_cycle_value,
            low_quality_tail: self.low_quality_tail,
            quantizing_levels: self.quantizing_levels,
            ..Arguments::default()
        };
        let counting = CountOptions {
            arguments,
            preserve_less_than: qualities.preserve_qscores_less_than,
            use_original: qualities.use_original_qualities,
            default_quality: self.default_base_qualities,
            indels: self.compute_indel_bqsr_tables,
        };
        Ok(TableRequest {
            reference,
            known_sites: known_site_files(&self.known_sites)?,
            allow_empty: self.allow_empty,
            bootstrap: false,
            intervals: regions.intervals,
            exclude_intervals: regions.exclude,
            interval_padding: regions.padding,
            counting,
            table,
            after,
        })
    }
}

/// Maximum size of a list of file names. A larger file is assumed to be a sites file.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// Returns the files of known sites. As in GATK, a file whose name ends in `.list` or `.args` may
/// contain file names, one per line. Lines that begin with `#` are comments.
///
/// # Errors
/// Fails if a list cannot be read or is empty, or if a listed file does not exist.
fn known_site_files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        let is_list = path.extension().is_some_and(|ending| ending == "list" || ending == "args");
        let Some(text) = is_list.then(|| read_path_list(path)).transpose()?.flatten() else {
            files.push(path.clone());
            continue;
        };
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).zip(1..);
        let before = files.len();
        for (line, number) in lines.filter(|(line, _)| !line.is_empty() && !line.starts_with(b"#")) {
            let listed = PathBuf::from(OsStr::from_bytes(line));
            if let Err(error) = std::fs::metadata(&listed) {
                let what = format!("line {number}: {} cannot be read", listed.display());
                return Err(Error::io(what, &error)
                    .file(path)
                    .hint("a .list file contains file names, one per line"));
            }
            files.push(listed);
        }
        if files.len() == before {
            return Err(Error::input("contains no file names").file(path));
        }
    }
    Ok(files)
}

/// Reads a list of file names. Returns `None` if the file itself contains sites: an interval list,
/// VCF or BED, which all have tabs or known first characters.
fn read_path_list(path: &Path) -> Result<Option<Vec<u8>>> {
    let reading = |error: &std::io::Error| Error::io("cannot be read", error).file(path);
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| reading(&error))?;
    file.take(MAX_LIST_BYTES + 1).read_to_end(&mut text).map_err(|error| reading(&error))?;
    let holds_sites = text.starts_with(b"@")
        || text.starts_with(b"##")
        || text.contains(&b'\t')
        || text.len() as u64 > MAX_LIST_BYTES;
    Ok((!holds_sites).then_some(text))
}

impl QualityFlags {
    pub fn is_given(&self) -> bool {
        self.use_original_qualities
            || self.preserve_qscores_less_than != CountOptions::default().preserve_less_than
    }
}

impl ApplyingFlags {
    pub fn is_given(&self) -> bool {
        !self.static_quantized_quals.is_empty()
            || self.quantize_quals != 0
            || self.emit_original_quals
            || self.global_qscore_prior.is_some()
            || self.allow_missing_read_group
            || self.gatk_drop_malformed
    }

    /// Returns the request to apply a table.
    pub fn apply_request(&self, qualities: &QualityFlags) -> ApplyRequest {
        let applying = ApplyOptions {
            preserve_below: qualities.preserve_qscores_less_than,
            quantize: self.quantize_quals,
            static_quantized: self.static_quantized_quals.clone(),
            round_down: self.round_down_quantized,
            global_prior: self.global_qscore_prior.filter(|&prior| prior > 0.0),
        };
        let writing = RecalWriteOptions {
            use_original: qualities.use_original_qualities,
            emit_original: self.emit_original_quals,
            allow_missing_group: self.allow_missing_read_group,
            drop_malformed: self.gatk_drop_malformed,
        };
        ApplyRequest { applying, writing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_the_files_of_known_sites() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let [a, b] = ["a.bed", "b.bed"].map(|name| put(name, "c\t1\t2\n"));
        let list = put("x.list", &format!("# sites\n{}\n\n  {}\r\n", a.display(), b.display()));
        let intervals = put("y.list", "@SQ\tSN:c\tLN:9\nc\t1\t2\t+\tx\n");
        let found = known_site_files(&[b.clone(), list, intervals.clone()]).unwrap();
        assert_eq!(found, [b.clone(), a, b, intervals]);
        let missing = known_site_files(&[put("z.args", "no/such.vcf\n")]).unwrap_err().to_string();
        assert!(missing.contains("z.args: line 1: no/such.vcf cannot be read"), "{missing}");
        let empty = known_site_files(&[put("e.list", "#\n")]).unwrap_err().to_string();
        assert!(empty.contains("contains no file names"), "{empty}");
    }
}
