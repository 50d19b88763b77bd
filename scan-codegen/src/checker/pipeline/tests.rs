//! The order of steps: sound as the templates have it, and each fault of it found by its rule.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    roles::{Barrier, Folded},
    *,
};
use crate::{
    DeviceLimits, FunctionSource, OffsetWidth, OpSource, Overrides, Piece, ScanSpec, operator::operator_of, plan,
};

const USUAL: Protocol = Protocol {
    team: 192,
    teams: 3,
    stages: 10,
    slots: 0,
    look_ahead_warps: 1,
    grouped: false,
    keeps_states: false,
    in_place: true,
    input_in_slices: true,
    output_in_slices: true,
    copies_edges: false,
};

fn rules(protocol: Protocol) -> Vec<Rule> {
    protocol_violations(protocol).0.into_iter().map(|violation| violation.rule).collect()
}

/// Protocols of every kind, with as few stages as there may be, and with more.
fn protocols() -> impl Iterator<Item = Protocol> {
    let kinds = [
        USUAL,
        Protocol { slots: 3, ..USUAL },
        Protocol { grouped: true, ..USUAL },
        Protocol { grouped: true, slots: 3, ..USUAL },
        Protocol { keeps_states: true, in_place: false, ..USUAL },
        Protocol { look_ahead_warps: 2, ..USUAL },
        Protocol { look_ahead_warps: 3, in_place: false, ..USUAL },
        Protocol { input_in_slices: false, ..USUAL },
        Protocol { output_in_slices: false, slots: 3, ..USUAL },
    ];
    let teams = [(32, 1), (32, 2), (64, 2), (96, 3), (128, 4)];
    let shapes =
        teams.into_iter().flat_map(|(team, teams)| (0..4).map(move |more| (team, teams, 2 * teams + 1 + more)));
    shapes.flat_map(move |(team, teams, stages)| {
        let edges = [false, true].map(|copies_edges| kinds.map(|kind| Protocol { copies_edges, ..kind }));
        edges.into_iter().flatten().map(move |kind| Protocol {
            team,
            teams,
            stages,
            slots: if kind.slots > 0 { teams.max(2) } else { 0 },
            ..kind
        })
    })
}

#[test]
fn protocols_of_all_kinds_are_sound() {
    for protocol in protocols() {
        assert_eq!(protocol_violations(protocol).0, [], "{protocol:?}");
    }
}

/// A team keeps a tile while it reduces the next, so a stage less than that and one that is filled hangs.
#[test]
fn too_few_stages_are_a_deadlock() {
    for teams in 1..5 {
        let with = |stages| rules(Protocol { team: 32, teams, stages, ..USUAL });
        assert_eq!((with(teams + 1), with(teams + 2)), (vec![Rule::Deadlock], vec![]), "{teams} teams");
    }
    let words = protocol_violations(Protocol { team: 32, teams: 1, stages: 2, ..USUAL }).0.remove(0).what;
    assert!(words.contains("warp 0 of team 0 waits for `full` of tile 2, and for that the copy warp"), "{words}");
    assert!(words.contains("the copy warp waits for `drained` of tile 1, and for that warp 0 of team 0"), "{words}");
}

#[test]
fn threads_without_a_whole_warp_leave_arrivals_out() {
    let found = protocol_violations(Protocol { team: 80, ..USUAL }).0;
    assert!(found.iter().all(|violation| violation.rule == Rule::Arrivals), "{found:?}");
    assert_eq!(found[0].what, "`edges_done` counts 80 arrivals, and gets 64 for tile 0 of a block");
}

/// A warp whose turn comes later than all stages have been used would take a phase for the one after the next.
#[test]
fn more_look_ahead_warps_than_stages_confuse_phases() {
    let with = |look_ahead_warps| rules(Protocol { team: 32, teams: 1, stages: 3, look_ahead_warps, ..USUAL });
    assert_eq!((with(3), with(4)), (vec![], vec![Rule::Phases]));
}

/// The roles of a protocol, with a step left out of one.
fn without(protocol: Protocol, role: &str, dropped: impl Fn(&Step) -> bool) -> Vec<Rule> {
    let tiles = 2 * protocol.stages + 2 * protocol.teams;
    let mut roles = roles(protocol, tiles);
    let role = roles.iter_mut().find(|known| known.name == role).unwrap();
    let before = role.steps.len();
    role.steps.retain(|step| !dropped(step));
    assert!(role.steps.len() < before);
    let mut report = Report::default();
    arrivals(protocol, tiles, &roles, &mut report);
    if report.0.is_empty() {
        deadlock(protocol, &roles, &mut report);
        held_up(protocol, &roles, &mut report);
    }
    report.0.into_iter().map(|violation| violation.rule).collect()
}

#[test]
fn each_missing_wait_and_arrival_is_found() {
    use Barrier::*;
    let wait = |barrier| move |step: &Step| matches!(step, Step::Wait(of, _) if *of == barrier);
    let arrive = |barrier| move |step: &Step| matches!(step, Step::Arrive(of, ..) if *of == barrier);
    let by_offsets = Protocol { slots: 3, ..USUAL };
    let grouped = Protocol { grouped: true, ..USUAL };
    let round_robin = Protocol { look_ahead_warps: 2, ..USUAL };
    let cases = [
        ("drained", Rule::Overwriting, without(USUAL, "the copy warp", wait(Drained))),
        ("aggregates_ready", Rule::Overwriting, without(USUAL, "warp 0 of team 1", wait(AggregatesReady))),
        ("prefix_ready", Rule::Overwriting, without(USUAL, "warp 1 of team 1", wait(PrefixReady))),
        ("full", Rule::Overwriting, without(USUAL, "warp 1 of team 1", wait(Full))),
        ("arrivals at drained", Rule::Arrivals, without(USUAL, "warps 2 to 5 of team 1", arrive(Drained))),
        ("edges_done", Rule::Overwriting, without(by_offsets, "the offset-search warp", wait(EdgesDone))),
        ("part_empty", Rule::Phases, without(grouped, "the group warp of tiles", wait(PartEmpty(Folded::Tiles)))),
        ("part_full", Rule::Overwriting, without(grouped, "the look-ahead warp", wait(PartFull(Folded::Groups)))),
        (
            "prefix_ready of the last turn",
            Rule::Overwriting,
            without(round_robin, "look-ahead warp 1", wait(PrefixReady)),
        ),
    ];
    let missed: Vec<_> = cases.iter().filter(|(_, rule, found)| !found.contains(rule)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

/// An operator that can be rendered, of these sizes.
fn operator(element: usize, state: usize) -> OpSource {
    let function =
        |name: &str, parameters: &[(&str, &crate::ElementType)], returns: &crate::ElementType| FunctionSource {
            name: name.to_owned(),
            parameters: parameters.iter().map(|(name, ty)| ((*name).to_owned(), (*ty).clone())).collect(),
            returns: returns.clone(),
            body: vec![Piece::Text("return {};".into())],
            file: String::new(),
            uses: Vec::new(),
            calls: Vec::new(),
            cold: false,
        };
    let (element, state) = (operator_of(element).state, operator_of(state).state);
    let mut functions = vec![function("combine", &[("a", &state), ("b", &state)], &state)];
    if element != state {
        functions.push(function("lift", &[("x", &element)], &state));
        functions.push(function("project", &[("a", &state)], &element));
    }
    OpSource { input: element.clone(), state, output: element, functions, ..operator_of(1) }
}

/// The barrier that an expression of a text stands for.
fn name_of(expression: &str) -> &str {
    let last = expression.rsplit('.').next().unwrap_or_default();
    match last.trim_end_matches("()").trim_end_matches("_barriers") {
        "full" if expression.starts_with("parts") => "part_full",
        "empty" => "part_empty",
        name => name,
    }
}

/// The barriers of the templates are those of `roles`, with the counts that it has.
#[test]
fn the_barriers_of_kernels_are_those_of_the_roles() {
    let (spec, offsets) = (ScanSpec::inclusive(), Segments::Offsets(OffsetWidth::U32));
    let round_robin = Overrides { look_ahead_warps: Some(2), ..Overrides::default() };
    let keeps = Overrides { keeps_states: Some(true), ..Overrides::default() };
    let cases = [
        (operator(4, 4), spec.clone(), Overrides::default()),
        (operator(4, 4), spec.clone().with_segments(offsets), Overrides::default()),
        (operator(4, 4), spec.clone(), round_robin),
        (operator(64, 64), spec.clone(), Overrides::default()),
        (operator(4, 8), spec, keeps),
    ];
    let strategy = crate::Strategy { block: crate::BlockScan::SHARED_RUNS, carry: crate::Carry::LookAhead };
    let mut names_of_all = BTreeSet::new();
    for (operator, spec, overrides) in cases {
        let plans = plan(&operator, &spec, &DeviceLimits::H200, &overrides.strategy(strategy)).unwrap();
        let plan = plans.longest();
        let protocol = Protocol::of(plan, plan.pipeline.as_ref().unwrap());
        let text = crate::render(&operator, plan).unwrap().text;
        let names = |before: &str| -> BTreeSet<&str> {
            text.split(before).skip(1).filter_map(|after| after.split('[').next()).collect()
        };
        let count = |words: &str| match words {
            "1" => 1,
            "TEAM" => plan.threads,
            "TEAM_WARPS" => plan.threads / WARP,
            "1 + SEARCH_LANES" => 1 + if protocol.slots > 0 { WARP } else { 0 },
            other => panic!("a count of {other}"),
        };
        let initialized = text.split("init_barrier(&").skip(1).map(|after| {
            let (arguments, _) = after.split_once(");").unwrap();
            let (barrier, counted) = arguments.rsplit_once(", ").unwrap();
            (name_of(barrier.split('[').next().unwrap()), count(counted))
        });
        let initialized: BTreeMap<&str, u32> = initialized.collect();
        let known: BTreeMap<&str, u32> =
            barriers_of(&protocol).map(|(barrier, _)| (barrier.name(), barrier.count(&protocol))).collect();
        assert_eq!(initialized, known, "{plan}");
        let declared: BTreeSet<&str> = names("__shared__ Barrier ").into_iter().map(name_of).collect();
        assert_eq!(declared, known.keys().copied().collect(), "{plan}");
        // What the roles wait for, they wait for in the text.
        let waits = roles(Protocol { copies_edges: true, ..protocol }, 3 * protocol.stages);
        let waits = waits.iter().flat_map(|role| &role.steps).filter_map(|step| match step {
            Step::Wait(barrier, _) => Some(barrier.name()),
            _ => None,
        });
        // `meet` waits, too, at its last argument but one.
        let meets = text.lines().filter(|line| line.contains("meet(") || line.contains("meet_if("));
        let met = meets.filter_map(|line| line.split_once(", at)")?.0.trim_end_matches("()").rsplit(['(', ' ']).next());
        let awaited: BTreeSet<&str> = names("  wait(&").into_iter().chain(met).map(name_of).collect();
        let awaited: BTreeSet<&str> = awaited.into_iter().filter(|name| *name != "barriers").collect();
        assert_eq!(awaited, waits.collect(), "{plan}");
        names_of_all.extend(known.into_keys());
    }
    assert_eq!(names_of_all.len(), 11);
}
