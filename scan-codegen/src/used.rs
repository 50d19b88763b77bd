//! Leaves out of a text what its kernels do not use: the templates define, and need not ask who calls.

use std::collections::{HashMap, HashSet};

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

/// Leaves out each statement that calls a function whose body is empty, and each `if` of which nothing is left. Templates
/// give such a function no argument, and such an `if` no condition, that does something.
fn without_calls_of_nothing(text: &str) -> String {
    let groups = groups(text);
    let declarations = groups.iter().flat_map(|group| &group.declarations);
    let (mut empty, mut full) = (HashSet::new(), HashSet::new());
    for declaration in declarations {
        let is_empty = declaration.lines.last().is_some_and(|line| line.ends_with(") {}"));
        let returns_nothing = declaration.lines.iter().any(|line| line.contains("__forceinline__ void "));
        let names = if is_empty && returns_nothing { &mut empty } else { &mut full };
        names.extend(declaration.names.iter().copied());
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut is_in_call = false;
    for line in text.lines() {
        let called = line.trim_start().split_once('(').map(|(name, _)| name).filter(|_| line.starts_with(' '));
        is_in_call |= called.is_some_and(|name| empty.contains(name) && !full.contains(name));
        if is_in_call {
            is_in_call = !line.split("//").next().unwrap_or_default().trim_end().ends_with(';');
            continue;
        }
        let ends_nothing = line.trim() == "}"
            && kept.last().is_some_and(|last| last.trim_start().starts_with("if (") && last.ends_with('{'));
        if ends_nothing {
            kept.pop();
        } else {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
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

/// The identifiers of a line of code.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut open: Option<Group<'_>> = None;
    let mut lines: Vec<&str> = Vec::new();
    let mut depth = 0_i64;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default().trim_end();
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
        let count = |bracket| code.matches(bracket).count() as i64;
        depth += count('{') + count('(') - count('}') - count(')');
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

    const TEXT: &str = "\
// ---- One ----

// How many there are.
constexpr unsigned THREADS = 32; // of a block
constexpr unsigned RUN = 4, SLOTS = 8;
constexpr unsigned UNUSED = 1;

// Eight bytes.
struct alignas(8) Packet {
  unsigned payload;
};

// ---- Two ----

// Calls only what nobody calls.
__device__ __forceinline__ unsigned forgotten(unsigned x) {
  return also_forgotten(x);
}

template <class T>
__device__ __forceinline__ T also_forgotten(T x) { return x; }

// ---- Three ----

template <class T>
__device__ __forceinline__ T twice(
    T x) {

  return 2 * x; // forgotten
}

extern \"C\" __global__ void __launch_bounds__(THREADS) kernel(Packet* packets) {
  packets[RUN].payload = twice(1);
}
";

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
    fn only_what_a_kernel_reaches_is_kept() {
        let expected = TEXT
            .replace("constexpr unsigned UNUSED = 1;\n", "")
            .replace(&TEXT[TEXT.find("// ---- Two").unwrap()..TEXT.find("// ---- Three").unwrap()], "");
        assert_eq!(used(TEXT), expected);
        assert_eq!(used(&expected), expected);
    }
}
