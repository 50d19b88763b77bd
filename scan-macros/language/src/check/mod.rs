//! The rules of the operator language: one small function per rule. Each error is at the tokens, and says what to write
//! instead.

mod body;
mod calls;
mod pattern;
mod signature;
#[cfg(test)]
mod tests;

use crate::attribute::Laws;
use crate::errors::Errors;
use crate::operator::{Function, Operator};
use crate::{depth, hygiene};
use body::Body;
use quote::ToTokens;
use syn::visit::Visit;

/// Every rule, over every function of the operator. A function whose signature is not the trait's is taken out, so that
/// rustc does not say the same once more.
pub(crate) fn operator(operator: &mut Operator, errors: &mut Errors) {
    operator.functions.retain(|function| {
        let before = errors.count();
        signature::operator(function, errors);
        errors.count() == before
    });
    let functions = &operator.functions;
    operator.advance.take_if(|_| !functions.iter().any(|function| function.signature.ident == "step"));
    laws(operator, errors);
    fields(operator, errors);
    for function in &operator.functions {
        let body = hygiene::ungrouped(&function.block);
        depth::body(&body, errors);
        let own_name = operator.declare.as_ref().map(|declare| &declare.ident);
        Body { errors, generics: &operator.generics, own_name }.visit_block(&body);
    }
}

/// A struct of C++ has no field with the name of one of its functions. Other names than these are kept away from
/// fields.
fn fields(operator: &Operator, errors: &mut Errors) {
    for field in &operator.fields {
        let name = field.to_token_stream().to_string();
        let also_function = ["append", "prepend", "apply", "step", "emit"].contains(&name.as_str());
        if also_function && operator.functions.iter().any(|function| function.signature.ident == name) {
            errors.at(field, format!("the operator has a function `{name}`: give the field another name"));
        }
    }
}

/// Every rule, over a function that operators can call.
pub(crate) fn helper(function: &Function, errors: &mut Errors) {
    signature::helper(function, errors);
    let signature = &function.signature;
    let body = hygiene::ungrouped(&function.block);
    depth::body(&body, errors);
    Body { errors, generics: &signature.generics, own_name: Some(&signature.ident) }.visit_block(&body);
}

/// The test of the laws needs a value of the operator, which only a struct without fields and parameters has by its
/// name.
fn laws(operator: &Operator, errors: &mut Errors) {
    let Some(Laws { name, operator: None, .. }) = &operator.laws else { return };
    if !operator.generics.params.is_empty() {
        errors.at(
            name,
            format!(
                "a generic operator is checked for types of your choice: `laws(operator = {}::<…>…)`, or `laws::check` in \
                 tests of your own",
                operator.name
            ),
        );
    } else if !operator.fields.is_empty() {
        let message =
            format!("`{0}` has fields: say which value is checked, `laws(operator = {0} {{ … }})`", operator.name);
        errors.at(name, message);
    }
}
