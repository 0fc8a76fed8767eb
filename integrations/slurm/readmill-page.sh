#!/bin/sh
#SBATCH --job-name=readmill-page
#SBATCH --output=readmill-page-%j.log
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=1:00:00
#
# The page of all samples, from the run files that the tasks of readmill-array.sh wrote.
#
#   sh readmill-page.sh samples.csv results
#
# readmill-array.sh submits this script as a job that runs after its array. It writes OUTDIR/cohort.html, and the table for
# MultiQC OUTDIR/cohort_mqc.json. Samples without a run file are named, and are not on the page; then the exit code is 1.
# READMILL names the program; without it, readmill on the PATH runs. READMILL_PAGE_OPTIONS are more options of readmill report,
# without quotes, for example '--sample-sheet plate.tsv --assay exome'.
set -eu

fail() { echo "readmill-page: $*" >&2; exit 1; }

[ $# = 2 ] || fail "usage: sh readmill-page.sh SHEET.csv OUTDIR"
sheet=$1 outdir=$2
[ -r "$sheet" ] || fail "$sheet: this sample sheet cannot be read"

# The samples of the sheet, in the order of their names.
samples=$(awk -F ',' '
    { sub(/\r$/, ""); for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i) }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    column["sample"] && $column["sample"] != "" { print $column["sample"] }' "$sheet" | LC_ALL=C sort -u)
[ -n "$samples" ] || fail "$sheet: it has no samples"

set --
missing=0
while IFS= read -r sample; do
    run=$outdir/$sample/$sample.run.json
    if [ -e "$run" ]; then
        set -- "$@" "$run"
    else
        echo "readmill-page: $sample has no run file $run; see the log of its task" >&2
        missing=1
    fi
done <<SAMPLES
$samples
SAMPLES
[ $# -gt 0 ] || fail "no sample has a run file"
set -- -- "$@"
[ "${SLURM_MEM_PER_NODE:-0}" = 0 ] || set -- -m "${SLURM_MEM_PER_NODE}M" "$@"
# shellcheck disable=SC2086 # they are words
"${READMILL:-readmill}" report ${READMILL_PAGE_OPTIONS-} -o "$outdir/cohort.html" --multiqc "$outdir/cohort_mqc.json" "$@"
echo "readmill-page: wrote $outdir/cohort.html" >&2
exit "$missing"
