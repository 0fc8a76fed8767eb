//! Flags of filters and edits, elPrep's names among them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use readmill::plan::{Filters, OptionalFields, Sampling, Unmapped};
use readmill_filters::FlagRules;
use readmill_filters::fix_mates::MateRules;
use readmill_filters::optional_fields::parse_tags;
use readmill_record::{Flags, Result};

#[derive(Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterFlags {
    /// Drop reads flagged unmapped
    #[arg(long, alias = "filter-unmapped-reads")]
    drop_unmapped: bool,
    /// Drop reads flagged unmapped, and reads without reference sequence or position
    #[arg(long, alias = "filter-unmapped-reads-strict")]
    drop_unmapped_strict: bool,
    /// Drop reads whose mapping quality is below this
    #[arg(long, value_name = "N", aliases = ["filter-mapping-quality", "min-MQ"])]
    min_mapq: Option<u8>,
    /// Drop reads whose CIGAR has operators other than M and S
    #[arg(long, alias = "filter-non-exact-mapping-reads")]
    exact_mapping: bool,
    /// Drop reads that do not say to be the one hit without mismatch or gap (X0:i:1 X1:i:0 XM:i:0 XO:i:0 XG:i:0)
    #[arg(long, alias = "filter-non-exact-mapping-reads-strict")]
    exact_mapping_strict: bool,
    /// Drop reads that overlap no region of this BED file, interval list or VCF
    #[arg(long, value_name = "BED", aliases = ["filter-non-overlapping-reads", "targets-file"])]
    overlap: Option<PathBuf>,
    /// Keep only reads with all of these bits in FLAG: a number, or names such as PAIRED,UNMAP
    #[arg(long, value_name = "FLAGS")]
    require_flags: Vec<Flags>,
    /// Drop reads with any of these bits
    #[arg(long, value_name = "FLAGS", alias = "excl-flags")]
    exclude_flags: Vec<Flags>,
    /// Keep only reads with any of these bits
    #[arg(long, value_name = "FLAGS", aliases = ["rf", "incl-flags"])]
    include_flags: Vec<Flags>,
    /// Drop reads with all of these bits
    #[arg(long, value_name = "FLAGS")]
    exclude_all_flags: Vec<Flags>,
    /// Keep only reads of this read group, and reads without one; may be given again
    #[arg(long, value_name = "ID")]
    in_read_group: Vec<String>,
    /// Keep only reads of the read groups that this file lists; ^FILE: drop those
    #[arg(long, value_name = "FILE")]
    in_read_groups: Option<PathBuf>,
    /// Keep only reads for which this holds, as samtools view -e: 'mapq >= 20 && !flag.dup && [NM] < 5'; may be given again
    #[arg(long, value_name = "EXPR")]
    include: Vec<String>,
    /// Drop reads for which this holds; may be given again
    #[arg(long, value_name = "EXPR")]
    exclude: Vec<String>,
    /// Keep so much of the templates, such as 0.1: those that samtools view --subsample keeps
    #[arg(long, value_name = "FRACTION")]
    subsample: Option<f64>,
    /// Seed of the choice of templates [default: made from the header]
    #[arg(long, value_name = "N", requires = "subsample")]
    subsample_seed: Option<u32>,
    /// Choose templates when duplicates are marked, among all reads
    #[arg(long, requires = "subsample")]
    subsample_after_duplicates: bool,
    /// Rename reference sequences by this table of old and new names, also in SA, OA, XA, XB and CC
    #[arg(long, value_name = "FILE")]
    rename_contigs: Option<PathBuf>,
    /// Clip alignments, and MC, at the ends of reference sequences; set MAPQ of unmapped reads to 0 (Picard CleanSam)
    #[arg(long)]
    clean_sam: bool,
    /// Replace, reorder and filter reference sequences by the dictionary of this SAM, BAM or .dict file; reads on others are removed
    #[arg(long, value_name = "FILE", alias = "replace-reference-sequences")]
    sequence_dictionary: Option<PathBuf>,
    /// Put all reads into this read group: 'ID:g1 LB:l1 SM:s1 …' or '@RG\tID:g1\tLB:l1…'
    #[arg(long, value_name = "RG", alias = "replace-read-group")]
    read_group: Option<String>,
    /// Fix mate information (RNEXT, PNEXT, TLEN, flags, MC, MQ, ms): templates must stand together
    #[arg(long, value_name = "RULES")]
    fix_mates: Option<FixMates>,
    /// Write NM, MD and UQ as Picard SetNmMdAndUqTags
    #[arg(long, requires = "reference")]
    nm_md_uq: bool,
    /// Remove these optional fields at the end: NM,MD…, or all
    #[arg(long, value_name = "TAGS")]
    remove_optional_fields: Option<String>,
    /// Remove all optional fields at the end but these: RG,NM…, or none
    #[arg(long, value_name = "TAGS", conflicts_with = "remove_optional_fields")]
    keep_optional_fields: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FixMates {
    /// Picard FixMateInformation
    Picard,
    /// samtools fixmate -m, which sanitises, too
    Samtools,
}

/// All bits of an option that may be given again.
pub fn any(flags: &[Flags]) -> u16 {
    flags.iter().fold(0, |all, flags| all | flags.0)
}

impl FilterFlags {
    pub fn filters(&self) -> Result<Filters> {
        let drop_unmapped = match (self.drop_unmapped_strict, self.drop_unmapped) {
            (true, _) => Some(Unmapped::Strict),
            (_, true) => Some(Unmapped::Flagged),
            _ => None,
        };
        Ok(Filters {
            drop_unmapped,
            min_mapq: self.min_mapq,
            exact_mapping: self.exact_mapping,
            exact_mapping_strict: self.exact_mapping_strict,
            overlap: self.overlap.clone(),
            flags: FlagRules {
                required: any(&self.require_flags),
                excluded: any(&self.exclude_flags),
                any_of: any(&self.include_flags),
                excluded_together: any(&self.exclude_all_flags),
            },
            in_read_groups: self.in_read_group.clone(),
            in_read_groups_file: self.in_read_groups.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            subsample: self.subsample.map(|fraction| Sampling {
                fraction,
                seed: self.subsample_seed,
                after_duplicates: self.subsample_after_duplicates,
            }),
            rename_contigs: self.rename_contigs.clone(),
            clean_sam: self.clean_sam,
            dictionary: self.sequence_dictionary.clone(),
            read_group: self.read_group.clone(),
            fix_mates: self.fix_mates.map(|rules| match rules {
                FixMates::Picard => MateRules::Picard,
                FixMates::Samtools => MateRules::Samtools,
            }),
            nm_md_uq: self.nm_md_uq,
            optional_fields: self.optional_fields()?,
        })
    }

    fn optional_fields(&self) -> Result<Option<OptionalFields>> {
        let named = |list: &String| parse_tags(list);
        Ok(match (&self.remove_optional_fields, &self.keep_optional_fields) {
            (Some(list), _) if list == "all" => Some(OptionalFields::Keep(Vec::new())),
            (Some(list), _) => Some(OptionalFields::Remove(named(list)?)),
            (_, Some(list)) if list == "none" => Some(OptionalFields::Keep(Vec::new())),
            (_, Some(list)) => Some(OptionalFields::Keep(named(list)?)),
            _ => None,
        })
    }
}
