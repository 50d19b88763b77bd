//! Operators over elements that may be null.

use super::{INPUT, Part};
use crate::{
    element::ElementType,
    operator::{FunctionSource, OpSource, OutputsOf, Piece},
};

/// What an operator over nullable elements makes of a null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// It changes nothing. A result is null where no element up to it is valid.
    Skip,
    /// It makes all results null from there on. Their value is that before the null, if the operator has an identity.
    Propagate,
}

/// Parameters of a function.
type Parameters<'p> = [(&'static str, &'p ElementType)];

fn text(text: impl Into<String>) -> Vec<Piece> {
    vec![Piece::Text(text.into().into())]
}

/// A nullable value.
fn nullable(ty: &ElementType, value: Vec<Piece>, valid: impl Into<String>) -> Vec<Piece> {
    let fields = vec![("value", value), ("valid", text(valid))];
    vec![Piece::Struct { ty: Some(ty.clone()), fields, base: None }]
}

/// `condition ? yes : no`.
fn choice(condition: impl Into<String>, yes: Vec<Piece>, no: Vec<Piece>) -> Vec<Piece> {
    [text(condition), text(" ? "), yes, text(" : "), no].concat()
}

/// The functions of an operator over nullable elements.
struct Functions<'a> {
    around: &'a OpSource,
    op: &'a OpSource,
    part: Part<'a>,
    nulls: Nulls,
}

impl Functions<'_> {
    /// What a function of the operator gives for the values of these parameters.
    fn call(&self, name: &str, parameters: &Parameters<'_>, calls: &mut Vec<(usize, u64)>) -> Vec<Piece> {
        let values = parameters.iter().map(|(parameter, _)| text(format!("{parameter}.value")));
        self.part.call(name, values.collect(), calls)
    }

    /// The same where the second parameter, if it is an input, may be a null: that has no effect, if the operator has
    /// an identity.
    fn call_propagating(&self, name: &str, parameters: &Parameters<'_>, calls: &mut Vec<(usize, u64)>) -> Vec<Piece> {
        let value = self.call(name, parameters, calls);
        match parameters {
            [(first, _), (INPUT, _)] if self.op.identity.is_some() => {
                choice(format!("{INPUT}.valid"), value, text(format!("{first}.value")))
            }
            _ => value,
        }
    }

    /// The partial result of an input. A null gives the identity; without an identity, its value is lifted.
    fn lifted(&self, input: (&'static str, &ElementType), calls: &mut Vec<(usize, u64)>) -> Vec<Piece> {
        let value = self.call("lift", &[input], calls);
        let is_valid = format!("{}.valid", input.0);
        let value = match &self.op.identity {
            Some(bytes) => {
                let identity = Piece::Constant { ty: self.op.state.clone(), bytes: bytes.clone(), name: None };
                choice(is_valid.clone(), value, vec![identity])
            }
            None => value,
        };
        nullable(&self.around.state, value, is_valid)
    }

    /// A function that combines two partial results, or a partial result and an input.
    fn combining(&self, name: &str, parameters: [(&'static str, &ElementType); 2]) -> FunctionSource {
        let (state, mut calls) = (&self.around.state, Vec::new());
        let [first, second] = parameters.map(|(parameter, _)| format!("{parameter}.valid"));
        let alone = |index: usize, calls: &mut Vec<(usize, u64)>| match parameters[index] {
            input @ (INPUT, _) => self.lifted(input, calls),
            (partial, _) => text(partial),
        };
        let value = match self.nulls {
            Nulls::Skip => {
                let both = nullable(state, self.call(name, &parameters, &mut calls), "true");
                let one = choice(second.clone(), alone(1, &mut calls), alone(0, &mut calls));
                choice(format!("{first} && {second}"), both, one)
            }
            Nulls::Propagate => {
                let both = nullable(state, self.call_propagating(name, &parameters, &mut calls), second);
                choice(first, both, alone(0, &mut calls))
            }
        };
        FunctionSource::returning(name, &parameters, state, value, calls)
    }

    /// A function that moves a carry on, by what the parameter `by` is.
    fn moving(&self, name: &str, parameters: [(&'static str, &ElementType); 2], by: &str) -> FunctionSource {
        let (carry, mut calls) = (self.around.initial(), Vec::new());
        let value = match self.nulls {
            Nulls::Skip => {
                let after = nullable(carry, self.call(name, &parameters, &mut calls), "true");
                choice(format!("{by}.valid"), after, text("c"))
            }
            Nulls::Propagate => {
                let after = self.call_propagating(name, &parameters, &mut calls);
                choice("c.valid", nullable(carry, after, format!("{by}.valid")), text("c"))
            }
        };
        FunctionSource::returning(name, &parameters, carry, value, calls)
    }

    /// The function that makes a result of a carry and an input. For a null it projects the carry.
    fn emitting(&self, carry: (&'static str, &ElementType), input: (&'static str, &ElementType)) -> FunctionSource {
        let (output, mut calls) = (&self.around.output, Vec::new());
        let (is_valid, otherwise) = match self.nulls {
            Nulls::Skip => ("x.valid", "c.valid"),
            Nulls::Propagate => ("c.valid && x.valid", "false"),
        };
        let emitted = nullable(output, self.call("emit", &[carry, input], &mut calls), "true");
        let projected = nullable(output, self.call("project", &[carry], &mut calls), otherwise);
        FunctionSource::returning("emit", &[carry, input], output, choice(is_valid, emitted, projected), calls)
    }

    fn projecting(&self, carry: (&'static str, &ElementType)) -> FunctionSource {
        let mut calls = Vec::new();
        let value = nullable(&self.around.output, self.call("project", &[carry], &mut calls), "c.valid");
        FunctionSource::returning("project", &[carry], &self.around.output, value, calls)
    }

    fn all(&self) -> Vec<FunctionSource> {
        let (op, carry) = (self.op, ("c", self.around.initial()));
        let (input, [a, b, s]) = ((INPUT, &self.around.input), ["a", "b", "s"].map(|name| (name, &self.around.state)));
        let mut calls = Vec::new();
        let lifted = self.lifted(input, &mut calls);
        let lift = FunctionSource::returning("lift", &[input], &self.around.state, lifted, calls);
        let mut functions = vec![lift, self.combining("combine", [a, b])];
        functions.extend(op.has("append").then(|| self.combining("append", [s, input])));
        functions.extend(op.has("prepend").then(|| self.combining("prepend", [input, s])));
        if op.carry.is_some() {
            functions.push(self.moving("apply", [s, carry], "s"));
            functions.push(self.moving("step", [carry, input], INPUT));
            functions.extend((op.outputs_of >= OutputsOf::Totals).then(|| self.emitting(carry, input)));
        }
        let projects = op.outputs_of >= OutputsOf::Totals && (op.carry.is_some() || op.has("project"));
        functions.extend(projects.then(|| self.projecting(carry)));
        functions
    }
}

impl OpSource {
    /// An operator over nullable elements. `around` has the name, the types, the identity and the start: its input,
    /// state, carry and output are structs with those of `op` in the field `value`, and the field `valid`, a `bool`;
    /// its parameters are a struct with the field `op`, if that has parameters. The functions are made here: they call
    /// those of `op`.
    #[must_use]
    pub fn over_nullable(around: OpSource, op: &OpSource, nulls: Nulls) -> Self {
        let backwards = around.carry.is_some().then(|| {
            let backwards = op.read_backwards();
            Box::new(OpSource::of_nullable(around.clone(), &backwards, nulls))
        });
        OpSource { backwards, ..OpSource::of_nullable(around, op, nulls) }
    }

    fn of_nullable(around: OpSource, op: &OpSource, nulls: Nulls) -> Self {
        let mut helpers = Vec::new();
        let part = Part::new("op", op, &mut helpers);
        let functions = Functions { around: &around, op, part, nulls }.all();
        OpSource { functions, helpers, ..around }
    }
}
