//! The charts of `BENCHMARKS.md` show what the benches wrote, which is kept in `benchmarks`.
//!
//! For newer runs, name them here; `UPDATE_COUNTS=1 cargo test -p scan-tests --test tools charts` draws them.

use std::fs;

use scan_tests::charts::{LineChart, Series, across_ranks, training_chart};

use crate::counts::{check, path};

fn raw(name: &str) -> String {
    fs::read_to_string(path(&format!("benchmarks/runs/{name}"))).unwrap()
}

#[test]
fn training_is_what_was_measured() {
    let caption = "NVIDIA H200, 2026-11-29; by type, shape of the arrays, and time axis";
    let chart = training_chart(&raw("2026-11-29-h200-4/training.txt"), caption).unwrap();
    check("docs/training.svg", &chart);
    // Each row of the table, once.
    assert_eq!(chart.matches("class=\"over\"").count(), 20);
    assert!(training_chart("| f32 | [8, 8], 1 | 1 | sideways | 0.8 |", "").is_err());
    assert!(training_chart("nothing", "").is_err());
}

#[test]
fn several_gpus_are_what_was_measured() {
    let of = |file: &str, row, name| {
        let mut series = across_ranks(&raw(&format!("2026-11-28-h100x4/{file}.tsv")), row, name).unwrap();
        // The shortest slice of torch is 1,024 elements, where scans have a row of another name.
        series.points.retain(|point| point.0 > 1024.0);
        series
    };
    let (sum, torch) = ("sum_f32", "torch_cumsum_f32");
    let chart = LineChart {
        title: "A sum across several GPUs".to_owned(),
        caption:
            "f32, four NVIDIA H100 with NVLink, 2026-11-28; each rank reads its input twice and writes its output once"
                .to_owned(),
        lengths: "elements of a rank".to_owned(),
        series: vec![
            of("world1", sum, "one rank"),
            of("world2", sum, "two ranks"),
            of("world4", sum, "four ranks"),
            of("torch2", torch, "torch, two ranks"),
            of("torch4", torch, "torch, four ranks"),
        ],
    };
    check("docs/several_gpus.svg", &chart.draw().unwrap());
    assert!(across_ranks(&raw("2026-11-28-h100x4/world1.tsv"), "sum", "").is_err());
}

#[test]
fn a_line_needs_two_lengths() {
    let series = vec![Series { name: "ours".to_owned(), points: vec![(1024.0, 0.5)] }];
    let text = String::new;
    assert_eq!(LineChart { title: text(), caption: text(), lengths: text(), series }.draw(), None);
}
