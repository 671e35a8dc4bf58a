"""No-op programs on the peers, run by bench/programs/compare in an environment that has them. Prints one JSON object.

    peers.py submitit PROGRAM COUNT FOLDER | raytune PROGRAM COUNT FOLDER

Defaults of the libraries, two at once. submitit: a LocalExecutor starts all jobs at once, so the next is submitted when one of two has ended. Ray Tune: ray.init(num_cpus=2),
a function trainable of one CPU that starts the program, and a grid. "seconds": from the first submission to the last result; "up": before that, until jobs can be submitted.
"""
import json
import subprocess
import sys
import time

began = time.perf_counter()


def run(program):
    subprocess.run(["sh", program], check=True, stdout=subprocess.DEVNULL)


def submitit(program, count, folder):
    import submitit as library
    executor = library.LocalExecutor(folder=folder)
    executor.update_parameters(timeout_min=10)
    ready = time.perf_counter()
    running, submitted = [], 0
    while submitted < count or running:
        while submitted < count and len(running) < 2:
            running.append(executor.submit(run, program))
            submitted += 1
        ended = [job for job in running if job.done()]
        for job in ended:
            job.result()
            running.remove(job)
        if not ended:
            time.sleep(0.001)
    return ready


def raytune(program, count, folder):
    import ray
    from ray import tune

    def trial(config):
        run(program)
        tune.report({"ran": 1})

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ready = time.perf_counter()
    results = tune.Tuner(tune.with_resources(trial, {"cpu": 1}), param_space={"seed": tune.grid_search(list(range(count)))},
                         tune_config=tune.TuneConfig(max_concurrent_trials=2), run_config=tune.RunConfig(storage_path=folder, verbose=0)).fit()
    assert len(results) == count and not results.errors, results.errors[:1]
    return ready


if __name__ == "__main__":
    ready = {"submitit": submitit, "raytune": raytune}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4])
    print(json.dumps({"count": int(sys.argv[3]), "up": ready - began, "seconds": time.perf_counter() - ready}))
