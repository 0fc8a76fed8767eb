#!/bin/sh
#SBATCH --job-name=readmill
#SBATCH --output=readmill-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=12
#SBATCH --mem=36G
#SBATCH --time=16:00:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
#
# From FASTQ to analysis-ready CRAM on SLURM: one task of an array for each sample, all its lanes in one run of readmill.
#
#   sh readmill-array.sh samples.csv ref.fa results [KNOWN-SITES.vcf.gz...]
#
# submits the array, and after it a short job for the page of all samples, OUTDIR/cohort.html (readmill-page.sh, which has to be
# in the directory of this script). The sample sheet has the columns sample,lane,fastq_1,fastq_2, without quotes. Options of sbatch
# go into its variables, for example SBATCH_PARTITION=long; resources are changed above, or by SBATCH_OPTIONS='--mem=64G
# --cpus-per-task=16'. The same command submits again what is not finished: a sample whose outputs are there is skipped.
# READMILL names the program; without it, readmill on the PATH runs. READMILL_OPTIONS are more options of readmill align, without
# quotes; {prefix} stands for OUTDIR/SAMPLE/SAMPLE: READMILL_OPTIONS='--assay exome --fastqc {prefix}.fastqc'.
set -eu

# The most times that a task runs again that a signal ended, or that says that a rerun may help.
most_requeues=2

fail() { echo "readmill-array: $*" >&2; exit 1; }

[ $# -ge 3 ] || fail "usage: sh readmill-array.sh SHEET.csv REF.fa OUTDIR [KNOWN-SITES...]"
sheet=$1 fasta=$2 outdir=$3
shift 3 # what is left are known sites
[ -r "$sheet" ] || fail "$sheet: this sample sheet cannot be read"
readmill=${READMILL:-readmill}

# The rows of the sheet as sample|lane|fastq_1|fastq_2, by sample and lane, so that the order of rows does not matter.
rows() {
    awk -F ',' -v sheet="$sheet" '
        { sub(/\r$/, ""); for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i) }
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i
                  if (!(column["sample"] && column["lane"] && column["fastq_1"] && column["fastq_2"]))
                      bad("its first line must be sample,lane,fastq_1,fastq_2")
                  next }
        /^[ \t,]*$/ { next }
        /"/ { bad("line " NR " has a quote; names with commas or quotes are not possible here") }
        { sample = $column["sample"]; lane = $column["lane"]; one = $column["fastq_1"]; two = $column["fastq_2"]
          if (sample == "" || lane == "" || one == "") bad("line " NR " has no sample, lane or fastq_1")
          if (seen[sample, lane]++) bad("line " NR ": sample " sample " has two rows of lane " lane)
          if (sample in pairs && pairs[sample] != (two != ""))
              bad("sample " sample " has lanes of pairs and lanes of single reads; make them two samples")
          pairs[sample] = (two != "")
          print sample "|" lane "|" one "|" two }
        function bad(what) { print "readmill-array: " sheet ": " what > "/dev/stderr"; failed = 1; exit 1 }
        END { if (!failed && NR < 2) bad("it has no samples") }' "$sheet" >"$1" || exit 1
    LC_ALL=C sort -t '|' -k 1,1 -k 2,2 -o "$1" "$1"
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
rows "$list"
number=$(cut -d '|' -f 1 "$list" | uniq | wc -l)

# ---- Outside of an array: submit it ----

if [ -z "${SLURM_ARRAY_TASK_ID-}" ]; then
    for end in amb ann pac bwt.2bit.64; do
        [ -r "$fasta.$end" ] || fail "$fasta.$end is not there; make the index once: $readmill index $fasta"
    done
    code=0
    # With --wait, sbatch ends with the code of the tasks.
    # shellcheck disable=SC2086 # they are words
    array=$(sbatch ${SBATCH_OPTIONS-} --parsable --array="1-$((number))" "$0" "$sheet" "$fasta" "$outdir" "$@") || code=$?
    array=${array%%;*}
    [ -n "$array" ] || exit "$code"
    echo "Submitted batch job $array"
    # It runs after all tasks, whether they failed or not, and names the samples that are not finished.
    page_code=0
    # shellcheck disable=SC2086 # they are words
    page=$(sbatch ${SBATCH_OPTIONS-} --parsable --cpus-per-task=1 --dependency="afterany:$array" "$(dirname "$0")/readmill-page.sh" \
        "$sheet" "$outdir") || page_code=$?
    [ -z "$page" ] || echo "Submitted batch job ${page%%;*} for the page of all samples"
    [ "$code" != 0 ] || code=$page_code
    exit "$code"
fi

# ---- A task of the array: one sample ----

[ "$SLURM_ARRAY_TASK_ID" -le "$number" ] || fail "the array has task $SLURM_ARRAY_TASK_ID, $sheet has $number samples"
sample=$(cut -d '|' -f 1 "$list" | uniq | sed -n "${SLURM_ARRAY_TASK_ID}p")
prefix=$outdir/$sample/$sample output=$outdir/$sample/$sample.cram

# An output gets its name when it is complete, so one that is there is complete.
outputs="$output $output.crai $output.metrics.txt $output.flagstat $output.stats.txt $prefix.html $prefix.run.json"
outputs="$outputs $prefix.alignment_summary_metrics $prefix.mosdepth.summary.txt"
[ $# = 0 ] || outputs="$outputs $output.recal.table"
missing=''
for file in $outputs; do
    [ -e "$file" ] || missing=$file
done
if [ -z "$missing" ]; then
    echo "readmill-array: $sample is finished: $output" >&2
    exit
fi
mkdir -p "$outdir/$sample"

# What SLURM gives: cores become -@, the total number of threads; memory becomes -m, the limit on the whole process.
threads=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}
memory=${SLURM_MEM_PER_NODE:-}
[ -n "$memory" ] || memory=$((${SLURM_MEM_PER_CPU:-0} * threads))

# The arguments, known sites last: they are what "$@" has.
for sites; do
    shift
    set -- "$@" --known-sites "$sites"
done
[ $# = 0 ] || set -- --bqsr --bqsr-table "$output.recal.table" "$@"
[ "$memory" = 0 ] || set -- -m "${memory}M" "$@"
lanes=''
while IFS='|' read -r name lane one two; do
    [ "$name" = "$sample" ] || continue
    set -- "$@" -R "@RG\\tID:$sample.$lane\\tSM:$sample\\tLB:$sample\\tPL:ILLUMINA\\tPU:$sample.$lane"
    lanes="$lanes$one
$two
"
done <"$list"
[ -n "$(printf %s "$lanes" | sed -n 2p)" ] || set -- "$@" --single
# shellcheck disable=SC2046 # they are words
set -- "$@" $(printf %s "${READMILL_OPTIONS-}" | sed "s|{output}|$output|g; s|{prefix}|$prefix|g")
set -- "$@" --sort coordinate --mark-duplicates -o "$output" -@ "$threads" --metrics "$output.metrics.txt" \
    --flagstat "$output.flagstat" --stats "$output.stats.txt" --report "$prefix.html" --json "$prefix.run.json" \
    --qc "$prefix" --qc-metrics all,CollectWgsMetrics --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP \
    --coverage "$prefix" --coverage-no-per-base -- "$fasta"
while IFS= read -r file; do
    [ -z "$file" ] || set -- "$@" "$file"
done <<LANES
$lanes
LANES

# SLURM sends USR1 to this script two minutes before the time limit, and TERM when it takes the node away. readmill removes what
# is not complete, and ends with 128 + the signal's number.
pid='' signal=''
pass_on() { [ -z "$pid" ] || kill "-$signal" "$pid" || true; }
trap 'signal=USR1; pass_on' USR1
trap 'signal=TERM; pass_on' TERM
"$readmill" align "$@" &
pid=$!
[ -z "$signal" ] || pass_on
code=0
wait "$pid" || code=$?
while kill -0 "$pid" 2>/dev/null; do # a signal ended the wait, not readmill
    code=0
    wait "$pid" || code=$?
done

case $code in
    0) exit ;;
    138) [ "$signal" != USR1 ] || fail "$sample: the time limit came; raise --time, or give more cores" ;;
    143) [ "$signal" != TERM ] || exit 143 ;; # SLURM ends the task: it puts it back into the queue itself after preemption
esac
# 130 to 145: a signal; 104: the connection was lost; 75: a rerun may help. Other codes are errors that stay.
case $code in
    13[0-9] | 14[0-5] | 104 | 75)
        if [ "${SLURM_RESTART_COUNT:-0}" -lt "$most_requeues" ]; then
            echo "readmill-array: $sample ended with $code; it runs again" >&2
            # SLURM_JOB_ID would not do: that of the last task is the number of the whole array, too.
            scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" && exit "$code"
        fi
        ;;
esac
echo "readmill-array: $sample ended with $code" >&2
exit "$code"
