//! The rules that make mutants, and the file of those that survive: see [`scan_tests::mutants`].

use scan_codegen::Templates;
use scan_tests::mutants::{
    Mutant, RustMutant,
    rules::{changes, changes_of_rust},
    shape,
    survivors::{Survivor, TEXT},
};

#[test]
fn the_shape_of_a_template_blanks_comments_and_tags() {
    let text = "a{{ b }}c {% if d %}e{% endif %} \"f\" // µ {{ g }}\n{#- h\ni #}j\n";
    let blank = |count: usize| " ".repeat(count);
    let expected = format!("avvvvvvvc {}e{}\n{}\n{}j\n", blank(10), blank(29), blank(5), blank(4));
    assert_eq!(shape(text), expected);
    assert_eq!(expected.len(), text.len());
}

#[test]
fn mutants_differ_and_keep_their_names() {
    let mutants = Mutant::all();
    let mut names: Vec<_> = mutants.iter().map(Mutant::to_string).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), mutants.len());
    for mutant in &mutants {
        assert_ne!(mutant.before, mutant.after, "{mutant}");
    }
    let mutant = &mutants[mutants.len() / 2];
    assert_eq!(Mutant::named(&mutant.to_string()).as_ref(), Ok(mutant));
    assert!(Mutant::named("naive:0:drop").is_err());
}

#[test]
fn a_mutant_changes_one_line() {
    let (name, text) = Templates::texts().find(|(name, _)| *name == "naive").unwrap();
    for mutant in Mutant::of_template(name, text) {
        let planted = mutant.plant(text);
        assert_eq!(planted.lines().count(), text.lines().count());
        let changed: Vec<_> = text.lines().zip(planted.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(changed, [(mutant.before.as_str(), mutant.after.as_str())]);
    }
}

fn of(line: &str) -> Vec<(&'static str, String)> {
    changes(line, line)
}

#[test]
fn every_rule_has_its_line() {
    let cases = [
        ("order", "  __syncthreads(); // step", "   // step"),
        ("drop", "  number++;", "  "),
        ("drop", "    break;", "    "),
        ("operands", "x = op.combine(f(a, b), c[1]);", "x = op.combine(c[1], f(a, b));"),
        ("bound", "for (; i < n;) {", "for (; i <= n;) {"),
        ("equality", "while (a == b) {", "while (a != b) {"),
        ("logic", "return a && b;", "return a || b;"),
        ("offset", "return x[i - 1];", "return x[i];"),
        ("sign", "return a + 16;", "return a - 16;"),
        ("stride", "s *= 2;", "s *= 4;"),
        ("parity", "wait(&full[stage], use % 2);", "wait(&full[stage], use % 2 ^ 1);"),
        ("negate", "if (f(a) || b) {", "if (!(f(a) || b)) {"),
        ("select", "return c ? f(a, b) : d;", "return c ? d : f(a, b);"),
        ("epoch", "send(sum, epoch);", "send(sum, epoch + 1);"),
        ("index", "x[i] = 3;", "x[i + 1] = 3;"),
        ("block", "return blockIdx.x;", "return (blockIdx.x + 1);"),
        ("thread", "return threadIdx.x;", "return (threadIdx.x + 1);"),
        ("extreme", "return min(a, b);", "return max(a, b);"),
        ("status", "return PREFIX;", "return AGGREGATE;"),
        ("accumulate", "a += b;", "a = b;"),
        ("shift", "return a << b;", "return a >> b;"),
        ("constant", "unsigned a = 0;", "unsigned a = 1;"),
        ("accumulate", "all &= a == b;", "all = a == b;"),
        ("side", "to += layout.output_step;", "to += layout.input_step;"),
        ("side", "at = n * sizeof(Input);", "at = n * sizeof(Output);"),
        ("axis", "return thread.x + 1;", "return thread.y + 1;"),
        ("axis", "const size_t first = tile.row * 2;", "const size_t first = tile.column * 2;"),
        ("width", "const size_t first = (size_t)row * 2;", "const unsigned first = (size_t)row * 2;"),
        ("width", "const size_t first = (size_t)row * 2;", "const size_t first = (unsigned)row * 2;"),
        ("width", "(unsigned long long)(epoch + 1) << 32", "(unsigned)(epoch + 1) << 32"),
        ("part", "start(i + (WARP + lane) * blocks, n);", "start(i + (lane) * blocks, n);"),
        ("part", "count = tiles + tiles / 3 * groups + f(tiles, 2);", "count = tiles + tiles / 3 * groups;"),
        ("part", "count = tiles + tiles / 3 * groups;", "count = tiles + tiles / 3;"),
        ("part", "for (i = tile.first * PLACES + k; i < n; i++) {", "for (i = tile.first + k; i < n; i++) {"),
        ("part", "for (i = tile.first * PLACES + k; i < n; i++) {", "for (i = tile.first * PLACES; i < n; i++) {"),
        ("check", "if (first < end && end <= n) {", "if (first < end) {"),
        ("check", "if (first < end && end <= n) {", "if (end <= n) {"),
        ("check", "    if (k < segments) {", "    if (true) {"),
        ("check", "return whole && f(a && b);", "return f(a && b);"),
        ("clamp", "next = min(f(i, 1), count - 2);", "next = (f(i, 1));"),
        ("clamp", "next = min(f(i, 1), count - 2);", "next = (count - 2);"),
    ];
    for (rule, line, changed) in cases {
        // What a comment says is blank in the shape.
        let shape = match line.find("//") {
            Some(at) => format!("{}{}", &line[..at], " ".repeat(line.len() - at)),
            None => line.to_owned(),
        };
        let found = changes(line, &shape);
        assert!(found.contains(&(rule, changed.to_owned())), "{line}: {found:?}");
    }
}

#[test]
fn every_rule_of_rust_has_its_line() {
    let cases = [
        ("side", "let at = leads(one.input_stride, 3);", "let at = leads(one.output_stride, 3);"),
        ("side", "beyond(inputs) && f(x)", "beyond(outputs) && f(x)"),
        ("axis", "let row = start + 1;", "let row = end + 1;"),
        ("check", "if start == 0 { 0 } else { f(start) }", "if true { 0 } else { f(start) }"),
        ("check", "    if a.is_empty() || b <= c {", "    if false {"),
        ("check", "beyond(inputs) && beyond(outputs)", "beyond(inputs)"),
        ("drop", "        self.check(len)?;", "        "),
        ("key", "let key = hash([name, version, options]);", "let key = hash([name, options]);"),
        ("key", "let key = hash([name, version, options]);", "let key = hash([name, version]);"),
        ("clamp", "let step = max(a, 1);", "let step = (a);"),
    ];
    for (rule, line, changed) in cases {
        let found = changes_of_rust(line, line);
        assert!(found.contains(&(rule, changed.to_owned())), "{line}: {found:?}");
    }
    assert_eq!(changes_of_rust("use a::{input, output};", "use a::{input, output};"), []);
}

#[test]
fn declarations_and_directives_stay() {
    for line in ["#pragma unroll 2", "unsigned word[4];", "Span sums[RUN];", "} else {", "return x;", "size_t* a;"] {
        assert_eq!(of(line), [], "{line}");
    }
}

#[test]
fn an_operand_of_two_lines_stays() {
    assert_eq!(
        of("    const bool all = first(a) + f(b,"),
        [("sign", "    const bool all = first(a) - f(b,".into()), ("part", "    const bool all = f(b,".into(),)]
    );
}

#[test]
fn tests_and_comments_have_no_mutants() {
    let text = "// a < b\nfn f(a: u32, b: u32) -> bool {\n    a < b\n}\n\n#[cfg(test)]\nmod tests {\n    a < b;\n}\n";
    let found = RustMutant::all("f.rs", text);
    assert!(found.iter().all(|mutant| mutant.line == 3), "{found:?}");
    assert_eq!(found[0].plant(text), text.replacen("    a < b\n", "    a <= b\n", 1));
}

#[test]
fn the_file_can_be_read() {
    Survivor::read(TEXT).unwrap();
}

#[test]
fn an_entry_is_read_as_it_is_written() {
    let mutants = Mutant::all();
    let twice = mutants.iter().find(|mutant| mutant.same_before == 1).unwrap();
    let dropped = mutants.iter().find(|mutant| mutant.rule == "drop").unwrap();
    let entries = [twice, dropped].map(|mutant| Survivor::of(mutant, "It is so.".to_owned()));
    let text = format!("# A comment.\n\n{}\nIt\nis so.\n\n{}\nIt is so.\n", entries[0], entries[1]);
    assert_eq!(Survivor::read(&text).unwrap(), entries);
    assert!(entries[0].is(twice) && !entries[0].is(dropped));
}

#[test]
fn an_entry_without_a_reason_is_an_error() {
    assert!(Survivor::read("naive\n- a;\n+\n").unwrap_err().contains("reason"));
    assert!(Survivor::read("naive\n- a;\nbecause\n").unwrap_err().contains('+'));
}
