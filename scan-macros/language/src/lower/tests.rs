//! Bodies and what they become. Rust types and constants stand in `‹›`.

use super::*;
use crate::text::{Piece, Text};
use crate::{print, uses};
use proc_macro2::TokenStream;
use quote::quote;

fn shown(text: &Text) -> String {
    let mut all = String::new();
    for piece in &text.pieces {
        match piece {
            Piece::Text(text) => all.push_str(text),
            Piece::Name(name) => all.push_str(name),
            Piece::Type(tokens) | Piece::Constant { value: tokens, .. } | Piece::Call { callee: tokens, .. } => {
                all.push_str(&format!("‹{}›", tokens.to_string().replace(' ', "")));
            }
            Piece::Struct { ty, fields, base } => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect();
                let base = base.as_ref().map(|base| format!(", ..{}", shown(base))).unwrap_or_default();
                let ty = ty.as_ref().map(ToString::to_string).unwrap_or_default();
                all.push_str(&format!("‹{ty}›{{{}{base}}}", fields.join(", ")));
            }
            Piece::Divisor(value) => all.push_str(&shown(value)),
            Piece::Line(_) => {}
        }
    }
    all
}

fn function(body: TokenStream) -> Function {
    let item: syn::ItemFn = syn::parse2(quote!(fn combine(a: i32, b: i32) -> i32 { #body })).unwrap();
    Function { attributes: Vec::new(), signature: item.sig, block: *item.block }
}

/// The text of a body that has no errors.
fn text(body: TokenStream) -> String {
    let mut errors = Errors::default();
    let lowered = Lowerer::new(&mut errors).function(&function(body));
    assert!(errors.is_empty(), "{:?}", errors.messages());
    shown(&print::body(&lowered.body))
}

fn errors(body: TokenStream) -> Vec<String> {
    let mut errors = Errors::default();
    Lowerer::new(&mut errors).function(&function(body));
    errors.messages()
}

#[test]
fn a_plain_expression_is_lowered_as_written() {
    assert_eq!(text(quote!(a + b * 2)), "return a + b * 2;\n");
    assert_eq!(text(quote!(a.max(b).abs())), "return a.max(b).abs();\n");
    assert_eq!(text(quote!(a as f32 as u8)), "return as<‹u8›>(as<‹f32›>(a));\n");
}

#[test]
fn parentheses_follow_the_rules_of_cpp() {
    assert_eq!(text(quote!(a & b == b)), "return (a & b) == b;\n");
    assert_eq!(text(quote!((a & b) == b)), "return (a & b) == b;\n");
    assert_eq!(text(quote!(a - (b - a))), "return a - (b - a);\n");
    assert_eq!(text(quote!(a.wrapping_add(b).wrapping_mul(b))), "return (a + b) * b;\n");
    assert_eq!(text(quote!(-(-a))), "return -(-a);\n");
    assert_eq!(text(quote!(a - -1)), "return a - -1;\n");
}

#[test]
fn shadowing_takes_a_new_name() {
    assert_eq!(text(quote!(let a = a + 1; let a = a * b; a)), "auto a_1 = a + 1;\nauto a_2 = a_1 * b;\nreturn a_2;\n");
}

#[test]
fn blocks_are_flattened_and_end_their_names() {
    assert_eq!(
        text(quote!(let x = { let b = a * 2; b + 1 }; x + b)),
        "auto b_1 = a * 2;\nauto x = b_1 + 1;\nreturn x + b;\n"
    );
}

#[test]
fn operands_with_effects_are_evaluated_from_the_left() {
    assert_eq!(
        text(quote!(let mut x = a; x + { x = b; x })),
        "auto x = a;\nconst auto operand = x;\nx = b;\nreturn operand + x;\n"
    );
}

#[test]
fn the_right_side_of_and_runs_only_where_it_must() {
    assert_eq!(
        text(quote!(let mut x = a; if a > b && { x = b; x > 3 } { x } else { a })),
        "auto x = a;\nbool both = a > b;\nif (both) {\n  x = b;\n  both = x > 3;\n}\nif (both) {\n  return x;\n} else {\n  return a;\n}\n"
    );
}

#[test]
fn a_value_with_statements_is_a_variable_or_a_lambda() {
    assert_eq!(
        text(quote!(let x: i32 = if a > b { let c = a; c } else { b }; x)),
        "‹i32› x;\nif (a > b) {\n  auto c = a;\n  x = c;\n} else {\n  x = b;\n}\nreturn x;\n"
    );
    assert_eq!(
        text(quote!(let x = if a > b { let c = a; c } else { b }; x)),
        "const auto value = [&] {\n  if (a > b) {\n    auto c = a;\n    return c;\n  } else {\n    return b;\n  }\n}();\nauto x = value;\nreturn x;\n"
    );
}

#[test]
fn an_arm_that_returns_comes_first() {
    assert_eq!(
        text(quote!(let x = if a > b { return a } else { b }; x)),
        "if (a > b) {\n  return a;\n}\nauto x = b;\nreturn x;\n"
    );
}

#[test]
fn a_match_is_a_chain() {
    assert_eq!(
        text(quote!(match a {
            0 | 1 => b,
            n @ 2..=9 if n > b => n,
            LIMIT => 3,
            _ => a,
        })),
        "if (a == 0 || a == 1) {\n  return b;\n} else if (a >= 2 && a <= 9 && a > b) {\n  return a;\n} else if (a == ‹LIMIT›) {\n  return 3;\n} else {\n  return a;\n}\n"
    );
}

#[test]
fn names_that_are_not_locals_are_constants() {
    assert_eq!(text(quote!(a + Self::P * LIMIT)), "return a + ‹Self::P› * ‹LIMIT›;\n");
}

#[test]
fn literals_of_unknown_type_are_folded_where_every_type_agrees() {
    assert_eq!(text(quote!(a & !0)), "return a & -1;\n");
    assert_eq!(
        text(quote!(a + (1 << 40))),
        "return a + 1099511627776ll;
"
    );
    assert_eq!(errors(quote!(a + 7 / 2)).len(), 1);
    assert_eq!(errors(quote!(a + (1 << b))).len(), 1);
}

#[test]
fn a_literal_of_unknown_type_is_an_error_that_asks_for_a_suffix() {
    assert!(errors(quote!(let n = 0; a + n))[0].contains("give it a suffix"));
    assert!(errors(quote!(for i in 0..4 { let j = i; } a))[0].contains("0..4_u32"));
    for unused in [quote!(for i in 0..4 { } a), quote!(for _ in 0..4 { a; } a)] {
        assert!(text(unused).contains("range(‹i32›(0), 4)"));
    }
    assert!(text(quote!(let t = [a, b]; for i in 0..2 { t[i]; } a)).contains("range(‹usize›(0), 2)"));
}

#[test]
fn a_function_is_called_by_the_name_of_its_marker_type() {
    let body = quote!(helpers::gcd(a, 4) + first::<i32, 2>([a, b]) + none());
    assert_eq!(
        text(body.clone()),
        "return ‹scan_fn_7_3_helpers__gcd›(a, 4) + ‹scan_fn_first::<i32,2>›(Array{a, b}) + ‹scan_fn_none›();\n"
    );
    let mut errors = Errors::default();
    let lowered = Lowerer::new(&mut errors).function(&function(quote!(gcd(gcd(a, b), helpers::gcd(a, b)))));
    let callees = uses::of(&lowered.body).callees;
    let callees: Vec<String> = callees.iter().map(|callee| callee.path.to_token_stream().to_string()).collect();
    assert_eq!(callees, ["gcd", "helpers :: gcd"]);
    // The name of a type's own method beside that of a function.
    assert_eq!(
        text(quote!(i32::max(a, b) + numbers::max(a, b))),
        "return a.max(b) + ‹scan_fn_7_3_numbers__max›(a, b);\n"
    );
}

#[test]
fn a_nested_literal_takes_the_type_of_its_field() {
    assert_eq!(
        text(quote!(Outer { inner: Inner { x: a }, list: [Inner { x: b }; 2], n: f(Inner { x: 1 }) }.n)),
        "return ‹Outer›{inner: ‹›{x: a}, list: repeat<(‹{::core::convert::identity::<usize>(2)}›).value>(‹›{x: b}), n: ‹scan_fn_f›(‹Inner›{x: 1})}.n;\n"
    );
}

#[test]
fn variants_and_lengths() {
    assert_eq!(
        text(quote!(match s {
            State::Open | Shut => 1_i32,
            _ => TABLE.len() as i32,
        })),
        "const auto matched = ‹s›;\nif (matched == ‹State::Open› || matched == ‹Shut›) {\n  return ‹i32›(1);\n} else {\n  return as<‹i32›>(‹TABLE›.len());\n}\n"
    );
}

#[test]
fn every_let_has_its_line() {
    let mut errors = Errors::default();
    let item: syn::ItemFn = syn::parse_str("fn combine(a: i32, b: i32) -> i32 {\n  let c = a;\n\n  c + b\n}").unwrap();
    let function = Function { attributes: Vec::new(), signature: item.sig, block: *item.block };
    let lowered = Lowerer::new(&mut errors).function(&function);
    let lines: Vec<usize> = print::body(&lowered.body)
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Line(line) => Some(*line),
            _ => None,
        })
        .collect();
    assert_eq!(lines, [2, 4]);
}

#[test]
fn bit_operations_of_truth_values_stay_truth_values() {
    // Where a place takes its type from them: in C++ they are an `int`.
    assert_eq!(
        text(quote!(let c = (a < b) & (a > 0); a)),
        "auto c [[maybe_unused]] = value_of((a < b) & (a > 0));\nreturn a;\n"
    );
    assert_eq!(text(quote!(let c = a & 3; c)), "auto c = a & 3;\nreturn c;\n");
    assert_eq!(text(quote!([a, a & b][0])), "return Array{a, value_of(a & b)}[0];\n");
}

#[test]
fn an_array_of_one_array_is_not_a_copy() {
    assert_eq!(text(quote!([[a, b]][0][1])), "return repeat<1>(Array{a, b})[0][1];\n");
}

/// NVRTC 13.0 crashes at `Pair{.low = c ? Item{…} : x}`, and at `Array{c ? Item{…} : x}`.
#[test]
fn a_braced_choice_is_not_nested_in_braces() {
    let chosen = |value| text(quote!(let x = Pair { low: #value, high: a }; x.high));
    let inner = quote!(if a > b { Item { n: a } } else { ITEM });
    assert!(chosen(inner.clone()).contains("low: value_of(a > b ? ‹›{n: a} : ‹ITEM›)"), "{}", chosen(inner.clone()));
    assert!(
        chosen(quote!(match a {
            0 => b,
            _ => LIMIT,
        }))
        .contains("low: value_of(a == 0 ? b : ‹LIMIT›)")
    );
    assert!(text(quote!([#inner, ITEM][0].n)).contains("Array{value_of(chosen(a > b, "));
    // Numbers are not in braces.
    assert!(chosen(quote!(if a > b { a } else { i32::MAX })).contains("low: a > b ? a : ‹i32::MAX›"));
}

/// rustc warns of the user's own variables; the GPU's compiler is not to warn of others.
#[test]
fn a_generated_variable_that_nothing_reads_is_marked_unused() {
    let unread = text(quote!(match a + b {
        _ => a,
    }));
    assert!(unread.contains("const auto matched [[maybe_unused]] = a + b;"), "{unread}");
    let read = text(quote!(match a + b {
        0 => a,
        _ => b,
    }));
    assert!(read.contains("const auto matched = a + b;"), "{read}");
}

/// `let _ = x` reads nothing: the GPU's compiler warns of an `x` that is set and only thrown away.
#[test]
fn a_variable_that_is_only_discarded_is_marked_unused() {
    let thrown = text(quote!(let x = a + b; let _ = x; a));
    assert!(thrown.contains("auto x [[maybe_unused]] = a + b;"), "{thrown}");
    let read = text(quote!(let x = a + b; let _ = x; x));
    assert!(read.contains("auto x = a + b;"), "{read}");
}

/// The compiler warns of parameters that are only written to, as it does of variables.
#[test]
fn a_parameter_that_is_only_written_to_is_a_variable() {
    let lowered = |item: TokenStream| {
        let item: syn::ItemFn = syn::parse2(item).unwrap();
        let function = Function { attributes: Vec::new(), signature: item.sig, block: *item.block };
        let lowered = Lowerer::new(&mut Errors::default()).function(&function);
        (lowered.parameters, shown(&print::body(&lowered.body)))
    };
    let (parameters, written) = lowered(quote!(
        fn combine(mut a: i32, b: i32) -> i32 {
            a = b;
            b
        }
    ));
    assert_eq!(parameters, ["a_1", "b"]);
    assert_eq!(written, "auto a [[maybe_unused]] = a_1;\na = b;\nreturn b;\n");
    let (parameters, read) = lowered(quote!(
        fn combine(mut a: i32, b: i32) -> i32 {
            a = b;
            a
        }
    ));
    assert_eq!(parameters, ["a", "b"]);
    assert_eq!(read, "a = b;\nreturn a;\n");
    let (parameters, unused) = lowered(quote!(
        fn combine(mut a: i32, b: i32) -> i32 {
            b
        }
    ));
    assert_eq!((parameters, unused), (vec!["a".to_owned(), "b".to_owned()], "return b;\n".to_owned()));
}

#[test]
fn a_struct_kept_for_a_later_operand_names_its_type() {
    let waits = text(quote!(
        let mut x = a;
        let pair = Pair { low: Item { n: x }, high: { x += 1; x } };
        pair.high
    ));
    assert!(waits.contains("const auto operand = ‹Item›{n: x};"), "{waits}");
}

/// Threads would part at a branch.
#[test]
fn cheap_structs_are_all_computed_and_one_is_selected() {
    let chosen = text(quote!(match a {
        0 => Item { n: b },
        1 if a < b => Item { n: a + b },
        _ => ITEM,
    }));
    assert!(chosen.contains("return chosen(a == 0, ‹i32›{n: b}, chosen(a == 1 && a < b, "), "{chosen}");
    // What may panic, or is more work, is computed only where it is wanted; so are numbers, which are chosen as well
    // by `?:`.
    for apart in [
        quote!(if a > b { Item { n: a / b } } else { ITEM }),
        quote!(if a > b { Item { n: [a, b][a] } } else { ITEM }),
        quote!(if a > b { a } else { LIMIT }),
    ] {
        assert!(!text(apart.clone()).contains("chosen"), "{apart}");
    }
}

#[test]
fn only_indices_that_depend_on_data_are_looked_up() {
    let body = text(quote!({
        let mut items = [a, b];
        for i in 0..2_usize {
            let next = 1 - i;
            items[i] = items[next];
        }
        let place = items[0] as usize;
        items[place] = items[items[LAST] as usize];
        items[place] += TABLE[place];
        items[1]
    }));
    for part in [
        "items[i] = items[next];",
        "items.place(place) = items.at(as<‹usize›>(items[‹LAST›]));",
        "items[place] += ‹TABLE›[place];",
        "return items[1];",
    ] {
        assert!(body.contains(part), "{part} in {body}");
    }
}

/// Rust calls what follows unreachable, and takes it.
#[test]
fn code_after_an_operand_that_returns_is_kept() {
    let left = text(quote!(let x = a + { return b }; x));
    assert_eq!(left, "const auto operand [[maybe_unused]] = a;\nreturn b;\nreturn x;\n");
}

#[test]
fn a_label_exists_only_where_something_jumps_to_it() {
    let jumps =
        text(quote!('outer: for i in 0..3_u32 { while a > b { if a > 3 { continue 'outer; } break 'outer; } } a));
    for part in ["goto next_outer;", "next_outer:;", "goto after_outer;", "after_outer:;"] {
        assert_eq!(jumps.matches(part).count(), 1, "{part} in {jumps}");
    }
    let none = text(
        quote!('outer: for i in 0..3_u32 { if a > 3 { continue 'outer; } while a > b { return a; break 'outer; } } a),
    );
    assert!(!none.contains("outer"), "{none}");
}

#[test]
fn an_index_is_known_by_its_variable() {
    let text = text(quote!(let x = [a, b]; let mut s = a; for i in 0..2 { s += x[i]; let i = a; s += i; } s));
    assert!(text.contains("for (auto i : range(‹usize›(0), 2)) {"), "{text}");
    assert_eq!(errors(quote!(let x = [a, b]; for i in 0..2 { let j = i; let i = 1_usize; x[i]; } a)).len(), 1);
}

#[test]
fn a_field_is_not_the_variable_of_its_name() {
    let unread = text(quote!(let high = a; Pair { low: b, high: PAIR.high }.low));
    assert!(unread.starts_with("auto high [[maybe_unused]] = a;"), "{unread}");
}

/// What was tried and taken back leaves neither names nor errors behind.
#[test]
fn a_discarded_attempt_leaves_no_names_or_errors() {
    assert_eq!(
        text(quote!(match a {
            n if n > b =>
                if n > 3 {
                    let value = n;
                    value
                } else {
                    b
                },
            _ => b,
        })),
        "if (a > b) {\n  if (a > 3) {\n    auto value = a;\n    return value;\n  } else {\n    return b;\n  }\n} else {\n  return b;\n}\n"
    );
    assert_eq!(
        errors(quote!(if a > b {
            let c = a.max({ 1 << b });
            c
        } else {
            a
        }))
        .len(),
        1
    );
}

#[test]
fn jumps_out_of_a_lambda_are_refused() {
    for leaves in [
        quote!(let x = if a > b { let c = a; if c > 3 { return c; } c } else { b }; x),
        quote!(loop { let x = if a > b { let c = a; if c > 3 { break; } c } else { b }; } a),
        quote!('l: loop { let x = if a > b { loop { if a > 3 { break 'l; } break; } a } else { b }; } a),
    ] {
        assert_eq!(errors(leaves.clone()).len(), 1, "{leaves}");
        assert!(errors(leaves)[0].contains("bind it by a `let` with a type, `let value: f32 = …;`"));
    }
    let stays = quote!(let x = if a > b { let mut c = a; loop { c += 1; if c > 3 { break; } } c } else { b }; x);
    assert!(text(stays.clone()).contains("[&]"), "{stays}");
}

#[test]
fn a_literal_is_within_its_own_type() {
    assert_eq!(text(quote!(let x = 3.0e38_f32; a)), "auto x [[maybe_unused]] = ‹f32›(3.0e38f);\nreturn a;\n");
    for wrong in [quote!(let x = 1e39_f32; a), quote!(let x = 1e400_f64; a)] {
        assert_eq!(errors(wrong.clone()).len(), 1, "{wrong}");
    }
    assert_eq!(errors(quote!(let x = 1e39_f64; a)), [""; 0]);
    assert!(text(quote!(let x = 1e-60_f32; a)).contains("(0.0f)"), "C++ refuses what rounds to zero");
    assert!(text(quote!(let x = 1e-60_f64; a)).contains("(1e-60)"));
}

#[test]
fn the_rest_of_a_pattern_comes_last() {
    let first = text(quote!(let Pair(x, ..) = a; x));
    assert!(first.contains("_0"), "{first}");
    let first = errors(quote!(let Pair(.., x) = a; x));
    assert!(first[0].contains("`..` comes last"), "{first:?}");
}

#[test]
fn a_match_of_one_arm_that_takes_everything_is_a_block() {
    assert_eq!(text(quote!(let mut x = a; match b { _ => { x = b; } } x)), "auto x = a;\n{\n  x = b;\n}\nreturn x;\n");
}

#[test]
fn a_missing_value_is_an_error_with_advice() {
    let of = |body| errors(body).join(" ");
    assert!(of(quote!(let x = { a; }; a)).contains("leave the last `;` out"));
    assert!(of(quote!(let x = (while a > b { }); a)).contains("has no value"));
}

/// A `break` out of an inner `while` that has the label of the loop around it leaves the inner one: the outer one never ends.
#[test]
fn a_label_is_that_of_the_innermost_loop() {
    let endless = quote!(if a > b { 'l: loop { 'l: while a > b { break 'l; } } } a);
    let ends = quote!(if a > b { 'l: loop { while a > b { break 'l; } } } a);
    let diverges = |body: TokenStream| {
        let block: syn::Block = syn::parse2(quote!({ #body })).unwrap();
        let syn::Stmt::Expr(syn::Expr::If(choice), _) = &block.stmts[0] else { panic!("no `if`") };
        flow::block_diverges(&choice.then_branch)
    };
    assert!(diverges(endless));
    assert!(!diverges(ends));
}

#[test]
fn every_compound_assignment_keeps_its_operator() {
    for operator in ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"] {
        let body: TokenStream = format!("let mut x = a; x {operator}= b; x").parse().unwrap();
        let text = text(body);
        assert!(text.contains(&format!("x {operator}= b;")), "{text}");
    }
}
