//! `if`, `match`, `loop` and blocks as values: expressions where these need no statements, else variables that
//! statements give their values.

use super::{Lambda, Lowerer, Sink, flow};
use crate::ir::{Choice, Declared, Expression, Statement};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Arm, Block, Expr, ExprIf, ExprMatch, Stmt, Type};

/// The most choices inside one another that become an expression: the GPU's compiler needs more stack for each than
/// for an `if`.
const CHOICES: usize = 64;

/// The state while an expression is tried for whether it needs statements.
#[derive(Default)]
pub(super) struct Trial {
    /// Whether it needs one.
    pub(super) failed: bool,
    /// The number of choices around this place, the arms of an `else if` and of a `match` among them.
    choices: usize,
}

impl Lowerer<'_> {
    /// The result, if it needs no statement and is `wanted`; otherwise everything is undone.
    pub(super) fn alone_if(
        &mut self,
        make: impl FnOnce(&mut Self) -> Option<Expression>,
        wanted: impl FnOnce(&Expression) -> bool,
    ) -> Option<Expression> {
        if self.trial.is_some() {
            return make(self);
        }
        let (errors, bindings) = (self.errors.count(), self.bindings.len());
        self.trial = Some(Trial::default());
        let made = make(self);
        let failed = self.trial.take().is_none_or(|trial| trial.failed);
        let made = made.filter(|made| !failed && wanted(made));
        if made.is_none() {
            self.errors.truncate(errors);
            self.bindings.truncate(bindings);
        }
        made
    }

    /// The result, if it needs no statement.
    pub(super) fn alone(&mut self, make: impl FnOnce(&mut Self) -> Option<Expression>) -> Option<Expression> {
        self.alone_if(make, |_| true)
    }

    /// Marks the tried code as not being an expression.
    pub(super) fn fail(&mut self) -> Option<Expression> {
        if let Some(trial) = &mut self.trial {
            trial.failed = true;
        }
        None
    }

    pub(super) fn has_failed(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.failed)
    }

    /// The result inside this many more choices, or inside none for code that is not a choice itself.
    pub(super) fn inside<T>(&mut self, choices: Option<usize>, make: impl FnOnce(&mut Self) -> T) -> T {
        let Some(trial) = &mut self.trial else { return make(self) };
        let around = trial.choices;
        trial.choices = choices.map_or(0, |more| around + more);
        trial.failed |= trial.choices > CHOICES;
        let made = make(self);
        if let Some(trial) = &mut self.trial {
            trial.choices = around;
        }
        made
    }

    /// An `if` as a value.
    pub(super) fn conditional(&mut self, branch: &ExprIf, whole: &Expr, expected: Option<&Type>) -> Option<Expression> {
        let Some((_, other)) = &branch.else_branch else {
            return match &self.trial {
                Some(_) => self.fail(),
                None => self.wrong(branch.if_token, "an `if` without `else` has no value"),
            };
        };
        let chosen = self.alone(|this| this.inside(Some(1), |this| this.if_value(branch, other, expected)));
        if chosen.is_some() || self.trial.is_some() {
            return chosen;
        }
        // If one arm leaves, the value is that of the other.
        if flow::block_diverges(&branch.then_branch) {
            let condition = self.expr(&branch.cond, None)?;
            let leaves = self.within(|this| this.block(&branch.then_branch, &Sink::Discard, None));
            self.emit(Statement::If { arms: vec![(condition, leaves)], otherwise: None });
            return self.expr(other, expected);
        }
        if flow::diverges(other) {
            let condition = Expression::Opposite(Box::new(self.expr(&branch.cond, None)?));
            let leaves = self.within(|this| this.lower_to(other, &Sink::Discard, None));
            self.emit(Statement::If { arms: vec![(condition, leaves)], otherwise: None });
            return self.scoped_value(&branch.then_branch, expected);
        }
        self.statement_value(whole, expected)
    }

    fn if_value(&mut self, branch: &ExprIf, other: &Expr, expected: Option<&Type>) -> Option<Expression> {
        let condition = self.inside(None, |this| this.expr(&branch.cond, None));
        let then = self.scoped_value(&branch.then_branch, expected);
        let other = self.expr(other, expected);
        let (condition, then, other) = (condition?, then?, other?);
        let computes_both =
            !is_of_field(expected) && (then.builds() || other.builds()) && then.is_cheap() && other.is_cheap();
        Some(choice(condition, then, other, computes_both))
    }

    /// A `match` as a value.
    pub(super) fn match_value(
        &mut self,
        matching: &ExprMatch,
        whole: &Expr,
        expected: Option<&Type>,
    ) -> Option<Expression> {
        let arms = matching.arms.len();
        let chosen = self.alone(|this| this.inside(Some(arms), |this| this.chosen_arm(matching, expected)));
        if chosen.is_some() || self.trial.is_some() {
            return chosen;
        }
        self.statement_value(whole, expected)
    }

    /// A `match` of plain expressions, as a chain of choices.
    fn chosen_arm(&mut self, matching: &ExprMatch, expected: Option<&Type>) -> Option<Expression> {
        let subject = self.inside(None, |this| this.expr(&matching.expr, None))?;
        if !subject.is_place() {
            return self.fail();
        }
        let subject = [subject.bare()];
        let mut computes_both = !is_of_field(expected);
        let mut builds = false;
        let mut chosen = Vec::new();
        for Arm { pat, body, .. } in &matching.arms {
            self.scopes.open();
            let (condition, guard) = self.inside(None, |this| this.arm_condition(pat, &subject));
            let value = self.expr(body, expected);
            self.scopes.close();
            let value = value?;
            computes_both &= value.is_cheap() && guard.as_ref().is_none_or(Expression::is_cheap);
            builds |= value.builds();
            let condition = super::pattern::all_of(condition.into_iter().chain(guard));
            let always = condition.is_none();
            chosen.push((condition, value));
            if always {
                break;
            }
        }
        let (_, last) = chosen.pop()?;
        Some(chosen.into_iter().rev().fold(last, |other, (condition, value)| match condition {
            Some(condition) => choice(condition, value, other, computes_both && builds),
            None => value,
        }))
    }

    /// The value of statements: a variable where the type is known, else a lambda, whose type C++ finds out.
    pub(super) fn statement_value(&mut self, expr: &Expr, expected: Option<&Type>) -> Option<Expression> {
        if self.trial.is_some() {
            return self.fail();
        }
        if flow::diverges(expr) {
            self.lower_to(expr, &Sink::Discard, None);
            return None;
        }
        let name = self.scopes.fresh("value");
        let value = Expression::Variable(name.clone());
        if let Some(ty) = expected.filter(|_| !is_of_field(expected)) {
            self.declare_own(&name, Declared::Type(Box::new(ty.clone())), None);
            self.lower_to(expr, &Sink::Assign(value.clone()), expected);
            return Some(value);
        }
        let errors = self.errors.count();
        self.lambdas.push(Lambda { loops: self.loops.len(), is_left: false, is_untyped: false });
        let body = self.within(|this| this.lower_to(expr, &Sink::Return, None));
        let lambda = self.lambdas.pop()?;
        if lambda.is_left {
            self.errors.truncate(errors);
            return self.wrong(
                first_token(expr),
                "the type of this is not known in the GPU's text: bind it by a `let` with a type, `let value: f32 = …;`",
            );
        }
        if lambda.is_untyped {
            return self.wrong(
                first_token(expr),
                "the type of this is not known in the GPU's text: bind it by a `let` with a type, or give its literals suffixes",
            );
        }
        self.emit(Statement::Compute { name, body });
        Some(value)
    }

    /// The value of a block in a scope of its own.
    pub(super) fn scoped_value(&mut self, block: &Block, expected: Option<&Type>) -> Option<Expression> {
        self.scopes.open();
        let value = self.block_value(block, expected);
        self.scopes.close();
        value
    }

    /// The value of a block whose statements are written out before it.
    fn block_value(&mut self, block: &Block, expected: Option<&Type>) -> Option<Expression> {
        let Some((last, before)) = block.stmts.split_last() else {
            return match &self.trial {
                Some(_) => self.fail(),
                None => self.wrong(block, "this block has no value"),
            };
        };
        before.iter().for_each(|statement| self.statement(statement));
        match last {
            Stmt::Expr(value, None) => self.expr(value, expected),
            _ if self.trial.is_some() => self.fail(),
            statement if flow::block_diverges(block) => {
                self.statement(statement);
                None
            }
            statement => self.wrong(statement, "this block has no value: leave the last `;` out"),
        }
    }
}

/// Whether the type is that of a field, which C++ knows and the macro does not.
fn is_of_field(expected: Option<&Type>) -> bool {
    matches!(expected, Some(Type::Infer(_)))
}

/// One of two values. Both can be computed only where C++ finds out their type.
fn choice(condition: Expression, then: Expression, other: Expression, computes_both: bool) -> Expression {
    let computes_both = computes_both && then.is_typed() && other.is_typed();
    Expression::Choice(Box::new(Choice { condition, then, other, computes_both }))
}

/// What to underline of something long.
fn first_token(expr: &Expr) -> TokenStream {
    let first = expr.to_token_stream().into_iter().next();
    first.map_or_else(|| quote::quote_spanned!(expr.span()=> value), ToTokens::into_token_stream)
}
