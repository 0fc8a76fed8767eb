process READMILL_REPORT {
    tag "$meta.id"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${task.ext.container ?: 'readmill:0.2.0-workflow'}"

    input:
    tuple val(meta), path(runs, stageAs: '?/*')
    path sample_sheet

    output:
    tuple val(meta), path("${prefix}.html")    , emit: report
    tuple val(meta), path("${prefix}_mqc.json"), emit: multiqc
    path "versions.yml"                        , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args   = task.ext.args ?: ''
    prefix     = task.ext.prefix ?: "${meta.id}"
    // -m limits the whole process, so it is the memory of the task.
    def memory = task.memory ? "-m ${task.memory.toMega()}M" : ''
    def sheet  = sample_sheet ? "--sample-sheet ${sample_sheet}" : ''
    """
    "\${READMILL:-readmill}" report ${runs} \\
        -o ${prefix}.html --multiqc ${prefix}_mqc.json ${memory} \\
        ${sheet} ${args}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """

    stub:
    prefix     = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.html ${prefix}_mqc.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """
}
