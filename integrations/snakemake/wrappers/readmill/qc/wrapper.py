"""Snakemake wrapper for readmill qc: quality metrics, coverage and FastQC results of reads."""

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


log = snakemake.log_fmt_shell(stdout=False, stderr=True)
readmill = shlex.quote(os.environ.get("READMILL") or "readmill")
extra = snakemake.params.get("extra", "")

# The limit on the whole process is the memory of the job. mem_mb counts 10^6 bytes, -m and mem_mib count 2^20.
memory = snakemake.resources.get("mem_mib")
flags = [f"-m {memory}M"] if isinstance(memory, int) else []
if snakemake.input.get("ref"):
    flags.append("--reference " + shlex.quote(str(snakemake.input.ref)))

# Metrics and coverage have one prefix: the first file of either output without its ending.
metrics, coverage = (as_list(snakemake.output.get(name)) for name in ("qc", "coverage"))
prefixes = [re.sub(r"(\.gc_bias)?\.\w+$", "", file) for file in metrics[:1]]
prefixes += [
    re.sub(r"\.(mosdepth|per-base|regions|quantized|thresholds)\.[\w.]+$", "", file) for file in coverage[:1]
]
if len(set(prefixes)) > 1:
    raise ValueError(f"the outputs qc and coverage need one prefix, not {' and '.join(prefixes)}")
flags += ["-o " + shlex.quote(prefix) for prefix in prefixes[:1]]
if not metrics:
    flags.append("--no-metrics")
if coverage:
    flags.append("--coverage")
for name, flag in {
    "report": "--report",
    "json": "--json",
    "fastqc": "--fastqc",
}.items():
    if snakemake.output.get(name):
        flags.append(f"{flag} " + shlex.quote(snakemake.output[name]))

reads = " ".join(map(shlex.quote, as_list(snakemake.input.get("reads") or snakemake.input[0])))
flags = " ".join(flags)
shell("{readmill} qc {reads} -@ {snakemake.threads} {flags} {extra} {log}")
