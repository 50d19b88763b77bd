//! How a step's results change in one direction.

use super::carried;
use super::tangent::{Inlined, Known, Tangent, Tangents};
use super::writer::{Direction, Writer, field_of};
use super::zeros::member_name;
use crate::errors::Errors;
use crate::operator::Operator;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::BTreeMap;
use syn::Type;

/// The changes in one direction: statements, and the names of the changes of the state and of the output, where there
/// are.
pub(super) struct Along {
    pub(super) stmts: TokenStream,
    pub(super) state: Option<TokenStream>,
    pub(super) result: Option<TokenStream>,
}

impl Writer<'_> {
    pub(super) fn along(&self, direction: Direction, errors: &mut Errors) -> Along {
        self.along_of(direction, None, errors)
    }

    /// The same along a direction that is written in place.
    pub(super) fn along_in(&self, direction: Direction, value: TokenStream, errors: &mut Errors) -> Along {
        self.along_of(direction, Some(value), errors)
    }

    /// How the state after a step and the output change.
    pub(super) fn along_of(&self, direction: Direction, value: Option<TokenStream>, errors: &mut Errors) -> Along {
        let Operator { krate, input, state, output, .. } = self.operator;
        let carry = carried(self.operator);
        let own = |name: &str| self.names.own(name);
        let [before, input_name, after, lifted] = ["before", "input", "after", "lifted"].map(own);
        let [after_t, lifted_t, result_t] = ["after_change", "lifted_change", "result_change"].map(own);
        let value = value.unwrap_or_else(|| self.direction_name(direction).to_token_stream());
        let tangent = |of: Direction, ty: &Type| match of == direction {
            true => Tangent::Value(value.clone()),
            false => Tangent::Zero(Some(self.halves.zero(ty))),
        };
        let fields = self.gradient.parameters.iter().map(|(member, ty)| {
            let field = field_of(member);
            let tangent = match direction {
                Direction::Parameter => Tangent::Value(quote!(#value.#field)),
                _ => Tangent::Zero(Some(self.halves.zero(ty))),
            };
            (member_name(member), tangent)
        });
        let known = Known {
            krate,
            halves: self.halves,
            names: self.names.clone(),
            constants: BTreeMap::from([("IDENTITY", state.clone()), ("START", carry.clone())]),
            fields: fields.collect(),
        };
        // Most errors are the same in each direction.
        let mut found = Errors::default();
        let mut tangents = Tangents::new(&known, &mut found);
        let mut stmts = TokenStream::new();
        let mut inline = |name: &str, arguments: &[(TokenStream, Tangent)]| -> Option<Inlined> {
            let function = self.function(name)?;
            Some(tangents.inline(&function.signature, &function.block, arguments))
        };
        let of_before = (before.to_token_stream(), tangent(Direction::Carry, carry));
        let of_input = (input_name.to_token_stream(), tangent(Direction::Input, input));
        let arguments = [of_before.clone(), of_input.clone()];
        let moved = if self.operator.stepped.is_some() { "step" } else { "append" };
        let moved = inline(moved, &arguments).or_else(|| {
            let of_lifted = match inline("lift", std::slice::from_ref(&of_input)) {
                Some(inlined) => {
                    let value = &inlined.value;
                    stmts.extend(quote!(let #lifted: #state = #value;));
                    let tangent = named(inlined.tangent, &lifted_t, &self.halves.ty(state), &mut stmts);
                    (lifted.to_token_stream(), tangent)
                }
                None => of_input.clone(),
            };
            inline("combine", &[of_before.clone(), of_lifted])
        });
        let Some(Inlined { value, tangent: moved }) = moved else {
            return Along { stmts, state: None, result: None };
        };
        let moved = match moved {
            Tangent::Zero(_) => Tangent::Zero(Some(self.zero(carry))),
            value => named(value, &after_t, &quote!(#carry), &mut stmts),
        };
        let output = self.halves.ty(output);
        let result = match inline("emit", &arguments) {
            Some(inlined) => named(inlined.tangent, &result_t, &output, &mut stmts),
            None if self.function("project").is_some() => {
                stmts.extend(quote!(let #after: #carry = #value;));
                match inline("project", &[(after.to_token_stream(), moved.clone())]) {
                    Some(inlined) => named(inlined.tangent, &result_t, &output, &mut stmts),
                    None => Tangent::Zero(None),
                }
            }
            None => moved.clone(),
        };
        errors.add_new(found);
        let name = |tangent| match tangent {
            Tangent::Value(name) => Some(name),
            Tangent::Zero(_) => None,
        };
        Along { stmts, state: name(moved), result: name(result) }
    }
}

/// Gives a tangent a name.
fn named(tangent: Tangent, name: &Ident, ty: &TokenStream, stmts: &mut TokenStream) -> Tangent {
    match tangent {
        Tangent::Value(value) => {
            stmts.extend(quote!(let #name: #ty = #value;));
            Tangent::Value(name.to_token_stream())
        }
        zero => zero,
    }
}
