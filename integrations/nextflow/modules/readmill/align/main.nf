process READMILL_ALIGN {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${task.ext.container ?: 'readmill:0.2.0-workflow'}"

    input:
    tuple val(meta) , path(reads, stageAs: '?/*')
    tuple val(meta2), path(fasta), path(index)
    path known_sites

    output:
    tuple val(meta), path("${prefix}.{bam,cram,sam,sam.gz}")                             , emit: reads
    tuple val(meta), path("${prefix}.{bam,cram,sam.gz}.{bai,csi,crai}")                  , emit: index   , optional: true
    tuple val(meta), path("${prefix}.*.metrics.txt")                                     , emit: metrics , optional: true
    tuple val(meta), path("${prefix}.*.recal.table")                                     , emit: table   , optional: true
    tuple val(meta), path("${prefix}.*.flagstat")                                        , emit: flagstat
    tuple val(meta), path("${prefix}.*.stats.txt")                                       , emit: stats
    tuple val(meta), path("${prefix}.html")                                              , emit: report  , optional: true
    tuple val(meta), path("${prefix}.run.json")                                          , emit: json    , optional: true
    tuple val(meta), path("${prefix}.*_{metrics,coverage}")                              , emit: qc      , optional: true
    tuple val(meta), path("${prefix}.{mosdepth,per-base,regions,quantized,thresholds}.*"), emit: coverage, optional: true
    tuple val(meta), path("**_fastqc", type: 'dir')                                      , emit: fastqc  , optional: true
    path "versions.yml"                                                                  , emit: versions

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
    def layout  = meta.single_end ? '--single' : ''
    // The read groups of lanes are -R in ext.args, in the order of the lanes. Without them, all lanes are one read group.
    def rg      = args =~ /(?:^|\s)(?:-R|--rg)[\s=]/ ? '' : "-R '@RG\\tID:${meta.id}\\tSM:${meta.id}\\tLB:${meta.id}\\tPL:ILLUMINA'"
    def sites   = known_sites ? [known_sites].flatten().collect { "--known-sites ${it}" }.join(' ') : ''
    def metrics = args =~ /--(mark|remove)-duplicates/ ? "--metrics ${target}.metrics.txt" : ''
    def table   = args =~ /--bqsr(-table-only)?(\s|$)/ ? "--bqsr-table ${target}.recal.table" : ''
    """
    "\${READMILL:-readmill}" align ${fasta} ${reads} \\
        -o ${target} -@ ${task.cpus} ${memory} \\
        --flagstat ${target}.flagstat --stats ${target}.stats.txt \\
        ${layout} ${rg} ${sites} ${metrics} ${table} ${args}

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
    // The files of --report, --json, --qc, --coverage and --fastqc, with the names that the outputs above have.
    def has     = { flag -> args =~ /(?:^|\s)${flag}(?:[\s=]|$)/ }
    def page    = has('--report') ? "${name}.html" : ''
    def json    = has('--json') ? "${name}.run.json" : ''
    def qc      = has('--qc') ? "${name}.alignment_summary_metrics" : ''
    def depths  = has('--coverage') ? "${name}.mosdepth.global.dist.txt ${name}.mosdepth.summary.txt" : ''
    def fastqc  = has('--fastqc') ? "mkdir ${name}_fastqc; touch ${name}_fastqc/fastqc_data.txt ${name}_fastqc/summary.txt" : ''
    """
    touch ${target} ${target}.flagstat ${target}.stats.txt ${index} ${metrics} ${table} ${page} ${json} ${qc} ${depths}
    ${fastqc}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        readmill: \$("\${READMILL:-readmill}" --version | sed 's/^readmill //')
    END_VERSIONS
    """
}
