//! Leaves out of a text what its kernels do not use: the templates define, and need not ask who calls.
//!
//! # The texts that it reads
//!
//! Not C++, but the lines in which the templates write it:
//!
//! ```text
//! text         = { blank | comment | declaration }
//! blank        = a line of spaces
//! comment      = a line whose first characters but spaces are `//`
//! heading      = a comment that begins with `// ---- `
//! declaration  = lines up to the first at whose end no `(` or `{` is open, and that ends with `;` or `}`
//!                (blank lines and comments among them belong to it)
//! group        = comments, then declarations, without a blank line or a comment between them
//! ```
//!
//! `//` begins a comment wherever it stands, and every bracket counts, so a string or a character may hold neither `//`
//! nor a bracket without its partner. There is no `/* */`.
//!
//! # What a declaration is used by
//!
//! The first line decides that does not begin with `template ` or `#`:
//!
//! | first line | names |
//! |---|---|
//! | `struct Name`, `struct alignas(8) Name` | `Name` |
//! | `using Name = …` | `Name` |
//! | `constexpr unsigned A = 1, B = 2;` | `A`, `B`: each word before an ` = ` |
//! | `__device__ … name(…` | `name`: the last word before the first `(` |
//! | anything else: a kernel (`extern "C"`), a `static_assert` | none |
//!
//! # What is left out first
//!
//! Functions of no result whose body is empty, in all overloads of a name, are what a kernel has none of: heads, totals,
//! segments. A statement of a line of its own that calls one is left out, and an `if` of which nothing is left. Templates
//! give such a call no argument, and such an `if` no condition, that does something. An `if` whose condition is a call
//! of a function that only returns `false` is left out with what it encloses; an `else if` behind it becomes an `if`.
//!
//! # What is kept
//!
//! - A declaration without names, and so all kernels.
//! - A declaration of whose names a kept one has one as a word of its code. Scopes, types and arguments count for
//!   nothing: all overloads of a name are kept together, a local variable keeps a function of its name, and `extern "C"`
//!   a constant `C`. So a text may keep too much, but never too little.
//! - The comments of a group of which a declaration is kept; of a group without declarations, always.
//! - A heading, if anything is kept up to the next one.
//!
//! All else is dropped, line by line. One blank line stands between the groups that are left.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    str::Lines,
};

/// A declaration at the outermost level with the comment above it, or a run of one-line constants with theirs.
struct Group<'a> {
    comment: Vec<&'a str>,
    declarations: Vec<Declaration<'a>>,
}

/// The lines of one declaration, and the names that it declares.
struct Declaration<'a> {
    lines: Vec<&'a str>,
    names: Vec<&'a str>,
    is_used: bool,
}

/// The text without calls of functions that do nothing, and without the functions, types and constants that no kernel
/// then reaches.
pub(crate) fn used(text: &str) -> String {
    let text = without_calls_of_nothing(text);
    let mut groups = groups(&text);
    mark(&mut groups);
    let mut kept = String::with_capacity(text.len());
    let mut heading = None;
    for group in &groups {
        // A heading stands for itself, and is for the groups up to the next one.
        if group.declarations.is_empty() && group.comment.iter().any(|line| line.starts_with("// ---- ")) {
            heading = Some(&group.comment);
            continue;
        }
        let lines: Vec<_> = group.declarations.iter().filter(|one| one.is_used).flat_map(|one| &one.lines).collect();
        if lines.is_empty() && !group.declarations.is_empty() {
            continue;
        }
        for line in heading.take().into_iter().flatten() {
            push_paragraph(&mut kept, line);
        }
        if !kept.is_empty() {
            kept.push('\n');
        }
        group.comment.iter().chain(lines).for_each(|line| push_line(&mut kept, line));
    }
    kept
}

/// Leaves out each statement that calls a function whose body is empty, each `if` of which nothing is left, and each
/// `if` of a function that only returns `false`. Templates give such a function no argument, and such an `if` no
/// condition, that does something.
fn without_calls_of_nothing(text: &str) -> String {
    let groups = groups(text);
    let declarations = groups.iter().flat_map(|group| &group.declarations);
    let (mut empty, mut never, mut full) = (HashSet::new(), HashSet::new(), HashSet::new());
    for declaration in declarations {
        // The end is asked first: few declarations have one of these two, and the search goes through all lines.
        let is = |end: &str, returning: &str| {
            declaration.lines.last().is_some_and(|line| line.ends_with(end))
                && declaration.lines.iter().any(|line| line.contains(returning))
        };
        let names = if is(") {}", "__forceinline__ void ") {
            &mut empty
        } else if is(") { return false; }", "__forceinline__ bool ") {
            &mut never
        } else {
            &mut full
        };
        names.extend(declaration.names.iter().copied());
    }
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut is_in_call = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let asked = condition_of(line).and_then(called_alone);
        if asked.is_some_and(|name| never.contains(name) && !full.contains(name))
            && let Some((rest, otherwise)) = behind_block(line, lines.clone())
        {
            lines = rest;
            kept.extend(otherwise.map(Cow::Owned));
            continue;
        }
        let called = line.trim_start().split_once('(').map(|(name, _)| name).filter(|_| line.starts_with(' '));
        is_in_call |= called.is_some_and(|name| empty.contains(name) && !full.contains(name));
        if is_in_call {
            is_in_call = !code_of(line).trim_end().ends_with(';');
            continue;
        }
        let ends_nothing = line.trim() == "}"
            && kept.last().is_some_and(|last| last.trim_start().starts_with("if (") && last.ends_with('{'));
        if ends_nothing {
            kept.pop();
        } else {
            kept.push(Cow::Borrowed(line));
        }
    }
    kept.join("\n") + "\n"
}

/// What an `if` asks that begins a block in a line of its own.
fn condition_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("if (")?.strip_suffix(") {")
}

/// The lines behind the block that `first` begins, and the `if` that follows it as an `else if`. None of a block with
/// an `else`.
fn behind_block<'a>(first: &str, mut lines: Lines<'a>) -> Option<(Lines<'a>, Option<String>)> {
    let indent = &first[..first.len() - first.trim_start().len()];
    let end = lines.find_map(|line| line.strip_prefix(indent).filter(|line| line.starts_with('}')))?;
    match end.strip_prefix("} else ") {
        None => Some((lines, None)),
        Some(otherwise) if otherwise.starts_with("if (") => Some((lines, Some(format!("{indent}{otherwise}")))),
        Some(_) => None,
    }
}

/// The function that an expression calls, if it is nothing but this call.
fn called_alone(expression: &str) -> Option<&str> {
    let (name, arguments) = expression.strip_suffix(')')?.split_once('(')?;
    let mut depth = 0_i64;
    for bracket in arguments.chars() {
        depth += i64::from(bracket == '(') - i64::from(bracket == ')');
        if depth < 0 {
            return None; // the first bracket ends before the last one
        }
    }
    (depth == 0).then_some(name)
}

fn push_paragraph(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    push_line(text, line);
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Marks the kernels, and whatever is named by what is marked.
fn mark(groups: &mut [Group<'_>]) {
    let mut declarations: Vec<_> = groups.iter_mut().flat_map(|group| &mut group.declarations).collect();
    let mut declared: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, declaration) in declarations.iter().enumerate() {
        declaration.names.iter().for_each(|name| declared.entry(name).or_default().push(index));
    }
    let mut waiting: Vec<usize> =
        (0..declarations.len()).filter(|&index| declarations[index].names.is_empty()).collect();
    let mut seen: HashSet<usize> = waiting.iter().copied().collect();
    while let Some(index) = waiting.pop() {
        declarations[index].is_used = true;
        for word in declarations[index].lines.iter().flat_map(|line| words(line)) {
            let found = declared.get(word).into_iter().flatten().copied();
            waiting.extend(found.filter(|&index| seen.insert(index)));
        }
    }
}

/// A line without its comment. It is asked of each line several times, and a search for a text prepares itself for longer
/// than a line takes.
fn code_of(line: &str) -> &str {
    let comment = line.as_bytes().windows(2).position(|two| matches!(two, [b'/', b'/']));
    comment.map_or(line, |comment| &line[..comment])
}

/// The identifiers of a line of code.
fn words(line: &str) -> impl Iterator<Item = &str> {
    code_of(line).split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut open: Option<Group<'_>> = None;
    let mut lines: Vec<&str> = Vec::new();
    let mut depth = 0_i64;
    for line in text.lines() {
        let code = code_of(line).trim_end();
        if lines.is_empty() && code.is_empty() {
            if line.trim().is_empty() {
                groups.extend(open.take());
            } else if open.as_ref().is_some_and(|group| !group.declarations.is_empty()) {
                // A comment below a declaration is that of the next one.
                groups.extend(open.replace(Group { comment: vec![line], declarations: Vec::new() }));
            } else {
                open.get_or_insert_with(Group::new).comment.push(line);
            }
            continue;
        }
        lines.push(line);
        for byte in code.bytes() {
            depth += i64::from(matches!(byte, b'{' | b'(')) - i64::from(matches!(byte, b'}' | b')'));
        }
        if depth == 0 && (code.ends_with(';') || code.ends_with('}')) {
            let declaration = Declaration { names: names(&lines), lines: std::mem::take(&mut lines), is_used: false };
            open.get_or_insert_with(Group::new).declarations.push(declaration);
        }
    }
    groups.extend(open);
    if !lines.is_empty() {
        let rest = Declaration { lines, names: Vec::new(), is_used: false };
        groups.push(Group { comment: Vec::new(), declarations: vec![rest] });
    }
    groups
}

impl Group<'_> {
    fn new() -> Self {
        Group { comment: Vec::new(), declarations: Vec::new() }
    }
}

/// The names that a declaration is used by: none of a kernel and of what only checks.
fn names<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let Some(first) = lines.iter().find(|line| !line.starts_with("template ") && !line.starts_with('#')) else {
        return Vec::new();
    };
    let mut all = words(first);
    match all.next() {
        Some("struct") => {
            let after = first.rsplit_once(") ").map_or(*first, |(_, after)| after);
            words(after).find(|word| *word != "struct").into_iter().collect()
        }
        Some("using") => all.next().into_iter().collect(),
        Some("constexpr") => {
            let before_each = first.split(" = ").collect::<Vec<_>>();
            let named = before_each.len().saturating_sub(1);
            before_each[..named].iter().filter_map(|part| words(part).last()).collect()
        }
        Some("__device__") => first.split('(').next().and_then(|before| words(before).last()).into_iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of this body, which follows what it uses.
    fn kernel(body: &str) -> String {
        format!("extern \"C\" __global__ void __launch_bounds__(32) kernel() {{\n  {body}\n}}\n")
    }

    /// Whether a declaration is kept beside a kernel of this body.
    fn is_kept(declaration: &str, body: &str) -> bool {
        let text = format!("{declaration}\n\n{}", kernel(body));
        let found = used(&text);
        assert!(found == text || found == kernel(body), "{found}");
        found == text
    }

    #[test]
    fn calls_of_functions_that_do_nothing_are_left_out() {
        let text = "\
__device__ __forceinline__ void nothing(unsigned) {}
__device__ __forceinline__ void either(unsigned) {}
__device__ __forceinline__ void either(float x) { keep(x); }

extern \"C\" __global__ void kernel(unsigned* place) {
  nothing(place[0]);
  if (place[0] > 0) {
    nothing(
        place[1]); // on two lines
  }
  either(place[0]);
}
";
        let expected = "\
__device__ __forceinline__ void either(unsigned) {}
__device__ __forceinline__ void either(float x) { keep(x); }

extern \"C\" __global__ void kernel(unsigned* place) {
  either(place[0]);
}
";
        assert_eq!(used(text), expected);
    }

    #[test]
    fn what_only_false_lets_run_is_left_out() {
        let text = "\
__device__ __forceinline__ bool never(unsigned) { return false; }
__device__ __forceinline__ bool sometimes(unsigned) { return false; }
__device__ __forceinline__ bool sometimes(float x) { return x > 0; }

extern \"C\" __global__ void kernel(unsigned* place) {
  if (never(place[0] + f(1))) {
    if (place[0] > 0) {
      place[0] = 1;
    }
  }
  if (sometimes(place[0])) {
    place[0] = 2;
  }
  if (never(1) || f(2)) {
    place[0] = 3;
  }
}
";
        let expected = text
            .replace("  if (never(place[0] + f(1))) {\n    if (place[0] > 0) {\n      place[0] = 1;\n    }\n  }\n", "");
        assert_eq!(used(text), expected);
        let alone = "__device__ __forceinline__ bool never() { return false; }\n\n";
        let kernel = kernel("if (never()) {\n    place[0] = 1;\n  }");
        assert_eq!(used(&format!("{alone}{kernel}")), super::tests::kernel("").replace("  \n", ""));
    }

    #[test]
    fn a_declaration_without_names_is_kept() {
        for declaration in ["static_assert(sizeof(unsigned) == 4);", "extern \"C\" __global__ void other() {\n}"] {
            assert!(is_kept(declaration, ""), "{declaration}");
        }
    }

    #[test]
    fn each_kind_of_declaration_is_kept_by_its_names_alone() {
        let declarations = [
            ("struct Name {\n  unsigned field;\n};", "Name x;", "field = unsigned_;"),
            ("struct alignas(8) Name {\n  unsigned field;\n};", "Name x;", "alignas_ field;"),
            ("using Name = unsigned;", "Name x;", "unsigned x;"),
            ("constexpr unsigned A = 1, B = C == 2;", "f(A);", "f(C);"),
            ("constexpr unsigned A = 1, B = C == 2;", "f(B);", "f(unsigned_);"),
            ("__device__ __forceinline__ unsigned name(unsigned x) { return x; }", "name(1);", "x(1);"),
            ("template <class T>\n__device__ T name(T x) { return x; }", "name(1);", "T(1);"),
            ("#pragma nv_diag_suppress 1\n__device__ int name() { return 1; }", "name();", "nv_diag_suppress();"),
        ];
        for (declaration, using, not_using) in declarations {
            assert!(is_kept(declaration, using), "{declaration}");
            assert!(!is_kept(declaration, not_using), "{declaration}");
        }
    }

    #[test]
    fn a_word_counts_outside_of_comments_and_as_a_whole() {
        let name = "__device__ unsigned name() { return 1; }";
        assert!(!is_kept(name, "f(); // name"));
        assert!(!is_kept(name, "name_of(x); rename(x); name2(x);"));
        assert!(is_kept(name, "unsigned name = 1;"), "scopes count for nothing");
    }

    #[test]
    fn what_only_dropped_declarations_name_is_dropped() {
        let chain = "__device__ int first() { return second(); }\n\n__device__ int second() { return 2; }";
        assert!(is_kept(chain, "first();"));
        let itself = "__device__ int first() { return first(); }";
        assert!(!is_kept(itself, "") && !is_kept(chain, ""));
    }

    #[test]
    fn overloads_are_kept_together() {
        assert!(is_kept("__device__ void f(int) {}\n__device__ void f(float) {}", "f(1);"));
    }

    #[test]
    fn a_declaration_ends_where_no_bracket_is_open() {
        // A blank line, a comment with a bracket, and a line that ends with neither `;` nor `}`.
        let long = "__device__ int long_one(\n    int x) {\n\n  // (\n  if (x) { f(); }\n  return x\n      + 1;\n}";
        assert!(is_kept(long, "long_one(1);") && !is_kept(long, "x(1);"));
        assert!(used("__device__ int cut(\n").contains("cut"), "a text that ends within a declaration");
    }

    #[test]
    fn a_group_loses_single_declarations_and_its_comment_with_the_last() {
        let text = |constants: &str| format!("{constants}{}", kernel("f(A);"));
        let group = "// How many.\nconstexpr unsigned A = 1; // of one\nconstexpr unsigned B = 2;\n\n";
        let other =
            "// Unused.\nconstexpr unsigned X = 3;\n// A comment begins a group.\nconstexpr unsigned Y = 4;\n\n";
        let left = text("// How many.\nconstexpr unsigned A = 1; // of one\n\n");
        assert_eq!(used(&text(&format!("{group}{other}"))), left);
    }

    #[test]
    fn a_heading_is_kept_with_what_follows_it() {
        let unused = "constexpr unsigned B = 2;\n\n";
        let text = format!("// ---- One ----\n\n{unused}// ---- Two ----\n\n{unused}{}", kernel("f();"));
        assert_eq!(used(&text), format!("// ---- Two ----\n\n{}", kernel("f();")));
        let comment = format!("// ---- Two ----\n\n// By itself.\n\n{}", kernel("f();"));
        assert_eq!(used(&comment), comment);
    }

    #[test]
    fn groups_are_apart_by_one_blank_line() {
        let one = "constexpr unsigned A = 1;";
        assert_eq!(used(&format!("\n\n{one}\n\n\n\n{}\n\n", kernel("f(A);"))), format!("{one}\n\n{}", kernel("f(A);")));
    }

    #[test]
    fn what_is_left_stays_as_it_is() {
        let unused = "__device__ int g() { return 1; }\n\n";
        let left = used(&format!("// ---- One ----\n\nusing A = int;\n\n{unused}{}", kernel("A x;")));
        assert!(!left.contains("g()"));
        assert_eq!(used(&left), left);
    }
}
