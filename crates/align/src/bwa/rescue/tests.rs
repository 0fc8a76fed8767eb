//! Compares the scores of mate rescue with those of the AVX2 class.

use super::*;

/// More flags in [`RescuePair::ask`] that bwa-mem3 sets: stop at a score, and report a second-best
/// hit from a score on.
const STOP: c_int = 0x20000;
const SECOND: c_int = 0x40000;

/// The penalties for opening a deletion and for each of its letters, the same two for an insertion,
/// and the scores of a match and of a mismatch.
type Scoring = (c_int, c_int, c_int, c_int, i8, i8);

const PIECE: usize = 700;
const MATE: usize = 500;

// SAFETY: this is the declaration in `kswv.h`. The last three arguments are the number of threads and
// the maximum lengths of piece and mate.
type Make = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    i8,
    i8,
    threads: c_int,
    piece: i32,
    mate: i32,
) -> *const RescueKernel;

macro_rules! makers {
    ($($name:ident),*) => {
        // SAFETY: see `Make`.
        unsafe extern "C" {
            $(fn $name(_: c_int, _: c_int, _: c_int, _: c_int, _: i8, _: i8, _: c_int, _: i32, _: i32) -> *const RescueKernel;)*
        }
    };
}
makers!(make_kswv_kernel_sse41, make_kswv_kernel_sse42, make_kswv_kernel_avx, make_kswv_kernel_avx2);

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn letters(&mut self, count: usize) -> Vec<u8> {
        let unit = 1 + self.below(2 * count);
        let mut letters: Vec<u8> = (0..count).map(|_| self.below(4) as u8).collect();
        for at in unit..count {
            letters[at] = if self.below(20) == 0 { self.below(5) as u8 } else { letters[at - unit] };
        }
        letters
    }

    /// Returns a part of the piece with random substitutions, deletions and insertions, or random
    /// letters.
    fn mate(&mut self, piece: &[u8], max_letters: usize) -> Vec<u8> {
        let count = 1 + self.below(max_letters);
        if self.below(8) == 0 {
            return self.letters(count);
        }
        let (mut mate, mut at, rate) = (Vec::new(), self.below(piece.len()), 3 + self.below(100));
        while mate.len() < count {
            match self.below(rate) {
                0 => mate.push(self.below(5) as u8),
                1 => at += 1 + self.below(12),
                2 => (0..1 + self.below(12)).for_each(|_| mate.push(self.below(4) as u8)),
                _ => mate.push(piece.get(at).copied().unwrap_or(4)),
            }
            at += 1;
        }
        mate.truncate(count);
        mate
    }
}

/// Mate rescues, in the memory layout of bwa-mem3.
#[derive(Clone, Default)]
struct Rescues {
    pieces: Vec<u8>,
    mates: Vec<u8>,
    pairs: Vec<RescuePair>,
}

impl Rescues {
    fn new(count: usize, longest: usize, min_score: c_int, random: &mut Random) -> Self {
        let mut rescues = Rescues::default();
        for hit in 0..count {
            let length = 1 + random.below(PIECE);
            let piece = random.letters(length);
            let mate = random.mate(&piece, longest);
            rescues.pairs.push(RescuePair {
                piece: rescues.pieces.len() as i32,
                mate: rescues.mates.len() as i32,
                piece_len: piece.len() as i32,
                mate_len: mate.len() as i32,
                ask: SECOND | FIND_START | min_score,
                hit: hit as i32,
                ..RescuePair::default()
            });
            rescues.pieces.extend(piece);
            rescues.mates.extend(mate);
        }
        // The vectors of the AVX2 kernel read beyond the end.
        rescues.pieces.resize(rescues.pieces.len() + 64, 0);
        rescues.mates.resize(rescues.mates.len() + 64, 0);
        rescues
    }

    fn run(&mut self, kernel: *const RescueKernel, bytes: bool, phase: c_int, hits: &mut [RescueHit]) {
        let count = self.pairs.len();
        // The AVX2 kernel writes additional pairs, up to a multiple of its lanes.
        self.pairs.resize(count + 32, RescuePair::default());
        // SAFETY: the kernel is live; there are letters and a hit for each pair.
        unsafe {
            let functions = &*(*kernel).functions;
            let scores = if bytes { functions.in_bytes } else { functions.in_words };
            let (pairs, hits) = (self.pairs.as_ptr(), hits.as_mut_ptr());
            scores(
                kernel,
                pairs,
                self.pieces.as_mut_ptr(),
                self.mates.as_mut_ptr(),
                hits,
                count as i32,
                1,
                phase,
            );
        }
        self.pairs.truncate(count);
    }

    /// Runs both phases, with the steps that bwa-mem3 takes between them.
    fn scored(mut self, kernel: *const RescueKernel, bytes: bool, min_score: c_int) -> Vec<RescueHit> {
        let none = RescueHit {
            score: 0,
            piece_end: -1,
            mate_end: -1,
            second_score: -1,
            second_end: -1,
            piece_start: -1,
            mate_start: -1,
        };
        let mut hits = vec![none; self.pairs.len()];
        self.run(kernel, bytes, 0, &mut hits);
        self.pairs.retain_mut(|pair| {
            let hit = &hits[pair.hit as usize];
            if hit.score < min_score {
                return false;
            }
            let (piece, mate) = (pair.piece as usize, pair.mate as usize);
            self.pieces[piece..=piece + hit.piece_end as usize].reverse();
            self.mates[mate..=mate + hit.mate_end as usize].reverse();
            pair.ask = STOP | hit.score;
            pair.mate_len = hit.mate_end + 1;
            true
        });
        self.run(kernel, bytes, 1, &mut hits);
        hits
    }
}

fn made(make: Make, scoring: Scoring) -> *const RescueKernel {
    let (open_deletion, deletion, open_insertion, insertion, same, different) = scoring;
    let (piece, mate) = (PIECE as i32, MATE as i32);
    // SAFETY: no preconditions.
    unsafe { make(open_deletion, deletion, open_insertion, insertion, same, different, 1, piece, mate) }
}

fn unmade(kernel: *const RescueKernel) {
    // SAFETY: the object is on the heap, and is destroyed once, by the destructor that also frees it.
    unsafe { ((*(*kernel).functions).destructors[1])(kernel) };
}

const SCORINGS: [Scoring; 8] = [
    (6, 1, 6, 1, 1, -4),
    (6, 2, 5, 1, 1, -4),
    (4, 1, 9, 3, 2, -3),
    (0, 1, 6, 1, 1, -4),
    (1, 1, 1, 1, 1, -9),
    (16, 1, 16, 1, 1, -9),
    (12, 2, 12, 2, 2, -8),
    (6, 1, 5, 250, 1, -4),
];

#[test]
fn fields_are_where_they_are_read() {
    for make in [make_kswv_kernel_sse41, make_kswv_kernel_sse42, make_kswv_kernel_avx] {
        let kernel = made(make, (2, 3, 5, 7, 11, -13));
        // SAFETY: the object is live until `unmade` is called.
        let read = unsafe { &*kernel };
        let deletion = (read.open_deletion, read.extend_deletion);
        assert_eq!((read.letters, deletion), (5, (2, 3)));
        assert_eq!((read.open_insertion, read.extend_insertion), (5, 7));
        assert_eq!((read.same, read.different, read.unknown), (11, -13, -1));
        assert_eq!((read.open, read.extend, read.is_freed), (2, 3, [false; 2]));
        unmade(kernel);
    }
}

#[test]
fn scores_ends_and_starts_are_those_of_the_kernel_for_avx2() {
    if !is_x86_feature_detected!("avx2") {
        return;
    }
    patch_tables().unwrap();
    let random = &mut Random(7);
    let (mut found, mut seconds) = (0, 0);
    for scoring in SCORINGS {
        let (same, different) = (i32::from(scoring.4), i32::from(scoring.5));
        let newer = made(make_kswv_kernel_avx2, scoring);
        for make in [make_kswv_kernel_sse41, make_kswv_kernel_sse42, make_kswv_kernel_avx] {
            let older = made(make, scoring);
            for (bytes, factor) in [(true, 19), (true, 5), (false, 19), (false, 5)] {
                let longest = if bytes { (254 + different) / same } else { MATE as i32 - 20 };
                let min_score = factor * same;
                let rescues = Rescues::new(200, longest as usize, min_score, random);
                let [there, here] =
                    [newer, older].map(|kernel| rescues.clone().scored(kernel, bytes, min_score));
                for (at, (there, here)) in there.iter().zip(&here).enumerate() {
                    assert_eq!(
                        here, there,
                        "{scoring:?}, bytes {bytes}, {:?}",
                        rescues.pairs[at].piece_len
                    );
                }
                found += here.iter().filter(|hit| hit.piece_start >= 0).count();
                seconds += here.iter().filter(|hit| hit.second_score > 0).count();
            }
            unmade(older);
        }
        unmade(newer);
    }
    assert!(found > 5000 && seconds > 2000, "{found} found, {seconds} with a second score");
}
