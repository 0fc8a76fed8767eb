"""Snakemake wrapper for readmill prep: any steps on aligned reads in one pass."""

__author__ = "readmill"
__license__ = "MIT OR Apache-2.0"

import os
import re
import shlex

from snakemake.shell import shell


def as_list(value):
    """A named item of a rule, which can be absent, one file or several, as a list."""
    if not value:
        return []
    return [str(value)] if isinstance(value, str) else [str(one) for one in value]


# Outputs of several files, their flags, and the endings of their names.
PREFIXES = [
    ("qc", "--qc", r"(\.gc_bias)?\.\w+$"),
    ("coverage", "--coverage", r"\.(mosdepth|per-base|regions|quantized|thresholds)\.[\w.]+$"),
]

log = snakemake.log_fmt_shell(stdout=False, stderr=True)
readmill = shlex.quote(os.environ.get("READMILL") or "readmill")
extra = snakemake.params.get("extra", "")

# The limit on the whole process is the memory of the job. mem_mb counts 10^6 bytes, -m and mem_mib count 2^20.
memory = snakemake.resources.get("mem_mib")
flags = [f"-m {memory}M"] if isinstance(memory, int) else []
if snakemake.input.get("ref"):
    flags.append("--reference " + shlex.quote(str(snakemake.input.ref)))
for sites in as_list(snakemake.input.get("known_sites")):
    flags.append("--known-sites " + shlex.quote(sites))
for name, flag in {
    "metrics": "--metrics",
    "flagstat": "--flagstat",
    "stats": "--stats",
    "table": "--bqsr-table",
    "report": "--report",
    "json": "--json",
    "fastqc": "--fastqc",
}.items():
    if snakemake.output.get(name):
        flags.append(f"{flag} " + shlex.quote(snakemake.output[name]))
# Metrics and coverage have a prefix: the first file of the output without its ending.
for name, flag, ending in PREFIXES:
    files = as_list(snakemake.output.get(name))
    if files:
        flags.append(f"{flag} " + shlex.quote(re.sub(ending, "", files[0])))

reads = " ".join(map(shlex.quote, as_list(snakemake.input.get("reads") or snakemake.input[0])))
flags = " ".join(flags)
shell(
    "{readmill} prep {reads} -o {snakemake.output[0]:q} -@ {snakemake.threads}"
    " {flags} {extra} {log}"
)
