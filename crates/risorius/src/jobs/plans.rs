//! The stages of each job with their usual share of its time, for one measure of progress over the whole job.
//!
//! Shares are seconds on two cores for a head of 10,000 vertices. They need not be exact: the estimate of the
//! time that is left follows the observed speed.

use risorius_base::progress::{Stage, stage};

const READING: Stage = stage("reading", "reading", 0.5);

/// `inspect`
pub(crate) const INSPECT: [Stage; 6] = [
    READING,
    stage("surfaces", "surfaces", 0.2),
    stage("self-intersections", "self-intersections", 1.0),
    stage("shapes", "shapes", 0.2),
    stage("self-intersections of shapes", "self-intersections of shapes", 5.0),
    stage("unit and axes", "unit and axes", 0.2),
];

/// `build`
pub(crate) const BUILD: [Stage; 10] = [
    READING,
    stage("built-in head", "the built-in head", 0.5),
    stage("landmarks", "landmarks", 0.5),
    stage("carry", "bones and muscles", 2.0),
    stage("sizes", "tetrahedra", 0.5),
    stage("lattice", "tetrahedra", 9.0),
    stage("improve", "tetrahedra, better ones", 8.0),
    stage("shapes", "volumes of shapes", 17.0),
    stage("pairs", "pairs of shapes", 3.0),
    stage("drawing", "drawing", 3.0),
];

/// `perform`
pub(crate) const PERFORM: [Stage; 3] =
    [READING, stage("frames", "frames", 60.0), stage("writing", "writing", 2.0)];

/// `perform`, a preview
pub(crate) const PREVIEW: [Stage; 4] = [
    READING,
    stage("preview", "coarse flesh", 3.0),
    stage("frames", "frames", 5.0),
    stage("writing", "writing", 1.0),
];

/// `bake`
pub(crate) const BAKE: [Stage; 4] = [
    READING,
    stage("samples", "samples", 300.0),
    stage("fitting", "fitting", 5.0),
    stage("clip", "the clip", 20.0),
];

/// `pose`
pub(crate) const POSE: [Stage; 3] =
    [READING, stage("evaluating frames", "frames", 2.0), stage("writing", "writing", 1.0)];

/// `convert`
pub(crate) const CONVERT: [Stage; 3] =
    [READING, stage("evaluating frames", "frames", 1.0), stage("writing", "writing", 1.0)];

/// `attenuate`
pub(crate) const ATTENUATE: [Stage; 3] =
    [READING, stage("inner products", "inner products of shapes", 1.0), stage("attenuating", "frames", 5.0)];

/// `interference`
pub(crate) const INTERFERENCE: [Stage; 2] =
    [READING, stage("inner products", "inner products of shapes", 1.0)];

/// `render`
pub(crate) const RENDER: [Stage; 3] =
    [READING, stage("measuring", "measuring", 2.0), stage("drawing", "drawing", 30.0)];

/// `detail learn`
pub(crate) const LEARN: [Stage; 8] = [
    READING,
    stage("examples", "examples", 2.0),
    stage("strain gauges", "strain gauges", 0.5),
    stage("factors", "large scale", 2.0),
    stage("basis", "large scale", 4.0),
    stage("fine displacements", "fine displacements", 2.0),
    stage("choosing poses", "choosing poses", 3.0),
    stage("weights", "weights", 5.0),
];

/// `detail apply`
pub(crate) const APPLY: [Stage; 5] = [
    READING,
    stage("factors", "large scale", 2.0),
    stage("basis", "large scale", 4.0),
    stage("fine detail", "fine detail", 2.0),
    stage("frames", "frames", 10.0),
];

/// `detail transfer`
pub(crate) const TRANSFER: [Stage; 6] = [
    READING,
    stage("landmarks", "landmarks", 2.0),
    stage("factors", "large scale", 2.0),
    stage("basis", "large scale", 4.0),
    stage("nearest skin", "nearest skin", 3.0),
    stage("mixing weights", "mixing weights", 3.0),
];

/// `detail edit`
pub(crate) const EDIT: [Stage; 3] =
    [READING, stage("fine displacements", "fine displacements", 1.0), stage("weights", "weights", 3.0)];

/// `fit`
pub(crate) const FIT: [Stage; 11] = [
    stage("built-in head", "the built-in head", 0.5),
    READING,
    stage("carry", "bones of the template", 2.0),
    stage("fit", "scans", 40.0),
    stage("drawing", "drawing", 10.0),
    stage("landmarks", "landmarks", 0.5),
    stage("sizes", "tetrahedra", 0.5),
    stage("lattice", "tetrahedra", 9.0),
    stage("improve", "tetrahedra, better ones", 8.0),
    stage("shapes", "volumes of shapes", 17.0),
    stage("pairs", "pairs of shapes", 3.0),
];

/// `demo`: its parts are jobs of their own, which report the fraction of their whole.
pub(crate) const DEMO: [Stage; 9] = [
    stage("built-in head", "the built-in head", 0.5),
    stage("inner products", "pins", 1.0),
    stage("drawing", "drawing poses", 3.0),
    stage("building", "bones, muscles and flesh", 15.0),
    stage("picturing", "drawing bones and flesh", 3.0),
    stage("performing", "simulating the clip", 30.0),
    stage("wrinkling", "wrinkles", 8.0),
    stage("filming", "movie", 16.0),
    stage("fitting", "scans of another person", 14.0),
];

/// `transfer`
pub(crate) const TRANSFER_SHAPES: [Stage; 8] = [
    READING,
    stage("built-in head", "the built-in head", 1.5),
    stage("landmarks", "landmarks", 1.0),
    stage("surface", "landmarks", 0.5),
    stage("places of a face", "landmarks", 2.0),
    stage("correspondence", "registration", 3.0),
    stage("deformation transfer", "shapes", 2.0),
    stage("writing", "writing", 2.0),
];

/// `muscle activate`
pub(crate) const ACTIVATE: [Stage; 5] = [
    READING,
    stage("muscles", "muscles in the flesh", 2.0),
    stage("solve", "equilibrium", 4.0),
    stage("drawing", "drawing", 3.0),
    stage("writing", "writing", 0.5),
];

/// `muscle solve`
pub(crate) const SOLVE_MUSCLES: [Stage; 5] = [
    READING,
    stage("muscles", "muscles in the flesh", 2.0),
    stage("activations", "activations", 300.0),
    stage("drawing", "drawing", 10.0),
    stage("writing", "writing", 0.5),
];

/// `muscle target`
pub(crate) const TARGET_MUSCLES: [Stage; 6] = [
    READING,
    stage("muscles", "muscles in the flesh", 2.0),
    stage("activations", "activations", 200.0),
    stage("targeting", "tracks", 200.0),
    stage("drawing", "drawing", 10.0),
    stage("writing", "writing", 0.5),
];

/// `muscle edit`
pub(crate) const EDIT_MUSCLES: [Stage; 4] = [
    READING,
    stage("solve", "equilibria", 20.0),
    stage("drawing", "drawing", 3.0),
    stage("writing", "writing", 0.5),
];
