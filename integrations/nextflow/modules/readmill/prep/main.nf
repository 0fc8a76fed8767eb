process READMILL_PREP {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${task.ext.container ?: 'readmill:0.2.0-workflow'}"

    input:
    tuple val(meta) , path(input, stageAs: '?/*')
    tuple val(meta2), path(fasta), path(fai)
    path known_sites

    output:
    tuple val(meta), path("${prefix}.{bam,cram,sam,sam.gz}"), emit: reads
    tuple val(meta), path("${prefix}.*.{bai,csi,crai}")     , emit: index  , optional: true
    tuple val(meta), path("${prefix}.*.metrics.txt")        , emit: metrics, optional: true
    tuple val(meta), path("${prefix}.*.recal.table")        , emit: table  , optional: true
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
    def sites   = known_sites ? [known_sites].flatten().collect { "--known-sites ${it}" }.join(' ') : ''
    def metrics = args =~ /--(mark|remove)-duplicates/ ? "--metrics ${target}.metrics.txt" : ''
    def table   = args =~ /--bqsr(-table-only)?(\s|$)/ ? "--bqsr-table ${target}.recal.table" : ''
    """
    "\${READMILL:-readmill}" prep ${input} \\
        -o ${target} -@ ${task.cpus} ${memory} \\
        --flagstat ${target}.flagstat --stats ${target}.stats.txt \\
        ${ref} ${sites} ${metrics} ${table} ${args}

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
    def sorted  = args =~ /--sort[\s=]+coordinate/
    def index   = !sorted ? '' : target.endsWith('.cram') ? "${target}.crai" : target.endsWith('.bam') ? "${target}.bai" : ''
    def metrics = args =~ /--(mark|remove)-duplicates/ ? "${target}.metrics.txt" : ''
    def table   = args =~ /--bqsr(-table-only)?(\s|$)/ ? "${target}.recal.table" : ''
    """
    touch ${target} ${target}.flagstat ${target}.stats.txt ${index} ${metrics} ${table}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """
}
