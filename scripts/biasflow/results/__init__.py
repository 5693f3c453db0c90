"""The table of scores, and what is made of it: statistics, tables, figures."""
