//! Two pipes that one program fills in turn.
//!
//! Such a program waits as soon as either pipe is full, and a batch is more than a pipe holds. So while one of the pipes has
//! nothing for us, what comes from the other is put by.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};

/// Bytes read from a pipe at a time.
const READ_SIZE: usize = 64 << 10;

/// Most bytes put by. A program that is further ahead with one pipe than this is made to wait, for ever if it is so with
/// both in turn.
const MOST_PUT_BY: usize = 64 << 20;

struct Pipe {
    file: File,
    put_by: Vec<u8>,
    /// Bytes of `put_by` that have been handed on.
    at: usize,
}

/// One of the two, as a stream of its own.
pub(crate) struct Twin {
    both: Arc<Mutex<[Pipe; 2]>>,
    which: usize,
}

/// Both pipes, to be read in any order.
pub(crate) fn twins(files: [File; 2]) -> [Twin; 2] {
    let pipes = files.map(|file| Pipe { file, put_by: Vec::new(), at: 0 });
    let both = Arc::new(Mutex::new(pipes));
    [0, 1].map(|which| Twin { both: both.clone(), which })
}

impl Read for Twin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut both = self.both.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = &mut *both;
        let (own, other) = if self.which == 0 { (first, second) } else { (second, first) };
        while own.put_by.is_empty() {
            let (own_ready, other_ready) = ready(&own.file, &other.file, other.has_room())?;
            if own_ready {
                return own.file.read(into);
            }
            if other_ready && !other.put_by()? {
                return own.file.read(into); // the other is over: there is nothing to put by any more
            }
        }
        let rest = &own.put_by[own.at..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        own.at += n;
        if own.at == own.put_by.len() {
            own.put_by.clear();
            own.at = 0;
        }
        Ok(n)
    }
}

impl Pipe {
    fn has_room(&self) -> bool {
        self.put_by.len() < MOST_PUT_BY
    }

    /// Puts by what there is; false at the end.
    fn put_by(&mut self) -> io::Result<bool> {
        let filled = self.put_by.len();
        self.put_by.resize(filled + READ_SIZE, 0);
        let read = self.file.read(&mut self.put_by[filled..]);
        self.put_by.truncate(filled + *read.as_ref().unwrap_or(&0));
        read.map(|n| n > 0)
    }
}

/// Waits until one of the files can be read without waiting; looks at the second one only `if_room`.
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
