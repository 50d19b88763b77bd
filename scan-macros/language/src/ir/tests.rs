//! What walks over bodies find.

use super::reads::reads;
use super::typing::Typing;
use super::*;
use crate::language::{Operator, find};

fn variable(name: &str) -> Expression {
    Expression::Variable(name.to_owned())
}

fn field(of: &str, name: &str) -> Expression {
    Expression::Field(Box::new(variable(of)), name.to_owned())
}

fn integer(value: i128) -> Expression {
    Expression::Integer(Integer { value, spelling: Spelling::Decimal, ty: None })
}

fn sum(left: Expression, right: Expression) -> Expression {
    Expression::Binary(Operator::Add, Box::new(left), Box::new(right))
}

fn structure(value: Expression, base: Option<Expression>) -> Expression {
    Expression::Struct { ty: None, fields: vec![("n".to_owned(), value)], base: base.map(Box::new) }
}

#[test]
fn assignment_targets_are_not_reads() {
    let index =
        Expression::Index { array: Box::new(variable("e")), index: Box::new(variable("i")), access: Access::Replaced };
    let body = [
        Statement::Assign { place: variable("a"), value: variable("b") },
        Statement::Assign { place: field("c", "x"), value: structure(variable("d"), Some(variable("base"))) },
        Statement::Assign { place: index, value: integer(1) },
        Statement::Discard(variable("f")),
        Statement::Discard(field("g", "x")),
        Statement::Loop(vec![Statement::Update { operator: Operator::Add, place: variable("h"), value: integer(1) }]),
    ];
    assert_eq!(reads(&body).into_iter().collect::<Vec<_>>(), ["b", "d", "e", "g", "h", "i"]);
}

#[test]
fn chains_of_up_to_eight_operations_are_cheap() {
    let chain = |length: usize| (0..length).fold(variable("a"), |all, _| sum(all, variable("a")));
    assert!(chain(8).is_cheap());
    assert!(!chain(9).is_cheap());
    assert!(structure(chain(8), None).is_cheap());
    let method = |name: &str, arguments| Expression::Method {
        method: find(name).unwrap(),
        receiver: Box::new(variable("a")),
        arguments,
    };
    assert!(method("max", vec![integer(1)]).is_cheap());
    assert!(!method("sqrt", Vec::new()).is_cheap());
}

#[test]
fn expressions_of_counters_alone_are_recognized() {
    let is_made = |expression: &Expression| expression.is_made_of(&|name| name == "i");
    assert!(is_made(&sum(variable("i"), integer(1))));
    assert!(!is_made(&sum(variable("i"), variable("a"))));
    assert!(!is_made(&field("i", "x")));
}

#[test]
fn bits_of_numbers_are_typed_and_of_unknowns_are_not() {
    let and = |left, right| Expression::Binary(Operator::BitAnd, Box::new(left), Box::new(right));
    let negated = |value| Expression::Group(Box::new(Expression::Not(Box::new(value))));
    let is_typed = |expression: Expression| matches!(expression.typing(), Typing::Typed);
    assert!(!is_typed(and(variable("a"), variable("b"))));
    assert!(!is_typed(and(variable("a"), negated(variable("b")))));
    let number = Expression::Binary(Operator::Add, Box::new(variable("b")), Box::new(variable("c")));
    assert!(is_typed(and(variable("a"), number.clone())));
    assert!(is_typed(and(variable("a"), negated(number))));
}
