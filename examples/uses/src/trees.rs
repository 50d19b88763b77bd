//! Trees by Euler tours: the depth of each node, the sum of each subtree, and who is an ancestor of whom.
//!
//! The loop that one would write, over nodes whose parents come before them:
//!
//! ```text
//! for v in 1..n { depth[v] = depth[parent[v]] + 1 }
//! for v in (1..n).rev() { sum[parent[v]] += sum[v] }
//! ```
//!
//! Walk around the tree: a step into each node, and later a step out of it. That is a text of brackets. The depth is
//! the number of steps in less the number of steps out, and of the values that are met on the steps in, those of a
//! subtree lie between its two steps. So running sums along the tour, which are associative, have all the answers:
//!
//! ```text
//! depth(v)       = depths[enter[v]]
//! subtree(v)     = sums[leave[v]] − sums[enter[v]] + value[v]
//! ancestor(u, v) = enter[u] ≤ enter[v] and leave[v] ≤ leave[u]
//! ```
//!
//! The loop is over an order of the nodes, and reads `parent` anywhere; the scan goes straight along the tour, however
//! deep the tree is. A tour is made once for any number of sums. Here a loop makes it; in parallel that is a sort of
//! the edges and a list ranking.
//!
//! A tour has two steps a node: on two threads of a CPU it takes 3.2 times the loop for nodes in the order of a
//! listing, whose parents are in the caches.
//!
//! Source: R. E. Tarjan and U. Vishkin, *An Efficient Parallel Biconnectivity Algorithm*, 1985.

use scan_runtime::{Error, ScanOp, Scanner, arrays, scan_element, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// A step of a tour: 1 into a node, -1 out of it, and the value of the node.
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Step {
    turn: i8,
    value: u32,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sums {
    depth: i32,
    sum: u64,
}

/// The depth, and the sum of the values of the nodes that have been entered.
#[derive(Clone)]
struct Along;

#[scan_op(laws(samples = [(1, 3), (-1, 3), (1, 8)].map(|(turn, value)| Step { turn, value })))]
impl ScanOp for Along {
    type Input = Step;
    type State = Sums;
    type Output = Sums;
    const IDENTITY: Sums = Sums { depth: 0, sum: 0 };
    fn lift(x: Step) -> Sums {
        Sums { depth: x.turn as i32, sum: if x.turn > 0 { x.value as u64 } else { 0 } }
    }
    fn combine(a: Sums, b: Sums) -> Sums {
        Sums { depth: a.depth + b.depth, sum: a.sum + b.sum }
    }
}

/// A tour of a tree: the steps, and for each node when it is entered and left.
#[derive(Default)]
struct Tour {
    nodes: Vec<u32>,
    turns: Vec<i8>,
    enter: Vec<u32>,
    leave: Vec<u32>,
}

impl Tour {
    /// Of a tree whose root is node 0; the parent of each other node comes before it.
    fn new(parents: &[u32]) -> Self {
        let mut children = vec![vec![]; parents.len()];
        (1..parents.len()).for_each(|v| children[parents[v] as usize].push(v as u32));
        let none = || vec![0; parents.len()];
        let mut tour = Tour { enter: none(), leave: none(), ..Tour::default() };
        let mut open: Vec<(u32, i8)> = if parents.is_empty() { vec![] } else { vec![(0, 1)] };
        while let Some((node, turn)) = open.pop() {
            let times = if turn > 0 { &mut tour.enter } else { &mut tour.leave };
            times[node as usize] = tour.nodes.len() as u32;
            tour.nodes.push(node);
            tour.turns.push(turn);
            if turn > 0 {
                open.push((node, -1));
                open.extend(children[node as usize].iter().rev().map(|child| (*child, 1)));
            }
        }
        tour
    }

    /// The depth of each node, the root's is 1, and the sum of the values of its subtree.
    fn sums(&self, scanner: &Scanner, values: &[u32]) -> Result<(Vec<i32>, Vec<u64>), Error> {
        let (mut depths, mut sums) = (vec![0; self.nodes.len()], vec![0; self.nodes.len()]);
        let steps = (&self.turns, arrays::gather(values, &self.nodes));
        scanner.scan(Along).run_into(steps, (&mut depths, &mut sums))?;
        let tours = self.enter.iter().zip(&self.leave).zip(values);
        let of_nodes = tours.map(|((&enter, &leave), &value)| {
            (depths[enter as usize], sums[leave as usize] - sums[enter as usize] + u64::from(value))
        });
        Ok(of_nodes.unzip())
    }

    /// Whether a node is an ancestor of another one, or the same.
    fn is_ancestor(&self, of: usize, node: usize) -> bool {
        self.enter[of] <= self.enter[node] && self.leave[node] <= self.leave[of]
    }
}

/// The plain loop.
fn sums_in_a_loop(parents: &[u32], values: &[u32]) -> (Vec<i32>, Vec<u64>) {
    let (mut depths, mut sums): (Vec<i32>, Vec<u64>) = values.iter().map(|value| (1, u64::from(*value))).unzip();
    for v in 1..parents.len() {
        depths[v] = depths[parents[v] as usize] + 1;
    }
    for v in (1..parents.len()).rev() {
        sums[parents[v] as usize] += sums[v];
    }
    (depths, sums)
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    // In the order of a listing: the parent is the node before, or an ancestor of it.
    let mut parents: Vec<u32> = vec![];
    for v in 0..len {
        let up = mixed(v as u64).trailing_zeros();
        parents.push(
            (0..up).fold(v.saturating_sub(1) as u32, |parent, _| parents.get(parent as usize).copied().unwrap_or(0)),
        );
    }
    let values: Vec<u32> = (0..len as u64).map(|v| (mixed(v + 3) % 1000) as u32).collect();
    let tour = Tour::new(&parents);
    let (mut ours, mut expected) = Default::default();
    let mut report = Report::default();
    report.time(
        "depths and subtree sums, nodes",
        len,
        || expected = sums_in_a_loop(&parents, &values),
        || tour.sums(scanner, &values).map(|sums| ours = sums),
    )?;
    check(ours == expected, "depths and sums")?;
    report.drawing = drawing(scanner)?;
    Ok(report)
}

/// Folders with the sizes of all that is in them.
fn drawing(scanner: &Scanner) -> Result<String, Error> {
    let files = [
        ("project", 0, 0),
        ("sources", 0, 0),
        ("main.rs", 1, 12),
        ("lib.rs", 1, 30),
        ("tests", 0, 0),
        ("unit", 4, 0),
        ("a.rs", 5, 7),
        ("Cargo.toml", 0, 1),
    ];
    let tour = Tour::new(&files.map(|(_, parent, _)| parent));
    let (depths, sums) = tour.sums(scanner, &files.map(|(.., size)| size))?;
    let line = |(i, (name, ..)): (usize, &(&str, u32, u32))| {
        format!("{:>5}  {}{name}\n", sums[i], "  ".repeat(depths[i] as usize - 1))
    };
    let lines: String = files.iter().enumerate().map(line).collect();
    Ok(lines + &format!("a.rs is in sources: {}, in unit: {}", tour.is_ancestor(1, 6), tour.is_ancestor(5, 6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_trees() {
        for len in [0, 1, 2, 30_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn a_path_and_a_star() {
        let path: Vec<u32> = (0..1_000_u32).map(|v| v.saturating_sub(1)).collect();
        for parents in [path, vec![0; 1_000]] {
            let tour = Tour::new(&parents);
            assert_eq!(tour.sums(&Scanner::cpu(), &[1; 1_000]).unwrap(), sums_in_a_loop(&parents, &[1; 1_000]));
        }
    }

    #[test]
    fn ancestors_are_those_on_the_way_to_the_root() {
        let parents = [0, 0, 1, 1, 0, 4];
        let tour = Tour::new(&parents);
        for node in 0..6 {
            let mut above = vec![node];
            while above[above.len() - 1] != 0 {
                above.push(parents[above[above.len() - 1]] as usize);
            }
            (0..6).for_each(|of| assert_eq!(tour.is_ancestor(of, node), above.contains(&of), "{of} {node}"));
        }
    }
}
