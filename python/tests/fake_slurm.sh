#!/usr/bin/env bash
# Stands for sbatch, squeue and scancel: jobs are process groups of this machine, in files of FAKE_SLURM. The partition "none" is refused.
case ${0##*/} in
    sbatch)
        case $1 in
            --test-only)
                ! grep -q '^#SBATCH -p none$' || { echo "sbatch: error: invalid partition specified: none" >&2; exit 1; }
                exit 0
                ;;
        esac
        job=$(($(ls "$FAKE_SLURM" | wc -l) + 1))
        until mkdir "$FAKE_SLURM/$job" 2>/dev/null; do job=$((job + 1)); done
        cp "$1" "$FAKE_SLURM/$job/script"
        setsid sh -c 'echo $$ >"$1/group"; exec sh "$1/script"' sh "$FAKE_SLURM/$job" >"$FAKE_SLURM/$job/log" 2>&1 </dev/null &
        until [ -s "$FAKE_SLURM/$job/group" ]; do :; done
        echo "Submitted batch job $job"
        ;;
    squeue)
        for job in $(echo "$3" | tr , ' '); do
            ! kill -0 -- "-$(cat "$FAKE_SLURM/$job/group")" 2>/dev/null || echo "$job all readmill"
        done
        ;;
    scancel) kill -TERM -- "-$(cat "$FAKE_SLURM/$1/group")" 2>/dev/null || true ;;
esac
