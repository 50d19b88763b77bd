//! Loops, and the jumps that leave them or go on with them.

use super::{Lowerer, Sink, flow};
use crate::ir::{Exit, Expression, For, Statement};
use crate::syntax::{Range, plain, range_of};
use syn::{Block, ExprBreak, ExprForLoop, ExprLoop, ExprWhile, Label, Lifetime, Pat, Type};

/// A loop that `break` and `continue` can mean.
pub(super) struct Loop {
    label: Option<Lifetime>,
    /// Where a loop inside this one jumps to leave it, and to go on with it. C++ leaves only the innermost loop by
    /// itself.
    after: Option<String>,
    next: Option<String>,
    /// Where the value of `break value` goes.
    sink: Sink,
    expected: Option<Type>,
}

impl Lowerer<'_> {
    pub(super) fn while_loop(&mut self, looping: &ExprWhile) {
        let condition = self.alone(|this| this.expr(&looping.cond, None));
        // A condition that needs statements is tested after them.
        let tested = match condition {
            Some(_) => Vec::new(),
            None => self.within(|this| {
                if let Some(condition) = this.expr(&looping.cond, None) {
                    this.emit(Statement::Unless(condition, Exit::Break));
                }
            }),
        };
        let (mut body, after) = self.loop_body(&looping.body, looping.label.as_ref(), Sink::Discard, None);
        body.splice(0..0, tested);
        self.emit_loop(
            after,
            match condition {
                Some(condition) => Statement::While(condition, body),
                None => Statement::Loop(body),
            },
        );
    }

    pub(super) fn endless_loop(&mut self, looping: &ExprLoop, sink: &Sink, expected: Option<&Type>) {
        let (body, after) = self.loop_body(&looping.body, looping.label.as_ref(), sink.clone(), expected);
        self.emit_loop(after, Statement::Loop(body));
    }

    pub(super) fn for_loop(&mut self, looping: &ExprForLoop) {
        let Some(Range { start: Some(start), end: Some(end), inclusive, reversed, .. }) = range_of(&looping.expr)
        else {
            self.errors.at(&looping.expr, "a `for` in an operator runs over a range: `for i in 0..n`");
            return;
        };
        let bounds = self.operands(&[start, end]).and_then(|bounds| <[Expression; 2]>::try_from(bounds).ok());
        let Some([mut start, end]) = bounds else { return };
        let (name, ident) = match &*looping.pat {
            Pat::Ident(ident) if ident.subpat.is_none() => {
                (self.scopes.fresh(&plain(&ident.ident)), Some(&ident.ident))
            }
            _ => (self.scopes.fresh("_step"), None),
        };
        self.scopes.open();
        if let Some(ident) = ident {
            self.scopes.bind(ident, Expression::Variable(name.clone()), true);
            self.scopes.count(&name);
        }
        let (body, after) = self.loop_body(&looping.body, looping.label.as_ref(), Sink::Discard, None);
        self.scopes.close();
        if !start.is_typed() && !end.is_typed() {
            // Rust finds the type in the body. An index is the common case, and certain; and so is what is not used.
            let any =
                |test: &dyn Fn(&Expression) -> bool| body.iter().any(|statement| statement.any(&mut |of| test(of)));
            let ty: Type = if any(&|of| is_index(&name, of)) {
                syn::parse_quote!(usize)
            } else if !any(&|of| matches!(of, Expression::Variable(variable) if *variable == name)) {
                syn::parse_quote!(i32)
            } else {
                self.errors.at(
                    &looping.expr,
                    "the type of this range is not known in the GPU's text: give one end a suffix, like `0..4_u32`",
                );
                return;
            };
            start = Expression::Typed(Box::new(ty), Box::new(start));
        }
        self.emit_loop(after, Statement::For(Box::new(For { name, start, end, inclusive, reversed, body })));
    }

    /// The statements of a loop's body, and the label after the loop, if something jumps there.
    fn loop_body(
        &mut self,
        body: &Block,
        label: Option<&Label>,
        sink: Sink,
        expected: Option<&Type>,
    ) -> (Vec<Statement>, Option<String>) {
        let label = label.map(|label| label.name.clone());
        self.loops.push(Loop { label, after: None, next: None, sink, expected: expected.cloned() });
        let body = self.within(|this| this.block(body, &Sink::Discard, None));
        match self.loops.pop() {
            // In braces of their own, so that no jump skips a declaration.
            Some(Loop { next: Some(next), after, .. }) => (vec![Statement::Block(body), Statement::Label(next)], after),
            Some(Loop { after, .. }) => (body, after),
            None => (body, None),
        }
    }

    fn emit_loop(&mut self, after: Option<String>, looping: Statement) {
        self.emit(looping);
        after.into_iter().for_each(|after| self.emit(Statement::Label(after)));
    }

    /// The loop that a jump means, as its place in the list of open loops.
    fn target(&mut self, label: Option<&Lifetime>) -> Option<usize> {
        let index = match label {
            None => self.loops.len().checked_sub(1),
            Some(label) => {
                self.loops.iter().rposition(|open| open.label.as_ref().is_some_and(|known| label.ident == known.ident))
            }
        }?;
        self.lambdas.iter_mut().for_each(|lambda| lambda.is_left |= index < lambda.loops);
        Some(index)
    }

    pub(super) fn continue_loop(&mut self, label: Option<&Lifetime>) {
        let Some(index) = self.target(label) else { return };
        let jump = match index + 1 < self.loops.len() {
            true => Statement::Goto(self.label("next", index, |open| &mut open.next)),
            false => Statement::Continue,
        };
        self.emit(jump);
    }

    pub(super) fn leave_loop(&mut self, leave: &ExprBreak) {
        let Some(index) = self.target(leave.label.as_ref()) else { return };
        if let Some(value) = &leave.expr {
            let (sink, expected) = (self.loops[index].sink.clone(), self.loops[index].expected.clone());
            self.lower_to(value, &sink, expected.as_ref());
            // Where the loop's value is returned, that has left it.
            if matches!(sink, Sink::Return) || flow::diverges(value) {
                return;
            }
        }
        let jump = match index + 1 < self.loops.len() {
            true => Statement::Goto(self.label("after", index, |open| &mut open.after)),
            false => Statement::Break,
        };
        self.emit(jump);
    }

    /// The name of a label of a loop, which it gets with the first jump.
    fn label(&mut self, prefix: &str, index: usize, of: impl Fn(&mut Loop) -> &mut Option<String>) -> String {
        if let Some(label) = of(&mut self.loops[index]) {
            return label.clone();
        }
        let own = self.loops[index].label.as_ref().map(|label| plain(&label.ident)).unwrap_or_default();
        let label = self.scopes.fresh(&format!("{prefix}_{own}"));
        *of(&mut self.loops[index]) = Some(label.clone());
        label
    }
}

/// Whether the variable is an index into an array here: then it is a `usize`.
fn is_index(name: &str, expression: &Expression) -> bool {
    let Expression::Index { index, .. } = expression else { return false };
    matches!(&**index, Expression::Variable(index) if index == name)
}
