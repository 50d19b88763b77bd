//! Names as rustc tells them apart.
//!
//! An identifier that went through a `macro_rules!` carries a syntax context, so that a function can have two locals `y`: one
//! of the macro's, and one of the caller's. The later passes know names by their letters. This one gives the locals and
//! labels of different contexts different letters. It also removes the invisible groups around a macro's arguments, which the
//! tree does not need.

use crate::operator::Function;
use crate::syntax::{asserted, is_constant, letters};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Block, Expr, ExprMatch, FnArg, Ident, Lifetime, Pat, PatIdent, Signature, Stmt, Type};

/// A function whose locals and labels are told apart by their letters.
pub(crate) struct Named {
    pub(crate) signature: Signature,
    pub(crate) block: Block,
    /// The user's own identifier of each that has other letters now.
    originals: BTreeMap<String, Ident>,
    /// Rust that compiles only if rustc tells the names apart in the same way.
    pub(crate) assumption: TokenStream,
}

impl Named {
    /// The identifier as the user wrote it.
    pub(crate) fn original(&self, ident: Ident) -> Ident {
        self.originals.get(&ident.to_string()).cloned().unwrap_or(ident)
    }
}

/// What is known of syntax contexts.
enum Contexts<'a> {
    /// There is no compiler: a test of this crate.
    Absent,
    /// The compiler does not say which context a token has.
    Hidden,
    /// The context of a token, as a number.
    Told(&'a dyn Fn(Span) -> u64),
}

/// Tells the function's names apart.
pub(crate) fn named(function: &Function) -> Named {
    let told = |span: Span| context(span).unwrap_or_default();
    let contexts = match proc_macro::is_available() {
        false => Contexts::Absent,
        true if contexts_are_shown() => Contexts::Told(&told),
        true => Contexts::Hidden,
    };
    named_by(function, &contexts)
}

/// The number of a token's context. Its `Debug` form, `#5 bytes(10..11)`, is all that tells it.
fn context(span: Span) -> Option<u64> {
    let shown = format!("{:?}", span.unwrap());
    shown.strip_prefix('#')?.split(' ').next()?.parse().ok()
}

/// Whether the compiler shows contexts as expected: these two differ in every expansion.
fn contexts_are_shown() -> bool {
    match (context(Span::call_site()), context(Span::mixed_site())) {
        (Some(call), Some(mixed)) => call != mixed,
        _ => false,
    }
}

/// The body without the invisible groups around a macro's arguments.
pub(crate) fn ungrouped(block: &Block) -> Block {
    let mut block = block.clone();
    Names { each: |_: Role, _: &mut Ident| {}, in_arm: false }.visit_block_mut(&mut block);
    block
}

/// Whether the function has a local of this name.
pub(crate) fn binds(function: &Function, name: &Ident) -> bool {
    let mut found = false;
    let mut function = (function.signature.clone(), function.block.clone());
    let each = |role: Role, ident: &mut Ident| found |= role == Role::Binds && letters(ident) == letters(name);
    Names { each, in_arm: false }.visit(&mut function.0, &mut function.1);
    found
}

/// What an identifier does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Makes a local.
    Binds,
    /// May mean a local.
    Reads,
    /// Marks a loop.
    Labels,
    /// Names a loop.
    Jumps,
}

impl Role {
    fn is_of_loop(self) -> bool {
        matches!(self, Role::Labels | Role::Jumps)
    }
}

/// An identifier where it stands.
struct Occurrence {
    role: Role,
    ident: Ident,
    context: u64,
}

fn named_by(function: &Function, contexts: &Contexts) -> Named {
    let (mut signature, mut block) = (function.signature.clone(), function.block.clone());
    let context_of = |ident: &Ident| match contexts {
        Contexts::Told(context) => context(ident.span()),
        Contexts::Absent | Contexts::Hidden => 0,
    };

    let mut names: BTreeMap<(bool, String), Vec<Occurrence>> = BTreeMap::new();
    let each = |role: Role, ident: &mut Ident| {
        let occurrence = Occurrence { role, ident: ident.clone(), context: 0 };
        names.entry((role.is_of_loop(), letters(ident))).or_default().push(occurrence);
    };
    Names { each, in_arm: false }.visit(&mut signature, &mut block);
    let mut taken: BTreeSet<String> = names.keys().map(|(_, name)| name.clone()).collect();
    // A constant or another item has one meaning in all contexts.
    names.retain(|_, all| all.iter().any(|one| matches!(one.role, Role::Binds | Role::Labels)));

    let mut renamed: BTreeMap<(bool, String, u64), String> = BTreeMap::new();
    let mut assumption = TokenStream::new();
    for ((of_loop, name), all) in &mut names {
        all.iter_mut().for_each(|one| one.context = context_of(&one.ident));
        // The first of each context.
        let mut first: Vec<&Occurrence> = Vec::new();
        for one in all.iter() {
            if !first.iter().any(|known| known.context == one.context) {
                first.push(one);
            }
        }
        let idents: Vec<&Ident> = match contexts {
            Contexts::Hidden => all.iter().map(|one| &one.ident).collect(),
            Contexts::Absent | Contexts::Told(_) => first.iter().map(|one| &one.ident).collect(),
        };
        match (contexts, idents.as_slice()) {
            (_, [] | [_]) => {}
            (Contexts::Hidden, idents) => assumption.extend(are_one(*of_loop, idents)),
            (_, idents) => assumption.extend(are_several(*of_loop, name, idents)),
        }
        let raw = all.iter().any(|one| one.ident != name.as_str());
        if first.len() == 1 && !raw {
            continue;
        }
        let is_bound = |context: u64| {
            all.iter().any(|one| one.context == context && matches!(one.role, Role::Binds | Role::Labels))
        };
        let (bound, free): (Vec<u64>, Vec<u64>) =
            first.iter().map(|one| one.context).partition(|context| is_bound(*context));
        // `r#type` and `type` differ, `r#x` and `x` do not.
        let keyword = syn::parse_str::<Ident>(name).is_err();
        for (index, context) in bound.into_iter().enumerate() {
            if keyword && index == 0 && free.is_empty() {
                continue;
            }
            let mut fresh = name.clone();
            let mut number = 0;
            // What is no local keeps the name, and no local has it then.
            while (index > 0 || !free.is_empty()) && (fresh == *name || !taken.insert(fresh.clone())) {
                number += 1;
                fresh = format!("{name}_{number}");
            }
            renamed.insert((*of_loop, name.clone(), context), fresh);
        }
    }

    let mut originals = BTreeMap::new();
    let each = |role: Role, ident: &mut Ident| {
        let key = (role.is_of_loop(), letters(ident), context_of(ident));
        if let Some(name) = renamed.get(&key)
            && *ident != *name
        {
            originals.entry(name.clone()).or_insert_with(|| ident.clone());
            *ident = Ident::new(name, ident.span());
        }
    };
    Names { each, in_arm: false }.visit(&mut signature, &mut block);
    Named { signature, block, originals, assumption }
}

/// Compiles only if rustc tells each of the identifiers from the others.
fn are_several(of_loop: bool, name: &str, idents: &[&Ident]) -> TokenStream {
    let place = |ident: &Ident| Span::call_site().located_at(ident.span());
    let what = if of_loop { "label" } else { "name" };
    let message = format!(
        "Rust does not tell this {what} `{name}` from another one, which was made by a macro; the GPU's text does: give one of \
         them a {what} of its own"
    );
    if of_loop {
        let lifetimes: Vec<Lifetime> = idents.iter().map(|ident| lifetime(ident)).collect();
        let pairs = lifetimes
            .iter()
            .enumerate()
            .flat_map(|(index, outer)| lifetimes.iter().skip(index + 1).map(move |inner| (outer, inner)));
        return pairs
            .map(|(outer, inner)| {
                quote_spanned! {place(&inner.ident)=>
                    const _: () = #outer: {
                        #inner: {
                            break #outer;
                        }
                        ::core::panic!(#message)
                    };
                }
            })
            .collect();
    }
    let numbers = 0..idents.len();
    let bound = idents.iter().zip(numbers.clone()).map(|(ident, number)| quote!(let #ident = #number;));
    let checks = idents
        .iter()
        .zip(numbers)
        .map(|(ident, number)| quote_spanned!(place(ident)=> ::core::assert!(#ident == #number, #message);));
    quote!(const _: () = { #(#bound)* #(#checks)* };)
}

/// Compiles only if all of the identifiers are the same to rustc.
fn are_one(of_loop: bool, idents: &[&Ident]) -> TokenStream {
    let Some((first, others)) = idents.split_first() else { return TokenStream::new() };
    if of_loop {
        let (first, others) = (lifetime(first), others.iter().map(|ident| lifetime(ident)));
        return quote!(const _: () = #first: { #(if true { break #others; })* };);
    }
    quote! {
        const _: () = {
            struct Same;
            let #first = Same;
            #(let _: &Same = &#others;)*
        };
    }
}

fn lifetime(ident: &Ident) -> Lifetime {
    Lifetime { apostrophe: ident.span(), ident: ident.clone() }
}

/// Visits every identifier that can be a local or a label.
struct Names<F> {
    each: F,
    in_arm: bool,
}

impl<F: FnMut(Role, &mut Ident)> Names<F> {
    fn visit(&mut self, signature: &mut Signature, block: &mut Block) {
        for input in &mut signature.inputs {
            if let FnArg::Typed(typed) = input {
                self.visit_pat_mut(&mut typed.pat);
                self.visit_type_mut(&mut typed.ty);
            }
        }
        if let syn::ReturnType::Type(_, ty) = &mut signature.output {
            self.visit_type_mut(ty);
        }
        self.visit_block_mut(block);
    }
}

impl<F: FnMut(Role, &mut Ident)> VisitMut for Names<F> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        while let Expr::Group(group) = expr {
            *expr = std::mem::replace(&mut *group.expr, Expr::PLACEHOLDER);
        }
        match expr {
            Expr::Path(path) => {
                if path.qself.is_none()
                    && path.path.leading_colon.is_none()
                    && path.path.segments.len() == 1
                    && let Some(only) = path.path.segments.first_mut()
                    && only.arguments.is_none()
                {
                    (self.each)(Role::Reads, &mut only.ident);
                }
            }
            Expr::Call(call) => {
                // A function is no local: there are no closures.
                if !matches!(*call.func, Expr::Path(_)) {
                    self.visit_expr_mut(&mut call.func);
                }
                call.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
            }
            // The length is an item for rustc, which has it as it was written.
            Expr::Repeat(repeat) => self.visit_expr_mut(&mut repeat.expr),
            Expr::Struct(literal) => {
                for field in &mut literal.fields {
                    field.colon_token.get_or_insert_default();
                    self.visit_expr_mut(&mut field.expr);
                }
                literal.rest.iter_mut().for_each(|rest| self.visit_expr_mut(rest));
            }
            Expr::Match(matching) => self.visit_expr_match_mut(matching),
            expr => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_match_mut(&mut self, matching: &mut ExprMatch) {
        self.visit_expr_mut(&mut matching.expr);
        for Arm { pat, body, .. } in &mut matching.arms {
            let around = std::mem::replace(&mut self.in_arm, true);
            self.visit_pat_mut(pat);
            self.in_arm = around;
            self.visit_expr_mut(body);
        }
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        let constant = self.in_arm && pat.subpat.is_none() && is_constant(&pat.ident);
        (self.each)(if constant { Role::Reads } else { Role::Binds }, &mut pat.ident);
        if let Some((_, inner)) = &mut pat.subpat {
            self.visit_pat_mut(inner);
        }
    }

    fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
        field.colon_token.get_or_insert_default();
        self.visit_pat_mut(&mut field.pat);
    }

    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        if let Pat::Guard(guarded) = pat {
            self.visit_pat_mut(&mut guarded.pat);
            let around = std::mem::replace(&mut self.in_arm, false);
            self.visit_expr_mut(&mut guarded.guard);
            self.in_arm = around;
            return;
        }
        visit_mut::visit_pat_mut(self, pat);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        while let Type::Group(group) = ty {
            *ty = std::mem::replace(&mut *group.elem, syn::parse_quote!(_));
        }
        match ty {
            Type::Array(array) => self.visit_type_mut(&mut array.elem),
            Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(|ty| self.visit_type_mut(ty)),
            _ => {}
        }
    }

    fn visit_label_mut(&mut self, label: &mut syn::Label) {
        (self.each)(Role::Labels, &mut label.name.ident);
    }

    fn visit_lifetime_mut(&mut self, jump: &mut Lifetime) {
        (self.each)(Role::Jumps, &mut jump.ident);
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        if let Ok(mut condition) = asserted(mac) {
            self.visit_expr_mut(&mut condition);
            mac.tokens = condition.to_token_stream();
        }
    }

    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        // An item has names of its own. It is an error elsewhere.
        if !matches!(statement, Stmt::Item(_)) {
            visit_mut::visit_stmt_mut(self, statement);
        }
    }
}

#[cfg(test)]
mod tests;
