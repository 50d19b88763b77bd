//! An operator that begins anew at each flag.

use super::{INPUT, Part};
use crate::{
    element::ElementType,
    operator::{FunctionSource, OpSource, OutputsOf, Piece},
};

impl OpSource {
    /// An operator that is to begin anew at each input whose flag is set. `around` has the name, the types, the identity
    /// and the start: its input is a struct with the fields `flag` and `value`, its state one with `restarts` and
    /// `value`, its carry that of `op`, and its parameters a struct with the field `op`, if `op` has parameters. The
    /// functions are made here: they call those of `op`.
    #[must_use]
    pub fn by_flag(around: OpSource, op: &OpSource) -> Self {
        let backwards = Box::new(OpSource::each_flag(around.clone(), &op.read_backwards()));
        OpSource { backwards: Some(backwards), ..OpSource::each_flag(around, op) }
    }

    fn each_flag(around: OpSource, op: &OpSource) -> Self {
        let mut helpers = Vec::new();
        let part = Part::new("op", op, &mut helpers);
        let start = op.carry.as_ref().and_then(|carry| {
            carry.start.clone().map(|bytes| Piece::Constant { ty: carry.ty.clone(), bytes, name: None })
        });
        let each = EachFlag { around: &around, part, start };
        let mut functions = vec![each.lift(), each.combine(), each.append(), each.apply(), each.step()];
        functions.extend((op.outputs_of >= OutputsOf::Totals).then(|| each.project()));
        functions.extend(op.folds_backwards().then(|| each.prepend()));
        functions.extend(each.start.iter().filter(|_| op.has("emit")).map(|start| each.emit(start)));
        OpSource { functions, helpers, ..around }
    }
}

/// What the functions are made of.
struct EachFlag<'a> {
    around: &'a OpSource,
    part: Part<'a>,
    /// The carry that each segment begins with, if the operator is stepped. Without it the first element of a segment
    /// is the first result.
    start: Option<Piece>,
}

type Calls = Vec<(usize, u64)>;

impl EachFlag<'_> {
    fn lift(&self) -> FunctionSource {
        self.function("lift", &[self.input()], self.state(), |calls| {
            let value = self.part.call("lift", vec![text("x.value")], calls);
            self.new_state("x.flag", value)
        })
    }

    fn combine(&self) -> FunctionSource {
        self.function("combine", &[("a", self.state()), ("b", self.state())], self.state(), |calls| {
            let both = self.part.call("combine", vec![text("a.value"), text("b.value")], calls);
            self.new_state("a.restarts || b.restarts", choice("b.restarts", text("b.value"), both))
        })
    }

    fn append(&self) -> FunctionSource {
        self.function("append", &[("s", self.state()), self.input()], self.state(), |calls| {
            let both = self.part.call("append", vec![text("s.value"), text("x.value")], calls);
            let first = self.part.call("lift", vec![text("x.value")], calls);
            self.new_state("s.restarts || x.flag", choice("x.flag", first, both))
        })
    }

    fn prepend(&self) -> FunctionSource {
        self.function("prepend", &[self.input(), ("s", self.state())], self.state(), |calls| {
            let both = self.part.call("prepend", vec![text("x.value"), text("s.value")], calls);
            self.new_state("x.flag || s.restarts", choice("s.restarts", text("s.value"), both))
        })
    }

    fn apply(&self) -> FunctionSource {
        self.function("apply", &[("s", self.state()), self.carry()], self.carry().1, |calls| {
            let mut apply = |carry| self.part.call("apply", vec![text("s.value"), carry], calls);
            match &self.start {
                Some(start) => apply(choice("s.restarts", vec![start.clone()], text("c"))),
                None => choice("s.restarts", text("s.value"), apply(text("c"))),
            }
        })
    }

    fn step(&self) -> FunctionSource {
        self.function("step", &[self.carry(), self.input()], self.carry().1, |calls| match &self.start {
            Some(start) => self.part.call("step", vec![before(start), text("x.value")], calls),
            None => {
                let first = self.part.call("lift", vec![text("x.value")], calls);
                choice("x.flag", first, self.part.call("step", vec![text("c"), text("x.value")], calls))
            }
        })
    }

    fn emit(&self, start: &Piece) -> FunctionSource {
        self.function("emit", &[self.carry(), self.input()], &self.around.output, |calls| {
            self.part.call("emit", vec![before(start), text("x.value")], calls)
        })
    }

    fn project(&self) -> FunctionSource {
        self.function("project", &[self.carry()], &self.around.output, |calls| {
            self.part.call("project", vec![text("c")], calls)
        })
    }

    fn function(
        &self,
        name: &str,
        parameters: &[(&'static str, &ElementType)],
        returns: &ElementType,
        value: impl FnOnce(&mut Calls) -> Vec<Piece>,
    ) -> FunctionSource {
        let mut calls = Calls::new();
        let value = value(&mut calls);
        FunctionSource::returning(name, parameters, returns, value, calls)
    }

    fn new_state(&self, restarts: &'static str, value: Vec<Piece>) -> Vec<Piece> {
        let fields = vec![("restarts", text(restarts)), ("value", value)];
        vec![Piece::Struct { ty: Some(self.state().clone()), fields, base: None }]
    }

    fn input(&self) -> (&'static str, &ElementType) {
        (INPUT, &self.around.input)
    }

    fn state(&self) -> &ElementType {
        &self.around.state
    }

    fn carry(&self) -> (&'static str, &ElementType) {
        ("c", self.around.initial())
    }
}

fn text(text: &'static str) -> Vec<Piece> {
    vec![Piece::Text(text.into())]
}

/// The carry of a stepped operator before an input.
fn before(start: &Piece) -> Vec<Piece> {
    choice("x.flag", vec![start.clone()], text("c"))
}

fn choice(condition: &'static str, yes: Vec<Piece>, no: Vec<Piece>) -> Vec<Piece> {
    [text("("), text(condition), text(" ? "), yes, text(" : "), no, text(")")].concat()
}
