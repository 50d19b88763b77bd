//! Names as rustc distinguishes them.
//!
//! An identifier that went through a `macro_rules!` carries a syntax context, so that a function can have two locals
//! `y`: one of the macro's, and one of the caller's. The later passes know names by their letters. This one gives the
//! locals and labels of different contexts different letters. It also removes the invisible groups around a macro's
//! arguments, which the tree does not need.

mod assumptions;
mod names;
#[cfg(test)]
mod tests;

use crate::operator::Function;
use crate::syntax::letters;
use assumptions::{are_one, are_several};
use names::{Names, Role};
use proc_macro2::{Span, TokenStream};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit_mut::VisitMut;
use syn::{Block, Ident, Signature};

/// A function whose locals and labels differ in their letters.
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
    /// There is no compiler: all tokens are of one text.
    Absent,
    /// The compiler does not say which context a token has.
    Hidden,
    /// The context of a token, as a number.
    Told(&'a dyn Fn(Span) -> u64),
}

/// Makes the function's names differ.
pub(crate) fn named(function: &Function) -> Named {
    let told = |span: Span| context(span).unwrap_or_default();
    let contexts = match crate::in_a_macro() {
        false => Contexts::Absent,
        true if contexts_are_shown() => Contexts::Told(&told),
        true => Contexts::Hidden,
    };
    named_by(function, &contexts)
}

/// The number of a token's context. Its `Debug` form, `#5 bytes(10..11)`, is all that tells it.
fn context(span: Span) -> Option<u64> {
    let shown = format!("{span:?}");
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
