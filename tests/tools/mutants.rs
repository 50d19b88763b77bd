//! Makes small mistakes in the templates, one at a time, and looks whether some program in the emulator goes wrong by it.
//!
//! ```console
//! $ cargo run --release -p scan-tools --bin mutants                            # 200 mutants, drawn by a seed
//! $ cargo run --release -p scan-tools --bin mutants -- --sample 1000 --seed 7
//! $ cargo run --release -p scan-tools --bin mutants -- --template look_back    # all of one template
//! $ cargo run --release -p scan-tools --bin mutants -- --only look_back:162:operands
//! $ SCAN_TESTS_MUTANT=look_back:162:operands cargo test -p scan-tests --test kernels   # what the whole suite says of one
//! ```

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use scan_tests::{
    mutants::{
        Crew, Mutant, Outcome, serve,
        survivors::{self, Survivor},
    },
    target_dir,
};

/// Makes mistakes in the templates, and looks whether they are found.
#[derive(Parser)]
struct Arguments {
    /// How many mutants, of all templates.
    #[arg(long, default_value_t = 200)]
    sample: usize,
    /// The seed that draws them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instead, every mutant of a template; several may be named.
    #[arg(long, value_name = "NAME")]
    template: Vec<String>,
    /// Instead, this mutant; several may be named.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Instead, the mutants that are listed as survivors.
    #[arg(long)]
    survivors: bool,
    /// Show the mutants, and try none.
    #[arg(long)]
    list: bool,
    /// Processes at a time; as many as there are cores unless told otherwise.
    #[arg(long)]
    processes: Option<usize>,
    /// A mutant with which one program takes longer is taken never to end.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Examine the mutants whose names come in; what is compiled goes into this folder.
    #[arg(long, value_name = "FOLDER", hide = true)]
    serve: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether each mutant is found, or listed with a reason.
fn run(arguments: &Arguments) -> Result<bool, String> {
    if let Some(folder) = &arguments.serve {
        let served = serve(folder, std::io::stdin().lock(), std::io::stdout().lock());
        return served.map(|()| true).map_err(|error| error.to_string());
    }
    let listed = Survivor::read(survivors::TEXT)?;
    let stale = Survivor::stale()?;
    for survivor in &stale {
        println!("{} lists what is no mutant any more:\n{survivor}\n", survivors::FILE);
    }
    let mutants = chosen(arguments, &listed)?;
    if arguments.list {
        for mutant in &mutants {
            println!("{mutant}\n- {}\n+ {}\n", mutant.before.trim(), mutant.after.trim());
        }
        println!("{} mutants", mutants.len());
        return Ok(stale.is_empty());
    }
    let start = Instant::now();
    let crew = Crew {
        program: std::env::current_exe().map_err(|error| error.to_string())?,
        folder: target_dir()?.join(format!("mutants-{}", std::process::id())),
        size: arguments.processes.unwrap_or_else(|| thread::available_parallelism().map_or(1, |cores| cores.get())),
        patience: Duration::from_secs(arguments.patience),
    };
    let outcomes = crew.examine(&mutants, |mutant, outcome| {
        let seconds = start.elapsed().as_secs();
        match outcome {
            Outcome::Survived(probes) => {
                let known = if listed.iter().any(|survivor| survivor.is(mutant)) { ", as listed" } else { "" };
                println!(
                    "{seconds:5} s  {mutant}: SURVIVED {probes} programs{known}\n- {}\n+ {}",
                    mutant.before.trim(),
                    mutant.after.trim()
                );
            }
            other => println!("{seconds:5} s  {mutant}: {}", other.to_string().replace('\t', ": ")),
        }
    })?;
    Ok(report(&mutants, &outcomes, &listed) && stale.is_empty())
}

/// The mutants that the arguments name.
fn chosen(arguments: &Arguments, listed: &[Survivor]) -> Result<Vec<Mutant>, String> {
    if !arguments.only.is_empty() {
        return arguments.only.iter().map(|name| Mutant::named(name)).collect();
    }
    let mut mutants = Mutant::all();
    if arguments.survivors {
        mutants.retain(|mutant| listed.iter().any(|survivor| survivor.is(mutant)));
    } else if !arguments.template.is_empty() {
        mutants.retain(|mutant| arguments.template.iter().any(|name| name == mutant.template));
    } else {
        mutants.sort_by_cached_key(|mutant| mutant.rank(arguments.seed));
        mutants.truncate(arguments.sample);
    }
    Ok(mutants)
}

/// Prints a table of the templates; whether each mutant is found, or listed with a reason, and none listed is found.
fn report(mutants: &[Mutant], outcomes: &[Outcome], listed: &[Survivor]) -> bool {
    let mut rows: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    let mut found_though_listed = Vec::new();
    for (mutant, outcome) in mutants.iter().zip(outcomes) {
        let is_listed = listed.iter().any(|survivor| survivor.is(mutant));
        let column = match outcome {
            Outcome::Found(_) => 1,
            Outcome::NotCompiled(_) => 2,
            Outcome::Survived(_) if is_listed => 3,
            Outcome::Survived(_) => 4,
        };
        if is_listed && column < 3 {
            found_though_listed.push(mutant);
        }
        for row in [mutant.template, "all"] {
            let row = rows.entry(row).or_default();
            row[0] += 1;
            row[column] += 1;
        }
    }
    println!(
        "\n| template | mutants | found | not compiled | survived, explained | survived |\n|---|---|---|---|---|---|"
    );
    let (all, templates): (Vec<_>, Vec<_>) = rows.iter().partition(|(name, _)| **name == "all");
    for (name, [tried, found, not_compiled, explained, survived]) in templates.iter().chain(&all) {
        println!("| {name} | {tried} | {found} | {not_compiled} | {explained} | {survived} |");
    }
    for mutant in &found_though_listed {
        println!("listed in {} as a survivor, but found: {mutant}", survivors::FILE);
    }
    rows.get("all").is_none_or(|row| row[4] == 0) && found_though_listed.is_empty()
}
