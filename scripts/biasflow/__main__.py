"""`python -m biasflow`."""

from biasflow.cli import main

main()
