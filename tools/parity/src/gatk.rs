//! Runs GATK. Many calls share one process, because starting Java is slow.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::{Peers, Tool};

use crate::commands::SampleDir;

const NASHORN_SHELL: &str = "org.openjdk.nashorn.tools.Shell";
/// A Nashorn script that calls the GATK tools listed in a file, one per line, in a single JVM. It
/// prints `ended:` for each call, followed by the exception if there was one. Line ends inside an
/// exception become carriage returns.
const GATK_CALLS_SCRIPT: &str = r#"
var home = "org.broadinstitute.hellbender.";
var text = "java.lang.String[]";
var settings = Java.type(home + "utils.config.ConfigFactory").getInstance();
settings.initializeConfigurationsFromCommandLineArgs(Java.to([], text), "--gatk-config-file");
var lines = new java.util.Scanner(new java.io.File(arguments[0]));
while (lines.hasNextLine()) {
    var words = String(lines.nextLine()).split(" ").filter(function (word) { return word.length > 0; });
    var tool = new (Java.type(home + "tools." + words[0]))();
    var given = words.slice(1).concat(["--QUIET", "--verbosity", "ERROR"]);
    try {
        tool.instanceMain(Java.to(given, text));
        print("ended:");
    } catch (refused) {
        var why = refused.getClass().getSimpleName() + ": " + refused.getMessage();
        print("ended:" + why.replace(/\r?\n/g, "\r"));
    }
}
"#;

const JVM_OPTIONS: [&str; 3] = ["-Xmx3g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

pub struct Gatk(Tool);

impl Gatk {
    pub fn find_or_install(peers: &Peers) -> Result<Self> {
        let mut tool = peers.gatk()?;
        if let Some(main) = tool.arguments.last_mut() {
            *main = OsString::from(NASHORN_SHELL);
        }
        tool.arguments.splice(0..0, JVM_OPTIONS.map(OsString::from));
        Ok(Gatk(tool))
    }

    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Calls tools one after another, and returns an error for the first call that throws. A call
    /// is the class of a tool below `tools`, and its arguments.
    pub fn run_calls(&self, dir: &SampleDir<'_>, calls: &[String]) -> Result<()> {
        for (call, refused) in calls.iter().zip(self.run_calls_verbose(dir, calls)?) {
            if let Some(why) = refused {
                bail!("{call}: {why}");
            }
        }
        Ok(())
    }

    /// Calls tools one after another. Returns for each call the class and message of its exception,
    /// or `None` if it succeeded.
    pub fn run_calls_verbose(
        &self,
        dir: &SampleDir<'_>,
        calls: &[String],
    ) -> Result<Vec<Option<String>>> {
        let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
        fs::write(dir.path("gatk.calls"), lines)?;
        fs::write(dir.path("gatk.js"), GATK_CALLS_SCRIPT)?;
        let output = dir.peer_command(&self.0, "gatk.js -- gatk.calls").output()?;
        ensure!(output.status.success(), "GATK: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).context("GATK printed no text")?;
        let ends: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("ended:")).collect();
        ensure!(ends.len() == calls.len(), "{} of {} calls of GATK ended", ends.len(), calls.len());
        let said = |end: &&str| (!end.is_empty()).then(|| end.replace('\r', "\n"));
        Ok(ends.iter().map(said).collect())
    }
}
