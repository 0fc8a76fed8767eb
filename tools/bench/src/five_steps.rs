//! Command lines of each program for the five steps, and for the steps with additional filters.
//!
//! Each peer runs in the fastest way that its manual allows: pipes of uncompressed BAM, its own
//! threads, and the same memory if it has an option for it. Every program in samtools' pipe gets
//! `-@` and `-m` if it has them, so the pipe can use more threads and memory than readmill.

use anyhow::Result;
use readmill_record::header::HeaderLine;

use crate::contender::{Call, Contender, Program};
use crate::sorters::{SortBench, picard_marks, picard_tool, samtools_marks};
use crate::table;
use crate::work::BenchSetup;

const GROUP: [&str; 5] = ["ID:bench", "LB:lib1", "PL:ILLUMINA", "PU:unit1", "SM:sample1"];

/// Writes the files with the new dictionary: alone, and as complete headers with and without the
/// old read groups, for programs that need a complete header. The new dictionary has the old names
/// and one additional field.
pub fn write_headers(work: &BenchSetup) -> Result<()> {
    let mut header = work.read_header()?;
    let mut lines: Vec<HeaderLine> = header.lines_of_kind(b"SQ").cloned().collect();
    lines.iter_mut().for_each(|line| line.set_field(b"AS", b"bench"));
    header.replace_lines(b"SQ", lines.clone(), &[])?;
    std::fs::write(work.file("header.sam"), header.to_text())?;
    header.replace_lines(b"RG", Vec::new(), &[])?;
    std::fs::write(work.file("header-without-groups.sam"), header.to_text())?;
    let mut dictionary = b"@HD\tVN:1.6\n".to_vec();
    for line in &lines {
        dictionary.extend_from_slice(line.text());
        dictionary.push(b'\n');
    }
    Ok(std::fs::write(work.file("new.dict"), dictionary)?)
}

pub fn readmill_steps(work: &BenchSetup) -> Contender {
    let output = work.file("readmill.bam");
    let call = Call::new(&work.readmill).arg("prep").arg(&work.data).arg("-o").arg(&output);
    let call = call.add_words("--sort coordinate --mark-duplicates --drop-unmapped --read-group");
    let call = call.arg(GROUP.join(" ")).arg("--sequence-dictionary").arg(work.file("new.dict"));
    let call = SortBench::from_work(work).with_resources(call).add_words("--no-index");
    Contender::new("readmill", work.options.runs, output, vec![vec![call]])
}

pub fn elprep_steps(work: &BenchSetup, program: &Program) -> Contender {
    let output = work.file("elprep.bam");
    let call = Call::new(program).arg("filter").arg(&work.data).arg(&output);
    let call = call.add_words("--mark-duplicates --filter-unmapped-reads");
    let call = call.arg("--replace-read-group").arg(GROUP.join(" "));
    let call = call.arg("--replace-reference-sequences").arg(work.file("new.dict"));
    let call =
        call.add_words(&format!("--sorting-order coordinate --nr-of-threads {}", work.options.threads));
    Contender::new(&program.title(), work.options.runs, output, vec![vec![call]])
}

/// Runs the five steps with samtools. `reheader` is first because it copies compressed blocks;
/// everything after it is uncompressed.
pub fn samtools_steps(work: &BenchSetup, program: &Program) -> Contender {
    let threads = work.options.threads;
    let output = work.file("samtools.bam");
    let call = || Call::new(program);
    let mut pipe = vec![
        call().arg("reheader").arg(work.file("header-without-groups.sam")).arg(&work.data),
        call().add_words(&format!("view -@ {threads} -u -F 4 -")),
        call().add_words("fixmate -m -u - -"),
        call()
            .add_words("addreplacerg -u -m overwrite_all -r")
            .arg(format!("@RG\t{}", GROUP.join("\t")))
            .arg("-"),
    ];
    pipe.extend(samtools_marks(&SortBench::from_work(work), program, &output));
    Contender::new(&format!("{} chain", program.title()), work.options.runs, output, vec![pipe])
}

/// Runs the five steps with Picard. MarkDuplicates reads its input twice, so it needs a file, which
/// is lightly compressed.
pub fn picard_steps(work: &BenchSetup, program: &Program) -> Contender {
    let (sorted, output) = (work.file("picard.sorted.bam"), work.file("picard.bam"));
    let pipe = "INPUT=/dev/stdin OUTPUT=/dev/stdout COMPRESSION_LEVEL=0";
    let groups: Vec<String> =
        GROUP.iter().map(|field| format!("RG{}", field.replace(':', "="))).collect();
    let sorting = vec![
        picard_tool(program, "ViewSam")
            .add_words("ALIGNMENT_STATUS=Aligned")
            .named_arg("INPUT=", &work.data),
        picard_tool(program, "ReplaceSamHeader")
            .add_words(pipe)
            .named_arg("HEADER=", &work.file("header.sam")),
        picard_tool(program, "AddOrReplaceReadGroups")
            .add_words("INPUT=/dev/stdin SORT_ORDER=coordinate COMPRESSION_LEVEL=1")
            .add_words(&groups.join(" "))
            .named_arg("TMP_DIR=", &work.directory)
            .named_arg("OUTPUT=", &sorted),
    ];
    let marking = picard_marks(&SortBench::from_work(work), program, &sorted, &output);
    Contender::new(
        &format!("{} chain", program.title()),
        work.options.picard_runs,
        output,
        vec![sorting, vec![marking]],
    )
}

/// Filters in addition to the five steps. Each checks every read but drops none, so that the later
/// steps have the same work.
const CHEAP_FILTERS: &str = "--min-mapq 0 --exclude-flags 0x8000 --include mapq>=0 --overlap all.bed \
--in-read-groups all.groups --rename-contigs same.names --clean-sam --remove-optional-fields XX,YY";

/// Compares the five steps with and without cheap filters.
///
/// The filters check and rewrite every read but drop none, so the remaining work is the same.
pub fn bench_filters(work: &BenchSetup) -> Result<()> {
    write_headers(work)?;
    write_files(work)?;
    let mut contenders =
        vec![readmill_steps(work), steps_with_filters(work, "all cheap filters", CHEAP_FILTERS)];
    for flag in ["--clean-sam", "--rename-contigs same.names", "--remove-optional-fields XX,YY"] {
        contenders.push(steps_with_filters(work, flag, flag));
    }
    table::measure("Filters in five steps", work, &contenders)
}

/// Returns the five steps with these filters. Words that name a file in the work directory are
/// replaced with its path.
fn steps_with_filters(work: &BenchSetup, name: &str, flags: &str) -> Contender {
    let mut contender = readmill_steps(work);
    let call = &mut contender.stages[0][0];
    for word in flags.split(' ') {
        let file = work.file(word);
        *call = if file.is_file() { call.clone().arg(file) } else { call.clone().arg(word) };
    }
    contender.name = format!("with {name}");
    contender
}

/// Writes the filters' files so that everything is kept: whole sequences, all read groups,
/// unchanged names.
fn write_files(work: &BenchSetup) -> Result<()> {
    let header = work.read_header()?;
    let (mut bed, mut names, mut groups) = (String::new(), String::new(), String::new());
    for it in header.references() {
        let name = String::from_utf8_lossy(&it.name);
        bed += &format!("{name}\t0\t{}\n", it.length);
        names += &format!("{name}\t{name}\n");
    }
    for id in header.lines_of_kind(b"RG").filter_map(|line| line.get(b"ID")) {
        groups += &format!("{}\n", String::from_utf8_lossy(id));
    }
    std::fs::write(work.file("all.bed"), bed)?;
    std::fs::write(work.file("same.names"), names)?;
    Ok(std::fs::write(work.file("all.groups"), groups)?)
}
