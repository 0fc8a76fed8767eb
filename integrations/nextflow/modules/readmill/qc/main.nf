process READMILL_QC {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${task.ext.container ?: 'readmill:0.2.0-workflow'}"

    input:
    tuple val(meta) , path(input, stageAs: '?/*')
    tuple val(meta2), path(fasta), path(fai)
    path files

    output:
    tuple val(meta), path("${prefix}.*_{metrics,coverage}")                              , emit: qc      , optional: true
    tuple val(meta), path("${prefix}.{mosdepth,per-base,regions,quantized,thresholds}.*"), emit: coverage, optional: true
    tuple val(meta), path("**_fastqc", type: 'dir')                                      , emit: fastqc  , optional: true
    tuple val(meta), path("${prefix}.html")                                              , emit: report  , optional: true
    tuple val(meta), path("${prefix}.run.json")                                          , emit: json    , optional: true
    path "versions.yml"                                                                  , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args   = task.ext.args ?: ''
    def name   = task.ext.prefix ?: "${meta.id}"
    prefix     = name
    // -m limits the whole process, so it is the memory of the task.
    def memory = task.memory ? "-m ${task.memory.toMega()}M" : ''
    def ref    = fasta ? "--reference ${fasta}" : ''
    def sample = args =~ /--sample[\s=]/ ? '' : "--sample ${name}"
    """
    "\${READMILL:-readmill}" qc ${input} \\
        -o ${name} -@ ${task.cpus} ${memory} \\
        ${sample} ${ref} ${args}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """

    stub:
    def args   = task.ext.args ?: ''
    def name   = task.ext.prefix ?: "${meta.id}"
    prefix     = name
    // The files of the flags, with the names that the outputs above have.
    def has    = { flag -> args =~ /(?:^|\s)${flag}(?:[\s=]|$)/ }
    def qc     = has('--no-metrics') ? '' : "${name}.alignment_summary_metrics"
    def depths = has('--coverage') ? "${name}.mosdepth.global.dist.txt ${name}.mosdepth.summary.txt" : ''
    def page   = has('--report') ? "${name}.html" : ''
    def json   = has('--json') ? "${name}.run.json" : ''
    def fastqc = has('--fastqc') ? "mkdir ${name}_fastqc; touch ${name}_fastqc/fastqc_data.txt ${name}_fastqc/summary.txt" : ''
    """
    touch versions.yml ${qc} ${depths} ${page} ${json}
    ${fastqc}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """
}
