//! An operator that begins anew at each new key.

use super::{INPUT, Part};
use crate::{
    element::{ElementType, Primitive},
    operator::{FunctionSource, OpSource, OutputsOf, Piece},
};

/// The variable that says whether the next part, or input, has the same key as the part before it.
const SAME: &str = "same";

impl OpSource {
    /// An operator that is to begin anew at each new key. `around` has the name and the types: its input is a struct
    /// with the fields `key` and `value`, its state one with `first`, `last`, `restarts` and `value`, its carry one
    /// with `begun`, `key` and `value`, and its parameters a struct with the field `op`, if `op` has parameters. The
    /// function that compares two keys comes last among `compare`, after those that it calls. The functions are made
    /// here: they call those of `op`.
    #[must_use]
    pub fn by_key(around: OpSource, op: &OpSource, compare: &[FunctionSource]) -> Self {
        let backwards = Box::new(OpSource::each_key(around.clone(), &op.read_backwards(), compare));
        OpSource { backwards: Some(backwards), ..OpSource::each_key(around, op, compare) }
    }

    fn each_key(around: OpSource, op: &OpSource, compare: &[FunctionSource]) -> Self {
        let mut helpers = compare.to_vec();
        let part = Part::new("op", op, &mut helpers);
        let start = op.carry.as_ref().and_then(|carry| {
            carry.start.clone().map(|bytes| Piece::Constant { ty: carry.ty.clone(), bytes, name: None })
        });
        let each = EachKey { around: &around, part, compare: compare.len().saturating_sub(1), start };
        let mut functions = vec![each.lift(), each.combine(), each.append(), each.apply(), each.step()];
        functions.extend((op.outputs_of >= OutputsOf::Totals).then(|| each.project()));
        functions.extend(op.folds_backwards().then(|| each.prepend()));
        functions.extend(each.start.iter().filter(|_| op.has("emit")).map(|start| each.emit(start)));
        OpSource { functions, helpers, ..around }
    }
}

/// What the functions are made of.
struct EachKey<'a> {
    around: &'a OpSource,
    part: Part<'a>,
    /// The helper that compares two keys.
    compare: usize,
    /// The carry that each key begins with, if the operator is stepped. Without it the first element of a key is the
    /// first result.
    start: Option<Piece>,
}

type Calls = Vec<(usize, u64)>;

impl EachKey<'_> {
    fn lift(&self) -> FunctionSource {
        self.function("lift", &[self.input()], self.state(), None, |calls| {
            let value = self.part.call("lift", vec![of(INPUT, "value")], calls);
            self.new_state([of(INPUT, "key"), of(INPUT, "key"), text("false"), value])
        })
    }

    fn combine(&self) -> FunctionSource {
        let same = [not("b", "restarts"), text(" && "), self.equal(of("a", "last"), of("b", "first"))].concat();
        self.function("combine", &[("a", self.state()), ("b", self.state())], self.state(), Some(same), |calls| {
            let both = self.part.call("combine", vec![of("a", "value"), of("b", "value")], calls);
            let value = if_same(both, of("b", "value"));
            self.new_state([of("a", "first"), of("b", "last"), restarts("a"), value])
        })
    }

    fn append(&self) -> FunctionSource {
        let same = self.equal(of("s", "last"), of(INPUT, "key"));
        self.function("append", &[("s", self.state()), self.input()], self.state(), Some(same), |calls| {
            let appended = self.part.call("append", vec![of("s", "value"), of(INPUT, "value")], calls);
            let value = if_same(appended, self.part.call("lift", vec![of(INPUT, "value")], calls));
            self.new_state([of("s", "first"), of(INPUT, "key"), restarts("s"), value])
        })
    }

    fn prepend(&self) -> FunctionSource {
        let same = [not("s", "restarts"), text(" && "), self.equal(of(INPUT, "key"), of("s", "first"))].concat();
        self.function("prepend", &[self.input(), ("s", self.state())], self.state(), Some(same), |calls| {
            let prepended = self.part.call("prepend", vec![of(INPUT, "value"), of("s", "value")], calls);
            let value = if_same(prepended, of("s", "value"));
            self.new_state([of(INPUT, "key"), of("s", "last"), restarts("s"), value])
        })
    }

    fn apply(&self) -> FunctionSource {
        let same = self.equal(of("c", "key"), of("s", "first"));
        let same = [of("c", "begun"), text(" && "), not("s", "restarts"), text(" && "), same].concat();
        self.function("apply", &[("s", self.state()), self.carry()], self.carry().1, Some(same), |calls| {
            let mut apply = |carry| self.part.call("apply", vec![of("s", "value"), carry], calls);
            let value = match &self.start {
                Some(start) => apply(before(start)),
                None => if_same(apply(of("c", "value")), of("s", "value")),
            };
            self.new_carry(of("s", "last"), value)
        })
    }

    fn step(&self) -> FunctionSource {
        self.function("step", &[self.carry(), self.input()], self.carry().1, Some(self.goes_on()), |calls| {
            let mut step = |carry| self.part.call("step", vec![carry, of(INPUT, "value")], calls);
            let value = match &self.start {
                Some(start) => step(before(start)),
                None => {
                    let stepped = step(of("c", "value"));
                    if_same(stepped, self.part.call("lift", vec![of(INPUT, "value")], calls))
                }
            };
            self.new_carry(of(INPUT, "key"), value)
        })
    }

    fn emit(&self, start: &Piece) -> FunctionSource {
        self.function("emit", &[self.carry(), self.input()], &self.around.output, Some(self.goes_on()), |calls| {
            self.part.call("emit", vec![before(start), of(INPUT, "value")], calls)
        })
    }

    fn project(&self) -> FunctionSource {
        self.function("project", &[self.carry()], &self.around.output, None, |calls| {
            self.part.call("project", vec![of("c", "value")], calls)
        })
    }

    /// Whether an input has the key of the carry before it.
    fn goes_on(&self) -> Vec<Piece> {
        [of("c", "begun"), text(" && "), self.equal(of("c", "key"), of(INPUT, "key"))].concat()
    }

    fn equal(&self, a: Vec<Piece>, b: Vec<Piece>) -> Vec<Piece> {
        [vec![Piece::Helper(self.compare)], text("("), a, text(", "), b, text(")")].concat()
    }

    /// A function that returns a value. It compares keys once, if `same` says how.
    fn function(
        &self,
        name: &str,
        parameters: &[(&'static str, &ElementType)],
        returns: &ElementType,
        same: Option<Vec<Piece>>,
        value: impl FnOnce(&mut Calls) -> Vec<Piece>,
    ) -> FunctionSource {
        let mut calls: Calls = same.iter().map(|_| (self.compare, 1)).collect();
        let value = value(&mut calls);
        let mut function = FunctionSource::returning(name, parameters, returns, value, calls);
        let declaration = same.map(|same| {
            let ty = Piece::Type(ElementType::primitive(Primitive::Bool));
            [vec![ty], text(" "), vec![Piece::Name(SAME)], text(" = "), same, text(";\n")].concat()
        });
        function.body.splice(0..0, declaration.into_iter().flatten());
        function
    }

    fn new_state(&self, [first, last, restarts, value]: [Vec<Piece>; 4]) -> Vec<Piece> {
        let fields = vec![("first", first), ("last", last), ("restarts", restarts), ("value", value)];
        vec![Piece::Struct { ty: Some(self.state().clone()), fields, base: None }]
    }

    fn new_carry(&self, key: Vec<Piece>, value: Vec<Piece>) -> Vec<Piece> {
        let fields = vec![("begun", text("true")), ("key", key), ("value", value)];
        vec![Piece::Struct { ty: Some(self.carry().1.clone()), fields, base: None }]
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

/// The carry of a stepped operator before an input or a part.
fn before(start: &Piece) -> Vec<Piece> {
    if_same(of("c", "value"), vec![start.clone()])
}

/// A field of a parameter.
fn of(parameter: &'static str, field: &str) -> Vec<Piece> {
    vec![Piece::Name(parameter), Piece::Text(format!(".{field}").into())]
}

fn not(parameter: &'static str, field: &str) -> Vec<Piece> {
    [text("!"), of(parameter, field)].concat()
}

/// Whether a key begins within a part, after another part or an input has joined it.
fn restarts(part: &'static str) -> Vec<Piece> {
    [of(part, "restarts"), text(" || !"), vec![Piece::Name(SAME)]].concat()
}

fn if_same(same: Vec<Piece>, other: Vec<Piece>) -> Vec<Piece> {
    [text("("), vec![Piece::Name(SAME)], text(" ? "), same, text(" : "), other, text(")")].concat()
}
