//! Rust statements to the statements and expressions of [`ir`](crate::ir).
//!
//! The body keeps the shape of the user's Rust: the prelude's classes have Rust's names and Rust's meaning, so that
//! most expressions stay unchanged. The changes: a block's value becomes a `return` or a variable, a shadowing `let` a
//! new name, an operand that has side effects a variable of its own, because C++ leaves the order of operands open.
//!
//! To find out whether a Rust expression is one expression of C++, [`Lowerer::alone`] lowers it, and undoes that if it
//! needs a statement before it.

mod build;
mod call;
mod choice;
mod expression;
pub(crate) mod flow;
mod literal;
mod local;
mod loops;
mod operators;
mod pattern;
mod scope;
mod statement;
#[cfg(test)]
mod tests;

use crate::advance;
use crate::errors::Errors;
use crate::hygiene;
use crate::ir::reads::{is_assigned, reads};
use crate::ir::{Declared, Expression, Lowered, Statement, unneeded};
use crate::operator::{Function, Operator};
use crate::syntax::plain;
use choice::Trial;
use loops::Loop;
use proc_macro2::Span;
use quote::ToTokens;
use scope::Scopes;
use std::collections::BTreeSet;
use std::fmt::Display;
use syn::{FnArg, Ident, ReturnType, Type};

/// Lowers every function of a checked operator.
pub(crate) fn operator(operator: &Operator, errors: &mut Errors) -> Vec<Lowered> {
    let lowered = |function: &Function| {
        let mut lowered = self::function(function, errors);
        if operator.advance.is_some() && advance::is_half(function) {
            unneeded::leave_out(&mut lowered.body);
        }
        lowered
    };
    operator.functions.iter().map(lowered).collect()
}

/// Lowers a checked function.
pub(crate) fn function(function: &Function, errors: &mut Errors) -> Lowered {
    Lowerer::new(errors).function(function)
}

/// Where the value of a statement goes.
#[derive(Clone, Debug)]
enum Sink {
    Return,
    Assign(Expression),
    Discard,
}

/// Statements that return the value of a variable. C++ finds its type out, so none of them may leave the function, or
/// a loop around them.
struct Lambda {
    /// How many loops are around it.
    loops: usize,
    /// Whether something in it leaves it.
    is_left: bool,
    /// Whether it returns a literal whose type is not known.
    is_untyped: bool,
}

struct Lowerer<'a> {
    errors: &'a mut Errors,
    bindings: Vec<Ident>,
    scopes: Scopes,
    /// The statements so far.
    out: Vec<Statement>,
    loops: Vec<Loop>,
    /// The lambdas around this place, the innermost last.
    lambdas: Vec<Lambda>,
    /// The type that `return` gives its value.
    returns: Option<Type>,
    /// While an expression is tried for whether it needs statements.
    trial: Option<Trial>,
}

impl<'a> Lowerer<'a> {
    fn new(errors: &'a mut Errors) -> Self {
        Lowerer {
            errors,
            bindings: Vec::new(),
            scopes: Scopes::default(),
            out: Vec::new(),
            loops: Vec::new(),
            lambdas: Vec::new(),
            returns: None,
            trial: None,
        }
    }

    fn function(mut self, function: &Function) -> Lowered {
        let named = hygiene::named(function);
        let returns = match &named.signature.output {
            ReturnType::Type(_, ty) => (**ty).clone(),
            ReturnType::Default => syn::parse_quote!(()),
        };
        self.returns = Some(returns.clone());
        self.scopes.open();
        let mut parameters = Vec::new();
        let mut changing = BTreeSet::new();
        let mut patterns = Vec::new();
        for input in &named.signature.inputs {
            let FnArg::Typed(typed) = input else { continue };
            let name = match &*typed.pat {
                syn::Pat::Ident(ident) if ident.subpat.is_none() => {
                    let name = self.scopes.fresh(&plain(&ident.ident));
                    self.scopes.bind(&ident.ident, Expression::Variable(name.clone()), ident.mutability.is_some());
                    if ident.mutability.is_some() {
                        changing.insert(name.clone());
                    }
                    name
                }
                pattern => {
                    let name = self.scopes.fresh("value");
                    patterns.push((pattern, name.clone()));
                    name
                }
            };
            parameters.push(name);
        }
        for (pattern, name) in patterns {
            self.destructure(pattern, &Expression::Variable(name));
        }
        self.block(&named.block, &Sink::Return, Some(&returns));
        self.scopes.close();
        for parameter in parameters.iter_mut().filter(|name| changing.contains(*name)) {
            self.copy_if_unread(parameter);
        }
        Lowered {
            name: function.signature.ident.to_string(),
            parameters,
            body: self.out,
            bindings: self.bindings.into_iter().map(|ident| named.original(ident)).collect(),
            assumption: named.assumption,
        }
    }

    /// Gives a parameter that is only written to another name, and its own to a variable, which can be marked as
    /// unread.
    fn copy_if_unread(&mut self, parameter: &mut String) {
        if reads(&self.out).contains(parameter.as_str()) || !is_assigned(&self.out, parameter) {
            return;
        }
        let given = self.scopes.fresh(parameter);
        let copy = Statement::Declare {
            name: parameter.clone(),
            ty: Declared::Auto,
            value: Some(Expression::Variable(given.clone())),
            may_be_unread: false,
        };
        self.out.insert(0, copy);
        *parameter = given;
    }

    /// Notes that what follows stands on the line of `span`.
    fn mark(&mut self, span: Span) {
        self.emit(Statement::Line(span.start().line));
    }

    /// The next statement.
    fn emit(&mut self, statement: Statement) {
        match &mut self.trial {
            Some(trial) => trial.failed = true,
            None => self.out.push(statement),
        }
    }

    /// The statements that something emits, for a body.
    fn within(&mut self, emit: impl FnOnce(&mut Self)) -> Vec<Statement> {
        let around = std::mem::take(&mut self.out);
        emit(self);
        std::mem::replace(&mut self.out, around)
    }

    /// Notes an error, and returns a placeholder for the value, which is not used.
    fn wrong(&mut self, tokens: impl ToTokens, message: impl Display) -> Option<Expression> {
        self.errors.at(tokens, message);
        Some(Expression::Truth(false))
    }

    /// Keeps a value in a variable of its own.
    fn spill(&mut self, name: &str, value: Expression) -> Expression {
        if self.trial.is_some() {
            self.fail();
            return value;
        }
        let value = settled(value);
        let name = self.scopes.fresh(name);
        self.declare_own(&name, Declared::Constant, Some(value));
        Expression::Variable(name)
    }

    /// Declares a variable that the user did not write.
    fn declare_own(&mut self, name: &str, ty: Declared, value: Option<Expression>) {
        self.emit(Statement::Declare { name: name.to_owned(), ty, value, may_be_unread: false });
    }
}

/// The value for a place that takes its type from it.
fn settled(value: Expression) -> Expression {
    match value.typing() {
        crate::ir::typing::Typing::Bitwise => Expression::ValueOf(Box::new(value)),
        _ => value,
    }
}
