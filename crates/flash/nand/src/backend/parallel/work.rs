//! Simulates the dies and channels, event by event.

use ssdlab_core::Nanos;

use super::agenda::NEVER;
use super::attribution::Attribution;
use super::die::{Cells, Command, Registers, Suspended, Work};
use super::ops::{Kind, NONE, Op, Ops, Pass};
use super::scheduler::Class;
use super::{Done, Job, ParallelFlash};
use crate::{Interruption, Suspend};

impl ParallelFlash {
    /// Visits every die that may be able to begin a command, and begins the operations that can begin now.
    #[inline]
    pub(super) fn settle(&mut self) {
        while let Some(number) = self.wake.pop() {
            self.dies[number as usize].awake = false;
            self.look(number);
        }
    }

    #[inline]
    pub(super) fn wake(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        if !die.awake {
            die.awake = true;
            self.wake.push(number);
        }
    }

    /// Begins all operations that the die can begin now.
    #[inline]
    fn look(&mut self, number: u32) {
        loop {
            let die = &self.dies[number as usize];
            match (&die.cells, &die.registers) {
                (Cells::Idle, &Registers::Loaded(command)) => {
                    self.dies[number as usize].registers = Registers::Free;
                    self.work(number, command);
                }
                (&Cells::Full(command), Registers::Free) => {
                    self.dies[number as usize].cells = Cells::Idle;
                    self.transfer(number, command);
                }
                (Cells::Idle, Registers::Free) => {
                    if !self.begin_any(number) {
                        break;
                    }
                }
                (Cells::Idle, Registers::Moving(command)) => {
                    let begun = if command.reads {
                        self.chips.commands.cache_read && self.begin_next_read(number)
                    } else {
                        // After a program was suspended during the transfer of the next page, the cells are free.
                        die.suspended.is_some() && self.begin_any(number)
                    };
                    if !begun {
                        break;
                    }
                }
                (Cells::Busy(work), registers) => {
                    let (work, can_load) = (*work, matches!(registers, Registers::Free));
                    let begun =
                        self.suspend(number, work) || (can_load && self.begin_next_program(number, work.command.first));
                    if !begun {
                        break;
                    }
                }
                _ => break,
            }
            if !self.chips.overlaps {
                break;
            }
        }
        let die = &mut self.dies[number as usize];
        if die.held_since_ns != NEVER && die.is_empty() {
            self.held_ns += self.now_ns - die.held_since_ns;
            die.held_since_ns = NEVER;
        }
        self.attribute_die(number);
    }

    #[inline(always)]
    pub(super) fn attribute(&mut self, tell: impl FnOnce(&mut Attribution, u64)) {
        if let Some(attribution) = &mut self.attribution {
            tell(attribution, self.now_ns);
        }
    }

    #[inline(always)]
    fn attribute_command(&mut self, first: u32, tell: fn(&mut Attribution, u32, &Ops, u64)) {
        if let Some(attribution) = &mut self.attribution {
            tell(attribution, first, &self.ops, self.now_ns);
        }
    }

    #[inline(always)]
    fn attribute_die(&mut self, number: u32) {
        if let Some(attribution) = &mut self.attribution {
            let cause = self.dies[number as usize].stall_cause(&self.ops);
            attribution.die_is(number, cause, self.now_ns);
        }
    }

    /// Begins or resumes a command on a die whose cells are idle.
    #[inline]
    fn begin_any(&mut self, number: u32) -> bool {
        let die = &self.dies[number as usize];
        if let Some(Suspended { mut work, loaded }) = die.suspended {
            // Host reads come first. The suspended command resumes once the scheduler no longer picks a host read.
            if self.picked(number) == Some(Class::HostRead) {
                self.begin(number, Class::HostRead);
            } else {
                work.began_ns = self.now_ns;
                work.ends_ns += self.now_ns;
                self.agenda.set(number as usize, work.ends_ns);
                self.attribute_command(work.command.first, Attribution::cells_begin);
                let die = &mut self.dies[number as usize];
                die.suspended = None;
                die.cells = Cells::Busy(work);
                if let Some(command) = loaded {
                    die.registers = Registers::Loaded(command);
                }
            }
            return true;
        }
        self.begin_if(number, |_| true)
    }

    /// Begins the operation that the scheduler picks, provided that it satisfies `suits`.
    #[inline(always)]
    fn begin_if(&mut self, number: u32, suits: impl Fn(&Op) -> bool) -> bool {
        let Some(class) = self.picked(number) else { return false };
        if !suits(&self.ops[self.dies[number as usize].first_ready(class as usize)]) {
            return false;
        }
        self.begin(number, class);
        true
    }

    #[inline]
    fn picked(&self, number: u32) -> Option<Class> {
        (self.chips.scheduler.role.pick)(&self.dies[number as usize].view())
    }

    /// Begins a read while the previous page is transferred out (cache read).
    #[inline(never)]
    fn begin_next_read(&mut self, number: u32) -> bool {
        self.dies[number as usize].suspended.is_none() && self.begin_if(number, |op| op.kind == Kind::Read)
    }

    /// Begins a program while the previous page of the same block is being programmed (cache program).
    #[inline(always)]
    fn begin_next_program(&mut self, number: u32, programmed: u32) -> bool {
        self.chips.commands.cache_program
            && self.ops[programmed].kind == Kind::Program
            && self.begin_cached_program(number, self.ops[programmed].block)
    }

    #[inline(never)]
    fn begin_cached_program(&mut self, number: u32, block: u32) -> bool {
        self.begin_if(number, |op| op.kind == Kind::Program && op.block == block)
    }

    /// Interrupts a longer operation if a host read is next.
    #[inline]
    fn suspend(&mut self, number: u32, mut work: Work) -> bool {
        let first = work.command.first;
        let kind = self.ops[first].kind;
        let &Interruption { time, spread, slice, resume, limit } = match (&self.chips.commands.suspend, kind) {
            (Suspend::Erase(rule) | Suspend::EraseAndProgram { erase: rule, .. }, Kind::Erase) => rule,
            (Suspend::EraseAndProgram { program: rule, .. }, Kind::Program) => rule,
            _ => return false,
        };
        let earliest_ns = if work.suspensions == 0 { 0 } else { work.began_ns + slice.0 }.max(self.now_ns);
        // There is no point in suspending an operation that ends before the die could begin the read, unless the
        // program of the next page would follow immediately.
        let is_followed = !matches!(self.dies[number as usize].registers, Registers::Free);
        let least_ns = if is_followed { 0 } else { time.0 };
        if work.suspensions >= limit
            || work.ends_ns <= earliest_ns + least_ns
            || self.picked(number) != Some(Class::HostRead)
        {
            return false;
        }
        if earliest_ns > self.now_ns {
            self.agenda.set(number as usize, earliest_ns);
            return false;
        }
        self.record_cells(number, &work);
        self.attribute_command(first, Attribution::cells_stop);
        work.suspensions += 1;
        work.ends_ns = work.ends_ns - self.now_ns + resume.0;
        let extra_ns = if spread == Nanos::ZERO { 0 } else { self.suspension_rng.below(spread.0 + 1) };
        self.agenda.set(number as usize, self.now_ns + time.0 + extra_ns);
        let die = &mut self.dies[number as usize];
        let loaded = match die.registers {
            Registers::Loaded(command) => {
                die.registers = Registers::Free;
                Some(command)
            }
            Registers::Free | Registers::Moving(_) => None,
        };
        die.suspended = Some(Suspended { work, loaded });
        die.cells = Cells::Suspending;
        self.record.suspensions += 1;
        true
    }

    /// Begins the first ready operation of a class, with operations on other planes that fit into the command.
    #[inline(always)]
    fn begin(&mut self, number: u32, class: Class) {
        let first = self.dies[number as usize].first_ready(class as usize);
        let mut candidate = self.ops[first].next;
        self.take(number, first);
        if self.joins_others(self.ops[first].kind) {
            let mut last = self.ops.of_command(first).last().unwrap_or(first);
            let mut planes = 1_u64 << self.ops[first].plane;
            self.flash_pages[usize::from(self.ops[first].plane)] = self.ops[first].flash_page();
            // The search is limited, because a longer search rarely finds another operation that fits.
            for _ in 0..4 * self.chips.planes_per_die * self.layout.units.per_flash_page {
                if candidate == NONE {
                    break;
                }
                let (op, head) = (&self.ops[candidate], &self.ops[first]);
                let (plane, next) = (1_u64 << op.plane, op.next);
                let same_page = op.page == head.page
                    || op.kind == Kind::Erase
                    || (op.kind == Kind::Read && self.chips.commands.independent_reads);
                let fits = op.kind == head.kind
                    && op.slc == head.slc
                    && match planes & plane {
                        0 => same_page && self.chips.commands.multiplane,
                        // Reads of several pages of one flash page share a single read from the cells.
                        _ => op.kind == Kind::Read && op.flash_page() == self.flash_pages[usize::from(op.plane)],
                    }
                    && (!self.chips.scheduler.role.in_order || op.number == self.dies[number as usize].begun);
                if fits {
                    if planes & plane == 0 {
                        self.flash_pages[usize::from(op.plane)] = op.flash_page();
                        planes |= plane;
                    }
                    self.take(number, candidate);
                    self.ops[last].next = candidate;
                    last = self.ops.of_command(candidate).last().unwrap_or(candidate);
                } else if self.chips.scheduler.role.in_order {
                    break;
                }
                candidate = next;
            }
        }
        let reads = self.ops[first].kind == Kind::Read;
        let command = Command { first, transfer: first, reads };
        let die = &mut self.dies[number as usize];
        if die.held_since_ns == NEVER {
            die.held_since_ns = self.now_ns;
        }
        match self.ops[first].kind {
            Kind::Program => {
                self.attribute_command(first, Attribution::wait_for_bus);
                self.transfer(number, command);
            }
            Kind::Read | Kind::Erase | Kind::Copyback => self.work(number, command),
        }
    }

    /// True if one command may include several operations of the given kind.
    #[inline(always)]
    fn joins_others(&self, kind: Kind) -> bool {
        let multiplane = self.chips.commands.multiplane && self.chips.planes_per_die > 1;
        match kind {
            Kind::Read => multiplane || self.layout.units.per_flash_page > 1,
            // Program units and die blocks that span all planes of a die leave no plane for another operation.
            Kind::Program | Kind::Erase => multiplane && self.layout.planes == 1,
            Kind::Copyback => false,
        }
    }

    /// Removes an operation from the queue of its die.
    #[inline(always)]
    fn take(&mut self, number: u32, index: u32) {
        self.dies[number as usize].begin(index, &mut self.ops);
        let job = self.ops[index].job;
        if job != NONE {
            let job = &mut self.jobs[job];
            job.began_ns = job.began_ns.min(self.now_ns);
        }
    }

    #[inline(always)]
    fn work(&mut self, number: u32, command: Command) {
        let op = &self.ops[command.first];
        let kind = op.kind;
        let duration_ns = match op.kind {
            Kind::Read if self.chips.commands.independent_reads => {
                let pages = self.ops.of_command(command.first).map(|index| self.ops[index].page);
                pages.map(|page| self.chips.timing.read_page(op.slc, page.into()).0).max().unwrap_or(0)
            }
            Kind::Read => self.chips.timing.read_page(op.slc, op.page.into()).0,
            Kind::Program => match (op.pass, self.chips.timing.passes()) {
                (Pass::Single, _) => self.chips.timing.program_page(op.slc, op.page.into()).0,
                (Pass::Coarse, [coarse, _]) => coarse.0,
                (Pass::Fine, [_, fine]) => fine.0,
            },
            Kind::Erase => self.chips.timing.erase_block(op.slc).0,
            Kind::Copyback => {
                self.chips.timing.read.of_page(op.from_page.into()).0
                    + self.chips.timing.program.of_page(op.page.into()).0
            }
        };
        let ends_ns = self.now_ns + duration_ns;
        self.agenda.set(number as usize, ends_ns);
        self.dies[number as usize].cells =
            Cells::Busy(Work { command, began_ns: self.now_ns, ends_ns, suspensions: 0 });
        self.attribute_command(command.first, Attribution::cells_begin);
        if let Some(checker) = &mut self.checker {
            self.ops.of_command(command.first).for_each(|index| checker.began(self.ops[index].seen()));
        }
        if self.chips.commands.cache_program && kind == Kind::Program {
            self.for_each_op(command.first, |flash, index| {
                flash.ops[index].passed = true;
                let behind = flash.ops[index].behind;
                if behind != NONE && flash.ops[behind].kind == Kind::Program {
                    flash.ops[index].behind = NONE;
                    flash.release(behind);
                }
            });
        }
    }

    /// Calls `act` for each operation of a command; `act` may remove the operation.
    #[inline(always)]
    fn for_each_op(&mut self, first: u32, mut act: impl FnMut(&mut Self, u32)) {
        let mut index = first;
        while index != NONE {
            let next = self.ops[index].next;
            act(self, index);
            index = next;
        }
    }

    /// Queues the data transfer of a die's command for the bus.
    #[inline(always)]
    fn transfer(&mut self, number: u32, command: Command) {
        let die = &mut self.dies[number as usize];
        die.registers = Registers::Moving(command);
        let channel = die.channel as usize;
        self.channels[channel].dies.push_back(number);
        if self.channels[channel].dies.len() == 1 {
            self.begin_transfer(channel, command);
        }
    }

    /// Begins the transfer for the die at the head of a channel's queue.
    #[inline]
    fn begin_transfer(&mut self, channel: usize, command: Command) {
        let bytes = self.ops[command.transfer].bytes;
        let duration_ns = if bytes == self.chips.page_bytes {
            self.chips.page_transfer_ns
        } else {
            self.chips.timing.transfer(bytes).0
        };
        self.channels[channel].began_ns = self.now_ns;
        self.agenda.set(self.dies.len() + channel, self.now_ns + duration_ns);
    }

    #[inline]
    pub(super) fn transfer_done(&mut self, channel: usize) {
        let number = self.channels[channel].dies.pop_front().expect("a die must be using the bus when a transfer ends");
        let Registers::Moving(mut command) = self.dies[number as usize].registers else {
            unreachable!("a die that uses the bus must have data to transfer")
        };
        let index = command.transfer;
        let next = self.ops[index].next;
        self.record.bus(channel, number, self.channels[channel].began_ns, self.now_ns, (index, &self.ops[index]));
        if command.reads {
            self.end(index);
        }
        command.transfer = next;
        if next == NONE && !command.reads {
            self.attribute_command(command.first, Attribution::wait_for_die);
        }
        let die = &mut self.dies[number as usize];
        if next != NONE {
            die.registers = Registers::Moving(command);
            self.channels[channel].dies.push_back(number);
        } else {
            die.registers = match &mut die.suspended {
                _ if command.reads => Registers::Free,
                Some(suspended) => {
                    suspended.loaded = Some(command);
                    Registers::Free
                }
                None => Registers::Loaded(command),
            };
            self.wake(number);
        }
        if let Some(&number) = self.channels[channel].dies.front() {
            let Registers::Moving(command) = self.dies[number as usize].registers else {
                unreachable!("a die that waits for the bus must have data to transfer")
            };
            self.begin_transfer(channel, command);
        }
    }

    #[inline]
    pub(super) fn cells_done(&mut self, resource: u32) {
        let die = &mut self.dies[resource as usize];
        match std::mem::replace(&mut die.cells, Cells::Idle) {
            Cells::Suspending => {}
            // This event only ends the minimum time before the next interruption; the operation has not ended yet.
            Cells::Busy(work) if work.ends_ns > self.now_ns => {
                die.cells = Cells::Busy(work);
                self.agenda.set(resource as usize, work.ends_ns);
            }
            Cells::Busy(work) => {
                let command = work.command;
                self.record_cells(resource, &work);
                self.attribute_command(command.first, Attribution::cells_stop);
                if command.reads {
                    self.attribute_command(command.first, Attribution::wait_for_bus);
                    self.pass(command);
                    if matches!(self.dies[resource as usize].registers, Registers::Free) {
                        self.transfer(resource, command);
                        if !self.chips.commands.cache_read {
                            // No operation can begin on the die before the data has left it.
                            self.attribute_die(resource);
                            return;
                        }
                    } else {
                        self.dies[resource as usize].cells = Cells::Full(command);
                    }
                } else {
                    self.for_each_op(command.first, |flash, index| {
                        if let Some(checker) = &mut flash.checker {
                            checker.ended(flash.ops[index].seen());
                        }
                        if let Some(gathered) = &mut flash.gathered
                            && flash.ops[index].kind == Kind::Program
                        {
                            gathered.programmed(&flash.ops[index]);
                        }
                        flash.end(index);
                    });
                }
            }
            Cells::Idle | Cells::Full(_) => unreachable!("cell events occur only while the cells are busy"),
        }
        self.wake(resource);
    }

    /// Releases the next operations on the blocks of a read command, whose pages have been read from the cells.
    #[inline]
    fn pass(&mut self, command: Command) {
        self.for_each_op(command.first, |flash, index| {
            if let Some(checker) = &mut flash.checker {
                checker.ended(flash.ops[index].seen());
            }
            flash.ops[index].passed = true;
            let behind = std::mem::replace(&mut flash.ops[index].behind, NONE);
            if behind != NONE {
                flash.release(behind);
            }
        });
    }

    #[inline(always)]
    fn record_cells(&mut self, number: u32, work: &Work) {
        let first = &self.ops[work.command.first];
        let multiplane =
            first.next != NONE && self.ops.of_command(first.next).any(|index| self.ops[index].plane != first.plane);
        self.record.cells(number, work.began_ns, self.now_ns, first, multiplane);
        if self.record.keeps_segments() {
            let mut planes = 0_u64;
            for index in self.ops.of_command(work.command.first) {
                let plane = 1 << self.ops[index].plane;
                if planes & plane == 0 {
                    planes |= plane;
                    self.record.segment(number, false, work.began_ns, self.now_ns, (index, &self.ops[index]));
                }
            }
        }
    }

    /// At the end of a run, records the unfinished work of cells and buses.
    pub fn record_unfinished(&mut self) {
        for number in 0..self.dies.len() {
            if let Cells::Busy(work) = self.dies[number].cells {
                self.record_cells(number as u32, &work);
            }
        }
        for (number, channel) in self.channels.iter().enumerate() {
            let Some(&die) = channel.dies.front() else { continue };
            if let Registers::Moving(command) = self.dies[die as usize].registers {
                let op = (command.transfer, &self.ops[command.transfer]);
                self.record.bus(number, die, channel.began_ns, self.now_ns, op);
            }
        }
    }

    /// Decrements the number of operations for which `waiter` waits; if the number becomes 0, makes `waiter` ready.
    #[inline(always)]
    pub(super) fn release(&mut self, waiter: u32) {
        self.ops[waiter].waits -= 1;
        if self.ops[waiter].waits == 0 {
            self.make_ready(waiter);
        }
    }

    /// Ends the wait of an operation for another operation that has ended.
    #[inline]
    fn release_after(&mut self, ended: u32, waiter: u32) {
        let (before, after) = (&self.ops[ended], &self.ops[waiter]);
        if before.attributed && after.attributed && before.job == after.job {
            self.attribute(|attribution, now_ns| attribution.inherit(ended, waiter, now_ns));
        }
        self.release(waiter);
    }

    #[inline(always)]
    pub(super) fn end(&mut self, index: u32) {
        let Op { block, from_block, gate, job, behind, behind_from, attributed, .. } = self.ops[index];
        if attributed {
            self.attribute(|attribution, now_ns| attribution.ended(index, now_ns));
        }
        for block in [block, from_block] {
            if block != NONE && self.blocks[block as usize].last == index {
                self.blocks[block as usize].last = NONE;
            }
        }
        for waiter in [behind, behind_from] {
            if waiter != NONE {
                self.release_after(index, waiter);
            }
        }
        while let Some(waiter) = self.ops.take_waiter(index) {
            self.release_after(index, waiter);
        }
        if gate != NONE {
            let left = &mut self.gates[gate];
            left.left -= 1;
            if left.left == 0 && left.erase != NONE {
                let erase = left.erase;
                self.gates.remove(gate);
                self.release(erase);
            }
        }
        if job != NONE {
            let state = &mut self.jobs[job];
            state.left -= 1;
            let Job { left, owner, began_ns, .. } = *state;
            if left == 0 {
                self.done.push_back(Done { owner, began_ns });
                self.jobs.remove(job);
                if attributed {
                    self.attribute(|attribution, _| attribution.completed(index, owner));
                }
            }
        }
        self.ops.remove(index);
    }
}
