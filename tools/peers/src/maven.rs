//! Peers from Maven: Java archives, run by their main class.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::install::{Tool, find_or_install, run_client};

/// The Picard release whose output is the reference for duplicates.
pub const PICARD: &str = "3.4.0";

const PICARD_MAIN: &str = "picard.cmdline.PicardCommandLine";

/// The GATK release whose output is the reference for recalibration.
pub const GATK: &str = "4.6.2.0";

const GATK_MAIN: &str = "org.broadinstitute.hellbender.Main";

/// Archives (group, name, version) that GATK's base quality tools and HaplotypeCaller need: 48 of the
/// 367 that it declares (82 of 440 MB). It does not start without these. The last six are the script
/// engine, which Picard also has.
const GATK_ARCHIVES: &str = "
    org.broadinstitute:gatk:4.6.2.0
    org.broadinstitute:barclay:5.0.0
    org.broadinstitute:gatk-native-bindings:1.0.0
    org.broadinstitute:http-nio:1.1.1
    com.github.broadinstitute:picard:3.4.0
    com.github.samtools:htsjdk:4.2.0
    com.intel.gkl:gkl:0.8.11
    ch.qos.reload4j:reload4j:1.2.22
    com.esotericsoftware:minlog:1.3.1
    com.fasterxml.jackson.core:jackson-core:2.16.0
    com.fasterxml.jackson.core:jackson-databind:2.16.0
    com.google.api:api-common:2.21.0
    com.google.api:gax:2.38.0
    com.google.auth:google-auth-library-credentials:1.20.0
    com.google.auth:google-auth-library-oauth2-http:1.20.0
    com.google.cloud:google-cloud-core:2.28.0
    com.google.cloud:google-cloud-core-http:2.28.0
    com.google.cloud:google-cloud-nio:0.127.8
    com.google.cloud:google-cloud-storage:2.30.1
    com.google.guava:guava:32.1.3-jre
    com.google.http-client:google-http-client:1.43.3
    com.google.http-client:google-http-client-appengine:1.43.3
    com.google.http-client:google-http-client-gson:1.43.3
    commons-collections:commons-collections:3.2.2
    commons-io:commons-io:2.14.0
    commons-logging:commons-logging:1.3.0
    io.grpc:grpc-api:1.59.1
    io.opencensus:opencensus-api:0.31.1
    io.opencensus:opencensus-contrib-http-util:0.31.1
    it.unimi.dsi:fastutil:7.0.13
    net.sf.jopt-simple:jopt-simple:5.0.3
    org.aeonbits.owner:owner:1.0.9
    org.apache.commons:commons-collections4:4.4
    org.apache.commons:commons-compress:1.26.0
    org.apache.commons:commons-jexl:2.1.1
    org.apache.commons:commons-lang3:3.14.0
    org.apache.commons:commons-math3:3.5
    org.apache.hadoop:hadoop-common:3.3.6
    org.apache.httpcomponents:httpclient:4.5.13
    org.apache.httpcomponents:httpcore:4.4.16
    org.apache.logging.log4j:log4j-api:2.24.1
    org.apache.logging.log4j:log4j-core:2.24.1
    org.apache.spark:spark-core_2.13:3.5.0
    org.jgrapht:jgrapht-core:1.1.0
    org.ojalgo:ojalgo:44.0.0
    org.ojalgo:ojalgo-commons-math3:1.0.0
    org.slf4j:slf4j-api:1.7.25
    org.threeten:threetenbp:1.6.8
    org.openjdk.nashorn:nashorn-core:15.4
    org.ow2.asm:asm:7.3.1
    org.ow2.asm:asm-analysis:7.3.1
    org.ow2.asm:asm-commons:7.3.1
    org.ow2.asm:asm-tree:7.3.1
    org.ow2.asm:asm-util:7.3.1
";

/// The Nextflow release that runs the workflows of `integrations/nextflow`.
pub const NEXTFLOW: &str = "24.10.4";

const NEXTFLOW_MAIN: &str = "nextflow.cli.Launcher";

/// Java packages that Nextflow accesses by reflection, which newer Java versions forbid by default.
const OPENED_PACKAGES: [&str; 16] = [
    "java.lang",
    "java.io",
    "java.nio",
    "java.nio.file.spi",
    "java.net",
    "java.util",
    "java.util.concurrent.locks",
    "java.util.concurrent.atomic",
    "java.util.regex",
    "sun.nio.ch",
    "sun.nio.fs",
    "sun.net.www.protocol.http",
    "sun.net.www.protocol.https",
    "sun.net.www.protocol.ftp",
    "sun.net.www.protocol.file",
    "jdk.internal.misc",
];

/// Installs Nextflow [`NEXTFLOW`] below `cache`, without its own launcher, which would download
/// more, and without `nf-httpfs`, which is for files behind URLs.
pub fn install_nextflow(cache: &Path) -> Result<Tool> {
    let dependency = format!(
        r#"    <dependency>
      <groupId>io.nextflow</groupId>
      <artifactId>nextflow</artifactId>
      <version>{NEXTFLOW}</version>
      <exclusions><exclusion><groupId>io.nextflow</groupId><artifactId>nf-httpfs</artifactId></exclusion></exclusions>
    </dependency>
"#
    );
    let release = JavaRelease {
        name: "nextflow",
        shown: "Nextflow",
        version: NEXTFLOW,
        main_class: NEXTFLOW_MAIN,
    };
    let mut tool = release.install(cache, &format!("nextflow-{NEXTFLOW}"), &dependency)?;
    let opened =
        OPENED_PACKAGES.map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED").into());
    tool.arguments.splice(0..0, opened);
    tool.arguments.splice(0..0, ["-XX:TieredStopAtLevel=1".into(), "-Xmx1g".into()]);
    let home = cache.join(format!("nextflow-{NEXTFLOW}/home"));
    tool.environment = vec![
        ("NXF_HOME", home.into_os_string()),
        ("NXF_OFFLINE", "true".into()),
        ("NXF_DISABLE_CHECK_LATEST", "true".into()),
        ("NXF_ANSI_LOG", "false".into()),
    ];
    Ok(tool)
}

/// The htsjdk release that can read CRAM 3.1. Picard [`PICARD`] itself has 4.2.0, which cannot.
pub const HTSJDK: &str = "4.3.0";

pub fn install_picard(cache: &Path) -> Result<Tool> {
    PICARD_RELEASE.install(cache, &format!("picard-{PICARD}"), &picard_itself())
}

/// Installs the same Picard with htsjdk [`HTSJDK`]. Maven prefers the version that the project
/// itself requests.
pub fn install_picard_with_htsjdk(cache: &Path) -> Result<Tool> {
    let htsjdk = project_dependency("com.github.samtools", "htsjdk", HTSJDK);
    let home = format!("picard-{PICARD}-htsjdk-{HTSJDK}");
    let mut tool = PICARD_RELEASE.install(cache, &home, &(htsjdk + &picard_itself()))?;
    tool.version = format!("{PICARD} with htsjdk {HTSJDK}");
    Ok(tool)
}

const PICARD_RELEASE: JavaRelease =
    JavaRelease { name: "picard", shown: "Picard", version: PICARD, main_class: PICARD_MAIN };

fn picard_itself() -> String {
    project_dependency("com.github.broadinstitute", "picard", PICARD)
}

/// Returns a Maven dependency, including its own dependencies.
fn project_dependency(group: &str, name: &str, version: &str) -> String {
    format!(
        r#"    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>
    </dependency>
"#
    )
}

/// Installs below `cache` the parts of GATK [`GATK`] that BaseRecalibrator, ApplyBQSR,
/// GatherBQSRReports, AnalyzeCovariates (without plots), IndexFeatureFile and HaplotypeCaller need:
/// archives without their own dependencies.
pub fn install_gatk(cache: &Path) -> Result<Tool> {
    let dependencies: String =
        GATK_ARCHIVES.lines().filter_map(|line| lone_dependency(line.trim())).collect();
    let release = JavaRelease { name: "gatk", shown: "GATK", version: GATK, main_class: GATK_MAIN };
    release.install(cache, &format!("gatk-{GATK}"), &dependencies)
}

struct JavaRelease {
    name: &'static str,
    shown: &'static str,
    version: &'static str,
    main_class: &'static str,
}

impl JavaRelease {
    /// Downloads the program and the dependencies of a Maven project into `cache/home`. Does
    /// nothing if this was already done with the same dependencies.
    fn install(&self, cache: &Path, home: &str, dependencies: &str) -> Result<Tool> {
        let JavaRelease { name, shown, version, main_class: main } = *self;
        let java = find_or_install("java", "openjdk-17-jre-headless")?;
        let home = cache.join(home);
        let libraries = home.join("lib");
        let jar = libraries.join(format!("{name}-{version}.jar"));
        // The stamp is written last: a directory without it is an interrupted installation, and a
        // different text means different dependencies.
        let (stamp, project) = (home.join("complete"), maven_project(name, dependencies));
        let is_complete = fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == project);
        if !(is_complete && jar.exists()) {
            let maven = find_or_install("mvn", "maven")?;
            fs::create_dir_all(&home)?;
            let pom = home.join("pom.xml");
            fs::write(&pom, &project)?;
            eprintln!("peers: fetching {shown} {version} by Maven into {}", home.display());
            let mut output = OsString::from("-DoutputDirectory=");
            output.push(&libraries);
            run_client(
                Command::new(maven)
                    .args(["-q", "-B", "-f"])
                    .arg(&pom)
                    .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
                    .arg(output),
            )?;
            if !jar.exists() {
                bail!("Maven ended well but {} is not there", jar.display());
            }
            fs::write(&stamp, project)?;
        }
        let mut tool = Tool::without_arguments(name, java, version.to_owned());
        tool.arguments = vec!["-cp".into(), libraries.join("*").into_os_string(), main.into()];
        Ok(tool)
    }
}

fn maven_project(name: &str, dependencies: &str) -> String {
    format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>readmill.peers</groupId>
  <artifactId>{name}-peer</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}  </dependencies>
</project>
"#
    )
}

fn lone_dependency(archive: &str) -> Option<String> {
    let (group, rest) = archive.split_once(':')?;
    let (name, version) = rest.split_once(':')?;
    let nothing_else =
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>";
    Some(format!(
        "    <dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>\
         <version>{version}</version>{nothing_else}</dependency>\n"
    ))
}
