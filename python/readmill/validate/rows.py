"""The accepted differences that a validation can recognise, with the text of their rows.

The document must be readable without a network, so the text is here as well. A test compares it with the pages of
``docs``.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The pages of the documentation. The anchor of a row is ``#row-N``.
DOCS_URL = "https://github.com/readmill/readmill/blob/main/docs/"


@dataclass(frozen=True)
class Row:
    """An accepted difference: a numbered row of the documentation."""

    number: int
    #: Name of its page, without the extension.
    page: str
    case: str
    #: What the other tool does.
    theirs: str
    #: What readmill does.
    ours: str
    why: str

    @property
    def url(self) -> str:
        """The address of the row."""
        return f"{DOCS_URL}{self.page}.md#row-{self.number}"


#: All rows that `readmill.validate` recognises.
ROWS: dict[int, Row] = {
    1: Row(
        1,
        "duplicates",
        "Paired reads without RG, or with an RG that the header lacks",
        "Stops with a NullPointerException. It accepts single reads of this kind.",
        'Assigns them to the library "Unknown Library". A warning gives their number.',
        "A missing read group should not end a run, and Picard also treats single reads in this way.",
    ),
    4: Row(
        4,
        "duplicates",
        "Two ends of the same name and read group that wait for mates on the same contig, in coordinate mode",
        'Stops with a SAMException ("value was put into PairInfoMap more than once").',
        "Replaces the earlier end by the later one, as Picard does in queryname mode.",
        "Names should be unique. If they are not, the run should still finish.",
    ),
    5: Row(
        5,
        "outputs",
        "PG:Z of records, and the added @PG",
        "Picard MarkDuplicates rewrites PG:Z of every record, and adds one @PG for each value that it saw.",
        "Does not change records. Adds one @PG for each chain, as samtools does.",
        "A tag in each record costs space and adds no information.",
    ),
    6: Row(
        6,
        "outputs",
        "Order of tags, and integer types of their values",
        "htsjdk orders tags by their second letter, and chooses the integer types again.",
        "Keeps the order and the types of the input.",
        "readmill does not change records without a reason.",
    ),
    7: Row(
        7,
        "outputs",
        "CL of the added @PG",
        "Has the whole command line.",
        "Has only the steps and their flags: no file names of input and output, no -@, -m, -T.",
        "The output depends only on the input and the steps, so the header must not contain threads or paths.",
    ),
    10: Row(
        10,
        "duplicates",
        "A paired record with 0x8 clear and RNEXT *, in template mode",
        "Stops with an IndexOutOfBoundsException in queryname mode.",
        "Treats the record as in coordinate mode, and marks the whole template.",
        "Real files with missing mates have such records.",
    ),
    36: Row(
        36,
        "duplicates",
        "ESTIMATED_LIBRARY_SIZE",
        "Uses Java's e^x, which on x86-64 is not the nearest number for 2 of 1,000 arguments. Of 300,000 "
        "random libraries, 27 had another size, in the eighth digit or later. All 27 had more than 6 million "
        "pairs and less than 1 % duplicates.",
        "Uses the same bisection, with an e^x that is always the nearest number.",
        "readmill writes the same bytes on every machine.",
    ),
    37: Row(
        37,
        "duplicates",
        "First lines of the metrics file",
        "The command line and the date.",
        "MarkDuplicates INPUT= with the name of the sample (how it is chosen), then the canonical plan in "
        "brackets. MultiQC takes the sample from this line. Started on: has the version.",
        "Equal runs give equal bytes.",
    ),
    50: Row(
        50,
        "recalibration",
        "Reads without read group, without bases or qualities, with N in the CIGAR, whose CIGAR does not fit "
        "SEQ, or whose POS lies beyond the contig, in bqsr apply and prep --bqsr",
        "ApplyBQSR drops them. Without its filter, it stops at reads without qualities.",
        "Keeps them, and reports their number. They get new qualities if they have qualities and a read "
        "group; otherwise they do not change. --gatk-drop-malformed drops them.",
        "No read is lost.",
    ),
    60: Row(
        60,
        "recalibration",
        "CL of @PG, and the order of fields of recalibrated reads",
        "htsjdk writes fields in its own order.",
        "Rows 6 and 7 apply.",
        "These rows give the reasons.",
    ),
    93: Row(
        93,
        "outputs",
        "stats: barcode sections, the command line, cycles above 1,000, and reads longer than 65,534 bases",
        "Writes rows for them.",
        "Leaves them out. For cycles and reads, a comment in the output states this.",
        "These rows depend on the first read of the file, or need unlimited memory.",
    ),
    103: Row(
        103,
        "align",
        "MQ and HN",
        "bwa writes MQ from 0.7.18 on; bwa-mem3 writes MQ and HN.",
        "Does not write them.",
        "readmill claims the records of 0.7.17.",
    ),
    177: Row(
        177,
        "qc",
        "Insert sizes: no pair has an insert size, or each orientation has too few pairs",
        "CollectInsertSizeMetrics writes no file.",
        "Writes a file without a table.",
        "A workflow finds all files that it expects.",
    ),
    178: Row(
        178,
        "qc",
        "Alignments: no read of a row passes quality control (all have 0x200)",
        "CollectAlignmentSummaryMetrics ends with an exception.",
        "Writes a row of zeros.",
        "The run goes on.",
    ),
    179: Row(
        179,
        "qc",
        "Alignments: mapped reads without bases, or without qualities (with mapping quality 20 or higher)",
        "CollectAlignmentSummaryMetrics ends with an exception.",
        "Counts the existing bases and qualities.",
        "The run goes on.",
    ),
    180: Row(
        180,
        "qc",
        "Insert sizes: a pair on two contigs whose TLEN is not 0",
        "CollectInsertSizeMetrics ends with an exception.",
        "Gives the pair no insert size.",
        "The run goes on.",
    ),
    189: Row(
        189,
        "qc",
        "Artifacts: a read whose library is unknown (no read group, or a read group that is not in the header)",
        "CollectSequencingArtifactMetrics ends with an exception.",
        "Writes separate rows for it, as UnknownLibrary.",
        "The run goes on.",
    ),
    247: Row(
        247,
        "outputs",
        "stats: COV of long reads (below)",
        "Counts depths in a ring buffer, mixes up the depths of different positions in it, and loses a part "
        "of the buffer when it grows.",
        "Counts the depth of each position.",
        "Each depth belongs to one position.",
    ),
}

#: Errors of Picard that a row describes: the Picard program, a part of its message, and the row.
ERRORS: tuple[tuple[str, str, int], ...] = (
    ("MarkDuplicates", "java.lang.NullPointerException", 1),
    ("MarkDuplicates", "put into PairInfoMap more than once", 4),
    ("MarkDuplicates", "java.lang.IndexOutOfBoundsException", 10),
    ("CollectAlignmentSummaryMetrics", "Input file contains no PF_READS", 178),
    ("CollectAlignmentSummaryMetrics", "ArrayIndexOutOfBoundsException", 179),
    ("CollectInsertSizeMetrics", "both reads aligned to the same reference", 180),
    ("CollectSequencingArtifactMetrics", "missing from header: UnknownLibrary", 189),
)


def row_of_error(program: str, messages: str) -> int | None:
    """Returns the row that describes an error message of a Picard program."""
    return next((row for name, part, row in ERRORS if name == program and part in messages), None)
