//! The further forms in which a bridge of Zigbee devices takes commands: one property as `…/set/<property>`, and a bare
//! word for the property `state`.

use serde_json::{Map, Value};

/// The command of a message on `…/set`, as the JSON object that profiles know.
pub(super) fn whole(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(Value::Object(_)) => text.to_owned(),
        Ok(_) | Err(_) => one("state", text),
    }
}

/// The command of a message on `…/set/<property>`, in the same form.
pub(super) fn one(property: &str, text: &str) -> String {
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    Value::Object(Map::from_iter([(property.to_owned(), value)])).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_becomes_the_object() {
        assert_eq!(whole("OPEN"), r#"{"state":"OPEN"}"#);
        assert_eq!(whole(r#"{"position": 30}"#), r#"{"position": 30}"#);
        assert_eq!(one("system_mode", "off"), r#"{"system_mode":"off"}"#);
        assert_eq!(one("occupied_heating_setpoint", "19.5"), r#"{"occupied_heating_setpoint":19.5}"#);
    }
}
