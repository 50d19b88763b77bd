//! Expressions of a wanted type.

use super::code::{Code, code};
use super::generator::Generator;
use super::types::{self, Type, is_float, is_half, is_integer, is_signed, unsigned};
use scan_codegen::Primitive;

/// How Rust ranks an expression.
pub(super) mod rank {
    pub(in super::super) const POSTFIX: u8 = 15;
    pub(in super::super) const UNARY: u8 = 14;
    pub(in super::super) const CAST: u8 = 13;
    pub(in super::super) const MUL: u8 = 12;
    pub(in super::super) const ADD: u8 = 11;
    pub(in super::super) const SHIFT: u8 = 10;
    pub(in super::super) const AND: u8 = 9;
    pub(in super::super) const XOR: u8 = 8;
    pub(in super::super) const OR: u8 = 7;
    pub(in super::super) const COMPARE: u8 = 6;
    pub(in super::super) const BOTH: u8 = 5;
    pub(in super::super) const EITHER: u8 = 4;
}

#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) code: Code,
    rank: u8,
    /// At the start of a statement, or before `.`, it would be taken for something else.
    block: bool,
    /// After `as u8`, a `<` would be taken for one of a type.
    cast: bool,
}

impl Expression {
    fn new(code: impl Into<Code>, rank: u8) -> Self {
        Expression { code: code.into(), rank, block: false, cast: false }
    }

    pub(super) fn statements(code: Code) -> Self {
        Expression::block(code)
    }

    fn block(code: impl Into<Code>) -> Self {
        Expression { code: code.into(), rank: rank::POSTFIX, block: true, cast: false }
    }

    fn parenthesised(self) -> Code {
        code!["(", self.code, ")"]
    }

    /// As the operand of something of this rank.
    fn operand(self, min: u8) -> Code {
        if self.rank < min { self.parenthesised() } else { self.code }
    }

    /// The same, with something after it.
    pub(super) fn leading(self, min: u8) -> Code {
        if self.block { self.parenthesised() } else { self.operand(min) }
    }
}

const BOOL: Type = Type::Primitive(Primitive::Bool);

impl Generator<'_> {
    /// An expression of the type, which C++ finds out by itself.
    pub(super) fn expression(&mut self, ty: &Type, depth: u32) -> Expression {
        if let Type::Results(both) = ty {
            return self.results(both, depth);
        }
        self.budget -= 1;
        let expression = if depth == 0 || self.budget <= 0 { self.leaf(ty) } else { self.compound(ty, depth - 1) };
        let neutral = self.types.zero(ty);
        Expression { code: self.part(expression.code.clone(), neutral), ..expression }
    }

    /// A tuple of two values, neither of which assigns.
    fn results(&mut self, [first, second]: &[Type; 2], depth: u32) -> Expression {
        // Variables more often than not.
        let items = self.simply(|this| [first, second].map(|ty| this.expression(ty, depth.min(1)).code)).into();
        Expression::new(self.list(items, "(", ")"), rank::POSTFIX)
    }

    fn leaf(&mut self, ty: &Type) -> Expression {
        let places = self.places(ty, false, true);
        if !places.is_empty() && self.percent(80) {
            let place = &places[self.random.below(places.len())];
            return Expression::new(place.clone(), rank::POSTFIX);
        }
        match ty {
            Type::Primitive(primitive) if !is_half(*primitive) && self.percent(70) => {
                self.other_variable(*primitive).unwrap_or_else(|| self.literal(*primitive))
            }
            Type::Primitive(primitive) => self.literal(*primitive),
            // Something that is not always the same, where there is anything.
            Type::Array(item, len) => {
                let items: Vec<Code> = (0..*len).map(|_| self.leaf(item).code).collect();
                Expression::new(self.list(items, "[", "]"), rank::POSTFIX)
            }
            Type::Struct(index) if self.random.one_in(2) => {
                let zero = self.types.zero(&Type::Struct(*index));
                Expression::new(zero, rank::POSTFIX)
            }
            Type::Struct(index) => {
                let fields = self.types.structs[*index].fields.clone();
                let fields: Vec<Code> = fields.iter().map(|(name, ty)| code![name, ": ", self.leaf(ty).code]).collect();
                let name = self.types.structs[*index].name.clone();
                Expression::block(code![name, self.list(fields, " { ", " }")])
            }
            Type::Results(both) => self.results(both, 0),
        }
    }

    /// What a variable of another type says.
    fn other_variable(&mut self, to: Primitive) -> Option<Expression> {
        let from = types::primitive(self.random);
        // The first type after a random one of which there is a variable.
        let start = Primitive::ALL.iter().position(|primitive| *primitive == from)?;
        let others = Primitive::ALL.iter().cycle().skip(start).take(Primitive::ALL.len());
        let (from, places) = others
            .filter(|other| !is_half(**other) && (**other != Primitive::Bool || !is_float(to)))
            .map(|other| (*other, self.places(&Type::Primitive(*other), false, true)))
            .find(|(_, places)| !places.is_empty())?;
        let place = Expression::new(places[self.random.below(places.len())].clone(), rank::POSTFIX);
        if to == Primitive::Bool {
            let literal = self.literal(from);
            let sign = ["<", ">", "==", "!="][self.random.below(4)];
            return Some(self.binary(place, sign, literal, rank::COMPARE));
        }
        Some(Expression { code: code![place.code, " as ", to.name()], rank: rank::CAST, block: false, cast: true })
    }

    fn list(&mut self, items: Vec<Code>, open: &str, close: &str) -> Code {
        let mut list = Code::text(open);
        for (index, item) in items.into_iter().enumerate() {
            list.push(if index > 0 { ", " } else { "" });
            list.push(item);
        }
        list.push(close);
        list
    }

    fn compound(&mut self, ty: &Type, depth: u32) -> Expression {
        if !self.simple && !self.direct_method && self.percent(14) {
            return self.contained(|this| this.by_statements(ty, depth));
        }
        if !self.direct_method && self.percent(10) {
            return self.chosen(ty, depth);
        }
        if self.loop_depth == 0 && self.percent(25) {
            let helpers: Vec<String> =
                self.types.helpers.iter().filter(|helper| helper.ty == *ty).map(|helper| helper.name.clone()).collect();
            if !helpers.is_empty() {
                let (a, b) = (self.expression(ty, depth).code, self.expression(ty, depth).code);
                let name = &helpers[self.random.below(helpers.len())];
                return Expression::new(code![name, self.list(vec![a, b], "(", ")")], rank::POSTFIX);
            }
        }
        match ty {
            Type::Primitive(Primitive::Bool) => self.truth(depth),
            Type::Primitive(primitive) if is_half(*primitive) => self.half(*primitive, depth),
            Type::Primitive(primitive) if is_float(*primitive) => self.float(*primitive, depth),
            Type::Primitive(primitive) => self.integer(*primitive, depth),
            Type::Array(item, len) => self.array(item, *len, depth),
            Type::Struct(index) => self.structure(*index, depth),
            Type::Results(both) => self.results(both, depth),
        }
    }

    /// `if` and `match` of plain expressions, an item of an array, a field of a struct.
    fn chosen(&mut self, ty: &Type, depth: u32) -> Expression {
        match self.random.below(5) {
            0 | 1 => {
                let condition = self.simply(|this| this.expression(&BOOL, depth)).code;
                let (then, other) =
                    self.simply(|this| (this.expression(ty, depth).code, this.expression(ty, depth).code));
                let other = if self.random.one_in(4) {
                    let condition = self.simply(|this| this.expression(&BOOL, depth)).code;
                    let last = self.simply(|this| this.expression(ty, 0)).code;
                    code!["if ", condition, " { ", other, " } else { ", last, " }"]
                } else {
                    code!["{ ", other, " }"]
                };
                Expression::block(code!["if ", condition, " { ", then, " } else ", other])
            }
            2 => {
                let primitive = types::primitive(self.random);
                let places = self.places(&Type::Primitive(primitive), false, false);
                if places.is_empty() {
                    return self.leaf(ty);
                }
                let place = places[self.random.below(places.len())].clone();
                let arms = self.simply(|this| this.value_arms(primitive, ty, depth));
                Expression::block(code!["match ", place, " {", arms, "}"])
            }
            3 => {
                let len = 1 + self.random.below(4);
                let array = self.expression(&Type::Array(Box::new(ty.clone()), len), depth).leading(rank::POSTFIX);
                let index = self.index(len, depth);
                Expression::new(code![array, "[", index, "]"], rank::POSTFIX)
            }
            _ => {
                let holders: Vec<(usize, String)> = (0..self.types.structs.len())
                    .flat_map(|index| self.types.structs[index].fields.iter().map(move |field| (index, field)))
                    .filter(|(_, (_, field))| field == ty)
                    .map(|(index, (name, _))| (index, name.clone()))
                    .collect();
                if holders.is_empty() {
                    return self.leaf(ty);
                }
                let (index, name) = holders[self.random.below(holders.len())].clone();
                let base = self.expression(&Type::Struct(index), depth).leading(rank::POSTFIX);
                Expression::new(code![base, ".", name], rank::POSTFIX)
            }
        }
    }

    /// Arms of a `match` on a primitive, each an expression without statements.
    fn value_arms(&mut self, primitive: Primitive, ty: &Type, depth: u32) -> Code {
        let mut arms = Code::default();
        for _ in 0..self.random.below(4) {
            arms.push(self.scoped(|this| {
                let pattern = this.pattern(primitive, true);
                let value = this.expression(ty, depth.min(1));
                code![" ", pattern, " => ", value.code, ","]
            }));
        }
        arms.push(self.scoped(|this| {
            let last = this.last_pattern(&Type::Primitive(primitive));
            let value = this.expression(ty, depth.min(1));
            code![" ", last, " => ", value.code, " "]
        }));
        arms
    }

    /// A pattern, with its guard, that some values fit.
    pub(super) fn pattern(&mut self, primitive: Primitive, guards: bool) -> Code {
        let mut pattern = match (primitive, self.random.below(6)) {
            (half, _) if is_half(half) => return if guards { self.guarded(half) } else { Code::text("_") },
            (Primitive::Bool, _) => Code::text(if self.random.one_in(2) { "true" } else { "false" }),
            (_, 0) if guards => return self.guarded(primitive),
            (_, 1) => {
                let one = self.range_pattern(primitive);
                let other = self.bare_literal(primitive);
                code![one, " | ", other]
            }
            (_, 2) => {
                let name = self.name();
                let range = self.range_pattern(primitive);
                self.declare(&name, &Type::Primitive(primitive), false);
                code![name, " @ (", range, ")"]
            }
            (_, 3) if is_integer(primitive) => {
                Code::text(format!("{}::{}", primitive.name(), ["MAX", "MIN"][self.random.below(2)]))
            }
            (_, 4) => self.range_pattern(primitive),
            _ => Code::text(self.bare_literal(primitive)),
        };
        if guards && self.random.one_in(5) {
            let guard = self.simply(|this| this.expression(&BOOL, 1)).code;
            pattern = code![pattern, " if ", guard];
        }
        pattern
    }

    fn guarded(&mut self, primitive: Primitive) -> Code {
        let name = self.name();
        self.declare(&name, &Type::Primitive(primitive), false);
        let guard = self.simply(|this| this.expression(&BOOL, 2)).code;
        code![name, " if ", guard]
    }

    fn range_pattern(&mut self, primitive: Primitive) -> Code {
        if is_float(primitive) {
            return Code::text(["-1.5..=0.5", "0.0..=10.0", "..=1.0", "2.5..", "0.1"][self.random.below(5)]);
        }
        let low = self.random.below(60);
        let high = low + 1 + self.random.below(60);
        let text = match self.random.below(6) {
            0 => format!("{low}.."),
            1 => format!("..={high}"),
            2 => format!("{low}..{high}"),
            3 if is_signed(primitive) => format!("-{high}..=-{low}"),
            4 if is_signed(primitive) => format!("{}::MIN..=-{low}", primitive.name()),
            _ => format!("{low}..={high}"),
        };
        Code::text(text)
    }

    /// A pattern that every value fits.
    pub(super) fn last_pattern(&mut self, ty: &Type) -> Code {
        if self.random.one_in(2) {
            return Code::text("_");
        }
        let name = self.name();
        self.declare(&name, ty, false);
        Code::text(name)
    }

    /// An index into so many items, mostly within.
    pub(super) fn index(&mut self, len: usize, depth: u32) -> Code {
        let usize_type = Type::Primitive(Primitive::Usize);
        let inside = |index: Code| match len.is_power_of_two() {
            true => code![index, format!(" & {}", len - 1)],
            false => code![index, format!(" % {len}")],
        };
        let low = if len.is_power_of_two() { rank::AND } else { rank::MUL };
        match self.random.below(8) {
            0..4 => Code::text(self.random.below(len).to_string()),
            4 | 5 => inside(self.expression(&usize_type, depth.min(2)).leading(low)),
            6 => {
                let integer = Type::Primitive(types::integer(self.random));
                inside(code![self.expression(&integer, depth.min(2)).leading(rank::CAST), " as usize"])
            }
            _ if self.random.one_in(3) => self.expression(&usize_type, depth.min(1)).code,
            _ => Code::text((len - 1).to_string()),
        }
    }

    fn array(&mut self, item: &Type, len: usize, depth: u32) -> Expression {
        if self.random.one_in(4) {
            let item = self.expression(item, depth).code;
            return Expression::new(code!["[", item, format!("; {len}]")], rank::POSTFIX);
        }
        let items: Vec<Code> = (0..len)
            .map(|index| match item {
                Type::Primitive(primitive) if index > 0 && self.random.one_in(4) => {
                    Code::text(self.bare_literal(*primitive))
                }
                item => self.expression(item, depth).code,
            })
            .collect();
        Expression::new(self.list(items, "[", "]"), rank::POSTFIX)
    }

    fn structure(&mut self, index: usize, depth: u32) -> Expression {
        let super::types::Struct { name, fields, tuple } = self.types.structs[index].clone();
        let value = |this: &mut Self, ty: &Type| match ty {
            Type::Primitive(primitive) if this.random.one_in(5) => Code::text(this.bare_literal(*primitive)),
            ty => this.expression(ty, depth).code,
        };
        if tuple && self.random.one_in(2) {
            let items: Vec<Code> = fields.iter().map(|(_, ty)| value(self, ty)).collect();
            return Expression::new(code![name, self.list(items, "(", ")")], rank::POSTFIX);
        }
        let mut order: Vec<usize> = (0..fields.len()).collect();
        let mut chosen = Vec::new();
        while !order.is_empty() {
            chosen.push(order.swap_remove(self.random.below(order.len())));
        }
        let base = !self.simple && self.random.one_in(3);
        if base {
            chosen.truncate(self.random.below(chosen.len() + 1));
        }
        let mut items: Vec<Code> =
            chosen.into_iter().map(|field| code![&fields[field].0, ": ", value(self, &fields[field].1)]).collect();
        if base {
            let place = self.random.one_in(2);
            let base = self.expression(&Type::Struct(index), if place { 0 } else { depth }).leading(rank::POSTFIX);
            items.push(code!["..", base]);
        }
        Expression::block(code![name, self.list(items, " { ", " }")])
    }

    fn binary(&mut self, left: Expression, sign: &str, right: Expression, rank: u8) -> Expression {
        let compares = rank == rank::COMPARE;
        let (block, cast) = (false, right.cast && right.rank > rank);
        // `x as u8 < y` would be read as the beginning of a type.
        let left = match left.cast && (compares || rank == rank::SHIFT) {
            true => left.parenthesised(),
            false => left.leading(if compares { rank + 1 } else { rank }),
        };
        let right = if self.random.one_in(12) { right.parenthesised() } else { right.operand(rank + 1) };
        Expression { code: code![left, " ", sign, " ", right], rank, block, cast }
    }

    /// Two operands, one of which may be a literal that takes its type from the other.
    fn operands(&mut self, primitive: Primitive, depth: u32) -> (Expression, Expression) {
        let ty = Type::Primitive(primitive);
        let bare = |this: &mut Self| {
            let literal = this.bare_literal(primitive);
            let rank = if literal.starts_with('-') { rank::UNARY } else { rank::POSTFIX };
            Expression::new(literal, rank)
        };
        match self.random.below(6) {
            0 if primitive != Primitive::Bool => (self.expression(&ty, depth), bare(self)),
            1 if primitive != Primitive::Bool && self.random.one_in(3) => (bare(self), self.expression(&ty, depth)),
            _ => (self.expression(&ty, depth), self.expression(&ty, depth)),
        }
    }

    fn argument(&mut self, primitive: Primitive, depth: u32) -> Code {
        match self.random.below(4) {
            0 => Code::text(self.bare_literal(primitive)),
            _ => self.expression(&Type::Primitive(primitive), depth).code,
        }
    }

    fn method(&mut self, receiver: Primitive, name: &str, arguments: Vec<Code>, depth: u32) -> Expression {
        // Of a value that comes from outside, as often as not: it may be an edge.
        let depth = if self.random.one_in(2) { 0 } else { depth };
        let value = self.expression(&Type::Primitive(receiver), depth);
        if self.random.one_in(6) {
            let mut all = vec![value.code];
            all.extend(arguments);
            return Expression::new(code![receiver.name(), "::", name, self.list(all, "(", ")")], rank::POSTFIX);
        }
        Expression::new(code![value.leading(rank::POSTFIX), ".", name, self.list(arguments, "(", ")")], rank::POSTFIX)
    }

    /// A conversion to the type, from any other that has one.
    fn converted(&mut self, to: Primitive, depth: u32) -> Expression {
        let mut from = types::primitive(self.random);
        if is_float(to) && from == Primitive::Bool {
            from = Primitive::I32;
        }
        if self.random.one_in(3) && lossless(from, to) {
            let value = self.expression(&Type::Primitive(from), depth).code;
            return Expression::new(code![to.name(), "::from(", value, ")"], rank::POSTFIX);
        }
        let value = match self.random.below(8) {
            0 => Expression::new(["0", "1", "7", "100", "127"][self.random.below(5)], rank::POSTFIX),
            1 if is_integer(to) => Expression::new(["2.75", "0.5", "1e10"][self.random.below(3)], rank::POSTFIX),
            _ => self.expression(&Type::Primitive(from), depth),
        };
        let value = value.leading(rank::CAST);
        Expression { code: code![value, " as ", to.name()], rank: rank::CAST, block: false, cast: true }
    }

    fn unary(&mut self, sign: &str, ty: Primitive, depth: u32) -> Expression {
        let value = self.expression(&Type::Primitive(ty), depth);
        Expression { code: code![sign, value.operand(rank::UNARY)], rank: rank::UNARY, block: false, cast: false }
    }

    fn integer(&mut self, ty: Primitive, depth: u32) -> Expression {
        let u32_type = Type::Primitive(Primitive::U32);
        let first = if self.direct_method { 16 } else { 0 };
        match first + self.random.below(26 - first) {
            0..4 => {
                let (left, right) = self.operands(ty, depth);
                let (sign, rank) = [("+", rank::ADD), ("-", rank::ADD), ("*", rank::MUL)][self.random.below(3)];
                self.binary(left, sign, right, rank)
            }
            4..7 => {
                let (left, right) = self.operands(ty, depth);
                let (sign, rank) = [("&", rank::AND), ("|", rank::OR), ("^", rank::XOR)][self.random.below(3)];
                self.binary(left, sign, right, rank)
            }
            7 | 8 => {
                let left = self.expression(&Type::Primitive(ty), depth);
                let right = self.divisor(ty, depth);
                let sign = ["/", "%"][self.random.below(2)];
                self.binary(left, sign, right, rank::MUL)
            }
            9 | 10 => {
                let left = self.expression(&Type::Primitive(ty), depth);
                let right = match self.random.below(3) {
                    0 => Expression::new(self.random.below(140).to_string(), rank::POSTFIX),
                    _ => {
                        let count = Type::Primitive(types::integer(self.random));
                        self.expression(&count, depth)
                    }
                };
                let sign = ["<<", ">>"][self.random.below(2)];
                self.binary(left, sign, right, rank::SHIFT)
            }
            11 if is_signed(ty) => self.unary("-", ty, depth),
            11 | 12 => self.unary("!", ty, depth),
            13..16 => self.converted(ty, depth),
            16 if ty == Primitive::U32 => {
                let from = types::integer(self.random);
                let name =
                    ["count_ones", "count_zeros", "leading_zeros", "leading_ones", "trailing_zeros", "trailing_ones"]
                        [self.random.below(6)];
                self.method(from, name, Vec::new(), depth)
            }
            16 | 17 if matches!(ty, Primitive::U32 | Primitive::U64) => {
                let float = if ty == Primitive::U32 { Primitive::F32 } else { Primitive::F64 };
                // The bits of a NaN are nobody's promise.
                let value = self.expression(&Type::Primitive(float), depth).leading(rank::POSTFIX);
                let code = code!["match ", value, " { x if x.is_nan() => 0, x => x.to_bits() }"];
                match self.simple {
                    true => self.leaf(&Type::Primitive(ty)),
                    false => {
                        let code = code!["{ let bits: ", ty.name(), " = ", code, "; bits }"];
                        Expression::block(code)
                    }
                }
            }
            16 | 17 if !is_signed(ty) => {
                let signed = Primitive::ALL.into_iter().find(|other| is_signed(*other) && unsigned(*other) == ty);
                let signed = signed.unwrap_or(ty);
                if self.random.one_in(2) && signed != ty {
                    return self.method(signed, "unsigned_abs", Vec::new(), depth);
                }
                let from = if self.random.one_in(2) { signed } else { ty };
                let argument = self.argument(from, depth);
                self.method(from, "abs_diff", vec![argument], depth)
            }
            16 | 17 => {
                let name = ["abs", "wrapping_abs", "signum"][self.random.below(3)];
                self.method(ty, name, Vec::new(), depth)
            }
            18 => {
                let name = ["swap_bytes", "reverse_bits", "wrapping_neg"][self.random.below(3)];
                self.method(ty, name, Vec::new(), depth)
            }
            19 => {
                let names =
                    ["rotate_left", "rotate_right", "unbounded_shl", "unbounded_shr", "wrapping_shl", "wrapping_shr"];
                let name = names[self.random.below(names.len())];
                let count = self.argument(Primitive::U32, depth);
                self.method(ty, name, vec![count], depth)
            }
            22 if is_signed(ty) => {
                let name = ["saturating_neg", "saturating_abs", "signum", "abs"][self.random.below(4)];
                self.method(ty, name, Vec::new(), depth)
            }
            22 | 23 => {
                let name = [
                    "wrapping_div",
                    "wrapping_rem",
                    "wrapping_div_euclid",
                    "wrapping_rem_euclid",
                    "saturating_div",
                    "saturating_pow",
                ][self.random.below(6)];
                let argument = match name {
                    "saturating_pow" => Code::text(self.random.below(9).to_string()),
                    _ => self.divisor(ty, depth).code,
                };
                self.method(ty, name, vec![argument], depth)
            }
            24 => {
                let kind = self.kind(depth);
                Expression { code: code![kind, " as ", ty.name()], rank: rank::CAST, block: false, cast: true }
            }
            25 => self.generic(ty, depth),
            20 => match self.random.below(4) {
                0 => {
                    let name = ["div_euclid", "rem_euclid"][self.random.below(2)];
                    let divisor = self.divisor(ty, depth).code;
                    self.method(ty, name, vec![divisor], depth)
                }
                1 => {
                    let name = ["pow", "wrapping_pow"][self.random.below(2)];
                    let exponent = self.expression(&u32_type, depth).leading(rank::AND);
                    let exponent = if self.random.one_in(2) { Code::text("3") } else { code![exponent, " & 15"] };
                    self.method(ty, name, vec![exponent], depth)
                }
                2 => {
                    let high = self.expression(&Type::Primitive(ty), depth).leading(rank::POSTFIX);
                    self.method(ty, "clamp", vec!["3".into(), code![high, ".max(5)"]], depth)
                }
                _ => self.table(ty, depth),
            },
            _ => {
                let name = [
                    "wrapping_add",
                    "wrapping_sub",
                    "wrapping_mul",
                    "saturating_add",
                    "saturating_sub",
                    "saturating_mul",
                    "min",
                    "max",
                ][self.random.below(8)];
                let argument = self.argument(ty, depth);
                self.method(ty, name, vec![argument], depth)
            }
        }
    }

    fn table(&mut self, ty: Primitive, depth: u32) -> Expression {
        let index = self.index(5, depth);
        Expression::new(code!["TABLE_", ty.name().to_uppercase(), "[", index, "]"], rank::POSTFIX)
    }

    /// What may be divided by, now and then 0.
    fn divisor(&mut self, ty: Primitive, depth: u32) -> Expression {
        match self.random.below(8) {
            0 => self.expression(&Type::Primitive(ty), depth),
            1..4 => {
                let value = self.expression(&Type::Primitive(ty), depth);
                let one = Expression::new("1", rank::POSTFIX);
                self.binary(value, "|", one, rank::OR)
            }
            4 => Expression::new(format!("7_{}", ty.name()), rank::POSTFIX),
            _ => Expression::new((1 + self.random.below(120)).to_string(), rank::POSTFIX),
        }
    }

    /// A value of the enum that all crates have.
    fn kind(&mut self, depth: u32) -> Code {
        match self.random.below(6) {
            0 => Code::text(["Kind::Low", "Kind::Middle", "Kind::High"][self.random.below(3)]),
            _ => code!["kind_of(", self.expression(&Type::Primitive(Primitive::U8), depth).code, ")"],
        }
    }

    /// A field of the generic struct that all crates have.
    fn generic(&mut self, ty: Primitive, depth: u32) -> Expression {
        let (left, right) = (self.argument(ty, depth), self.argument(ty, depth));
        let field = ["left", "right"][self.random.below(2)];
        let fields = self.list(vec![code!["left: ", left], code!["right: ", right]], "{ ", " }");
        Expression::new(code!["(Both::<", ty.name(), "> ", fields, ").", field], rank::POSTFIX)
    }

    fn half(&mut self, ty: Primitive, depth: u32) -> Expression {
        match self.random.below(10) {
            0..4 => {
                let (left, right) = self.operands(ty, depth);
                let (sign, rank) =
                    [("+", rank::ADD), ("-", rank::ADD), ("*", rank::MUL), ("/", rank::MUL), ("%", rank::MUL)]
                        [self.random.below(5)];
                self.binary(left, sign, right, rank)
            }
            4 => self.unary("-", ty, depth),
            5 | 6 => {
                let value = self.expression(&Type::Primitive(Primitive::F32), depth).code;
                Expression::new(code![ty.name(), "::from_f32(", value, ")"], rank::POSTFIX)
            }
            7 => {
                let bits = self.expression(&Type::Primitive(Primitive::U16), depth).code;
                Expression::new(code![ty.name(), "::from_bits(", bits, ")"], rank::POSTFIX)
            }
            8 => {
                let index = self.index(3, depth);
                Expression::new(code![ty.name().to_uppercase(), "_TABLE[", index, "]"], rank::POSTFIX)
            }
            _ => {
                let name = ["min", "max", "signum"][self.random.below(3)];
                let arguments = if name == "signum" { Vec::new() } else { vec![self.argument(ty, depth)] };
                let value = self.expression(&Type::Primitive(ty), depth).leading(rank::POSTFIX);
                Expression::new(code![value, ".", name, self.list(arguments, "(", ")")], rank::POSTFIX)
            }
        }
    }

    fn float(&mut self, ty: Primitive, depth: u32) -> Expression {
        let first = if self.direct_method { 9 } else { 0 };
        match first + self.random.below(18 - first) {
            16 => {
                let half = types::half(self.random);
                let value = self.expression(&Type::Primitive(half), depth).leading(rank::POSTFIX);
                let name = if ty == Primitive::F32 { ".to_f32()" } else { ".to_f64()" };
                Expression::new(code![value, name], rank::POSTFIX)
            }
            17 => self.generic(ty, depth),
            0..6 => {
                let (left, right) = self.operands(ty, depth);
                let (sign, rank) =
                    [("+", rank::ADD), ("-", rank::ADD), ("*", rank::MUL), ("/", rank::MUL), ("%", rank::MUL)]
                        [self.random.below(5)];
                self.binary(left, sign, right, rank)
            }
            6 => self.unary("-", ty, depth),
            7 | 8 => self.converted(ty, depth),
            9 | 10 => {
                let name =
                    ["abs", "sqrt", "floor", "ceil", "round", "round_ties_even", "trunc", "fract", "signum", "recip"]
                        [self.random.below(10)];
                self.method(ty, name, Vec::new(), depth)
            }
            11 => {
                let (factor, summand) = (self.argument(ty, depth), self.argument(ty, depth));
                self.method(ty, "mul_add", vec![factor, summand], depth)
            }
            12 => {
                let name = ["rem_euclid", "div_euclid"][self.random.below(2)];
                let argument = self.argument(ty, depth);
                self.method(ty, name, vec![argument], depth)
            }
            13 => {
                // Which of two zeros is the smaller one is left open.
                let name = ["min", "max"][self.random.below(2)];
                let argument = self.argument(ty, depth);
                let value = self.method(ty, name, vec![argument], depth);
                let zero = Expression::new("0.0", rank::POSTFIX);
                self.binary(value, "+", zero, rank::ADD)
            }
            14 => match self.random.below(3) {
                0 => self.method(ty, "clamp", vec!["-1.5".into(), "100.0".into()], depth),
                1 => {
                    let sign = self.literal(ty).code;
                    self.method(ty, "copysign", vec![sign], depth)
                }
                _ => {
                    let bits = if ty == Primitive::F32 { Primitive::U32 } else { Primitive::U64 };
                    let bits = self.expression(&Type::Primitive(bits), depth).code;
                    Expression::new(code![ty.name(), "::from_bits(", bits, ")"], rank::POSTFIX)
                }
            },
            _ => self.table(ty, depth),
        }
    }

    fn truth(&mut self, depth: u32) -> Expression {
        match self.random.below(17) {
            14 => {
                let half = types::half(self.random);
                let (left, right) = self.operands(half, depth);
                let sign = ["==", "!=", "<", "<=", ">", ">="][self.random.below(6)];
                self.binary(left, sign, right, rank::COMPARE)
            }
            15 => {
                let (left, right) = (self.kind(depth), self.kind(depth));
                Expression::new(code![left, [" == ", " != "][self.random.below(2)], right], rank::COMPARE)
            }
            16 if self.simple => self.leaf(&BOOL),
            16 => {
                let kind = self.kind(depth);
                let arms = [
                    "Kind::Low => true, _ => false",
                    "Kind::High | Kind::Low => false, Kind::Middle => true",
                    "k if k == Kind::High => true, Kind::Low => true, _ => false",
                ];
                let arms = arms[self.random.below(3)];
                Expression::block(code!["{ let found: bool = match ", kind, " { ", arms, " }; found }"])
            }
            0..6 => {
                let ty = types::primitive(self.random);
                let (left, right) = self.operands(ty, depth);
                let sign = ["==", "!=", "<", "<=", ">", ">="][self.random.below(6)];
                self.binary(left, sign, right, rank::COMPARE)
            }
            6 | 7 => {
                let (left, right) = (self.expression(&BOOL, depth), self.expression(&BOOL, depth));
                let (sign, rank) = [("&&", rank::BOTH), ("||", rank::EITHER)][self.random.below(2)];
                self.binary(left, sign, right, rank)
            }
            8 | 9 => {
                let (left, right) = (self.expression(&BOOL, depth), self.expression(&BOOL, depth));
                let (sign, rank) = [("&", rank::AND), ("|", rank::OR), ("^", rank::XOR)][self.random.below(3)];
                self.binary(left, sign, right, rank)
            }
            10 => self.unary("!", Primitive::Bool, depth),
            11 => {
                let float = [Primitive::F32, Primitive::F64][self.random.below(2)];
                let name = ["is_nan", "is_finite", "is_infinite", "is_normal", "is_subnormal"][self.random.below(5)];
                self.method(float, name, Vec::new(), depth)
            }
            12 => {
                let ty = types::integer(self.random);
                let name = match is_signed(ty) {
                    true => ["is_positive", "is_negative"][self.random.below(2)],
                    false => "is_power_of_two",
                };
                self.method(ty, name, Vec::new(), depth)
            }
            _ => {
                let float = [Primitive::F32, Primitive::F64][self.random.below(2)];
                let value = self.literal(float).leading(rank::POSTFIX);
                let name = ["is_sign_positive", "is_sign_negative"][self.random.below(2)];
                Expression::new(code![value, ".", name, "()"], rank::POSTFIX)
            }
        }
    }

    /// A literal that says its type, or a constant.
    pub(super) fn literal(&mut self, ty: Primitive) -> Expression {
        let name = ty.name();
        if ty == Primitive::Bool {
            return Expression::new(if self.random.one_in(2) { "true" } else { "false" }, rank::POSTFIX);
        }
        if is_half(ty) {
            return Expression::new(self.bare_literal(ty), rank::POSTFIX);
        }
        if self.random.one_in(6) {
            let constant = match is_float(ty) {
                true => ["MAX", "MIN_POSITIVE", "INFINITY", "EPSILON", "NEG_INFINITY"][self.random.below(5)],
                false => ["MAX", "MIN"][self.random.below(2)],
            };
            return Expression::new(format!("{name}::{constant}"), rank::POSTFIX);
        }
        if self.random.one_in(8) {
            return Expression::new(format!("CONST_{}", name.to_uppercase()), rank::POSTFIX);
        }
        let literal = self.bare_literal(ty);
        let rank = if literal.starts_with('-') { rank::UNARY } else { rank::POSTFIX };
        let point = if literal.ends_with('.') { "0" } else { "" };
        Expression::new(format!("{literal}{point}_{name}"), rank)
    }

    /// A literal without its type.
    pub(super) fn bare_literal(&mut self, ty: Primitive) -> String {
        if ty == Primitive::Bool {
            return if self.random.one_in(2) { "true" } else { "false" }.to_owned();
        }
        if is_half(ty) {
            let name = ty.name();
            return match self.random.below(3) {
                0 => format!("{name}::{}", ["ONE", "INFINITY", "NAN", "MIN_POSITIVE"][self.random.below(4)]),
                _ => format!("{name}::from_f32({})", ["0.1", "-2.5", "1000.0", "0.0"][self.random.below(4)]),
            };
        }
        if is_float(ty) {
            let literal = ["0.0", "1.0", "0.5", "2.", "0.1", "1e-3", "-3.25", "1e10", "16777217.0", "-0.0", "7.75"];
            return literal[self.random.below(literal.len())].to_owned();
        }
        let bits = (8 * ty.size()) as u32;
        let largest = if is_signed(ty) { u128::MAX >> (129 - bits) } else { u128::MAX >> (128 - bits) };
        let value = match self.random.below(8) {
            0..4 => self.random.below(11) as u128,
            4 | 5 => 1 << self.random.below(bits as usize - 1),
            6 => (u128::from(self.random.bits()) * u128::from(self.random.bits())) & largest,
            _ => largest - self.random.below(3) as u128,
        };
        let minus = is_signed(ty) && self.random.one_in(4);
        if minus && self.random.one_in(8) {
            return format!("-{}", largest + 1);
        }
        let digits = match self.random.below(6) {
            0 => format!("{value:#x}"),
            1 if value < 1000 => format!("{value:#b}"),
            2 if value < 1000 => format!("{value:#o}"),
            3 if value >= 1000 => {
                let digits = value.to_string();
                format!("{}_{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..])
            }
            _ => value.to_string(),
        };
        if minus { format!("-{digits}") } else { digits }
    }
}

/// Whether `To::from(value)` is there and loses nothing.
fn lossless(from: Primitive, to: Primitive) -> bool {
    use Primitive::*;
    if from == Bool {
        return is_integer(to);
    }
    match to {
        F32 => matches!(from, I8 | I16 | U8 | U16 | F32),
        F64 => matches!(from, I8 | I16 | I32 | U8 | U16 | U32 | F32 | F64),
        Usize => matches!(from, U8 | U16 | Usize),
        Isize => matches!(from, I8 | I16 | U8 | Isize),
        Bool => from == Bool,
        to if matches!(from, F32 | F64 | Isize | Usize) => from == to,
        to => from == to || from.size() < to.size() && (is_signed(to) || !is_signed(from)),
    }
}
