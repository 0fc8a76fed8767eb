//! What is measured: for each job, how every contender does it.
//!
//! Each peer does the job the fast way its manual allows: pipes of uncompressed BAM, its own threads, the same
//! memory where it can be told. samtools' `-@` and `-m` are given to every program of its chain that has them,
//! so its pipe may use more than the threads and memory that readmill is given.

use anyhow::Result;
use readmill_record::header::Line;

use super::contender::{Call, Contender, Program};
use super::table::measure;
use super::work::Work;
use crate::peers::Peers;

/// The read group that replaces all others.
const GROUP: [&str; 5] = ["ID:bench", "LB:lib1", "PL:ILLUMINA", "PU:unit1", "SM:sample1"];

/// Five steps in one table.
pub fn five_steps(work: &Work) -> Result<()> {
    write_headers(work)?;
    let mut contenders = vec![prep(work)];
    contenders.push(work.floor(&contenders[0])?);
    contenders.extend(work.peer(Peers::elprep).map(|program| elprep_filter(work, &program)));
    contenders.extend(work.peer(Peers::samtools).map(|program| samtools_chain(work, &program)));
    contenders.extend(picard(work).map(|program| picard_chain(work, &program)));
    measure("Five steps", work, &contenders)
}

/// The sort alone.
pub fn sort(work: &Work) -> Result<()> {
    let mut contenders = vec![readmill_sort(work, "readmill", &work.data)];
    contenders.push(work.floor(&contenders[0])?);
    contenders.extend(work.peer(Peers::samtools).map(|program| samtools_sort(work, &program)));
    contenders.extend(work.peer(Peers::sambamba).map(|program| sambamba_sort(work, &program)));
    contenders.extend(work.peer(Peers::elprep).map(|program| elprep_sort(work, &program)));
    contenders.extend(picard(work).map(|program| picard_sort(work, &program)));
    measure("Sort by coordinate", work, &contenders)
}

/// The sort beside its floor.
pub fn floor(work: &Work) -> Result<()> {
    let sort = readmill_sort(work, "readmill", &work.data);
    let floor = work.floor(&sort)?;
    measure("Sort beside its codec floor", work, &[sort, floor])
}

/// The same reads, written by samtools and by Picard.
pub fn input(work: &Work) -> Result<()> {
    let (Some(samtools), Some(picard)) = (work.peer(Peers::samtools), work.peer(Peers::picard)) else {
        anyhow::bail!("both samtools and Picard are needed to write the input");
    };
    let (by_samtools, by_picard) = (work.file("by-samtools.bam"), work.file("by-picard.bam"));
    work.do_once(Call::new(&samtools).words("view -b -o").arg(&by_samtools).arg(&work.data))?;
    let call = Call::new(&picard).arg("SamFormatConverter").named("INPUT=", &work.data);
    work.do_once(
        call.named("OUTPUT=", &by_picard).words("COMPRESSION_LEVEL=6 VALIDATION_STRINGENCY=SILENT"),
    )?;
    let contenders = [
        readmill_sort(work, "readmill, input written by samtools", &by_samtools),
        readmill_sort(work, "readmill, input written by Picard", &by_picard),
    ];
    measure("The same reads from two writers", work, &contenders)
}

fn picard(work: &Work) -> Option<Program> {
    if work.options.picard_runs == 0 {
        return None;
    }
    work.peer(Peers::picard)
}

/// Writes the header with the new dictionary, with and without the old read groups, for whoever needs it whole.
/// The new dictionary has the old names and one more field.
fn write_headers(work: &Work) -> Result<()> {
    let mut header = work.header()?;
    let mut lines: Vec<Line> = header.lines_of(b"SQ").cloned().collect();
    lines.iter_mut().for_each(|line| line.set(b"AS", b"bench"));
    header.replace(b"SQ", lines.clone(), &[])?;
    std::fs::write(work.file("header.sam"), header.to_text())?;
    header.replace(b"RG", Vec::new(), &[])?;
    std::fs::write(work.file("header-without-groups.sam"), header.to_text())?;
    let mut dictionary = b"@HD\tVN:1.6\n".to_vec();
    for line in &lines {
        dictionary.extend_from_slice(line.text());
        dictionary.push(b'\n');
    }
    Ok(std::fs::write(work.file("new.dict"), dictionary)?)
}

/// A contender of one program that is measured in every round.
fn single(work: &Work, name: &str, output: &str, call: Call) -> Contender {
    Contender::new(name, work.options.runs, work.file(output), vec![vec![call]])
}

fn means(work: &Work, call: Call) -> Call {
    let options = &work.options;
    let (memory, threads, level) = (options.memory, options.threads, options.level);
    // The peers write no index either.
    call.words(&format!("-m {memory}M -@ {threads} -l {level} --no-index"))
}

fn prep(work: &Work) -> Contender {
    let output = work.file("readmill.bam");
    let call = Call::new(&work.readmill).arg("prep").arg(&work.data).arg("-o").arg(&output);
    let call = call.words("--sort coordinate --mark-duplicates --drop-unmapped --read-group");
    let call = call.arg(GROUP.join(" ")).arg("--sequence-dictionary").arg(work.file("new.dict"));
    single(work, "readmill", "readmill.bam", means(work, call))
}

fn readmill_sort(work: &Work, name: &str, data: &std::path::Path) -> Contender {
    let output = work.file("readmill.bam");
    let call = Call::new(&work.readmill).arg("sort").arg(data).arg("-o").arg(&output);
    single(work, name, "readmill.bam", means(work, call))
}

fn elprep(work: &Work, program: &Program) -> Call {
    Call::new(program).arg("filter").arg(&work.data).arg(work.file("elprep.bam"))
}

fn elprep_filter(work: &Work, program: &Program) -> Contender {
    let call = elprep(work, program).words("--mark-duplicates --filter-unmapped-reads");
    let call = call.arg("--replace-read-group").arg(GROUP.join(" "));
    let call = call.arg("--replace-reference-sequences").arg(work.file("new.dict"));
    let call =
        call.words(&format!("--sorting-order coordinate --nr-of-threads {}", work.options.threads));
    single(work, &program.title(), "elprep.bam", call)
}

fn elprep_sort(work: &Work, program: &Program) -> Contender {
    let call = elprep(work, program);
    let call =
        call.words(&format!("--sorting-order coordinate --nr-of-threads {}", work.options.threads));
    single(work, &program.title(), "elprep.bam", call)
}

/// `samtools sort` with all its options but the level and the files.
fn samtools_sorting(work: &Work, program: &Program) -> Call {
    let threads = work.options.threads;
    let each = work.options.memory / threads.max(1) as u64;
    Call::new(program).words(&format!("sort -@ {threads} -m {each}M -T")).arg(work.file("samtools.tmp"))
}

fn samtools_sort(work: &Work, program: &Program) -> Contender {
    let call = samtools_sorting(work, program).words(&format!("-l {} -o", work.options.level));
    single(work, &program.title(), "samtools.bam", call.arg(work.file("samtools.bam")).arg(&work.data))
}

/// reheader comes first because it copies compressed blocks; all that follows is uncompressed.
fn samtools_chain(work: &Work, program: &Program) -> Contender {
    let (threads, level) = (work.options.threads, work.options.level);
    let output = work.file("samtools.bam");
    let call = || Call::new(program);
    let pipe = vec![
        call().arg("reheader").arg(work.file("header-without-groups.sam")).arg(&work.data),
        call().words(&format!("view -@ {threads} -u -F 4 -")),
        call().words("fixmate -m -u - -"),
        call()
            .words("addreplacerg -u -m overwrite_all -r")
            .arg(format!("@RG\t{}", GROUP.join("\t")))
            .arg("-"),
        samtools_sorting(work, program).words("-u -"),
        call()
            .words(&format!("markdup -@ {threads} --output-fmt bam,level={level} -T"))
            .arg(work.file("samtools.markdup"))
            .arg("-")
            .arg(&output),
    ];
    Contender::new(&format!("{} chain", program.title()), work.options.runs, output, vec![pipe])
}

fn sambamba_sort(work: &Work, program: &Program) -> Contender {
    let options = &work.options;
    let (threads, memory, level) = (options.threads, options.memory, options.level.min(9));
    let call =
        Call::new(program).words(&format!("sort -q -t {threads} -m {memory}MiB -l {level} --tmpdir"));
    let call = call.arg(work.file("sambamba.tmp")).arg("-o").arg(work.file("sambamba.bam"));
    single(work, &program.title(), "sambamba.bam", call.arg(&work.data))
}

/// A Picard tool; validation is off because nobody else does it.
fn picard_tool(program: &Program, tool: &str) -> Call {
    Call::new(program).arg(tool).words("VALIDATION_STRINGENCY=SILENT QUIET=true")
}

fn picard_sort(work: &Work, program: &Program) -> Contender {
    let output = work.file("picard.bam");
    let call =
        picard_tool(program, "SortSam").words("SORT_ORDER=coordinate").named("INPUT=", &work.data);
    let call = call.named("TMP_DIR=", &work.directory).named("OUTPUT=", &output);
    let call = call.arg(format!("COMPRESSION_LEVEL={}", work.options.level.min(9)));
    Contender::new(&program.title(), work.options.picard_runs, output, vec![vec![call]])
}

/// MarkDuplicates reads its input twice, so a file stands before it; that file is compressed lightly.
fn picard_chain(work: &Work, program: &Program) -> Contender {
    let (sorted, output) = (work.file("picard.sorted.bam"), work.file("picard.bam"));
    let pipe = "INPUT=/dev/stdin OUTPUT=/dev/stdout COMPRESSION_LEVEL=0";
    let groups: Vec<String> =
        GROUP.iter().map(|field| format!("RG{}", field.replace(':', "="))).collect();
    let sorting = vec![
        picard_tool(program, "ViewSam").words("ALIGNMENT_STATUS=Aligned").named("INPUT=", &work.data),
        picard_tool(program, "ReplaceSamHeader").words(pipe).named("HEADER=", &work.file("header.sam")),
        picard_tool(program, "AddOrReplaceReadGroups")
            .words("INPUT=/dev/stdin SORT_ORDER=coordinate COMPRESSION_LEVEL=1")
            .words(&groups.join(" "))
            .named("TMP_DIR=", &work.directory)
            .named("OUTPUT=", &sorted),
    ];
    let marking = picard_tool(program, "MarkDuplicates")
        .words("ASSUME_SORT_ORDER=coordinate")
        .arg(format!("COMPRESSION_LEVEL={}", work.options.level.min(9)))
        .named("INPUT=", &sorted)
        .named("METRICS_FILE=", &work.file("picard.metrics"))
        .named("TMP_DIR=", &work.directory)
        .named("OUTPUT=", &output);
    Contender::new(
        &format!("{} chain", program.title()),
        work.options.picard_runs,
        output,
        vec![sorting, vec![marking]],
    )
}
