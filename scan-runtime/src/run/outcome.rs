//! The outcome of a call, as a type.

use super::Memory;
use crate::{
    Error, ScanOp,
    arrays::{Input, Output, Shape},
    call,
};

/// The outcome of a call: [`Prefixes`], [`PrefixesAndTotal`], [`PrefixesAndTotals`] or [`Totals`].
///
/// | outcome | `run` | `run_into` |
/// |---|---|---|
/// | [`Prefixes`] | the results | `()` |
/// | [`PrefixesAndTotal`] | the results and the total | the total |
/// | [`PrefixesAndTotals`] | the results and the totals | the totals |
/// | [`Totals`] | a result for each segment | `()` |
///
/// Results and totals are a `Vec` in host memory, a `CudaSlice` in device memory. The total is an `Option`: there is
/// none of no elements.
#[allow(private_interfaces, reason = "nobody else names private types")]
pub trait Outcome: sealed::Outcome + Send + Sync + 'static {
    /// What a run gives in new memory.
    type New<M: Memory, Op: ScanOp, S: Shape>;
    /// The same of a call without segments: of a reduction in host memory one result.
    type Whole<M: Memory, Op: ScanOp, S: Shape>;
    /// What a run gives that writes the results to memory of the caller's.
    type Also<M: Memory, Op: ScanOp>;
    /// The outcome of a handle's runs without further words.
    #[doc(hidden)]
    type OfHandle: Outcome;
    /// Whether there are totals only.
    #[doc(hidden)]
    const FOLDS: bool;
    /// The totals in addition to prefixes.
    #[doc(hidden)]
    const TOTALS: call::Totals;

    #[doc(hidden)]
    fn run<M: Memory, Op: ScanOp, S: Shape>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M, Shape = S>,
    ) -> Result<Self::New<M, Op, S>, Error>;
    #[doc(hidden)]
    fn run_whole<M: Memory, Op: ScanOp, S: Shape>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M, Shape = S>,
    ) -> Result<Self::Whole<M, Op, S>, Error>;
    #[doc(hidden)]
    fn run_into<M: Memory, Op: ScanOp>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M>,
        output: impl Output<Op::Output, M>,
    ) -> Result<Self::Also<M, Op>, Error>;
}

/// A result for every element: a [scan](crate::Scan).
#[derive(Clone, Copy, Debug, Default)]
pub struct Prefixes;

/// A result for every element, and the [total](crate::Scan::with_total).
#[derive(Clone, Copy, Debug, Default)]
pub struct PrefixesAndTotal;

/// A result for every element, and the [total of each segment](crate::Scan::with_totals).
#[derive(Clone, Copy, Debug, Default)]
pub struct PrefixesAndTotals;

/// One result, or one for each segment: a [reduction](crate::Reduce).
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals;

#[allow(private_interfaces, reason = "as of the trait")]
impl<R: Results> Outcome for R {
    type New<M: Memory, Op: ScanOp, S: Shape> = NewResults<R, M, Op, S>;
    type Whole<M: Memory, Op: ScanOp, S: Shape> = NewResults<R, M, Op, S>;
    type Also<M: Memory, Op: ScanOp> = R::Totals<M, Op::Carry>;
    type OfHandle = Prefixes;
    const FOLDS: bool = false;
    const TOTALS: call::Totals = <R as Results>::ADDED;

    #[inline]
    fn run<M: Memory, Op: ScanOp, S: Shape>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M, Shape = S>,
    ) -> Result<NewResults<R, M, Op, S>, Error> {
        M::scan::<R, Op, S>(call, input)
    }
    #[inline]
    fn run_whole<M: Memory, Op: ScanOp, S: Shape>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M, Shape = S>,
    ) -> Result<NewResults<R, M, Op, S>, Error> {
        M::scan::<R, Op, S>(call, input)
    }
    #[inline]
    fn run_into<M: Memory, Op: ScanOp>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M>,
        output: impl Output<Op::Output, M>,
    ) -> Result<R::Totals<M, Op::Carry>, Error> {
        M::scan_into::<R, Op>(call, input, output)
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Outcome for Totals {
    type New<M: Memory, Op: ScanOp, S: Shape> = NewReduced<M, Op, S>;
    type Whole<M: Memory, Op: ScanOp, S: Shape> = M::One<Op::Output>;
    type Also<M: Memory, Op: ScanOp> = ();
    type OfHandle = Self;
    const FOLDS: bool = true;
    const TOTALS: call::Totals = call::Totals::None;

    fn run<M: Memory, Op: ScanOp, S: Shape>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M, Shape = S>,
    ) -> Result<NewReduced<M, Op, S>, Error> {
        M::reduce_each::<Op, S>(call, input)
    }
    fn run_whole<M: Memory, Op: ScanOp, S: Shape>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M, Shape = S>,
    ) -> Result<M::One<Op::Output>, Error> {
        M::reduce::<Op>(call, input)
    }
    fn run_into<M: Memory, Op: ScanOp>(
        call: &M::Call<'_, Op>,
        input: impl Input<Op::Input, M>,
        output: impl Output<Op::Output, M>,
    ) -> Result<(), Error> {
        M::reduce_into::<Op>(call, input, output)
    }
}

mod sealed {
    /// Seals [`Outcome`](super::Outcome).
    pub trait Outcome {}

    impl Outcome for super::Prefixes {}
    impl Outcome for super::PrefixesAndTotal {}
    impl Outcome for super::PrefixesAndTotals {}
    impl Outcome for super::Totals {}
}

/// New results of a reduction.
pub(crate) type NewReduced<M, Op, S> = <M as Memory>::Reduced<S, <Op as ScanOp>::Output>;

/// New results, with the totals that `R` gives.
pub(crate) type NewResults<R, M, Op, S> = <R as Results>::With<
    <M as Memory>::Results<S, <Op as ScanOp>::Output>,
    <R as Results>::Totals<M, <Op as ScanOp>::Carry>,
>;

/// The outcome of a scan: prefixes, and perhaps totals.
#[allow(private_interfaces, reason = "nobody else names private types")]
pub trait Results: sealed::Outcome + Send + Sync + 'static {
    /// The totals, of carries `C` in memory `M`: none, the total if there is one, or an array of them.
    type Totals<M: Memory, C>;
    /// New prefixes `Y` and totals `T`: prefixes alone, or a pair.
    type With<Y, T>;

    #[doc(hidden)]
    const ADDED: call::Totals;
    #[doc(hidden)]
    fn with<Y, T>(prefixes: Y, totals: T) -> Self::With<Y, T>;
    /// Room for the totals.
    #[doc(hidden)]
    fn room<M: Memory, C>(
        one: impl FnOnce() -> Result<Option<M::One<C>>, Error>,
        each: impl FnOnce() -> Result<M::New<C>, Error>,
    ) -> Result<Self::Totals<M, C>, Error>;
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "nobody else calls it")]
    fn place<M: Memory, C>(totals: &mut Self::Totals<M, C>) -> Place<'_, M, C>;
}

/// Where totals go that a run gives.
pub(crate) enum Place<'t, M: Memory, C> {
    None,
    Last(&'t mut Option<M::One<C>>),
    Each(&'t mut M::New<C>),
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Results for Prefixes {
    type Totals<M: Memory, C> = ();
    type With<Y, T> = Y;
    const ADDED: call::Totals = call::Totals::None;

    fn with<Y, T>(prefixes: Y, _: T) -> Y {
        prefixes
    }
    fn room<M: Memory, C>(
        _: impl FnOnce() -> Result<Option<M::One<C>>, Error>,
        _: impl FnOnce() -> Result<M::New<C>, Error>,
    ) -> Result<(), Error> {
        Ok(())
    }
    fn place<M: Memory, C>(_: &mut ()) -> Place<'_, M, C> {
        Place::None
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Results for PrefixesAndTotal {
    type Totals<M: Memory, C> = Option<M::One<C>>;
    type With<Y, T> = (Y, T);
    const ADDED: call::Totals = call::Totals::Last;

    fn with<Y, T>(prefixes: Y, total: T) -> (Y, T) {
        (prefixes, total)
    }
    fn room<M: Memory, C>(
        one: impl FnOnce() -> Result<Option<M::One<C>>, Error>,
        _: impl FnOnce() -> Result<M::New<C>, Error>,
    ) -> Result<Option<M::One<C>>, Error> {
        one()
    }
    fn place<M: Memory, C>(total: &mut Option<M::One<C>>) -> Place<'_, M, C> {
        Place::Last(total)
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Results for PrefixesAndTotals {
    type Totals<M: Memory, C> = M::New<C>;
    type With<Y, T> = (Y, T);
    const ADDED: call::Totals = call::Totals::PerSegment;

    fn with<Y, T>(prefixes: Y, totals: T) -> (Y, T) {
        (prefixes, totals)
    }
    fn room<M: Memory, C>(
        _: impl FnOnce() -> Result<Option<M::One<C>>, Error>,
        each: impl FnOnce() -> Result<M::New<C>, Error>,
    ) -> Result<M::New<C>, Error> {
        each()
    }
    fn place<M: Memory, C>(totals: &mut M::New<C>) -> Place<'_, M, C> {
        Place::Each(totals)
    }
}
