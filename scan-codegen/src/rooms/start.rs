//! What a segment begins with.

use crate::{operator::OpSource, spec::ScanSpec};

/// How kernels speak of their initial value.
pub(crate) struct InitialValue<'a> {
    /// The parameter, with the comma before it.
    pub(crate) parameter: &'static str,
    /// The value that one thread passes to the others, where one does.
    pub(crate) passed: &'static str,
    /// What a `Start` is made of.
    pub(crate) start: &'a str,
}

/// `constant` is what an operator with a carry begins with by itself. `shared` is the name by which kernels know the
/// initial value that one of their threads has read.
pub(crate) fn initial_value<'a>(spec: &ScanSpec, constant: &'a str, shared: Option<&'static str>) -> InitialValue<'a> {
    let (parameter, passed, start) = match (spec.initial_value || spec.initial_values, spec) {
        (false, _) => ("", "", constant),
        (true, ScanSpec { initial_values: true, .. }) => (", const Carry* initial_values", "", ""),
        (true, ScanSpec { initial_late: true, .. }) => {
            (", const LateValue* late", "{late}", shared.map_or("late", |_| "late_value()"))
        }
        (true, ScanSpec { initial_on_device: true, .. }) => {
            let value = "initial_pointer[0]";
            (", const Carry* initial_pointer", value, shared.unwrap_or(value))
        }
        (true, _) => (", const Carry initial_value", "initial_value", shared.unwrap_or("initial_value")),
    };
    InitialValue { parameter, passed, start }
}

/// The name by which the pipeline of look-ahead knows the initial value.
pub(crate) const OF_PIPELINE: &str = "first_value()[0]";

/// Whether one thread reads the initial value, and passes it to the others.
pub(crate) fn is_passed(spec: &ScanSpec) -> bool {
    spec.initial_value && !spec.initial_values
}

/// The templates of what segments begin with, and prefixes.
pub(crate) fn start(operator: &OpSource, spec: &ScanSpec) -> [&'static str; 2] {
    match (operator.carry.is_some(), spec.initial_value || spec.initial_values) {
        _ if spec.initial_late => ["start_late", "starts_with_value"],
        (true, _) => ["start_carry", "starts_empty"],
        (false, true) => ["start_value", "starts_with_value"],
        (false, false) => ["start_none", "starts_empty"],
    }
}
