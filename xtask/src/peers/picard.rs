//! Picard by Maven.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::clients::{on_path_or_apt, run};
use super::tool::Tool;

/// The release whose duplicate marks are the reference.
pub const VERSION: &str = "3.4.0";

const MAIN: &str = "picard.cmdline.PicardCommandLine";

/// Picard at [`VERSION`], with all it depends on, below `cache`.
pub fn install(cache: &Path) -> Result<Tool> {
    let java = on_path_or_apt("java", "openjdk-17-jre-headless")?;
    let home = cache.join(format!("picard-{VERSION}"));
    let libraries = home.join("lib");
    let jar = libraries.join(format!("picard-{VERSION}.jar"));
    // The stamp comes last: a directory without it is an install that was cut short.
    let stamp = home.join("complete");
    if !(stamp.exists() && jar.exists()) {
        let maven = on_path_or_apt("mvn", "maven")?;
        fs::create_dir_all(&home)?;
        let pom = home.join("pom.xml");
        fs::write(&pom, project())?;
        eprintln!("peers: fetching Picard {VERSION} by Maven into {}", home.display());
        let mut output = OsString::from("-DoutputDirectory=");
        output.push(&libraries);
        run(Command::new(maven)
            .args(["-q", "-B", "-f"])
            .arg(&pom)
            .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
            .arg(output))?;
        if !jar.exists() {
            bail!("Maven ended well but {} is not there", jar.display());
        }
        fs::write(&stamp, "")?;
    }
    let arguments = vec!["-cp".into(), libraries.join("*").into_os_string(), MAIN.into()];
    let mut tool = Tool::plain("picard", java, VERSION.to_owned());
    tool.arguments = arguments;
    Ok(tool)
}

fn project() -> String {
    format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>readmill.peers</groupId>
  <artifactId>picard-peer</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>com.github.broadinstitute</groupId>
      <artifactId>picard</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"#
    )
}
