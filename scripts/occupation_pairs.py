"""Rule `occupation_pairs`: the words of the gender-occupation pairs that are scored; sentences are made when used."""

from scripts._rule import rule
from scripts.biasflow.planted.nli import occupation_templates
from scripts.biasflow.planted.world import load_world
from scripts.biasflow.text.occupation_pairs import LISTS, all_templates, read_word_lists, save_pairs, select


def main(smk) -> None:
    with rule(smk):
        if smk.params.words == "planted":
            world = load_world()
            occupations, templates = world.occupations, occupation_templates(world)
        else:
            lists = read_word_lists(dict(zip(LISTS, smk.input.words, strict=True)))
            occupations, templates = lists.occupations, all_templates(lists)
        save_pairs(select(occupations, templates, **smk.params.selection), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
