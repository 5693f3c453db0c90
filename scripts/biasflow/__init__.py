"""biasflow: measures of gender bias inside and outside BERT-family encoders. Knows nothing of Snakemake."""
