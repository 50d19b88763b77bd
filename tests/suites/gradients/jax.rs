//! The whole backward pass, beside `jax.grad`: `values.py` made the values.

use std::collections::BTreeMap;

use scan_runtime::{Scanner, gradient::Components};
use serde::Deserialize;

use super::differences::{Carry, Gradients, Input, Output, Problem, largest_error};
use super::operators::{self, Case, Visitor, element};

#[derive(Deserialize)]
struct Values {
    name: String,
    parameters: Vec<f64>,
    first: Vec<f64>,
    x: Vec<f64>,
    weights: Vec<f64>,
    of_last: Vec<f64>,
    dx: Vec<f64>,
    d_first: Vec<f64>,
    d_parameters: Vec<f64>,
}

struct BesideJax(BTreeMap<String, Values>);

impl Visitor for BesideJax {
    fn visit<C: Case>(&mut self) {
        let values = self.0.remove(C::NAME).unwrap();
        let items = values.x.chunks(Input::<C>::COUNT).enumerate();
        let problem = Problem::<C> {
            parameters: values.parameters,
            first: element::<Carry<C>>(&values.first),
            x: items.map(|(index, components)| C::input(components, index)).collect(),
            weights: values.weights.chunks(Output::<C>::COUNT).map(element).collect(),
            of_last: element(&values.of_last),
        };
        let expected = Gradients { inputs: values.dx, first: values.d_first, parameters: values.d_parameters };
        let (error, place) = largest_error(&problem.gradients(&Scanner::cpu()), &expected);
        assert!(error <= 1e-10, "{}: {place}", C::NAME);
    }
}

#[test]
fn gradients_are_those_of_jax() {
    let values: Vec<Values> = serde_json::from_str(include_str!("values.json")).unwrap();
    assert!(values.len() >= 20);
    let mut beside = BesideJax(values.into_iter().map(|values| (values.name.clone(), values)).collect());
    operators::visit(&mut beside);
    assert_eq!(beside.0.into_keys().collect::<Vec<_>>(), Vec::<String>::new());
}
