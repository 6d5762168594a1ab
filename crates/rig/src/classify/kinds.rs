//! Guesses what a surface of a face is from the names that artists give.
//!
//! Names are split into words at punctuation and case changes, so that "eyeLashes_L", "M_EyeLashes" and "eye
//! lashes" mean the same, and "solid" does not match "lid". Words that mean skin decide nothing: a mesh
//! called "face" often contains teeth too.

/// What a surface is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Skin, and everything unknown.
    Skin,
    /// Gums and the lining of the mouth.
    Mouth,
    /// The tongue.
    Tongue,
    /// Teeth.
    Teeth,
    /// An eyeball: white, with iris and pupil.
    Eye,
    /// Eyelashes, usually cards whose cut-out texture is not drawn here.
    Lash,
    /// Brows, hair, beard.
    Hair,
    /// Transparent shells over the eye (tear film, cornea, soft shadow): not drawn.
    Hidden,
}

impl Kind {
    /// Every kind that a name can give.
    pub const NAMED: [Self; 7] =
        [Self::Mouth, Self::Tongue, Self::Teeth, Self::Eye, Self::Lash, Self::Hair, Self::Hidden];
}

/// The kind that `name` indicates, if it indicates one other than skin.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    let words = words(name);
    let starts = |stems: &[&str]| words.iter().any(|w| stems.iter().any(|s| w.starts_with(s)));
    let has = |exact: &[&str]| words.iter().any(|w| exact.contains(&w.as_str()));
    let eye = starts(&["eye"]);
    if words.iter().any(|w| w.ends_with("lash") || w.ends_with("lashes")) {
        return Some(Kind::Lash);
    }
    if starts(&["eyebrow", "hair", "beard", "mustache", "moustache"]) || has(&["brow", "brows"]) {
        return Some(Kind::Hair);
    }
    if starts(&[
        "lacrimal",
        "tear",
        "cornea",
        "meniscus",
        "occlusion",
        "eyeocclusion",
        "eyeblend",
        "eyeshadow",
    ]) || eye && (starts(&["blend", "fluid", "wet", "shell"]) || has(&["ao"]))
    {
        return Some(Kind::Hidden);
    }
    if starts(&["gum", "gingiva", "oral", "mouthbag", "mouthsock"])
        || has(&["mouth"]) && starts(&["socket", "sock", "bag", "inner", "inside", "interior", "cavity"])
    {
        return Some(Kind::Mouth);
    }
    if starts(&["tongue"]) {
        return Some(Kind::Tongue);
    }
    if starts(&["teeth", "tooth", "denture", "incisor", "molar", "premolar", "canine"]) {
        return Some(Kind::Teeth);
    }
    let around_eye =
        starts(&["socket", "eyesocket", "lid", "eyelid", "bag", "area", "region", "skin", "contour"]);
    (!around_eye && (eye || starts(&["sclera", "iris", "pupil"]))).then_some(Kind::Eye)
}

/// The words of a name, in lower case, split at punctuation, digits and case changes.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_lower = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && before_lower) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().into_iter().for_each(|w| w.extend(c.to_lowercase()));
        }
        before_lower = c.is_lowercase();
    }
    words.retain(|w| !w.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_real_files() {
        for (name, kind) in [
            ("eyeLeft", Some(Kind::Eye)),
            ("M_ScleraRight", Some(Kind::Eye)),
            ("eyes", Some(Kind::Eye)),
            ("eyelashes_left", Some(Kind::Lash)),
            ("M_EyeLashes", Some(Kind::Lash)),
            ("lashes", Some(Kind::Lash)),
            ("eye_occlusion_left", Some(Kind::Hidden)),
            ("M_EyeBlend", Some(Kind::Hidden)),
            ("lacrimal_right", Some(Kind::Hidden)),
            ("eye_socket_left", None),
            ("upper_teeth", Some(Kind::Teeth)),
            ("gums_and_tongue", Some(Kind::Mouth)),
            ("mouth_socket", Some(Kind::Mouth)),
            ("M_GumsTongue", Some(Kind::Mouth)),
            ("tongue", Some(Kind::Tongue)),
            ("Eyebrows.001", Some(Kind::Hair)),
            ("head", None),
            ("solid", None),
            ("", None),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }
}
