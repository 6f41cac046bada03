//! A history, played: rounds of what happens at once, each judged when nothing moves any more.

use std::collections::BTreeMap;
use std::rc::Rc;

use turnmark::store::Level;

use super::audit;
use super::disk::{Commit, Disk};
use super::executor::Executor;
use super::judge::{Model, Verdict};
use super::page::Shared;
use super::rng::Rng;
use super::run::lane;
use super::script::{Fault, Round, Script};
use super::sent::{Record, is_fault};

/// No round needs so many steps.
const ENDLESS: usize = 20_000;

impl Shared {
    /// The session a number means: one of a few names, or any that exists.
    pub(crate) fn session(&self, scope: usize, n: usize) -> String {
        let known = self.known.borrow();
        let names = known.keys().filter(|(of, _)| *of == scope).map(|(_, name)| name.clone());
        let names: Vec<String> = names.chain(["s0".to_owned(), "s1".to_owned()]).collect();
        if n == 0 { "s0".to_owned() } else { names[n % names.len()].clone() }
    }
}

/// How often what happened.
pub(crate) type Met = BTreeMap<String, usize>;

struct World {
    shared: Rc<Shared>,
    disk: Disk,
    model: Model,
    rng: Rng,
    /// Where what was said to be on the disk was committed.
    promised: Vec<u64>,
}

/// Plays a history, and tells what was wrong.
pub(crate) fn play(script: &Script) -> Verdict<Met> {
    let disk = Disk::default();
    let shared = Rc::new(Shared {
        disk: disk.clone(),
        setting: script.pages.clone(),
        retention: script.retention,
        ..Shared::default()
    });
    let model = Model { scopes: vec![BTreeMap::new(); 2], retention: script.retention, bundles: Vec::new() };
    let rng = Rng::new(script.seed ^ 0x5eed);
    let mut world = World { shared, disk, model, rng, promised: Vec::new() };
    let done = world.play(script);
    // Pages know each other through what they share.
    world.shared.pages.borrow_mut().clear();
    done.map(|()| world.shared.met.take())
}

impl World {
    fn play(&mut self, script: &Script) -> Verdict {
        for (n, round) in script.rounds.iter().enumerate() {
            let seed = script.seed.wrapping_add(u64::try_from(n).unwrap());
            self.round(round, seed).map_err(|why| format!("round {n}: {why}"))?;
        }
        audit::undo(&self.disk, &self.model)?;
        audit::collect(&self.disk, &self.model)
    }

    fn round(&mut self, round: &Round, seed: u64) -> Verdict {
        let mut executor = Executor::default();
        for one in &round.lanes {
            executor.spawn(one.page, lane(self.shared.clone(), one.clone(), seed));
        }
        let is_dead = self.steps(&mut executor, round)?;
        let is_stuck = !executor.is_empty() || !self.disk.is_idle();
        executor.kill(None);
        if is_stuck {
            return Err(format!("a promise is pending: {:?}", self.shared.records.borrow().last()));
        }
        if let Some(wrong) = self.shared.wrong.borrow().first() {
            return Err(wrong.clone());
        }
        self.disk.fill(false);
        self.judge()?;
        if is_dead && let Some(torn) = self.disk.start() {
            // Only what was not called safe may have been written behind the damage.
            if let Some(serial) = self.promised.iter().find(|serial| **serial > torn) {
                return Err(format!(
                    "{serial} was said to be on the disk, and was written behind the damage at {torn}"
                ));
            }
            self.shared.meet("a wipe");
            self.promised.clear();
            self.model.scopes = vec![BTreeMap::new(); 2];
        }
        self.disk.flush();
        if is_dead {
            self.shared.marked.borrow_mut().clear();
        }
        audit::marks(&self.disk, &self.shared.marked.borrow())?;
        audit::agree(&self.disk, &self.model)?;
        if self.rng.percent(15) {
            audit::collect(&self.disk, &self.model)?;
        }
        let mut known = self.shared.known.borrow_mut();
        known.clear();
        for (scope, lines) in self.model.scopes.iter().enumerate() {
            for (name, line) in lines {
                known.insert((scope, name.clone()), line.cps.iter().map(|cp| cp.id.clone()).collect());
            }
        }
        Ok(())
    }

    /// Lets things happen, one after the other, until nothing can. Whether the browser died.
    fn steps(&mut self, executor: &mut Executor, round: &Round) -> Verdict<bool> {
        // The worst instant to die is that of a commit: most wait for one.
        let mut waiting: Vec<Fault> = Vec::new();
        for at in 0..ENDLESS {
            waiting.extend(round.faults.iter().filter(|(when, _)| *when == at).map(|(_, fault)| *fault));
            let (ready, steps) = (executor.ready(), self.disk.steps());
            let is_over = ready + steps.len() == 0;
            if is_over && waiting.is_empty() {
                return Ok(false);
            }
            let comes = |rng: &mut Rng| is_over || self.disk.is_committing() || rng.percent(10);
            let due = waiting.iter().position(|fault| !fault.is_death() || comes(&mut self.rng));
            if let Some(due) = due {
                let fault = waiting.remove(due);
                if self.strike(executor, fault) {
                    return Ok(true);
                }
                continue;
            }
            match self.rng.below(ready + steps.len()) {
                n if n < ready => executor.step(n),
                n => self.disk.step(steps[n - ready], &mut self.rng),
            }
        }
        Err("there is no end".to_owned())
    }

    /// Something goes wrong. Whether the browser died of it.
    fn strike(&mut self, executor: &mut Executor, fault: Fault) -> bool {
        let name = format!("{fault:?}");
        self.shared.meet(name.split('(').next().unwrap_or_default());
        match fault {
            Fault::Trap(trap) => self.disk.trap(trap),
            Fault::Full => self.disk.fill(true),
            Fault::Room => self.disk.fill(false),
            Fault::Forced(page) => self.disk.close(page, &mut self.rng),
            Fault::Crash(number) => {
                executor.kill(Some(number));
                if let Some(page) = self.shared.pages.borrow_mut().remove(&number) {
                    self.shared.live.borrow_mut().remove(page.engine.writer());
                    // Whoever comes next takes it away.
                    self.shared.marked.borrow_mut().remove(page.engine.writer());
                }
                self.disk.bury(number);
            }
            Fault::Browser | Fault::Power => {
                executor.kill(None);
                self.shared.pages.borrow_mut().clear();
                self.shared.live.borrow_mut().clear();
                self.disk.die(matches!(fault, Fault::Power), &mut self.rng);
                return true;
            }
        }
        false
    }

    /// Judges every command at the place where it was committed; then what did not survive is taken back.
    fn judge(&mut self) -> Verdict {
        let records = self.shared.records.take();
        let commits = self.disk.take_commits();
        let mut places: Vec<(u64, &Record, Option<&Commit>)> = Vec::new();
        for record in &records {
            // The first is the command; what it collects afterwards is another transaction.
            let commit = commits.iter().find(|commit| commit.op == record.op);
            self.count(record, commit);
            match (commit.map(|commit| commit.serial).or(self.disk.noted(record.op)), &record.ack) {
                (Some(serial), _) => places.push((serial, record, commit)),
                (None, None) => {}
                (None, Some(Err(error))) if is_fault(error.code) => {}
                (None, Some(_)) => return Err(format!("it was answered without a transaction: {record:?}")),
            }
        }
        places.sort_by_key(|(serial, ..)| *serial);
        let mut survived: Option<Model> = None;
        for (serial, record, commit) in places {
            let is_lost = commit.is_some_and(|commit| commit.lost);
            if is_lost && survived.is_none() {
                survived = Some(self.model.clone());
            }
            self.model.judge(record, commit.map(|commit| commit.writes.as_slice()))?;
            let is_promised = commit.is_some() && record.level == Level::Disk && matches!(record.ack, Some(Ok(_)));
            if is_promised && is_lost {
                return Err(format!("it was said to be on the disk: {record:?}"));
            }
            if is_promised {
                self.promised.push(serial);
            }
        }
        if let Some(survived) = survived {
            self.model = survived;
        }
        Ok(())
    }

    /// Counts what came of a command.
    fn count(&self, record: &Record, commit: Option<&Commit>) {
        let what = format!("{:?}", record.sent);
        let what = what.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
        let told = match &record.ack {
            Some(Ok(_)) => "done".to_owned(),
            Some(Err(error)) => error.code.word(),
            None => "unheard".to_owned(),
        };
        let fate = commit.map_or("", |commit| if commit.lost { ", lost" } else { ", committed" });
        self.shared.meet(format!("{what}: {told}{fate}"));
    }
}
