//! Sort and mark duplicates: the commands of each program or chain of programs.
//!
//! As in [`super::sorters`], every program runs in the fastest way that its manual allows: uncompressed pipes if
//! there are pipes, a lightly compressed file if the input is read twice, and no unnecessary work, such as
//! dupblaster's count of sequencing duplicates.

use std::path::Path;

use crate::contender::{Call, Contender, Program};
use crate::options::Options;
use crate::sorters::{Sorting, picard_tool, samtools_sort};

/// The job: the reads to sort and mark, with threads and memory.
#[derive(Clone, Copy)]
pub struct Marking<'a>(pub Sorting<'a>);

impl Marking<'_> {
    fn options(&self) -> &Options {
        &self.0.work.options
    }

    fn contender(&self, name: &str, output: &str, stages: Vec<Vec<Call>>) -> Contender {
        Contender::new(name, self.options().runs, self.0.work.file(output), stages)
    }

    /// readmill sorts and marks in one pass.
    pub fn readmill(&self, name: &str, words: &str) -> Contender {
        let output = self.0.work.file("readmill.bam");
        let call = Call::new(&self.0.work.readmill).arg("prep").arg(self.0.data).arg("-o").arg(&output);
        let call =
            self.0.with_resources(call.words("--sort coordinate --mark-duplicates")).words("--no-index");
        self.contender(name, "readmill.bam", vec![vec![call.words(words)]])
    }

    /// readmill sorts, marks and writes metrics.
    pub fn readmill_with_metrics(&self, name: &str) -> Option<Contender> {
        let call = self.0.work.metrics()?;
        let mut contender = self.readmill(name, "");
        contender.stages[0][0] = call(contender.stages[0][0].clone());
        Some(contender)
    }

    /// readmill marks sorted reads.
    pub fn readmill_on_sorted(&self, name: &str) -> Contender {
        let output = self.0.work.file("readmill.bam");
        let call =
            Call::new(&self.0.work.readmill).arg("markdup").arg(self.0.data).arg("-o").arg(output);
        self.contender(name, "readmill.bam", vec![vec![self.0.with_resources(call).words("--no-index")]])
    }

    /// samtools, from reads grouped by name.
    pub fn samtools(&self, program: &Program) -> Contender {
        let name = format!("{} fixmate, sort, markdup", program.title());
        let first = Call::new(program).words(&self.fixmate()).arg(self.0.data).arg("-");
        self.samtools_behind(&name, program, vec![first])
    }

    /// samtools, from reads sorted by coordinate: mates are collated first.
    pub fn samtools_on_sorted(&self, program: &Program) -> Contender {
        let name = format!("{} collate, fixmate, sort, markdup", program.title());
        let collate = format!("collate -@ {} -O -u", self.options().threads);
        let first = Call::new(program).words(&collate).arg(self.0.data);
        let first = first.arg(self.0.work.file("samtools.collate"));
        let second = Call::new(program).words(&self.fixmate()).words("- -");
        self.samtools_behind(&name, program, vec![first, second])
    }

    fn fixmate(&self) -> String {
        format!("fixmate -@ {} -m -u", self.options().threads)
    }

    fn samtools_behind(&self, name: &str, program: &Program, mut pipe: Vec<Call>) -> Contender {
        pipe.extend(samtools_marks(&self.0, program, &self.0.work.file("samtools.bam")));
        self.contender(name, "samtools.bam", vec![pipe])
    }

    /// dupblaster in the pipe before fgumi's sort.
    pub fn dupblaster(&self, program: &Program, sorter: &Program) -> Contender {
        let mut contender = Sorting { data: Path::new("/dev/stdin"), ..self.0 }.fgumi(sorter);
        let first = Call::new(program).arg("-i").arg(self.0.data).words("-o - --metrics-prefix");
        let first = first.arg(self.0.work.file("dupblaster"));
        contender.stages[0].insert(0, first.words("--sequencing-duplicate-detection off"));
        contender.name = format!("{}, {} sort", program.title(), sorter.title());
        contender
    }

    /// samblaster, which reads and writes SAM text, in the pipe before samtools' sort.
    pub fn samblaster(&self, program: &Program, samtools: &Program) -> Contender {
        let threads = self.options().threads;
        let output = self.0.work.file("samblaster.bam");
        let sort = samtools_sort(self.0.work, samtools, self.0.memory);
        let pipe = vec![
            Call::new(samtools).words(&format!("view -@ {threads} -h")).arg(self.0.data),
            Call::new(program),
            sort.words(&format!("-l {} -o", self.0.level.min(9))).arg(&output).arg("-"),
        ];
        let name = format!("{}, {} sort", program.title(), samtools.title());
        self.contender(&name, "samblaster.bam", vec![pipe])
    }

    /// sambamba sorts into a file and marks that.
    pub fn sambamba(&self, program: &Program) -> Option<Contender> {
        let mut contender = Sorting { level: 1, ..self.0 }.sambamba(program)?;
        let marked = self.0.work.file("sambamba.marked.bam");
        contender.stages.push(vec![self.sambamba_marks(program, &contender.output, &marked)]);
        contender.output = marked;
        contender.name = format!("{} sort, markdup", program.title());
        Some(contender)
    }

    /// sambamba marks sorted reads.
    pub fn sambamba_on_sorted(&self, program: &Program) -> Contender {
        let marked = self.0.work.file("sambamba.marked.bam");
        let call = self.sambamba_marks(program, self.0.data, &marked);
        let name = format!("{} markdup", program.title());
        self.contender(&name, "sambamba.marked.bam", vec![vec![call]])
    }

    fn sambamba_marks(&self, program: &Program, sorted: &Path, marked: &Path) -> Call {
        let (threads, level) = (self.options().threads, self.0.level.min(9));
        let memory = self.0.memory.map(|memory| format!("--sort-buffer-size={memory}"));
        let means = format!("markdup -t {threads} -l {level} {} --tmpdir", memory.unwrap_or_default());
        let call = Call::new(program).words(&means).arg(&self.0.work.directory);
        call.arg(sorted).arg(marked)
    }

    /// bamsormadup does both at once.
    pub fn bamsormadup(&self, program: &Program) -> Contender {
        let (threads, level) = (self.options().threads, self.0.level.min(9));
        let call = Call::new(program).words(&format!("SO=coordinate threads={threads} level={level}"));
        let call = call.named("tmpfile=", &self.0.work.file("bamsormadup.tmp"));
        let call = call.named("M=", &self.0.work.file("bamsormadup.metrics"));
        let call = call.reading(self.0.data).writing(&self.0.work.file("bamsormadup.bam"));
        self.contender(&program.title(), "bamsormadup.bam", vec![vec![call]])
    }

    /// elPrep does both at once, in memory.
    pub fn elprep(&self, program: &Program) -> Option<Contender> {
        let mut contender = self.0.elprep(program)?;
        contender.stages[0][0] = contender.stages[0][0].clone().words("--mark-duplicates");
        Some(contender)
    }

    /// Picard sorts into a file and marks that.
    pub fn picard(&self, program: &Program) -> Option<Contender> {
        let mut contender = Sorting { level: 1, ..self.0 }.picard(program)?;
        let marked = self.0.work.file("picard.marked.bam");
        contender.stages.push(vec![picard_marks(&self.0, program, &contender.output, &marked)]);
        contender.output = marked;
        contender.name = format!("{} SortSam, MarkDuplicates", program.title());
        Some(contender)
    }

    /// Picard marks sorted reads.
    pub fn picard_on_sorted(&self, program: &Program) -> Contender {
        let marked = self.0.work.file("picard.marked.bam");
        let call = picard_marks(&self.0, program, self.0.data, &marked);
        let name = format!("{} MarkDuplicates", program.title());
        let contender = self.contender(&name, "picard.marked.bam", vec![vec![call]]);
        Contender { runs: self.options().picard_runs, ..contender }
    }
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
