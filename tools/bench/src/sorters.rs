//! The sort alone: the commands of each program.
//!
//! Every peer runs as fast as its manual allows on this number of threads, with the same memory as the others or with
//! its default. All spill to the same directory. No program writes
//! an index except sambamba, which has no option against it.

use std::path::Path;

use crate::contender::{Call, Contender, Program};
use crate::options::{Options, Order, Peer};
use crate::work::Work;

/// One job for all programs: the reads to sort, and the memory.
#[derive(Clone, Copy)]
pub struct Sorting<'a> {
    /// Everything else.
    pub work: &'a Work,
    /// The input.
    pub data: &'a Path,
    /// Total MiB; `None` for each program's default.
    pub memory: Option<u64>,
    /// Compression level of the output.
    pub level: u8,
}

impl<'a> Sorting<'a> {
    /// The job that the flags describe.
    pub fn of(work: &'a Work) -> Self {
        let Options { limit: memory, level, .. } = work.options;
        Sorting { work, data: &work.data, memory, level }
    }

    fn options(&self) -> &'a Options {
        &self.work.options
    }

    fn contender(&self, name: &str, output: &str, call: Call) -> Contender {
        Contender::new(name, self.options().runs, self.work.file(output), vec![vec![call]])
    }

    /// readmill.
    pub fn readmill(&self, name: &str) -> Contender {
        self.readmill_with(name, "--no-index")
    }

    /// readmill with an index, if the order has one.
    pub fn readmill_indexed(&self, name: &str) -> Contender {
        self.readmill_with(name, "")
    }

    fn readmill_with(&self, name: &str, words: &str) -> Contender {
        let output = self.work.file("readmill.bam");
        let call = Call::new(&self.work.readmill).arg("sort").arg(self.data).arg("-o").arg(&output);
        let call = match self.options().order {
            Order::Coordinate => call,
            order => call.words(&format!("--sort {}", order.name())),
        };
        self.contender(name, "readmill.bam", self.with_resources(call).words(words))
    }

    /// readmill without any step: it reads and writes.
    pub fn copy(&self, name: &str) -> Contender {
        let output = self.work.file("copy.bam");
        let call = Call::new(&self.work.readmill).arg("prep").arg(self.data).arg("-o").arg(&output);
        self.contender(name, "copy.bam", self.with_resources(call).words("--no-index"))
    }

    /// readmill's flags that do not change what it does.
    pub fn with_resources(&self, call: Call) -> Call {
        let (threads, level) = (self.options().threads, self.level);
        let memory = self.memory.map(|memory| format!("-m {memory}M")).unwrap_or_default();
        let call = call.words(&format!("{memory} -@ {threads} -l {level} -T"));
        call.arg(&self.work.directory)
    }

    /// A peer, if it has the order.
    pub fn peer(&self, peer: Peer, program: &Program) -> Option<Contender> {
        match peer {
            Peer::Samtools => Some(self.samtools(program, &program.title())),
            Peer::Fgumi => Some(self.fgumi(program)),
            Peer::Sambamba => self.sambamba(program),
            Peer::Elprep => self.elprep(program),
            Peer::Picard => self.picard(program),
            // These programs do not only sort, or sort as Picard does, or do not sort.
            Peer::Dupblaster | Peer::Samblaster | Peer::Bamsormadup | Peer::Gatk => None,
            Peer::BwaMem2 | Peer::Bwa | Peer::Minibwa => None,
        }
    }

    /// samtools takes its memory for each thread. Its help calls `-@` additional, but the thread it comes with
    /// only waits, and with `-@ 1` there is no pool at all.
    pub fn samtools(&self, program: &Program, name: &str) -> Contender {
        let call = samtools_sort(self.work, program, self.memory);
        let call = match self.options().order {
            Order::Coordinate => call,
            Order::Natural => call.arg("-n"),
            Order::Lexicographic => call.arg("-N"),
            Order::TemplateCoordinate => call.arg("--template-coordinate"),
        };
        let call = call.words(&format!("-l {} -o", self.level.min(9)));
        let output = self.work.file("samtools.bam");
        self.contender(name, "samtools.bam", call.arg(output).arg(self.data))
    }

    /// fgumi takes its memory for each thread, too.
    pub fn fgumi(&self, program: &Program) -> Contender {
        let (Options { threads, order, .. }, level) = (self.options(), self.level);
        let order = match order {
            Order::Coordinate => "coordinate",
            Order::Natural => "queryname::natural",
            Order::Lexicographic => "queryname",
            Order::TemplateCoordinate => "template-coordinate",
        };
        let memory =
            self.memory.map(|memory| format!("-m {}MiB", each(memory, *threads))).unwrap_or_default();
        let means = format!("--order {order} -@ {threads} --compression-level {level} {memory} -T");
        let output = self.work.file("fgumi.bam");
        let call = Call::new(program).words("sort -i").arg(self.data).arg("-o").arg(output);
        self.contender(&program.title(), "fgumi.bam", call.words(&means).arg(&self.work.directory))
    }

    /// sambamba, if it has the order.
    pub fn sambamba(&self, program: &Program) -> Option<Contender> {
        let Options { threads, order, .. } = self.options();
        let order = match order {
            Order::Coordinate => "",
            Order::Natural => "-N",
            Order::Lexicographic => "-n",
            Order::TemplateCoordinate => return None,
        };
        let memory = self.memory.map(|memory| format!("-m {memory}MiB")).unwrap_or_default();
        let means = format!("sort -q {order} -t {threads} {memory} -l {} --tmpdir", self.level.min(9));
        let call = Call::new(program).words(&means).arg(self.work.file("sambamba.tmp"));
        let call = call.arg("-o").arg(self.work.file("sambamba.bam")).arg(self.data);
        Some(self.contender(&program.title(), "sambamba.bam", call))
    }

    /// elPrep holds all reads in memory, and its level cannot be set.
    pub fn elprep(&self, program: &Program) -> Option<Contender> {
        let order = match self.options().order {
            Order::Coordinate => "coordinate",
            Order::Lexicographic => "queryname",
            Order::Natural | Order::TemplateCoordinate => return None,
        };
        let call = Call::new(program).arg("filter").arg(self.data).arg(self.work.file("elprep.bam"));
        let means = format!("--sorting-order {order} --nr-of-threads {}", self.options().threads);
        Some(self.contender(&program.title(), "elprep.bam", call.words(&means)))
    }

    /// Picard, if it has the order.
    pub fn picard(&self, program: &Program) -> Option<Contender> {
        let order = match self.options().order {
            Order::Coordinate => "coordinate",
            Order::Lexicographic => "queryname",
            Order::Natural | Order::TemplateCoordinate => return None,
        };
        let output = self.work.file("picard.bam");
        let call = picard_tool(program, "SortSam").arg(format!("SORT_ORDER={order}"));
        let call = call.named("INPUT=", self.data).named("TMP_DIR=", &self.work.directory);
        let call = call.named("OUTPUT=", &output);
        let call = call.arg(format!("COMPRESSION_LEVEL={}", self.level.min(9)));
        let mut contender = self.contender(&program.title(), "picard.bam", call);
        contender.runs = self.options().picard_runs;
        Some(contender)
    }
}

/// `samtools sort` with its threads and memory; order, level and files are added later.
pub fn samtools_sort(work: &Work, program: &Program, memory: Option<u64>) -> Call {
    let threads = work.options.threads;
    let memory = memory.map(|memory| format!("-m {}M", each(memory, threads))).unwrap_or_default();
    Call::new(program).words(&format!("sort -@ {threads} {memory} -T")).arg(work.file("samtools.tmp"))
}

/// A Picard tool; validation is off because no other program does it.
pub fn picard_tool(program: &Program, tool: &str) -> Call {
    Call::new(program).arg(tool).words("VALIDATION_STRINGENCY=SILENT QUIET=true")
}

fn each(memory: u64, threads: usize) -> u64 {
    (memory / threads.max(1) as u64).max(1)
}
