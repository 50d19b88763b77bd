//! Methods, functions of types, and functions that are marked `#[scan_fn]`.

use super::Lowerer;
use super::build::struct_type;
use super::expression::NEEDS_SUFFIX;
use crate::ir::{Call, Callee, Expression};
use crate::language::{self, Conversion, Written};
use crate::syntax::{is_of_type, method_of_type, plain};
use syn::spanned::Spanned;
use syn::{Expr, ExprCall, ExprMethodCall, Path, PathArguments, Type};

impl Lowerer<'_> {
    pub(super) fn method_call(&mut self, call: &ExprMethodCall) -> Option<Expression> {
        let mut exprs: Vec<&Expr> = vec![&call.receiver];
        exprs.extend(call.args.iter());
        let mut values = self.operands(&exprs)?.into_iter();
        let receiver = values.next()?;
        if !receiver.is_typed() {
            return self.wrong(&call.receiver, NEEDS_SUFFIX);
        }
        match language::find(&call.method.to_string()) {
            Some(method) => method_of(method, receiver, values.collect()),
            // The only method that is not one of numbers.
            None => Some(Expression::Length(Box::new(receiver))),
        }
    }

    pub(super) fn call(&mut self, call: &ExprCall, expected: Option<&Type>) -> Option<Expression> {
        let Expr::Path(function) = &*call.func else {
            return self.wrong(&call.func, "outside the operator language: a function is called by its name");
        };
        let path = &function.path;
        let exprs: Vec<&Expr> = call.args.iter().collect();
        let name = path.segments.last()?.ident.to_string();
        if name.starts_with(|first: char| first.is_uppercase()) {
            let names = (0..exprs.len()).map(|index| index.to_string()).collect();
            return self.structure_of(struct_type(path, expected), names, exprs, None);
        }
        let mut values = self.operands(&exprs)?;
        if !is_of_type(path) {
            return Some(Expression::Call(Box::new(function_of(path, values))));
        }
        let owner = owner(path);
        if values.is_empty() {
            return None;
        }
        let first = values.remove(0);
        match (language::conversion(&name), method_of_type(path)) {
            (Some(Conversion::From), _) => Some(Expression::Cast(owner, Box::new(first))),
            (Some(Conversion::Function(name, _)), _) => Some(Expression::FromOther(owner, name, Box::new(first))),
            (None, Some(method)) => {
                let receiver = if first.is_typed() { first } else { Expression::Typed(owner, Box::new(first)) };
                method_of(method, receiver, values)
            }
            (None, None) => self.wrong(path, "only numeric methods are called by their type"),
        }
    }
}

/// A numeric method. Methods that mean the same as an operator of the GPU's text become that operator.
fn method_of(
    method: &'static language::Method,
    receiver: Expression,
    mut arguments: Vec<Expression>,
) -> Option<Expression> {
    let receiver = Box::new(receiver);
    match method.written {
        Written::Itself => Some(Expression::Method { method, receiver, arguments }),
        Written::Other(name) => Some(Expression::Method { method: language::find(name)?, receiver, arguments }),
        Written::Operator(operator) => Some(Expression::Binary(operator, receiver, Box::new(arguments.pop()?))),
        Written::Negative => Some(Expression::Negative(receiver)),
    }
}

/// A call of a `#[scan_fn]`. The type that this attribute makes has the function's own name.
fn function_of(path: &Path, arguments: Vec<Expression>) -> Call {
    let mut found = path.clone();
    let mut generics = PathArguments::None;
    if let Some(last) = found.segments.last_mut() {
        generics = std::mem::take(&mut last.arguments);
    }
    let span = path.segments.last().map_or_else(|| path.span(), |last| last.ident.span());
    let alias = syn::Ident::new(&alias_of(&found), span);
    Call { callee: Callee { path: found, alias }, generics, arguments }
}

/// The name of a function in the text: a different one for each path.
fn alias_of(path: &Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| plain(&segment.ident)).collect();
    let lengths: String = match (path.leading_colon, names.as_slice()) {
        (None, [_]) => String::new(),
        // `a::b__c` and `a__b::c` differ in these.
        (root, names) => {
            let root = root.map(|_| "0_".to_owned());
            root.into_iter().chain(names.iter().map(|name| format!("{}_", name.len()))).collect()
        }
    };
    format!("scan_fn_{lengths}{}", names.join("__"))
}

/// `f32` of `f32::max`.
fn owner(path: &Path) -> Box<Type> {
    let mut owner = path.clone();
    owner.segments.pop();
    owner.segments.pop_punct();
    Box::new(syn::parse_quote!(#owner))
}
