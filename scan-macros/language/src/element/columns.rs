//! Structs whose fields can lie in arrays of their own.

use crate::syntax::is_primitive;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Generics, Index, ItemStruct, Member, Type, Visibility};

/// The most fields whose arrays a tuple can name.
const MAX_FIELDS: usize = 16;

/// The impl that tells the fields' types, where they are few enough, and no more private than the struct: an associated
/// type must not be.
pub(super) fn columns(
    private: &TokenStream,
    item: &ItemStruct,
    generics: &Generics,
    fields: &[(Member, &Type)],
) -> Option<TokenStream> {
    let can_be_told = |field: &syn::Field| is_as_visible(&field.vis, &item.vis) || is_made_of_primitives(&field.ty);
    if fields.len() > MAX_FIELDS || !item.fields.iter().all(can_be_told) {
        return None;
    }
    let ident = &item.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let (members, types): (Vec<_>, Vec<_>) = fields.iter().map(|(member, ty)| (member, *ty)).unzip();
    let indices = (0..fields.len()).map(Index::from);
    let given = where_clause.map(|clause| clause.predicates.iter()).into_iter().flatten();
    // With a lifetime of its own a bound is looked at only where the impl is used.
    Some(quote! {
        // SAFETY: these are the fields, in their order.
        #[automatically_derived]
        unsafe impl #impl_generics #private::Fields for #ident #type_generics
        where
            #(#given,)*
            for<'scan_field> (#(#types,)*): #private::FieldTuple,
        {
            const SEALED: #private::ByMacro = #private::ByMacro;
            type Tuple = (#(#types,)*);
            #[inline(always)]
            fn from_fields(fields: Self::Tuple) -> Self {
                Self { #(#members: fields.#indices),* }
            }
            #[inline(always)]
            fn into_fields(self) -> Self::Tuple {
                (#(self.#members,)*)
            }
        }
    })
}

/// Whether the type of the field is at least as visible as the struct.
fn is_as_visible(field: &Visibility, structure: &Visibility) -> bool {
    let tokens = |visibility: &Visibility| visibility.to_token_stream().to_string();
    matches!(structure, Visibility::Inherited)
        || matches!(field, Visibility::Public(_))
        || tokens(field) == tokens(structure)
}

/// Whether a type is spelled as a primitive, or as an array of such.
fn is_made_of_primitives(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.get_ident().is_some_and(is_primitive),
        Type::Array(array) => is_made_of_primitives(&array.elem),
        _ => false,
    }
}
