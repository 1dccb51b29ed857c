//! B-WF2Q+ (block/bfq-wf2q.c): of the queues whose budget is due, the one goes next whose budget ends first.

use std::collections::BTreeSet;

use super::Bfq;
use super::queue::{IDLE_CLASS, Place, Queue};

/// Virtual time of a sector at weight one is two to this power.
const UNIT_SHIFT: u32 = 22;
/// How long the idle class waits at most while others are served.
const IDLE_CLASS_WAIT_NS: i64 = 200_000_000;

/// Service as virtual time.
fn virtual_time(sectors: u64, weight: u64) -> u64 {
    (sectors << UNIT_SHIFT) / weight
}

/// Queues of a class of priority, each with a time and a number that orders equal ones.
#[derive(Debug, Default)]
pub(super) struct Tree {
    time: u64,
    weights: u64,
    /// Active queues whose budget is due, by virtual finish; the others by virtual start.
    due: BTreeSet<(u64, u64, usize)>,
    later: BTreeSet<(u64, u64, usize)>,
    /// Idle queues, by virtual finish.
    idle: BTreeSet<(u64, u64, usize)>,
}

impl Tree {
    fn has_active(&self) -> bool {
        !self.due.is_empty() || !self.later.is_empty()
    }

    /// Lets virtual time pass.
    fn advance(&mut self, to: u64, queues: &[Queue]) {
        self.time = to;
        while let Some(&(start, sequence, queue)) = self.later.first().filter(|first| first.0 <= to) {
            self.later.remove(&(start, sequence, queue));
            self.due.insert((queues[queue].entity.finish, sequence, queue));
        }
    }
}

/// The order of service.
#[derive(Debug, Default)]
pub(super) struct Service {
    trees: [Tree; 3],
    /// Active queues of all classes, the latest last.
    pub active: BTreeSet<(u64, usize)>,
    sequence: u64,
    /// The queue in service, until it is back in its tree; the one to be served after it.
    current: Option<usize>,
    next: Option<usize>,
    idle_class_served: i64,
}

impl Service {
    /// Whether another queue than the one in service comes first.
    pub fn may_preempt(&self) -> bool {
        self.next != self.current
    }

    /// Makes a queue the next one, whatever its times are.
    #[cfg(test)]
    pub fn set_next(&mut self, queue: usize) {
        self.next = Some(queue);
    }

    /// The queue in service is back in its tree.
    pub fn end(&mut self) {
        self.current = None;
    }
}

impl Bfq {
    fn tree(&mut self, queue: usize) -> &mut Tree {
        &mut self.service.trees[self.queues[queue].entity.class]
    }

    fn active_insert(&mut self, queue: usize) {
        self.service.sequence += 1;
        let (sequence, entity) = (self.service.sequence, &mut self.queues[queue].entity);
        (entity.sequence, entity.place) = (sequence, Place::Active);
        let (start, finish) = (entity.start, entity.finish);
        let tree = self.tree(queue);
        if start <= tree.time {
            tree.due.insert((finish, sequence, queue));
        } else {
            tree.later.insert((start, sequence, queue));
        }
        self.service.active.insert((sequence, queue));
    }

    /// Takes a queue out of the tree that it is in.
    fn extract(&mut self, queue: usize) {
        let entity = &mut self.queues[queue].entity;
        entity.place = Place::Nowhere;
        let (start, finish, sequence) = (entity.start, entity.finish, entity.sequence);
        let tree = self.tree(queue);
        tree.due.remove(&(finish, sequence, queue));
        tree.later.remove(&(start, sequence, queue));
        tree.idle.remove(&(finish, sequence, queue));
        self.service.active.remove(&(sequence, queue));
    }

    fn idle_insert(&mut self, queue: usize) {
        self.service.sequence += 1;
        let (sequence, entity) = (self.service.sequence, &mut self.queues[queue].entity);
        (entity.sequence, entity.place) = (sequence, Place::Idle);
        let finish = entity.finish;
        self.tree(queue).idle.insert((finish, sequence, queue));
    }

    /// A queue counts no longer.
    fn forget(&mut self, queue: usize) {
        let entity = &mut self.queues[queue].entity;
        entity.counts = false;
        let weight = entity.weight;
        self.tree(queue).weights -= weight;
    }

    /// Forgets an idle queue whose debt is paid.
    fn forget_idle(&mut self, class: usize) {
        let tree = &mut self.service.trees[class];
        let Some(&(first, _, queue)) = tree.idle.first() else { return };
        if let Some(&(last, ..)) = tree.idle.last().filter(|last| last.0 <= tree.time)
            && !tree.has_active()
        {
            // As in the kernel, which so sets back a virtual time that has passed them all.
            tree.time = last;
        }
        if first <= tree.time {
            self.extract(queue);
            self.forget(queue);
        }
    }

    /// A queue has received service.
    pub(super) fn served(&mut self, queue: usize, sectors: u64) {
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        if q.backlog_service == 0 {
            q.first_service = jiffy;
        }
        if q.is_raised() {
            q.raise.service += sectors;
        }
        q.backlog_service += sectors;
        q.entity.service += sectors;
        let class = q.entity.class;
        let tree = &mut self.service.trees[class];
        tree.advance(tree.time + virtual_time(sectors, tree.weights), &self.queues);
        self.forget_idle(class);
    }

    /// Puts a changed weight to use, and a changed class where the queue is in no tree.
    pub(super) fn update_weight(&mut self, queue: usize, class_too: bool) {
        let entity = &mut self.queues[queue].entity;
        if !entity.changed {
            return;
        }
        let (old_class, old_weight) = (entity.class, entity.weight);
        entity.own_weight = entity.new_weight;
        if class_too {
            entity.class = entity.new_class;
        }
        entity.changed = entity.class != entity.new_class;
        let (class, raised) = (entity.class, self.queues[queue].is_raised());
        let weight = self.queues[queue].entity.own_weight * self.queues[queue].raise.coefficient;
        if weight != old_weight {
            self.uncount_weight(queue);
        }
        let entity = &mut self.queues[queue].entity;
        entity.weight = weight;
        self.service.trees[old_class].weights -= old_weight;
        self.service.trees[class].weights += weight;
        if class != old_class {
            entity.start = self.service.trees[class].time;
            let busy = u32::from(self.queues[queue].busy);
            self.busy[old_class] -= busy;
            self.busy[class] += busy;
        }
        if weight != old_weight && !raised {
            self.count_weight(queue);
        }
    }

    fn finish(&mut self, queue: usize, sectors: u64) {
        let entity = &mut self.queues[queue].entity;
        entity.finish = entity.start + virtual_time(sectors, entity.weight);
    }

    /// Puts a queue among the active ones, for its whole budget.
    fn enqueue(&mut self, queue: usize, earlier: bool) {
        self.update_weight(queue, true);
        self.finish(queue, self.queues[queue].entity.budget);
        let time = self.tree(queue).time;
        let q = &mut self.queues[queue];
        if earlier && time > q.entity.finish {
            // A queue that got its old times back must not be far ahead of all others.
            let delta = (time - q.entity.finish) / q.raise.coefficient;
            q.entity.start += delta;
            q.entity.finish += delta;
        }
        self.active_insert(queue);
    }

    /// A queue without requests has got one; whether it was awaited and so gets its old times back.
    pub(super) fn activate(&mut self, queue: usize, awaited: bool) {
        let time = self.tree(queue).time;
        let entity = &self.queues[queue].entity;
        let earlier = awaited && time > entity.finish;
        let least = if earlier { entity.finish } else { time };
        if entity.place == Place::Idle {
            self.extract(queue);
            let entity = &mut self.queues[queue].entity;
            entity.start = least.max(entity.finish);
        } else {
            let entity = &mut self.queues[queue].entity;
            (entity.start, entity.counts) = (least, true);
            let weight = entity.weight;
            self.tree(queue).weights += weight;
        }
        self.enqueue(queue, earlier);
        self.update_next(Some(queue), false);
    }

    /// A queue goes back to its tree, or changes its place there.
    pub(super) fn requeue(&mut self, queue: usize, expires: bool) {
        if self.service.current == Some(queue) {
            // It pays for what it got.
            self.finish(queue, self.queues[queue].entity.service);
            let entity = &mut self.queues[queue].entity;
            entity.start = entity.finish;
        } else {
            self.extract(queue);
        }
        self.enqueue(queue, false);
        self.update_next(Some(queue), expires);
    }

    /// A queue has no more requests.
    pub(super) fn deactivate(&mut self, queue: usize, expires: bool) {
        if !self.queues[queue].entity.counts {
            return;
        }
        let current = self.service.current == Some(queue);
        self.extract(queue);
        // It pays for what it got, if only because others let it.
        self.finish(queue, self.queues[queue].entity.service);
        if current {
            self.service.current = None;
        } else {
            self.queues[queue].entity.service = 0;
        }
        if self.queues[queue].entity.finish <= self.tree(queue).time {
            self.forget(queue);
        } else {
            self.idle_insert(queue);
        }
        if self.service.next == Some(queue) {
            self.update_next(None, expires);
        }
    }

    /// Finds out anew who is next, after `changed` was put among the active queues, or something was taken out.
    fn update_next(&mut self, changed: Option<usize>, expires: bool) {
        let next = self.service.next;
        if let Some(changed) = changed.filter(|_| changed != next) {
            let ahead = next.is_none_or(|next| {
                let [new, old] = [changed, next].map(|queue| &self.queues[queue].entity);
                let due = new.start <= self.service.trees[new.class].time;
                new.class == old.class && due && old.finish > new.finish
            });
            if ahead {
                self.service.next = Some(changed);
                return;
            }
        }
        self.service.next = self.look_up_next(expires);
    }

    fn look_up_next(&mut self, expires: bool) -> Option<usize> {
        let mut first_class = 0;
        if self.service.idle_class_served + IDLE_CLASS_WAIT_NS < self.jiffy {
            if self.service.trees[IDLE_CLASS].has_active() {
                first_class = IDLE_CLASS;
            }
            self.service.idle_class_served = self.jiffy;
        }
        let class = (first_class..self.service.trees.len()).find(|&class| self.service.trees[class].has_active())?;
        let tree = &mut self.service.trees[class];
        if let Some(&(_, _, queue)) = tree.due.first() {
            return Some(queue);
        }
        // None is due: virtual time jumps, unless a queue in service is.
        let (start, ..) = *tree.later.first()?;
        if self.service.current.is_some() && !expires {
            let soonest = tree.later.iter().take_while(|later| later.0 == start);
            let key = |&&(_, sequence, queue): &&(u64, u64, usize)| (self.queues[queue].entity.finish, sequence);
            return soonest.min_by_key(key).map(|&(_, _, queue)| queue);
        }
        tree.advance(start, &self.queues);
        self.forget_idle(class);
        self.service.trees[class].due.first().map(|&(_, _, queue)| queue)
    }

    /// Takes the next queue out of its tree, to serve it.
    pub(super) fn take_next(&mut self) -> Option<usize> {
        let queue = self.service.next?;
        self.service.current = Some(queue);
        self.queues[queue].entity.service = 0;
        self.extract(queue);
        self.update_next(None, false);
        Some(queue)
    }
}
