//! Names of muscles as people type them: Terminologia Anatomica with `_L` and `_R`.

use risorius_rig::classify::names::find;
use risorius_rig::lookup::{UnknownName, unknown};

/// The name of a muscle with `_L` and `_R` instead of `_left` and `_right`.
pub fn short_name(name: &str) -> String {
    for (long, short) in [("_left", "_L"), ("_right", "_R")] {
        if let Some(stem) = name.strip_suffix(long) {
            return format!("{stem}{short}");
        }
    }
    name.to_string()
}

/// The muscles that a name means: one, or both sides of a pair that is named without a side.
pub fn find_muscle(names: &[String], name: &str) -> Result<Vec<usize>, UnknownName> {
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    let wanted = plain(&short_name(&plain(name)));
    let is = |suffix: &str| names.iter().position(|n| plain(n) == format!("{wanted}{suffix}"));
    if let Some(found) = is("") {
        return Ok(vec![found]);
    }
    if let (Some(left), Some(right)) = (is("_l"), is("_r")) {
        return Ok(vec![left, right]);
    }
    let known = || names.iter().map(String::as_str);
    find(name, known()).map(|found| vec![found]).ok_or_else(|| unknown("muscle", name, known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_sides_and_unknown_ones_list_near_ones() {
        let names: Vec<String> =
            ["orbicularis_oris", "zygomaticus_major_left", "zygomaticus_major_right", "mentalis_left"]
                .map(short_name)
                .to_vec();
        assert_eq!(names[1], "zygomaticus_major_L");
        assert_eq!(find_muscle(&names, "zygomaticus_major_R"), Ok(vec![2]));
        assert_eq!(find_muscle(&names, "Zygomaticus major left"), Ok(vec![1]));
        assert_eq!(find_muscle(&names, "zygomaticus_major"), Ok(vec![1, 2]));
        assert_eq!(find_muscle(&names, "orbicularis_oris"), Ok(vec![0]));
        let error = find_muscle(&names, "zigomaticus_major_L").unwrap_err();
        assert!(error.to_string().contains("no muscle 'zigomaticus_major_L'"), "{error}");
        assert!(error.to_string().contains("zygomaticus_major_L"), "{error}");
    }
}
