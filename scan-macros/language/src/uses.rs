//! The parts of the prelude that a body uses and the functions that it calls, each with its count per call of the body.
//! From these the cost for the GPU's compiler and for the GPU is estimated.

use crate::ir::{Access, Call, Callee, Exit, Expression, For, Integer, Statement, Width};
use crate::language::Operator;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use std::collections::BTreeMap;
use syn::Path;

/// The iteration counts of the loops around a place: constant expressions.
type Nest = Vec<TokenStream>;

/// Uses, with their counts in each nest of loops.
#[derive(Debug)]
struct Counts<K>(BTreeMap<K, BTreeMap<String, (Nest, u64)>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts(BTreeMap::new())
    }
}

impl<K: Ord> Counts<K> {
    fn add(&mut self, what: K, nest: &Nest, times: u64) {
        let key = nest.iter().map(ToString::to_string).collect::<Vec<_>>().join("*");
        let (_, count) = self.0.entry(what).or_default().entry(key).or_insert_with(|| (nest.clone(), 0));
        *count += times;
    }

    /// Each with the sum of its counts, a constant expression.
    fn sums(&self) -> impl Iterator<Item = (&K, TokenStream)> {
        self.0.iter().map(|(what, nests)| {
            let products = nests.values().map(|(nest, count)| quote!(&[#count #(, #nest)*]));
            let sum = match nests.values().next() {
                Some((nest, count)) if nests.len() == 1 && nest.is_empty() => quote!(#count),
                _ => quote!(__scan_sum_of_products(&[#(#products),*])),
            };
            (what, sum)
        })
    }
}

/// What a body uses, with counts.
#[derive(Debug, Default)]
pub(crate) struct Uses<'b> {
    parts: Counts<&'static str>,
    /// The functions that it calls, by the tokens of their types.
    calls: Counts<String>,
    types: BTreeMap<String, TokenStream>,
    /// The functions that it calls, each once, in the order of their calls.
    pub(crate) callees: Vec<&'b Callee>,
    nest: Nest,
}

/// What a body uses.
pub(crate) fn of(body: &[Statement]) -> Uses<'_> {
    let mut uses = Uses::default();
    uses.statements(body);
    uses
}

/// Parts of the prelude that compare numbers, or give them as they are.
const EXACT: [&str; 21] = [
    "eq",
    "lt",
    "le",
    "gt",
    "ge",
    "not",
    "bitand",
    "bitor",
    "bitxor",
    "literal",
    "literal_64",
    "literal_u64",
    "literal_128",
    "float_literal",
    "chosen",
    "index",
    "item",
    "anywhere",
    "len",
    "value_of",
    "invariant",
];

impl<'b> Uses<'b> {
    /// Whether the body may round a float: whether it does more with numbers than to compare and to choose them.
    pub(crate) fn rounds(&self) -> bool {
        !self.calls.0.is_empty() || self.parts.0.keys().any(|part| !EXACT.contains(part))
    }

    /// The parts of the prelude with their counts, and the functions with theirs: arrays of constants.
    pub(crate) fn to_tokens(&self, krate: &Path) -> (TokenStream, TokenStream) {
        let parts = self.parts.sums().map(|(part, sum)| quote!((#part, #sum)));
        let calls = self.calls.sums().filter_map(|(key, sum)| {
            let callee = self.types.get(key)?;
            Some(quote!((<#callee as #krate::__private::ScanFn>::callee, #sum)))
        });
        let counted = |values: Vec<TokenStream>| match values.iter().any(|value| !value.is_empty()) {
            // With names that cannot collide with the user's constants.
            true => quote!({
                use #krate::__private::{
                    SOME_ROUNDS as __SCAN_SOME_ROUNDS, rounds as __scan_rounds, sum_of_products as __scan_sum_of_products,
                };
                &[#(#values),*]
            }),
            false => quote!(&[]),
        };
        (counted(parts.collect()), counted(calls.collect()))
    }

    /// The types of the functions that it calls, generic arguments included.
    pub(crate) fn types(self) -> impl Iterator<Item = TokenStream> {
        self.types.into_values()
    }

    /// A part of the prelude is used here.
    fn part(&mut self, part: &'static str) {
        self.parts.add(part, &self.nest, 1);
    }

    fn statements(&mut self, body: &'b [Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'b Statement) {
        match statement {
            Statement::While(condition, body) => self.repeatedly(quote!(__SCAN_SOME_ROUNDS), |uses| {
                uses.expression(condition);
                uses.statements(body);
            }),
            Statement::Loop(body) => self.repeatedly(quote!(__SCAN_SOME_ROUNDS), |uses| uses.statements(body)),
            Statement::For(looping) => self.range_loop(looping),
            Statement::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.expression(condition);
                    self.statements(body);
                }
                otherwise.iter().for_each(|body| self.statements(body));
            }
            Statement::Unless(condition, exit) => {
                self.expression(condition);
                if *exit == Exit::Panic {
                    self.part("panic");
                }
            }
            Statement::Update { operator, place, value } => {
                operator.assigned_part().into_iter().for_each(|part| self.part(part));
                self.operation(*operator, value);
                self.expression(place);
                self.expression(value);
            }
            statement => {
                statement.expressions().into_iter().for_each(|expression| self.expression(expression));
                statement.bodies().into_iter().for_each(|body| self.statements(body));
            }
        }
    }

    /// The uses inside a loop with this many iterations.
    fn repeatedly(&mut self, rounds: TokenStream, inside: impl FnOnce(&mut Self)) {
        self.nest.push(rounds);
        inside(self);
        self.nest.pop();
    }

    fn range_loop(&mut self, looping: &'b For) {
        let For { start, end, inclusive, reversed, body, .. } = looping;
        self.expression(start);
        self.expression(end);
        self.part(if *inclusive { "range_inclusive" } else { "range" });
        if *reversed {
            self.part("rev");
        }
        let rounds = match (bound(start), bound(end)) {
            (Some(start), Some(end)) => {
                let past = i128::from(*inclusive);
                quote!(__scan_rounds(#start, #end.wrapping_add(#past)))
            }
            _ => quote!(__SCAN_SOME_ROUNDS),
        };
        if let Some(gather) = looping.gathers() {
            // The items are gathered together: what the body uses is needed, but not once for each.
            let part = if gather.packed(&looping.name).is_some() { "gather_packed" } else { "gather" };
            self.repeatedly(rounds, |uses| uses.part(part));
            self.repeatedly(quote!(0), |uses| uses.statements(body));
        } else {
            self.repeatedly(rounds, |uses| uses.statements(body));
        }
    }

    /// An operation with this operand on its right side. Of a division by a constant the compiler makes multiplications,
    /// and of one by a divisor that all elements share the prelude does.
    fn operation(&mut self, operator: Operator, right: &Expression) {
        let Some(part) = operator.part() else { return };
        let multiplies = matches!(right, Expression::Invariant(_)) || right.is_made_of(&|_| false);
        if matches!(operator, Operator::Div | Operator::Rem) && multiplies {
            self.parts.add(part, &self.nest, 0);
            self.part("by_constant");
        } else {
            self.part(part);
        }
    }

    fn expression(&mut self, expression: &'b Expression) {
        expression.parts().into_iter().for_each(|part| self.expression(part));
        match expression {
            Expression::Integer(literal) => self.integer(literal),
            Expression::Float { ty, .. } => self.part(if ty.is_some() { "literal" } else { "float_literal" }),
            Expression::Index { array, access, .. } => {
                self.part("index");
                if array.is_parameter() {
                    self.parts.add("item", &self.nest, 0);
                }
                if *access != Access::Counted {
                    self.part("anywhere");
                }
            }
            Expression::Negative(_) => self.part("neg"),
            Expression::Not(_) => self.part("not"),
            Expression::Binary(operator, _, right) => self.operation(*operator, right),
            Expression::Choice(choice) if choice.computes_both => self.part("chosen"),
            Expression::Cast(..) => self.part("cast"),
            Expression::FromOther(_, function, _) => self.part(function),
            Expression::Method { method, .. } => self.part(method.name),
            Expression::Length(_) => {
                self.part("len");
                self.part("index");
            }
            Expression::Call(call) => self.call(call),
            Expression::Array { .. } => self.part("index"),
            Expression::Repeat(..) => {
                self.part("index");
                self.part("repeat");
            }
            Expression::ValueOf(_) => self.part("value_of"),
            Expression::Invariant(_) => self.parts.add("invariant", &self.nest, 0),
            Expression::Truth(_)
            | Expression::Variable(_)
            | Expression::Parameter(_)
            | Expression::Constant(_)
            | Expression::Field(..)
            | Expression::Opposite(_)
            | Expression::AnyOf(_)
            | Expression::Group(_)
            | Expression::Choice(_)
            | Expression::Typed(..)
            | Expression::Struct { .. } => {}
        }
    }

    fn integer(&mut self, literal: &Integer) {
        self.part("literal");
        match literal.width() {
            Width::Int => {}
            Width::LongLong => self.part("literal_64"),
            Width::UnsignedLongLong => self.part("literal_u64"),
            Width::Wide => self.part("literal_128"),
        }
    }

    fn call(&mut self, call: &'b Call) {
        let Call { callee, generics, .. } = call;
        let alias = &callee.alias;
        let callee_type = quote!(#alias #generics);
        let key = callee_type.to_string();
        self.calls.add(key.clone(), &self.nest, 1);
        self.types.entry(key).or_insert(callee_type);
        if !self.callees.iter().any(|known| known.alias == callee.alias) {
            self.callees.push(callee);
        }
    }
}

/// The bound of a range as a constant expression of `i128`, where it is made of nothing but constants.
fn bound(expression: &Expression) -> Option<TokenStream> {
    match expression {
        Expression::Group(inner) | Expression::Cast(_, inner) | Expression::Typed(_, inner) => bound(inner),
        Expression::Integer(literal) => {
            let value = Literal::i128_unsuffixed(literal.value);
            Some(quote!((#value as i128)))
        }
        Expression::Constant(path) => Some(quote!((#path as i128))),
        Expression::Binary(operator, left, right) => {
            let (left, right) = (bound(left)?, bound(right)?);
            match operator {
                Operator::Add => Some(quote!(#left.wrapping_add(#right))),
                Operator::Sub => Some(quote!(#left.wrapping_sub(#right))),
                Operator::Mul => Some(quote!(#left.wrapping_mul(#right))),
                _ => None,
            }
        }
        _ => None,
    }
}
