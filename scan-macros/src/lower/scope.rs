//! Which Rust local is which C++ name: every `let` gets a name of its own, so that shadowing needs no C++ scopes.

use crate::text::Text;
use std::collections::{HashMap, HashSet};
use syn::Ident;

/// A local that is in scope.
#[derive(Clone)]
pub(super) struct Binding {
    /// The variable, or the part of one, that holds it.
    pub(super) place: Text,
    /// Whether it may change.
    pub(super) mutable: bool,
    /// Whether it counts the rounds of a loop or is computed of such numbers, so that the compiler knows it once loops are
    /// unrolled.
    pub(super) counted: bool,
}

#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<HashMap<String, Binding>>,
    taken: HashSet<String>,
}

impl Scopes {
    pub(super) fn open(&mut self) {
        self.open.push(HashMap::new());
    }

    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    pub(super) fn bind(&mut self, ident: &Ident, place: Text, mutable: bool) {
        if let Some(scope) = self.open.last_mut() {
            scope.insert(ident.to_string(), Binding { place, mutable, counted: false });
        }
    }

    /// The local that was bound last by this name is a number that the compiler knows once loops are unrolled.
    pub(super) fn count(&mut self, ident: &Ident) {
        let name = ident.to_string();
        if let Some(binding) = self.open.iter_mut().rev().find_map(|scope| scope.get_mut(&name)) {
            binding.counted = true;
        }
    }

    pub(super) fn find(&self, ident: &Ident) -> Option<&Binding> {
        let name = ident.to_string();
        self.open.iter().rev().find_map(|scope| scope.get(&name))
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

/// The name as C++ can have it: raw identifiers lose their prefix, letters beyond ASCII become numbers, and no name looks
/// like one of the compiler's own (`__x`).
pub(crate) fn plain(ident: &Ident) -> String {
    plain_name(&ident.to_string())
}

/// The same of a name in text.
pub(crate) fn plain_name(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let mut plain = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            plain.push(letter);
        } else {
            plain.push_str(&format!("u{:x}", u32::from(letter)));
        }
    }
    match plain.strip_prefix("__") {
        Some(rest) => format!("_{}", rest.trim_start_matches('_')),
        None => plain,
    }
}
