//! Head motion as CSV: `time_s,px_m,py_m,pz_m,qx,qy,qz,qw`, in seconds, meters and a unit quaternion.
//!
//! The table may have other columns, and the head may be given in any form that [`crate::formats::clip_csv`]
//! reads: a clip recorded with head motion can be used as a head motion.

use crate::IoError;
use crate::formats::clip_csv::{self, ClipOptions};
use crate::formats::text::push_f64;
use risorius_rig::HeadMotion;

/// Reads the head motion of a table.
pub fn read(bytes: &[u8], options: &ClipOptions) -> Result<HeadMotion, IoError> {
    clip_csv::read(bytes, options)?.clip.head.ok_or_else(|| {
        let problem =
            "the table has no head motion; give the columns time_s, px_m, py_m, pz_m, qx, qy, qz, qw";
        IoError::malformed("head CSV", "header", problem)
    })
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
