//! samtools from its source, which pysam's source package on PyPI carries.
//!
//! Most of a sort is libdeflate, and its releases may differ by more than the programs around it: 5.0 s
//! with the 1.14 of Debian 12, 4.2 s with 1.26 (600,000 reads, level 6, one thread). So samtools gets the
//! release that readmill itself is built with, and a comparison is one of programs. All else is as in
//! samtools' own build: the same flags, htslib's own configure. Left out are the network, which nothing
//! here uses, and `tview`, which the source package does not hold.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::install::{
    Tool, cargo, fresh_directory, header_or_apt, make, on_path_or_apt, output_of, run, word_after,
};

/// The release that is measured against, and whose orders are the reference.
pub const VERSION: &str = "1.24";

/// The pysam release that carries samtools [`VERSION`].
pub const PYSAM: &str = "0.24.1";

/// samtools at [`VERSION`], built below `cache`.
pub fn install(cache: &Path) -> Result<Tool> {
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
        if !(text.contains("libdeflate=yes") && stated(&text)? == VERSION) {
            bail!("not samtools {VERSION} with libdeflate:\n{text}");
        }
        // The program is moved last: a directory without it is an install that was cut short.
        fs::rename(&built, &program)?;
        fs::remove_dir_all(&build)?;
    }
    let version = stated(&output_of(Command::new(&program).arg("version"))?)?;
    Ok(Tool::plain("samtools", program, version))
}

/// The version that `samtools version` states.
pub fn stated(text: &str) -> Result<String> {
    word_after(text, "samtools").context("samtools states no version")
}

/// Puts `samtools` and `htslib` into `build`.
fn fetch_source(build: &Path) -> Result<()> {
    let pip = on_path_or_apt("pip3", "python3-pip")?;
    run(Command::new(pip)
        .args(["download", "--no-deps", "--no-binary", "pysam", "--dest"])
        .arg(build)
        .arg(format!("pysam=={PYSAM}")))?;
    let root = format!("pysam-{PYSAM}");
    run(Command::new("tar")
        .current_dir(build)
        .args(["-xzf", &format!("{root}.tar.gz"), "--strip-components=1"])
        .args([format!("{root}/samtools"), format!("{root}/htslib")]))
}

/// Puts `include` and `lib` of libdeflate into `directory`, through the crate that carries its source.
fn build_libdeflate(directory: &Path, version: &str) -> Result<()> {
    fs::create_dir_all(directory)?;
    // Its own workspace, so that Cargo does not count it as a part of readmill's.
    let manifest = format!(
        "[package]\nname = \"libdeflate\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [lib]\npath = \"lib.rs\"\n[dependencies]\nlibdeflate-sys = \"={version}\"\n[workspace]\n"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    fs::write(directory.join("lib.rs"), "")?;
    fs::write(directory.join("build.rs"), COPY_LIBDEFLATE)?;
    run(cargo().current_dir(directory).args(["build", "--release", "--target-dir", "target"]))
}

/// A build script that takes what the build of libdeflate-sys made; it runs in its package's directory.
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

/// Makes `libhts.a`, by htslib's own configure and Makefile.
fn build_htslib(directory: &Path) -> Result<()> {
    let compiler = on_path_or_apt("cc", "gcc")?;
    for (header, package) in
        [("zlib.h", "zlib1g-dev"), ("bzlib.h", "libbz2-dev"), ("lzma.h", "liblzma-dev")]
    {
        header_or_apt(&compiler, header, package)?;
    }
    // Relative paths, since configure does not take every name of a directory.
    run(Command::new("./configure").current_dir(directory).args([
        "--with-libdeflate",
        "--disable-libcurl",
        "--disable-gcs",
        "--disable-s3",
        "CPPFLAGS=-I../libdeflate/include",
        "LDFLAGS=-L../libdeflate/lib",
    ]))?;
    make(directory, &["lib-static", "htslib_static.mk"])
}

/// Makes `samtools`. The source package has no Makefile for it, and not the files that one writes.
fn build_samtools(directory: &Path) -> Result<()> {
    let version = output_of(Command::new("sh").current_dir(directory).arg("version.sh"))?;
    let version = format!("#define SAMTOOLS_VERSION \"{}\"\n", version.trim());
    fs::write(directory.join("version.h"), version)?;
    fs::write(directory.join("config.h"), CONFIG)?;
    fs::write(directory.join("tview.c"), NO_TVIEW)?;
    fs::write(directory.join("Makefile"), MAKEFILE)?;
    make(directory, &["samtools"])
}

/// The configuration that `samtools version` prints.
const CONFIG: &str = r#"#define SAMTOOLS_CC "cc"
#define SAMTOOLS_CPPFLAGS ""
#define SAMTOOLS_CFLAGS "-g -Wall -O2"
#define SAMTOOLS_LDFLAGS ""
#define SAMTOOLS_HTSDIR "../htslib"
#define SAMTOOLS_LIBS ""
#define SAMTOOLS_CURSES_LIB ""
"#;

/// A stand-in for the viewer.
const NO_TVIEW: &str =
    "int bam_tview_main(int argc, char **argv) { (void)argc; (void)argv; return 1; }\n";

/// The files that end in `.pysam.c` are copies with other names for the standard streams.
const MAKEFILE: &str = "include ../htslib/htslib_static.mk
CFLAGS = -g -Wall -O2
CPPFLAGS = -I. -I../htslib -Ilz4
SOURCES = $(filter-out %.pysam.c, $(wildcard *.c lz4/*.c))
samtools: $(SOURCES:.c=.o) ../htslib/libhts.a
\t$(CC) $(HTSLIB_static_LDFLAGS) -L../libdeflate/lib -o $@ $^ $(HTSLIB_static_LIBS)
";

/// The release of libdeflate-sys in a lock file.
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
