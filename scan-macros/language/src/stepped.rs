//! What makes an operator stepped: a carry, where it starts, and how inputs and partial results move it on.

use crate::errors::Errors;
use crate::operator::{Function, Stepped, of_trait};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Ident, Type};

/// What an impl block says of a stepped operator.
pub(crate) struct Written<'a> {
    pub(crate) carry: Option<(Ident, Type)>,
    pub(crate) start: Option<(Ident, Type, Expr)>,
    pub(crate) functions: &'a [Function],
}

impl Written<'_> {
    /// The first part that is of a stepped operator only, if there is one.
    fn first(&self) -> Option<TokenStream> {
        let of_stepped = |name| self.functions.iter().find(|function| function.signature.ident == name);
        match (&self.carry, &self.start, ["step", "apply", "emit"].into_iter().find_map(of_stepped)) {
            (_, _, Some(function)) => Some(function.signature.ident.to_token_stream()),
            (Some((name, _)), _, _) | (_, Some((name, _, _)), _) => Some(name.to_token_stream()),
            (None, None, None) => None,
        }
    }

    /// Where a stepped operator without a state stands, and what it lacks.
    pub(crate) fn stateless(&self, operator: &str) -> Option<(TokenStream, String)> {
        self.first().map(|first| (first, no_monoid(operator)))
    }

    /// The stepped operator, if the operator is to be one. What it lacks is told where the first part of it stands.
    pub(crate) fn stepped(
        self,
        operator: &str,
        has_identity: bool,
        state: &Type,
        errors: &mut Errors,
    ) -> Option<Stepped> {
        let function = |name: &str| self.functions.iter().find(|function| function.signature.ident == name);
        let first = self.first()?;
        if function("combine").is_none() {
            errors.at(first, no_monoid(operator));
            return None;
        }
        let mut missing: Vec<String> = Vec::new();
        let mut needs = |is_there: bool, what: String| {
            if !is_there {
                missing.push(format!("`{what}`"));
            }
        };
        needs(self.carry.is_some(), "type Carry = …;".to_owned());
        needs(self.start.is_some(), "const START: Carry = …;".to_owned());
        needs(has_identity, "const IDENTITY: State = …;".to_owned());
        for name in ["apply", "step"] {
            needs(function(name).is_some(), written(name));
        }
        if !missing.is_empty() {
            errors.at(
                first,
                format!("a stepped operator moves a carry on, input by input; `{operator}` lacks {}", list(&missing)),
            );
        }
        // Any type will do from here on.
        let carry = self.carry.map_or_else(|| state.clone(), |(_, carry)| carry);
        let start = self.start.map(|(_, ty, value)| (ty, value))?;
        Some(Stepped { carry, start })
    }
}

/// What a stepped operator lacks that has no operator.
fn no_monoid(operator: &str) -> String {
    format!(
        "`{operator}` tells how an input moves the carry on, and not what a part of the input does to any carry: that is what \
         parts are scanned by at the same time. Add it as a monoid: `type State`, `IDENTITY`, `lift`, `combine`, and `{}`. \
         Where no small `State` tells it (FNV-1a has none), it is no scan",
        written("apply")
    )
}

fn written(name: &str) -> String {
    of_trait(name).map(|function| function.written.to_owned()).unwrap_or_default()
}

/// `a`, `b` and `c`.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
