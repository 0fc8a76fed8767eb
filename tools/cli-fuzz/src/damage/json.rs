//! Damages JSON: values of different types, missing or repeated keys, and extreme numbers.

use readmill_fuzz::changes;
use readmill_simulate::Rng;
use serde_json::{Value, json};

use super::numbers::{MAX_BYTES, draw_number};

/// Replaces, removes or repeats one to four values anywhere in the document. In one of six cases,
/// changes bytes instead.
pub fn damage_json(content: &[u8], rng: &mut Rng) -> Vec<u8> {
    let parsed = serde_json::from_slice::<Value>(content).ok().filter(|_| !rng.is_once_in(6));
    let Some(mut document) = parsed else {
        let mut damaged = content.to_vec();
        changes::change_bytes(&mut damaged, content, MAX_BYTES, rng);
        return damaged;
    };
    for _ in 0..=rng.index(4) {
        let mut at = rng.index(count_values(&document));
        change_value(&mut document, &mut at, rng);
    }
    serde_json::to_vec(&document).unwrap_or_default()
}

fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(fields) => fields.values().map(count_values).sum(),
        _ => 0,
    }
}

/// Changes the value with index `at` in depth-first order, or an element of it. Returns whether it
/// was found; otherwise `at` is reduced by the number of values visited.
fn change_value(value: &mut Value, at: &mut usize, rng: &mut Rng) -> bool {
    if *at == 0 {
        *value = other_value(value, rng);
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => {
            if *at == 0 && rng.is_once_in(2) && !items.is_empty() {
                let one = items[rng.index(items.len())].clone();
                items.insert(rng.index(items.len() + 1), one);
                return true;
            }
            items.iter_mut().any(|item| change_value(item, at, rng))
        }
        Value::Object(fields) => {
            if *at == 0 && rng.is_once_in(2) && !fields.is_empty() {
                let key = fields.keys().nth(rng.index(fields.len())).cloned().unwrap_or_default();
                fields.remove(&key);
                return true;
            }
            fields.values_mut().any(|field| change_value(field, at, rng))
        }
        _ => false,
    }
}

fn other_value(value: &Value, rng: &mut Rng) -> Value {
    match rng.index(11) {
        0 => Value::Null,
        1 => json!([]),
        2 => json!({}),
        3 => json!([value.clone(), value.clone()]),
        4 => json!(""),
        5 => json!("<b>&\"'\u{0}\u{202e}x"),
        6 => json!("a".repeat(1 << rng.index(14))),
        7 => json!(rng.pick(&[-0.0, 0.1, 1e308, -1e308, 5e-324, 1e19])),
        8 => json!(value.as_i64().map_or_else(|| "1".to_owned(), |number| number.to_string())),
        9 => json!(u64::MAX),
        _ => json!(draw_number(value.as_i64().unwrap_or_default(), rng)),
    }
}
