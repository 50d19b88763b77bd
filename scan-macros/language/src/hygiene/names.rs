//! The identifiers of a function that can be locals or labels.

use crate::syntax::{asserted, is_constant};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Block, Expr, ExprMatch, FnArg, Ident, Lifetime, Pat, PatIdent, Signature, Stmt, Type};

/// What an identifier does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Makes a local.
    Binds,
    /// May mean a local.
    Reads,
    /// Marks a loop.
    Labels,
    /// Names a loop.
    Jumps,
}

impl Role {
    pub(super) fn is_of_loop(self) -> bool {
        matches!(self, Role::Labels | Role::Jumps)
    }
}

/// Visits every identifier that can be a local or a label.
pub(super) struct Names<F> {
    pub(super) each: F,
    pub(super) in_arm: bool,
}

impl<F: FnMut(Role, &mut Ident)> Names<F> {
    pub(super) fn visit(&mut self, signature: &mut Signature, block: &mut Block) {
        for input in &mut signature.inputs {
            if let FnArg::Typed(typed) = input {
                self.visit_pat_mut(&mut typed.pat);
                self.visit_type_mut(&mut typed.ty);
            }
        }
        if let syn::ReturnType::Type(_, ty) = &mut signature.output {
            self.visit_type_mut(ty);
        }
        self.visit_block_mut(block);
    }
}

impl<F: FnMut(Role, &mut Ident)> VisitMut for Names<F> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        while let Expr::Group(group) = expr {
            *expr = std::mem::replace(&mut *group.expr, Expr::PLACEHOLDER);
        }
        match expr {
            Expr::Path(path) => {
                if path.qself.is_none()
                    && path.path.leading_colon.is_none()
                    && path.path.segments.len() == 1
                    && let Some(only) = path.path.segments.first_mut()
                    && only.arguments.is_none()
                {
                    (self.each)(Role::Reads, &mut only.ident);
                }
            }
            Expr::Call(call) => {
                // A function is no local: there are no closures.
                if !matches!(*call.func, Expr::Path(_)) {
                    self.visit_expr_mut(&mut call.func);
                }
                call.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
            }
            // The length is an item for rustc, which has it as it was written.
            Expr::Repeat(repeat) => self.visit_expr_mut(&mut repeat.expr),
            Expr::Struct(literal) => {
                for field in &mut literal.fields {
                    field.colon_token.get_or_insert_default();
                    self.visit_expr_mut(&mut field.expr);
                }
                literal.rest.iter_mut().for_each(|rest| self.visit_expr_mut(rest));
            }
            Expr::Match(matching) => self.visit_expr_match_mut(matching),
            expr => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_match_mut(&mut self, matching: &mut ExprMatch) {
        self.visit_expr_mut(&mut matching.expr);
        for Arm { pat, body, .. } in &mut matching.arms {
            let around = std::mem::replace(&mut self.in_arm, true);
            self.visit_pat_mut(pat);
            self.in_arm = around;
            self.visit_expr_mut(body);
        }
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        let constant = self.in_arm && pat.subpat.is_none() && is_constant(&pat.ident);
        (self.each)(if constant { Role::Reads } else { Role::Binds }, &mut pat.ident);
        if let Some((_, inner)) = &mut pat.subpat {
            self.visit_pat_mut(inner);
        }
    }

    fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
        field.colon_token.get_or_insert_default();
        self.visit_pat_mut(&mut field.pat);
    }

    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        if let Pat::Guard(guarded) = pat {
            self.visit_pat_mut(&mut guarded.pat);
            let around = std::mem::replace(&mut self.in_arm, false);
            self.visit_expr_mut(&mut guarded.guard);
            self.in_arm = around;
            return;
        }
        visit_mut::visit_pat_mut(self, pat);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        while let Type::Group(group) = ty {
            *ty = std::mem::replace(&mut *group.elem, syn::parse_quote!(_));
        }
        match ty {
            Type::Array(array) => self.visit_type_mut(&mut array.elem),
            Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(|ty| self.visit_type_mut(ty)),
            _ => {}
        }
    }

    fn visit_label_mut(&mut self, label: &mut syn::Label) {
        (self.each)(Role::Labels, &mut label.name.ident);
    }

    fn visit_lifetime_mut(&mut self, jump: &mut Lifetime) {
        (self.each)(Role::Jumps, &mut jump.ident);
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        if let Ok(mut condition) = asserted(mac) {
            self.visit_expr_mut(&mut condition);
            mac.tokens = condition.to_token_stream();
        }
    }

    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        // An item has names of its own. It is an error elsewhere.
        if !matches!(statement, Stmt::Item(_)) {
            visit_mut::visit_stmt_mut(self, statement);
        }
    }
}
