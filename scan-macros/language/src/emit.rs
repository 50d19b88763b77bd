//! The Rust item that comes out: the impl of the trait, the user's bodies untouched, the CUDA text beside them.

use crate::advance;
use crate::attribute::Laws;
use crate::hygiene;
use crate::ir::{Callee, Lowered};
use crate::operator::{Declare, FUNCTIONS, Function, Operator, Stepped, of_trait};
use crate::text::not_empty;
use crate::twin::Twins;
use crate::{print, uses};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::{FnArg, Ident, ItemFn, Member, Path, Signature, parse_quote};

/// The item. After an error there is no text, and the impl exists all the same, so that nothing else fails for want of it.
pub(crate) fn operator(operator: &Operator, lowered: Option<&[Lowered]>, twins: Twins) -> TokenStream {
    let Operator { krate, attributes, generics, trait_path, self_ty, input, state, output, .. } = operator;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let declaration = operator.declare.as_ref().map(declaration);
    let identity = match &operator.identity {
        Some((_, value)) if operator.names_identity => {
            quote_spanned!(value.span()=> #krate::__private::Some(Self::IDENTITY))
        }
        Some((ty, value)) => quote_spanned! {value.span()=>
            let __scan_identity: #ty = #value;
            #krate::__private::Some(__scan_identity)
        },
        None => quote!(#krate::__private::None),
    };
    let function = |function: &Function| self::function(function, lowered.is_some());
    let lift = find(operator, "lift").map(function).unwrap_or_else(|| {
        quote! { fn lift(&self, __scan_input: Self::Input) -> Self::State { __scan_input } }
    });
    let combine = find(operator, "combine").map(|combine| match &operator.declare {
        Some(Declare { function: Some(kept), .. }) => call_of(kept, &combine.signature),
        _ => function(combine),
    });
    let combine = combine.unwrap_or_else(|| {
        quote! { fn combine(&self, __scan_a: Self::State, _: Self::State) -> Self::State { __scan_a } }
    });
    let project = project(operator, &function);
    let append = find(operator, "append").map(function);
    let prepend = find(operator, "prepend").map(function);
    let folds_backwards = prepend.as_ref().filter(|_| operator.stepped.is_some()).map(|_| {
        quote! {
            #[inline(always)]
            fn folds_backwards(&self) -> bool { true }
        }
    });
    let carry = carry(operator, &function);
    // A wrong `lift` or `project` has been reported; a body that cannot be typed would be reported once more.
    let same = |a: &syn::Type, b: &syn::Type| quote!(#a).to_string() == quote!(#b).to_string();
    let input = if find(operator, "lift").is_some() || same(input, state) { input } else { state };
    let carried = operator.stepped.as_ref().map_or(state, |stepped| &stepped.carry);
    let has_output = ["project", "emit"].iter().any(|name| find(operator, name).is_some());
    let output = if has_output || same(output, carried) { output } else { carried };
    let source = source(operator, lowered, twins);
    let parameters = (!operator.fields.is_empty()).then(|| {
        let fields = operator.fields.iter().map(|member| {
            let name = match member {
                Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            // At the field's own span, so that rustc points at it.
            let field = quote_spanned!(member.span()=> &self.#member);
            quote!(.with(#name, #field))
        });
        quote! {
            fn parameters(&self) -> #krate::__private::Parameters {
                <#krate::__private::Parameters as #krate::__private::Default>::default() #(#fields)*
            }
        }
    });
    let vectorized = operator.vectorized.as_ref().map(|how| {
        quote! {
            #[inline]
            fn vectorized(&self) -> #krate::__private::Option<#krate::__private::Vectorized<Self>> { #how }
        }
    });
    let folds = |function: &&Lowered| function.name != "project" && function.name != "emit";
    let exact = lowered.is_some_and(|all| !all.iter().filter(folds).any(|one| uses::of(&one.body).rounds()));
    let exact = exact.then(|| {
        quote! {
            #[inline(always)]
            fn rounds(&self) -> bool { false }
        }
    });
    // The trait has a function for it. Bodies that name the constant have it from here.
    let identity_constant = operator.identity.as_ref().filter(|_| operator.names_identity).map(|(_, value)| {
        quote! {
            impl #impl_generics #self_ty #where_clause {
                const IDENTITY: #state = #value;
            }
        }
    });
    let start_constant = operator.stepped.as_ref().filter(|_| operator.names_start).map(|stepped| {
        let Stepped { carry, start: (_, value) } = stepped;
        quote! {
            impl #impl_generics #self_ty #where_clause {
                const START: #carry = #value;
            }
        }
    });
    let laws = lowered.and(operator.laws.as_ref()).map(|laws| test_of_laws(operator, laws));
    // A type that is no element is one error here, where rustc would report it at each of its uses.
    let mut bounds = generics.clone();
    let mut told: Vec<&syn::Type> = Vec::new();
    for ty in [input, state, output, carried] {
        if !told.iter().any(|earlier| same(earlier, ty)) {
            told.push(ty);
            // All of it at the type's own span, so that rustc points at the type.
            let at = |mut token: TokenTree| {
                token.set_span(ty.span());
                token
            };
            let bound: TokenStream = quote!(: #krate::ScanElement).into_iter().map(at).collect();
            bounds.make_where_clause().predicates.push(parse_quote!(#ty #bound));
        }
    }
    let bounds = &bounds.where_clause;
    let implementation = quote! {
        #(#attributes)*
        #[allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]
        unsafe impl #impl_generics #trait_path for #self_ty #bounds {
            type Input = #input;
            type State = #state;
            type Output = #output;
            fn identity(&self) -> #krate::__private::Option<Self::State> { #identity }
            #lift
            #combine
            #append
            #prepend
            #folds_backwards
            #carry
            #project
            #source
            #parameters
            #exact
            #vectorized
        }
    };
    let implementation = match &operator.declare {
        Some(Declare { ident, .. }) if operator.functions.iter().any(|function| hygiene::binds(function, ident)) => {
            apart_from(ident, &implementation)
        }
        _ => implementation,
    };
    quote! {
        #declaration
        #identity_constant
        #start_constant
        #laws
        #implementation
    }
}

/// What moves from input to input: of a stepped operator its carry, else the state.
fn carry(operator: &Operator, function: &impl Fn(&Function) -> TokenStream) -> TokenStream {
    let krate = &operator.krate;
    let Some(Stepped { carry, start: (ty, value) }) = &operator.stepped else {
        return quote!(#krate::__scan_carry_is_state! {});
    };
    let start = match operator.names_start {
        true => quote_spanned!(value.span()=> Self::START),
        false => quote_spanned!(value.span()=> { let __scan_start: #ty = #value; __scan_start }),
    };
    let [apply, step] = ["apply", "step"].map(|name| find(operator, name));
    let apply = apply.map(function).unwrap_or_else(|| {
        quote! { fn apply(&self, _: Self::State, __scan_carry: Self::Carry) -> Self::Carry { __scan_carry } }
    });
    let steps = match &operator.advance {
        Some(advance) => {
            let advance = function(advance);
            quote! {
                #advance
                #krate::__scan_advances! {}
            }
        }
        None => {
            let step = step.map(function).unwrap_or_else(|| {
                quote! { fn step(&self, __scan_carry: Self::Carry, _: Self::Input) -> Self::Carry { __scan_carry } }
            });
            let emit = find(operator, "emit").map(|emit| {
                let emit = function(emit);
                quote! {
                    #emit
                    #krate::__scan_emits! {}
                }
            });
            quote!(#step #emit)
        }
    };
    quote! {
        type Carry = #carry;
        fn start(&self) -> #krate::__private::Option<Self::Carry> { #krate::__private::Some(#start) }
        fn carry_of(&self, __scan_state: Self::State) -> Self::Carry { self.apply(__scan_state, #start) }
        #apply
        #steps
        #krate::__scan_is_stepped! {}
    }
}

/// What makes an output of a carry: without a `project` the carry itself. Where an operator emits, that may be of
/// another type; rustc alone knows whether it is, because a type may have two names.
fn project(operator: &Operator, function: &impl Fn(&Function) -> TokenStream) -> TokenStream {
    let Operator { krate, name, .. } = operator;
    match (find(operator, "project"), find(operator, "emit")) {
        (Some(project), _) => function(project),
        (None, None) => quote! { fn project(&self, __scan_carry: Self::Carry) -> Self::Output { __scan_carry } },
        (None, Some(_)) => quote! {
            fn project(&self, __scan_carry: Self::Carry) -> Self::Output {
                #krate::__private::carry_as_output(#name, __scan_carry)
            }
            #[inline]
            fn outputs_of(&self) -> #krate::__private::OutputsOf {
                match #krate::__private::is_one_type::<Self::Carry, Self::Output>() {
                    true => #krate::__private::OutputsOf::Prefixes,
                    false => #krate::__private::OutputsOf::Inputs,
                }
            }
        },
    }
}

/// The implementation where locals can have the operator's own name: to a pattern the name of a unit struct is its value, and
/// that of a function is free.
fn apart_from(ident: &Ident, implementation: &TokenStream) -> TokenStream {
    quote! {
        #[allow(non_local_definitions)]
        const _: () = {
            #[allow(dead_code, non_snake_case)]
            fn #ident() {}
            #implementation
        };
    }
}

/// The name of a test of an operator.
pub(crate) fn name_of_test(of: &str, self_ty: &syn::Type, laws: &Laws) -> Ident {
    // Two operators of one name may stand in a module, `Sum<f32>` and `Sum<f64>`.
    let words = quote!(#self_ty).to_string();
    let words: Vec<&str> = words.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    Ident::new(&format!("{of}_{}", words.join("_")), laws.name.span())
}

/// The operator that is tested.
pub(crate) fn value_of_test(self_ty: &syn::Type, laws: &Laws) -> TokenStream {
    match &laws.operator {
        Some(value) => quote!(#value),
        None => quote!(#self_ty),
    }
}

/// A test that fails with the counterexample.
fn test_of_laws(operator: &Operator, laws: &Laws) -> TokenStream {
    let Operator { krate, self_ty, .. } = operator;
    let (name, value) = (name_of_test("laws_of", self_ty, laws), value_of_test(self_ty, laws));
    let options = laws.check.iter().map(|(option, value)| quote!(.#option(#value)));
    let run = match &laws.samples {
        Some(samples) => quote!(.run(&#value, #samples)),
        None => quote!(.run_on_default_samples(&#value)),
    };
    quote! {
        #[cfg(test)]
        #[::core::prelude::v1::test]
        #[allow(non_snake_case)]
        fn #name() -> #krate::__private::LawsResult {
            #krate::__private::laws_hold(&#krate::laws::Check::new()#(#options)* #run?)
        }
    }
}

fn declaration(declare: &Declare) -> TokenStream {
    let Declare { attributes, visibility, ident, function } = declare;
    quote! {
        #function
        #(#attributes)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, Default)]
        #visibility struct #ident;
    }
}

/// The trait's function, which calls the one that stays: rustc then reports on one body.
fn call_of(kept: &ItemFn, signature: &Signature) -> TokenStream {
    let Signature { ident, inputs, output, .. } = signature;
    let types = inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(&typed.ty),
        FnArg::Receiver(_) => None,
    });
    let names = ["__scan_a", "__scan_b"].map(|name| Ident::new(name, Span::call_site()));
    let parameters = names.iter().zip(types).map(|(name, ty)| quote!(#name: #ty));
    let kept = &kept.sig.ident;
    quote! {
        #[inline]
        fn #ident(&self, #(#parameters),*) #output { #kept(#(#names),*) }
    }
}

fn find<'a>(operator: &'a Operator, name: &str) -> Option<&'a Function> {
    operator.functions.iter().find(|function| function.signature.ident == name)
}

/// The user's function; its signature gains the `&self` that may be left out. After an error of the macro it has no body:
/// what rustc would say of it then follows from the error, or repeats it.
fn function(function: &Function, is_sound: bool) -> TokenStream {
    let Function { attributes, signature, block } = function;
    let (unused, block) = match is_sound {
        true => (None, block.to_token_stream()),
        false => (Some(quote!(#[allow(unused)])), quote!({ loop {} })),
    };
    let mut signature = signature.clone();
    if signature.receiver().is_none() {
        let receiver: FnArg = parse_quote!(&self);
        signature.inputs.insert(0, receiver);
    }
    quote!(#(#attributes)* #unused #signature #block)
}

fn source(operator: &Operator, lowered: Option<&[Lowered]>, twins: Twins) -> TokenStream {
    let Operator { krate, name, .. } = operator;
    let private = quote!(#krate::__private);
    // After an error there is none, so that it is not reported once more.
    let twins = lowered.map(|_| {
        let functions = advance::written(&operator.functions, operator.advance.as_ref());
        twins.statement(krate, &operator.generics, functions)
    });
    let lowered = lowered.unwrap_or_default();
    let callees = callees(lowered);
    let functions = lowered.iter().map(|function| {
        // The trait says which types these are; rustc has compared them with those that the user wrote.
        let of_trait = of_trait(&function.name).unwrap_or(&FUNCTIONS[0]);
        let ty = |name: &str| {
            let name = Ident::new(name, Span::call_site());
            quote!(Self::#name)
        };
        let takes: Vec<_> = of_trait.takes.iter().map(|name| ty(name)).collect();
        function_text(krate, &function.name, function, &takes, &ty(of_trait.returns), false)
    });
    // The `self` that the twins name: that of the user's macro, where it has one of its own.
    let this = operator.functions.iter().find_map(|function| function.signature.receiver());
    let this = this.map_or_else(|| quote!(self), |receiver| receiver.self_token.to_token_stream());
    // The text takes a lower-case name in a pattern for a new one. Where it is a constant, this does not compile.
    let bindings = lowered.iter().flat_map(|function| &function.bindings);
    let assumptions = lowered.iter().map(|function| &function.assumption);
    let mut types = vec![&operator.input, &operator.state, &operator.output];
    types.extend(operator.stepped.as_ref().map(|stepped| &stepped.carry));
    types.dedup_by(|a, b| quote!(#a).to_string() == quote!(#b).to_string());
    let types = types.into_iter().filter(|_| !lowered.is_empty()).map(|ty| not_empty(krate, &quote!(#ty)));
    let types: TokenStream = types.collect();
    // As an item, where it can be one, it is evaluated by `cargo check`.
    let types = match operator.generics.params.is_empty() && !names_self(&types) {
        true => quote!(const _: () = { #types };),
        false => quote!(const { #types };),
    };
    let called = lowered.iter().flat_map(|function| uses::of(&function.body).types());
    let called: BTreeMap<String, TokenStream> = called.map(|callee| (callee.to_string(), callee)).collect();
    let called = called.values();
    quote! {
        #[allow(unused, non_camel_case_types, clippy::all)]
        fn source(&#this) -> #private::OpSource {
            #twins
            #callees
            #(let #bindings = ();)*
            #(#assumptions)*
            #types
            #(#private::not_recursive::<#called>();)*
            #private::operator(#this, #name, const { &[#(#functions),*] })
        }
    }
}

/// Whether `Self` is among the tokens.
fn names_self(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => names_self(&group.stream()),
        _ => false,
    })
}

/// A function's text as a constant; `takes` and `returns` are its types.
pub(crate) fn function_text(
    krate: &Path,
    name: &str,
    function: &Lowered,
    takes: &[TokenStream],
    returns: &TokenStream,
    cold: bool,
) -> TokenStream {
    let private = quote!(#krate::__private);
    let Lowered { parameters, body, .. } = function;
    let (uses, calls) = uses::of(body).to_tokens(krate);
    let body = print::body(body).to_tokens(krate);
    quote! {
        #private::Function {
            name: #name,
            parameters: &[#((#parameters, <#takes as #private::ScanElement>::layout)),*],
            returns: <#returns as #private::ScanElement>::layout,
            body: #body,
            uses: #uses,
            calls: #calls,
            cold: #cold,
            file: || #private::source_path(#private::file!(), #private::option_env!("CARGO_MANIFEST_DIR")),
        }
    }
}

/// The names under which the text finds the functions that are called.
///
/// `use` brings a function and, if it is marked, the type of the same name. Where it is not, the name means the type from the
/// module, which a glob brings only for want of another: so the error is that the function is not marked.
pub(crate) fn callees(lowered: &[Lowered]) -> TokenStream {
    let mut found: Vec<&Callee> = Vec::new();
    for callee in lowered.iter().flat_map(|function| uses::of(&function.body).callees) {
        if !found.iter().any(|known| known.alias == callee.alias) {
            found.push(callee);
        }
    }
    if found.is_empty() {
        return TokenStream::new();
    }
    let aliases: Vec<_> = found.iter().map(|callee| &callee.alias).collect();
    let imports = found.iter().map(|Callee { path, alias }| quote!(use #path as #alias;));
    quote! {
        mod scan_unmarked {
            #(pub type #aliases = ();)*
        }
        use scan_unmarked::*;
        #(#imports)*
    }
}
