//! `match`: a chain of conditions, each arm's pattern compared with the value that is matched.

use super::expression::field_name;
use super::{Lowerer, Sink};
use crate::ir::{Declared, Expression, Statement};
use crate::language::Operator;
use crate::syntax::{is_constant, plain};
use proc_macro2::Ident;
use syn::spanned::Spanned;
use syn::{Expr, ExprMatch, ExprPath, Pat, PatIdent, PatRange, Path, RangeLimits};

/// What a pattern binds: the name, and the place that has the value.
type Bound<'p> = (&'p Ident, Expression);

impl Lowerer<'_> {
    /// A `match` as a chain of `if`s. Rust has checked that some arm is taken, so the last needs no condition.
    pub(super) fn match_statement(&mut self, matching: &ExprMatch, sink: &Sink, expected: Option<&syn::Type>) {
        let Some(subject) = self.subject(&matching.expr) else { return };
        let last = matching.arms.len().saturating_sub(1);
        let (mut arms, mut otherwise) = (Vec::new(), None);
        for (index, arm) in matching.arms.iter().enumerate() {
            self.scopes.open();
            let (condition, guard) = self.arm_condition(&arm.pat, &subject);
            let condition = all_of(condition.into_iter().chain(guard)).filter(|_| index < last);
            let body = self.within(|this| {
                this.copy_mutable(&arm.pat);
                if !matches!(*arm.body, Expr::Block(_)) {
                    this.mark(arm.body.span());
                }
                this.lower_to(&arm.body, sink, expected);
            });
            self.scopes.close();
            match condition {
                Some(condition) => arms.push((condition, body)),
                None => {
                    otherwise = Some(body);
                    break;
                }
            }
        }
        match otherwise {
            Some(body) if arms.is_empty() => self.emit(Statement::Block(body)),
            // A value that no arm takes is none.
            None if arms.is_empty() => {}
            otherwise => self.emit(Statement::If { arms, otherwise }),
        }
    }

    /// The value that is matched, in a variable that no arm changes; the items of a tuple each in their own.
    fn subject(&mut self, expr: &Expr) -> Option<Vec<Expression>> {
        match expr {
            Expr::Paren(inner) => self.subject(&inner.expr),
            Expr::Tuple(tuple) => tuple.elems.iter().map(|item| self.matched(item)).collect(),
            expr => Some(vec![self.matched(expr)?]),
        }
    }

    fn matched(&mut self, expr: &Expr) -> Option<Expression> {
        if let Expr::Path(path) = expr
            && let Some(ident) = path.path.get_ident()
            && let Some(binding) = self.scopes.find(ident)
            && !binding.mutable
        {
            return Some(binding.place.clone());
        }
        let value = self.typed(expr, None)?;
        Some(self.spill("matched", value))
    }

    /// The condition of an arm, `None` where it always holds, and its guard. Binds the arm's names, for the guard and
    /// the body.
    pub(super) fn arm_condition(
        &mut self,
        pat: &Pat,
        subject: &[Expression],
    ) -> (Option<Expression>, Option<Expression>) {
        let (pat, guard) = match pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
            pat => (pat, None),
        };
        let mut bound = Vec::new();
        let condition = self.subject_condition(pat, subject, &mut bound);
        for (ident, place) in bound {
            self.scopes.bind(ident, place, false);
        }
        let guard = guard.and_then(|guard| {
            let alone = self.alone(|this| this.expr(guard, None));
            if alone.is_none() && self.trial.is_none() {
                self.errors.at(guard, "a guard in an operator is a plain expression: move statements into the arm");
            }
            alone
        });
        (condition, guard)
    }

    /// When the subject, the items of a tuple or a single value, fits the pattern; `None` where it always does.
    fn subject_condition<'p>(
        &mut self,
        pat: &'p Pat,
        subject: &[Expression],
        bound: &mut Vec<Bound<'p>>,
    ) -> Option<Expression> {
        match (pat, subject) {
            (Pat::Paren(paren), subject) => self.subject_condition(&paren.pat, subject, bound),
            (Pat::Or(or), subject) if subject.len() != 1 => {
                let advice = "alternatives bind no names: give each an arm of its own";
                self.any_of(&or.cases, advice, |this, case, names| this.subject_condition(case, subject, names))
            }
            (Pat::Tuple(tuple), subject) if subject.len() == tuple.elems.len() => {
                let parts = tuple.elems.iter().zip(subject.iter().cloned());
                self.conditions(parts, bound)
            }
            (pat, [place]) => self.condition(pat, place, bound),
            (Pat::Wild(_), _) => None,
            (pat, _) => {
                self.errors.at(pat, "match the items of a tuple by a tuple pattern, or by `_`");
                None
            }
        }
    }

    /// When one of the alternatives fits; `None` where one always does. `advice` is for names that they bind.
    fn any_of<'p>(
        &mut self,
        cases: impl IntoIterator<Item = &'p Pat>,
        advice: &str,
        mut condition: impl FnMut(&mut Self, &'p Pat, &mut Vec<Bound<'p>>) -> Option<Expression>,
    ) -> Option<Expression> {
        let mut conditions = Vec::new();
        for case in cases {
            let mut names = Vec::new();
            let condition = condition(self, case, &mut names);
            if !names.is_empty() {
                self.errors.at(case, advice);
            }
            conditions.push(condition?);
        }
        if conditions.len() > 1 { Some(Expression::AnyOf(conditions)) } else { conditions.pop() }
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
                    let name = self.scopes.fresh(&plain(&ident.ident));
                    self.declare_own(&name, Declared::Auto, Some(place));
                    self.scopes.bind(&ident.ident, Expression::Variable(name), true);
                }
                if let Some((_, inner)) = &ident.subpat {
                    self.copy_mutable(inner);
                }
            }
            _ => {}
        }
    }

    /// When the value at `place` fits the pattern; `None` where it always does.
    fn condition<'p>(&mut self, pat: &'p Pat, place: &Expression, bound: &mut Vec<Bound<'p>>) -> Option<Expression> {
        let part = |name: String| Expression::Field(Box::new(place.clone()), name);
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => None,
            Pat::Paren(paren) => self.condition(&paren.pat, place, bound),
            Pat::Ident(ident) => self.name_condition(ident, place, bound),
            Pat::Lit(literal) => match &literal.lit {
                syn::Lit::Bool(value) if value.value => Some(place.clone()),
                syn::Lit::Bool(_) => Some(Expression::Opposite(Box::new(place.clone()))),
                literal => Some(compare(place, Operator::Eq, self.literal(literal)?)),
            },
            Pat::Path(path) => Some(compare(place, Operator::Eq, self.expr(&Expr::Path(path.clone()), None)?)),
            Pat::Range(range) => self.range_condition(range, place),
            Pat::Or(or) => {
                let advice = "bind the name around the alternatives: `name @ (1 | 2)`";
                self.any_of(&or.cases, advice, |this, case, names| this.condition(case, place, names))
            }
            Pat::Struct(fields) => {
                let parts = fields.fields.iter().map(|field| (&*field.pat, part(field_name(&field.member))));
                self.conditions(parts, bound)
            }
            Pat::TupleStruct(fields) => {
                let last = fields.elems.len().saturating_sub(1);
                if let Some((_, rest)) =
                    fields.elems.iter().enumerate().find(|(index, pat)| matches!(pat, Pat::Rest(_)) && *index < last)
                {
                    self.errors.at(rest, "`..` comes last: name the fields before it");
                }
                let parts = fields.elems.iter().enumerate().map(|(index, pat)| (pat, part(format!("_{index}"))));
                self.conditions(parts, bound)
            }
            other => {
                self.errors
                    .at(other, "this pattern is outside the operator language: use literals, ranges, names and `_`");
                None
            }
        }
    }

    /// When each of several places fits its pattern.
    fn conditions<'p>(
        &mut self,
        parts: impl Iterator<Item = (&'p Pat, Expression)>,
        bound: &mut Vec<Bound<'p>>,
    ) -> Option<Expression> {
        let conditions: Vec<Expression> = parts.filter_map(|(pat, place)| self.condition(pat, &place, bound)).collect();
        all_of(conditions)
    }

    fn name_condition<'p>(
        &mut self,
        name: &'p PatIdent,
        place: &Expression,
        bound: &mut Vec<Bound<'p>>,
    ) -> Option<Expression> {
        let PatIdent { ident, subpat, .. } = name;
        let inner = subpat.as_ref().and_then(|(_, inner)| self.condition(inner, place, bound));
        // A capital name without a pattern of its own is a constant to Rust, where one is in scope.
        if subpat.is_none() && is_constant(ident) {
            let value = ExprPath { attrs: Vec::new(), qself: None, path: Path::from(ident.clone()) };
            return Some(compare(place, Operator::Eq, Expression::Constant(Box::new(value))));
        }
        self.bindings.push(ident.clone());
        bound.push((ident, place.clone()));
        inner
    }

    fn range_condition(&mut self, range: &PatRange, place: &Expression) -> Option<Expression> {
        let mut conditions = Vec::new();
        if let Some(start) = &range.start {
            conditions.push(compare(place, Operator::Ge, self.expr(start, None)?));
        }
        if let Some(end) = &range.end {
            let operator = match range.limits {
                RangeLimits::HalfOpen(_) => Operator::Lt,
                RangeLimits::Closed(_) => Operator::Le,
            };
            conditions.push(compare(place, operator, self.expr(end, None)?));
        }
        all_of(conditions)
    }
}

fn compare(place: &Expression, operator: Operator, value: Expression) -> Expression {
    Expression::Binary(operator, Box::new(place.clone()), Box::new(value))
}

/// Whether all of the conditions hold.
pub(super) fn all_of(conditions: impl IntoIterator<Item = Expression>) -> Option<Expression> {
    let both = |all, next| Expression::Binary(Operator::And, Box::new(all), Box::new(next));
    conditions.into_iter().reduce(both)
}
