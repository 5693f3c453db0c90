"""The audit: do the numbers that Dawkins et al. (2024) print agree with each other?"""
