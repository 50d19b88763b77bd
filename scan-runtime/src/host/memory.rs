//! Host memory as the memory of a call.

use std::fmt;

use super::{HostCall, HostHandle};
use crate::{
    Error, Host, Memory, Results, ScanElement, ScanOp, SegmentOffset,
    arrays::{Input, Output, Shape},
    call::Totals,
    heads::{HeadKind, Heads, InitialValues},
    run::{Along, Buffer, Lent, NewReduced, NewResults},
};

#[allow(private_interfaces, reason = "as of the trait")]
impl Memory for Host {
    type New<T> = Vec<T>;
    type Results<S: Shape, Y> = S::New<Y>;
    type Reduced<S: Shape, Y> = S::Reduced<Y>;
    type One<T> = T;
    type Array<'a, T: ScanElement> = &'a [T];
    type ArrayMut<'a, T: ScanElement> = &'a mut [T];
    type Axis = Along;
    type Either<OnHost, OnDevice> = OnHost;
    type Call<'a, Op: ScanOp> = HostCall<'a, Op>;
    type Handle<Op: ScanOp> = HostHandle<Op>;

    #[inline]
    fn of_handle<Op: ScanOp>(handle: &HostHandle<Op>) -> Self::Call<'_, Op> {
        HostCall::of_handle(handle)
    }
    #[inline]
    fn with_heads<'a: 'b, 'b, Op: ScanOp, T: ScanElement>(
        call: Self::Call<'a, Op>,
        kind: HeadKind,
        heads: Self::Array<'b, T>,
    ) -> Self::Call<'b, Op> {
        call.with_heads(Heads::of(kind, heads))
    }
    fn with_ranges<'a: 'b, 'b, Op: ScanOp, T: SegmentOffset>(
        call: Self::Call<'a, Op>,
        begins: Self::Array<'b, T>,
        ends: Self::Array<'b, T>,
    ) -> Self::Call<'b, Op> {
        call.with_heads(Heads::ranges(begins, ends))
    }
    #[inline]
    fn with_rows<Op: ScanOp>(call: Self::Call<'_, Op>, len: usize) -> Self::Call<'_, Op> {
        call.with_heads(Heads::rows(len))
    }
    fn along<Op: ScanOp>(call: Self::Call<'_, Op>, axis: Along) -> Self::Call<'_, Op> {
        call.along(axis)
    }
    #[inline]
    fn with_initial_values<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        values: Self::Array<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        let mut call: Self::Call<'b, Op> = call;
        call.heads.initial_values = Some(InitialValues::new(values));
        call
    }
    #[inline]
    fn with_total_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        total: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        HostCall { totals: Some((Totals::Last, Lent::new(total))), ..call }
    }
    #[inline]
    fn with_totals_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        totals: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        HostCall { totals: Some((Totals::PerSegment, Lent::new(totals))), ..call }
    }
    fn clone<'a, Op: ScanOp>(call: &Self::Call<'a, Op>) -> Self::Call<'a, Op> {
        call.clone()
    }
    fn debug<Op: ScanOp>(call: &Self::Call<'_, Op>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        call.debug(f)
    }

    #[inline]
    fn scan<R: Results, Op: ScanOp, S: Shape>(
        call: &HostCall<'_, Op>,
        input: impl Input<Op::Input, Host, Shape = S>,
    ) -> Result<NewResults<R, Host, Op, S>, Error> {
        call.run::<R, _>(input.arrays())
    }
    #[inline]
    fn scan_into<R: Results, Op: ScanOp>(
        call: &HostCall<'_, Op>,
        input: impl Input<Op::Input, Host>,
        output: impl Output<Op::Output, Host>,
    ) -> Result<R::Totals<Host, Op::Carry>, Error> {
        call.run_into::<R, _, _>(input.arrays(), output.arrays())
    }
    #[inline]
    fn scan_in_place<R: Results, Op: ScanOp<Input = T, Output = T>, T: ScanElement>(
        call: &HostCall<'_, Op>,
        buffer: &mut (impl Buffer<T, Host> + ?Sized),
    ) -> Result<R::Totals<Host, Op::Carry>, Error> {
        call.run_in_place::<R, T>(buffer)
    }
    fn reduce<Op: ScanOp>(call: &HostCall<'_, Op>, input: impl Input<Op::Input, Host>) -> Result<Op::Output, Error> {
        call.reduce(input.arrays())
    }
    fn reduce_each<Op: ScanOp, S: Shape>(
        call: &HostCall<'_, Op>,
        input: impl Input<Op::Input, Host, Shape = S>,
    ) -> Result<NewReduced<Host, Op, S>, Error> {
        call.reduce_each(input.arrays())
    }
    fn reduce_into<Op: ScanOp>(
        call: &HostCall<'_, Op>,
        input: impl Input<Op::Input, Host>,
        output: impl Output<Op::Output, Host>,
    ) -> Result<(), Error> {
        call.reduce_into(input.arrays(), output.arrays())
    }
    fn prepare<Op: ScanOp>(call: &HostCall<'_, Op>, totals: Totals, max_len: usize) -> Result<HostHandle<Op>, Error> {
        call.prepare(totals, max_len)
    }
    /// Other arrays than slices are read and written by the host: kernels are those of slices.
    fn prepare_like<Op: ScanOp>(
        call: &HostCall<'_, Op>,
        input: impl Input<Op::Input, Host>,
        output: impl Output<Op::Output, Host>,
        totals: Totals,
        max_len: usize,
    ) -> Result<HostHandle<Op>, Error> {
        call.prepare_like(&input.arrays(), &output.arrays(), totals, max_len)
    }
}
