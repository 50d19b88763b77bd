//! The outcome of a call, as a type.

use super::Memory;
use crate::Error;

/// The outcome of a call: [`Prefixes`], [`PrefixesAndTotal`], [`PrefixesAndTotals`] or [`Totals`].
pub trait Outcome: sealed::Outcome {}

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

impl Outcome for Prefixes {}
impl Outcome for PrefixesAndTotal {}
impl Outcome for PrefixesAndTotals {}
impl Outcome for Totals {}

mod sealed {
    use crate::call;

    /// Seals [`Outcome`](super::Outcome).
    pub trait Outcome: Send + Sync + 'static {
        /// Whether there are totals only.
        const FOLDS: bool = false;
        /// The totals in addition to prefixes.
        #[allow(private_interfaces, reason = "nobody else reads it")]
        const TOTALS: call::Totals = call::Totals::None;
        /// The outcome of a handle's runs without further words.
        type OfHandle: super::Outcome;
    }

    impl Outcome for super::Prefixes {
        type OfHandle = Self;
    }
    #[allow(private_interfaces, reason = "as of the trait")]
    impl Outcome for super::PrefixesAndTotal {
        const TOTALS: call::Totals = call::Totals::Last;
        type OfHandle = super::Prefixes;
    }
    #[allow(private_interfaces, reason = "as of the trait")]
    impl Outcome for super::PrefixesAndTotals {
        const TOTALS: call::Totals = call::Totals::PerSegment;
        type OfHandle = super::Prefixes;
    }
    impl Outcome for super::Totals {
        const FOLDS: bool = true;
        type OfHandle = Self;
    }
}

/// The outcome of a scan: prefixes, and perhaps totals.
pub trait Results: Outcome {
    /// The totals, of carries `C` in memory `M`: none, the total if there is one, or an array of them.
    type Totals<M: Memory, C>;
    /// New prefixes `Y` and totals `T`: prefixes alone, or a pair.
    type With<Y, T>;

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
