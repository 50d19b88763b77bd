//! Structs.

use super::attributes::{derives, pass_arguments};
use super::columns::columns;
use crate::errors::Errors;
use crate::language;
use crate::text::not_empty;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Fields, GenericParam, Ident, Index, ItemStruct, Member, Meta, Path, Type};

/// The maximum size of an element, in bytes.
const LARGEST: usize = 256;

pub(super) fn structure(krate: &Path, item: ItemStruct, errors: &mut Errors) -> TokenStream {
    let repr = representation(&item, errors);
    for parameter in &item.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            errors.at(lifetime, "an element holds values, not borrows: a lifetime has no place in it");
        }
    }
    let fields = match &item.fields {
        Fields::Unit => {
            errors.at(&item.ident, "an element needs a field: a scan has nothing to move otherwise");
            Vec::new()
        }
        Fields::Named(fields) if fields.named.is_empty() => {
            errors.at(&item.ident, "an element needs a field: a scan has nothing to move otherwise");
            Vec::new()
        }
        Fields::Unnamed(fields) if fields.unnamed.is_empty() => {
            errors.at(&item.ident, "an element needs a field: a scan has nothing to move otherwise");
            Vec::new()
        }
        fields => members(fields),
    };
    for (_, ty) in &fields {
        field_type(ty, errors);
    }
    if item.generics.lifetimes().next().is_some() {
        // An impl for it would only bring rustc's own errors about the lifetime.
        return quote!(#repr #item);
    }
    // The impl exists after an error as well, so that its absence causes no further errors.
    let sound = errors.is_empty();
    let implementation = implementation(krate, &item, if sound { &fields } else { &[] }, sound);
    quote! {
        #repr
        #item
        #implementation
    }
}

/// `#[repr(C)]`, unless the user fixed the layout already.
fn representation(item: &ItemStruct, errors: &mut Errors) -> Option<TokenStream> {
    let mut fixed = false;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let Meta::List(list) = &attribute.meta else { continue };
        let parsed = list.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                errors.at(&meta.path, "an element cannot be packed: its fields must be aligned on the GPU");
            }
            fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            pass_arguments(&meta)
        });
        if let Err(error) = parsed {
            errors.push(error);
        }
    }
    (!fixed).then(|| quote!(#[repr(C)]))
}

fn members(fields: &Fields) -> Vec<(Member, &Type)> {
    let member = |(index, field)| -> (Member, &Type) {
        let field: &syn::Field = field;
        match &field.ident {
            Some(ident) => (Member::Named(ident.clone()), &field.ty),
            None => (Member::Unnamed(Index::from(index)), &field.ty),
        }
    };
    fields.iter().enumerate().map(member).collect()
}

/// The errors of a field's type that show in its syntax; rustc reports the rest.
fn field_type(ty: &Type, errors: &mut Errors) {
    match ty {
        Type::Reference(_) | Type::Ptr(_) => {
            errors.at(ty, "an element holds values: a reference means nothing on the GPU");
        }
        Type::Tuple(_) => errors.at(ty, "a tuple has no fixed layout: make a `#[scan_element]` struct of it"),
        Type::Path(path) if language::is_option(path) => errors.at(ty, language::NO_OPTION_TYPE),
        Type::Slice(_) => errors.at(ty, "an element has a fixed size: use an array, `[f32; 4]`"),
        Type::FnPtr(_) | Type::TraitObject(_) | Type::ImplTrait(_) => {
            errors.at(ty, "an element holds plain data: numbers, `bool`, arrays and structs of these");
        }
        _ => {}
    }
}

fn implementation(krate: &Path, item: &ItemStruct, fields: &[(Member, &Type)], sound: bool) -> TokenStream {
    let private = quote!(#krate::__private);
    let ident = &item.ident;
    let mut generics = item.generics.clone();
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(syn::parse_quote!(#krate::ScanElement));
        }
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    // Of a type that is no element rustc lists some that are: marked ones say nothing, and hide the numbers. Through one with
    // parameters a missing bound of theirs is reported.
    let unlisted = item.generics.params.is_empty().then(|| quote!(#[diagnostic::do_not_recommend]));
    let name = name(&private, ident, &item.generics);
    let compares = derives(&item.attrs, "PartialEq");
    let comparisons = (sound && compares).then(|| comparisons(&private, ident, &generics, fields));
    let types = fields.iter().map(|(_, ty)| ty);
    let layouts = fields.iter().map(|(member, ty)| {
        let name = match member {
            Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        // At the field's own span, so that rustc points at it.
        quote_spanned!(ty.span()=> (#name, #private::offset_of!(Self, #member), <#ty as #private::ScanElement>::layout))
    });
    let checks: TokenStream = fields.iter().map(|(_, ty)| not_empty(krate, &quote!(#ty))).collect();
    let size = sound.then(|| size_check(&private, item, &checks));
    let exact = exact_fields(fields);
    let zero_bits = sound.then(|| zero_bits(krate, ident, &generics, fields));
    let columns = sound.then(|| columns(&private, item, &generics, fields));
    let inside = (sound && !item.generics.params.is_empty()).then(|| {
        let message = format!("`{ident}` must have 1 to {LARGEST} bytes to be an element");
        quote!(const { #private::assert!(#private::size_of::<Self>() >= 1 && #private::size_of::<Self>() <= #LARGEST, #message); #checks };)
    });
    quote! {
        #size
        // SAFETY: the layout comes from `size_of`, `align_of` and `offset_of!`, and every field is an element itself.
        #[automatically_derived]
        #unlisted
        unsafe impl #impl_generics #krate::ScanElement for #ident #type_generics #where_clause {
            const SEALED: #private::ByMacro = #private::ByMacro;
            fn layout() -> #private::ElementType {
                #inside
                #exact
                #private::structure::<Self>(#name, #compares, const { &[#(#layouts),*] })
            }
            const OPERATIONS: #private::types::Operations =
                #private::types::Operations::structure(#compares, &[#(<#types as #private::ScanElement>::OPERATIONS),*]);
        }
        #private::device_items! {
            // SAFETY: an element is plain data with a fixed layout, which is what kernels take.
            #[automatically_derived]
            unsafe impl #impl_generics #krate::cudarc::driver::DeviceRepr for #ident #type_generics #where_clause {}
            #zero_bits
        }
        #columns
        #comparisons
    }
}

/// A struct is valid as zeros where its fields are, so that `cudarc` allocates zeros of it.
fn zero_bits(krate: &Path, ident: &Ident, generics: &syn::Generics, fields: &[(Member, &Type)]) -> TokenStream {
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let given = where_clause.map(|clause| clause.predicates.iter()).into_iter().flatten();
    let zeros = quote!(#krate::cudarc::driver::ValidAsZeroBits);
    // With a lifetime of its own a bound is looked at only where the impl is used.
    let fields = fields.iter().map(|(_, ty)| quote!(for<'scan_field> #ty: #zeros));
    quote! {
        // SAFETY: zeros are a value of each field, and padding can have any bytes.
        #[automatically_derived]
        unsafe impl #impl_generics #zeros for #ident #type_generics where #(#given,)* #(#fields),* {}
    }
}

/// Has rustc compare the fields that it compiles with those that this attribute has seen: another attribute below may have changed
/// them, or packed them, which a reference to a field does not allow.
fn exact_fields(fields: &[(Member, &Type)]) -> Option<TokenStream> {
    let patterns = fields.iter().enumerate().map(|(index, (member, _))| {
        let field = format_ident!("__scan_field_{index}");
        quote!(#member: #field)
    });
    let types = fields.iter().enumerate().map(|(index, (_, ty))| {
        let field = format_ident!("__scan_field_{index}");
        quote_spanned!(ty.span()=> let _: &#ty = #field;)
    });
    (!fields.is_empty())
        .then(|| quote!(let _ = |__scan_value: &Self| { let Self { #(#patterns),* } = __scan_value; #(#types)* };))
}

/// A struct whose `PartialEq` is derived is compared by its fields, as far as they are.
fn comparisons(
    private: &TokenStream,
    ident: &Ident,
    generics: &syn::Generics,
    fields: &[(Member, &Type)],
) -> TokenStream {
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let given = where_clause.map(|clause| &clause.predicates);
    let given = given.filter(|given| !given.is_empty()).map(|given| {
        let given = given.iter();
        quote!(#(#given,)*)
    });
    let implementation = |name: &str| {
        let name = Ident::new(name, Span::call_site());
        // With a lifetime of its own a bound is looked at only where the impl is used.
        let fields = fields.iter().map(|(_, ty)| quote!(for<'scan_field> #ty: #private::types::#name));
        quote! {
            #[automatically_derived]
            impl #impl_generics #private::types::#name for #ident #type_generics where #given #(#fields),* {}
        }
    };
    let (equal, matched) = (implementation("Equal"), implementation("Matched"));
    quote!(#equal #matched)
}

/// The size is known to rustc alone, and of a struct without parameters it can be checked at once.
fn size_check(private: &TokenStream, item: &ItemStruct, fields: &TokenStream) -> TokenStream {
    if !item.generics.params.is_empty() {
        return TokenStream::new();
    }
    let ident = &item.ident;
    let small = format!("`{ident}` has no bytes: an element needs something that a scan can move");
    let large = format!("`{ident}` is larger than {LARGEST} bytes, the most that an element may have");
    quote_spanned! {ident.span()=>
        const _: () = {
            #private::assert!(#private::size_of::<#ident>() != 0, #small);
            #private::assert!(#private::size_of::<#ident>() <= #LARGEST, #large);
            #fields
        };
    }
}

/// `Pair_f32` of `Pair<f32>`.
fn name(private: &TokenStream, ident: &Ident, generics: &syn::Generics) -> TokenStream {
    let own = ident.to_string();
    let own = own.trim_start_matches("r#");
    let arguments: Vec<TokenStream> = generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Lifetime(_) => None,
            GenericParam::Type(parameter) => {
                let parameter = &parameter.ident;
                Some(quote!(<#parameter as #private::ScanElement>::layout().name))
            }
            GenericParam::Const(parameter) => {
                let parameter = &parameter.ident;
                Some(quote!(#private::const_name(#parameter)))
            }
        })
        .collect();
    if arguments.is_empty() {
        return quote!(#private::String::from(#own));
    }
    quote!(<[#private::String]>::join(&[#private::String::from(#own), #(#arguments),*], "_"))
}
