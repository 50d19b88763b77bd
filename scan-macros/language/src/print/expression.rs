//! Expressions, with the parentheses that C++ needs.

use crate::ir::{Access, Call, Callee, Expression, Integer, Spelling, Times, Width};
use crate::language::Operator;
use crate::syntax::plain;
use crate::text::{Piece, Text};
use quote::{ToTokens, quote};
use syn::Type;

/// How C++ ranks an expression; an operand of a lower rank than its operator needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Conditional,
    LogicalOr,
    LogicalAnd,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relational,
    Shift,
    Additive,
    Multiplicative,
    Unary,
    Postfix,
}

impl Rank {
    fn of(operator: Operator) -> Self {
        match operator {
            Operator::Add | Operator::Sub => Rank::Additive,
            Operator::Mul | Operator::Div | Operator::Rem => Rank::Multiplicative,
            Operator::BitAnd => Rank::BitAnd,
            Operator::BitOr => Rank::BitOr,
            Operator::BitXor => Rank::BitXor,
            Operator::Shl | Operator::Shr => Rank::Shift,
            Operator::Eq | Operator::Ne => Rank::Equality,
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => Rank::Relational,
            Operator::And => Rank::LogicalAnd,
            Operator::Or => Rank::LogicalOr,
        }
    }

    /// The next rank above, as far as operators of a binary operator's rank group from the left.
    fn above(self) -> Self {
        match self {
            Rank::Additive => Rank::Multiplicative,
            Rank::Multiplicative => Rank::Unary,
            Rank::Relational => Rank::Shift,
            Rank::Equality => Rank::Relational,
            rank => rank,
        }
    }
}

/// The text of an expression.
pub(super) fn text(expression: &Expression) -> Text {
    ranked(expression).0
}

/// The text of the opposite of a condition.
pub(super) fn negated(condition: &Expression) -> Text {
    Text::new("!").add(at_least(condition, Rank::Postfix))
}

/// The text, in parentheses where the rank is below the one that its place asks for.
fn at_least(expression: &Expression, rank: Rank) -> Text {
    within(ranked(expression), rank)
}

/// The text of what a field or an item is taken from: an item of a parameter is not read as a whole for that.
fn place(of: &Expression) -> Text {
    match of {
        Expression::Index { array, index, access: Access::Counted | Access::InMemory } => {
            place(array).add("[").add(text(index)).add("]")
        }
        of => at_least(of, Rank::Postfix),
    }
}

fn within((text, own): (Text, Rank), rank: Rank) -> Text {
    if own < rank { Text::new("(").add(text).add(")") } else { text }
}

fn ranked(expression: &Expression) -> (Text, Rank) {
    let text = match expression {
        Expression::Truth(value) => Text::new(if *value { "true" } else { "false" }),
        Expression::Integer(literal) => return integer(literal),
        Expression::Float { digits, ty: None } => Text::new(digits),
        Expression::Float { digits, ty: Some(ty) } => of_type(ty, digits.as_str()),
        Expression::Variable(name) => Text::name(name),
        Expression::Parameter(name) => Text::new("this->").add(Text::name(name)),
        Expression::Constant(path) => {
            let name = path.path.segments.last().map(|last| plain(&last.ident));
            let value = path.to_token_stream();
            Text::of(Piece::Constant { written: value.clone(), value, name })
        }
        Expression::Field(of, name) => place(of).add(".").add(Text::name(name)),
        Expression::Index { array, index, access } => {
            let (open, close) = match access {
                Access::Counted | Access::InMemory if array.is_parameter() => (".item(", ")"),
                Access::Counted | Access::InMemory => ("[", "]"),
                Access::Read => (".at(", ")"),
                Access::Replaced => (".place(", ")"),
            };
            place(array).add(open).add(self::text(index)).add(close)
        }
        Expression::Negative(of) => return (Text::new("-").add(at_least(of, Rank::Postfix)), Rank::Unary),
        Expression::Not(of) | Expression::Opposite(of) => {
            return (negated(of), Rank::Unary);
        }
        Expression::Binary(operator, left, right) => return infix(*operator, left, right),
        Expression::AnyOf(conditions) => {
            let conditions = conditions.iter().map(|condition| at_least(condition, Rank::LogicalOr));
            let all = conditions.reduce(|all, next| all.add(" || ").add(next));
            return (all.unwrap_or_default(), Rank::LogicalOr);
        }
        Expression::Group(inner) => {
            let (text, rank) = ranked(inner);
            return if rank < Rank::Unary { (within((text, rank), Rank::Unary), Rank::Postfix) } else { (text, rank) };
        }
        Expression::Choice(choice) if choice.computes_both => {
            call("chosen(", [&choice.condition, &choice.then, &choice.other])
        }
        Expression::Choice(choice) => {
            let condition = at_least(&choice.condition, Rank::LogicalOr);
            let then = at_least(&choice.then, Rank::LogicalOr);
            return (condition.add(" ? ").add(then).add(" : ").add(self::text(&choice.other)), Rank::Conditional);
        }
        Expression::Cast(ty, value) => Text::new("as<").add(type_name(ty)).add(">(").add(self::text(value)).add(")"),
        Expression::FromOther(ty, function, value) => {
            type_name(ty).add(format!("::{function}(")).add(self::text(value)).add(")")
        }
        Expression::Typed(ty, value) => of_type(ty, self::text(value)),
        Expression::Method { method, receiver, arguments } => {
            at_least(receiver, Rank::Postfix).add(call(format!(".{}(", method.name), arguments))
        }
        Expression::Length(of) => at_least(of, Rank::Postfix).add(".len()"),
        Expression::Call(called) => {
            let Call { callee, generics, arguments } = &**called;
            let Callee { path, alias } = callee;
            let called = Piece::Call { callee: quote!(#alias #generics), path: quote!(#path #generics) };
            Text::of(called).add(call("(", arguments))
        }
        Expression::Struct { ty, fields, base } => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), self::text(value))).collect();
            let base = base.as_deref().map(self::text);
            Text::of(Piece::Struct { ty: ty.as_ref().map(ToTokens::to_token_stream), fields, base })
        }
        Expression::Array { ty, items } => {
            let mut all = ty.as_deref().map_or_else(|| Text::new("Array"), type_name).add("{");
            list(&mut all, items);
            all.add("}")
        }
        Expression::Repeat(Times::Once, value) => call("repeat<1>(", [&**value]),
        Expression::Repeat(Times::Length { value: length, written }, value) => {
            let (length, written) = (length.clone(), written.clone());
            let length = Text::of(Piece::Constant { value: length, name: None, written });
            Text::new("repeat<(").add(length).add(").value>(").add(self::text(value)).add(")")
        }
        Expression::Repeat(Times::Type(ty), value) => type_name(ty).add("::repeat(").add(self::text(value)).add(")"),
        Expression::ValueOf(value) => call("value_of(", [&**value]),
        Expression::Invariant(divisor) if divisor.is_shared() => {
            Text::new("invariant(").add(Text::of(Piece::Divisor(self::text(divisor)))).add(")")
        }
        Expression::Invariant(divisor) => call("invariant(", [&**divisor]),
    };
    (text, Rank::Postfix)
}

pub(super) fn type_name(ty: &Type) -> Text {
    Text::of(Piece::Type(ty.to_token_stream()))
}

/// `T(value)`
fn of_type(ty: &Type, value: impl Into<Text>) -> Text {
    type_name(ty).add("(").add(value).add(")")
}

/// The text before the arguments, and the arguments.
fn call<'e>(head: impl Into<Text>, arguments: impl IntoIterator<Item = &'e Expression>) -> Text {
    let mut all = head.into();
    list(&mut all, arguments);
    all.add(")")
}

fn list<'e>(all: &mut Text, items: impl IntoIterator<Item = &'e Expression>) {
    for (index, item) in items.into_iter().enumerate() {
        all.push(if index > 0 { ", " } else { "" });
        all.push(text(item));
    }
}

/// `left operator right`, where operators of the same rank group from the left.
fn infix(operator: Operator, left: &Expression, right: &Expression) -> (Text, Rank) {
    let rank = Rank::of(operator);
    let (left, right) = (ranked(left), ranked(right));
    let (left_rank, right_rank) = match operator {
        // `a && b || c` is clear to Rust; C++ compilers like the parentheses.
        Operator::Or => {
            let clear = |side: &(Text, Rank)| if side.1 == Rank::LogicalAnd { Rank::BitOr } else { rank };
            (clear(&left), clear(&right))
        }
        // Mixing bitwise or shift operators with others reads ambiguously in C++ even where it is not.
        operator if operator.is_bitwise() || operator.is_shift() => {
            (if left.1 == rank { rank } else { Rank::Unary }, Rank::Unary)
        }
        _ => (rank, rank.above()),
    };
    (within(left, left_rank).add(format!(" {} ", operator.symbol())).add(within(right, right_rank)), rank)
}

/// An integer literal. Its type is the first of `int`, `long long`, `unsigned long long` and `__int128` that holds it.
fn integer(literal: &Integer) -> (Text, Rank) {
    let digits = match &literal.spelling {
        Spelling::Own(digits) => digits.clone(),
        Spelling::Decimal | Spelling::Wide => literal.value.to_string(),
    };
    let digits = match literal.width() {
        Width::Int => digits,
        Width::LongLong => format!("{digits}ll"),
        Width::UnsignedLongLong => format!("{digits}ull"),
        Width::Wide => {
            let (high, low) = ((literal.value >> 64) as u64, literal.value as u64);
            format!("(static_cast<__int128>({high:#x}ull) << 64 | {low:#x}ull)")
        }
    };
    match &literal.ty {
        Some(ty) => (of_type(ty, digits), Rank::Postfix),
        None if literal.value < 0 => (digits.into(), Rank::Unary),
        None => (digits.into(), Rank::Postfix),
    }
}
