//! What lines of samtools become.

use super::{native, parsed};

#[test]
fn lines_of_samtools_become_native_ones() {
    for (line, wanted) in [
        ("samtools sort", "readmill sort -@ 1 -o - -l 6 --no-index -"),
        (
            "samtools sort -@0 -l1 -nuo x.bam in.bam",
            "readmill sort -n -@ 1 -o x.bam -l 0 --no-index in.bam",
        ),
        (
            "samtools sort --thr 3 -m 1G in.bam",
            "readmill sort -@ 4 -m 4096M -o - -l 6 --no-index in.bam",
        ),
        ("samtools sort -m 10M -o a b", "readmill sort -@ 1 -m 512M -o a -O bam -l 6 --no-index b"),
        ("samtools sort -n -N a.bam", "readmill sort -N -@ 1 -o - -l 6 --no-index a.bam"),
        ("samtools sort -n -M a.bam", "readmill sort -M -@ 1 -o - -l 6 --no-index a.bam"),
        ("samtools sort -M -n a.bam", "readmill sort -n -@ 1 -o - -l 6 --no-index a.bam"),
        (
            "samtools sort -M -t RX --template-coordinate a.bam",
            "readmill sort -t RX -@ 1 -o - -l 6 --no-index a.bam",
        ),
        (
            "samtools merge -o o.bam a.bam a.bam",
            "readmill merge -@ 1 -o o.bam -l 6 --no-index --allow-same-input a.bam a.bam",
        ),
        ("samtools fastq -1 1.fq a.bam", "readmill fastq --grouped -1 1.fq -2 - -@ 1 a.bam"),
        (
            "samtools fastq -1 1.fq -o o.fq -2 2.fq -n -N a.bam",
            "readmill fastq --grouped -1 o.fq -2 2.fq -N -@ 1 a.bam",
        ),
        ("samtools fastq -T  a.bam", "readmill fastq --grouped --tags * -@ 1 a.bam"),
        ("samtools sort -T d/pre -O SAM a.bam", "readmill sort -@ 1 -T d -o - -O sam --no-index a.bam"),
        (
            "samtools sort --write-index -o x.bam##idx##x.bam.bai a.bam",
            "readmill sort -@ 1 -o x.bam -l 6 --write-index=bai a.bam",
        ),
        (
            "samtools sort --output-fmt cram,version=3.0,no_ref a.bam",
            "readmill sort -@ 1 -o - -O cram,version=3.0,no-ref --no-index a.bam",
        ),
        (
            "samtools merge -f o.bam a.bam b.bam",
            "readmill merge -@ 1 -o o.bam -l 6 --no-index a.bam b.bam",
        ),
        ("samtools merge -1 -o o.bam a.bam", "readmill merge -@ 1 -o o.bam -l 1 --no-index a.bam"),
        (
            "samtools fixmate -c -r -m a.bam o.bam",
            "readmill filter --fix-mates samtools --template-cigar --drop-once-fixed -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        ("samtools fixmate -m - -", "readmill filter --fix-mates samtools -@ 1 -o - -l 6 --no-index -"),
        (
            "samtools markdup -l 500 a.bam o.bam",
            "readmill markdup --rules samtools --duplicate-mode coordinate -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -rSc -m s -@ 3 - o.bam",
            "readmill markdup --rules samtools --remove-duplicates --duplicate-mode template --ends sequence \
             --clear-marks -@ 4 -o o.bam -l 6 --no-index -",
        ),
        (
            "samtools markdup --include-fails --use-read-groups --barcode-tag RX a.bam o.bam",
            "readmill markdup --rules samtools --barcode-tag RX --duplicate-mode coordinate --include-fails --use-read-groups \
             -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -sf x --json a.bam o.bam",
            "readmill markdup --rules samtools --duplicate-mode coordinate --metrics-json x -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -r --as-picard a.bam o.bam",
            "readmill markdup --remove-duplicates --duplicate-mode coordinate -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        ("samtools fastq -T RX,BX -s s.fq", "readmill fastq --grouped -s s.fq --tags RX,BX -@ 1 -"),
        ("samtools flagstat -@ 7 a.bam", "readmill flagstat -@ 8 a.bam"),
        ("samtools flagstat -O json a.bam", "readmill flagstat --output-format json -@ 1 a.bam"),
        ("samtools idxstats -X a.bam a.bai", "readmill idxstats -@ 1 a.bam"),
        ("samtools stats -F 0 a.bam", "readmill stats -@ 1 a.bam"),
        ("samtools sort -- -x.bam", "readmill sort -@ 1 -o - -l 6 --no-index -- -x.bam"),
    ] {
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::refusal(wanted), None, "{line}");
    }
}

#[test]
fn lines_of_view_and_index_become_native_ones() {
    for (line, wanted) in [
        (
            "samtools view -bS -@ 2 -q 20 -o x.bam a.sam chr1",
            "readmill view -q 20 -@ 3 -o x.bam -O bam --level 6 a.sam chr1",
        ),
        ("samtools view -c -F 4 a.bam", "readmill view -c -F 4 -@ 1 a.bam"),
        ("samtools view -b -O sam a.bam", "readmill view -@ 1 -h -O sam a.bam"),
        ("samtools view -C -1 -o x.bam a.bam", "readmill view -@ 1 -o x.bam -O cram --level 1 a.bam"),
        ("samtools view -h --no-header -s 3.0 a.bam", "readmill view -@ 1 -O sam a.bam"),
        (
            "samtools view -b -q 20 -F 4 -F 0x100 -o x.bam -U y.bam a.bam",
            "readmill view -q 20 -F 4 -F 0x100 -U y.bam -@ 1 -o x.bam -O bam --level 6 a.bam",
        ),
        (
            "samtools view -N names --output-unselected y.sam -o x.bam a.bam chr1",
            "readmill view -N names --move-to y.sam=dropped -@ 1 -o x.bam -O bam --level 6 a.bam chr1",
        ),
        ("samtools view -c -U y.bam -q 3 a.bam", "readmill view -c -q 3 -@ 1 a.bam"),
        ("samtools faidx -n 0 r.fa chr1", "readmill faidx -n 0 r.fa chr1"),
        ("samtools dict --alias r.fa -o d", "readmill dict -A -o d r.fa"),
        ("samtools head -@ 2 -n 3 a.bam", "readmill head -n 3 a.bam"),
        ("samtools reheader -P h.sam a.bam", "readmill reheader -P h.sam a.bam"),
        ("samtools cat -h h.sam -b list a.bam -o x.bam", "readmill cat -h h.sam -b list -o x.bam a.bam"),
        (
            "samtools collate --output-fmt sam a.bam x",
            "readmill collate -@ 1 -o x.sam -O sam --no-index a.bam",
        ),
        ("samtools bamshuf -Ou a.bam x", "readmill collate -@ 1 -o - -l 0 --no-index a.bam"),
        (
            r"samtools addreplacerg -r ID:g -r SM:s -o x.bam a.bam",
            r"readmill filter --read-group @RG\tID:g\tSM:s -@ 1 -o x.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools addreplacerg -m orphan_only -R g a.bam",
            "readmill filter --orphans-to-read-group g -@ 1 -o - -O sam --no-index a.bam",
        ),
        ("samtools index -c a.bam", "readmill index -c -@ 1 a.bam"),
    ] {
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::refusal(wanted), None, "{line}");
    }
}
