//! The pictures of tile statuses over time show what the emulator recorded, and its records agree with the protocols.
//!
//! When the kernels change, `UPDATE_COUNTS=1 cargo test -p scan-tests --test tools tile_states` draws them anew.

use std::ops::Range;

use scan_tests::explain::{Status, TileHistory, TileStates, Window, Work, look_ahead_picture, look_back_picture};

use crate::counts::check;

/// The schedules, some of each order of threads.
const SEEDS: Range<u64> = 1..13;

#[test]
fn pictures_in_the_docs_are_those_drawn_now() {
    check("docs/look_back_states.svg", &look_back_picture().unwrap());
    check("docs/look_ahead_states.svg", &look_ahead_picture().unwrap());
}

/// The window of a tile. All that was found in it had been published.
fn window<'a>(states: &'a TileStates, tile: usize, history: &'a TileHistory) -> &'a Window {
    let window = history.window.as_ref().unwrap();
    for (&read, &(at, status)) in &window.found {
        let published = &states.tiles[read as usize].published;
        assert!(published.iter().any(|&(when, what)| what == status && when < at), "{tile} reads {read}: {states:?}");
    }
    window
}

#[test]
fn look_back_folds_aggregates_back_to_a_prefix() {
    for seed in SEEDS {
        let states = TileStates::of_look_back(seed).unwrap();
        let mut of_blocks: Vec<u32> = states.tiles.iter().map(|history| history.block).collect();
        of_blocks.sort_unstable();
        assert!(of_blocks.iter().copied().eq(0..12), "{seed}: a block a tile: {states:?}");
        for (tile, history) in states.tiles.iter().enumerate() {
            let statuses: Vec<Status> = history.published.iter().map(|&(_, status)| status).collect();
            let (loaded, scanned) = (history.work[&Work::Load], history.work[&Work::Scan]);
            assert!(loaded.1 < history.published[0].0 && loaded.0 < loaded.1, "{seed}, {tile}: {states:?}");
            if tile == 0 {
                assert!(statuses == [Status::Prefix] && history.window.is_none(), "{seed}: {states:?}");
                continue;
            }
            assert_eq!(statuses, [Status::Aggregate, Status::Prefix], "{seed}, {tile}: {states:?}");
            let window = window(&states, tile, history);
            let first = window.first_needed().unwrap();
            let needed: Vec<(u32, Status)> = window.found.range(first..).map(|(&tile, of)| (tile, of.1)).collect();
            let of = |read| if read == first { Status::Prefix } else { Status::Aggregate };
            let expected: Vec<(u32, Status)> = (first..tile as u32).map(|read| (read, of(read))).collect();
            assert_eq!(needed, expected, "{seed}, {tile}: {states:?}");
            let last_needed = window.found.range(first..).map(|(_, of)| of.0).max().unwrap();
            assert!(last_needed < history.published[1].0 && history.published[1].0 < scanned.1, "{seed}, {tile}");
        }
    }
}

#[test]
fn look_ahead_folds_the_aggregates_since_the_last_tile_of_the_block() {
    // The other seeds have runs of millions of polls.
    for seed in [1, 3, 5, 7, 10] {
        let states = TileStates::of_look_ahead(seed).unwrap();
        for (tile, history) in states.tiles.iter().enumerate() {
            let &[(published, Status::Aggregate)] = history.published.as_slice() else {
                panic!("{seed}, {tile}: {states:?}")
            };
            let of = |work| history.work[&work];
            let (load, fold, scan, store) = (of(Work::Load), of(Work::Fold), of(Work::Scan), of(Work::Store));
            let ordered = load.0 < load.1 && load.1 <= fold.0 && fold.1 == published && published < scan.0;
            assert!(ordered && scan.1 < store.0 && store.0 < store.1, "{seed}, {tile}: {history:?}");
            if tile == 0 {
                assert!(history.window.is_none() && history.prefix_passed.is_none(), "{seed}: {history:?}");
                continue;
            }
            let window = window(&states, tile, history);
            let read: Vec<u32> = window.found.keys().copied().collect();
            assert!(read.iter().copied().eq((tile as u32).saturating_sub(3)..tile as u32), "{seed}, {tile}: {read:?}");
            let passed = history.prefix_passed.unwrap();
            assert!(window.to() < passed && passed <= scan.0, "{seed}, {tile}: {history:?}");
            let before = tile.checked_sub(3).and_then(|before| states.tiles[before].prefix_passed);
            assert!(before < Some(passed), "{seed}, {tile}: prefixes are passed in the order of tiles");
        }
    }
}
