//! `gradient`: the backward pass of an operator, as an operator of its own.
//!
//! It is source to source. The tangents of the operator's functions ([`tangent`]) in the direction of each component
//! of the carry, the input and the parameters are the columns of the Jacobians. The result is an `impl ScanOp` in the
//! operator language, which goes through the passes like a user's. No later pass knows of gradients.

mod along;
mod arithmetic;
mod backward;
mod branches;
mod calls;
mod element;
mod function;
mod halves;
mod instances;
mod leaving;
mod methods;
mod names;
mod options;
mod own_self;
mod places;
mod returns;
mod rules;
mod statements;
mod tangent;
mod values;
mod variables;
mod writer;
mod zeros;

pub(crate) use element::components;
pub(crate) use function::tangent_of;
pub(crate) use options::Gradient;

use crate::attribute::Laws;
use crate::emit;
use crate::errors::Errors;
use crate::ir::Lowered;
use crate::operator::Operator;
use crate::passes;
use crate::syntax::is_primitive;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;
use writer::Writer;

/// The most parameters of a function with a gradient.
pub(super) const MAX_PARAMETERS: usize = 6;

/// The operators that are derived from an operator, and the implementations that name them.
pub(crate) fn operator(operator: &Operator, errors: &mut Errors) -> TokenStream {
    let instances = instances::of_operator(operator, errors);
    let test = match (&operator.laws, instances.first()) {
        (Some(laws), Some(first)) => Some(test_of_gradient(first, laws)),
        _ => None,
    };
    let derived = instances.iter().map(|instance| derived(instance, !operator.generics.params.is_empty(), errors));
    let derived: Vec<TokenStream> = derived.collect();
    quote!(#test #(#derived)*)
}

/// The gradient of an operator without parameters of its own.
fn derived(operator: &Operator, is_instance: bool, errors: &mut Errors) -> TokenStream {
    let Some(written) = written(operator, errors) else { return TokenStream::new() };
    let Operator { krate, self_ty, .. } = operator;
    let Written { names: [gradient, states], parameters, around, items } = &written;
    let expanded = items.iter().map(|item| passes::derived(krate, item.clone()));
    let structs = [gradient, states].map(|name| {
        quote! {
            #[derive(Clone, Copy, Debug, Default)]
            pub struct #name<O> {
                scan_operator: O,
            }
            impl<O> ::core::ops::Deref for #name<O> {
                type Target = O;
                #[inline(always)]
                fn deref(&self) -> &O {
                    &self.scan_operator
                }
            }
        }
    });
    let floats = [("carry", carried(operator)), ("output", &operator.output)].map(|(of, ty)| {
        let message = format!("`{}` has no gradient: there is no float in its {of}", operator.name);
        quote_spanned! {ty.span()=>
            const _: () = ::core::assert!(<#ty as #krate::gradient::Components>::COUNT > 0, #message);
        }
    });
    let generic = is_instance.then(|| instances::scope(krate));
    quote! {
        #[allow(unused, non_local_definitions, missing_docs, unreachable_pub, non_camel_case_types, clippy::all)]
        const _: () = {
            #generic
            #around
            #(#floats)*
            #parameters
            #(#structs)*
            #(#expanded)*
            impl #krate::gradient::Differentiable for #self_ty {
                type Gradient = #gradient<#self_ty>;
                type States = #states<#self_ty>;
                fn gradient(self) -> Self::Gradient {
                    #gradient { scan_operator: self }
                }
                fn states(self) -> Self::States {
                    #states { scan_operator: self }
                }
            }
        };
    }
}

/// A test that fails with the counterexample.
fn test_of_gradient(operator: &Operator, laws: &Laws) -> TokenStream {
    let Operator { krate, self_ty, .. } = operator;
    let name = emit::name_of_test("gradient_of", self_ty, laws);
    let value = emit::value_of_test(self_ty, laws);
    // The other options are for the laws: their tolerance is for rounding alone.
    let run = match &laws.samples {
        Some(samples) => quote!(.gradient(&#value, #samples)),
        None => quote!(.gradient_on_default_samples(&#value)),
    };
    quote! {
        #[cfg(test)]
        #[::core::prelude::v1::test]
        #[allow(non_snake_case)]
        fn #name() -> #krate::__private::LawsResult {
            #krate::__private::gradient_holds(&#krate::laws::Check::new()#run?)
        }
    }
}

/// The code of the two operators that are derived from an operator.
struct Written {
    names: [Ident; 2],
    /// The struct of the parameters, with its implementations.
    parameters: Option<TokenStream>,
    /// The scope of the impl blocks.
    around: TokenStream,
    /// The impl blocks.
    items: [TokenStream; 2],
}

/// The derived code of an operator with `gradient`; `None` of others, and after an error.
fn written(operator: &Operator, errors: &mut Errors) -> Option<Written> {
    let gradient = operator.gradient.as_ref()?;
    let before = errors.count();
    for (of, ty) in [("carry", carried(operator)), ("output", &operator.output)] {
        if function::is_discrete(ty) {
            errors.at(ty, format!("`{}` has no gradient: there is no float in its {of}", operator.name));
        }
    }
    if halves::is_half(carried(operator)) {
        errors.at(carried(operator), halves::CARRY);
    }
    for (member, ty) in &gradient.parameters {
        if !operator.fields.contains(member) {
            errors.at(member, format!("no function of the operator reads `self.{}`", member.to_token_stream()));
        }
        if let Type::Path(path) = ty
            && path.path.get_ident().is_some_and(|name| is_primitive(name) && !name.to_string().contains('f'))
        {
            errors.at(ty, "only floats have a gradient: leave this parameter out, so that it is a constant");
        }
    }
    if errors.count() > before {
        return None;
    }
    let writer = Writer::new(operator, gradient);
    let items = [writer.gradient(errors), writer.states()];
    let parameters = (!gradient.parameters.is_empty()).then(|| writer.parameters());
    let (scope, checks) = (writer.halves.scope(), writer.halves.checks(operator));
    let (names, around) = (writer.operators.clone(), quote!(#scope #checks));
    (errors.count() == before).then_some(Written { names, parameters, around, items })
}

/// The operator of the backward pass after the passes before `print`, where one is asked for.
pub(crate) fn backward(operator: &Operator, errors: &mut Errors) -> Option<(Operator, Vec<Lowered>)> {
    let operator = instances::of_operator(operator, errors).into_iter().next()?;
    let [item, _] = written(&operator, errors)?.items;
    let krate = &operator.krate;
    passes::lowered(quote!(crate = #krate), item, errors)
}

fn carried(operator: &Operator) -> &Type {
    operator.stepped.as_ref().map_or(&operator.state, |stepped| &stepped.carry)
}
