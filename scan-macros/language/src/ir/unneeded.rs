//! What a body computes and does not need, because it is a half of a larger one.

use super::{Expression, Statement};
use std::collections::BTreeSet;

/// Leaves out what only changes variables that no result, condition or assertion depends on.
pub(crate) fn leave_out(body: &mut Vec<Statement>) {
    loop {
        let mut reads = Reads::default();
        body.iter().for_each(|statement| reads.add(statement));
        if !keep(body, &reads.needed()) {
            return;
        }
    }
}

/// The variables that are read.
#[derive(Default)]
struct Reads {
    /// By results, conditions, assertions and the like.
    needed: BTreeSet<String>,
    /// To compute a variable: that one, and the one that is read.
    of_variables: Vec<(String, String)>,
}

impl Reads {
    fn add(&mut self, statement: &Statement) {
        let target = match statement {
            Statement::Declare { name, .. } => Some(name.as_str()),
            Statement::Assign { place, .. } | Statement::Update { place, .. } => place.root(),
            _ => None,
        };
        for expression in statement.expressions() {
            expression.any(&mut |part| {
                match (part, target) {
                    (Expression::Variable(name), Some(target)) => {
                        self.of_variables.push((target.to_owned(), name.clone()));
                    }
                    (Expression::Variable(name), None) => {
                        self.needed.insert(name.clone());
                    }
                    _ => {}
                }
                false
            });
        }
        statement.bodies().into_iter().flatten().for_each(|statement| self.add(statement));
    }

    /// The variables that are needed, also to compute others that are.
    fn needed(mut self) -> BTreeSet<String> {
        loop {
            let before = self.needed.len();
            for (variable, read) in &self.of_variables {
                if self.needed.contains(variable) {
                    self.needed.insert(read.clone());
                }
            }
            if self.needed.len() == before {
                return self.needed;
            }
        }
    }
}

/// Keeps the statements that are needed. Returns whether others were left out.
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
