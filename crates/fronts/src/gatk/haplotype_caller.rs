//! Translates GATK HaplotypeCaller.

use readmill_record::Result;

use super::read_filters::{self, CALL_FILTERS, FILTER_ARGUMENTS, HAPLOTYPE_CALLER_FILTERS};
use super::shared::{COMMON, READS, add_common_flags, barclay_command};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::{NativeLine, standard_stream};
use crate::tool::ToolCommand;

pub const HAPLOTYPE_CALLER: ToolCommand = barclay_command(
    "HaplotypeCaller",
    &[TABLE, MODELS, ANNOTATIONS, FILES, UNUSED, CALL_FILTERS, FILTER_ARGUMENTS, READS, COMMON],
    translate_haplotype_caller,
);

#[rustfmt::skip] // a row is a line
const TABLE: &[Opt] = &[
    Opt::built("-I --input", Takes::Files, "the input; readmill merge before the command if there are several"),
    Opt::built("-O --output", Takes::Value, "-o; writes OUT.tbi if OUT is compressed; GATK also writes OUT.idx if it is not"),
    Opt::native("-R --reference", Takes::Value, "--reference"),
    Opt::harmless("--add-output-vcf-command-line", Takes::Truth, "the VCF header has the version of readmill, and no command line"),
    Opt::only("-OVI --create-output-variant-index", Takes::Truth, &["true"], "omits the index", "remove OUT.tbi afterwards"),
    Opt::refused("-OVM --create-output-variant-md5", Takes::Truth, "writes the MD5 checksum of the output", "run md5sum on the output"),
    Opt::built("-ERC --emit-ref-confidence", Takes::Value, "--mode gvcf for GVCF, bp for BP_RESOLUTION, vcf for NONE (the default)"),
    Opt::native("-XL --exclude-intervals", Takes::Values, "--exclude-intervals"),
    Opt::built("-ip --interval-padding", Takes::Value, "--interval-padding, with -L"),
    Opt::native("-L --intervals", Takes::Values, "--intervals"),
    Opt::native("--native-pair-hmm-threads", Takes::Value, "-@"),
    Opt::built("-ALIAS --sample-name", Takes::Value, "nothing, if all reads are of this sample; otherwise refused"),
    Opt::refused("--sites-only-vcf-output", Takes::Truth, "omits genotypes", "run bcftools view -G on the output"),
    Opt::built("-stand-call-conf --standard-min-confidence-threshold-for-calling", Takes::Value, "only 30 with -ERC NONE; with other modes, the value has no effect in GATK"),
];

/// Options that change how variants are found and genotyped. readmill has GATK's default values.
#[rustfmt::skip] // a row is a line
const MODELS: &[Opt] = &[
    Opt::only("--active-probability-threshold", Takes::Value, &["0.002"], "changes which regions are assembled", ""),
    Opt::refused("--adaptive-pruning", Takes::Truth, "changes the assembly", ""),
    Opt::refused("--all-site-pls", Takes::Truth, "adds the likelihoods of genotypes to all sites", ""),
    Opt::only("--allele-informative-reads-overlap-margin", Takes::Value, &["2"], "changes which reads annotations count", ""),
    Opt::refused("--alleles", Takes::Value, "reports alleles of a file", ""),
    Opt::refused("--allow-non-unique-kmers-in-ref", Takes::Truth, "changes the assembly", ""),
    Opt::refused("--apply-bqd", Takes::Truth, "uses a model of DRAGEN", ""),
    Opt::refused("--apply-frd", Takes::Truth, "uses a model of DRAGEN", ""),
    Opt::only("--assembly-region-padding", Takes::Value, &["100"], "changes the regions that are assembled", ""),
    Opt::only("--base-quality-score-threshold", Takes::Value, &["18"], "changes the qualities of bases", ""),
    Opt::refused("-contamination-file --contamination-fraction-per-sample-file", Takes::Value, "removes reads at random", ""),
    Opt::only("-contamination --contamination-fraction-to-filter", Takes::Value, &["0", "0.0"], "removes reads at random", ""),
    Opt::refused("--disable-cap-base-qualities-to-map-quality", Takes::Truth, "changes the qualities of bases", ""),
    Opt::refused("--disable-optimizations", Takes::Truth, "changes the confidence of reference sites", ""),
    Opt::refused("--disable-spanning-event-genotyping", Takes::Truth, "omits the allele * of deletions", ""),
    Opt::refused("--disable-symmetric-hmm-normalizing", Takes::Truth, "changes the likelihoods of reads", ""),
    Opt::refused("--do-not-correct-overlapping-quality", Takes::Truth, "changes the qualities of bases", ""),
    Opt::refused("--do-not-recover-dangling-branches", Takes::Truth, "changes the assembly", ""),
    Opt::refused("--do-not-run-physical-phasing", Takes::Truth, "omits phased genotypes", ""),
    Opt::refused("--dont-genotype", Takes::Truth, "reports no variants", ""),
    Opt::refused("--dont-increase-kmer-sizes-for-cycles", Takes::Truth, "changes the assembly", ""),
    Opt::refused("--dont-use-soft-clipped-bases", Takes::Truth, "ignores bases that are clipped", "for RNA, run gatk"),
    Opt::refused("--dragen-378-concordance-mode", Takes::Truth, "uses the models of DRAGEN", ""),
    Opt::refused("--dragen-mode", Takes::Truth, "uses the models of DRAGEN", ""),
    Opt::refused("--dragstr-params-path", Takes::Value, "uses a model of DRAGEN", ""),
    Opt::refused("--enable-dynamic-read-disqualification-for-genotyping", Takes::Truth, "changes which reads count for genotypes", ""),
    Opt::refused("--enable-legacy-assembly-region-trimming", Takes::Truth, "changes the regions that are genotyped", ""),
    Opt::refused("--enable-legacy-graph-cycle-detection", Takes::Truth, "changes the assembly", ""),
    Opt::refused("--error-correct-reads", Takes::Truth, "corrects bases of reads", ""),
    Opt::only("--error-correction-log-odds", Takes::Value, &["-Infinity"], "corrects bases of reads", ""),
    Opt::only("--expected-mismatch-rate-for-read-disqualification", Takes::Value, &["0.02"], "changes which reads count for genotypes", ""),
    Opt::refused("--floor-blocks", Takes::Truth, "reports the lower bound of each GQ band", ""),
    Opt::only("--flow-assembly-collapse-hmer-size", Takes::Value, &["0"], "collapses homopolymers", ""),
    Opt::refused("--flow-filter-alleles", Takes::Truth, "drops alleles", ""),
    Opt::only("--flow-mode", Takes::Value, &["NONE"], "calls variants of flow-based reads", ""),
    Opt::refused("--force-active", Takes::Truth, "assembles all regions", "-ERC BP_RESOLUTION reports all sites"),
    Opt::refused("--founder-id", Takes::Values, "counts annotations for some samples", ""),
    Opt::only("-gam --genotype-assignment-method", Takes::Value, &["USE_PLS_TO_ASSIGN"], "assigns genotypes by another method", ""),
    Opt::refused("-GQB --gvcf-gq-bands", Takes::Values, "changes the GQ bands of blocks", ""),
    Opt::only("--heterozygosity", Takes::Value, &["0.001"], "changes the prior probabilities of genotypes", ""),
    Opt::only("--heterozygosity-stdev", Takes::Value, &["0.01"], "changes the prior probabilities of genotypes", ""),
    Opt::only("--indel-heterozygosity", Takes::Value, &["0.000125", "1.25E-4"], "changes the prior probabilities of genotypes", ""),
    Opt::only("--indel-size-to-eliminate-in-ref-model", Takes::Value, &["10"], "changes the confidence of reference sites", ""),
    Opt::only("-ixp --interval-exclusion-padding", Takes::Value, &["0"], "extends excluded intervals", "use bedtools slop first"),
    Opt::only("-imr --interval-merging-rule", Takes::Value, &["ALL"], "calls adjacent intervals separately", "run readmill once for each interval"),
    Opt::refused("--just-determine-active-regions", Takes::Truth, "reports no variants", ""),
    Opt::refused("--keep-rg", Takes::Value, "uses some read groups only for the assembly", ""),
    Opt::refused("--kmer-size", Takes::Values, "changes the assembly", ""),
    Opt::only("--likelihood-calculation-engine", Takes::Value, &["PairHMM"], "uses another model of sequencing errors", ""),
    Opt::refused("--linked-de-bruijn-graph", Takes::Truth, "changes the assembly", ""),
    Opt::only("--mapping-quality-threshold-for-genotyping", Takes::Value, &["20"], "changes which reads count for genotypes", ""),
    Opt::only("--max-alternate-alleles", Takes::Value, &["6"], "changes which alleles are reported", ""),
    Opt::only("--max-assembly-region-size", Takes::Value, &["300"], "changes the regions that are assembled", ""),
    Opt::only("--max-genotype-count", Takes::Value, &["1024"], "changes which alleles are reported", ""),
    Opt::only("-mnp-dist --max-mnp-distance", Takes::Value, &["0"], "merges adjacent substitutions", ""),
    Opt::only("--max-num-haplotypes-in-population", Takes::Value, &["128"], "changes the assembly", ""),
    Opt::only("--max-prob-propagation-distance", Takes::Value, &["50"], "changes which regions are assembled", ""),
    Opt::only("--max-reads-per-alignment-start", Takes::Value, &["50"], "changes which reads are dropped where depth is high", ""),
    Opt::only("--max-variants-per-shard", Takes::Value, &["0"], "writes several files", ""),
    Opt::only("--min-assembly-region-size", Takes::Value, &["50"], "changes the regions that are assembled", ""),
    Opt::only("-mbq --min-base-quality-score", Takes::Value, &["10"], "changes which bases count", ""),
    Opt::only("--min-dangling-branch-length", Takes::Value, &["4"], "changes the assembly", ""),
    Opt::only("--min-pruning", Takes::Value, &["2"], "changes the assembly", ""),
    Opt::refused("--native-pair-hmm-use-double-precision", Takes::Truth, "rounds likelihoods in another way", ""),
    Opt::only("--num-matching-bases-in-dangling-end-to-recover", Takes::Value, &["-1"], "changes the assembly", ""),
    Opt::only("--num-pruning-samples", Takes::Value, &["1"], "changes the assembly", ""),
    Opt::only("--output-mode", Takes::Value, &["EMIT_VARIANTS_ONLY"], "reports other sites", "-ERC BP_RESOLUTION reports all sites"),
    Opt::refused("--override-fragment-softclip-check", Takes::Truth, "changes which clipped bases count", ""),
    Opt::only("--padding-around-indels", Takes::Value, &["75"], "changes the regions that are genotyped", ""),
    Opt::only("--padding-around-snps", Takes::Value, &["20"], "changes the regions that are genotyped", ""),
    Opt::only("--padding-around-strs", Takes::Value, &["75"], "changes the regions that are genotyped", ""),
    Opt::only("--pair-hmm-gap-continuation-penalty", Takes::Value, &["10"], "changes the likelihoods of reads", ""),
    Opt::only("-pairHMM --pair-hmm-implementation", Takes::Value, &["FASTEST_AVAILABLE", "AVX_LOGLESS_CACHING", "AVX_LOGLESS_CACHING_OMP"], "rounds likelihoods in another way", ""),
    Opt::only("--pcr-indel-model", Takes::Value, &["CONSERVATIVE"], "changes the likelihoods of indels", ""),
    Opt::refused("-ped --pedigree", Takes::Value, "counts annotations for some samples", ""),
    Opt::only("--phred-scaled-global-read-mismapping-rate", Takes::Value, &["45"], "changes the likelihoods of reads", ""),
    Opt::refused("--pileup-detection", Takes::Truth, "adds variants without an assembly", ""),
    Opt::refused("--ploidy-regions", Takes::Value, "calls genotypes with another number of alleles", "run gatk for other ploidies"),
    Opt::refused("-population --population-callset", Takes::Value, "changes the prior probabilities of genotypes", ""),
    Opt::refused("--recover-all-dangling-branches", Takes::Truth, "changes the assembly", ""),
    Opt::only("--reference-model-deletion-quality", Takes::Value, &["30"], "changes the confidence of reference sites", ""),
    Opt::only("-ploidy --sample-ploidy", Takes::Value, &["2"], "calls genotypes with another number of alleles", "run gatk for other ploidies"),
    Opt::only("--smith-waterman", Takes::Value, &["FASTEST_AVAILABLE", "AVX_ENABLED"], "aligns haplotypes with other code", ""),
    Opt::only("--smith-waterman-dangling-end-gap-extend-penalty", Takes::Value, &["-6"], "changes the assembly", ""),
    Opt::only("--smith-waterman-dangling-end-gap-open-penalty", Takes::Value, &["-110"], "changes the assembly", ""),
    Opt::only("--smith-waterman-dangling-end-match-value", Takes::Value, &["25"], "changes the assembly", ""),
    Opt::only("--smith-waterman-dangling-end-mismatch-penalty", Takes::Value, &["-50"], "changes the assembly", ""),
    Opt::only("--smith-waterman-haplotype-to-reference-gap-extend-penalty", Takes::Value, &["-11"], "changes the alignments of haplotypes", ""),
    Opt::only("--smith-waterman-haplotype-to-reference-gap-open-penalty", Takes::Value, &["-260"], "changes the alignments of haplotypes", ""),
    Opt::only("--smith-waterman-haplotype-to-reference-match-value", Takes::Value, &["200"], "changes the alignments of haplotypes", ""),
    Opt::only("--smith-waterman-haplotype-to-reference-mismatch-penalty", Takes::Value, &["-150"], "changes the alignments of haplotypes", ""),
    Opt::only("--smith-waterman-read-to-haplotype-gap-extend-penalty", Takes::Value, &["-5"], "changes the alignments of reads", ""),
    Opt::only("--smith-waterman-read-to-haplotype-gap-open-penalty", Takes::Value, &["-30"], "changes the alignments of reads", ""),
    Opt::only("--smith-waterman-read-to-haplotype-match-value", Takes::Value, &["10"], "changes the alignments of reads", ""),
    Opt::only("--smith-waterman-read-to-haplotype-mismatch-penalty", Takes::Value, &["-15"], "changes the alignments of reads", ""),
    Opt::refused("--soft-clip-low-quality-ends", Takes::Truth, "clips reads", ""),
    Opt::refused("--transform-dragen-mapping-quality", Takes::Truth, "changes mapping qualities", ""),
    Opt::refused("--use-filtered-reads-for-annotations", Takes::Truth, "changes which reads annotations count", ""),
    Opt::refused("--use-flow-aligner-for-stepwise-hc-filtering", Takes::Truth, "drops haplotypes by a model of flow-based reads", ""),
    Opt::refused("--use-pdhmm", Takes::Truth, "uses a model of DRAGEN", ""),
    Opt::refused("-gp-qual --use-posteriors-to-calculate-qual", Takes::Truth, "changes QUAL", ""),
];

#[rustfmt::skip] // a row is a line
const ANNOTATIONS: &[Opt] = &[
    Opt::only("-A --annotation", Takes::Values, DEFAULT_ANNOTATIONS, "adds an annotation", "run gatk VariantAnnotator on the output"),
    Opt::only("-G --annotation-group", Takes::Values, &["StandardAnnotation", "StandardHCAnnotation"], "adds annotations", "run gatk VariantAnnotator on the output"),
    Opt::refused("--annotate-with-num-discovered-alleles", Takes::Truth, "adds an annotation", ""),
    Opt::refused("-AX --annotations-to-exclude", Takes::Values, "omits annotations", "run bcftools annotate -x INFO/NAME on the output"),
    Opt::refused("-comp --comparison", Takes::Values, "adds annotations from VCF files", "run bcftools annotate -a FILE on the output"),
    Opt::refused("-D --dbsnp", Takes::Value, "adds the IDs of known variants", "run bcftools annotate -c ID -a FILE on the output"),
    Opt::refused("--disable-tool-default-annotations", Takes::Truth, "omits annotations", "run bcftools annotate -x INFO/NAME on the output"),
    Opt::refused("--enable-all-annotations", Takes::Truth, "adds annotations", ""),
];

const DEFAULT_ANNOTATIONS: &[&str] = &[
    "BaseQualityRankSumTest",
    "ChromosomeCounts",
    "Coverage",
    "DepthPerAlleleBySample",
    "DepthPerSampleHC",
    "ExcessHet",
    "FisherStrand",
    "InbreedingCoeff",
    "MappingQualityRankSumTest",
    "QualByDepth",
    "ReadPosRankSumTest",
    "RMSMappingQuality",
    "StrandOddsRatio",
];

/// Files that readmill does not write.
#[rustfmt::skip] // a row is a line
const FILES: &[Opt] = &[
    Opt::refused("--alm-path", Takes::Value, "writes the likelihoods of reads to a file", ""),
    Opt::refused("--assembly-region-out", Takes::Value, "writes the assembled regions to a file", ""),
    Opt::refused("-bamout --bam-output", Takes::Value, "writes assembled haplotypes and realigned reads", ""),
    Opt::refused("--capture-assembly-failure-bam", Takes::Truth, "writes reads to assemblyFailure.bam", ""),
    Opt::refused("--debug-assembly-region-state", Takes::Value, "writes the state of the assembly", ""),
    Opt::refused("--debug-assembly-variants-out", Takes::Value, "writes variants of haplotypes to a file", ""),
    Opt::refused("--debug-genotyper-output", Takes::Value, "writes the state of the genotyper", ""),
    Opt::refused("--debug-graph-transformations", Takes::Truth, "writes the graphs of the assembly", ""),
    Opt::refused("-graph --graph-output", Takes::Value, "writes the graphs of the assembly", ""),
    Opt::refused("--haplotype-debug-histogram-output", Takes::Value, "writes numbers of k-mers", ""),
    Opt::refused("--pair-hmm-results-file", Takes::Value, "writes the likelihoods of reads to a file", ""),
];

const OF_ALLELE_FILTER: &str = "used only with --flow-filter-alleles, which is refused";
const OF_ANNOTATIONS: &str = "used only with an annotation that is refused";
const OF_BAM_OUTPUT: &str = "used only with --bam-output, which is refused";
const OF_DRAGSTR: &str = "used only with --dragstr-params-path, which is refused";
const OF_FLOW: &str = "used only with --flow-mode or --likelihood-calculation-engine";
const OF_PDHMM: &str = "used only with --use-pdhmm, which is refused";
const OF_PILEUPS: &str = "used only with --pileup-detection, which is refused";
const OF_PRUNING: &str = "used only with --adaptive-pruning, which is refused";

/// Options that have no effect without other options, which are refused.
#[rustfmt::skip] // a row is a line
const UNUSED: &[Opt] = &[
    Opt::harmless("--adaptive-pruning-initial-error-rate", Takes::Value, OF_PRUNING),
    Opt::harmless("--add-output-sam-program-record", Takes::Truth, OF_BAM_OUTPUT),
    Opt::harmless("--alm-interval", Takes::Value, "used only with --alm-path, which is refused"),
    Opt::harmless("--artifical-haplotype-filtering-kmer-size", Takes::Value, OF_PILEUPS),
    Opt::harmless("--assembly-complexity-reference-mode", Takes::Truth, OF_ANNOTATIONS),
    Opt::harmless("--bam-writer-type", Takes::Value, OF_BAM_OUTPUT),
    Opt::harmless("-OBI --create-output-bam-index", Takes::Truth, OF_BAM_OUTPUT),
    Opt::harmless("-OBM --create-output-bam-md5", Takes::Truth, OF_BAM_OUTPUT),
    Opt::harmless("--denovo-depth-threshold", Takes::Value, OF_ANNOTATIONS),
    Opt::harmless("--denovo-parent-gq-threshold", Takes::Value, OF_ANNOTATIONS),
    Opt::harmless("--dirichlet-keep-prior-in-count", Takes::Truth, OF_ANNOTATIONS),
    Opt::harmless("--dirichlet-prior-pseudo-count", Takes::Value, OF_ANNOTATIONS),
    Opt::harmless("--disable-artificial-haplotype-recovery", Takes::Truth, "used only with --linked-de-bruijn-graph, which is refused"),
    Opt::harmless("--dont-use-dragstr-pair-hmm-scores", Takes::Truth, OF_DRAGSTR),
    Opt::harmless("--dont-use-dragstr-priors", Takes::Truth, OF_DRAGSTR),
    Opt::harmless("--dragstr-het-hom-ratio", Takes::Value, OF_DRAGSTR),
    Opt::harmless("--dynamic-read-disqualification-threshold", Takes::Value, "used only with --enable-dynamic-read-disqualification-for-genotyping, which is refused"),
    Opt::harmless("--exact-matching", Takes::Truth, OF_FLOW),
    Opt::harmless("--fallback-gga-if-pdhmm-fails", Takes::Truth, OF_PDHMM),
    Opt::harmless("--flow-assembly-collapse-partial-mode", Takes::Truth, "used only with --flow-assembly-collapse-hmer-size"),
    Opt::harmless("--flow-disallow-probs-larger-than-call", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-fill-empty-bins-value", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-filter-alleles-debug-graphs", Takes::Truth, OF_ALLELE_FILTER),
    Opt::harmless("--flow-filter-alleles-qual-threshold", Takes::Value, OF_ALLELE_FILTER),
    Opt::harmless("--flow-filter-alleles-sor-threshold", Takes::Value, OF_ALLELE_FILTER),
    Opt::harmless("--flow-filter-lone-alleles", Takes::Truth, OF_ALLELE_FILTER),
    Opt::harmless("--flow-hmm-engine-flat-deletion-penatly", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-hmm-engine-flat-insertion-penatly", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-hmm-engine-min-indel-adjust", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-likelihood-optimized-comp", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-likelihood-parallel-threads", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-lump-probs", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-matrix-mods", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-order-cycle-length", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-order-for-annotations", Takes::Values, OF_ANNOTATIONS),
    Opt::harmless("--flow-probability-scaling-factor", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-quantization-bins", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-remove-non-single-base-pair-indels", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-remove-one-zero-probs", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-report-insertion-or-deletion", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-retain-max-n-probs-base-format", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-symmetric-indel-probs", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-use-t0-tag", Takes::Truth, OF_FLOW),
    Opt::harmless("-genotype-filtered-alleles --force-call-filtered-alleles", Takes::Truth, "used only with --alleles, which is refused"),
    Opt::harmless("--keep-boundary-flows", Takes::Truth, OF_FLOW),
    Opt::harmless("--kmer-length-for-read-error-correction", Takes::Value, "used only with --error-correct-reads, which is refused"),
    Opt::harmless("--make-determined-haps-from-pd-code", Takes::Truth, OF_PDHMM),
    Opt::harmless("--max-effective-depth-adjustment-for-frd", Takes::Value, "used only with --apply-frd, which is refused"),
    Opt::harmless("--max-extension-into-assembly-region-padding-legacy", Takes::Value, "used only with --enable-legacy-assembly-region-trimming, which is refused"),
    Opt::harmless("--max-unpruned-variants", Takes::Value, OF_PRUNING),
    Opt::harmless("--min-observations-for-kmer-to-be-solid", Takes::Value, "used only with --error-correct-reads, which is refused"),
    Opt::harmless("--num-artificial-haplotypes-to-add-per-allele", Takes::Value, OF_PILEUPS),
    Opt::harmless("--num-reference-samples-if-no-call", Takes::Value, "used only with --population-callset, which is refused"),
    Opt::harmless("--pdhmm-results-file", Takes::Value, OF_PDHMM),
    Opt::harmless("--pileup-detection-absolute-alt-depth", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-active-region-phred-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-bad-read-tolerance", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-chimeric-read-badness", Takes::Truth, OF_PILEUPS),
    Opt::harmless("--pileup-detection-edit-distance-read-badness-for-assembly-filtering-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-edit-distance-read-badness-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-enable-indel-pileup-calling", Takes::Truth, OF_PILEUPS),
    Opt::harmless("--pileup-detection-filter-assembly-alt-bad-read-tolerance", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-indel-alt-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-proper-pair-read-badness", Takes::Truth, OF_PILEUPS),
    Opt::harmless("--pileup-detection-snp-adjacent-to-assembled-indel-range", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-snp-alt-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-snp-basequality-filter", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-template-mean-badness-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--pileup-detection-template-std-badness-threshold", Takes::Value, OF_PILEUPS),
    Opt::harmless("--print-pileupcalling-status", Takes::Truth, OF_PILEUPS),
    Opt::harmless("--pruning-lod-threshold", Takes::Value, OF_PRUNING),
    Opt::harmless("--pruning-seeding-lod-threshold", Takes::Value, OF_PRUNING),
    Opt::harmless("--pseudo-count-weight-decay-rate", Takes::Value, OF_ANNOTATIONS),
    Opt::harmless("--trim-to-haplotype", Takes::Truth, OF_FLOW),
    Opt::harmless("--use-pdhmm-overlap-optimization", Takes::Truth, OF_PDHMM),
    Opt::harmless("--allow-old-rms-mapping-quality-annotation-data", Takes::Truth, "affects only VCF files that are read"),
    Opt::harmless("-debug --debug-assembly", Takes::Truth, "affects only messages"),
    Opt::harmless("--recover-dangling-heads", Takes::Truth, "has no effect in GATK"),
    Opt::harmless("-new-qual --use-new-qual-calculator", Takes::Truth, "has no effect in GATK"),
];

fn translate_haplotype_caller(given: &ParsedArguments) -> Result<NativeLine> {
    for needed in ["--input", "--output", "--reference"] {
        given.require_value(needed)?;
    }
    let output = standard_stream(given.require_value("--output")?);
    if let Some(end) = [".gzip", ".bgzf"].iter().find(|end| output.to_ascii_lowercase().ends_with(*end))
    {
        let what = format!("readmill does not compress a file whose name ends in {end}");
        return Err(given.refusal_error(&what).hint("use a name that ends in .vcf.gz"));
    }
    let mode = match given.last_value("--emit-ref-confidence").unwrap_or("NONE") {
        "GVCF" => "gvcf",
        "BP_RESOLUTION" => "bp",
        "NONE" => "vcf",
        other => {
            let what = format!("--emit-ref-confidence {other} is not a mode");
            return Err(given.refusal_error(&what).hint("use GVCF, BP_RESOLUTION or NONE"));
        }
    };
    check_confidence(given, mode)?;
    let inputs = Vec::from_iter(given.values("--input").map(standard_stream));
    check_sample(given, &inputs)?;
    let mut line = NativeLine::new("call --mode");
    line.add([mode]).add(given.native_words());
    // Without intervals, there is nothing to pad.
    let padding = given.last_value("--interval-padding").filter(|_| given.is_set("--intervals"));
    line.add_flag("--interval-padding", padding);
    add_common_flags(&mut line, given);
    line.add_flag("-o", Some(output));
    let mut filters = read_filters::filter_arguments(given, &HAPLOTYPE_CALLER_FILTERS)?;
    read_filters::add_mapping_quality(given, &HAPLOTYPE_CALLER_FILTERS, &mut filters)?;
    let mut before = match (&inputs[..], filters.is_empty()) {
        ([_], true) => {
            line.add_operands(inputs);
            return Ok(line);
        }
        ([_], false) => NativeLine::new("filter"),
        (_, true) => NativeLine::new("merge"),
        (_, false) => {
            return Err(given
                .refusal_error("read filters are not supported with several inputs")
                .hint("merge the inputs first: readmill merge A.bam B.bam -o MERGED.bam"));
        }
    };
    before.add("--quiet -O bam -l 0 -o -".split(' ')).add(filters);
    before.add_flag("--temp-dir", given.last_value("--tmp-dir")).add_operands(inputs);
    line.add_operands(["-"]);
    line.source = Some(Box::new(before));
    Ok(line)
}

/// Refuses another confidence for calling than GATK's default, which has an effect only if no sites
/// without variants are reported.
fn check_confidence(given: &ParsedArguments, mode: &str) -> Result<()> {
    let option = "--standard-min-confidence-threshold-for-calling";
    let Some(text) = given.last_value(option).filter(|_| mode == "vcf") else { return Ok(()) };
    if text.parse() == Ok(30.0) {
        return Ok(());
    }
    let what = format!("{option} {text} is not supported: it changes which variants are reported");
    Err(given
        .refusal_error(&what)
        .hint("for a higher value, run bcftools view -i 'QUAL>=N' on the output"))
}

/// Refuses the name of a sample, unless all read groups of the inputs are of this sample.
fn check_sample(given: &ParsedArguments, inputs: &[&str]) -> Result<()> {
    let Some(sample) = given.last_value("--sample-name") else { return Ok(()) };
    for input in inputs {
        if !headers::has_only_sample(given, input, sample)? {
            return Err(headers::other_sample_error(given, input, sample));
        }
    }
    Ok(())
}
