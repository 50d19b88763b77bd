//! Operators made from other operators.

mod nullable;

pub use nullable::Nulls;

use crate::{
    element::ElementType,
    names::{snake_case, variable},
    operator::{FunctionSource, OpSource, OutputsOf, Piece},
};

mod aggregate;
mod by_flag;
mod by_key;

/// The fields of a pair: of its state, its output and its parameters.
const FIELDS: [&str; 2] = ["first", "second"];

/// The input of a pair.
const INPUT: &str = "x";

/// The functions that take an input: as their last parameter, or as their first one.
const TAKES_INPUT: [&str; 4] = ["lift", "append", "step", "emit"];
const TAKES_INPUT_FIRST: &str = "prepend";

impl OpSource {
    /// The same operator with the operands of `combine` exchanged. What appended an input prepends it then, and the
    /// other way round.
    #[must_use]
    pub fn flipped(&self) -> Self {
        let mut flipped = self.clone();
        for function in &mut flipped.functions {
            let name = match &*function.name {
                "combine" => "combine",
                "append" => "prepend",
                "prepend" => "append",
                _ => continue,
            };
            function.name = name.to_owned();
            function.parameters.reverse();
        }
        flipped
    }

    /// The operator of a reversed scan, which combines in the order of memory. A stepped operator reads from the right:
    /// what it has read is on the left.
    pub(crate) fn read_backwards(&self) -> Self {
        match &self.backwards {
            Some(backwards) => (**backwards).clone(),
            None if self.carry.is_some() => self.clone(),
            None => self.flipped(),
        }
    }

    /// The same operator over what a function makes of each input. The function comes last among `map`, after those
    /// that it calls.
    #[must_use]
    pub fn lifted(&self, map: &[FunctionSource]) -> Self {
        let Some((parameter, input)) = map.last().and_then(|map| map.parameters.first()) else { return self.clone() };
        let mut lifted = OpSource { input: input.clone(), ..self.clone() };
        lifted.helpers.extend(map.iter().map(|function| moved(function, self.helpers.len())));
        let mapped = lifted.helpers.len() - 1;
        let call = |argument: &str| [Piece::Helper(mapped), Piece::Text(format!("({argument})").into())];
        for function in &mut lifted.functions {
            let is_first = function.name == TAKES_INPUT_FIRST;
            if !is_first && !TAKES_INPUT.contains(&&*function.name) {
                continue;
            }
            // The input becomes a variable.
            let argument = free_name(function);
            let taken = if is_first { function.parameters.first_mut() } else { function.parameters.last_mut() };
            let Some((name, ty)) = taken.map(|taken| std::mem::replace(taken, (argument.clone(), input.clone())))
            else {
                continue;
            };
            let declaration = [Piece::Type(ty), Piece::Text(format!(" {} = ", variable(&name)).into())];
            let end = [Piece::Text(";\n".into())];
            function.body.splice(0..0, declaration.into_iter().chain(call(&argument)).chain(end));
            function.calls.push((mapped, 1));
        }
        if !self.has("lift") {
            let argument = variable(parameter);
            let mut body = vec![Piece::Text("return ".into())];
            body.extend(call(&argument));
            body.push(Piece::Text(";\n".into()));
            let lift = FunctionSource {
                name: "lift".to_owned(),
                parameters: vec![(parameter.clone(), input.clone())],
                returns: self.state.clone(),
                body,
                file: String::new(),
                uses: Vec::new(),
                calls: vec![(mapped, 1)],
                cold: false,
            };
            lifted.functions.insert(0, lift);
        }
        let backwards = self.backwards.as_ref().map(|backwards| Box::new(backwards.lifted(map)));
        lifted.backwards = backwards;
        lifted
    }

    /// Two operators over the same input, side by side. `pair` has the name, the types and the identity: its state, its
    /// output and its parameters are structs with the fields `first` and `second`. An operator without parameters has
    /// no field among the parameters. The functions are made here: they call those of the two operators.
    #[must_use]
    pub fn side_by_side(pair: OpSource, first: &OpSource, second: &OpSource) -> Self {
        let backwards = pair.carry.is_some().then(|| {
            let backwards = OpSource { carry: pair.carry.clone(), ..pair.clone() };
            Box::new(OpSource::of_parts(backwards, &first.read_backwards(), &second.read_backwards()))
        });
        OpSource { backwards, ..OpSource::of_parts(pair, first, second) }
    }

    /// An operator that is to write the exclusive result beside the inclusive one. `around` has the name, the types and
    /// the identity: its carry and its state are those of `op`, its output is a struct with the fields `exclusive` and
    /// `inclusive`, and its parameters a struct with the field `op`, if that has parameters. The functions are made
    /// here: they call those of `op`.
    #[must_use]
    pub fn with_exclusive(around: OpSource, op: &OpSource) -> Self {
        let backwards = Box::new(OpSource::around(around.clone(), &op.read_backwards()));
        OpSource { backwards: Some(backwards), ..OpSource::around(around, op) }
    }

    fn around(around: OpSource, op: &OpSource) -> Self {
        let mut helpers = Vec::new();
        let part = Part::new("op", op, &mut helpers);
        // The functions that give what those of `op` give, and those whose result has both fields.
        let function = |name: &str, parameters: &[(&'static str, &ElementType)], returns: &ElementType, both: bool| {
            let mut calls = Vec::new();
            let names = |count: usize| {
                let names = parameters.iter().take(count).map(|&(name, _)| vec![Piece::Name(name)]);
                names.collect::<Vec<_>>()
            };
            let value = part.call(name, names(parameters.len()), &mut calls);
            let value = if both {
                let exclusive = part.call("project", names(1), &mut calls);
                let fields = vec![("exclusive", exclusive), ("inclusive", value)];
                vec![Piece::Struct { ty: Some(returns.clone()), fields, base: None }]
            } else {
                value
            };
            FunctionSource::returning(name, parameters, returns, value, calls)
        };
        let OpSource { input, state, output, .. } = &around;
        let carry = around.initial();
        let mut functions = vec![
            function("lift", &[(INPUT, input)], state, false),
            function("combine", &[("a", state), ("b", state)], state, false),
            function("apply", &[("s", state), ("c", carry)], carry, false),
            function("step", &[("c", carry), (INPUT, input)], carry, false),
        ];
        if op.outputs_of == OutputsOf::Prefixes {
            functions.push(function("emit", &[("c", carry), (INPUT, input)], output, true));
            functions.push(function("project", &[("c", carry)], output, true));
        }
        if op.has("append") {
            functions.push(function("append", &[("s", state), (INPUT, input)], state, false));
        }
        if op.has("prepend") {
            functions.push(function("prepend", &[(INPUT, input), ("s", state)], state, false));
        }
        OpSource { functions, helpers, ..around }
    }

    fn of_parts(pair: OpSource, first: &OpSource, second: &OpSource) -> Self {
        let mut helpers = Vec::new();
        let parts = [Part::new(FIELDS[0], first, &mut helpers), Part::new(FIELDS[1], second, &mut helpers)];
        let function = |name: &str, parameters: &[(&'static str, &ElementType)], returns: &ElementType| {
            let mut calls = Vec::new();
            let values = parts.iter().map(|part| {
                // An input is whole, all else has the two parts.
                let arguments = parameters.iter().map(|&(parameter, _)| match parameter {
                    INPUT => vec![Piece::Name(parameter)],
                    _ => vec![Piece::Name(parameter), Piece::Text(format!(".{}", part.field).into())],
                });
                (part.field, part.call(name, arguments.collect(), &mut calls))
            });
            let fields = values.collect();
            let value = vec![Piece::Struct { ty: Some(returns.clone()), fields, base: None }];
            FunctionSource::returning(name, parameters, returns, value, calls)
        };
        let OpSource { input, state, output, .. } = &pair;
        let carry = pair.initial();
        let either = |name: &str| first.has(name) || second.has(name);
        let mut functions =
            vec![function("lift", &[(INPUT, input)], state), function("combine", &[("a", state), ("b", state)], state)];
        if either("append") {
            functions.push(function("append", &[("s", state), (INPUT, input)], state));
        }
        if either("prepend") {
            functions.push(function("prepend", &[(INPUT, input), ("s", state)], state));
        }
        if pair.carry.is_some() {
            functions.push(function("apply", &[("s", state), ("c", carry)], carry));
            functions.push(function("step", &[("c", carry), (INPUT, input)], carry));
        }
        if either("emit") {
            functions.push(function("emit", &[("c", carry), (INPUT, input)], output));
        }
        if pair.outputs_of >= OutputsOf::Totals && either("project") {
            functions.push(function("project", &[(if pair.carry.is_some() { "c" } else { "s" }, carry)], output));
        }
        OpSource { functions, helpers, ..pair }
    }
}

impl FunctionSource {
    /// A function that returns a value.
    fn returning(
        name: &str,
        parameters: &[(&'static str, &ElementType)],
        returns: &ElementType,
        value: Vec<Piece>,
        calls: Vec<(usize, u64)>,
    ) -> Self {
        let end = Piece::Text(";\n".into());
        FunctionSource {
            name: name.to_owned(),
            parameters: parameters.iter().map(|&(name, ty)| (name.to_owned(), ty.clone())).collect(),
            returns: returns.clone(),
            body: [Piece::Text("return ".into())].into_iter().chain(value).chain([end]).collect(),
            file: String::new(),
            uses: Vec::new(),
            calls,
            cold: false,
        }
    }
}

/// An operator that another one is made of.
struct Part<'a> {
    /// Where its state, its output and its parameters are.
    field: &'static str,
    source: &'a OpSource,
    /// The index of the helper that its first function has become; the others follow.
    first_helper: usize,
}

impl<'a> Part<'a> {
    /// Appends its helpers and its functions to the helpers.
    fn new(field: &'static str, source: &'a OpSource, helpers: &mut Vec<FunctionSource>) -> Self {
        let before = helpers.len();
        helpers.extend(source.helpers.iter().map(|helper| moved(helper, before)));
        let first_helper = helpers.len();
        helpers.extend(source.functions.iter().map(|function| {
            let mut helper = moved(function, before);
            helper.name = format!("{}_{}", snake_case(&source.name), function.name);
            // The helper gets the operator's fields as a parameter, because the function reads them.
            helper.parameters.splice(0..0, source.parameters.iter().map(|ty| ("self".to_owned(), ty.clone())));
            each_piece(&mut helper.body, &mut |piece| {
                if let Piece::Text(text) = piece {
                    *text = text.replace("this->", "self.").into();
                }
            });
            helper
        }));
        Part { field, source, first_helper }
    }

    /// The helper that its function of this name has become.
    fn helper(&self, name: &str) -> Option<usize> {
        self.source.functions.iter().position(|function| function.name == name).map(|index| self.first_helper + index)
    }

    /// What its function of this name gives for these arguments, by the functions that it has. Notes which these are.
    fn call(&self, name: &str, mut arguments: Vec<Vec<Piece>>, calls: &mut Vec<(usize, u64)>) -> Vec<Piece> {
        let Some(helper) = self.helper(name) else {
            let last = arguments.pop().unwrap_or_default();
            let Some(first) = arguments.pop() else { return last }; // `lift` and `project`
            return match name {
                "append" => {
                    let element = self.call("lift", vec![last], calls);
                    self.call("combine", vec![first, element], calls)
                }
                "prepend" => {
                    let element = self.call("lift", vec![first], calls);
                    self.call("combine", vec![element, last], calls)
                }
                "apply" => self.call("combine", vec![last, first], calls),
                "step" => self.call("append", vec![first, last], calls),
                _ => {
                    let after = self.call("step", vec![first, last], calls);
                    self.call("project", vec![after], calls)
                }
            };
        };
        calls.push((helper, 1));
        let mut pieces = vec![Piece::Helper(helper)];
        let mut before = "(";
        if self.source.parameters.is_some() {
            pieces.push(Piece::Text(format!("(this->{}", self.field).into()));
            before = ", ";
        }
        for argument in arguments {
            pieces.push(Piece::Text(before.into()));
            pieces.extend(argument);
            before = ", ";
        }
        pieces.push(Piece::Text(")".into()));
        pieces
    }
}

/// A name that nothing in a function has.
fn free_name(function: &mut FunctionSource) -> String {
    let mut taken: Vec<_> = function.parameters.iter().map(|(name, _)| variable(name)).collect();
    each_piece(&mut function.body, &mut |piece| {
        if let Piece::Name(name) = piece {
            taken.push(variable(name));
        }
    });
    let mut name = "raw_input".to_owned();
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// A function whose helpers are moved behind `before` others.
fn moved(function: &FunctionSource, before: usize) -> FunctionSource {
    let mut function = function.clone();
    each_piece(&mut function.body, &mut |piece| {
        if let Piece::Helper(index) = piece {
            *index += before;
        }
    });
    function.calls.iter_mut().for_each(|(index, _)| *index += before);
    function
}

/// Changes each piece, those of struct expressions too.
fn each_piece(pieces: &mut [Piece], change: &mut dyn FnMut(&mut Piece)) {
    for piece in pieces {
        change(piece);
        if let Piece::Struct { fields, base, .. } = piece {
            fields.iter_mut().for_each(|(_, value)| each_piece(value, change));
            base.iter_mut().for_each(|base| each_piece(base, change));
        }
        if let Piece::Divisor(value) = piece {
            each_piece(value, change);
        }
    }
}
