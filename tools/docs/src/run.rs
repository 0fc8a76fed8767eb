//! Runs the shell commands of pages.
//!
//! All blocks of a page run in order, in one shell and in one new directory. The shell reads a
//! script in which each command has the line number that it has on the page, so that a failure
//! names its line on the page.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use readmill_check::markdown::{ShellBlock, parse_page};

/// Maximum time of one page.
const MAX_TIME: Duration = Duration::from_secs(30 * 60);

/// Number of lines of a failed block's output that are shown.
const MAX_SHOWN_LINES: usize = 20;

/// Runs before the commands of a page. If a command fails, this notes its exit code, line and text
/// in file 3, and ends the shell. A command that ended because `head` had read enough (141) did not
/// fail.
const PRELUDE: &str = r#"set -E -o pipefail
note_failure() {
    [ "$1" != 141 ] || return 0
    printf 'failed %s %s %s\n' "$1" "$2" "$3" >&3
    exit "$1"
}
begin_block() {
    printf 'block %s\n' "$1" >&3
    : >"$READMILL_PAGE_OUTPUT"
}
trap 'note_failure "$?" "$LINENO" "$BASH_COMMAND"' ERR
. "$1"
printf 'end\n' >&3
"#;

/// Which blocks of a page run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    All,
    /// All blocks but those with the word `network`.
    Offline,
    /// Blocks with the word `ci`, and on their pages the hidden blocks, which make files. No block
    /// with the word `slow` or `network`.
    Quick,
}

impl Selection {
    /// Returns the selected blocks of a page, and the number of those that are left out.
    fn select(self, blocks: Vec<ShellBlock>) -> (Vec<ShellBlock>, usize) {
        let is_slow = |block: &ShellBlock| block.has_word("slow") || block.has_word("network");
        let is_quick = |block: &ShellBlock| block.has_word("ci") && !is_slow(block);
        let has_quick = blocks.iter().any(|block| is_quick(block) && !block.is_hidden);
        let all = blocks.len();
        let selected: Vec<_> = blocks
            .into_iter()
            .filter(|block| match self {
                Selection::All => true,
                Selection::Offline => !block.has_word("network"),
                Selection::Quick => has_quick && (is_quick(block) || block.is_hidden && !is_slow(block)),
            })
            .collect();
        let left_out = all - selected.len();
        (selected, left_out)
    }
}

/// A shell with readmill on its PATH, which runs pages.
pub struct PageRunner {
    root: PathBuf,
    /// The directory of all pages' directories.
    scratch: PathBuf,
    selection: Selection,
}

/// The result of a page that ran.
#[derive(Debug)]
pub struct PageOutcome {
    pub blocks: usize,
    /// Number of blocks that were not selected.
    pub left_out: usize,
    pub seconds: f64,
    pub failure: Option<PageFailure>,
}

/// The first command of a page that failed; the rest of the page was not run.
#[derive(Debug)]
pub struct PageFailure {
    pub line: usize,
    pub command: String,
    pub reason: String,
    /// The last lines that the block wrote.
    pub output: String,
}

impl PageRunner {
    /// Prepares a directory for pages to run in. `readmill` is the program that they run.
    pub fn new(root: &Path, scratch: &Path, readmill: &Path, selection: Selection) -> Result<Self> {
        let programs = scratch.join("bin");
        fs::create_dir_all(&programs)?;
        std::os::unix::fs::symlink(readmill, programs.join("readmill"))
            .with_context(|| format!("cannot link to {}", readmill.display()))?;
        Ok(PageRunner { root: root.to_owned(), scratch: scratch.to_owned(), selection })
    }

    /// Runs the selected blocks of a page, or returns `None` if there are none.
    pub fn run_page(&self, page: &Path) -> Result<Option<PageOutcome>> {
        let text = readmill_check::pages::read(&self.root.join(page))?;
        let (selected, left_out) = self.selection.select(parse_page(&text).blocks);
        if selected.is_empty() {
            return Ok(None);
        }
        let began = Instant::now();
        let failure = match check_syntax(&selected)? {
            Some(failure) => Some(failure),
            None => self.run_blocks(page, &selected)?,
        };
        Ok(Some(PageOutcome {
            blocks: selected.len(),
            left_out,
            seconds: began.elapsed().as_secs_f64(),
            failure,
        }))
    }

    fn run_blocks(&self, page: &Path, blocks: &[ShellBlock]) -> Result<Option<PageFailure>> {
        let place = self.scratch.join("pages").join(page);
        let [work, home] = ["work", "home"].map(|name| place.join(name));
        for directory in [&work, &home] {
            fs::create_dir_all(directory)?;
        }
        let [prelude, script, notes, output] =
            ["prelude.sh", "page.sh", "notes", "output"].map(|name| place.join(name));
        fs::write(&prelude, PRELUDE)?;
        fs::write(&script, page_script(blocks))?;
        fs::write(&notes, "")?;
        let output_file = fs::OpenOptions::new().create(true).append(true).open(&output)?;
        let mut command = Command::new("bash");
        // Descriptor 3 stays open in the shell; Rust closes other files when it starts a program.
        command.args(["--norc", "--noprofile", "-c", "exec 3>>\"$2\"; . \"$0\" \"$1\""]);
        command.arg(&prelude).arg(&script).arg(&notes);
        command.current_dir(&work).env("PATH", self.path_variable()?);
        command.env("READMILL_CHECKOUT", &self.root).env("READMILL_PAGE_OUTPUT", &output);
        set_home(&mut command, &home);
        command.stdin(Stdio::null()).stdout(output_file.try_clone()?).stderr(output_file);
        let mut shell = command.process_group(0).spawn().context("cannot start bash")?;
        let status = wait_until(&mut shell, Instant::now() + MAX_TIME)?;
        kill_rest(&shell);
        let notes = fs::read_to_string(&notes)?;
        Ok(find_failure(&notes, status, blocks).map(|failure| PageFailure {
            output: fs::read(&output).map(|bytes| last_lines(&bytes)).unwrap_or_default(),
            ..failure
        }))
    }

    fn path_variable(&self) -> Result<std::ffi::OsString> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.scratch.join("bin")).chain(std::env::split_paths(&inherited));
        Ok(std::env::join_paths(paths)?)
    }
}

/// Gives a shell its own home directory, so that commands cannot change files of the user. Cargo and
/// rustup are still found.
fn set_home(command: &mut Command, home: &Path) {
    if let Some(users) = std::env::var_os("HOME").map(PathBuf::from) {
        for (variable, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            if std::env::var_os(variable).is_none() {
                command.env(variable, users.join(directory));
            }
        }
    }
    command.env("HOME", home);
}

/// Returns a script in which each command is on the line that it has on the page.
fn page_script(blocks: &[ShellBlock]) -> String {
    let mut script = String::new();
    let mut lines = 0;
    for block in blocks {
        let blank = block.start_line.saturating_sub(lines + 1);
        script.push_str(&"\n".repeat(blank));
        let _ = writeln!(script, "begin_block {}", block.start_line);
        for command in &block.commands {
            script.push_str(command);
            script.push('\n');
        }
        lines = block.start_line + block.commands.len();
    }
    script
}

/// Returns the first block that is not a complete piece of shell, such as one whose quotes are not
/// closed.
fn check_syntax(blocks: &[ShellBlock]) -> Result<Option<PageFailure>> {
    for block in blocks {
        let checked = Command::new("bash")
            .args(["-n", "-c", &block.commands.join("\n")])
            .output()
            .context("cannot start bash")?;
        // bash only warns if a here-document has no end.
        if !checked.status.success() || !checked.stderr.is_empty() {
            return Ok(Some(PageFailure {
                line: block.start_line,
                command: "(the whole block)".into(),
                reason: "this block is not complete".into(),
                output: last_lines(&checked.stderr),
            }));
        }
    }
    Ok(None)
}

/// Waits until a process ends. Returns `None` if it still runs at the deadline.
fn wait_until(process: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    while Instant::now() < deadline {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_rest(process);
    process.wait()?;
    Ok(None)
}

/// Ends all processes that a shell has started and that still run.
fn kill_rest(shell: &Child) {
    if let Some(group) = i32::try_from(shell.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL); // there may be none
    }
}

/// Returns the failure of a page, from the notes of its shell.
fn find_failure(notes: &str, status: Option<ExitStatus>, blocks: &[ShellBlock]) -> Option<PageFailure> {
    let begun = notes.lines().filter_map(|note| note.strip_prefix("block ")?.parse().ok()).next_back();
    let line: usize = begun.unwrap_or(1);
    let failure = |line, command: &str, reason| {
        Some(PageFailure { line, command: command.to_owned(), reason, output: String::new() })
    };
    // The first note is the innermost command; the commands around it fail after it.
    if let Some((_, failed)) = notes.split_once("failed ") {
        let mut words = failed.splitn(3, ' ');
        let code = words.next().unwrap_or_default();
        let line = words.next().and_then(|line| line.parse().ok()).unwrap_or(line);
        let command = words.next().unwrap_or_default();
        let command = command.split("\nfailed ").next().unwrap_or_default().trim_end();
        return failure(first_line_of_command(blocks, line), command, format!("exit code {code}"));
    }
    match status {
        None => failure(
            line,
            "(a command of this block)",
            format!("did not end in {} minutes", MAX_TIME.as_secs() / 60),
        ),
        Some(_) if notes.ends_with("end\n") => None,
        Some(status) => failure(
            line,
            "(a command of this block)",
            format!("the shell ended before the end of the page ({status})"),
        ),
    }
}

/// Returns the line on which a command begins, if bash names a line that continues it.
fn first_line_of_command(blocks: &[ShellBlock], line: usize) -> usize {
    let block = blocks.iter().rev().find(|block| block.start_line < line);
    let mut first = line;
    while let Some(block) = block
        && let Some(before) = (first - 1).checked_sub(block.start_line + 1)
        && block.commands.get(before).is_some_and(|command| command.ends_with('\\'))
    {
        first -= 1;
    }
    first
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(MAX_SHOWN_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a page with a program `readmill` that prints its arguments.
    fn run_page(page: &str, selection: Selection) -> Option<PageOutcome> {
        let root = tempfile::tempdir().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(root.path().join("docs/a.md"), page).unwrap();
        let runner =
            PageRunner::new(root.path(), scratch.path(), Path::new("/bin/echo"), selection).unwrap();
        runner.run_page(Path::new("docs/a.md")).unwrap()
    }

    fn failure(page: &str) -> PageFailure {
        run_page(page, Selection::All).unwrap().failure.expect("a failure")
    }

    #[test]
    fn blocks_run_in_order_in_one_directory_and_one_shell() {
        let page = "<!-- sh\nreadmill made >made\nname=value\n-->\n# A\n```sh\n[ \"$(cat made)\" = made ]\n\
                    [ $name = value ]\ncd ..\n```\ntext\n```\nfalse\n```\n```sh\n[ -d work ]\n```\n";
        let outcome = run_page(page, Selection::All).unwrap();
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        assert_eq!((outcome.blocks, outcome.left_out), (3, 0));
    }

    #[test]
    fn a_failure_has_its_line_its_command_and_its_output() {
        let found = failure(
            "# A\n```sh\necho before\n```\n\n```sh\necho seen\nls \\\n  none\necho after\n```\n",
        );
        assert_eq!((found.line, found.command.as_str()), (8, "ls none"));
        assert_eq!(found.reason, "exit code 2");
        assert!(found.output.starts_with("seen\n") && found.output.contains("none"), "{}", found.output);
    }

    #[test]
    fn failures_inside_pipes_functions_and_subshells_are_found() {
        for commands in [
            "false | cat",
            "(cd none)",
            "f() {\nfalse\n}; f",
            "x=$(false)",
            "for i in 1; do\nfalse\ndone",
        ] {
            let found = failure(&format!("```sh\ntrue\n{commands}\n```\n"));
            assert!(found.reason == "exit code 1", "{commands}: {found:?}");
        }
        assert!(
            run_page("```sh\nyes | head -1\n! false\nfalse || true\n```\n", Selection::All)
                .unwrap()
                .failure
                .is_none()
        );
    }

    #[test]
    fn a_block_that_ends_the_shell_or_is_incomplete_is_a_failure() {
        let found = failure("```sh\nexit 0\n```\n```sh\nfalse\n```\n");
        assert!(found.reason.starts_with("the shell ended before the end of the page"), "{found:?}");
        assert_eq!(found.line, 1);
        for commands in ["echo 'open", "cat <<END\ntext", "if true; then"] {
            let found = failure(&format!("a\n```sh\n{commands}\n```\n"));
            assert_eq!((found.line, found.reason.as_str()), (2, "this block is not complete"));
        }
    }

    #[test]
    fn words_select_blocks() {
        let page = "```sh\nfalse\n```\n```sh ci\ntrue\n```\n```sh ci slow\nfalse\n```\n```sh network\nfalse\n```\n";
        let outcome = run_page(page, Selection::Quick).unwrap();
        assert!(outcome.failure.is_none());
        assert_eq!((outcome.blocks, outcome.left_out), (1, 3));
        assert!(run_page("<!-- sh\nfalse\n-->\n```sh\nfalse\n```\n", Selection::Quick).is_none());
        let page =
            "<!-- sh\ntouch a\n-->\n<!-- sh slow\nfalse\n-->\n```sh\nfalse\n```\n```sh ci\nrm a\n```\n";
        let outcome = run_page(page, Selection::Quick).unwrap();
        assert!(outcome.failure.is_none());
        assert_eq!((outcome.blocks, outcome.left_out), (2, 2));
        let page = "```sh network\nfalse\n```\n```sh slow\ntrue\n```\n";
        assert!(run_page(page, Selection::Offline).unwrap().failure.is_none());
    }

    #[test]
    fn commands_do_not_see_the_users_home() {
        let page =
            "```sh\ntouch ~/made\n[ -e ../home/made ]\n[ -e \"$READMILL_CHECKOUT/docs/a.md\" ]\n```\n";
        assert!(run_page(page, Selection::All).unwrap().failure.is_none());
    }
}
