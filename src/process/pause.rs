//! Named moments at which a test can pause the program, so that a race has a known outcome.
//!
//! `READMILL_PAUSE_AT=MOMENT:SAY:WAIT`: when that moment comes, the program writes its name into the file
//! SAY (a pipe, by `/dev/fd/N`, or a FIFO), then reads the file WAIT to its end, then goes on. `MOMENT#3:…` is the third
//! time it comes. Meanwhile a test knows where the program is, and sends a signal, or takes a name.
//!
//! All of this is in builds with debug assertions alone, which tests run; in a release build [`at`] is empty, and no
//! environment variable changes what the program does.

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// No input is open yet.
    Started,
    /// All inputs are open, no output is.
    InputOpened,
    /// The next piece of the input is about to be read; all outputs are open.
    PieceRead,
    /// A run of sorted reads has been spilled.
    RunSpilled,
    /// All outputs are complete under their temporary names.
    OutputsComplete,
    /// One of several outputs has got its name.
    FileNamed,
    /// All outputs have their names.
    AllNamed,
    /// The first files of an aligner's index are being written.
    IndexBegun,
    /// The files of an aligner's index are about to get their names.
    IndexComplete,
}

/// Waits, if a test has asked for it.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn at(_: Moment) {}

/// Waits, if a test has asked for it.
#[cfg(debug_assertions)]
pub fn at(moment: Moment) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static WANTED: OnceLock<Option<Pause>> = OnceLock::new();
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let Some(pause) = WANTED.get_or_init(Pause::wanted) else { return };
    if pause.moment == format!("{moment:?}") && TIMES.fetch_add(1, Relaxed) + 1 == pause.time {
        // Go on if the test has ended.
        let _ = std::fs::File::options()
            .write(true)
            .open(&pause.say)
            .and_then(|mut say| std::io::Write::write_all(&mut say, format!("{moment:?}\n").as_bytes()));
        let _ = std::fs::read(&pause.wait);
    }
}

/// The moment at which a test wants the program to wait.
#[cfg(debug_assertions)]
struct Pause {
    moment: String,
    /// Which time it comes, from 1.
    time: u32,
    say: String,
    wait: String,
}

#[cfg(debug_assertions)]
impl Pause {
    fn wanted() -> Option<Self> {
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
