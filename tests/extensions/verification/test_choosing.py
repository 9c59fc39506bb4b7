"""What a question is asked with, chosen from synthetic data alone."""

import re
from pathlib import Path

import numpy as np
import pytest
from claim_trials import EFFECT, SCHEMA, Drawn, InMemory, simulated
from replay_trials import GAP, QUESTIONS, people

from synthesizer.extensions.verification import choosing
from synthesizer.extensions.verification.choosing import (
    PARTITIONS,
    GroupFits,
    chance_of,
    chosen,
    unbiased,
)
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.verify import sound_query


def question(ask, n=3_000, seed=0, tail=0.0, **content):
    query = query_of({"formula": "y ~ group + x", **content,
                      "ask": {"measure": "claim", "coefficient": "group[few]", **ask}})  # fmt: skip
    made = simulated(n, np.random.default_rng(seed), EFFECT, tail)
    return InMemory(query, SCHEMA, Path(), made=made)


@pytest.mark.parametrize(
    ("ask", "outlook"),
    [
        ({"above": -0.3}, "decided"),
        ({"below": -0.3}, "decided"),
        ({"between": [-0.5, 1.0]}, "decided"),
        ({"within": 0.7}, "decided"),
        ({"above": 0.28}, "open"),
        ({"share": 0.05}, "open"),
    ],
)
def test_the_outlook_hangs_on_how_far_the_border_is(ask, outlook):
    made = chosen(question(ask), 1.0)
    assert made.outlook == outlook
    assert made.query.partitions in PARTITIONS
    assert bool(made.words) == (outlook != "decided")


def test_a_far_border_costs_less_and_no_more_than_is_offered():
    far, close = (chosen(question({"above": end}), 1.0).query for end in (-3.0, -0.2))
    assert far.epsilon < close.epsilon <= 1.0
    assert chosen(question({"above": 0.28}), 0.7).query.epsilon == 0.7
    assert chosen(question({"above": -3.0}), 0.03).query.epsilon == 0.03


def borders(ask, words):
    one = chosen(question(ask), 1.0)
    assert one.outlook == "open"
    return [float(end) for end in re.fullmatch(words, one.words[1]).groups()]


def test_an_open_claim_says_which_borders_could_be_decided():
    below, above = borders({"above": 0.28}, "Ask “at least (.+)” or lower, or (.+) or higher: .*")
    assert -0.1 < below < EFFECT < above < 0.6
    for end, outlook in ((below, "decided"), (above, "decided"), (0.22, "open"), (0.38, "open")):
        assert chosen(question({"above": end}), 1.0).outlook == outlook
    low, high = borders({"share": 0.05}, "Ask about a range as wide as (.+) to (.+), or wider: .*")
    assert chosen(question({"between": [low, high]}), 1.0).outlook == "decided"
    narrow = [low + 0.05, high - 0.05]
    assert chosen(question({"between": narrow}), 1.0).outlook == "open"


def test_forecasts_of_open_claims_come_true_as_often_as_they_say():
    rng, hits, sums = np.random.default_rng(4), [], []
    for seed in range(6):
        synthetic = question({"above": 0}, seed=seed).made
        confidential = simulated(3_000, rng, EFFECT, 0.0)
        one = question({"above": 0}, seed=seed)
        query, estimate = one.query, one.ask.estimates(one.query, SCHEMA, synthetic)
        look = GroupFits(one.ask.numbers(query, SCHEMA, synthetic, query.partitions), estimate)
        numbers = one.ask.numbers(query, SCHEMA, confidential, query.partitions)
        for end in np.linspace(0, 0.6, 25):
            ask = one.ask.model_copy(update={"above": end})
            stated = ask.stated(SCHEMA, estimate)
            sums.append(chance_of(query, ask, stated, look))
            (mechanism,), (counts,) = (
                ask.mechanisms(query, stated),
                ask.counts(query, stated, numbers),
            )
            released = (Drawn(rng).draw(mechanism, counts),)
            hits.append(ask.conclude(query, stated, released).verdict != "open")
    sums, hits = np.array(sums), np.array(hits)
    for low, high in ((0, 0.3), (0.3, 0.8), (0.8, 1)):
        of = (sums >= low) & (sums <= high)
        assert of.sum() > 10
        assert abs(sums[of].mean() - hits[of].mean()) < 0.15


def few_rows(n):
    """Return which of the simulated rows are of the smaller group."""
    return question({"above": 0}, n=n).made.table["group"].data == 1


def test_what_no_group_can_fit_or_no_noise_lets_through_is_impossible():
    made = chosen(question({"above": 0.0}, n=30), 1.0)
    assert made.outlook == "impossible"
    few = len(np.unique(question({"above": 0}, n=30).made.owners[few_rows(30)]))
    assert made.words[1] == WORDS["unfit"]["level"].format("group[few]", few)
    made = chosen(question({"above": 0.0, "coefficient": "x"}, n=30), 1.0)
    assert made.words[1] == WORDS["unfit"]["model"]
    made = chosen(question({"above": -5.0}), 0.01)
    assert made.outlook == "impossible"


def look(numbers, estimate=0.0):
    return GroupFits(np.array([numbers], dtype=float), np.array([estimate]))


def test_groups_that_scatter_to_one_side_are_too_small():
    even = look([-1, 1] * 10)
    assert even.excess == 0
    assert even.unfitted == 0
    assert look([1, np.nan, -1, np.nan]).unfitted == 0.5
    skewed = look([1] * 130 + [-1] * 70)  # 60 / sqrt(200) = 4.2 standard errors
    assert skewed.excess == pytest.approx(4.243, abs=1e-3)
    assert [one.m for one in unbiased([even, look([1, -1] * 25), skewed])] == [20, 50]
    assert unbiased([skewed]) == []


def test_larger_groups_are_taken_where_small_ones_are_biased():
    sizes = [
        chosen(question({"above": -2.0}, n=2_000, seed=seed, tail=tail), 0.25).query.partitions
        for tail in (0.0, 1.5)
        for seed in range(5)
    ]
    assert np.mean(sizes[5:]) < np.mean(sizes[:5])


@pytest.mark.parametrize("name", [*QUESTIONS])
def test_every_question_is_chosen_for(name, files, schema):
    one = sound_query(query_of({**GAP, **QUESTIONS[name]}), schema, files[1])
    made = chosen(one, 0.8)
    assert made.query.epsilon <= 0.8
    assert (made.query.errors == "report") == made.query.ask.reports_errors
    assert made.query.ask == one.ask
    # of 400 persons: pay is certain in groups of 20
    assert (made.outlook == "impossible") == (name == "logit")
    made.query.ask.prepare(made.query, schema, one.view())  # it can be asked


def test_counts_that_noise_hides_are_open(files, schema):
    by = {"formula": None, "ask": {"measure": "counts", "by": ["sex", "race", "agency", "year"],
                                      "rows": 4}}  # fmt: skip
    one = sound_query(query_of({**GAP, **by}), schema, files[1])
    cheap, dear = chosen(one, 0.05), chosen(one, 5.0)
    assert (cheap.outlook, dear.outlook) == ("open", "decided")
    # at the charge of 5 each of 4 rows moves two cells: the noise has the scale 8 / 5
    reach = one.ask.mechanisms(dear.query, one.prepare())[0].within(0.95)
    assert f"each lies within {reach} of" in dear.words[0]


@pytest.mark.parametrize(("gap", "outlook"), [(20_000, "decided"), (20, "open")])
def test_means_whose_intervals_are_wider_than_their_differences_are_open(
    tmp_path, schema, gap, outlook
):
    data = people(2_000, 5).assign(pay=lambda f: 50_000 + gap * (f.sex == "F"))
    data.to_csv(tmp_path / "synthetic.csv", index=False)
    ask = {"measure": "means", "of": "pay", "by": ["sex"]}
    one = sound_query(query_of({"ask": ask}), schema, tmp_path / "synthetic.csv")
    made = chosen(one, 1.0)
    assert made.outlook == outlook
    assert (made.words[0] == WORDS["tables"]["wide"]) == (outlook == "open")


def test_an_interval_takes_groups_that_say_most(files, schema, monkeypatch):
    monkeypatch.setattr(choosing, "PARTITIONS", (20, 400))
    formula = "I(log(pay)) ~ sex + age"
    far = {"measure": "interval", "coefficient": "sex[F]", "below": -0.05}
    one = sound_query(query_of({**GAP, "formula": formula, "ask": far}), schema, files[1])
    assert chosen(one, 1.0).query.partitions == 20  # one person a group has no fit
    close = {**far, "below": -0.2505}
    one = sound_query(query_of({**GAP, "formula": formula, "ask": close}), schema, files[1])
    assert chosen(one, 0.5).outlook == "open"
