//! The shapes of look-ahead.

use super::*;
use crate::{
    Architecture, KernelRole, Network, OffsetWidth, OpSource, Plans, ScanSpec, Segments,
    constants::MAX_ELEMENT_BYTES,
    operator::operator_of,
    plan,
    plan::{measured::loads_packets, pipeline::packets},
};

fn h200() -> DeviceLimits {
    let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, 132);
    limits.shared_bytes_per_block_optin = 227 * 1024;
    limits
}

fn plan_of(bytes: usize, limits: &DeviceLimits) -> Plan {
    let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
    let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
    plan(&operator_of(bytes), &ScanSpec::inclusive(), limits, &overrides).unwrap().longest().clone()
}

#[test]
fn runs_fill_words_and_meet_all_banks() {
    let shape = |bytes| {
        let plan = plan_of(bytes, &h200());
        (plan.run, plan.input_unit)
    };
    let shapes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 64].map(shape);
    let expected = [(124, 4), (62, 4), (36, 4), (31, 4), (18, 4), (13, 8), (9, 4), (9, 16), (5, 8), (5, 4), (3, 16)];
    assert_eq!(shapes, expected);
}

#[test]
fn segmented_stages_fit_small_and_large_shared_memory() {
    let key = |bytes| Segments::Keys(operator_of(bytes).state);
    let offsets = [Segments::Offsets(OffsetWidth::U32), Segments::Offsets(OffsetWidth::U64)];
    let tellings = [Segments::HeadFlags, Segments::HeadBits, key(1), key(7), key(64)].into_iter().chain(offsets);
    let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
    let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
    for segments in tellings {
        for limits in [DeviceLimits::BASELINE, h200()] {
            for bytes in [1, 2, 3, 4, 8, 12, 16, 24, 36, 40, 64, 96, 100, 256] {
                let spec = ScanSpec::inclusive().with_segments(segments.clone());
                let default = plan(&operator_of(bytes), &spec, &limits, &Overrides::default()).unwrap();
                assert!(default.iter().is_sorted_by(|a, b| a.from < b.from), "{bytes}: {default}");
                let plans = plan(&operator_of(bytes), &spec, &limits, &overrides).unwrap();
                let (plan, pipeline) = (plans.longest(), plans.longest().pipeline.unwrap());
                let shared = plan.shared_bytes + pipeline.dynamic_shared_bytes;
                assert!(shared <= limits.shared_bytes_per_block_optin, "{bytes}: {plan}");
                assert!(pipeline.stages > 2 * pipeline.teams && pipeline.teams >= 1, "{bytes}: {plan}");
                let heads = pipeline.head_bytes * pipeline.stages;
                let elements = plan.tile * bytes as u32 * pipeline.stages;
                let offsets = pipeline.slot_bytes * pipeline.slots;
                assert_eq!(pipeline.dynamic_shared_bytes, heads + elements + offsets, "{bytes}: {plan}");
            }
        }
    }
}

#[test]
fn runs_are_moved_in_the_widest_units_that_divide_them() {
    let units = [(1, 3), (1, 4), (2, 1), (2, 2), (3, 4), (4, 1), (6, 1), (6, 2), (8, 1), (12, 3), (16, 1), (64, 3)];
    assert_eq!(units.map(|(size, run)| unit(size, run)), [0, 4, 0, 4, 4, 4, 0, 4, 8, 4, 16, 16]);
}

#[test]
fn states_of_more_than_two_packets_are_loaded_by_packets() {
    assert_eq!([1, 12, 13, 24, 25, 36, 37].map(packets), [1, 1, 2, 2, 3, 3, 4]);
    assert_eq!([24, 25].map(|state| loads_packets(packets(state))), [false, true]);
}

/// What is copied in bulk begins and ends at multiples of 16 bytes, wherever the first flag lies among them.
#[test]
fn a_stage_has_room_for_the_head_bytes_of_a_tile() {
    let key = |bytes| Segments::Keys(operator_of(bytes).state);
    let offsets = Segments::Offsets(OffsetWidth::U32);
    let room =
        |tile| [Segments::None, Segments::HeadFlags, Segments::HeadBits].map(|segments| head_bytes(&segments, tile));
    assert_eq!(room(96), [0, 112, 32]);
    assert_eq!(room(97), [0, 128, 32]);
    assert_eq!(room(128), [0, 144, 48]);
    assert_eq!([key(1), key(4), key(7)].map(|segments| head_bytes(&segments, 96)), [128, 416, 704]);
    assert_eq!([96, 128, 136].map(|tile| head_bytes(&offsets, tile)), [16, 16, 32]);
}

#[test]
fn a_run_that_the_caller_names_is_not_made_shorter() {
    let run = |run| {
        let strategy = Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead });
        let overrides = Overrides { strategy, run, ..Overrides::default() };
        plan(&operator_of(100), &ScanSpec::inclusive(), &h200(), &overrides).map(|plans| plans.longest().run)
    };
    assert_eq!([run(Some(2)), run(Some(6))], [Ok(2), Ok(6)]);
    assert!(matches!(run(Some(1000)), Err(PlanError::Run { run: 1000, .. })));
}

/// Sums larger than elements have their own shapes and their own lengths from which long runs are faster.
#[test]
fn states_larger_than_elements_have_lengths_of_their_own() {
    let none = &Segments::None;
    let long = |element, state| long_bytes_of_large_states(element, state, false, none).map(|bytes| bytes >> 20);
    assert_eq!(
        [long(4, 4), long(12, 12), long(4, 8), long(1, 32), long(1, 36), long(36, 36)],
        [None, None, Some(18), Some(16), Some(14), None]
    );
    assert_eq!([long(1, 1), long(1, 4), long(1, 8), long(2, 4)], [None, None, Some(16), None]);
    assert_eq!(long_bytes_of_large_states(2, 4, true, none), Some(16 << 20));
    let teams = |element: usize, state: usize| {
        let op = OpSource { state: operator_of(state).state, ..operator_of(element) };
        let spec = ScanSpec::inclusive();
        Sizes::of(&op, &spec, &ItemBytes::of(&op, &spec)).teams()[0]
    };
    assert_eq!([teams(24, 24), teams(8, 24)], [(192, 3), (192, 2)]);
    // Narrow elements under larger states have short runs.
    assert_eq!([teams(1, 1), teams(1, 4), teams(2, 16), teams(1, 36)], [(192, 3), (256, 3), (256, 3), (192, 2)]);
}

#[test]
fn operators_of_large_elements_are_inlined_further() {
    let inlined = |bytes| plan_of(bytes, &h200()).inlined;
    assert_eq!([4, 64, 68].map(inlined), [INLINED, INLINED, LARGE_INLINED]);
}

#[test]
fn segmented_runs_share_their_room_with_head_bytes() {
    let longest = |bytes, segments: Segments| {
        let spec = ScanSpec::inclusive().with_segments(segments);
        let plans = plan(&operator_of(bytes), &spec, &h200(), &Overrides::default()).unwrap();
        assert_eq!(plans.longest().strategy.carry, Carry::LookAhead);
        plans.longest().clone()
    };
    let run = |bytes, segments| longest(bytes, segments).run;
    let by_flags = [1, 4, 8, 12].map(|bytes| run(bytes, Segments::HeadFlags));
    assert_eq!(by_flags, [44, 31, 17, 11]);
    assert_eq!(run(4, Segments::HeadBits), 31);
    assert_eq!(run(4, Segments::Keys(operator_of(4).state)), 19);
    assert_eq!(run(4, Segments::Offsets(OffsetWidth::U32)), 25);
    // Large elements, in teams as small as without segments.
    let four = || Segments::Keys(operator_of(4).state);
    for segments in [Segments::HeadFlags, Segments::HeadBits, four(), Segments::Offsets(OffsetWidth::U64)] {
        let shape = |bytes| {
            let plan = longest(bytes, segments.clone());
            (plan.threads, plan.pipeline.unwrap_or_default().teams, plan.run)
        };
        assert_eq!([36, 64].map(shape), [(192, 2, 5), (128, 2, 5)], "{segments:?}");
    }
    assert_eq!([16, 24].map(|bytes| run(bytes, Segments::Offsets(OffsetWidth::U32))), [11, 7]);
}

#[test]
fn every_size_fits_small_and_large_shared_memory() {
    for limits in [DeviceLimits::BASELINE, h200()] {
        for bytes in 1..=MAX_ELEMENT_BYTES {
            let plan = plan_of(bytes, &limits);
            let pipeline = plan.pipeline.unwrap();
            let shared = plan.shared_bytes + pipeline.dynamic_shared_bytes;
            assert!(shared <= limits.shared_bytes_per_block_optin, "{bytes}: {plan}");
            assert!(pipeline.stages > 2 * pipeline.teams && pipeline.teams >= 1, "{bytes}: {plan}");
        }
    }
}

#[test]
fn states_larger_than_elements_have_shapes_of_their_own() {
    let longest = |element, state| {
        let op = OpSource { state: operator_of(state).state, ..operator_of(element) };
        plan(&op, &ScanSpec::inclusive(), &h200(), &Overrides::default()).unwrap().longest().clone()
    };
    let shape = |plan: Plan| (plan.threads, plan.run, plan.pipeline.map(|pipeline| pipeline.group));
    // Tiles are longer than where both are as large as elements.
    assert_eq!(shape(longest(8, 8)), (256, 13, Some(1)));
    assert_eq!(shape(longest(8, 32)), (192, 25, Some(1)));
    assert_eq!(shape(longest(8, 72)), (128, 37, Some(11)));
    assert_eq!(shape(longest(8, 256)), (32, 37, Some(11)));
    // Sums of large elements are told in groups.
    assert_eq!([36, 64].map(|bytes| shape(longest(bytes, bytes)).2), [Some(1), Some(11)]);
    assert_eq!([64, 100, 144, 256].map(|bytes| longest(bytes, bytes).run), [3, 6, 4, 3]);
}

#[test]
fn a_warp_reads_all_blocks_of_a_group_and_all_groups() {
    for multiprocessors in [1, 2, 24, 132, 148, 192, 1000, 1024, 2000] {
        for group in [None, Some(0), Some(2), Some(20), Some(100)] {
            let mut limits = h200();
            limits.multiprocessors = multiprocessors;
            let strategy =
                Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead });
            let overrides = Overrides { strategy, group, ..Overrides::default() };
            let plans = plan(&operator_of(100), &ScanSpec::inclusive(), &limits, &overrides).unwrap();
            let pipeline = plans.longest().pipeline.unwrap();
            // 132 multiprocessors have one source with any fewer.
            let blocks = multiprocessors.max(132);
            assert!(pipeline.group == 1 || pipeline.window >= pipeline.group.max(blocks.div_ceil(pipeline.group)));
            assert!(pipeline.group == 1 || pipeline.window <= WARP, "{multiprocessors} {group:?}: {pipeline:?}");
        }
    }
}

#[test]
fn the_default_looks_ahead_over_long_inputs_where_it_can() {
    let default =
        |limits: DeviceLimits| plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &Overrides::default()).unwrap();
    let longest = |plans: &Plans| plans.longest().strategy.carry;
    assert_eq!(longest(&default(DeviceLimits::BASELINE)), Carry::LookBack);
    let plans = default(h200());
    let ahead = |plan: &&Plan| plan.strategy.carry == Carry::LookAhead;
    assert_eq!(plans.iter().filter(ahead).map(|plan| plan.run).collect::<Vec<_>>(), [31]);
    let from = plans.iter().find(ahead).unwrap().from;
    let kernel = |len| plans.for_len(len).schedule(len).unwrap().launches[0].kernel;
    assert_eq!((kernel(from - 1), kernel(from)), (KernelRole::ScanLookAtAll, KernelRole::ScanLookAhead));
    let mut ampere = h200();
    ampere.architecture = Architecture { major: 8, minor: 0 };
    assert_eq!(longest(&default(ampere)), Carry::LookBack);
}

/// A heavy `combine` has shapes of its own, whose warps fit as many registers; light ones are as they were.
#[test]
fn heavy_operators_have_shapes_of_their_own() {
    use super::super::measured::{heavy_shape, is_heavy};
    let shape = |input, state, element| {
        let shape = heavy_shape(input, state, element);
        (shape.teams[0], shape.run_words, shape.look_ahead_warps)
    };
    assert_eq!(shape(4, 24, 16), ((256, 2), 36, 2));
    assert_eq!(shape(1, 16, 8), ((256, 2), 40, 2));
    assert_eq!(shape(1, 8, 8), ((128, 3), 56, 2));
    assert_eq!(shape(1, 4, 1), ((256, 3), 21, 3));
    assert_eq!(shape(12, 36, 12), ((192, 2), 45, 2));
    assert_eq!(shape(4, 24, 4), ((256, 2), 27, 1));
    assert!(is_heavy(179, 4, 24, 16) && is_heavy(12, 1, 8, 4) && is_heavy(63, 12, 36, 12));
    // A sum, a product modulo a number, states of 72 bytes, which go by groups of blocks.
    assert!(!is_heavy(2, 4, 4, 4) && !is_heavy(33, 4, 4, 4) && !is_heavy(108, 8, 72, 8));
}
