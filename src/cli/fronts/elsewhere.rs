//! Commands of other tools that readmill does not translate, each with the readmill
//! command that does the same or with the reason why there is none.

/// A group of commands of one tool that share an answer.
pub struct UntranslatedCommands {
    /// Name of the tool. If `names` is empty, the entry is for the tool as a whole.
    pub tool: &'static str,
    pub names: &'static [&'static str],
    pub answer: Alternative,
}

#[derive(Clone, Copy)]
pub enum Alternative {
    /// This readmill command does the same. The second text says how it differs, and
    /// may be empty.
    Line(&'static str, &'static str),
    /// readmill cannot do this; the text gives the reason and what to use.
    Nothing(&'static str),
}

use Alternative::{Line, Nothing};

impl Alternative {
    pub fn hint(self) -> String {
        match self {
            Line(line, "") => format!("the native line is: {line}"),
            Line(line, how) => format!("the native line is: {line} ({how})"),
            Nothing(why) => why.to_string(),
        }
    }
}

/// Finds the answer for a command of a tool, for the error message and the help of its
/// front. The case of letters in `name` does not matter.
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

const NO_VARIANTS: &str = "readmill prepares reads and finds no variants: run this tool itself on the reads that readmill wrote";
const NO_VCF: &str =
    "readmill reads VCF files as known sites and indexes them, and writes none: run this tool itself";
const NO_PILEUP: &str =
    "readmill makes no pileup and no consensus: run this tool itself on the reads that readmill wrote";
const NO_ALIGNER: &str = "readmill aligns as bwa mem does (readmill align REF R1.fq R2.fq); put the output of this aligner onto its reads by \
                          readmill merge-alignment, or prepare it by readmill prep";
const NO_ILLUMINA: &str =
    "readmill begins with FASTQ or unaligned reads (readmill import): run this tool itself";
const NO_INTERVALS: &str =
    "readmill takes BED files and interval lists as they are, and changes none: run this tool itself";
const OTHER_READS: &str =
    "it keeps other reads than Picard does: those that samtools view --subsample keeps";

/// All entries. A command that is translated must not be in this table, which a test
/// checks.
#[rustfmt::skip] // a row is a line
pub const UNTRANSLATED: &[UntranslatedCommands] = &[
    entry("samtools", &["calmd", "fillmd"], Line("readmill prep in.bam -o out.bam --nm-md-uq --reference ref.fa", "NM and MD, and UQ as Picard writes it")),
    entry("samtools", &["rmdup"], Line("readmill markdup --remove-duplicates in.bam -o out.bam", "by the rules of Picard, or --rules samtools")),
    entry("samtools", &["checksum"], Line("readmill checksum --samtools in.bam", "it prints the same text")),
    entry("samtools", &["samples"], Line("readmill head in.bam", "SM of the @RG lines")),
    entry("samtools", &["fasta", "bam2fa"], Nothing("readmill writes FASTQ (readmill fastq) and no FASTA of reads: run samtools itself")),
    entry("samtools", &["fqidx"], Nothing("readmill takes sequences out of FASTA (readmill faidx), and not out of FASTQ: run samtools itself")),
    entry("samtools", &["mpileup", "consensus", "reference", "phase", "targetcut"], Nothing(NO_PILEUP)),
    entry("samtools", &["ampliconclip", "ampliconstats"], Nothing("readmill does not clip primers of amplicons: run samtools itself; readmill qc --metrics CollectTargetedPcrMetrics counts amplicons")),
    entry("samtools", &["cram-size", "flags", "tview", "depad", "pad2unpad"], Nothing("readmill has no such command: run samtools itself")),
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
    entry("picard", &["CollectMultipleMetrics"], Line("readmill qc in.bam -o PREFIX --reference ref.fa", "the files have the same names")),
    entry("picard", &["CalculateHsMetrics"], Line("readmill qc in.bam -o PREFIX --metrics CollectHsMetrics --target-intervals targets.bed --bait-intervals baits.bed", "")),
    entry("picard", &["DownsampleSam", "PositionBasedDownsampleSam"], Line("readmill filter --subsample 0.1 in.bam -o out.bam", OTHER_READS)),
    entry("picard", &["FilterSamReads"], Line("readmill filter --qname-file names.txt in.bam -o out.bam", "other choices of reads: readmill filter --help")),
    entry("picard", &["SetNmAndUqTags"], Line("readmill prep in.bam -o out.bam --nm-md-uq --reference ref.fa", "MD is written, too")),
    entry("picard", &["SamFormatConverter"], Line("readmill view in.bam -o out.cram --reference ref.fa", "the name of the output tells its format")),
    entry("picard", &["GatherBamFiles"], Line("readmill cat part1.bam part2.bam -o out.bam", "")),
    entry("picard", &["SplitSamByNumberOfReads"], Line("readmill split --by records=1000000 in.bam -o PREFIX", "a number of records in each file")),
    entry("picard", &["SplitSamByLibrary"], Line("readmill split --by read-group in.bam -o PREFIX", "by read group: merge those of a library")),
    entry("picard", &["ReplaceSamHeader", "AddCommentsToBam"], Line("readmill reheader header.sam in.bam -o out.bam", "")),
    entry("picard", &["CompareSAMs"], Line("readmill compare one.bam two.bam", "")),
    entry("picard", &["BamIndexStats"], Line("readmill idxstats in.bam", "as samtools idxstats prints them")),
    entry("picard", &["CheckTerminatorBlock"], Line("readmill quickcheck in.bam", "")),
    entry("picard", &["ValidateSamFile"], Line("readmill quickcheck in.bam", "the end of the file; every command checks the records that it reads, and names the first that is broken")),
    entry("picard", &["CrosscheckFingerprints", "CrosscheckReadGroupFingerprints", "CheckFingerprint", "ExtractFingerprint", "CalculateFingerprintMetrics", "ClusterCrosscheckMetrics"], Line("readmill fingerprint count in.bam --sites haplotypes.map -o sample.txt", "a file for each BAM; readmill fingerprint compare says which are of one person")),
    entry("picard", &["MarkDuplicatesWithMateCigar", "SimpleMarkDuplicatesWithMateCigar", "EstimateLibraryComplexity"], Line("readmill markdup in.bam -o out.bam --metrics FILE", "as MarkDuplicates, which finds mates by name")),
    entry("picard", &["UmiAwareMarkDuplicatesWithMateCigar"], Line("readmill markdup in.bam -o out.bam --umi tag:RX --metrics FILE", "")),
    entry("picard", &["SamToFastqWithTags"], Line("readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz --tags RX,BC", "fields stand behind the names")),
    entry("picard", &["ExtractSequences"], Line("readmill faidx ref.fa chr1:1-2000", "")),
    entry("picard", &["CollectDuplicateMetrics", "CheckDuplicateMarking"], Nothing("readmill counts duplicates when it marks them: readmill markdup in.bam -o out.bam --metrics FILE")),
    entry("picard", &["CollectRrbsMetrics", "CollectJumpingLibraryMetrics", "CollectSamErrorMetrics", "CollectIndependentReplicateMetrics", "CollectUmiPrevalenceMetrics", "CollectHiSeqXPfFailMetrics", "CollectQualityYieldMetricsFlow", "CollectQualityYieldMetricsSNVQ", "ConvertSequencingArtifactToOxoG", "AccumulateQualityYieldMetrics", "CompareMetrics", "IdentifyContaminant"], Nothing("readmill does not count these metrics (readmill qc --help lists those that it does): run picard itself")),
    entry("picard", &["CalculateReadGroupChecksum", "AddOATag", "RevertOriginalBaseQualitiesAndAddMateCigar", "BamToBfq", "FifoBuffer"], Nothing("readmill has no such command: run picard itself")),
    entry("picard", &["BedToIntervalList", "IntervalListToBed", "IntervalListTools", "LiftOverIntervalList", "ScatterIntervalsByNs", "VcfToIntervalList"], Nothing(NO_INTERVALS)),
    entry("picard", &["CheckIlluminaDirectory", "CollectIlluminaBasecallingMetrics", "CollectIlluminaLaneMetrics", "ExtractIlluminaBarcodes", "IlluminaBasecallsToFastq", "IlluminaBasecallsToSam"], Nothing(NO_ILLUMINA)),
    entry("picard", &["FilterVcf", "FixVcfHeader", "GatherVcfs", "LiftoverVcf", "MakeSitesOnlyVcf", "MakeVcfSampleNameMap", "MergeVcfs", "RenameSampleInVcf", "SortVcf", "SplitVcfs", "UpdateVcfSequenceDictionary", "VcfFormatConverter", "CollectVariantCallingMetrics", "AccumulateVariantCallingMetrics", "GenotypeConcordance", "FindMendelianViolations"], Nothing(NO_VCF)),
    entry("gatk", &["FlagStat", "FlagStatSpark"], Line("readmill flagstat in.bam", "as samtools flagstat prints it")),
    entry("gatk", &["CountReads", "CountReadsSpark"], Line("readmill view -c in.bam", "")),
    entry("gatk", &["PrintReads", "PrintReadsSpark"], Line("readmill view in.bam chr1:1-2000 -o out.bam", "")),
    entry("gatk", &["PrintReadsHeader", "GetSampleName"], Line("readmill head in.bam", "the name of the sample is SM of @RG")),
    entry("gatk", &["SortSamSpark"], Line("readmill sort in.bam -o out.bam", "")),
    entry("gatk", &["RevertSamSpark"], Line("readmill prep --revert --sort queryname in.bam -o unaligned.bam", "")),
    entry("gatk", &["UnmarkDuplicates"], Line("readmill filter --remove-flags DUP in.bam -o out.bam", "")),
    entry("gatk", &["CompareDuplicatesSpark"], Line("readmill compare one.bam two.bam", "")),
    entry("gatk", &["SplitReads"], Line("readmill split --by read-group in.bam -o PREFIX", "")),
    entry("gatk", &["IndexFeatureFile"], Line("readmill index in.vcf.gz", "it writes .tbi, as tabix")),
    entry("gatk", &["DepthOfCoverage"], Line("readmill qc in.bam --no-metrics --coverage -o PREFIX", "in the files of mosdepth; readmill depth prints each position")),
    entry("gatk", &["BaseRecalibratorSpark", "ApplyBQSRSpark", "BQSRPipelineSpark"], Line("readmill prep --bqsr --reference ref.fa --known-sites dbsnp.vcf.gz in.bam -o out.bam", "in one pass")),
    entry("gatk", &["BwaSpark", "BwaAndMarkDuplicatesPipelineSpark", "ReadsPipelineSpark"], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --sort coordinate --mark-duplicates -o out.bam", "it finds no variants")),
    entry("gatk", &["CollectMultipleMetricsSpark", "CollectInsertSizeMetricsSpark", "CollectBaseDistributionByCycleSpark", "MeanQualityByCycleSpark", "QualityScoreDistributionSpark", "CollectQualityYieldMetricsSpark"], Line("readmill qc in.bam -o PREFIX --reference ref.fa", "")),
    entry("gatk", &["HaplotypeCaller", "HaplotypeCallerSpark", "Mutect2", "GenotypeGVCFs", "CombineGVCFs", "GenomicsDBImport", "GnarlyGenotyper", "ReblockGVCF", "GetPileupSummaries", "CalculateContamination", "CollectReadCounts", "CollectAllelicCounts", "Pileup", "PileupSpark", "LearnReadOrientationModel", "CollectF1R2Counts", "PathSeqPipelineSpark", "StructuralVariationDiscoveryPipelineSpark", "UnifiedGenotyper"], Nothing(NO_VARIANTS)),
    entry("gatk", &["VariantFiltration", "VariantRecalibrator", "ApplyVQSR", "CNNScoreVariants", "NVScoreVariants", "SelectVariants", "VariantsToTable", "FilterMutectCalls", "Funcotator", "VariantAnnotator", "VariantEval", "Concordance", "LeftAlignAndTrimVariants", "ValidateVariants", "CreateSomaticPanelOfNormals", "CalculateGenotypePosteriors", "CountVariants"], Nothing(NO_VCF)),
    entry("gatk", &["SplitNCigarReads", "LeftAlignIndels", "ClipReads", "IndelRealigner", "RealignerTargetCreator", "ReadAnonymizer", "FixMisencodedBaseQualityReads", "CountBases", "AnalyzeSaturationMutagenesis"], Nothing("readmill does not do this: run this tool itself, on the reads that readmill wrote")),
    entry("gatk", &["SplitIntervals", "PreprocessIntervals", "AnnotateIntervals"], Nothing(NO_INTERVALS)),
    entry("bwa", &["aln", "samse", "sampe", "bwasw", "fastmap", "pemerge", "shm"], Nothing("readmill aligns with the algorithm of bwa mem, also short reads: readmill align ref.fa R1.fq.gz R2.fq.gz -o out.bam")),
    entry("bwa", &["fa2pac", "pac2bwt", "pac2bwtgen", "bwtupdate", "bwt2sa"], Line("readmill index ref.fa", "it makes all files of the index")),
    entry("mosdepth", &[], Line("readmill qc in.bam --no-metrics --coverage -o PREFIX", "in the files of mosdepth")),
    entry("fastqc", &[], Line("readmill qc R1.fq.gz R2.fq.gz --no-metrics --fastqc DIR", "of BAM, too; in the same pass as others by --fastqc DIR")),
    entry("fastp", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "it trims as fastp does, with its flags, and aligns")),
    entry("cutadapt", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "it trims as fastp does")),
    entry("trim_galore", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "it trims as fastp does")),
    entry("trimmomatic", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --trim -o out.bam", "it trims as fastp does")),
    entry("multiqc", &[], Line("readmill report one.json two.json -o page.html", "of files that --json wrote; MultiQC reads the files of readmill, too")),
    entry("tabix", &[], Line("readmill index in.vcf.gz", "a file that bgzip compressed")),
    entry("samblaster", &[], Line("readmill markdup in.bam -o out.bam", "as Picard marks; in one pass with the aligner: readmill align --mark-duplicates")),
    entry("sambamba", &[], Nothing("readmill has commands of these names: readmill sort, markdup, view, merge, flagstat, index, depth")),
    entry("biobambam2", &["bamsormadup"], Line("readmill prep --sort coordinate --mark-duplicates in.bam -o out.bam", "")),
    entry("biobambam2", &["bammarkduplicates", "bammarkduplicates2"], Line("readmill markdup in.bam -o out.bam --metrics FILE", "")),
    entry("biobambam2", &["bamsort"], Line("readmill sort in.bam -o out.bam", "")),
    entry("biobambam2", &["bamtofastq"], Line("readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz", "")),
    entry("biobambam2", &["bamseqchksum"], Line("readmill checksum -B in.bam", "it prints the same text")),
    entry("umi_tools", &[], Line("readmill markdup --remove-duplicates --umi name in.bam -o out.bam", "in place of umi_tools dedup")),
    entry("fgbio", &[], Line("readmill markdup --umi tag:RX --umi-method paired in.bam -o out.bam", "in place of fgbio GroupReadsByUmi; readmill makes no consensus reads")),
    entry("pbrun", &[], Line("readmill align ref.fa R1.fq.gz R2.fq.gz --sort coordinate --mark-duplicates -o out.bam", "in place of pbrun fq2bam")),
    entry("minibwa", &[], Nothing("the native line is: readmill align --kernel minibwa ref.fa R1.fq.gz R2.fq.gz -o out.bam, in a readmill that has this kernel")),
    entry("minimap2", &[], Nothing(NO_ALIGNER)),
    entry("bowtie2", &[], Nothing(NO_ALIGNER)),
    entry("hisat2", &[], Nothing(NO_ALIGNER)),
    entry("STAR", &[], Nothing(NO_ALIGNER)),
    entry("bcftools", &[], Nothing(NO_VCF)),
    entry("freebayes", &[], Nothing(NO_VARIANTS)),
    entry("deepvariant", &[], Nothing(NO_VARIANTS)),
    entry("bgzip", &[], Nothing("readmill compresses what it writes, and no other file: run bgzip itself")),
    entry("bedtools", &[], Nothing("readmill counts depths (readmill depth, coverage, bedcov) and writes FASTQ (readmill fastq): for the rest run bedtools itself")),
    entry("qualimap", &[], Line("readmill qc in.bam -o PREFIX --coverage --reference ref.fa", "the metrics of Picard, and the coverage of mosdepth")),
    entry("somalier", &[], Line("readmill fingerprint count in.bam --sites sites.vcf -o sample.txt", "readmill fingerprint compare says which are of one person")),
    entry("verifybamid", &[], Nothing("readmill finds no contamination; readmill fingerprint says which files are of one person")),
];
