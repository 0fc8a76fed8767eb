//! Tests of the native lines for samtools.

use super::{TranslatedLine, front, native, parsed};

/// Compares native lines, ignoring repeated spaces, and parses each of them.
fn compare(lines: &[(&str, &str)]) {
    for &(line, wanted) in lines {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::native_error(&wanted), None, "{line}");
    }
}

#[test]
fn lines_of_samtools_become_native_ones() {
    compare(&[
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
            "samtools markdup -d 2500 -t --duplicate-count --no-multi-dup --read-coords (a)(b) --coords-order xy a.bam o.bam",
            "readmill markdup --rules samtools --tag-original --duplicate-count --duplicate-mode coordinate \
             --optical-distance 2500 --read-coords (a)(b) --coords-order xy --no-multi-dup -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -d 0 a.bam o.bam",
            "readmill markdup --rules samtools --duplicate-mode coordinate -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -d 100 --as-picard a.bam o.bam",
            "readmill markdup --duplicate-mode coordinate --optical-distance 100 --tag-duplicates all -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools markdup -r --as-picard a.bam o.bam",
            "readmill markdup --remove-duplicates --duplicate-mode coordinate -@ 1 -o o.bam -l 6 --no-index a.bam",
        ),
        ("samtools fastq -T RX,BX -s s.fq", "readmill fastq --grouped -s s.fq --tags RX,BX -@ 1 -"),
    ]);
}

#[test]
fn lines_of_reports_become_native_ones() {
    compare(&[
        ("samtools flagstat -@ 7 a.bam", "readmill flagstat -@ 8 a.bam"),
        ("samtools flagstat -O json a.bam", "readmill flagstat --output-format json -@ 1 a.bam"),
        ("samtools idxstats -X a.bam a.bai", "readmill idxstats -@ 1 a.bam"),
        ("samtools stats -F 0x400 -F DUP a.bam", "readmill stats -F 0x400 -F DUP -@ 1 a.bam"),
        (
            "samtools stats -dxp -c 1,9,2 -m 0.5 -q 20 -l -1 -i 90 a.bam",
            "readmill stats -d -x -p -c 1,9,2 --most-inserts 0.5 --trim-quality 20 -i 90 -@ 1 a.bam",
        ),
        (
            "samtools stats -X -l 30 a.bam a.bai chr1 chr2:1-5",
            "readmill stats -l 30 -@ 1 --region chr1 --region chr2:1-5 --region-index a.bai a.bam",
        ),
        ("samtools stats -X -I g -t t -g 3 a.bam a.bai", "readmill stats -I g -t t -g 3 -@ 1 a.bam"),
        ("samtools sort -- -x.bam", "readmill sort -@ 1 -o - -l 6 --no-index -- -x.bam"),
    ]);
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
        (
            "samtools reset a.bam",
            "readmill filter --revert --revert-keep qualities --revert-keep hard-clips --revert-reverse ,
             --revert-complement , --revert-keep programs --revert-clear AS,CC,CG,CP,H1,H2,HI,H0,IH,MC,MD,MQ,NM,SA,TS
             -@ 1 -o - -O sam --no-index a.bam",
        ),
        (
            "samtools reset --no-RG --keep-tag RG,OQ --reject-PG p --dupflag --no-PG -o x.bam a.bam",
            "readmill filter --revert --revert-keep qualities --revert-keep hard-clips --revert-reverse ,
             --revert-complement , --revert-programs-before p --revert-clear , --revert-read-groups --keep-optional-fields OQ
             --revert-keep duplicates --no-PG -@ 1 -o x.bam -l 6 --no-index a.bam",
        ),
        (
            "samtools split -p 3 -f %%%*_%!.%#.%. d{/a.b.bam",
            "readmill split --by read-group --split-names %a.b_{ID:raw}.{n:3}.bam --split-no-rest -@ 1 -l 6 --no-index d{/a.b.bam",
        ),
        (
            "samtools split -u rest.cram --output-fmt cram,version=3.0 --write-index a.bam",
            "readmill split --by read-group --split-names a_{n}.cram --split-rest rest.cram -@ 1
             -O cram,version=3.0 --write-index a.bam",
        ),
        (
            "samtools merge -r -o o.bam a.bam b.bam",
            "readmill merge --group-by-file -@ 1 -o o.bam -l 6 --no-index a.bam b.bam",
        ),
        ("samtools index -c a.bam", "readmill index -c -@ 1 a.bam"),
    ] {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::native_error(&wanted), None, "{line}");
    }
}

#[test]
fn lines_of_import_become_native_ones_with_the_comment_of_samtools() {
    for (line, wanted) in [
        (
            "samtools import -0 a.fq -R g -u -o x.bam",
            r"readmill import --as-given --require-reads --ends-by-name -R @RG\tID:g
             --comment Reverse with: samtools fastq -0 unpaired.fastq -@ 1 -o x.bam -l 0 --no-index a.fq",
        ),
        (
            "samtools import -1 a.fq -2 b.fq -i --barcode-tag XX -r ID:g -r SM:s --order xo:5 -O sam",
            r"readmill import --as-given --require-reads -R @RG\tID:g\tSM:s --casava=XX
             --comment Reverse with: samtools fastq -1 R1.fastq -2 R2.fastq -i --index-format 'i*i*'
             --number-records xo:5 -@ 1 -o - -O sam --no-index a.fq b.fq",
        ),
        (
            "samtools import a.fq b.fq -T RX,BX -R g --order xo",
            r"readmill import --as-given --require-reads -R @RG\tID:g -C --keep-optional-fields RX,BX,RG,xo
             --comment Reverse with: samtools fastq -1 R1.fastq -2 R2.fastq
             --number-records xo -@ 1 -o - -O sam --no-index a.fq b.fq",
        ),
    ] {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(native(line), wanted, "{line}");
        let Ok(TranslatedLine::Native(words, _)) = front(line) else { panic!("{line}") };
        assert_eq!(parsed::native_error_of_words(&words), None, "{line}");
    }
}
