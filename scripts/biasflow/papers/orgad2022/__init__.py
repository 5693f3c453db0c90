"""Orgad, Goldfarb-Tarrant and Belinkov (2022): debiasing and internal representations."""
