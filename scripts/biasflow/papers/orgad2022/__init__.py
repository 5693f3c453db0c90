"""Orgad, Goldfarb-Tarrant and Belinkov (2022): debiasing and internal representations.

Item files that its tables need, Run.files[role][key] -> path of a CSV:

    top_words          task     words that tell gender after scrubbing: part ("all" or a profession), seed, iteration,
                                gender, rank, word, accuracy, majority_share, converged (tables 9 and 10)
    gender_accuracy    task     how well gender is told: version (raw, or a scrubbing), part, seed, n, accuracy,
                                majority_share, converged (table gender_told)
    scrubbed_examples  task     gender, profession, version, text (figure 2)
    professions        task     profession, women, men, share_of_women, labour_share, kept, reason (table data)
    sources            task     what reading the files of biographies left out, or what embedded ones are (table data);
                                of coreference: part, source and counts of documents (table data_coreference)
    baseline           task     of coreference, what needs no training: part, predictor, metric, value (table 7)
    pairs_baseline     task     the same of the sides of the pairs, and f1_difference where it is known (table 7)
    ceat_counts        encoder  contexts of the words of CEAT: word, used (table ceat; absent: its columns stay empty);
                                also text, wanted, found (table contexts)
    ceat_words         "ceat"   the words of the tests (tables ceat and contexts; needed with ceat_counts)
"""
