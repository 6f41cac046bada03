//! Commands by a page: what its owner would do next, given what it has seen.

use std::future::Future;
use std::rc::Rc;

use turnmark::engine::Saved;
use turnmark::error::{Code, Error, Result};
use turnmark::ids::{CheckpointId, TaskId};
use turnmark::model::part::Part;
use turnmark::plan::bundle::OnExisting;
use turnmark::plan::read::Loaded;
use turnmark::plan::restore::Target;
use turnmark::plan::write::Upkeep;

use super::executor::give_way;
use super::page::{Page, Seen, Shared, heal, open};
use super::script::{Cmd, Lane, What};
use super::sent::{Ack, Sent};
use crate::contract::chat::run as run_id;
use crate::contract::kit::{Msg, Tab, body, sid, user};
use crate::histories::model::Whole;

/// One command of a page, given.
pub(super) struct Giving<'a> {
    pub(super) shared: &'a Rc<Shared>,
    pub(super) page: &'a Rc<Page>,
    pub(super) session: String,
    pub(super) cmd: &'a Cmd,
}

/// The parts of a restore.
fn parts(n: usize) -> Vec<Part> {
    match n % 6 {
        0 => vec![Part::Messages],
        1 => vec![Part::State],
        _ => Part::ALL.to_vec(),
    }
}

impl Giving<'_> {
    pub(super) fn expects(&self) -> Option<u64> {
        self.page.seen.borrow().get(&self.session).map(|seen| seen.epoch)
    }

    pub(super) fn saw(&self, session: &str, epoch: u64, state: Option<Whole>) {
        self.page.seen.borrow_mut().insert(session.to_owned(), Seen { epoch, state });
    }

    pub(super) fn own_run(&self) -> Option<String> {
        self.page.own.borrow().get(&self.session).map(|own| own.run.clone())
    }

    /// A checkpoint that somebody has heard of.
    fn cp(&self) -> Option<CheckpointId> {
        let known = self.shared.known.borrow();
        let ids = known.get(&(self.page.scope, self.session.clone()))?;
        // The oldest is pinned again and again, so that it is let go, too.
        let at = if self.cmd.what == What::Pin && self.cmd.n.is_multiple_of(2) { 0 } else { self.cmd.n };
        ids.get(at % ids.len().max(1)).cloned()
    }

    /// Gives a command, and keeps what came of it.
    pub(super) async fn give<A>(
        &self,
        sent: Sent,
        future: impl Future<Output = Result<A>>,
        ack: impl FnOnce(&A) -> Ack,
    ) -> Result<A> {
        let at = self.shared.records.borrow().len();
        let op = self.shared.give(self.page, &self.session, sent);
        let done = self.page.under(op, future).await;
        let mut records = self.shared.records.borrow_mut();
        let record = records[at..].iter_mut().find(|record| record.op == op).unwrap();
        record.level = self.page.engine.level();
        record.ack = Some(done.as_ref().map(ack).map_err(Clone::clone));
        done
    }

    /// A checkpoint that was written is known, and was told of.
    pub(super) fn made(&self, session: &str, id: &CheckpointId) {
        self.shared.knows(self.page.scope, session, id);
        if !self.shared.told.borrow().iter().any(|(_, told)| told == id) {
            self.shared.wrong.borrow_mut().push(format!("nobody was told of {id}"));
        }
    }

    /// The housekeeping that a write found due.
    pub(super) async fn keep(&self, saved: &Saved<String>) {
        if saved.upkeep != Upkeep::default() {
            let session = saved.checkpoint.session.clone();
            let upkeep = self.page.engine.upkeep(&session, saved.upkeep);
            drop(self.give(Sent::Upkeep, upkeep, |()| Ack::Done).await);
        }
    }

    /// A session as it was read, whole.
    fn whole(&self, loaded: &Loaded<String>) -> Whole {
        let texts = self.shared.texts.borrow();
        let message = |text: &String| match texts.get(text) {
            Some(message) => message.clone(),
            None => {
                self.shared.wrong.borrow_mut().push(format!("nobody wrote {text}"));
                user("nobody")
            }
        };
        Whole {
            listed: loaded.checkpoint.state.listed,
            messages: loaded.contents.messages.iter().map(|value| message(&value.text)).collect(),
            channels: loaded.contents.channels.iter().map(|(name, value)| (name.clone(), value.text.clone())).collect(),
        }
    }

    pub(super) async fn look(&self) -> Result<()> {
        let session = sid(&self.session);
        let saw = |loaded: &Option<Loaded<String>>| {
            Ack::Saw(loaded.as_ref().map(|loaded| {
                let run = loaded.run.as_ref().map(|(run, message)| {
                    (run.id.to_string(), message.as_ref().map(|message| message.body.text.clone()))
                });
                (Tab::shot(loaded.checkpoint.state.listed, &loaded.contents), run)
            }))
        };
        let loaded = self.give(Sent::Look, self.page.engine.load(&session, None), saw).await?;
        match loaded {
            Some(loaded) => self.saw(&self.session, loaded.epoch.unwrap_or(0), Some(self.whole(&loaded))),
            // It has seen that there is none.
            None => self.saw(&self.session, 0, Some(Whole::default())),
        }
        Ok(())
    }

    async fn restore(&self, target: Target) -> Result<()> {
        let (expect, run) = (self.expects(), self.own_run());
        let sent = Sent::Restore { target: target.clone(), expect, run: run.clone() };
        let act = self.page.engine.restore(sid(&self.session), target, run.as_deref().map(run_id), None, expect);
        let done = self.give(sent, act, |restored| Ack::Cp(restored.checkpoint.id.clone())).await?;
        self.made(&self.session, &done.restore_point.id);
        self.made(&self.session, &done.checkpoint.id);
        self.page.own.borrow_mut().remove(&self.session);
        self.saw(&self.session, done.checkpoint.epoch, None);
        Ok(())
    }

    /// A message of what this page has seen, the user's or any.
    pub(super) fn message(&self) -> Option<Msg> {
        let seen = self.page.seen.borrow();
        let messages = &seen.get(&self.session)?.state.as_ref()?.messages;
        let users: Vec<&Msg> = messages.iter().filter(|message| message.role.as_deref() == Some("user")).collect();
        let from: Vec<&Msg> = if self.cmd.n.is_multiple_of(8) { messages.iter().collect() } else { users };
        from.get(self.cmd.m % from.len().max(1)).map(|message| (*message).clone())
    }

    async fn fork(&self, cp: CheckpointId) -> Result<()> {
        let target = format!("f{}", self.shared.number());
        let sent = Sent::Fork { cp: cp.clone(), target: target.clone() };
        let act = self.page.engine.fork(sid(&self.session), cp, sid(&target));
        let forked = self.give(sent, act, |forked| Ack::Cp(forked.id.clone())).await?;
        self.made(&target, &forked.id);
        self.saw(&target, forked.epoch, None);
        Ok(())
    }

    async fn delete(&self, cp: CheckpointId) -> Result<()> {
        let session = sid(&self.session);
        let act = self.page.engine.delete_checkpoint(&session, &cp);
        let epoch = self.give(Sent::Delete(cp.clone()), act, |_| Ack::Done).await?;
        // Only who knew the state before knows the one that is left.
        if let Some(epoch) = epoch.filter(|epoch| self.expects() == Some(*epoch - 1)) {
            self.saw(&self.session, epoch, None);
        }
        Ok(())
    }

    async fn recover(&self) -> Result<()> {
        let drop = self.cmd.n.is_multiple_of(3);
        let act = self.page.engine.recover(sid(&self.session), drop);
        let ack =
            |done: &Option<turnmark::engine::Done>| Ack::Recovered(done.as_ref().map(|done| done.checkpoint.clone()));
        let done = self.give(Sent::Recover { drop }, act, ack).await?;
        if let Some(done) = done.filter(|done| self.expects() == Some(done.from)) {
            self.saw(&self.session, done.epoch, None);
        }
        Ok(())
    }

    async fn new_session(&self) -> Result<()> {
        let (id, run) = (format!("n{}", self.shared.number()), self.own_run());
        let sent = Sent::NewSession { id: id.clone(), run: run.clone() };
        let (from, own) = (Some(sid(&self.session)), run.as_deref().map(run_id));
        let act = self.page.engine.new_session(sid(&id), None, from, None, own);
        let opened = self.give(sent, act, |_| Ack::Done).await?;
        self.page.own.borrow_mut().remove(&self.session);
        self.saw(&id, opened.epoch, Some(Whole::default()));
        Ok(())
    }

    async fn put_writes(&self) -> Result<()> {
        let task = format!("t{}", self.cmd.m % 2);
        // Some are longer than a row takes, and are kept among the objects.
        let length = if self.cmd.n % 8 == 3 { 21_000 } else { 1 };
        let value = |n: usize| (format!("c{n}"), format!("{}", self.cmd.n + n).repeat(length));
        let values: Vec<(String, String)> = (0..1 + self.cmd.n % 2).map(value).collect();
        let bodies: Vec<_> = values.iter().map(|(name, value)| (name.clone(), body(value, &[]))).collect();
        let (session, of) = (sid(&self.session), TaskId::parse(&task)?);
        let act = self.page.engine.put_writes(&session, &of, &bodies);
        self.give(Sent::Writes { task, values }, act, |()| Ack::Done).await
    }

    async fn copy(&self) -> Result<()> {
        let session = sid(&self.session);
        let slot = self.shared.bundles.borrow().len();
        self.shared.bundles.borrow_mut().push(None);
        let only = [session];
        let bundle = self.give(Sent::Export(slot), self.page.engine.export(Some(&only)), |_| Ack::Done).await?;
        let act = self.page.engine.import(&bundle, OnExisting::Rename);
        self.give(Sent::Import(slot), act, |_| Ack::Done).await.map(drop)
    }

    /// Reads a session first, as a rule, where this page has not.
    pub(super) async fn look_first(&self) -> Result<()> {
        if self.expects().is_none() && !self.cmd.m.is_multiple_of(5) { self.look().await } else { Ok(()) }
    }

    /// A turn whose page died is recovered.
    async fn bury(&self) -> Result<()> {
        let session = self.page.engine.session(&sid(&self.session)).await?;
        let writer = session.and_then(|session| session.run).and_then(|run| run.writer);
        let is_dead = writer.is_some_and(|writer| !self.shared.live.borrow().contains(&writer));
        if is_dead { self.recover().await } else { Ok(()) }
    }

    pub(super) async fn run(&self) -> Result<()> {
        let (engine, session) = (&self.page.engine, sid(&self.session));
        match self.cmd.what {
            What::Append => self.append().await,
            What::Put => self.put().await,
            What::Begin => self.begin(None).await,
            What::Again => match self.message() {
                Some(message) => self.begin(message.id).await,
                None => self.look().await,
            },
            What::Go => self.go(false).await,
            What::End => self.go(true).await,
            What::Stream => self.stream().await,
            What::Look => self.look().await,
            What::Rollback => match self.cp() {
                Some(id) => self.restore(Target::Rollback { id, parts: parts(self.cmd.m) }).await,
                None => Ok(()),
            },
            What::ToMessage => match self.message().and_then(|message| message.id) {
                Some(id) => self.restore(Target::Message(id)).await,
                None => self.look().await,
            },
            What::Undo => self.restore(Target::Undo).await,
            What::Redo => self.restore(Target::Redo).await,
            What::Fork => match self.cp() {
                Some(id) => self.fork(id).await,
                None => Ok(()),
            },
            What::Delete => match self.cp() {
                Some(id) => self.delete(id).await,
                None => Ok(()),
            },
            What::Prune => {
                let keep = u32::try_from(self.cmd.n % 5).unwrap();
                let count = |pruned: &turnmark::plan::prune::Pruned| Ack::Count(pruned.deleted.len());
                self.give(Sent::Prune(keep), engine.prune(session, keep), count).await.map(drop)
            }
            What::Pin => match self.cp() {
                Some(id) => {
                    let pinned = self.cmd.m.is_multiple_of(2);
                    self.give(Sent::Pin(id.clone(), pinned), engine.pin(&session, &id, pinned), |()| Ack::Done).await
                }
                None => Ok(()),
            },
            What::DeleteSession => {
                self.give(Sent::DeleteSession, engine.delete_session(&session), |()| Ack::Done).await
            }
            What::Title => {
                let title = Some(format!("title {}", self.cmd.n));
                self.give(Sent::Title, engine.set_title(&session, title), |()| Ack::Done).await
            }
            What::Writes => self.put_writes().await,
            What::Recover => self.recover().await,
            What::NewSession => self.new_session().await,
            What::Open => self.give(Sent::Open, engine.open_session(&session, None), |_| Ack::Done).await.map(drop),
            What::Copy => self.copy().await,
            What::Collect => self.give(Sent::Upkeep, engine.collect(), |_| Ack::Done).await.map(drop),
            What::Compact => {
                let due = Upkeep { collect: true, compact: true };
                self.give(Sent::Upkeep, engine.upkeep(&session, due), |()| Ack::Done).await
            }
            What::Close => Ok(()),
        }
    }
}

/// Closes the store of a page, if it is open.
async fn close(shared: &Shared, number: usize, page: &Page) {
    shared.pages.borrow_mut().remove(&number);
    shared.live.borrow_mut().remove(page.engine.writer());
    // A page that dies in the middle of it may have taken it away.
    shared.marked.borrow_mut().remove(page.engine.writer());
    let departed = page.under(0, page.engine.depart()).await;
    shared.marks(page.engine.writer(), &departed, false);
}

/// What a page does, one command after the other. A store that is not open is opened first.
pub(crate) async fn lane(shared: Rc<Shared>, lane: Lane, seed: u64) {
    let number = lane.page;
    for cmd in &lane.cmds {
        give_way().await;
        let open_page = shared.pages.borrow().get(&number).cloned();
        let page = match open_page {
            Some(page) => page,
            None if lane.beside => continue,
            None => match open(&shared, number, seed).await {
                Ok(page) => page,
                Err(_) => continue,
            },
        };
        if cmd.what == What::Close {
            close(&shared, number, &page).await;
            continue;
        }
        let session = shared.session(page.scope, cmd.session);
        let giving = Giving { shared: &shared, page: &page, session, cmd };
        let done: std::result::Result<(), Error> = giving.run().await;
        if let Err(error) = done {
            giving.failed(&error);
            if error.code == Code::ActiveRun {
                drop(page.under(0, giving.bury()).await);
            }
        }
        // What is not trusted is healed soon.
        if page.storage.is_suspect() && !lane.beside {
            drop(page.under(0, heal(&shared, &page)).await);
        }
    }
}

impl Giving<'_> {
    /// What an owner does about an error: it starts its growing message anew, and looks again at what it is behind of.
    fn failed(&self, error: &Error) {
        let mut own = self.page.own.borrow_mut();
        if matches!(error.code, Code::InvalidArgument | Code::UnknownSession) {
            own.remove(&self.session);
        }
        if let Some(own) = own.get_mut(&self.session) {
            own.count = 0;
        }
        if matches!(error.code, Code::Conflict | Code::NotLoaded) && self.cmd.n.is_multiple_of(2) {
            self.page.seen.borrow_mut().remove(&self.session);
        }
    }
}
