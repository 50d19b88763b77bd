//! Names of two contexts. Those with an `@` before them are of the second: they stand on lines of their own, which tells them.

use super::*;
use quote::quote;

fn function(text: &str) -> Function {
    let mut lines = String::new();
    for (index, part) in text.split('@').enumerate() {
        let end =
            part.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '#' && letter != '\'');
        let (own, rest) = part.split_at(if index == 0 { 0 } else { end.unwrap_or(part.len()) });
        lines += &if index == 0 { rest.to_owned() } else { format!("\n{own}\n{rest}") };
    }
    let item: syn::ItemFn = syn::parse_str(&lines).unwrap();
    Function { attributes: Vec::new(), signature: item.sig, block: *item.block }
}

fn told(text: &str) -> Named {
    named_by(&function(text), &Contexts::Told(&|span| u64::from(span.start().line % 2 == 0)))
}

fn same(named: &Named, text: &str) {
    let (function, Named { signature, block, .. }) = (function(text), named);
    let (expected, body) = (function.signature, function.block);
    assert_eq!(quote!(#signature #block).to_string(), quote!(#expected #body).to_string());
}

#[test]
fn locals_of_two_contexts_get_two_names() {
    let named = told("fn f(@y: u32, b: u32) -> u32 { let y = b * 2; { let @y = @y + y; @y ^ y } }");
    same(&named, "fn f(y: u32, b: u32) -> u32 { let y_1 = b * 2; { let y = y + y_1; y ^ y_1 } }");
    assert!(named.assumption.to_string().contains("assert"), "{}", named.assumption);
    // A name that is there already is left alone.
    let named = told("fn f(@y: u32, y_1: u32) -> u32 { let y = 3; for y in 0..@y { assert!(y < @y && y_1 > 0); } y }");
    same(&named, "fn f(y: u32, y_1: u32) -> u32 { let y_2 = 3; for y_2 in 0..y { assert!(y_2 < y && y_1 > 0); } y_2 }");
}

#[test]
fn names_that_are_not_locals_are_kept() {
    let named = told("fn f(a: u32, b: u32) -> u32 { let @y = a; @y ^ y ^ y(b) ^ y::z }");
    same(&named, "fn f(a: u32, b: u32) -> u32 { let y_1 = a; y_1 ^ y ^ y(b) ^ y::z }");
    let named = told("fn f(a: u32, b: u32) -> u32 { match a { LIMIT => b, @LIMIT => a, y => y } }");
    same(&named, "fn f(a: u32, b: u32) -> u32 { match a { LIMIT => b, LIMIT => a, y => y } }");
    assert!(named.assumption.is_empty());
}

#[test]
fn locals_in_patterns_and_fields_get_two_names() {
    let named = told("fn f(a: S, @a: S) -> S { match a { S { x, y: @x } if x > @x => S { x: @x, y: x }, _ => @a } }");
    same(
        &named,
        "fn f(a: S, a_1: S) -> S { match a { S { x: x, y: x_1 } if x > x_1 => S { x: x_1, y: x }, _ => a_1 } }",
    );
}

#[test]
fn labels_of_two_contexts_get_two_names() {
    let named = told("fn f(a: u32) -> u32 { 'a: loop { @'a: loop { if a > 1 { break 'a; } break @'a; } } }");
    same(&named, "fn f(a: u32) -> u32 { 'a: loop { 'a_1: loop { if a > 1 { break 'a; } break 'a_1; } } }");
    assert!(named.assumption.to_string().contains("break"), "{}", named.assumption);
}

#[test]
fn invisible_groups_are_removed() {
    let group = |tokens| proc_macro2::Group::new(proc_macro2::Delimiter::None, tokens);
    let (sum, ty) = (group(quote!(a + 1)), group(quote!(u32)));
    let item: syn::ItemFn =
        syn::parse2(quote!(fn f(a: #ty) -> #ty { let x: [#ty; 2] = [#sum; 2]; x[0] * #sum })).unwrap();
    let function = Function { attributes: Vec::new(), signature: item.sig, block: *item.block };
    let named = named(&function);
    let expected: syn::ItemFn = syn::parse2(quote!(
        fn f(a: u32) -> u32 {
            let x: [u32; 2] = [a + 1; 2];
            x[0] * (a + 1)
        }
    ))
    .unwrap();
    let (signature, block) = (expected.sig, expected.block);
    let (found_signature, found_block) = (named.signature, named.block);
    assert_eq!(quote!(#found_signature #found_block).to_string(), quote!(#signature #block).to_string());
}

#[test]
fn a_raw_identifier_is_the_same_name() {
    let named = told("fn f(a: u32, r#b: u32) -> u32 { let r#type = a; r#type ^ b }");
    same(&named, "fn f(a: u32, b: u32) -> u32 { let r#type = a; r#type ^ b }");
    let b = Ident::new("b", Span::call_site());
    assert_eq!(named.original(b).to_string(), "r#b");
}

#[test]
fn hidden_contexts_add_an_assumption_that_rustc_checks() {
    let shadowed = function("fn f(y: u32, b: u32) -> u32 { let y = b; 'a: loop { break 'a; } y }");
    let named = named_by(&shadowed, &Contexts::Hidden);
    same(&named, "fn f(y: u32, b: u32) -> u32 { let y = b; 'a: loop { break 'a; } y }");
    let assumption = named.assumption.to_string();
    assert_eq!(
        (assumption.matches(": & Same = & y").count(), assumption.matches("break 'a").count()),
        (2, 1),
        "{assumption}"
    );
    assert!(named_by(&shadowed, &Contexts::Absent).assumption.is_empty());
}

#[test]
fn a_name_that_is_read_is_not_bound() {
    let name = Ident::new("sum", Span::call_site());
    assert!(binds(&function("fn f(sum: u32, b: u32) -> u32 { sum + b }"), &name));
    assert!(binds(&function("fn f(a: u32, b: u32) -> u32 { let sum = a; sum + b }"), &name));
    assert!(!binds(&function("fn f(a: u32, b: u32) -> u32 { let c = sum; a + b + c }"), &name));
}
