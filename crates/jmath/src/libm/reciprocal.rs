//! Approximate reciprocals of the instruction RCPPS, from which the logarithms start.
#![allow(unsafe_code, reason = "runs an instruction")]

use std::error::Error;
use std::fmt;

/// Reciprocals on Intel's processors of 1 + (i + 1/2) / 2048, by i: the bits of a `f32`. The
/// instruction uses 11 bits of the mantissa and returns 12.
const INTEL: &[u8; 8192] = include_bytes!("../data/rcpps_intel.bin");

/// A maker of x86-64 processors, whose RCPPS decides the last bit of logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMaker {
    /// Intel: the table is in the crate.
    Intel,
    /// AMD: the table has not been measured, so it can be used only by
    /// [`JavaMath::of_this_processor`](super::JavaMath::of_this_processor) on such a processor.
    Amd,
}

/// The crate has no table of this maker's reciprocals, and does not guess one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingTable(pub CpuMaker);

impl fmt::Display for MissingTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the reciprocals of {:?} processors are not known: run on such a processor", self.0)
    }
}

impl Error for MissingTable {}

/// Where reciprocals are taken from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reciprocals {
    /// The instruction of the processor that runs this program.
    #[cfg(target_arch = "x86_64")]
    Instruction,
    /// A table by 11 bits of the mantissa.
    Table(&'static [u8; 8192]),
}

impl Reciprocals {
    pub(super) fn of_this_processor() -> Self {
        #[cfg(target_arch = "x86_64")]
        return Reciprocals::Instruction;
        #[cfg(not(target_arch = "x86_64"))]
        return Reciprocals::Table(INTEL);
    }

    pub(super) fn of_intel() -> Self {
        Reciprocals::Table(INTEL)
    }

    pub(super) fn of_maker(maker: CpuMaker) -> Result<Self, MissingTable> {
        match maker {
            CpuMaker::Intel => Ok(Reciprocals::of_intel()),
            CpuMaker::Amd => Err(MissingTable(maker)),
        }
    }

    /// Returns about 1/m, in (0.5, 1], where m in [1, 2) has the mantissa of `x`. The sign and the
    /// exponent of `x` are ignored. Intel's library cuts the mantissa to 23 bits.
    #[inline]
    pub(super) fn of_mantissa(self, x: f64) -> f32 {
        let mantissa = (x.to_bits() >> 29) as u32 & 0x7f_ffff;
        match self {
            #[cfg(target_arch = "x86_64")]
            Reciprocals::Instruction => run_instruction(f32::from_bits(0x3f80_0000 | mantissa)),
            Reciprocals::Table(table) => {
                let at = (mantissa >> 12) as usize * 4;
                f32::from_le_bytes([table[at], table[at + 1], table[at + 2], table[at + 3]])
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn run_instruction(x: f32) -> f32 {
    use std::arch::x86_64::{_mm_cvtss_f32, _mm_rcp_ss, _mm_set_ss};
    // SAFETY: every x86-64 processor has SSE.
    unsafe { _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_is_guessed() {
        let missing = Reciprocals::of_maker(CpuMaker::Amd).unwrap_err();
        assert!(missing.to_string().contains("Amd"));
    }

    #[test]
    fn reciprocals_of_intel_are_near_the_middle_of_their_interval() {
        let table = Reciprocals::of_maker(CpuMaker::Intel).unwrap();
        for i in 0..2048 {
            let middle = 1.0 + (f64::from(i) + 0.5) / 2048.0;
            let error = f64::from(table.of_mantissa(middle)) * middle - 1.0;
            assert!(error.abs() < 1.0 / 4096.0, "{i}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn table_is_that_of_the_processor() {
        let cpu = std::arch::x86_64::__cpuid(0);
        if cpu.ebx != u32::from_le_bytes(*b"Genu") {
            return;
        }
        let table = Reciprocals::of_maker(CpuMaker::Intel).unwrap();
        for mantissa in 0..1_u64 << 23 {
            let x = f64::from_bits(0x3ff << 52 | mantissa << 29);
            assert_eq!(table.of_mantissa(x), Reciprocals::of_this_processor().of_mantissa(x), "{x}");
        }
    }

    /// Measures the table of another maker, on its processor, into the file `JMATH_RECIPROCALS`.
    #[cfg(target_arch = "x86_64")]
    #[test]
    #[ignore = "measures a processor"]
    fn write_reciprocals_of_this_processor() {
        let Ok(file) = std::env::var("JMATH_RECIPROCALS") else {
            return;
        };
        let measure = |mantissa: u32| run_instruction(f32::from_bits(0x3f80_0000 | mantissa));
        for mantissa in 0..1 << 23 {
            assert_eq!(measure(mantissa), measure(mantissa & !0xfff), "it uses more than 11 bits");
        }
        let table: Vec<u8> = (0..2048).flat_map(|i| measure(i << 12).to_le_bytes()).collect();
        assert_eq!(table.len(), INTEL.len());
        std::fs::write(file, table).unwrap();
    }
}
