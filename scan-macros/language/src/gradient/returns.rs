//! A body without `return`: the statements after a branch that may return move into the branches that do not.

use super::leaving::Returned;
use crate::errors::Errors;
use crate::lower::flow::{block_diverges, diverges};
use syn::visit::{self, Visit};
use syn::{Block, Expr, Stmt, parse_quote};

/// The block with its value at its end.
pub(super) fn removed(block: &Block, returned: Option<&Returned>, errors: &mut Errors) -> Block {
    Block { brace_token: block.brace_token, stmts: statements(&block.stmts, returned, errors) }
}

fn statements(stmts: &[Stmt], returned: Option<&Returned>, errors: &mut Errors) -> Vec<Stmt> {
    for (index, statement) in stmts.iter().enumerate() {
        if !returns(statement) {
            continue;
        }
        let mut before = stmts[..index].to_vec();
        let rest = &stmts[index + 1..];
        match statement {
            Stmt::Expr(looping @ (Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_)), _) => {
                let rest = statements(rest, returned, errors);
                match returned.and_then(|returned| returned.followed(looping, &rest)) {
                    Some(stmts) => before.extend(stmts),
                    None => refused(looping, errors),
                }
            }
            Stmt::Expr(expr, _) => before.push(Stmt::Expr(value(expr, rest, returned, errors), None)),
            other => refused(other, errors),
        }
        return before;
    }
    stmts.to_vec()
}

/// The value of an expression that may return, and of the statements after it where it does not.
fn value(expr: &Expr, rest: &[Stmt], returned: Option<&Returned>, errors: &mut Errors) -> Expr {
    match expr {
        Expr::Return(leave) => leave.expr.as_deref().cloned().unwrap_or_else(|| expr.clone()),
        Expr::Paren(inner) => value(&inner.expr, rest, returned, errors),
        Expr::Block(block) => {
            let block = branch(&block.block, rest, returned, errors);
            parse_quote!(#block)
        }
        Expr::If(choice) => {
            let mut choice = choice.clone();
            choice.then_branch = branch(&choice.then_branch, rest, returned, errors);
            let other: Expr = match &choice.else_branch {
                Some((_, other)) => match &**other {
                    Expr::If(_) => value(other, rest, returned, errors),
                    Expr::Block(block) => {
                        let block = branch(&block.block, rest, returned, errors);
                        parse_quote!(#block)
                    }
                    other => other.clone(),
                },
                None => {
                    let rest = statements(rest, returned, errors);
                    parse_quote!({ #(#rest)* })
                }
            };
            choice.else_branch = Some((Default::default(), Box::new(other)));
            Expr::If(choice)
        }
        Expr::Match(matching) => {
            let mut matching = matching.clone();
            for arm in &mut matching.arms {
                let body = match &*arm.body {
                    Expr::Block(block) => branch(&block.block, rest, returned, errors),
                    body => branch(&parse_quote!({ #body }), rest, returned, errors),
                };
                *arm.body = parse_quote!(#body);
            }
            Expr::Match(matching)
        }
        other => {
            refused(other, errors);
            // A value after an error.
            parse_quote!(0.0)
        }
    }
}

/// A branch, and the statements after it.
fn branch(block: &Block, rest: &[Stmt], returned: Option<&Returned>, errors: &mut Errors) -> Block {
    let mut stmts = block.stmts.clone();
    // A branch that is the value of the function has its value already.
    if !rest.is_empty() && !block_diverges(block) {
        if let Some(local) = stmts.iter().find(|statement| matches!(statement, Stmt::Local(_))) {
            errors.at(
                local,
                "a gradient follows a `return` next to variables only in an `else`: write the statements after it into \
                 one",
            );
        }
        if let Some(Stmt::Expr(last, semicolon @ None)) = stmts.last_mut()
            && !diverges(last)
        {
            *semicolon = Some(Default::default());
        }
        stmts.extend_from_slice(rest);
    }
    Block { brace_token: block.brace_token, stmts: statements(&stmts, returned, errors) }
}

fn returns(statement: &Stmt) -> bool {
    struct Returns(bool);
    impl<'ast> Visit<'ast> for Returns {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            self.0 |= matches!(expr, Expr::Return(_));
            visit::visit_expr(self, expr);
        }
    }
    let mut found = Returns(false);
    found.visit_stmt(statement);
    found.0
}

fn refused(at: impl quote::ToTokens, errors: &mut Errors) {
    errors.at(at, "a gradient follows a `return` that is a statement, in branches and in loops: make it one");
}
