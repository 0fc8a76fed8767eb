//! GATK's tools for base qualities, many calls in one process, since Java starts slowly.

use std::ffi::OsString;
use std::fs;

use anyhow::Result;

use crate::parity::commands::SampleDir;
use crate::peers::{Peers, Tool};

/// The shell of a script engine, and a script for it: it calls one tool after the other, by the lines of a file,
/// until one throws.
const SHELL: &str = "org.openjdk.nashorn.tools.Shell";
const EACH: &str = r#"
var home = "org.broadinstitute.hellbender.";
var text = "java.lang.String[]";
var settings = Java.type(home + "utils.config.ConfigFactory").getInstance();
settings.initializeConfigurationsFromCommandLineArgs(Java.to([], text), "--gatk-config-file");
var lines = new java.util.Scanner(new java.io.File(arguments[0]));
while (lines.hasNextLine()) {
    var line = String(lines.nextLine());
    var words = line.split(" ").filter(function (word) { return word.length > 0; });
    var tool = new (Java.type(home + "tools." + words[0]))();
    var given = words.slice(1).concat(["--QUIET", "--verbosity", "ERROR"]);
    try {
        tool.instanceMain(Java.to(given, text));
    } catch (refused) {
        java.lang.System.err.println(line + ": " + refused);
        java.lang.System.exit(1);
    }
}
"#;

/// Files here are small, so Java starts fast rather than running fast.
const JAVA: [&str; 3] = ["-Xmx3g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// GATK.
pub struct Gatk(Tool);

impl Gatk {
    /// Finds or installs it.
    pub fn find(peers: &Peers) -> Result<Self> {
        let mut tool = peers.gatk()?;
        if let Some(main) = tool.arguments.last_mut() {
            *main = OsString::from(SHELL);
        }
        tool.arguments.splice(0..0, JAVA.map(OsString::from));
        Ok(Gatk(tool))
    }

    /// The version.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Makes calls: each is the tool's name below `tools`, and its arguments.
    pub fn each(&self, dir: &SampleDir<'_>, calls: &[String]) -> Result<()> {
        let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
        fs::write(dir.path("gatk.calls"), lines)?;
        fs::write(dir.path("gatk.js"), EACH)?;
        dir.peer(&self.0, "gatk.js -- gatk.calls").map(drop)
    }
}
