"""Snakemake wrapper for readmill index: makes the index that readmill align needs."""

__author__ = "readmill"
__license__ = "MIT OR Apache-2.0"

import os
import shlex

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
readmill = shlex.quote(os.environ.get("READMILL") or "readmill")
extra = snakemake.params.get("extra", "")

# The files are named after the first output, without its end.
prefix, end = os.path.splitext(str(snakemake.output[0]))
if end != ".amb":
    raise ValueError(f"the first output of readmill index is PREFIX.amb, not {snakemake.output[0]}")
shell("{readmill} index {snakemake.input.ref:q} -o {prefix:q} {extra} {log}")
