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
//! the number of steps in less the number of steps out, and the values of a subtree are those that are met from the
//! step into its node to the step into its last node. So running sums along the tour, which are associative, have all
//! the answers. With the nodes in the order of the steps in, as in a listing, the tour is the number of steps out
//! before each:
//!
//! ```text
//! depth(v)       = depths[v]
//! subtree(v)     = sums[last[v]] − sums[v − 1]
//! ancestor(u, v) = u ≤ v ≤ last[u]
//! ```
//!
//! The loop reads `parent` anywhere and waits for what it has just written; the scan goes straight along the tour,
//! however deep the tree is. A tour is made once for any number of sums. Here a loop makes it; in parallel that is a
//! sort of the edges and a list ranking.
//!
//! On a CPU the scan takes as long as the loop, on one thread and on two, where the parents are in the caches.
//!
//! Source: R. E. Tarjan and U. Vishkin, *An Efficient Parallel Biconnectivity Algorithm*, 1985.

use scan_runtime::{Error, ScanOp, Scanner, scan_element, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// A step into a node: how many steps out came before it, since the last step in, and the value of the node.
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Step {
    out: u32,
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

#[scan_op(laws(samples = [(0, 3), (1, 3), (2, 8)].map(|(out, value)| Step { out, value })))]
impl ScanOp for Along {
    type Input = Step;
    type State = Sums;
    type Output = Sums;
    const IDENTITY: Sums = Sums { depth: 0, sum: 0 };
    fn lift(x: Step) -> Sums {
        Sums { depth: 1 - x.out as i32, sum: x.value as u64 }
    }
    fn combine(a: Sums, b: Sums) -> Sums {
        Sums { depth: a.depth + b.depth, sum: a.sum + b.sum }
    }
}

/// A tour of a tree: the steps out before the step into each node, and the last node of each subtree.
struct Tour {
    out: Vec<u32>,
    last: Vec<u32>,
}

impl Tour {
    /// Of a tree whose nodes are in the order of a listing: the first one is the root, and the parent of another one is
    /// the node before it or an ancestor of that.
    fn new(parents: &[u32]) -> Self {
        let (mut tour, mut open) = (Tour { out: vec![], last: vec![0; parents.len()] }, vec![]);
        for (node, parent) in parents.iter().enumerate() {
            let inside = open.iter().rposition(|above| above == parent).map_or(0, |depth| depth + 1);
            assert_eq!(inside > 0, node > 0, "node {node} is not below the node before it or one of its ancestors");
            tour.out.push((open.len() - inside) as u32);
            open.drain(inside..).for_each(|left: u32| tour.last[left as usize] = node as u32 - 1);
            open.push(node as u32);
        }
        open.into_iter().for_each(|left| tour.last[left as usize] = parents.len() as u32 - 1);
        tour
    }

    /// The depth of each node, the root's is 1, and the sum of the values of its subtree.
    fn sums(&self, scanner: &Scanner, values: &[u32]) -> Result<(Vec<i32>, Vec<u64>), Error> {
        let (mut depths, mut sums) = (vec![0; values.len()], vec![0; values.len()]);
        scanner.scan(Along).run_into((&self.out, values), (&mut depths, &mut sums))?;
        // Of the sum along the tour, each node needs that of its last node, which is not before it.
        let mut before = 0;
        for (node, last) in self.last.iter().enumerate() {
            let after = sums[node];
            sums[node] = sums[*last as usize] - before;
            before = after;
        }
        Ok((depths, sums))
    }

    /// Whether a node is an ancestor of another one, or the same.
    fn is_ancestor(&self, of: usize, node: usize) -> bool {
        (of..=self.last[of] as usize).contains(&node)
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
