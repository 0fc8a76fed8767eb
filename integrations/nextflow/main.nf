#!/usr/bin/env nextflow
// From FASTQ to analysis-ready CRAM: one task for each sample, all its lanes in one run of readmill; then a page of all samples.

include { READMILL_INDEX } from './modules/readmill/index/main'
include { READMILL_ALIGN } from './modules/readmill/align/main'
include { READMILL_REPORT } from './modules/readmill/report/main'

// The files of an aligner's index that must be there; the others of the list go along where they are.
def needed() { ['amb', 'ann', 'pac', 'bwt.2bit.64'] }
def beside() { needed() + ['alt', 'fai', 'gzi'] }

// One row of the sample sheet, checked.
def lane(row) {
    ['sample', 'lane', 'fastq_1'].each { column ->
        if (!row[column]) { error "${params.input}: a row has no ${column}: ${row}" }
    }
    def reads = [row.fastq_1, row.fastq_2].findAll().collect { file(it, checkIfExists: true) }
    [row.sample, [name: row.lane, reads: reads]]
}

// All lanes of a sample, in the order of their names, so that the result does not depend on the order of rows.
def joined(sample, lanes) {
    def sorted = lanes.sort(false) { it.name }
    if (sorted*.name.toSet().size() != sorted.size()) {
        error "${params.input}: sample ${sample} has two rows of one lane; give each its own name in the column lane"
    }
    if (sorted.collect { it.reads.size() }.toSet().size() != 1) {
        error "${params.input}: sample ${sample} has lanes of pairs and lanes of single reads; make them two samples"
    }
    def groups = sorted.collect { lane ->
        "@RG\\tID:${sample}.${lane.name}\\tSM:${sample}\\tLB:${sample}\\tPL:ILLUMINA\\tPU:${sample}.${lane.name}"
    }
    def meta = [id: sample, single_end: sorted[0].reads.size() == 1, read_groups: groups*.toString()]
    [meta, sorted.collectMany { it.reads }]
}

workflow {
    if (!params.input || !params.fasta) {
        error "give --input SHEET.csv (columns sample,lane,fastq_1,fastq_2) and --fasta REF.fa"
    }
    fasta = file(params.fasta, checkIfExists: true)
    found = beside().collect { file("${params.fasta}.${it}") }.findAll { it.exists() }
    sites = params.known_sites ? params.known_sites.tokenize(',').collect { file(it, checkIfExists: true) } : []

    if (needed().every { end -> found.any { it.name == "${fasta.name}.${end}" } }) {
        index = Channel.value([[id: fasta.name], fasta, found])
    } else {
        READMILL_INDEX([[id: fasta.name], fasta])
        rest = found.findAll { file -> !needed().any { file.name == "${fasta.name}.${it}" } }
        index = READMILL_INDEX.out.index.map { meta, fa, made -> [meta, fa, made + rest] }.first()
    }

    samples = Channel.fromPath(params.input, checkIfExists: true)
        .splitCsv(header: true, strip: true)
        .map { row -> lane(row) }
        .groupTuple()
        .map { sample, lanes -> joined(sample, lanes) }

    READMILL_ALIGN(samples, index, sites)

    // The page of all samples, in the order of their names. Without --json in ext.args of READMILL_ALIGN, there is none.
    runs = READMILL_ALIGN.out.json
        .toSortedList { a, b -> a[0].id <=> b[0].id }
        .filter { all -> all }
        .map { all -> [[id: 'cohort'], all.collect { meta, run -> run }] }
    fields = params.sample_fields ? file(params.sample_fields, checkIfExists: true) : []
    READMILL_REPORT(runs, fields)

    READMILL_ALIGN.out.versions.first().collectFile(name: 'versions.yml', storeDir: params.outdir)
}
