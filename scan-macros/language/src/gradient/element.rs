//! `#[scan_element(gradient)]`: the float components of a struct.

use crate::errors::Errors;
use crate::helper;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Fields, Index, ItemStruct, Member, Path, Type};

/// The implementation of `Components` for a struct.
pub(crate) fn components(krate: &Path, word: &Ident, item: &ItemStruct, errors: &mut Errors) -> TokenStream {
    if !item.generics.params.is_empty() {
        errors
            .at(word, "the gradient of a generic struct is not derived: write the struct for one type, and mark that");
        return TokenStream::new();
    }
    let fields: Vec<(Member, &Type)> = members(&item.fields);
    let ident = &item.ident;
    let (private, module) = (quote!(#krate::gradient::private), quote!(#krate::gradient::Components));
    let types: Vec<&Type> = fields.iter().map(|(_, ty)| *ty).collect();
    let members: Vec<&Member> = fields.iter().map(|(member, _)| member).collect();
    let scalar = quote!(ScanScalar);
    let of_field = |ty: &Type| quote!(<#ty as #module>);
    // Only fields with components have a say.
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
    let name = ident.to_string();
    let name = name.trim_start_matches("r#");
    let names = ["component", "plus", "dot", "plus_scaled", "products"].map(|of| format_ident!("{name}_{of}"));
    let [component, plus, dot, plus_scaled, products] = &names;
    let functions = [
        quote! {
            #[inline(always)]
            fn #component(of: #ident, index: usize) -> #scalar {
                let mut found: #scalar = 0.0;
                #(#found)*
                found
            }
        },
        quote! {
            #[inline(always)]
            fn #plus(to: #ident, index: usize, value: #scalar) -> #ident {
                let mut sum = to;
                #(#added)*
                sum
            }
        },
        quote! {
            #[inline(always)]
            fn #dot(a: #ident, b: #ident) -> #scalar {
                let mut sum: #scalar = 0.0;
                #(sum += #private::dot::<#some_types>(a.#some_members, b.#some_members) as #scalar;)*
                sum
            }
        },
        quote! {
            #[inline(always)]
            fn #plus_scaled(to: #ident, other: #ident, factor: #scalar) -> #ident {
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
            fn #products(a: #ident, b: #ident) -> #ident {
                let mut products = a;
                #(products.#some_members = #private::multiply::<#some_types>(a.#some_members, b.#some_members);)*
                products
            }
        },
    ];
    let functions = functions.map(|function| helper::scan_fn(quote!(crate = #krate), function));
    quote! {
        #[allow(unused, non_local_definitions, non_snake_case, non_camel_case_types, missing_docs, clippy::all)]
        const _: () = {
            type ScanScalar = <#private::Width<{ #(<#types as #module>::WIDE)||* }> as #private::Float>::Float;
            #(#functions)*
            #[automatically_derived]
            impl #module for #ident {
                const SEALED: #krate::__private::ByMacro = #krate::__private::ByMacro;
                type Scalar = ScanScalar;
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
                const CALLEES: [#krate::__private::Callee; 5] =
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
