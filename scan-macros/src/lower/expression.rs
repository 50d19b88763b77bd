//! Expressions.

use super::{
    Callee, Lowerer, Rank, Sink, Typing, Value, purity,
    uses::{is_constant, is_counted},
};
use crate::language;
use crate::syntax::{is_assignment, is_of_type, method_of_type};
use crate::text::{Piece, Text};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprCall, ExprIf, ExprMethodCall, ExprPath, ExprStruct, ExprUnary, Member, Path,
    Stmt, Type, UnOp,
};

const NEEDS_SUFFIX: &str =
    "the type of this is not known in the GPU's text: give one literal a suffix, like `1_u32` or `1.0_f32`";

const EMPTY_ARRAY: &str = "an empty array holds nothing, and C++ has none: leave it out";

impl Lowerer<'_> {
    /// The expression as one of C++; statements that must come before it are written out.
    pub(super) fn expr(&mut self, expr: &Expr, expected: Option<&Type>) -> Value {
        match expr {
            Expr::Paren(inner) => {
                let value = self.expr(&inner.expr, expected);
                if value.rank < Rank::Unary {
                    Value { text: Text::new("(").add(value.text).add(")"), rank: Rank::Postfix, ..value }
                } else {
                    value
                }
            }
            Expr::Lit(literal) => self.literal(&literal.lit),
            Expr::Path(path) => self.path(path),
            Expr::Unary(unary) => self.unary(unary),
            Expr::Binary(binary) if !is_assignment(&binary.op) => self.binary(binary),
            Expr::Cast(cast) => {
                let value = self.expr(bare(&cast.expr), None);
                self.uses.insert("cast");
                let text = Text::new("as<").add(self.type_text(&cast.ty)).add(">(").add(value.text).add(")");
                Value::typed(text, Rank::Postfix)
            }
            Expr::Field(field) => {
                let base = match &*field.base {
                    Expr::Path(path) if path.path.is_ident("self") => Text::new("this->"),
                    base => self.expr(base, None).at_least(Rank::Postfix).add("."),
                };
                Value::typed(base.add(Text::name(field_name(&field.member))), Rank::Postfix)
            }
            Expr::Index(at) => {
                let mut operands = self.operands(&[&at.expr, &at.index]).into_iter();
                let (Some(array), Some(index)) = (operands.next(), operands.next()) else { return Value::error() };
                self.uses.insert("index");
                let array = array.at_least(Rank::Postfix);
                let text = if is_counted(&at.index, &self.scopes) {
                    array.add("[").add(index.text).add("]")
                } else {
                    self.uses.insert("anywhere");
                    // A constant and a parameter stay in their memory; what is computed is to stay in registers.
                    match self.is_of_local(&at.expr) {
                        true => array.add(".at(").add(index.text).add(")"),
                        false => array.add("[").add(index.text).add("]"),
                    }
                };
                Value::typed(text, Rank::Postfix)
            }
            Expr::Array(array) => self.array(array, expected),
            Expr::Repeat(repeat) => self.repeat(repeat, expected),
            Expr::Struct(literal) => self.structure(literal, expected),
            Expr::Call(call) => self.call(call, expected),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Block(block) if block.label.is_none() => {
                self.scopes.open();
                let value = self.block_value(&block.block, expected);
                self.scopes.close();
                value
            }
            Expr::If(branch) => self.conditional(branch, expr, expected),
            Expr::Match(matching) if purity::is_simple(expr) => self.match_value(matching, expected),
            Expr::Match(_) | Expr::Loop(_) => self.statement_value(expr, expected),
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => {
                self.lower_to(expr, &Sink::Discard, None);
                Value::never()
            }
            other => {
                self.errors
                    .at(other, "this has no value that an operator can use here: make it a statement of its own");
                Value::error()
            }
        }
    }

    /// The place that an expression names, to be written to. It is `replaced` as a whole, or changed by what stands there.
    pub(super) fn place(&mut self, expr: &Expr, replaced: bool) -> Value {
        match expr {
            Expr::Paren(inner) => self.place(&inner.expr, replaced),
            Expr::Field(field) if self.is_of_local(expr) => {
                let base = self.place(&field.base, false).at_least(Rank::Postfix).add(".");
                Value::typed(base.add(Text::name(field_name(&field.member))), Rank::Postfix)
            }
            Expr::Index(at) if self.is_of_local(expr) => {
                let index = self.expr(&at.index, None);
                let array = self.place(&at.expr, false).at_least(Rank::Postfix);
                self.uses.insert("index");
                let counted = is_counted(&at.index, &self.scopes);
                if !counted {
                    self.uses.insert("anywhere");
                }
                let text = match counted || !replaced {
                    true => array.add("[").add(index.text).add("]"),
                    false => array.add(".place(").add(index.text).add(")"),
                };
                Value::typed(text, Rank::Postfix)
            }
            expr => self.expr(expr, None),
        }
    }

    /// Whether this is a local, or what one has in it.
    fn is_of_local(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Paren(inner) => self.is_of_local(&inner.expr),
            Expr::Field(field) => self.is_of_local(&field.base),
            Expr::Index(at) => self.is_of_local(&at.expr),
            Expr::Path(path) => path.path.get_ident().is_some_and(|ident| self.scopes.find(ident).is_some()),
            _ => false,
        }
    }

    /// The same, of a type that C++ can find out.
    pub(super) fn typed(&mut self, expr: &Expr, expected: Option<&Type>) -> Value {
        let value = self.expr(expr, expected);
        if matches!(value.typing, Typing::Integer(_) | Typing::Float) {
            self.errors.at(expr, NEEDS_SUFFIX);
        }
        value
    }

    /// Several operands, evaluated from left to right.
    pub(super) fn operands(&mut self, exprs: &[&Expr]) -> Vec<Value> {
        self.operands_of(exprs, |_| None)
    }

    /// The same, with the types that their places ask for.
    fn operands_of<'t>(&mut self, exprs: &[&Expr], expected: impl Fn(usize) -> Option<&'t Type>) -> Vec<Value> {
        let ordered = exprs.iter().any(|expr| purity::has_effects(expr));
        let last = exprs.len().saturating_sub(1);
        let mut values = Vec::new();
        for (index, expr) in exprs.iter().enumerate() {
            let own = ordered && index < last;
            // In a variable of its own it stands in no place that tells its type.
            let value = self.expr(expr, if own { None } else { expected(index) });
            let constant = matches!(expr, Expr::Lit(_));
            if own && value.is_typed() && !constant {
                let text = self.spill("operand", value);
                values.push(Value::typed(text, Rank::Postfix));
            } else {
                values.push(value);
            }
        }
        values
    }

    fn path(&mut self, path: &ExprPath) -> Value {
        if let Some(ident) = path.path.get_ident()
            && path.qself.is_none()
            && let Some(binding) = self.scopes.find(ident)
        {
            return Value::typed(binding.place.clone(), Rank::Postfix);
        }
        let name = path.path.segments.last().map(|last| super::scope::plain(&last.ident));
        Value::typed(Text::of(Piece::Constant { value: path.to_token_stream(), name }), Rank::Postfix)
    }

    fn unary(&mut self, unary: &ExprUnary) -> Value {
        let value = self.expr(&unary.expr, None);
        match (&unary.op, value.typing) {
            (UnOp::Neg(_), Typing::Integer(Some(known))) => self.folded(Some(known.wrapping_neg()), unary),
            (UnOp::Not(_), Typing::Integer(Some(known))) => self.folded(Some(!known), unary),
            (_, Typing::Integer(None)) | (UnOp::Not(_), Typing::Float) => {
                self.errors.at(unary, NEEDS_SUFFIX);
                Value::error()
            }
            (UnOp::Neg(_), typing) => {
                self.uses.insert("neg");
                Value { text: Text::new("-").add(value.at_least(Rank::Postfix)), rank: Rank::Unary, typing }
            }
            (UnOp::Not(_), _) => {
                self.uses.insert("not");
                Value::typed(Text::new("!").add(value.at_least(Rank::Postfix)), Rank::Unary)
            }
            _ => {
                self.errors.at(unary, "there are no references in an operator: remove the `*`");
                Value::error()
            }
        }
    }

    /// An integer that literals alone make: its low bits are right in every type.
    fn folded(&mut self, value: Option<i128>, tokens: impl ToTokens) -> Value {
        match value {
            Some(value) => Value {
                text: Text::new(self.integer_digits(value, None)),
                rank: if value < 0 { Rank::Unary } else { Rank::Postfix },
                typing: Typing::Integer(Some(value)),
            },
            None => {
                self.errors.at(tokens, NEEDS_SUFFIX);
                Value::error()
            }
        }
    }

    fn binary(&mut self, binary: &ExprBinary) -> Value {
        if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) {
            return self.short_circuit(binary);
        }
        let mut operands = self.operands(&[&binary.left, &binary.right]).into_iter();
        let (Some(left), Some(right)) = (operands.next(), operands.next()) else { return Value::error() };
        let shift = matches!(binary.op, BinOp::Shl(_) | BinOp::Shr(_));
        if !left.is_typed() && (shift || !right.is_typed()) {
            return self.fold_binary(&binary.op, &left, &right, binary);
        }
        let (operator, used, rank) = match &binary.op {
            BinOp::Add(_) => ("+", "add", Rank::Additive),
            BinOp::Sub(_) => ("-", "sub", Rank::Additive),
            BinOp::Mul(_) => ("*", "mul", Rank::Multiplicative),
            BinOp::Div(_) => ("/", "div", Rank::Multiplicative),
            BinOp::Rem(_) => ("%", "rem", Rank::Multiplicative),
            BinOp::BitAnd(_) => ("&", "bitand", Rank::BitAnd),
            BinOp::BitOr(_) => ("|", "bitor", Rank::BitOr),
            BinOp::BitXor(_) => ("^", "bitxor", Rank::BitXor),
            BinOp::Shl(_) => ("<<", "shl", Rank::Shift),
            BinOp::Shr(_) => (">>", "shr", Rank::Shift),
            BinOp::Eq(_) => ("==", "eq", Rank::Equality),
            BinOp::Ne(_) => ("!=", "eq", Rank::Equality),
            BinOp::Lt(_) => ("<", "lt", Rank::Relational),
            BinOp::Le(_) => ("<=", "le", Rank::Relational),
            BinOp::Gt(_) => (">", "gt", Rank::Relational),
            BinOp::Ge(_) => (">=", "ge", Rank::Relational),
            other => {
                self.errors.at(other, "this operator is outside the operator language");
                return Value::error();
            }
        };
        match used {
            "div" | "rem" if is_constant(&binary.right, &self.scopes) => self.uses.insert_by_constant(used),
            used => self.uses.insert(used),
        }
        let bitwise = matches!(rank, Rank::BitAnd | Rank::BitOr | Rank::BitXor)
            && left.is_typed()
            && right.is_typed()
            && !purity::is_number(&binary.left)
            && !purity::is_number(&binary.right);
        let typing = if bitwise { Typing::Bitwise } else { Typing::Typed };
        Value { text: infix(left, operator, right, rank), rank, typing }
    }

    /// An operation of two literals without suffix. Only those are done here whose low bits depend on low bits alone, so
    /// that they are right whatever the type turns out to be.
    fn fold_binary(&mut self, op: &BinOp, left: &Value, right: &Value, whole: &ExprBinary) -> Value {
        let value = match (left.typing, right.typing) {
            (Typing::Integer(Some(a)), Typing::Integer(Some(b))) => match op {
                BinOp::Add(_) => Some(a.wrapping_add(b)),
                BinOp::Sub(_) => Some(a.wrapping_sub(b)),
                BinOp::Mul(_) => Some(a.wrapping_mul(b)),
                BinOp::BitAnd(_) => Some(a & b),
                BinOp::BitOr(_) => Some(a | b),
                BinOp::BitXor(_) => Some(a ^ b),
                BinOp::Shl(_) => u32::try_from(b).ok().filter(|count| *count < 128).map(|count| a.wrapping_shl(count)),
                _ => None,
            },
            _ => None,
        };
        self.folded(value, whole)
    }

    fn short_circuit(&mut self, binary: &ExprBinary) -> Value {
        let and = matches!(binary.op, BinOp::And(_));
        let left = self.expr(&binary.left, None);
        if purity::is_simple(&binary.right) {
            let right = self.expr(&binary.right, None);
            let (operator, rank) = if and { ("&&", Rank::LogicalAnd) } else { ("||", Rank::LogicalOr) };
            // `a && b || c` is clear to Rust; C++ compilers like the parentheses.
            let clear = |value: Value| {
                if value.rank == Rank::LogicalAnd && !and { value.at_least(Rank::BitOr) } else { value.at_least(rank) }
            };
            let text = clear(left).add(format!(" {operator} ")).add(clear(right));
            return Value::typed(text, rank);
        }
        // The right side has statements of its own, which run only where the left side asks for them.
        let name = self.own_variable(if and { "both" } else { "either" });
        self.line(Text::new("bool ").add(Text::name(&name)).add(" = ").add(left.text).add(";"));
        let condition = if and { Text::name(&name) } else { Text::new("!").add(Text::name(&name)) };
        self.open(Text::new("if (").add(condition).add(") {"));
        self.lower_to(&binary.right, &Sink::Assign(Text::name(&name)), None);
        self.close("}");
        Value::typed(Text::name(name), Rank::Postfix)
    }

    fn method_call(&mut self, call: &ExprMethodCall) -> Value {
        let mut exprs: Vec<&Expr> = vec![&call.receiver];
        exprs.extend(call.args.iter());
        let mut values = self.operands(&exprs).into_iter();
        let Some(receiver) = values.next() else { return Value::error() };
        if !receiver.is_typed() {
            self.errors.at(&call.receiver, NEEDS_SUFFIX);
            return Value::error();
        }
        self.method(&call.method.to_string(), receiver, values)
    }

    /// A method of the prelude; those that only say what an operator does in any case become that operator.
    fn method(&mut self, name: &str, receiver: Value, arguments: impl Iterator<Item = Value>) -> Value {
        let mut arguments: Vec<Value> = arguments.collect();
        let operator = match name {
            "wrapping_add" => Some(("+", "add", Rank::Additive)),
            "wrapping_sub" => Some(("-", "sub", Rank::Additive)),
            "wrapping_mul" => Some(("*", "mul", Rank::Multiplicative)),
            "wrapping_shl" => Some(("<<", "shl", Rank::Shift)),
            "wrapping_shr" => Some((">>", "shr", Rank::Shift)),
            _ => None,
        };
        if let Some((operator, used, rank)) = operator
            && let Some(argument) = arguments.pop()
        {
            self.uses.insert(used);
            return Value::typed(infix(receiver, operator, argument, rank), rank);
        }
        if name == "wrapping_neg" {
            self.uses.insert("neg");
            return Value::typed(Text::new("-").add(receiver.at_least(Rank::Postfix)), Rank::Unary);
        }
        let name = match name {
            "wrapping_abs" => "abs",
            "wrapping_pow" => "pow",
            name => name,
        };
        if let Some((known, _)) = language::find(name) {
            self.uses.insert(known);
        } else if name == "len" {
            self.uses.extend(["len", "index"]);
        }
        let mut text = receiver.at_least(Rank::Postfix).add(format!(".{name}("));
        for (index, argument) in arguments.into_iter().enumerate() {
            text.push(if index > 0 { ", " } else { "" });
            text.push(argument.text);
        }
        Value::typed(text.add(")"), Rank::Postfix)
    }

    fn call(&mut self, call: &ExprCall, expected: Option<&Type>) -> Value {
        let Expr::Path(function) = &*call.func else {
            self.errors.at(&call.func, "outside the operator language: a function is called by its name");
            return Value::error();
        };
        let path = &function.path;
        let exprs: Vec<&Expr> = call.args.iter().collect();
        let Some(last) = path.segments.last().map(|last| last.ident.to_string()) else { return Value::error() };
        if last.starts_with(|first: char| first.is_uppercase()) {
            let names = (0..exprs.len()).map(|index| index.to_string()).collect();
            let ty = struct_type(path, expected);
            return self.structure_of(ty, names, &exprs, None);
        }
        if !is_of_type(path) {
            return self.helper_call(path, &exprs);
        }
        let owner = owner(path);
        let mut values = self.operands(&exprs).into_iter();
        let Some(first) = values.next() else { return Value::error() };
        match last.as_str() {
            "from" => {
                self.uses.insert("cast");
                let text = Text::new("as<").add(self.type_text(&owner)).add(">(").add(first.text).add(")");
                Value::typed(text, Rank::Postfix)
            }
            "from_bits" | "from_f32" => {
                let name = if last == "from_bits" { "from_bits" } else { "from_f32" };
                self.uses.insert(name);
                let text = self.type_text(&owner).add(format!("::{name}(")).add(first.text).add(")");
                Value::typed(text, Rank::Postfix)
            }
            name if method_of_type(path).is_some() => {
                let receiver = if first.is_typed() {
                    first
                } else {
                    Value::typed(self.type_text(&owner).add("(").add(first.text).add(")"), Rank::Postfix)
                };
                self.method(name, receiver, values)
            }
            _ => {
                self.errors.at(path, "only numeric methods are called by their type");
                Value::error()
            }
        }
    }

    /// A call of a `#[scan_fn]`. What that attribute made of it has the function's own name, among the types.
    fn helper_call(&mut self, path: &Path, exprs: &[&Expr]) -> Value {
        let mut values = self.operands(exprs).into_iter();
        let mut found = path.clone();
        let mut generics = syn::PathArguments::None;
        if let Some(last) = found.segments.last_mut() {
            generics = std::mem::take(&mut last.arguments);
        }
        let mut alias = syn::Ident::new(&alias_of(&found), path.span());
        if let Some(last) = path.segments.last() {
            alias.set_span(last.ident.span());
        }
        if !self.callees.iter().any(|callee| callee.alias == alias) {
            self.callees.push(Callee { path: found, alias: alias.clone() });
        }
        let callee = quote::quote!(#alias #generics);
        self.uses.call(&callee);
        let mut text = Text::of(Piece::Call(callee)).add("(");
        if let Some(first) = values.next() {
            text.push(first.text);
        }
        for value in values {
            text.push(", ");
            text.push(value.text);
        }
        Value::typed(text.add(")"), Rank::Postfix)
    }

    fn structure(&mut self, literal: &ExprStruct, expected: Option<&Type>) -> Value {
        let names = literal.fields.iter().map(|field| member_name(&field.member)).collect();
        let mut exprs: Vec<&Expr> = literal.fields.iter().map(|field| &field.expr).collect();
        let base = literal.rest.as_deref();
        exprs.extend(base);
        self.structure_of(struct_type(&literal.path, expected), names, &exprs, base)
    }

    /// The length of a repeated value. Rust evaluates it, whatever constant it is.
    fn length(&mut self, length: &Expr) -> Text {
        let check = match length {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
                if number.base10_parse::<u128>().is_ok_and(|number| number == 0) {
                    self.errors.at(number, EMPTY_ARRAY);
                }
                None
            }
            length => Some(quote::quote_spanned! {length.span()=>
                const { ::core::assert!(#length != 0, #EMPTY_ARRAY) };
            }),
        };
        let value = quote::quote!({ #check ::core::convert::identity::<usize>(#length) });
        Text::of(Piece::Constant { value, name: None })
    }

    /// The value as an argument: NVRTC 13.0 crashes at braces in a `?:` that stands in braces itself.
    fn argument(&mut self, value: Value) -> Text {
        self.uses.insert("value_of");
        Text::new("value_of(").add(value.text).add(")")
    }

    /// A struct expression; the base is the last of `exprs` where there is one.
    fn structure_of(&mut self, ty: Type, names: Vec<String>, exprs: &[&Expr], base: Option<&Expr>) -> Value {
        // A field knows the type of its value, generic arguments included; rustc tells when the program runs.
        let field: Type = syn::parse_quote!(_);
        let fields = names.len();
        let mut values = self.operands_of(exprs, |index| (index < fields).then_some(&field));
        let base = match base {
            None => None,
            Some(expr) => {
                let value = values.pop().unwrap_or_else(Value::error);
                Some(if purity::is_place(expr) { value.text } else { self.spill("base", value) })
            }
        };
        let values = exprs
            .iter()
            .zip(values)
            .map(|(expr, value)| if purity::chooses_braces(expr) { self.argument(value) } else { value.text });
        let values: Vec<Text> = values.collect();
        let fields = names.into_iter().zip(values).collect();
        let ty = (!matches!(ty, Type::Infer(_))).then(|| ty.to_token_stream());
        Value::typed(Text::of(Piece::Struct { ty, fields, base }), Rank::Postfix)
    }

    fn array(&mut self, array: &syn::ExprArray, expected: Option<&Type>) -> Value {
        self.uses.insert("index");
        let exprs: Vec<&Expr> = array.elems.iter().collect();
        let item = item_of(expected);
        let mut values = self.operands_of(&exprs, |_| item);
        let mut text = match (values.first(), expected) {
            (_, Some(ty @ Type::Array(_))) => self.type_text(ty),
            // `Array{x}` of an array `x` would be that array.
            (Some(first), _) if first.is_typed() && values.len() == 1 => {
                self.uses.insert("repeat");
                let item = values.pop().unwrap_or_else(Value::error);
                let item = self.settled(item);
                return Value::typed(Text::new("repeat<1>(").add(item).add(")"), Rank::Postfix);
            }
            (Some(first), _) if first.is_typed() => Text::new("Array"),
            (Some(_), _) => {
                self.errors.at(
                    exprs.first(),
                    "the type of the items is not known in the GPU's text: give the first a suffix, like `0.0_f32`",
                );
                return Value::error();
            }
            (None, _) => {
                self.errors.at(array, EMPTY_ARRAY);
                return Value::error();
            }
        };
        text.push("{");
        for (index, value) in values.into_iter().enumerate() {
            text.push(if index > 0 { ", " } else { "" });
            let braces = purity::chooses_braces(exprs[index]);
            text.push(if braces { self.argument(value) } else { self.settled(value) });
        }
        Value::typed(text.add("}"), Rank::Postfix)
    }

    fn repeat(&mut self, repeat: &syn::ExprRepeat, expected: Option<&Type>) -> Value {
        self.uses.insert("index");
        self.uses.insert("repeat");
        let value = self.expr(&repeat.expr, item_of(expected));
        if let Some(ty @ Type::Array(_)) = expected {
            let text = self.type_text(ty).add("::repeat(").add(value.text).add(")");
            return Value::typed(text, Rank::Postfix);
        }
        if !value.is_typed() {
            self.errors.at(
                &repeat.expr,
                "the type of the items is not known in the GPU's text: give it a suffix, like `0.0_f32`",
            );
            return Value::error();
        }
        let length = self.length(&repeat.len);
        let value = self.settled(value);
        Value::typed(Text::new("repeat<(").add(length).add(").value>(").add(value).add(")"), Rank::Postfix)
    }

    /// Whether this becomes a choice between values all of which are computed. C++ must be able to tell their type.
    pub(super) fn is_chosen(&self, expr: &Expr, expected: Option<&Type>) -> bool {
        purity::is_cheap_choice(expr) && !matches!(expected, Some(Type::Infer(_)))
    }

    /// One of two values, both of which are computed.
    pub(super) fn chosen(&mut self, condition: Value, then: Value, other: Value) -> Value {
        if !then.is_typed() || !other.is_typed() {
            return ternary(condition, then, other);
        }
        self.uses.insert("chosen");
        let text = Text::new("chosen(").add(condition.text).add(", ").add(then.text).add(", ").add(other.text).add(")");
        Value::typed(text, Rank::Postfix)
    }

    fn conditional(&mut self, branch: &ExprIf, whole: &Expr, expected: Option<&Type>) -> Value {
        let Some((_, other)) = &branch.else_branch else {
            self.errors.at(branch.if_token, "an `if` without `else` has no value");
            return Value::error();
        };
        if purity::is_simple(whole) {
            let chosen = self.is_chosen(whole, expected);
            let condition = self.expr(&branch.cond, None);
            self.scopes.open();
            let then = self.block_value(&branch.then_branch, expected);
            self.scopes.close();
            let other = self.expr(other, expected);
            return if chosen { self.chosen(condition, then, other) } else { ternary(condition, then, other) };
        }
        // Where one arm leaves, the other is what the value is.
        if purity::block_diverges(&branch.then_branch) {
            let condition = self.expr(&branch.cond, None);
            self.open(Text::new("if (").add(condition.text).add(") {"));
            self.block(&branch.then_branch, &Sink::Discard, None);
            self.close("}");
            return self.expr(other, expected);
        }
        if purity::diverges(other) {
            let condition = self.expr(&branch.cond, None).at_least(Rank::Postfix);
            self.open(Text::new("if (!").add(condition).add(") {"));
            self.lower_to(other, &Sink::Discard, None);
            self.close("}");
            self.scopes.open();
            let value = self.block_value(&branch.then_branch, expected);
            self.scopes.close();
            return value;
        }
        self.statement_value(whole, expected)
    }

    /// The value of statements: a variable where the type is known, else a lambda, whose type C++ finds out.
    fn statement_value(&mut self, expr: &Expr, expected: Option<&Type>) -> Value {
        if purity::diverges(expr) {
            self.lower_to(expr, &Sink::Discard, None);
            return Value::never();
        }
        if let Some(ty) = expected.filter(|ty| !matches!(ty, Type::Infer(_))) {
            let name = self.own_variable("value");
            self.line(self.type_text(ty).add(" ").add(Text::name(&name)).add(";"));
            self.lower_to(expr, &Sink::Assign(Text::name(&name)), expected);
            return Value::typed(Text::name(name), Rank::Postfix);
        }
        if purity::can_leave(expr) {
            self.errors.at(
                first_token(expr),
                "the type of this is not known in the GPU's text: bind it by a `let` with a type, `let value: f32 = …;`",
            );
            return Value::error();
        }
        let outside = std::mem::take(&mut self.out);
        let loops = std::mem::take(&mut self.loops);
        let name = self.own_variable("value");
        self.depth += 1;
        let around = self.lambda_returns.replace(Vec::new());
        self.lower_to(expr, &Sink::Return, None);
        let typings = std::mem::replace(&mut self.lambda_returns, around).unwrap_or_default();
        self.depth -= 1;
        self.loops = loops;
        let inside = std::mem::replace(&mut self.out, outside);
        if typings.iter().any(|typing| matches!(typing, Typing::Integer(_) | Typing::Float)) {
            self.errors.at(
                first_token(expr),
                "the type of this is not known in the GPU's text: bind it by a `let` with a type, or give its literals suffixes",
            );
        }
        let text = Text::new("const auto ").add(Text::name(&name)).add(" = [&] {\n").add(inside);
        self.line(text.add("  ".repeat(self.depth)).add("}();"));
        Value::typed(Text::name(name), Rank::Postfix)
    }

    /// The value of a block whose statements are written out before it; the caller opens the scope.
    pub(super) fn block_value(&mut self, block: &Block, expected: Option<&Type>) -> Value {
        let Some((last, before)) = block.stmts.split_last() else {
            self.errors.at(block, "this block has no value");
            return Value::error();
        };
        before.iter().for_each(|statement| self.statement(statement));
        match last {
            Stmt::Expr(value, None) => self.expr(value, expected),
            statement if purity::block_diverges(block) => {
                self.statement(statement);
                Value::never()
            }
            statement => {
                self.errors.at(statement, "this block has no value: leave the last `;` out");
                Value::error()
            }
        }
    }
}

/// The name under which the text finds a function: another one for each path.
fn alias_of(path: &Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| super::scope::plain(&segment.ident)).collect();
    let lengths: String = match (path.leading_colon, names.as_slice()) {
        (None, [_]) => String::new(),
        // `a::b__c` and `a__b::c` differ in these.
        (root, names) => {
            let root = root.map(|_| "0_".to_owned());
            root.into_iter().chain(names.iter().map(|name| format!("{}_", name.len()))).collect()
        }
    };
    format!("scan_fn_{lengths}{}", names.join("__"))
}

/// `left op right`, where operators of the same rank group from the left.
fn infix(left: Value, operator: &str, right: Value, rank: Rank) -> Text {
    let above = |rank: Rank| match rank {
        Rank::Additive => Rank::Multiplicative,
        Rank::Multiplicative => Rank::Unary,
        Rank::Shift => Rank::Additive,
        Rank::Relational => Rank::Shift,
        Rank::Equality => Rank::Relational,
        Rank::BitAnd => Rank::Equality,
        Rank::BitXor => Rank::BitAnd,
        Rank::BitOr => Rank::BitXor,
        rank => rank,
    };
    // Mixing bitwise or shift operators with others reads ambiguously in C++ even where it is not.
    let careful = matches!(rank, Rank::BitAnd | Rank::BitXor | Rank::BitOr | Rank::Shift);
    let (left_rank, right_rank) = match careful {
        true if left.rank == rank => (rank, Rank::Unary),
        true => (Rank::Unary, Rank::Unary),
        false => (rank, above(rank)),
    };
    left.at_least(left_rank).add(format!(" {operator} ")).add(right.at_least(right_rank))
}

pub(super) fn ternary(condition: Value, then: Value, other: Value) -> Value {
    let typing = match (then.typing, other.typing) {
        (Typing::Integer(_), Typing::Integer(_)) => Typing::Integer(None),
        (Typing::Float, Typing::Float) => Typing::Float,
        (Typing::Bitwise, _) | (_, Typing::Bitwise) => Typing::Bitwise,
        _ => Typing::Typed,
    };
    let text =
        condition.at_least(Rank::LogicalOr).add(" ? ").add(then.at_least(Rank::LogicalOr)).add(" : ").add(other.text);
    Value { text, rank: Rank::Conditional, typing }
}

pub(super) fn field_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => super::scope::plain(ident),
        Member::Unnamed(index) => format!("_{}", index.index),
    }
}

/// The Rust name of a field, as the layout tells it.
fn member_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The type of a struct expression. Where the place asks for a type, that is it, generic arguments included.
fn struct_type(path: &Path, expected: Option<&Type>) -> Type {
    match expected {
        Some(expected) => expected.clone(),
        None => syn::parse_quote!(#path),
    }
}

/// The type of an array's items, where that of the array is known.
fn item_of(array: Option<&Type>) -> Option<&Type> {
    match array? {
        Type::Array(array) => Some(&array.elem),
        field @ Type::Infer(_) => Some(field),
        _ => None,
    }
}

/// `f32` of `f32::max`.
fn owner(path: &Path) -> Type {
    let mut owner = path.clone();
    owner.segments.pop();
    owner.segments.pop_punct();
    syn::parse_quote!(#owner)
}

/// The expression without parentheses around it.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        expr => expr,
    }
}

/// What to underline of something long.
fn first_token(expr: &Expr) -> proc_macro2::TokenStream {
    let first = expr.to_token_stream().into_iter().next();
    first.map_or_else(|| quote::quote_spanned!(expr.span()=> value), ToTokens::into_token_stream)
}
