//! Builds samtools from source, as included in pysam's source package on PyPI.
//!
//! A sort spends most of its time in libdeflate, whose releases may differ by more than the
//! programs that use it: 5.0 s with 1.14 of Debian 12, 4.2 s with 1.26 (600,000 reads, level 6, one
//! thread). So samtools gets the same libdeflate as readmill, and the comparison is one of
//! programs. Everything else is built as samtools itself does: with the same flags and htslib's own
//! configure. Omitted are network access, which is not used here, and `tview`, which the source
//! package lacks.
//! package lacks.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::install::{
    Tool, cargo, ensure_header, find_or_install, fresh_directory, output_of, run_client, run_make,
    word_after,
};

/// The samtools release to compare with. Its sort orders are the reference for ours.
pub const VERSION: &str = "1.24";

/// The pysam release that contains samtools [`VERSION`].
pub const PYSAM: &str = "0.24.1";

/// Builds samtools [`VERSION`] below `cache`, unless it is already built.
pub fn build_samtools_release(cache: &Path) -> Result<Tool> {
    let libdeflate = locked_libdeflate(include_str!("../../../Cargo.lock"))
        .context("Cargo.lock names no libdeflate-sys")?;
    let home = cache.join(format!("samtools-{VERSION}-libdeflate-{libdeflate}"));
    let program = home.join("samtools");
    if !program.exists() {
        let build = home.join("build");
        fresh_directory(&build)?;
        eprintln!("peers: building samtools {VERSION} from source in {}", build.display());
        fetch_source(&build)?;
        build_libdeflate(&build.join("libdeflate"), libdeflate)?;
        build_htslib(&build.join("htslib"))?;
        build_samtools(&build.join("samtools"))?;
        let built = build.join("samtools/samtools");
        let text = output_of(Command::new(&built).arg("version"))?;
        if !(text.contains("libdeflate=yes") && parse_version(&text)? == VERSION) {
            bail!("not samtools {VERSION} with libdeflate:\n{text}");
        }
        // The program is moved last, so a directory without it is an interrupted installation.
        fs::rename(&built, &program)?;
        fs::remove_dir_all(&build)?;
    }
    let version = parse_version(&output_of(Command::new(&program).arg("version"))?)?;
    Ok(Tool::without_arguments("samtools", program, version))
}

pub fn parse_version(text: &str) -> Result<String> {
    word_after(text, "samtools").context("samtools states no version")
}

/// Downloads pysam's source package and unpacks `samtools` and `htslib` into `build`.
fn fetch_source(build: &Path) -> Result<()> {
    let pip = find_or_install("pip3", "python3-pip")?;
    run_client(
        Command::new(pip)
            .args(["download", "--no-deps", "--no-binary", "pysam", "--dest"])
            .arg(build)
            .arg(format!("pysam=={PYSAM}")),
    )?;
    let root = format!("pysam-{PYSAM}");
    run_client(
        Command::new("tar")
            .current_dir(build)
            .args(["-xzf", &format!("{root}.tar.gz"), "--strip-components=1"])
            .args([format!("{root}/samtools"), format!("{root}/htslib")]),
    )
}

/// Builds libdeflate with Cargo from the crate that contains its source, and copies `include` and
/// `lib` into `directory`.
fn build_libdeflate(directory: &Path, version: &str) -> Result<()> {
    fs::create_dir_all(directory)?;
    // A workspace of its own, so that Cargo does not treat the package as a member of readmill's.
    let manifest = format!(
        "[package]\nname = \"libdeflate\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [lib]\npath = \"lib.rs\"\n[dependencies]\nlibdeflate-sys = \"={version}\"\n[workspace]\n"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    fs::write(directory.join("lib.rs"), "")?;
    fs::write(directory.join("build.rs"), COPY_LIBDEFLATE)?;
    run_client(cargo().current_dir(directory).args(["build", "--release", "--target-dir", "target"]))
}

/// A build script that copies the output of libdeflate-sys into the directory of its package.
const COPY_LIBDEFLATE: &str = r#"
fn main() -> std::io::Result<()> {
    let made = std::path::PathBuf::from(std::env::var("DEP_LIBDEFLATE_ROOT").unwrap());
    for file in ["include/libdeflate.h", "lib/libdeflate.a"] {
        std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap())?;
        std::fs::copy(made.join(file), file)?;
    }
    Ok(())
}
"#;

fn build_htslib(directory: &Path) -> Result<()> {
    let compiler = find_or_install("cc", "gcc")?;
    for (header, package) in
        [("zlib.h", "zlib1g-dev"), ("bzlib.h", "libbz2-dev"), ("lzma.h", "liblzma-dev")]
    {
        ensure_header(&compiler, header, package)?;
    }
    // Relative paths, because configure rejects some directory names.
    run_client(Command::new("./configure").current_dir(directory).args([
        "--with-libdeflate",
        "--disable-libcurl",
        "--disable-gcs",
        "--disable-s3",
        "CPPFLAGS=-I../libdeflate/include",
        "LDFLAGS=-L../libdeflate/lib",
    ]))?;
    run_make(directory, &["lib-static", "htslib_static.mk"])
}

/// Builds `samtools`. The source package lacks its Makefile and the files that the Makefile would
/// generate.
fn build_samtools(directory: &Path) -> Result<()> {
    let version = output_of(Command::new("sh").current_dir(directory).arg("version.sh"))?;
    let version = format!("#define SAMTOOLS_VERSION \"{}\"\n", version.trim());
    fs::write(directory.join("version.h"), version)?;
    fs::write(directory.join("config.h"), CONFIG)?;
    fs::write(directory.join("tview.c"), NO_TVIEW)?;
    fs::write(directory.join("Makefile"), MAKEFILE)?;
    run_make(directory, &["samtools"])
}

const CONFIG: &str = r#"#define SAMTOOLS_CC "cc"
#define SAMTOOLS_CPPFLAGS ""
#define SAMTOOLS_CFLAGS "-g -Wall -O2"
#define SAMTOOLS_LDFLAGS ""
#define SAMTOOLS_HTSDIR "../htslib"
#define SAMTOOLS_LIBS ""
#define SAMTOOLS_CURSES_LIB ""
"#;

/// Replaces `tview`, which the source package lacks.
const NO_TVIEW: &str =
    "int bam_tview_main(int argc, char **argv) { (void)argc; (void)argv; return 1; }\n";

/// Excludes the files `*.pysam.c`, copies that use different names for the standard streams.
const MAKEFILE: &str = "include ../htslib/htslib_static.mk
CFLAGS = -g -Wall -O2
CPPFLAGS = -I. -I../htslib -Ilz4
SOURCES = $(filter-out %.pysam.c, $(wildcard *.c lz4/*.c))
samtools: $(SOURCES:.c=.o) ../htslib/libhts.a
\t$(CC) $(HTSLIB_static_LDFLAGS) -L../libdeflate/lib -o $@ $^ $(HTSLIB_static_LIBS)
";

fn locked_libdeflate(lock: &str) -> Option<&str> {
    let (_, after) = lock.split_once("name = \"libdeflate-sys\"\nversion = \"")?;
    Some(after.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::locked_libdeflate;

    #[test]
    fn the_release_of_libdeflate_is_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"libdeflate-sys\"\nversion = \"1.26.1\"\nsource = \"r\"\n";
        assert_eq!(locked_libdeflate(lock), Some("1.26.1"));
        assert!(locked_libdeflate(include_str!("../../../Cargo.lock")).is_some());
        assert_eq!(locked_libdeflate("name = \"libdeflater\"\nversion = \"1.26.1\"\n"), None);
    }
}
