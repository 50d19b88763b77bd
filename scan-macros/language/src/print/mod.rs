//! A body as CUDA text: C++'s precedence, braces and indentation.

mod expression;

use crate::ir::reads::reads;
use crate::ir::{Access, Declared, Exit, Expression, For, Gather, Statement};
use crate::text::{Piece, Text};
use expression::{negated, text, type_name};
use std::collections::BTreeSet;

/// The text of a function's body.
pub(crate) fn body(statements: &[Statement]) -> Text {
    let mut printer = Printer { out: Text::default(), depth: 0, read: reads(statements) };
    printer.statements(statements);
    printer.out
}

struct Printer<'b> {
    out: Text,
    depth: usize,
    /// The variables that are read.
    read: BTreeSet<&'b str>,
}

impl Printer<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Line(line) => self.out.push(Text::of(Piece::Line(*line))),
            Statement::Declare { name, ty, value, may_be_unread } => {
                let ty = match ty {
                    Declared::Auto => Text::new("auto"),
                    Declared::Constant => Text::new("const auto"),
                    Declared::Truth => Text::new("bool"),
                    Declared::Type(ty) => type_name(ty),
                };
                let marked = if *may_be_unread { "[[maybe_unused]] " } else { "" };
                let name = if *may_be_unread { Text::name(name) } else { self.declared(name) };
                let declared = Text::new(marked).add(ty).add(" ").add(name);
                self.line(match value {
                    Some(value) => declared.add(" = ").add(text(value)).add(";"),
                    None => declared.add(";"),
                });
            }
            Statement::Compute { name, body } => {
                let declared = Text::new("const auto ").add(self.declared(name)).add(" = [&] {");
                self.block(declared, body);
                self.line("}();");
            }
            Statement::Assign { place, value } => self.line(text(place).add(" = ").add(text(value)).add(";")),
            Statement::Update { operator, place, value } => {
                self.line(text(place).add(format!(" {}= ", operator.symbol())).add(text(value)).add(";"));
            }
            Statement::Discard(value) => self.line(Text::new("static_cast<void>(").add(text(value)).add(");")),
            Statement::Return(value) => self.line(Text::new("return ").add(text(value)).add(";")),
            Statement::If { arms, otherwise } => self.branch(arms, otherwise.as_deref()),
            Statement::Unless(condition, exit) => {
                let exit = match exit {
                    Exit::Panic => ") panic();",
                    Exit::Break => ") break;",
                };
                self.line(Text::new("if (").add(negated(condition)).add(exit));
            }
            Statement::While(condition, body) => {
                self.block(Text::new("while (").add(text(condition)).add(") {"), body);
                self.line("}");
            }
            Statement::Loop(body) => {
                self.block("while (true) {", body);
                self.line("}");
            }
            Statement::For(looping) => self.range_loop(looping),
            Statement::Block(body) => {
                self.block("{", body);
                self.line("}");
            }
            Statement::Break => self.line("break;"),
            Statement::Continue => self.line("continue;"),
            Statement::Goto(label) => self.line(Text::new("goto ").add(Text::name(label)).add(";")),
            Statement::Label(label) => self.line(Text::name(label).add(":;")),
        }
    }

    fn branch(&mut self, arms: &[(Expression, Vec<Statement>)], otherwise: Option<&[Statement]>) {
        let mut before = "";
        for (condition, body) in arms {
            self.block(Text::new(before).add("if (").add(text(condition)).add(") {"), body);
            before = "} else ";
        }
        if let Some(body) = otherwise {
            self.block(format!("{before}{{"), body);
        }
        self.line("}");
    }

    fn range_loop(&mut self, looping: &For) {
        let For { name, start, end, inclusive, reversed, body } = looping;
        if let Some(gather) = looping.gathers() {
            let packed = gather.packed(name);
            let Gather { to, from, place } = gather;
            let function = match packed {
                Some((_, bits)) => format!("gather_packed<{bits}>("),
                None => "gather(".to_owned(),
            };
            let arrays = Text::new(function).add(text(to)).add(", ").add(text(from)).add(", ").add(text(end));
            let places = match (packed, place) {
                (Some((row, _)), _) => text(row),
                // The places lie in an array themselves, whose words are used as they are.
                (_, Expression::Index { array, index, access: Access::Counted })
                    if array.root().is_some() && matches!(&**index, Expression::Variable(index) if index == name) =>
                {
                    text(array)
                }
                (_, place) => {
                    let head = Text::new("[&](usize ").add(Text::name(name));
                    head.add(") { return ").add(text(place)).add("; }")
                }
            };
            return self.line(arrays.add(", ").add(places).add(");"));
        }
        let unused = if name.starts_with('_') { "[[maybe_unused]] " } else { "" };
        let function = if *inclusive { "range_inclusive" } else { "range" };
        let head = Text::new(format!("for ({unused}auto ")).add(Text::name(name)).add(format!(" : {function}("));
        let reversed = if *reversed { ".rev()" } else { "" };
        self.block(head.add(text(start)).add(", ").add(text(end)).add(format!("){reversed}) {{")), body);
        self.line("}");
    }

    /// The name of a variable where it is declared.
    fn declared(&self, name: &str) -> Text {
        let marked = if self.read.contains(name) { "" } else { " [[maybe_unused]]" };
        Text::name(name).add(marked)
    }

    fn line(&mut self, text: impl Into<Text>) {
        self.out.push("  ".repeat(self.depth));
        self.out.push(text);
        self.out.push("\n");
    }

    /// A line, and the statements inside the brace that it opens.
    fn block(&mut self, head: impl Into<Text>, body: &[Statement]) {
        self.line(head);
        self.depth += 1;
        self.statements(body);
        self.depth -= 1;
    }
}
