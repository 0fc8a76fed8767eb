//! Tests of refused command lines, and of the hints in their errors.

use super::native;

/// Checks that each line is refused, and that its error has both texts: what is refused, and
/// what to do.
fn check_refusals(lines: &[(&str, [&str; 2])]) {
    for &(line, words) in lines {
        let said = native(line);
        if words[0] == "--no-PG" {
            assert!(said.contains("--no-PG"), "{said}");
            continue;
        }
        assert!(said.starts_with("error: "), "{line}: {said}");
        for word in words {
            assert!(said.contains(word), "{line}: {said}");
        }
    }
}

#[test]
fn what_is_not_taken_of_samtools_is_refused_by_name_with_the_way() {
    check_refusals(&[
        ("samtools markdup -d far a.bam o.bam", ["-d", "pixels"]),
        ("samtools markdup -m x a.bam o.bam", ["-m must be t or s", ""]),
        ("samtools sort -I r.fa a.bam", ["-I", "minimisers"]),
        ("samtools sort --output-fmt-option seqs_per_slice=5 a.bam", ["seqs_per_slice", "level"]),
        ("samtools sort --no a.bam", ["--no-PG", ""]),
        ("samtools sort --t 4 a.bam", ["--template-coordinate", "--threads"]),
        ("samtools stats -r ref.fa a.bam", ["-r", "no such rows"]),
        ("samtools fasta a.bam", ["fasta", "readmill fastq"]),
        ("samtools fastq --no-sc a.bam", ["--no-sc", "run samtools, or omit --no-sc"]),
        ("samtools reheader -c cat a.bam", ["-c", "readmill head"]),
        ("samtools reheader a.bam", ["new header", ""]),
        ("samtools depth -X a.bam b.bam c.bai", ["-X", "the same number of indexes"]),
        ("samtools cat -@ 2 a.bam", ["no option -@", ""]),
        ("samtools cat -", ["standard input", "readmill merge"]),
        ("samtools merge -h a.bam o.bam a.bam b.bam", ["-h", "omit it"]),
        ("samtools view -U r -q 3 -o x.bam a.bam", ["would be sam", ".bam"]),
        ("samtools view -b -U - -q 3 a.bam", ["standard output", "-U dropped.bam"]),
        ("samtools sort -m 50k a.bam", ["-m 50k", "1 MiB"]),
        ("samtools index ref.fa", ["FASTA", "readmill faidx"]),
        ("samtools index -o a.bai x.bam b.bai", ["b.bai is also given", "separately"]),
        ("samtools index -M -o a.bai x.bam y.bam", ["y.bam is also given", "separately"]),
        ("samtools view -H -c a.bam", ["-H and -c", ""]),
        ("samtools reset -o x.sam -o y.sam a.bam", ["-o is given twice", ""]),
        ("samtools addreplacerg -r SM:s a.bam", ["no ID", "-r ID"]),
        ("samtools import -1 a.fq", ["-1", "-0"]),
        ("samtools import -s a.fq -0 b.fq", ["pairs and single reads together", "readmill cat"]),
        ("samtools import a.fq b.fq c.fq", ["c.fq", ""]),
        ("samtools import -i -T RX a.fq", ["-i and -T", "--casava"]),
        ("samtools import -r SM:s a.fq", ["no ID", "-r ID"]),
        ("samtools import --i1 i.fq a.fq", ["--i1", "readmill import --i1"]),
        ("samtools split -d BC a.bam", ["-d BC", "--move-to"]),
        ("samtools split -f %x a.bam", ["%x", ""]),
        ("samtools view --subsample 1.5 a.bam", ["1.5", "from 0 to 1"]),
        ("samtools view -s 1.5 --subsample 0.5 a.bam", ["-s", "--subsample"]),
        ("samtools depth", ["no input", ""]),
        ("samtools bedcov t.bed", ["no input", ""]),
        ("samtools bedcov --max-depth 9 t.bed a.bam", ["omit it", ""]),
        ("samtools coverage -q 3", ["no input", ""]),
        ("samtools depth -X a b c", ["the same number", ""]),
    ]);
}

#[test]
fn what_is_not_taken_of_other_tools_is_refused_by_name_with_the_way() {
    check_refusals(&[
        ("picard SortSam I=a O=b SO=duplicate", ["duplicate", "readmill sort --template-coordinate"]),
        ("picard SortSam I=a O=b SO=foo", ["SORT_ORDER foo", "use coordinate or queryname"]),
        ("picard SortSam I=a O=b SO=unsorted", ["SORT_ORDER unsorted", "use coordinate or queryname"]),
        ("picard MergeSamFiles I=a O=b SO=foo", ["SORT_ORDER foo", "queryname or unsorted"]),
        (
            "picard AddOrReplaceReadGroups I=a O=b LB=l PL=p PU=u SM=s SO=unsorted",
            ["SORT_ORDER unsorted", "omit SORT_ORDER"],
        ),
        ("picard FixMateInformation I=- O=b SO=unsorted", ["SORT_ORDER unsorted", "omit SORT_ORDER"]),
        ("picard FixMateInformation I=a I=c O=b", ["several inputs", "readmill merge -n"]),
        ("picard SortSam I=a I=c O=b SO=coordinate", ["twice", ""]),
        ("gatk MarkDuplicates -I a -O b -M c --TMP_DIR=x", ["a separate argument", "give --TMP_DIR x"]),
        ("gatk MarkDuplicates -I a -O b -M c --NIX=x", ["no option --NIX=x", ""]),
        ("picard RevertSam I=a O=b OUTPUT_BY_READGROUP=true", ["b is not a directory", "mkdir"]),
        ("picard RevertSam I=a O=b OUTPUT_MAP=m", ["OUTPUT_MAP", "OUTPUT_BY_READGROUP"]),
        ("picard RevertSam I=a O=. OM=m OBR=true", ["OUTPUT_MAP", "exclude"]),
        ("picard RevertSam I=a O=. OBR=true CREATE_INDEX=true", ["CREATE_INDEX", "readmill index"]),
        ("picard RevertSam I=a O=. OBR=true OBRFF=tsv", ["tsv", "dynamic"]),
        ("picard SamToFastq I=a OPRG=true", ["OUTPUT_DIR", ""]),
        ("picard SamToFastq I=a F=b ODIR=.", ["OUTPUT_DIR", "OUTPUT_PER_RG"]),
        ("picard SamToFastq I=a F=b OPRG=true ODIR=.", ["FASTQ", "exclude"]),
        ("picard SamToFastq I=a OPRG=true ODIR=. RGT=SM", ["SM", "not PU or ID"]),
        ("picard SamToFastq I=a F=b VALIDATION_STRINGENCY=NONE", ["NONE", "LENIENT"]),
        (
            "picard MergeBamAlignment UNMAPPED=u ALIGNED=a O=o R=r IS_BISULFITE_SEQUENCE=true",
            ["IS_BISULFITE_SEQUENCE", "SORT_ORDER=unsorted"],
        ),
        (
            "picard MergeBamAlignment UNMAPPED=u ALIGNED=a O=o R=r SO=unsorted CREATE_INDEX=true",
            ["CREATE_INDEX", "by coordinate"],
        ),
        (
            "gatk BaseRecalibrator -I a -O b -R c --known-sites d -RF JexlExpressionReadTagValueFilter",
            ["JexlExpression", "readmill filter"],
        ),
        (
            "gatk BaseRecalibrator -I a -O b -R c --known-sites d -DF MappedReadFilter",
            ["MappedReadFilter", "NotDuplicate"],
        ),
        (
            "gatk BaseRecalibrator -I a -O b -R c --known-sites d -RF ReadLengthReadFilter",
            ["--max-read-length", ""],
        ),
        (
            "gatk BaseRecalibrator -I a -O b -R c --known-sites d -RF LibraryReadFilter",
            ["--library", ""],
        ),
        ("picard RevertSam I=a O=b SANITIZE=true SO=unsorted", ["SANITIZE", "queryname"]),
        ("picard RevertSam I=a O=b KEEP_FIRST_DUPLICATE=true", ["KEEP_FIRST_DUPLICATE", "SANITIZE"]),
        ("picard RevertSam I=a O=b REMOVE_ALIGNMENT_INFORMATION=false", ["RESTORE_HARDCLIPS", "false"]),
        ("gatk ApplyBQSR -I a -O b -bqsr c --read-filter X", ["--read-filter", "readmill filter"]),
        ("gatk BaseRecalibrator -I a -O b -R c", ["--known-sites", ""]),
        ("elprep split a b", ["split", "readmill prep"]),
        ("elprep filter a b --mark-duplicates=yes", ["--mark-duplicates=yes", "true or false"]),
        ("bwa mem -t 9999999999999999 r.fa 1.fq", ["9999999999999999", "number of threads"]),
        ("picard ReorderSam I=/dev/stdin O=b SD=c.dict", ["standard input", "to a file"]),
        ("picard FixMateInformation I=/dev/stdin O=b", ["standard input", "to a file"]),
        ("picard SamToFastq I=a F=b F2=c INTERLEAVE=true", ["INTERLEAVE", "SECOND_END_FASTQ"]),
        ("picard SamToFastq I=a F=b CLIP_ACT=X", ["CLIPPING_ATTRIBUTE", "CLIPPING_ACTION"]),
        ("picard SamToFastq I=a F=b FU=c", ["UNPAIRED_FASTQ", "SECOND_END_FASTQ"]),
        (
            r"picard AddOrReplaceReadGroups I=a O=b LB=l PL=p PU=u SM=s DS=C:\temp",
            [r"C:\temp", "as a tab"],
        ),
        ("picard MergeBamAlignment UNMAPPED=u.bam O=o.bam R=r.fa", ["must be given", ""]),
        ("picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam", ["REFERENCE_SEQUENCE", ""]),
        (
            "picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam R=r.fa PG=x",
            ["given together", ""],
        ),
        (
            "picard MergeBamAlignment UNMAPPED=u.bam ALIGNED=a.bam O=o.bam R=r.fa JUMP=1 ORIENTATIONS=FR",
            ["exclude each other", ""],
        ),
        ("bwa mem -x ont2d r.fa 1.fq", ["-x ont2d", "-A"]),
    ]);
}

#[test]
fn what_readmill_does_not_call_is_refused_by_name_with_the_way() {
    check_refusals(&[
        ("elprep filter a b --haplotypecaller c", ["--haplotypecaller", "--reference"]),
        (
            "elprep filter a b --haplotypecaller c --reference r.fa --activity-profile d",
            ["--activity-profile", "run elprep"],
        ),
        (
            "elprep sfm a b --haplotypecaller c --reference r.fa --reference-confidence all",
            ["ALL", "BP_RESOLUTION"],
        ),
        (
            "elprep sfm a b --haplotypecaller c --reference r.fa --sorting-order queryname",
            ["queryname", "--sorting-order coordinate"],
        ),
        (
            "elprep sfm a b --haplotypecaller c --reference r.fa --sample-name s --replace-read-group ID:g",
            ["--sample-name s", "another sample"],
        ),
        ("gatk HaplotypeCaller -I a -O b.vcf", ["needs --reference", ""]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c --dbsnp d", ["adds the IDs", "bcftools annotate"]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c -ploidy 1", ["--sample-ploidy 1", "run gatk"]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c -mbq 20", ["--min-base-quality-score 20", "omit"]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c --alleles d", ["--alleles d", "omit --alleles"]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c -bamout d", ["realigned reads", "omit --bam-output"]),
        (
            "gatk HaplotypeCaller -I a -O b.vcf -R c -G AS_StandardAnnotation",
            ["adds annotations", "VariantAnnotator"],
        ),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c -ERC gvcf", ["gvcf is not a mode", "GVCF"]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c -OVI false", ["omits the index", "OUT.tbi"]),
        ("gatk HaplotypeCaller -I a -O b.vcf -R c -stand-call-conf 20", ["20", "bcftools view"]),
        ("gatk HaplotypeCaller -I a -O b.vcf.bgzf -R c", [".bgzf", ".vcf.gz"]),
        ("gatk HaplotypeCaller -I a -O b -R c --minimum-mapping-quality 10", ["10", "use 20 or more"]),
        (
            "gatk HaplotypeCaller -I a -O b -R c -DF MappingQualityReadFilter",
            ["does not use such reads", "NotDuplicate"],
        ),
        (
            "gatk HaplotypeCaller -I a -I d -O b -R c -RF PairedReadFilter",
            ["several inputs", "readmill merge"],
        ),
        ("gatk HaplotypeCaller -I - -O b -R c -ALIAS s", ["standard input", "to a file"]),
    ]);
}
