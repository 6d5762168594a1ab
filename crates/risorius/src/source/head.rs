//! Head motion beside a clip: whether its numbers are plausible, and whether the two cover the same time.

use crate::error::{Error, Result};
use risorius_io::formats::clip_csv::head_columns::HeadUnit;
use risorius_rig::HeadMotion;

/// Largest plausible head acceleration, in multiples of gravity, exceeded during a tenth of the time. Running
/// gives 1.5; centimeters read as meters give 13.
const MAX_USUAL_G: f64 = 6.0;

/// Fails on implausible head acceleration, unless the user gave the unit of the positions. Positions in
/// centimeters that are read as meters would throw the head through the room, and make every step of a
/// simulation take minutes.
pub(crate) fn check_head(head: &HeadMotion, unit: HeadUnit) -> Result<()> {
    let g = head.usual_acceleration() / 9.81;
    if g <= MAX_USUAL_G || unit == HeadUnit::Given {
        return Ok(());
    }
    let problem = format!("implausible head acceleration: {g:.0} g or more during a tenth of the time");
    let advice = match unit {
        HeadUnit::Stated => {
            "the file states the unit of its positions: correct it there; if it is correct, take the unit out of \
             the names of the columns and set it"
        }
        _ => "if its positions are in centimeters, set their unit to cm; if it is correct, set it to m",
    };
    Err(Error::failed(format!("{problem}; {advice}")).with_options(&["head_unit"]))
}

/// What is said where a clip and its head motion do not cover the same time.
pub(crate) fn time_notes(clip_secs: &[f64], head: &HeadMotion) -> Vec<String> {
    let ends = |times: &[f64]| Some((*times.first()?, *times.last()?));
    let (Some((start, end)), Some((head_start, head_end))) = (ends(clip_secs), ends(&head.times_secs)) else {
        return Vec::new();
    };
    // Recordings of one take differ by a few frames.
    let slack = 0.1;
    let spans = format!(
        "the clip is from {start:.2} to {end:.2} s and the head motion from {head_start:.2} to {head_end:.2} s"
    );
    if head_end < start - slack || head_start > end + slack {
        return vec![format!("{spans}: they do not meet, so the head does not move")];
    }
    let mut said = Vec::new();
    let unused = (start - head_start).max(0.0) + (head_end - end).max(0.0);
    if start - head_start > slack || head_end - end > slack {
        said.push(format!("{unused:.2} s of head motion are not used"));
    }
    let held = (head_start - start).max(0.0) + (end - head_end).max(0.0);
    if head_start - start > slack || end - head_end > slack {
        said.push(format!("the head is held still during {held:.2} s"));
    }
    if said.is_empty() { said } else { vec![format!("{spans}: {}", said.join(", and "))] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(first: f64, last: f64) -> HeadMotion {
        HeadMotion {
            times_secs: vec![first, last],
            positions_m: vec![[0.0; 3]; 2],
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 2],
        }
    }

    #[test]
    fn different_lengths_are_said() {
        let notes = |clip: [f64; 2], first, last| time_notes(&clip, &head(first, last)).join("\n");
        assert_eq!(notes([0.0, 2.0], 0.0, 2.05), "");
        assert!(notes([0.0, 2.0], 0.0, 5.0).ends_with("5.00 s: 3.00 s of head motion are not used"));
        assert!(notes([0.0, 5.0], 0.0, 2.0).ends_with("2.00 s: the head is held still during 3.00 s"));
        let both = notes([1.0, 5.0], 0.0, 2.0);
        assert!(
            both.ends_with("1.00 s of head motion are not used, and the head is held still during 3.00 s")
        );
        assert!(notes([40.0, 45.0], 0.0, 2.0).ends_with("they do not meet, so the head does not move"));
        assert!(time_notes(&[], &head(0.0, 1.0)).is_empty());
    }

    #[test]
    fn a_stated_or_assumed_unit_is_checked_and_a_given_one_is_not() {
        let n = 100;
        let times_secs: Vec<f64> = (0..n).map(|i| f64::from(i) / 30.0).collect();
        let positions_m = times_secs.iter().map(|t| [20.0 * (6.0 * t).sin(), 0.0, 0.0]).collect();
        let wild =
            HeadMotion { times_secs, positions_m, rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; n as usize] };
        assert!(check_head(&wild, HeadUnit::Given).is_ok());
        assert!(check_head(&wild, HeadUnit::Assumed).unwrap_err().options().contains(&"head_unit"));
        assert!(check_head(&wild, HeadUnit::Stated).unwrap_err().to_string().contains("states the unit"));
    }
}
