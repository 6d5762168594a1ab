//! Head motion as CSV: `time_s,px_m,py_m,pz_m,qx,qy,qz,qw`, in seconds, meters and a unit quaternion; other
//! names and units as [`crate::formats::clip_csv::head_columns`] has them.
//!
//! The table may have other columns, and the head may be given in any form that [`crate::formats::clip_csv`]
//! reads: a clip recorded with head motion can be used as a head motion.

use crate::IoError;
use crate::formats::clip_csv::head_columns::HeadUnit;
use crate::formats::clip_csv::{self, ClipContent, ClipOptions, NO_SLIDERS};
use crate::formats::text::push_f64;
use risorius_rig::HeadMotion;
use risorius_rig::classify::names::arkit_index;

/// Head motion and what is known about its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeadContent {
    /// The motion.
    pub motion: HeadMotion,
    /// Where the unit of its positions comes from.
    pub unit: HeadUnit,
    /// What was left out or assumed.
    pub notes: Vec<String>,
}

/// Reads the head motion of a table.
pub fn read(bytes: &[u8], options: &ClipOptions) -> Result<HeadContent, IoError> {
    let content = clip_csv::read(bytes, options)?;
    head_of(content).ok_or_else(|| {
        let problem =
            "the table has no head motion; give the columns time_s, px_m, py_m, pz_m, qx, qy, qz, qw";
        IoError::malformed("head CSV", "header", problem)
    })
}

/// The head motion of a clip, if it has one. Columns that are neither that nor shapes of ARKit are named.
pub(crate) fn head_of(content: ClipContent) -> Option<HeadContent> {
    let motion = content.clip.head?;
    let strange: Vec<&str> =
        content.clip.names.iter().map(String::as_str).filter(|n| arkit_index(n).is_none()).collect();
    let mut notes = content.notes;
    notes.retain(|note| note != NO_SLIDERS);
    if !strange.is_empty() {
        let shown = strange.iter().take(8).copied().collect::<Vec<_>>().join(", ");
        let more = if strange.len() > 8 { format!(" and {} more", strange.len() - 8) } else { String::new() };
        notes.push(format!("columns that are not understood as head motion are not used: {shown}{more}"));
    }
    Some(HeadContent { motion, unit: content.head_unit, notes })
}

/// The motion as a table that [`read`] restores exactly.
pub fn write(head: &HeadMotion) -> Vec<u8> {
    let mut out = b"time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n".to_vec();
    for ((time, position), rotation) in
        head.times_secs.iter().zip(&head.positions_m).zip(&head.rotations_xyzw)
    {
        push_f64(&mut out, *time);
        for value in position.iter().chain(rotation) {
            out.push(b',');
            push_f64(&mut out, *value);
        }
        out.push(b'\n');
    }
    out
}
