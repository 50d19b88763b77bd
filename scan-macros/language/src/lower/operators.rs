//! Unary and binary operators, and constant folding of literals.

use super::expression::NEEDS_SUFFIX;
use super::{Lowerer, Sink};
use crate::ir::typing::Typing;
use crate::ir::{Declared, Expression, Integer, Spelling, Statement};
use crate::language::Operator;
use quote::ToTokens;
use syn::{ExprBinary, ExprUnary, UnOp};

impl Lowerer<'_> {
    pub(super) fn unary(&mut self, unary: &ExprUnary) -> Option<Expression> {
        let value = self.expr(&unary.expr, None)?;
        match (&unary.op, value.typing()) {
            (UnOp::Neg(_), Typing::Integer(Some(known))) => Some(folded(known.wrapping_neg())),
            (UnOp::Not(_), Typing::Integer(Some(known))) => Some(folded(!known)),
            (_, Typing::Integer(None)) | (UnOp::Not(_), Typing::Float) => self.wrong(unary, NEEDS_SUFFIX),
            (UnOp::Neg(_), _) => Some(Expression::Negative(Box::new(value))),
            (UnOp::Not(_), _) => Some(Expression::Not(Box::new(value))),
            _ => self.wrong(unary, "there are no references in an operator: remove the `*`"),
        }
    }

    pub(super) fn binary(&mut self, binary: &ExprBinary) -> Option<Expression> {
        let Some((operator, _)) = Operator::of(&binary.op) else {
            return self.wrong(binary.op, "this operator is outside the operator language");
        };
        if matches!(operator, Operator::And | Operator::Or) {
            return self.short_circuit(operator, binary);
        }
        let [left, right] = <[_; 2]>::try_from(self.operands(&[&binary.left, &binary.right])?).ok()?;
        if !left.is_typed() && (operator.is_shift() || !right.is_typed()) {
            return self.fold(operator, &left, &right, binary);
        }
        let right = self.right_side(operator, right);
        Some(Expression::Binary(operator, Box::new(left), Box::new(right)))
    }

    /// The right side of an operation. A divisor that all elements share is marked as one.
    pub(super) fn right_side(&self, operator: Operator, right: Expression) -> Expression {
        match operator {
            Operator::Div | Operator::Rem if self.scopes.is_invariant(&right) => Expression::Invariant(Box::new(right)),
            _ => right,
        }
    }

    /// An operation of two literals without suffix. Only those are done here whose low bits depend on low bits alone,
    /// so that they are right whatever the type turns out to be.
    fn fold(
        &mut self,
        operator: Operator,
        left: &Expression,
        right: &Expression,
        whole: impl ToTokens,
    ) -> Option<Expression> {
        let value = match (left.typing(), right.typing()) {
            (Typing::Integer(Some(a)), Typing::Integer(Some(b))) => match operator {
                Operator::Add => Some(a.wrapping_add(b)),
                Operator::Sub => Some(a.wrapping_sub(b)),
                Operator::Mul => Some(a.wrapping_mul(b)),
                Operator::BitAnd => Some(a & b),
                Operator::BitOr => Some(a | b),
                Operator::BitXor => Some(a ^ b),
                Operator::Shl => u32::try_from(b).ok().filter(|count| *count < 128).map(|count| a.wrapping_shl(count)),
                _ => None,
            },
            _ => None,
        };
        match value {
            Some(value) => Some(folded(value)),
            None => self.wrong(whole, NEEDS_SUFFIX),
        }
    }

    /// `&&` and `||`.
    fn short_circuit(&mut self, operator: Operator, binary: &ExprBinary) -> Option<Expression> {
        let left = self.expr(&binary.left, None)?;
        let right = self.alone(|this| this.expr(&binary.right, None));
        if self.trial.is_some() || right.is_some() {
            return Some(Expression::Binary(operator, Box::new(left), Box::new(right?)));
        }
        // The right side has statements of its own, which run only if the left side requires them.
        let and = operator == Operator::And;
        let name = self.scopes.fresh(if and { "both" } else { "either" });
        self.declare_own(&name, Declared::Truth, Some(left));
        let value = Expression::Variable(name);
        let condition = if and { value.clone() } else { Expression::Opposite(Box::new(value.clone())) };
        let body = self.within(|this| this.lower_to(&binary.right, &Sink::Assign(value.clone()), None));
        self.emit(Statement::If { arms: vec![(condition, body)], otherwise: None });
        Some(value)
    }
}

/// An integer that literals alone make: its low bits are right in every type.
fn folded(value: i128) -> Expression {
    Expression::Integer(Integer { value, spelling: Spelling::Decimal, ty: None })
}
