//! Calls of methods, functions and macros.

use crate::errors::Errors;
use crate::language::{self, HEAP_TYPES, PRIMITIVES};
use crate::operator::is_of_trait;
use crate::syntax::{is_primitive, method_of_type};
use quote::ToTokens;
use syn::{Expr, ExprCall, ExprMethodCall, Generics, Ident};

/// A macro other than an assertion.
pub(super) fn macro_call(mac: &syn::Macro, errors: &mut Errors) {
    let name = mac.path.to_token_stream().to_string().replace(' ', "");
    let instead = match name.as_str() {
        "assert_eq" => "`assert!(a == b)`",
        "assert_ne" => "`assert!(a != b)`",
        "panic" | "unreachable" | "todo" | "unimplemented" => "`assert!(condition)` before the value",
        "matches" => "`match x { … => true, _ => false }`",
        "vec" => "an array, `[a, b]`",
        _ => {
            let message = format!(
                "`{name}!` is outside the operator language: the only macros are `assert!` and `debug_assert!`"
            );
            errors.at(&mac.path, message);
            return;
        }
    };
    errors.at(&mac.path, format!("`{name}!` is outside the operator language: write {instead}"));
}

/// A method, its receiver and arguments aside.
pub(super) fn method_call(call: &ExprMethodCall, errors: &mut Errors) {
    let name = call.method.to_string();
    if name == "len" && call.args.is_empty() {
        return;
    }
    if is_own(call) {
        errors.at(&call.method, of_operator(&name));
        return;
    }
    match language::find(&name) {
        None => errors.at(&call.method, language::unknown(&name)),
        Some(method) if method.arguments != call.args.len() => {
            let takes = method.arguments;
            errors.at(&call.method, format!("`{name}` takes {takes} {}", plural(takes)));
        }
        Some(_) => {
            if let Some(turbofish) = &call.turbofish {
                errors.at(turbofish, "numeric methods have no type arguments: remove them");
            }
        }
    }
}

/// A call of a function, its arguments aside, in a function of these generic parameters and this name.
pub(super) fn call(call: &ExprCall, generics: &Generics, own_name: Option<&Ident>, errors: &mut Errors) {
    let Expr::Path(function) = &*call.func else {
        errors.at(&call.func, "outside the operator language: a function is called by its name");
        return;
    };
    let path = &function.path;
    let Some(last) = path.segments.last() else { return };
    let name = last.ident.to_string();
    let of_type = match path.segments.first() {
        Some(first) if path.segments.len() == 3 && first.ident == "half" => is_primitive(&path.segments[1].ident),
        Some(first) if path.segments.len() == 2 => {
            is_primitive(&first.ident) || generics.type_params().any(|parameter| parameter.ident == first.ident)
        }
        _ => false,
    };
    if of_type && language::conversion(&name).is_some() && call.args.len() == 1 {
        return;
    }
    match method_of_type(path) {
        Some(method) if of_type => {
            let takes = method.arguments + 1;
            if call.args.len() != takes {
                errors.at(&call.args, format!("`{name}` takes {takes} values"));
            }
        }
        _ if of_type => errors.at(&last.ident, language::unknown(&name)),
        _ if path.segments.len() == 1 && matches!(name.as_str(), "Some" | "Ok" | "Err") => {
            errors.at(path, language::no_option(&name));
        }
        _ if name.starts_with(|first: char| first.is_uppercase()) => {}
        _ => helper_call(function, &name, own_name, errors),
    }
}

fn helper_call(function: &syn::ExprPath, name: &str, own_name: Option<&Ident>, errors: &mut Errors) {
    let path = &function.path;
    let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let of_library = path.leading_colon.is_none() && matches!(segments[0].as_str(), "std" | "core" | "alloc");
    let of_type = segments.len() > 1 && segments[segments.len() - 2].starts_with(|first: char| first.is_uppercase());
    let message = if function.qself.is_some() {
        "outside the operator language: call a method on its value, `a.max(b)`".to_owned()
    } else if let [_, .., owner, _] = segments.as_slice()
        && PRIMITIVES.contains(&owner.as_str())
    {
        format!("write `{owner}::{name}`, without a path before it")
    } else if of_library && language::find(name).is_some() {
        format!("an operator cannot call the standard library's functions: write the method, `a.{name}(…)`")
    } else if of_library {
        "an operator cannot call the standard library's functions: write the arithmetic out".to_owned()
    } else if of_type && HEAP_TYPES.contains(&segments[segments.len() - 2].as_str()) {
        "there is no heap on the GPU: use an array, `[0.0_f32; 4]`, or a `#[scan_element]` struct".to_owned()
    } else if of_type && segments.len() == 2 && segments[0] == "Self" && is_of_trait(name) {
        of_operator(name)
    } else if of_type {
        format!(
            "functions of a type are outside the operator language: make `{name}` a function of its own, marked `#[scan_fn]`"
        )
    } else if segments.len() == 1 && own_name.is_some_and(|own| own == name) {
        "a function on the GPU cannot call itself: write a loop".to_owned()
    } else {
        return;
    };
    errors.at(path, message);
}

/// Whether it is `self.combine(…)`, or another function of the operator's own.
pub(super) fn is_own(call: &ExprMethodCall) -> bool {
    let on_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
    on_self && is_of_trait(&call.method.to_string())
}

/// The message for an operator that calls one of its own functions.
fn of_operator(name: &str) -> String {
    format!(
        "an operator cannot call its own `{name}`: write a loop, or move what both need into a function marked `#[scan_fn]`"
    )
}

fn plural(arguments: usize) -> &'static str {
    if arguments == 1 { "argument" } else { "arguments" }
}
