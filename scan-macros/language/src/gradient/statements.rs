//! The tangents of statements: each statement, after one that changes the tangents of what it changes.

use super::tangent::Tangent::{Value, Zero};
use super::tangent::Tangents;
use crate::syntax::is_assignment;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{BinOp, Block, Expr, Pat, Stmt};

impl Tangents<'_> {
    pub(super) fn statements(&mut self, stmts: &[Stmt]) {
        for statement in stmts {
            match statement {
                Stmt::Local(local) => self.local(local),
                Stmt::Expr(expr, _) => self.statement(expr),
                // Assertions are the forward pass's.
                Stmt::Macro(_) | Stmt::Item(_) => {}
            }
        }
    }

    pub(super) fn both(&mut self, block: &Block) -> TokenStream {
        let (stmts, ()) = self.scoped(|this| this.statements(&block.stmts));
        quote!({ #(#stmts)* })
    }

    pub(super) fn statement(&mut self, expr: &Expr) {
        match expr {
            Expr::Paren(inner) => self.statement(&inner.expr),
            Expr::Block(block) => {
                let block = self.both(&block.block);
                self.out.push(block);
            }
            Expr::If(_) => {
                let choice = self.choice(expr);
                self.out.push(choice);
            }
            Expr::Match(matching) => {
                let scrutinee = &matching.expr;
                let arms = matching.arms.iter().map(|arm| {
                    let pat = &arm.pat;
                    let (stmts, ()) = self.scoped(|this| {
                        this.matched(&arm.pat, scrutinee);
                        match &*arm.body {
                            Expr::Block(block) => this.statements(&block.block.stmts),
                            body => this.statement(body),
                        }
                    });
                    quote!(#pat => { #(#stmts)* })
                });
                let arms: Vec<TokenStream> = arms.collect();
                self.out.push(quote!(match #scrutinee { #(#arms)* }));
            }
            Expr::While(looping) => {
                let (label, condition) = (&looping.label, &looping.cond);
                let body = self.both(&looping.body);
                self.out.push(quote!(#label while #condition #body));
            }
            Expr::Loop(looping) => {
                let label = &looping.label;
                let body = self.both(&looping.body);
                self.out.push(quote!(#label loop #body));
            }
            Expr::ForLoop(looping) => {
                let (label, pat, range) = (&looping.label, &looping.pat, &looping.expr);
                let (stmts, ()) = self.scoped(|this| {
                    if let Pat::Ident(counter) = &**pat {
                        let ident = &counter.ident;
                        this.set(ident, Zero(Some(quote!((#ident ^ #ident)))));
                    }
                    this.statements(&looping.body.stmts);
                });
                self.out.push(quote!(#label for #pat in #range { #(#stmts)* }));
            }
            Expr::Break(leave) if leave.expr.is_some() => {
                self.errors.at(expr, "a gradient follows loops without a value: assign it to a variable, then `break`");
            }
            Expr::Break(_) | Expr::Continue(_) => self.out.push(quote!(#expr;)),
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.update(binary),
            // A value that nothing uses.
            _ => {}
        }
    }

    /// An `if` whose branches are statements.
    pub(super) fn choice(&mut self, expr: &Expr) -> TokenStream {
        match expr {
            Expr::If(choice) => {
                let condition = &choice.cond;
                let then = self.both(&choice.then_branch);
                let other = choice.else_branch.as_ref().map(|(_, other)| {
                    let other = self.choice(other);
                    quote!(else #other)
                });
                quote!(if #condition #then #other)
            }
            Expr::Block(block) => self.both(&block.block),
            other => {
                let (stmts, ()) = self.scoped(|this| this.statement(other));
                quote!({ #(#stmts)* })
            }
        }
    }

    pub(super) fn assign(&mut self, assign: &syn::ExprAssign) {
        if !matches!(&*assign.left, Expr::Infer(_)) {
            let tangent = self.operand(&assign.right);
            if let Some(place) = self.place(&assign.left) {
                let value = self.materialized(tangent, &assign.right);
                self.out.push(quote!(#place = #value;));
            }
        }
        self.out.push(quote!(#assign;));
    }

    pub(super) fn update(&mut self, binary: &syn::ExprBinary) {
        let (left, right) = (&binary.left, &binary.right);
        let place = self.place(left);
        let tangent = if place.is_some() { self.operand(right) } else { Zero(None) };
        let statement = place.and_then(|place| match (&binary.op, tangent) {
            (BinOp::AddAssign(_), Value(by)) => Some(quote!(#place += #by;)),
            (BinOp::SubAssign(_), Value(by)) => Some(quote!(#place -= #by;)),
            (BinOp::MulAssign(_), tangent) => {
                let by = self.shared(right);
                let value = self.known.halves.factor(quote!(#left));
                Some(match tangent {
                    Value(tangent) => quote!(#place = #place * #by + #value * #tangent;),
                    Zero(_) => quote!(#place *= #by;),
                })
            }
            (BinOp::DivAssign(_), tangent) => {
                let by = self.shared(right);
                let value = self.known.halves.factor(quote!(#left));
                Some(match tangent {
                    Value(tangent) => quote!(#place = (#place - #value / #by * #tangent) / #by;),
                    Zero(_) => quote!(#place /= #by;),
                })
            }
            (BinOp::RemAssign(_), Value(tangent)) => {
                let by = self.shared(right);
                let value = self.known.halves.factor(quote!(#left));
                Some(quote!(#place -= (#value - #value % #by) / #by * #tangent;))
            }
            _ => None,
        });
        self.out.extend(statement);
        self.out.push(quote!(#binary;));
    }

    /// The tangent of a place; `None` of one that has none.
    pub(super) fn place(&mut self, expr: &Expr) -> Option<TokenStream> {
        match expr {
            Expr::Paren(inner) => self.place(&inner.expr),
            Expr::Field(field) => {
                let (base, member) = (self.place(&field.base)?, &field.member);
                Some(quote!(#base.#member))
            }
            Expr::Index(at) => {
                let (base, index) = (self.place(&at.expr)?, &at.index);
                Some(quote!(#base[#index]))
            }
            Expr::Path(path) => match self.find(path.path.get_ident()?)? {
                Value(value) => Some(value.clone()),
                Zero(_) => None,
            },
            _ => None,
        }
    }
}
