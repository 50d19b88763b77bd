//! What a segment begins with, and where its total goes.

use serde::Serialize;

use crate::{operator::OpSource, spec::ScanSpec};

/// What kernels speak of their initial value, their total and their length.
#[derive(Serialize)]
pub(crate) struct StartWords {
    /// The last parameters of a kernel, each with the comma before it: its length, its initial value, its total.
    last_parameters: String,
    /// What a `Start` is made of, and the initial value among it.
    start: String,
    initial_value: &'static str,
    /// Whether there is a total, of all or of each segment.
    total: bool,
    totals: bool,
    length_on_device: bool,
}

impl StartWords {
    /// `constant` is what an operator with a carry begins with by itself. `shared` is the name by which kernels know the
    /// initial value that one of their threads has read.
    pub(crate) fn new(spec: &ScanSpec, constant: &str, shared: Option<&'static str>) -> Self {
        let (start, initial_value, value) = match (spec.initial_value || spec.initial_values, spec) {
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
        let length = if spec.length_on_device { ", const unsigned long long* length" } else { "" };
        let total = match (spec.total, spec.totals) {
            (true, _) => ", Carry* total",
            (_, true) => ", Carry* totals",
            _ => "",
        };
        StartWords {
            last_parameters: [length, start, total].concat(),
            start: format!("{{{value}}}"),
            initial_value,
            total: spec.total,
            totals: spec.totals,
            length_on_device: spec.length_on_device,
        }
    }
}

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
