use scan_runtime::{Scanner, ops, scan_element, scan_op};

#[scan_op(identity = 0)]
fn total(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[scan_element]
#[derive(Clone, Copy)]
struct Point {
    x: f32,
    y: f32,
}

mod shapes {
    use super::{Point, scan_element, scan_op};

    /// A struct as a field that is not as visible as the struct.
    #[scan_element]
    #[derive(Clone, Copy)]
    pub struct Shape {
        corner: Point,
        sides: u32,
    }

    #[scan_op]
    pub fn first_shape(a: Shape, _b: Shape) -> Shape {
        a
    }
}

fn main() {
    let scanner = Scanner::cpu();
    let _ = scanner.scan(ops::sum::<Point>());
    let corners = [Point { x: 0.0, y: 0.0 }];
    let _ = scanner.scan(shapes::first_shape).run((&corners, &[1_u32]));
    let _ = scanner.scan(ops::max::<f32>()).run((&[1.0_f32],));
    let _ = scanner.scan(|a: u32, b: u32| a + b);
    let total = scanner.scan(total).run(&[1, 2, 3]).unwrap();
    let _ = total;
}
