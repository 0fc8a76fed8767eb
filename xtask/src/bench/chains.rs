//! Five steps: the commands of each program or chain of programs.
//!
//! Each peer runs in the fastest way that its manual allows: pipes of uncompressed BAM, its own threads, the same
//! memory if it has an option for it. Every program of samtools' chain gets `-@` and `-m` if it has them, so the pipe
//! can use more threads and memory than readmill.

use std::path::Path;

use anyhow::Result;
use readmill_record::header::HeaderLine;

use super::contender::{Call, Contender, Program};
use super::sorters::{Sorting, picard_tool, samtools_sort};
use super::work::Work;

/// The read group that replaces all others.
const GROUP: [&str; 5] = ["ID:bench", "LB:lib1", "PL:ILLUMINA", "PU:unit1", "SM:sample1"];

/// Writes the header with the new dictionary, with and without the old read groups, for programs that need a whole
/// header. The new dictionary has the old names and one more field.
pub fn write_headers(work: &Work) -> Result<()> {
    let mut header = work.header()?;
    let mut lines: Vec<HeaderLine> = header.lines_of(b"SQ").cloned().collect();
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

/// readmill.
pub fn prep(work: &Work) -> Contender {
    let output = work.file("readmill.bam");
    let call = Call::new(&work.readmill).arg("prep").arg(&work.data).arg("-o").arg(&output);
    let call = call.words("--sort coordinate --mark-duplicates --drop-unmapped --read-group");
    let call = call.arg(GROUP.join(" ")).arg("--sequence-dictionary").arg(work.file("new.dict"));
    let call = Sorting::of(work).means(call).words("--no-index");
    Contender::new("readmill", work.options.runs, output, vec![vec![call]])
}

/// elPrep does all at once.
pub fn elprep(work: &Work, program: &Program) -> Contender {
    let output = work.file("elprep.bam");
    let call = Call::new(program).arg("filter").arg(&work.data).arg(&output);
    let call = call.words("--mark-duplicates --filter-unmapped-reads");
    let call = call.arg("--replace-read-group").arg(GROUP.join(" "));
    let call = call.arg("--replace-reference-sequences").arg(work.file("new.dict"));
    let call =
        call.words(&format!("--sorting-order coordinate --nr-of-threads {}", work.options.threads));
    Contender::new(&program.title(), work.options.runs, output, vec![vec![call]])
}

/// reheader comes first because it copies compressed blocks; all that follows is uncompressed.
pub fn samtools(work: &Work, program: &Program) -> Contender {
    let threads = work.options.threads;
    let output = work.file("samtools.bam");
    let call = || Call::new(program);
    let mut pipe = vec![
        call().arg("reheader").arg(work.file("header-without-groups.sam")).arg(&work.data),
        call().words(&format!("view -@ {threads} -u -F 4 -")),
        call().words("fixmate -m -u - -"),
        call()
            .words("addreplacerg -u -m overwrite_all -r")
            .arg(format!("@RG\t{}", GROUP.join("\t")))
            .arg("-"),
    ];
    pipe.extend(samtools_marks(&Sorting::of(work), program, &output));
    Contender::new(&format!("{} chain", program.title()), work.options.runs, output, vec![pipe])
}

/// The part after `fixmate -m` in a pipe of samtools: sort and mark.
pub fn samtools_marks(sorting: &Sorting<'_>, program: &Program, output: &Path) -> [Call; 2] {
    let (work, level) = (sorting.work, sorting.level.min(9));
    let marks = format!("markdup -@ {} --output-fmt bam,level={level} -T", work.options.threads);
    let marks = Call::new(program).words(&marks).arg(work.file("samtools.markdup"));
    [samtools_sort(work, program, sorting.memory).words("-u -"), marks.arg("-").arg(output)]
}

/// MarkDuplicates, of a file sorted by coordinate.
pub fn picard_marks(sorting: &Sorting<'_>, program: &Program, sorted: &Path, output: &Path) -> Call {
    let work = sorting.work;
    picard_tool(program, "MarkDuplicates")
        .words("ASSUME_SORT_ORDER=coordinate")
        .arg(format!("COMPRESSION_LEVEL={}", sorting.level.min(9)))
        .named("INPUT=", sorted)
        .named("METRICS_FILE=", &work.file("picard.metrics"))
        .named("TMP_DIR=", &work.directory)
        .named("OUTPUT=", output)
}

/// MarkDuplicates reads its input twice, so it needs a file; that file is compressed lightly.
pub fn picard(work: &Work, program: &Program) -> Contender {
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
    let marking = picard_marks(&Sorting::of(work), program, &sorted, &output);
    Contender::new(
        &format!("{} chain", program.title()),
        work.options.picard_runs,
        output,
        vec![sorting, vec![marking]],
    )
}
