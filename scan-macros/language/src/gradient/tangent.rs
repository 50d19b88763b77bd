//! The tangent of a body, in one direction: the same statements, each beside those that compute how its values change.
//!
//! The tangent of a value has the type of the value, so that no types are needed here; only floats of 16 bits have
//! wider ones ([`Halves`]). A variable `x` has its tangent in `x_t`. What does not change in the direction has no tangent; where one is needed all the same, it is the type's
//! zero.

use super::halves::Halves;
use super::rules::{self, Rule};
use crate::errors::Errors;
use crate::language::{self, Conversion};
use crate::lower::flow::has_effects;
use crate::syntax::{is_assignment, is_constant, is_of_type, is_primitive, letters, method_of_type};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Expr, ExprCall, ExprMethodCall, FnArg, Lit, Local, Member, Pat, Path, Stmt, Type, UnOp};

/// How a value changes.
#[derive(Clone)]
pub(super) enum Tangent {
    /// Not at all; with the type's zero, if it is known.
    Zero(Option<TokenStream>),
    /// By the value of this expression, which is evaluated at most once.
    Value(TokenStream),
}

use Tangent::{Value, Zero};

/// The names that no user's name is among.
#[derive(Clone)]
pub(super) struct Names {
    /// What ends the name of a tangent.
    suffix: String,
    /// What the other names begin with.
    prefix: String,
}

impl Names {
    pub(super) fn beside(tokens: impl IntoIterator<Item = TokenStream>) -> Self {
        let mut used = BTreeSet::new();
        tokens.into_iter().for_each(|tokens| collect(tokens, &mut used));
        let (mut suffix, mut prefix) = ("_t".to_owned(), "scan_".to_owned());
        while used.iter().any(|name| name.ends_with(&suffix)) {
            suffix.push('t');
        }
        while used.iter().any(|name| name.starts_with(&prefix)) {
            prefix.push('_');
        }
        Names { suffix, prefix }
    }

    /// A variable of the generated code.
    pub(super) fn own(&self, name: &str) -> Ident {
        format_ident!("{}{name}", self.prefix)
    }

    /// The tangent of a variable.
    pub(super) fn tangent(&self, of: &Ident) -> Ident {
        Ident::new(&format!("{}{}", letters(of), self.suffix), of.span())
    }
}

fn collect(tokens: TokenStream, used: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(ident) => drop(used.insert(letters(&ident))),
            proc_macro2::TokenTree::Group(group) => collect(group.stream(), used),
            _ => {}
        }
    }
}

/// What is known of the operator that the body belongs to.
pub(super) struct Known<'a> {
    pub(super) krate: &'a Path,
    pub(super) halves: Halves<'a>,
    pub(super) names: Names,
    /// The types of `Self::IDENTITY` and `Self::START`.
    pub(super) constants: BTreeMap<&'static str, Type>,
    /// The tangents of the operator's fields.
    pub(super) fields: BTreeMap<String, Tangent>,
}

/// The code being written.
pub(super) struct Tangents<'a> {
    known: &'a Known<'a>,
    pub(super) errors: &'a mut Errors,
    /// The tangents of the variables.
    scopes: Vec<BTreeMap<String, Tangent>>,
    /// The statements of the innermost block.
    out: Vec<TokenStream>,
    kept: usize,
    /// Whether the type of the value is known where its tangent goes.
    typed: bool,
}

/// A body with its arguments: the value, and how it changes.
pub(super) struct Inlined {
    pub(super) value: TokenStream,
    pub(super) tangent: Tangent,
}

impl<'a> Tangents<'a> {
    pub(super) fn new(known: &'a Known<'a>, errors: &'a mut Errors) -> Self {
        Tangents { known, errors, scopes: vec![BTreeMap::new()], out: Vec::new(), kept: 0, typed: true }
    }

    /// A function's value for these arguments, each an expression without effects and its tangent.
    pub(super) fn inline<'f>(
        &mut self,
        inputs: impl IntoIterator<Item = &'f FnArg>,
        body: &Block,
        arguments: &[(TokenStream, Tangent)],
    ) -> Inlined {
        let body = super::returns::removed(body, self.errors);
        let typed = inputs.into_iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        });
        let parameters: Vec<_> = typed.zip(arguments).collect();
        let bound = parameters.iter().map(|(parameter, (value, _))| {
            let (pat, ty) = (&parameter.pat, &parameter.ty);
            quote!(let #pat: #ty = #value;)
        });
        let stmts = &body.stmts;
        let value = quote!({ #(#bound)* #(#stmts)* });
        let tangent = self.block(|this| {
            for (parameter, (value, tangent)) in &parameters {
                this.bind(&parameter.pat, Some(&parameter.ty), tangent.clone());
                let (pat, ty) = (&parameter.pat, &parameter.ty);
                this.out.push(quote!(let #pat: #ty = #value;));
            }
            this.value_of(&body)
        });
        Inlined { value, tangent }
    }

    /// The tangent of a block's value, as a block. `inside` gives the tangent of the value after the statements.
    fn block(&mut self, inside: impl FnOnce(&mut Self) -> Tangent) -> Tangent {
        let (stmts, tangent) = self.scoped(inside);
        match tangent {
            Value(value) => Value(quote!({ #(#stmts)* #value })),
            zero => zero,
        }
    }

    fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> (Vec<TokenStream>, T) {
        let around = std::mem::take(&mut self.out);
        self.scopes.push(BTreeMap::new());
        let result = inside(self);
        self.scopes.pop();
        (std::mem::replace(&mut self.out, around), result)
    }

    fn value_of(&mut self, block: &Block) -> Tangent {
        let Some((Stmt::Expr(value, None), before)) = block.stmts.split_last() else {
            self.statements(&block.stmts);
            return Zero(None);
        };
        self.statements(before);
        self.of(value)
    }

    fn statements(&mut self, stmts: &[Stmt]) {
        for statement in stmts {
            match statement {
                Stmt::Local(local) => self.local(local),
                Stmt::Expr(expr, _) => self.statement(expr),
                // Assertions are the forward pass's.
                Stmt::Macro(_) | Stmt::Item(_) => {}
            }
        }
    }

    fn both(&mut self, block: &Block) -> TokenStream {
        let (stmts, ()) = self.scoped(|this| this.statements(&block.stmts));
        quote!({ #(#stmts)* })
    }

    fn local(&mut self, local: &Local) {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        match &local.init {
            None => self.declare(pat, ty),
            Some(init) => match (pat, &*init.expr) {
                (Pat::Tuple(pats), Expr::Tuple(values)) => {
                    let tangents: Vec<Tangent> = values.elems.iter().map(|value| self.operand(value)).collect();
                    // Of all before one of them is bound: `let (x, y) = (y, x);`
                    let tangents: Vec<Tangent> = tangents.into_iter().map(|tangent| self.held(tangent)).collect();
                    let types = ty.and_then(|ty| match ty {
                        Type::Tuple(types) => Some(&types.elems),
                        _ => None,
                    });
                    for (index, (pat, tangent)) in pats.elems.iter().zip(tangents).enumerate() {
                        self.bind(pat, types.and_then(|types| types.iter().nth(index)), tangent);
                    }
                }
                (pat, value) => {
                    let tangent = self.operand_of(value, ty.is_some());
                    self.bind(pat, ty, tangent);
                }
            },
        }
        self.out.push(local.to_token_stream());
    }

    /// A variable that gets its value later.
    fn declare(&mut self, pat: &Pat, ty: Option<&Type>) {
        let Pat::Ident(variable) = pat else { return };
        let ident = self.known.names.tangent(&variable.ident);
        let mutability = &variable.mutability;
        let ty = self.of_type(ty);
        self.out.push(quote!(let #mutability #ident #ty;));
        self.set(&variable.ident, Value(ident.to_token_stream()));
    }

    /// A tangent that is evaluated here.
    fn held(&mut self, tangent: Tangent) -> Tangent {
        match tangent {
            Value(value) => {
                let name = self.name();
                self.out.push(quote!(let #name = #value;));
                Value(name.to_token_stream())
            }
            zero => zero,
        }
    }

    fn name(&mut self) -> Ident {
        self.kept += 1;
        self.known.names.own(&format!("{}", self.kept))
    }

    fn set(&mut self, ident: &Ident, tangent: Tangent) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(letters(ident), tangent);
        }
    }

    fn find(&self, ident: &Ident) -> Option<&Tangent> {
        self.scopes.iter().rev().find_map(|scope| scope.get(&letters(ident)))
    }

    /// Gives the names of a pattern their tangents, before they are bound themselves.
    fn bind(&mut self, pat: &Pat, ty: Option<&Type>, tangent: Tangent) {
        let tangent = match (tangent, ty) {
            (Zero(None), Some(ty)) => Zero(Some(self.known.halves.zero(ty))),
            (tangent, _) => tangent,
        };
        match pat {
            Pat::Wild(_) => {}
            Pat::Paren(inner) => self.bind(&inner.pat, ty, tangent),
            Pat::Type(typed) => self.bind(&typed.pat, Some(&typed.ty), tangent),
            Pat::Ident(variable) if variable.subpat.is_none() => {
                let value = match tangent {
                    Value(value) => value,
                    Zero(zero) if variable.mutability.is_none() || zero.as_ref().is_some_and(is_discrete) => {
                        return self.set(&variable.ident, Zero(zero));
                    }
                    zero => self.materialized(zero, pat),
                };
                let ident = self.known.names.tangent(&variable.ident);
                let mutability = &variable.mutability;
                let ty = self.of_type(ty);
                self.out.push(quote!(let #mutability #ident #ty = #value;));
                self.set(&variable.ident, Value(ident.to_token_stream()));
            }
            pat => {
                let value = self.materialized(tangent, pat);
                let mut renamed = pat.clone();
                let mut rename = Rename { names: &self.known.names, halves: self.known.halves, found: Vec::new() };
                rename.visit_pat_mut(&mut renamed);
                for (ident, new) in rename.found {
                    self.set(&ident, Value(new.to_token_stream()));
                }
                let ty = self.of_type(ty);
                self.out.push(quote!(let #renamed #ty = #value;));
            }
        }
    }

    /// The type of the tangent of a variable, where that of the variable is written.
    fn of_type(&self, ty: Option<&Type>) -> Option<TokenStream> {
        let ty = self.known.halves.ty(ty?);
        Some(quote!(: #ty))
    }

    /// The tangent's value, also where it is zero.
    pub(super) fn materialized(&mut self, tangent: Tangent, at: &impl ToTokens) -> TokenStream {
        match tangent {
            Value(value) => value,
            Zero(Some(zero)) => zero,
            Zero(None) => {
                self.errors
                    .at(at, "the gradient needs the type of this constant: bind it before, `let name: f64 = …;`");
                quote!(0.0)
            }
        }
    }

    fn statement(&mut self, expr: &Expr) {
        match expr {
            Expr::Paren(inner) => self.statement(&inner.expr),
            Expr::Block(block) => {
                let block = self.both(&block.block);
                self.out.push(block);
            }
            Expr::If(_) => {
                let choice = self.choice(expr);
                self.out.push(choice);
            }
            Expr::Match(matching) => {
                let scrutinee = &matching.expr;
                let arms = matching.arms.iter().map(|arm| {
                    let pat = &arm.pat;
                    let (stmts, ()) = self.scoped(|this| {
                        this.matched(&arm.pat, scrutinee);
                        match &*arm.body {
                            Expr::Block(block) => this.statements(&block.block.stmts),
                            body => this.statement(body),
                        }
                    });
                    quote!(#pat => { #(#stmts)* })
                });
                let arms: Vec<TokenStream> = arms.collect();
                self.out.push(quote!(match #scrutinee { #(#arms)* }));
            }
            Expr::While(looping) => {
                let (label, condition) = (&looping.label, &looping.cond);
                let body = self.both(&looping.body);
                self.out.push(quote!(#label while #condition #body));
            }
            Expr::Loop(looping) => {
                let label = &looping.label;
                let body = self.both(&looping.body);
                self.out.push(quote!(#label loop #body));
            }
            Expr::ForLoop(looping) => {
                let (label, pat, range) = (&looping.label, &looping.pat, &looping.expr);
                let (stmts, ()) = self.scoped(|this| {
                    if let Pat::Ident(counter) = &**pat {
                        let ident = &counter.ident;
                        this.set(ident, Zero(Some(quote!((#ident ^ #ident)))));
                    }
                    this.statements(&looping.body.stmts);
                });
                self.out.push(quote!(#label for #pat in #range { #(#stmts)* }));
            }
            Expr::Break(leave) if leave.expr.is_some() => {
                self.errors.at(expr, "a gradient follows loops without a value: assign it to a variable, then `break`");
            }
            Expr::Break(_) | Expr::Continue(_) => self.out.push(quote!(#expr;)),
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.update(binary),
            // A value that nothing uses.
            _ => {}
        }
    }

    /// An `if` whose branches are statements.
    fn choice(&mut self, expr: &Expr) -> TokenStream {
        match expr {
            Expr::If(choice) => {
                let condition = &choice.cond;
                let then = self.both(&choice.then_branch);
                let other = choice.else_branch.as_ref().map(|(_, other)| {
                    let other = self.choice(other);
                    quote!(else #other)
                });
                quote!(if #condition #then #other)
            }
            Expr::Block(block) => self.both(&block.block),
            other => {
                let (stmts, ()) = self.scoped(|this| this.statement(other));
                quote!({ #(#stmts)* })
            }
        }
    }

    fn assign(&mut self, assign: &syn::ExprAssign) {
        if !matches!(&*assign.left, Expr::Infer(_)) {
            let tangent = self.operand(&assign.right);
            if let Some(place) = self.place(&assign.left) {
                let value = self.materialized(tangent, &assign.right);
                self.out.push(quote!(#place = #value;));
            }
        }
        self.out.push(quote!(#assign;));
    }

    fn update(&mut self, binary: &syn::ExprBinary) {
        let (left, right) = (&binary.left, &binary.right);
        let place = self.place(left);
        let tangent = if place.is_some() { self.operand(right) } else { Zero(None) };
        let statement = place.and_then(|place| match (&binary.op, tangent) {
            (BinOp::AddAssign(_), Value(by)) => Some(quote!(#place += #by;)),
            (BinOp::SubAssign(_), Value(by)) => Some(quote!(#place -= #by;)),
            (BinOp::MulAssign(_), tangent) => {
                let by = self.shared(right);
                let value = self.known.halves.factor(quote!(#left));
                Some(match tangent {
                    Value(tangent) => quote!(#place = #place * #by + #value * #tangent;),
                    Zero(_) => quote!(#place *= #by;),
                })
            }
            (BinOp::DivAssign(_), tangent) => {
                let by = self.shared(right);
                let value = self.known.halves.factor(quote!(#left));
                Some(match tangent {
                    Value(tangent) => quote!(#place = (#place - #value / #by * #tangent) / #by;),
                    Zero(_) => quote!(#place /= #by;),
                })
            }
            (BinOp::RemAssign(_), Value(tangent)) => {
                let by = self.shared(right);
                let value = self.known.halves.factor(quote!(#left));
                Some(quote!(#place -= (#value - #value % #by) / #by * #tangent;))
            }
            _ => None,
        });
        self.out.extend(statement);
        self.out.push(quote!(#binary;));
    }

    /// The tangent of a place; `None` of one that has none.
    fn place(&mut self, expr: &Expr) -> Option<TokenStream> {
        match expr {
            Expr::Paren(inner) => self.place(&inner.expr),
            Expr::Field(field) => {
                let (base, member) = (self.place(&field.base)?, &field.member);
                Some(quote!(#base.#member))
            }
            Expr::Index(at) => {
                let (base, index) = (self.place(&at.expr)?, &at.index);
                Some(quote!(#base[#index]))
            }
            Expr::Path(path) => match self.find(path.path.get_ident()?)? {
                Value(value) => Some(value.clone()),
                Zero(_) => None,
            },
            _ => None,
        }
    }

    /// The tangent of a value that is computed beside its tangent, so that it may not change what either of them
    /// reads.
    fn operand(&mut self, expr: &Expr) -> Tangent {
        self.operand_of(expr, false)
    }

    /// The same, for a place whose type is known or not.
    fn operand_of(&mut self, expr: &Expr, typed: bool) -> Tangent {
        if changes_others(expr) {
            self.errors.at(
                expr,
                "the gradient computes this twice, so it may not assign to variables around it or leave: make it a statement \
                 of its own",
            );
        }
        let around = std::mem::replace(&mut self.typed, typed);
        let tangent = self.of(expr);
        self.typed = around;
        tangent
    }

    /// A value that is used several times, as a factor of tangents.
    fn shared(&mut self, expr: &Expr) -> TokenStream {
        let halves = self.known.halves;
        match expr {
            Expr::Lit(_) => return expr.to_token_stream(),
            Expr::Path(_) => return halves.factor(expr.to_token_stream()),
            Expr::Field(field) if is_place(&field.base) => return halves.factor(expr.to_token_stream()),
            Expr::Paren(inner) => return self.shared(&inner.expr),
            Expr::Unary(unary) if matches!((&unary.op, &*unary.expr), (UnOp::Neg(_), Expr::Lit(_))) => {
                return quote!((#expr));
            }
            _ => {}
        }
        let name = self.name();
        self.out.push(quote!(let #name = #expr;));
        halves.factor(name.to_token_stream())
    }

    /// A tangent that is used several times.
    fn shared_tangent(&mut self, tangent: TokenStream) -> TokenStream {
        let name = self.name();
        self.out.push(quote!(let #name = #tangent;));
        name.to_token_stream()
    }

    /// How the value of an expression changes.
    fn of(&mut self, expr: &Expr) -> Tangent {
        match expr {
            Expr::Lit(literal) => Zero(zero_of(&literal.lit)),
            Expr::Paren(inner) => self.of(&inner.expr),
            Expr::Path(path) => self.path(path),
            Expr::Block(block) => self.block(|this| this.value_of(&block.block)),
            Expr::If(choice) => self.branches(choice, expr),
            Expr::Match(matching) => self.matching(matching, expr),
            Expr::Unary(unary) => match unary.op {
                UnOp::Neg(_) => match self.of(&unary.expr) {
                    Value(value) => Value(quote!((-#value))),
                    zero => zero,
                },
                _ => discrete(expr),
            },
            Expr::Binary(binary) => self.binary(binary, expr),
            Expr::Cast(cast) => self.cast(&cast.expr, &cast.ty, expr),
            Expr::Field(field) => {
                let member = &field.member;
                if matches!(&*field.base, Expr::Path(path) if path.path.is_ident("self")) {
                    return self.known.fields.get(&member_name(member)).cloned().unwrap_or(Zero(None));
                }
                match self.of(&field.base) {
                    Value(base) => Value(quote!(#base.#member)),
                    Zero(zero) => Zero(zero.map(|base| quote!(#base.#member))),
                }
            }
            Expr::Index(at) => {
                let index = &at.index;
                match self.of(&at.expr) {
                    Value(base) => Value(quote!(#base[#index])),
                    Zero(zero) => Zero(zero.map(|base| quote!(#base[#index]))),
                }
            }
            Expr::Array(array) => self.fields(array.elems.iter(), |_, values| quote!([#(#values),*])),
            Expr::Repeat(repeat) => {
                let len = &repeat.len;
                match self.of(&repeat.expr) {
                    Value(value) => Value(quote!([#value; #len])),
                    Zero(zero) => Zero(zero.map(|zero| quote!([#zero; #len]))),
                }
            }
            Expr::Struct(literal) => {
                let path = self.known.halves.literal(&literal.path);
                let members: Vec<&Member> = literal.fields.iter().map(|field| &field.member).collect();
                let values = literal.fields.iter().map(|field| &field.expr).chain(literal.rest.as_deref());
                let count = members.len();
                self.fields(values, |_, values| {
                    let base = values.get(count).map(|base| quote!(..#base));
                    let values = &values[..count];
                    quote!(#path { #(#members: #values,)* #base })
                })
            }
            Expr::Call(call) => self.call(call, expr),
            Expr::MethodCall(call) => self.method(call, expr),
            other => {
                self.errors.at(other, "this has no gradient: make it a statement that assigns to a variable");
                wrong()
            }
        }
    }

    /// The tangent of a value that is made of parts of its own.
    fn fields<'e>(
        &mut self,
        values: impl Iterator<Item = &'e Expr>,
        made: impl Fn(&mut Self, &[TokenStream]) -> TokenStream,
    ) -> Tangent {
        let values: Vec<&Expr> = values.collect();
        let tangents: Vec<Tangent> = values.iter().map(|value| self.operand(value)).collect();
        let changes = tangents.iter().any(|tangent| matches!(tangent, Value(_)));
        if !changes && tangents.iter().any(|tangent| matches!(tangent, Zero(None))) {
            return Zero(None);
        }
        let tangents = tangents.into_iter().zip(&values);
        let tangents: Vec<_> = tangents.map(|(tangent, value)| self.materialized(tangent, value)).collect();
        let made = made(self, &tangents);
        if changes { Value(made) } else { Zero(Some(made)) }
    }

    fn path(&mut self, path: &syn::ExprPath) -> Tangent {
        if path.qself.is_none()
            && let Some(ident) = path.path.get_ident()
            && let Some(known) = self.find(ident)
        {
            return known.clone();
        }
        let halves = self.known.halves;
        let of_name = |name: &Ident| Zero(Some(halves.zero(&syn::parse_quote!(#name))));
        let mut segments = path.path.segments.iter().rev();
        let (last, owner) = (segments.next(), segments.next());
        match (last, owner, &path.qself) {
            (Some(last), _, Some(_)) => {
                let known = self.known.constants.get(last.ident.to_string().as_str());
                known.map_or(Zero(None), |ty| Zero(Some(halves.zero(ty))))
            }
            (_, Some(owner), None) if is_primitive(&owner.ident) => of_name(&owner.ident),
            // The modules of constants: `std::f64::consts::PI`.
            (_, Some(consts), None) if consts.ident == "consts" => {
                let float = segments.next().filter(|segment| is_primitive(&segment.ident));
                float.map_or(Zero(None), |float| of_name(&float.ident))
            }
            _ => Zero(None),
        }
    }

    fn branches(&mut self, choice: &syn::ExprIf, whole: &Expr) -> Tangent {
        let condition = &choice.cond;
        let Some((_, other)) = &choice.else_branch else { return Zero(None) };
        let (then_stmts, then) = self.scoped(|this| this.value_of(&choice.then_branch));
        let (other_stmts, other_tangent) = self.scoped(|this| match &**other {
            Expr::Block(block) => this.value_of(&block.block),
            other => this.of(other),
        });
        if let (Zero(a), Zero(b)) = (&then, &other_tangent) {
            return Zero(either(a.clone(), b.clone()));
        }
        let has_statements = !then_stmts.is_empty() || !other_stmts.is_empty();
        let [then, other_tangent] = [then, other_tangent].map(|tangent| self.with_type(tangent, has_statements, whole));
        let then = self.materialized(then, &choice.then_branch);
        let other = self.materialized(other_tangent, other);
        Value(quote!((if #condition { #(#then_stmts)* #then } else { #(#other_stmts)* #other })))
    }

    fn matching(&mut self, matching: &syn::ExprMatch, whole: &Expr) -> Tangent {
        let scrutinee = &matching.expr;
        let mut arms = Vec::new();
        for arm in &matching.arms {
            let (stmts, tangent) = self.scoped(|this| {
                this.matched(&arm.pat, scrutinee);
                match &*arm.body {
                    Expr::Block(block) => this.value_of(&block.block),
                    body => this.of(body),
                }
            });
            arms.push((arm, stmts, tangent));
        }
        if arms.iter().all(|(_, _, tangent)| matches!(tangent, Zero(_))) {
            return arms
                .into_iter()
                .find(|(_, _, tangent)| !matches!(tangent, Zero(None)))
                .map_or(Zero(None), |arm| arm.2);
        }
        let has_statements = arms.iter().any(|(_, stmts, _)| !stmts.is_empty());
        let arms = arms.into_iter().map(|(arm, stmts, tangent)| {
            let tangent = self.with_type(tangent, has_statements, whole);
            let value = self.materialized(tangent, &arm.body);
            let pat = &arm.pat;
            quote!(#pat => { #(#stmts)* #value })
        });
        let arms: Vec<_> = arms.collect();
        Value(quote!((match #scrutinee { #(#arms)* })))
    }

    /// The tangent of a branch, whose type C++ can find out where there are statements in the branches.
    fn with_type(&mut self, tangent: Tangent, has_statements: bool, whole: &Expr) -> Tangent {
        match tangent {
            Zero(Some(zero)) if has_statements && !self.typed && is_number_without_type(&zero) => {
                // A zero of the type of the value, whatever that and the value are.
                let value = self.shared(whole);
                Zero(Some(quote!(#value.min(#zero).max(#zero))))
            }
            tangent => tangent,
        }
    }

    /// Gives the names that a pattern of a `match` binds their tangents.
    fn matched(&mut self, pat: &Pat, scrutinee: &Expr) {
        match (pat, scrutinee) {
            (Pat::Guard(guarded), _) => self.matched(&guarded.pat, scrutinee),
            (Pat::Paren(inner), _) => self.matched(&inner.pat, scrutinee),
            (Pat::Ident(variable), _) if variable.subpat.is_none() => {
                if !is_constant(&variable.ident) {
                    let tangent = self.of(scrutinee);
                    self.bind(pat, None, tangent);
                }
            }
            (Pat::Tuple(pats), Expr::Tuple(values)) => {
                for (pat, value) in pats.elems.iter().zip(&values.elems) {
                    self.matched(pat, value);
                }
            }
            (pat, _) => {
                let mut binds = Rename { names: &self.known.names, halves: self.known.halves, found: Vec::new() };
                binds.visit_pat_mut(&mut pat.clone());
                if !binds.found.is_empty() {
                    self.errors.at(
                        pat,
                        "the gradient does not follow names inside of a pattern of `match`: read the fields in the arm",
                    );
                }
            }
        }
    }

    fn binary(&mut self, binary: &syn::ExprBinary, whole: &Expr) -> Tangent {
        let (left, right) = (&*binary.left, &*binary.right);
        match binary.op {
            BinOp::Add(_) => match (self.operand(left), self.operand(right)) {
                (Value(a), Value(b)) => Value(quote!((#a + #b))),
                (Value(a), Zero(_)) => Value(a),
                (Zero(_), Value(b)) => Value(b),
                (Zero(a), Zero(b)) => Zero(either(a, b)),
            },
            BinOp::Sub(_) => match (self.operand(left), self.operand(right)) {
                (Value(a), Value(b)) => Value(quote!((#a - #b))),
                (Value(a), Zero(_)) => Value(a),
                (Zero(_), Value(b)) => Value(quote!((-#b))),
                (Zero(a), Zero(b)) => Zero(either(a, b)),
            },
            BinOp::Mul(_) => {
                let (a, b) = (self.operand(left), self.operand(right));
                self.product((left, a), (right, b))
            }
            BinOp::Div(_) => match (self.operand(left), self.operand(right)) {
                (Value(a), Zero(_)) => {
                    let right = self.shared(right);
                    Value(quote!((#a / #right)))
                }
                (a, Value(b)) => {
                    let right = self.shared(right);
                    let quotient = match left {
                        Expr::Lit(_) => quote!(#left / #right),
                        _ => {
                            let left = self.shared(left);
                            quote!(#left / #right)
                        }
                    };
                    Value(match a {
                        Value(a) => quote!(((#a - #quotient * #b) / #right)),
                        Zero(_) => quote!((-(#quotient * #b) / #right)),
                    })
                }
                (Zero(a), Zero(b)) => Zero(either(a, b)),
            },
            BinOp::Rem(_) => match (self.operand(left), self.operand(right)) {
                (a, Value(b)) => {
                    let (left_value, right_value) = (self.shared(left), self.shared(right));
                    let steps = quote!((#left_value - #left_value % #right_value) / #right_value * #b);
                    Value(match a {
                        Value(a) => quote!((#a - #steps)),
                        Zero(_) => quote!((-(#steps))),
                    })
                }
                (a, Zero(_)) => a,
            },
            BinOp::And(_) | BinOp::Or(_) => Zero(Some(quote!(false))),
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                Zero(Some(quote!(false)))
            }
            _ => discrete(whole),
        }
    }

    fn product(&mut self, (left, a): (&Expr, Tangent), (right, b): (&Expr, Tangent)) -> Tangent {
        let of_left = match a {
            Value(a) => {
                let right = self.shared(right);
                Ok(quote!(#a * #right))
            }
            Zero(zero) => Err(zero),
        };
        let of_right = match b {
            Value(b) => {
                let left = self.shared(left);
                Ok(quote!(#left * #b))
            }
            Zero(zero) => Err(zero),
        };
        match (of_left, of_right) {
            (Ok(a), Ok(b)) => Value(quote!((#a + #b))),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Value(quote!((#one))),
            (Err(a), Err(b)) => Zero(either(a, b)),
        }
    }

    fn cast(&mut self, value: &Expr, ty: &Type, whole: &Expr) -> Tangent {
        let name = match ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.clone()),
            _ => None,
        };
        let zero = self.known.halves.zero(ty);
        match name.filter(is_primitive) {
            None => {
                self.errors.at(whole, "the gradient needs to know whether this is a float: name the primitive type");
                wrong()
            }
            Some(name) if matches!(name.to_string().as_str(), "f16" | "bf16" | "f32" | "f64") => {
                let ty = self.known.halves.ty(ty);
                match self.operand(value) {
                    Value(value) => Value(quote!((#value as #ty))),
                    Zero(_) => Zero(Some(zero)),
                }
            }
            // An integer is a step function.
            Some(_) => Zero(Some(zero)),
        }
    }

    fn call(&mut self, call: &ExprCall, whole: &Expr) -> Tangent {
        let Expr::Path(function) = &*call.func else { return Zero(None) };
        let path = &function.path;
        let Some(name) = path.segments.last().map(|last| last.ident.to_string()) else { return Zero(None) };
        if name.starts_with(|first: char| first.is_uppercase()) {
            let halves = self.known.halves;
            return self.fields(call.args.iter(), |_, values| match halves.named {
                true => {
                    let (path, members) = (halves.literal(path), (0..values.len()).map(syn::Index::from));
                    quote!(#path { #(#members: #values),* })
                }
                false => quote!(#path(#(#values),*)),
            });
        }
        if !is_of_type(path) {
            return self.helper(call, path);
        }
        let mut owner = path.clone();
        owner.segments.pop();
        owner.segments.pop_punct();
        let ty: Type = syn::parse_quote!(#owner);
        match (language::conversion(&name), method_of_type(path)) {
            (Some(Conversion::From), _) | (Some(Conversion::Function("from_f32", _)), _) => {
                call.args.first().map_or(Zero(None), |value| self.cast(value, &ty, whole))
            }
            (Some(_), _) => {
                // Of the bits of a float, which have no derivative, there is an error.
                call.args.iter().for_each(|argument| drop(self.operand(argument)));
                Zero(Some(self.known.halves.zero(&ty)))
            }
            (None, Some(_)) => {
                let mut arguments = call.args.iter();
                match arguments.next() {
                    Some(receiver) => self.rule(&name, receiver, &arguments.collect::<Vec<_>>(), whole),
                    None => Zero(None),
                }
            }
            (None, None) => Zero(None),
        }
    }

    /// A call of a `#[scan_fn(gradient)]`.
    fn helper(&mut self, call: &ExprCall, path: &Path) -> Tangent {
        let tangents: Vec<Tangent> = call.args.iter().map(|argument| self.operand(argument)).collect();
        let count = tangents.len();
        if count > super::MOST_PARAMETERS {
            let most = super::MOST_PARAMETERS;
            self.errors
                .at(call, format!("a function with a gradient has at most {most} parameters: make a struct of some"));
            return Zero(None);
        }
        if tangents.iter().all(|tangent| matches!(tangent, Zero(_))) {
            let (krate, function) = (self.known.krate, format_ident!("Tangent{count}"));
            let returns: Type = syn::parse_quote!(<#path as #krate::gradient::private::#function>::Returns);
            return if count == 0 { Zero(None) } else { Zero(Some(self.known.halves.zero(&returns))) };
        }
        let arguments = tangents.into_iter().zip(&call.args).map(|(tangent, argument)| {
            let tangent = self.materialized(tangent, argument);
            quote!(#argument, #tangent)
        });
        let arguments: Vec<_> = arguments.collect();
        let krate = self.known.krate;
        // The error of a function without a gradient is at its name.
        let span = path.segments.last().map_or_else(Span::call_site, |last| last.ident.span());
        let twin = Ident::new(&format!("tangent{count}"), span.resolved_at(Span::mixed_site()));
        Value(quote!(#krate::gradient::private::#twin::<#path>(#(#arguments),*)))
    }

    fn method(&mut self, call: &ExprMethodCall, whole: &Expr) -> Tangent {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        self.rule(&call.method.to_string(), &call.receiver, &arguments, whole)
    }

    fn rule(&mut self, name: &str, receiver: &Expr, arguments: &[&Expr], whole: &Expr) -> Tangent {
        let rule = rules::of(name);
        match rule {
            Rule::Discrete => return Zero(Some(quote!(false))),
            Rule::Integer => return discrete(whole),
            Rule::Widened(float) => {
                let ty = Ident::new(float, Span::call_site());
                return self.cast(receiver, &syn::parse_quote!(#ty), whole);
            }
            _ => {}
        }
        let tangent = self.operand(receiver);
        let others: Vec<Tangent> = arguments.iter().map(|argument| self.operand(argument)).collect();
        let known = |zeros: &[&Tangent]| {
            zeros.iter().find_map(|tangent| match tangent {
                Zero(zero) => zero.clone(),
                Value(_) => None,
            })
        };
        let constant = matches!(tangent, Zero(_)) && others.iter().all(|other| matches!(other, Zero(_)));
        if constant {
            let of_all: Vec<&Tangent> = std::iter::once(&tangent).chain(&others).collect();
            return Zero(known(&of_all));
        }
        match (rule, tangent) {
            (Rule::Factor(factor), Value(tangent)) => {
                let factor = self.factor(factor, receiver, whole);
                Value(quote!((#factor * #tangent)))
            }
            (Rule::Steep(factor), Value(tangent)) => {
                let tangent = self.shared_tangent(tangent);
                let factor = self.factor(factor, receiver, whole);
                Value(quote!((if #tangent == 0.0 { #tangent } else { #factor * #tangent })))
            }
            (Rule::Steps, Value(tangent)) => {
                let tangent = self.shared_tangent(tangent);
                Zero(Some(quote!((#tangent - #tangent))))
            }
            (Rule::Same, tangent) => tangent,
            (Rule::Sign, Value(tangent)) => {
                let (value, result, tangent) =
                    (self.shared(receiver), self.shared(whole), self.shared_tangent(tangent));
                Value(quote!((if #result == #value { #tangent } else { -#tangent })))
            }
            (Rule::Max | Rule::Min, a) => {
                let (Some(&argument), Some(b)) = (arguments.first(), others.into_iter().next()) else {
                    return Zero(None);
                };
                let (a, b) = (self.held(a), self.held(b));
                let known = known(&[&a, &b]).or_else(|| difference(&[&a, &b]));
                let (left, right) = (self.shared(receiver), self.shared(argument));
                let (a, b) = (self.or(a, &known, receiver), self.or(b, &known, argument));
                // Of equal ones the first, and a number in place of a NaN.
                let order = if name == "max" { quote!(>=) } else { quote!(<=) };
                let no_number = (!is_number(argument)).then(|| quote!(|| #right != #right));
                Value(quote!((if #left #order #right #no_number { #a } else { #b })))
            }
            (Rule::Clamp, a) => {
                let ([low, high], [b, c]) = (arguments, others.as_slice()) else { return Zero(None) };
                let (a, b, c) = (self.held(a), &self.held(b.clone()), &self.held(c.clone()));
                let known = known(&[&a, b, c]).or_else(|| difference(&[&a, b, c]));
                let (value, low_value, high_value) = (self.shared(receiver), self.shared(low), self.shared(high));
                let a = self.or(a, &known, receiver);
                let (b, c) = (self.or(b.clone(), &known, low), self.or(c.clone(), &known, high));
                Value(quote!(
                    (if #value < #low_value { #b } else if #value > #high_value { #c } else { #a })
                ))
            }
            (Rule::MulAdd, a) => {
                let ([factor, _], [b, c]) = (arguments, others.as_slice()) else { return Zero(None) };
                match (self.product((receiver, a), (factor, b.clone())), c) {
                    (Value(product), Value(c)) => Value(quote!((#product + #c))),
                    (Value(product), Zero(_)) => Value(product),
                    (Zero(_), c) => c.clone(),
                }
            }
            (Rule::Mul, a) => {
                let (Some(&argument), Some(b)) = (arguments.first(), others.into_iter().next()) else {
                    return Zero(None);
                };
                self.product((receiver, a), (argument, b))
            }
            (Rule::Add, a) => match (a, others.into_iter().next()) {
                (Value(a), Some(Value(b))) => Value(quote!((#a + #b))),
                (Value(one), _) | (_, Some(Value(one))) => Value(one),
                (zero, _) => zero,
            },
            (Rule::Powi, Value(tangent)) => {
                let Some(exponent) = arguments.first().and_then(|exponent| rules::exponent(exponent)) else {
                    self.errors.at(whole, "the gradient of `powi` needs a number for the exponent; or write `powf`");
                    return wrong();
                };
                let value = self.shared(receiver);
                let (factor, less) =
                    (proc_macro2::Literal::f64_unsuffixed(exponent.unsigned_abs() as f64), exponent - 1);
                let less = proc_macro2::Literal::i64_unsuffixed(less);
                let sign = (exponent < 0).then(|| quote!(-));
                match exponent {
                    0 => {
                        let tangent = self.shared_tangent(tangent);
                        Zero(Some(quote!((#tangent - #tangent))))
                    }
                    1 => Value(tangent),
                    _ => Value(quote!((#sign #factor * #value.powi(#less) * #tangent))),
                }
            }
            (Rule::Powf, a) => {
                let (Some(&exponent), Some(b)) = (arguments.first(), others.into_iter().next()) else {
                    return Zero(None);
                };
                let (value, power) = (self.shared(receiver), self.shared(exponent));
                let of_base = match a {
                    Value(a) => {
                        let a = self.shared_tangent(a);
                        let less = match rules::number(exponent) {
                            Some(number) => {
                                let sign = (number < 1.0).then(|| quote!(-));
                                let size = proc_macro2::Literal::f64_unsuffixed((number - 1.0).abs());
                                quote!((#sign #size))
                            }
                            None => quote!(#power - 1.0),
                        };
                        Some(quote!((if #a == 0.0 { #a } else { #power * #value.powf(#less) * #a })))
                    }
                    Zero(_) => None,
                };
                let of_exponent = match b {
                    Value(b) => {
                        let (b, result) = (self.shared_tangent(b), self.shared(whole));
                        Some(
                            quote!((if #b == 0.0 || #result == 0.0 { #result * #b } else { #result * #value.ln() * #b })),
                        )
                    }
                    Zero(_) => None,
                };
                sum(of_base, of_exponent)
            }
            (Rule::Hypot | Rule::Atan2, a) => {
                let (Some(&argument), Some(b)) = (arguments.first(), others.into_iter().next()) else {
                    return Zero(None);
                };
                let (left, right) = (self.shared(receiver), self.shared(argument));
                let (factors, divisor) = if name == "hypot" {
                    let result = self.shared(whole);
                    ([quote!(#left), quote!(#right)], result)
                } else {
                    ([quote!(#right), quote!(-#left)], quote!((#left * #left + #right * #right)))
                };
                let part = |factor: &TokenStream, tangent: Tangent, this: &mut Self| match tangent {
                    Value(tangent) => {
                        let tangent = this.shared_tangent(tangent);
                        Some(quote!((if #tangent == 0.0 { #tangent } else { #factor * #tangent / #divisor })))
                    }
                    Zero(_) => None,
                };
                let (a, b) = (part(&factors[0], a, self), part(&factors[1], b, self));
                sum(a, b)
            }
            (Rule::Remainder, a) => {
                let (Some(&argument), Some(b)) = (arguments.first(), others.into_iter().next()) else {
                    return Zero(None);
                };
                match (a, b) {
                    (a, Value(b)) => {
                        let (left, right) = (self.shared(receiver), self.shared(argument));
                        let result = self.shared(whole);
                        let steps = quote!((#left - #result) / #right * #b);
                        Value(match a {
                            Value(a) => quote!((#a - #steps)),
                            Zero(_) => quote!((-(#steps))),
                        })
                    }
                    (a, Zero(_)) => a,
                }
            }
            (Rule::None(message), _) => {
                self.errors.at(whole, message);
                wrong()
            }
            (_, zero) => zero,
        }
    }

    fn factor(
        &mut self,
        factor: fn(&TokenStream, &TokenStream) -> TokenStream,
        receiver: &Expr,
        whole: &Expr,
    ) -> TokenStream {
        // Either of them, whichever the factor is made of.
        let (x, r) = (quote!(scan_receiver), quote!(scan_result));
        let uses_result = factor(&x, &r).to_string().contains("scan_result");
        let value = self.shared(if uses_result { whole } else { receiver });
        factor(&value, &value)
    }

    /// The tangent, or the zero of one that has the same type.
    fn or(&mut self, tangent: Tangent, known: &Option<TokenStream>, at: &Expr) -> TokenStream {
        match tangent {
            Zero(None) => self.materialized(Zero(known.clone()), at),
            tangent => self.materialized(tangent, at),
        }
    }
}

/// A zero of the type of tangents that are held.
fn difference(tangents: &[&Tangent]) -> Option<TokenStream> {
    tangents.iter().find_map(|tangent| match tangent {
        Value(value) => Some(quote!((#value - #value))),
        Zero(_) => None,
    })
}

/// One of two zeros of a type, with the type if either has it.
fn either(a: Option<TokenStream>, b: Option<TokenStream>) -> Option<TokenStream> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if is_number_without_type(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The tangent of what is refused: any will do from there on.
fn wrong() -> Tangent {
    Zero(Some(quote!(0.0)))
}

fn sum(a: Option<TokenStream>, b: Option<TokenStream>) -> Tangent {
    match (a, b) {
        (Some(a), Some(b)) => Value(quote!((#a + #b))),
        (Some(one), None) | (None, Some(one)) => Value(one),
        (None, None) => Zero(None),
    }
}

/// The zero of a value that is an integer or a truth value, whichever.
fn discrete(value: &Expr) -> Tangent {
    Zero(Some(quote!(((#value) ^ (#value)))))
}

/// Whether a zero is that of an integer or a truth value, whose variables never change by a little.
fn is_discrete(zero: &TokenStream) -> bool {
    let text = zero.to_string();
    syn::parse2::<syn::LitInt>(zero.clone()).is_ok()
        || text == "false"
        || text.contains('^')
        || language::PRIMITIVES
            .iter()
            .filter(|name| !name.contains('f'))
            .any(|name| text.starts_with(&format!("< {name} ")))
}

fn is_number_without_type(zero: &TokenStream) -> bool {
    syn::parse2::<syn::LitFloat>(zero.clone()).is_ok_and(|number| number.suffix().is_empty())
}

fn zero_of(literal: &Lit) -> Option<TokenStream> {
    match literal {
        Lit::Float(number) => {
            let zero: TokenStream = format!("0.0{}", number.suffix()).parse().ok()?;
            Some(zero)
        }
        Lit::Int(number) if matches!(number.suffix(), "f32" | "f64") => format!("0.0{}", number.suffix()).parse().ok(),
        Lit::Int(number) => format!("0{}", number.suffix()).parse().ok(),
        Lit::Byte(_) => Some(quote!(0_u8)),
        Lit::Bool(_) => Some(quote!(false)),
        _ => None,
    }
}

pub(super) fn member_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => letters(ident),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Whether it is a literal, which has no type of its own.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(inner) => is_number(&inner.expr),
        Expr::Unary(unary) => is_number(&unary.expr),
        _ => false,
    }
}

fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Paren(inner) => is_place(&inner.expr),
        _ => false,
    }
}

/// Whether an expression leaves, or changes a variable that it has not declared itself.
fn changes_others(expr: &Expr) -> bool {
    #[derive(Default)]
    struct Changes {
        declared: BTreeSet<String>,
        found: bool,
    }
    impl<'ast> Visit<'ast> for Changes {
        fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
            self.declared.insert(letters(&pat.ident));
            visit::visit_pat_ident(self, pat);
        }
        fn visit_expr(&mut self, expr: &'ast Expr) {
            let place = match expr {
                Expr::Assign(assign) => Some(&*assign.left),
                Expr::Binary(binary) if is_assignment(&binary.op) => Some(&*binary.left),
                _ => None,
            };
            if let Some(place) = place {
                self.found |= base(place).is_none_or(|ident| !self.declared.contains(&letters(ident)));
            }
            self.found |= matches!(expr, Expr::Return(_));
            visit::visit_expr(self, expr);
        }
    }
    if !has_effects(expr) {
        return false;
    }
    let mut changes = Changes::default();
    changes.visit_expr(expr);
    changes.found
}

/// The variable that a place is a part of.
fn base(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => base(&field.base),
        Expr::Index(at) => base(&at.expr),
        Expr::Paren(inner) => base(&inner.expr),
        _ => None,
    }
}

/// Gives the names of a pattern those of their tangents.
struct Rename<'a> {
    names: &'a Names,
    halves: Halves<'a>,
    found: Vec<(Ident, Ident)>,
}

impl VisitMut for Rename<'_> {
    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        visit_mut::visit_pat_mut(self, pat);
        if !self.halves.named {
            return;
        }
        match pat {
            Pat::Struct(fields) => {
                let path = self.halves.literal(&fields.path);
                fields.path = syn::parse_quote!(#path);
            }
            // The constructor's name is not that of a type.
            Pat::TupleStruct(fields) => {
                let (path, members) = (self.halves.literal(&fields.path), (0..fields.elems.len()).map(syn::Index::from));
                let elems = fields.elems.iter();
                *pat = syn::parse_quote!(#path { #(#members: #elems),* });
            }
            _ => {}
        }
    }

    fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
        if field.colon_token.is_none() {
            field.colon_token = Some(Default::default());
        }
        visit_mut::visit_field_pat_mut(self, field);
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut syn::PatIdent) {
        if !is_constant(&pat.ident) {
            let new = self.names.tangent(&pat.ident);
            self.found.push((pat.ident.clone(), new.clone()));
            pat.ident = new;
        }
        visit_mut::visit_pat_ident_mut(self, pat);
    }
}

/// `Self` of the operator, in code that belongs to another type.
pub(super) struct OwnSelf<'a> {
    pub(super) self_ty: &'a Type,
    /// The types by their names in the trait.
    pub(super) types: &'a BTreeMap<&'static str, Type>,
}

impl VisitMut for OwnSelf<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Path(path) = ty
            && path.qself.is_none()
            && let Some(named) = self.named(&path.path)
        {
            *ty = named;
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Path(path) = expr
            && path.qself.is_none()
            && path.path.segments.len() == 2
            && path.path.segments[0].ident == "Self"
        {
            let (ty, name) = (self.self_ty, &path.path.segments[1]);
            let span = path.span();
            *expr = syn::parse_quote_spanned!(span=> <#ty>::#name);
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        // Of a struct expression.
        if let Some(Type::Path(named)) = self.named(path) {
            *path = named.path;
            return;
        }
        visit_mut::visit_path_mut(self, path);
    }
}

impl OwnSelf<'_> {
    fn named(&self, path: &Path) -> Option<Type> {
        let mut segments = path.segments.iter();
        match (segments.next(), segments.next(), segments.next()) {
            (Some(own), Some(name), None) if own.ident == "Self" => {
                self.types.get(name.ident.to_string().as_str()).cloned()
            }
            (Some(own), None, None) if own.ident == "Self" => Some(self.self_ty.clone()),
            _ => None,
        }
    }
}
