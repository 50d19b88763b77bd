//! `match`: a chain of conditions, each arm's pattern compared with the value that is matched.

use super::expression::{field_name, ternary};
use super::{Lowerer, Rank, Sink, Value, purity, scope};
use crate::syntax::is_constant;
use crate::text::Text;
use syn::{Arm, Expr, ExprMatch, Ident, Pat, RangeLimits, Type};

/// What a pattern binds: the name, the place that has the value, and whether the name may change.
struct Bound<'a> {
    ident: &'a Ident,
    place: Text,
    mutable: bool,
}

impl Lowerer<'_> {
    /// A `match` of plain expressions, as a chain of `?:`.
    pub(super) fn match_value(&mut self, matching: &ExprMatch, expected: Option<&Type>) -> Value {
        let subject = vec![self.expr(&matching.expr, None).at_least(Rank::Postfix)];
        let chosen = self.is_chosen(&Expr::Match(matching.clone()), expected);
        self.arms_value(&matching.arms, &subject, expected, chosen)
    }

    fn arms_value(&mut self, arms: &[Arm], subject: &[Text], expected: Option<&Type>, chosen: bool) -> Value {
        let Some((arm, rest)) = arms.split_first() else { return Value::never() };
        self.scopes.open();
        let condition = self.arm_condition(arm, subject);
        let value = self.expr(&arm.body, expected);
        self.scopes.close();
        match condition {
            Some(condition) if !rest.is_empty() => {
                let other = self.arms_value(rest, subject, expected, chosen);
                if chosen { self.chosen(condition, value, other) } else { ternary(condition, value, other) }
            }
            _ => value,
        }
    }

    /// A `match` as a chain of `if`s. Rust has checked that some arm is taken, so the last needs no condition.
    pub(super) fn match_statement(&mut self, matching: &ExprMatch, sink: &Sink, expected: Option<&Type>) {
        let subject = self.subject(&matching.expr);
        let last = matching.arms.len().saturating_sub(1);
        let mut first = true;
        for (index, arm) in matching.arms.iter().enumerate() {
            self.scopes.open();
            let condition = self.arm_condition(arm, &subject).filter(|_| index < last);
            let irrefutable = condition.is_none();
            match (condition, first) {
                (Some(condition), true) => self.open(Text::new("if (").add(condition.text).add(") {")),
                (Some(condition), false) => {
                    self.depth -= 1;
                    self.open(Text::new("} else if (").add(condition.text).add(") {"));
                }
                (None, true) => self.open("{"),
                (None, false) => {
                    self.depth -= 1;
                    self.open("} else {");
                }
            }
            first = false;
            self.copy_mutable(&arm.pat);
            self.mark_arm(&arm.body);
            self.lower_to(&arm.body, sink, expected);
            self.scopes.close();
            if irrefutable {
                break;
            }
        }
        if !first {
            self.close("}");
        }
    }

    fn mark_arm(&mut self, body: &Expr) {
        if !matches!(body, Expr::Block(_)) {
            self.mark(syn::spanned::Spanned::span(body));
        }
    }

    /// The value that is matched, in a variable that no arm changes; the items of a tuple each in their own.
    fn subject(&mut self, expr: &Expr) -> Vec<Text> {
        match expr {
            Expr::Paren(inner) => self.subject(&inner.expr),
            Expr::Tuple(tuple) => tuple.elems.iter().map(|item| self.matched(item)).collect(),
            expr => vec![self.matched(expr)],
        }
    }

    fn matched(&mut self, expr: &Expr) -> Text {
        if let Expr::Path(path) = expr
            && let Some(ident) = path.path.get_ident()
            && let Some(binding) = self.scopes.find(ident)
            && !binding.mutable
        {
            return binding.place.clone();
        }
        let value = self.typed(expr, None);
        self.spill("matched", value)
    }

    /// The condition of an arm, `None` where it always holds. Binds the arm's names, for the guard and the body.
    fn arm_condition(&mut self, arm: &Arm, subject: &[Text]) -> Option<Value> {
        let (pat, guard) = match &arm.pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
            pat => (pat, None),
        };
        let mut bound = Vec::new();
        let mut condition = match (pat, subject) {
            (Pat::Tuple(tuple), subject) if subject.len() == tuple.elems.len() => {
                let mut conditions = Vec::new();
                for (pat, place) in tuple.elems.iter().zip(subject) {
                    conditions.extend(self.condition(pat, place, &mut bound));
                }
                join(conditions, " && ", Rank::LogicalAnd)
            }
            (pat, [place]) => self.condition(pat, place, &mut bound),
            (Pat::Wild(_), _) => None,
            (pat, _) => {
                self.errors.at(pat, "match the items of a tuple by a tuple pattern, or by `_`");
                None
            }
        };
        for Bound { ident, place, mutable } in bound {
            self.scopes.bind(ident, place, mutable);
        }
        if let Some(guard) = guard {
            if !purity::is_simple(guard) {
                self.errors.at(guard, "a guard in an operator is a plain expression: move statements into the arm");
            }
            let guard = self.expr(guard, None);
            condition = join(condition.into_iter().chain([guard]).collect(), " && ", Rank::LogicalAnd);
        }
        condition
    }

    /// A `mut` binding is a variable of the arm's own.
    fn copy_mutable(&mut self, pat: &Pat) {
        match pat {
            Pat::Guard(guarded) => self.copy_mutable(&guarded.pat),
            Pat::Paren(paren) => self.copy_mutable(&paren.pat),
            Pat::Tuple(tuple) => tuple.elems.iter().for_each(|pat| self.copy_mutable(pat)),
            Pat::Struct(fields) => fields.fields.iter().for_each(|field| self.copy_mutable(&field.pat)),
            Pat::TupleStruct(fields) => fields.elems.iter().for_each(|pat| self.copy_mutable(pat)),
            Pat::Ident(ident) => {
                if let Some(place) = self.scopes.find(&ident.ident).map(|binding| binding.place.clone())
                    && ident.mutability.is_some()
                {
                    let name = self.own_variable(&scope::plain(&ident.ident));
                    self.line(Text::new("auto ").add(Text::name(&name)).add(" = ").add(place).add(";"));
                    self.scopes.bind(&ident.ident, Text::name(name), true);
                }
                if let Some((_, inner)) = &ident.subpat {
                    self.copy_mutable(inner);
                }
            }
            _ => {}
        }
    }

    /// When the value at `place` fits the pattern; `None` where it always does.
    fn condition<'p>(&mut self, pat: &'p Pat, place: &Text, bound: &mut Vec<Bound<'p>>) -> Option<Value> {
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => None,
            Pat::Paren(paren) => self.condition(&paren.pat, place, bound),
            Pat::Ident(ident) => {
                let inner = ident.subpat.as_ref().and_then(|(_, inner)| self.condition(inner, place, bound));
                // A capital name without a pattern of its own is a constant to Rust, where one is in scope.
                if ident.subpat.is_none() && is_constant(&ident.ident) {
                    let name = &ident.ident;
                    let value = self.constant(&syn::Path::from(name.clone()));
                    return Some(self.equals(place, value));
                }
                self.bindings.push(ident.ident.clone());
                bound.push(Bound { ident: &ident.ident, place: place.clone(), mutable: false });
                inner
            }
            Pat::Lit(literal) => match &literal.lit {
                syn::Lit::Bool(value) if value.value => Some(Value::typed(place.clone(), Rank::Postfix)),
                syn::Lit::Bool(_) => Some(Value::typed(Text::new("!").add(place.clone()), Rank::Unary)),
                literal => {
                    let value = self.literal(literal).text;
                    Some(self.equals(place, value))
                }
            },
            Pat::Path(path) => {
                let value = self.expr(&Expr::Path(path.clone()), None).text;
                Some(self.equals(place, value))
            }
            Pat::Range(range) => {
                let mut conditions = Vec::new();
                if let Some(start) = &range.start {
                    let start = self.expr(start, None).at_least(Rank::Shift);
                    self.uses.insert("ge");
                    conditions.push(Value::typed(place.clone().add(" >= ").add(start), Rank::Relational));
                }
                if let Some(end) = &range.end {
                    let end = self.expr(end, None).at_least(Rank::Shift);
                    let (operator, used) = match range.limits {
                        RangeLimits::HalfOpen(_) => (" < ", "lt"),
                        RangeLimits::Closed(_) => (" <= ", "le"),
                    };
                    self.uses.insert(used);
                    conditions.push(Value::typed(place.clone().add(operator).add(end), Rank::Relational));
                }
                join(conditions, " && ", Rank::LogicalAnd)
            }
            Pat::Or(or) => {
                let mut cases = Vec::new();
                for case in &or.cases {
                    let mut names = Vec::new();
                    let condition = self.condition(case, place, &mut names);
                    if !names.is_empty() {
                        self.errors.at(case, "bind the name around the alternatives: `name @ (1 | 2)`");
                    }
                    cases.push(condition?);
                }
                join(cases, " || ", Rank::LogicalOr)
            }
            Pat::Struct(fields) => {
                let mut conditions = Vec::new();
                for field in &fields.fields {
                    let part = place.clone().add(".").add(Text::name(field_name(&field.member)));
                    conditions.extend(self.condition(&field.pat, &part, bound));
                }
                join(conditions, " && ", Rank::LogicalAnd)
            }
            Pat::TupleStruct(fields) => {
                let mut conditions = Vec::new();
                let last = fields.elems.len().saturating_sub(1);
                for (index, pat) in fields.elems.iter().enumerate() {
                    if matches!(pat, Pat::Rest(_)) && index < last {
                        self.errors.at(pat, "`..` comes last: name the fields before it");
                    }
                    let part = place.clone().add(".").add(Text::name(format!("_{index}")));
                    conditions.extend(self.condition(pat, &part, bound));
                }
                join(conditions, " && ", Rank::LogicalAnd)
            }
            other => {
                self.errors
                    .at(other, "this pattern is outside the operator language: use literals, ranges, names and `_`");
                None
            }
        }
    }

    fn equals(&mut self, place: &Text, value: Text) -> Value {
        self.uses.insert("eq");
        Value::typed(place.clone().add(" == ").add(value), Rank::Equality)
    }
}

/// The conditions one beside the other; an `||` inside an `&&` in parentheses.
fn join(conditions: Vec<Value>, between: &str, rank: Rank) -> Option<Value> {
    let within = if rank == Rank::LogicalAnd { Rank::BitOr } else { rank };
    let within = |value: Value| if value.rank == rank { value.text } else { value.at_least(within) };
    conditions.into_iter().reduce(|all, next| Value::typed(within(all).add(between).add(within(next)), rank))
}
