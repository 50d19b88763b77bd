//! Statements, and the expressions that have statements inside.

use super::code::{Code, code};
use super::expressions::{Expression, rank};
use super::generator::{Generator, Loop};
use super::types::{self, Type, is_float, is_half, is_signed};
use scan_codegen::Primitive;

const BOOL: Type = Type::Primitive(Primitive::Bool);

impl Generator<'_> {
    /// A block of some statements, with a value where a type is given. Where it is `direct`, the text knows where the value
    /// goes, so that control may leave and literals need no suffix.
    pub(super) fn block(&mut self, value: Option<&Type>, direct: bool, statements: usize) -> Code {
        self.scoped(|this| {
            let margin = "    ".repeat(this.nesting);
            let mut block = Code::text("{\n");
            if let (Some(Type::Results(both)), 1) = (value, this.nesting) {
                block.push(this.variables_of_results(both));
            }
            for _ in 0..statements {
                if this.budget <= 0 {
                    break;
                }
                let statement = this.statement();
                block.push(code![&margin, statement, "\n"]);
            }
            if let Some(ty) = value {
                let value = if direct { this.direct(ty, 3) } else { this.expression(ty, 2).code };
                block.push(code![&margin, value, "\n"]);
            }
            block.push(format!("{}}}", "    ".repeat(this.nesting - 1)));
            block
        })
    }

    /// A variable for each of two results, for statements to change.
    fn variables_of_results(&mut self, both: &[Type; 2]) -> Code {
        let mut code = Code::default();
        for (name, ty) in ["after", "output"].into_iter().zip(both) {
            let value = self.contained(|this| this.expression(ty, 1)).code;
            code.push(code![format!("    let mut {name}: {} = ", self.types.name(ty)), value, ";\n"]);
            self.declare(name, ty, true);
        }
        code
    }

    fn inner_block(&mut self, value: Option<&Type>, direct: bool) -> Code {
        let statements = self.random.below(3) + usize::from(value.is_none());
        self.block(value, direct, statements)
    }

    /// A value for a place whose type the text knows.
    fn direct(&mut self, ty: &Type, depth: u32) -> Code {
        if depth > 0 && self.nesting < 5 && self.budget > 0 && !self.direct_method && self.percent(35) {
            let value = self.branching(ty, depth, true).code;
            let neutral = self.types.zero(ty);
            return self.part(value, neutral);
        }
        match ty {
            Type::Primitive(primitive) if self.random.one_in(8) => Code::text(self.bare_literal(*primitive)),
            ty => self.contained(|this| this.expression(ty, depth)).code,
        }
    }

    /// An operand that has statements inside.
    pub(super) fn by_statements(&mut self, ty: &Type, depth: u32) -> Expression {
        if self.nesting >= 5 {
            return self.expression(ty, 0);
        }
        self.branching(ty, depth, false)
    }

    fn condition(&mut self) -> Code {
        self.contained(|this| this.expression(&BOOL, 2)).code
    }

    fn branching(&mut self, ty: &Type, depth: u32, direct: bool) -> Expression {
        let code = match self.random.below(7) {
            0 | 1 => self.inner_block(Some(ty), direct),
            2 | 3 => {
                let condition = self.condition();
                let mut code = code!["if ", condition, " ", self.inner_block(Some(ty), direct)];
                if self.random.one_in(3) {
                    let condition = self.condition();
                    code.push(code![" else if ", condition, " ", self.inner_block(Some(ty), direct)]);
                }
                code.push(code![" else ", self.inner_block(Some(ty), direct)]);
                code
            }
            4 | 5 => self.matching(Some(ty), direct, depth),
            // A `break` has a single value.
            _ if self.loop_depth < 3 && !matches!(ty, Type::Results(_)) => {
                let (counter, looping) = self.endless(Some(ty));
                code!["{ ", counter, " ", looping, " }"]
            }
            _ => self.inner_block(Some(ty), direct),
        };
        Expression::statements(code)
    }

    /// A `match` whose arms are blocks, or expressions.
    fn matching(&mut self, value: Option<&Type>, direct: bool, depth: u32) -> Code {
        let subjects: Vec<Type> = match self.random.below(6) {
            0 => vec![Type::Struct(self.random.below(self.types.structs.len()))],
            1 | 2 => vec![self.primitive_type(), self.primitive_type()],
            _ => vec![self.primitive_type()],
        };
        let values: Vec<Code> = subjects
            .iter()
            .map(|ty| {
                let value = self.contained(|this| this.expression(ty, depth.min(2)));
                if matches!(ty, Type::Struct(_)) { value.leading(rank::POSTFIX) } else { value.code }
            })
            .collect();
        let subject = match values.as_slice() {
            [one] => code![one.clone()],
            [one, other] => code!["(", one.clone(), ", ", other.clone(), ")"],
            _ => Code::default(),
        };
        let margin = "    ".repeat(self.nesting + 1);
        let mut code = code!["match ", subject, " {\n"];
        let arms = 1 + self.random.below(4);
        for index in 0..arms {
            let arm = self.scoped(|this| {
                let pattern = match subjects.as_slice() {
                    _ if index + 1 == arms && subjects.len() == 1 => this.last_pattern(&subjects[0]),
                    _ if index + 1 == arms => Code::text("_"),
                    [Type::Primitive(primitive)] => this.pattern(*primitive, true),
                    [Type::Struct(index)] => this.struct_pattern(*index, true),
                    subjects => this.tuple_pattern(subjects),
                };
                let body = match (value, this.random.one_in(3)) {
                    (Some(ty), true) if direct => this.direct(ty, 1),
                    (Some(ty), true) => this.expression(ty, 1).code,
                    (value, _) => this.inner_block(value, direct),
                };
                code![pattern, " => ", body, ","]
            });
            code.push(code![&margin, arm, "\n"]);
        }
        code.push(format!("{}}}", "    ".repeat(self.nesting)));
        code
    }

    fn primitive_type(&mut self) -> Type {
        Type::Primitive(types::primitive(self.random))
    }

    fn tuple_pattern(&mut self, subjects: &[Type]) -> Code {
        let mut code = Code::text("(");
        let mut names = Vec::new();
        for (index, ty) in subjects.iter().enumerate() {
            let Type::Primitive(primitive) = ty else { continue };
            code.push(if index > 0 { ", " } else { "" });
            code.push(self.part_pattern(*primitive, &mut names));
        }
        code.push(")");
        if self.random.one_in(3) {
            let guard = self.simply(|this| this.contained(|this| this.expression(&BOOL, 1))).code;
            code.push(code![" if ", guard]);
        }
        code
    }

    /// A pattern inside another: its names differ from those before it.
    fn part_pattern(&mut self, primitive: Primitive, names: &mut Vec<String>) -> Code {
        match self.random.below(5) {
            0 => Code::text("_"),
            1 | 2 => {
                let name = self.name();
                if names.contains(&name) {
                    return Code::text("_");
                }
                let mutable = self.random.one_in(3);
                self.declare(&name, &Type::Primitive(primitive), mutable);
                names.push(name.clone());
                Code::text(if mutable { format!("mut {name}") } else { name })
            }
            _ => {
                let variables = self.variables.len();
                let pattern = self.pattern(primitive, false);
                if let Some(bound) = self.variables.get(variables).map(|variable| variable.name.clone()) {
                    if names.contains(&bound) {
                        self.variables.truncate(variables);
                        return Code::text("_");
                    }
                    names.push(bound);
                }
                pattern
            }
        }
    }

    fn struct_pattern(&mut self, index: usize, refutable: bool) -> Code {
        let types::Struct { name, fields, tuple } = self.types.structs[index].clone();
        let mut code = code![&name, if tuple { "(" } else { " { " }];
        let mut names = Vec::new();
        for (place, (field, ty)) in fields.iter().enumerate() {
            if tuple && place > 0 && self.random.one_in(5) {
                break;
            }
            let pattern = match ty {
                Type::Primitive(primitive) if refutable && self.random.one_in(2) => {
                    self.part_pattern(*primitive, &mut names)
                }
                ty => {
                    let name = self.name();
                    if names.contains(&name) || self.random.one_in(4) {
                        Code::text("_")
                    } else {
                        let mutable = self.random.one_in(3);
                        self.declare(&name, ty, mutable);
                        names.push(name.clone());
                        Code::text(if mutable { format!("mut {name}") } else { name })
                    }
                }
            };
            match tuple {
                true => code.push(code![pattern, ", "]),
                false => code.push(code![field, ": ", pattern, ", "]),
            }
        }
        code.push(if tuple { "..)" } else { ".. }" });
        code
    }

    /// A counter, and a loop that ends when it has gone far enough.
    fn endless(&mut self, value: Option<&Type>) -> (Code, Code) {
        let counter = self.counter();
        let rounds = self.rounds();
        let label = self.random.one_in(2).then(|| self.label());
        let stop = match value {
            Some(ty) => self.contained(|this| this.expression(ty, 1)).code,
            None => Code::default(),
        };
        let to = match (&label, self.random.one_in(2)) {
            (Some(label), true) => format!("{label} "),
            _ => String::new(),
        };
        let body = self.loop_body(label.clone(), value.cloned());
        let margin = "    ".repeat(self.nesting);
        let head = label.map_or(String::new(), |label| format!("{label}: "));
        let looping = code![
            format!("{head}loop {{\n{margin}    {counter} += 1;\n{margin}    if {counter} > {rounds} {{ break {to}"),
            stop,
            format!("; }}\n{margin}    "),
            body,
            format!("\n{margin}}}"),
        ];
        (Code::text(format!("let mut {counter} = 0_u32;")), looping)
    }

    fn counter(&mut self) -> String {
        let label = self.label();
        format!("rounds_{}", label.trim_start_matches(|letter: char| !letter.is_ascii_digit()))
    }

    fn rounds(&mut self) -> usize {
        1 + self.random.below(if self.loop_depth == 0 { 6 } else { 3 })
    }

    fn loop_body(&mut self, label: Option<String>, value: Option<Type>) -> Code {
        self.loops.push(Loop { label, value });
        self.loop_depth += 1;
        let body = self.inner_block(None, false);
        self.loop_depth -= 1;
        self.loops.pop();
        body
    }

    pub(super) fn statement(&mut self) -> Code {
        match self.random.below(24) {
            0..6 => self.local(),
            6..10 => self.assign(),
            10..13 => self.compound_assign(),
            13 | 14 => {
                let condition = self.condition();
                let mut code = code!["if ", condition, " ", self.inner_block(None, false)];
                if self.random.one_in(3) {
                    let condition = self.condition();
                    code.push(code![" else if ", condition, " ", self.inner_block(None, false)]);
                }
                if self.random.one_in(2) {
                    code.push(code![" else ", self.inner_block(None, false)]);
                }
                self.part(code, "")
            }
            15 if self.nesting < 5 => {
                let code = self.matching(None, false, 2);
                self.part(code, "")
            }
            16..19 if self.loop_depth < 3 && self.nesting < 5 => {
                let code = self.looping();
                self.part(code, "")
            }
            19 | 20 => self.leave(),
            21 => self.assertion(),
            22 if self.nesting < 5 => {
                let code = self.inner_block(None, false);
                self.part(code, "")
            }
            23 => {
                let ty = self.types.pick(self.random);
                let value = self.contained(|this| this.expression(&ty, 2)).code;
                let code = code![["let _ = ", "_ = "][self.random.below(2)], value, ";"];
                self.part(code, "")
            }
            _ => self.local(),
        }
    }

    fn local(&mut self) -> Code {
        let ty = self.types.pick(self.random);
        let mutable = self.percent(60);
        let name = self.name();
        let word = if mutable { "let mut " } else { "let " };
        let typed = self.types.name(&ty);
        let neutral = format!("let mut {name}: {typed} = {};", self.types.zero(&ty));
        let code = match self.random.below(12) {
            0 => return self.locals(),
            1 => return self.destructured(),
            2 => {
                // Declared first, given its value in each branch.
                let condition = self.condition();
                let mut branches = Vec::new();
                for _ in 0..2 {
                    branches.push(self.scoped(|this| {
                        let statement = if this.random.one_in(3) { this.statement() } else { Code::default() };
                        (statement, this.direct(&ty, 2))
                    }));
                }
                let mut branches = branches.into_iter();
                let (Some(then), Some(other)) = (branches.next(), branches.next()) else { return Code::default() };
                // A statement before it may have made another variable of the name.
                let margin = "    ".repeat(self.nesting);
                let own = format!("late_{}", self.counter());
                let code = code![
                    format!("{word}{own}: {typed};\n{margin}if "),
                    condition,
                    " { ",
                    then.0,
                    format!(" {own} = "),
                    then.1,
                    "; } else { ",
                    other.0,
                    format!(" {own} = "),
                    other.1,
                    format!("; }}\n{margin}{word}{name} = {own};"),
                ];
                self.declare(&name, &ty, mutable);
                return self.part(code, neutral);
            }
            3 if self.loop_depth < 3 => {
                let (counter, looping) = self.endless(Some(&ty));
                let margin = "    ".repeat(self.nesting);
                code![counter, format!("\n{margin}{word}{name}: {typed} = "), looping, ";"]
            }
            4..8 => code![format!("{word}{name}: {typed} = "), self.direct(&ty, 3), ";"],
            _ => {
                let value = self.contained(|this| this.expression(&ty, 3)).code;
                code![format!("{word}{name} = "), value, ";"]
            }
        };
        self.declare(&name, &ty, mutable);
        self.part(code, neutral)
    }

    fn locals(&mut self) -> Code {
        let (first, second) = (self.types.pick(self.random), self.types.pick(self.random));
        let (one, other) = (self.name(), self.name());
        if one == other {
            return self.assertion();
        }
        let typed = format!("({}, {})", self.types.name(&first), self.types.name(&second));
        let neutral = format!(
            "let (mut {one}, mut {other}): {typed} = ({}, {});",
            self.types.zero(&first),
            self.types.zero(&second)
        );
        let annotation = if self.random.one_in(2) { format!(": {typed}") } else { String::new() };
        let values = self.contained(|this| (this.expression(&first, 2).code, this.expression(&second, 2).code));
        let code = code![format!("let ({one}, mut {other}){annotation} = ("), values.0, ", ", values.1, ");"];
        self.declare(&one, &first, false);
        self.declare(&other, &second, true);
        self.part(code, neutral)
    }

    fn destructured(&mut self) -> Code {
        let index = self.random.below(self.types.structs.len());
        let value = self.contained(|this| this.expression(&Type::Struct(index), 2)).code;
        let before = self.variables.len();
        let pattern = self.struct_pattern(index, false);
        let neutral: String = self.variables[before..]
            .iter()
            .map(|variable| {
                let (ty, zero) = (self.types.name(&variable.ty), self.types.zero(&variable.ty));
                format!("let mut {}: {ty} = {zero};", variable.name)
            })
            .collect();
        self.part(code!["let ", pattern, " = ", value, ";"], neutral)
    }

    /// A variable, or a part of one, to be assigned to.
    fn target(&mut self) -> Option<(Code, Type)> {
        let choices: Vec<(String, Type)> = self
            .visible()
            .filter(|variable| variable.mutable)
            .map(|variable| (variable.name.clone(), variable.ty.clone()))
            .collect();
        if choices.is_empty() {
            return None;
        }
        let (name, mut ty) = choices[self.random.below(choices.len())].clone();
        let mut place = Code::text(name);
        while self.percent(75) {
            match ty.clone() {
                Type::Primitive(_) | Type::Results(_) => break,
                Type::Struct(index) => {
                    let fields = &self.types.structs[index].fields;
                    let (name, field) = fields[self.random.below(fields.len())].clone();
                    place.push(format!(".{name}"));
                    ty = field;
                }
                Type::Array(item, len) => {
                    let index = self.simply(|this| this.contained(|this| this.index(len, 1)));
                    place.push(code!["[", index, "]"]);
                    ty = *item;
                }
            }
        }
        Some((place, ty))
    }

    fn assign(&mut self) -> Code {
        let Some((place, ty)) = self.target() else { return self.local() };
        let value = self.direct(&ty, 3);
        self.part(code![place, " = ", value, ";"], "")
    }

    fn compound_assign(&mut self) -> Code {
        let Some((place, ty)) = self.target() else { return self.local() };
        let Type::Primitive(primitive) = ty else {
            let value = self.direct(&ty, 2);
            return self.part(code![place, " = ", value, ";"], "");
        };
        let (sign, value) = if primitive == Primitive::Bool {
            (["&", "|", "^"][self.random.below(3)], self.operand(primitive))
        } else if is_float(primitive) || is_half(primitive) {
            (["+", "-", "*", "/", "%"][self.random.below(5)], self.operand(primitive))
        } else {
            match self.random.below(10) {
                0 | 1 => {
                    let value = self.contained(|this| this.expression(&ty, 2)).leading(rank::OR);
                    (["/", "%"][self.random.below(2)], code![value, " | 1"])
                }
                2 | 3 => {
                    let count = Type::Primitive(types::integer(self.random));
                    let count = self.contained(|this| this.expression(&count, 2)).code;
                    (["<<", ">>"][self.random.below(2)], count)
                }
                _ => (["+", "-", "*", "&", "|", "^"][self.random.below(6)], self.operand(primitive)),
            }
        };
        self.part(code![place, format!(" {sign}= "), value, ";"], "")
    }

    fn operand(&mut self, primitive: Primitive) -> Code {
        match self.random.one_in(4) {
            true => Code::text(self.bare_literal(primitive)),
            // To Rust this is a call that borrows the place, which statements in the operand could not change.
            false if is_half(primitive) => self.simply(|this| this.expression(&Type::Primitive(primitive), 2)).code,
            false => self.contained(|this| this.expression(&Type::Primitive(primitive), 3)).code,
        }
    }

    fn looping(&mut self) -> Code {
        let margin = "    ".repeat(self.nesting);
        match self.random.below(4) {
            0 => {
                let (counter, looping) = self.endless(None);
                code![counter, format!("\n{margin}"), looping]
            }
            1 => {
                let (counter, rounds) = (self.counter(), self.rounds());
                let label = self.random.one_in(2).then(|| self.label());
                let condition = self.contained(|this| this.expression(&BOOL, 2)).leading(rank::COMPARE);
                let head = label.clone().map_or(String::new(), |label| format!("{label}: "));
                let body = self.loop_body(label, None);
                code![
                    format!("let mut {counter} = {rounds}_u32;\n{margin}{head}while {counter} > 0 && "),
                    condition,
                    format!(" {{\n{margin}    {counter} -= 1;\n{margin}    "),
                    body,
                    format!("\n{margin}}}"),
                ]
            }
            _ => self.counted(),
        }
    }

    fn counted(&mut self) -> Code {
        let label = self.random.one_in(2).then(|| self.label());
        let head = label.clone().map_or(String::new(), |label| format!("{label}: "));
        let arrays: Vec<(String, Type, usize)> = self
            .visible()
            .filter(|variable| variable.mutable)
            .filter_map(|variable| match &variable.ty {
                Type::Array(item, len) => Some((variable.name.clone(), (**item).clone(), *len)),
                _ => None,
            })
            .collect();
        if !arrays.is_empty() && self.random.one_in(3) {
            let (array, item, len) = arrays[self.random.below(arrays.len())].clone();
            let value = self.scoped(|this| {
                this.declare("i", &Type::Primitive(Primitive::Usize), false);
                this.contained(|this| this.expression(&item, 2)).code
            });
            return code![format!("{head}for i in 0..{len} {{ {array}[i] = "), value, "; }"];
        }
        let primitive = types::integer(self.random);
        let ty = Type::Primitive(primitive);
        let name = primitive.name();
        let few = if self.loop_depth == 0 { 7 } else { 3 };
        let some = self.contained(|this| this.expression(&ty, 2)).leading(rank::AND);
        let some = code!["(", some, format!(" & {few})")];
        let literal = self.random.below(few);
        let range = match self.random.below(8) {
            0 => code![format!("0..{literal}_{name}")],
            1 => code![format!("{literal}_{name}..={few}")],
            2 => code![some, format!("..{few}")],
            3 => code![format!("{literal}..="), some],
            4 => code![format!("{name}::MAX - "), some, format!("..={name}::MAX")],
            5 if is_signed(primitive) => code![format!("-{literal}..="), some],
            6 if is_signed(primitive) => code![format!("{name}::MIN..={name}::MIN + "), some],
            _ => {
                let end = self.contained(|this| this.expression(&ty, 1)).leading(rank::AND);
                code![some, "..(", end, format!(" & {few})")]
            }
        };
        let range = if self.random.one_in(3) { code!["(", range, ").rev()"] } else { range };
        let variable = if self.random.one_in(5) { "_".to_owned() } else { self.name() };
        let mutable = variable != "_" && self.random.one_in(4);
        let body = self.scoped(|this| {
            if variable != "_" {
                this.declare(&variable, &ty, mutable);
            }
            this.loop_body(label, None)
        });
        let word = if mutable { "mut " } else { "" };
        code![format!("{head}for {word}{variable} in "), range, " ", body]
    }

    /// `return`, `break` or `continue`, behind a condition.
    fn leave(&mut self) -> Code {
        let condition = self.condition();
        let leave = if !self.loops.is_empty() && self.percent(70) {
            let index = self.random.below(self.loops.len());
            let innermost = index + 1 == self.loops.len();
            let Loop { label, value } = self.loops[index].clone();
            let label = match label {
                Some(label) if !innermost || self.random.one_in(2) => format!(" {label}"),
                None if !innermost => return self.assertion(),
                _ => String::new(),
            };
            match (self.random.one_in(3), value) {
                (true, _) => code![format!("continue{label};")],
                (false, None) => code![format!("break{label};")],
                (false, Some(ty)) => {
                    let value = self.contained(|this| this.expression(&ty, 2)).code;
                    code![format!("break{label} "), value, ";"]
                }
            }
        } else if let Some(ty) = self.returns.clone() {
            code!["return ", self.direct(&ty, 2), ";"]
        } else {
            return self.assign();
        };
        let code = match self.random.one_in(4) {
            true => {
                let statement = self.scoped(|this| this.statement());
                code!["if ", condition, " { ", leave, " } else { ", statement, " }"]
            }
            false => code!["if ", condition, " { ", leave, " }"],
        };
        self.part(code, "")
    }

    fn assertion(&mut self) -> Code {
        let condition = match self.random.one_in(10) {
            true => self.condition(),
            false => {
                let primitive = types::integer(self.random);
                let ty = Type::Primitive(primitive);
                let value = self.contained(|this| this.expression(&ty, 2)).leading(rank::COMPARE + 1);
                code![value, format!(" != {}", 11 + self.random.below(80))]
            }
        };
        let word = ["assert!", "debug_assert!"][self.random.below(2)];
        let message = ["", ", \"{}\", 1"][self.random.below(2)];
        self.part(code![word, "(", condition, message, ");"], "")
    }
}
