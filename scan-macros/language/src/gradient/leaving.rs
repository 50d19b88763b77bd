//! A loop with a `return` in it: a `break` takes the place of the `return`, and a variable has the value.

use super::halves::Halves;
use super::names::Names;
use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, Label, Lifetime, Stmt, Type, parse_quote};

/// The function whose `return`s are replaced.
pub(super) struct Returned<'a> {
    pub(super) halves: Halves<'a>,
    pub(super) names: &'a Names,
    pub(super) ty: &'a Type,
}

impl Returned<'_> {
    /// The loop, then `rest`, with the value of the function at the end; `None` if the label of the loop is hidden.
    pub(super) fn followed(&self, looping: &Expr, rest: &[Stmt]) -> Option<Vec<Stmt>> {
        let krate = self.halves.krate;
        let [value, left] = ["returned", "left"].map(|name| self.names.own(name));
        let (ty, mut looping) = (self.ty, looping.clone());
        let (label, body) = match &mut looping {
            Expr::While(looping) => (&mut looping.label, &mut looping.body),
            Expr::Loop(looping) => (&mut looping.label, &mut looping.body),
            Expr::ForLoop(looping) => (&mut looping.label, &mut looping.body),
            _ => return None,
        };
        let of_loop = Lifetime::new(&format!("'{}", self.names.own("loop")), value.span());
        let label = label.get_or_insert_with(|| Label { name: of_loop, colon_token: Default::default() }).name.clone();
        let leave = |of: &Expr| quote!(#value = #of; #left = true; break #label;);
        let mut leaves = Leaves { leave: &leave, label: &label, hidden: false };
        leaves.visit_block_mut(body);
        if leaves.hidden {
            return None;
        }
        let (declared, rest): (Block, Stmt) = (
            parse_quote!({
                let mut #value: #ty = <#ty as #krate::gradient::Components>::ZERO;
                let mut #left: bool = false;
            }),
            match rest {
                // An endless loop that is left by `return` alone.
                [] => Stmt::Expr(parse_quote!(#value), None),
                rest => Stmt::Expr(parse_quote!(if #left { #value } else { #(#rest)* }), None),
            },
        );
        Some(declared.stmts.into_iter().chain([Stmt::Expr(looping, None), rest]).collect())
    }
}

/// Each `return` as other statements.
struct Leaves<'a> {
    leave: &'a dyn Fn(&Expr) -> TokenStream,
    label: &'a Lifetime,
    /// Whether an inner loop has the same label, so that a `break` with it would leave only that loop.
    hidden: bool,
}

impl VisitMut for Leaves<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let mut stmts = Vec::new();
        for mut statement in std::mem::take(&mut block.stmts) {
            match &statement {
                Stmt::Expr(Expr::Return(leave), _) if leave.expr.is_some() => {
                    let leave = leave.expr.as_deref().map(self.leave);
                    let leave: Block = parse_quote!({ #leave });
                    stmts.extend(leave.stmts);
                }
                _ => {
                    self.visit_stmt_mut(&mut statement);
                    stmts.push(statement);
                }
            }
        }
        block.stmts = stmts;
    }

    fn visit_label_mut(&mut self, label: &mut Label) {
        self.hidden |= label.name == *self.label;
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        if let Expr::Return(leave) = expr
            && let Some(value) = &leave.expr
        {
            let leave = (self.leave)(value);
            *expr = parse_quote!({ #leave });
        }
    }
}
