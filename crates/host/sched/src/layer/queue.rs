//! Inserts requests into the scheduler and dispatches them from it.
//!
//! A lone request is usually dispatched immediately, and inserting it into the scheduler would dominate the layer's
//! cost. So the layer holds back a lone request. If the device takes it next, it only passes through
//! [`IoScheduler::pass`]. Otherwise [`BlockLayer::settle`] inserts it into the scheduler, before any other operation on
//! the scheduler.
//!
//! [`IoScheduler::pass`]: crate::scheduler::IoScheduler::pass

use super::BlockLayer;
use crate::request::RequestId;
use crate::scheduler::MergeIndex;

impl BlockLayer {
    /// Inserts a request into the scheduler, or holds it back if it is the only waiting request.
    #[inline]
    pub(super) fn insert(&mut self, id: RequestId, now: u64) {
        let rq = self.requests.get_mut(id);
        rq.in_elevator = true;
        self.queues[rq.cpu].runs = true;
        self.settle();
        self.queued += 1;
        if self.passes && self.queued == 1 {
            self.lone = Some((id, now));
        } else {
            self.queue(id, now);
        }
    }

    /// Inserts the lone request into the scheduler, if there is one.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some((id, arrived)) = self.lone.take() {
            self.queue(id, arrived);
        }
    }

    fn queue(&mut self, id: RequestId, now: u64) {
        let rq = &self.requests[id];
        if self.info.role.merge_index == MergeIndex::Hash {
            self.ends.insert(rq);
            self.ends.last = self.ends.last.or(Some(id));
        }
        if self.scheduler.insert(rq, &self.requests, now) && self.unplug_queue() {
            self.counters.unplugs_scheduler += 1;
        }
    }

    /// Takes the next request for a hardware queue from the scheduler. No bios can merge into this request afterwards.
    #[inline(always)]
    pub(super) fn pull(&mut self, queue: u16, now: u64, force: bool) -> Option<RequestId> {
        if self.queued == 0 {
            return None;
        }
        if let Some((id, arrived)) = self.lone.take() {
            let answers = !self.info.role.by_queue || self.requests[id].cpu == queue;
            if answers && self.scheduler.pass(&self.requests[id]) {
                self.queued = 0;
                return Some(id);
            }
            self.queue(id, arrived);
        }
        let id = self.scheduler.dispatch(queue, &self.requests, now, force)?;
        self.queued -= 1;
        if self.info.role.merge_index == MergeIndex::Hash {
            self.ends.remove(self.requests[id].end(), id);
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::bio::{Bio, Direction, Flags, Priority, PriorityClass};
    use crate::layer::{BlockLayer, Options};
    use crate::scheduler::{Device, SCHEDULERS};

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Submit { start: u64, direction: Direction, class: PriorityClass, pid: u32 },
        Plug { pid: u32 },
        Unplug { pid: u32 },
        Pull,
        Complete { which: usize },
    }

    fn device() -> Device {
        Device { sectors: 1 << 20, rotational: false, nr_requests: 64, queues: 1 }
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let class = prop_oneof![
            8 => Just(PriorityClass::BestEffort), 1 => Just(PriorityClass::RealTime), 1 => Just(PriorityClass::Idle),
        ];
        let direction = prop_oneof![Just(Direction::Read), Just(Direction::Write)];
        let step = prop_oneof![
            4 => (0_u64..40, direction, class, 0_u32..3)
                .prop_map(|(page, direction, class, pid)| Step::Submit { start: 8 * page, direction, class, pid }),
            1 => (0_u32..3).prop_map(|pid| Step::Plug { pid }),
            1 => (0_u32..3).prop_map(|pid| Step::Unplug { pid }),
            6 => Just(Step::Pull),
            4 => any::<usize>().prop_map(|which| Step::Complete { which }),
        ];
        prop::collection::vec(step, 0..400)
    }

    /// Executes the steps on a layer and records all visible results.
    fn observe(layer: &mut BlockLayer, steps: &[Step]) -> Vec<String> {
        let (mut now, mut at_device, mut ended) = (0, Vec::new(), Vec::new());
        let step = |(owner, step): (usize, &Step)| {
            now += 1_000;
            let result = match *step {
                Step::Submit { start, direction, class, pid } => {
                    let (flags, owner) = (Flags::NONE, owner as u32);
                    let priority = Priority { class, level: 4 };
                    let bio = Bio { start, sectors: 8, direction, flags, pid, priority, owner };
                    format!("{:?}", layer.submit(bio, now))
                }
                Step::Plug { pid } => {
                    layer.plug(pid);
                    String::new()
                }
                Step::Unplug { pid } => {
                    layer.unplug(pid, now);
                    String::new()
                }
                Step::Pull => {
                    let next = layer.next(now);
                    at_device.extend(next.map(|dispatched| dispatched.id));
                    format!("{next:?}")
                }
                Step::Complete { which } => {
                    if !at_device.is_empty() {
                        let id = at_device.swap_remove(which % at_device.len());
                        layer.completed(id, now, &mut ended);
                    }
                    format!("{:?} {:?}", std::mem::take(&mut ended), layer.woken())
                }
            };
            format!("{step:?}: {result} {:?} {:?}", layer.left(), layer.counters())
        };
        steps.iter().enumerate().map(step).collect()
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        #[test]
        fn the_shortcut_changes_no_results(steps in steps(), fifo_batch in 1_u64..4, slots in 1_u32..9) {
            let passing = SCHEDULERS.iter().filter(|info| crate::build_scheduler(info, &[], &device()).unwrap().passes());
            for info in passing {
                let batch = info.parameters.iter().any(|tunable| tunable.name == "fifo_batch");
                let tunables = if batch { vec![("fifo_batch".to_owned(), fifo_batch)] } else { Vec::new() };
                let options = Options { slots, tunables, ..Options::modern(info.name, 1 << 20) };
                let [mut with, mut without] = [(); 2].map(|()| BlockLayer::new(options.clone()).unwrap());
                prop_assert!(std::mem::take(&mut without.passes));
                prop_assert!(with.passes);
                prop_assert_eq!(observe(&mut with, &steps), observe(&mut without, &steps), "{}", info.name);
            }
        }
    }
}
