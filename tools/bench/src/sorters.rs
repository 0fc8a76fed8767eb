//! Command lines of each program for sorting, and for sorting and marking duplicates.
//!
//! Every peer runs as fast as its manual allows with this number of threads, and with the same
//! memory as the others or its default: uncompressed pipes if there are pipes, a lightly compressed
//! file if the input is read twice, and no unnecessary work, such as dupblaster's count of
//! sequencing duplicates. All spill to the same directory. No program writes an index except
//! sambamba, which has no option against it.

use std::path::Path;

use crate::contender::{Call, Contender, Program};
use crate::options::{Options, Order, Peer};
use crate::work::BenchSetup;

/// A sort to measure: input, memory and level. Its methods return the contender of each program.
///
/// Variants are created with struct update syntax, such as
/// `Sorting { level: 1, ..Sorting::of(work) }`. `None` instead of a contender means that the
/// program does not support this order.
#[derive(Clone, Copy)]
pub struct SortBench<'a> {
    pub work: &'a BenchSetup,
    pub data: &'a Path,
    /// Total memory in MiB; `None` for each program's default.
    pub memory: Option<u64>,
    pub level: u8,
}

impl<'a> SortBench<'a> {
    pub fn from_work(work: &'a BenchSetup) -> Self {
        let Options { limit: memory, level, .. } = work.options;
        SortBench { work, data: &work.data, memory, level }
    }

    fn options(&self) -> &'a Options {
        &self.work.options
    }

    fn new_contender(&self, name: &str, output: &str, call: Call) -> Contender {
        Contender::new(name, self.options().runs, self.work.file(output), vec![vec![call]])
    }

    pub fn sort_with_readmill(&self, name: &str) -> Contender {
        self.sort_with_readmill_flags(name, "--no-index")
    }

    /// Sorts with readmill, which writes an index if the order allows it.
    pub fn sort_with_readmill_indexed(&self, name: &str) -> Contender {
        self.sort_with_readmill_flags(name, "")
    }

    fn sort_with_readmill_flags(&self, name: &str, words: &str) -> Contender {
        let output = self.work.file("readmill.bam");
        let call = Call::new(&self.work.readmill).arg("sort").arg(self.data).arg("-o").arg(&output);
        let call = match self.options().order {
            Order::Coordinate => call,
            order => call.add_words(&format!("--sort {}", order.name())),
        };
        self.new_contender(name, "readmill.bam", self.with_resources(call).add_words(words))
    }

    /// Copies with readmill: reads and writes without any step.
    pub fn copy_with_readmill(&self, name: &str) -> Contender {
        let output = self.work.file("copy.bam");
        let call = Call::new(&self.work.readmill).arg("prep").arg(self.data).arg("-o").arg(&output);
        self.new_contender(name, "copy.bam", self.with_resources(call).add_words("--no-index"))
    }

    /// Adds readmill's options for memory, threads, level and temporary files.
    pub fn with_resources(&self, call: Call) -> Call {
        let (threads, level) = (self.options().threads, self.level);
        let memory = self.memory.map(|memory| format!("-m {memory}M")).unwrap_or_default();
        let call = call.add_words(&format!("{memory} -@ {threads} -l {level} -T"));
        call.arg(&self.work.directory)
    }

    /// Returns the contender of a peer; `None` if it does not support this order.
    pub fn sort_with_peer(&self, peer: Peer, program: &Program) -> Option<Contender> {
        match peer {
            Peer::Samtools => Some(self.sort_with_samtools(program, &program.title())),
            Peer::Fgumi => Some(self.sort_with_fgumi(program)),
            Peer::Sambamba => self.sort_with_sambamba(program),
            Peer::Elprep => self.sort_with_elprep(program),
            Peer::Picard => self.sort_with_picard(program),
            // The other programs do more than sort, sort like Picard, or do not sort.
            _ => None,
        }
    }

    /// Sorts with samtools. Its `-m` is per thread. Its help calls `-@` additional threads, but the
    /// main thread only waits, and with `-@ 1` there is no thread pool at all.
    pub fn sort_with_samtools(&self, program: &Program, name: &str) -> Contender {
        let call = samtools_sort(self.work, program, self.memory);
        let call = match self.options().order {
            Order::Coordinate => call,
            Order::Natural => call.arg("-n"),
            Order::Lexicographic => call.arg("-N"),
            Order::TemplateCoordinate => call.arg("--template-coordinate"),
        };
        let call = call.add_words(&format!("-l {} -o", self.level.min(9)));
        let output = self.work.file("samtools.bam");
        self.new_contender(name, "samtools.bam", call.arg(output).arg(self.data))
    }

    /// Sorts with fgumi, whose `-m` is also per thread.
    pub fn sort_with_fgumi(&self, program: &Program) -> Contender {
        let (Options { threads, order, .. }, level) = (self.options(), self.level);
        let order = match order {
            Order::Coordinate => "coordinate",
            Order::Natural => "queryname::natural",
            Order::Lexicographic => "queryname",
            Order::TemplateCoordinate => "template-coordinate",
        };
        let memory = self
            .memory
            .map(|memory| format!("-m {}MiB", memory_per_thread(memory, *threads)))
            .unwrap_or_default();
        let means = format!("--order {order} -@ {threads} --compression-level {level} {memory} -T");
        let output = self.work.file("fgumi.bam");
        let call = Call::new(program).add_words("sort -i").arg(self.data).arg("-o").arg(output);
        self.new_contender(
            &program.title(),
            "fgumi.bam",
            call.add_words(&means).arg(&self.work.directory),
        )
    }

    pub fn sort_with_sambamba(&self, program: &Program) -> Option<Contender> {
        let Options { threads, order, .. } = self.options();
        let order = match order {
            Order::Coordinate => "",
            Order::Natural => "-N",
            Order::Lexicographic => "-n",
            Order::TemplateCoordinate => return None,
        };
        let memory = self.memory.map(|memory| format!("-m {memory}MiB")).unwrap_or_default();
        let means = format!("sort -q {order} -t {threads} {memory} -l {} --tmpdir", self.level.min(9));
        let call = Call::new(program).add_words(&means).arg(self.work.file("sambamba.tmp"));
        let call = call.arg("-o").arg(self.work.file("sambamba.bam")).arg(self.data);
        Some(self.new_contender(&program.title(), "sambamba.bam", call))
    }

    /// Sorts with elPrep, which keeps all reads in memory and has no option for the compression
    /// level.
    pub fn sort_with_elprep(&self, program: &Program) -> Option<Contender> {
        let order = match self.options().order {
            Order::Coordinate => "coordinate",
            Order::Lexicographic => "queryname",
            Order::Natural | Order::TemplateCoordinate => return None,
        };
        let call = Call::new(program).arg("filter").arg(self.data).arg(self.work.file("elprep.bam"));
        let means = format!("--sorting-order {order} --nr-of-threads {}", self.options().threads);
        Some(self.new_contender(&program.title(), "elprep.bam", call.add_words(&means)))
    }

    pub fn sort_with_picard(&self, program: &Program) -> Option<Contender> {
        let order = match self.options().order {
            Order::Coordinate => "coordinate",
            Order::Lexicographic => "queryname",
            Order::Natural | Order::TemplateCoordinate => return None,
        };
        let output = self.work.file("picard.bam");
        let call = picard_tool(program, "SortSam").arg(format!("SORT_ORDER={order}"));
        let call = call.named_arg("INPUT=", self.data).named_arg("TMP_DIR=", &self.work.directory);
        let call = call.named_arg("OUTPUT=", &output);
        let call = call.arg(format!("COMPRESSION_LEVEL={}", self.level.min(9)));
        let mut contender = self.new_contender(&program.title(), "picard.bam", call);
        contender.runs = self.options().picard_runs;
        Some(contender)
    }
}

/// Returns `samtools sort` with threads and memory. The caller adds order, level and files.
pub fn samtools_sort(work: &BenchSetup, program: &Program, memory: Option<u64>) -> Call {
    let threads = work.options.threads;
    let memory =
        memory.map(|memory| format!("-m {}M", memory_per_thread(memory, threads))).unwrap_or_default();
    Call::new(program)
        .add_words(&format!("sort -@ {threads} {memory} -T"))
        .arg(work.file("samtools.tmp"))
}

/// Returns a Picard tool. Validation is off, because no other program validates.
pub fn picard_tool(program: &Program, tool: &str) -> Call {
    Call::new(program).arg(tool).add_words("VALIDATION_STRINGENCY=SILENT QUIET=true")
}

fn memory_per_thread(memory: u64, threads: usize) -> u64 {
    (memory / threads.max(1) as u64).max(1)
}

/// A sort that also marks duplicates. Its methods return the contender of each program.
///
/// Methods with `on_sorted` in their name only mark: they expect `data` to be sorted by coordinate.
#[derive(Clone, Copy)]
pub struct MarkBench<'a>(pub SortBench<'a>);

impl MarkBench<'_> {
    fn options(&self) -> &Options {
        &self.0.work.options
    }

    fn new_contender(&self, name: &str, output: &str, stages: Vec<Vec<Call>>) -> Contender {
        Contender::new(name, self.options().runs, self.0.work.file(output), stages)
    }

    pub fn mark_with_readmill(&self, name: &str, words: &str) -> Contender {
        let output = self.0.work.file("readmill.bam");
        let call = Call::new(&self.0.work.readmill).arg("prep").arg(self.0.data).arg("-o").arg(&output);
        let call = self
            .0
            .with_resources(call.add_words("--sort coordinate --mark-duplicates"))
            .add_words("--no-index");
        self.new_contender(name, "readmill.bam", vec![vec![call.add_words(words)]])
    }

    pub fn readmill_with_metrics(&self, name: &str) -> Option<Contender> {
        let call = self.0.work.metrics_option()?;
        let mut contender = self.mark_with_readmill(name, "");
        contender.stages[0][0] = call(contender.stages[0][0].clone());
        Some(contender)
    }

    pub fn readmill_on_sorted(&self, name: &str) -> Contender {
        let output = self.0.work.file("readmill.bam");
        let call =
            Call::new(&self.0.work.readmill).arg("markdup").arg(self.0.data).arg("-o").arg(output);
        self.new_contender(
            name,
            "readmill.bam",
            vec![vec![self.0.with_resources(call).add_words("--no-index")]],
        )
    }

    pub fn mark_with_samtools(&self, program: &Program) -> Contender {
        let name = format!("{} fixmate, sort, markdup", program.title());
        let first = Call::new(program).add_words(&self.fixmate_command()).arg(self.0.data).arg("-");
        self.mark_after_fixmate(&name, program, vec![first])
    }

    /// Marks sorted reads with samtools, which first needs them collated by name.
    pub fn samtools_on_sorted(&self, program: &Program) -> Contender {
        let name = format!("{} collate, fixmate, sort, markdup", program.title());
        let collate = format!("collate -@ {} -O -u", self.options().threads);
        let first = Call::new(program).add_words(&collate).arg(self.0.data);
        let first = first.arg(self.0.work.file("samtools.collate"));
        let second = Call::new(program).add_words(&self.fixmate_command()).add_words("- -");
        self.mark_after_fixmate(&name, program, vec![first, second])
    }

    fn fixmate_command(&self) -> String {
        format!("fixmate -@ {} -m -u", self.options().threads)
    }

    fn mark_after_fixmate(&self, name: &str, program: &Program, mut pipe: Vec<Call>) -> Contender {
        pipe.extend(samtools_marks(&self.0, program, &self.0.work.file("samtools.bam")));
        self.new_contender(name, "samtools.bam", vec![pipe])
    }

    /// Marks with dupblaster, in a pipe before fgumi's sort.
    pub fn mark_with_dupblaster(&self, program: &Program, sorter: &Program) -> Contender {
        let mut contender =
            SortBench { data: Path::new("/dev/stdin"), ..self.0 }.sort_with_fgumi(sorter);
        let first = Call::new(program).arg("-i").arg(self.0.data).add_words("-o - --metrics-prefix");
        let first = first.arg(self.0.work.file("dupblaster"));
        contender.stages[0].insert(0, first.add_words("--sequencing-duplicate-detection off"));
        contender.name = format!("{}, {} sort", program.title(), sorter.title());
        contender
    }

    /// Marks with samblaster, which reads and writes SAM text, in a pipe before samtools' sort.
    pub fn mark_with_samblaster(&self, program: &Program, samtools: &Program) -> Contender {
        let threads = self.options().threads;
        let output = self.0.work.file("samblaster.bam");
        let sort = samtools_sort(self.0.work, samtools, self.0.memory);
        let pipe = vec![
            Call::new(samtools).add_words(&format!("view -@ {threads} -h")).arg(self.0.data),
            Call::new(program),
            sort.add_words(&format!("-l {} -o", self.0.level.min(9))).arg(&output).arg("-"),
        ];
        let name = format!("{}, {} sort", program.title(), samtools.title());
        self.new_contender(&name, "samblaster.bam", vec![pipe])
    }

    /// Sorts with sambamba into a lightly compressed file, then marks that file.
    pub fn mark_with_sambamba(&self, program: &Program) -> Option<Contender> {
        let mut contender = SortBench { level: 1, ..self.0 }.sort_with_sambamba(program)?;
        let marked = self.0.work.file("sambamba.marked.bam");
        contender.stages.push(vec![self.sambamba_marks(program, &contender.output, &marked)]);
        contender.output = marked;
        contender.name = format!("{} sort, markdup", program.title());
        Some(contender)
    }

    pub fn sambamba_on_sorted(&self, program: &Program) -> Contender {
        let marked = self.0.work.file("sambamba.marked.bam");
        let call = self.sambamba_marks(program, self.0.data, &marked);
        let name = format!("{} markdup", program.title());
        self.new_contender(&name, "sambamba.marked.bam", vec![vec![call]])
    }

    fn sambamba_marks(&self, program: &Program, sorted: &Path, marked: &Path) -> Call {
        let (threads, level) = (self.options().threads, self.0.level.min(9));
        let memory = self.0.memory.map(|memory| format!("--sort-buffer-size={memory}"));
        let means = format!("markdup -t {threads} -l {level} {} --tmpdir", memory.unwrap_or_default());
        let call = Call::new(program).add_words(&means).arg(&self.0.work.directory);
        call.arg(sorted).arg(marked)
    }

    pub fn mark_with_bamsormadup(&self, program: &Program) -> Contender {
        let (threads, level) = (self.options().threads, self.0.level.min(9));
        let call =
            Call::new(program).add_words(&format!("SO=coordinate threads={threads} level={level}"));
        let call = call.named_arg("tmpfile=", &self.0.work.file("bamsormadup.tmp"));
        let call = call.named_arg("M=", &self.0.work.file("bamsormadup.metrics"));
        let call = call.read_from(self.0.data).write_to(&self.0.work.file("bamsormadup.bam"));
        self.new_contender(&program.title(), "bamsormadup.bam", vec![vec![call]])
    }

    pub fn mark_with_elprep(&self, program: &Program) -> Option<Contender> {
        let mut contender = self.0.sort_with_elprep(program)?;
        contender.stages[0][0] = contender.stages[0][0].clone().add_words("--mark-duplicates");
        Some(contender)
    }

    /// Sorts with Picard into a lightly compressed file, then marks that file.
    pub fn mark_with_picard(&self, program: &Program) -> Option<Contender> {
        let mut contender = SortBench { level: 1, ..self.0 }.sort_with_picard(program)?;
        let marked = self.0.work.file("picard.marked.bam");
        contender.stages.push(vec![picard_marks(&self.0, program, &contender.output, &marked)]);
        contender.output = marked;
        contender.name = format!("{} SortSam, MarkDuplicates", program.title());
        Some(contender)
    }

    pub fn picard_on_sorted(&self, program: &Program) -> Contender {
        let marked = self.0.work.file("picard.marked.bam");
        let call = picard_marks(&self.0, program, self.0.data, &marked);
        let name = format!("{} MarkDuplicates", program.title());
        let contender = self.new_contender(&name, "picard.marked.bam", vec![vec![call]]);
        Contender { runs: self.options().picard_runs, ..contender }
    }
}

/// Returns the end of a samtools pipe after `fixmate -m`: sort and markdup.
pub fn samtools_marks(sorting: &SortBench<'_>, program: &Program, output: &Path) -> [Call; 2] {
    let (work, level) = (sorting.work, sorting.level.min(9));
    let marks = format!("markdup -@ {} --output-fmt bam,level={level} -T", work.options.threads);
    let marks = Call::new(program).add_words(&marks).arg(work.file("samtools.markdup"));
    [samtools_sort(work, program, sorting.memory).add_words("-u -"), marks.arg("-").arg(output)]
}

/// Returns Picard's MarkDuplicates for a file sorted by coordinate.
pub fn picard_marks(sorting: &SortBench<'_>, program: &Program, sorted: &Path, output: &Path) -> Call {
    let work = sorting.work;
    picard_tool(program, "MarkDuplicates")
        .add_words("ASSUME_SORT_ORDER=coordinate")
        .arg(format!("COMPRESSION_LEVEL={}", sorting.level.min(9)))
        .named_arg("INPUT=", sorted)
        .named_arg("METRICS_FILE=", &work.file("picard.metrics"))
        .named_arg("TMP_DIR=", &work.directory)
        .named_arg("OUTPUT=", output)
}
