//! Executes the steps of roles, as far as they get.

use std::collections::HashMap;

use super::{
    Protocol,
    roles::{Barrier, Role, Step},
};

/// How far each role has come, and what has happened.
pub(super) struct Replay<'a> {
    protocol: Protocol,
    roles: &'a [Role],
    /// The next step of each role.
    at: Vec<usize>,
    /// The arrivals of each phase.
    arrived: HashMap<(Barrier, u32), u32>,
    /// How many tiles have a status, and how many a status of their group.
    published: [u32; 2],
}

impl<'a> Replay<'a> {
    pub(super) fn new(protocol: Protocol, roles: &'a [Role]) -> Self {
        Replay { protocol, roles, at: vec![0; roles.len()], arrived: HashMap::new(), published: [0; 2] }
    }

    /// Begins again.
    pub(super) fn restart(&mut self) {
        self.at.fill(0);
        self.arrived.clear();
        self.published = [0; 2];
    }

    pub(super) fn roles(&self) -> &'a [Role] {
        self.roles
    }

    /// The next step of a role.
    pub(super) fn at(&self, role: usize) -> usize {
        self.at[role]
    }

    /// Lets all roles go on as far as they get, with one of them no further than to a step.
    pub(super) fn run(&mut self, held_up: Option<(usize, usize)>) {
        let mut moved = true;
        while moved {
            moved = false;
            for (index, role) in self.roles.iter().enumerate() {
                let end = held_up.filter(|(held, _)| *held == index).map_or(role.steps.len(), |(_, at)| at);
                while self.at[index] < end && self.take(role.steps[self.at[index]]) {
                    self.at[index] += 1;
                    moved = true;
                }
            }
        }
    }

    /// Takes a step, if it need not wait.
    fn take(&mut self, step: Step) -> bool {
        match step {
            Step::Wait(barrier, number) => return self.is_complete(barrier, number),
            Step::Poll(folded, number) => return self.published[folded as usize] > number,
            Step::Arrive(barrier, number, arrivals) => {
                *self.arrived.entry((barrier, number)).or_default() += arrivals;
            }
            Step::Publish(folded, number) => {
                let published = &mut self.published[folded as usize];
                *published = (*published).max(number + 1);
            }
            Step::Write(..) | Step::Read(..) => {}
        }
        true
    }

    /// Whether the phase of a barrier for a tile has completed.
    pub(super) fn is_complete(&self, barrier: Barrier, number: u32) -> bool {
        self.arrived.get(&(barrier, number)).is_some_and(|arrived| *arrived >= barrier.count(&self.protocol))
    }

    /// The roles that wait, each with what for, and who would have to do something for that.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&'a Role, Step, Vec<&'a str>)> {
        let roles = self.roles.iter().zip(&self.at);
        let waiting = roles.filter_map(|(role, at)| role.steps.get(*at).map(|step| (role, *step)));
        waiting.map(|(role, step)| (role, step, self.missing(step)))
    }

    /// Who has not done yet what a step waits for.
    fn missing(&self, step: Step) -> Vec<&'a str> {
        let does = |other: &Step| match (step, *other) {
            (Step::Wait(barrier, number), Step::Arrive(at, of, _)) => (at, of) == (barrier, number),
            (Step::Poll(folded, number), Step::Publish(of, published)) => (of, published) == (folded, number),
            _ => false,
        };
        let roles = self.roles.iter().zip(&self.at);
        roles.filter(|(role, at)| role.steps[**at..].iter().any(does)).map(|(role, _)| &role.name[..]).collect()
    }
}

/// Where each role has each step.
pub(super) struct Positions(Vec<HashMap<Step, usize>>);

impl Positions {
    /// Of a step that a role takes more than once, the first place of a write and of a wait, and the last of a read.
    pub(super) fn new(roles: &[Role]) -> Self {
        let of_role = |role: &Role| {
            let mut positions = HashMap::new();
            for (at, step) in role.steps.iter().enumerate() {
                positions.entry(Positions::key(*step)).or_insert(at);
            }
            positions
        };
        Positions(roles.iter().map(of_role).collect())
    }

    /// A step, however many threads arrive.
    fn key(step: Step) -> Step {
        match step {
            Step::Arrive(barrier, number, _) => Step::Arrive(barrier, number, 0),
            other => other,
        }
    }

    /// Where a role takes a step first.
    pub(super) fn of(&self, role: usize, step: Step) -> Option<usize> {
        self.0[role].get(&Positions::key(step)).copied()
    }
}
