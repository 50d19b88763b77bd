//! The variables that are read. The GPU's compiler warns of the others unless the text marks them as possibly unused.

use super::{Expression, Statement};
use std::collections::BTreeSet;

/// The variables that some statement reads.
pub(crate) fn reads(body: &[Statement]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    body.iter().for_each(|statement| read(statement, &mut found));
    found
}

/// Whether a variable, or a part of it, is given a value by some statement.
pub(crate) fn is_assigned(body: &[Statement], name: &str) -> bool {
    body.iter().any(|statement| {
        let here = matches!(statement, Statement::Assign { place, .. } if is_of(place, name));
        here || statement.bodies().into_iter().any(|body| is_assigned(body, name))
    })
}

fn is_of(place: &Expression, name: &str) -> bool {
    match place {
        Expression::Variable(variable) => variable == name,
        Expression::Field(base, _) => is_of(base, name),
        _ => false,
    }
}

fn read<'b>(statement: &'b Statement, found: &mut BTreeSet<&'b str>) {
    match statement {
        // Naming a variable only to discard it or write to it is not a read.
        Statement::Discard(Expression::Variable(_)) => {}
        Statement::Assign { place, value } => {
            if !is_variable_or_field(place) {
                read_by(place, found);
            }
            read_by(value, found);
        }
        statement => statement.expressions().into_iter().for_each(|expression| read_by(expression, found)),
    }
    statement.bodies().into_iter().flatten().for_each(|statement| read(statement, found));
}

fn read_by<'b>(expression: &'b Expression, found: &mut BTreeSet<&'b str>) {
    match expression {
        Expression::Variable(name) => {
            found.insert(name);
        }
        // The base is read only where fields are left out, which the macro cannot see.
        Expression::Struct { fields, .. } => fields.iter().for_each(|(_, value)| read_by(value, found)),
        expression => expression.parts().into_iter().for_each(|part| read_by(part, found)),
    }
}

fn is_variable_or_field(place: &Expression) -> bool {
    match place {
        Expression::Variable(_) => true,
        Expression::Field(base, _) => is_variable_or_field(base),
        _ => false,
    }
}
