//! B-WF2Q+ (block/bfq-wf2q.c): among the eligible queues, i.e. those whose virtual start time has passed, serves the
//! queue with the earliest virtual finish time.

use std::collections::BTreeSet;

use super::Bfq;
use super::queue::{IDLE_CLASS, Queue};

/// Binary logarithm of the virtual time of one sector at weight 1.
const UNIT_SHIFT: u32 = 22;
/// Maximum time in nanoseconds for which the idle class must wait while other classes are served.
const IDLE_CLASS_WAIT_NS: i64 = 200_000_000;

/// Converts an amount of service in sectors to virtual time at the given weight.
fn virtual_time(sectors: u64, weight: u64) -> u64 {
    (sectors << UNIT_SHIFT) / weight
}

/// Service tree of one priority class. Keys are a virtual time and a sequence number as tie-breaker.
#[derive(Debug, Default)]
pub(super) struct Tree {
    time: u64,
    weights: u64,
    /// Active eligible queues, by virtual finish time.
    due: BTreeSet<(u64, u64, usize)>,
    /// Active queues that are not eligible yet, by virtual start time.
    later: BTreeSet<(u64, u64, usize)>,
    /// Idle queues, by virtual finish time.
    idle: BTreeSet<(u64, u64, usize)>,
}

impl Tree {
    fn has_active(&self) -> bool {
        !self.due.is_empty() || !self.later.is_empty()
    }

    /// Advances the tree's virtual time to `to`.
    fn advance(&mut self, to: u64, queues: &[Queue]) {
        self.time = to;
        while let Some(&(start, sequence, queue)) = self.later.first().filter(|first| first.0 <= to) {
            self.later.remove(&(start, sequence, queue));
            self.due.insert((queues[queue].entity.finish, sequence, queue));
        }
    }
}

/// State of the service trees of all classes.
#[derive(Debug, Default)]
pub(super) struct Service {
    trees: [Tree; 3],
    /// Active queues of all classes in the order of activation.
    pub active: BTreeSet<(u64, usize)>,
    sequence: u64,
    /// Queue that is in service. Before this field is cleared, the queue is put back into its service tree.
    pub current: Option<usize>,
    /// Queue to be served after the queue in service.
    pub next: Option<usize>,
    idle_class_served: i64,
}

impl Bfq {
    fn tree(&mut self, queue: usize) -> &mut Tree {
        &mut self.service.trees[self.queues[queue].entity.class]
    }

    fn active_insert(&mut self, queue: usize) {
        self.service.sequence += 1;
        let (sequence, entity) = (self.service.sequence, &mut self.queues[queue].entity);
        entity.sequence = sequence;
        let (start, finish) = (entity.start, entity.finish);
        let tree = self.tree(queue);
        if start <= tree.time {
            tree.due.insert((finish, sequence, queue));
        } else {
            tree.later.insert((start, sequence, queue));
        }
        self.service.active.insert((sequence, queue));
    }

    /// Removes a queue from its service tree.
    fn extract(&mut self, queue: usize) {
        let entity = &mut self.queues[queue].entity;
        entity.is_idle = false;
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
        (entity.sequence, entity.is_idle) = (sequence, true);
        let finish = entity.finish;
        self.tree(queue).idle.insert((finish, sequence, queue));
    }

    /// Removes a queue's weight from the total of its class.
    fn forget(&mut self, queue: usize) {
        let entity = &mut self.queues[queue].entity;
        entity.counts = false;
        let weight = entity.weight;
        self.tree(queue).weights -= weight;
    }

    /// Removes the first idle queue of a class if the queue's finish time has passed.
    fn forget_idle(&mut self, class: usize) {
        let tree = &mut self.service.trees[class];
        let Some(&(first, _, queue)) = tree.idle.first() else { return };
        if let Some(&(last, ..)) = tree.idle.last().filter(|last| last.0 <= tree.time)
            && !tree.has_active()
        {
            // Sets the virtual time back to the latest finish time of an idle queue, as the kernel does.
            tree.time = last;
        }
        if first <= tree.time {
            self.extract(queue);
            self.forget(queue);
        }
    }

    /// Accounts for `sectors` of service that a queue received.
    pub(super) fn served(&mut self, queue: usize, sectors: u64) {
        let q = &mut self.queues[queue];
        if q.backlog_service == 0 {
            q.first_service = self.clock.jiffy;
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

    /// Applies a changed weight and, with `class_too`, a changed class. With `class_too`, the queue must not be in a
    /// service tree.
    pub(super) fn update_weight(&mut self, queue: usize, class_too: bool) {
        let q = &mut self.queues[queue];
        let entity = &mut q.entity;
        if !entity.changed {
            return;
        }
        let (old_class, old_weight) = (entity.class, entity.weight);
        entity.own_weight = entity.new_weight;
        if class_too {
            entity.class = entity.new_class;
        }
        entity.changed = entity.class != entity.new_class;
        let (class, weight) = (entity.class, entity.own_weight * q.raise.coefficient);
        let raised = q.is_raised();
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
            self.load.busy[old_class] -= busy;
            self.load.busy[class] += busy;
        }
        if weight != old_weight && !raised {
            self.count_weight(queue);
        }
    }

    fn finish(&mut self, queue: usize, sectors: u64) {
        let entity = &mut self.queues[queue].entity;
        entity.finish = entity.start + virtual_time(sectors, entity.weight);
    }

    /// Inserts a queue into the active trees, with a finish time for its whole budget.
    fn enqueue(&mut self, queue: usize, earlier: bool) {
        self.update_weight(queue, true);
        self.finish(queue, self.queues[queue].entity.budget);
        let time = self.tree(queue).time;
        let q = &mut self.queues[queue];
        if earlier && time > q.entity.finish {
            // The queue has kept its old timestamps. Moves them forward; otherwise the queue would be too far ahead of
            // the others.
            let delta = (time - q.entity.finish) / q.raise.coefficient;
            q.entity.start += delta;
            q.entity.finish += delta;
        }
        self.active_insert(queue);
    }

    /// Activates a queue. With `non_blocking`, a queue that becomes active again soon enough keeps its old timestamps.
    pub(super) fn activate(&mut self, queue: usize, non_blocking: bool) {
        let time = self.tree(queue).time;
        let entity = &self.queues[queue].entity;
        let earlier = non_blocking && time > entity.finish;
        let least = if earlier { entity.finish } else { time };
        if entity.is_idle {
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

    /// Puts a queue back into its service tree, or moves it within the tree.
    pub(super) fn requeue(&mut self, queue: usize, expires: bool) {
        if self.service.current == Some(queue) {
            // Charges the queue only for the service that it has received.
            self.finish(queue, self.queues[queue].entity.service);
            let entity = &mut self.queues[queue].entity;
            entity.start = entity.finish;
        } else {
            self.extract(queue);
        }
        self.enqueue(queue, false);
        self.update_next(Some(queue), expires);
    }

    /// Deactivates a queue without requests.
    pub(super) fn deactivate(&mut self, queue: usize, expires: bool) {
        if !self.queues[queue].entity.counts {
            return;
        }
        let current = self.service.current == Some(queue);
        self.extract(queue);
        // Charges the queue only for the service that it has received.
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

    /// Recomputes which queue to serve next, after the queue `changed` was activated or, if `changed` is `None`, after
    /// a queue was removed.
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
        if self.service.idle_class_served + IDLE_CLASS_WAIT_NS < self.clock.jiffy {
            if self.service.trees[IDLE_CLASS].has_active() {
                first_class = IDLE_CLASS;
            }
            self.service.idle_class_served = self.clock.jiffy;
        }
        let class = (first_class..self.service.trees.len()).find(|&class| self.service.trees[class].has_active())?;
        let tree = &mut self.service.trees[class];
        if let Some(&(_, _, queue)) = tree.due.first() {
            return Some(queue);
        }
        // If no queue is eligible, virtual time jumps to the earliest start, unless a queue is in service.
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

    /// Removes the next queue to serve from its tree and puts it into service.
    pub(super) fn take_next(&mut self) -> Option<usize> {
        let queue = self.service.next?;
        self.service.current = Some(queue);
        self.queues[queue].entity.service = 0;
        self.extract(queue);
        self.update_next(None, false);
        Some(queue)
    }
}
