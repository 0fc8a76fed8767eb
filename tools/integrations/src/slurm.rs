//! Checks of SLURM: the array script, `readmill cluster slurm`, and a job in stages.
//!
//! They start munged, slurmctld and slurmd as a one-node cluster, for this run only.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::{Peers, Tool, workspace};

use crate::cohort::Cohort;
use crate::killer::Killer;
use crate::outcome::{CheckCounts, Ended, run_to_end};
use crate::stages::{self, InputKind, RerunPolicy, StagedJob};

/// A one-node cluster. Requeued jobs can only start when the credentials of their first run have
/// expired; 5 seconds is the minimum that SLURM accepts.
const CONFIGURATION: &str = "
ClusterName=readmill
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=USER
SlurmdUser=USER
AuthType=auth/munge
AuthInfo=socket=DIR/munge.socket,cred_expire=5
CredType=cred/munge
SlurmctldPort=CONTROLLER
SlurmdPort=NODEPORT
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/slurmd.pid
SlurmctldLogFile=DIR/slurmctld.log
SlurmdLogFile=DIR/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=2
ReturnToService=2
MailProg=/bin/true
NodeName=HOST NodeAddr=127.0.0.1 CPUs=CORES RealMemory=2500 State=UNKNOWN
PartitionName=all Nodes=HOST Default=YES MaxTime=INFINITE State=UP
";

/// The daemons of a cluster. Dropping it stops them.
struct Cluster {
    daemons: Vec<Child>,
    configuration: PathBuf,
    client: PathBuf,
}

impl Cluster {
    /// Starts the daemons and waits until the node accepts jobs.
    fn start(peers: &Peers, directory: &Path) -> Result<Self> {
        let home = directory.join("cluster");
        for part in ["state", "spool"] {
            fs::create_dir_all(home.join(part))?;
        }
        let configuration = home.join("slurm.conf");
        fs::write(&configuration, fill_configuration(&home)?)?;
        let [key, socket] = ["munge.key", "munge.socket"].map(|name| home.join(name));
        let mut random = vec![0; 128];
        std::io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut random)?;
        fs::write(&key, random)?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let client = peers.slurm("sbatch")?.command().get_program().into();
        let mut cluster = Cluster { daemons: Vec::new(), configuration, client };
        let mut munged = peers.slurm("munged")?.command();
        munged.args(["--foreground", "--force"]);
        for (flag, name) in
            [("--pid-file", "munge.pid"), ("--log-file", "munge.log"), ("--seed-file", "munge.seed")]
        {
            munged.arg(format!("{flag}={}", home.join(name).display()));
        }
        munged
            .arg(format!("--key-file={}", key.display()))
            .arg(format!("--socket={}", socket.display()));
        cluster.start_daemon(&mut munged, &home.join("munged.out"))?;
        wait_for("munged opens its socket", || Ok(socket.exists()))?;
        for name in ["slurmctld", "slurmd"] {
            let mut daemon = peers.slurm(name)?.command();
            daemon.args(["-D", "-c", "-f"]).arg(&cluster.configuration);
            cluster.start_daemon(&mut daemon, &home.join(format!("{name}.out")))?;
        }
        let state = home.join("sinfo.out");
        wait_for("the node is idle", || {
            let mut sinfo = cluster.client_command("sinfo");
            Ok(run_to_end(sinfo.args(["-h", "-o", "%T"]), &state)?.said.trim() == "idle")
        })
        .with_context(|| format!("{} tells more", home.display()))?;
        Ok(cluster)
    }

    fn start_daemon(&mut self, daemon: &mut Command, log: &Path) -> Result<()> {
        let file = fs::File::create(log)?;
        let daemon = daemon.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        self.daemons.push(daemon.spawn().with_context(|| format!("cannot start {daemon:?}"))?);
        Ok(())
    }

    fn client_command(&self, name: &str) -> Command {
        let mut command = Command::new(self.client.with_file_name(name));
        command.env("SLURM_CONF", &self.configuration);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The daemons are stopped in reverse order, because later ones need those started earlier.
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Fills in the configuration for this machine, with free ports.
fn fill_configuration(home: &Path) -> Result<String> {
    let said = |words: &[&str]| -> Result<String> {
        let output = Command::new(words[0]).args(&words[1..]).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let port = || -> Result<String> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        Ok(free.local_addr()?.port().to_string())
    };
    Ok(CONFIGURATION
        .replace("HOST", &said(&["hostname", "-s"])?)
        .replace("USER", &said(&["id", "-un"])?)
        .replace("CONTROLLER", &port()?)
        .replace("NODEPORT", &port()?)
        .replace("CORES", &cores().to_string())
        .replace("DIR", &home.display().to_string()))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Polls a condition every 200 ms, and fails after one minute.
fn wait_for(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..300 {
        if is_so()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    bail!("this did not come true in a minute: {what}")
}

/// Adds a Python to the command's PATH, and the Python package of this checkout to `PYTHONPATH`.
fn with_python(mut command: Command, python: &Tool) -> Command {
    let program = PathBuf::from(python.command().get_program());
    let bin = program.parent().unwrap_or(&program);
    let path = [bin.as_os_str().to_owned(), std::env::var_os("PATH").unwrap_or_default()];
    command.env("PATH", path.join(OsStr::new(":")));
    command.env("PYTHONPATH", workspace().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

struct Slurm<'a> {
    cohort: &'a Cohort,
    directory: PathBuf,
    cluster: Cluster,
}

impl Slurm<'_> {
    fn run_array(&self, program: &Path, words: &[&str]) -> Result<Ended> {
        let mut command = Command::new("timeout");
        command
            .args(["600", "sh"])
            .arg(workspace().join("integrations/slurm/readmill-array.sh"))
            .args(words);
        let options = format!("--wait --cpus-per-task={} --mem=1000M --time=10", cores().min(2));
        command.env("SBATCH_OPTIONS", options);
        self.submit_script(&mut command, program)
    }

    fn submit_script(&self, command: &mut Command, program: &Path) -> Result<Ended> {
        command.current_dir(&self.directory).env("READMILL", program);
        command.env("SLURM_CONF", &self.cluster.configuration);
        if let Some(bin) = self.cluster.client.parent() {
            let given = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
            let mut path =
                given.map(OsStr::to_owned).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
            path.push(":");
            path.push(bin);
            command.env("PATH", path);
        }
        run_to_end(command, &self.directory.join("sbatch.log"))
    }

    /// Submits the stages of a job, waits until all have ended, and returns their logs.
    fn run_stages(&self, job: &StagedJob<'_>, flags: &str) -> Result<Ended> {
        let mut command = Command::new("sh");
        command
            .arg(&job.workflow)
            .args(flags.split(' '))
            .args(["--time=10", "--output=stage-%A-%a.log"]);
        let submitted = self.submit_script(&mut command, &job.program)?.expect_success()?;
        let last = submitted.trim().rsplit(' ').next().context("nothing was submitted")?.to_owned();
        let client = |words: &[&str]| {
            let mut command = self.cluster.client_command(words[0]);
            run_to_end(command.args(&words[1..]), &self.directory.join("client.log"))?.expect_success()
        };
        // Each stage waits for its dependencies, and has its own time limit.
        while !client(&["squeue", "-h"])?.trim().is_empty() {
            std::thread::sleep(Duration::from_millis(200));
        }
        let is_ok = client(&["scontrol", "show", "job", &last])?.contains("JobState=COMPLETED");
        let mut said = String::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("stage-") {
                said += &fs::read_to_string(&path)?;
                fs::remove_file(path)?;
            }
        }
        Ok(Ended { is_ok, said })
    }

    /// Returns the log of the first task of the last array.
    fn last_task_log(&self) -> Result<String> {
        let said = fs::read_to_string(self.directory.join("sbatch.log"))?;
        let job = said.lines().find_map(|line| line.strip_prefix("Submitted batch job "));
        let job = job.context("sbatch said nothing")?;
        Ok(fs::read_to_string(self.directory.join(format!("readmill-{job}_1.log")))?)
    }

    fn run_cluster_command(&self, python: &Tool, more: &[&str]) -> Result<Ended> {
        let mut command = with_python(Command::new(&self.cohort.readmill), python);
        command.args(["cluster", "slurm", "--workers=2", "--cores=1", "--memory=1100M", "--time=10"]);
        command.args(more).args(["--", "sort", "unsorted.bam", "-o", "dask.bam"]);
        self.submit_script(&mut command, &self.cohort.readmill)
    }

    /// Prints a script with `readmill cluster`, runs it, and compares the output with a direct run.
    fn check_cluster_script(&self, python: &Tool) -> Result<String> {
        let script = self.run_cluster_command(python, &["--shards=3"])?.expect_success()?;
        fs::write(self.directory.join("job.py"), script)?;
        let mut command = with_python(python.command(), python);
        command.arg("job.py");
        let said = self.submit_script(&mut command, &self.cohort.readmill)?.expect_success()?;
        self.cohort.run_direct("sort unsorted.bam -o dask.bam")?;
        let bytes = self.cohort.compare_file("dask.bam", &self.directory.join("dask.bam"))?;
        ensure!(
            !self.directory.join("dask.bam.stages").exists(),
            "the files of stages are still there: {said}"
        );
        let last =
            said.lines().last().and_then(|line| line.split_once(": ")).context("nothing was said")?;
        Ok(format!("{bytes} bytes; {}", last.1))
    }

    fn compare_results(&self) -> Result<String> {
        let results = self.directory.join("results");
        self.cohort.compare_outputs(|sample, end| results.join(sample).join(format!("{sample}{end}")))
    }
}

pub fn check_slurm(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let directory = cohort.make_directory("slurm", true)?;
    let cluster = Cluster::start(peers, &directory)?;
    let version =
        run_to_end(cluster.client_command("sinfo").arg("--version"), &directory.join("version"))?.said;
    outcome.print_title(&format!("SLURM {}", version.trim().trim_start_matches("slurm-wlm ")));
    let it = Slurm { cohort, directory, cluster };
    let killer = Killer::new(&cohort.readmill, &it.directory)?;
    let usual = ["samples.csv", "ref.fa", "results", "known.vcf"];
    outcome.check(
        "a task that is killed is put back into the queue; every file is that of a direct run",
        || {
            it.run_array(&killer.program, &usual)?.expect_success()?;
            let memory = killer.memory_of_attempts()?;
            ensure!(memory == ["1000M", "1000M"], "-m was {memory:?}");
            let log = it.last_task_log()?;
            ensure!(log.contains("ended with 137; it runs again"), "the log of the task: {log}");
            let jobs = run_to_end(
                it.cluster.client_command("scontrol").args(["show", "job"]),
                &it.directory.join("jobs"),
            )?
            .said;
            ensure!(jobs.matches("Restarts=1").count() == 1, "not one job was started again: {jobs}");
            it.compare_results()
        },
    );
    outcome.check("a job after the array makes the page of all samples", || {
        let results = it.directory.join("results");
        cohort.check_page(&results.join("cohort.html"), &results.join("cohort_mqc.json"))
    });
    outcome.check("the same command again finds all samples finished", || {
        it.run_array(&killer.program, &usual)?.expect_success()?;
        killer.memory_of_attempts()?;
        let log = it.last_task_log()?;
        ensure!(log.contains("patient1 is finished"), "the log of the task: {log}");
        it.compare_results()
    });
    outcome.check("input that is cut short is not tried again", || {
        cohort.write_truncated_input(&it.directory)?;
        it.run_array(&cohort.readmill, &["cut.csv", "ref.fa", "cut"])?.expect_failure()?;
        let log = it.last_task_log()?;
        ensure!(
            log.contains("cut ended with 2\n") && log.contains("cut_1.fq"),
            "the log of the task: {log}"
        );
        ensure!(!log.contains("runs again"), "the log of the task: {log}");
        Ok("exit code 2, one attempt".to_owned())
    });
    let python = peers.dask()?;
    outcome.check(
        &format!("readmill cluster: the workers of Dask {} are jobs of SLURM; the output is that of a direct run", python.version),
        || it.check_cluster_script(&python),
    );
    outcome.check("readmill cluster: a partition that is not there ends the command at once", || {
        let said =
            it.run_cluster_command(&python, &["--partition", "nowhere", "--run"])?.expect_failure()?;
        ensure!(
            said.contains("SLURM does not take the jobs: sbatch: error: invalid partition"),
            "{said}"
        );
        Ok("its message is that of sbatch".to_owned())
    });
    let job = StagedJob::plan_job(cohort, &it.directory, InputKind::Bam, "slurm", "stages.sh")?;
    // Memory options of `sbatch`, and the options that a stage must get.
    let ways =
        [("--mem=400M", "-@ 2 -m 400M"), ("--mem-per-cpu=250M", "-@ 2 -m 500M"), ("--mem=0", "-@ 2")];
    let mut next = ways.iter().cycle();
    stages::check_restarts(&job, &RerunPolicy::All, outcome, || {
        let (flag, resources) = next.next().context("no way is left")?;
        let ended = it.run_stages(&job, &format!("-c 2 {flag}"))?;
        let found = job.last_resources()?;
        ensure!(found == *resources, "{flag} became {found}, not {resources}");
        Ok(ended)
    });
    let job = StagedJob::plan_job(cohort, &it.directory, InputKind::Fastq, "slurm", "stages-align.sh")?;
    stages::check_kills(&job, outcome, || it.run_stages(&job, "-c 2 --mem=0"));
    Ok(())
}
