//! Ranges of the ready operators, a vector register at a time.
//!
//! Everything that combines is the operator's own body, applied to all lanes of two blocks: the compiler makes one vector
//! instruction of it. Only moving lanes about is written for the machine.

use std::{array, ops::Range};

use super::Buffers;
use crate::{ScanOp, ops::Order};

/// Bytes of a block: a register of AVX2.
const BLOCK_BYTES: usize = 32;

/// Bytes within which [`Moves::up`] moves lanes: a block is two halves.
const HALF_BYTES: usize = BLOCK_BYTES / 2;

/// Whether this machine has the registers, and the type is one that they hold.
#[inline]
pub(super) fn available<Op: ScanOp>() -> bool {
    let same = size_of::<Op::Input>() == size_of::<Op::State>() && size_of::<Op::Output>() == size_of::<Op::State>();
    same && matches!(size_of::<Op::State>(), 1 | 2 | 4 | 8) && machine_has_registers()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn machine_has_registers() -> bool {
    is_x86_feature_detected!("avx2")
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
fn machine_has_registers() -> bool {
    // What the compiler makes of `Portable` has not been measured elsewhere.
    cfg!(test)
}

/// What a range is scanned with. The operator has an identity.
pub(super) struct Lanes<'a, 'b, Op: ScanOp> {
    pub(super) op: &'a Op,
    pub(super) identity: Op::State,
    pub(super) buffers: &'a Buffers<'b, Op::Input, Op::Output>,
    pub(super) order: Order,
}

/// What stands after a range: with what stood before it, and by itself.
pub(super) struct Sums<S> {
    pub(super) with_before: S,
    pub(super) alone: S,
}

impl<Op: ScanOp> Lanes<'_, '_, Op> {
    /// Scans a range.
    ///
    /// # Safety
    ///
    /// The type and the machine are [`available`]. The range is in bounds, and no other thread touches it.
    pub(super) unsafe fn scan<const EXCLUSIVE: bool>(&self, range: Range<usize>, before: Op::State) -> Sums<Op::State> {
        #[cfg(target_arch = "x86_64")]
        if machine_has_registers() {
            // SAFETY: the machine has AVX2; the caller vouches for the rest.
            return unsafe { self.scan_avx2::<EXCLUSIVE>(range, before) };
        }
        // SAFETY: the caller vouches for the range.
        unsafe { self.scan_with::<Portable, EXCLUSIVE>(range, before) }
    }

    /// Folds a range into what stands before it: the same, bit for bit, as `with_before` of its scan, and as `alone` with the
    /// identity before it.
    ///
    /// # Safety
    ///
    /// As [`scan`](Lanes::scan); other threads may read the range.
    pub(super) unsafe fn fold(&self, range: Range<usize>, before: Op::State) -> Op::State {
        #[cfg(target_arch = "x86_64")]
        if machine_has_registers() {
            // SAFETY: the machine has AVX2; the caller vouches for the rest.
            return unsafe { self.fold_avx2(range, before) };
        }
        // SAFETY: the caller vouches for the range.
        unsafe { self.fold_with::<Portable>(range, before) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn scan_avx2<const EXCLUSIVE: bool>(&self, range: Range<usize>, before: Op::State) -> Sums<Op::State> {
        // SAFETY: the caller vouches for everything.
        unsafe { self.scan_with::<avx2::Avx2, EXCLUSIVE>(range, before) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn fold_avx2(&self, range: Range<usize>, before: Op::State) -> Op::State {
        // SAFETY: the caller vouches for everything.
        unsafe { self.fold_with::<avx2::Avx2>(range, before) }
    }

    #[inline(always)]
    unsafe fn scan_with<M: Moves, const EXCLUSIVE: bool>(
        &self,
        range: Range<usize>,
        before: Op::State,
    ) -> Sums<Op::State> {
        // SAFETY: the caller vouches for the range and the machine; each arm's block has the bytes of a register.
        unsafe {
            match size_of::<Op::State>() {
                1 => self.scan_blocks::<M, 32, EXCLUSIVE>(range, before),
                2 => self.scan_blocks::<M, 16, EXCLUSIVE>(range, before),
                4 => self.scan_blocks::<M, 8, EXCLUSIVE>(range, before),
                _ => self.scan_blocks::<M, 4, EXCLUSIVE>(range, before),
            }
        }
    }

    #[inline(always)]
    unsafe fn fold_with<M: Moves>(&self, range: Range<usize>, before: Op::State) -> Op::State {
        if self.order == Order::Any {
            // The compiler makes vector instructions of it by itself.
            // SAFETY: the caller vouches for the range.
            return range
                .fold(before, |sum, index| self.op.combine(sum, self.op.lift(unsafe { self.buffers.read(index) })));
        }
        // SAFETY: as above.
        unsafe {
            match size_of::<Op::State>() {
                1 => self.fold_blocks::<M, 32>(range, before),
                2 => self.fold_blocks::<M, 16>(range, before),
                4 => self.fold_blocks::<M, 8>(range, before),
                _ => self.fold_blocks::<M, 4>(range, before),
            }
        }
    }

    #[inline(always)]
    unsafe fn scan_blocks<M: Moves, const W: usize, const EXCLUSIVE: bool>(
        &self,
        range: Range<usize>,
        before: Op::State,
    ) -> Sums<Op::State> {
        let fill = [self.identity; W];
        let (mut with_before, mut alone) = ([before; W], fill);
        let mut index = range.start;
        while range.end - index >= W {
            // SAFETY: the caller vouches for the range, of which W elements are left.
            let block = self.prefixes::<M, W>(unsafe { self.read(index) });
            // SAFETY: the caller vouches for the machine.
            let covered = if EXCLUSIVE { unsafe { M::up_by_one(block, fill) } } else { block };
            let covered = self.combine(with_before, covered);
            // SAFETY: as for the read, and nothing of these elements is read after this.
            unsafe {
                self.buffers.output_at(index).cast::<[Op::Output; W]>().write(covered.map(|x| self.op.project(x)))
            };
            // SAFETY: the caller vouches for the machine.
            let last = unsafe { M::spread_last(block) };
            with_before = self.combine(with_before, last);
            alone = self.combine(alone, last);
            index += W;
        }
        let mut sums = Sums { with_before: with_before[0], alone: alone[0] };
        for index in index..range.end {
            // SAFETY: the caller vouches for the range; where the buffers are one, an element is read before it is written.
            let next = self.op.lift(unsafe { self.buffers.read(index) });
            let with_this = self.op.combine(sums.with_before, next);
            let covered = if EXCLUSIVE { sums.with_before } else { with_this };
            // SAFETY: as above.
            unsafe { self.buffers.write(index, self.op.project(covered)) };
            sums = Sums { with_before: with_this, alone: self.op.combine(sums.alone, next) };
        }
        sums
    }

    #[inline(always)]
    unsafe fn fold_blocks<M: Moves, const W: usize>(&self, range: Range<usize>, before: Op::State) -> Op::State {
        let mut sum = [before; W];
        let mut index = range.start;
        while range.end - index >= W {
            // SAFETY: the caller vouches for the range, of which W elements are left.
            let block = self.prefixes::<M, W>(unsafe { self.read(index) });
            // SAFETY: the caller vouches for the machine.
            sum = self.combine(sum, unsafe { M::spread_last(block) });
            index += W;
        }
        (index..range.end).fold(sum[0], |sum, index| {
            // SAFETY: the caller vouches for the range.
            self.op.combine(sum, self.op.lift(unsafe { self.buffers.read(index) }))
        })
    }

    /// # Safety
    ///
    /// W elements from `index` on are in bounds, and no other thread writes there.
    #[inline(always)]
    unsafe fn read<const W: usize>(&self, index: usize) -> [Op::State; W] {
        // SAFETY: the caller vouches for the elements; an array is aligned as its items are.
        unsafe { self.buffers.input_at(index).cast::<[Op::Input; W]>().read() }.map(|x| self.op.lift(x))
    }

    /// The inclusive scan of a block: of each half by doubling, then of the halves.
    #[inline(always)]
    fn prefixes<M: Moves, const W: usize>(&self, mut block: [Op::State; W]) -> [Op::State; W] {
        let fill = [self.identity; W];
        let lane = size_of::<Op::State>();
        // SAFETY: whoever made this has seen that the machine has what `M` needs.
        unsafe {
            if lane <= 1 {
                block = self.combine(M::up::<_, W, 1>(block, fill), block);
            }
            if lane <= 2 {
                block = self.combine(M::up::<_, W, 2>(block, fill), block);
            }
            if lane <= 4 {
                block = self.combine(M::up::<_, W, 4>(block, fill), block);
            }
            block = self.combine(M::up::<_, W, 8>(block, fill), block);
            self.combine(M::last_of_low_half(block, fill), block)
        }
    }

    /// Combines lane by lane. Vectorises.
    #[inline(always)]
    fn combine<const W: usize>(&self, a: [Op::State; W], b: [Op::State; W]) -> [Op::State; W] {
        array::from_fn(|lane| self.op.combine(a[lane], b[lane]))
    }
}

/// Ways to move the lanes of a block of [`BLOCK_BYTES`] bytes.
trait Moves {
    /// Within each half, moves everything up by so many bytes; what is free then is of `fill`, whose lanes are all the same.
    unsafe fn up<T: Copy, const W: usize, const BYTES: usize>(block: [T; W], fill: [T; W]) -> [T; W];
    /// The last lane of the lower half, on all lanes of the upper half; `fill` on the lower.
    unsafe fn last_of_low_half<T: Copy, const W: usize>(block: [T; W], fill: [T; W]) -> [T; W];
    /// The last lane, on all lanes.
    unsafe fn spread_last<T: Copy, const W: usize>(block: [T; W]) -> [T; W];
    /// Moves everything up by a lane, through the middle; the first lane is of `fill`.
    unsafe fn up_by_one<T: Copy, const W: usize>(block: [T; W], fill: [T; W]) -> [T; W];
}

/// For any machine.
struct Portable;

impl Moves for Portable {
    #[inline(always)]
    unsafe fn up<T: Copy, const W: usize, const BYTES: usize>(block: [T; W], fill: [T; W]) -> [T; W] {
        let by = BYTES / size_of::<T>();
        array::from_fn(|lane| if lane % (W / 2) < by { fill[0] } else { block[lane - by] })
    }

    #[inline(always)]
    unsafe fn last_of_low_half<T: Copy, const W: usize>(block: [T; W], fill: [T; W]) -> [T; W] {
        array::from_fn(|lane| if lane < W / 2 { fill[0] } else { block[W / 2 - 1] })
    }

    #[inline(always)]
    unsafe fn spread_last<T: Copy, const W: usize>(block: [T; W]) -> [T; W] {
        [block[W - 1]; W]
    }

    #[inline(always)]
    unsafe fn up_by_one<T: Copy, const W: usize>(block: [T; W], fill: [T; W]) -> [T; W] {
        array::from_fn(|lane| if lane == 0 { fill[0] } else { block[lane - 1] })
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::{arch::x86_64::*, mem::transmute_copy};

    use super::{HALF_BYTES, Moves};

    /// For a machine with AVX2.
    pub(super) struct Avx2;

    /// The register that holds a block.
    #[inline(always)]
    unsafe fn register<T: Copy, const W: usize>(block: [T; W]) -> __m256i {
        // SAFETY: any bits make a register, and the sizes are equal.
        unsafe { transmute_copy(&block) }
    }

    /// The block that a register holds.
    ///
    /// # Safety
    ///
    /// Every lane of the register is a valid T.
    #[inline(always)]
    unsafe fn block<T: Copy, const W: usize>(register: __m256i) -> [T; W] {
        // SAFETY: the sizes are equal; the caller vouches for the lanes.
        unsafe { transmute_copy(&register) }
    }

    /// The last lane of each half, on all lanes of the half.
    #[inline(always)]
    unsafe fn last_of_halves<T>(register: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the machine.
        unsafe {
            match size_of::<T>() {
                1 => _mm256_shuffle_epi8(register, _mm256_set1_epi8(15)),
                2 => _mm256_shuffle_epi8(register, _mm256_set1_epi16(0x0f0e)),
                4 => _mm256_shuffle_epi32::<0b11_11_11_11>(register),
                _ => _mm256_shuffle_epi32::<0b11_10_11_10>(register),
            }
        }
    }

    // SAFETY of all blocks below: whole lanes are moved, and all lanes are valid ones; the caller vouches for the machine.
    impl Moves for Avx2 {
        #[inline(always)]
        unsafe fn up<T: Copy, const W: usize, const BYTES: usize>(of: [T; W], fill: [T; W]) -> [T; W] {
            // SAFETY: see above.
            unsafe {
                let (of, fill) = (register(of), register(fill));
                // The amount must be a literal, not an expression.
                block(match BYTES {
                    1 => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 1 }>(of, fill),
                    2 => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 2 }>(of, fill),
                    4 => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 4 }>(of, fill),
                    _ => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 8 }>(of, fill),
                })
            }
        }

        #[inline(always)]
        unsafe fn last_of_low_half<T: Copy, const W: usize>(of: [T; W], fill: [T; W]) -> [T; W] {
            // SAFETY: see above.
            unsafe { block(_mm256_permute2x128_si256::<0x02>(last_of_halves::<T>(register(of)), register(fill))) }
        }

        #[inline(always)]
        unsafe fn spread_last<T: Copy, const W: usize>(of: [T; W]) -> [T; W] {
            // SAFETY: see above.
            unsafe {
                let last = last_of_halves::<T>(register(of));
                block(_mm256_permute2x128_si256::<0x11>(last, last))
            }
        }

        #[inline(always)]
        unsafe fn up_by_one<T: Copy, const W: usize>(of: [T; W], fill: [T; W]) -> [T; W] {
            // SAFETY: see above.
            unsafe {
                let of = register(of);
                // What comes from below: `fill` into the lower half, the lower half into the upper.
                let below = _mm256_permute2x128_si256::<0x02>(of, register(fill));
                block(match size_of::<T>() {
                    1 => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 1 }>(of, below),
                    2 => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 2 }>(of, below),
                    4 => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 4 }>(of, below),
                    _ => _mm256_alignr_epi8::<{ HALF_BYTES as i32 - 8 }>(of, below),
                })
            }
        }
    }
}
