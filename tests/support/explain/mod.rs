//! What a scan does, step by step: told from the trace of the emulator, which has executed the generated kernels.
//!
//! ```console
//! $ cargo run -p scan-tools --bin explain -- --network kogge-stone --length 16 --operator sum
//! $ cargo run -p scan-tools --bin explain -- --network brent-kung --length 16 --svg brent_kung.svg
//! $ cargo run -p scan-tools --bin explain -- --carry look-back --length 128 --html explorer.html
//! $ cargo run -p scan-tools --bin explain -- --operator brackets --every-strategy --html explorer.html
//! ```

mod banks;
mod counts;
mod explorer;
mod network;
mod picture;
mod readme;
mod shown;
mod steps;
mod tile_states;
mod tile_states_picture;
mod traffic_picture;

pub use banks::{ADDRESSING_CYCLES, TreeAccesses, tree_banks};
pub use counts::{Counts, parallel_steps};
pub use explorer::{Apply, Frame, Recording, explorer, recording, recordings, recordings_of};
pub use network::{Application, Interval, Move, NetworkTrace, Step};
pub use picture::{picture, title};
pub use readme::{banks_table, counts_table, network_picture};
pub use shown::{Visitor, numbers, visit_shown};
pub use steps::steps;
pub use tile_states::{Status, TileHistory, TileStates, Window, Work};
pub use tile_states_picture::{look_ahead_picture, look_back_picture};
pub use traffic_picture::traffic_picture;
