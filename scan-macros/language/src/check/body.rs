//! Statements, expressions and types.

use super::calls;
use super::pattern::pattern;
use crate::errors::Errors;
use crate::language::{self, HEAP_TYPES};
use crate::syntax::{asserted, range_of};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Generics, Lit, Local, Pat, Stmt, UnOp};

/// A body whose rules are checked.
pub(super) struct Body<'a> {
    pub(super) errors: &'a mut Errors,
    pub(super) generics: &'a Generics,
    /// The name of a function that must not call itself.
    pub(super) own_name: Option<&'a syn::Ident>,
}

impl<'ast> Visit<'ast> for Body<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        self.errors.at(attribute, "attributes inside an operator are not translated to CUDA: remove it");
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for statement in &block.stmts {
            match statement {
                Stmt::Item(item) => {
                    self.errors.at(item, "an operator cannot contain items: move it out of the function");
                }
                Stmt::Macro(statement) => self.macro_call(&statement.mac),
                Stmt::Local(local) => self.visit_local(local),
                Stmt::Expr(expr, _) => self.visit_expr(expr),
            }
        }
    }

    fn visit_local(&mut self, local: &'ast Local) {
        local.attrs.iter().for_each(|attribute| self.visit_attribute(attribute));
        pattern(&local.pat, self.errors);
        if let Pat::Type(typed) = &local.pat {
            match (&*typed.ty, strip_type(&local.pat)) {
                (syn::Type::Tuple(types), Pat::Tuple(_)) => types.elems.iter().for_each(|ty| self.visit_type(ty)),
                (ty, _) => self.visit_type(ty),
            }
        }
        let Some(init) = &local.init else {
            if let Pat::Tuple(names) = strip_type(&local.pat) {
                self.errors.at(names, "declare the names one by one: `let x: f32;`");
            }
            return;
        };
        if let Some((token, _)) = &init.diverge {
            self.errors.at(token, "`let … else` is outside the operator language: use `if`");
        }
        match (strip_type(&local.pat), &*init.expr) {
            (Pat::Tuple(_), Expr::Tuple(tuple)) => tuple.elems.iter().for_each(|item| self.visit_expr(item)),
            (Pat::Tuple(pat), expr) => self.errors.at(
                expr,
                format!(
                    "a tuple can only be taken apart where it is written: `let {} = (…, …);`",
                    pat.to_token_stream()
                ),
            ),
            (_, expr) => self.visit_expr(expr),
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let message = match expr {
            Expr::Reference(_) | Expr::RawAddr(_) => "there are no references in an operator: use the value itself",
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                "there are no references in an operator: remove the `*`"
            }
            Expr::Closure(_) => "closures are outside the operator language: write the expression in place",
            Expr::Unsafe(_) => "`unsafe` is outside the operator language: write it in safe Rust",
            Expr::Async(_) | Expr::Await(_) => {
                "`async` is outside the operator language: an operator is a plain computation"
            }
            Expr::Try(_) | Expr::TryBlock(_) => "`?` is outside the operator language: an operator always has a value",
            Expr::Yield(_) => "`yield` is outside the operator language",
            Expr::Const(_) => "move the constant out of the function, and name it here",
            Expr::Let(_) => "`if let` is outside the operator language: use `match`, or compare with `==`",
            Expr::Infer(_) => "`_` is no value here",
            Expr::Block(block) if block.label.is_some() => {
                self.errors
                    .at(&block.label, "labelled blocks are outside the operator language: use `if`, or a `loop`");
                return self.visit_block(&block.block);
            }
            Expr::Range(_) => "a range is only allowed in `for … in …`: compare with `<` instead",
            Expr::Tuple(tuple) if !tuple.elems.is_empty() => {
                "tuples are outside the operator language: make a struct with `#[scan_element]`, or use two `let`s"
            }
            Expr::Verbatim(_) => "outside the operator language",
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) | Lit::Byte(_) => return,
                Lit::Char(_) => "there is no `char` in an operator: use a byte, `b'x'`",
                _ => "there is no text in an operator: use numbers",
            },
            Expr::Macro(call) => return self.macro_call(&call.mac),
            Expr::Call(call) => {
                call.args.iter().for_each(|argument| self.visit_expr(argument));
                return calls::call(call, self.generics, self.own_name, self.errors);
            }
            Expr::MethodCall(call) => {
                if !calls::is_own(call) {
                    self.visit_expr(&call.receiver);
                }
                call.args.iter().for_each(|argument| self.visit_expr(argument));
                return calls::method_call(call, self.errors);
            }
            Expr::Path(path) => {
                if path.path.is_ident("self") {
                    "the operator's fields are read one by one: `self.field`"
                } else if path.path.is_ident("None") {
                    return self.errors.at(path, language::no_option("None"));
                } else {
                    return;
                }
            }
            Expr::Field(field) if matches!(&*field.base, Expr::Path(path) if path.path.is_ident("self")) => return,
            Expr::ForLoop(for_loop) => {
                pattern(&for_loop.pat, self.errors);
                match range_of(&for_loop.expr) {
                    Some(range) => {
                        range.start.iter().chain(range.end.iter()).for_each(|bound| self.visit_expr(bound));
                        if range.end.is_none() || range.start.is_none() {
                            self.errors.at(range, "a `for` needs both ends of its range: `0..n`, or write `loop`");
                        }
                    }
                    None => self.errors.at(&for_loop.expr, "a `for` in an operator runs over a range: `for i in 0..n`"),
                }
                return self.visit_block(&for_loop.body);
            }
            Expr::Match(matching) => {
                match &*matching.expr {
                    Expr::Tuple(tuple) => tuple.elems.iter().for_each(|item| self.visit_expr(item)),
                    scrutinee => self.visit_expr(scrutinee),
                }
                for arm in &matching.arms {
                    arm.attrs.iter().for_each(|attribute| self.visit_attribute(attribute));
                    pattern(&arm.pat, self.errors);
                    if let Pat::Guard(guard) = &arm.pat {
                        self.visit_expr(&guard.guard);
                    }
                    self.visit_expr(&arm.body);
                }
                return;
            }
            Expr::Assign(assign) => {
                match &*assign.left {
                    Expr::Infer(_) => {}
                    Expr::Tuple(tuple) => self.errors.at(tuple, "assign one by one, through a `let` if they swap"),
                    place => self.visit_expr(place),
                }
                return self.visit_expr(&assign.right);
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                return visit::visit_expr(self, expr);
            }
            _ => return visit::visit_expr(self, expr),
        };
        self.errors.at(expr, message);
    }

    fn visit_type(&mut self, ty: &'ast syn::Type) {
        match ty {
            syn::Type::Infer(_) => self.errors.at(ty, "write the type out: the GPU's text needs it"),
            syn::Type::Reference(_) | syn::Type::Ptr(_) => {
                self.errors.at(ty, "there are no references in an operator: use the value's type");
            }
            syn::Type::TraitObject(_) | syn::Type::ImplTrait(_) | syn::Type::FnPtr(_) => {
                self.errors
                    .at(ty, "an operator calls what it names: there are no trait objects and no function pointers");
            }
            syn::Type::Tuple(_) => {
                self.errors.at(ty, "tuples are outside the operator language: make a `#[scan_element]` struct")
            }
            syn::Type::Slice(_) => {
                self.errors.at(ty, "an operator's values have a fixed size: use an array, `[f32; 4]`")
            }
            syn::Type::Path(path)
                if path.path.segments.last().is_some_and(|last| HEAP_TYPES.iter().any(|heap| last.ident == heap)) =>
            {
                self.errors
                    .at(ty, "there is no heap on the GPU: use an array, `[f32; 4]`, or a `#[scan_element]` struct");
            }
            syn::Type::Path(path) if language::is_option(path) => {
                self.errors.at(ty, language::NO_OPTION_TYPE);
            }
            _ => visit::visit_type(self, ty),
        }
    }
}

fn strip_type(pat: &Pat) -> &Pat {
    match pat {
        Pat::Type(typed) => strip_type(&typed.pat),
        Pat::Paren(paren) => strip_type(&paren.pat),
        pat => pat,
    }
}

impl Body<'_> {
    fn macro_call(&mut self, mac: &syn::Macro) {
        if !mac.path.is_ident("assert") && !mac.path.is_ident("debug_assert") {
            return calls::macro_call(mac, self.errors);
        }
        match asserted(mac) {
            Ok(condition) => self.visit_expr(&condition),
            Err(error) => self.errors.push(error),
        }
    }
}
