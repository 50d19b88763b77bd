//! Device memory as the memory of a call.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use cudarc::driver::CudaSlice;
use scan_codegen::Axis;

use super::{
    DeviceCall, Handle,
    arrays::{DeviceArray, DeviceArrayMut, InPlace, Of, array, array_mut},
    call::{DeviceInitial, DeviceTotals, Extra},
    heads::DeviceHeads,
};
use crate::{
    Array, ArrayMut, Device, DeviceBuffer, DeviceBufferMut, Error, Memory, Results, ScanElement, ScanOp, SegmentOffset,
    arrays::{Input, Output, Shape},
    call::Totals,
    cuda::driver_error,
    heads::HeadKind,
    run::{Buffer, Lent, NewResults, Place},
};

/// An array in device memory, with the type of its items.
#[doc(hidden)]
#[allow(private_interfaces, reason = "nobody else makes one")]
pub struct Typed<A, T>(A, PhantomData<fn() -> T>);

impl<A: Copy, T> Clone for Typed<A, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Copy, T> Copy for Typed<A, T> {}

impl<'a, T> Typed<&'a dyn DeviceArray, T> {
    /// The same for a shorter time.
    pub(crate) fn shorten<'b>(self) -> Typed<&'b dyn DeviceArray, T>
    where
        'a: 'b,
    {
        Typed(self.0, PhantomData)
    }
}

impl<A, T> Deref for Typed<A, T> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A, T> DerefMut for Typed<A, T> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}

impl<T: ScanElement, B: DeviceBuffer<T>> Array<T, Device> for B {
    #[allow(private_interfaces, reason = "as of the trait")]
    fn array(&self) -> Typed<&dyn DeviceArray, T> {
        Typed(array(self), PhantomData)
    }
}

impl<T: ScanElement, B: DeviceBufferMut<T>> ArrayMut<T, Device> for B {
    #[allow(private_interfaces, reason = "as of the trait")]
    fn array_mut(&mut self) -> Typed<&mut dyn DeviceArrayMut, T> {
        Typed(array_mut(self), PhantomData)
    }
}

impl<T: ScanElement, B: DeviceBufferMut<T>> Buffer<T, Device> for B {
    #[allow(private_interfaces, reason = "as of the trait")]
    fn scan<R>(
        &mut self,
        _: Option<&Axis>,
        scan: impl FnOnce(Typed<&mut dyn DeviceArrayMut, T>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        scan(self.array_mut())
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Memory for Device {
    type New<T> = CudaSlice<T>;
    type Results<S: Shape, Y> = CudaSlice<Y>;
    type Reduced<S: Shape, Y> = CudaSlice<Y>;
    type One<T> = CudaSlice<T>;
    type Array<'a, T: ScanElement> = Typed<&'a dyn DeviceArray, T>;
    type ArrayMut<'a, T: ScanElement> = Typed<&'a mut dyn DeviceArrayMut, T>;
    type Axis = Axis;
    type Either<OnHost, OnDevice> = OnDevice;
    type Call<'a, Op: ScanOp> = DeviceCall<'a>;
    type Handle<Op: ScanOp> = Handle;

    fn of_handle<Op: ScanOp>(handle: &Handle) -> Self::Call<'_, Op> {
        DeviceCall::of_handle(handle)
    }
    fn with_heads<'a: 'b, 'b, Op: ScanOp, T: ScanElement>(
        call: Self::Call<'a, Op>,
        kind: HeadKind,
        Typed(heads, _): Self::Array<'b, T>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { heads: DeviceHeads::new(kind, heads), axis: None, ..call }
    }
    fn with_ranges<'a: 'b, 'b, Op: ScanOp, T: SegmentOffset>(
        call: Self::Call<'a, Op>,
        Typed(begins, _): Self::Array<'b, T>,
        Typed(ends, _): Self::Array<'b, T>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { heads: DeviceHeads::ranges(T::TYPE, begins, ends), axis: None, ..call }
    }
    fn with_rows<Op: ScanOp>(call: Self::Call<'_, Op>, len: usize) -> Self::Call<'_, Op> {
        DeviceCall { heads: DeviceHeads::rows(len), axis: None, ..call }
    }
    fn along<Op: ScanOp>(call: Self::Call<'_, Op>, axis: Axis) -> Self::Call<'_, Op> {
        call.along(axis)
    }
    fn with_initial_values<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        Typed(values, _): Self::Array<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { initial: DeviceInitial::Each(values), ..call }
    }
    fn with_total_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        total: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { extra: Some((Extra::Total, Lent::new(total.0))), ..call }
    }
    fn with_totals_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        totals: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { extra: Some((Extra::EachTotal, Lent::new(totals.0))), ..call }
    }
    fn clone<'a, Op: ScanOp>(call: &Self::Call<'a, Op>) -> Self::Call<'a, Op> {
        call.clone()
    }
    fn debug<Op: ScanOp>(call: &Self::Call<'_, Op>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        call.debug(f)
    }

    fn scan<R: Results, Op: ScanOp, S: Shape>(
        call: &DeviceCall<'_>,
        input: impl Input<Op::Input, Device, Shape = S>,
    ) -> Result<NewResults<R, Device, Op, S>, Error> {
        let input = Of::<Op::Input, _>::new(input.arrays());
        let len = call.new_len(&input)?;
        // SAFETY: the scan writes every element of the output.
        let mut output: CudaSlice<Op::Output> = unsafe { room(call, len)? };
        let run = |totals: DeviceTotals<'_>| call.run(Some(&input), &mut Of::<Op::Output, _>::new(&mut output), totals);
        let totals = with_totals::<R, Op>(call, || call.len_of(&input), run)?;
        Ok(R::with(output, totals))
    }
    fn scan_into<R: Results, Op: ScanOp>(
        call: &DeviceCall<'_>,
        input: impl Input<Op::Input, Device>,
        output: impl Output<Op::Output, Device>,
    ) -> Result<R::Totals<Device, Op::Carry>, Error> {
        let (input, mut output) = (Of::<Op::Input, _>::new(input.arrays()), Of::<Op::Output, _>::new(output.arrays()));
        with_totals::<R, Op>(call, || call.len_of(&input), |totals| call.run(Some(&input), &mut output, totals))
    }
    fn scan_in_place<R: Results, Op: ScanOp<Input = T, Output = T>, T: ScanElement>(
        call: &DeviceCall<'_>,
        buffer: &mut (impl Buffer<T, Device> + ?Sized),
    ) -> Result<R::Totals<Device, Op::Carry>, Error> {
        buffer.scan(None, |Typed(buffer, _)| {
            let len = buffer.count();
            with_totals::<R, Op>(call, || Ok(len), |totals| call.run(None, &mut InPlace(buffer), totals))
        })
    }
    fn reduce<Op: ScanOp>(
        call: &DeviceCall<'_>,
        input: impl Input<Op::Input, Device>,
    ) -> Result<CudaSlice<Op::Output>, Error> {
        Self::reduce_each::<Op, _>(call, input)
    }
    fn reduce_each<Op: ScanOp, S: Shape>(
        call: &DeviceCall<'_>,
        input: impl Input<Op::Input, Device, Shape = S>,
    ) -> Result<CudaSlice<Op::Output>, Error> {
        let input = Of::<Op::Input, _>::new(input.arrays());
        let len = call.new_len(&input)?;
        // SAFETY: the reduction writes every element of the output.
        let mut output: CudaSlice<Op::Output> = unsafe { room(call, len)? };
        call.run(Some(&input), &mut Of::<Op::Output, _>::new(&mut output), call.extra())?;
        Ok(output)
    }
    fn reduce_into<Op: ScanOp>(
        call: &DeviceCall<'_>,
        input: impl Input<Op::Input, Device>,
        output: impl Output<Op::Output, Device>,
    ) -> Result<(), Error> {
        let (input, mut output) = (Of::<Op::Input, _>::new(input.arrays()), Of::<Op::Output, _>::new(output.arrays()));
        call.run(Some(&input), &mut output, call.extra())
    }
    fn prepare<Op: ScanOp>(call: &DeviceCall<'_>, totals: Totals, max_len: usize) -> Result<Handle, Error> {
        call.prepare(totals, max_len)
    }
    fn prepare_like<Op: ScanOp>(
        call: &DeviceCall<'_>,
        input: impl Input<Op::Input, Device>,
        output: impl Output<Op::Output, Device>,
        totals: Totals,
        max_len: usize,
    ) -> Result<Handle, Error> {
        let (input, output) = (Of::<Op::Input, _>::new(input.arrays()), Of::<Op::Output, _>::new(output.arrays()));
        call.prepare_like(&input, &output, totals, max_len)
    }
}

/// A slice of `len` elements.
///
/// # Safety
///
/// Nothing reads it before all of them have been written.
unsafe fn room<T: ScanElement>(call: &DeviceCall<'_>, len: usize) -> Result<CudaSlice<T>, Error> {
    let (device, stream) = (call.device()?, call.stream());
    match len {
        0 => stream.null().map_err(driver_error("allocating device memory")),
        // SAFETY: the caller vouches for it.
        len => unsafe { device.slice(stream, len) },
    }
}

/// Runs with the totals that `R` gives, or that the caller has memory for.
fn with_totals<R: Results, Op: ScanOp>(
    call: &DeviceCall<'_>,
    len: impl Fn() -> Result<usize, Error>,
    run: impl FnOnce(DeviceTotals<'_>) -> Result<(), Error>,
) -> Result<R::Totals<Device, Op::Carry>, Error> {
    let one = || {
        if len()? == 0 && !call.has_initial() {
            return Ok(None);
        }
        // SAFETY: the scan writes it.
        unsafe { room(call, 1).map(Some) }
    };
    let each = || {
        // SAFETY: the scan writes every total, but for those by offsets that do not ascend, which are written before
        // it.
        let mut totals = unsafe { room(call, call.per_segment(len()?)?)? };
        if call.heads.has_offsets() {
            call.write_totals_of_nothing(array_mut(&mut totals))?;
        }
        Ok(totals)
    };
    let mut totals = R::room::<Device, Op::Carry>(one, each)?;
    match R::place::<Device, Op::Carry>(&mut totals) {
        Place::Last(Some(total)) => run(DeviceTotals::Last(array_mut(total)))?,
        Place::Last(None) => run(DeviceTotals::LastOfNothing)?,
        Place::Each(totals) => run(DeviceTotals::PerSegment(array_mut(totals)))?,
        Place::None => run(call.extra())?,
    }
    Ok(totals)
}
