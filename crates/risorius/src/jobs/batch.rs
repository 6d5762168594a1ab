//! Many jobs of one kind in one call: a night's takes, or the faces of a whole cast.
//!
//! Names that clash are refused before anything is computed. After that every job runs, whatever happens to
//! the others, and the report says of each what it made or why it failed. Several jobs run at once, each on
//! threads of its own: a job on two threads takes more than half of its time on one, so this is the better
//! use of the cores. The last job to start gets all threads, because it will soon be alone. Large inputs
//! start first, so that this last job is a short one. Files are the same bytes as those of single jobs.

use super::{peak_mb, shown, write_report};
use crate::error::{Error, ErrorKind, Result};
use crate::files::stem;
use risorius_base::Progress;
use risorius_base::progress::Flow;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Stack of the threads that jobs run on, bytes: that of a main thread.
const STACK: usize = 8 << 20;

/// A job that can be one of many.
pub trait BatchItem: Sync {
    /// What a file name contains in place of the name of an item's input.
    const MARK: &'static str;
    /// The report of one job.
    type Report: Serialize + Send;

    /// The input that distinguishes it from the other jobs.
    fn input(&self) -> &Path;

    /// All files that it reads and that an output must not replace.
    fn inputs(&self) -> Vec<&Path>;

    /// All files and folders that it writes, with the option that names each.
    fn outputs(&self) -> Vec<(&'static str, &Path)>;

    /// Checks the request before anything is read.
    fn check(&self) -> Result<()>;

    /// Runs the job.
    fn run(&self, progress: &Progress) -> Result<Self::Report>;
}

/// Runs many jobs.
///
/// ```no_run
/// use risorius::prelude::*;
///
/// let template = PerformJob {
///     face: "head.face".into(),
///     output: "takes/{clip}.glb".into(),
///     ..PerformJob::default()
/// };
/// let jobs = template.for_clips(&["monday.csv".into(), "tuesday.csv".into()]);
/// let report = Batch { jobs, report: None }.run(&no_progress)?;
/// for item in &report.items {
///     match &item.result {
///         Ok(take) => println!("{}: {} frames", take.output, take.frames.len()),
///         Err(error) => println!("{} failed: {error}", item.input),
///     }
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch<J> {
    /// The jobs.
    pub jobs: Vec<J>,
    /// Also write the report to this `.json` file.
    pub report: Option<PathBuf>,
}

/// The report of a batch.
#[derive(Debug, Serialize)]
pub struct BatchReport<R> {
    /// Number of jobs that succeeded.
    pub done: usize,
    /// Number of jobs that failed or were not started.
    pub failed: usize,
    /// Computation time of all, seconds.
    pub seconds: f64,
    /// Peak memory of the process, MB; 0 if the system does not report it.
    pub peak_mb: f64,
    /// What happened to each job, in the order in which they were given.
    pub items: Vec<ItemReport<R>>,
}

/// What happened to one job of a batch.
#[derive(Debug)]
pub struct ItemReport<R> {
    /// The job's input.
    pub input: String,
    /// Its report, or why it failed.
    pub result: Result<R>,
}

impl<R: Serialize> Serialize for ItemReport<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("input", &self.input)?;
        match &self.result {
            Ok(report) => map.serialize_entry("report", report)?,
            Err(error) => {
                map.serialize_entry("error", &error.to_string())?;
                map.serialize_entry("options", error.options())?;
            }
        }
        map.end()
    }
}

impl<J: BatchItem> Batch<J> {
    /// Runs all jobs. Fails only if the request is invalid; failures of single jobs are in the report.
    pub fn run(&self, progress: &Progress) -> Result<BatchReport<J::Report>> {
        let start = Instant::now();
        self.check()?;
        let n = self.jobs.len();
        let board = Board { progress, state: Mutex::new((vec![0.0; n], 0, 0)) };
        let results: Vec<Mutex<Option<Result<J::Report>>>> = (0..n).map(|_| Mutex::new(None)).collect();
        let (order, shares) = (self.order(), Shares::new(n, rayon::current_num_threads()));
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            while !stopped.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(&item) = order.get(place) else { return };
                let result = run_on(shares.of(place), || {
                    self.jobs[item].run(&|stage, fraction| board.report(item, stage, fraction))
                });
                if matches!(&result, Err(error) if error.kind() == ErrorKind::Cancelled) {
                    stopped.store(true, Ordering::Relaxed);
                }
                board.finish(item, result.is_ok());
                *results[item].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        std::thread::scope(|scope| (0..shares.at_once).for_each(|_| drop(scope.spawn(work))));
        let item = |(job, result): (&J, Mutex<Option<Result<J::Report>>>)| {
            let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
            ItemReport { input: shown(job.input()), result: result.unwrap_or_else(|| Err(not_started())) }
        };
        let items: Vec<ItemReport<J::Report>> = self.jobs.iter().zip(results).map(item).collect();
        let done = items.iter().filter(|item| item.result.is_ok()).count();
        let seconds = start.elapsed().as_secs_f64();
        let report = BatchReport { done, failed: n - done, seconds, peak_mb: peak_mb(), items };
        if let Some(path) = &self.report {
            write_report(&report, path)?;
        }
        Ok(report)
    }

    /// Checks all requests, and that no two jobs write the same file and none replaces an input.
    fn check(&self) -> Result<()> {
        if self.jobs.is_empty() {
            return Err(Error::request("there is nothing to do; give at least one input"));
        }
        self.jobs.iter().try_for_each(|job| job.check())?;
        let inputs: Vec<PathBuf> =
            self.jobs.iter().flat_map(|job| job.inputs()).filter_map(|p| p.canonicalize().ok()).collect();
        // Many disks do not distinguish upper and lower case.
        let name = |path: &Path| path.to_string_lossy().to_lowercase();
        let mut written: HashMap<String, usize> = HashMap::new();
        for (index, job) in self.jobs.iter().enumerate() {
            for (option, path) in job.outputs() {
                if path.canonicalize().is_ok_and(|real| inputs.contains(&real)) {
                    let problem = "this output is also an input, which would be lost; give it another name";
                    return Err(Error::request(problem).in_file(path).with_options(&[option]));
                }
                let first = *written.entry(name(path)).or_insert(index);
                if first != index {
                    let inputs = [first, index].map(|i| self.jobs[i].input().display());
                    let (path, mark) = (path.display(), J::MARK);
                    let problem = format!("{} and {} would both be written to {path}", inputs[0], inputs[1]);
                    let advice = format!("put {mark} into the name (it becomes the name of the input),");
                    let advice = format!("{advice} and rename inputs of the same name");
                    return Err(Error::request(format!("{problem}; {advice}")).with_options(&[option]));
                }
            }
        }
        Ok(())
    }

    /// The jobs in the order in which they start: large inputs first.
    fn order(&self) -> Vec<usize> {
        let size = |&i: &usize| std::fs::metadata(self.jobs[i].input()).map_or(0, |m| m.len());
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|i| Reverse(size(i)));
        order
    }
}

/// How threads are divided among jobs.
struct Shares {
    n_jobs: usize,
    n_threads: usize,
    at_once: usize,
}

impl Shares {
    fn new(n_jobs: usize, n_threads: usize) -> Self {
        Self { n_jobs, n_threads, at_once: n_jobs.min(n_threads) }
    }

    /// Number of threads for the job that is started as number `place`.
    fn of(&self, place: usize) -> usize {
        if place + 1 == self.n_jobs && self.n_jobs > self.at_once {
            return self.n_threads;
        }
        let (each, more) = (self.n_threads / self.at_once, self.n_threads % self.at_once);
        each + usize::from(place < more)
    }
}

/// Runs a job on threads of its own. A panic is a failure of this job only.
fn run_on<R: Send>(n_threads: usize, job: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).stack_size(STACK).build();
    let pool = pool.map_err(|e| Error::failed(format!("threads could not be started: {e}")))?;
    catch_unwind(AssertUnwindSafe(|| pool.install(job))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::failed(format!("an internal error; please report it: {text}")))
    })
}

fn not_started() -> Error {
    Error::failed("not started, because the call was cancelled; repeat the call")
}

/// Joins the progress of all jobs.
struct Board<'a> {
    progress: &'a Progress<'a>,
    /// The completed fraction of each job, and the numbers of jobs that succeeded and failed.
    state: Mutex<(Vec<f32>, usize, usize)>,
}

impl Board<'_> {
    fn report(&self, item: usize, stage: &str, fraction: f32) -> Flow {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0[item] = fraction;
        let (all, done, failed) = (&state.0, state.1, state.2);
        let (n, whole) = (all.len(), all.iter().sum::<f32>() / all.len() as f32);
        drop(state);
        let ended = match failed {
            0 => format!("{done} of {n} done"),
            _ => format!("{done} of {n} done, {failed} failed"),
        };
        (self.progress)(&format!("{ended}, {stage}"), whole)
    }

    fn finish(&self, item: usize, succeeded: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0[item] = 1.0;
        if succeeded {
            state.1 += 1;
        } else {
            state.2 += 1;
        }
    }
}

/// A file name with the name of `input`, without folder and ending, in place of `mark`.
pub(crate) fn with_name(pattern: &Path, mark: &str, input: &Path) -> PathBuf {
    let text = pattern.to_string_lossy();
    if text.contains(mark) { text.replace(mark, &stem(input)).into() } else { pattern.to_path_buf() }
}

/// Whether a name contains a mark, so that it stands for one file per input.
pub fn has_mark(pattern: &Path, mark: &str) -> bool {
    pattern.to_string_lossy().contains(mark)
}

/// Whether an output is meant as a folder: it is one, ends in a separator or, `several` files being written,
/// has no ending.
pub fn is_folder(output: &Path, several: bool) -> bool {
    let ends_in_separator = output.to_string_lossy().ends_with(std::path::is_separator);
    output.is_dir() || ends_in_separator || several && output.extension().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_base::progress::no_progress;
    use std::ops::ControlFlow;
    use std::time::Duration;

    /// Writes its input's name to a file after some progress.
    struct Job {
        input: PathBuf,
        output: PathBuf,
    }

    impl BatchItem for Job {
        const MARK: &'static str = "{item}";
        type Report = usize;

        fn input(&self) -> &Path {
            &self.input
        }

        fn inputs(&self) -> Vec<&Path> {
            vec![&self.input]
        }

        fn outputs(&self) -> Vec<(&'static str, &Path)> {
            vec![("output", &self.output)]
        }

        fn check(&self) -> Result<()> {
            Ok(())
        }

        fn run(&self, progress: &Progress) -> Result<usize> {
            let name = stem(&self.input);
            for fraction in [0.0, 0.5] {
                if progress("working", fraction).is_break() {
                    return Err(risorius_base::progress::Cancelled.into());
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            match name.as_str() {
                "bad" => Err(Error::failed("it is bad").with_options(&["nodes"])),
                "worse" => panic!("no way out"),
                _ => Ok(rayon::current_num_threads()),
            }
        }
    }

    fn batch(names: &[&str], output: &str) -> Batch<Job> {
        let job = |name: &&str| {
            let input = PathBuf::from(name);
            Job { output: with_name(Path::new(output), "{item}", &input), input }
        };
        Batch { jobs: names.iter().map(job).collect(), report: None }
    }

    #[test]
    fn failures_and_panics_do_not_stop_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut batch = batch(&["a.x", "bad.x", "worse.x", "d.x"], "out/{item}.y");
        batch.report = Some(folder.path().join("night.json"));
        let report = batch.run(&no_progress).unwrap();
        assert_eq!([report.done, report.failed], [2, 2]);
        let ok: Vec<bool> = report.items.iter().map(|i| i.result.is_ok()).collect();
        assert_eq!(ok, [true, false, false, true]);
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.path().join("night.json")).unwrap()).unwrap();
        assert_eq!(json["items"][1]["error"], "it is bad");
        assert_eq!(json["items"][1]["options"][0], "nodes");
        assert!(json["items"][2]["error"].as_str().unwrap().contains("no way out"), "{json}");
        assert!(json["items"][3]["report"].as_u64().unwrap() > 0, "{json}");
    }

    #[test]
    fn names_that_clash_are_refused_before_anything_runs() {
        let never = |_: &str, _: f32| -> Flow { panic!("something was computed") };
        for (names, output, words) in [
            (["a.x", "b.x"], "same.y", "a.x and b.x would both be written to same.y; put {item}"),
            (["1/a.x", "2/a.x"], "out/{item}.y", "would both be written to out/a.y"),
            (["a.x", "A.x"], "{item}.y", "would both be written to A.y"),
        ] {
            let error = batch(&names, output).run(&never).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!((error.kind(), error.options()), (ErrorKind::Request, &["output"][..]));
        }
        let folder = tempfile::tempdir().unwrap();
        let inputs = ["a.x", "b.x"].map(|name| folder.path().join(name).display().to_string());
        inputs.iter().for_each(|path| std::fs::write(path, "").unwrap());
        let mut onto_the_other = batch(&[&inputs[0], &inputs[1]], "{item}.y");
        onto_the_other.jobs[0].output = onto_the_other.jobs[1].input.clone();
        let error = onto_the_other.run(&never).unwrap_err();
        assert!(error.to_string().contains("also an input"), "{error}");
        assert!(batch(&[], "{item}.y").run(&never).is_err());
    }

    #[test]
    fn cancelling_ends_all_jobs_and_starts_no_more() {
        let names: Vec<String> = (0..200).map(|i| format!("{i}.x")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let stop = |_: &str, whole: f32| match whole {
            w if w > 0.1 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let report = batch(&names, "{item}.y").run(&stop).unwrap();
        assert!(report.done > 0 && report.failed > 100, "{} of 200", report.done);
        let last = report.items[199].result.as_ref().unwrap_err();
        assert!(last.to_string().contains("not started"), "{last}");
    }

    #[test]
    fn progress_is_that_of_all_and_never_goes_back() {
        let seen = Mutex::new(Vec::new());
        let record = |stage: &str, whole: f32| {
            seen.lock().unwrap().push((stage.to_string(), whole));
            ControlFlow::Continue(())
        };
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| {
            batch(&["a.x", "bad.x", "c.x"], "{item}.y").run(&record).unwrap();
        });
        let seen = seen.into_inner().unwrap();
        let (stages, wholes): (Vec<String>, Vec<f32>) = seen.into_iter().unzip();
        assert!(wholes.is_sorted() && (wholes[5] - 2.5 / 3.0).abs() < 1e-6, "{wholes:?}");
        assert_eq!(stages[0], "0 of 3 done, working");
        assert_eq!(stages[5], "1 of 3 done, 1 failed, working");
    }

    #[test]
    fn threads_are_divided() {
        let shares = |n_jobs, n_threads| {
            let shares = Shares::new(n_jobs, n_threads);
            (0..n_jobs).map(|place| shares.of(place)).collect::<Vec<_>>()
        };
        assert_eq!(shares(4, 2), [1, 1, 1, 2]);
        assert_eq!(shares(2, 2), [1, 1]);
        assert_eq!(shares(1, 8), [8]);
        assert_eq!(shares(3, 8), [3, 3, 2]);
        assert_eq!(shares(3, 1), [1, 1, 1]);
    }

    #[test]
    fn folders_and_marks_in_names() {
        let named = |pattern: &str| with_name(Path::new(pattern), "{clip}", Path::new("in/talk.v2.csv"));
        assert_eq!(named("out/{clip}.glb"), PathBuf::from("out/talk.v2.glb"));
        assert_eq!(named("out/take.glb"), PathBuf::from("out/take.glb"));
        assert!(is_folder(Path::new("out/"), false) && is_folder(Path::new("out"), true));
        assert!(!is_folder(Path::new("out"), false) && !is_folder(Path::new("out.glb"), true));
    }
}
