//! The variable of each Rust local: every `let` gets a name of its own, so that shadowing needs no C++ scopes.

use crate::ir::Expression;
use std::collections::{HashMap, HashSet};
use syn::Ident;

/// A local that is in scope.
#[derive(Clone)]
pub(super) struct Binding {
    /// The variable, or the part of one, that holds it.
    pub(super) place: Expression,
    /// Whether it may change.
    pub(super) mutable: bool,
}

#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<HashMap<String, Binding>>,
    taken: HashSet<String>,
    /// The variables that count the iterations of a loop or are computed from such variables, so that the compiler
    /// knows them once loops are unrolled.
    counted: HashSet<String>,
    /// The variables that are computed from the operator's parameters alone, so that all elements share them.
    invariant: HashSet<String>,
}

impl Scopes {
    pub(super) fn open(&mut self) {
        self.open.push(HashMap::new());
    }

    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    pub(super) fn bind(&mut self, ident: &Ident, place: Expression, mutable: bool) {
        if let Some(scope) = self.open.last_mut() {
            scope.insert(ident.to_string(), Binding { place, mutable });
        }
    }

    pub(super) fn find(&self, ident: &Ident) -> Option<&Binding> {
        let name = ident.to_string();
        self.open.iter().rev().find_map(|scope| scope.get(&name))
    }

    /// The variable is a number that the compiler knows once loops are unrolled.
    pub(super) fn count(&mut self, variable: &str) {
        self.counted.insert(variable.to_owned());
    }

    /// Whether an index is made of numbers, constants, and counters of loops alone.
    pub(super) fn is_counted(&self, index: &Expression) -> bool {
        index.is_made_of(&|variable| self.counted.contains(variable))
    }

    /// The variable is the same for all elements.
    pub(super) fn share(&mut self, variable: &str) {
        self.invariant.insert(variable.to_owned());
    }

    /// Whether all elements share a value.
    pub(super) fn is_invariant(&self, value: &Expression) -> bool {
        value.is_invariant(&|variable| self.invariant.contains(variable))
    }

    /// A name that this function has not used: `x`, then `x_1`, `x_2`, ….
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let mut fresh = name.to_owned();
        let mut number = 0;
        while !self.taken.insert(fresh.clone()) {
            number += 1;
            fresh = format!("{name}_{number}");
        }
        fresh
    }
}
