//! Code that is the same for kernels with different instructions.

/// Implements [`Lanes`](super::lanes::Lanes) for a vector type by the names of its intrinsics.
///
/// The file that uses it makes sure that values of the type exist only while the processor is known
/// to have the instructions.
macro_rules! implement_lanes {
    ($lanes:ident: $count:literal of $real:ty, bases $base:ty where $to_base:expr,
     $splat:ident $load:ident $store:ident $add:ident $subtract:ident $multiply:ident $divide:ident
     $multiply_add:ident $select_match:ident $keep_up_to:ident) => {
        impl Lanes for $lanes {
            type Real = $real;
            type Array = [$real; $count];
            type Base = $base;
            type Bases = [$base; $count];

            const COUNT: usize = $count;

            #[inline(always)]
            fn splat(value: $real) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($splat(value)) }
            }

            fn splat_array(value: $real) -> Self::Array {
                [value; $count]
            }

            #[inline(always)]
            fn load(array: &Self::Array) -> Self {
                // SAFETY: the processor has the instructions, and the array has as many elements.
                unsafe { $lanes($load(array.as_ptr())) }
            }

            #[inline(always)]
            fn store(self, array: &mut Self::Array) {
                // SAFETY: the processor has the instructions, and the array has as many elements.
                unsafe { $store(array.as_mut_ptr(), self.0) }
            }

            fn base(bits: u8) -> $base {
                $to_base(bits)
            }

            fn splat_bases(base: $base) -> Self::Bases {
                [base; $count]
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($add(self.0, other.0)) }
            }

            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($subtract(self.0, other.0)) }
            }

            #[inline(always)]
            fn multiply(self, factor: Self) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($multiply(self.0, factor.0)) }
            }

            #[inline(always)]
            fn divide(self, divisor: Self) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($divide(self.0, divisor.0)) }
            }

            #[inline(always)]
            fn multiply_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($multiply_add(self.0, factor.0, addend.0)) }
            }

            #[inline(always)]
            fn select_match(
                read: &Self::Bases,
                haplotype: &Self::Bases,
                matched: Self,
                mismatched: Self,
            ) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($select_match(read, haplotype, matched.0, mismatched.0)) }
            }

            #[inline(always)]
            fn keep_up_to(self, column: Self, last: Self) -> Self {
                // SAFETY: the processor has the instructions.
                unsafe { $lanes($keep_up_to(self.0, column.0, last.0)) }
            }
        }
    };
}

/// Defines a function that computes the likelihoods of a group with instructions, which the processor
/// must have: it panics otherwise.
macro_rules! define_run {
    ($run:ident, $features:literal, $is_available:ident) => {
        /// Computes the likelihoods of a group.
        ///
        /// # Panics
        /// The processor lacks the instructions.
        pub(super) fn $run<V: super::lanes::Lanes>(group: &mut super::kernel::Group<V>, is_fused: bool) {
            #[target_feature(enable = $features)]
            fn compute<V: super::lanes::Lanes, const FUSED: bool>(group: &mut super::kernel::Group<V>) {
                group.compute::<FUSED>();
            }

            assert!($is_available());
            if is_fused {
                // SAFETY: the processor has the instructions.
                super::flush::run_flushing(group, |group| unsafe { compute::<V, true>(group) });
            } else {
                // SAFETY: the processor has the instructions.
                super::flush::run_flushing(group, |group| unsafe { compute::<V, false>(group) });
            }
        }
    };
}

pub(super) use {define_run, implement_lanes};
