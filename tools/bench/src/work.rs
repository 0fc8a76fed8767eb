//! Prepares a benchmark: the directory, the input, the release build and the programs to compare
//! with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use readmill_peers::{Peers, build_readmill, target_directory};
use readmill_record::Header;

use crate::contender::{self, Call, Program};
use crate::data_file::{self, DataTable};
use crate::options::{Options, Peer};
use crate::{data, machine};

/// The setup of a benchmark, shared by all subcommands.
///
/// It has the options, the directory `target/bench`, and the input file. The methods find peers,
/// run calls that are not measured, and describe the setup for the report.
pub struct BenchSetup {
    pub options: Options,
    pub directory: PathBuf,
    pub data: PathBuf,
    /// Description of the input in the report. `None` describes `data`.
    pub about: Option<String>,
    pub readmill: Program,
    version: String,
    /// This program, for work that must not happen in this process.
    own: Program,
    peers: Peers,
}

impl BenchSetup {
    pub fn prepare(options: Options) -> Result<Self> {
        let mut work = Self::without_data(options)?;
        work.data = work.bring_data()?;
        Ok(work)
    }

    pub fn without_data(options: Options) -> Result<Self> {
        let directory = options.directory.clone().unwrap_or_else(|| target_directory().join("bench"));
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let directory = directory.canonicalize()?;
        let binary = match &options.binary {
            Some(binary) => binary.canonicalize().with_context(|| binary.display().to_string())?,
            None => build_readmill()?,
        };
        let mut work = BenchSetup {
            data: PathBuf::new(),
            about: None,
            readmill: Program::Own("readmill", binary),
            version: String::new(),
            own: Program::Own("./dev bench", std::env::current_exe()?),
            peers: Peers::new()?,
            directory,
            options,
        };
        work.version = work.run_once(Call::new(&work.readmill).arg("--version"))?.trim().to_owned();
        Ok(work)
    }

    fn bring_data(&self) -> Result<PathBuf> {
        if let Some(data) = &self.options.data {
            return data.canonicalize().with_context(|| data.display().to_string());
        }
        Ok(self.ensure_simulated_data("data", "")?.join("reads.bam"))
    }

    /// Returns the directory of simulated data, creating it if it is missing or incomplete. `words`
    /// are further options of `bench data`.
    pub fn ensure_simulated_data(&self, name: &str, words: &str) -> Result<PathBuf> {
        let made = self.directory.join(format!("{name}-{}", self.options.pairs));
        let stamp = made.join("complete");
        if !stamp.exists() {
            eprintln!("simulating {} pairs", self.options.pairs);
            let pairs = self.options.pairs.to_string();
            let call = self.own_call("data --pairs").arg(pairs).arg("-o").arg(&made);
            self.run_once(call.add_words(words))?;
            fs::write(stamp, "")?;
        }
        Ok(made)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns a program to compare with. `None` if it is not selected, or if it is not available,
    /// which is reported on standard error.
    pub fn find_peer(&self, peer: Peer) -> Option<Program> {
        let is_slow = matches!(peer, Peer::Picard | Peer::Gatk | Peer::Bwa | Peer::Fastqc);
        let is_wanted =
            self.options.peers.contains(&peer) && !(is_slow && self.options.picard_runs == 0);
        let tool = match peer {
            _ if !is_wanted => return None,
            Peer::Samtools => self.peers.newest_samtools(),
            Peer::Fgumi => self.peers.fgumi(),
            Peer::Sambamba => self.peers.sambamba(),
            Peer::Dupblaster => self.peers.dupblaster(),
            Peer::Samblaster => self.peers.samblaster(),
            Peer::Bamsormadup => self.peers.bamsormadup(),
            Peer::BwaMem2 => self.peers.bwa_mem2(),
            Peer::Bwa => self.peers.bwa(),
            Peer::Minibwa => self.peers.minibwa(),
            Peer::Elprep => self.peers.elprep(),
            Peer::Picard => self.peers.picard(),
            Peer::Gatk => self.peers.gatk(),
            Peer::Riker => self.peers.riker(),
            Peer::Mosdepth => self.peers.mosdepth(),
            Peer::Fastqc => self.peers.fastqc(),
            Peer::Fastp => self.peers.fastp(),
        };
        tool.map(Program::Peer).inspect_err(|error| eprintln!("left out: {error:#}")).ok()
    }

    /// Returns a function that adds the option for duplicate metrics to a call. `None` for readmill
    /// versions without that option.
    pub fn metrics_option(&self) -> Option<impl Fn(Call) -> Call> {
        let help = self.run_once(Call::new(&self.readmill).add_words("prep --help")).ok()?;
        let file = self.file("readmill.metrics");
        help.contains("--metrics").then_some(move |call: Call| call.arg("--metrics").arg(&file))
    }

    pub fn own_call(&self, words: &str) -> Call {
        Call::new(&self.own).add_words(words)
    }

    /// Runs a call that is not measured, and returns its standard output. If it fails, the error
    /// has its standard error.
    pub fn run_once(&self, call: Call) -> Result<String> {
        let mut command = call.command();
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        if !output.status.success() {
            bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Counts records and duplicates of a BAM file, in a separate process. Returns a dash for other
    /// files, because contenders may write tables or CRAM.
    pub fn count_records(&self, file: &Path) -> Result<String> {
        if file.extension().is_none_or(|end| end != "bam") {
            return Ok("–".into());
        }
        let said = self.run_once(self.own_call("tally").arg(file))?;
        Ok(said.trim().replace(' ', ", "))
    }

    /// Returns the minimum memory in MiB that readmill accepts for sorting the input, as stated in
    /// the error message for 1 MiB.
    pub fn min_memory_mib(&self) -> Result<u64> {
        let Options { threads, level, .. } = self.options;
        let call = Call::new(&self.readmill).arg("sort").arg(&self.data).arg("-o");
        let call = call.arg(self.file("none.bam")).add_words(&format!("-m 1M -@ {threads} -l {level}"));
        let said = call.command().output().context("cannot start readmill")?.stderr;
        contender::parse_min_memory(&String::from_utf8_lossy(&said))
    }

    pub fn read_header(&self) -> Result<Header> {
        Ok(data::open_bam(&self.data)?.header().clone())
    }

    pub fn describe_setup(&self) -> String {
        if let Some(about) = &self.about {
            return format!("{} Input: {about}, in the page cache.", self.describe_machine());
        }
        let size = fs::metadata(&self.data).map_or(0, |meta| meta.len());
        let file = self.data.file_name().unwrap_or_default().to_string_lossy();
        let name = match &self.options.data {
            Some(_) => file.into_owned(),
            None => format!("{file} of {} simulated pairs (`./dev bench data`)", self.options.pairs),
        };
        let size = size as f64 / 1e6;
        format!("{} Input: {name}, {size:.1} MB, in the page cache.", self.describe_machine())
    }

    pub fn save_table(&self, table: &DataTable<'_>) -> Result<()> {
        let Some(directory) = &self.options.tables else { return Ok(()) };
        table.add_to(
            directory,
            &data_file::command_line(std::env::args().skip(1)),
            &self.describe_setup(),
        )
    }

    pub fn describe_machine(&self) -> String {
        let (version, threads) = (&self.version, self.options.threads);
        format!("{version}; {}. {threads} threads.", machine::describe_machine())
    }
}
