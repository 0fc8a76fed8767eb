//! The script `./dev` on fake machines: which packages it installs, with which commands, and its messages.
#![allow(clippy::unwrap_used)]

mod commands;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::TestDir;

/// The programs of every Unix that the script uses.
const TOOLS: [&str; 18] = [
    "awk", "cat", "cut", "date", "dirname", "env", "grep", "head", "ls", "mkdir", "rm", "rmdir", "sed",
    "sh", "tail", "touch", "tr", "true",
];

/// A compiler that finds the header of zlib only once `zlib` is there.
const COMPILER: &str = "read -r line; case $line in *zlib.h*) [ -e zlib ] ;; esac";

/// A package manager that installs compilers and zlib.
const INSTALLS: &str = "case \"$*\" in *install*|*add*) cp spare/* bin/; touch zlib ;; *policy*|*repoquery*|*search*|info*) ;; esac";

/// The programs that a comparison needs.
const COMPARED: [&str; 7] = ["make", "samtools", "bwa", "fastqc", "java", "mvn", "pip3"];

/// The program of util-linux that gives a command a terminal.
const SCRIPT: &str = "/usr/bin/script";

/// A machine with a new enough Rust, root as the user, and no other programs.
struct Machine(TestDir);

/// The result of a run of the script.
struct ScriptRun {
    code: Option<i32>,
    said: String,
    /// The commands that changed something, and the final command.
    ran: Vec<String>,
}

impl Machine {
    fn new() -> Self {
        let dir = TestDir::new();
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        for name in ["dev", "Cargo.toml"] {
            std::fs::copy(root.join(name), dir.path(name)).unwrap();
        }
        for directory in ["bin", "spare", "tools", "target/debug"] {
            std::fs::create_dir_all(dir.path(directory)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap();
        for tool in TOOLS.iter().chain(&["cp"]) {
            let real = std::env::split_paths(&path).map(|at| at.join(tool)).find(|at| at.exists());
            symlink(real.expect(tool), dir.path("tools").join(tool)).unwrap();
        }
        let machine = Machine(dir);
        machine.rust("1.95.0");
        machine.program("bin/id", "echo 0");
        machine.program("spare/cc", COMPILER);
        machine.program("spare/c++", COMPILER);
        machine
    }

    /// A machine with everything that a build needs.
    fn complete() -> Self {
        let machine = Machine::new();
        machine.program("bin/cc", "true");
        machine.program("bin/c++", "true");
        machine
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.0.file(name, format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// A program that records its calls.
    fn noted(&self, name: &str, body: &str) {
        self.program(&format!("bin/{name}"), &format!("printf '%s\\n' \"{name} $*\" >>ran\n{body}"));
    }

    fn rust(&self, version: &str) {
        self.program("bin/rustc", &format!("echo \"rustc {version} (0 2026-04-14)\""));
        self.program("bin/cargo", "[ \"$1\" = --version ] || echo \"cargo $*${RUSTUP_TOOLCHAIN:+ by $RUSTUP_TOOLCHAIN}\" >>ran");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = [self.0.path("bin"), self.0.path("tools")];
        command
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap())
            .current_dir(self.0.path(""));
        command.env("CARGO_HOME", self.0.path("none")).env("LIBCLANG_PATH", "here");
        command.stdin(Stdio::null());
        command
    }

    fn dev(&self, words: &str) -> ScriptRun {
        let mut command = self.command("./dev");
        command.args(words.split_whitespace());
        self.outcome(command)
    }

    fn outcome(&self, mut command: Command) -> ScriptRun {
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let ran = std::fs::read_to_string(self.0.path("ran")).unwrap_or_default();
        ScriptRun {
            code: output.status.code(),
            said: String::from_utf8(said).unwrap(),
            ran: ran.lines().filter(|line| !asks(line)).map(str::to_owned).collect(),
        }
    }
}

/// Whether a command only queries a package manager.
fn asks(line: &str) -> bool {
    ["policy", "repoquery", "search", "info", "rustup run"].iter().any(|word| line.contains(word))
}

const APT: [&str; 2] =
    ["apt-get update", "apt-get install -y --no-install-recommends g++ gcc libc6-dev zlib1g-dev"];

#[test]
fn each_package_manager_installs_its_packages_and_the_tests_run() {
    let cases = [
        ("apt-get", &APT[..]),
        ("dnf", &["dnf install -y gcc-c++ gcc zlib-devel"]),
        ("apk", &["apk add g++ gcc musl-dev zlib-dev"]),
        ("brew", &["brew install gcc gcc zlib"]),
    ];
    for (manager, installs) in cases {
        let machine = Machine::new();
        machine.noted(manager, INSTALLS);
        let done = machine.dev("test --yes --no-fail-fast");
        assert_eq!(done.code, Some(0), "{}", done.said);
        let cargo = "cargo test --workspace --locked --no-fail-fast";
        assert_eq!(done.ran, [installs, &[cargo]].concat(), "{manager}");
        assert!(done.said.starts_with("dev: lacking: a C++17 compiler, a C compiler, zlib's headers\n"));
    }
}

#[test]
fn a_release_gets_python_and_its_own_folder_of_tools() {
    let machine = Machine::complete();
    machine.noted("apt-get", INSTALLS);
    machine.program(
        "spare/python3",
        "[ \"$2\" != venv ] || { mkdir -p \"$3/bin\" && cp bin/cc \"$3/bin/pip\"; }\n\
         [ \"$1\" = -c ] || echo \"python3 $*\" >>ran",
    );
    let done = machine.dev("release --yes --check");
    let tools = machine.0.path("target/release-tools");
    let ran = [
        "apt-get update",
        "apt-get install -y --no-install-recommends python3 python3-venv",
        &format!("python3 -m venv {}", tools.display()),
        "python3 packaging/release.py --check",
    ];
    assert_eq!((done.code, &done.ran[..]), (Some(0), &ran.map(str::to_owned)[..]), "{}", done.said);
}

#[test]
fn where_nothing_is_lacking_nothing_is_said_or_installed() {
    let machine = Machine::complete();
    machine.noted("apt-get", INSTALLS);
    let done = machine.dev("demo --pairs 9");
    assert_eq!(done.ran, ["cargo run --locked -- demo --pairs 9"]);
    assert_eq!((done.code, &done.said[..]), (Some(0), "dev: cargo run --locked -- demo --pairs 9\n"));
}

#[test]
fn without_a_terminal_the_commands_are_shown_and_nothing_is_run() {
    let machine = Machine::new();
    machine.noted("apt-get", INSTALLS);
    let done = machine.dev("demo");
    let said = "dev: lacking: a C++17 compiler, a C compiler, zlib's headers\n\
                dev: to install:\n    \
                apt-get update\n    \
                apt-get install -y --no-install-recommends g++ gcc libc6-dev zlib1g-dev\n\
                dev: nothing is installed, since nobody can be asked here; run these commands, or: ./dev demo --yes\n";
    assert_eq!((done.code, &done.said[..], done.ran.len()), (Some(1), said, 0));
}

#[test]
fn yes_may_come_first_and_ci_is_as_good() {
    for (words, ci) in [("--yes demo", "false"), ("demo", "true")] {
        let machine = Machine::new();
        machine.noted("apt-get", INSTALLS);
        let mut command = machine.command("./dev");
        command.args(words.split(' ')).env("CI", ci);
        let done = machine.outcome(command);
        assert_eq!(done.ran, [&APT[..], &["cargo run --locked -- demo"]].concat(), "{words}");
    }
}

#[test]
fn on_a_terminal_it_asks_first() {
    let terminal =
        Command::new(SCRIPT).args(["-qec", "true", "/dev/null"]).stdin(Stdio::null()).output();
    if !terminal.is_ok_and(|tried| tried.status.success()) {
        println!("{SCRIPT} makes no terminal here");
        return;
    }
    for (answer, code, runs) in [("n", 1, 0), ("y", 0, 3), ("", 0, 3)] {
        let machine = Machine::new();
        machine.noted("apt-get", INSTALLS);
        let mut command = machine.command(SCRIPT);
        command.args(["-qec", "./dev demo", "/dev/null"]).env("SHELL", "/bin/sh");
        command.stdin(machine.typed(answer));
        let done = machine.outcome(command);
        assert!(done.said.contains("dev: install it now? [Y/n] "), "{}", done.said);
        assert_eq!((done.code, done.ran.len()), (Some(code), runs), "{answer:?}: {}", done.said);
    }
}

impl Machine {
    /// A file with a line, as input.
    fn typed(&self, line: &str) -> Stdio {
        std::fs::File::open(self.0.file("typed", format!("{line}\n"))).unwrap().into()
    }
}

#[test]
fn who_is_not_root_uses_sudo_or_is_told_to_be_root() {
    let machine = Machine::new();
    machine.program("bin/id", "echo 1000");
    machine.noted("apt-get", INSTALLS);
    let done = machine.dev("demo --yes");
    assert_eq!((done.code, done.ran.len()), (Some(1), 0));
    assert!(
        done.said.contains("\n    sudo apt-get install -y --no-install-recommends g++ "),
        "{}",
        done.said
    );
    let end = "dev: sudo is not here; run these commands as root, then run ./dev demo again\n";
    assert!(done.said.ends_with(end), "{}", done.said);

    machine.noted("sudo", "exec \"$@\"");
    let done = machine.dev("demo --yes");
    assert_eq!(done.code, Some(0), "{}", done.said);
    assert_eq!(done.ran[..2], ["sudo apt-get update", APT[0]]);

    // Homebrew refuses to be run by root.
    let machine = Machine::new();
    machine.program("bin/id", "echo 501");
    machine.noted("brew", INSTALLS);
    assert_eq!(machine.dev("demo --yes").ran[0], "brew install gcc gcc zlib");
}

#[test]
fn without_a_package_manager_it_says_what_to_install() {
    let done = Machine::new().dev("demo --yes");
    let said = "dev: lacking: a C++17 compiler, a C compiler, zlib's headers\n\
                dev: no apt-get, dnf, apk or brew is here; install what is lacking, then run ./dev demo again\n";
    assert_eq!((done.code, &done.said[..]), (Some(1), said));
}

#[test]
fn an_install_that_fails_ends_it() {
    let machine = Machine::new();
    machine.noted("apt-get", "exit 100");
    let done = machine.dev("demo --yes");
    assert_eq!((done.code, &done.ran[..]), (Some(1), &APT.map(String::from)[..]));
    assert!(done.said.contains("dev: this failed: apt-get install -y"), "{}", done.said);
    let end = "dev: still lacking: a C++17 compiler, a C compiler, zlib's headers\n";
    assert!(done.said.ends_with(end), "{}", done.said);
}

#[test]
fn a_rust_too_old_comes_from_a_package_that_is_new_enough_or_from_nowhere() {
    let answers = [
        ("apt-get", "apt-cache", "echo 'cargo:'; echo '  Candidate: VERSION+dfsg1-2'", "cargo"),
        ("dnf", "dnf", "case $* in *repoquery*) echo VERSION ;; esac", "cargo"),
        ("apk", "apk", "case $* in *search*) echo cargo-VERSION-r0 ;; esac", "cargo"),
        (
            "brew",
            "brew",
            "case $* in info*) echo '==> rust: stable VERSION (bottled), HEAD' ;; esac",
            "rust",
        ),
    ];
    for (manager, asked, answer, package) in answers {
        for (version, new_enough) in [("1.94.1", false), ("1.95.0", true), ("1.100.0", true)] {
            let machine = Machine::complete();
            machine.rust("1.63.0");
            machine.program("spare/rustc", "echo 'rustc 1.95.0'");
            machine.noted(manager, INSTALLS);
            let answer = answer.replace("VERSION", version);
            machine
                .noted(asked, &if asked == manager { format!("{answer}\n{INSTALLS}") } else { answer });
            let done = machine.dev("demo --yes");
            let lacking = "dev: lacking: Rust 1.95 or later (1.63.0 is here)\n";
            assert!(done.said.starts_with(lacking), "{manager}: {}", done.said);
            if new_enough {
                let install = &done.ran[done.ran.len() - 2];
                assert!(install.ends_with(&format!(" {package}")), "{install}");
                assert_eq!(done.code, Some(0), "{manager} {version}: {}", done.said);
            } else {
                let end = "dev: no package of Rust here is new enough; get Rust from https://rustup.rs, \
                           then run ./dev demo again\n";
                assert!(done.said.ends_with(end), "{}", done.said);
                assert_eq!((done.code, done.ran.len()), (Some(1), 0), "{manager} {version}");
            }
        }
    }
}

#[test]
fn no_rust_at_all_is_told_beside_the_rest() {
    let machine = Machine::new();
    machine.noted("apt-get", INSTALLS);
    for name in ["bin/rustc", "bin/cargo"] {
        std::fs::remove_file(machine.0.path(name)).unwrap();
    }
    let done = machine.dev("test --yes");
    let lacking = "dev: lacking: Rust 1.95 or later, a C++17 compiler, a C compiler, zlib's headers\n";
    assert!(done.said.starts_with(lacking), "{}", done.said);
    assert!(done.said.contains("https://rustup.rs"), "{}", done.said);
    assert_eq!((done.code, done.ran.len()), (Some(1), 0));
}

#[test]
fn rustup_installs_a_rust_that_is_then_used() {
    let machine = Machine::complete();
    machine.program(
        "bin/rustc",
        "[ \"$RUSTUP_TOOLCHAIN\" = 1.95 ] && echo 'rustc 1.95.0' || echo 'rustc 1.80.0'",
    );
    machine.noted("rustup", "case $1 in run) [ -e new ] ;; toolchain) touch new ;; esac");
    let done = machine.dev("demo --yes");
    let install = "rustup toolchain install 1.95 --profile minimal -c rustfmt -c clippy";
    assert_eq!(done.ran, [install, "cargo run --locked -- demo by 1.95"], "{}", done.said);
    // Now it is installed, in addition to a default that is too old.
    let done = machine.dev("demo");
    assert_eq!(done.ran[2..], ["cargo run --locked -- demo by 1.95"], "{}", done.said);
}

#[test]
fn each_command_installs_only_what_it_needs() {
    let compared =
        "make samtools bwa fastqc default-jre-headless maven python3-pip libbz2-dev liblzma-dev";
    let cases = [("lint", "rustfmt rust-clippy"), ("parity --quick", compared), ("bench sort", "")];
    for (words, packages) in cases {
        let machine = Machine::complete();
        machine.program("bin/cc", "read -r line; case $line in *bzlib*|*lzma*) false ;; esac");
        machine.noted("apt-get", "");
        let done = machine.dev(&format!("{words} --yes"));
        let install = format!("apt-get install -y --no-install-recommends {packages}");
        assert_eq!(done.ran.contains(&install), !packages.is_empty(), "{words}: {}", done.said);
    }
}

#[test]
fn help_is_shown_on_request_and_after_a_mistake() {
    let machine = Machine::complete();
    let help = machine.dev("help");
    assert_eq!(help.code, Some(0));
    let names = ["demo", "test", "lint", "parity", "integrations", "page", "bytes", "bench"];
    for name in names.iter().chain(&["fuzz", "cli-fuzz", "nightly"]) {
        assert!(help.said.contains(&format!("\n  {name} ")), "{name}");
    }
    for words in ["", "tset"] {
        let done = machine.dev(words);
        assert_eq!((done.code, done.said == help.said), (Some(1), words.is_empty()));
    }
    assert!(machine.dev("tset").said.contains("dev: there is no command tset\n"));
}
