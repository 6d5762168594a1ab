//! Times of the static solvers on a slab the size of a face's flesh: 9460 nodes, 40824 tets, 3 mm elements.
//! Run with `cargo bench -p risorius-solve`; `RAYON_NUM_THREADS` sets the number of threads.

use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_mesh::tet::tet_mesh::TetMesh;
use risorius_solve::energy::inertia::Inertia;
use risorius_solve::energy::springs::lumped_masses;
use risorius_solve::{
    Barrier, Preconditioner, Problem, SolveOptions, SolveReport, Spring, Springs, System, Tissue,
};
use risorius_solve::{Diffusion, Energy, UntangleOptions, minimize, minimize_quasi, settle, untangle};
use std::io::Write;
use std::time::{Duration, Instant};

const CELLS: [usize; 3] = [54, 42, 3];
const SIZE: DVec3 = DVec3::new(0.18, 0.14, 0.012);

fn slab() -> TetMesh {
    let counts = CELLS.map(|c| c + 1);
    let node = |at: [usize; 3]| ((at[2] * counts[1] + at[1]) * counts[0] + at[0]) as u32;
    let mut mesh = TetMesh::default();
    for k in 0..counts[2] {
        for j in 0..counts[1] {
            for i in 0..counts[0] {
                let at = DVec3::new(i as f64, j as f64, k as f64);
                mesh.nodes.push(SIZE * at / DVec3::new(CELLS[0] as f64, CELLS[1] as f64, CELLS[2] as f64));
            }
        }
    }
    for cell in 0..CELLS.iter().product() {
        let corner = [cell % CELLS[0], cell / CELLS[0] % CELLS[1], cell / (CELLS[0] * CELLS[1])];
        for (axes, odd) in [
            ([0, 1, 2], false),
            ([1, 2, 0], false),
            ([2, 0, 1], false),
            ([0, 2, 1], true),
            ([2, 1, 0], true),
            ([1, 0, 2], true),
        ] {
            let mut at = corner;
            let mut tet = [node(at); 4];
            for (place, axis) in axes.into_iter().enumerate() {
                at[axis] += 1;
                tet[place + 1] = node(at);
            }
            if odd {
                tet.swap(2, 3);
            }
            mesh.tets.push(tet);
        }
    }
    mesh
}

/// Stretched by 20 % and bent to an arc of one radian.
fn bent(p: DVec3) -> DVec3 {
    let angle = p.x / SIZE.x - 0.5;
    let radius = 1.2 * SIZE.x + p.z - 0.5 * SIZE.z;
    DVec3::new(radius * angle.sin(), p.y, radius * angle.cos() - 1.2 * SIZE.x)
}

/// A broad smile: two Gaussian pulls of 8 mm.
fn smiling(p: DVec3) -> DVec3 {
    let pull =
        |at: DVec3, by: DVec3| by * (-(p - at).truncate().length_squared() / (2.0 * 0.015f64.powi(2))).exp();
    let (left, right) = (DVec3::new(0.06, 0.05, 0.0), DVec3::new(0.12, 0.05, 0.0));
    p + pull(left, DVec3::new(-0.006, 0.005, 0.002)) + pull(right, DVec3::new(0.006, 0.005, 0.002))
}

struct Case {
    name: &'static str,
    held: Vec<bool>,
    springs: Springs,
    start: Vec<DVec3>,
}

fn cases(mesh: &TetMesh) -> Vec<Case> {
    let pulled = |target: fn(DVec3) -> DVec3, stiffness: f64| -> Springs {
        let skin = (0..mesh.nodes.len()).filter(|&v| mesh.nodes[v].z > SIZE.z - 1e-9);
        let springs: Vec<Spring> =
            skin.map(|v| Spring::at_node(v as u32, target(mesh.nodes[v]), stiffness)).collect();
        Springs::prepare(&springs).unwrap_or_default()
    };
    let bottom: Vec<bool> = mesh.nodes.iter().map(|p| p.z < 1e-9).collect();
    let ends: Vec<bool> = mesh.nodes.iter().map(|p| p.x < 1e-9 || p.x > SIZE.x - 1e-9).collect();
    let moved = mesh.nodes.iter().zip(&ends).map(|(&p, _)| bent(p)).collect();
    // Skin springs as in the last case, and a sliding bottom.
    let mut sliding = pulled(smiling, 1000.0).springs().to_vec();
    for v in (0..mesh.nodes.len()).filter(|&v| bottom[v]) {
        sliding.push(Spring { normal: Some(DVec3::Z), ..Spring::at_node(v as u32, mesh.nodes[v], 1000.0) });
    }
    let sliding = Springs::prepare(&sliding).unwrap_or_default();
    vec![
        Case {
            name: "skin pulled to a smile by 1000 N/m, bottom sliding by 1000 N/m",
            held: vec![false; mesh.nodes.len()],
            springs: sliding,
            start: mesh.nodes.clone(),
        },
        Case {
            name: "ends held, stretched 20 % and bent, start bent",
            held: ends,
            springs: pulled(bent, 0.0),
            start: moved,
        },
        Case {
            name: "skin pulled to bent by 10 N/m, bottom free",
            held: vec![false; mesh.nodes.len()],
            springs: pulled(bent, 10.0),
            start: mesh.nodes.clone(),
        },
        Case {
            name: "skin pulled to a smile by 1000 N/m, bottom held",
            held: bottom,
            springs: pulled(smiling, 1000.0),
            start: mesh.nodes.clone(),
        },
    ]
}

fn say(out: &mut impl Write, name: &str, prepared: Duration, total: Duration, r: &SolveReport, error: f64) {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let t = &r.times;
    let _ = write!(out, "  {name:22} prepare {:6.1} ms  solve {:7.1} ms", ms(prepared), ms(total));
    let _ = write!(
        out,
        "  {:3} it {:3} ev  {:?}  force {:.1e} N",
        r.iterations, r.evaluations, r.outcome, r.residual
    );
    let _ =
        write!(out, "  det {:.3}  assembly {:.0} factor {:.0}", r.smallest_det, ms(t.assembly), ms(t.factor));
    let _ = writeln!(out, " solve {:.0} search {:.0}  apart {error:.1e} m", ms(t.solve), ms(t.line_search));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let mesh = slab();
    let n = mesh.tets.len();
    for lambda in [100.0, 2500.0] {
        let tissue = Tissue::prepare(
            &mesh.tets,
            &mesh.nodes,
            None,
            &vec![5000.0; n],
            &vec![lambda; n],
            Barrier::default(),
        )?;
        for case in cases(&mesh) {
            let begin = Instant::now();
            let system = System::prepare(&case.held, &[&mesh.tets, case.springs.stencils()])?;
            writeln!(
                out,
                "lambda {lambda}: {} ({} nodes, {n} tets, system {:.0} ms)",
                case.name,
                mesh.nodes.len(),
                begin.elapsed().as_secs_f64() * 1e3
            )?;
            let problem = Problem { system: &system, energies: &[&tissue, &case.springs], loads: &[] };
            let begin = Instant::now();
            let mut x = case.start.clone();
            let report = minimize(
                &problem,
                &mut x,
                &SolveOptions { force_tolerance: 1e-9, ..SolveOptions::default() },
                &no_progress,
            )?;
            say(&mut out, "newton", Duration::ZERO, begin.elapsed(), &report, 0.0);
            let begin = Instant::now();
            let mut y = case.start.clone();
            let report = settle(&problem, &mut y, &SolveOptions::default(), &no_progress)?;
            let error = x.iter().zip(&y).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            say(&mut out, "settle (default)", Duration::ZERO, begin.elapsed(), &report, error);
            for which in ["laplacian", "stiffness"] {
                let begin = Instant::now();
                let preconditioner = match which {
                    "laplacian" => Preconditioner::laplacian(&problem)?,
                    _ => Preconditioner::stiffness(&problem, &case.start)?,
                };
                let prepared = begin.elapsed();
                for (name, tolerance) in [("1e-6 N", 1e-6), ("1e-8 N", 1e-8)] {
                    let begin = Instant::now();
                    let mut y = case.start.clone();
                    let options = SolveOptions {
                        max_iterations: 1000,
                        step_tolerance: 1e-9,
                        force_tolerance: tolerance,
                        ..SolveOptions::default()
                    };
                    let report = minimize_quasi(&problem, &preconditioner, &mut y, &options, &no_progress)?;
                    let error = x.iter().zip(&y).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                    say(&mut out, &format!("{which} {name}"), prepared, begin.elapsed(), &report, error);
                }
            }
        }
    }
    others(&mut out, &mesh)
}

/// A dynamic step, diffusion, untangling.
fn others(out: &mut impl Write, mesh: &TetMesh) -> Result<(), Box<dyn std::error::Error>> {
    let ms = |begin: Instant| begin.elapsed().as_secs_f64() * 1e3;
    let n = mesh.tets.len();
    let bottom: Vec<bool> = mesh.nodes.iter().map(|p| p.z < 1e-9).collect();
    let tissue = Tissue::prepare(
        &mesh.tets,
        &mesh.nodes,
        None,
        &vec![5000.0; n],
        &vec![2500.0; n],
        Barrier::default(),
    )?;
    for dt in [1.0 / 300.0, 1.0 / 60.0] {
        let flight: Vec<DVec3> =
            mesh.nodes.iter().map(|p| *p + DVec3::new(0.5, 0.2, 0.1) * dt * (p.z / SIZE.z)).collect();
        let inertia = Inertia::prepare(&lumped_masses(mesh, |_| 1100.0), &flight, dt)?;
        let system = System::prepare(&bottom, &[&mesh.tets, inertia.stencils()])?;
        let problem = Problem { system: &system, energies: &[&tissue, &inertia], loads: &[] };
        let preconditioner = Preconditioner::laplacian(&problem)?;
        let options = SolveOptions { max_iterations: 200, force_tolerance: 1e-5, ..SolveOptions::default() };
        let mut x = mesh.nodes.clone();
        let begin = Instant::now();
        let report = minimize_quasi(&problem, &preconditioner, &mut x, &options, &no_progress)?;
        say(out, &format!("step of {:.1} ms", dt * 1e3), Duration::ZERO, begin.elapsed(), &report, 0.0);
    }
    shapes(out, mesh, &bottom)?;
    let begin = Instant::now();
    let diffusion = Diffusion::prepare(mesh, &vec![false; mesh.nodes.len()], 1e-4, 1)?;
    let prepared = ms(begin);
    let begin = Instant::now();
    diffusion.run(&vec![[1.0, 2.0]; mesh.nodes.len()])?;
    writeln!(out, "  diffusion: prepare {prepared:.1} ms, two columns {:.1} ms", ms(begin))?;

    let movable: Vec<bool> = mesh.nodes.iter().map(|p| p.z > 1e-9).collect();
    let mut x = mesh.nodes.clone();
    let begin = Instant::now();
    untangle(&mesh.tets, tissue.rest(), &mut x, &movable, &UntangleOptions::default())?;
    writeln!(out, "  untangle: nothing to repair {:.2} ms", ms(begin))?;
    for v in (0..x.len()).filter(|v| movable[*v]).step_by(150) {
        x[v] += DVec3::new(0.004, -0.005, 0.003);
    }
    let begin = Instant::now();
    let done = untangle(&mesh.tets, tissue.rest(), &mut x, &movable, &UntangleOptions::default())?;
    writeln!(
        out,
        "  untangle: {} bad tets, {} left, {} nodes moved by up to {:.1} mm, {:.0} ms",
        done.n_bad,
        done.still_bad.len(),
        done.moved.len(),
        done.longest_motion * 1e3,
        ms(begin)
    )?;
    Ok(())
}

/// Blendvolumes: springs that stiffen in four stages, each state the next rest state, shapes in parallel.
fn shapes(out: &mut impl Write, mesh: &TetMesh, held: &[bool]) -> Result<(), Box<dyn std::error::Error>> {
    let n = mesh.tets.len();
    let skin: Vec<usize> = (0..mesh.nodes.len()).filter(|&v| mesh.nodes[v].z > SIZE.z - 1e-9).collect();
    let springs = |strength: f64, stiffness: f64| {
        let target = |v: usize| mesh.nodes[v].lerp(smiling(mesh.nodes[v]), strength);
        let list: Vec<Spring> =
            skin.iter().map(|&v| Spring::at_node(v as u32, target(v), stiffness)).collect();
        Springs::prepare(&list)
    };
    let system = System::prepare(held, &[&mesh.tets, springs(1.0, 1.0)?.stencils()])?;
    let neutral: Vec<f64> = (0..n).map(|t| mesh.edges_of(t).determinant() / 6.0).collect();
    let barrier = Barrier { strength: 5000.0, threshold: 0.3 };
    let begin = Instant::now();
    let solved = (1..=16).into_par_iter().map(|k| {
        let mut x = mesh.nodes.clone();
        for stiffness in [3.0, 30.0, 300.0, 3000.0] {
            let springs = springs(f64::from(k) / 16.0, stiffness)?;
            let (mu, lambda) = (vec![5000.0; n], vec![100.0; n]);
            let tissue = Tissue::prepare(&mesh.tets, &x, Some(&neutral), &mu, &lambda, barrier)?;
            let problem = Problem { system: &system, energies: &[&tissue, &springs], loads: &[] };
            settle(&problem, &mut x, &SolveOptions::default(), &no_progress)?;
        }
        Ok(x)
    });
    let solved: Vec<Vec<DVec3>> = solved.collect::<Result<_, risorius_solve::SolveError>>()?;
    let each = begin.elapsed().as_secs_f64() / solved.len() as f64;
    writeln!(out, "  blendvolumes: {} shapes of 4 stages, {:.2} s each", solved.len(), each)?;
    Ok(())
}
