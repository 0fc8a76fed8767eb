//! What is drawn on a terminal alone: the table at the end, and colours.

use std::process::{Command, Stdio};

use crate::support::resources::sample;
use crate::support::{TestDir, arg, bgzip};

/// Runs a line on a terminal that `script` of util-linux makes, and returns what is written to it; `None` where there is no
/// such program.
fn on_a_terminal(line: &str, no_color: &str) -> Option<String> {
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{} {line}", env!("CARGO_BIN_EXE_readmill")), "/dev/null"]);
    command.env("SHELL", "/bin/sh").env("TERM", "xterm").env("NO_COLOR", no_color);
    let done = command.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The text without what moves the cursor, in lines.
fn lines(text: &str) -> Vec<&str> {
    text.split(['\r', '\n']).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_summary_is_a_table_and_errors_are_coloured_unless_colours_are_refused() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(1_000))));
    let output = arg(&dir.path("out.bam"));
    let sort = format!("sort {input} -o {output} -m 1G -@ 1");
    let Some(text) = on_a_terminal(&sort, "").filter(|text| text.contains("readmill")) else {
        println!("script makes no terminal here");
        return;
    };
    assert!(text.contains("\x1b[1mreadmill sort: done\x1b[0m"), "{text:?}");
    assert!(lines(&text).iter().any(|line| line.starts_with("  peak memory")), "{text:?}");
    assert!(!text.contains("records read,"), "{text:?}");
    let wrong = format!("sort {input}.none -o {output}");
    let error = "readmill: error:";
    assert!(
        on_a_terminal(&wrong, "").is_some_and(|text| text.contains(&format!("\x1b[31m{error}\x1b[0m")))
    );
    for (flag, no_color) in [("--no-color", ""), ("", "1")] {
        let text = on_a_terminal(&format!("{sort} {flag}"), no_color).unwrap_or_default();
        let found = lines(&text).into_iter().find(|line| line.contains("readmill sort: done"));
        assert!(found.is_some_and(|line| line.ends_with("readmill sort: done")), "{text:?}");
        let text = on_a_terminal(&format!("{wrong} {flag}"), no_color).unwrap_or_default();
        assert!(text.contains(error) && !text.contains("\x1b[31m"), "{text:?}");
    }
}

#[test]
fn a_pager_shows_help_and_nothing_else() {
    let shown = |line: &str, pager: &str| {
        let line = format!("env PAGER='{pager}' {} {line}", env!("CARGO_BIN_EXE_readmill"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
        let done = command.stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&done.stdout).into_owned()).filter(|text| !text.is_empty())
    };
    let Some(text) = shown("sort --help", "sed s/^/paged:/") else {
        println!("script makes no terminal here");
        return;
    };
    assert!(lines(&text).iter().all(|line| line.starts_with("paged:")), "{text:?}");
    assert!(text.contains("--template-coordinate"), "{text:?}");
    let section = shown("help sort order", "sed s/^/paged:/").unwrap_or_default();
    assert!(section.starts_with("paged:") && section.contains("Order:"), "{section:?}");
    // A pager that is not there is no reason to show nothing.
    let text = shown("sort --help", "no-such-pager").unwrap_or_default();
    assert!(text.contains("--template-coordinate"), "{text:?}");
    // Ctrl-C reaches all processes of the terminal: readmill must wait for a pager that survives it.
    let pager = "trap : INT; kill -INT 0; sed s/^/after:/; echo end";
    let text = shown("sort --help", pager).unwrap_or_default();
    assert!(text.contains("after:") && text.trim_end().ends_with("end"), "{text:?}");
    let version = shown("--version", "sed s/^/paged:/").unwrap_or_default();
    assert!(version.starts_with("readmill "), "{version:?}");
}
