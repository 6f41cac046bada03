//! Bundles from an enemy: whatever is changed in one, it is refused, or what it imports is sound.

use proptest::prelude::*;
use serde_json::{Value, json};
use turnmark::error::Code;
use turnmark::plan::bundle::OnExisting;
use turnmark::plan::restore::Target;

use crate::backend;
use crate::contract::chat::{again, asking, showing};
use crate::contract::kit::{Kit, assistant, chat, sid, text, user};
use crate::random::cases;

/// A small bundle with everything a bundle can have.
async fn bundle() -> Value {
    let kit = Kit::fresh().await;
    let tab = kit.tab().await;
    let channels: Vec<String> = (0..150).map(|n| format!("c{n:03}")).collect();
    let channels: Vec<(&str, &str)> = channels.iter().map(|name| (name.as_str(), "1")).collect();
    let mut messages = chat("m", 0..3);
    messages.push(user("long").saying(&"ж".repeat(21_000)));
    messages.push(assistant("picture").with(vec![1, 2, 3]));
    let base = tab.put("s", &messages, &channels).await.unwrap();
    tab.put_writes("s", "task", &[("x", "1"), ("__error__", "2")]).await.unwrap();
    messages.swap(0, 2);
    tab.put("s", &messages, &channels[..149]).await.unwrap();
    tab.fork("s", &base.id, "f").await.unwrap();
    tab.append("f", &[user("more")]).await.unwrap();
    tab.undo("f").await.unwrap();
    tab.engine.set_title(&sid("f"), Some("Title".to_owned())).await.unwrap();
    let extra = turnmark::plan::write::Metadata {
        extra: vec![("step".to_owned(), text("1"))],
        usage: Some(turnmark::model::checkpoint::Usage { total: [("t".to_owned(), 1.5)].into(), delta: [].into() }),
        name: Some("named".to_owned()),
        provisional: true,
        ..crate::contract::kit::meta()
    };
    tab.write("f", crate::contract::kit::more(&[]), extra).await.unwrap();
    // A conversation with turns, of which one was answered twice, and a boundary.
    let commit = turnmark::plan::write::Metadata { commit: Some("c1".to_owned()), ..crate::contract::kit::meta() };
    tab.begin_as("t", asking("r", "prompt"), showing(&[], &[("targets", "[1]")]), commit).await.unwrap();
    tab.end("t", "r", &[user("u1"), assistant("a1")]).await.unwrap();
    tab.answer_again("t", "u1", "b1").await;
    tab.engine.new_session(sid("n"), None, Some(sid("t")), None, None).await.unwrap();
    serde_json::from_str(&backend::text(&tab.engine.export(None).await.unwrap())).unwrap()
}

/// Where a value is in a bundle.
type Path = Vec<String>;

/// Every place in a bundle. Of a long run of bytes, only some.
fn places(value: &Value, path: &Path, into: &mut Vec<Path>) {
    into.push(path.clone());
    let mut below = |step: String, value: &Value| {
        let mut path = path.clone();
        path.push(step);
        places(value, &path, into);
    };
    match value {
        Value::Array(list) => {
            let bytes = list.len() > 8 && list.iter().all(Value::is_number);
            for (at, item) in list.iter().enumerate().filter(|(at, _)| !bytes || *at < 2) {
                below(at.to_string(), item);
            }
        }
        Value::Object(map) => map.iter().for_each(|(key, item)| below(key.clone(), item)),
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
        Value::Object(map) => map.get_mut(step),
        _ => None,
    })
}

/// How many ways there are to spoil a value.
const WAYS: usize = 20;

/// Spoils a value in one of many ways; `false` where it does not apply.
fn spoil(bundle: &mut Value, path: &Path, way: usize) -> bool {
    let replacements = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(4_294_967_295_u64),
        json!(9_007_199_254_740_993_u64),
        json!(1e300),
        json!(""),
        json!("__proto__"),
        json!("x"),
        json!("a\u{0}"),
        json!([]),
        json!({}),
    ];
    if let Some(replacement) = replacements.get(way) {
        let Some(value) = at(bundle, path) else { return false };
        let differs = *value != *replacement;
        *value = replacement.clone();
        return differs;
    }
    let Some((step, parent)) = path.split_last() else { return false };
    match (way - replacements.len(), at(bundle, parent)) {
        (0, Some(Value::Object(map))) => map.remove(step).is_some(),
        (1, Some(Value::Object(map))) => map.insert("more".to_owned(), json!(1)).is_none(),
        (0, Some(Value::Array(list))) => step.parse::<usize>().is_ok_and(|at| {
            at < list.len() && {
                list.remove(at);
                true
            }
        }),
        (1, Some(Value::Array(list))) => step.parse::<usize>().is_ok_and(|at| {
            at < list.len() && {
                list.insert(at, list[at].clone());
                true
            }
        }),
        (2, Some(Value::Array(list))) => {
            list.reverse();
            list.len() > 1
        }
        (3, _) => match at(bundle, path) {
            Some(Value::Number(number)) => number.as_u64().is_some_and(|n| {
                *at(bundle, path).unwrap() = json!(n + 1);
                true
            }),
            Some(Value::String(text)) => {
                text.push('x');
                true
            }
            _ => false,
        },
        (4, _) => match at(bundle, path) {
            Some(Value::Number(number)) => number.as_u64().is_some_and(|n| {
                n > 0 && {
                    *at(bundle, path).unwrap() = json!(n - 1);
                    true
                }
            }),
            // A bundle that promises much more than it holds.
            Some(Value::String(text)) if text.len() < 100 => {
                *text = "x".repeat(100_000);
                true
            }
            _ => false,
        },
        (5, _) => match at(bundle, path) {
            Some(Value::String(text)) => {
                *text = text.chars().rev().collect();
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Imports a bundle, and uses everything that comes of it. Gives the code it was refused with.
async fn survive(bundle: &Value, on: OnExisting) -> Option<Code> {
    let kit = Kit::fresh().await;
    let tab = kit.tab().await;
    if on != OnExisting::Error {
        tab.put("s", &chat("here", 0..3), &[("x", "1")]).await.unwrap();
        tab.append("f", &[user("here")]).await.unwrap();
    }
    let before = kit.dump().await;
    let parsed = match backend::bundle(&bundle.to_string()) {
        Ok(parsed) => parsed,
        Err(error) => return Some(error.code),
    };
    match tab.engine.import(&parsed, on).await {
        Err(error) => {
            assert_eq!(kit.dump().await, before);
            return Some(error.code);
        }
        Ok(done) => {
            for (_, session, ..) in done.sessions {
                let name = session.as_str();
                if let Some(live) = tab.load(name).await {
                    tab.append(name, &[user("on")]).await.unwrap();
                    assert_eq!(tab.live(name).await.messages.len(), live.messages.len() + 1);
                }
                for checkpoint in tab.all(name).await {
                    tab.at(name, &checkpoint.id).await;
                    tab.pending(name, Some(&checkpoint.id)).await;
                }
                for target in [Target::Undo, Target::Undo, Target::Redo] {
                    drop(tab.engine.restore(session.clone(), target, None, None, None).await);
                }
                tab.engine.operations(&session, 99).await.unwrap();
                tab.engine.recover(session.clone(), true).await.unwrap();
                tab.load(name).await;
                let message = tab.now(name).await.into_iter().next().unwrap_or_default();
                drop(tab.engine.versions(&session, &message).await);
                drop(
                    tab.begin_as(
                        name,
                        again("again", &message),
                        crate::contract::kit::more(&[]),
                        crate::contract::kit::meta(),
                    )
                    .await,
                );
                drop(tab.end(name, "again", &[assistant("more")]).await);
                drop(tab.to(name, &message).await);
                tab.ask(name, "asked here", "answered here").await;
                assert_eq!(tab.versions(name, "asked here").await.len(), 1);
                tab.to(name, "asked here").await.unwrap();
            }
        }
    }
    kit.rows_are_small().await;
    tab.clean().await;
    // What was imported can be exported, and that is no worse.
    let again = backend::text(&tab.engine.export(None).await.unwrap());
    let there = Kit::fresh().await;
    there.tab().await.engine.import(&backend::bundle(&again).unwrap(), OnExisting::Error).await.unwrap();
    None
}

#[test]
fn a_bundle_with_any_field_changed_is_refused_or_imports_something_sound() {
    pollster::block_on(async {
        let whole = bundle().await;
        assert_eq!(survive(&whole, OnExisting::Error).await, None);
        assert_eq!(survive(&whole, OnExisting::Rename).await, None);
        let mut all = Vec::new();
        places(&whole, &Path::new(), &mut all);
        let (mut tried, mut imported) = (0, 0);
        for (n, path) in all.iter().enumerate() {
            // Every way for some, and each way for every tenth place or so: fields repeat.
            for way in (0..WAYS).filter(|way| path.len() < 3 || (n + way).is_multiple_of(7)) {
                let mut bad = whole.clone();
                if !spoil(&mut bad, path, way) {
                    continue;
                }
                tried += 1;
                match survive(&bad, OnExisting::Error).await {
                    Some(code) => assert_eq!(code, Code::BadBundle, "{path:?} in way {way}"),
                    None => imported += 1,
                }
            }
        }
        assert!(tried > 2000 && imported > 20 && imported < tried / 4, "{imported} of {tried} were imported");
    });
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_bundle_with_several_fields_changed_is_refused_or_imports_something_sound(
        changes in prop::collection::vec((any::<usize>(), 0..WAYS), 2..5),
        on in prop_oneof![Just(OnExisting::Error), Just(OnExisting::Rename), Just(OnExisting::Skip)],
    ) {
        pollster::block_on(async {
            let mut bad = bundle().await;
            for (place, way) in changes {
                let mut all = Vec::new();
                places(&bad, &Path::new(), &mut all);
                spoil(&mut bad, &all[place % all.len()], way);
            }
            let code = survive(&bad, on).await;
            assert!(code.is_none_or(|code| code == Code::BadBundle), "{code:?}");
        });
    }
}

/// Entries that all lead to one node would make a tree of any size out of a small bundle.
#[test]
fn a_bundle_cannot_hold_a_tree_that_is_larger_than_the_bundle() {
    use turnmark::codec::row::{Content, Object};
    use turnmark::model::body::content_hash;
    use turnmark::model::tree::Node;
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        let tab = kit.tab().await;
        tab.put("s", &[], &[("k", "1")]).await.unwrap();
        let mut bomb = tab.engine.export(None).await.unwrap();
        let keys: Vec<String> = (0..100).map(|n| format!("k{n:03}")).collect();
        let mut below = content_hash("1", &[]);
        for level in 0..8 {
            let node = Node { level, keys: keys.clone(), hashes: vec![below; keys.len()] };
            below = node.hash();
            bomb.objects.push((below, 0, Object { of: 1, refs: Vec::new(), content: Content::Node(node) }));
        }
        bomb.sessions[0].state.roots.state = Some(below);
        bomb.checkpoints[0].state.roots.state = Some(below);
        let code = tab.engine.import(&bomb, OnExisting::Rename).await.err().map(|error| error.code);
        assert_eq!(code, Some(Code::BadBundle));
    });
}

/// Turns are counted on from where a bundle says they are.
#[test]
fn a_bundle_with_more_turns_than_can_be_is_refused_or_can_be_gone_on_with() {
    pollster::block_on(async {
        let whole = bundle().await;
        for spoilt in [1, 2, 3] {
            let mut bad = whole.clone();
            let mut set = |list: &str, path: &str| {
                for row in bad[list].as_array_mut().unwrap() {
                    if let Some(turns) = row.pointer_mut(path) {
                        *turns = json!(u32::MAX);
                    }
                }
            };
            if spoilt & 1 > 0 {
                set("sessions", "/state/turns");
                set("checkpoints", "/state/turns");
            }
            if spoilt & 2 > 0 {
                set("checkpoints", "/turn/seq");
            }
            let code = survive(&bad, OnExisting::Error).await;
            assert!(code.is_none_or(|code| code == Code::BadBundle), "{code:?}");
            let tab = Kit::fresh().await.tab().await;
            if tab.engine.import(&backend::bundle(&bad.to_string()).unwrap(), OnExisting::Error).await.is_ok() {
                tab.load("t").await;
                tab.answer_again("t", "u1", "c1").await;
                tab.ask("t", "u2", "a2").await;
            }
        }
    });
}
