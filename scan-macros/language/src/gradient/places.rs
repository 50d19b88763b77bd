//! Places, and the expressions that change them.

use crate::lower::flow::has_effects;
use crate::syntax::{is_assignment, letters};
use proc_macro2::Ident;
use std::collections::BTreeSet;
use syn::Expr;
use syn::visit::{self, Visit};

pub(super) fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Paren(inner) => is_place(&inner.expr),
        _ => false,
    }
}

/// Whether an expression leaves, or changes a variable that it has not declared itself.
pub(super) fn changes_others(expr: &Expr) -> bool {
    #[derive(Default)]
    struct Changes {
        declared: BTreeSet<String>,
        found: bool,
    }
    impl<'ast> Visit<'ast> for Changes {
        fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
            self.declared.insert(letters(&pat.ident));
            visit::visit_pat_ident(self, pat);
        }
        fn visit_expr(&mut self, expr: &'ast Expr) {
            let place = match expr {
                Expr::Assign(assign) => Some(&*assign.left),
                Expr::Binary(binary) if is_assignment(&binary.op) => Some(&*binary.left),
                _ => None,
            };
            if let Some(place) = place {
                self.found |= base(place).is_none_or(|ident| !self.declared.contains(&letters(ident)));
            }
            self.found |= matches!(expr, Expr::Return(_));
            visit::visit_expr(self, expr);
        }
    }
    if !has_effects(expr) {
        return false;
    }
    let mut changes = Changes::default();
    changes.visit_expr(expr);
    changes.found
}

/// The variable that a place is a part of.
fn base(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => base(&field.base),
        Expr::Index(at) => base(&at.expr),
        Expr::Paren(inner) => base(&inner.expr),
        _ => None,
    }
}
