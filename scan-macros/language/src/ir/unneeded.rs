//! What a body computes and does not need, because it is a half of a larger one.

use super::{Expression, Statement};
use std::collections::BTreeSet;

/// Leaves out what only changes variables that no result, condition or assertion depends on.
pub(crate) fn leave_out(body: &mut Vec<Statement>) {
    loop {
        let mut needed = BTreeSet::new();
        body.iter().for_each(|statement| need(statement, &mut needed));
        if !keep(body, &needed) {
            return;
        }
    }
}

/// The variables that a statement reads, except where it computes a variable of itself.
fn need(statement: &Statement, needed: &mut BTreeSet<String>) {
    let target = match statement {
        Statement::Assign { place, .. } | Statement::Update { place, .. } => place.root(),
        _ => None,
    };
    for expression in statement.expressions() {
        expression.any(&mut |part| {
            if let Expression::Variable(name) = part
                && target != Some(name.as_str())
            {
                needed.insert(name.clone());
            }
            false
        });
    }
    statement.bodies().into_iter().flatten().for_each(|statement| need(statement, needed));
}

/// Keeps what is needed; whether that was less than everything.
fn keep(body: &mut Vec<Statement>, needed: &BTreeSet<String>) -> bool {
    let before = body.len();
    body.retain(|statement| match statement {
        Statement::Declare { name, .. } => needed.contains(name),
        Statement::Assign { place, .. } | Statement::Update { place, .. } => {
            place.root().is_none_or(|name| needed.contains(name))
        }
        Statement::If { .. } | Statement::For(_) | Statement::Block(_) => !statement.bodies().into_iter().all(is_empty),
        _ => true,
    });
    let mut changed = body.len() < before;
    for statement in body {
        for inner in statement.bodies_mut() {
            changed |= keep(inner, needed);
        }
    }
    changed
}

fn is_empty(body: &[Statement]) -> bool {
    body.iter().all(|statement| matches!(statement, Statement::Line(_)))
}
