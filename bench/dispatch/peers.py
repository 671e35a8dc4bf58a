"""No-op trials on the peers, run by bench/dispatch/compare in an environment that has them. Prints one JSON object.

    peers.py dask COUNT | ray COUNT | hyperqueue COUNT FOLDER | optuna COUNT FOLDER

Defaults of the libraries; one warm-up. Dask: a LocalCluster of two workers with one thread each; all submitted at once, then 300 one at a
time (submit until the result is back). Ray: ray.init(num_cpus=2), the same. HyperQueue: the in-process cluster of its PyPI wheel with one
worker of two cores, no journal; /bin/true, all in one job, then 30 jobs whose program writes down when it ran, because the client asks
once a second. Optuna: ask and tell with the random sampler and two floats on SQLite in FOLDER.
"""
import json
import pathlib
import sys
import time


def quantiles(seconds):
    ordered = sorted(seconds)
    return {"p50_ms": 1e3 * ordered[len(ordered) // 2], "p99_ms": 1e3 * ordered[int(0.99 * (len(ordered) - 1))]}


def noop(number):
    return number


def dask(count):
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather(client.map(noop, range(100), pure=False))
        began = time.perf_counter()
        client.gather(client.map(noop, range(count), pure=False))
        per_second = count / (time.perf_counter() - began)
        singles = []
        for number in range(300):
            began = time.perf_counter()
            client.submit(noop, number, pure=False).result()
            singles.append(time.perf_counter() - began)
    return {"per_second": per_second, **quantiles(singles)}


def ray(count):
    import ray as library
    library.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    remote = library.remote(noop)
    library.get([remote.remote(number) for number in range(100)])
    began = time.perf_counter()
    library.get([remote.remote(number) for number in range(count)])
    per_second = count / (time.perf_counter() - began)
    singles = []
    for number in range(300):
        began = time.perf_counter()
        library.get(remote.remote(number))
        singles.append(time.perf_counter() - began)
    library.shutdown()
    return {"per_second": per_second, **quantiles(singles)}


def hyperqueue(count, folder):
    from hyperqueue import Job
    from hyperqueue.cluster import LocalCluster, WorkerConfig
    ran = pathlib.Path(folder) / "ran"
    with LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=2))
        client = cluster.client()

        def run(*programs):
            job = Job()
            for program in programs:
                job.program(list(program))
            began = time.time()
            client.wait_for_jobs([client.submit(job)])
            return began

        run(*[["/bin/true"]] * 10)
        began = run(*[["/bin/true"]] * count)
        per_second = count / (time.time() - began)
        singles = []
        for _ in range(30):
            began = run(["/bin/sh", "-c", f"date +%s.%N > {ran}"])
            singles.append(float(ran.read_text()) - began)
    return {"per_second": per_second, **quantiles(singles)}


def optuna(count, folder):
    import optuna as library
    library.logging.set_verbosity(library.logging.ERROR)
    study = library.create_study(storage=f"sqlite:///{pathlib.Path(folder) / 'optuna.db'}", sampler=library.samplers.RandomSampler(seed=1))
    singles = []
    for number in range(count + 10):
        began = time.perf_counter()
        trial = study.ask()
        study.tell(trial, trial.suggest_float("a", 0, 1) + trial.suggest_float("b", 0, 1))
        if number >= 10:
            singles.append(time.perf_counter() - began)
    return {"per_second": count / sum(singles), **quantiles(singles)}


if __name__ == "__main__":
    peer = {"dask": dask, "ray": ray, "hyperqueue": hyperqueue, "optuna": optuna}[sys.argv[1]]
    print(json.dumps(peer(int(sys.argv[2]), *sys.argv[3:])))
