process READMILL_MARKDUP {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${task.ext.container ?: 'readmill:0.2.0-workflow'}"

    input:
    tuple val(meta) , path(input, stageAs: '?/*')
    tuple val(meta2), path(fasta), path(fai)

    output:
    tuple val(meta), path("${prefix}.{bam,cram,sam,sam.gz}"), emit: reads
    tuple val(meta), path("${prefix}.*.{bai,csi,crai}")     , emit: index  , optional: true
    tuple val(meta), path("${prefix}.*.metrics.txt")        , emit: metrics
    tuple val(meta), path("${prefix}.*.flagstat")           , emit: flagstat
    tuple val(meta), path("${prefix}.*.stats.txt")          , emit: stats
    path "versions.yml"                                     , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args    = task.ext.args ?: ''
    def name    = task.ext.prefix ?: "${meta.id}"
    prefix      = name
    def asked   = args =~ /(?:^|\s)(?:-O|--output-format)[\s=]*(bam|cram|sam\.gz|sam)/
    def target  = "${name}.${asked ? asked[0][1] : 'bam'}"
    // -m limits the whole process, so it is the memory of the task.
    def memory  = task.memory ? "-m ${task.memory.toMega()}M" : ''
    def ref     = fasta ? "--reference ${fasta}" : ''
    """
    "\${READMILL:-readmill}" markdup ${input} \\
        -o ${target} -@ ${task.cpus} ${memory} \\
        --flagstat ${target}.flagstat --stats ${target}.stats.txt \\
        --metrics ${target}.metrics.txt ${ref} ${args}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """

    stub:
    def args    = task.ext.args ?: ''
    def name    = task.ext.prefix ?: "${meta.id}"
    prefix      = name
    def asked   = args =~ /(?:^|\s)(?:-O|--output-format)[\s=]*(bam|cram|sam\.gz|sam)/
    def target  = "${name}.${asked ? asked[0][1] : 'bam'}"
    // As for input in the order of coordinates.
    def index   = target.endsWith('.cram') ? "${target}.crai" : target.endsWith('.bam') ? "${target}.bai" : ''
    """
    touch ${target} ${target}.flagstat ${target}.stats.txt ${target}.metrics.txt ${index}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """
}
