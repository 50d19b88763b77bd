//! Random operators of the operator language, made from its grammar: what their CUDA text computes, compiled by the
//! host's C++ compiler, must be what their Rust computes, bit for bit.
//!
//! The programs are those of a seed. A crate is written of them, a `#[scan_op]` each, and built; from the library that comes
//! out, the programs' CUDA text is taken and compiled, and both are run on edge values and random ones. A program neither
//! divides by zero nor leaves an array often, but it may: then both must panic.
//!
//! A program is one function of two values: `combine`, or the `append`, `apply`, `step`, `emit` or `advance` of a
//! stepped operator whose types are drawn, too. The text of `advance` is two functions, of which a program compares
//! one. Functions are compared one by one, so that no law need hold between them.

mod batch;
mod code;
mod expressions;
mod generator;
mod role;
mod statements;
mod types;
mod values;

pub use batch::{Built, Failure, Report};

use crate::emulated::Random;
use batch::{Batch, Part, Unit};
use code::Code;
use generator::{Body, Generator};
use role::{Elements, Role};
use std::collections::BTreeSet;
use types::{Helper, Type, Types};

/// The programs of a seed.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// The seed.
    pub seed: u64,
    /// How many there are.
    pub count: usize,
    /// In how many pairs of values each is run.
    pub values: usize,
}

/// How many programs share their types and a crate.
const IN_A_PART: usize = 250;

struct Program {
    role: Role,
    elements: Elements,
    body: Body,
}

impl Programs {
    /// Makes them all, and builds them as a crate. The folder of that name in the target folder is kept: what has not
    /// changed is not built again.
    pub fn build(&self, folder: &str) -> Result<Built, String> {
        self.batch(folder, 0..self.count).build()
    }

    /// Makes a program of the seed smaller for as long as it fails.
    pub fn shrink(&self, folder: &str, index: usize) -> Result<Option<Failure>, String> {
        let types = self.types(index);
        let program = self.program(&types, index);
        let mut without = BTreeSet::new();
        let mut last = None;
        loop {
            // Each part that is left, by itself; all programs in one crate.
            let parts: Vec<Option<usize>> = std::iter::once(None)
                .chain(program.body.code.parts(&without).into_iter().map(Some))
                .take(150)
                .collect();
            let candidates: Vec<Unit> = parts
                .iter()
                .map(|part| {
                    let mut less = without.clone();
                    less.extend(part);
                    program.unit(index, &types, &less)
                })
                .collect();
            let part = Part { types: types.clone(), programs: candidates };
            let batch = Batch {
                folder: folder.to_owned(),
                seed: self.seed,
                values: self.values,
                parts: vec![part],
                alone: true,
            };
            let failures = batch.build()?.run()?.failures;
            let failing = |place: usize| failures.iter().find(|failure| failure.place == place);
            let Some(whole) = failing(0) else { return Ok(last) };
            last = Some(whole.clone());
            // Outer parts come first: the first that is not needed is the largest.
            match (1..parts.len()).find(|place| failing(*place).is_some()) {
                Some(place) => without.extend(parts[place]),
                None => return Ok(last),
            }
        }
    }

    /// One program of the seed, in Rust.
    pub fn rust(&self, index: usize) -> String {
        let types = self.types(index);
        self.program(&types, index).text(&types, &BTreeSet::new())
    }

    fn types(&self, index: usize) -> Types {
        let mut random = Random::new(self.seed ^ (index / IN_A_PART) as u64 ^ 0xa5a5_0000);
        let mut types = Types::random(&mut random);
        for index in 0..12 {
            let ty = match index {
                0..8 => Type::Primitive(types::primitive(&mut random)),
                _ => types.pick(&mut random),
            };
            let Body { parameters: [a, b], code } = Generator::body(&mut random, &types, [&ty; 3]);
            let (name, of) = (format!("helper_{index}"), types.name(&ty));
            let text = format!(
                "#[scan_fn]\nfn {name}({a}: {of}, {b}: {of}) -> {of} {}\n",
                Code::write(&code, &BTreeSet::new())
            );
            types.helpers.push(Helper { name, ty, text });
        }
        types
    }

    fn program(&self, types: &Types, index: usize) -> Program {
        let mut random = Random::new(Random::new(self.seed.wrapping_add(index as u64)).bits());
        let state = types.pick(&mut random);
        let role = Role::random(&mut Random::new(self.seed.wrapping_add(index as u64) ^ 0x0707_0000));
        let elements = match role {
            Role::Combine => Elements { input: state.clone(), carry: state.clone(), output: state.clone(), state },
            _ => {
                let [input, carry, output] = [(); 3].map(|()| types.pick(&mut random));
                Elements { input, state, carry, output }
            }
        };
        let body = Generator::body(&mut random, types, role.types(&elements).each_ref());
        Program { role, elements, body }
    }

    fn batch(&self, folder: &str, range: std::ops::Range<usize>) -> Batch {
        let mut parts = Vec::new();
        for first in range.clone().step_by(IN_A_PART) {
            let types = self.types(first);
            let programs = (first..range.end.min(first + IN_A_PART))
                .map(|index| self.program(&types, index).unit(index, &types, &BTreeSet::new()))
                .collect();
            parts.push(Part { types, programs });
        }
        Batch { folder: folder.to_owned(), seed: self.seed, values: self.values, parts, alone: false }
    }
}

impl Program {
    fn unit(&self, index: usize, types: &Types, without: &BTreeSet<usize>) -> Unit {
        let Program { role, elements, .. } = self;
        Unit {
            index,
            function: role.compared(),
            types: role.compared_types(elements),
            is_halved: role.is_halved(),
            rust: role.items(types, elements, &self.text(types, without)),
        }
    }

    /// The function.
    fn text(&self, types: &Types, without: &BTreeSet<usize>) -> String {
        let Body { parameters: [a, b], code } = &self.body;
        let [left, right, result] = self.role.types(&self.elements).map(|ty| types.name(&ty));
        let name = self.role.function();
        format!("fn {name}({a}: {left}, {b}: {right}) -> {result} {}", Code::write(code, without))
    }
}
