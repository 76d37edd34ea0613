//! Where an announcement was published: `<prefix>/<component>/[<node_id>/]<object_id>/config`.

/// A discovery topic, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigTopic {
    pub full: String,
    /// `light`, `sensor`… or `device` for a message that announces several components.
    pub component: String,
    pub node: Option<String>,
    pub object: String,
}

impl ConfigTopic {
    /// Reads `topic`; `None` if it is no discovery topic of `prefix` (producers keep states under the prefix too).
    pub fn parse(prefix: &str, topic: &str) -> Option<Self> {
        let rest = topic.strip_prefix(prefix)?.strip_prefix('/')?.strip_suffix("/config")?;
        let mut parts = rest.split('/');
        let component = parts.next()?;
        let (node, object) = match (parts.next()?, parts.next(), parts.next()) {
            (object, None, None) => (None, object),
            (node, Some(object), None) => (Some(node), object),
            _ => return None,
        };
        let word =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let id = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        };
        if !word(component) || !node.is_none_or(id) || !id(object) {
            return None;
        }
        Some(Self {
            full: topic.to_owned(),
            component: component.to_owned(),
            node: node.map(str::to_owned),
            object: object.to_owned(),
        })
    }

    pub fn is_device(&self) -> bool {
        self.component == "device"
    }

    /// The identity of what a single-component topic announces.
    pub fn key(&self) -> ItemKey {
        let id = match &self.node {
            Some(node) => format!("{node} {}", self.object),
            None => self.object.clone(),
        };
        ItemKey { component: self.component.clone(), id }
    }

    /// The identity of a component inside a device message on this topic.
    pub fn component_key(&self, component: &str, id: &str) -> ItemKey {
        let id = match &self.node {
            Some(node) => format!("{} {node} {id}", self.object),
            None => format!("{} {id}", self.object),
        };
        ItemKey { component: component.to_owned(), id }
    }
}

/// The identity of one announced item: it is the topic's, not the unique id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    pub component: String,
    pub id: String,
}

impl std::fmt::Display for ItemKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.component, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_everything_else_is_not() {
        let parse = |topic: &str| ConfigTopic::parse("homeassistant", topic);
        let single = parse("homeassistant/light/kitchen/config").unwrap();
        assert_eq!((single.node.as_deref(), single.object.as_str()), (None, "kitchen"));
        let with_node = parse("homeassistant/light/0x12/light/config").unwrap();
        assert_eq!(with_node.key().to_string(), "light 0x12 light");
        let device = parse("homeassistant/device/bridge/config").unwrap();
        assert!(device.is_device());
        assert_eq!(device.component_key("sensor", "t").to_string(), "sensor bridge t");
        // The same identity as the single form with the device's id as its node.
        assert_eq!(
            device.component_key("sensor", "t"),
            parse("homeassistant/sensor/bridge/t/config").unwrap().key()
        );
        for other in [
            "homeassistant/light/config",
            "homeassistant/light/a/b/c/config",
            "homeassistant/light/a b/config",
            "homeassistant/li-ght/a/config",
            "homeassistant/light//config",
            "homeassistant/light/a/state",
            "homeassistant2/light/a/config",
            "other/homeassistant/light/a/config",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
