//! Random programs: what every part of a program needs to know while it is made.

use super::code::Code;
use super::types::{Type, Types};
use crate::emulated::Random;

/// A local variable.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) mutable: bool,
}

/// A loop around the place that is being written.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) label: Option<String>,
    /// The type of `break value`, for a `loop` that has one.
    pub(super) value: Option<Type>,
}

/// Makes one program.
pub(super) struct Generator<'a> {
    pub(super) random: &'a mut Random,
    pub(super) types: &'a Types,
    pub(super) variables: Vec<Variable>,
    pub(super) loops: Vec<Loop>,
    /// What `return` returns; `None` where the program must not be left.
    pub(super) returns: Option<Type>,
    /// Nothing but expressions that have no statements inside.
    pub(super) simple: bool,
    /// How many more expressions the program may have. It ends soon after, not at once.
    pub(super) budget: i32,
    /// How deep blocks nest here.
    pub(super) nesting: usize,
    /// Loops nest so that none runs for long.
    pub(super) loop_depth: usize,
    /// Whether the program is little more than a method of the values it is given, which are edges as often as not.
    pub(super) direct_method: bool,
    parts: usize,
    labels: usize,
}

/// A program: the names of its two values, and its body with the braces.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) parameters: [String; 2],
    pub(super) code: Code,
}

const NAMES: &[&str] =
    &["x", "y", "z", "n", "sum", "item", "value", "auto", "int", "x_1", "operand", "matched", "r#try"];

impl<'a> Generator<'a> {
    /// A function of a value of each of two types that gives one of a third.
    pub(super) fn body(random: &'a mut Random, types: &'a Types, [left, right, result]: [&Type; 3]) -> Body {
        // Each of two results is to need statements that the other one does not need.
        let has_two = matches!(result, Type::Results(_));
        let direct_method = random.one_in(3) && !has_two;
        let budget = match (direct_method, has_two) {
            (true, _) => 3,
            (false, true) => [24, 35, 45][random.below(3)],
            (false, false) => [8, 12, 12, 18, 18, 24, 45][random.below(7)],
        };
        let mut generator = Generator {
            random,
            types,
            variables: Vec::new(),
            loops: Vec::new(),
            returns: Some(result.clone()),
            simple: false,
            budget,
            nesting: 0,
            loop_depth: 0,
            direct_method,
            parts: 0,
            labels: 0,
        };
        let mut parameters = ["a", "b"].map(str::to_owned);
        for (name, ty) in parameters.iter_mut().zip([left, right]) {
            let mutable = generator.random.one_in(4);
            generator.declare(name, ty, mutable);
            if mutable {
                *name = format!("mut {name}");
            }
        }
        let statements = if direct_method { 0 } else { 2 + budget as usize / 12 };
        let code = generator.block(Some(result), true, statements);
        Body { parameters, code }
    }

    /// A part of the program that `neutral` can stand in for.
    pub(super) fn part(&mut self, code: Code, neutral: impl Into<String>) -> Code {
        self.parts += 1;
        Code::part(self.parts, code, neutral)
    }

    pub(super) fn declare(&mut self, name: &str, ty: &Type, mutable: bool) {
        self.variables.push(Variable { name: name.to_owned(), ty: ty.clone(), mutable });
    }

    /// A name for a variable, which may shadow another.
    pub(super) fn name(&mut self) -> String {
        NAMES[self.random.below(NAMES.len())].to_owned()
    }

    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        // Some in the way of names that the text makes itself.
        let word = ["'outer", "'x", "'while", "'l"][self.random.below(4)];
        let word = if word == "'while" { "'next" } else { word };
        format!("{word}{}", self.labels)
    }

    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    /// The variables that are not shadowed.
    pub(super) fn visible(&self) -> impl Iterator<Item = &Variable> {
        let variables = &self.variables;
        variables
            .iter()
            .enumerate()
            .filter(|(index, variable)| variables[index + 1..].iter().all(|later| later.name != variable.name))
            .map(|(_, variable)| variable)
    }

    /// Where values of this type lie: variables, and parts of variables.
    pub(super) fn places(&self, ty: &Type, mutable: bool, indexed: bool) -> Vec<String> {
        let mut places = Vec::new();
        for variable in self.visible().filter(|variable| variable.mutable || !mutable) {
            self.places_in(&variable.name, &variable.ty, ty, indexed, &mut places);
        }
        places
    }

    fn places_in(&self, path: &str, here: &Type, ty: &Type, indexed: bool, places: &mut Vec<String>) {
        if here == ty {
            places.push(path.to_owned());
        }
        match here {
            Type::Primitive(_) => {}
            Type::Struct(index) => {
                for (name, field) in &self.types.structs[*index].fields {
                    self.places_in(&format!("{path}.{name}"), field, ty, indexed, places);
                }
            }
            Type::Array(item, len) if indexed => {
                for index in 0..*len {
                    self.places_in(&format!("{path}[{index}]"), item, ty, indexed, places);
                }
            }
            Type::Array(..) | Type::Results(_) => {}
        }
    }

    /// Writes something in which control stays: its value is an operand.
    pub(super) fn contained<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let loops = std::mem::take(&mut self.loops);
        let returns = self.returns.take();
        let result = write(self);
        self.loops = loops;
        self.returns = returns;
        result
    }

    /// Writes something in a scope of its own.
    pub(super) fn scoped<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let variables = self.variables.len();
        self.nesting += 1;
        let result = write(self);
        self.nesting -= 1;
        self.variables.truncate(variables);
        result
    }

    /// Writes an expression without statements inside.
    pub(super) fn simply<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let simple = std::mem::replace(&mut self.simple, true);
        let result = write(self);
        self.simple = simple;
        result
    }
}
