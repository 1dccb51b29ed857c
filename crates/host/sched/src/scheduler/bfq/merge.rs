//! Merges the queues of cooperating processes, and splits them again.

use super::Bfq;
use super::burst::INTERVAL_NS;
use super::queue::{Process, Queue, Raise, Saved, weight};
use crate::MS;
use crate::bio::Priority;
use crate::scheduler::owner::Owner;

/// A queue may merge with another queue only within this time after it was first served.
const EARLY_NS: i64 = 100 * MS as i64;
/// Maximum distance between requests of one sequential stream.
const NEAR_SECTORS: u64 = 8 * 1024;
/// A queue created more than this time after the candidate for permanent merges (`created_last`) replaces it. A
/// postponed merge takes place once the queue was created, and last split, longer ago than this.
const STABLE_NS: i64 = 600 * MS as i64;

impl Bfq {
    /// Returns the queue of a process; splits a shared queue first if necessary.
    pub(super) fn queue_for(&mut self, pid: u32, sync: bool, priority: Priority) -> usize {
        let process = self.processes.entry(pid).or_insert_with(|| Process { priority, ..Process::default() });
        if process.priority != priority {
            process.priority = priority;
            let queues = process.queues;
            self.change_priority(pid, queues, priority);
        }
        let process = &self.processes[&pid];
        let (stably_merged, kept) = (process.stably_merged, process.queues[usize::from(sync)]);
        let Some(queue) = kept else { return self.give_queue(pid, sync, priority, false) };
        let q = &self.queues[queue];
        if !(q.shared && q.to_split) || stably_merged {
            return queue;
        }
        self.split(pid, queue, priority)
    }

    fn change_priority(&mut self, pid: u32, queues: [Option<usize>; 2], priority: Priority) {
        if let Some(old) = queues[0] {
            self.release(old);
            self.give_queue(pid, false, priority, true);
        }
        if let Some(sync) = queues[1] {
            let q = &mut self.queues[sync];
            q.entity.new_class = priority.class as usize;
            q.entity.new_weight = weight(priority);
            (q.entity.changed, q.level) = (true, priority.level);
        }
    }

    /// Creates a queue, reusing the index of an abandoned queue if possible.
    fn create(&mut self, sync: bool, priority: Priority) -> usize {
        let mut queue = Queue::new(sync, priority, self.clock.now, self.clock.jiffy);
        queue.max_budget = self.first_budget();
        let referred = |place: usize| self.processes.values().any(|process| process.stable == Some(place));
        let unused = |place: &usize| self.queues[*place].is_gone() && !referred(*place);
        let Some(place) = (0..self.queues.len()).find(unused) else {
            self.queues.push(queue);
            return self.queues.len() - 1;
        };
        self.leave_burst(place);
        for other in &mut self.queues {
            other.woken.retain(|&woken| woken != place);
            other.waker = other.waker.filter(|&waker| waker != place);
            other.maybe_waker = other.maybe_waker.filter(|&waker| waker != place);
        }
        self.completed_last = self.completed_last.filter(|&last| last != place);
        self.created_last = self.created_last.filter(|&last| last != place);
        self.queues[place] = queue;
        place
    }

    /// Gives a process a new synchronous queue, or the shared asynchronous queue of its priority.
    fn give_queue(&mut self, pid: u32, sync: bool, priority: Priority, again: bool) -> usize {
        let shared = Owner::new(pid, sync, priority);
        let queue = match self.async_queues.get(&shared) {
            Some(&queue) if !sync => queue,
            _ => self.create(sync, priority),
        };
        #[cfg(test)]
        if let Some(&weight) = self.groups.get(&pid) {
            let entity = &mut self.queues[queue].entity;
            (entity.weight, entity.own_weight, entity.new_weight) = (weight, weight, weight);
        }
        if !sync && self.async_queues.insert(shared, queue).is_none() {
            // The shared queue holds one extra reference, counted like a process, so that it survives when no process
            // uses it.
            self.queues[queue].processes += 1;
        }
        self.queues[queue].processes += 1;
        self.process(pid).queues[usize::from(sync)] = Some(queue);
        if sync && !again { self.consider_stable_merge(pid, queue) } else { queue }
    }

    pub(super) fn process(&mut self, pid: u32) -> &mut Process {
        self.processes.get_mut(&pid).expect("`queue_for` must have created the process")
    }

    /// Merges the queue with a queue that was created shortly before and may belong to the same task. Merges
    /// immediately if the device is parallel, otherwise later.
    fn consider_stable_merge(&mut self, pid: u32, queue: usize) -> usize {
        let q = &self.queues[queue];
        let last = self.created_last.filter(|&last| {
            let last = &self.queues[last];
            last.created + STABLE_NS >= q.created && last.level == q.level && last.entity.class == q.entity.class
        });
        let Some(last) = last else {
            self.created_last = Some(queue);
            return queue;
        };
        if self.queues[last].created + INTERVAL_NS < q.created {
            return queue;
        }
        if !self.device.parallel {
            self.process(pid).stable = Some(last);
            return queue;
        }
        let Some(target) = self.plan_merge(queue, last) else { return queue };
        self.mark_stable(pid, target);
        self.queues[queue].owner = Some(pid);
        self.merge(pid, queue, target)
    }

    fn mark_stable(&mut self, pid: u32, target: usize) {
        self.process(pid).stably_merged = true;
        if let Some(owner) = self.queues[target].owner {
            self.process(owner).stably_merged = true;
        }
    }

    fn too_late(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        q.backlog_service > 0 && q.first_service + EARLY_NS < self.clock.jiffy
    }

    /// Updates the queue's entry in `positions`; removes the entry if the queue may no longer merge.
    pub(super) fn update_position(&mut self, queue: usize) {
        if self.device.parallel {
            return;
        }
        if let Some(old) = self.queues[queue].position.take() {
            self.positions.remove(&old);
        }
        let q = &self.queues[queue];
        if self.too_late(queue) || q.is_idle_class() || q.next.is_none() || self.positions.contains_key(&q.next_start) {
            return;
        }
        let start = q.next_start;
        self.positions.insert(start, queue);
        self.queues[queue].position = Some(start);
    }

    /// Returns the queue whose next request lies nearest to `sector`, within `NEAR_SECTORS`.
    fn near(&self, sector: u64) -> Option<usize> {
        let before = self.positions.range(..sector).next_back();
        let after = self.positions.range(sector..).next();
        let near = [after, before].into_iter().flatten().filter(|(start, _)| start.abs_diff(sector) <= NEAR_SECTORS);
        near.min_by_key(|(start, _)| start.abs_diff(sector)).map(|(_, &queue)| queue)
    }

    fn may_cooperate(&self, queue: usize, other: usize) -> bool {
        let [a, b] = [queue, other].map(|queue| &self.queues[queue]);
        let alike = a.entity.class == b.entity.class && !a.is_idle_class() && a.sync && b.sync;
        alike && !a.is_seeky() && !b.is_seeky() && !self.too_late(other)
    }

    /// Returns the queue into which `queue` should merge. Called before a request at sector `start` is added to
    /// `queue`.
    pub(super) fn cooperator(&mut self, pid: u32, queue: usize, start: u64) -> Option<usize> {
        if let Some(mut target) = self.queues[queue].merged_into {
            while let Some(further) = self.queues[target].merged_into {
                target = further;
            }
            return Some(target);
        }
        if self.device.parallel {
            return None;
        }
        let q = &self.queues[queue];
        let ripe = q.split.max(q.created) + STABLE_NS < self.clock.jiffy;
        if q.sync && !q.just_created && ripe && self.processes[&pid].stable.is_some() {
            let stable = self.process(pid).stable.take()?;
            if self.idling_helps(queue) || self.queues[stable].processes == 0 {
                return None;
            }
            let target = self.plan_merge(queue, stable)?;
            self.mark_stable(pid, target);
            return Some(target);
        }
        if self.too_late(queue) || self.busy_queues() == 1 {
            return None;
        }
        if let Some(current) = self.in_service.filter(|&current| current != queue)
            && start.abs_diff(self.last_position_in_turn) <= NEAR_SECTORS
            && self.may_cooperate(queue, current)
            && let Some(target) = self.plan_merge(queue, current)
        {
            return Some(target);
        }
        let near = self.near(start).filter(|&near| near != queue && self.may_cooperate(queue, near))?;
        self.plan_merge(queue, near)
    }

    /// Schedules a merge of `queue` into `target`, or into the queue that `target` itself merges into.
    fn plan_merge(&mut self, queue: usize, mut target: usize) -> Option<usize> {
        if self.queues[target].processes == 0 {
            return None;
        }
        while let Some(further) = self.queues[target].merged_into {
            if further == queue {
                return None;
            }
            target = further;
        }
        let moving = self.queues[queue].processes;
        if target == queue || moving == 0 || self.queues[target].processes == 0 {
            return None;
        }
        self.queues[queue].merged_into = Some(target);
        self.queues[target].processes += moving;
        Some(target)
    }

    /// Saves the state of a queue; it is restored when the queue's process is split off again.
    fn save(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let Some(owner) = q.owner else { return };
        let early = q.just_created && !q.in_large_burst && self.tunables.low_latency;
        let saved = Saved {
            think: q.think,
            raise: if early { self.first_raise() } else { q.raise },
            inject: q.inject,
            weight: q.entity.own_weight,
            in_large_burst: q.in_large_burst,
            in_burst: q.in_burst,
        };
        self.process(owner).saved = Some(saved);
    }

    /// Moves a process from `queue` along the chain of planned merges until its queue is `target`.
    pub(super) fn merge(&mut self, pid: u32, mut queue: usize, target: usize) -> usize {
        while queue != target {
            let next = self.queues[queue].merged_into.expect("every queue before `target` must have a planned merge");
            self.merge_into(pid, queue, next);
            queue = next;
        }
        queue
    }

    fn merge_into(&mut self, pid: u32, queue: usize, target: usize) {
        self.save(queue);
        self.save(target);
        if let Some(waker) = self.queues[queue].waker.filter(|&waker| waker != target)
            && self.queues[target].waker.is_none()
        {
            self.queues[target].maybe_waker = None;
            self.set_waker(target, waker);
        }
        let [from, into] = self.queues.get_disjoint_mut([queue, target]).expect("no queue merges into itself");
        into.think.io_bound |= std::mem::take(&mut from.think.io_bound);
        if from.is_raised() {
            if !into.is_raised() {
                into.raise = Raise { service: into.raise.service, ..from.raise };
                into.entity.changed = true;
                self.load.raised += u32::from(into.busy);
            }
            self.load.raised -= u32::from(from.busy);
            (from.raise.coefficient, from.entity.changed) = (1, true);
        }
        (into.shared, into.owner, from.owner) = (true, None, None);
        self.process(pid).queues[1] = Some(target);
        if self.created_last == Some(queue) {
            self.created_last = Some(target);
        }
        self.release(queue);
    }

    /// Records that one process no longer uses a queue.
    fn release(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if q.busy && q.requests.is_empty() && self.in_service != Some(queue) {
            self.remove_busy(queue, false);
        }
        self.created_last = self.created_last.filter(|&last| last != queue);
        self.queues[queue].processes -= 1;
    }

    /// Splits a process off a shared queue that has become seeky.
    fn split(&mut self, pid: u32, queue: usize, priority: Priority) -> usize {
        let q = &mut self.queues[queue];
        let saved = self.processes[&pid].saved;
        if q.processes == 1 && q.merged_into.is_none() {
            (q.shared, q.to_split) = (false, false);
            self.resume(queue, saved);
            return queue;
        }
        let (waker, in_large_burst) = (q.waker, q.in_large_burst);
        let mut target = q.merged_into;
        while let Some(further) = target {
            self.queues[further].processes -= 1;
            target = self.queues[further].merged_into;
        }
        self.release(queue);
        let own = self.give_queue(pid, true, priority, true);
        if let Some(saved) = saved {
            let large = (saved.in_burst && self.burst.is_large) || saved.in_large_burst || in_large_burst;
            self.queues[own].in_large_burst = large;
            if saved.in_burst && !large {
                self.rejoin_burst(own);
            }
        }
        self.queues[own].split = self.clock.jiffy;
        self.resume(own, saved);
        if let Some(waker) = waker.filter(|&waker| self.queues[waker].processes > 0) {
            self.set_waker(own, waker);
        }
        own
    }

    fn resume(&mut self, queue: usize, saved: Option<Saved>) {
        let Some(Saved { think, raise, inject, weight, .. }) = saved else { return };
        let q = &mut self.queues[queue];
        let (was_raised, busy) = (q.is_raised(), q.busy);
        (q.think, q.inject, q.entity.new_weight) = (think, inject, weight);
        let coefficient = if self.tunables.low_latency { raise.coefficient } else { q.raise.coefficient };
        q.raise = Raise { coefficient, ..raise };
        self.resume_raise(queue);
        let q = &mut self.queues[queue];
        q.entity.changed = true;
        if busy {
            self.load.raised += u32::from(q.is_raised());
            self.load.raised -= u32::from(was_raised);
        }
    }
}
