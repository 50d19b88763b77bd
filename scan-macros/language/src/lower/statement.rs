//! Statements.

use super::{Lowerer, Sink, flow, settled};
use crate::ir::{Exit, Expression, Statement};
use crate::language::Operator;
use crate::syntax::{asserted, is_assignment};
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprAssign, ExprBinary, ExprIf, Stmt, Type};

impl Lowerer<'_> {
    /// The statements of a block, its value to the sink.
    pub(super) fn block(&mut self, block: &Block, sink: &Sink, expected: Option<&Type>) {
        self.scopes.open();
        let last = block.stmts.len().saturating_sub(1);
        for (index, statement) in block.stmts.iter().enumerate() {
            match statement {
                Stmt::Expr(value, None) if index == last => {
                    self.mark(value.span());
                    self.lower_to(value, sink, expected);
                }
                statement => self.statement(statement),
            }
            if let Stmt::Expr(expr, _) = statement
                && flow::diverges(expr)
            {
                // What follows is never reached.
                break;
            }
        }
        self.scopes.close();
    }

    pub(super) fn statement(&mut self, statement: &Stmt) {
        if self.trial.is_some() {
            self.fail();
            return;
        }
        self.mark(statement.span());
        match statement {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(expr, _) => self.lower_to(expr, &Sink::Discard, None),
            Stmt::Macro(call) => self.assertion(&call.mac),
            Stmt::Item(item) => {
                self.errors.at(item, "an operator cannot contain items: move it out of the function");
            }
        }
    }

    fn assertion(&mut self, mac: &syn::Macro) {
        match asserted(mac) {
            Ok(condition) => {
                if let Some(condition) = self.expr(&condition, None) {
                    self.emit(Statement::Unless(condition, Exit::Panic));
                }
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Writes an expression as statements, its value to the sink.
    pub(super) fn lower_to(&mut self, expr: &Expr, sink: &Sink, expected: Option<&Type>) {
        if self.trial.is_some() {
            self.fail();
            return;
        }
        match expr {
            Expr::Paren(inner) => self.lower_to(&inner.expr, sink, expected),
            Expr::Block(block) if block.label.is_none() => self.block(&block.block, sink, expected),
            Expr::Block(block) => {
                self.errors.at(&block.label, "labelled blocks are outside the operator language: use `if`")
            }
            Expr::If(_) | Expr::Match(_) => match self.chosen(expr, sink, expected) {
                Some(value) => self.put(value, sink),
                None => self.decide(expr, sink, expected),
            },
            Expr::While(looping) => self.while_loop(looping),
            Expr::ForLoop(looping) => self.for_loop(looping),
            Expr::Loop(looping) => self.endless_loop(looping, sink, expected),
            Expr::Return(leave) => match &leave.expr {
                Some(value) => {
                    self.lambdas.iter_mut().for_each(|lambda| lambda.is_left = true);
                    let returns = self.returns.clone();
                    self.lower_to(value, &Sink::Return, returns.as_ref());
                }
                None => self.errors.at(leave, "return a value"),
            },
            Expr::Break(leave) => self.leave_loop(leave),
            Expr::Continue(next) => self.continue_loop(next.label.as_ref()),
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.update(binary),
            Expr::Macro(call) => self.assertion(&call.mac),
            Expr::Tuple(unit) if unit.elems.is_empty() => {}
            value => {
                if let Some(value) = self.expr(value, expected) {
                    self.put(value, sink);
                }
            }
        }
    }

    /// The value of an `if` or a `match` that is better an expression than statements: a choice between values all of
    /// which are computed, or a short one.
    fn chosen(&mut self, expr: &Expr, sink: &Sink, expected: Option<&Type>) -> Option<Expression> {
        if matches!(sink, Sink::Discard) {
            return None;
        }
        let short = matches!(expr, Expr::If(branch)
            if branch.else_branch.as_ref().is_some_and(|(_, other)| !matches!(**other, Expr::If(_))));
        self.alone_if(
            |this| this.expr(expr, expected),
            |value| short || matches!(value, Expression::Choice(choice) if choice.computes_both),
        )
    }

    fn decide(&mut self, expr: &Expr, sink: &Sink, expected: Option<&Type>) {
        match expr {
            Expr::If(branch) => self.branch(branch, sink, expected),
            Expr::Match(matching) => self.match_statement(matching, sink, expected),
            _ => {}
        }
    }

    fn put(&mut self, value: Expression, sink: &Sink) {
        match sink {
            Sink::Return => {
                let value = match self.lambdas.last_mut() {
                    Some(lambda) => {
                        lambda.is_untyped |= !value.is_typed();
                        settled(value)
                    }
                    None => value,
                };
                self.emit(Statement::Return(value));
            }
            Sink::Assign(place) => self.emit(Statement::Assign { place: place.clone(), value }),
            Sink::Discard => self.emit(Statement::Discard(value)),
        }
    }

    fn branch(&mut self, branch: &ExprIf, sink: &Sink, expected: Option<&Type>) {
        let Some(condition) = self.expr(&branch.cond, None) else { return };
        let mut arms = vec![(condition, self.within(|this| this.block(&branch.then_branch, sink, expected)))];
        let mut other = branch.else_branch.as_ref().map(|(_, other)| &**other);
        // `else if`, where its condition needs no statements of its own.
        while let Some(Expr::If(next)) = other
            && let Some(condition) = self.alone(|this| this.expr(&next.cond, None))
        {
            arms.push((condition, self.within(|this| this.block(&next.then_branch, sink, expected))));
            other = next.else_branch.as_ref().map(|(_, other)| &**other);
        }
        let otherwise = other.map(|other| self.within(|this| this.lower_to(other, sink, expected)));
        self.emit(Statement::If { arms, otherwise });
    }

    fn assign(&mut self, assign: &ExprAssign) {
        if matches!(&*assign.left, Expr::Infer(_)) {
            self.lower_to(&assign.right, &Sink::Discard, None);
            return;
        }
        // Rust evaluates the right side first.
        if flow::has_effects(&assign.left) {
            self.errors.at(&assign.left, "bind the parts of this place by `let` first");
            return;
        }
        if let Some(place) = self.place(&assign.left, true) {
            self.lower_to(&assign.right, &Sink::Assign(place), None);
        }
    }

    /// `place += value`
    fn update(&mut self, binary: &ExprBinary) {
        let Some((operator, _)) = Operator::of(&binary.op) else { return };
        if flow::has_effects(&binary.left) {
            self.errors.at(&binary.left, "bind the parts of this place by `let` first");
            return;
        }
        let value = self.expr(&binary.right, None);
        let place = self.place(&binary.left, false);
        if let (Some(place), Some(value)) = (place, value) {
            let value = self.right_side(operator, value);
            self.emit(Statement::Update { operator, place, value });
        }
    }
}
