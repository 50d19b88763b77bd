//! Which kernels are launched, and on what.

use super::*;
use crate::{
    BlockScan, Carry, DeviceLimits, FunctionSource, KernelRole, Network, Overrides, Piece, ScanSpec, Strategy,
    TileNumbers, operator::operator_of, plan,
};

fn plan_with(bytes: usize, threads: u32) -> Result<Plan, PlanError> {
    let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::ReduceThenScan };
    let overrides = Overrides { strategy: Some(strategy), threads: Some(threads), ..Overrides::default() };
    plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides)
        .map(|plans| plans.longest().clone())
}

fn launches(len: u64) -> Vec<(KernelRole, u32)> {
    let schedule = plan_with(4, 32).unwrap().schedule(len).unwrap();
    schedule.launches.iter().map(|launch| (launch.kernel, launch.blocks)).collect()
}

#[test]
fn launches_are_cooperative_where_all_blocks_must_be_resident() {
    let applies = |cooperative: Cooperative| [false, true].map(|in_place| cooperative.applies(in_place));
    assert_eq!(applies(Cooperative::Never), [false, false]);
    assert_eq!(applies(Cooperative::InPlace), [false, true]);
    assert_eq!(applies(Cooperative::Always), [true, true]);
}

#[test]
fn a_level_of_aggregates_is_added_as_soon_as_they_outgrow_a_block() {
    assert_eq!(launches(0), []);
    assert_eq!(launches(1), [(KernelRole::ScanBlock, 1)]);
    assert_eq!(launches(32), [(KernelRole::ScanBlock, 1)]);
    assert_eq!(
        launches(33),
        [(KernelRole::ReduceTiles, 2), (KernelRole::ScanAggregates, 1), (KernelRole::ScanTiles, 2)]
    );
    assert_eq!(
        launches(1_024),
        [(KernelRole::ReduceTiles, 32), (KernelRole::ScanAggregates, 1), (KernelRole::ScanTiles, 32)]
    );
    assert_eq!(
        launches(1_025),
        [
            (KernelRole::ReduceTiles, 33),
            (KernelRole::ScanAggregates, 2),
            (KernelRole::ScanAggregates, 1),
            (KernelRole::CarryAggregates, 2),
            (KernelRole::ScanTiles, 33)
        ]
    );
    assert_eq!(launches(1 << 20).iter().filter(|(kernel, _)| *kernel == KernelRole::CarryAggregates).count(), 2);
}

/// No kernel of one block is part of a plan for longer inputs.
#[test]
fn a_plan_for_longer_inputs_has_a_schedule_for_the_shortest() {
    let longer = Plan { from: 1_000, ..plan_with(4, 32).unwrap() };
    assert!(!longer.kernels().contains(&KernelRole::ScanBlock));
    for len in [1, 2, 32] {
        let schedule = longer.schedule(len).unwrap();
        let kernels: Vec<_> = schedule.launches.iter().map(|launch| (launch.kernel, launch.blocks)).collect();
        assert_eq!(kernels, [(KernelRole::ReduceTiles, 1), (KernelRole::ScanTiles, 1)], "{len}");
        assert!(schedule.workspace.bytes() >= 4);
    }
    assert_eq!(longer.schedule(0).unwrap().launches, []);
}

/// Every kernel that may be launched is in the text, whatever lengths the plan is for.
#[test]
fn a_text_has_the_kernels_of_its_plan() {
    let mut operator = operator_of(4);
    operator.functions.push(FunctionSource {
        name: "combine".to_owned(),
        parameters: ["a", "b"].map(|name| (name.to_owned(), operator.state.clone())).into(),
        returns: operator.state.clone(),
        body: vec![Piece::Text("return a;".into())],
        file: String::new(),
        uses: Vec::new(),
        calls: Vec::new(),
        cold: false,
    });
    for carry in [Carry::OneBlock, Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack] {
        let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry };
        let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
        let limits = DeviceLimits::BASELINE;
        let plans = plan(&operator, &ScanSpec::inclusive(), &limits, &overrides).unwrap();
        for from in [0, 1 << 32] {
            let plan = Plan { from, ..plans.longest().clone() };
            let source = crate::render(&operator, &plan).unwrap();
            for role in plan.kernels() {
                assert!(
                    source.text.contains(&format!("{}(", source.kernel_name(role.name()))),
                    "{carry:?}, {from}: {role}"
                );
            }
        }
    }
}

#[test]
fn statuses_of_no_bytes_need_no_room() {
    let none = Workspace::Kept { statuses: 5, status_bytes: 0 };
    assert_eq!((none.bytes(), none.status_room(1 << 20)), (256, 0));
    assert_eq!(Workspace::Kept { statuses: u64::MAX, status_bytes: 16 }.bytes(), u64::MAX);
}

#[test]
fn places_in_the_workspace_do_not_overlap() {
    let schedule = plan_with(12, 32).unwrap().schedule(100_000).unwrap();
    let mut places: Vec<(u64, u64)> = Vec::new();
    let mut elements = 100_000_u64;
    for launch in schedule
        .launches
        .iter()
        .filter(|launch| matches!(launch.kernel, KernelRole::ReduceTiles | KernelRole::ScanAggregates))
    {
        elements = elements.div_ceil(32);
        // The aggregates that a kernel leaves are the last place it is given.
        let place = launch.arguments.iter().rev().find_map(|argument| match argument {
            Argument::Workspace(offset) => Some(*offset),
            _ => None,
        });
        places.push((place.unwrap(), place.unwrap() + elements * 12));
    }
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{places:?}");
    assert!(places.iter().all(|place| place.1 <= schedule.workspace.bytes() && place.0 % 256 == 0), "{places:?}");
}
