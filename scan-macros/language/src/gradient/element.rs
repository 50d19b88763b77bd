//! `#[scan_element(gradient)]`: the float components of a struct.

use super::Gradient;
use super::halves::{self, Halves};
use super::instances;
use crate::errors::Errors;
use crate::helper;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Fields, Index, ItemStruct, Member, Path, Type};

/// The implementation of `Components` for a struct.
pub(crate) fn components(krate: &Path, gradient: &Gradient, item: &ItemStruct, errors: &mut Errors) -> TokenStream {
    let instances = instances::of_struct(item, gradient, errors);
    let components = instances
        .iter()
        .map(|(instance, item)| implementation(krate, &gradient.name, (instance, item), &tangent(krate, item), errors));
    components.collect()
}

/// The type in which a struct's changes are computed.
struct TangentType {
    /// The struct with wider fields, and its own implementation.
    declared: Option<TokenStream>,
    /// The type, in the implementation.
    ty: TokenStream,
}

/// The struct itself, or one with `f32` in place of floats of 16 bits. Of fields that are structs, rustc decides.
fn tangent(krate: &Path, item: &ItemStruct) -> TangentType {
    if !item.fields.iter().any(|field| halves::may_hold(&field.ty)) {
        return TangentType { declared: None, ty: quote!(Self) };
    }
    let halves = Halves { krate, named: true };
    let mut wider = item.clone();
    wider.ident = format_ident!("{}Tangent", item.ident);
    wider.vis = syn::parse_quote!(pub);
    wider.attrs = vec![syn::parse_quote!(#[derive(Clone, Copy)])];
    for field in &mut wider.fields {
        let ty = halves.ty(&field.ty);
        field.attrs.clear();
        field.ty = syn::parse_quote!(#ty);
    }
    let (ident, types) = (&wider.ident, item.fields.iter().map(|field| &field.ty));
    let own = TangentType { declared: None, ty: quote!(Self) };
    let components = implementation(krate, ident, (&syn::parse_quote!(#ident), &wider), &own, &mut Errors::default());
    let element = crate::element::scan_element(quote!(crate = #krate), wider.to_token_stream());
    let (private, module) = (quote!(#krate::gradient::private), quote!(#krate::gradient::Components));
    TangentType {
        declared: Some(quote!(#element #components)),
        ty: quote!(<#private::Whole<{ #(<#types as #module>::WHOLE)&&* }> as #private::Choice<Self, #ident>>::Chosen),
    }
}

fn implementation(
    krate: &Path,
    word: &Ident,
    (own, item): (&Type, &ItemStruct),
    tangent: &TangentType,
    errors: &mut Errors,
) -> TokenStream {
    let fields: Vec<(Member, &Type)> = members(&item.fields);
    let (private, module) = (quote!(#krate::gradient::private), quote!(#krate::gradient::Components));
    let types: Vec<&Type> = fields.iter().map(|(_, ty)| *ty).collect();
    let members: Vec<&Member> = fields.iter().map(|(member, _)| member).collect();
    let scalar = quote!(ScanScalar);
    let of_field = |ty: &Type| quote!(<#ty as #module>);
    // The others are constants.
    let some: Vec<(&Member, &Type)> =
        fields.iter().filter(|(_, ty)| !super::function::is_discrete(ty)).map(|(member, ty)| (member, *ty)).collect();
    if some.is_empty() && !fields.is_empty() {
        errors.at(word, format!("`{}` has no gradient: there is no float in it", item.ident));
        return TokenStream::new();
    }
    let mut first = quote!(0);
    let mut found = Vec::new();
    let mut added = Vec::new();
    for (member, ty) in &some {
        let of = of_field(ty);
        let here = first.clone();
        found.push(quote! {
            if index >= #here && index < #here + #of::COUNT {
                found = #private::component::<#ty>(of.#member, index - (#here)) as #scalar;
            }
        });
        added.push(quote! {
            if index >= #here && index < #here + #of::COUNT {
                sum.#member = #private::add_at::<#ty>(to.#member, index - (#here), value as #of::Scalar);
            }
        });
        first = quote!(#first + #of::COUNT);
    }
    let (some_members, some_types): (Vec<_>, Vec<_>) = some.iter().copied().unzip();
    // Two instances are next to each other.
    let name: String = own.to_token_stream().to_string().replace(' ', "").replace("r#", "");
    let name = name.trim_end_matches('>').replace(|letter: char| !letter.is_alphanumeric() && letter != '_', "_");
    let names = ["component", "plus", "dot", "plus_scaled", "products", "widened", "narrowed"];
    let names = names.map(|of| format_ident!("{name}_{of}"));
    let [component, plus, dot, plus_scaled, products, widened, narrowed] = &names;
    let TangentType { declared, ty: tangent } = tangent;
    let (wider, literal) = (quote!(#private::TangentOf::<#own>), quote!(ScanOwn));
    // Of a struct that is its own tangent, the same.
    let converted = |to: &TokenStream, function: &str| {
        let function = format_ident!("{function}");
        match declared {
            Some(_) => quote!(#to { #(#members: #private::#function::<#types>(of.#members)),* }),
            None => quote!(of),
        }
    };
    let (to_wider, to_own) = (converted(&wider, "widened"), converted(&literal, "narrowed"));
    let functions = [
        quote! {
            #[inline(always)]
            fn #component(of: #own, index: usize) -> #scalar {
                let mut found: #scalar = 0.0;
                #(#found)*
                found
            }
        },
        quote! {
            #[inline(always)]
            fn #plus(to: #own, index: usize, value: #scalar) -> #own {
                let mut sum = to;
                #(#added)*
                sum
            }
        },
        quote! {
            #[inline(always)]
            fn #dot(a: #own, b: #own) -> #scalar {
                let mut sum: #scalar = 0.0;
                #(sum += #private::dot::<#some_types>(a.#some_members, b.#some_members) as #scalar;)*
                sum
            }
        },
        quote! {
            #[inline(always)]
            fn #plus_scaled(to: #own, other: #own, factor: #scalar) -> #own {
                let mut sum = to;
                #(
                    sum.#some_members = #private::add_scaled::<#some_types>(
                        to.#some_members,
                        other.#some_members,
                        factor as <#some_types as #module>::Scalar,
                    );
                )*
                sum
            }
        },
        quote! {
            #[inline(always)]
            fn #products(a: #own, b: #own) -> #own {
                let mut products = a;
                #(products.#some_members = #private::multiply::<#some_types>(a.#some_members, b.#some_members);)*
                products
            }
        },
        quote! {
            #[inline(always)]
            fn #widened(of: #own) -> #private::TangentOf<#own> {
                #to_wider
            }
        },
        quote! {
            #[inline(always)]
            fn #narrowed(of: #private::TangentOf<#own>) -> #own {
                #to_own
            }
        },
    ];
    let functions = functions.map(|function| helper::derived(krate, function));
    quote! {
        #[allow(unused, non_local_definitions, non_snake_case, non_camel_case_types, missing_docs, clippy::all)]
        const _: () = {
            type ScanOwn = #own;
            type ScanScalar = <#private::Width<{ #(<#types as #module>::WIDE)||* }> as #private::Float>::Float;
            #declared
            #(#functions)*
            #[automatically_derived]
            impl #module for #own {
                const SEALED: #krate::__private::ByMacro = #krate::__private::ByMacro;
                type Scalar = ScanScalar;
                type Tangent = #tangent;
                const WHOLE: bool = #(<#types as #module>::WHOLE)&&*;
                const WIDE: bool = #(<#types as #module>::WIDE)||*;
                const COUNT: usize = 0 #(+ <#types as #module>::COUNT)*;
                const ZERO: Self = Self { #(#members: <#types as #module>::ZERO),* };
                const ONES: Self = Self { #(#members: <#types as #module>::ONES),* };
                #[inline(always)]
                fn component(self, index: usize) -> ScanScalar {
                    #component(self, index)
                }
                #[inline(always)]
                fn add_at(self, index: usize, value: ScanScalar) -> Self {
                    #plus(self, index, value)
                }
                #[inline(always)]
                fn dot(self, other: Self) -> ScanScalar {
                    #dot(self, other)
                }
                #[inline(always)]
                fn add_scaled(self, other: Self, factor: ScanScalar) -> Self {
                    #plus_scaled(self, other, factor)
                }
                #[inline(always)]
                fn multiply(self, other: Self) -> Self {
                    #products(self, other)
                }
                #[inline(always)]
                fn widened(self) -> #private::TangentOf<#own> {
                    #widened(self)
                }
                #[inline(always)]
                fn narrowed(of: #private::TangentOf<#own>) -> Self {
                    #narrowed(of)
                }
                const CALLEES: [#krate::__private::Callee; 7] =
                    [#(<#names as #krate::__private::ScanFn>::CALLEE),*];
            }
        };
    }
}

fn members(fields: &Fields) -> Vec<(Member, &Type)> {
    let member = |(index, field)| {
        let field: &syn::Field = field;
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        (member, &field.ty)
    };
    fields.iter().enumerate().map(member).collect()
}
