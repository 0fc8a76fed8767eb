"""Snakemake wrapper for readmill report: the page of all samples, from their run files."""

__author__ = "readmill"
__license__ = "MIT OR Apache-2.0"

import os
import shlex

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
readmill = shlex.quote(os.environ.get("READMILL") or "readmill")
extra = snakemake.params.get("extra", "")

# The limit on the whole process is the memory of the job. mem_mb counts 10^6 bytes, -m and mem_mib count 2^20.
memory = snakemake.resources.get("mem_mib")
flags = [f"-m {memory}M"] if isinstance(memory, int) else []
if snakemake.input.get("sample_sheet"):
    flags.append("--sample-sheet " + shlex.quote(str(snakemake.input.sample_sheet)))
if snakemake.output.get("multiqc"):
    flags.append("--multiqc " + shlex.quote(snakemake.output.multiqc))
flags = " ".join(flags)
shell("{readmill} report {snakemake.input.runs:q} -o {snakemake.output[0]:q} {flags} {extra} {log}")
