//! Threads that take batches in parallel and link them in order, as the program does.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

use readmill_fastq::{BatchLinker, Claims, TakenBatch};
use readmill_record::{Error, ReadBatch};

use super::Random;
use super::oracle::Owned;

/// The result: the reads of all linked batches, the batch sizes, and the error that ended the run.
#[derive(Default)]
pub struct CrewOutcome {
    pub reads: Vec<Owned>,
    pub batches: Vec<usize>,
    /// Whether the number of a batch's first template ever differed from the number of templates
    /// before it.
    pub misnumbered: bool,
    pub error: Option<Error>,
    /// Number of batches that were read serially.
    pub reread_batches: u64,
}

struct Board {
    next: u64,
    linked: u64,
    ready: BTreeMap<u64, (TakenBatch, ReadBatch)>,
    order: BatchLinker,
    outcome: CrewOutcome,
}

/// Takes and links all batches. Threads pause at random points determined by `seed`.
pub fn run(claims: &Arc<Claims>, threads: usize, in_flight: u64, seed: u64) -> CrewOutcome {
    let (next, linked, ready, outcome) = Default::default();
    let board = Mutex::new(Board { next, linked, ready, order: BatchLinker::new(claims), outcome });
    let news = Condvar::new();
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let (board, news) = (&board, &news);
            scope.spawn(move || serve(claims, board, news, in_flight, Random::new(seed ^ thread << 40)));
        }
    });
    let board = board.into_inner().unwrap();
    CrewOutcome { reread_batches: board.order.reread_count(), ..board.outcome }
}

fn serve(claims: &Claims, board: &Mutex<Board>, news: &Condvar, in_flight: u64, mut random: Random) {
    let mut spare = ReadBatch::default();
    loop {
        let mut now = board.lock().unwrap();
        let ticket = loop {
            link(&mut now);
            if now.outcome.error.is_some() || claims.has_ended() {
                news.notify_all();
                return;
            }
            if now.next < now.linked + in_flight {
                break now.next;
            }
            now = news.wait(now).unwrap();
        };
        now.next += 1;
        drop(now);
        if random.chance(5) {
            std::thread::yield_now();
        }
        let mut reads = std::mem::take(&mut spare);
        let taken = claims.take(ticket, &mut reads);
        if random.chance(5) {
            std::thread::yield_now();
        }
        board.lock().unwrap().ready.insert(ticket, (taken, reads));
        news.notify_all();
    }
}

fn link(now: &mut Board) {
    while now.outcome.error.is_none() {
        let linked = now.linked;
        let Some((taken, mut reads)) = now.ready.remove(&linked) else { return };
        now.linked += 1;
        match now.order.link(taken, &mut reads) {
            Err(error) => now.outcome.error = Some(error),
            Ok(_) if reads.is_empty() => {}
            Ok(_) => {
                let before = now.outcome.batches.iter().sum::<usize>();
                now.outcome.misnumbered |= reads.first_template() != before as u64;
                now.outcome.batches.push(reads.template_count());
                now.outcome.reads.extend(reads.iter().map(|read| {
                    let qualities = read.qualities.map(<[u8]>::to_vec);
                    (read.name.to_vec(), read.comment.to_vec(), read.bases.to_vec(), qualities)
                }));
            }
        }
    }
}
