"""Runs a sample through readmill and through samtools, Picard, GATK and bwa, and writes the evidence as a document.

``python -m readmill.validate`` is the command; docs/validation.md describes it. It needs only the standard library:

- `programs` finds the programs and measures their runs;
- `workspace` prepares the directory in which they run;
- `chains` runs the steps of both sides;
- `comparisons` compares their outputs, and finds the numbered rows that explain a difference;
- `document` writes the result as HTML and as text.
"""
