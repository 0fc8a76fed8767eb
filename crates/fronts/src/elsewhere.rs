//! Commands of other tools that readmill does not translate, each with an equivalent readmill
//! command or the reason why there is none.

/// A group of commands of one tool with a common answer.
pub struct UntranslatedCommands {
    /// The name of the tool. If `names` is empty, the entry applies to the whole tool.
    pub tool: &'static str,
    pub names: &'static [&'static str],
    pub answer: Alternative,
}

#[derive(Clone, Copy)]
pub enum Alternative {
    /// An equivalent readmill command. The second text describes differences, and may be empty.
    Line(&'static str, &'static str),
    /// readmill has no equivalent. The text contains the reason and an alternative.
    Nothing(&'static str),
}

use Alternative::{Line, Nothing};

impl Alternative {
    pub fn hint(self) -> String {
        match self {
            Line(line, "") => format!("use: {line}"),
            Line(line, how) => format!("use: {line} ({how})"),
            Nothing(why) => why.to_string(),
        }
    }
}

/// Finds the answer for a command of a tool, for the error message and the help of its front.
/// Ignores the case of `name`.
pub fn find_alternative(tool: &str, name: &str) -> Option<Alternative> {
    let is_of = |it: &&UntranslatedCommands| {
        it.tool == tool && it.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    UNTRANSLATED.iter().find(is_of).map(|it| it.answer)
}

pub fn find_alternative_by_word(word: &str) -> Option<Alternative> {
    let is_called = |it: &&UntranslatedCommands| {
        let mut names = it.names.iter().copied().chain(it.names.is_empty().then_some(it.tool));
        names.any(|name| name.eq_ignore_ascii_case(word))
    };
    UNTRANSLATED.iter().find(is_called).map(|it| it.answer)
}

const fn entry(
    tool: &'static str,
    names: &'static [&'static str],
    answer: Alternative,
) -> UntranslatedCommands {
    UntranslatedCommands { tool, names, answer }
}

macro_rules! qc {
    ($tool:literal, $program:literal, $flags:literal) => {
        entry(
            $tool,
            &[$program],
            Line(concat!("readmill qc in.bam -o PREFIX --metrics ", $program, $flags), ""),
        )
    };
}

const NO_VARIANTS: &str =
    "readmill calls variants only as GATK HaplotypeCaller does (readmill call): run this tool";
const NO_VCF: &str = "readmill reads and indexes VCF files, but does not write them: run this tool";
const NO_PILEUP: &str =
    "readmill does not make pileups or consensus sequences: run this tool on the output of readmill";
const NO_ALIGNER: &str = "readmill aligns as bwa mem does (readmill align REF R1.fq R2.fq); to process the output of this aligner, use \
                          readmill prep, or readmill merge-alignment with the unaligned reads";
const NO_ILLUMINA: &str =
    "readmill starts from FASTQ or unaligned reads (readmill import): run this tool";
const NO_INTERVALS: &str =
    "readmill reads BED files and interval lists, but does not change them: run this tool";
const OTHER_READS: &str = "keeps the same reads as samtools view --subsample, not those of Picard";

/// All entries. A test checks that no translated command is in this table.
#[rustfmt::skip] // a row is a line
pub const UNTRANSLATED: &[UntranslatedCommands] = &[
    entry("samtools", &["calmd", "fillmd"], Line("readmill prep in.bam -o out.bam --nm-md-uq --reference ref.fa", "writes NM, MD and, as Picard, UQ")),
    entry("samtools", &["rmdup"], Line("readmill markdup --remove-duplicates in.bam -o out.bam", "with the rules of Picard, or of samtools with --rules samtools")),
    entry("samtools", &["checksum"], Line("readmill checksum --samtools in.bam", "prints the same text")),
    entry("samtools", &["samples"], Line("readmill head in.bam", "sample names are SM of the @RG lines")),
    entry("samtools", &["fasta", "bam2fa"], Nothing("readmill writes reads as FASTQ (readmill fastq), not as FASTA: run samtools")),
    entry("samtools", &["fqidx"], Nothing("readmill prints sequences of FASTA files (readmill faidx), not of FASTQ files: run samtools")),
    entry("samtools", &["mpileup", "consensus", "reference", "phase", "targetcut"], Nothing(NO_PILEUP)),
    entry("samtools", &["ampliconclip", "ampliconstats"], Nothing("readmill does not clip amplicon primers: run samtools; for amplicon metrics, use readmill qc --metrics CollectTargetedPcrMetrics")),
    entry("samtools", &["cram-size", "flags", "tview", "depad", "pad2unpad"], Nothing("readmill has no such command: run samtools")),
    qc!("picard", "CollectAlignmentSummaryMetrics", " --reference ref.fa"),
    qc!("picard", "CollectInsertSizeMetrics", ""),
    qc!("picard", "CollectBaseDistributionByCycle", ""),
    qc!("picard", "MeanQualityByCycle", ""),
    qc!("picard", "QualityScoreDistribution", ""),
    qc!("picard", "CollectQualityYieldMetrics", ""),
    qc!("picard", "CollectGcBiasMetrics", " --reference ref.fa"),
    qc!("picard", "CollectSequencingArtifactMetrics", " --reference ref.fa"),
    qc!("picard", "CollectOxoGMetrics", " --reference ref.fa"),
    qc!("picard", "CollectWgsMetrics", " --reference ref.fa"),
    qc!("picard", "CollectRawWgsMetrics", " --reference ref.fa"),
    qc!("picard", "CollectWgsMetricsWithNonZeroCoverage", " --reference ref.fa"),
    qc!("picard", "CollectHsMetrics", " --target-intervals targets.bed --bait-intervals baits.bed"),
    qc!("picard", "CollectTargetedPcrMetrics", " --target-intervals targets.bed --amplicon-intervals amplicons.bed"),
    qc!("picard", "CollectRnaSeqMetrics", " --ref-flat genes.refflat --strand-specificity NONE"),
    qc!("picard", "CollectJumpingLibraryMetrics", ""),
    entry("picard", &["CollectMultipleMetrics"], Line("readmill qc in.bam -o PREFIX --reference ref.fa", "the files have the same names")),
    entry("picard", &["CalculateHsMetrics"], Line("readmill qc in.bam -o PREFIX --metrics CollectHsMetrics --target-intervals targets.bed --bait-intervals baits.bed", "")),
    entry("picard", &["DownsampleSam", "PositionBasedDownsampleSam"], Line("readmill filter --subsample 0.1 in.bam -o out.bam", OTHER_READS)),
    entry("picard", &["FilterSamReads"], Line("readmill filter --qname-file names.txt in.bam -o out.bam", "for other filters, see readmill filter --help")),
    entry("picard", &["SetNmAndUqTags"], Line("readmill prep in.bam -o out.bam --nm-md-uq --reference ref.fa", "also writes MD")),
    entry("picard", &["SamFormatConverter"], Line("readmill view in.bam -o out.cram --reference ref.fa", "the name of the output sets the format")),
    entry("picard", &["GatherBamFiles"], Line("readmill cat part1.bam part2.bam -o out.bam", "")),
    entry("picard", &["SplitSamByNumberOfReads"], Line("readmill split --by records=1000000 in.bam -o PREFIX", "sets the number of records per file")),
    entry("picard", &["SplitSamByLibrary"], Line("readmill split --by read-group in.bam -o PREFIX", "splits by read group; then merge the files of each library")),
    entry("picard", &["ReplaceSamHeader", "AddCommentsToBam"], Line("readmill reheader header.sam in.bam -o out.bam", "")),
    entry("picard", &["CompareSAMs"], Line("readmill compare one.bam two.bam", "")),
    entry("picard", &["BamIndexStats"], Line("readmill idxstats in.bam", "prints the text of samtools idxstats")),
    entry("picard", &["CheckTerminatorBlock"], Line("readmill quickcheck in.bam", "")),
    entry("picard", &["ValidateSamFile"], Line("readmill quickcheck in.bam", "checks the header and the end of the file; all commands check the records that they read, and report the first invalid one")),
    entry("picard", &["CrosscheckFingerprints", "CrosscheckReadGroupFingerprints", "CheckFingerprint", "ExtractFingerprint", "CalculateFingerprintMetrics", "ClusterCrosscheckMetrics"], Line("readmill fingerprint count in.bam --sites haplotypes.map -o sample.txt", "writes one fingerprint per BAM; readmill fingerprint compare finds fingerprints of the same person")),
    entry("picard", &["MarkDuplicatesWithMateCigar", "SimpleMarkDuplicatesWithMateCigar", "EstimateLibraryComplexity"], Line("readmill markdup in.bam -o out.bam --metrics FILE", "works as MarkDuplicates, which matches mates by name")),
    entry("picard", &["UmiAwareMarkDuplicatesWithMateCigar"], Line("readmill markdup in.bam -o out.bam --umi tag:RX --metrics FILE", "")),
    entry("picard", &["SamToFastqWithTags"], Line("readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz --tags RX,BC", "writes fields after the names")),
    entry("picard", &["ExtractSequences"], Line("readmill faidx ref.fa chr1:1-2000", "")),
    entry("picard", &["CollectDuplicateMetrics", "CheckDuplicateMarking"], Nothing("readmill counts duplicates only while it marks them: readmill markdup in.bam -o out.bam --metrics FILE")),
    entry("picard", &["CollectRrbsMetrics", "CollectSamErrorMetrics", "CollectIndependentReplicateMetrics", "CollectUmiPrevalenceMetrics", "CollectHiSeqXPfFailMetrics", "CollectQualityYieldMetricsFlow", "CollectQualityYieldMetricsSNVQ", "ConvertSequencingArtifactToOxoG", "AccumulateQualityYieldMetrics", "CompareMetrics", "IdentifyContaminant"], Nothing("readmill does not have these metrics (readmill qc --help lists its metrics): run picard")),
    entry("picard", &["CalculateReadGroupChecksum", "AddOATag", "RevertOriginalBaseQualitiesAndAddMateCigar", "BamToBfq", "FifoBuffer"], Nothing("readmill has no such command: run picard")),
    entry("picard", &["BedToIntervalList", "IntervalListToBed", "IntervalListTools", "LiftOverIntervalList", "ScatterIntervalsByNs", "VcfToIntervalList"], Nothing(NO_INTERVALS)),
    entry("picard", &["CheckIlluminaDirectory", "CollectIlluminaBasecallingMetrics", "CollectIlluminaLaneMetrics", "ExtractIlluminaBarcodes", "IlluminaBasecallsToFastq", "IlluminaBasecallsToSam"], Nothing(NO_ILLUMINA)),
    entry("picard", &["FilterVcf", "FixVcfHeader", "GatherVcfs", "LiftoverVcf", "MakeSitesOnlyVcf", "MakeVcfSampleNameMap", "MergeVcfs", "RenameSampleInVcf", "SortVcf", "SplitVcfs", "UpdateVcfSequenceDictionary", "VcfFormatConverter", "CollectVariantCallingMetrics", "AccumulateVariantCallingMetrics", "GenotypeConcordance", "FindMendelianViolations"], Nothing(NO_VCF)),
    entry("gatk", &["FlagStat", "FlagStatSpark"], Line("readmill flagstat in.bam", "prints the text of samtools flagstat")),
    entry("gatk", &["CountReads", "CountReadsSpark"], Line("readmill view -c in.bam", "")),
    entry("gatk", &["PrintReads", "PrintReadsSpark"], Line("readmill view in.bam chr1:1-2000 -o out.bam", "")),
    entry("gatk", &["PrintReadsHeader", "GetSampleName"], Line("readmill head in.bam", "the sample name is SM of @RG")),
    entry("gatk", &["SortSamSpark"], Line("readmill sort in.bam -o out.bam", "")),
    entry("gatk", &["RevertSamSpark"], Line("readmill prep --revert --sort queryname in.bam -o unaligned.bam", "")),
    entry("gatk", &["UnmarkDuplicates"], Line("readmill filter --remove-flags DUP in.bam -o out.bam", "")),
    entry("gatk", &["CompareDuplicatesSpark"], Line("readmill compare one.bam two.bam", "")),
    entry("gatk", &["SplitReads"], Line("readmill split --by read-group in.bam -o PREFIX", "")),
    entry("gatk", &["IndexFeatureFile"], Line("readmill index in.vcf.gz", "writes .tbi, as tabix")),
    entry("gatk", &["DepthOfCoverage"], Line("readmill qc in.bam --no-metrics --coverage -o PREFIX", "writes the files of mosdepth; readmill depth prints each position")),
    entry("gatk", &["BaseRecalibratorSpark", "ApplyBQSRSpark", "BQSRPipelineSpark"], Line("readmill prep --bqsr --reference ref.fa --known-sites dbsnp.vcf.gz in.bam -o out.bam", "in one pass")),
    entry("gatk", &["BwaSpark", "BwaAndMarkDuplicatesPipelineSpark"], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --sort coordinate --mark-duplicates -o out.bam", "")),
    entry("gatk", &["ReadsPipelineSpark"], Line("readmill prep in.bam -o out.bam --sort coordinate --mark-duplicates --bqsr --reference ref.fa --known-sites dbsnp.vcf.gz --call out.vcf.gz --call-mode vcf", "in one pass, for aligned reads")),
    entry("gatk", &["HaplotypeCallerSpark"], Line("readmill call in.bam --reference ref.fa --mode vcf -o out.vcf.gz", "with the records of HaplotypeCaller")),
    entry("gatk", &["CollectMultipleMetricsSpark", "CollectInsertSizeMetricsSpark", "CollectBaseDistributionByCycleSpark", "MeanQualityByCycleSpark", "QualityScoreDistributionSpark", "CollectQualityYieldMetricsSpark"], Line("readmill qc in.bam -o PREFIX --reference ref.fa", "")),
    entry("gatk", &["Mutect2", "GenotypeGVCFs", "CombineGVCFs", "GenomicsDBImport", "GnarlyGenotyper", "ReblockGVCF", "GetPileupSummaries", "CalculateContamination", "CollectReadCounts", "CollectAllelicCounts", "Pileup", "PileupSpark", "LearnReadOrientationModel", "CollectF1R2Counts", "PathSeqPipelineSpark", "StructuralVariationDiscoveryPipelineSpark", "UnifiedGenotyper"], Nothing(NO_VARIANTS)),
    entry("gatk", &["VariantFiltration", "VariantRecalibrator", "ApplyVQSR", "CNNScoreVariants", "NVScoreVariants", "SelectVariants", "VariantsToTable", "FilterMutectCalls", "Funcotator", "VariantAnnotator", "VariantEval", "Concordance", "LeftAlignAndTrimVariants", "ValidateVariants", "CreateSomaticPanelOfNormals", "CalculateGenotypePosteriors", "CountVariants"], Nothing(NO_VCF)),
    entry("gatk", &["SplitNCigarReads", "LeftAlignIndels", "ClipReads", "IndelRealigner", "RealignerTargetCreator", "ReadAnonymizer", "FixMisencodedBaseQualityReads", "CountBases", "AnalyzeSaturationMutagenesis"], Nothing("readmill does not do this: run this tool on the output of readmill")),
    entry("gatk", &["SplitIntervals", "PreprocessIntervals", "AnnotateIntervals"], Nothing(NO_INTERVALS)),
    entry("bwa", &["aln", "samse", "sampe", "bwasw", "fastmap", "pemerge", "shm"], Nothing("readmill aligns reads of any length with the algorithm of bwa mem: readmill align ref.fa R1.fq.gz R2.fq.gz -o out.bam")),
    entry("bwa", &["fa2pac", "pac2bwt", "pac2bwtgen", "bwtupdate", "bwt2sa"], Line("readmill index ref.fa", "builds all files of the index")),
    entry("mosdepth", &[], Line("readmill qc in.bam --no-metrics --coverage -o PREFIX", "writes the files of mosdepth")),
    entry("fastqc", &[], Line("readmill qc R1.fq.gz R2.fq.gz --no-metrics --fastqc DIR", "also for BAM; other commands also have --fastqc DIR, in the same run")),
    entry("fastp", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "trims as fastp does, with its flags, and aligns")),
    entry("cutadapt", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "trims as fastp does")),
    entry("trim_galore", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "trims as fastp does")),
    entry("trimmomatic", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "trims as fastp does")),
    entry("multiqc", &[], Line("readmill report one.json two.json -o page.html", "makes the report from files written with --json; MultiQC can read other files of readmill")),
    entry("tabix", &[], Line("readmill index in.vcf.gz", "for files compressed with bgzip")),
    entry("samblaster", &[], Line("readmill markdup in.bam -o out.bam", "with the rules of Picard; in one pass with alignment: readmill align --mark-duplicates")),
    entry("sambamba", &[], Nothing("readmill has commands with the same names: readmill sort, markdup, view, merge, flagstat, index, depth")),
    entry("biobambam2", &["bamsormadup"], Line("readmill prep --sort coordinate --mark-duplicates in.bam -o out.bam", "")),
    entry("biobambam2", &["bammarkduplicates", "bammarkduplicates2"], Line("readmill markdup in.bam -o out.bam --metrics FILE", "")),
    entry("biobambam2", &["bamsort"], Line("readmill sort in.bam -o out.bam", "")),
    entry("biobambam2", &["bamtofastq"], Line("readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz", "")),
    entry("biobambam2", &["bamseqchksum"], Line("readmill checksum -B in.bam", "prints the same text")),
    entry("umi_tools", &[], Line("readmill markdup --remove-duplicates --umi name in.bam -o out.bam", "instead of umi_tools dedup")),
    entry("fgbio", &[], Line("readmill markdup --umi tag:RX --umi-method paired in.bam -o out.bam", "instead of fgbio GroupReadsByUmi; readmill does not make consensus reads")),
    entry("pbrun", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --sort coordinate --mark-duplicates -o out.bam", "instead of pbrun fq2bam; readmill call, instead of pbrun haplotypecaller")),
    entry("minibwa", &[], Nothing("use: readmill align --kernel minibwa ref.fa R1.fq.gz R2.fq.gz -o out.bam, in a build of readmill with minibwa")),
    entry("minimap2", &[], Nothing(NO_ALIGNER)),
    entry("bowtie2", &[], Nothing(NO_ALIGNER)),
    entry("hisat2", &[], Nothing(NO_ALIGNER)),
    entry("STAR", &[], Nothing(NO_ALIGNER)),
    entry("bcftools", &[], Nothing(NO_VCF)),
    entry("freebayes", &[], Nothing(NO_VARIANTS)),
    entry("deepvariant", &[], Nothing(NO_VARIANTS)),
    entry("bgzip", &[], Nothing("readmill compresses only its own output: run bgzip")),
    entry("bedtools", &[], Nothing("for depths, use readmill depth, coverage or bedcov; for FASTQ, readmill fastq; for everything else, run bedtools")),
    entry("qualimap", &[], Line("readmill qc in.bam -o PREFIX --coverage --reference ref.fa", "writes the metrics of Picard and the coverage of mosdepth")),
    entry("somalier", &[], Line("readmill fingerprint count in.bam --sites sites.vcf -o sample.txt", "readmill fingerprint compare finds files of the same person")),
    entry("verifybamid", &[], Nothing("readmill does not estimate contamination; to check sample identity, use readmill fingerprint")),
];
