//! Refuses operators and scans that have no plan. What holds of every plan that there is, `checker` says.

use crate::{
    array_kind::ArrayKind,
    carry::Exchange,
    computed::ComputedPlaces,
    constants::{MAX_ELEMENT_BYTES, MAX_PARAMETER_BYTES},
    element::ElementType,
    error::PlanError,
    limits::DeviceLimits,
    operator::{CarrySource, OpSource, OutputsOf},
    segments::Segments,
    spec::{ScanKind, ScanSpec},
    strategy::{Network, Strategy},
};

/// Refuses operators that no kernel can apply.
pub(crate) fn check_operator(operator: &OpSource) -> Result<(), PlanError> {
    operator.elements().try_for_each(check_element)?;
    let size = operator.parameters.as_ref().map_or(0, |parameters| parameters.size);
    if size > MAX_PARAMETER_BYTES {
        return Err(PlanError::ParametersTooLarge { operator: operator.name.clone(), size });
    }
    Ok(())
}

/// Refuses scans that this strategy does not support for this operator.
pub(super) fn check_scan(operator: &OpSource, spec: &ScanSpec, strategy: Strategy) -> Result<(), PlanError> {
    if let Segments::Keys(key) = &spec.segments {
        check_element(key)?;
    }
    spec.segments.check()?;
    check_index(operator, spec)?;
    check_arrays(operator, spec)?;
    check_length(operator, spec, strategy)?;
    check_late(operator, spec)?;
    check_outputs(operator, spec.outputs_of(operator))?;
    check_identity(operator, spec, strategy)
}

/// Refuses a stepped operator without `START` and an initial value.
pub(crate) fn check_start(operator: &OpSource, initial_value: bool) -> Result<(), PlanError> {
    match operator.carry {
        Some(CarrySource { start: None, .. }) if !initial_value => {
            Err(PlanError::NoStart { operator: operator.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Refuses results that the operator cannot make.
pub(crate) fn check_outputs(operator: &OpSource, wanted: OutputsOf) -> Result<(), PlanError> {
    let name = || operator.name.clone();
    match operator.outputs_of {
        outputs_of if outputs_of >= wanted => Ok(()),
        OutputsOf::NoStart => Err(PlanError::NoStartOfKeys { operator: name() }),
        OutputsOf::NoProject | OutputsOf::Inputs => Err(PlanError::NoProject { operator: name() }),
        OutputsOf::NoKey | OutputsOf::Totals | OutputsOf::Prefixes => Err(PlanError::NoKey { operator: name() }),
    }
}

/// Refuses a carry that needs a later architecture.
pub(super) fn check_architecture(strategy: Strategy, limits: &DeviceLimits) -> Result<(), PlanError> {
    match strategy.carry.describe().needs_sm_90 {
        Some(why) if limits.architecture.major < 9 => Err(refused(strategy, why)),
        _ => Ok(()),
    }
}

/// The error of a strategy that is not available, with the reason.
pub(super) fn refused(strategy: Strategy, why: &str) -> PlanError {
    PlanError::Strategy { strategy: strategy.to_string(), why: why.to_owned() }
}

/// Refuses elements that no kernel can copy.
fn check_element(ty: &ElementType) -> Result<(), PlanError> {
    match ty.size {
        0 => Err(PlanError::ZeroSized { name: ty.name.clone() }),
        1..=MAX_ELEMENT_BYTES => Ok(()),
        size => Err(PlanError::TooLarge { name: ty.name.clone(), size }),
    }
}

/// Refuses initial values and totals of segments that have no index before the scan, and totals of empty segments that
/// nothing tells.
fn check_index(operator: &OpSource, spec: &ScanSpec) -> Result<(), PlanError> {
    if spec.is_indexed() && !matches!(spec.segments, Segments::Rows | Segments::Offsets(_)) {
        return Err(PlanError::NoSegmentIndex { segments: spec.segments.to_string() });
    }
    if spec.is_indexed() && spec.total {
        return Err(PlanError::TotalOfEach);
    }
    let of_nothing = spec.initial_value || operator.carry.is_some() || operator.identity.is_some();
    match spec.totals && matches!(spec.segments, Segments::Offsets(_)) && !of_nothing {
        true => Err(PlanError::NoElements { operator: operator.name.clone() }),
        false => Ok(()),
    }
}

/// Refuses kinds of arrays that are not of this side of a scan, and strides where there is no shape.
fn check_kinds(spec: &ScanSpec) -> Result<(), PlanError> {
    let of_both = |kind| matches!(kind, ArrayKind::Places(_) | ArrayKind::NoMemory);
    let of_inputs = |kind: ArrayKind| kind.is_neighbour() || kind == ArrayKind::Bits;
    if !spec.input_kinds.are_slices_or(|kind| of_both(kind) || of_inputs(kind)) {
        let kinds =
            "slices, indices, gathered items, neighbours and bits; arrays with strides of their own along an axis";
        return Err(PlanError::ArrayKinds { what: "input", kinds });
    }
    match spec.output_kinds.are_slices_or(|kind| of_both(kind) || kind.is_computed()) {
        true => Ok(()),
        false => Err(PlanError::ArrayKinds { what: "output", kinds: "slices, scattered results and discarded ones" }),
    }
}

/// Refuses arrays that no kernel can read elements from, or write results to.
pub(crate) fn check_arrays(operator: &OpSource, spec: &ScanSpec) -> Result<(), PlanError> {
    let items = [spec.input.items(&operator.input), spec.output.items(&operator.output)];
    items.into_iter().flatten().try_for_each(check_element)?;
    check_places(operator, spec)
}

/// Refuses results that go to computed places where the first item of an output has not a place for each.
fn check_places(operator: &OpSource, spec: &ScanSpec) -> Result<(), PlanError> {
    check_kinds(spec)?;
    match spec.output_kinds.are_computed() && ComputedPlaces::of(spec, &operator.output).is_none() {
        true => Err(PlanError::NoPlace { name: operator.output.name.clone() }),
        false => Ok(()),
    }
}

/// Refuses a strategy whose launches are as many as the host knows elements for, and a total of no elements that
/// nothing tells, where only the device knows how many there are.
fn check_length(operator: &OpSource, spec: &ScanSpec, strategy: Strategy) -> Result<(), PlanError> {
    let facts = strategy.carry.describe();
    if spec.length_on_device && matches!(facts.exchange, Exchange::Aggregates) {
        return Err(refused(
            strategy,
            "its launches depend on the length, which only the device knows: choose another carry",
        ));
    }
    let of_nothing = spec.initial_value || operator.carry.is_some() || operator.identity.is_some();
    match spec.length_on_device && spec.total && !of_nothing {
        true => Err(PlanError::NoIdentity { operator: operator.name.clone() }),
        false => Ok(()),
    }
}

/// Refuses an initial value that arrives late where more than the prefix of the first tile would have to wait for it,
/// or where it depends on the device whether anything does.
fn check_late(operator: &OpSource, spec: &ScanSpec) -> Result<(), PlanError> {
    let (scan, instead) = match spec {
        ScanSpec { initial_late: false, .. } => return Ok(()),
        ScanSpec { segments, .. } if !segments.is_none() => {
            ("the scan restarts".to_owned(), "give the value with `init_from`, or values with `init_each`")
        }
        ScanSpec { length_on_device: true, .. } => {
            ("only the device knows the length".to_owned(), "let the host give the length")
        }
        _ if operator.carry.is_some() => {
            let scan = format!("`{}` goes from carry to carry", operator.name);
            (scan, "give the value with `init_from`, after a wait of the stream for what writes it")
        }
        _ => return Ok(()),
    };
    Err(PlanError::LateValue { scan, instead })
}

/// Refuses a strategy or a kind of scan that needs an identity, if the operator has none.
fn check_identity(operator: &OpSource, spec: &ScanSpec, strategy: Strategy) -> Result<(), PlanError> {
    check_start(operator, spec.initial_value)?;
    let name = || operator.name.clone();
    if operator.identity.is_some() {
        return Ok(());
    }
    if matches!(strategy.block.network, Network::Blelloch { .. }) {
        return Err(PlanError::StrategyNeedsIdentity { strategy: strategy.block.to_string(), operator: name() });
    }
    if spec.kind == ScanKind::Exclusive && !spec.initial_value && operator.carry.is_none() {
        return Err(PlanError::NoIdentity { operator: name() });
    }
    Ok(())
}
