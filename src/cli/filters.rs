//! Flags of filters and edits, elPrep's names among them.

use std::path::PathBuf;

use clap::Args;
use readmill::plan::{Filters, OptionalFields, Unmapped};
use readmill_record::Result;
use readmill_steps::filter::optional_fields::parse_tags;

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
    /// Remove these optional fields at the end: NM,MD…, or all
    #[arg(long, value_name = "TAGS")]
    remove_optional_fields: Option<String>,
    /// Remove all optional fields at the end but these: RG,NM…, or none
    #[arg(long, value_name = "TAGS", conflicts_with = "remove_optional_fields")]
    keep_optional_fields: Option<String>,
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
            rename_contigs: self.rename_contigs.clone(),
            clean_sam: self.clean_sam,
            dictionary: self.sequence_dictionary.clone(),
            read_group: self.read_group.clone(),
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
