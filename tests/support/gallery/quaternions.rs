use super::{Example, each_prefix, uniform};
use scan_runtime::gallery::quaternions::Attitude;

impl Example for Attitude {
    fn new() -> Self {
        Attitude
    }
    fn input(len: usize) -> Vec<[f32; 3]> {
        (0..len).map(|i| [0, 1, 2].map(|axis| (0.02 * (uniform(3 * i + axis) - 0.4)) as f32)).collect()
    }
    /// By matrices, each turn's from Rodrigues' formula.
    fn expected(&self, input: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let unit = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let product = |a: [[f64; 3]; 3], b: [[f64; 3]; 3]| {
            a.map(|row| [0, 1, 2].map(|j| row[0] * b[0][j] + row[1] * b[1][j] + row[2] * b[2][j]))
        };
        each_prefix(input, unit, |attitude, turn| {
            let [x, y, z] = turn.map(f64::from);
            let angle = (x * x + y * y + z * z).sqrt();
            let (sine, versine) =
                if angle == 0.0 { (1.0, 0.5) } else { (angle.sin() / angle, (1.0 - angle.cos()) / (angle * angle)) };
            let cross = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
            let square = product(cross, cross);
            let entry = |i: usize, j: usize| unit[i][j] + sine * cross[i][j] + versine * square[i][j];
            *attitude = product(*attitude, [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j))));
            [0, 1, 2].map(|row: usize| attitude[row][0] as f32)
        })
    }
    fn tolerance() -> f64 {
        2e-4
    }
}
