//! Statements.

use super::expression::field_name;
use super::{Lowerer, Sink, flow, settled};
use crate::ir::{Declared, Exit, Expression, Statement};
use crate::language::Operator;
use crate::syntax::{asserted, is_assignment, plain};
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprAssign, ExprBinary, ExprIf, Local, Pat, PatIdent, PatTuple, Stmt, Type};

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
                self.errors.at(item, "items cannot stand inside an operator: move it out of the function");
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

    fn local(&mut self, local: &Local) {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let init = local.init.as_ref().map(|init| &*init.expr);
        match (pat, init) {
            (Pat::Ident(ident), init) if ident.subpat.is_none() => {
                let name = self.scopes.fresh(&plain(&ident.ident));
                let counted = match (init, ty) {
                    (Some(init), ty) => self.declare(&name, ty, init),
                    (None, Some(ty)) => {
                        self.declare_own(&name, Declared::Type(ty.clone()), None);
                        false
                    }
                    (None, None) => {
                        self.errors
                            .at(&local.pat, "the type of this is not known in the GPU's text: write it, `let x: f32;`");
                        false
                    }
                };
                if counted && ident.mutability.is_none() {
                    self.scopes.count(&name);
                }
                // Only now, because the name may stand for another local in what that begins with.
                self.scopes.bind(&ident.ident, Expression::Variable(name), true);
            }
            (Pat::Wild(_), Some(init)) => self.lower_to(init, &Sink::Discard, ty),
            (Pat::Wild(_), None) => {}
            (Pat::Tuple(tuple), Some(Expr::Tuple(values))) => self.tuple(tuple, values, ty),
            (Pat::Tuple(_), _) => {}
            (pat, None) => self.errors.at(pat, "give this pattern a value"),
            (pat, Some(init)) => {
                if let Some(value) = self.typed(init, ty) {
                    let whole = self.spill("value", value);
                    self.destructure(pat, &whole);
                }
            }
        }
    }

    /// `let (a, b) = (x, y);`
    fn tuple(&mut self, tuple: &PatTuple, values: &syn::ExprTuple, ty: Option<&Type>) {
        if values.elems.len() != tuple.elems.len() {
            self.errors.at(tuple, "names and values differ in number");
            return;
        }
        let types: Vec<Option<&Type>> = match ty {
            Some(Type::Tuple(types)) => types.elems.iter().map(Some).collect(),
            _ => Vec::new(),
        };
        let mut parts = Vec::new();
        for (index, (pat, value)) in tuple.elems.iter().zip(&values.elems).enumerate() {
            let name = match pat {
                Pat::Ident(ident) => self.scopes.fresh(&plain(&ident.ident)),
                _ => self.scopes.fresh("value"),
            };
            self.declare(&name, types.get(index).copied().flatten(), value);
            parts.push((pat, Expression::Variable(name)));
        }
        for (pat, place) in parts {
            match pat {
                // The variable was made for this name.
                Pat::Ident(ident) => self.bind_whole(ident, place),
                pat => self.destructure(pat, &place),
            }
        }
    }

    /// A variable of the user's; whether its value is made of numbers that the compiler knows once loops are unrolled.
    fn declare(&mut self, name: &str, ty: Option<&Type>, value: &Expr) -> bool {
        let may_be_unread = name.starts_with('_');
        let declared = |ty: Declared, value: Option<Expression>| Statement::Declare {
            name: name.to_owned(),
            ty,
            value,
            may_be_unread,
        };
        let decides = matches!(value, Expr::If(_) | Expr::Match(_) | Expr::Loop(_));
        let lowered = match ty {
            Some(ty) if decides && !flow::diverges(value) => {
                let alone = self.alone(|this| this.expr(value, Some(ty)));
                if alone.is_none() {
                    self.emit(declared(Declared::Type(ty.clone()), None));
                    self.lower_to(value, &Sink::Assign(Expression::Variable(name.to_owned())), Some(ty));
                }
                alone
            }
            ty => self.expr(value, ty),
        };
        let Some(lowered) = lowered else { return false };
        let counted = self.scopes.is_counted(&lowered);
        match ty {
            Some(ty) => self.emit(declared(Declared::Type(ty.clone()), Some(lowered))),
            None if lowered.is_typed() => self.emit(declared(Declared::Auto, Some(settled(lowered)))),
            None => self.errors.at(
                value,
                "the type of this is not known in the GPU's text: give it a suffix, or write `let x: f32 = …`",
            ),
        }
        counted
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

    /// The value of an `if` or a `match` that is better an expression than statements: a choice between values all of which are
    /// computed, or a short one.
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
            self.emit(Statement::Update { operator, place, value });
        }
    }

    /// Binds a name to the variable that was made for it, and what its pattern has inside.
    fn bind_whole(&mut self, ident: &PatIdent, place: Expression) {
        self.scopes.bind(&ident.ident, place.clone(), true);
        if let Some((_, inner)) = &ident.subpat {
            self.destructure(inner, &place);
        }
    }

    /// Binds the parts of a value that stands in a variable.
    pub(super) fn destructure(&mut self, pat: &Pat, whole: &Expression) {
        let part = |name: String| Expression::Field(Box::new(whole.clone()), name);
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => {}
            Pat::Type(typed) => self.destructure(&typed.pat, whole),
            Pat::Paren(paren) => self.destructure(&paren.pat, whole),
            Pat::Ident(ident) => {
                let name = self.scopes.fresh(&plain(&ident.ident));
                let (ty, value) = (Declared::Auto, Some(whole.clone()));
                self.emit(Statement::Declare { name: name.clone(), ty, value, may_be_unread: true });
                self.bind_whole(ident, Expression::Variable(name));
            }
            Pat::Struct(fields) => {
                for field in &fields.fields {
                    self.destructure(&field.pat, &part(field_name(&field.member)));
                }
            }
            Pat::TupleStruct(fields) => {
                for (index, field) in fields.elems.iter().enumerate() {
                    if let Pat::Rest(rest) = field
                        && index + 1 < fields.elems.len()
                    {
                        self.errors.at(rest, "`..` comes last: name the fields before it");
                        return;
                    }
                    self.destructure(field, &part(format!("_{index}")));
                }
            }
            other => self.errors.at(other, "outside the operator language: use a name, and compare with `if`"),
        }
    }
}
