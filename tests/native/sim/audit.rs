//! The database as it stands, read past the fake, against the naive model.

use std::collections::BTreeMap;

use turnmark::codec::key::Key;
use turnmark::engine::Engine;
use turnmark::ids::WriterId;
use turnmark::model::retention::Retention;
use turnmark::plan::collect::Collected;
use turnmark::plan::read::{Filter, List};
use turnmark::plan::restore::Target;
use turnmark::plan::verify::Wrong;
use turnmark::store::memory::MemoryStorage;

use super::disk::Disk;
use super::judge::{Model, Verdict};
use super::model::Line;
use super::page::scope_id;
use crate::contract::kit::{Kit, Tab, sid};

type Reader = Engine<MemoryStorage<String>>;

/// An engine of each scope that sees the rows as they are; `None` where the database is new.
async fn readers(disk: &Disk) -> Option<Vec<Reader>> {
    if disk.dump().is_empty() {
        return None;
    }
    let mut readers = Vec::new();
    for scope in 0..2 {
        let clock = Box::new(Kit::fresh().await.clock);
        let silent = Box::new(|_| {});
        let reader = Engine::open(disk.rows(), scope_id(scope), Retention::default(), clock, silent).await;
        readers.push(reader.unwrap());
    }
    Some(readers)
}

/// Everything that can be read is as the model has it, and nothing is wrong with any record.
pub(crate) fn agree(disk: &Disk, model: &Model) -> Verdict {
    pollster::block_on(async {
        let Some(readers) = readers(disk).await else {
            let empty = model.scopes.iter().all(BTreeMap::is_empty);
            return if empty { Ok(()) } else { Err("everything is gone".to_owned()) };
        };
        for (reader, lines) in readers.iter().zip(&model.scopes) {
            let found = reader.sessions().await.map_err(|error| error.to_string())?;
            let mut names: Vec<String> = found.iter().map(|session| session.id.to_string()).collect();
            names.sort();
            let expected: Vec<String> = lines.keys().cloned().collect();
            if names != expected {
                return Err(format!("the sessions are {names:?}, and not {expected:?}"));
            }
            for (name, line) in lines {
                compare(reader, name, line).await.map_err(|why| format!("session {name}: {why}"))?;
            }
        }
        let report = readers[0].verify().await.unwrap();
        match report.faults.iter().find(|fault| fault.wrong != Wrong::Unreachable) {
            Some(fault) => Err(format!("verification found {fault:?}")),
            None => Ok(()),
        }
    })
}

/// Every store that is known to be open has its mark, and every one that is known to be closed has none.
pub(crate) fn marks(disk: &Disk, marked: &BTreeMap<WriterId, bool>) -> Verdict {
    let rows = disk.dump();
    for (writer, there) in marked {
        let found = rows.iter().any(|(key, _)| *key == Key::mark(writer));
        same(&format!("the mark of {writer}"), &found, there)?;
    }
    Ok(())
}

fn same<A: PartialEq + std::fmt::Debug>(what: &str, found: &A, expected: &A) -> Verdict {
    if found == expected { Ok(()) } else { Err(format!("{what}\n  is      {found:?}\n  must be {expected:?}")) }
}

async fn compare(reader: &Reader, name: &str, line: &Line) -> Verdict {
    let (scope, session) = (reader.scope().clone(), sid(name));
    let list = List { scope, session: session.clone(), limit: u32::MAX, before: None, filter: Filter::default() };
    let page = reader.list(&list).await.map_err(|error| error.to_string())?;
    let row = |seq, id: &str, pinned, provisional, sealed, forks| {
        format!("{seq} {id} {pinned} {provisional} {sealed} {forks}")
    };
    let found: Vec<String> = page
        .items
        .iter()
        .rev()
        .map(|cp| row(cp.seq, cp.id.as_str(), cp.pinned, cp.provisional, cp.sealed, cp.forks))
        .collect();
    let expected: Vec<String> =
        line.cps.iter().map(|cp| row(cp.seq, cp.id.as_str(), cp.pinned, cp.provisional, cp.sealed, cp.forks)).collect();
    same("its checkpoints", &found, &expected)?;
    for cp in &line.cps {
        let loaded = reader.load(&session, Some(&cp.id)).await.map_err(|error| error.to_string())?;
        let loaded = loaded.ok_or_else(|| format!("{} is not there", cp.id))?;
        let shot = Tab::shot(loaded.checkpoint.state.listed, &loaded.contents);
        same(&format!("checkpoint {}", cp.id), &shot, &cp.state.shot())?;
        let pending: Vec<_> = loaded
            .pending
            .into_iter()
            .map(|write| ((write.task, write.index), (write.channel, write.value.text)))
            .collect();
        let expected: Vec<_> = cp.pending.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        same(&format!("pending writes of {}", cp.id), &pending, &expected)?;
    }
    let live = reader.load(&session, None).await.map_err(|error| error.to_string())?;
    let Some(live) = live else { return same("its head", &None, &line.head().map(|cp| &cp.id)) };
    same("its live state", &Tab::shot(live.checkpoint.state.listed, &live.contents), &line.live.shot())?;
    same("its epoch", &live.epoch, &Some(line.epoch))?;
    let run = live.run.map(|(run, message)| (run.id.to_string(), message.map(|message| message.body.text)));
    let expected = line.run.as_ref().map(|run| (run.id.clone(), run.saved.as_ref().map(|(text, _)| text.clone())));
    same("its run", &run, &expected)?;
    // Who starts anew is told of it.
    let status = reader.status().await.map_err(|error| error.to_string())?;
    let told = status.unfinished.iter().any(|one| one.session == session);
    let expected = line.run.is_some() || line.head().is_some_and(|head| head.provisional);
    same("whether it is told as interrupted", &told, &expected)
}

/// A collection takes nothing that can be read, and leaves nothing that cannot.
pub(crate) fn collect(disk: &Disk, model: &Model) -> Verdict {
    pollster::block_on(async {
        let Some(readers) = readers(disk).await else { return Ok(()) };
        readers[0].collect().await.map_err(|error| error.to_string())?;
        let report = readers[0].verify().await.unwrap();
        same("what verification finds after a collection", &report.faults, &Vec::new())?;
        let again = readers[0].collect().await.map_err(|error| error.to_string())?;
        same("a second collection", &again, &Collected::default())
    })?;
    agree(disk, model)
}

/// Whoever opens the database again can undo, and do again, what could be undone before. The model is none of this afterwards:
/// every session is brought back.
pub(crate) fn undo(disk: &Disk, model: &Model) -> Verdict {
    pollster::block_on(async {
        let Some(readers) = readers(disk).await else { return Ok(()) };
        for (reader, lines) in readers.iter().zip(&model.scopes) {
            for (name, line) in lines.iter().filter(|(_, line)| line.run.is_none()) {
                let session = sid(name);
                for (target, steps) in [(Target::Undo, &line.past), (Target::Redo, &line.future)] {
                    let rows = disk.dump();
                    let done = reader.restore(session.clone(), target, None, None, None).await;
                    let expected = line.leads(steps);
                    same(&format!("undo or redo of {name}"), &done.is_ok(), &expected.is_some())?;
                    if let Some(expected) = expected {
                        let live = reader.load(&session, None).await.map_err(|error| error.to_string())?.unwrap();
                        let shot = Tab::shot(live.checkpoint.state.listed, &live.contents);
                        same(&format!("{name} after an undo"), &shot, &expected.shot())?;
                    }
                    disk.put_back(rows);
                }
            }
        }
        Ok(())
    })
}
