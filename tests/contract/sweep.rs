//! A sweep: of a filled database every row in turn is lost, or is not what was written. What any changed field of a row comes to
//! is that the row cannot be read: the tests of checksums show that for every field.

use std::collections::{BTreeMap, BTreeSet};

use turnmark::codec::key::{Key, Store};
use turnmark::error::Code;
use turnmark::ids::{CheckpointId, SessionId};
use turnmark::plan::repair::Repaired;
use turnmark::plan::verify::{Report, Wrong};

use super::damage::fill;
use super::kit::{Kit, Shot, Tab, assistant, chat, code, shot, sid, user};
use super::rows::Rows;

/// Every row, and every session, with a turn that has ended and one that has not beside all that `fill` makes.
async fn filled(kit: &Kit) -> Rows {
    let tab = fill(kit).await;
    for n in 0..3 {
        tab.append("other", &[user(&format!("later {n}"))]).await.unwrap();
    }
    tab.ask("turns", "u1", "a1").await;
    tab.begin("turns", "r", "p").await.unwrap();
    tab.end("turns", "r", &[user("u2"), assistant("a2")]).await.unwrap();
    tab.clean().await;
    kit.dump().await
}

const SESSIONS: [&str; 4] = ["s", "f", "other", "turns"];

type Place = (String, CheckpointId);

/// What every checkpoint holds, where it can be read.
async fn contents(tab: &Tab) -> BTreeMap<Place, Shot> {
    let mut all = BTreeMap::new();
    for name in SESSIONS {
        let found = tab.engine.session(&sid(name)).await;
        if matches!(found, Ok(Some(_))) {
            for checkpoint in tab.all(name).await {
                if let Ok(Some(loaded)) = tab.engine.load(&sid(name), Some(&checkpoint.id)).await {
                    let shot = Tab::shot(loaded.checkpoint.state.listed, &loaded.contents);
                    all.insert((name.to_owned(), checkpoint.id), shot);
                }
            }
        }
    }
    all
}

/// Damages the rows of a database one after the other, and lets a test look at each.
async fn each(kit: &Kit, rows: &Rows, mut test: impl AsyncFnMut(&Key, bool)) {
    // A browser is slower by a thousand times.
    let step = if cfg!(target_arch = "wasm32") { 9 } else { 1 };
    for (n, (key, _)) in rows.iter().enumerate().filter(|(n, _)| n % step == 0) {
        for is_lost in [true, false] {
            // A reference says everything in its key.
            if !is_lost && key.store == Store::References {
                continue;
            }
            kit.reset(rows).await;
            if is_lost {
                kit.tamper(key, None).await;
            } else {
                kit.garble(key, u32::try_from(n).unwrap() * 7).await;
            }
            test(key, is_lost).await;
        }
    }
    kit.reset(rows).await;
}

fn owner(key: &Key) -> Option<&str> {
    let owned = matches!(key.store, Store::Sessions | Store::Checkpoints | Store::Writes);
    key.text(1).filter(|_| owned)
}

/// Whether a report tells of a row.
fn names(report: &Report, key: &Key, is_lost: bool) -> bool {
    let record = key.to_string();
    let about = |record: &str| report.faults.iter().any(|fault| fault.record.contains(record));
    match key.store {
        Store::Objects => about(key.text(0).unwrap()),
        _ if !is_lost => about(&record),
        // What is not there is told of by what refers to it.
        Store::Sessions | Store::Checkpoints | Store::Writes => about(&format!("\"{}\"", key.text(1).unwrap())),
        Store::Messages => about(key.text(0).unwrap()),
        _ => about(&record),
    }
}

contract! {
    /// google/leveldb#251, OneKeyHQ/app-monorepo#12827, element-hq/element-web#33183, CherryHQ/cherry-studio#11516: no row
    /// that is lost or cannot be read keeps anything from being opened, listed, exported, pruned or written.
    async fn whatever_row_is_damaged_everything_else_goes_on(kit) {
        let rows = filled(&kit).await;
        let whole = contents(&kit.tab().await).await;
        each(&kit, &rows, async |key, is_lost| {
            let tab = kit.tab().await;
            let listed: BTreeSet<SessionId> = tab.engine.sessions().await.unwrap().into_iter().map(|session| session.id).collect();
            let status = tab.engine.status().await.unwrap();
            for name in SESSIONS {
                let is_named = status.unreadable.iter().any(|record| record.ends_with(&format!("\"{name}\"]")));
                assert_ne!(listed.contains(&sid(name)), is_named, "{key}: {name}");
            }
            let report = tab.engine.verify().await.unwrap();
            // A header in the middle that is gone without a trace looks like one that was pruned.
            let is_traceless = is_lost && (key.store == Store::Checkpoints || key.store == Store::Meta);
            assert!(names(&report, key, is_lost) || is_traceless, "{key} {is_lost}: {:#?}", report.faults);
            let readable = contents(&tab).await;
            assert!(readable.iter().all(|(place, shot)| whole[place] == *shot), "{key}");
            // Of another session nothing is hit but by a row that they share.
            if let Some(of) = owner(key) {
                assert!(whole.keys().all(|place| place.0 == of || readable.contains_key(place)), "{key}");
            }
            let bundle = tab.engine.export(None).await.unwrap();
            let exported: BTreeSet<&CheckpointId> = bundle.checkpoints.iter().map(|checkpoint| &checkpoint.id).collect();
            for name in SESSIONS.into_iter().filter(|name| listed.contains(&sid(name))) {
                let omitted = bundle.omitted.iter().any(|(id, _)| *id == sid(name));
                assert!(omitted || bundle.sessions.iter().any(|session| session.id == sid(name)), "{key}: {name}");
                // What can be read of a session is in it.
                let mine = || readable.keys().filter(|place| place.0 == name);
                assert!(mine().all(|(_, id)| exported.contains(id)) || (key.store == Store::Writes && omitted), "{key}: {name}");
            }
            tab.put("new", &chat("n", 0..3), &[("x", "1")]).await.unwrap();
            for name in SESSIONS {
                let pruned = tab.engine.prune(sid(name), 1).await;
                assert!(pruned.is_ok() || (key.store == Store::Sessions && owner(key) == Some(name)), "{key}: {name}");
            }
            let collected = tab.engine.collect().await;
            assert!(collected.is_ok() || code(collected) == Code::RecordUnreadable);
            for name in SESSIONS {
                let Ok(Some(session)) = tab.engine.session(&sid(name)).await else { continue };
                tab.saw(name, session.epoch);
                tab.append(name, &[user("one more")]).await.unwrap();
            }
            assert_eq!(tab.live("new").await, shot(&chat("n", 0..3), &[("x", "1")]));
            // Were the row to come back, all that is still there could be read: nothing it may lead to was taken.
            let row = rows.iter().find(|(found, _)| found == key).unwrap().1.clone();
            if is_lost && matches!(key.store, Store::Checkpoints | Store::Writes) || key.store == Store::Sessions {
                return;
            }
            kit.tamper(key, Some((*row).clone())).await;
            let again = contents(&kit.tab().await).await;
            for name in SESSIONS {
                for checkpoint in tab.all(name).await {
                    let place = (name.to_owned(), checkpoint.id);
                    assert!(again.contains_key(&place), "{key} {is_lost}: {place:?}");
                    assert!(whole.get(&place).is_none_or(|shot| again[&place] == *shot), "{key}: {place:?}");
                }
            }
        }).await;
    }

    /// google/leveldb#251, ai-shifu/ChatALL#594: a repair leaves nothing wrong but what is lost for good, and touches nothing
    /// else.
    async fn whatever_row_is_damaged_a_repair_leaves_only_what_is_truly_lost(kit) {
        let rows = filled(&kit).await;
        let whole = contents(&kit.tab().await).await;
        each(&kit, &rows, async |key, is_lost| {
            let tab = kit.tab().await;
            let before = kit.dump().await;
            let dry = tab.engine.repair(true).await.unwrap();
            assert_eq!(kit.dump().await, before, "{key}: a dry run wrote");
            let done = tab.engine.repair(false).await.unwrap();
            let told = |repaired: &Repaired| {
                let actions = repaired.actions.iter().map(|done| (done.action, done.record.clone())).collect::<Vec<_>>();
                (actions, repaired.lost.clone())
            };
            assert_eq!(told(&dry), told(&done), "{key}");
            let report = tab.engine.verify().await.unwrap();
            let real: Vec<_> = report.faults.iter().filter(|fault| fault.wrong != Wrong::Unreachable).cloned().collect();
            assert_eq!(real, done.lost, "{key} {is_lost}");
            assert!(real.iter().all(|fault| fault.wrong == Wrong::Missing), "{key} {is_lost}: {real:#?}");
            assert!(real.is_empty() || matches!(key.store, Store::Messages | Store::Objects), "{key}: {real:#?}");
            assert_eq!(report.quarantined > 0, done.actions.iter().any(|done| done.action == "quarantine"));
            assert!(is_lost || report.quarantined > 0, "{key}");
            // What is there can be read, but for what is named.
            let readable = contents(&kit.tab().await).await;
            let named: BTreeSet<&CheckpointId> = done.lost.iter().flat_map(|fault| &fault.affects).collect();
            for name in SESSIONS {
                for checkpoint in tab.all(name).await {
                    let place = (name.to_owned(), checkpoint.id);
                    let is_readable = readable.contains_key(&place);
                    assert!(is_readable != named.contains(&place.1), "{key} {is_lost}: {place:?}");
                    assert!(!is_readable || whole.get(&place).is_none_or(|shot| readable[&place] == *shot), "{key}: {place:?}");
                }
            }
            // Every row that is not named is what it was.
            let after = kit.dump().await;
            for (other, row) in rows.iter().filter(|(other, _)| other != key) {
                let is_named = done.actions.iter().any(|done| done.record == other.to_string());
                assert!(is_named || after.contains(&(other.clone(), row.clone())), "{key} {is_lost}: {other} was changed");
            }
            let again = tab.engine.repair(false).await.unwrap();
            assert_eq!((again.actions, again.lost), (Vec::new(), done.lost), "{key}: a second repair");
            for name in SESSIONS {
                let Some(session) = tab.engine.session(&sid(name)).await.unwrap() else { continue };
                tab.saw(name, session.epoch);
                tab.append(name, &[user("one more")]).await.unwrap();
            }
        }).await;
        let sound = kit.tab().await.engine.repair(false).await.unwrap();
        assert_eq!((sound.actions, sound.lost), (Vec::new(), Vec::new()));
        assert_eq!(kit.dump().await, rows);
    }
}
