"""Speed as ratios: ours against the straightforward way, timed in the same run. python -m benchmarks OUT.csv"""
