//! Options as the C code has them.

use std::ffi::CStr;

use minibwa_sys as sys;

use super::ffi;
use super::options::{Differences, MinibwaOptions, Preset};

impl Preset {
    fn name(self) -> &'static CStr {
        match self {
            Preset::Adaptive => c"adap",
            Preset::Short => c"sr",
            Preset::Long => c"lr",
        }
    }
}

impl MinibwaOptions {
    /// The options as the C code has them.
    pub(super) fn settings(&self) -> sys::mb_opt_t {
        let mut to = ffi::options(self.preset.name());
        set(&mut to.max_sr_len, self.longest_short_read);
        set(&mut to.min_len, self.min_seed_length);
        set(&mut to.max_occ, self.max_occurrences);
        set(&mut to.max_gap, self.max_gap);
        set(&mut to.bw, self.band_width);
        set(&mut to.bw_long, self.long_band_width);
        set(&mut to.min_chain_score, self.min_chain_score);
        set(&mut to.pri_ratio, self.min_secondary_ratio);
        set(&mut to.best_n, self.max_secondary);
        set(&mut to.a, self.match_score);
        set(&mut to.b, self.mismatch_penalty);
        set_both((&mut to.q, &mut to.q2), self.gap_open);
        set_both((&mut to.e, &mut to.e2), self.gap_extend);
        set(&mut to.min_dp_max, self.min_score);
        set(&mut to.pen_unpair, self.unpaired);
        set(&mut to.max_rescue, self.max_mate_rescues);
        set(&mut to.out_n, self.secondary_written);
        set(&mut to.out_s, self.min_written_ratio);
        set(&mut to.xa_max, self.max_xa_hits);
        to.flag |= self.flags();
        to
    }

    fn flags(&self) -> u64 {
        let asked = |how: Differences| self.differences == Some(how);
        [
            (self.skip_pairing, sys::MB_F_NO_PAIRING),
            (asked(Differences::Md), sys::MB_F_WRITE_MD),
            (asked(Differences::Cs), sys::MB_F_WRITE_CS),
            (asked(Differences::Ds), sys::MB_F_WRITE_DS),
            (self.soft_clip, sys::MB_F_SUPP_SOFT),
            (self.primary_five_prime, sys::MB_F_PRIMARY5),
            (self.eqx, sys::MB_F_EQX),
        ]
        .into_iter()
        .filter(|(asked, _)| *asked)
        .fold(0, |all, (_, flag)| all | u64::from(flag))
    }
}

fn set<T>(to: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *to = value;
    }
}

fn set_both<T>(to: (&mut T, &mut T), values: Option<(T, T)>) {
    if let Some((first, second)) = values {
        (*to.0, *to.1) = (first, second);
    }
}
