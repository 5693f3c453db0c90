"""Speed as ratios: our code against the straightforward way, timed in the same run. python -m benchmarks OUT.csv"""
