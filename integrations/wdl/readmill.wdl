version 1.0

# From FASTQ to analysis-ready CRAM: one task for each sample, all its lanes in one run of readmill; then a page of all samples.

struct Lane {
    String name
    File fastq_1
    File? fastq_2
}

struct Sample {
    String name
    Array[Lane] lanes
}

workflow fastq_to_cram {
    meta {
        description: "Aligns, sorts, marks duplicates and recalibrates each sample in one pass of readmill"
    }

    parameter_meta {
        samples: "name and lanes of each sample; lanes are all of pairs, or all of single reads"
        fasta: "reference, as FASTA"
        index: "its index, by readmill index or bwa-mem2 index, with REF.alt and REF.fai where they exist; made if not given"
        known_sites: "VCF, BCF or BED; without any, qualities are not recalibrated"
        assay: "wgs, exome, panel or rna: thresholds of the pages; without it, those of whole genomes"
        sample_fields: "fields of the samples for the page of all samples, with tabs"
        cpu: "threads in all of one sample"
        memory_mib: "memory in all of one sample, in MiB"
        max_retries: "how often a task runs again that died"
    }

    input {
        Array[Sample] samples
        File fasta
        Array[File]? index
        Array[File] known_sites = []
        String? assay
        File? sample_fields
        Int cpu = 12
        Int memory_mib = 36864
        Int index_memory_mib = 73728
        Int max_retries = 2
        String? docker
    }

    if (!defined(index)) {
        call index_reference {
            input: fasta = fasta, memory_mib = index_memory_mib, max_retries = max_retries, docker = docker
        }
    }

    scatter (sample in samples) {
        scatter (lane in sample.lanes) {
            Array[File] lane_reads = select_all([lane.fastq_1, lane.fastq_2])
            String read_group = "@RG\\tID:~{sample.name}.~{lane.name}\\tSM:~{sample.name}\\tLB:~{sample.name}\\tPL:ILLUMINA\\tPU:~{sample.name}.~{lane.name}"
        }
        call align {
            input:
                sample = sample.name,
                reads = flatten(lane_reads),
                read_groups = read_group,
                fasta = fasta,
                index = select_first([index, index_reference.files]),
                known_sites = known_sites,
                assay = assay,
                cpu = cpu,
                memory_mib = memory_mib,
                max_retries = max_retries,
                docker = docker
        }
    }

    call report {
        input:
            runs = align.json, sample_fields = sample_fields, assay = assay, max_retries = max_retries, docker = docker
    }

    output {
        File page = report.page
        File multiqc = report.multiqc
        Array[File] cram = align.cram
        Array[File] crai = align.crai
        Array[File] metrics = align.metrics
        Array[File] flagstat = align.flagstat
        Array[File] stats = align.stats
        Array[File?] table = align.table
        Array[File] report_page = align.page
        Array[File] json = align.json
        Array[Array[File]] qc = align.qc
        Array[Array[File]] coverage = align.coverage
    }
}

task index_reference {
    meta {
        description: "Makes the index that readmill align needs"
    }

    parameter_meta {
        fasta: "reference, as FASTA"
        memory_mib: "18 bytes a base of a human genome"
    }

    input {
        File fasta
        Int memory_mib = 73728
        Int max_retries = 2
        String? docker
    }

    String name = basename(fasta)

    command <<<
        set -eu
        "${READMILL:-readmill}" index "~{fasta}" -o "~{name}"
    >>>

    output {
        Array[File] files = [name + ".amb", name + ".ann", name + ".pac", name + ".bwt.2bit.64"]
    }

    runtime {
        cpu: 1
        memory: "~{memory_mib} MiB"
        maxRetries: max_retries
        docker: docker
    }
}

task align {
    meta {
        description: "Aligns all lanes of a sample, sorts, marks duplicates and recalibrates, in one pass"
    }

    parameter_meta {
        sample: "name of the sample and of the outputs"
        reads: "FASTQ files; of pairs R1 and R2 of one lane, then of the next lane"
        read_groups: "one @RG line for each lane"
        fasta: "reference, as FASTA"
        index: "files of its index"
        known_sites: "VCF, BCF or BED; without any, qualities are not recalibrated"
        assay: "wgs, exome, panel or rna: thresholds of the page"
        extra: "other flags of readmill align"
    }

    input {
        String sample
        Array[File] reads
        Array[String] read_groups
        File fasta
        Array[File] index
        Array[File] known_sites = []
        String? assay
        String extra = ""
        Int cpu = 12
        Int memory_mib = 36864
        Int max_retries = 2
        String? docker
    }

    String reference = basename(fasta)
    String cram_name = sample + ".cram"
    Int lanes = length(read_groups)
    Boolean recalibrates = length(known_sites) > 0

    # The reference and its index lie side by side, under their own names, and so do the known sites.
    command <<<
        set -eu
        ln -sf "~{fasta}" '~{sep="' '" index}' .
        layout=--single
        if [ ~{length(reads)} -eq ~{2 * lanes} ]; then
            layout=''
        elif [ ~{length(reads)} -ne ~{lanes} ]; then
            echo "sample ~{sample} has lanes of pairs and lanes of single reads; make them two samples" >&2
            exit 1
        fi
        sites=''
        if ~{recalibrates}; then
            set -- '~{sep="' '" known_sites}'
            ln -sf "$@" .
            for file; do
                sites="$sites --known-sites $(basename "$file")"
            done
        fi
        "${READMILL:-readmill}" align "~{reference}" '~{sep="' '" reads}' \
            -o "~{cram_name}" -@ ~{cpu} -m ~{memory_mib}M $layout \
            -R '~{sep="' -R '" read_groups}' \
            --sort coordinate --mark-duplicates ~{if recalibrates then "--bqsr --bqsr-table '" + cram_name + ".recal.table'" else ""} $sites \
            --metrics "~{cram_name}.metrics.txt" --flagstat "~{cram_name}.flagstat" \
            --stats "~{cram_name}.stats.txt" --report "~{sample}.html" --json "~{sample}.run.json" ~{"--assay " + assay} \
            --qc "~{sample}" --qc-metrics all,CollectWgsMetrics --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP \
            --coverage "~{sample}" --coverage-no-per-base ~{extra}
    >>>

    output {
        File cram = cram_name
        File crai = cram_name + ".crai"
        File metrics = cram_name + ".metrics.txt"
        File flagstat = cram_name + ".flagstat"
        File stats = cram_name + ".stats.txt"
        File? table = cram_name + ".recal.table"
        File page = sample + ".html"
        File json = sample + ".run.json"
        Array[File] qc = glob(sample + ".*_metrics")
        Array[File] coverage = glob(sample + ".mosdepth.*")
    }

    runtime {
        cpu: cpu
        memory: "~{memory_mib} MiB"
        maxRetries: max_retries
        docker: docker
    }
}

task report {
    meta {
        description: "Makes the page of all samples, and a table for MultiQC, from their run files"
    }

    parameter_meta {
        runs: "run files of all samples"
        sample_fields: "fields of the samples, with tabs"
        assay: "wgs, exome, panel or rna: thresholds of the page"
    }

    input {
        Array[File] runs
        File? sample_fields
        String? assay
        Int memory_mib = 2048
        Int max_retries = 2
        String? docker
    }

    command <<<
        set -eu
        "${READMILL:-readmill}" report '~{sep="' '" runs}' -o cohort.html --multiqc cohort_mqc.json \
            -m ~{memory_mib}M ~{"--assay " + assay} ~{"--sample-sheet " + sample_fields}
    >>>

    output {
        File page = "cohort.html"
        File multiqc = "cohort_mqc.json"
    }

    runtime {
        cpu: 1
        memory: "~{memory_mib} MiB"
        maxRetries: max_retries
        docker: docker
    }
}
