process READMILL_INDEX {
    tag "$fasta"
    label 'process_high_memory'

    conda "${moduleDir}/environment.yml"
    container "${task.ext.container ?: 'readmill:0.2.0-workflow'}"

    input:
    tuple val(meta), path(fasta)

    output:
    tuple val(meta), path(fasta), path("${fasta}.{amb,ann,pac,bwt.2bit.64}"), emit: index
    path "versions.yml"                                                     , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    """
    "\${READMILL:-readmill}" index ${args} ${fasta}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """

    stub:
    """
    touch ${fasta}.amb ${fasta}.ann ${fasta}.pac ${fasta}.bwt.2bit.64

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """
}
