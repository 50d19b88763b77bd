//! Expressions.

use super::{Lowerer, Sink, flow};
use crate::ir::{Access, Expression};
use crate::syntax::{is_assignment, plain};
use syn::{Expr, ExprIndex, ExprPath, Member, Type};

pub(super) const NEEDS_SUFFIX: &str =
    "the type of this is not known in the GPU's text: give one literal a suffix, like `1_u32` or `1.0_f32`";

impl Lowerer<'_> {
    /// The value of an expression, after the statements that it needs; `None` where control has left before there is
    /// one.
    pub(super) fn expr(&mut self, expr: &Expr, expected: Option<&Type>) -> Option<Expression> {
        if self.has_failed() {
            return None;
        }
        match expr {
            Expr::Paren(inner) => {
                let inner = self.expr(&inner.expr, expected)?;
                Some(Expression::Group(Box::new(inner.bare())))
            }
            Expr::Block(block) if block.label.is_none() => self.scoped_value(&block.block, expected),
            Expr::If(branch) => self.conditional(branch, expr, expected),
            Expr::Match(matching) => self.match_value(matching, expr, expected),
            expr => self.inside(None, |this| this.no_choice(expr, expected)),
        }
    }

    fn no_choice(&mut self, expr: &Expr, expected: Option<&Type>) -> Option<Expression> {
        match expr {
            Expr::Lit(literal) => self.literal(&literal.lit),
            Expr::Path(path) => Some(self.path(path)),
            Expr::Unary(unary) => self.unary(unary),
            Expr::Binary(binary) if !is_assignment(&binary.op) => self.binary(binary),
            Expr::Cast(cast) => {
                let value = self.expr(&cast.expr, None)?;
                Some(Expression::Cast(cast.ty.clone(), Box::new(value.bare())))
            }
            Expr::Field(field) => {
                let name = field_name(&field.member);
                Some(match &*field.base {
                    Expr::Path(path) if path.path.is_ident("self") => Expression::Parameter(name),
                    base => Expression::Field(Box::new(self.expr(base, None)?), name),
                })
            }
            Expr::Index(at) => self.index(at),
            Expr::Array(array) => self.array(array, expected),
            Expr::Repeat(repeat) => self.repeat(repeat, expected),
            Expr::Struct(literal) => self.structure(literal, expected),
            Expr::Call(call) => self.call(call, expected),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Loop(_) => self.statement_value(expr, expected),
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => {
                self.lower_to(expr, &Sink::Discard, None);
                None
            }
            _ if self.trial.is_some() => self.fail(),
            other => {
                self.wrong(other, "this has no value that an operator can use here: make it a statement of its own")
            }
        }
    }

    /// The value, of a type that C++ can find out.
    pub(super) fn typed(&mut self, expr: &Expr, expected: Option<&Type>) -> Option<Expression> {
        let value = self.expr(expr, expected)?;
        if !value.is_typed() {
            self.errors.at(expr, NEEDS_SUFFIX);
        }
        Some(value)
    }

    /// Several operands, evaluated from left to right.
    pub(super) fn operands(&mut self, exprs: &[&Expr]) -> Option<Vec<Expression>> {
        self.operands_of(exprs, |_| None)
    }

    /// The same, with the types that their places require.
    pub(super) fn operands_of<'t>(
        &mut self,
        exprs: &[&Expr],
        expected: impl Fn(usize) -> Option<&'t Type>,
    ) -> Option<Vec<Expression>> {
        let ordered = exprs.iter().any(|expr| flow::has_effects(expr));
        let last = exprs.len().saturating_sub(1);
        let values: Vec<Option<Expression>> = exprs
            .iter()
            .enumerate()
            .map(|(index, expr)| {
                let own = ordered && index < last;
                // In a variable of its own its place does not determine its type.
                let value = self.expr(expr, if own { None } else { expected(index) })?;
                let kept = own && value.is_typed() && !value.is_literal();
                Some(if kept { self.spill("operand", value) } else { value })
            })
            .collect();
        values.into_iter().collect()
    }

    fn path(&mut self, path: &ExprPath) -> Expression {
        if let Some(ident) = path.path.get_ident()
            && path.qself.is_none()
            && let Some(binding) = self.scopes.find(ident)
        {
            return binding.place.clone();
        }
        Expression::Constant(Box::new(path.clone()))
    }

    fn index(&mut self, at: &ExprIndex) -> Option<Expression> {
        let [array, index] = <[Expression; 2]>::try_from(self.operands(&[&at.expr, &at.index])?).ok()?;
        let access = match self.scopes.is_counted(&index) {
            true => Access::Counted,
            // A constant and a parameter stay in their memory; a computed array should stay in registers.
            false if array.is_of_variable() => Access::Read,
            false => Access::InMemory,
        };
        Some(Expression::Index { array: Box::new(array), index: Box::new(index), access })
    }

    /// The place that an expression names, to be written to. It is `replaced` as a whole, or updated from its old
    /// value.
    pub(super) fn place(&mut self, expr: &Expr, replaced: bool) -> Option<Expression> {
        self.expr(expr, None).map(|place| written(place, replaced))
    }
}

/// A place that is written to, as the expression that reads it.
fn written(place: Expression, replaced: bool) -> Expression {
    match place.bare() {
        Expression::Field(base, name) => Expression::Field(Box::new(written(*base, false)), name),
        Expression::Index { array, index, access } => {
            let access = match access {
                Access::Read if replaced => Access::Replaced,
                Access::Read => Access::InMemory,
                access => access,
            };
            Expression::Index { array: Box::new(written(*array, false)), index, access }
        }
        place => place,
    }
}

/// The name of a field.
pub(super) fn field_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => plain(ident),
        Member::Unnamed(index) => format!("_{}", index.index),
    }
}
