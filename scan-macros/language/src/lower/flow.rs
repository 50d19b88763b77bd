//! The control flow of the user's Rust, as far as it decides the order of the C++ statements.
//!
//! This analysis runs before lowering: an operand before an effect is kept in a variable, and an arm that leaves comes
//! before the one that has the value. If it ran on the lowered code, code with such an effect would have to be lowered
//! again, at each depth of nesting.

use crate::syntax::is_assignment;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Stmt};

/// Whether the expression changes a variable, or leaves.
pub(crate) fn has_effects(expr: &Expr) -> bool {
    struct Effects(bool);
    impl<'ast> Visit<'ast> for Effects {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            match expr {
                Expr::Assign(_) | Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => self.0 = true,
                Expr::Binary(binary) if is_assignment(&binary.op) => self.0 = true,
                _ => visit::visit_expr(self, expr),
            }
        }
    }
    let mut effects = Effects(false);
    effects.visit_expr(expr);
    effects.0
}

/// Whether control never comes to the end of the expression.
pub(crate) fn diverges(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Paren(inner) => diverges(&inner.expr),
        Expr::Block(block) => block.label.is_none() && block_diverges(&block.block),
        Expr::If(branch) => {
            block_diverges(&branch.then_branch) && branch.else_branch.as_ref().is_some_and(|(_, other)| diverges(other))
        }
        Expr::Match(matching) => !matching.arms.is_empty() && matching.arms.iter().all(|arm| diverges(&arm.body)),
        Expr::Loop(endless) => !breaks(&endless.body, endless.label.as_ref()),
        _ => false,
    }
}

pub(crate) fn block_diverges(block: &Block) -> bool {
    block.stmts.iter().any(|statement| match statement {
        Stmt::Expr(expr, _) => diverges(expr),
        _ => false,
    })
}

/// The label of a loop.
fn label_of(expr: &Expr) -> Option<&syn::Label> {
    match expr {
        Expr::Loop(endless) => endless.label.as_ref(),
        Expr::While(looping) => looping.label.as_ref(),
        Expr::ForLoop(looping) => looping.label.as_ref(),
        _ => None,
    }
}

/// Whether a loop's own body breaks out of it.
fn breaks(body: &Block, label: Option<&syn::Label>) -> bool {
    struct Breaks {
        found: bool,
        depth: usize,
        label: Option<String>,
    }
    impl<'ast> Visit<'ast> for Breaks {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            match expr {
                Expr::Break(leave) => {
                    self.found |= match &leave.label {
                        None => self.depth == 0,
                        Some(label) => self.label.as_ref().is_some_and(|own| label.ident == own.as_str()),
                    };
                }
                Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_) => {
                    // Inside a loop of the same label, the label means that one.
                    let outer = self.label.take_if(|own| label_of(expr).is_some_and(|label| label.name.ident == *own));
                    self.depth += 1;
                    visit::visit_expr(self, expr);
                    self.depth -= 1;
                    self.label = self.label.take().or(outer);
                }
                _ => visit::visit_expr(self, expr),
            }
        }
    }
    let mut breaks = Breaks { found: false, depth: 0, label: label.map(|label| label.name.ident.to_string()) };
    breaks.visit_block(body);
    breaks.found
}
