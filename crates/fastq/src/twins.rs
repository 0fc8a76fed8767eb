//! Two pipes that one program fills alternately.
//!
//! Such a program waits as soon as either pipe is full, and a batch is more than a pipe holds. So while one of the
//! pipes is empty, data from the other are buffered.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};

/// Bytes read from a pipe at a time.
const READ_SIZE: usize = 64 << 10;

/// The most bytes to buffer. A program that is further ahead with one pipe has to wait; if that happens with both
/// pipes alternately, it waits forever.
const MOST_BUFFERED: usize = 64 << 20;

struct Pipe {
    file: File,
    buffered: Vec<u8>,
    /// Bytes of the buffer that have been consumed.
    at: usize,
}

/// One of the two pipes, as a stream.
pub(crate) struct Twin {
    both: Arc<Mutex<[Pipe; 2]>>,
    which: usize,
}

/// Both pipes, to be read in any order.
pub(crate) fn twins(files: [File; 2]) -> [Twin; 2] {
    let pipes = files.map(|file| Pipe { file, buffered: Vec::new(), at: 0 });
    let both = Arc::new(Mutex::new(pipes));
    [0, 1].map(|which| Twin { both: both.clone(), which })
}

impl Read for Twin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut both = self.both.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = &mut *both;
        let (own, other) = if self.which == 0 { (first, second) } else { (second, first) };
        while own.buffered.is_empty() {
            let (own_ready, other_ready) = ready(&own.file, &other.file, other.has_room())?;
            if own_ready {
                return own.file.read(into);
            }
            if other_ready && !other.fill_buffer()? {
                return own.file.read(into); // the other pipe has ended: there is nothing more to buffer
            }
        }
        let rest = &own.buffered[own.at..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        own.at += n;
        if own.at == own.buffered.len() {
            own.buffered.clear();
            own.at = 0;
        }
        Ok(n)
    }
}

impl Pipe {
    fn has_room(&self) -> bool {
        self.buffered.len() < MOST_BUFFERED
    }

    /// Buffers the available data; false at the end.
    fn fill_buffer(&mut self) -> io::Result<bool> {
        let filled = self.buffered.len();
        self.buffered.resize(filled + READ_SIZE, 0);
        let read = self.file.read(&mut self.buffered[filled..]);
        self.buffered.truncate(filled + *read.as_ref().unwrap_or(&0));
        read.map(|n| n > 0)
    }
}

/// Waits until one of the files is readable; polls the second one only `if_room`.
fn ready(own: &File, other: &File, if_room: bool) -> io::Result<(bool, bool)> {
    let mut both = [PollFd::new(own, PollFlags::IN), PollFd::new(other, PollFlags::IN)];
    let looked_at = if if_room { &mut both[..] } else { &mut both[..1] };
    loop {
        match poll(looked_at, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
    Ok((is_ready(looked_at.first()), is_ready(looked_at.get(1))))
}
