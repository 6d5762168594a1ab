//! Prepares recorded markers to drive a face: removes head motion and fills gaps.
//!
//! Markers move with the skin and with the head. Each frame is rigidly aligned with a reference frame, the
//! one with the most visible markers. In two further passes markers that move less relative to the head get
//! more weight, so that jaw motion does not rotate the head. In head space, gaps of a marker are filled by
//! linear interpolation between its last and next seen positions; at the ends of the take it keeps its
//! nearest seen position. Frames with fewer than three markers keep the head pose of the frame before.

use crate::DetailError;
use glam::DVec3;
use risorius_base::Rigid;
use risorius_mesh::query::fit::fit_rigid;

/// Markers over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MarkerTake {
    /// A name for each marker.
    pub names: Vec<String>,
    /// Time of each frame in seconds, ascending.
    pub times_secs: Vec<f64>,
    /// For each frame, the position of each marker; `None` where it is lost.
    pub frames: Vec<Vec<Option<DVec3>>>,
}

/// Markers in the space of the head.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The frame that all others are aligned with.
    pub reference: usize,
    /// For each frame, the position of each marker in the reference's space.
    pub frames: Vec<Vec<DVec3>>,
    /// For each frame, the head's motion from the reference.
    pub head: Vec<Rigid>,
    /// Number of marker positions that were filled in.
    pub n_filled: usize,
}

impl MarkerTake {
    /// Removes head motion and fills gaps. `reference`: the frame that all others are aligned with, in which
    /// the face is at rest; when left out, the first frame with the most visible markers.
    pub fn settled(&self, reference: Option<usize>) -> Result<Settled, DetailError> {
        let n = self.names.len();
        if n < 3 || self.frames.is_empty() {
            return Err(DetailError::Empty { what: "the marker take (three markers are needed)" });
        }
        if let Some(frame) = self.frames.iter().find(|frame| frame.len() != n) {
            let what = "markers of a frame".into();
            return Err(DetailError::Count { what, found: frame.len(), wanted: n, advice: "" });
        }
        if let Some(marker) = (0..n).find(|&m| self.frames.iter().all(|frame| frame[m].is_none())) {
            return Err(DetailError::Unseen { marker: self.names[marker].clone() });
        }
        let seen = |frame: &Vec<Option<DVec3>>| frame.iter().flatten().count();
        let most = self.frames.iter().map(seen).max().unwrap_or(0);
        let first = || self.frames.iter().position(|frame| seen(frame) == most).unwrap_or(0);
        let reference = reference.unwrap_or_else(first).min(self.frames.len() - 1);
        if seen(&self.frames[reference]) < 3 {
            return Err(DetailError::Empty {
                what: "the frame at which the face is at rest (three markers are needed)",
            });
        }
        let mut weights = vec![1.0; n];
        let mut head = self.heads(reference, &weights);
        for _ in 0..2 {
            weights = self.steadiness(reference, &head);
            head = self.heads(reference, &weights);
        }
        let laid = |(frame, head): (&Vec<Option<DVec3>>, &Rigid)| -> Vec<Option<DVec3>> {
            let back = head.inverse();
            frame.iter().map(|p| p.map(|p| back.apply(p))).collect()
        };
        let mut frames: Vec<Vec<Option<DVec3>>> = self.frames.iter().zip(&head).map(laid).collect();
        let n_filled = (0..n).map(|marker| self.fill(&mut frames, marker)).sum();
        let frames =
            frames.into_iter().map(|frame| frame.into_iter().map(Option::unwrap_or_default).collect());
        Ok(Settled { reference, frames: frames.collect(), head, n_filled })
    }

    fn heads(&self, reference: usize, weights: &[f64]) -> Vec<Rigid> {
        let mut last = Rigid::IDENTITY;
        let one = |frame: &Vec<Option<DVec3>>| {
            let both = self.frames[reference].iter().zip(frame).zip(weights);
            let pairs: Vec<(DVec3, DVec3, f64)> =
                both.filter_map(|((a, b), &w)| Some(((*a)?, (*b)?, w))).collect();
            if pairs.len() >= 3 {
                let [from, to] =
                    [pairs.iter().map(|p| p.0).collect(), pairs.iter().map(|p| p.1).collect::<Vec<_>>()];
                last = fit_rigid(&from, &to, &pairs.iter().map(|p| p.2).collect::<Vec<_>>());
            }
            last
        };
        self.frames.iter().map(one).collect()
    }

    /// Weight of each marker: one over the mean square of its motion relative to the head, at most a hundred
    /// times the weight of the marker that moves most.
    fn steadiness(&self, reference: usize, head: &[Rigid]) -> Vec<f64> {
        let mean = |marker: usize| {
            let moved = self.frames.iter().zip(head).filter_map(|(frame, head)| {
                Some(head.apply(self.frames[reference][marker]?).distance_squared(frame[marker]?))
            });
            let (sum, count) = moved.fold((0.0, 0), |(sum, count), square| (sum + square, count + 1));
            if count > 0 { sum / f64::from(count) } else { f64::INFINITY }
        };
        let means: Vec<f64> = (0..self.names.len()).map(mean).collect();
        let largest = means.iter().copied().filter(|m| m.is_finite()).fold(0.0, f64::max);
        means.iter().map(|m| if largest > 0.0 { 1.0 / (m / largest + 0.01) } else { 1.0 }).collect()
    }

    /// Fills the gaps of a marker; returns how many.
    fn fill(&self, frames: &mut [Vec<Option<DVec3>>], marker: usize) -> usize {
        let known: Vec<(usize, DVec3)> =
            frames.iter().enumerate().filter_map(|(f, frame)| Some((f, frame[marker]?))).collect();
        for (f, frame) in frames.iter_mut().enumerate() {
            let next = known.partition_point(|(k, _)| *k < f);
            frame[marker] = match (next.checked_sub(1).map(|k| known[k]), known.get(next)) {
                (_, Some(&(k, p))) if k == f => Some(p),
                (Some((a, p)), Some(&(b, q))) => {
                    let [a, b] = [a, b].map(|k| self.times_secs[k]);
                    let share = if b > a { (self.times_secs[f] - a) / (b - a) } else { 0.0 };
                    Some(p.lerp(q, share))
                }
                (Some((_, p)), None) => Some(p),
                (None, next) => next.map(|(_, p)| *p),
            };
        }
        frames.len() - known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// Eight markers on a head that turns, the last on a jaw that opens.
    fn take() -> MarkerTake {
        let place = |m: usize, t: f64| {
            let jaw = if m >= 6 { DVec3::new(0.0, -2.0 * (3.0 * t).sin().abs(), 0.0) } else { DVec3::ZERO };
            DVec3::new((m % 3) as f64 * 4.0, (m / 3) as f64 * -5.0, (m % 2) as f64) + jaw
        };
        let times_secs: Vec<f64> = (0..120).map(|f| f64::from(f) / 60.0).collect();
        let frame = |&t: &f64| {
            let turn = DQuat::from_rotation_y(0.5 * (2.0 * t).sin()) * DQuat::from_rotation_x(0.2 * t);
            (0..8).map(|m| Some(turn * place(m, t) + DVec3::new(t, 3.0, 0.0))).collect()
        };
        let frames = times_secs.iter().map(frame).collect();
        MarkerTake { names: (0..8).map(|m| format!("m{m}")).collect(), times_secs, frames }
    }

    #[test]
    fn head_motion_goes_and_the_jaw_stays() {
        let settled = take().settled(None).unwrap();
        assert_eq!((settled.reference, settled.n_filled), (0, 0));
        let first = &settled.frames[0];
        for frame in &settled.frames {
            (0..6)
                .for_each(|m| assert!(frame[m].distance(first[m]) < 0.1, "{}", frame[m].distance(first[m])));
        }
        let opened = settled.frames.iter().map(|frame| frame[6].distance(first[6])).fold(0.0, f64::max);
        assert!((1.9..2.1).contains(&opened), "{opened}");
    }

    #[test]
    fn a_marker_that_is_lost_for_a_second_comes_back() {
        let whole = take().settled(None).unwrap();
        let mut lost = take();
        (20..80).for_each(|f| lost.frames[f][2] = None);
        (0..10).for_each(|f| lost.frames[f][5] = None);
        lost.frames[100] = vec![None; 8];
        let settled = lost.settled(None).unwrap();
        assert_eq!(settled.n_filled, 60 + 10 + 8);
        let reference = lost.frames.iter().position(|frame| frame.iter().all(Option::is_some)).unwrap();
        assert_eq!(settled.reference, reference);
        // Back to the space of the reference.
        let back = whole.head[reference];
        for (a, b) in settled.frames.iter().zip(&whole.frames) {
            (0..6).for_each(|m| assert!(a[m].distance(back.apply(b[m])) < 0.3));
        }
        let mut never = take();
        never.frames.iter_mut().for_each(|frame| frame[3] = None);
        assert!(never.settled(None).unwrap_err().to_string().contains("m3"));
        assert!(MarkerTake::default().settled(None).is_err());
    }
}
