//! Named moments at which a test can pause the program, so that a race has a known outcome.
//!
//! With `READMILL_PAUSE_AT=MOMENT:SAY:WAIT`, the program pauses at that moment: it writes the
//! moment's name to the file SAY (a FIFO, or a pipe given as `/dev/fd/N`), reads the file WAIT to
//! its end, and continues. `MOMENT#3:…` selects the third occurrence of the moment. During the
//! pause, the test knows where the program is, and can send a signal or create a file.
//!
//! This exists only in builds with debug assertions, which tests run. In a release build [`at`] is
//! empty, and no environment variable changes what the program does.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Started,
    InputOpened,
    /// The next chunk of the input is about to be read; all outputs are open. Each chunk is one
    /// occurrence: `PieceRead#2` is the second chunk.
    PieceRead,
    RunSpilled,
    /// All outputs are complete, under their temporary names.
    OutputsComplete,
    /// One of several outputs has its final name.
    FileNamed,
    AllNamed,
    IndexBegun,
    /// The files of an aligner's index are complete, but do not have their final names yet.
    IndexComplete,
}

/// Pauses if a test selected this moment. Empty in release builds.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn at(_: Moment) {}

/// Pauses if a test selected this moment.
#[cfg(debug_assertions)]
pub fn at(moment: Moment) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static WANTED: OnceLock<Option<Pause>> = OnceLock::new();
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let Some(pause) = WANTED.get_or_init(Pause::from_environment) else { return };
    if pause.moment == format!("{moment:?}") && TIMES.fetch_add(1, Relaxed) + 1 == pause.time {
        // Errors are ignored: if the test has ended, the program continues.
        let _ = std::fs::File::options()
            .write(true)
            .open(&pause.say)
            .and_then(|mut say| std::io::Write::write_all(&mut say, format!("{moment:?}\n").as_bytes()));
        let _ = std::fs::read(&pause.wait);
    }
}

#[cfg(debug_assertions)]
struct Pause {
    moment: String,
    time: u32,
    say: String,
    wait: String,
}

#[cfg(debug_assertions)]
impl Pause {
    fn from_environment() -> Option<Self> {
        let wanted = std::env::var("READMILL_PAUSE_AT").ok()?;
        let mut words = wanted.split(':').map(str::to_string);
        let (moment, say, wait) = (words.next()?, words.next()?, words.next()?);
        let (moment, time) = match moment.split_once('#') {
            Some((moment, time)) => (moment.to_string(), time.parse().ok()?),
            None => (moment, 1),
        };
        Some(Pause { moment, time, say, wait })
    }
}
