//! Operators made from other operators.

use crate::{
    element::ElementType,
    names::{snake_case, variable},
    operator::{FunctionSource, OpSource, Piece},
};

/// The fields of a pair: of its state, its output and its parameters.
const FIELDS: [&str; 2] = ["first", "second"];

impl OpSource {
    /// The same operator with the operands of `combine` exchanged.
    #[must_use]
    pub fn flipped(&self) -> Self {
        let mut flipped = self.clone();
        for function in flipped.functions.iter_mut().filter(|function| function.name == "combine") {
            function.parameters.reverse();
        }
        flipped
    }

    /// The same operator with inputs that are first mapped by a function. The function is the last one of `map`, after
    /// its callees.
    #[must_use]
    pub fn lifted(&self, map: &[FunctionSource]) -> Self {
        let Some((parameter, input)) = map.last().and_then(|map| map.parameters.first()) else { return self.clone() };
        let mut lifted = OpSource { input: input.clone(), ..self.clone() };
        lifted.helpers.extend(map.iter().map(|function| moved(function, self.helpers.len())));
        let mapped = lifted.helpers.len() - 1;
        let call = |argument: &str| [Piece::Helper(mapped), Piece::Text(format!("({argument})").into())];
        match lifted.functions.iter_mut().find(|function| function.name == "lift") {
            Some(lift) => {
                // The parameter of `lift` becomes a variable.
                let argument = free_name(lift);
                let taken = lift.parameters.pop();
                if let Some((name, ty)) = taken {
                    let declaration = [Piece::Type(ty), Piece::Text(format!(" {} = ", variable(&name)).into())];
                    let end = [Piece::Text(";\n".into())];
                    lift.body.splice(0..0, declaration.into_iter().chain(call(&argument)).chain(end));
                }
                lift.parameters.push((argument, input.clone()));
                lift.calls.push((mapped, 1));
            }
            None => {
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
                };
                lifted.functions.insert(0, lift);
            }
        }
        lifted
    }

    /// Two operators over the same input, side by side. `pair` has the name, the types and the identity: its state, its
    /// output and its parameters are structs with the fields `first` and `second`. An operator without parameters has
    /// no field among the parameters. The functions are made here: they call those of the two operators.
    #[must_use]
    pub fn side_by_side(pair: OpSource, first: &OpSource, second: &OpSource) -> Self {
        let mut helpers = Vec::new();
        let parts = [Part::new(FIELDS[0], first, &mut helpers), Part::new(FIELDS[1], second, &mut helpers)];
        let function =
            |name: &str, parameters: &[(&'static str, &ElementType)], returns: &ElementType| FunctionSource {
                name: name.to_owned(),
                parameters: parameters.iter().map(|&(name, ty)| (name.to_owned(), ty.clone())).collect(),
                returns: returns.clone(),
                body: vec![
                    Piece::Text("return ".into()),
                    Piece::Struct {
                        ty: Some(returns.clone()),
                        fields: parts.iter().map(|part| (part.field, part.value(name, parameters))).collect(),
                        base: None,
                    },
                    Piece::Text(";\n".into()),
                ],
                file: String::new(),
                uses: Vec::new(),
                calls: parts.iter().filter_map(|part| part.helper(name)).map(|helper| (helper, 1)).collect(),
            };
        let OpSource { input, state, output, .. } = &pair;
        let mut functions =
            vec![function("lift", &[("x", input)], state), function("combine", &[("a", state), ("b", state)], state)];
        if parts.iter().any(|part| part.helper("project").is_some()) {
            functions.push(function("project", &[("s", state)], output));
        }
        OpSource { functions, helpers, ..pair }
    }
}

/// One operator of a pair.
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

    /// A call of its function of this name, with its parts of the parameters. `lift` takes the whole parameter.
    fn value(&self, name: &str, parameters: &[(&'static str, &ElementType)]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let helper = self.helper(name);
        pieces.extend(helper.map(Piece::Helper));
        let mut before = if helper.is_some() { "(" } else { "" };
        if helper.is_some() && self.source.parameters.is_some() {
            pieces.push(Piece::Text(format!("(this->{}", self.field).into()));
            before = ", ";
        }
        for &(parameter, _) in parameters {
            pieces.push(Piece::Text(before.into()));
            pieces.push(Piece::Name(parameter));
            if name != "lift" {
                pieces.push(Piece::Text(format!(".{}", self.field).into()));
            }
            before = ", ";
        }
        if helper.is_some() {
            pieces.push(Piece::Text(")".into()));
        }
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
    }
}
