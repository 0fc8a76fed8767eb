//! Handles signals that stop the run: removes unfinished output, prints one line, and exits.
//!
//! Outputs are registered here when they are created, and unregistered when they have their final
//! names. So the thread that waits for signals knows what to remove.

use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use readmill_record::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::signal::{
    SIGABRT, SIGALRM, SIGBUS, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGSYS, SIGTERM, SIGTRAP,
    SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};

use crate::exclusive::{self, FileId};
use crate::pause::{self, Moment};

/// The signals that stop a run: all that end a process by default, except SIGPIPE, which appears as
/// a write error, and SIGILL, SIGFPE and SIGSEGV, after which no code of this process can be
/// trusted.
///
/// Batch systems send SIGUSR1 or SIGUSR2 some time before they end a job. SIGXCPU means that the
/// CPU time limit has been reached. If the process itself causes SIGABRT or SIGBUS (for example
/// because a mapped file was truncated), it ends as usual, unless the signal thread is faster.
const STOP_SIGNALS: [i32; 15] = [
    SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGVTALRM, SIGPROF, SIGIO,
    SIGABRT, SIGBUS, SIGSYS, SIGTRAP,
];

/// Further Linux signals that end a process: SIGSTKFLT, SIGPWR (power will fail), and the real-time
/// signals that the C library leaves to programs: glibc keeps two for itself, and musl three.
#[cfg(target_os = "linux")]
const OTHER_STOP_SIGNALS: [std::ops::RangeInclusive<i32>; 3] =
    [16..=16, 30..=30, if cfg!(target_env = "musl") { 35 } else { 34 }..=64];
#[cfg(not(target_os = "linux"))]
const OTHER_STOP_SIGNALS: [std::ops::RangeInclusive<i32>; 0] = [];

/// A file that a signal must remove.
struct Unfinished {
    partial: PathBuf,
    /// The identity of the file; `None` if this module did not create it.
    id: Option<FileId>,
    /// The name of the final file, for messages.
    shown: String,
}

impl Unfinished {
    fn remove(&self) {
        if self.id.is_none_or(|id| id.is_at(&self.partial)) {
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// The outputs that are not complete yet.
struct UnfinishedOutputs {
    unfinished: Vec<Unfinished>,
    /// Directories that were created for files, each after its parent.
    directories: Vec<PathBuf>,
    /// Whether any file already has its final name.
    any_complete: bool,
}

static OUTPUTS: Mutex<UnfinishedOutputs> = Mutex::new(UnfinishedOutputs {
    unfinished: Vec::new(),
    directories: Vec::new(),
    any_complete: false,
});

/// Locked while the outputs of a run are renamed.
static RENAME_LOCK: Mutex<()> = Mutex::new(());

/// Whether a signal that stops the run has arrived.
static SIGNAL_ARRIVED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

fn lock_mutex<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets this process survive Ctrl-C and Ctrl-\ from now on. For a process that only waits for a
/// program on the same terminal, which gets these signals, too: a pager.
pub fn survive_interrupts() {
    for signal in [SIGINT, SIGQUIT] {
        // A handler, since a program that is started next would inherit that a signal is ignored.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}

/// Creates `partial`, the temporary file for `shown`. A signal removes it until it is renamed or
/// [removed](remove_unfinished).
pub fn create_output_file(partial: &Path, shown: &Path) -> Result<File> {
    let mut outputs = lock_mutex(&OUTPUTS); // held so that no signal is handled before the file is registered
    let file = exclusive::create_and_lock(partial, shown)?;
    outputs.unfinished.push(Unfinished {
        partial: partial.to_path_buf(),
        id: FileId::of(&file).ok(),
        shown: shown.display().to_string(),
    });
    Ok(file)
}

/// Creates a directory for output files. A signal removes the directory if it is empty.
pub fn create_directory(path: &Path) -> std::io::Result<()> {
    let mut outputs = lock_mutex(&OUTPUTS); // held so that no signal is handled before it is registered
    std::fs::create_dir(path)?;
    outputs.directories.push(path.to_path_buf());
    Ok(())
}

/// Registers files that other code creates, so that a signal removes them. `shown` is their name in
/// messages. Used for the index files of aligners.
pub fn register_for_removal(partials: &[PathBuf], shown: &str) {
    let new = partials.iter().map(|partial| Unfinished {
        partial: partial.clone(),
        id: None,
        shown: shown.to_string(),
    });
    lock_mutex(&OUTPUTS).unfinished.extend(new);
}

/// Unregisters files that [`register_for_removal`] registered, once they have been renamed.
pub fn unregister_renamed(partials: &[PathBuf]) {
    let mut outputs = lock_mutex(&OUTPUTS);
    outputs.unfinished.retain(|file| !partials.contains(&file.partial));
    outputs.any_complete = true;
}

/// Removes a file that [`create_output_file`] created, unless it already has its final name.
pub fn remove_unfinished(partial: &Path) {
    let mut outputs = lock_mutex(&OUTPUTS);
    let gone = outputs.unfinished.extract_if(.., |file| file.partial == partial);
    gone.for_each(|file| file.remove());
}

/// Defers signals until the returned guard is dropped, so that a signal finds either all outputs of
/// a run renamed or none.
pub fn defer_signals() -> impl Drop {
    lock_mutex(&RENAME_LOCK)
}

/// Renames all files or none. A signal takes effect before the first rename or after the last.
///
/// With several files, the existing file at the last name is removed first. If the machine stops
/// halfway, the last file is then missing, which readers notice.
///
/// # Errors
/// Returns the index of the file that could not be renamed, with the reason. The files before it
/// have their temporary names again.
pub fn rename_all(files: &[&(PathBuf, PathBuf)]) -> Result<(), (usize, std::io::Error)> {
    let mut outputs = lock_mutex(&OUTPUTS);
    for (number, (partial, _)) in files.iter().enumerate() {
        let ours = outputs.unfinished.iter().find(|file| file.partial == *partial);
        if ours.and_then(|file| file.id).is_some_and(|id| !id.is_at(partial)) {
            let what = format!("{} was replaced or removed by another program", partial.display());
            return Err((number, std::io::Error::other(what)));
        }
    }
    if let [_, .., (_, last)] = files {
        let _ = std::fs::remove_file(last);
    }
    for (number, (partial, name)) in files.iter().enumerate() {
        if let Err(error) = std::fs::rename(partial, name) {
            for (partial, name) in &files[..number] {
                let _ = std::fs::rename(name, partial);
            }
            return Err((number, error));
        }
        pause::at(Moment::FileNamed);
    }
    outputs.unfinished.retain(|file| !files.iter().any(|(partial, _)| file.partial == *partial));
    outputs.any_complete |= !files.is_empty();
    Ok(())
}

/// Handles SIGXFSZ without ending the process, so that a write beyond the file size limit returns
/// an error.
pub fn survive_size_limit_signal() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Starts the thread that waits for signals. On a signal it removes unfinished files, prints one
/// line, and ends the process with exit code 128 + signal number. Spilled data has no name, so the
/// system frees it.
///
/// A separate thread is needed, because a thread that is blocked on a pipe would not notice a flag.
/// The signal thread does no other work, so it does not count towards `-@`. Signals that are
/// ignored at the start, such as SIGHUP under `nohup`, stay ignored.
pub fn start_signal_thread() -> std::io::Result<()> {
    let ignored = ignored_signals();
    let all = STOP_SIGNALS.into_iter().chain(OTHER_STOP_SIGNALS.into_iter().flatten());
    let wanted = all.filter(|n| ignored >> (n - 1) & 1 == 0);
    let came = SIGNAL_ARRIVED.get_or_init(Arc::default);
    for signal in wanted.clone() {
        signal_hook::flag::register(signal, Arc::clone(came))?;
    }
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    #[allow(
        clippy::disallowed_methods,
        reason = "it waits for signals, in addition to the engine's threads"
    )]
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _named = defer_signals();
            let outputs = lock_mutex(&OUTPUTS);
            outputs.unfinished.iter().for_each(Unfinished::remove);
            // Directories that contain files stay.
            outputs.directories.iter().rev().for_each(|it| drop(std::fs::remove_dir(it)));
            write_to_stderr(&outputs.stop_message(signal));
            // The lock is still held, so no thread can create another file.
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// If a signal has arrived, waits until the signal thread has ended the process. `main` calls this
/// before it returns, so that the signal determines the last line of the log and the exit code.
pub fn wait_for_signal_exit() {
    while SIGNAL_ARRIVED.get().is_some_and(|came| came.load(SeqCst)) {
        std::thread::park();
    }
}

impl UnfinishedOutputs {
    /// Returns the final log line, which names the signal and the outputs that were not written.
    fn stop_message(&self, signal: i32) -> String {
        let name = match signal {
            16 if cfg!(target_os = "linux") => Some("SIGSTKFLT"),
            30 if cfg!(target_os = "linux") => Some("SIGPWR"),
            _ => signal_hook::low_level::signal_name(signal),
        };
        let name = name.map_or_else(|| format!("signal {signal}"), str::to_string);
        let mut shown: Vec<&str> = self.unfinished.iter().map(|file| &*file.shown).collect();
        shown.dedup();
        let outputs = match (&shown[..], self.any_complete) {
            ([], false) => String::new(),
            ([], true) => "; all output files are complete".into(),
            ([one], _) => format!("; {one} was not written"),
            ([first, second], _) => format!("; {first} and {second} were not written"),
            ([first, rest @ ..], _) => {
                format!("; {first} and {} other files were not written", rest.len())
            }
        };
        format!("readmill: stopped by {name}{outputs}")
    }
}

/// Writes `line` to standard error unless this would block. Bypasses the standard library's lock,
/// which a thread may hold while it waits for the reader of the log.
fn write_to_stderr(line: &str) {
    let stderr = std::io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let _ = poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    if ready[0].revents().contains(PollFlags::OUT) {
        let clear = if stderr.is_terminal() { "\r\x1b[K" } else { "" }; // clears the progress bar
        let _ = rustix::io::write(&stderr, format!("{clear}{line}\n").as_bytes());
    }
}

/// Returns the signals that the process ignores, as a bit set (bit n - 1 for signal n).
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}
