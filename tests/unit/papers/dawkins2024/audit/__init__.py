"""The script that made biasflow/papers/dawkins2024/audit.csv: do the numbers that Dawkins et al. (2024) print agree?"""
