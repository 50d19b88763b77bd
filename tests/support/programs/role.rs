//! Which function of an operator a program is: `combine`, or one of those that a stepped operator has.

use super::types::{Type, Types};
use crate::emulated::Random;

/// A function of two values, in an operator whose other functions are as short as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Combine,
    Append,
    Prepend,
    Apply,
    Step,
    Emit,
    /// `advance`, the step and the output in one, of which the text of the step is compared,
    AdvanceStep,
    /// or the text of the output.
    AdvanceEmit,
}

/// The types of an operator.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) input: Type,
    pub(super) state: Type,
    pub(super) carry: Type,
    pub(super) output: Type,
}

impl Role {
    /// One in three is a function of a stepped operator, or appends or prepends.
    pub(super) fn random(random: &mut Random) -> Self {
        match random.below(25) {
            0 => Role::Append,
            1 => Role::Prepend,
            2 => Role::Apply,
            3 => Role::Step,
            4 => Role::Emit,
            5 | 6 => Role::AdvanceStep,
            7 | 8 => Role::AdvanceEmit,
            _ => Role::Combine,
        }
    }

    /// Its name in Rust.
    pub(super) fn function(self) -> &'static str {
        match self {
            Role::AdvanceStep | Role::AdvanceEmit => "advance",
            role => role.compared(),
        }
    }

    /// The name of what is compared, in Rust and in the text.
    pub(super) fn compared(self) -> &'static str {
        match self {
            Role::Combine => "combine",
            Role::Append => "append",
            Role::Prepend => "prepend",
            Role::Apply => "apply",
            Role::Step | Role::AdvanceStep => "step",
            Role::Emit | Role::AdvanceEmit => "emit",
        }
    }

    /// Whether it is compared with the text of a part of it.
    pub(super) fn is_halved(self) -> bool {
        matches!(self, Role::AdvanceStep | Role::AdvanceEmit)
    }

    /// What it takes, and what it gives.
    pub(super) fn types(self, elements: &Elements) -> [Type; 3] {
        let [left, right, result] = self.compared_types(elements);
        let Elements { carry, output, .. } = elements.clone();
        [left, right, if self.is_halved() { Type::Results(Box::new([carry, output])) } else { result }]
    }

    /// What the compared function takes, and what it gives.
    pub(super) fn compared_types(self, elements: &Elements) -> [Type; 3] {
        let Elements { input, state, carry, output } = elements;
        let types = match self {
            Role::Combine => [state, state, state],
            Role::Append => [state, input, state],
            Role::Prepend => [input, state, state],
            Role::Apply => [state, carry, carry],
            Role::Step | Role::AdvanceStep => [carry, input, carry],
            Role::Emit | Role::AdvanceEmit => [carry, input, output],
        };
        types.map(Type::clone)
    }

    /// The items of the operator's impl block, of which this function is one.
    pub(super) fn items(self, types: &Types, elements: &Elements, function: &str) -> String {
        let [input, state, carry, output] =
            [&elements.input, &elements.state, &elements.carry, &elements.output].map(|ty| types.name(ty));
        let [zero_state, zero_carry, zero_output] =
            [&elements.state, &elements.carry, &elements.output].map(|ty| types.zero(ty));
        if self == Role::Combine {
            return format!("type Element = {state};\nconst IDENTITY: {state} = {zero_state};\n{function}\n");
        }
        let of_states = [
            (Role::Combine, format!("fn combine(a: {state}, b: {state}) -> {state} {{ a }}")),
            (Role::Append, String::new()),
            (Role::Prepend, String::new()),
        ];
        let apply = (Role::Apply, format!("fn apply(s: {state}, c: {carry}) -> {carry} {{ c }}"));
        let of_carries = match self.is_halved() {
            true => vec![apply, (self, String::new())],
            false => {
                let step = (Role::Step, format!("fn step(c: {carry}, x: {input}) -> {carry} {{ c }}"));
                vec![apply, step, (Role::Emit, String::new())]
            }
        };
        let mut text = format!(
            "type Input = {input};\ntype State = {state};\nconst IDENTITY: {state} = {zero_state};\n\
             fn lift(x: {input}) -> {state} {{ {zero_state} }}\n"
        );
        // What appends need not be stepped.
        let mut others = of_states.to_vec();
        if self == Role::Append {
            text += &format!("type Output = {state};\n");
        } else {
            text += &format!(
                "type Carry = {carry};\ntype Output = {output};\nconst START: {carry} = {zero_carry};\n\
                 fn project(c: {carry}) -> {output} {{ {zero_output} }}\n"
            );
            others.extend(of_carries);
        }
        for (role, other) in others {
            text += if role == self { function } else { &other };
            text += "\n";
        }
        text
    }
}
