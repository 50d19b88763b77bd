//! Statements.

use super::{
    Loop, Lowerer, Rank, Sink, Typing, Value, purity, scope,
    uses::{is_constant, is_counted},
};
use crate::syntax::{Range, asserted, is_assignment, range_of};
use crate::text::Text;
use syn::spanned::Spanned;
use syn::{
    BinOp, Block, Expr, ExprAssign, ExprBinary, ExprBreak, ExprForLoop, ExprIf, ExprLoop, ExprWhile, Label, Lifetime,
};
use syn::{Local, Pat, Stmt, Type};

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
                && purity::diverges(expr)
            {
                // What follows is never reached.
                break;
            }
        }
        self.scopes.close();
    }

    pub(super) fn statement(&mut self, statement: &Stmt) {
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
                let condition = self.expr(&condition, None).at_least(Rank::Postfix);
                self.line(Text::new("if (!").add(condition).add(") panic();"));
                self.uses.insert("panic");
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn local(&mut self, local: &Local) {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        match pat {
            Pat::Ident(ident) if ident.subpat.is_none() => {
                let name = self.scopes.fresh(&scope::plain(&ident.ident));
                self.declare(&name, ty, local);
                // Before the name stands for this local: it may stand for another one in what that begins with.
                let counted = ident.mutability.is_none()
                    && local.init.as_ref().is_some_and(|init| is_counted(&init.expr, &self.scopes));
                self.scopes.bind(&ident.ident, Text::name(name), true);
                if counted {
                    self.scopes.count(&ident.ident);
                }
            }
            Pat::Wild(_) => {
                if let Some(init) = &local.init {
                    self.lower_to(&init.expr, &Sink::Discard, ty);
                }
            }
            Pat::Tuple(tuple) => {
                let Some(Expr::Tuple(values)) = local.init.as_ref().map(|init| &*init.expr) else { return };
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
                        Pat::Ident(ident) => self.scopes.fresh(&scope::plain(&ident.ident)),
                        _ => self.scopes.fresh("value"),
                    };
                    let ty = types.get(index).copied().flatten();
                    self.declare_value(&name, ty, value);
                    parts.push((pat, Text::name(name)));
                }
                for (pat, place) in parts {
                    match pat {
                        // The variable was made for this name.
                        Pat::Ident(ident) => self.bind_whole(ident, place),
                        pat => self.destructure(pat, &place),
                    }
                }
            }
            pat => {
                let Some(init) = &local.init else {
                    self.errors.at(pat, "give this pattern a value");
                    return;
                };
                let value = self.typed(&init.expr, ty);
                let whole = self.spill("value", value);
                self.destructure(pat, &whole);
            }
        }
    }

    fn declare(&mut self, name: &str, ty: Option<&Type>, local: &Local) {
        match (&local.init, ty) {
            (Some(init), ty) => self.declare_value(name, ty, &init.expr),
            (None, Some(ty)) => {
                self.declared.insert(name.to_owned());
                self.line(self.type_text(ty).add(" ").add(Text::name(name)).add(";"));
            }
            (None, None) => {
                self.errors.at(&local.pat, "the type of this is not known in the GPU's text: write it, `let x: f32;`")
            }
        }
    }

    fn declare_value(&mut self, name: &str, ty: Option<&Type>, value: &Expr) {
        if !name.starts_with('_') {
            self.declared.insert(name.to_owned());
        }
        let unused = if name.starts_with('_') { "[[maybe_unused]] " } else { "" };
        let by_statements = matches!(value, Expr::If(_) | Expr::Match(_) | Expr::Loop(_)) && !purity::is_simple(value);
        if let Some(ty) = ty
            && by_statements
            && !purity::diverges(value)
        {
            self.line(Text::new(unused).add(self.type_text(ty)).add(" ").add(Text::name(name)).add(";"));
            self.lower_to(value, &Sink::Assign(Text::name(name)), Some(ty));
            return;
        }
        let text = self.expr(value, ty);
        match (text.typing, ty) {
            (Typing::Never, _) => {}
            (_, Some(ty)) => {
                let declared = Text::new(unused).add(self.type_text(ty)).add(" ").add(Text::name(name));
                self.line(declared.add(" = ").add(text.text).add(";"));
            }
            (Typing::Typed | Typing::Bitwise, None) => {
                let declared = Text::new(unused).add("auto ").add(Text::name(name));
                let value = self.settled(text);
                self.line(declared.add(" = ").add(value).add(";"));
            }
            (_, None) => self.errors.at(
                value,
                "the type of this is not known in the GPU's text: give it a suffix, or write `let x: f32 = …`",
            ),
        }
    }

    /// Writes an expression as statements, its value to the sink.
    pub(super) fn lower_to(&mut self, expr: &Expr, sink: &Sink, expected: Option<&Type>) {
        match expr {
            Expr::Paren(inner) => self.lower_to(&inner.expr, sink, expected),
            Expr::Block(block) if block.label.is_none() => self.block(&block.block, sink, expected),
            Expr::Block(block) => {
                self.errors.at(&block.label, "labelled blocks are outside the operator language: use `if`")
            }
            Expr::If(_) | Expr::Match(_) if !matches!(sink, Sink::Discard) && self.is_chosen(expr, expected) => {
                let value = self.expr(expr, expected);
                self.put(value, sink);
            }
            Expr::If(branch) if !self.as_ternary(branch, expr, sink) => self.branch(branch, sink, expected),
            Expr::Match(matching) => self.match_statement(matching, sink, expected),
            Expr::While(looping) => self.while_loop(looping),
            Expr::ForLoop(looping) => self.for_loop(looping),
            Expr::Loop(looping) => self.endless_loop(looping, sink, expected),
            Expr::Return(leave) => match &leave.expr {
                Some(value) => {
                    let returns = self.returns.clone();
                    self.lower_to(value, &Sink::Return, returns.as_ref());
                }
                None => self.errors.at(leave, "return a value"),
            },
            Expr::Break(leave) => self.leave_loop(leave),
            Expr::Continue(next) => self.continue_loop(next.label.as_ref()),
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.assign_operation(binary),
            Expr::Macro(call) => self.assertion(&call.mac),
            Expr::Tuple(unit) if unit.elems.is_empty() => {}
            value => {
                let value = self.expr(value, expected);
                self.put(value, sink);
            }
        }
    }

    fn as_ternary(&self, branch: &ExprIf, whole: &Expr, sink: &Sink) -> bool {
        let chain = branch.else_branch.as_ref().is_some_and(|(_, other)| matches!(**other, Expr::If(_)));
        !matches!(sink, Sink::Discard) && !chain && purity::is_simple(whole)
    }

    pub(super) fn put(&mut self, value: Value, sink: &Sink) {
        if value.typing == Typing::Never {
            return;
        }
        match sink {
            Sink::Return => {
                let text = match &mut self.lambda_returns {
                    Some(typings) => {
                        typings.push(value.typing);
                        self.settled(value)
                    }
                    None => value.text,
                };
                self.line(Text::new("return ").add(text).add(";"));
            }
            Sink::Assign(place) => self.line(place.clone().add(" = ").add(value.text).add(";")),
            Sink::Discard => self.line(Text::new("static_cast<void>(").add(value.text).add(");")),
        }
    }

    fn branch(&mut self, branch: &ExprIf, sink: &Sink, expected: Option<&Type>) {
        let condition = self.expr(&branch.cond, None);
        self.open(Text::new("if (").add(condition.text).add(") {"));
        self.block(&branch.then_branch, sink, expected);
        let mut other = branch.else_branch.as_ref().map(|(_, other)| &**other);
        while let Some(expr) = other {
            match expr {
                // `else if`, where its condition needs no statements of its own.
                Expr::If(next) if purity::is_simple(&next.cond) => {
                    let condition = self.expr(&next.cond, None);
                    self.depth -= 1;
                    self.open(Text::new("} else if (").add(condition.text).add(") {"));
                    self.block(&next.then_branch, sink, expected);
                    other = next.else_branch.as_ref().map(|(_, other)| &**other);
                }
                expr => {
                    self.depth -= 1;
                    self.open("} else {");
                    self.lower_to(expr, sink, expected);
                    other = None;
                }
            }
        }
        self.close("}");
    }

    fn while_loop(&mut self, looping: &ExprWhile) {
        self.uses.enter_loop();
        if purity::is_simple(&looping.cond) {
            let condition = self.expr(&looping.cond, None);
            self.open(Text::new("while (").add(condition.text).add(") {"));
        } else {
            self.open("while (true) {");
            let condition = self.expr(&looping.cond, None).at_least(Rank::Postfix);
            self.line(Text::new("if (!").add(condition).add(") break;"));
        }
        self.loop_body(&looping.body, looping.label.as_ref(), Sink::Discard, None);
        self.uses.leave();
    }

    fn endless_loop(&mut self, looping: &ExprLoop, sink: &Sink, expected: Option<&Type>) {
        self.open("while (true) {");
        self.uses.enter_loop();
        self.loop_body(&looping.body, looping.label.as_ref(), sink.clone(), expected);
        self.uses.leave();
    }

    fn for_loop(&mut self, looping: &ExprForLoop) {
        let Some(over @ Range { start: Some(start), end: Some(end), inclusive, reversed, .. }) =
            range_of(&looping.expr)
        else {
            self.errors.at(&looping.expr, "a `for` in an operator runs over a range: `for i in 0..n`");
            return;
        };
        let mut bounds = self.operands(&[start, end]).into_iter();
        let (Some(mut start), Some(end)) = (bounds.next(), bounds.next()) else { return };
        if !start.is_typed() && !end.is_typed() {
            // Rust finds the type in the body. An index is the common case, and certain.
            let index = matches!(&*looping.pat, Pat::Ident(ident) if purity::is_index(&ident.ident, &looping.body));
            if !index {
                self.errors.at(
                    &looping.expr,
                    "the type of this range is not known in the GPU's text: give one end a suffix, like `0..4_u32`",
                );
                return;
            }
            let usize_text = self.type_text(&syn::parse_quote!(usize));
            start = Value::typed(usize_text.add("(").add(start.text).add(")"), Rank::Postfix);
        }
        let function = if inclusive { "range_inclusive" } else { "range" };
        self.uses.insert(function);
        let mut range = Text::new(function).add("(").add(start.text).add(", ").add(end.text).add(")");
        if reversed {
            self.uses.insert("rev");
            range.push(".rev()");
        }
        let (name, pattern) = match &*looping.pat {
            Pat::Ident(ident) if ident.subpat.is_none() => {
                (self.scopes.fresh(&scope::plain(&ident.ident)), Some(ident))
            }
            _ => (self.scopes.fresh("_step"), None),
        };
        let unused = if name.starts_with('_') { "[[maybe_unused]] " } else { "" };
        self.open(Text::new(format!("for ({unused}auto ")).add(Text::name(&name)).add(" : ").add(range).add(") {"));
        self.uses.enter(&over, &self.scopes);
        self.scopes.open();
        if let Some(ident) = pattern {
            self.scopes.bind(&ident.ident, Text::name(name), true);
            self.scopes.count(&ident.ident);
        }
        self.loop_body(&looping.body, looping.label.as_ref(), Sink::Discard, None);
        self.scopes.close();
        self.uses.leave();
    }

    fn loop_body(&mut self, body: &Block, label: Option<&Label>, sink: Sink, expected: Option<&Type>) {
        let label = label.map(|label| label.name.ident.to_string());
        let (breaks, continues) = match &label {
            Some(label) => purity::jumps_from_within(body, label),
            None => (false, false),
        };
        // C++ leaves only the innermost loop by itself.
        let name = scope::plain_name(label.as_deref().unwrap_or_default());
        // Where the loop's value is returned, a `break` with that value is the `return`.
        let after = (breaks && !matches!(sink, Sink::Return)).then(|| self.scopes.fresh(&format!("after_{name}")));
        let next = continues.then(|| self.scopes.fresh(&format!("next_{name}")));
        self.loops.push(Loop { label, after: after.clone(), next: next.clone(), sink, expected: expected.cloned() });
        if let Some(next) = next {
            // In braces of their own, so that no jump passes a declaration by.
            self.open("{");
            self.block(body, &Sink::Discard, None);
            self.close("}");
            self.line(Text::name(next).add(":;"));
        } else {
            self.block(body, &Sink::Discard, None);
        }
        self.loops.pop();
        self.close("}");
        if let Some(after) = after {
            self.line(Text::name(after).add(":;"));
        }
    }

    /// The loop that a jump means, as its place in the list of open loops.
    fn target(&self, label: Option<&Lifetime>) -> Option<usize> {
        match label {
            None => self.loops.len().checked_sub(1),
            Some(label) => self
                .loops
                .iter()
                .rposition(|open| open.label.as_ref().is_some_and(|known| label.ident == known.as_str())),
        }
    }

    fn continue_loop(&mut self, label: Option<&Lifetime>) {
        let Some(index) = self.target(label) else { return };
        match self.loops[index].next.clone() {
            Some(next) if index + 1 < self.loops.len() => self.line(Text::new("goto ").add(Text::name(next)).add(";")),
            _ => self.line("continue;"),
        }
    }

    fn leave_loop(&mut self, leave: &ExprBreak) {
        let Some(index) = self.target(leave.label.as_ref()) else { return };
        if let Some(value) = &leave.expr {
            let (sink, expected) = (self.loops[index].sink.clone(), self.loops[index].expected.clone());
            self.lower_to(value, &sink, expected.as_ref());
            if matches!(sink, Sink::Return) || purity::diverges(value) {
                return;
            }
        }
        match self.loops[index].after.clone() {
            Some(after) if index + 1 < self.loops.len() => {
                self.line(Text::new("goto ").add(Text::name(after)).add(";"))
            }
            _ => self.line("break;"),
        }
    }

    fn assign(&mut self, assign: &ExprAssign) {
        if matches!(&*assign.left, Expr::Infer(_)) {
            self.lower_to(&assign.right, &Sink::Discard, None);
            return;
        }
        // Rust evaluates the right side first.
        if purity::has_effects(&assign.left) {
            self.errors.at(&assign.left, "bind the parts of this place by `let` first");
            return;
        }
        let place = self.place(&assign.left, true);
        self.lower_to(&assign.right, &Sink::Assign(place.text), None);
    }

    fn assign_operation(&mut self, binary: &ExprBinary) {
        let (operator, used, plain) = match &binary.op {
            BinOp::AddAssign(_) => ("+=", "add_assign", "add"),
            BinOp::SubAssign(_) => ("-=", "sub_assign", "sub"),
            BinOp::MulAssign(_) => ("*=", "mul_assign", "mul"),
            BinOp::DivAssign(_) => ("/=", "div_assign", "div"),
            BinOp::RemAssign(_) => ("%=", "rem_assign", "rem"),
            BinOp::BitXorAssign(_) => ("^=", "bitxor_assign", "bitxor"),
            BinOp::BitAndAssign(_) => ("&=", "bitand_assign", "bitand"),
            BinOp::BitOrAssign(_) => ("|=", "bitor_assign", "bitor"),
            BinOp::ShlAssign(_) => ("<<=", "shl_assign", "shl"),
            BinOp::ShrAssign(_) => (">>=", "shr_assign", "shr"),
            other => {
                self.errors.at(other, "this operator is outside the operator language");
                return;
            }
        };
        if purity::has_effects(&binary.left) {
            self.errors.at(&binary.left, "bind the parts of this place by `let` first");
            return;
        }
        self.uses.insert(used);
        match plain {
            "div" | "rem" if is_constant(&binary.right, &self.scopes) => self.uses.insert_by_constant(plain),
            plain => self.uses.insert(plain),
        }
        let value = self.expr(&binary.right, None);
        let place = self.place(&binary.left, false);
        self.line(place.text.add(format!(" {operator} ")).add(value.text).add(";"));
    }

    /// Binds a name to the variable that was made for it, and what its pattern has inside.
    fn bind_whole(&mut self, ident: &syn::PatIdent, place: Text) {
        self.scopes.bind(&ident.ident, place.clone(), true);
        if let Some((_, inner)) = &ident.subpat {
            self.destructure(inner, &place);
        }
    }

    /// Binds the parts of a value that stands in a variable.
    pub(super) fn destructure(&mut self, pat: &Pat, whole: &Text) {
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => {}
            Pat::Type(typed) => self.destructure(&typed.pat, whole),
            Pat::Paren(paren) => self.destructure(&paren.pat, whole),
            Pat::Ident(ident) => {
                let own = Text::name(self.scopes.fresh(&scope::plain(&ident.ident)));
                let declared = Text::new("[[maybe_unused]] auto ").add(own.clone());
                self.line(declared.add(" = ").add(whole.clone()).add(";"));
                self.bind_whole(ident, own);
            }
            Pat::Struct(fields) => {
                for field in &fields.fields {
                    let part = whole.clone().add(".").add(Text::name(super::expression::field_name(&field.member)));
                    self.destructure(&field.pat, &part);
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
                    self.destructure(field, &whole.clone().add(".").add(Text::name(format!("_{index}"))));
                }
            }
            other => self.errors.at(other, "outside the operator language: use a name, and compare with `if`"),
        }
    }
}
