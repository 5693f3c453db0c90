"""The two genders of the data, in every spelling that files and tables have, in the order of their numbers, 0 and 1.

The order is part of what is drawn, counted and printed: where women come first, it is WOMEN_FIRST."""

MALE, FEMALE = GENDERS = ("M", "F")  # of people
MASCULINE, FEMININE = OF_WORDS = ("masculine", "feminine")  # of words and pronouns
SPELT_OUT = ("male", "female")  # of people, in files of others
WOMEN_FIRST = GENDERS[::-1]
