//! Shows long text in the user's pager.

use std::io::Write as _;
use std::process::{Command, Stdio};

use readmill_process::signal;

/// The pager of a user who has not set PAGER. A missing `less` is not worth a message.
const DEFAULT_PAGER: &str = "command -v less >/dev/null && exec less; exit 127";

/// Shows `text` in the pager that the variable PAGER names, by default `less`, and waits until the
/// user leaves it. Returns false if it could not be started; then nothing was printed.
///
/// `less` prints a text that fits the screen and ends, and shows colours (LESS=FRX, unless the
/// variable is set). Ctrl-C is for the pager, where it ends a search: if it ended this process, the
/// shell and the pager would both read from the terminal.
pub fn show_in_pager(text: &str) -> bool {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager.as_deref().unwrap_or(DEFAULT_PAGER)).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    signal::survive_interrupts();
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(text.as_bytes()); // the user may leave before the end
    }
    // 126 and 127 are the shell's codes for a program that cannot be run.
    child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}
