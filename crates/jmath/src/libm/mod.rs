//! The functions of `java.lang.Math` that HotSpot computes by Intel's library, and two of fdlibm.

mod bits;
mod exponential;
mod fdlibm;
mod logarithm;
mod power;
mod power_special;
mod reciprocal;

pub use fdlibm::{log1p, strict_log};
use reciprocal::Reciprocals;
pub use reciprocal::{CpuMaker, MissingTable};

/// `log10`, `log`, `exp` and `pow` of `java.lang.Math` on x86-64.
///
/// HotSpot starts its logarithms from the processor's instruction RCPPS, whose approximations
/// differ between makers. So the last bit of `log10`, `log` and `pow` can depend on the processor
/// on which Java runs, and a value of this type says which processor is meant.
///
/// ```
/// use readmill_jmath::{CpuMaker, JavaMath};
///
/// let math = JavaMath::of_maker(CpuMaker::Intel)?;
/// assert_eq!(math.log10(1000.0), 3.0);
/// assert_eq!(math.exp(1.0), std::f64::consts::E);
/// # Ok::<(), readmill_jmath::MissingTable>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct JavaMath {
    reciprocals: Reciprocals,
}

impl JavaMath {
    /// Returns the functions as Java computes them on the processor that runs this program. On
    /// processors other than x86-64, these are the functions on Intel's.
    pub fn of_this_processor() -> Self {
        JavaMath { reciprocals: Reciprocals::of_this_processor() }
    }

    /// Returns the functions as Java computes them on Intel's processors, on every processor with the
    /// same results.
    pub fn of_intel() -> Self {
        JavaMath { reciprocals: Reciprocals::of_intel() }
    }

    /// Returns the functions as Java computes them on processors of a maker, whatever processor
    /// runs this program.
    ///
    /// # Errors
    /// The crate has no table of this maker's reciprocals.
    pub fn of_maker(maker: CpuMaker) -> Result<Self, MissingTable> {
        Ok(JavaMath { reciprocals: Reciprocals::of_maker(maker)? })
    }

    /// Returns the decimal logarithm, like `Math.log10`.
    pub fn log10(self, x: f64) -> f64 {
        logarithm::log10(self.reciprocals, x)
    }

    /// Returns the natural logarithm, like `Math.log`.
    pub fn log(self, x: f64) -> f64 {
        logarithm::log(self.reciprocals, x)
    }

    /// Returns e^`x`, like `Math.exp`. The result is the same on all processors.
    pub fn exp(self, x: f64) -> f64 {
        exponential::exp(x)
    }

    /// Returns `x` raised to the power `y`, with the last bit of `Math.pow`.
    pub fn pow(self, x: f64, y: f64) -> f64 {
        power_special::pow(self.reciprocals, x, y)
    }
}
